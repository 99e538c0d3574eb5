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


"""Messages to rows: a column for each scalar field, whatever the type."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
import json
from typing import Any

from xplane_bridge.common.timing import SECOND_NS
from xplane_bridge.laboratory.export.tables import Column, plain_list, TIME_COLUMNS
from xplane_bridge.laboratory.export.units import units
from xplane_bridge.laboratory.flights.recordings.bounds import MAX_ELEMENTS
from xplane_bridge.laboratory.flights.recordings.message_types import ARRAY, BASE, NAME

_HEADER = 'std_msgs/msg/Header'
_QUATERNION = 'geometry_msgs/msg/Quaternion'
_TIMES = ('builtin_interfaces/msg/Time', 'builtin_interfaces/msg/Duration')
# Longer arrays, such as 6 by 6 covariances are not, become lists.
_LONGEST_ROW = 36
_MOST_COLUMNS = 2000
# Whole numbers, as ns since 1970 are more than a float has digits for.

Get = Callable[[Any], Any]


@dataclass(frozen=True, slots=True)
class Layout:
    """The columns of a message type, the first three the times, and how to get the others."""

    columns: tuple[Column, ...]
    getters: tuple[Get, ...]
    has_header: bool

    def stamp_ns(self, message: Any) -> int | None:
        """Return the header's stamp, None if there is none or it is zero."""
        if not self.has_header:
            return None
        return seconds_ns(message.header.stamp) or None

    def values(self, message: Any) -> tuple[Any, ...]:
        """Return a message's values, in the order of the columns behind the times."""
        return tuple(get(message) for get in self.getters)


def seconds_ns(time: Any) -> int:
    """Return a Time or Duration in ns."""
    return int(time.sec) * SECOND_NS + int(time.nanosec)


def layout(store: Any, kind: str, definition: str) -> Layout:
    """
    Return the layout of a type, of which rosbags' ``store`` has the definition.

    Names are dotted; an array of fixed size up to 36 has a column for each element, ``name[0]``;
    others are lists. Of a list of messages each field is a list, ``name[].field``, and a list
    within it is JSON. Times and durations are in seconds. The header's stamp is in the second
    column. Raises KeyError or ValueError for a type that cannot be one, or has more than 2000
    columns.
    """
    fields = _Fields(store, units(kind, definition)).of(kind, '', '', _same)
    found = list(islice(fields, _MOST_COLUMNS + 1))
    if len(found) > _MOST_COLUMNS:
        raise ValueError(f'it has more than {_MOST_COLUMNS} columns')
    header = dict(store.fielddefs[kind][1]).get('header')
    return Layout(
        (*TIME_COLUMNS, *(column for column, _ in found)), tuple(get for _, get in found),
        header is not None and header[1] == _HEADER)


def _same(value: Any) -> Any:
    return value


class _Fields:
    """Walks through the fields of a type."""

    def __init__(self, store: Any, known: dict[tuple[str, str], str]) -> None:
        self._fields = store.fielddefs
        self._units = known

    def of(
        self, kind: str, prefix: str, unit: str, get: Get
    ) -> Iterator[tuple[Column, Get]]:
        """Yield the columns of a type, and how to get their values from the message."""
        for name, description in self._fields[kind][1]:
            if kind == _HEADER and name == 'stamp' and prefix == 'header.':
                continue
            own = self._units.get((kind, name), unit)
            for column, found in self._field(
                    f'{prefix}{name}', description, own, _attribute(get, name)):
                if kind == _QUATERNION:
                    column = Column(column.name, column.kind, '', is_quaternion=True)
                yield column, found

    def _field(
        self, name: str, description: Any, unit: str, get: Get
    ) -> Iterator[tuple[Column, Get]]:
        what, of = description
        if what == BASE:
            yield Column(name, _kind(of[0]), unit), get
        elif what == NAME:
            if of in _TIMES:
                yield Column(name, unit='s'), lambda message: seconds_ns(get(message)) / SECOND_NS
            else:
                yield from self.of(of, f'{name}.', unit, get)
        elif what == ARRAY and of[1] <= _LONGEST_ROW:
            for index in range(of[1]):
                yield from self._field(
                    f'{name}[{index}]', of[0], unit, _element(get, index))
        else:
            yield from self._list(name, of[0], unit, get)

    def _list(
        self, name: str, element: Any, unit: str, get: Get
    ) -> Iterator[tuple[Column, Get]]:
        if element[0] == BASE:
            yield Column(name, _kind(element[1][0]), unit, is_list=True), _checked(get)
            return
        for column, inner in self._field(f'{name}[]', element, unit, _same):
            if column.is_list:
                column, inner = Column(column.name, 'str', column.unit), _as_json(inner)
            yield (Column(column.name, column.kind, column.unit, is_list=True),
                   _of_each(get, inner))


def _kind(base: str) -> str:
    return {'string': 'str', 'wstring': 'str', 'octet': 'uint8', 'byte': 'uint8',
            'char': 'uint8'}.get(base, base)


def _attribute(get: Get, name: str) -> Get:
    # The message itself needs no call in between.
    if get is _same:
        return lambda message: getattr(message, name)
    return lambda message: getattr(get(message), name)


def _element(get: Get, index: int) -> Get:
    return lambda message: get(message)[index]


def _checked(get: Get) -> Get:
    def checked(message: Any) -> Any:
        # Numbers stay an array, which takes a tenth of a list.
        found = get(message)
        if len(found) > MAX_ELEMENTS:
            raise ValueError(f'a list has {len(found)} elements, expected at most {MAX_ELEMENTS}')
        return found
    return checked


def _of_each(get: Get, inner: Get) -> Get:
    return lambda message: [inner(element) for element in get(message)]


def _as_json(get: Get) -> Get:
    return lambda message: json.dumps(plain_list(get(message)))
