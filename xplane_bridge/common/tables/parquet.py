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
A Parquet file of anybody: schema first, then what a column unpacks to, then the column.

Nothing but this opens Parquet. Its footer is bounded before it is read, and may still lie: what
counts is what the pages themselves say.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
import os
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from xplane_bridge.common import plain_files
from xplane_bridge.common.tables import pages
from xplane_bridge.common.tables.bounds import (
    LONGEST_FOOTER,
    LONGEST_TEXT,
    MOST_CELLS,
    MOST_COLUMNS,
    MOST_PAGES,
    MOST_ROWS,
    MOST_TEXT,
    OF_A_NUMBER,
    OF_PAGES,
    TableError,
)
from xplane_bridge.common.text import printable

Array = NDArray[np.float64]

MAGIC = b'PAR1'

_NUMBERS = ('BOOLEAN', 'DOUBLE', 'FLOAT', 'INT32', 'INT64')
_TEXTS = ('BYTE_ARRAY',)
_END = 4 + len(MAGIC)


class ParquetColumn(NamedTuple):
    """A column: its number in the file, its pyarrow type, and whether that is a text."""

    place: int
    type: Any
    is_text: bool


class Parquet:
    """
    A Parquet file, of which nothing is unpacked yet.

    ``schema`` is pyarrow's, ``names`` are those of the columns, ``rows`` is their number.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        """Raise OSError, and TableError for a file that is none, or has more than is read."""
        self._path = Path(path)
        with plain_files.open_regular(path) as stream, _explained():
            _check_footer(stream)
            file = _opened(stream)
            self._metadata = file.metadata
            self.schema = file.schema_arrow
            self.names: tuple[str, ...] = tuple(self.schema.names)
            self.rows: int = self._metadata.num_rows
            rows = [self._metadata.row_group(group).num_rows
                    for group in range(self._metadata.num_row_groups)]
            self.groups: tuple[int, ...] = tuple(rows)
            if min(rows, default=0) < 0 or sum(rows) != self.rows:
                raise TableError('its rows are not those of its parts')
            self._columns = dict(self._flat())
        if self.rows > MOST_ROWS:
            raise TableError(f'it has {self.rows} rows, expected at most {MOST_ROWS}')
        name, count = max(Counter(self.names).items(), key=lambda item: item[1], default=('', 0))
        if count > 1:
            raise TableError(f'{count} of its columns have the name {printable(name, 60)!r}')

    def _flat(self) -> Iterator[tuple[str, ParquetColumn]]:
        """Yield the columns that have a number or a text in each row, or nothing."""
        from pyarrow import types
        described = self._metadata.schema
        fields = {field.name: field.type for field in self.schema}
        for index in range(len(described)):
            leaf = described.column(index)
            kind = fields.get(leaf.name)
            # Of what is nested the path is longer.
            if leaf.path != leaf.name or leaf.max_repetition_level or kind is None:
                continue
            own = kind.value_type if types.is_dictionary(kind) else kind
            if leaf.physical_type in _NUMBERS and (
                    types.is_floating(own) or types.is_integer(own) or types.is_boolean(own)
                    or types.is_null(own)):
                yield leaf.name, ParquetColumn(index, own, is_text=False)
            elif leaf.physical_type in _TEXTS and (
                    types.is_string(own) or types.is_large_string(own)):
                yield leaf.name, ParquetColumn(index, own, is_text=True)

    @property
    def metadata(self) -> Mapping[bytes, bytes]:
        """Return what the file says besides, by name."""
        return self._metadata.metadata or {}

    def is_number(self, name: str) -> bool:
        """Return whether a column has numbers, not texts, truth values or anything else."""
        from pyarrow import types
        column = self._columns.get(name)
        return column is not None and not (
            column.is_text or types.is_boolean(column.type) or types.is_null(column.type))

    def is_text(self, name: str) -> bool:
        """Return whether a column has texts, of which read() makes dictionaries."""
        return name in self._columns and self._columns[name].is_text

    def read(self, names: Iterable[str], group: int | None = None) -> Iterator[tuple[str, Any]]:
        """
        Yield columns by name, as pyarrow.ChunkedArray, one after the other.

        Of all rows, or of a ``group`` of them. Texts are dictionaries. Raises OSError, and
        TableError for what is neither numbers nor texts, or unpacks to more than is read.
        """
        left = MOST_PAGES
        with plain_files.open_regular(self._path) as stream, _explained():
            file = _opened(stream, metadata=self._metadata, read_dictionary=[
                name for name, column in self._columns.items() if column.is_text])
            for name in names:
                column = self._column(name)
                try:
                    left -= self._measured(stream, column, group, left)
                except TableError as error:
                    raise TableError(f'column {printable(name, 60)!r}: {error}') from None
                found = (
                    file.reader.read_column(column.place) if group is None else
                    file.reader.read_row_group(group, [column.place], False).column(0))
                if column.is_text:
                    _check_texts(name, found)
                yield name, found

    def numbers(self, names: Iterable[str], most_rows: int = MOST_ROWS) -> dict[str, Array]:
        """
        Return columns of at most so many numbers each, shape (rows,), with NaN for null.

        Raises as read() does.
        """
        names = list(names)
        if self.rows > most_rows:
            raise TableError(f'it has {self.rows} rows, expected at most {most_rows} of these '
                             f'{len(names)} columns')
        for name in names:
            if self._column(name).is_text:
                raise TableError(f'column {printable(name, 60)!r} has no numbers')
        return {name: np.asarray(column.cast('float64').to_numpy(), dtype=np.float64)
                for name, column in self.read(names)}

    def table(
        self, names: Iterable[str] | None = None, group: int | None = None,
        rows: Sequence[int] | None = None,
    ) -> Any:
        """
        Return columns, all by default, as a pyarrow.Table; only ``rows``, if given, of a group.

        Raises as read() does.
        """
        import pyarrow
        names = self.names if names is None else tuple(names)
        if (self.rows if rows is None else len(rows)) * len(names) > MOST_CELLS:
            raise TableError(f'it has {self.rows} rows of {len(names)} columns, expected at most '
                             f'{MOST_CELLS} values')
        found, texts = {}, 0
        for name, column in self.read(names, group):
            if rows is not None:
                column = column.take(rows)
            own = self._columns[name]
            if own.is_text:
                texts += _length(column)
                if texts > MOST_TEXT:
                    raise TableError(f'its texts have more than {MOST_TEXT} bytes')
                column = column.cast(own.type)
            found[name] = column
        return pyarrow.table(found)

    def _column(self, name: str) -> ParquetColumn:
        if name not in self._columns:
            why = (f'has no numbers or texts, but {self.schema.field(name).type}'
                   if name in self.names else 'is missing')
            raise TableError(f'column {printable(name, 60)!r} {printable(why, 60)}')
        return self._columns[name]

    def _measured(
        self, stream: BinaryIO, column: ParquetColumn, group: int | None, left: int
    ) -> int:
        """Return the number of a column's pages; TableError if it unpacks to more than is read."""
        groups = range(len(self.groups)) if group is None else (group,)
        most = MOST_TEXT if column.is_text else OF_PAGES + OF_A_NUMBER * sum(
            self.groups[each] for each in groups)
        count = 0
        for each in groups:
            chunk = self._metadata.row_group(each).column(column.place)
            begin = chunk.data_page_offset
            if chunk.has_dictionary_page and 0 < chunk.dictionary_page_offset < begin:
                begin = chunk.dictionary_page_offset
            if begin < 0 or chunk.total_compressed_size < 0:
                raise TableError('it is nowhere in the file')
            found = pages.measure(
                stream, begin, chunk.total_compressed_size, chunk.num_values, most, left - count)
            count += found.number
            most -= found.unpacked
        return count


