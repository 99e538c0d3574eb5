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

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, ExitStack, suppress
from datetime import datetime, UTC
import json
import math
import os
from pathlib import Path
from typing import Any, BinaryIO, Protocol

from xplane_bridge.common import optional, plain_files
from xplane_bridge.common.plain_files import WriteError
from xplane_bridge.laboratory.export.tables import (
    MOST_HELD,
    numbered,
    RowBatch,
    TableColumn,
    TIME_COLUMNS,
)
from xplane_bridge.laboratory.export.ulyssix.blocks import Block, LONG_COLUMNS, SOURCE, TABLE
from xplane_bridge.laboratory.export.writers import CsvOutput, ParquetFile, plain, write_mat

FORMATS = ('.parquet', '.mf4', '.mat', '.csv')
LAYOUTS = ('wide', 'long')
_MOST_FILES = 100
# By format: seconds between blocks. Each block costs a row group or data block per parameter,
# whose description stays in memory.
PERIODS = {'.parquet': 10.0, '.mf4': 10.0, '.mat': 10.0, '.csv': 1.0}


class Output(Protocol):
    """
    A file that takes blocks; ``close`` makes it readable.

    ``paths`` are the files that there are, or will be. After an OSError there is none but CSV,
    with the blocks before.
    """

    paths: list[Path]

    def write(self, block: Block) -> None:
        """Write a block. Raises OSError, and ValueError if it takes no more."""

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
    if ending == '.mat':
        optional.require('recording to MAT', 'scipy', extra='export')
        return MatOutput(path, layout == 'long', about)
    if ending == '.parquet':
        optional.require('recording to Parquet', 'pyarrow', extra='export')
    return TableOutput(path, layout == 'long', about)


class TableOutput:
    """Parquet or CSV; each set of parameters has its own file, the second is name.2."""

    def __init__(self, path: Path, is_long: bool, about: Mapping[str, str]) -> None:
        self.paths: list[Path] = []
        self._path = path
        self._is_csv = path.suffix.lower() == '.csv'
        self._is_long = is_long
        self._about = about
        self._files: dict[tuple[TableColumn, ...], CsvOutput | ParquetFile] = {}
        # Of CSV with the bytes up to the last block.
        self._streams: dict[BinaryIO, int] = {}
        self._unfinished = ExitStack()

    def write(self, block: Block) -> None:
        """Write the samples of a block; CSV reaches the system with it."""
        columns = LONG_COLUMNS if self._is_long else (
            *TIME_COLUMNS, *(one.column for one in block.channels))
        with self._given_up():
            if columns not in self._files:
                self._begin(columns)
            file = self._files[columns]
            file.write(block.long() if self._is_long else block.wide())
            if isinstance(file, CsvOutput):
                file.flush()
                self._streams.update((one, _size(one)) for one in self._streams)

    def _begin(self, columns: tuple[TableColumn, ...]) -> None:
        number = len(self.paths) + 1
        if number > _MOST_FILES:
            raise ValueError(f'the parameters have changed more than {_MOST_FILES} times, and '
                             'each change needs a file; the recording ends here')
        path = self._path if number == 1 else self._path.with_suffix(
            f'.{number}{self._path.suffix}')
        stream = plain_files.growing(path) if self._is_csv else (
            self._unfinished.enter_context(plain_files.output(path)))
        self._streams[stream] = 0
        self.paths.append(path)
        self._files[columns] = CsvOutput(stream, columns) if self._is_csv else (
            ParquetFile(stream, TABLE, SOURCE, columns, self._about))

    def close(self) -> None:
        """Finish the files."""
        with self._given_up():
            for file in self._files.values():
                file.close()
            self._files = {}
            self._unfinished.close()
            if self._is_csv:
                for stream in self._streams:
                    stream.close()

    @contextmanager
    def _given_up(self) -> Iterator[None]:
        """After an OSError keep what can be read, and nothing else."""
        try:
            yield
        except OSError as error:
            for file in self._files.values():
                file.drop()
            streams, paths = self._streams, self.paths
            self._streams, self.paths, self._files = {}, [], {}
            if self._is_csv:
                for (stream, size), path in zip(streams.items(), paths, strict=True):
                    plain_files.cut(stream, size)
                    if size:
                        self.paths.append(path)
            else:
                with suppress(OSError):
                    self._unfinished.__exit__(type(error), error, error.__traceback__)
            raise

    def written(self) -> int:
        """Return the size of all files."""
        return sum(map(_size, self._streams))


