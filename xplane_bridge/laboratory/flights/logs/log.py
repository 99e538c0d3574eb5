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
A log that an autopilot or X-Plane has written, as tables. No ROS.

Tables are decoded a block of rows at a time, from where the messages of one kind are in the file.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from xplane_bridge.common import plain_files
from xplane_bridge.common.text import counted
from xplane_bridge.laboratory.flights.recordings.topics import RecordingError

MOST_BYTES = 512 * 1024 * 1024
"""Of a log. PX4 and ArduPilot write 0.1 to 1 MB per second."""

MOST_MESSAGES = 20_000_000
"""Of a log, with what is passed over."""

MOST_TABLES = 5_000
"""Kinds of messages that are told apart."""

MOST_COLUMNS = 2_000
LONGEST_ROW = 36
"""Longer arrays are lists."""

# Rows that are decoded at a time.
_ROWS = 8192
_MOST_FAULTS = 20


class LogColumn(NamedTuple):
    """A column: ``kind`` is bool, str or a NumPy type; with ``is_list`` each value has several."""

    name: str
    kind: str
    unit: str = ''
    is_list: bool = False


@dataclass(frozen=True, slots=True)
class LogTable:
    """
    The messages of one kind.

    ``blocks()`` yields the rows, some at a time: the stamps on the log's own clock (s), and an
    array or a list for each column.
    """

    name: str
    columns: tuple[LogColumn, ...]
    rows: int
    blocks: Callable[[], Iterator[tuple[NDArray[np.float64], list[Any]]]]

    @property
    def base(self) -> str:
        """Return the name without the number of its instance."""
        return self.name.partition('/')[0]


@dataclass(slots=True)
class FlightLog:
    """A log: its kind, its tables in the order of their names, and what of it is not read."""

    kind: str
    tables: list[LogTable] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)

    def tell(self, fault: str) -> None:
        """Add a sentence about what is not read, within bounds."""
        if len(self.faults) < _MOST_FAULTS:
            self.faults.append(fault)

    def start(self) -> float:
        """Return the first stamp of all tables (s); 0 without rows."""
        return min((float(stamps[0]) for table in self.tables
                    for stamps, _ in [next(table.blocks())]), default=0.0)


class LoggedSeries:
    """Where the messages of one kind begin in a file, and how long they are at least."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.offsets = array('q')

    def blocks(
        self, data: bytes, layout: np.dtype[Any], chosen: NDArray[np.int64] | None = None
    ) -> Iterator[NDArray[Any]]:
        """Yield the messages as structures, or those whose offsets are chosen."""
        found = np.frombuffer(self.offsets, np.int64) if chosen is None else chosen
        windows = sliding_window_view(np.frombuffer(data, np.uint8), layout.itemsize)
        for begin in range(0, len(found), _ROWS):
            yield np.ascontiguousarray(windows[found[begin:begin + _ROWS]]).reshape(-1).view(
                layout)


def load(path: Path, magic: bytes, name: str) -> bytes:
    """
    Return the content of a log, which begins with ``magic``.

    Raises OSError, and RecordingError for any other file and for one that is too large.
    """
    with plain_files.open_regular(path) as stream:
        size = stream.seek(0, 2)
        stream.seek(0)
        if size > MOST_BYTES:
            raise RecordingError(
                f'{path} is not read as {name}: it has {size} bytes, expected at most '
                f'{MOST_BYTES}')
        if not stream.read(len(magic)) == magic:
            raise RecordingError(f'{path} is not read as {name}: it does not begin as one')
        stream.seek(0)
        return stream.read(MOST_BYTES)


def texts(values: NDArray[np.bytes_], other: str = '') -> list[str]:
    """Return texts up to their first zero, in encoding ``other`` where they are not UTF-8."""
    found = []
    for value in values.tolist():
        text = value.partition(b'\0')[0]
        try:
            found.append(text.decode())
        except UnicodeDecodeError:
            found.append(text.decode(other or 'utf-8', 'replace'))
    return found


def unread(count: int, at: int) -> str:
    """Return a sentence about bytes that are no messages."""
    return f'{counted(count, "byte")} at offset {at} are no messages, and are not read'


def repeated(names: Sequence[str]) -> str:
    """Return a name that is there twice, '' if none is."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            return name
        seen.add(name)
    return ''
