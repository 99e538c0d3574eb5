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
Flights as X-Plane's Flight Initialization API describes them, for its Web API from 12.4 on.

All numbers are written with a decimal point: X-Plane was reported to refuse others.
"""

from __future__ import annotations

from collections.abc import Mapping
import json
from typing import Any

_NAUTICAL_MILE = 1852.0

PRESETS = (
    'vfr_few_clouds', 'vfr_scattered', 'vfr_broken', 'marginal_vfr_overcast', 'ifr_non_precision',
    'ifr_precision', 'convective', 'large_cell_thunderstorm')
"""X-Plane's own weather."""

REAL_WEATHER = 'real'

STARTS = ('runway_start', 'ramp_start', 'lle_ground_start', 'lle_air_start', 'boat_start')
"""Keys of a place to start at, of which a new flight has one."""

# A preset needs all of these.
_CALM = {
    'vertical_speed_in_thermal_in_feet_per_minute': 0.0,
    'wave_height_in_meters': 0.0,
    'wave_direction_in_degrees': 0.0,
    'terrain_state': 'dry',
    'variation_across_region_percentage': 0.0,
    'evolution_over_time_enum': 'static',
}

Json = dict[str, Any]


def runway_start(airport: str, runway: str, final_distance: float = 0.0) -> Json:
    """Return the start on a runway, or ``final_distance`` metres from it on the approach."""
    given: Json = {'airport_id': airport, 'runway': runway}
    if final_distance > 0.0:
        given['final_distance_in_nautical_miles'] = final_distance / _NAUTICAL_MILE
    return {'runway_start': given}


def ramp_start(airport: str, ramp: str) -> Json:
    """Return the start at a ramp."""
    return {'ramp_start': {'airport_id': airport, 'ramp': ramp}}


def ground_start(lat_deg: float, lon_deg: float, heading_deg: float) -> Json:
    """Return the start at a position on the ground; the heading is true."""
    return {'lle_ground_start': {
        'latitude': float(lat_deg), 'longitude': float(lon_deg),
        'heading_true': heading_deg % 360.0}}


def air_start(
    lat_deg: float, lon_deg: float, altitude_msl: float, heading_deg: float, speed: float = 0.0,
    pitch_deg: float | None = None,
) -> Json:
    """Return the start in the air at a speed (m/s, true), or at the cruise speed if that is 0."""
    given: Json = {
        **ground_start(lat_deg, lon_deg, heading_deg)['lle_ground_start'],
        'elevation_in_meters': float(altitude_msl)}
    if speed > 0.0:
        given['speed_in_meters_per_second'] = float(speed)
    else:
        given['speed_enum'] = 'cruise'
    if pitch_deg is not None:
        given['pitch_in_degrees'] = float(pitch_deg)
    return {'lle_air_start': given}


def aircraft(path: str, livery: str = '') -> Json:
    """Return the aircraft; ``path`` is relative to X-Plane's folder. Raises ValueError."""
    parts = path.replace('\\', '/').split('/')
    if not path.lower().endswith('.acf') or not parts[0] or parts[0].endswith(':') or (
            '..' in parts):
        raise ValueError(
            f"aircraft {path!r}: expected the path of an .acf file below X-Plane's folder, for "
            'example Aircraft/Laminar Research/Cessna 172 SP/Cessna_172SP.acf')
    return {'aircraft': {'path': path, **({'livery': livery} if livery else {})}}


def weather(name: str) -> Json:
    """Return the real weather or a preset. Raises ValueError for another name."""
    if name == REAL_WEATHER:
        return {'weather': 'use_real_weather'}
    if name not in PRESETS:
        raise ValueError(
            f'weather {name!r}: expected {REAL_WEATHER} or one of {", ".join(PRESETS)}; the key '
            'weather in more has all of the Flight Initialization API')
    return {'weather': {'definition': name, **_CALM}}


def more(text: str, taken: Mapping[str, Any]) -> Json:
    """Return further keys from a JSON object. Raises ValueError, also for keys in ``taken``."""
    try:
        given = json.loads(text)
        json.dumps(given, allow_nan=False)
    except (ValueError, RecursionError) as error:
        raise ValueError(f'more: {error}; expected a JSON object') from error
    if not isinstance(given, dict):
        raise ValueError(f'more: got {text!r}, expected a JSON object')
    if twice := sorted(given.keys() & taken.keys()):
        raise ValueError(f'more: {", ".join(twice)} is given twice')
    starts = [key for key in STARTS if key in given or key in taken]
    if len(starts) > 1:
        raise ValueError(f'a flight starts at one place, got {" and ".join(starts)}')
    return given
