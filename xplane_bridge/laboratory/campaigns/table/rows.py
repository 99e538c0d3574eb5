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
A flight as a row of a campaign's table: its columns, their types, and rows for trying things out.

| column | what it is |
|---|---|
| ``flight`` | its number in the plan, from 0 |
| ``key`` | SHA-256 of all its inputs |
| ``scenario``, ``simulator``, ``controller``, ``aircraft``, ``seed`` | what flew |
| ``parameter.NAME`` | number or text, for each parameter that the plan varies |
| ``outcome``, ``reason``, ``exit`` | see OUTCOMES; why not, empty if flown; PASSED, MISSED, ... |
| ``figure.NAME`` | a figure of the flight, NaN where there is none |
| ``value.CRITERION``, ``passed.CRITERION`` | what was judged; null where it was not |
| ``trajectory`` | SHA-256 of the flown trajectory, empty if there is none |
| ``version``, ``jsbsim`` | of this package and of JSBSim |
| ``seconds``, ``command`` | how long it took; what flies exactly this one again |
| ``processor_seconds``, ``jsbsim_seconds`` | of a processor, and of it JSBSim's; in core |
| ``recording`` | its recording, below the campaign's folder, empty if there is none |
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
import hashlib
import json
import math
import random
import re
from typing import Any

from xplane_bridge.common import machine, optional
from xplane_bridge.laboratory.campaigns.plan.task import PARAMETER

Row = dict[str, Any]

PASSED, MISSED, CRASHED, FAILED = OUTCOMES = ('passed', 'missed', 'crashed', 'failed')
"""
What became of a flight.

passed and missed: it was flown, and all its criteria were met, or not. crashed: its aircraft did,
or its model diverged, and its scenario does not expect that. failed: it could not be flown to its
end.
"""

LOST = machine.LOST
"""
What became of a flight that its machine kept from being flown; no row of a table has it.

Its disk or memory is full, its process was killed, a node did not start, or it took longer than
its time limit. It has to be flown again.
"""

# Those that were not flown to their end, the worst first.
NOT_FLOWN = (CRASHED, FAILED)

FIGURE, VALUE, JUDGED = 'figure.', 'value.', 'passed.'
GROUPS = (PARAMETER, FIGURE, VALUE, JUDGED)
"""How the names of the columns begin that depend on the plan."""

NOT_COMPARED = ('seconds', 'processor_seconds', 'jsbsim_seconds', 'command', 'recording')
"""Columns that differ between two flights of the same: how long it took, where, on file or not."""

# Figures of the machine, and of how it was kept busy: not of the flight.
_OF_THE_MACHINE = re.compile(
    r'(vehicles\.[^.]+\.)?'
    r'(load|latency|link|controller\.(latency|rate|longest_gap))(\.|$)')

_FIRST = {
    'flight': 'int64', 'key': 'string', 'scenario': 'string', 'simulator': 'string',
    'controller': 'string', 'aircraft': 'string', 'seed': 'int64'}
_RESULT = {'outcome': 'string', 'reason': 'string', 'exit': 'int64'}
_LAST = {
    'trajectory': 'string', 'version': 'string', 'jsbsim': 'string', 'seconds': 'float64',
    'processor_seconds': 'float64', 'jsbsim_seconds': 'float64', 'command': 'string',
    'recording': 'string'}


def flatten_figures(figures: Mapping[str, Any]) -> Row:
    """
    Return the columns of a flight's figures (laboratory/experiments/report.py), by dotted names.

    What is in a list has its number in the name. Omitted are texts, and what belongs to the
    machine instead of the flight: load and latencies, those of each aircraft of a fleet too.
    """
    return {f'{FIGURE}{name}': value for name, value in _flat(figures, '')
            if not _OF_THE_MACHINE.match(name)}


def _flat(value: Any, name: str) -> Iterator[tuple[str, float]]:
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from _flat(item, f'{name}.{key}' if name else str(key))
    elif isinstance(value, list | tuple):
        for number, item in enumerate(value):
            yield from _flat(item, f'{name}.{number}')
    elif not isinstance(value, str) and value is not None:
        yield name, float(value)


def judged(judgements: Iterable[tuple[str, float, bool]]) -> Row:
    """Return the columns of criteria: each with its value, and whether it is met."""
    row: Row = {}
    for criterion, value, passed in judgements:
        row[f'{VALUE}{criterion}'] = float(value)
        row[f'{JUDGED}{criterion}'] = bool(passed) and row.get(f'{JUDGED}{criterion}', True)
    return row


