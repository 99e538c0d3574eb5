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
What is asked of X-Plane's Web API, and what is known of this run of X-Plane.

Each conversation is a generator: it yields requests, is sent their replies, and returns its
result. So it has no socket and no clock.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
import re
from typing import Any, TypeAlias, TypeVar

from xplane_bridge.common.text import printable
from xplane_bridge.protocols.xplane_udp import web_api
from xplane_bridge.protocols.xplane_udp.web_api import (
    Capabilities,
    DATA,
    DatarefInfo,
    RefusedError,
    Reply,
    WebRequest,
)

_T = TypeVar('_T')

Steps: TypeAlias = Generator[WebRequest, Reply, _T]

# More are not remembered: a name costs a request.
_MOST_KNOWN = 10_000
_ELEMENT = re.compile(r'(.+)\[(\d{1,6})\]')
_AIRCRAFT = 'sim/aircraft/view/acf_relative_path'


@dataclass(frozen=True, slots=True)
class Reading:
    """A dataref and its value: numbers, or for ``data`` bytes."""

    info: DatarefInfo
    value: tuple[float, ...] | bytes

    @property
    def text(self) -> str:
        """Return bytes up to the first NUL as text, '' for numbers."""
        if not isinstance(self.value, bytes):
            return ''
        return self.value.partition(b'\0')[0].decode('utf-8', 'replace')


class WebClient:
    """
    Conversations with one X-Plane, which knows datarefs and commands by ids of this run.

    Those raise RefusedError or another ValueError, or ProtocolError. forget() may be called from
    any thread.
    """

    def __init__(self) -> None:
        self.capabilities: Capabilities | None = None
        self._datarefs: dict[str, DatarefInfo] = {}
        self._commands: dict[str, int] = {}
        self._forgotten = False

    def forget(self) -> None:
        """Forget this X-Plane from the next conversation on: it may be another one now."""
        self._forgotten = True

    def greet(self) -> Steps[Capabilities]:
        """Return the versions."""
        if self._forgotten:
            self._forgotten = False
            self.capabilities = None
            self._datarefs.clear()
            self._commands.clear()
        if self.capabilities is None:
            reply = yield web_api.get_capabilities()
            self.capabilities = web_api.read_capabilities(reply)
        return self.capabilities

    def describe(self, names: Sequence[str]) -> Steps[list[Reading | None]]:
        """Return datarefs with their values, None for unknown ones."""
        found: list[Reading | None] = []
        for name in names:
            try:
                found.append((yield from self._afresh(partial(self._read, name))))
            except RefusedError as error:
                if not error.is_unknown:
                    raise
                yield from self._check_flight(error)
                found.append(None)
        return found

    def write(self, name: str, values: Sequence[float], text: str) -> Steps[Reading]:
        """Write numbers, or text to ``data``; return what it then reads."""
        return (yield from self._afresh(partial(self._write, name, values, text)))

    def press(self, name: str, duration: float) -> Steps[None]:
        """Press a command for ``duration`` seconds, at most 10."""
        return (yield from self._afresh(partial(self._press, name, duration)))

    def start_flight(self, flight: Mapping[str, Any]) -> Steps[str]:
        """Start a flight, by default with the aircraft that is flown; return its aircraft."""
        root = (yield from self._greet_flights()).root
        given = dict(flight)
        if 'aircraft' not in given:
            reading, = yield from self.describe([_AIRCRAFT])
            if reading is None or not reading.text:
                raise ValueError('X-Plane does not tell which aircraft is flown: give one')
            given['aircraft'] = {'path': reading.text}
        web_api.check('start_flight', (yield web_api.start_flight(root, given)))
        return printable(str(given['aircraft'].get('path', '')))

    def update_flight(self, flight: Mapping[str, Any]) -> Steps[None]:
        """Change the flight that is under way."""
        root = (yield from self._greet_flights()).root
        web_api.check('start_flight', (yield web_api.update_flight(root, flight)))

    def _greet_flights(self) -> Steps[Capabilities]:
        capabilities = yield from self.greet()
        capabilities.check_flights()
        return capabilities

    def _afresh(self, steps: Callable[[], Steps[_T]]) -> Steps[_T]:
        """Converse; if an id is not one of this run of X-Plane, once more with new ids."""
        try:
            return (yield from steps())
        except RefusedError as error:
            if not error.is_stale:
                raise
        self.forget()
        return (yield from steps())

    def _read(self, name: str) -> Steps[Reading]:
        name, index = _split(name)
        info = yield from self._dataref(name)
        reply = yield web_api.get_value((yield from self.greet()).root, info, index)
        return Reading(info, web_api.read_value(info, reply, index))

    def _write(self, name: str, values: Sequence[float], text: str) -> Steps[Reading]:
        bare, index = _split(name)
        info = yield from self._dataref(bare)
        root = (yield from self.greet()).root
        if info.writable is False:
            raise ValueError(f'{bare} is read-only')
        value: Sequence[float] | bytes = values
        if info.type == DATA:
            if values:
                raise ValueError(f'{bare} holds data: give text, not values')
            size = len(web_api.read_value(info, (yield web_api.get_value(root, info))))
            value = text.encode('utf-8')
            if len(value) >= size:
                raise ValueError(
                    f'{bare}: {len(value)} bytes and a final NUL do not fit into its {size}')
            value = value.ljust(size, b'\0')
        elif text or not values:
            raise ValueError(f'{bare} is a {info.type}: give values, not text')
        elif len(values) > 1 and (info.type not in web_api.ARRAYS or index is not None):
            raise ValueError(f'{name} takes one value, got {len(values)}')
        web_api.check(name, (yield web_api.set_value(root, info, value, index)))
        reply = yield web_api.get_value(root, info, index)
        return Reading(info, web_api.read_value(info, reply, index))

    def _press(self, name: str, duration: float) -> Steps[None]:
        root = (yield from self.greet()).root
        if name not in self._commands:
            try:
                command = web_api.read_command(name, (yield web_api.find(root, 'commands', name)))
            except RefusedError as error:
                if error.is_unknown:
                    yield from self._check_flight(error)
                raise
            if len(self._commands) < _MOST_KNOWN:
                self._commands[name] = command
        else:
            command = self._commands[name]
        web_api.check(name, (yield web_api.activate(root, command, duration)))

    def _dataref(self, name: str) -> Steps[DatarefInfo]:
        root = (yield from self.greet()).root
        if name not in self._datarefs:
            reply = yield web_api.find(root, 'datarefs', name)
            info = web_api.read_dataref(name, reply)
            if len(self._datarefs) >= _MOST_KNOWN:
                return info
            self._datarefs[name] = info
        return self._datarefs[name]

    def _check_flight(self, error: RefusedError) -> Steps[None]:
        """Raise ValueError if nothing at all is known: X-Plane shows its main menu."""
        root = (yield from self.greet()).root
        if not web_api.read_count((yield web_api.count(root, 'datarefs'))):
            raise ValueError('X-Plane knows no datarefs: no flight is loaded') from error


def _split(name: str) -> tuple[str, int | None]:
    """Split ``name[3]`` into name and index."""
    match = _ELEMENT.fullmatch(name)
    return (match[1], int(match[2])) if match else (name, None)
