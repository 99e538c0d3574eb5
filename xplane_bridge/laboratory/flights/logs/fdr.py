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
X-Plane's flight data recorder files (.fdr), versions 3 and 4, within bounds. No ROS.

Text: A or I, the version, then lines that begin with a word of four letters. In version 4 other
lines are rows: UTC, longitude and latitude (deg), altitude above mean sea level (ft), magnetic
heading, pitch and roll (deg), then a column for each DREF, which its factor converts to the
dataref's unit. Version 3 has rows DATA, the first number the time (s). Based on X-Plane's
knowledge base, "Creating FDR Files", and the comments of files that X-Plane 12 reads.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from datetime import datetime, UTC
from pathlib import Path
import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from xplane_bridge.common.text import printable
from xplane_bridge.laboratory.flights.logs.log import (
    FlightLog,
    load,
    LogColumn,
    LogTable,
    MOST_COLUMNS,
    repeated,
)
from xplane_bridge.laboratory.flights.recordings.bounds import MAX_NAME
from xplane_bridge.laboratory.flights.recordings.topics import RecordingError

KIND = 'an FDR file'
TABLE = 'flight'
COLUMNS = (
    LogColumn('longitude', 'float64', 'deg'), LogColumn('latitude', 'float64', 'deg'),
    LogColumn('altitude', 'float64', 'ft'), LogColumn('magnetic_heading', 'float64', 'deg'),
    LogColumn('pitch', 'float64', 'deg'), LogColumn('roll', 'float64', 'deg'))
"""Of version 4, behind the time."""

_BEGINNING = re.compile(rb'(?:\xef\xbb\xbf)?[AI][^\r\n]{0,80}\r?\n?\r?[ \t]*([34])\b')
_LINES = re.compile(r'\r\n?|\n')
_TIME = re.compile(r'(\d{1,2}):(\d{1,2}):(\d{1,2}(?:\.\d*)?)\Z', re.ASCII)
_DATAREF = re.compile(r'([\w/.\[\]-]+)[\s,]+([-+\d.eE]+)', re.ASCII)
_WORD = re.compile(r'[A-Z]{4}\s*,')
_DAY = 86400.0
_LONGEST_LINE = 64 * 1024
_MOST_CHARACTERS = 128 * 1024 * 1024
_MOST_VALUES = 20_000_000
_ROWS = 8192


def read(path: Path) -> FlightLog:
    """Return the table of an FDR file. Raises OSError, and RecordingError for what is none."""
    data = load(path, b'', KIND)
    found = _BEGINNING.match(data)
    if found is None:
        raise RecordingError(f'{path} is not read as {KIND}: expected A or I, and in the next '
                             'line its version, 3 or 4')
    if len(data) > _MOST_CHARACTERS:
        raise RecordingError(f'{path} is not read as {KIND}: it has {len(data)} bytes, expected '
                             f'at most {_MOST_CHARACTERS}')
    return _FdrReading(int(found[1]), data[found.end():].decode(errors='replace')).log


class _FdrReading:

    def __init__(self, version: int, text: str) -> None:
        self.log = FlightLog(KIND)
        self._columns: list[LogColumn] = list(COLUMNS) if version == 4 else []
        self._factors: list[float] = [1.0] * len(self._columns)
        self._date = 0.0
        self._values = array('d')
        self._width = 0
        self._bad = 0
        take = self._take_row if version == 4 else self._take_data
        for number, line in enumerate(_lines(text), 2):
            if line.startswith('DREF'):
                self._add_dataref(line)
            elif line.startswith('DATE'):
                self._take_date(line)
            elif (line.startswith('DATA') or line.strip() and not _WORD.match(line)) and (
                    len(line) > _LONGEST_LINE or not take(line)):
                self._bad += 1
                if self._bad == 1:
                    self.log.tell(f'line {number} is no row of {self._width or "any"} numbers: '
                                  f'{printable(line, 60)!r}')
            if len(self._values) > _MOST_VALUES:
                self.log.tell(f'it has more than {_MOST_VALUES} numbers')
                break
        if self._bad > 1:
            self.log.tell(f'{self._bad} lines are no rows')
        if self._values:
            self.log.tables.append(self._table())

    def _add_dataref(self, line: str) -> None:
        found = _DATAREF.match(line.partition(',')[2].strip())
        try:
            name, factor = (found[1], float(found[2])) if found else ('', 1.0)
        except ValueError:
            name = ''
        if self._values or not name or len(name) > MAX_NAME or (
                len(self._columns) >= MOST_COLUMNS):
            self.log.tell(f'{printable(line, 60)!r} is no dataref with a factor before the rows')
            return
        self._columns.append(LogColumn(name, 'float64'))
        self._factors.append(factor)

    def _take_date(self, line: str) -> None:
        """Take the date, month first; times are of the day without one."""
        numbers = re.findall(r'\d{1,4}', line)
        try:
            month, day, year = map(int, numbers[:3])
            self._date = datetime(
                year + 2000 * (year < 100), month, day, tzinfo=UTC).timestamp()
        except ValueError:
            self.log.tell(f'{printable(line, 60)!r} has no date, expected month/day/year')

    def _take_row(self, line: str) -> bool:
        time, *rest = line.split(',')
        found = _TIME.match(time.strip())
        if found is None:
            return False
        return self._add(3600.0 * int(found[1]) + 60.0 * int(found[2]) + float(found[3]), rest)

    def _take_data(self, line: str) -> bool:
        texts = line.partition(',')[2].strip().rstrip(',').split(',')
        if not self._width:
            if len(texts) > MOST_COLUMNS:
                return False
            self._columns = [LogColumn(f'value[{at}]', 'float64') for at in range(1, len(texts))]
            self._factors = [1.0] * len(self._columns)
        try:
            return self._add(float(texts[0]), texts[1:])
        except ValueError:
            return False

    def _add(self, time: float, texts: list[str]) -> bool:
        try:
            row = [float(text) for text in texts if text.strip()]
        except ValueError:
            return False
        if len(row) != len(self._columns):
            return False
        self._width = len(row) + 1
        self._values.append(time)
        self._values.extend(row)
        return True

    def _table(self) -> LogTable:
        names = [one.name for one in self._columns]
        if again := repeated(names):
            self.log.tell(f'{again} is there twice')
        rows = np.frombuffer(self._values).reshape(-1, self._width)
        # It may fly beyond midnight.
        days = np.concatenate([[0.0], np.cumsum(np.diff(rows[:, 0]) < -_DAY / 2)])
        stamps = self._date + rows[:, 0] + _DAY * days

        def blocks() -> Iterator[tuple[NDArray[np.float64], list[Any]]]:
            for begin in range(0, len(rows), _ROWS):
                part = slice(begin, begin + _ROWS)
                yield stamps[part], [factor * rows[part, at] for at, factor in enumerate(
                    self._factors, 1)]

        return LogTable(TABLE, tuple(self._columns), len(rows), blocks)


def _lines(text: str) -> Iterator[str]:
    begin = 0
    for found in _LINES.finditer(text):
        yield text[begin:found.start()]
        begin = found.end()
    yield text[begin:]
