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

"""Messages in protobuf to rows, by the descriptors that are stored with them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
import json
from typing import Any

import numpy as np

from xplane_bridge.common import optional
from xplane_bridge.laboratory.export.tables import (
    MOST_COLUMNS,
    plain_list,
    TableColumn,
    TIME_COLUMNS,
)
from xplane_bridge.laboratory.flights.recordings.bounds import (
    MAX_DEPTH,
    MAX_ELEMENTS,
    MAX_FIELDS,
    MAX_NAME,
    MAX_OBJECTS,
)
from xplane_bridge.laboratory.flights.recordings.mcap_file import BINARY, PROTOBUF
from xplane_bridge.laboratory.flights.recordings.topics import Topic

Get = Callable[[Any], Any]

_TIMES = ('google.protobuf.Timestamp', 'google.protobuf.Duration')
# By the number of FieldDescriptor.cpp_type.
_KINDS = {1: 'int32', 2: 'int64', 3: 'uint32', 4: 'uint64', 5: 'float64', 6: 'float32',
          7: 'bool', 8: 'int32', 9: 'str'}
_BYTES, _MESSAGE = 12, 11
# In place of what is not there, within a list.
_EMPTY = {'str': '', 'bool': False}


class ProtobufMessages:
    """
    The messages of a topic, and their columns.

    Names are dotted; a repeated field is a list, of messages a list for each field,
    ``name[].field``, and a list within it is JSON. So are maps, and messages within themselves.
    Times and durations are in seconds. What is not set, and says so, has no value.
    """

    def __init__(self, topic: Topic) -> None:
        """Raise ValueError for what is no definition, exceeds a bound, or lacks a package."""
        try:
            from mcap.records import Schema
            from mcap_protobuf.decoder import DecoderFactory
        except ImportError:
            raise ValueError(str(optional.missing(
                'reading it', 'mcap-protobuf-support', extra='export'))) from None
        schema = Schema(1, topic.definition.encode(BINARY), PROTOBUF, topic.kind)
        try:
            decode = DecoderFactory().decoder_for(PROTOBUF, schema)
            assert decode is not None
            descriptor = decode(b'').DESCRIPTOR
        except Exception as error:
            # Of the library of protobuf.
            raise ValueError(f'its definition is none: {error or type(error).__name__}') from None
        self._decode: Get = decode
        fields = _ProtobufFields()
        found = list(islice(fields.of(descriptor, '', _same, ()), MOST_COLUMNS + 1))
        if len(found) > MOST_COLUMNS:
            raise ValueError(f'it has more than {MOST_COLUMNS} columns')
        self.columns = (*TIME_COLUMNS, *(column for column, _ in found))
        self._getters = [get for _, get in found]
        self.has_objects = fields.has_objects

    def decode(self, data: bytes) -> Any:
        """Return a message. Raises ValueError or protobuf's own error if it is not one."""
        if self.has_objects and len(data) > MAX_OBJECTS:
            raise ValueError(f'it has {len(data)} bytes, expected at most {MAX_OBJECTS} of a type '
                             'with lists of texts or of other types')
        return self._decode(data)

    def stamp_ns(self, message: Any) -> None:
        """Return no stamp: which field it would be is not known."""
        return

    def values(self, message: Any) -> tuple[Any, ...]:
        """Return a message's values, in the order of the columns behind the times."""
        return tuple(get(message) for get in self._getters)


def _same(value: Any) -> Any:
    return value


class _ProtobufFields:
    """Walks through the fields of a type; ``has_objects`` if one is a list of objects."""

    def __init__(self) -> None:
        self._met = 0
        self.has_objects = False

    def of(
        self, kind: Any, prefix: str, get: Get, around: tuple[str, ...]
    ) -> Iterator[tuple[TableColumn, Get]]:
        """Yield the columns of a type, and how to get their values from the message."""
        for field in kind.fields:
            self._met += 1
            if self._met > MAX_FIELDS:
                raise ValueError(f'it has more than {MAX_FIELDS} fields')
            name = f'{prefix}{field.name}'
            if len(name) > MAX_NAME:
                raise ValueError(f'a field has a name of {len(name)} characters, expected at '
                                 f'most {MAX_NAME}')
            inner = _attribute(get, field)
            if field.type != _MESSAGE:
                yield self._plain(field, name, inner)
            elif field.message_type.GetOptions().map_entry or (
                    field.message_type.full_name in around or len(around) >= MAX_DEPTH):
                self.has_objects = True
                yield TableColumn(name, 'str'), _as_json(get, field.name)
            else:
                yield from self._message(field, name, inner, around)

    def _message(
        self, field: Any, name: str, get: Get, around: tuple[str, ...]
    ) -> Iterator[tuple[TableColumn, Get]]:
        kind = field.message_type
        within = (*around, kind.full_name)
        if not field.is_repeated:
            if kind.full_name in _TIMES:
                yield TableColumn(name, unit='s'), lambda message: _seconds(get(message))
            else:
                yield from self.of(kind, f'{name}.', get, within)
            return
        self.has_objects = True
        if kind.full_name in _TIMES:
            yield TableColumn(name, unit='s', is_list=True), lambda message: [
                _seconds(one) for one in get(message) or ()]
            return
        for column, inner in self.of(kind, f'{name}[].', _same, within):
            if column.is_list:
                column, inner = TableColumn(column.name, 'str', column.unit), _listed(inner)
            yield (TableColumn(column.name, column.kind, column.unit, is_list=True),
                   _of_each(get, inner, _EMPTY.get(column.kind, 0)))

    def _plain(self, field: Any, name: str, get: Get) -> tuple[TableColumn, Get]:
        if field.type == _BYTES and not field.is_repeated:
            return TableColumn(name, 'uint8', is_list=True), lambda message: (
                None if (found := get(message)) is None else np.frombuffer(found, np.uint8))
        kind = _KINDS[field.cpp_type]
        if not field.is_repeated:
            return TableColumn(name, kind), get
        if field.type == _BYTES:
            self.has_objects = True
            return TableColumn(name, 'str', is_list=True), lambda message: [
                one.hex() for one in get(message) or ()]
        self.has_objects = self.has_objects or kind == 'str'
        return TableColumn(name, kind, is_list=True), _checked(get)


def _attribute(get: Get, field: Any) -> Get:
    name, says = field.name, field.has_presence

    def of(message: Any) -> Any:
        found = get(message)
        if found is None or says and not found.HasField(name):
            return None
        return getattr(found, name)
    return of


def _seconds(time: Any) -> float | None:
    return None if time is None else time.seconds + time.nanos / 1e9


def _checked(get: Get) -> Get:
    def checked(message: Any) -> Any:
        found = get(message)
        if found is not None and len(found) > MAX_ELEMENTS:
            raise ValueError(f'a list has {len(found)} elements, expected at most {MAX_ELEMENTS}')
        return None if found is None else list(found)
    return checked


def _of_each(get: Get, inner: Get, empty: Any) -> Get:
    return lambda message: [
        empty if (found := inner(one)) is None else found for one in get(message) or ()]


def _listed(get: Get) -> Get:
    return lambda message: json.dumps(plain_list(get(message)))


def _as_json(get: Get, name: str) -> Get:
    from google.protobuf.json_format import MessageToDict

    def of(message: Any) -> str | None:
        found = get(message)
        if found is None:
            return None
        return json.dumps(MessageToDict(found, preserving_proto_field_name=True).get(name))
    return of
