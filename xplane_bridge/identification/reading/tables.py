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

"""A flight from a CSV or Parquet file, with a map that says which column is which signal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from xplane_bridge.common import optional, plain_files, plain_yaml
from xplane_bridge.common.text import did_you_mean, printable
from xplane_bridge.conversions.expressions.units import unit_of
from xplane_bridge.identification.motion.signals import (
    Array,
    Flight,
    IdentificationError,
    OPTIONAL,
    SIGNALS,
)

FORMATS = ('.csv', '.parquet')
_MOST_BYTES = 128 * 1024 * 1024
_MOST_VALUES = 20_000_000
_OPTIONS = ('column', 'unit', 'scale', 'value')
_TIME = 'time'


class Entry(NamedTuple):
    """Where a signal is: its column and what that is multiplied by, or one value for all times."""

    column: str
    scale: float = 1.0
    value: float = np.nan


def load_map(path: str) -> dict[str, Entry]:
    """
    Return a map of columns: a YAML file with ``time`` and the SIGNALS.

    Each has ``column``, and if it differs from SI ``unit``, with ``scale`` for another sign; or
    ``value`` where it was constant. Raises OSError, ValueError, and ImportError without pint.
    """
    content = plain_yaml.mapping(
        plain_yaml.load_file(path), path, (_TIME,), tuple(SIGNALS))
    found = {}
    for name, item in content.items():
        where = f'{path}: {name}'
        given = plain_yaml.mapping(item, where, (), _OPTIONS)
        if ('value' in given) == ('column' in given):
            raise plain_yaml.FieldError(f'{where}: expected column, or value where it is constant')
        scale = plain_yaml.number(given.get('scale', 1.0), f'{where}.scale')
        if 'unit' in given:
            scale *= _factor(plain_yaml.text(given['unit'], f'{where}.unit'), name, where)
        if 'value' in given:
            number = plain_yaml.number(given['value'], f'{where}.value')
            found[name] = Entry('', value=number * scale)
        else:
            found[name] = Entry(plain_yaml.text(given['column'], f'{where}.column'), scale)
    if found[_TIME].column == '':
        raise plain_yaml.FieldError(f'{path}: time: expected a column')
    return found


def _factor(text: str, name: str, where: str) -> float:
    wanted = 's' if name == _TIME else SIGNALS[name].unit
    unit = unit_of(text, wanted or '1')
    if unit is None or unit.offset:
        raise plain_yaml.FieldError(
            f'{where}.unit: {printable(text)} does not become {wanted or "a part of 1"}')
    return unit.factor


def of_table(path: Path, entries: Mapping[str, Entry] | None = None, model: str = '') -> Flight:
    """
    Return the flight of a CSV or Parquet file; without a map its columns have the signals' names.

    Lines of a CSV file that begin with # are left out. Raises OSError, ImportError, and
    IdentificationError for what is no such table.
    """
    optional.require('reading a table', 'pyarrow', extra='export')
    if entries is None:
        entries = {name: Entry(name) for name in (_TIME, *SIGNALS)}
        needed = {name for name in entries if name not in OPTIONAL}
    else:
        needed = {*entries}
        absent = [name for name in SIGNALS if name not in entries and name not in OPTIONAL]
        if absent:
            raise IdentificationError(f'{path}: the map has no {", ".join(absent)}')
    table = _read(path, [entry.column for entry in entries.values() if entry.column])
    names = [printable(name, 60) for name in table.column_names]
    columns: dict[str, Array] = {}
    for name, entry in entries.items():
        if not entry.column:
            continue
        if entry.column not in table.column_names:
            if name in needed:
                raise IdentificationError(
                    f'{path}: there is no column {entry.column!r} for {name}'
                    + did_you_mean(entry.column, names))
            continue
        columns[name] = entry.scale * _numbers(path, table.column(entry.column), entry.column)
    times = columns.pop(_TIME)
    if not len(times) or not np.isfinite(times).all():
        raise IdentificationError(
            f'{path}: a time is missing in line {int(np.argmin(np.isfinite(times))) + 1}'
            if len(times) else f'{path}: there are no rows')
    columns |= {name: np.full(len(times), entry.value) for name, entry in entries.items()
                if not entry.column}
    return Flight(str(path), times - times[0], columns, model=model)


def _read(path: Path, columns: Sequence[str]) -> Any:
    from pyarrow import ArrowException
    with plain_files.open_regular(path) as stream:
        try:
            if path.suffix == '.parquet':
                return _of_parquet(path, stream, columns)
            table = _of_csv(path, stream)
        # pyarrow has an OSError for damaged files.
        except (ArrowException, OSError, ValueError) as error:
            if isinstance(error, IdentificationError):
                raise
            raise IdentificationError(
                f'{path} is not read as a table: {printable(str(error), 300)}') from None
    _bound(path, table.num_rows, table.num_columns)
    return table


def _of_parquet(path: Path, stream: BinaryIO, columns: Sequence[str]) -> Any:
    from pyarrow import parquet
    file = parquet.ParquetFile(stream)
    _bound(path, file.metadata.num_rows, file.metadata.num_columns)
    # Of the others nothing is unpacked.
    there = {*file.schema_arrow.names}
    return file.read(columns=[name for name in columns if name in there])


def _of_csv(path: Path, stream: BinaryIO) -> Any:
    from pyarrow import csv
    text = stream.read(_MOST_BYTES + 1)
    if len(text) > _MOST_BYTES:
        raise IdentificationError(f'{path} has more than {_MOST_BYTES} bytes')
    table = csv.read_csv(BytesIO(
        b'\n'.join(line for line in text.split(b'\n') if not line.startswith(b'#'))))
    # Blanks after commas, as JSBSim may write them, are none of a name.
    return table.rename_columns([name.strip() for name in table.column_names])


def _bound(path: Path, rows: int, columns: int) -> None:
    if rows * columns > _MOST_VALUES:
        raise IdentificationError(
            f'{path}: {rows} rows of {columns} columns, expected at most {_MOST_VALUES} values')


def _numbers(path: Path, column: Any, name: str) -> Array:
    from pyarrow import ArrowException
    try:
        found: Array = column.cast('float64').to_numpy()
    except ArrowException as error:
        raise IdentificationError(
            f'{path}: column {printable(name, 60)}: {printable(str(error), 200)}') from None
    return found
