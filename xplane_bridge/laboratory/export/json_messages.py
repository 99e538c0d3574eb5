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

"""Messages in JSON to rows: columns as their schema says, or as they come. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
import json
from typing import Any

from xplane_bridge.common.text import printable
from xplane_bridge.laboratory.export.tables import MOST_COLUMNS, TableColumn, TIME_COLUMNS
from xplane_bridge.laboratory.flights.recordings.bounds import MAX_DEPTH, MAX_NAME, MAX_OBJECTS
from xplane_bridge.laboratory.flights.recordings.topics import Topic

# Whole numbers from here on are more than a float has digits for, as ns since 1970 are.
_LARGE, _LARGEST = 2**53, 2**63
_NUMBERS = {'float64', 'int64'}
_KINDS = {'number': 'float64', 'integer': 'int64', 'string': 'str', 'boolean': 'bool'}


class JsonMessages:
    """
    The messages of a topic, each an object in JSON.

    Fields of objects have dotted names; lists of numbers, texts or booleans are lists, and
    anything else is text in JSON. The columns are those of the schema, if there is one, and those
    that messages have besides: from the first of these on there is another table.
    """

    has_objects = True

    def __init__(self, topic: Topic) -> None:
        self._columns: dict[str, TableColumn] = {}
        try:
            schema = json.loads(topic.definition or '{}')
        except (ValueError, RecursionError):
            schema = None
        for name, column in _of_schema(schema, '', 0):
            if len(self._columns) < MOST_COLUMNS:
                self._columns[name] = column
        self.columns: tuple[TableColumn, ...] = (*TIME_COLUMNS, *self._columns.values())

    def decode(self, data: bytes) -> dict[str, Any]:
        """Return the values of a message by column. Raises ValueError if it is no object."""
        if len(data) > MAX_OBJECTS:
            raise ValueError(f'it has {len(data)} bytes, expected at most {MAX_OBJECTS} of JSON')
        try:
            content = json.loads(data)
        except RecursionError:
            raise ValueError('it has too many lists or objects within each other') from None
        if not isinstance(content, dict):
            raise ValueError(f'it is {type(content).__name__} in JSON, expected an object')
        found = dict(_flat(content, '', 0))
        changed = {
            name: _widened(self._columns.get(name), _column(name, value))
            for name, value in found.items() if value is not None and not (
                name in self._columns and _fits(self._columns[name], value))}
        if changed:
            if len(self._columns | changed) > MOST_COLUMNS:
                raise ValueError(f'it has more than {MOST_COLUMNS} columns')
            self._columns |= changed
            self.columns = (*TIME_COLUMNS, *self._columns.values())
        return found

    def stamp_ns(self, message: Any) -> None:
        """Return no stamp: which field it would be is not known."""
        return

    def values(self, message: Mapping[str, Any]) -> tuple[Any, ...]:
        """Return a message's values, in the order of the columns behind the times."""
        return tuple(_value(column, message.get(name)) for name, column in self._columns.items())


def _flat(content: Mapping[str, Any], prefix: str, depth: int) -> Iterator[tuple[str, Any]]:
    for key, value in content.items():
        name = f'{prefix}{printable(key, MAX_NAME)}'
        if len(name) > MAX_NAME:
            raise ValueError(f'a field has a name of {len(name)} characters, expected at most '
                             f'{MAX_NAME}')
        if isinstance(value, dict) and value and depth < MAX_DEPTH:
            yield from _flat(value, f'{name}.', depth + 1)
        else:
            yield name, value


def _of_schema(schema: Any, prefix: str, depth: int) -> Iterator[tuple[str, TableColumn]]:
    """Yield the columns that a schema has; what it says besides is left to the messages."""
    properties = schema.get('properties') if isinstance(schema, dict) else None
    if not isinstance(properties, dict) or depth > MAX_DEPTH:
        return
    for key, one in properties.items():
        name = f'{prefix}{printable(key, MAX_NAME)}'
        kind = one.get('type') if isinstance(one, dict) else None
        if kind == 'object':
            yield from _of_schema(one, f'{name}.', depth + 1)
        elif kind == 'array':
            items = one.get('items')
            of = items.get('type') if isinstance(items, dict) else None
            if isinstance(of, str) and of in _KINDS:
                yield name, TableColumn(name, _KINDS[of], is_list=True)
        elif isinstance(kind, str) and kind in _KINDS and len(name) <= MAX_NAME:
            yield name, TableColumn(name, _KINDS[kind])


def _column(name: str, value: Any) -> TableColumn:
    if isinstance(value, list):
        kinds = {_kind(one) for one in value}
        if len(kinds) == 1 and None not in kinds:
            return TableColumn(name, str(*kinds), is_list=True)
        if not kinds or kinds == {'float64', 'int64'}:
            return TableColumn(name, 'float64', is_list=True)
    return TableColumn(name, _kind(value) or 'str')


def _kind(value: Any) -> str | None:
    if isinstance(value, bool):
        return 'bool'
    if isinstance(value, int):
        return 'int64' if _LARGE < abs(value) < _LARGEST else 'float64'
    return {float: 'float64', str: 'str'}.get(type(value))


def _fits(column: TableColumn, value: Any) -> bool:
    """Return whether a column takes a value as it is."""
    if column.is_list:
        return isinstance(value, list) and all(_is_of(column.kind, one) for one in value)
    return column.kind == 'str' or _is_of(column.kind, value)


def _is_of(kind: str, value: Any) -> bool:
    if kind == 'int64':
        return _kind(value) in _NUMBERS and -_LARGEST < value < _LARGEST and value % 1 == 0
    return _kind(value) == kind or kind == 'float64' and _kind(value) in _NUMBERS


def _widened(known: TableColumn | None, new: TableColumn) -> TableColumn:
    """Return the column that takes values of both."""
    if known is None:
        return new
    if known.is_list == new.is_list and {known.kind, new.kind} <= _NUMBERS:
        return TableColumn(new.name, is_list=new.is_list)
    return TableColumn(new.name, 'str')


def _value(column: TableColumn, value: Any) -> Any:
    if value is None:
        return None
    if column.is_list:
        return [_number(column, one) for one in value]
    if column.kind == 'str':
        return value if isinstance(value, str) else json.dumps(value)
    return _number(column, value)


def _number(column: TableColumn, value: Any) -> Any:
    return {'int64': int, 'float64': float}.get(column.kind, lambda same: same)(value)
