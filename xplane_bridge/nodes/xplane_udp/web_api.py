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


"""X-Plane's Web API in xplane_udp_node: what its UDP has not. It carries no telemetry."""

from __future__ import annotations

from array import array
from collections.abc import Generator, Sequence
from contextlib import suppress
import math
from queue import Empty, SimpleQueue
import threading
import time
from typing import Any

from rclpy.task import Future
from std_msgs.msg import String

from xplane_bridge.common.text import printable
from xplane_bridge.links.frames import check_installed
from xplane_bridge.links.http import UnansweredError
from xplane_bridge.links.http_queue import Done, HttpQueue, Steps
from xplane_bridge.links.udp import LinkError, resolve
from xplane_bridge.links.websocket import WebSocket
from xplane_bridge.nodes.common.diagnostics import OK, Status, WARN
from xplane_bridge.nodes.common.lists import check_count, named
from xplane_bridge.nodes.vehicle.bridge import Bridge
from xplane_bridge.nodes.xplane_udp.parameters import XplaneUdpParameters
from xplane_bridge.nodes.xplane_udp.poses import Poses
from xplane_bridge.nodes.xplane_udp.web_flights import WebFlights
from xplane_bridge.nodes.xplane_udp.web_values import WebValues
from xplane_bridge.protocols.errors import ProtocolError
from xplane_bridge.protocols.xplane_udp import web_api
from xplane_bridge.sessions.xplane_udp import XplaneUdpSession
from xplane_bridge.sessions.xplane_web.holds import Holds, Leases
from xplane_bridge.sessions.xplane_web.socket import CommandReleased, Reading, ValuesChanged
from xplane_bridge.sessions.xplane_web.web_client import WebClient
from xplane_bridge.srv import DescribeDatarefs, RunCommand, StartFlight, WriteDataref

# Of one call: each costs X-Plane up to three requests.
_MOST_NAMES = 50
# Of run_command with BEGIN and no duration, and of one message on command/hold.
_LEASE = 10.0
_LEASE_OF_MESSAGE = 1.0
# X-Plane that releases a command so much before the end of its lease was told to by somebody.
_EARLY = 1.0
# Queue depth: several commands may be held by messages in turn.
_DEPTH = 20
_WRITABLE = {True: 1, False: 0, None: -1}
# A written number that went through a float32.
_READ_BACK_TOLERANCE = 1e-6

_UNKNOWN = '; whether X-Plane has done it is unknown'
_NOBODY = ('; X-Plane 12.1.4 and later have it, for programs on their own computer only: see '
           'docs/how-to/web_api.md, and the parameters web_host and web_port')


