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

"""What can be taken from the user of X-Plane: by which commands, and where it is reported."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import TypeAlias

from xplane_bridge.bridges.sessions.ledger import LedgerEntry, name_of
from xplane_bridge.bridges.xpc import protocol as xpc
from xplane_bridge.bridges.xpc.protocol import SimulationOp
from xplane_bridge.common.controls import SURFACES

OVERRIDE = 'sim/operation/override/'
JOYSTICK = OVERRIDE + 'override_joystick'
TOE_BRAKES = OVERRIDE + 'override_toe_brakes'
THROTTLE = 'sim/flightmodel/engine/ENGN_thro_override'
HELD = OVERRIDE + 'override_planepath'
HANDLES = 'sim/flightmodel/engine/ENGN_thro'
# Released with the brakes, as a surface is centred: nobody might be there to release them.
BRAKES = {f'{side} brake': f'sim/cockpit2/controls/{side}_brake_ratio'
           for side in ('left', 'right')}

# The datarefs that CTRL writes, of the user's aircraft and of others.
_YOKES = dict(zip(SURFACES, (
    f'sim/joystick/yoke_{axis}_ratio' for axis in ('pitch', 'roll', 'heading')), strict=True))
_OTHER_YOKES = dict(zip(SURFACES, ('yolk_pitch', 'yolk_roll', 'yolk_yaw'), strict=True))

REPORTED = (JOYSTICK, THROTTLE, HELD, TOE_BRAKES, *_YOKES.values(), *BRAKES.values())
"""Datarefs that show whether what was taken still is; they are polled continuously."""

JOYSTICK_OVERRIDE = xpc.SetDatarefs(((JOYSTICK, (1.0,)),))

# docs/wire/xplane_datarefs.md, row 4.14: CTRL leaves the throttle override set, and only -2
# releases it.
NO_OVERRIDE = (-2.0,)

PAUSE = 'pause'
TEXT = 'text'
_BRAKE_OF = {name: brake for brake, name in BRAKES.items()}
_SHORT = {JOYSTICK: 'joystick', THROTTLE: 'throttle'}
# What controls take; the rest is taken by other commands.
CONTROLS = frozenset((*SURFACES, 'throttle', 'joystick', TOE_BRAKES, *BRAKES))
# These move by themselves, or by the hand of the user, without being taken away from us.
MOVED = frozenset((*SURFACES, *BRAKES))
Values: TypeAlias = tuple[float, ...]
# Up to this many aircraft are named one by one.
NAMED = 4

Key: TypeAlias = tuple[int, str]
"""An aircraft and the name of a value in the ledger."""


def find_effects(message: xpc.Request) -> Iterator[tuple[Key, Values, bool]]:
    """Return what a message leads to: each item, its values, and whether that takes it."""
    if isinstance(message, xpc.SetControls):
        yield from _find_control_effects(message)
    elif isinstance(message, xpc.SetDatarefs):
        for name, values in message.items:
            yield from _find_dataref_effects(name, values)
    elif isinstance(message, xpc.Text):
        yield (0, TEXT), (), bool(message.text)
    elif isinstance(message, xpc.Simulation) and message.op != SimulationOp.TOGGLE:
        numbers: Iterable[int] = range(xpc.AIRCRAFT_COUNT)
        if message.op >= SimulationOp.PAUSE_AIRCRAFT:
            numbers = (message.op % SimulationOp.PAUSE_AIRCRAFT,)
        pauses = SimulationOp.PAUSE <= message.op < SimulationOp.RUN_AIRCRAFT
        for number in numbers:
            yield (number, PAUSE), (float(pauses),), pauses


def _find_control_effects(message: xpc.SetControls) -> Iterator[tuple[Key, Values, bool]]:
    for surface in SURFACES:
        value = getattr(message, surface)
        if value is not None:
            yield (message.aircraft, surface), (value,), bool(value)
    if message.throttle is not None and message.aircraft == 0:
        yield (0, 'throttle'), (message.throttle,), True


def _find_dataref_effects(name: str, values: Values) -> Iterator[tuple[Key, Values, bool]]:
    if name == HELD:
        for number, value in enumerate(values[:xpc.AIRCRAFT_COUNT]):
            yield (number, PAUSE), (value,), bool(value)
    elif name == THROTTLE:
        yield (0, 'throttle'), values[:1], values[0] > NO_OVERRIDE[0]
    elif name.startswith(OVERRIDE):
        yield (0, _SHORT.get(name, name)), values, any(values)
    elif name in _BRAKE_OF:
        yield (0, _BRAKE_OF[name]), values[:1], any(values)


def place_of(key: Key) -> tuple[str, int]:
    """Return the dataref that shows an item, and the place in it; an empty name if none does."""
    number, value = key
    if value in SURFACES:
        return (
            f'sim/multiplayer/position/plane{number}_{_OTHER_YOKES[value]}' if number
            else _YOKES[value]), 0
    if value == PAUSE:
        return HELD, number
    return {
        'throttle': THROTTLE, 'joystick': JOYSTICK, TEXT: '', **BRAKES}.get(value, value), 0


def names_of(entries: Collection[LedgerEntry[Values]]) -> tuple[str, ...]:
    """Return the names of items, many pauses as one."""
    pauses = sum(entry.value == PAUSE for entry in entries)
    names = [
        name_of(entry) for entry in entries if entry.value != PAUSE or pauses <= NAMED]
    if pauses == xpc.AIRCRAFT_COUNT:
        names.append('pause of all')
    elif pauses > NAMED:
        names.append(f'pause of {pauses} aircraft')
    return tuple(names)


def format_values(values: Iterable[float]) -> str:
    return ', '.join(f'{value:g}' for value in values)
