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

"""The manoeuvres of a flight: those that its scenario says, or where its controls move."""

from __future__ import annotations

from collections.abc import Iterable
import re

import numpy as np

from xplane_bridge.common.controls import FLOWN
from xplane_bridge.laboratory.identification.motion.equations import (
    LONGITUDINAL,
    ModelStructure,
    SPEED,
)
from xplane_bridge.laboratory.identification.motion.signals import (
    Array,
    COMMANDED,
    CONTROLS,
    FlightSignals,
    Manoeuvre,
    Mask,
)

MOVED = 0.01
"""A control that moves less, of its full deflection of 1, excites nothing."""

TEST_INPUT = re.compile(r'(doublet|3211|chirp|multisine|controls)(_|$)')
"""How manoeuvres are named that a scenario flies."""

# Seconds before an input that was found belong to its manoeuvre, and of its free response.
_BEFORE, _AFTER = 0.25, 6.0
# A control moves if it changes by MOVED within this time (s); at rest for longer, it has ended.
_WITHIN, _REST = 0.5, 4.0
_SHORTEST, _LONGEST = 2.0, 60.0


def manoeuvres(flight: FlightSignals) -> tuple[Manoeuvre, ...]:
    """
    Return the manoeuvres of a flight in which a control moves, in the order of their times.

    Those that its scenario says begin with their inputs: before, a controller may have answered
    the noise of the sensors with the surfaces, and that correlation would bias all estimates.
    """
    known = _together(
        one for one in flight.manoeuvres if TEST_INPUT.match(one.name))
    found = known or _by_inputs(flight)
    return tuple(one for one in found if any(
        moved(flight.part(one), name) for name in FLOWN))


def _together(parts: Iterable[Manoeuvre]) -> tuple[Manoeuvre, ...]:
    """Return manoeuvres of which no two share a time: inputs on several axes at once are one."""
    found: list[Manoeuvre] = []
    for one in sorted(parts, key=lambda part: part.begin):
        if found and one.begin < found[-1].end:
            before = found.pop()
            one = Manoeuvre(f'{before.name} and {one.name}', before.begin,
                            max(before.end, one.end))
        found.append(one)
    return tuple(found)


def moved(flight: FlightSignals, control: str) -> bool:
    """Return whether a control moves enough to excite anything."""
    if not flight.has(control):
        return False
    values = flight.values[control]
    return bool(np.nanmax(values) - np.nanmin(values) >= MOVED)


def excited(flight: FlightSignals, form: ModelStructure) -> bool:
    """Return whether a manoeuvre moves a control of a form."""
    names = (*LONGITUDINAL.controls, 'throttle') if form.name == SPEED.name else form.controls
    # A surface that only a control system moves is no input.
    return any(
        moved(flight, commanded if (commanded := f'{name}{COMMANDED}') in flight.values else name)
        for name in names if name in FLOWN)


def _by_inputs(flight: FlightSignals) -> tuple[Manoeuvre, ...]:
    """Return where surfaces move, and where only the throttle does."""
    times = flight.times
    surfaces = _windows(times, _moving(flight, CONTROLS))
    alone = _moving(flight, ('throttle',))
    for one in surfaces:
        alone &= (times < one.begin) | (times > one.end)
    found = [*surfaces]
    for one in _windows(times, alone):
        end = min([one.end, *(other.begin for other in surfaces if other.begin > one.begin)])
        if end - one.begin >= _SHORTEST:
            found.append(one._replace(end=end))
    return tuple(sorted(found, key=lambda one: one.begin))


def _moving(flight: FlightSignals, controls: Iterable[str]) -> Mask:
    found = np.zeros(len(flight.times), dtype=bool)
    for name in controls:
        if flight.has(name):
            values = flight.filled(name)
            found |= np.abs(
                values - np.interp(flight.times - _WITHIN, flight.times, values)) >= MOVED
    return found


def _windows(times: Array, active: Mask) -> tuple[Manoeuvre, ...]:
    at = times[active]
    if not len(at):
        return ()
    breaks = np.flatnonzero(np.diff(at) > _REST)
    begins = at[np.concatenate(((0,), breaks + 1))] - _BEFORE - _WITHIN
    ends = at[np.concatenate((breaks, (len(at) - 1,)))] + _AFTER
    found = []
    for n, (begin, end) in enumerate(zip(begins.tolist(), ends.tolist(), strict=True)):
        until = min(end, begins[n + 1] if n + 1 < len(begins) else times[-1])
        begin = max(begin, float(times[0]))
        # Of a controller that always moves something: parts that are not too long.
        parts = max(1, round((until - begin) / _LONGEST))
        edges = np.linspace(begin, until, parts + 1).tolist()
        found += [Manoeuvre(f'inputs at {low:.1f} s', low, high)
                  for low, high in zip(edges[:-1], edges[1:], strict=True)
                  if high - low >= _SHORTEST]
    return tuple(found)
