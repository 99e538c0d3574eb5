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
The layers of wind and turbulence by altitude that clients of X-Plane write.

Until one is written, and again after something else has changed the air (an event of a scenario, a
reset), they show the air that there is. Between two of them wind and turbulence grow linearly;
below the lowest and above the highest they are those of that layer. A layer at a negative altitude
counts as undefined. The vertical wind stays what it is; a wind shear ends with the first layer.

X-Plane's scale of turbulence has no unit. Here 10 is MIL-F-8785C's severe turbulence, near the
ground and aloft, and 0 is calm.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
import math
from typing import NamedTuple

from xplane_bridge.simulation.aircraft.aircraft import Aircraft
from xplane_bridge.simulation.aircraft.limits import clamp, MAX_WIND
from xplane_bridge.simulation.aircraft.weather import Weather

LEVELS = (0.0, 540.0, 988.0, 1948.0, 3010.0, 4206.0, 5571.0, 7181.0, 9158.0, 10_360.0, 11_884.0,
          13_590.0, 16_175.0)
"""Altitudes (m MSL) of X-Plane 12's levels: docs/wire/xplane_datarefs.md, row 2.27."""

# Seconds between two updates of X-Plane 12's weather (docs/wire/xplane_datarefs.md, row 2.29).
_UPDATE_PERIOD = 60.0
_SEVEREST = 10.0
_SEVERE_WIND_AT_20FT = 23.0
_SEVERE = 6
# JSBSim's turbulence depends on the wind at 20 ft below the first of these altitudes (m), and on
# the severity above the second.
_LOW, _ALOFT = 304.8, 609.6


class WindLayer(NamedTuple):
    """Altitude in m MSL, direction that the wind comes from in deg true, m/s, 0..10."""

    altitude: float
    direction: float
    speed: float
    turbulence: float

    def wind(self) -> tuple[float, float]:
        """Return the velocity of the air, north and east in m/s."""
        to = math.radians(self.direction + 180.0)
        return self.speed * math.cos(to), self.speed * math.sin(to)


class WindLayers:
    """
    The layers of one world, whose aircraft fly in them, each at its altitude.

    ``update_immediately`` is X-Plane 12's: otherwise what is written takes effect at the next
    whole minute of simulated time. ``are_written`` says that advance() has something to do.
    """

    def __init__(self, flown: Sequence[Aircraft]) -> None:
        """Show the air of the first aircraft, and change that of all."""
        self._flown = flown
        self.update_immediately = False
        self.are_written = False
        self._written: tuple[WindLayer, ...] = ()
        self._in_effect: tuple[WindLayer, ...] = ()
        self._due = math.inf
        # The air that the first aircraft was given last.
        self._air: Weather | None = None

    def shown(self, count: int) -> tuple[WindLayer, ...]:
        """Return so many layers as they were written, or as the air is."""
        self._look()
        return _of(self._written, count) if self._written else self._found(count)

    def in_effect(self, count: int) -> tuple[WindLayer, ...]:
        """Return so many layers of the air that there is."""
        self._look()
        return _of(self._in_effect, count) if self._in_effect else self._found(count)

    def write(self, field: str, values: Sequence[float], now: float, *, at_once: bool) -> None:
        """
        Give one field of the lowest layers; others are as they are shown.

        ``now`` is the simulated time in s. Numbers are clamped to what can be simulated.
        """
        low, high = _LIMITS[field]
        layers = tuple(
            layer._replace(**{field: clamp(value, low, high)})
            for layer, value in zip(self.shown(len(values)), values, strict=True))
        self._written, self.are_written = layers, True
        self._due = now if at_once else (now // _UPDATE_PERIOD + 1.0) * _UPDATE_PERIOD
        self.advance(now)

    def advance(self, now: float) -> None:
        """Let the aircraft fly in the layers that are due at this simulated time (s)."""
        if now >= self._due:
            self._in_effect, self._due = self._written, math.inf
            self._air = None
        self._look()
        if self._in_effect:
            for aircraft in self._flown:
                _blow(self._in_effect, aircraft)
            self._air = self._flown[0].weather

    def _look(self) -> None:
        """Forget the layers if something else has changed the air since."""
        if self._air is not None and self._flown[0].weather != self._air:
            self._written = self._in_effect = ()
            self._air, self.are_written = None, False

    def _found(self, count: int) -> tuple[WindLayer, ...]:
        aircraft = self._flown[0]
        weather, ground = aircraft.weather, aircraft.state.terrain_msl
        layers = []
        for altitude in LEVELS[:count]:
            north, east = weather.wind_at(altitude - ground)
            layers.append(WindLayer(
                altitude, math.degrees(math.atan2(0.0 - east, 0.0 - north)) % 360.0,
                math.hypot(north, east), _turbulence(weather, altitude)))
        return tuple(layers)


_LIMITS = {'altitude': (-1.0, 1e5), 'direction': (0.0, 360.0), 'speed': (0.0, MAX_WIND),
           'turbulence': (0.0, _SEVEREST)}


def _of(layers: tuple[WindLayer, ...], count: int) -> tuple[WindLayer, ...]:
    """Return so many layers: above the highest, all is as there."""
    return layers[:count] + layers[-1:] * (count - len(layers))


def _blow(layers: Sequence[WindLayer], aircraft: Aircraft) -> None:
    """Give an aircraft the air of the layers at its altitude."""
    north, east, turbulence = _air_at(layers, aircraft.sampler.sample()[2])
    weather = aircraft.weather
    if weather.shear is not None:
        aircraft.set_shear(None)
    if weather.wind[:2] != (north, east):
        aircraft.set_wind(north, east, weather.wind[2])
    strength = turbulence / _SEVEREST
    severe = (_SEVERE_WIND_AT_20FT * strength, max(round(_SEVERE * strength), int(strength > 0.0)))
    if (weather.wind_at_20ft, weather.severity) != severe:
        aircraft.set_turbulence(*severe)


def _air_at(layers: Sequence[WindLayer], altitude: float) -> tuple[float, float, float]:
    """Return wind north and east (m/s) and turbulence at an altitude (m MSL)."""
    defined = sorted(layer for layer in layers if layer.altitude >= 0.0)
    if not defined:
        return 0.0, 0.0, 0.0
    for below, above in pairwise(defined):
        if below.altitude <= altitude < above.altitude:
            share = (altitude - below.altitude) / (above.altitude - below.altitude)
            break
    else:
        below = above = defined[0] if altitude < defined[0].altitude else defined[-1]
        share = 0.0
    north, east, turbulence = (
        low + (high - low) * share for low, high in zip(
            (*below.wind(), below.turbulence), (*above.wind(), above.turbulence), strict=True))
    return north, east, turbulence


def _turbulence(weather: Weather, altitude: float) -> float:
    """Return the turbulence at an altitude (m MSL), 0..10."""
    if not weather.severity:
        return 0.0
    low, aloft = weather.wind_at_20ft / _SEVERE_WIND_AT_20FT, weather.severity / _SEVERE
    share = clamp((altitude - _LOW) / (_ALOFT - _LOW), 0.0, 1.0)
    return min(low + (aloft - low) * share, 1.0) * _SEVEREST
