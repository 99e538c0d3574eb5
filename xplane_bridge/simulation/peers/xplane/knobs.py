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
Commands that turn the knobs and switches of the panel, and the views.

They change the settings of panel.py by the steps of X-Plane's own knobs, which go round at the end
of a band without moving the coarser knob. Nothing else follows: no station is received, and no
autopilot flies.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
import math
from typing import TypeAlias

from xplane_bridge.simulation.aircraft.state import FOOT, KNOT
from xplane_bridge.simulation.peers.world import VIEW_TYPES, World
from xplane_bridge.simulation.peers.xplane.panel import BATTERIES, values_of

# What each command does when it is pressed.
_Presses: TypeAlias = dict[str, Callable[[], None]]

ENGINE_COMMANDS = 8
"""Engines that have commands of their own."""

_RADIOS = 'sim/cockpit2/radios/actuators/'
_DIALS = 'sim/cockpit2/autopilot/'
_BAROMETER = 'sim/cockpit2/gauges/actuators/barometer_setting_in_hg_'
_STANDARD_SETTING = 29.92
# MHz of a radio: the first, and how many.
_COM_BAND, _NAV_BAND = (118, 19), (108, 10)
# Channels of 8.33 kHz are named in steps of 5 kHz, but for these of each 25 kHz.
_NO_CHANNEL = 20
_ROUND = 360.0


@dataclass(frozen=True, slots=True)
class Button:
    """What a button does when pressed, while held (given the seconds), and when released."""

    press: Callable[[], None] = lambda: None
    hold: Callable[[float], None] = lambda _: None
    release: Callable[[], None] = lambda: None


def knobs(world: World) -> dict[str, Button]:
    """Return the commands of a world's panel by their names."""
    commands = {**_communication(world), **_navigation(world), **_transponder(world),
                **_dials(world), **_switches(world)}
    for name, view in (('chase', 'chase'), ('3d_cockpit_cmnd_look', 'cockpit')):
        commands[f'view/{name}'] = partial(setattr, world, 'view_type', VIEW_TYPES[view])
    return {f'sim/{name}': Button(press) for name, press in commands.items()}


