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
Parquet tables that this package has written, to tables of other formats. No ROS.

They are of a flight in core, of ``ulyssix record``, or of ``export``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from xplane_bridge.common import optional
from xplane_bridge.common.tables.bounds import MOST_CELLS, TableError
from xplane_bridge.common.tables.parquet import Parquet
from xplane_bridge.common.text import printable
from xplane_bridge.laboratory.export.tables import (
    is_named,
    RowBatch,
    TableColumn,
    TIME_COLUMNS,
    TIMES,
    Warn,
)
from xplane_bridge.laboratory.flights.recordings.parquet_file import FACTS
from xplane_bridge.laboratory.flights.recordings.parquet_file import read as read_table
from xplane_bridge.laboratory.flights.recordings.topics import RecordingError

TABLE = 'flight'
"""The name of the table of a flight in core."""
_ROWS = 5000
# Of ours: a table says its name, and what it is of.
_NAME, _SOURCE = b'topic', b'type'
_LONGEST_NAME = 255


def read(path: Path, topics: Collection[str], warn: Warn) -> Iterator[RowBatch]:
    """
    Yield a table; ``topics`` may name it.

    Raises ImportError without pyarrow, OSError, and RecordingError for a table of others.
    """
    optional.require('reading a Parquet table', 'pyarrow', extra='export')
    try:
        file = Parquet(path)
        metadata = file.metadata
        if FACTS in metadata:
            found, name = _flight(path), TABLE
        elif _NAME in metadata and file.names[:len(TIMES)] == TIMES and all(
                map(file.is_number, TIMES)):
            name = _text(metadata[_NAME])
            found = _recorded(file, name, _text(metadata.get(_SOURCE, b'')), warn)
        else:
            raise TableError(
                'it is none of this package: expected one of a flight in core, of ulyssix record '
                'or of export')
        if topics and not any(is_named(name, one) for one in topics):
            warn(f'{", ".join(topics)}: there is no such topic; recorded is the table {name}')
            return
        yield from found
    except TableError as error:
        raise RecordingError(f'{path} is not read as a table: {error}') from None


def _text(data: bytes) -> str:
    return data.decode(errors='replace')[:_LONGEST_NAME]


def _flight(path: Path) -> Iterator[RowBatch]:
    """Yield the table of a flight in core, whose times are those of its recording."""
    table = read_table(path)
    times = table.columns['time']
    names = [name for name in table.columns if name != 'time']
    columns = (*TIME_COLUMNS, *(TableColumn(name, unit=table.units[name]) for name in names))
    for begin in range(0, len(times), _ROWS):
        rows = slice(begin, begin + _ROWS)
        stamps = times[rows].tolist()
        yield RowBatch(TABLE, 'flight in core', columns, [
            stamps, stamps, stamps, *(table.columns[name][rows].tolist() for name in names)])


def _recorded(file: Parquet, name: str, source: str, warn: Warn) -> Iterator[RowBatch]:
    """Yield a table as ``ulyssix record`` and ``export`` write them, part by part."""
    columns = []
    for field in file.schema:
        unit = _text((field.metadata or {}).get(b'unit', b''))
        if file.is_text(field.name):
            columns.append(TableColumn(field.name, 'str', unit))
        elif file.is_number(field.name) or str(field.type) == 'bool':
            kind = np.dtype(field.type.to_pandas_dtype()).name
            columns.append(TableColumn(field.name, kind, unit))
        else:
            warn(f'column {printable(field.name, 60)} is left out: it is of lists')
    for group, rows in enumerate(file.groups):
        if rows * len(columns) > MOST_CELLS:
            raise TableError(f'it has {rows} rows of {len(columns)} columns at once, expected at '
                             f'most {MOST_CELLS} values')
        found = dict(file.read([column.name for column in columns], group))
        times = found[TIMES[0]]
        if times.null_count or not np.isfinite(times.to_numpy()).all():
            raise TableError('expected a time in each row')
        yield RowBatch(name, source, tuple(columns), [
            _values(column, found[column.name]) for column in columns])


def _values(column: TableColumn, found: Any) -> Any:
    """Return the values of a column of pyarrow, masked where they are null."""
    if column.kind == 'str':
        return found.cast('string').to_pylist()
    return np.ma.MaskedArray(
        found.fill_null(0 if column.kind != 'bool' else False).to_numpy(),
        found.is_null().to_numpy())