class WebApi:
    """
    The services of X-Plane's Web API, and the commands held through it.

    All conversations, and all that is known of holds, are of the queue's thread. Commands are held
    over the WebSocket, or by presses where wsproto is not installed.
    """

    def __init__(
        self, node: Bridge[XplaneUdpParameters, XplaneUdpSession], poses: Poses
    ) -> None:
        given = node.parameters
        self._node = node
        self._client = WebClient()
        self._without_socket = ''
        try:
            check_installed()
        except LinkError as error:
            self._without_socket = str(error)
        self._presses = Holds(given.web_press)
        self._leases = Leases()
        # Messages on command/hold that wait for their turn, by command: when the latest came.
        self._wanted: dict[str, float] = {}
        self._wishing = threading.Lock()
        # What the WebSocket's thread has to tell the queue's.
        self._news: SimpleQueue[str | CommandReleased] = SimpleQueue()
        self._web_host = resolve(given.web_host) if given.web_host else ''
        self._starting = threading.Lock()
        self._queue: HttpQueue | None = None
        self._web_socket: WebSocket | None = None
        self._address = ('', 0)
        # What the last conversation failed of; '' if it did not.
        self._failure = ''
        self._calls = 0
        node.make_service(DescribeDatarefs, 'describe_datarefs', self._describe)
        node.make_service(WriteDataref, 'write_dataref', self._write)
        flights = WebFlights(self._client, poses, self._ask)
        node.make_service(StartFlight, 'start_flight', flights.start)
        node.make_command(String, 'command/hold', self._hold, _DEPTH)
        self._values = WebValues(node, self._client, self._begin_by_socket)

    # Called by the node.

    def greet(self) -> None:
        """Ask for the versions, for diagnostics. From any thread."""
        if self._node.parameters.web_port and not self._node.plays_capture:
            try:
                self._start(self._client.greet(), lambda *_: None)
            except ValueError as error:
                self._failure = str(error)

    def forget(self) -> None:
        """Forget this X-Plane: it is away. From any thread."""
        self._client.forget()

    def end(self) -> None:
        """Cancel what is under way, and hold no command any more."""
        if self._queue is not None:
            # X-Plane releases what is held over a connection that ends.
            self._queue.end()
        self._presses.end_all()
        self._leases.end_all()

    def watch(self, names: Sequence[str]) -> None:
        """Publish these datarefs from now on. From any thread."""
        self._values.select(names)
        if self._without_socket and self._values.names:
            self._node.warn('web_datarefs', f'web_datarefs: {self._without_socket}')
        if self._queue is not None:
            self._queue.wake()

    def diagnose(self) -> Status:
        """Return whether it answers, and what is held by it."""
        given, known = self._node.parameters, self._client.capabilities
        heard = self._client.socket.statistics
        level, text = OK, 'not asked yet'
        if not given.web_port:
            text = 'not used: web_port is 0'
        elif self._failure:
            # X-Plane before 12.1.4 has none, and without it all but the services works.
            level = WARN if self._calls or self._values.names else OK
            text = self._failure
        elif known is not None:
            text = f'X-Plane {known.xplane} answers'
        return Status('web api', level, text, (
            ('address', f'{self._address[0]}:{self._address[1]}' if self._queue else 'none yet'),
            ('X-Plane version', known.xplane if known else 'not known'),
            ('versions', ', '.join(sorted(known.apis)) if known else 'not known'),
            ('calls of services', str(self._calls)),
            ('WebSocket', self._socket_state()),
            ('WebSocket: messages, not understood', f'{heard.received}, {heard.malformed}'),
            ('WebSocket: last not understood', printable(heard.last_error, 200) or 'none'),
            ('held commands', ', '.join(
                self._presses.names if self._without_socket else self._leases.names) or 'none'),
            ('active, as X-Plane says', ', '.join(self._client.socket.active) or 'none')))

    def _socket_state(self) -> str:
        if self._without_socket:
            return self._without_socket
        return 'open' if self._web_socket is not None and self._web_socket.is_open else 'not open'

    # Commands.

    async def hold(self, request: RunCommand.Request, response: RunCommand.Response) -> None:
        """Begin or end a command for run_command."""
        lease = request.duration or _LEASE
        if request.action == RunCommand.Request.BEGIN:
            if not math.isfinite(lease):
                raise ValueError(f'duration {lease}: expected seconds')
            await self._ask(self._begin(request.name, lease))
            response.message = f'held for {lease:g} s, unless it is begun again or ended'
        elif request.action == RunCommand.Request.END:
            response.message = await self._ask(self._end(request.name))
        else:
            raise ValueError(f'action {request.action} is not one of ONCE, BEGIN, END')
        response.success = True

    def _hold(self, message: String) -> None:
        name: str = message.data

        def done(_: Any, error: Exception | None) -> None:
            self._wanted.pop(name, None)
            if error is not None:
                self._node.refuse('command/hold', error)

        with self._wishing:
            is_waiting = name in self._wanted
            self._wanted[name] = time.monotonic()
        if not is_waiting:
            try:
                self._begin_call(self._begin_wanted(name), done)
            except ValueError:
                self._wanted.pop(name, None)
                raise

    def _begin_wanted(self, name: str) -> Generator[Any, Any, None]:
        now = time.monotonic()
        with self._wishing:
            lease = self._wanted.pop(name, now) + _LEASE_OF_MESSAGE - now
        if lease > 0.0:
            yield from self._begin(name, lease)

    def _begin(self, name: str, lease: float) -> Generator[Any, Any, None]:
        if self._without_socket:
            if not self._presses.begin(name, lease, time.monotonic()):
                return
            holds: Holds | Leases = self._presses
            steps = self._press(name, min(lease, self._node.parameters.web_press))
        else:
            self._leases.begin(name, lease, time.monotonic())
            holds = self._leases
            steps = self._client.hold(name, lambda: self._leases.left(name, time.monotonic()))
        try:
            yield from steps
        except Exception:
            holds.drop(name)
            raise

    def _end(self, name: str) -> Generator[Any, Any, str]:
        if self._without_socket:
            left = self._presses.end(name, time.monotonic())
            return f'X-Plane releases it within {left:.1f} s'
        self._leases.end(name, time.monotonic())
        yield from self._client.release(name)
        return 'X-Plane has released it'

    def _press(self, name: str, length: float) -> Generator[Any, Any, None]:
        yield from self._client.press(name, length)
        self._presses.pressed(name, length, time.monotonic())

    def _due(self, now: float) -> tuple[tuple[Steps, Done] | None, float | None]:
        """Return the next press of a held command, or what the WebSocket needs; for the queue."""
        if not self._without_socket:
            self._hear_news(now)
            steps, again = self._values.due(now)
            return None if steps is None else (steps, self._noted(lambda *_: None)), again
        if (press := self._presses.take(now)) is None:
            return None, self._presses.deadline()

        def done(_: Any, error: Exception | None) -> None:
            if error is not None:
                self._presses.drop(press[0])
                self._node.warn('held', f'{press[0]} is no longer held: {error}')

        return (self._press(*press), self._noted(done)), None

    # From X-Plane: in the WebSocket's thread.

    def _on_event(self, event: object) -> None:
        if isinstance(event, ValuesChanged):
            self._values.publish(event)
        elif isinstance(event, CommandReleased):
            self._tell(event)

    def _on_lost(self, why: str) -> None:
        # Another run of X-Plane has other ids.
        self._client.forget()
        self._tell(why)

    def _tell(self, news: str | CommandReleased) -> None:
        self._news.put(news)
        if (queue := self._queue) is not None:
            queue.wake()

    def _hear_news(self, now: float) -> None:
        with suppress(Empty):
            while True:
                news = self._news.get_nowait()
                if isinstance(news, CommandReleased):
                    # At the end of its lease it is to be released.
                    if self._leases.left(news.name, now) > _EARLY:
                        self._leases.drop(news.name)
                        self._node.warn('held', f'{news.name} is no longer held: X-Plane or '
                                        'somebody else has released it')
                    continue
                self._failure = news
                for name in self._leases.names:
                    self._node.warn('held', f'{name} is no longer held: {news}')
                self._leases.end_all()

    # Services.

    async def _describe(
        self, request: DescribeDatarefs.Request, response: DescribeDatarefs.Response
    ) -> None:
        if not request.names:
            raise ValueError('no dataref given')
        check_count('names', len(request.names), _MOST_NAMES)
        found: list[Reading | None] = await self._ask(self._client.describe(request.names))
        numbers = [reading.value if reading and not isinstance(reading.value, bytes) else ()
                   for reading in found]
        response.types = [reading.info.type if reading else '' for reading in found]
        response.writable = array(
            'b', [_WRITABLE[reading.info.writable] if reading else -1 for reading in found])
        response.sizes = array('I', map(len, numbers))
        response.values = array('d', [value for values in numbers for value in values])
        response.texts = [printable(reading.text) if reading else '' for reading in found]
        unknown = [name for name, reading in zip(request.names, found, strict=True)
                   if reading is None]
        response.success = True
        response.message = f'unknown: {named(unknown)}' if unknown else ''

    async def _write(
        self, request: WriteDataref.Request, response: WriteDataref.Response
    ) -> None:
        values = tuple(request.values)
        # Data may be emptied: neither values nor text.
        reading: Reading = await self._ask(
            self._client.write(request.name, values, request.text))
        got = reading.text if isinstance(reading.value, bytes) else reading.value
        response.success = got == request.text if isinstance(got, str) else (
            len(got) == len(values) and all(
                math.isclose(wanted, value, rel_tol=_READ_BACK_TOLERANCE, abs_tol=1e-9)
                for wanted, value in zip(values, got, strict=True)))
        if not response.success:
            response.message = f'{request.name} reads back as {printable(repr(got))}'

    # Conversations.

    async def _ask(self, steps: Any, timeout: float | None = None) -> Any:
        """Return a conversation's result without blocking the executor. Raises ValueError."""
        future = Future(executor=self._node.executor)
        # Without a callback the future would not wake the executor that awaits it.
        future.add_done_callback(lambda _: None)
        self._begin_call(steps, lambda *ended: future.set_result(ended), timeout)
        result, error = await future
        if error is not None:
            raise error
        return result

    def _begin_call(self, steps: Any, done: Done, timeout: float | None = None) -> None:
        """Begin a conversation that a user has asked for. Raises ValueError."""
        self._calls += 1
        self._start(steps, done, timeout)

    def _begin_by_socket(self, steps: Any, done: Done) -> None:
        """Begin one that goes over the WebSocket. Raises ValueError."""
        if self._without_socket:
            raise ValueError(self._without_socket)
        self._begin_call(steps, done)

    def _start(self, steps: Any, done: Done, timeout: float | None = None) -> None:
        """Begin a conversation. Raises ValueError if that is not possible."""
        given, version = self._node.parameters, self._node.session.version
        if self._node.plays_capture:
            raise ValueError('a capture is being replayed: there is no X-Plane to ask')
        if not given.web_port:
            raise ValueError("this needs X-Plane's Web API, but web_port is 0")
        if version is not None and version < web_api.FIRST_WITH_WEB_API:
            raise ValueError(f'X-Plane {version} has no Web API: 12.1.4 and later have')
        peer = self._node.session.peer
        address = self._web_host or (peer[0] if peer else ''), given.web_port
        if not address[0]:
            raise ValueError('no X-Plane has been discovered yet')
        try:
            with self._starting:
                if self._queue is None or self._address != address:
                    self._move_to(address)
                assert self._queue is not None
                self._queue.start(steps, timeout or given.web_timeout, self._noted(done))
        except LinkError as error:
            raise ValueError(str(error)) from error

    def _move_to(self, address: tuple[str, int]) -> None:
        """Talk to another X-Plane from now on."""
        if self._queue is not None:
            self.end()
        self._client.forget()
        self._address = address
        self._web_socket = WebSocket(
            address, 'the Web API', self._client.socket, on_event=self._on_event,
            on_lost=self._on_lost, largest=web_api.LARGEST_REPLY)
        self._queue = HttpQueue(
            address, 'Web API', web_api.CONTENT_TYPE, due=self._due,
            due_timeout=self._node.parameters.web_timeout, largest=web_api.LARGEST_REPLY,
            web_socket=self._web_socket)

    def _noted(self, done: Done) -> Done:
        """Return ``done``, told every error as a ValueError, and noted for diagnostics."""
        def noted(result: Any, error: Exception | None) -> None:
            if isinstance(error, LinkError):
                self._client.forget()
                why = _UNKNOWN if isinstance(error, UnansweredError) else _NOBODY
                error = ValueError(f'{printable(str(error), 300)}{why}')
                self._failure = str(error)
            elif isinstance(error, ProtocolError):
                error = ValueError(f'not understood in an answer of the Web API: {error}')
                self._failure = str(error)
            elif isinstance(error, web_api.RefusedError) and error.is_disabled:
                self._failure = str(error)
            elif error is None or self._client.capabilities is not None:
                # It has answered, though perhaps with a refusal.
                self._failure = ''
            else:
                self._failure = str(error)
            if error is not None and not isinstance(error, ValueError):
                error = ValueError(f'{type(error).__name__}: {error}')
            done(result, error)
        return noted
