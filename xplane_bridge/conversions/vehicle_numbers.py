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
The numbers of the common topics, from a vehicle's state: what their messages would have.

They are in the order of ``control.observation.FIELDS``, without those of ``target``.
"""

from __future__ import annotations

import math

from xplane_bridge.conversions import frames
from xplane_bridge.conversions.frames import Quaternion, Vector
from xplane_bridge.conversions.geodesy import LocalFrame
from xplane_bridge.conversions.geoid import msl_to_ellipsoid, Undulation
from xplane_bridge.conversions.plausibility import Plausibility
from xplane_bridge.conversions.vehicle import Air, VehicleState

_ZERO = (0.0, 0.0, 0.0)


class OdomFrame:
    """
    The frame of odom: east, north and up at its datum, which is by default the first position.

    ``datum`` is None until there is one.
    """

    def __init__(self, datum: LocalFrame | None = None) -> None:
        self.datum = datum
        self._rotation = (1.0, 0.0, 0.0, 0.0)
        self._rotation_at = (math.nan, math.nan)

    def start(self, latitude_deg: float, longitude_deg: float, height: float) -> LocalFrame:
        """Return the datum; if there is none yet, it is here."""
        if self.datum is None:
            self.datum = LocalFrame(latitude_deg, longitude_deg, height)
        return self.datum

    def pose(
        self, latitude_deg: float, longitude_deg: float, height: float, orientation: Quaternion
    ) -> tuple[Vector, Quaternion]:
        """Return position (m) and orientation in this frame; ``orientation`` is FLU to ENU."""
        datum = self.start(latitude_deg, longitude_deg, height)
        position = datum.geodetic_to_enu(latitude_deg, longitude_deg, height)
        # East, north and up at the aircraft differ from those at the datum.
        here = (round(latitude_deg, 3), round(longitude_deg, 3))
        if here != self._rotation_at:
            self._rotation_at = here
            self._rotation = frames.enu_to_enu_rotation(
                *here, datum.latitude_deg, datum.longitude_deg)
        return position, frames.multiply(self._rotation, orientation)


class VehicleNumbers:
    """The numbers of one vehicle's topics. ``undulation`` is that of mean sea level."""

    def __init__(self, undulation: Undulation) -> None:
        self._undulation = undulation
        self._plausibility = Plausibility()
        self._frame = OdomFrame()

    def of(self, state: VehicleState) -> tuple[float, ...]:
        """Return the numbers of imu/data, fix, odom and air_data; what is not known is 0."""
        state = self._plausibility.state(state)
        latitude, longitude = state.latitude_deg, state.longitude_deg
        orientation = state.orientation
        rates, force = state.angular_velocity, state.specific_force
        fix = pose = turned = twist = _ZERO
        turned_in_odom = (0.0,) * 4
        if not math.isnan(latitude):
            height = msl_to_ellipsoid(
                state.altitude_msl, self._undulation.height_m(latitude, longitude))
            fix = latitude, longitude, height
            if orientation is not None and math.isfinite(height):
                pose, turned_in_odom = self._frame.pose(*fix, orientation)
                turned = rates or _ZERO
                twist = (frames.rotate_inverse(orientation, state.velocity)
                         if state.velocity else _ZERO)
        numbers = (
            *_xyzw(orientation), *(rates or _ZERO), *(force or _ZERO), *fix, *pose,
            *_xyzw(turned_in_odom), *twist, *turned, *_air_numbers(state.air or Air()))
        return tuple(0.0 if number != number else number for number in numbers)


def _xyzw(quaternion: Quaternion | None) -> Quaternion:
    w, x, y, z = quaternion or (0.0,) * 4
    return x, y, z, w


def _air_numbers(air: Air) -> tuple[float, ...]:
    return tuple(0.0 if value is None else value for value in (
        air.indicated_airspeed, air.true_airspeed, air.angle_of_attack, air.sideslip,
        air.static_pressure, air.dynamic_pressure, air.temperature, air.density,
        *(air.wind or _ZERO)))
