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


"""The four formats: CSV and Parquet table by table as it is read, MAT and MF4 as a whole."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
import csv
from io import TextIOWrapper
import json
import math
from pathlib import Path
import re
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from xplane_bridge.common import plain_files
from xplane_bridge.laboratory.export.tables import joined, plain_list, RowBatch, TableColumn, Warn

# What is known about the export as a whole, as text by name.
About = Mapping[str, str]

# MATLAB's namelengthmax, as savemat has it.
_LONGEST_NAME = 63
# Lists up to this are channels of MF4, one for each element, if they are always equally long.
_MOST_CHANNELS = 64
_LONGEST_TEXT = 64 * 1024
# All rows of a text take as much as the longest: so much in total.
_MOST_TEXT = 256 * 1024 * 1024
_LONGEST_FILE_NAME = 200
# A spreadsheet takes what begins so for a formula, and runs it.
_FORMULA = ('=', '+', '-', '@', '\t', '\r')


def file_name(table: str) -> str:
    """Return a table's name as that of a file: uav/imu/data is uav.imu.data."""
    name = re.sub(r'[^\w.+-]+', '_', table.strip('/').replace('/', '.')).lstrip('.')
    return name.encode()[:_LONGEST_FILE_NAME].decode(errors='ignore') or 'table'


class _Names:
    """Different names for different texts."""

    def __init__(self, make: Callable[[str], str]) -> None:
        self._make = make
        self._names: dict[str, str] = {}

    def __getitem__(self, text: str) -> str:
        if text not in self._names:
            base = name = self._make(text)
            number = 1
            taken = {other.lower() for other in self._names.values()}
            while name.lower() in taken:
                number += 1
                name = f'{base[:_LONGEST_NAME - 6]}_{number}'
            self._names[text] = name
        return self._names[text]


# Files of one table each, in a folder.

class CsvOutput:
    """
    One table as CSV: names, then units after a #, then the rows.

    Names and texts that a spreadsheet would run have an apostrophe before them.
    """

    def __init__(self, stream: BinaryIO, columns: Sequence[TableColumn]) -> None:
        self._stream = TextIOWrapper(stream, newline='', encoding='utf-8')
        self._writer = csv.writer(self._stream, lineterminator='\n')
        self._writer.writerow([_inert(column.name) for column in columns])
        first, *units = [column.unit for column in columns]
        self._writer.writerow([f'# {first}', *units])

    def write(self, batch: RowBatch) -> None:
        """Write rows. A missing value is empty, a list is JSON."""
        # A masked array's list has None in the place of what is masked.
        values = [one.tolist() if isinstance(one, np.ndarray) else one for one in batch.values]
        self._writer.writerows(
            zip(*(map(_text, found) if column.is_list or column.is_float else
                  map(_inert, found) if column.kind == 'str' else found
                  for column, found in zip(batch.columns, values, strict=True)),
                strict=True))

    def flush(self) -> None:
        """Give what is written to the system."""
        self._stream.flush()

    def drop(self) -> None:
        """Write nothing more, after an error."""

    def close(self) -> None:
        """Finish the file; its stream stays open."""
        self._stream.detach()


def write_csv(folder: Path, batches: Iterator[RowBatch], about: About, warn: Warn) -> None:
    """Write <table>.csv, see CsvOutput."""
    _write_files(folder, 'csv', batches, lambda stream, batch: CsvOutput(stream, batch.columns))


def _write_files(
    folder: Path, ending: str, batches: Iterator[RowBatch],
    make: Callable[[BinaryIO, RowBatch], CsvOutput | ParquetFile],
) -> None:
    names = _Names(file_name)
    files: dict[str, CsvOutput | ParquetFile] = {}
    is_new = not folder.exists()
    folder.mkdir(exist_ok=True)
    try:
        with ExitStack() as stack:
            for batch in batches:
                if batch.table not in files:
                    path = folder / f'{names[batch.table]}.{ending}'
                    files[batch.table] = make(
                        stack.enter_context(plain_files.output(path)), batch)
                files[batch.table].write(batch)
            # All, before the first has its name.
            for file in files.values():
                file.close()
    except BaseException:
        for file in files.values():
            file.drop()
        if is_new:
            with suppress(OSError):
                folder.rmdir()
        raise


def _inert(text: str | None) -> str | None:
    return f"'{text}" if text and text.startswith(_FORMULA) else text


def _text(value: Any) -> Any:
    if isinstance(value, list | np.ndarray):
        return json.dumps(plain_list(value))
    # Not numpy's own text of its numbers; and as pandas and MATLAB write it.
    if value is None:
        return None
    return 'NaN' if math.isnan(value) else repr(float(value))


class ParquetFile:
    """One table as Parquet: units in the metadata of the fields, the rest in the schema's."""

    def __init__(
        self, stream: BinaryIO, table: str, source: str, columns: Sequence[TableColumn],
        about: About
    ) -> None:
        import pyarrow
        from pyarrow import parquet
        self._arrow = pyarrow
        self._schema = pyarrow.schema(
            [pyarrow.field(column.name, _arrow_type(pyarrow, column),
                           metadata={'unit': column.unit} if column.unit else None)
             for column in columns],
            metadata={**about, 'topic': table, 'type': source,
                      'units': json.dumps({column.name: column.unit
                                           for column in columns if column.unit})})
        self._stream = stream
        self._file = parquet.ParquetWriter(stream, self._schema, compression='zstd')

    def write(self, batch: RowBatch) -> None:
        """Write rows, as a row group of their own."""
        self._file.write_table(self._arrow.Table.from_arrays(
            [self._arrow.array(values, one.type)
             for values, one in zip(batch.values, self._schema, strict=True)],
            schema=self._schema))

    def close(self) -> None:
        """Write the footer, without which the file cannot be read; its stream stays open."""
        self._file.close()
        self._stream.flush()

    def drop(self) -> None:
        """Write nothing more, after an error."""
        # It would write the footer when it is deleted.
        self._file.is_open = False


