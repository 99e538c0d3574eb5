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
The ground under the simulated aircraft: one smooth function of latitude and longitude.

Within 8 km of the home airfield (47.4 N, 8.5 E, 430 m) the ground is flat; by 20 km it has become
hills of up to about 650 m. There are seas, the nearest 55 km to the east, at elevation 0. Slopes
stay below about 6 %. It is not real scenery: it exists so that heights above ground, terrain
probes and landings are meaningful. Another airfield may take the place of that one.
"""

from collections.abc import Callable
from functools import partial
import math
from typing import NamedTuple

HOME_LAT_DEG = 47.4
HOME_LON_DEG = 8.5
HOME_ELEVATION = 430.0
# No hill reaches it.
HIGHEST = 755.0

_FLAT_RADIUS = 8e3
_HILLS_RADIUS = 20e3
_METRES_PER_DEGREE = 111_320.0
_COS_HOME_LAT = math.cos(math.radians(HOME_LAT_DEG))
# The sides (degrees) of a box within the flat part: there nothing is computed.
_FLAT = 0.7 * _FLAT_RADIUS / _METRES_PER_DEGREE
_SOUTH, _NORTH = HOME_LAT_DEG - _FLAT, HOME_LAT_DEG + _FLAT
_WEST, _EAST = HOME_LON_DEG - _FLAT / _COS_HOME_LAT, HOME_LON_DEG + _FLAT / _COS_HOME_LAT
# A probe's arm for the normal: well below the shortest hill, well above rounding.
_NORMAL_ARM = 20.0


class Airfield(NamedTuple):
    """A place (deg) around which the ground is flat, at an elevation (m above mean sea level)."""

    lat_deg: float
    lon_deg: float
    elevation: float


HOME = Airfield(HOME_LAT_DEG, HOME_LON_DEG, HOME_ELEVATION)


def elevation_m(lat_deg: float, lon_deg: float) -> float:
    """
    Return the ground's height above mean sea level in metres, 0 at sea.

    lat_deg is in -90..90; lon_deg may be any finite number, with period 360.
    """
    if _SOUTH < lat_deg < _NORTH and _WEST < lon_deg < _EAST:
        return HOME_ELEVATION
    flatness = _flatness(lat_deg, lon_deg)
    if flatness == 1.0:
        return HOME_ELEVATION
    return flatness * HOME_ELEVATION + (1.0 - flatness) * _hills(lat_deg, lon_deg)


def elevation_around(airfield: Airfield, lat_deg: float, lon_deg: float) -> float:
    """Return the same with an airfield that takes the place of the home airfield."""
    flatness = _flatness(lat_deg, lon_deg, airfield)
    if flatness == 1.0:
        return airfield.elevation
    return flatness * airfield.elevation + (1.0 - flatness) * _hills(lat_deg, lon_deg)


def elevation_with(airfield: Airfield) -> Callable[[float, float], float]:
    """Return the height (m) by latitude and longitude (deg) of the ground with an airfield."""
    return elevation_m if airfield == HOME else partial(elevation_around, airfield)


def is_wet(lat_deg: float, lon_deg: float, airfield: Airfield = HOME) -> bool:
    """Return whether the place is on the sea: no airfield is, however low it lies."""
    return (_flatness(lat_deg, lon_deg, airfield) < 1.0
            and elevation_around(airfield, lat_deg, lon_deg) <= 0.0)


def normal(
    lat_deg: float, lon_deg: float, airfield: Airfield = HOME
) -> tuple[float, float, float]:
    """Return the ground's unit normal in local axes (east, north, up)."""
    elevation = elevation_with(airfield)
    north_arm = _NORMAL_ARM / _METRES_PER_DEGREE
    east_arm = north_arm / max(math.cos(math.radians(lat_deg)), 0.01)
    slope_east = (elevation(lat_deg, lon_deg + east_arm)
                  - elevation(lat_deg, lon_deg - east_arm)) / (2.0 * _NORMAL_ARM)
    slope_north = (elevation(lat_deg + north_arm, lon_deg)
                   - elevation(lat_deg - north_arm, lon_deg)) / (2.0 * _NORMAL_ARM)
    length = math.sqrt(1.0 + slope_east ** 2 + slope_north ** 2)
    return (-slope_east / length, -slope_north / length, 1.0 / length)


def _hills(lat_deg: float, lon_deg: float) -> float:
    """Return the ground's height without the airfield: waves 2, 0.5 and 0.1 degrees long."""
    # Wavelengths divide 360 degrees, so that the ground has no step at the date line.
    lat = math.tau * (lat_deg - HOME_LAT_DEG)
    lon = math.tau * (lon_deg - HOME_LON_DEG)
    land = (250.0
            + 400.0 * math.cos(lat / 2.0) * math.cos(lon / 2.0)
            + 80.0 * math.sin(lat / 0.5) * math.cos(lon / 0.5)
            + 25.0 * math.sin(lat / 0.1) * math.sin(lon / 0.1))
    # The square makes the shore as smooth as the hills.
    return land * land / (land + 60.0) if land > 0.0 else 0.0


def _flatness(lat_deg: float, lon_deg: float, airfield: Airfield = HOME) -> float:
    """Return 1 at an airfield, 0 in the hills, smoothly between."""
    north = (lat_deg - airfield.lat_deg) * _METRES_PER_DEGREE
    east = (math.remainder(lon_deg - airfield.lon_deg, 360.0) * _METRES_PER_DEGREE
            * math.cos(math.radians(airfield.lat_deg)))
    distance = math.hypot(north, east)
    if distance <= _FLAT_RADIUS:
        return 1.0
    t = min((distance - _FLAT_RADIUS) / (_HILLS_RADIUS - _FLAT_RADIUS), 1.0)
    return 1.0 - t * t * (3.0 - 2.0 * t)
