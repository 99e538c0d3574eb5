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
The types of a recording's messages, from the definitions stored in it, within bounds. No ROS.

rosbags makes code of each definition, a line or more for each element of some arrays, and objects
for whatever a message says that it holds; so both are measured before.
"""

from __future__ import annotations

from collections.abc import Mapping
import re
from typing import Any, NamedTuple

from xplane_bridge.laboratory.flights.recordings.bounds import (
    FIELDS_OF_TYPE,
    MAX_ALL_FIELDS,
    MAX_DEFINITIONS,
    MAX_DEPTH,
    MAX_ELEMENTS,
    MAX_FIELDS,
    MAX_NAME,
    MAX_OBJECTS,
    MAX_VALUES,
)
from xplane_bridge.laboratory.flights.recordings.mcap_file import ROS1
from xplane_bridge.laboratory.flights.recordings.topics import Topic

BASE, NAME, ARRAY, LIST = 1, 2, 3, 4
"""What a field is, in rosbags: a number or text, a type, an array of fixed size, a list."""

_SECONDS: Any = ([], [('sec', (BASE, ('int32', 0))), ('nanosec', (BASE, ('uint32', 0)))])
_TOO_MANY_FIELDS = f'all types of the recording have more than {MAX_ALL_FIELDS} fields'
_TEXTS = ('string', 'wstring')
_TYPE = re.compile(r'[A-Za-z]\w*(/[A-Za-z]\w*){1,3}\Z', re.ASCII)
_COMMENTS = re.compile(r'^[ \t]*(#[^\n]*)?\n', re.MULTILINE)
_IDL_TEXT = re.compile(r'"(?:\\.|[^"\\])*"|//[^\n]*|/\*.*?\*/', re.DOTALL)


class MessageType(NamedTuple):
    """
    A type of which messages can be read; ``store`` is rosbags', ``kind`` its name there.

    ``has_objects``: messages have lists of types or of texts, each element an object in memory.
    ``is_ros1``: they are serialized as ROS 1 does it.
    """

    store: Any
    kind: str
    has_objects: bool
    is_ros1: bool = False

    def decode(self, data: bytes) -> Any:
        """Return a message. Raises ValueError or an exception of rosbags if it is not one."""
        if self.has_objects and len(data) > MAX_OBJECTS:
            raise ValueError(f'it has {len(data)} bytes, expected at most {MAX_OBJECTS} of a type '
                             'with lists of texts or of other types')
        if self.is_ros1:
            return self.store.deserialize_ros1(data, self.kind)
        return self.store.deserialize_cdr(data, self.kind)


class MessageTypes:
    """The types of one recording, each made once."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str, str], MessageType | str] = {}
        self._parsed = 0
        self._fields = 0

    def of(self, topic: Topic) -> MessageType:
        """Return a topic's type. Raises ValueError, with a sentence, if it cannot be read."""
        if topic.fault:
            raise ValueError(topic.fault)
        key = topic.kind, topic.format, topic.definition
        if key not in self._known:
            try:
                self._known[key] = self._made(topic)
            except Exception as error:
                # Of rosbags' parser, for anything that is not a definition.
                self._known[key] = str(error) or type(error).__name__
        found = self._known[key]
        if isinstance(found, str):
            raise ValueError(found)
        return found

    def _made(self, topic: Topic) -> MessageType:
        from rosbags.typesys import get_typestore, Stores
        if topic.format not in ('ros2msg', 'ros2idl', 'ros2none', ROS1):
            raise ValueError(
                f'its definition is {topic.format or "missing"}, expected ros2msg, ros2idl or '
                f'{ROS1}')
        if not _TYPE.match(topic.kind):
            raise ValueError('its type is not a name such as package/msg/Type')
        if topic.format == 'ros2none':
            # Before Iron rosbag2 stored no definitions in its databases.
            common = get_typestore(Stores.LATEST)
            if topic.kind not in common.types:
                raise ValueError('its definition is missing')
            return MessageType(common, topic.kind, _Measured(common.fielddefs).check(topic.kind))
        self._parsed += len(topic.definition)
        if self._parsed > MAX_DEFINITIONS:
            raise ValueError(
                f'the definitions of all types have more than {MAX_DEFINITIONS} characters')
        if self._fields > MAX_ALL_FIELDS:
            raise ValueError(_TOO_MANY_FIELDS)
        parsed = _parsed(topic)
        kind = topic.kind if topic.format == 'ros2idl' else next(iter(parsed))
        fields = {name: (constants, of or [('', (BASE, ('uint8', 0)))])
                  for name, (constants, of) in parsed.items()}
        count = _count(fields)
        has_objects = _Measured(fields).check(kind)
        self._fields += count + FIELDS_OF_TYPE
        if self._fields > MAX_ALL_FIELDS:
            raise ValueError(_TOO_MANY_FIELDS)
        store = get_typestore(Stores.EMPTY)
        store.register(parsed)
        return MessageType(store, kind, has_objects, topic.format == ROS1)


