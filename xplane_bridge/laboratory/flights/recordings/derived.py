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
What was collected of a flight, as quantities: SI, as the common topics have them. No ROS.

The numbers are those that bridges/nodes/vehicle/publisher.py publishes of the same state, to the
last bit: what numpy rounds otherwise is computed one by one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from xplane_bridge.bridges.conversions import axes
from xplane_bridge.bridges.conversions.geodesy import LocalFrame
from xplane_bridge.bridges.conversions.odom_frame import OdomFrame
from xplane_bridge.common.units import STANDARD_GRAVITY
from xplane_bridge.laboratory.flights.recordings.collected import Collected

Array = NDArray[np.float64]

_FORCE = tuple(f'specific_force_{axis}' for axis in ('forward', 'left', 'up'))


@dataclass(frozen=True, slots=True)
class RecordedMotion:
    """
    How the aircraft moved: arrays of shape (n,).

    ``orientation`` is body FLU to ENU at the aircraft, ``turned`` to the axes at the datum, both
    w first; ``force`` (m/s^2) and ``rates`` (rad/s) in FLU, ``velocity`` in ENU, and ``moved``
    the same in FLU. ``datum`` is latitude and longitude (deg), and height (m).
    """

    orientation: tuple[Any, ...]
    turned: tuple[Any, ...]
    force: tuple[Any, ...]
    rates: tuple[Any, ...]
    velocity: tuple[Any, ...]
    moved: tuple[Any, ...]
    datum: tuple[float, float, float]


def compute_motion(flown: Collected) -> RecordedMotion:
    """Return how the aircraft moved."""
    state: Any = flown.frames
    orientation: Any = axes.ned_frd_to_enu_flu(axes.euler_to_quaternion(
        state['phi'], state['theta'], state['psi'], _each(math.cos), _each(math.sin)))
    place = tuple(float(state[name][0]) for name in ('lat_deg', 'lon_deg', 'altitude'))
    datum = place[0], place[1], place[2]
    frame = OdomFrame(LocalFrame(*datum))
    rotation: Any = np.array([*map(
        frame.rotation, state['lat_deg'].tolist(), state['lon_deg'].tolist())]).T
    velocity: Any = state['v_east'], state['v_north'], -state['v_down']
    return RecordedMotion(
        orientation, axes.multiply(rotation, orientation), specific_force(flown),
        axes.frd_to_flu((state['p'], state['q'], state['r'])), velocity,
        axes.rotate_inverse(orientation, velocity), datum)


def specific_force(flown: Collected) -> tuple[Any, ...]:
    """Return what accelerometers read, in FLU, m/s^2."""
    state = flown.frames
    force: Any = tuple(state[f'force_{axis}'] / state['mass'] for axis in 'xyz')
    return axes.frd_to_flu(force)


def _each(function: Callable[[float], float]) -> Any:
    """Return a function of arrays that has the digits of math, which numpy's has not."""
    return lambda values: np.array([*map(function, values.tolist())])


def computed(flown: Collected) -> dict[str, Array]:
    """Return the quantities that are not read of the aircraft, by name."""
    return {**dict(zip(_FORCE, specific_force(flown), strict=True)),
            'load_factor': _load_factor(flown), 'ground_elevation': _ground_elevation(flown)}


def _load_factor(flown: Collected) -> Array:
    return np.asarray(-(flown.frames['force_z'] / flown.frames['mass']) / STANDARD_GRAVITY)


def _ground_elevation(flown: Collected) -> Array:
    state = flown.frames
    return state['terrain_msl'] + (state['altitude'] - state['altitude_msl'])
