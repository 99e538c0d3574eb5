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

"""Where a vehicle is by its sensors alone: the last fix, carried on with the last velocity."""

from __future__ import annotations

from typing import NamedTuple

from xplane_bridge.bridges.conversions import axes
from xplane_bridge.bridges.conversions.axes import Quaternion, Vector
from xplane_bridge.bridges.conversions.geodesy import LocalFrame
from xplane_bridge.common.timing import SECOND_NS
from xplane_bridge.laboratory.sensors.gnss import Fix, Velocity
from xplane_bridge.laboratory.sensors.timing import Delivery

LONGEST = 2.0
"""Seconds without a fix after which the position is no longer known."""


class Pose(NamedTuple):
    """Position and orientation in the axes at the datum, velocity in body axes; variances."""

    position: Vector
    orientation: Quaternion
    velocity: Vector
    horizontal: float
    vertical: float
    horizontal_velocity: float
    vertical_velocity: float


class Odometry:
    """
    Dead reckoning between two fixes of a receiver, and with the attitude that was measured.

    There is nothing of the truth in it. ``datum`` is the origin of its axes.
    """

    def __init__(self) -> None:
        self.datum: LocalFrame | None = None
        self._fix: Delivery[Fix] | None = None
        self._velocity: Delivery[Velocity] | None = None
        self._rotation = (1.0, 0.0, 0.0, 0.0)
        self._rotated: tuple[LocalFrame | None, float, float] = (None, 0.0, 0.0)

    def take_fix(self, fix: Delivery[Fix]) -> None:
        """Take a fix that was delivered; one without a position changes nothing."""
        if fix.reading.is_valid:
            self._fix = fix

    def take_velocity(self, velocity: Delivery[Velocity]) -> None:
        """Take a velocity that was delivered."""
        self._velocity = velocity

    def at(self, stamp: int, orientation: Quaternion | None) -> Pose | None:
        """Return the pose at a stamp (ns); None without a datum, fix, velocity or orientation."""
        datum, fix, velocity = self.datum, self._fix, self._velocity
        if datum is None or fix is None or velocity is None or orientation is None:
            return None
        age = (stamp - fix.stamp) / SECOND_NS
        if not 0.0 <= age <= LONGEST:
            return None
        where, speed = fix.reading, velocity.reading
        rotation = self._turn(datum, where)
        position = datum.geodetic_to_enu(*where[:3])
        if age:
            east, north, up = axes.rotate(rotation, speed.enu)
            position = (
                position[0] + age * east, position[1] + age * north, position[2] + age * up)
        return Pose(
            position, axes.multiply(rotation, orientation),
            axes.rotate_inverse(orientation, speed.enu),
            where.horizontal + age ** 2 * speed.horizontal,
            where.vertical + age ** 2 * speed.vertical, speed.horizontal, speed.vertical)

    def _turn(self, datum: LocalFrame, where: Fix) -> Quaternion:
        """Return the rotation from east, north, up here to those at the datum."""
        here = (datum, round(where.latitude_deg, 3), round(where.longitude_deg, 3))
        if here != self._rotated:
            self._rotated = here
            self._rotation = axes.enu_to_enu_rotation(
                *here[1:], datum.latitude_deg, datum.longitude_deg)
        return self._rotation
