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

"""The weather in events of a scenario: wind, turbulence, gusts and shear. No ROS."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Protocol

from xplane_bridge.common.fields import (
    Declaration,
    FieldError,
    read_table,
    REQUIRED,
    Table,
    table_of,
)
from xplane_bridge.simulation.aircraft.limits import check_turbulence, check_wind
from xplane_bridge.simulation.aircraft.weather import FOR_GOOD, Gust, Shear

WEATHER = ('wind', 'turbulence', 'gust', 'wind_shear')
"""Actions that change the air."""

_AXES = ('longitudinal', 'lateral', 'vertical')
_PROFILES = ('logarithmic', 'power')
# MIL-F-8785C, category C: 0.15 ft. The power is that of neutral air over open country.
_ROUGHNESS = 0.15 * 0.3048
_EXPONENT = 1.0 / 7.0

GUST: Table = {
    'axis': Declaration(
        REQUIRED, 'level, by the heading at the event: + is from behind, to the right, or up', str,
        choices=_AXES),
    'amplitude': Declaration(REQUIRED, 'the velocity of the air at its end, *Vm*', unit='m/s'),
    **table_of(Gust),
    'hold': replace(table_of(Gust)['hold'], default=None, low=0.0, meaning=(
        'after so many m more it falls off again, over the same length; without, it stays'))}
"""Of a discrete gust."""

SHEAR: Table = {
    'wind_at_20ft': Declaration(
        REQUIRED, 'its velocity at 20 ft, *W*', tuple[float, float], 'm/s',
        form='[east, north] in m/s'),
    'profile': Declaration(_PROFILES[0], 'how it grows with the height', str, choices=_PROFILES),
    'roughness': replace(table_of(Shear)['roughness'], default=_ROUGHNESS, meaning=(
        '*z0*, of a logarithmic profile; 0.61 (2 ft) is that of all but approach and landing')),
    'exponent': replace(table_of(Shear)['exponent'], default=_EXPONENT)}
"""Of a wind that grows with the height above the ground."""

VECTORS: Table = {
    'wind': Declaration(
        None, 'velocity of the air', tuple[float, float, float], form='[east, north, up] in m/s'),
    'turbulence': Declaration(
        None, 'its strength', tuple[float, float],
        form='[wind at 20 ft in m/s, severity 0..7]')}
"""What is a list of numbers."""


class InAir(Protocol):
    """An aircraft in the weather."""

    def set_wind(self, north: float, east: float, down: float = 0.0) -> None:
        """Set the steady wind."""

    def set_turbulence(self, wind_at_20ft: float, severity: int) -> None:
        """Set the turbulence."""

    def set_shear(self, shear: Shear | None) -> None:
        """Set a wind that grows with the height."""

    def meet(self, gust: Gust) -> None:
        """Fly into a gust."""


def parse(action: str, value: Any, where: str) -> tuple[float, ...]:
    """
    Return the numbers of an action of WEATHER; FieldError says what is wrong.

    wind: east, north, up in m/s. turbulence: wind at 20 ft in m/s, severity. gust: see Gust.
    wind_shear: east and north at 20 ft in m/s, roughness in m, exponent (see Shear).
    """
    try:
        if action == 'gust':
            return _gust(value, where)
        if action == 'wind_shear':
            return _shear(value, where)
        found: tuple[float, ...] = VECTORS[action].check(value, where)
        (check_wind if action == 'wind' else check_turbulence)(*found)
    except FieldError:
        raise
    except ValueError as error:
        raise FieldError(f'{where}: {error}') from None
    return found


def set_weather(aircraft: InAir, action: str, value: Sequence[float]) -> None:
    """Let an action of WEATHER happen to an aircraft; ValueError for what is not simulated."""
    if action == 'wind':
        east, north, up = value
        aircraft.set_wind(north, east, -up)
    elif action == 'turbulence':
        at_20_ft, severity = value
        aircraft.set_turbulence(at_20_ft, int(severity))
    elif action == 'gust':
        aircraft.meet(Gust(*value))
    else:
        east, north, roughness, exponent = value
        aircraft.set_shear(
            Shear(north, east, roughness, exponent) if east or north else None)


def described(action: str, value: Sequence[float]) -> str:
    """Return an action of WEATHER in words."""
    if action == 'wind':
        return 'wind of {:.0f} m/s east, {:.0f} m/s north, {:.0f} m/s up'.format(*value)
    if action == 'turbulence':
        return 'turbulence: {:.0f} m/s at 20 ft, severity {:.0f}'.format(*value)
    if action == 'gust':
        forward, right, up, length, _, _ = value
        speed, axis = next(
            ((one, name) for one, name in zip((forward, right, up), _AXES, strict=True) if one),
            (0.0, ''))
        return f'{axis} gust of {speed:+.1f} m/s over {length:.0f} m'
    return 'wind shear: {:.0f} m/s east, {:.0f} m/s north at 20 ft'.format(*value)


def _gust(value: Any, where: str) -> tuple[float, ...]:
    given = read_table(GUST, value, where)
    if not given['amplitude']:
        raise FieldError(f'{where}.amplitude: a gust of 0 has no effect')
    forward, right, up = (given['amplitude'] if given['axis'] == name else 0.0 for name in _AXES)
    gust = Gust(forward, right, up, given['length'], given.get('distance', 0.0),
                given.get('hold', FOR_GOOD))
    gust.check()
    return (forward, right, up, gust.length, gust.distance, gust.hold)


def _shear(value: Any, where: str) -> tuple[float, ...]:
    given = read_table(SHEAR, value, where)
    east, north = given['wind_at_20ft']
    profile = given.get('profile', _PROFILES[0])
    other = 'exponent' if profile == _PROFILES[0] else 'roughness'
    if other in given:
        raise FieldError(f'{where}.{other}: a {profile} profile has none')
    roughness = exponent = 0.0
    if profile == _PROFILES[0]:
        roughness = given.get('roughness', _ROUGHNESS)
    else:
        exponent = given.get('exponent', _EXPONENT)
    Shear(north, east, roughness, exponent).check()
    return (east, north, roughness, exponent)