def write_parquet(folder: Path, batches: Iterator[RowBatch], about: About, warn: Warn) -> None:
    """Write <table>.parquet, see ParquetFile."""
    _write_files(folder, 'parquet', batches, lambda stream, batch: ParquetFile(
        stream, batch.table, batch.source, batch.columns, about))


def _arrow_type(pyarrow: Any, column: TableColumn) -> Any:
    kind = {'str': 'string', 'bool': 'bool_'}.get(column.kind, column.kind)
    found = getattr(pyarrow, kind)()
    return pyarrow.list_(found) if column.is_list else found


# One file of all tables.

def write_mat(path: Path, batches: Iterator[RowBatch], about: About, warn: Warn) -> None:
    """
    Write a struct for each table, whose fields are columns, and its struct ``units``.

    Names are letters, digits and underscores; the struct ``names`` in each has the original ones.
    Strings and lists are cell arrays; integers of which some are missing are doubles.
    """
    from scipy.io import savemat
    variables = _Names(_matlab_name)
    contents: dict[str, Any] = {'about': dict(about) or {'source': ''}}
    variables['about']
    for table in joined(batches):
        names = _Names(_matlab_name)
        # Taken.
        _ = names['units'], names['names']
        fields = {names[f' {column.name}']: column for column in table.columns}
        contents[variables[table.table]] = {
            **{name: _matlab_values(column, values) for (name, column), values in zip(
                fields.items(), table.values, strict=True)},
            'units': {name: column.unit for name, column in fields.items()},
            'names': {name: column.name for name, column in fields.items()},
        }
    with plain_files.output(path) as stream:
        try:
            savemat(stream, contents, long_field_names=True, do_compression=True,
                    oned_as='column')
        except OSError:
            raise
        except Exception as error:
            raise ValueError(f'{path}: MAT files of version 5 hold at most 4 GB in a variable: '
                             f'{error}') from error


def _matlab_name(text: str) -> str:
    name = re.sub(r'[^A-Za-z0-9]+', '_', text).strip('_')[:_LONGEST_NAME].rstrip('_')
    return name if name[:1].isalpha() else f'x_{name}'[:_LONGEST_NAME].rstrip('_')


def _matlab_values(column: TableColumn, values: Sequence[Any]) -> NDArray[Any]:
    if column.is_list or column.kind == 'str':
        cells = np.empty((len(values), 1), object)
        for at, value in enumerate(values):
            if isinstance(value, list | np.ndarray):
                value = np.array(value, object if column.kind == 'str' else column.kind)
            cells[at, 0] = '' if value is None else value
        return cells
    return plain(column, values)


def plain(column: TableColumn, values: Sequence[Any]) -> NDArray[Any]:
    """Return numbers as an array; as float64, with NaN, if some are missing."""
    if isinstance(values, np.ma.MaskedArray):
        filled: NDArray[Any] = (
            values.astype(float).filled(math.nan) if np.ma.is_masked(values) else values.data)
        return filled
    if isinstance(values, np.ndarray):
        return values
    if any(value is None for value in values):
        return np.array([math.nan if value is None else value for value in values], float)
    return np.array(values, column.kind)


def write_mf4(path: Path, batches: Iterator[RowBatch], about: About, warn: Warn) -> None:
    """
    Write a channel group for each table, named like it, with ``time`` as its master.

    Lists that always have one length of up to 64 numbers are a channel for each element; others
    are JSON. Texts of more than 64 KiB are left out.
    """
    from asammdf import MDF, Signal
    tables = joined(batches)
    # Samples wait in a file that asammdf makes, and names only itself.
    with plain_files.naming(path), plain_files.output(path) as stream, MDF(
            version='4.10', temporary_folder=str(path.parent)) as file:
        for table in tables:
            # A master channel increases.
            times = np.asarray(table.values[0], float)
            order = np.argsort(times, kind='stable')
            signals = []
            for column, values in zip(table.columns[1:], table.values[1:], strict=True):
                for name, samples in _channels(column, values, table.table, warn):
                    signals.append(Signal(
                        samples=samples[order], timestamps=times[order], name=name,
                        unit=column.unit,
                        encoding='utf-8' if samples.dtype.kind == 'S' else None))
            file.append(signals, acq_name=table.table, comment=table.source, common_timebase=True)
        file.header.comment = json.dumps(dict(about))
        file.save(stream, compression=2)


def _channels(
    column: TableColumn, values: Sequence[Any], table: str, warn: Warn
) -> Iterator[tuple[str, NDArray[Any]]]:
    if column.is_list and column.kind != 'str' and all(
            value is not None for value in values) and (
            len({len(value) for value in values}) == 1
            and 0 < len(values[0]) <= _MOST_CHANNELS):
        matrix = np.array(values, column.kind)
        for index in range(matrix.shape[1]):
            yield f'{column.name}[{index}]', matrix[:, index]
    elif column.is_list or column.kind == 'str':
        texts = [
            b'' if value is None else
            (json.dumps(plain_list(value)) if column.is_list else value).encode()
            for value in values]
        # Each takes as much as the longest.
        most = min(_LONGEST_TEXT, _MOST_TEXT // len(texts))
        if (longest := max(map(len, texts))) > most:
            warn(f'{table}: {column.name} is left out: it has {longest} bytes, expected at most '
                 f'{most} in MF4')
        else:
            yield column.name, np.array(texts, f'S{max(1, longest)}')
    else:
        found = plain(column, values)
        yield column.name, found.astype(np.uint8) if found.dtype == bool else found
