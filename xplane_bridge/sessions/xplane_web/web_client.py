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

from collections.abc import Callable, Collection, Generator, Mapping, Sequence
from dataclasses import replace
from functools import partial
import re
from typing import Any, TypeAlias, TypeVar

from xplane_bridge.common.text import printable
from xplane_bridge.protocols.xplane_udp import web_api, web_socket
from xplane_bridge.protocols.xplane_udp.web_api import (
    Capabilities,
    DATA,
    DatarefInfo,
    RefusedError,
    Reply,
    WebRequest,
)
from xplane_bridge.sessions.xplane_web.socket import Reading, SocketSession, Watched

_T = TypeVar('_T')

Steps: TypeAlias = Generator[WebRequest, Reply, _T]

# More are not remembered: a name costs a request.
_MOST_KNOWN = 10_000
_ELEMENT = re.compile(r'(.+)\[(\d{1,6})\]')
_AIRCRAFT = 'sim/aircraft/view/acf_relative_path'


class WebClient:
    """
    Conversations with one X-Plane, which knows datarefs and commands by ids of this run.

    Those raise RefusedError or another ValueError, or ProtocolError. forget() may be called from
    any thread. ``socket`` is what is said over the WebSocket, by those that say so.
    """

    def __init__(self) -> None:
        self.socket = SocketSession()
        self.capabilities: Capabilities | None = None
        self._datarefs: dict[str, DatarefInfo] = {}
        self._commands: dict[str, int] = {}
        # Of data: how many bytes it has.
        self._sizes: dict[int, int] = {}
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
            self._sizes.clear()
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

    # Over the WebSocket.

    def hold(self, name: str, seconds: Callable[[], float]) -> Steps[None]:
        """Hold a command, for ``seconds`` from when X-Plane is asked, which releases it then."""
        return (yield from self._afresh(partial(self._hold, name, seconds)))

    def release(self, name: str) -> Steps[None]:
        """Release a command that is held over the present connection."""
        root, over = yield from self._greet_socket()
        if name in self._commands and self.socket.knows_command(self._commands[name]):
            web_api.check(name, (yield over(web_socket.release(root, self._commands[name]))))

    def watch(self, names: Sequence[str]) -> Steps[dict[str, str]]:
        """Have X-Plane send these datarefs, and no others; return why some cannot be had."""
        return (yield from self._afresh(partial(self._watch, names), repeats=True))

    def set_values(
        self, items: Sequence[tuple[str, Sequence[float], str]]
    ) -> Steps[None]:
        """Write datarefs, each by its name, its numbers, or its text for ``data``."""
        return (yield from self._afresh(partial(self._set_values, items), repeats=True))

    # Flights.

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

    def _afresh(self, steps: Callable[[], Steps[_T]], *, repeats: bool = False) -> Steps[_T]:
        """
        Converse; if an id is not one of this run of X-Plane, once more with new ids.

        The same if the connection was lost and it does no harm twice (``repeats``).
        """
        lost: OSError | None = None
        try:
            return (yield from steps())
        except RefusedError as error:
            if not error.is_stale:
                raise
        except OSError as error:
            if not repeats:
                raise
            lost = error
        self.forget()
        try:
            return (yield from steps())
        except OSError as error:
            # Why it failed first says more: time may be over.
            raise lost or error from None

    def _greet_socket(self) -> Steps[tuple[str, Callable[[WebRequest], WebRequest]]]:
        """Return the path, and what makes a request one of the present connection."""
        root = (yield from self.greet()).root
        connection = self.socket.connection
        return root, lambda request: replace(request, connection=connection)

    def _hold(self, name: str, seconds: Callable[[], float]) -> Steps[None]:
        root, over = yield from self._greet_socket()
        command = yield from self._command(name)
        if not self.socket.knows_command(command):
            self.socket.watch_command(command, name)
            web_api.check(name, (yield over(web_socket.watch_commands(root, [command]))))
        if (left := seconds()) <= 0.0:
            raise ValueError(f'{name}: its time was over before X-Plane could be asked')
        web_api.check(name, (yield over(web_socket.hold(root, command, left))))

    def _watch(self, names: Sequence[str]) -> Steps[dict[str, str]]:
        root, over = yield from self._greet_socket()
        failed: dict[str, str] = {}
        wanted: dict[str, tuple[DatarefInfo, dict[str, int | None]]] = {}
        for name in names:
            bare, index = _split(name)
            try:
                info = yield from self._dataref(bare)
            except RefusedError as error:
                if not error.is_unknown:
                    raise
                yield from self._check_flight(error)
                failed[name] = 'unknown'
            else:
                wanted.setdefault(bare, (info, {}))[1][name] = index
        plan = {info.id: Watched(info, _indices(of.values()), of) for info, of in wanted.values()}
        web_api.check('datarefs', (yield over(web_socket.unsubscribe_all(root))))
        self.socket.watch(plan)
        for number, watched in plan.items():
            # One by one: X-Plane refuses all of a request for one of them.
            result = yield over(web_socket.subscribe(root, number, watched.indices))
            try:
                web_api.check(watched.info.name, result)
            except RefusedError as error:
                if error.is_stale:
                    raise
                failed |= dict.fromkeys(watched.names, str(error))
        return failed

    def _set_values(self, items: Sequence[tuple[str, Sequence[float], str]]) -> Steps[None]:
        root, over = yield from self._greet_socket()
        given: list[tuple[DatarefInfo, Sequence[float] | bytes, int | None]] = []
        for name, values, text in items:
            bare, index = _split(name)
            info = yield from self._dataref(bare)
            given.append((info, (yield from self._value(root, info, name, values, text)), index))
        web_api.check('datarefs', (yield over(web_socket.set_values(root, given))))

    def _read(self, name: str) -> Steps[Reading]:
        name, index = _split(name)
        info = yield from self._dataref(name)
        reply = yield web_api.get_value((yield from self.greet()).root, info, index)
        return Reading(info, web_api.read_value(info, reply, index))

    def _write(self, name: str, values: Sequence[float], text: str) -> Steps[Reading]:
        bare, index = _split(name)
        info = yield from self._dataref(bare)
        root = (yield from self.greet()).root
        value = yield from self._value(root, info, name, values, text)
        web_api.check(name, (yield web_api.set_value(root, info, value, index)))
        reply = yield web_api.get_value(root, info, index)
        return Reading(info, web_api.read_value(info, reply, index))

    def _value(
        self, root: str, info: DatarefInfo, name: str, values: Sequence[float], text: str
    ) -> Steps[Sequence[float] | bytes]:
        """Return what is to be written. Raises ValueError if it does not fit."""
        bare, index = _split(name)
        if info.writable is False:
            raise ValueError(f'{bare} is read-only')
        if info.type == DATA:
            if values:
                raise ValueError(f'{bare} holds data: give text, not values')
            if info.id not in self._sizes:
                reply = yield web_api.get_value(root, info)
                self._sizes[info.id] = len(web_api.read_value(info, reply))
            size, value = self._sizes[info.id], text.encode('utf-8')
            if len(value) >= size:
                raise ValueError(
                    f'{bare}: {len(value)} bytes and a final NUL do not fit into its {size}')
            return value.ljust(size, b'\0')
        if text or not values:
            raise ValueError(f'{bare} is a {info.type}: give values, not text')
        if len(values) > 1 and (info.type not in web_api.ARRAYS or index is not None):
            raise ValueError(f'{name} takes one value, got {len(values)}')
        return values

    def _press(self, name: str, duration: float) -> Steps[None]:
        root = (yield from self.greet()).root
        command = yield from self._command(name)
        web_api.check(name, (yield web_api.activate(root, command, duration)))

    def _command(self, name: str) -> Steps[int]:
        root = (yield from self.greet()).root
        if name not in self._commands:
            try:
                command = web_api.read_command(name, (yield web_api.find(root, 'commands', name)))
            except RefusedError as error:
                if error.is_unknown:
                    yield from self._check_flight(error)
                raise
            if len(self._commands) >= _MOST_KNOWN:
                return command
            self._commands[name] = command
        return self._commands[name]

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


def _indices(wanted: Collection[int | None]) -> tuple[int, ...] | None:
    """Return the elements to ask for, None for all."""
    indices = {index for index in wanted if index is not None}
    return None if None in wanted else tuple(sorted(indices))