def _communication(world: World) -> _Presses:
    """Return what tunes COM 1 and 2, whose frequencies are in kHz."""
    def coarse(values: list[float], change: int) -> None:
        mhz, khz = divmod(int(values[0]), 1000)
        values[0] = _turned(mhz, change, *_COM_BAND) * 1000 + khz

    def fine(values: list[float], step: int, change: int) -> None:
        mhz, khz = divmod(int(values[0]), 1000)
        khz = (khz // step + change) * step % 1000
        if khz % 25 == _NO_CHANNEL:
            khz = (khz + change * step) % 1000
        values[0] = mhz * 1000 + khz

    commands: _Presses = {}
    for n in (1, 2):
        name = f'{_RADIOS}com{n}_'
        standby = values_of(world, name + 'standby_frequency_hz_833')
        commands[f'radios/com{n}_standy_flip'] = partial(
            _flip, values_of(world, name + 'frequency_hz_833'), standby)
        for way, change in (('up', 1), ('down', -1)):
            knob = f'radios/stby_com{n}_'
            commands[f'{knob}coarse_{way}'] = partial(coarse, standby, change)
            commands[f'{knob}coarse_{way}_833'] = partial(coarse, standby, change)
            commands[f'{knob}fine_{way}'] = partial(fine, standby, 25, change)
            commands[f'{knob}fine_{way}_833'] = partial(fine, standby, 5, change)
    return commands


def _navigation(world: World) -> _Presses:
    """Return what tunes NAV (10 kHz) and ADF (kHz), and their courses."""
    def coarse(values: list[float], change: int) -> None:
        mhz, rest = divmod(int(values[0]), 100)
        values[0] = _turned(mhz, change, *_NAV_BAND) * 100 + rest

    def fine(values: list[float], change: int) -> None:
        mhz, rest = divmod(int(values[0]), 100)
        values[0] = mhz * 100 + (rest // 5 + change) * 5 % 100

    commands: _Presses = {}
    for n in (1, 2):
        for radio in ('nav', 'adf'):
            name = f'{_RADIOS}{radio}{n}_'
            commands[f'radios/{radio}{n}_standy_flip'] = partial(
                _flip, values_of(world, name + 'frequency_hz'),
                values_of(world, name + 'standby_frequency_hz'))
        nav, adf = (values_of(world, f'{_RADIOS}{radio}{n}_standby_frequency_hz')
                    for radio in ('nav', 'adf'))
        for way, change in (('up', 1), ('down', -1)):
            commands[f'radios/stby_nav{n}_coarse_{way}'] = partial(coarse, nav, change)
            commands[f'radios/stby_nav{n}_fine_{way}'] = partial(fine, nav, change)
            for digits, place, count in (('ones', 1, 10), ('tens', 10, 10), ('hundreds', 100, 10),
                                         ('ones_tens', 1, 100), ('hundreds_thous', 100, 18)):
                commands[f'radios/stby_adf{n}_{digits}_{way}'] = partial(
                    _turn_digits, adf, place, count, change)
    for way, change in (('up', 1), ('down', -1)):
        for knob, radio in (('obs1', 'nav1'), ('obs2', 'nav2'), ('obs_HSI', 'hsi')):
            commands[f'radios/{knob}_{way}'] = partial(
                _turn_round, values_of(world, f'{_RADIOS}{radio}_obs_deg_mag_pilot'), change)
    return commands


def _transponder(world: World) -> _Presses:
    """Return what turns the four octal digits of the transponder's code."""
    code = values_of(world, _RADIOS + 'transponder_code')
    return {f'transponder/transponder_{digit}_{way}': partial(
                _turn_digits, code, 10 ** place, 8, change)
            for place, digit in enumerate(('ones', 'tens', 'hundreds', 'thousands'))
            for way, change in (('up', 1), ('down', -1))}


def _dials(world: World) -> _Presses:
    """Return what turns the dials of the autopilot and of the altimeters."""
    def dial(name: str) -> list[float]:
        return values_of(world, _DIALS + name)

    heading, altitude = dial('heading_dial_deg_mag_pilot'), dial('altitude_dial_ft')
    climb, airspeed = dial('vvi_dial_fpm'), dial('airspeed_dial_kts_mach')
    is_mach = dial('airspeed_is_mach')

    def turn(values: list[float], step: float, low: float = -math.inf) -> None:
        values[0] = max(values[0] + step, low)

    def turn_airspeed(change: int) -> None:
        turn(airspeed, change * (0.01 if is_mach[0] else 1.0), 0.0)

    def set_to(values: list[float], now: Callable[[], float]) -> None:
        values[0] = now()

    def shown_heading() -> float:
        return (math.degrees(world.state.psi) + world.magnetic_variation_deg) % _ROUND

    commands: _Presses = {
        'autopilot/heading_sync': partial(set_to, heading, shown_heading),
        'autopilot/vertical_speed_sync': partial(
            set_to, climb, lambda: -world.state.v_down / FOOT * 60.0),
        'autopilot/airspeed_sync': partial(set_to, airspeed, lambda: (
            world.state.mach if is_mach[0] else world.state.cas / KNOT)),
        'instruments/barometer_2992': partial(
            set_to, values_of(world, _BAROMETER + 'pilot'), lambda: _STANDARD_SETTING)}
    for way, change in (('up', 1), ('down', -1)):
        commands[f'autopilot/heading_{way}'] = partial(_turn_round, heading, change)
        commands[f'autopilot/altitude_{way}'] = partial(turn, altitude, change * 100.0, 0.0)
        commands[f'autopilot/vertical_speed_{way}'] = partial(turn, climb, change * 100.0)
        commands[f'autopilot/airspeed_{way}'] = partial(turn_airspeed, change)
        for knob, side in (('', 'pilot'), ('copilot_', 'copilot')):
            commands[f'instruments/barometer_{knob}{way}'] = partial(
                turn, values_of(world, _BAROMETER + side), change * 0.01, 0.0)
    return commands


def _switches(world: World) -> _Presses:
    """Return what turns switches on and off."""
    def switch(values: list[float], n: int, on: int) -> None:
        values[n] = on

    switches = [('systems/avionics', 'sim/cockpit2/switches/avionics_power_on', 0),
                ('ice/pitot_heat0', 'sim/cockpit2/ice/ice_pitot_heat_on_pilot', 0)]
    switches += [(f'electrical/battery_{n + 1}', BATTERIES, n) for n in (0, 1)]
    for n in range(ENGINE_COMMANDS):
        switches += [
            (f'electrical/generator_{n + 1}', 'sim/cockpit2/electrical/generator_on', n),
            (f'fuel/fuel_pump_{n + 1}', 'sim/cockpit2/engine/actuators/fuel_pump_on', n)]
    return {f'{command}_{way}': partial(switch, values_of(world, name), n, on)
            for command, name, n in switches for way, on in (('on', 1), ('off', 0))}


def _flip(active: list[float], standby: list[float]) -> None:
    active[0], standby[0] = standby[0], active[0]


def _turned(value: int, change: int, first: int, count: int) -> int:
    """Return the next of so many numbers from the first, round and round."""
    return first + (value - first + change) % count


def _turn_digits(values: list[float], place: int, count: int, change: int) -> None:
    """Turn the digits at a place (1, 10, 100), which go from 0 to count - 1; others stay."""
    digits = int(values[0]) // place % count
    values[0] = int(values[0]) + ((digits + change) % count - digits) * place


def _turn_round(values: list[float], degrees: float) -> None:
    values[0] = (values[0] + degrees) % _ROUND
