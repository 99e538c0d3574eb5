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

"""Altitude by GNSS, and in an outage by the barometer, which the last fix has set."""

from __future__ import annotations

import math

from xplane_bridge.bridges.conversions.air import pressure_to_pressure_altitude


class Altimeter:
    """
    Altitude in m above the ellipsoid, as in fix; NaN if nothing is known.

    Pressure altitude and altitude differ by the weather, and that hardly changes in an outage; by
    then the scale is right to a few percent of the climb.
    """

    def __init__(self) -> None:
        self._fix = math.nan
        self._pressure = math.nan
        self._difference = math.nan

    def take_fix(self, altitude: float) -> None:
        """Take the altitude of a fix; NaN is one without a position."""
        self._fix = altitude
        if not math.isnan(altitude):
            self._difference = altitude - pressure_to_pressure_altitude(self._pressure)

    def take_pressure(self, static: float) -> None:
        """Take a static pressure (Pa); NaN is unknown."""
        first = math.isnan(self._pressure)
        self._pressure = static
        if first and not math.isnan(self._fix):
            self.take_fix(self._fix)

    @property
    def altitude(self) -> float:
        """Return the altitude."""
        if not math.isnan(self._fix):
            return self._fix
        return self._difference + pressure_to_pressure_altitude(self._pressure)
