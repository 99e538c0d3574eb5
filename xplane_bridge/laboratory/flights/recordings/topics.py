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

"""The topics and messages of a recording, whatever kind of file they are from. No ROS."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from xplane_bridge.common.text import printable
from xplane_bridge.laboratory.flights.recordings.bounds import (
    MAX_CHANNELS,
    MAX_DEFINITION,
    MAX_DEFINITIONS,
    MAX_NAME,
)

FORMERLY = {'command/target': ('target', 'xplane_bridge/msg/AutopilotTarget')}
"""Topics with the names, and the types, that they have in recordings of 0.3 and before."""


class RecordingError(ValueError):
    """A recording cannot be used; the text says why."""


class UnfinishedError(ValueError):
    """
    A file ends before its recorder has finished it; the text says where.

    ``left`` is how many of its bytes are not read.
    """

    def __init__(self, text: str, left: int) -> None:
        super().__init__(text)
        self.left = left


class Topic(NamedTuple):
    """
    A recorded topic: its type, and the type's definition as stored.

    ``fault`` says why its messages cannot be read, if that is known beforehand. ``metadata`` is
    what an MCAP file says of it besides, such as its QoS, by name.
    """

    name: str
    kind: str
    format: str
    definition: str
    fault: str = ''
    metadata: tuple[tuple[str, str], ...] = ()


class RecordedMessage(NamedTuple):
    """A message as recorded; ``log_ns`` is when, ``published_ns`` when it was published."""

    topic: Topic
    log_ns: int
    data: bytes
    published_ns: int
    sequence: int = 0


class Topics:
    """The topics of a recording, each made once: files repeat them."""

    def __init__(self) -> None:
        self._known: dict[tuple[Any, ...], Topic] = {}
        self._definitions: dict[tuple[bytes, str], str] = {}
        self._size = 0

    def definition(self, data: bytes, encoding: str = 'utf-8') -> tuple[str, str]:
        """Return the text of a type's definition, and why it is not kept; equal ones once."""
        if len(data) > MAX_DEFINITION:
            return '', (f'its definition has {len(data)} bytes, expected at most '
                        f'{MAX_DEFINITION}')
        if (data, encoding) not in self._definitions:
            if self._size + len(data) > MAX_DEFINITIONS:
                return '', f'the definitions of all types have more than {MAX_DEFINITIONS} bytes'
            self._size += len(data)
            self._definitions[data, encoding] = data.decode(encoding, 'replace')
        return self._definitions[data, encoding], ''

    def add(
        self, name: str, kind: str, form: str, definition: str, fault: str = '',
        metadata: tuple[tuple[str, str], ...] = (),
    ) -> Topic:
        """Return the topic; if its name or type are too long these are shortened, with a fault."""
        for what, text in (('name', name), ('type', kind)):
            if len(text) > MAX_NAME:
                fault = fault or (f'its {what} has {len(text)} characters, expected at most '
                                  f'{MAX_NAME}')
        if fault:
            name, kind, form, definition, metadata = (
                printable(name, 60), printable(kind, 60), '', '', ())
        key = name, kind, form, definition, fault, metadata
        if key not in self._known and len(self._known) >= MAX_CHANNELS:
            raise ValueError(f'it has more than {MAX_CHANNELS} topics')
        return self._known.setdefault(key, Topic(*key))

    def __iter__(self) -> Iterator[Topic]:
        return iter(self._known.values())
