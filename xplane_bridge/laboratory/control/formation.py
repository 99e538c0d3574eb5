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
Holding a slot beside another aircraft: targets for the cascade, or for whoever takes targets.

The slot moves with its leader, and in a turn it sweeps: outside of the turn it is faster than the
leader, inside slower. Its velocity is that of a rigid body that turns with the leader's course;
towards it the follower closes up, along the track and across it, each with a first-order law that
is four times as slow as the loop below, so that it does not overshoot. Within a turn the course is
ahead by what the cascade's course loop lags behind.

The airspeed is that which the leader holds, and what has to be added. Its measured airspeed would
do in calm air; in gusts, which both are in, each would answer the other's.

SI units, angles in radians clockwise from north; pure.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from xplane_bridge.bridges.conversions.axes import Vector
from xplane_bridge.common.units import STANDARD_GRAVITY
from xplane_bridge.laboratory.control.gains import Gains
from xplane_bridge.laboratory.control.laws import SLOWEST
from xplane_bridge.laboratory.control.loops import clamp
from xplane_bridge.laboratory.control.measurement import Measurement
from xplane_bridge.laboratory.control.targets import Target

# Closing up along the track (1/s): a quarter of the bandwidth of the airspeed loop.
_ALONG = 0.15
# Across the track: this part of the gain of the course loop.
_ACROSS = 0.25
# No faster than this (m/s): the throttle has to stop it again.
_FASTEST_ALONG, _FASTEST_ACROSS = 4.0, 8.0
# A bank beyond this (rad) is no turn that is followed.
_STEEPEST = 1.2


class Slot(NamedTuple):
    """A place beside a leader, in m along its course over ground, to the right of it, and up."""

    forward: float
    right: float
    up: float

    def error(self, to_leader: Vector, course: float) -> Vector:
        """
        Return how far the slot is ahead of a follower, to the right, and above (m).

        ``to_leader``: east, north and up from the follower to its leader, whose ``course`` it is.
        """
        east, north, up = to_leader
        sine, cosine = math.sin(course), math.cos(course)
        return (
            east * sine + north * cosine + self.forward,
            east * cosine - north * sine + self.right, up + self.up)


def target_in(
    slot: Slot, leader: Measurement, own: Measurement, to_leader: Vector, gains: Gains,
    held: float = math.nan,
) -> Target:
    """
    Return the altitude, course and airspeed that lead a follower into its slot.

    ``leader`` and ``own`` are what each knows of itself, ``to_leader`` is east, north and up from
    the follower to the leader (m), ``gains`` are the follower's. ``held`` is the airspeed (m/s,
    indicated) that the leader holds, NaN if it holds none, or it is not known.
    """
    course, speed = leader.track, leader.speed_over_ground
    ahead, aside, above = slot.error(to_leader, course)
    bank = clamp(leader.roll, -_STEEPEST, _STEEPEST)
    turn = STANDARD_GRAVITY * math.tan(bank) / max(leader.speed, SLOWEST)
    along = speed - turn * slot.right + clamp(
        _ALONG * ahead, -_FASTEST_ALONG, _FASTEST_ALONG)
    across = turn * slot.forward + clamp(
        _ACROSS * gains.course_to_turn_rate * aside, -_FASTEST_ACROSS, _FASTEST_ACROSS)
    # A follower that is far ahead waits; it does not turn round.
    along = max(along, SLOWEST)
    wanted = course + math.atan2(across, along)
    more = (math.hypot(along, across) - speed) * own.airspeed / max(own.speed, SLOWEST)
    climb = 0.0 if math.isnan(leader.climb_rate) else leader.climb_rate
    return Target(
        altitude=own.altitude + above + climb / gains.altitude_to_climb,
        airspeed=max((leader.airspeed if math.isnan(held) else held) + more, SLOWEST),
        course=(wanted + turn / gains.course_to_turn_rate) % math.tau)
