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

"""Datarefs of the simulated X-Plane, and the table that collects those of one version."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import partial
from typing import Any, TypeAlias

Read: TypeAlias = Callable[[], float]
ReadMany: TypeAlias = Callable[[], Sequence[float]]
Write: TypeAlias = Callable[[Any], None]


class DatarefType(Enum):
    """X-Plane's types of datarefs."""

    FLOAT = 'float'
    DOUBLE = 'double'
    INT = 'int'
    FLOAT_ARRAY = 'float[]'
    INT_ARRAY = 'int[]'
    BYTES = 'byte[]'

    def __init__(self, value: str) -> None:
        """Derive what follows from the type, once."""
        self.is_array = value.endswith('[]')
        self.is_integer = value.startswith(('int', 'byte'))


@dataclass(frozen=True, slots=True)
class DatarefEntry:
    """
    One dataref: type, reader, and writer if it can be written.

    A scalar's reader returns a number and its writer takes one; an array's return and take all
    of its elements, as int or float by type. ``is_setting``: it is stored and nothing else, so
    it may be any number. ``element`` reads one element by its number, where that takes less.
    """

    type: DatarefType
    read: Callable[[], Any]
    write: Write | None = None
    is_setting: bool = False
    element: Callable[[int], Any] | None = None


class DatarefTable:
    """Collects the datarefs of one X-Plane version; ``since`` is the first with that name."""

    def __init__(self, version: int) -> None:
        """Create an empty table for X-Plane 9, 10, 11 or 12."""
        self.version = version
        self.entries: dict[str, DatarefEntry] = {}

    @property
    def engine_slots(self) -> int:
        """Return the size of per-engine arrays."""
        return 16 if self.version >= 12 else 8

    def float_(self, name: str, read: Read, write: Write | None = None, since: int = 9) -> None:
        """Add a float."""
        self._add(DatarefType.FLOAT, name, read, write, since)

    def double(self, name: str, read: Read, write: Write | None = None, since: int = 9) -> None:
        """Add a double."""
        self._add(DatarefType.DOUBLE, name, read, write, since)

    def int_(self, name: str, read: Callable[[], int], write: Write | None = None,
             since: int = 9) -> None:
        """Add an int."""
        self._add(DatarefType.INT, name, read, write, since)

    def setting(self, type_: DatarefType, name: str, values: list[float], since: int = 9,
                size: int | None = None) -> None:
        """
        Add a number, or an array of them, that is stored in ``values`` and nothing else.

        ``size`` is how many of the values this version has.
        """
        def write_all(given: Sequence[float]) -> None:
            if type_ is DatarefType.BYTES:
                given = [int(byte) % 256 for byte in given]
            values[:len(given)] = given

        def write_one(given: float) -> None:
            values[0] = given

        if type_.is_array:
            self._add(type_, name, lambda: tuple(values[:size]), write_all, since,
                      is_setting=True)
        else:
            self._add(type_, name, partial(values.__getitem__, 0), write_one, since,
                      is_setting=True)

    def floats(self, name: str, read: ReadMany, write: Write | None = None,
               since: int = 9) -> None:
        """Add a float array."""
        self._add(DatarefType.FLOAT_ARRAY, name, read, write, since)

    def ints(self, name: str, read: Callable[[], Sequence[int]], write: Write | None = None,
             since: int = 9) -> None:
        """Add an int array."""
        self._add(DatarefType.INT_ARRAY, name, read, write, since)

    def each(self, type_: DatarefType, name: str, size: int, element: Callable[[int], Any],
             since: int = 9) -> None:
        """Add a read-only array, each element of which is read by its number."""
        self._add(type_, name, lambda: tuple(map(element, range(size))), None, since,
                  element=element)

    def text(self, name: str, text: str, size: int, since: int = 9) -> None:
        """Add a byte array with a constant text, padded with NULs."""
        padded = tuple(text.encode('ascii', 'replace')[:size - 1].ljust(size, b'\0'))
        self._add(DatarefType.BYTES, name, lambda: padded, None, since)

    def _add(self, type_: DatarefType, name: str, read: Callable[[], Any],
             write: Write | None, since: int, is_setting: bool = False,
             element: Callable[[int], Any] | None = None) -> None:
        if self.version >= since:
            self.entries[name] = DatarefEntry(type_, read, write, is_setting, element)


def element(vector: ReadMany, index: int) -> Read:
    """Return a reader of one element of another reader's value."""
    return lambda: vector()[index]


def replaced(vector: Sequence[float], index: int, value: float) -> tuple[float, float, float]:
    """Return a vector of three with one element changed."""
    x, y, z = (value if i == index else old for i, old in enumerate(vector))
    return (x, y, z)


def padded(values: Iterable[Any], size: int, filler: float | None) -> list[Any]:
    """Return values truncated or padded to a size."""
    filled = list(values)[:size]
    return filled + [filler] * (size - len(filled))
