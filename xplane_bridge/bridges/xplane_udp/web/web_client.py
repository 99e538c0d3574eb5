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

from xplane_bridge.bridges.xplane_udp.protocol import web_api, web_socket
from xplane_bridge.bridges.xplane_udp.protocol.web_api import (
    Capabilities,
    DATA,
    DatarefInfo,
    WebApiRefusedError,
    WebRequest,
    WebResponse,
)
from xplane_bridge.bridges.xplane_udp.web.socket import DatarefReading, Watched, WebApiSession
from xplane_bridge.common.text import printable

_T = TypeVar('_T')

Steps: TypeAlias = Generator[WebRequest, WebResponse, _T]

# More are not remembered: a name costs a request.
_MOST_KNOWN = 10_000
_ELEMENT = re.compile(r'(.+)\[(\d{1,6})\]')
_AIRCRAFT = 'sim/aircraft/view/acf_relative_path'


class WebClient:
    """
    Conversations with one X-Plane, which knows datarefs and commands by ids of this run.

    Those raise WebApiRefusedError or another ValueError, or ProtocolError. Two threads may
    converse, one of them about holds. forget() may be called from any thread. ``socket`` is what
    is said over the WebSocket, by those that say so.
    """

    def __init__(self) -> None:
        self.socket = WebApiSession()
        self.capabilities: Capabilities | None = None
        # The path that was right for the present connection, if there is one.
        self._root = ''
        # Ids are of the run that this connection belongs to.
        self._connection = 0
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
        connection = self.socket.connection
        if self._forgotten or self._connection != connection:
            self._forgotten = False
            self._connection = connection
            self.capabilities = None
            self._datarefs.clear()
            self._commands.clear()
            self._sizes.clear()
        capabilities = self.capabilities
        if capabilities is None:
            reply = yield web_api.get_capabilities()
            capabilities = self.capabilities = web_api.read_capabilities(reply)
            self._root = capabilities.root
        return capabilities

    def found(self, names: Sequence[str]) -> int:
        """Return how many of these have been looked up."""
        return sum(_split(name)[0] in self._datarefs for name in names)

    def describe(self, names: Sequence[str]) -> Steps[list[DatarefReading | None]]:
        """Return datarefs with their values, None for unknown ones."""
        found: list[DatarefReading | None] = []
        unknown = yield from self._find(names)
        for name in names:
            if _split(name)[0] in unknown:
                found.append(None)
                continue
            try:
                found.append((yield from self._afresh(partial(self._read, name))))
            except WebApiRefusedError as error:
                if not error.is_unknown:
                    raise
                yield from self._check_flight(error)
                found.append(None)
        return found

    def write(self, name: str, values: Sequence[float], text: str) -> Steps[DatarefReading]:
        """Write numbers, or text to ``data``; return what it then reads."""
        return (yield from self._afresh(partial(self._write, name, values, text)))

    def press(self, name: str, duration: float) -> Steps[None]:
        """Press a command for ``duration`` seconds, at most 10."""
        return (yield from self._afresh(partial(self._press, name, duration)))

    # Over the WebSocket.

    def hold(self, name: str, seconds: Callable[[int], float]) -> Steps[None]:
        """
        Hold a command, for ``seconds`` from when X-Plane is asked, which releases it then.

        ``seconds`` is called just then, with the number of the connection.
        """
        return (yield from self._afresh(partial(self._hold, name, seconds)))

    def release(self, names: Sequence[str]) -> Steps[None]:
        """Release commands of which X-Plane tells over the present connection."""
        over = self._over_socket()
        numbers = [number for name in names if (number := self.socket.number_of(name)) is not None]
        if len(numbers) < len(names):
            raise ConnectionError('the connection was lost')
        # By nothing but the connection: REST may be slow, or silent.
        web_api.check(names[0], (yield over(web_socket.release(self._root, numbers))))

    def look(self, name: str) -> Steps[None]:
        """Have X-Plane say anew whether a command is active."""
        return (yield from self._afresh(partial(self._look, name)))

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
        except WebApiRefusedError as error:
            if not error.is_stale:
                raise
            self.forget()
        except OSError as error:
            # What was looked up is of the connection; one that goes on is of the same run.
            if not repeats:
                raise
            lost = error
        try:
            return (yield from steps())
        except OSError as error:
            # Why it failed first says more: time may be over.
            raise lost or error from None

    def _over_socket(self) -> Callable[[WebRequest], WebRequest]:
        """Return what makes a request one of the present connection."""
        connection = self.socket.connection
        return lambda request: replace(request, connection=connection)

    def _hold(self, name: str, seconds: Callable[[int], float]) -> Steps[None]:
        connection, over = self.socket.connection, self._over_socket()
        command = yield from self._watched_command(name, over)
        if (left := seconds(connection)) <= 0.0:
            raise ValueError(f'{name}: its time was over before X-Plane could be asked')
        web_api.check(name, (yield over(web_socket.hold(self._root, command, left))))

    def _look(self, name: str) -> Steps[None]:
        number, over = self.socket.number_of(name), self._over_socket()
        if number is not None:
            # An id that X-Plane does not know any more is looked up again.
            yield over(web_socket.unwatch_command(self._root, number))
            self.socket.forget_command(number)
        yield from self._watched_command(name, over)

    def _watched_command(
        self, name: str, over: Callable[[WebRequest], WebRequest]
    ) -> Steps[int]:
        """Return the id of a command of which X-Plane tells over this connection."""
        number = self.socket.number_of(name)
        if number is not None:
            return number
        number = yield from self._command(name)
        self.socket.watch_command(number, name)
        try:
            web_api.check(name, (yield over(web_socket.watch_command(self._root, number))))
        except Exception:
            self.socket.forget_command(number)
            raise
        return number

    def _watch(self, names: Sequence[str]) -> Steps[dict[str, str]]:
        over = self._over_socket()
        root = (yield from self.greet()).root
        unknown = yield from self._find(names)
        failed: dict[str, str] = {}
        wanted: dict[str, tuple[DatarefInfo, dict[str, int | None]]] = {}
        for name in names:
            bare, index = _split(name)
            if bare in unknown:
                failed[name] = 'unknown'
            else:
                info = yield from self._dataref(bare)
                wanted.setdefault(bare, (info, {}))[1][name] = index
        plan = {info.id: Watched(info, _indices(of.values()), of) for info, of in wanted.values()}
        web_api.check('datarefs', (yield over(web_socket.unsubscribe_all(root))))
        self.socket.watch(plan)
        yield from self._subscribe(root, over, plan, failed)
        return failed

    def _subscribe(
        self, root: str, over: Callable[[WebRequest], WebRequest], plan: Mapping[int, Watched],
        failed: dict[str, str],
    ) -> Steps[None]:
        """Ask for these, and for those that fail only because of others once more."""
        if not plan:
            return
        result = yield over(web_socket.subscribe(
            root, {number: watched.indices for number, watched in plan.items()}))
        try:
            web_api.check(next(iter(plan.values())).info.name, result)
        except WebApiRefusedError as error:
            if error.is_stale:
                raise
            if len(plan) == 1:
                watched, = plan.values()
                failed |= dict.fromkeys(watched.names, str(error))
            for part in _halves(list(plan)):
                yield from self._subscribe(
                    root, over, {number: plan[number] for number in part}, failed)

    def _set_values(self, items: Sequence[tuple[str, Sequence[float], str]]) -> Steps[None]:
        over = self._over_socket()
        root = (yield from self.greet()).root
        given: list[tuple[DatarefInfo, Sequence[float] | bytes, int | None]] = []
        for name, values, text in items:
            bare, index = _split(name)
            info = yield from self._dataref(bare)
            given.append((info, (yield from self._value(root, info, name, values, text)), index))
        web_api.check('datarefs', (yield over(web_socket.set_values(root, given))))

    def _read(self, name: str) -> Steps[DatarefReading]:
        name, index = _split(name)
        info = yield from self._dataref(name)
        reply = yield web_api.get_value((yield from self.greet()).root, info, index)
        return DatarefReading(info, web_api.read_value(info, reply, index))

    def _write(self, name: str, values: Sequence[float], text: str) -> Steps[DatarefReading]:
        bare, index = _split(name)
        info = yield from self._dataref(bare)
        root = (yield from self.greet()).root
        value = yield from self._value(root, info, name, values, text)
        web_api.check(name, (yield web_api.set_value(root, info, value, index)))
        reply = yield web_api.get_value(root, info, index)
        return DatarefReading(info, web_api.read_value(info, reply, index))

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
            size = self._sizes.get(info.id)
            if size is None:
                reply = yield web_api.get_value(root, info)
                size = self._sizes[info.id] = len(web_api.read_value(info, reply))
            value = text.encode('utf-8')
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
        number = self._commands.get(name)
        if number is None:
            try:
                number = web_api.read_command(name, (yield web_api.find(root, 'commands', name)))
            except WebApiRefusedError as error:
                if error.is_unknown:
                    yield from self._check_flight(error)
                raise
            if len(self._commands) < _MOST_KNOWN:
                self._commands[name] = number
        return number

    def _dataref(self, name: str) -> Steps[DatarefInfo]:
        root = (yield from self.greet()).root
        info = self._datarefs.get(name)
        if info is None:
            info = self._note(name, (yield web_api.find(root, 'datarefs', name)))
        return info

    def _note(self, name: str, reply: WebResponse) -> DatarefInfo:
        info = web_api.read_dataref(name, reply)
        if len(self._datarefs) < _MOST_KNOWN:
            self._datarefs[name] = info
        return info

    def _find(self, names: Sequence[str]) -> Steps[set[str]]:
        """Look datarefs up, many by one request; return which are unknown, without index."""
        yield from self.greet()
        unknown: dict[str, WebApiRefusedError] = {}
        for batch in web_api.batches(dict.fromkeys(
                bare for bare, _ in map(_split, names) if bare not in self._datarefs)):
            yield from self._find_batch(batch, unknown)
        if unknown:
            yield from self._check_flight(next(iter(unknown.values())))
        return set(unknown)

    def _find_batch(
        self, names: Sequence[str], unknown: dict[str, WebApiRefusedError]
    ) -> Steps[None]:
        root = (yield from self.greet()).root
        reply = yield web_api.find(root, 'datarefs', *names)
        parts: Sequence[Sequence[str]] = ()
        try:
            listed = web_api.listed(names, reply)
        except WebApiRefusedError as error:
            if not error.is_unknown:
                raise
            if len(names) == 1:
                unknown[names[0]] = error
            parts = _halves(names)
        else:
            for name in listed if len(names) > 1 else names:
                self._note(name, reply)
            # A server that heeds one filter only.
            parts = [[name] for name in names if name not in listed and len(names) > 1]
        for part in parts:
            yield from self._find_batch(part, unknown)

    def _check_flight(self, error: WebApiRefusedError) -> Steps[None]:
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


def _halves(items: Sequence[_T]) -> list[Sequence[_T]]:
    """Return both halves of several, nothing of one."""
    middle = len(items) // 2
    return [items[:middle], items[middle:]] if middle else []