def sort_columns(names: Iterable[str]) -> list[str]:
    """Return the names of columns in the order of a table."""
    given = set(names)
    groups = [sorted(name for name in given if name.startswith(group)) for group in GROUPS]
    parameters, *results = groups
    return [*_FIRST, *parameters, *_RESULT, *(name for group in results for name in group), *_LAST]


def schema(rows: Sequence[Row]) -> Any:
    """Return the pyarrow schema of rows. A parameter is a text if any of its values is."""
    optional.require('a campaign', 'pyarrow', extra='campaign')
    import pyarrow
    types = _FIRST | _RESULT | _LAST
    texts = {name for row in rows for name, value in row.items() if isinstance(value, str)}

    def type_of(name: str) -> str:
        if name.startswith(JUDGED):
            return 'bool'
        return types.get(name) or ('string' if name in texts else 'float64')

    return pyarrow.schema([
        (name, pyarrow.type_for_alias(type_of(name)))
        for name in sort_columns(name for row in rows for name in row)])


def arrow(rows: Sequence[Row]) -> Any:
    """Return rows as a pyarrow table; a figure that a row has not is NaN, anything else null."""
    import pyarrow
    fields = schema(rows)
    return pyarrow.Table.from_pydict({
        name: [row.get(name, math.nan if name.startswith(FIGURE) else None) for row in rows]
        for name in fields.names}, fields)


def canonical(row: Row) -> bytes:
    """Return what two flights of the same have in common, as text: a line of JSON."""
    return json.dumps({
        name: value for name, value in row.items()
        if name not in NOT_COMPARED and value is not None and value == value
    }, sort_keys=True, separators=(',', ':')).encode() + b'\n'


def synthetic(
    count: int, seed: int = 1, controllers: Sequence[str] = ('autopilot', 'policy:turbulence')
) -> Iterator[Row]:
    """
    Yield rows as a campaign has them, none of which was flown.

    Each controller flies the same seeds and parameters, one after the other; the first meets its
    criteria less often, above all at low airspeed in strong wind. Some crash and fail.
    """
    each = math.ceil(count / len(controllers))
    for flight in range(count):
        which, number = divmod(flight, each)
        yield _synthetic(flight, seed + number, controllers[which], 0.5 * which)


def _synthetic(flight: int, seed: int, controller: str, skill: float) -> Row:
    drawn = random.Random(seed)
    airspeed, wind = drawn.uniform(40.0, 60.0), drawn.uniform(0.0, 15.0)
    row: Row = {
        'flight': flight, 'key': hashlib.sha256(f'{flight}'.encode()).hexdigest(),
        'scenario': 'turbulence', 'simulator': 'core', 'controller': controller,
        'aircraft': 'c172p', 'seed': seed, 'parameter.initial.airspeed': airspeed,
        'parameter.wind.north': wind, 'outcome': PASSED, 'reason': '', 'exit': 0,
        'trajectory': hashlib.sha256(f'{controller}{seed}'.encode()).hexdigest(),
        'version': '0.2.0', 'jsbsim': '1.2.1', 'seconds': drawn.uniform(0.4, 0.6),
        'command': f'campaign turbulence --flight {flight}'}
    lot = drawn.random()
    if lot < 0.01:
        outcome, reason = drawn.choice((
            (FAILED, 'the aircraft cannot be trimmed'), (FAILED, 'the policy raised a NameError'),
            (CRASHED, 'diverged')))
        return row | {'outcome': outcome, 'reason': reason, 'exit': 2, 'trajectory': ''}
    rough = (60.0 - airspeed) / 20.0 + wind / 15.0
    altitude = rough * 5.0 + drawn.gauss(1.0 - skill, 1.0) ** 2
    heading = rough * 1.5 + drawn.gauss(0.5 - skill, 0.5) ** 2
    row |= judged((
        ('rms of altitude_error from 20 s at most 8', altitude, altitude <= 8.0),
        ('rms of heading_error_deg from 25 s at most 4', heading, heading <= 4.0)))
    row |= flatten_figures({'duration': 60.0, 'tracking': {
        'altitude': {'rms': altitude, 'max': 2.5 * altitude},
        'heading': {'rms': math.radians(heading)}}, 'activity': {
        'elevator': {'travel': 0.05 + 0.01 * rough}}})
    if not all(value for name, value in row.items() if name.startswith(JUDGED)):
        row |= {'outcome': MISSED, 'exit': 1}
    return row
