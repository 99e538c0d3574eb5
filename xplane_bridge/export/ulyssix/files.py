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

"""The files of ``ulyssix record``: written block by block, whatever the length of the flight."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, UTC
import json
import math
from pathlib import Path
from typing import Any, Protocol

from xplane_bridge.common import optional
from xplane_bridge.export.tables import Column, TIME_COLUMNS
from xplane_bridge.export.ulyssix.blocks import Block, LONG_COLUMNS, SOURCE, TABLE
from xplane_bridge.export.writers import CsvFile, ParquetFile

FORMATS = ('.parquet', '.mf4', '.csv')
LAYOUTS = ('wide', 'long')
_MOST_FILES = 100
# By format: seconds between blocks. Each block costs a row group or data block per parameter,
# whose description stays in memory.
PERIODS = {'.parquet': 10.0, '.mf4': 10.0, '.csv': 1.0}


class Output(Protocol):
    """A file that takes blocks; ``close`` makes it readable."""

    paths: list[Path]

    def write(self, block: Block) -> None:
        """Write a block. Raises OSError."""

    def close(self) -> None:
        """Finish the file. Raises OSError."""

    def written(self) -> int:
        """Return how many bytes it has on the disk."""


def make_output(path: Path, layout: str, about: Mapping[str, str]) -> Output:
    """
    Return the output for a path, by its ending.

    Raises ValueError for another ending, ImportError for a missing package.
    """
    ending = path.suffix.lower()
    if ending not in FORMATS:
        raise ValueError(
            f"--to: '{path.name}' ends in '{path.suffix}', expected one of {', '.join(FORMATS)}")
    if ending == '.mf4':
        optional.require('recording to MF4', 'asammdf', extra='export')
        return Mf4Output(path, about)
    if ending == '.parquet':
        optional.require('recording to Parquet', 'pyarrow', extra='export')
    return TableOutput(path, layout == 'long', about)


class TableOutput:
    """Parquet or CSV; each set of parameters has its own file, the second is name.2."""

    def __init__(self, path: Path, is_long: bool, about: Mapping[str, str]) -> None:
        self.paths: list[Path] = []
        self._path = path
        self._is_long = is_long
        self._about = about
        self._files: dict[tuple[Column, ...], CsvFile | ParquetFile] = {}

    def write(self, block: Block) -> None:
        """Write the samples of a block; CSV reaches the system with it."""
        columns = LONG_COLUMNS if self._is_long else (
            *TIME_COLUMNS, *(one.column for one in block.channels))
        if columns not in self._files:
            self._begin(columns)
        file = self._files[columns]
        file.write(block.long() if self._is_long else block.wide())
        if isinstance(file, CsvFile):
            file.flush()

    def _begin(self, columns: tuple[Column, ...]) -> None:
        number = len(self.paths) + 1
        if number > _MOST_FILES:
            raise ValueError(f'the parameters have changed more than {_MOST_FILES} times, and '
                             'each change needs a file; the recording ends here')
        path = self._path if number == 1 else self._path.with_suffix(
            f'.{number}{self._path.suffix}')
        self._files[columns] = CsvFile(path, columns) if path.suffix.lower() == '.csv' else (
            ParquetFile(path, TABLE, SOURCE, columns, self._about))
        self.paths.append(path)

    def close(self) -> None:
        """Finish the files."""
        files, self._files = self._files, {}
        for file in files.values():
            file.close()

    def written(self) -> int:
        """Return the size of all files."""
        return sum(path.stat().st_size for path in self.paths)


class Mf4Output:
    """
    MF4 with a channel group for each parameter, with its own times.

    Samples wait in a temporary file beside the output; asammdf writes the real one at the end.
    """

    def __init__(self, path: Path, about: Mapping[str, str]) -> None:
        import asammdf
        self.paths = [path]
        self._about = about
        self._signal: Any = asammdf.Signal
        self._file = asammdf.MDF(version='4.10', temporary_folder=str(path.resolve().parent))
        # Group by name, unit and type.
        self._groups: dict[Column, int] = {}
        self._bytes = 0
        self._start_ns: int | None = None

    def write(self, block: Block) -> None:
        """Write the samples of a block to the temporary file."""
        self._start_ns = block.start_ns if self._start_ns is None else self._start_ns
        for channel, times, values in block.by_channel():
            column = channel.column
            self._bytes += times.nbytes + values.nbytes
            if column in self._groups:
                self._file.extend(self._groups[column], [(times, None), (values, None)])
            else:
                self._groups[column] = self._file.append(
                    [self._signal(samples=values, timestamps=times, name=column.name,
                                  unit=column.unit)],
                    acq_name=column.name, comment=SOURCE, common_timebase=True)

    def close(self) -> None:
        """Write the file."""
        try:
            if self._start_ns is not None:
                self._file.header.start_time = datetime.fromtimestamp(
                    math.floor(self._start_ns / 1e3) / 1e6, UTC)
                self._file.header.comment = json.dumps(dict(self._about))
                self._file.save(self.paths[0], overwrite=True, compression=2)
        finally:
            self._file.close()

    def written(self) -> int:
        """Return the bytes of samples so far."""
        return self._bytes
