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
ArduPilot's dataflash logs (.bin), within bounds. No ROS.

Each message has three bytes before it, and its format in a message FMT; FMTU names the units of
its fields by letters, which UNIT and MULT define. Based on ArduPilot's AP_Logger,
LogStructure.h, and its documentation "Logging Format".
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
import re
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
    MOST_MESSAGES,
    MOST_TABLES,
    repeated,
    texts,
    unread,
)

_HEAD = b'\xa3\x95'
_FMT = 0x80
MAGIC = _HEAD + bytes([_FMT])
KIND = 'a dataflash log'


class _Type(NamedTuple):
    """A letter of a format: NumPy's type, and what a value is multiplied by."""

    layout: str
    factor: float = 1.0


_TYPES = {
    'a': _Type('<i2'), 'b': _Type('i1'), 'B': _Type('u1'), 'h': _Type('<i2'), 'H': _Type('<u2'),
    'i': _Type('<i4'), 'I': _Type('<u4'), 'q': _Type('<i8'), 'Q': _Type('<u8'),
    'g': _Type('<f2'), 'f': _Type('<f4'), 'd': _Type('<f8'), 'n': _Type('S4'),
    'N': _Type('S16'), 'Z': _Type('S64'), 'M': _Type('i1'), 'c': _Type('<i2', 0.01),
    'C': _Type('<u2', 0.01), 'e': _Type('<i4', 0.01), 'E': _Type('<u4', 0.01),
    'L': _Type('<i4', 1e-7)}
# Of a letter a.
_ARRAY = 32
# Of the field that says which of several sensors it is.
_INSTANCE = '#'
_MOST_INSTANCES = 64
_TIMES = {'TimeUS': 1e-6, 'TimeMS': 1e-3}
# They describe the others.
_DESCRIBING = ('FMT', 'FMTU', 'UNIT', 'MULT')
# A last block is filled up with less.
_FILLING = 528
_NAME = re.compile(r'\w{1,64}\Z', re.ASCII)

# As they are spelled elsewhere in this package.
_SPELLED = {
    'degheading': 'deg', 'deglatitude': 'deg', 'deglongitude': 'deg', 'm/s/s': 'm/s^2',
    'rad/s/s': 'rad/s^2', 'deg/s/s': 'deg/s^2', 'UNKNOWN': '', 'instance': ''}
_PREFIXES = {0.0: '', 1.0: '', 1e-1: 'd', 1e-2: 'c', 1e-3: 'm', 1e-6: 'µ', 1e-9: 'n'}


@dataclass(frozen=True, slots=True)
class _Format:
    """A kind of message; its length has the three bytes before it."""

    name: str
    length: int
    letters: str
    fields: tuple[str, ...]

    def layout(self) -> np.dtype[Any]:
        """Return its structure. Raises ValueError if it cannot be one."""
        if not _NAME.match(self.name):
            raise ValueError('its name has other characters than letters, digits and _')
        unknown = [one for one in self.letters if one not in _TYPES]
        if unknown:
            raise ValueError(f'its format has the letter {printable(unknown[0])!r}, which is none')
        if len(self.letters) != len(self.fields):
            raise ValueError(f'its format has {counted(len(self.letters), "letter")} for '
                             f'{counted(len(self.fields), "field")}')
        if again := repeated(self.fields):
            raise ValueError(f'its field {printable(again, 60)} is there twice')
        found = np.dtype([
            (name, _TYPES[letter].layout, (_ARRAY,)) if letter == 'a' else
            (name, _TYPES[letter].layout)
            for name, letter in zip(self.fields, self.letters, strict=True)])
        if found.itemsize + 3 != self.length:
            raise ValueError(f'its format has {found.itemsize + 3} bytes, its length is '
                             f'{self.length}')
        return found


_OF_FORMATS = _Format(
    'FMT', 89, 'BBnNZ', ('Type', 'Length', 'Name', 'Format', 'Columns'))


@dataclass(slots=True)
class _DataflashKind:
    """Messages of one format: where they are, and the letters of their units."""

    format: _Format
    layout: np.dtype[Any] | None
    series: LoggedSeries
    units: str = ''
    multipliers: str = ''


def read(path: Path) -> FlightLog:
    """
    Return the tables of a dataflash log: a kind of message each, its instances apart.

    Raises OSError, and RecordingError for what is none.
    """
    return _DataflashReading(load(path, MAGIC, KIND)).log


