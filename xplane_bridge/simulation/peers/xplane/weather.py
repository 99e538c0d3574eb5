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
Datarefs of the weather: docs/wire/xplane_datarefs.md, rows 2.9 to 2.32.

What is said of the air is what the aircraft flies in: wind, turbulence, temperature, pressure.
Layers of wind and turbulence can be written, up to 11 under the old names and in 12 under
sim/weather/region/; they move the air. The rest of X-Plane's weather (clouds, visibility, rain,
thermals, waves) is not modelled, and has no names here. The air is the same everywhere, and
nobody but the user changes it. wind_now_* is the velocity of the air, downwind, in m/s (2.23).
"""

from collections.abc import Callable, Sequence
from functools import partial
import math

from xplane_bridge.simulation.aircraft.state import AircraftState, KNOT
from xplane_bridge.simulation.peers.wind_layers import LEVELS, WindLayer
from xplane_bridge.simulation.peers.world import World
from xplane_bridge.simulation.peers.xplane.entries import DatarefTable, element
from xplane_bridge.simulation.peers.xplane.units import INCH_OF_MERCURY, KELVIN

# The standard atmosphere: lapse rate in K/m of geopotential altitude, up to the tropopause; and
# the earth's radius in it, in m.
_LAPSE_RATE = 0.0065
_TROPOPAUSE = 11_000.0
_RADIUS = 6_356_766.0
# Rise of the temperature where the air is brought to rest, by the square of the Mach number.
_RAM_RISE = 0.2
# X-Plane's enums: set by the user, and static.
_PRESET, _STATIC = 0, 3
_OLD_LAYERS = 3

_OLD, _AIRCRAFT = 'sim/weather/', 'sim/weather/aircraft/'
_REGION = 'sim/weather/region/'


def add_weather(t: DatarefTable, world: World) -> None:
    """Add weather: 12 adds new names and keeps the old ones."""
    for add in (_at_the_aircraft, _old_layers, _layers, _region):
        add(t, world)


def _at_the_aircraft(t: DatarefTable, world: World) -> None:
    """Add the air at the user's aircraft (2.9 to 2.25)."""
    def s() -> AircraftState:
        return world.state

    def wind_from() -> float:
        return math.degrees(math.atan2(-s().wind_east, -s().wind_north)) % 360.0

    def wind_speed() -> float:
        return math.hypot(s().wind_north, s().wind_east)

    def leading_edge() -> float:
        return s().temperature * (1.0 + _RAM_RISE * s().mach ** 2) - KELVIN

    old, new = _OLD, _AIRCRAFT
    t.float_(old + 'temperature_ambient_c', lambda: s().temperature - KELVIN)
    t.float_(new + 'temperature_ambient_deg_c', lambda: s().temperature - KELVIN, since=12)
    t.float_(old + 'temperature_le_c', leading_edge)
    t.float_(new + 'temperature_leadingedge_deg_c', leading_edge, since=12)
    t.float_(old + 'temperature_sealevel_c', lambda: s().sea_level_temperature - KELVIN)
    t.float_(old + 'barometer_current_inhg', lambda: s().static_pressure / INCH_OF_MERCURY)
    t.float_(new + 'barometer_current_pas', lambda: s().static_pressure, since=12)
    t.float_(old + 'barometer_sealevel_inhg', lambda: s().sea_level_pressure / INCH_OF_MERCURY)
    t.float_(new + 'qnh_pas', lambda: s().sea_level_pressure, since=12)
    t.float_(old + 'rho', lambda: s().density)
    t.float_(old + 'sigma', lambda: s().density_ratio)
    t.float_(old + 'wind_direction_degt', wind_from)
    t.float_(new + 'wind_now_direction_degt', wind_from, since=12)
    # In m/s despite its name (2.24).
    t.float_(old + 'wind_speed_kt', wind_speed)
    t.float_(new + 'wind_now_speed_msc', wind_speed, since=12)
    for base, since in ((old, 9), (new, 12)):
        for i, axis in enumerate('xyz'):
            t.float_(base + f'wind_now_{axis}_msc', element(lambda: world.local.wind, i),
                     since=since)
        t.float_(base + 'gravity_mss', lambda: s().gravity, since=since)
        t.float_(base + 'speed_sound_ms', lambda: s().speed_of_sound, since=since)


