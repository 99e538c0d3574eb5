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

from xplane_bridge.common.fields import (
    Declaration,
    FieldError,
    read_table,
    REQUIRED,
    Table,
    wrong_kind,
)
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


def _bounded(name: str, default: Any, meaning: str, unit: str = 'm') -> Declaration:
    low, high = BOUNDS[name]
    return Declaration(default, meaning, float, unit, low, high, name=name)


RUNWAY: Table = {
    'heading': Declaration(
        REQUIRED, 'its direction, from true north', float, 'deg', 0.0, 360.0, name='heading_deg'),
    'length': _bounded('length', REQUIRED, 'from threshold to end'),
    'width': _bounded('width', REQUIRED, 'from edge to edge'),
    'elevation_msl': _bounded(
        'elevation_msl', None, 'of its threshold, above mean sea level; without, that of the '
        'ground there, which only core knows'),
    'latitude_deg': _bounded('latitude_deg', HOME_LAT_DEG, 'of its threshold', 'deg'),
    'longitude_deg': _bounded('longitude_deg', HOME_LON_DEG, 'of its threshold', 'deg'),
    'glide_path': _bounded(
        'glide_path_deg', DEGREE * USUAL_GLIDE_PATH_DEG, 'its angle of descent', 'deg'),
    'aiming_point': Declaration(
        None, 'from the threshold; by default that of ICAO for its length', float, 'm', 1.0,
        BOUNDS['length'][1])}
"""Of a runway."""

PROCEDURE: Table = {
    'height': Declaration(
        USUAL_HEIGHT, 'above the runway', unit='m', low=_LOWEST, high=_HIGHEST)}
"""Of ``take_off`` and ``go_around``."""

PATTERN: Table = {
    **PROCEDURE,
    'side': Declaration(LEFT, 'on which it is flown', str, choices=(LEFT, RIGHT))}
"""Of ``pattern``."""


def parse(item: Any) -> ChartedRunway:
    """Return the runway of a file. Raises FieldError."""
    given = read_table(RUNWAY, item, 'runway')
    length = given['length']
    given = {
        'latitude_deg': HOME_LAT_DEG, 'longitude_deg': HOME_LON_DEG, 'elevation_msl': math.nan,
        'glide_path': DEGREE * USUAL_GLIDE_PATH_DEG, 'aiming_point': usual_aiming_point(length),
        **given}
    if given['aiming_point'] >= length:
        raise FieldError(f'runway.aiming_point: {given["aiming_point"]:g} m is beyond the runway '
                         f'of {length:g} m')
    return ChartedRunway(**given)


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
            raise FieldError(wrong_kind(where, 'true', value))
        return {}
    table = PATTERN if action == 'pattern' else PROCEDURE
    return {name: one.default for name, one in table.items()} | read_table(table, value, where)


def described(action: str, values: Mapping[str, Any]) -> str:
    """Return such an event as a phrase."""
    name = action.replace('_', ' ').replace('take off', 'take-off')
    if 'height' in values:
        name += f' to {values["height"]:.0f} m'
    if 'side' in values:
        name += f', turns to the {values["side"]}'
    return name
