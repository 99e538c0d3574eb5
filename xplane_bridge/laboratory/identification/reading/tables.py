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

"""A flight from a CSV or Parquet file, or a log, with a map: which column is which signal."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from xplane_bridge.bridges.conversions.expressions.units import find_unit
from xplane_bridge.common import fields, optional, plain_yaml
from xplane_bridge.common.data import folder
from xplane_bridge.common.fields import Declaration, FieldError, mapping, Table
from xplane_bridge.common.tables.bounds import TableError
from xplane_bridge.common.tables.csv_file import CsvFile
from xplane_bridge.common.tables.parquet import Parquet
from xplane_bridge.common.text import did_you_mean, printable
from xplane_bridge.laboratory.flights.logs.files import ending
from xplane_bridge.laboratory.identification.motion.signals import (
    DEFLECTIONS,
    FlightSignals,
    IdentificationError,
    OPTIONAL,
    SIGNALS,
)
from xplane_bridge.laboratory.identification.reading.logs import LogColumns

FORMATS = ('.csv', '.parquet')
MAPS = {'.ulg': folder('identification') / 'px4.yaml',
        '.bin': folder('identification') / 'ardupilot.yaml'}
"""The map of an autopilot's usual topics, by the ending of its logs."""

_MOST_VALUES = 20_000_000
_TIME = 'time'
# Units of each kind of signal, as pint spells them.
_EXAMPLES = {'s': 'ms', 'rad': 'deg', 'rad/s': 'deg/s', 'm/s': 'kt or ft/s',
             'm/s^2': 'ft/s^2 or g', 'kg/m^3': 'slug/ft^3', '': '%'}


SOURCE: Table = {
    'column': Declaration(None, 'where it is, or', str),
    'value': Declaration(None, 'the one that it has at all times'),
    'offset': Declaration(0.0, 'what is taken off that first, such as the 1500 of a servo'),
    'unit': Declaration(None, "of these, if it differs from the signal's, as pint spells it", str),
    'scale': Declaration(1.0, 'a factor, such as -1 for another sign')}
"""Of a signal in a map of columns."""


class SignalSource(NamedTuple):
    """
    Where a signal is: its column, or one value for all times.

    ``offset`` is taken off a column, and the rest multiplied by ``scale``.
    """

    column: str
    scale: float = 1.0
    value: float = np.nan
    offset: float = 0.0


ColumnMap = Mapping[str, SignalSource]
"""Where the signals of a table are, by their names."""


def load_map(path: str) -> ColumnMap:
    """
    Return a map of columns: a YAML file with ``time`` and the SIGNALS.

    Each has ``column``, and if it differs from SI ``unit``, with ``scale`` for another sign; or
    ``value`` where it was constant. Raises OSError, ValueError, and ImportError without pint.
    """
    content = mapping(
        plain_yaml.load_file(path), path, (_TIME,), tuple(SIGNALS))
    found = {}
    for name, item in content.items():
        where = f'{path}: {name}'
        given = fields.read_table(SOURCE, item, where)
        if ('value' in given) == ('column' in given):
            raise FieldError(f'{where}: expected column, or value where it is constant')
        scale = given.get('scale', 1.0)
        if 'unit' in given:
            scale *= _factor(given['unit'], name, where)
        found[name] = SignalSource(
            given.get('column', ''), scale, given.get('value', np.nan) * scale,
            given.get('offset', 0.0))
    if found[_TIME].column == '':
        raise FieldError(f'{path}: time: expected a column')
    return found


def _factor(text: str, name: str, where: str) -> float:
    wanted = 's' if name == _TIME else SIGNALS[name].unit
    try:
        unit = find_unit(text, wanted or '1')
    except ValueError as error:
        raise FieldError(f'{where}.unit: {printable(str(error))}, expected one that becomes '
                         f'{wanted or "a part of 1"}, such as {_EXAMPLES[wanted]}') from None
    if unit is None or unit.offset:
        is_deflection = name in DEFLECTIONS and find_unit(text, SIGNALS[DEFLECTIONS[name]].unit)
        raise FieldError(
            f'{where}.unit: {printable(text)} does not become {wanted or "a part of 1"}'
            + (f': the deflection of a surface is {DEFLECTIONS[name]}' if is_deflection else ''))
    return unit.factor


def read_table(
    path: Path, entries: ColumnMap | None = None, model: str = ''
) -> FlightSignals:
    """
    Return the flight of a CSV or Parquet file, or of a log.

    Without a map the columns of a file have the signals' names, and a log its autopilot's map.

    Lines of a CSV file that begin with # are left out. Raises OSError, ImportError, and
    IdentificationError for what is no such table.
    """
    kind = ending(path)
    if not kind:
        optional.require('reading a table', 'pyarrow', extra='export')
    elif entries is None:
        if kind not in MAPS:
            raise IdentificationError(f'{path}: of {kind} there is no map: expected --columns')
        entries = load_map(str(MAPS[kind]))
    if entries is None:
        entries = {name: SignalSource(name) for name in (_TIME, *SIGNALS)}
        needed = None
    else:
        needed = [*entries]
        if absent := _missing(entries):
            raise IdentificationError(
                f'{path}: the map has no {", ".join(map(_or_deflection, absent))}')
    try:
        table = LogColumns(path) if kind else (
            Parquet(path) if path.suffix == '.parquet' else CsvFile(path))
        if needed is None:
            needed = [_TIME, *_missing(table.names)]
        for name in needed:
            _check_there(path, name, entries[name].column, table.names)
        own = {name: entry for name, entry in entries.items()
               if entry.column and entry.column in table.names}
        found = table.numbers(
            dict.fromkeys(entry.column for entry in own.values()), _MOST_VALUES // len(entries))
    except TableError as error:
        raise IdentificationError(f'{path} is not read as a table: {error}') from None
    columns = {name: entry.scale * (found[entry.column] - entry.offset)
               for name, entry in own.items()}
    times = columns.pop(_TIME)
    if not len(times) or not np.isfinite(times).all():
        raise IdentificationError(
            f'{path}: a time is missing in line {int(np.argmin(np.isfinite(times))) + 1}'
            if len(times) else f'{path}: there are no rows')
    columns |= {name: np.full(len(times), entry.value) for name, entry in entries.items()
                if not entry.column}
    return FlightSignals(str(path), times - times[0], columns, model=model,
                         cut=table.cut if isinstance(table, LogColumns) else '')


def _missing(known: Collection[str]) -> list[str]:
    """Return the signals that are needed, and not among those that are known."""
    return [name for name in SIGNALS if not (
        name in known or name in OPTIONAL or DEFLECTIONS.get(name) in known)]


def _or_deflection(name: str) -> str:
    return f'{name} or {DEFLECTIONS[name]}' if name in DEFLECTIONS else name


def _check_there(path: Path, name: str, column: str, names: Sequence[str]) -> None:
    if column and column not in names:
        raise IdentificationError(
            f'{path}: there is no column {column!r} for {_or_deflection(name)}'
            + did_you_mean(column, [printable(one, 60) for one in names]))
