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
PX4's ULog, within bounds. No ROS.

Based on PX4's documentation, "ULog File Format". What cannot be a record is passed over up to the
next sync message, as PX4's own reader does.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
import re
import struct
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from xplane_bridge.common.text import counted, printable
from xplane_bridge.laboratory.flights.logs.log import (
    FlightLog,
    load,
    LogColumn,
    LoggedSeries,
    LogTable,
    LONGEST_ROW,
    MOST_COLUMNS,
    MOST_MESSAGES,
    MOST_TABLES,
    repeated,
    texts,
    unread,
)
from xplane_bridge.laboratory.flights.recordings.bounds import (
    MAX_ALL_FIELDS,
    MAX_DEPTH,
    MAX_ELEMENTS,
    MAX_NAME,
)
from xplane_bridge.laboratory.flights.recordings.topics import RecordingError

MAGIC = b'ULog\x01\x12\x35'
KIND = 'a ULog'

_BEGINNING = 16
_SYNC = b'\x2f\x73\x13\x20\x25\x0c\xbb\x12'
_RECORD = struct.Struct('<HB')
_FORMAT, _DATA, _SUBSCRIBE, _FLAGS = b'FDAB'
_NEEDED, _KNOWN = frozenset(b'FDAB'), frozenset(b'FDAIMPQRSOLCB')
# Bytes of a record of a kind that is not known.
_LONGEST_UNKNOWN = 10_000
_APPENDED = 1
_TYPES = {
    'int8_t': 'i1', 'uint8_t': 'u1', 'int16_t': '<i2', 'uint16_t': '<u2', 'int32_t': '<i4',
    'uint32_t': '<u4', 'int64_t': '<i8', 'uint64_t': '<u8', 'float': '<f4', 'double': '<f8',
    'bool': 'u1', 'char': 'S'}
_FIELD = re.compile(r'(\w+)(?:\[(\d{1,9})\])? (\w+)\Z', re.ASCII)
_NAME = re.compile(r'\w+\Z', re.ASCII)
_TIME = 'timestamp'


class _UlogField(NamedTuple):
    """A field of a format: ``elements`` of an array, 0 for one value."""

    kind: str
    elements: int
    name: str


@dataclass(frozen=True, slots=True)
class _UlogLayout:
    """Columns of a message, and of each the field of the structure that it is in."""

    columns: tuple[LogColumn, ...]
    structure: np.dtype[Any]
    size: int
    longest: int


def read(path: Path) -> FlightLog:
    """
    Return the tables of a ULog: a topic each, its instances apart.

    Raises OSError, and RecordingError for what is none.
    """
    return _UlogReading(load(path, MAGIC, KIND), path).log


