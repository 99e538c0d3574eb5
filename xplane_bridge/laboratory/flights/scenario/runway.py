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
"""The runway of a scenario, and the events that fly from it and to it. No ROS."""

from __future__ import annotations

from collections.abc import Mapping
import math
from typing import Any

from xplane_bridge.common import fields
from xplane_bridge.common.fields import ScenarioError
from xplane_bridge.common.text import abbreviated
from xplane_bridge.common.units import DEGREE
from xplane_bridge.laboratory.control.runway.autopilot import LEFT, RIGHT
from xplane_bridge.laboratory.control.runway.charted import (
    BOUNDS,
    ChartedRunway,
    usual_aiming_point,
    USUAL_GLIDE_PATH_DEG,
    USUAL_HEIGHT,
)
from xplane_bridge.simulation.aircraft.terrain import HOME_LAT_DEG, HOME_LON_DEG

PROCEDURES = ('take_off', 'pattern', 'land', 'go_around')
"""Events that the autopilot flies from a runway, or to it."""

_LOWEST, _HIGHEST = 50.0, 3000.0
# An aircraft that is parked stands so far (m) beyond the threshold.
_STANDS = 30.0


def parse(item: Any) -> ChartedRunway:
    """Return the runway of a file; ScenarioError says what is wrong with it."""
    given = fields.mapping(
        item, 'runway', required=('heading_deg', 'length', 'width'), optional=(
            'elevation_msl', 'latitude_deg', 'longitude_deg', 'glide_path_deg', 'aiming_point'))

    def number(name: str, low: float, high: float, otherwise: float = math.nan) -> float:
        return fields.number(
            given.get(name, otherwise), f'runway.{name}', low=low, high=high)

    length = number('length', *BOUNDS['length'])
    aiming_point = number(
        'aiming_point', 1.0, BOUNDS['length'][1], usual_aiming_point(length))
    if aiming_point >= length:
        raise ScenarioError(
            f'runway.aiming_point: {aiming_point:g} m is beyond the runway of {length:g} m')
    return ChartedRunway(
        number('latitude_deg', *BOUNDS['latitude_deg'], HOME_LAT_DEG),
        number('longitude_deg', *BOUNDS['longitude_deg'], HOME_LON_DEG),
        DEGREE * number('heading_deg', 0.0, 360.0),
        number('elevation_msl', *BOUNDS['elevation_msl'])
        if 'elevation_msl' in given else math.nan,
        length, number('width', *BOUNDS['width']),
        DEGREE * number('glide_path_deg', *BOUNDS['glide_path_deg'], USUAL_GLIDE_PATH_DEG),
        aiming_point)


def standing(runway: ChartedRunway) -> dict[str, float]:
    """Return where an aircraft stands before its take-off, by the names of initial."""
    # So near the elevation makes no difference.
    latitude, longitude, _ = runway.on_ground(0.0).own_frame().enu_to_geodetic((
        _STANDS * math.sin(runway.heading), _STANDS * math.cos(runway.heading), 0.0))
    return {'latitude_deg': latitude, 'longitude_deg': longitude,
            'heading_deg': runway.heading / DEGREE}


def parse_procedure(action: str, value: Any, where: str) -> dict[str, Any]:
    """Return what an event of PROCEDURES is told."""
    if action == 'land':
        if value is not True:
            raise ScenarioError(f'{where}: expected true, got {abbreviated(value)}')
        return {}
    given = fields.mapping(
        value, where, optional=('height', *(('side',) if action == 'pattern' else ())))
    found: dict[str, Any] = {'height': fields.number(
        given.get('height', USUAL_HEIGHT), f'{where}.height', low=_LOWEST, high=_HIGHEST)}
    if action == 'pattern':
        found['side'] = fields.choice(given.get('side', LEFT), f'{where}.side', (LEFT, RIGHT))
    return found


def described(action: str, values: Mapping[str, Any]) -> str:
    """Return such an event as a phrase."""
    name = action.replace('_', ' ').replace('take off', 'take-off')
    if 'height' in values:
        name += f' to {values["height"]:.0f} m'
    if 'side' in values:
        name += f', turns to the {values["side"]}'
    return name
