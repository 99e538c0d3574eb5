# Copyright 2026 xplane_bridge contributors
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.


"""
What a policy is told of the aircraft around its own: the fields of control.observation.TRAFFIC.

As on the topic ``traffic``, reports arrive a few times per second; in between each aircraft is
taken to fly straight on. Place and velocity of the own one are those that it knows itself.
"""

from __future__ import annotations

from collections.abc import Sequence
import math
from typing import NamedTuple

import numpy as np

from xplane_bridge.bridges.conversions import axes
from xplane_bridge.bridges.conversions.geodesy import LocalFrame
from xplane_bridge.laboratory.control.policy.observation import (
    INDEX,
    NEAREST,
    OTHERS,
    SLICES,
    Vector,
)

PERIOD = 0.2
"""Between two reports (s), as simulators publish ``traffic`` by default."""

OLDEST = 10.0
"""Of who is not reported any more (s) nothing is told: it is not known where it is by then."""

_QUATERNION = [INDEX[f'imu/data.orientation.{name}'] for name in 'wxyz']
_VELOCITY = [INDEX[f'odom.twist.twist.linear.{name}'] for name in 'xyz']


class TrafficReport(NamedTuple):
    """
    Where another aircraft was ``at`` a time (s), and how it moved.

    ``place`` is latitude and longitude (deg), and m above the ellipsoid; ``velocity`` is over
    ground, east, north and up (m/s), NaN where it is not known.
    """

    place: axes.Vector
    velocity: axes.Vector
    at: float


def velocity_over_ground(observation: Sequence[float] | Vector) -> axes.Vector:
    """Return the own velocity, east, north and up (m/s), of an observation."""
    w, x, y, z = (float(observation[column]) for column in _QUATERNION)
    forward, left, up = (float(observation[column]) for column in _VELOCITY)
    return axes.rotate((w, x, y, z), (forward, left, up))


def with_traffic(observation: Vector, reports: Sequence[TrafficReport], now: float) -> Vector:
    """
    Return an observation followed by TRAFFIC, by the newest reports of others at a time (s).

    Without a fix (0, as what is not known) it is not known where they are, and nobody is told of.
    """
    fix = observation[SLICES['fix']].tolist()
    own = velocity_over_ground(observation)
    seen: list[tuple[float, ...]] = []
    if any(fix):
        frame = LocalFrame(*fix)
        for place, velocity, at in reports:
            if now - at > OLDEST:
                continue
            known = tuple(0.0 if math.isnan(speed) else speed for speed in velocity)
            seen.append((*(
                offset + speed * (now - at) for offset, speed in zip(
                    frame.geodetic_to_enu(*place), known, strict=True)),
                *(speed - mine for speed, mine in zip(known, own, strict=True))))
    seen.sort(key=lambda one: math.hypot(*one[:3]))
    numbers = np.zeros(1 + NEAREST * len(OTHERS))
    flat = [number for one in seen[:NEAREST] for number in one]
    numbers[0] = len(flat) // len(OTHERS)
    numbers[1:1 + len(flat)] = flat
    return np.concatenate((observation, numbers))
