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
What is said over the WebSocket of X-Plane's Web API, without a socket and without a clock.

Ids are those of one run of X-Plane, so all that is known by id ends with the connection.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
import itertools
import math
from typing import TypeAlias

from xplane_bridge.bridges.protocols.errors import ProtocolError
from xplane_bridge.bridges.xplane_udp.protocol import web_socket
from xplane_bridge.bridges.xplane_udp.protocol.web_api import DatarefInfo, decode_value
from xplane_bridge.bridges.xplane_udp.protocol.web_socket import (
    CommandUpdate,
    DatarefUpdate,
    WebResult,
)

MOST_ELEMENTS = 100_000
"""Values of all watched datarefs together; what X-Plane sends beyond is not kept."""


@dataclass(frozen=True, slots=True)
class Watched:
    """
    A dataref that X-Plane sends whenever it changes.

    ``indices`` are the elements it sends, in ascending order, None for all; ``names`` what each
    of the wanted names is: an index, or None for the whole.
    """

    info: DatarefInfo
    indices: tuple[int, ...] | None
    names: Mapping[str, int | None]


@dataclass(frozen=True, slots=True)
class DatarefReading:
    """A dataref and its value: numbers, or for ``data`` bytes."""

    info: DatarefInfo
    value: tuple[float, ...] | bytes

    @property
    def text(self) -> str:
        """Return bytes up to the first NUL as text, '' for numbers."""
        if not isinstance(self.value, bytes):
            return ''
        return self.value.partition(b'\0')[0].decode('utf-8', 'replace')


@dataclass(frozen=True, slots=True)
class ValuesChanged:
    """All watched datarefs that are known by now, by name: some have just changed."""

    values: Mapping[str, DatarefReading]


@dataclass(frozen=True, slots=True)
class CommandReported:
    """X-Plane says whether a command is active, over a connection by its number."""

    name: str
    is_active: bool
    connection: int


Event: TypeAlias = ValuesChanged | CommandReported


@dataclass(slots=True)
class SocketStatistics:
    """What was received: texts, those that made no sense, and results that nobody waits for."""

    received: int = 0
    malformed: int = 0
    unexpected: int = 0
    last_error: str = ''


class WebApiSession:
    """
    Questions by number and what is told unasked, of one connection after the other.

    An answer counts when X-Plane gives it; a command is active when X-Plane says so.
    """

    def __init__(self) -> None:
        self.statistics = SocketStatistics()
        self.last_update = -math.inf
        """When values arrived last."""

        self.connection = 0
        """How many connections were lost until now."""

        self._numbers = itertools.count(1)
        self._waiting: dict[int, WebResult | None] = {}
        self._watched: Mapping[int, Watched] = {}
        self._values: dict[str, DatarefReading] = {}
        self._commands: dict[int, str] = {}
        self._active: set[str] = set()

    @property
    def active(self) -> tuple[str, ...]:
        """Return the commands that X-Plane reports as active."""
        return tuple(sorted(self._active))

    @property
    def is_watching(self) -> bool:
        """Return whether datarefs are expected over this connection."""
        return bool(self._watched)

    @property
    def arrived(self) -> int:
        """Return how many of the watched names have a value."""
        return len(self._values)

    def number_of(self, name: str) -> int | None:
        """Return the id of a command of which X-Plane is to tell over this connection."""
        return next(
            (number for number, known in list(self._commands.items()) if known == name), None)

    def watch(self, watched: Mapping[int, Watched]) -> None:
        """Expect these datarefs, by id, and no others; before X-Plane is asked for them."""
        self._watched = watched
        self._values = {}

    def watch_command(self, number: int, name: str) -> None:
        """Expect to be told of a command; before X-Plane is asked for it."""
        self._commands[number] = name

    def forget_command(self, number: int) -> None:
        """Expect to be told of a command no more."""
        self._commands.pop(number, None)

    def lost(self) -> None:
        """Forget what belonged to the connection, but for answers that nobody has read yet."""
        self.connection += 1
        self._waiting = {
            number: result for number, result in self._waiting.items() if result is not None}
        self._watched = {}
        self._values = {}
        self._commands.clear()
        self._active.clear()

    # Questions.

    def ask(self, body: bytes) -> tuple[int, str]:
        """Return a question's number and text."""
        number = next(self._numbers)
        self._waiting[number] = None
        return number, web_socket.numbered(body, number)

    def answer(self, number: int) -> WebResult | None:
        """Return what was answered to a question, None for nothing yet."""
        return self._waiting.get(number)

    def forget(self, number: int) -> None:
        """Forget a question and its answer."""
        self._waiting.pop(number, None)

    # What X-Plane says.

    def receive(self, text: str, now: float) -> list[Event]:
        """Return what a text brings; one that makes no sense is counted."""
        self.statistics.received += 1
        try:
            message = web_socket.read(text)
            if isinstance(message, DatarefUpdate):
                return self._update(message, now)
            if isinstance(message, CommandUpdate):
                return self._report(message)
            if message.number not in self._waiting:
                self.statistics.unexpected += 1
            else:
                self._waiting[message.number] = message
        except ProtocolError as error:
            self._blame(error)
        return []

    def _blame(self, error: ProtocolError) -> None:
        self.statistics.malformed += 1
        self.statistics.last_error = str(error)

    def _update(self, message: DatarefUpdate, now: float) -> list[Event]:
        read: dict[str, DatarefReading] = {}
        for number, value in message.values.items():
            # Others may be those of an earlier subscription, on their way.
            if (watched := self._watched.get(number)) is not None:
                try:
                    read |= _read(watched, value)
                except ProtocolError as error:
                    self._blame(error)
        if not read:
            return []
        self._values |= read
        if sum(len(reading.value) for reading in self._values.values()) > MOST_ELEMENTS:
            for name in read:
                del self._values[name]
            raise ProtocolError(f'datarefs: more than {MOST_ELEMENTS} values in all')
        self.last_update = now
        return [ValuesChanged(dict(self._values))]

    def _report(self, message: CommandUpdate) -> list[Event]:
        reports: list[Event] = []
        for number, is_active in message.active.items():
            name = self._commands.get(number)
            if name is None:
                continue
            if is_active:
                self._active.add(name)
            else:
                self._active.discard(name)
            reports.append(CommandReported(name, is_active, self.connection))
        return reports


def _read(watched: Watched, value: object) -> dict[str, DatarefReading]:
    """Return the readings of a dataref by the names that were given for it."""
    whole = decode_value(watched.info, value)
    indices: Sequence[int] = range(len(whole)) if watched.indices is None else watched.indices
    if len(whole) != len(indices):
        raise ProtocolError(
            f'{watched.info.name}: got {len(whole)} values, expected the elements '
            f'{", ".join(map(str, indices))}')
    places = {index: place for place, index in enumerate(indices)}
    read: dict[str, DatarefReading] = {}
    for name, wanted in watched.names.items():
        if wanted is None:
            read[name] = DatarefReading(watched.info, whole)
        elif wanted in places and not isinstance(whole, bytes):
            read[name] = DatarefReading(watched.info, (whole[places[wanted]],))
    return read