def _check_footer(stream: BinaryIO) -> None:
    size = stream.seek(0, os.SEEK_END)
    stream.seek(max(size - _END, 0))
    end = stream.read()
    if size < _END + len(MAGIC) or not end.endswith(MAGIC):
        raise TableError('it is not a Parquet file')
    length = int.from_bytes(end[:4], 'little')
    if length > LONGEST_FOOTER:
        raise TableError(f'its footer has {length} bytes, expected at most {LONGEST_FOOTER}')


def _opened(stream: BinaryIO, **options: Any) -> Any:
    from pyarrow import parquet
    return parquet.ParquetFile(
        stream, pre_buffer=False, thrift_string_size_limit=LONGEST_FOOTER,
        thrift_container_size_limit=MOST_COLUMNS + 1, **options)


def _check_texts(name: str, column: Any) -> None:
    """Raise TableError for a text that is longer than any is."""
    from pyarrow import compute
    for chunk in column.chunks:
        longest = compute.max(compute.binary_length(chunk.dictionary)).as_py() or 0
        if longest > LONGEST_TEXT:
            raise TableError(f'column {printable(name, 60)!r} has a text of {longest} bytes, '
                             f'expected at most {LONGEST_TEXT}')


def _length(column: Any) -> int:
    """Return how many bytes texts have, each counted where it is."""
    from pyarrow import compute
    return sum(compute.sum(compute.binary_length(chunk.dictionary).take(
        chunk.indices)).as_py() or 0 for chunk in column.chunks)


@contextmanager
def _explained() -> Iterator[None]:
    """Raise TableError for whatever pyarrow has against a file."""
    from pyarrow import ArrowException
    try:
        yield
    except TableError:
        raise
    except (ArrowException, MemoryError, OSError, ValueError) as error:
        # pyarrow's OSError for damaged files has no number.
        if getattr(error, 'errno', None) is not None:
            raise
        raise TableError(
            f'it has more than {MOST_COLUMNS} columns or groups of rows'
            if 'Exceeded size limit' in str(error) else
            printable(str(error).strip(), 200)) from None