class _DataflashReading:

    def __init__(self, data: bytes) -> None:
        self.log = FlightLog(KIND)
        self._data = data
        self._kinds: list[_DataflashKind] = []
        # By the number that its messages have now.
        self._current: dict[int, _DataflashKind] = {}
        self._units: dict[str, str] = {}
        self._multipliers: dict[str, float] = {}
        self._add(_FMT, _OF_FORMATS)
        self._walk()
        for kind in self._kinds:
            if kind.series.offsets and kind.layout is not None and (
                    kind.format.name not in _DESCRIBING):
                self._take(kind)
        self.log.tables.sort(key=lambda one: one.name)

    def _walk(self) -> None:
        data, end, at, current = self._data, len(self._data), 0, self._current
        cut = False
        for _ in range(MOST_MESSAGES):
            if end - at < 3:
                break
            kind = current.get(data[at + 2]) if data.startswith(_HEAD, at) else None
            if kind is None:
                begin = at
                at = data.find(_HEAD, at + 1)
                while at >= 0 and (end - at < 3 or data[at + 2] not in current):
                    at = data.find(_HEAD, at + 1)
                at = end if at < 0 else at
                if at < end or at - begin >= _FILLING:
                    self.log.tell(unread(at - begin, begin))
                continue
            length = kind.format.length
            if length > end - at:
                self.log.tell(f'it is cut short: of its last message {kind.format.name} at offset '
                              f'{at} {counted(end - at, "byte")} are there, expected {length}')
                cut = True
                break
            kind.series.offsets.append(at)
            if kind.format.name in _DESCRIBING and kind.layout is not None:
                self._define(kind, data[at + 3:at + length])
            at += length
        if end - at >= 3 and not cut:
            self.log.tell(f'it has more than {MOST_MESSAGES} messages')

    def _add(self, number: int, form: _Format) -> None:
        """Take a format: if it is another than before, messages from here on are of it."""
        known = self._current.get(number)
        if known is not None and known.format == form:
            return
        if len(self._kinds) >= MOST_TABLES:
            self.log.tell(f'it has more than {MOST_TABLES} formats; those after are left out')
            return
        try:
            layout = form.layout()
        except ValueError as error:
            layout = None
            self.log.tell(f'{printable(form.name, 60)} is skipped: {error}')
        if form.length < 3:
            self._current.pop(number, None)
            return
        self._current[number] = _DataflashKind(form, layout, LoggedSeries(form.length))
        self._kinds.append(self._current[number])

    def _define(self, kind: _DataflashKind, body: bytes) -> None:
        row = np.frombuffer(body, kind.layout)
        values = {name: texts(row[name], 'latin-1')[0] if row[name].dtype.kind == 'S'
                  else row[name][0] for name in kind.format.fields}
        try:
            if kind.format.name == 'FMT':
                self._add(int(values['Type']), _Format(
                    values['Name'], int(values['Length']), values['Format'],
                    tuple(filter(None, values['Columns'].split(',')))))
            elif kind.format.name == 'FMTU':
                described = self._current.get(int(values['FmtType']))
                if described is not None:
                    described.units, described.multipliers = (
                        values['UnitIds'], values['MultIds'])
            elif kind.format.name == 'UNIT':
                self._units[chr(int(values['Id']))] = values['Label'][:64]
            else:
                # A single precision number that became a double.
                self._multipliers[chr(int(values['Id']))] = float(f'{values["Mult"]:.7g}')
        except (KeyError, TypeError, ValueError, AttributeError):
            self.log.tell(f'{kind.format.name} has other fields than expected; units are missing')

    def _take(self, kind: _DataflashKind) -> None:
        time = next((name for name in _TIMES if name in kind.format.fields
                     and kind.format.letters[kind.format.fields.index(name)] in 'IQiq'), None)
        if time is None:
            self.log.tell(f'{kind.format.name} is skipped: it has no time '
                          f'({" or ".join(_TIMES)})')
            return
        at = kind.units.find(_INSTANCE)
        offsets = np.frombuffer(kind.series.offsets, np.int64) + 3
        if not 0 <= at < len(kind.format.fields) or kind.format.letters[at] not in 'bBhHiI':
            self._append(kind, time, offsets, kind.format.name)
            return
        assert kind.layout is not None
        instance = kind.format.fields[at]
        numbers = np.concatenate([
            rows[instance] for rows in kind.series.blocks(self._data, kind.layout, offsets)])
        each = np.unique(numbers)
        if len(each) > _MOST_INSTANCES:
            self._append(kind, time, offsets, kind.format.name)
            return
        for number in each.tolist():
            self._append(kind, time, offsets[numbers == number],
                         f'{kind.format.name}/{number}' if number else kind.format.name)

    def _append(
        self, kind: _DataflashKind, time: str, offsets: NDArray[np.int64], name: str
    ) -> None:
        form, layout, data = kind.format, kind.layout, self._data
        assert layout is not None
        columns = tuple(
            LogColumn(field, _name_of(letter), self._unit(kind, at), letter == 'a')
            for at, (field, letter) in enumerate(zip(form.fields, form.letters, strict=True))
            if field != time)
        letters = dict(zip(form.fields, form.letters, strict=True))

        def blocks() -> Iterator[tuple[NDArray[np.float64], list[Any]]]:
            for rows in kind.series.blocks(data, layout, offsets):
                yield _TIMES[time] * rows[time], [
                    _values(rows[one.name], letters[one.name]) for one in columns]

        self.log.tables.append(LogTable(name, columns, len(offsets), blocks))

    def _unit(self, kind: _DataflashKind, at: int) -> str:
        """Return the unit of a field, '' if it has none that is defined."""
        unit = self._units.get(kind.units[at:at + 1], '')
        unit = _SPELLED.get(unit, unit)
        factor = self._multipliers.get(kind.multipliers[at:at + 1], 1.0)
        if not unit or _TYPES[kind.format.letters[at]].factor != 1.0:
            return unit
        return f'{_PREFIXES[factor]}{unit}' if factor in _PREFIXES else f'{factor:.4g} {unit}'


def _name_of(letter: str) -> str:
    layout = np.dtype(_TYPES[letter].layout)
    if layout.kind == 'S':
        return 'str'
    return 'float64' if _TYPES[letter].factor != 1.0 else (
        'float32' if letter == 'g' else layout.name)


def _values(found: NDArray[Any], letter: str) -> Any:
    if found.dtype.kind == 'S':
        return texts(found, 'latin-1')
    if letter == 'a':
        return list(found)
    if letter == 'g':
        # Parquet and MAT have no halves.
        return found.astype(np.float32)
    factor = _TYPES[letter].factor
    # A division is exact in more cases.
    return found if factor == 1.0 else found / (1.0 / factor)