def _parsed(topic: Topic) -> dict[str, Any]:
    """Return the types of a definition, as rosbags has them."""
    from rosbags.typesys import get_types_from_idl, get_types_from_msg
    if topic.format != 'ros2idl':
        # Comments would take most of the time.
        found: dict[str, Any] = get_types_from_msg(
            _COMMENTS.sub('', f'{topic.definition}\n'), topic.kind)
        if topic.format == ROS1:
            # There they are no types, so that no definition has them.
            found |= {f'builtin_interfaces/msg/{name}': _SECONDS
                             for name in ('Time', 'Duration')}
        return found
    parsed: dict[str, Any] = {}
    for part in topic.definition.split('=' * 80 + '\n'):
        text = part.partition('\n')[2] if part.startswith('IDL: ') else part
        if text.strip():
            _check_idl(text)
            parsed.update(get_types_from_idl(text))
    return parsed


def _count(types: Mapping[str, Any]) -> int:
    """
    Return how many fields rosbags makes code for. Raises ValueError if there are too many.

    There is code for each element of an array of fixed size, unless it is of numbers.
    """
    count = 0
    for constants, fields in types.values():
        count += len(constants)
        for name, (what, of) in fields:
            if len(name) > MAX_NAME:
                raise ValueError(f'a field has a name of {len(name)} characters, expected at '
                                 f'most {MAX_NAME}')
            if what == ARRAY and not 0 < of[1] <= MAX_ELEMENTS:
                raise ValueError(f'{name} is an array of {of[1]} elements, expected 1 to '
                                 f'{MAX_ELEMENTS}')
            count += of[1] if what == ARRAY and not _is_number(of[0]) else 1
    if count > MAX_FIELDS:
        raise ValueError(f'its definition has {count} fields, expected at most {MAX_FIELDS}')
    return count


def _is_number(description: Any) -> bool:
    what, of = description
    return bool(what == BASE and of[0] not in _TEXTS)


class _Measured:
    """Types by name, measured before anything is made of them."""

    def __init__(self, types: Mapping[str, Any]) -> None:
        self._types = types
        self._measures: dict[str, tuple[int, int, bool]] = {}
        self._met: list[str] = []

    def check(self, kind: str) -> bool:
        """Return whether a type has objects. Raises ValueError if it exceeds a bound."""
        values, _, has_objects = self._of(kind)
        if values > MAX_VALUES:
            raise ValueError(
                f'each message has {values} values, expected at most {MAX_VALUES}')
        return has_objects

    def _of(self, kind: str) -> tuple[int, int, bool]:
        """Return how many values a type has, how deep it is, and whether it has objects."""
        if kind in self._measures:
            return self._measures[kind]
        if kind in self._met:
            raise ValueError(f'type {kind} contains itself')
        if len(self._met) >= MAX_DEPTH:
            raise ValueError(f'expected at most {MAX_DEPTH} types within each other')
        if kind not in self._types or not _TYPE.match(kind) or len(kind) > MAX_NAME:
            raise ValueError(f'type {kind} is not defined')
        self._met.append(kind)
        values, depth, has_objects = 0, 0, False
        for _, description in self._types[kind][1]:
            found = self._of_field(*description)
            values, depth, has_objects = (
                values + found[0], max(depth, found[1]), has_objects or found[2])
        if depth >= MAX_DEPTH:
            raise ValueError(f'expected at most {MAX_DEPTH} types within each other')
        self._met.pop()
        self._measures[kind] = values, depth + 1, has_objects
        return self._measures[kind]

    def _of_field(self, what: int, of: Any) -> tuple[int, int, bool]:
        element = of[0] if what in (ARRAY, LIST) else (what, of)
        if _is_number(element):
            return 1, 0, False
        count = of[1] if what == ARRAY else 1
        if element[0] == BASE:
            return count, 0, what == LIST
        values, depth, has_objects = self._of(element[1])
        return count * values, depth, has_objects or what == LIST


def _check_idl(text: str) -> None:
    """Raise ValueError for expressions that the parser needs exponential time for."""
    depth = 0
    for character in re.sub(r'[^()]', '', _IDL_TEXT.sub('', text)):
        depth += 1 if character == '(' else -1
        if depth > 1:
            raise ValueError('its definition has parentheses within parentheses')
