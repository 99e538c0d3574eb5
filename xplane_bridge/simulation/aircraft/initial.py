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

"""The initial state of a simulated flight."""

from dataclasses import dataclass

from xplane_bridge.common.units import KNOT
from xplane_bridge.simulation.aircraft import terrain
from xplane_bridge.simulation.aircraft.limits import check_finite
from xplane_bridge.simulation.aircraft.plant import AS_IN_ITS_FILE, Plant

DEFAULT_MODEL = 'c172p'
"""The aircraft, of JSBSim's, that is simulated where none is named."""


@dataclass(frozen=True, slots=True)
class Initial:
    """
    The initial state of a flight.

    In the air: trimmed at altitude_msl (m), airspeed_kt (calibrated; None: one that is usual for
    the model), engines running, gear up. Parked: at rest on the ground with the engines idling
    and the parking brake set; altitude and airspeed are not used then. heading_deg is true. The
    ground is flat around ``airfield``. ``plant`` is in what it differs from its model;
    ``controls`` is the file that says what moves it, if not the one beside it.
    """

    lat_deg: float = terrain.HOME_LAT_DEG
    lon_deg: float = terrain.HOME_LON_DEG
    altitude_msl: float = 1500.0
    heading_deg: float = 90.0
    airspeed_kt: float | None = None
    parked: bool = False
    airfield: terrain.Airfield = terrain.HOME
    plant: Plant = AS_IN_ITS_FILE
    controls: str = ''

    def check(self) -> None:
        """Raise ValueError for a value that is not finite, and without airspeed in the air."""
        check_finite(latitude=self.lat_deg, longitude=self.lon_deg, altitude_msl=self.altitude_msl,
                     heading=self.heading_deg, airspeed=self.airspeed_kt,
                     **self.airfield._asdict())
        if not self.parked and self.airspeed_kt is not None and self.airspeed_kt <= 0.0:
            raise ValueError(
                f'airspeed is {self.airspeed_kt * KNOT:g} m/s, expected above 0, or parked: true')