def _old_layers(t: DatarefTable, world: World) -> None:
    """Add the three layers up to 11 (2.26): each is a dataref of its own, with [n] in its name."""
    layers, is_old = world.wind_layers, t.version < 12
    # Knots up to 11, m/s in 12, where they can only be read (2.13).
    for field, name, unit in (
            ('altitude', 'wind_altitude_msl_m', 1.0), ('direction', 'wind_direction_degt', 1.0),
            ('speed', 'wind_speed_kt', KNOT if is_old else 1.0),
            ('turbulence', 'turbulence', 1.0)):
        def read(n: int, field: str, unit: float) -> float:
            return float(getattr(layers.shown(_OLD_LAYERS)[n], field)) / unit

        def write(n: int, field: str, unit: float, value: float) -> None:
            values = [getattr(layer, field) for layer in layers.shown(_OLD_LAYERS)]
            values[n] = value * unit
            layers.write(field, values, world.total_running_time, at_once=True)

        for n in range(_OLD_LAYERS):
            t.float_(f'{_OLD}{name}[{n}]', partial(read, n, field, unit),
                     partial(write, n, field, unit) if is_old else None)


def _layers(t: DatarefTable, world: World) -> None:
    """Add the thirteen layers of 12 (2.27 to 2.29): those of the region can be written."""
    layers, count = world.wind_layers, len(LEVELS)

    def read(shown: Callable[[int], Sequence[WindLayer]], field: str, unit: float) -> list[float]:
        return [getattr(layer, field) / unit for layer in shown(count)]

    def write(field: str, values: Sequence[float]) -> None:
        layers.write(field, values, world.total_running_time,
                     at_once=layers.update_immediately)

    def set_immediately(value: int) -> None:
        layers.update_immediately = value != 0

    for field, region, aircraft, unit in (
            ('altitude', 'wind_altitude_msl_m', 'wind_altitude_msl_m', 1.0),
            ('direction', 'wind_direction_degt', 'wind_direction_degt', 1.0),
            ('speed', 'wind_speed_msc', 'wind_speed_kts', KNOT),
            ('turbulence', 'turbulence', 'turbulence', 1.0)):
        t.floats(_REGION + region, partial(read, layers.shown, field, 1.0),
                 partial(write, field), since=12)
        t.floats(_AIRCRAFT + aircraft, partial(read, layers.in_effect, field, unit), since=12)
    t.int_(_REGION + 'update_immediately', lambda: int(layers.update_immediately),
           set_immediately, since=12)


def _region(t: DatarefTable, world: World) -> None:
    """Add pressure and temperatures of the region (2.30, 2.31), and who makes the weather."""
    def s() -> AircraftState:
        return world.state

    def temperature(altitude: float) -> float:
        geopotential = _RADIUS * altitude / (_RADIUS + altitude)
        return (s().sea_level_temperature - KELVIN
                - _LAPSE_RATE * min(geopotential, _TROPOPAUSE))

    tropopause = _RADIUS * _TROPOPAUSE / (_RADIUS - _TROPOPAUSE)
    t.float_(_REGION + 'sealevel_pressure_pas', lambda: s().sea_level_pressure, since=12)
    t.float_(_REGION + 'qnh_pas', lambda: s().sea_level_pressure, since=12)
    t.float_(_REGION + 'sealevel_temperature_c', lambda: s().sea_level_temperature - KELVIN,
             since=12)
    for name in ('atmosphere_alt_levels_m', 'temperature_altitude_msl_m'):
        t.floats(_REGION + name, lambda: LEVELS, since=12)
    for base in (_REGION, _AIRCRAFT):
        t.floats(base + 'temperatures_aloft_deg_c', lambda: [*map(temperature, LEVELS)],
                 since=12)
    t.float_(_REGION + 'tropo_alt_m', lambda: tropopause, since=12)
    t.float_(_REGION + 'tropo_temp_c', lambda: temperature(tropopause), since=12)
    t.int_(_REGION + 'weather_source', lambda: _PRESET, since=12)
    t.int_(_REGION + 'change_mode', lambda: _STATIC, since=12)
    t.float_(_REGION + 'variability_pct', lambda: 0.0, since=12)
    for name in ('has_real_weather_bool', 'use_real_weather_bool', 'download_real_weather'):
        t.int_(_OLD + name, lambda: 0)