def _size(stream: BinaryIO) -> int:
    return os.fstat(stream.fileno()).st_size


class Mf4Output:
    """
    MF4 with a channel group for each parameter, with its own times.

    Samples wait in a temporary file beside the output; asammdf writes the real one at the end.
    """

    def __init__(self, path: Path, about: Mapping[str, str]) -> None:
        import asammdf
        self.paths = [path]
        self._path = path
        self._about = about
        self._signal: Any = asammdf.Signal
        with plain_files.naming(path):
            self._file = asammdf.MDF(
                version='4.10', temporary_folder=str(path.resolve().parent))
        # Group by name, unit and type.
        self._groups: dict[TableColumn, int] = {}
        self._bytes = 0
        self._start_ns: int | None = None

    def write(self, block: Block) -> None:
        """Write the samples of a block to the temporary file."""
        self._start_ns = block.start_ns if self._start_ns is None else self._start_ns
        with self._given_up():
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
        with self._given_up():
            try:
                if self._start_ns is not None and self.paths:
                    self._file.header.start_time = datetime.fromtimestamp(
                        math.floor(self._start_ns / 1e3) / 1e6, UTC)
                    self._file.header.comment = json.dumps(dict(self._about))
                    with plain_files.output(self._path) as stream:
                        self._file.save(stream, compression=2)
            finally:
                self._file.close()

    @contextmanager
    def _given_up(self) -> Iterator[None]:
        """Name the file in an OSError of the temporary one, after which there will be none."""
        try:
            with plain_files.naming(self._path):
                yield
        except WriteError:
            self.paths = []
            raise

    def written(self) -> int:
        """Return the bytes of samples so far."""
        return self._bytes


class MatOutput:
    """
    MAT with a struct for all parameters; if ``is_long`` one for each, with its own times.

    It is written as a whole, at the end: until then up to a gigabyte of samples wait in memory.
    """

    def __init__(self, path: Path, is_long: bool, about: Mapping[str, str]) -> None:
        self.paths = [path]
        self._path = path
        self._is_long = is_long
        self._about = about
        self._waiting: list[RowBatch] = []
        self._bytes = 0

    def write(self, block: Block) -> None:
        """Keep the samples of a block. Raises ValueError if there are too many."""
        found = [*self._tables(block)]
        size = sum(values.nbytes for batch in found for values in batch.values)
        if self._bytes + size > MOST_HELD:
            raise ValueError(
                f'{self._path} has {MOST_HELD >> 20} MiB, and what is written as MAT is in memory '
                'until then; the recording ends here: .mf4 and .parquet have no such limit')
        self._bytes += size
        self._waiting += found

    def _tables(self, block: Block) -> Iterator[RowBatch]:
        if not self._is_long:
            wide = block.wide()
            yield RowBatch(wide.table, wide.source, wide.columns, [
                plain(*pair) for pair in zip(wide.columns, wide.values, strict=True)])
            return
        for channel, times, values in block.by_channel():
            column = channel.column
            yield RowBatch(column.name, SOURCE, (
                TIME_COLUMNS[0], TableColumn('value', column.kind, column.unit)), [times, values])

    def close(self) -> None:
        """Write the file."""
        waiting, self._waiting = self._waiting, []
        if not waiting:
            return
        batches = iter(waiting) if self._is_long else numbered(iter(waiting), lambda _: None)
        try:
            write_mat(self._path, batches, self._about, lambda _: None)
        except (OSError, ValueError):
            self.paths = []
            raise

    def written(self) -> int:
        """Return the bytes of samples so far."""
        return self._bytes