class _UlogReading:

    def __init__(self, data: bytes, path: Path) -> None:
        self.log = FlightLog(KIND)
        self._data = data
        self._formats: dict[str, tuple[_UlogField, ...]] = {}
        self._layouts: dict[str, _UlogLayout] = {}
        self._tables: dict[tuple[str, _UlogLayout], LoggedSeries] = {}
        # By number; None where the messages cannot be read.
        self._subscribed: dict[int, tuple[LoggedSeries, int] | None] = {}
        self._asked = self._fields = 0
        self._appended: list[int] = []
        self._path = path
        self._walk()
        for (name, layout), series in sorted(self._tables.items(), key=lambda one: one[0][0]):
            if series.offsets:
                self.log.tables.append(self._table(name, layout, series))

    def _walk(self) -> None:
        """Find where the messages are."""
        subscribed = self._subscribed
        strange = wrong = 0
        for kind, begin, after in self._records():
            if kind != _DATA:
                self._define(kind, self._data[begin:after])
                continue
            number = self._data[begin] | self._data[begin + 1] << 8 if after - begin > 1 else -1
            if number not in subscribed:
                strange += 1
            elif (found := subscribed[number]) is not None:
                series, longest = found
                if series.size <= after - begin - 2 <= longest:
                    series.offsets.append(begin + 2)
                else:
                    wrong += 1
        if strange:
            self.log.tell(f'{counted(strange, "message")} of topics that are not announced')
        if wrong:
            self.log.tell(f'{counted(wrong, "message")} not of the length of their topic')

    def _records(self) -> Iterator[tuple[int, int, int]]:
        """Yield the kind of each record that is needed, and where it begins and ends."""
        data, end, at = self._data, len(self._data), _BEGINNING
        for _ in range(MOST_MESSAGES):
            if end - at < _RECORD.size:
                break
            size, kind = _RECORD.unpack_from(data, at)
            after = at + _RECORD.size + size
            if self._appended and after > self._appended[0]:
                # Written after a crash: what it interrupted is not whole.
                after = self._appended.pop(0)
            elif kind not in _KNOWN and not (
                    0 < size <= _LONGEST_UNKNOWN and 0x20 < kind < 0x7f):
                found = data.find(_SYNC, at)
                after = end if found < 0 else found + len(_SYNC)
                self.log.tell(unread(after - at, at))
            elif after > end:
                break
            elif kind in _NEEDED:
                yield kind, at + _RECORD.size, after
            at = after
        else:
            self.log.tell(f'it has more than {MOST_MESSAGES} messages')
            return
        if at < end:
            self.log.tell(f'it is cut short: of its last record {counted(end - at, "byte")} at '
                          f'offset {at} are there')

    def _define(self, kind: int, body: bytes) -> None:
        if kind == _FLAGS:
            self._take_flags(body)
        elif kind == _FORMAT:
            name, _, fields = body.decode(errors='replace').partition(':')
            self._formats[name] = tuple(
                _UlogField(found[1], int(found[2] or 0), found[3]) if (found := _FIELD.match(text))
                else _UlogField('', 0, text) for text in fields.split(';') if text)
            # Another may have it within.
            self._layouts.clear()
        elif len(body) > 3:
            self._subscribe(body[0], body[1] | body[2] << 8, body[3:].decode(errors='replace'))

    def _take_flags(self, body: bytes) -> None:
        if len(body) < 40:
            return
        incompatible = body[8:16]
        if incompatible[0] & ~_APPENDED or any(incompatible[1:]):
            raise RecordingError(
                f'{self._path} is not read as {KIND}: it says that only a newer reader can '
                f'(flags {incompatible.hex()})')
        offsets = [one for one in struct.unpack_from('<QQQ', body, 16) if one]
        if incompatible[0] & _APPENDED:
            self._appended = [one for at, one in enumerate(offsets) if _BEGINNING < one <= len(
                self._data) and one > max(offsets[:at], default=0)]

    def _subscribe(self, instance: int, number: int, name: str) -> None:
        self._subscribed[number] = None
        self._asked += 1
        if self._asked > MOST_TABLES:
            if self._asked == MOST_TABLES + 1:
                self.log.tell(f'it announces more than {MOST_TABLES} topics; '
                              'those after are left out')
            return
        try:
            if name not in self._layouts:
                self._layouts[name] = self._layout(name)
        except ValueError as error:
            self.log.tell(f'{printable(name, 60)} is skipped: {error}')
            return
        layout = self._layouts[name]
        series = self._tables.setdefault(
            (f'{name}/{instance}' if instance else name, layout), LoggedSeries(layout.size))
        self._subscribed[number] = series, layout.longest

    def _layout(self, name: str) -> _UlogLayout:
        """Return the columns of a format. Raises ValueError if it cannot be one."""
        if not _NAME.match(name) or len(name) > MAX_NAME:
            raise ValueError('its name has other characters than letters, digits and _, or more '
                             f'than {MAX_NAME}')
        count = [0]
        try:
            if self._fields > MAX_ALL_FIELDS:
                raise ValueError(f'all topics have more than {MAX_ALL_FIELDS} fields')
            fields = list(self._flat(name, '', 0, count))
        finally:
            self._fields += count[0]
        longest = sum(_size(one) for one in fields)
        while fields and fields[-1].name.startswith('_padding'):
            fields.pop()
        names = [one.name for one in fields]
        if again := repeated(names):
            raise ValueError(f'its field {again} is there twice')
        if _UlogField('uint64_t', 0, _TIME) not in fields:
            raise ValueError(f'it has no field uint64_t {_TIME}')
        structure = np.dtype([
            (one.name, f'S{one.elements or 1}') if one.kind == 'char' else
            (one.name, _TYPES[one.kind], (one.elements,)) if one.elements else
            (one.name, _TYPES[one.kind]) for one in fields])
        return _UlogLayout(
            tuple(_column(one) for one in fields if one.name != _TIME), structure,
            structure.itemsize, longest)

    def _flat(self, name: str, prefix: str, depth: int, count: list[int]) -> Iterator[_UlogField]:
        """Yield the fields of a format, with those of formats within it."""
        if depth > MAX_DEPTH:
            raise ValueError(f'expected at most {MAX_DEPTH} formats within each other')
        if name not in self._formats:
            raise ValueError(f'format {printable(name, 60)} is not defined')
        for one in self._formats[name]:
            count[0] += 1
            if count[0] > MOST_COLUMNS:
                raise ValueError(f'it has more than {MOST_COLUMNS} columns')
            if one.kind == '':
                raise ValueError(f'its field {printable(one.name, 60)!r} is not as '
                                 '"float[3] name"')
            if one.elements > MAX_ELEMENTS:
                raise ValueError(f'{one.name} has {one.elements} elements, expected at most '
                                 f'{MAX_ELEMENTS}')
            is_whole = one.kind == 'char' or (
                one.kind in _TYPES and one.elements > LONGEST_ROW)
            each = [] if is_whole else [
                f'[{at}]' for at in range(one.elements)] if one.elements else ['']
            if is_whole:
                yield one._replace(name=prefix + one.name)
            for index in each:
                if one.kind in _TYPES:
                    count[0] += 1
                    yield _UlogField(one.kind, 0, f'{prefix}{one.name}{index}')
                else:
                    yield from self._flat(
                        one.kind, f'{prefix}{one.name}{index}.', depth + 1, count)

    def _table(self, name: str, layout: _UlogLayout, series: LoggedSeries) -> LogTable:
        def blocks() -> Iterator[tuple[NDArray[np.float64], list[Any]]]:
            for rows in series.blocks(self._data, layout.structure):
                yield 1e-6 * rows[_TIME], [
                    _values(rows[column.name], column) for column in layout.columns]
        return LogTable(name, layout.columns, len(series.offsets), blocks)


def _size(one: _UlogField) -> int:
    return (np.dtype(_TYPES[one.kind]).itemsize or 1) * (one.elements or 1)


def _column(one: _UlogField) -> LogColumn:
    if one.kind == 'char':
        return LogColumn(one.name, 'str')
    kind = 'bool' if one.kind == 'bool' else np.dtype(_TYPES[one.kind]).name
    return LogColumn(one.name, kind, is_list=bool(one.elements))


def _values(found: NDArray[Any], column: LogColumn) -> Any:
    if column.kind == 'str':
        return texts(found)
    if column.kind == 'bool':
        found = found != 0
    return list(found) if column.is_list else found
