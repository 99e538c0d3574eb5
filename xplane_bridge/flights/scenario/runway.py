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
from dataclasses import dataclass, replace
import math
from typing import Any

from xplane_bridge.aircraft.terrain import HOME_LAT_DEG, HOME_LON_DEG
from xplane_bridge.common import fields
from xplane_bridge.common.fields import ScenarioError
from xplane_bridge.common.plain_yaml import shown
from xplane_bridge.common.units import DEGREE
from xplane_bridge.control.runway.autopilot import LEFT, RIGHT
from xplane_bridge.control.runway.runway import Runway as FlownRunway
from xplane_bridge.conversions.geodesy import LocalFrame
from xplane_bridge.conversions.geoid import msl_to_ellipsoid, usual_undulation

PROCEDURES = ('take_off', 'pattern', 'land', 'go_around')
"""Events that the autopilot flies from a runway, or to it."""

# 1000 ft above the runway.
_HEIGHT = 300.0
_LOWEST, _HIGHEST = 50.0, 3000.0
_LONGEST, _WIDEST = 20_000.0, 500.0
# The aiming point's distance from the threshold (m) for runways that are at least so long (m):
# ICAO, Annex 14, volume I, table 5-1.
_AIMING_POINTS = ((2400.0, 400.0), (1200.0, 300.0), (800.0, 250.0), (0.0, 150.0))
# An aircraft that is parked stands so far (m) beyond the threshold.
_STANDS = 30.0


@dataclass(frozen=True, slots=True)
class Runway:
    """
    A runway: its threshold in degrees, its true ``heading`` and ``glide_path`` in rad.

    ``elevation_msl``, ``length``, ``width`` and the aiming point beyond the threshold are in m.
    An elevation that is not known is NaN: then it is that of the ground there (``on_ground``), or
    nobody flies from it or to it.
    """

    latitude_deg: float
    longitude_deg: float
    heading: float
    elevation_msl: float
    length: float
    width: float
    glide_path: float
    aiming_point: float

    @property
    def has_elevation(self) -> bool:
        """Return whether its elevation is known."""
        return not math.isnan(self.elevation_msl)

    def on_ground(self, elevation_msl: float) -> Runway:
        """Return it with the elevation (m) of the ground, as terrain data has it."""
        return self if self.has_elevation else replace(self, elevation_msl=elevation_msl)

    @property
    def elevation(self) -> float:
        """Return its height (m) above the ellipsoid, as altitudes are measured."""
        return msl_to_ellipsoid(self.elevation_msl, usual_undulation().height_m(
            self.latitude_deg, self.longitude_deg))

    def seen_from(self, frame: LocalFrame) -> FlownRunway:
        """Return it in a local frame that is not far from it."""
        east, north, _ = frame.geodetic_to_enu(
            self.latitude_deg, self.longitude_deg, self.elevation)
        return FlownRunway(
            (east, north), self.heading, self.elevation, self.length, self.width,
            self.glide_path, self.aiming_point)

    def own_frame(self) -> LocalFrame:
        """Return the local frame at its threshold."""
        return LocalFrame(self.latitude_deg, self.longitude_deg, self.elevation)

    def standing(self) -> dict[str, float]:
        """Return where an aircraft stands before its take-off, by the names of initial."""
        # So near the elevation makes no difference.
        latitude, longitude, _ = self.on_ground(0.0).own_frame().enu_to_geodetic((
            _STANDS * math.sin(self.heading), _STANDS * math.cos(self.heading), 0.0))
        return {'latitude_deg': latitude, 'longitude_deg': longitude,
                'heading_deg': self.heading / DEGREE}


def parse(item: Any) -> Runway:
    """Return the runway of a file; ScenarioError says what is wrong with it."""
    given = fields.mapping(
        item, 'runway', required=('heading_deg', 'length', 'width'), optional=(
            'elevation_msl', 'latitude_deg', 'longitude_deg', 'glide_path_deg', 'aiming_point'))

    def number(name: str, low: float, high: float, otherwise: float = math.nan) -> float:
        return fields.number(
            given.get(name, otherwise), f'runway.{name}', at_least=low, at_most=high)

    length = number('length', 100.0, _LONGEST)
    usual = next(point for least, point in _AIMING_POINTS if length >= least)
    aiming_point = number('aiming_point', 1.0, _LONGEST, min(usual, length / 2.0))
    if aiming_point >= length:
        raise ScenarioError(
            f'runway.aiming_point: {aiming_point:g} m is beyond the runway of {length:g} m')
    return Runway(
        number('latitude_deg', -89.0, 89.0, HOME_LAT_DEG),
        number('longitude_deg', -180.0, 180.0, HOME_LON_DEG),
        DEGREE * number('heading_deg', 0.0, 360.0),
        number('elevation_msl', -500.0, 6000.0) if 'elevation_msl' in given else math.nan, length,
        number('width', 5.0, _WIDEST),
        DEGREE * number('glide_path_deg', 2.0, 8.0, 3.0), aiming_point)


def parse_procedure(action: str, value: Any, where: str) -> dict[str, Any]:
    """Return what an event of PROCEDURES is told."""
    if action == 'land':
        if value is not True:
            raise ScenarioError(f'{where}: expected true, got {shown(value)}')
        return {}
    given = fields.mapping(
        value, where, optional=('height', *(('side',) if action == 'pattern' else ())))
    found: dict[str, Any] = {'height': fields.number(
        given.get('height', _HEIGHT), f'{where}.height', at_least=_LOWEST, at_most=_HIGHEST)}
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
