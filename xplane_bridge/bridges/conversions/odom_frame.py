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


"""The frame of odom: its datum, and the pose of a vehicle in it."""

from __future__ import annotations

import math

from xplane_bridge.bridges.conversions import axes
from xplane_bridge.bridges.conversions.axes import Quaternion, Vector
from xplane_bridge.bridges.conversions.geodesy import LocalFrame

# Degrees are rounded to 0.001; what is nearer than this to a rounded value is rounded to it.
_ROUNDED_ALIKE = 0.000499


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
        return (datum.geodetic_to_enu(latitude_deg, longitude_deg, height),
                self.turned(latitude_deg, longitude_deg, orientation))

    def turned(
        self, latitude_deg: float, longitude_deg: float, orientation: Quaternion
    ) -> Quaternion:
        """Return an orientation (FLU to ENU there) in this frame, which has a datum."""
        return axes.multiply(self.rotation(latitude_deg, longitude_deg), orientation)

    def rotation(self, latitude_deg: float, longitude_deg: float) -> Quaternion:
        """Return what turns from east, north and up there to this frame, which has a datum."""
        # East, north and up at the aircraft differ from those at the datum.
        latitude, longitude = self._rotation_at
        if not (abs(latitude_deg - latitude) < _ROUNDED_ALIKE
                and abs(longitude_deg - longitude) < _ROUNDED_ALIKE):
            datum = self.datum
            assert datum is not None
            here = self._rotation_at = (round(latitude_deg, 3), round(longitude_deg, 3))
            self._rotation = axes.enu_to_enu_rotation(
                *here, datum.latitude_deg, datum.longitude_deg)
        return self._rotation
