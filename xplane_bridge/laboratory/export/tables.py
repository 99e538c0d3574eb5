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


"""What is exported: tables, in batches of rows. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import numpy as np

from xplane_bridge.common.text import counted

MOST_COLUMNS = 2000
"""Of a message."""

TIMES = ('time', 'stamp', 'log_time')

# A batch of a table is written at this many rows, or with this much data; all tables are when
# they hold more than that together (bytes in memory, estimated: so much for each value, besides
# the message).
_ROWS = 8192
_BYTES = 32 * 1024 * 1024
_ALL_BYTES = 128 * 1024 * 1024
_VALUE = 40
# Each table may be an open file; a process may have 1024.
_MOST_TABLES = 500
# Those left out that are named.
_NAMED = 10
MOST_HELD = 1024 * 1024 * 1024
"""Of all tables that are held at once, in bytes."""

Warn = Callable[[str], None]
"""Takes a sentence about something that is not exported."""


@dataclass(frozen=True, slots=True)
class TableColumn:
    """
    One column of a table.

    ``kind`` is bool, str, or a NumPy type such as float64 or int32; with ``is_list`` each value is
    a list of these. ``is_quaternion``: it is one of four, x, y, z and w. A value may be None:
    there is none in this row.
    """

    name: str
    kind: str = 'float64'
    unit: str = ''
    is_list: bool = False
    is_quaternion: bool = False

    @property
    def is_float(self) -> bool:
        """Return whether the values are floating point numbers."""
        return self.kind.startswith('float') and not self.is_list

    @property
    def is_integer(self) -> bool:
        """Return whether the values are integers."""
        return 'int' in self.kind and not self.is_list


TIME_COLUMNS = tuple(TableColumn(name, unit='s') for name in TIMES)
"""The first columns of each table: since the start, stamp and recording time since the epoch."""


@dataclass(frozen=True, slots=True)
class RowBatch:
    """
    Some rows of a table: ``values`` has a sequence for each column, all of one length.

    In a masked array what is masked is missing.
    """

    table: str
    source: str
    columns: tuple[TableColumn, ...]
    values: Sequence[Any]

    def __len__(self) -> int:
        return len(self.values[0])


@dataclass(slots=True)
class _Open:
    source: str
    rows: list[Sequence[Any]] = field(default_factory=list)
    size: int = 0


class RowBatcher:
    """
    Collects rows into batches, a bounded number of bytes.

    ``source`` of a table says what it is of: the type of its messages.
    """

    def __init__(self) -> None:
        self._open: dict[tuple[str, tuple[TableColumn, ...]], _Open] = {}
        self._size = 0

    def add(
        self, table: str, source: str, columns: tuple[TableColumn, ...], row: Sequence[Any],
        size: int
    ) -> Iterator[RowBatch]:
        """Add a row, which takes ``size`` bytes besides; yield what is to be written."""
        size += _VALUE * len(row)
        key = table, columns
        found = self._open.get(key)
        if found is None:
            found = self._open[key] = _Open(source)
        found.rows.append(row)
        found.size += size
        self._size += size
        if len(found.rows) >= _ROWS or found.size >= _BYTES:
            yield self._take(key)
        elif self._size >= _ALL_BYTES:
            yield from self.rest()

    def rest(self) -> Iterator[RowBatch]:
        """Yield everything that is left."""
        for key in list(self._open):
            yield self._take(key)

    def _take(self, key: tuple[str, tuple[TableColumn, ...]]) -> RowBatch:
        table, columns = key
        found = self._open.pop(key)
        self._size -= found.size
        return RowBatch(table, found.source, columns, list(zip(*found.rows, strict=True)))


def is_named(topic: str, name: str) -> bool:
    """Return whether a topic or table has this name: its full one, from / on, or its end."""
    full = '/' + topic.strip('/')
    return full == name if name.startswith('/') else full.endswith('/' + name)


def numbered(batches: Iterator[RowBatch], warn: Warn) -> Iterator[RowBatch]:
    """
    Yield the batches, with .2 and so on behind a table's name for each other set of columns.

    Of more than 500 tables the rest are left out, and ``warn`` is told.
    """
    names: dict[str, dict[tuple[TableColumn, ...], str]] = {}
    left_out: dict[str, int] = {}
    count = 0
    for batch in batches:
        known = names.get(batch.table, {})
        if batch.columns not in known:
            if count == _MOST_TABLES:
                left_out[batch.table] = left_out.get(batch.table, 0) + len(batch)
                continue
            count += 1
            known = names.setdefault(batch.table, known)
            number = len(known) + 1
            known[batch.columns] = batch.table + (f'.{number}' if number > 1 else '')
        yield RowBatch(known[batch.columns], batch.source, batch.columns, batch.values)
    for name, rows in islice(left_out.items(), _NAMED):
        warn(f'{name} is left out, {rows} rows: there are more than {_MOST_TABLES} tables; '
             '--topics selects some')
    if len(left_out) > _NAMED:
        warn(f'left out besides: {counted(len(left_out) - _NAMED, "table")}')


def joined(batches: Iterator[RowBatch]) -> list[RowBatch]:
    """
    Return each table as a whole, in memory; numbers as arrays, unless some are missing.

    Raises ValueError for more than a gigabyte.
    """
    parts: dict[str, list[RowBatch]] = {}
    held = 0
    for batch in batches:
        values = [_compact(column, values)
                  for column, values in zip(batch.columns, batch.values, strict=True)]
        held += sum(map(_size, values))
        if held > MOST_HELD:
            raise ValueError(
                f'it has more than {MOST_HELD >> 20} MiB, which MAT, MF4 and --resample need in '
                'memory at once: select --topics, or export to csv or parquet')
        parts.setdefault(batch.table, []).append(
            RowBatch(batch.table, batch.source, batch.columns, values))
    return [
        RowBatch(name, found[0].source, found[0].columns, [
            _concatenated([part.values[index] for part in found])
            for index in range(len(found[0].columns))])
        for name, found in parts.items()]


def plain_list(value: Any) -> Any:
    """Return the elements of a value that is a list, as a list."""
    return value.tolist() if isinstance(value, np.ndarray) else value


def _size(values: Any) -> int:
    """Return about how many bytes some values take."""
    if isinstance(values, np.ndarray):
        return values.nbytes
    return sum(
        _VALUE + (value.nbytes if isinstance(value, np.ndarray) else
                  _VALUE * len(value) if isinstance(value, list) else
                  len(value) if isinstance(value, str) else 0)
        for value in values)


def _compact(column: TableColumn, values: Any) -> Any:
    if isinstance(values, np.ma.MaskedArray):
        # In a list there is None in the place of what is masked.
        values = values.tolist() if np.ma.is_masked(values) else values.data
    if isinstance(values, np.ndarray) or column.is_list or column.kind == 'str' or any(
            value is None for value in values):
        return values
    return np.array(values, column.kind)


def _concatenated(parts: Sequence[Any]) -> Any:
    if all(isinstance(part, np.ndarray) for part in parts):
        return np.concatenate(parts)
    return [value for part in parts for value in part]
