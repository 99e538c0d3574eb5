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
A CSV file of anybody: columns of numbers, read a block at a time.

Lines that begin with # are left out, and blanks after commas are none of a name or a number.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
import csv
import io
import os
from pathlib import Path
import re
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from xplane_bridge.common import plain_files
from xplane_bridge.common.tables.bounds import BLOCK, MOST_COLUMNS, MOST_CSV, TableError
from xplane_bridge.common.text import printable

Array = NDArray[np.float64]

_COMMENT = re.compile(rb'(?:\A|(?<=[\r\n]))#[^\r\n]*')
_END_OF_LINE = re.compile(rb'[\r\n]+')


class CsvFile:
    """A CSV file, of which only the first line has been read: ``names`` of its columns."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        """Raise OSError, and TableError for a file that has no such line."""
        self._path = Path(path)
        with plain_files.open_regular(path) as stream:
            head = next(_blocks(stream), b'')
        self.names = _names(_END_OF_LINE.split(head, 1)[0])
        # Commas at the end of lines make columns without a name.
        name, count = max(Counter(filter(None, self.names)).items(), key=lambda item: item[1],
                          default=('', 0))
        if count > 1:
            raise TableError(f'{count} of its columns have the name {printable(name, 60)!r}')

    def numbers(self, names: Iterable[str], most_rows: int) -> dict[str, Array]:
        """
        Return columns of at most so many numbers each, shape (rows,), with NaN for an empty cell.

        Raises OSError, and TableError for anything else.
        """
        from pyarrow import ArrowException
        from pyarrow import csv as arrow
        found: dict[str, list[Array]] = {name: [] for name in names}
        converted = arrow.ConvertOptions(
            include_columns=[*found], column_types=dict.fromkeys(found, 'float64'))
        # Blocks begin and end with lines.
        read = arrow.ReadOptions(
            column_names=self.names, use_threads=False, block_size=2 * BLOCK)
        rows = 0
        with plain_files.open_regular(self._path) as stream:
            for number, block in enumerate(_blocks(stream)):
                text = block if number else b''.join(_END_OF_LINE.split(block, 1)[1:])
                if not text.strip():
                    continue
                try:
                    table = arrow.read_csv(
                        io.BytesIO(text), read_options=read, convert_options=converted)
                except (ArrowException, ValueError) as error:
                    raise TableError(self._explained(str(error), rows)) from None
                rows += table.num_rows
                if rows > most_rows:
                    raise TableError(f'it has more than {most_rows} rows')
                for name, parts in found.items():
                    parts.append(table.column(name).to_numpy())
        # One after the other, so that no more than one is there twice.
        return {name: np.concatenate([np.empty(0), *found.pop(name)]) for name in [*found]}

    def _explained(self, error: str, rows: int) -> str:
        """Return an error of pyarrow, with names of columns, and rows of the whole file."""
        named = re.sub(r'In CSV column #(\d+)',
                       lambda found: f'column {printable(self.names[int(found[1])], 60)!r}', error)
        return printable(re.sub(
            r'Row #(\d+)', lambda found: f'row {rows + int(found[1])}', named), 300)


def _blocks(stream: BinaryIO) -> Iterator[bytes]:
    """Yield whole lines that are no comments, and not empty as a whole."""
    rest, size = b'', 0
    while found := stream.read(BLOCK):
        size += len(found)
        if size > MOST_CSV:
            raise TableError(f'it has more than {MOST_CSV} bytes')
        text = rest + found
        cut = max(text.rfind(b'\n'), text.rfind(b'\r')) + 1
        rest = text[cut:]
        if len(rest) > BLOCK:
            raise TableError(f'it has a line of more than {BLOCK} bytes')
        if text := _without_comments(text[:cut]):
            yield text
    if rest := _without_comments(rest):
        yield rest


def _without_comments(text: bytes) -> bytes:
    return (_COMMENT.sub(b'', text) if b'#' in text else text).lstrip(b'\r\n')


def _names(line: bytes) -> list[str]:
    try:
        found = next(csv.reader([line.decode('utf-8-sig')], skipinitialspace=True), [])
    except (UnicodeDecodeError, csv.Error):
        raise TableError('it does not begin with the names of columns') from None
    if not 0 < len(found) <= MOST_COLUMNS:
        raise TableError(f'it has {len(found)} columns, expected 1 to {MOST_COLUMNS}')
    return [name.strip() for name in found]
