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
from collections.abc import Callable, Generator, Sequence
import math
import threading
import time
from typing import Any

from rclpy.task import Future

from xplane_bridge.bridges.links.http import UnansweredError
from xplane_bridge.bridges.links.http_queue import Done, Due, HttpQueue, Steps
from xplane_bridge.bridges.links.udp import LinkError, resolve
from xplane_bridge.bridges.links.websocket import WebSocket
from xplane_bridge.bridges.links.websocket_frames import check_installed
from xplane_bridge.bridges.nodes.common.diagnostics import OK, Status, WARN
from xplane_bridge.bridges.nodes.common.latched import LATCHED
from xplane_bridge.bridges.nodes.common.lists import check_count, dataref_values, named, watched
from xplane_bridge.bridges.nodes.vehicle.bridge import Bridge
from xplane_bridge.bridges.nodes.vehicle.controls import POSE_MASK
from xplane_bridge.bridges.protocols.errors import ProtocolError
from xplane_bridge.bridges.sessions.left import Left
from xplane_bridge.bridges.xplane_udp.node.parameters import XplaneUdpParameters
from xplane_bridge.bridges.xplane_udp.node.poses import check_pose, Poses
from xplane_bridge.bridges.xplane_udp.node.web_holds import WebHolds
from xplane_bridge.bridges.xplane_udp.protocol import flight, web_api
from xplane_bridge.bridges.xplane_udp.session import XplaneUdpSession
from xplane_bridge.bridges.xplane_udp.web.socket import (
    CommandReported,
    DatarefReading,
    ValuesChanged,
)
from xplane_bridge.bridges.xplane_udp.web.web_client import WebClient
from xplane_bridge.common.text import printable
from xplane_bridge.msg import DatarefValues
from xplane_bridge.srv import DescribeDatarefs, StartFlight, WriteDataref

# Datarefs by X-Plane's WebSocket in xplane_udp_node: doubles, arrays and text, both ways.

# Seconds from one attempt to be sent the datarefs to the next.
_RETRY = 2.0
# Datarefs that wait to be written: newer values replace those of the same name.
_MOST_WAITING = 1000
_COMMAND = 'command/dataref_values'


class WebValues:
    """
    The topics dataref_values and command/dataref_values.

    ``begin`` begins a conversation; due() and what it returns run in the queue's thread.
    ``names`` are the datarefs to publish.
    """

    def __init__(
        self, node: Bridge[XplaneUdpParameters, XplaneUdpSession], client: WebClient,
        begin: Callable[[Any, Callable[[Any, Exception | None], None]], None],
    ) -> None:
        self._node = node
        self._client = client
        self._begin = begin
        self._publisher = node.make_publisher(DatarefValues, 'dataref_values', LATCHED)
        node.make_command(DatarefValues, _COMMAND, self._command)
        self.names: Sequence[str] = watched(node.parameters.web_datarefs)
        # What the connection was asked for last.
        self._watched: Sequence[str] = ()
        self._retry = 0.0
        self._writing = threading.Lock()
        self._to_write: dict[str, tuple[Sequence[float], str]] = {}

    # Reading.

    def select(self, names: Sequence[str]) -> None:
        """Publish these from now on. From any thread."""
        self.names = watched(names)
        self._retry = 0.0

    def progress(self) -> str:
        """Return how far X-Plane is with what is to be published."""
        if not self.names:
            return 'none'
        return (f'{len(self.names)} wanted, {self._client.found(self.names)} found, '
                f'{self._client.socket.arrived} arrive')

    def due(self, now: float) -> tuple[Generator[Any, Any, Any] | None, float | None]:
        """Return a conversation that is due, and when to ask again."""
        is_watching = self._client.socket.is_watching and self._watched == self.names
        if is_watching or not (self.names or self._watched):
            return None, None
        if now < self._retry:
            return None, self._retry
        self._retry = now + _RETRY
        return self._watch(self.names), None

    def _watch(self, names: Sequence[str]) -> Generator[Any, Any, None]:
        failed: dict[str, str] = yield from self._client.watch(names)
        self._watched = names
        if failed:
            self._node.warn('web_datarefs', 'not sent by X-Plane: ' + named(
                [f'{name} ({why})' for name, why in failed.items()], '; '))

    def publish(self, event: ValuesChanged) -> None:
        """Publish all that is known: in the connection's thread."""
        message = DatarefValues()
        if not self._node.stamp(message, time.time_ns()):
            return
        known = [(name, event.values[name]) for name in self.names if name in event.values]
        numbers = [() if isinstance(reading.value, bytes) else reading.value
                   for _, reading in known]
        message.names = [name for name, _ in known]
        message.sizes = array('I', map(len, numbers))
        message.values = array('d', [value for values in numbers for value in values])
        message.texts = [printable(reading.text) for _, reading in known]
        self._publisher.publish(message)

    # Writing: in the executor.

    def _command(self, message: DatarefValues) -> None:
        items = dataref_values(message.names, message.sizes, message.values)
        texts = message.texts or [''] * len(items)
        if len(texts) != len(items):
            raise ValueError(f'{len(items)} names and {len(texts)} texts do not match')
        given = {name: (values, text) for (name, values), text in zip(items, texts, strict=True)}
        with self._writing:
            is_waiting = bool(self._to_write)
            together = self._to_write | given
            check_count('datarefs that wait to be written', len(together), _MOST_WAITING)
            self._to_write = together
        if not is_waiting:
            try:
                self._begin(self._write(), self._written)
            except ValueError:
                self._take()
                raise

    def _take(self) -> dict[str, tuple[Sequence[float], str]]:
        with self._writing:
            given, self._to_write = self._to_write, {}
        return given

    def _write(self) -> Generator[Any, Any, None]:
        given = self._take()
        yield from self._client.set_values([
            (name, values, text) for name, (values, text) in given.items()])

    def _written(self, _: Any, error: Exception | None) -> None:
        if error is not None:
            self._take()
            self._node.refuse(_COMMAND, error)


# Flights that X-Plane's Web API starts, in xplane_udp_node.

# Until X-Plane has accepted a flight.
_TIMEOUT = 120.0
_FARTHEST = 1e6
_FASTEST = 1e4


class WebFlights:
    """The service start_flight; ``ask`` holds a conversation within a time."""

    def __init__(self, client: WebClient, poses: Poses, ask: Callable[..., Any]) -> None:
        self._client = client
        self._poses = poses
        self._ask = ask

    async def start(
        self, request: StartFlight.Request, response: StartFlight.Response
    ) -> None:
        """Start a flight, or change the one under way."""
        wanted = self._read_start(request)
        if request.aircraft:
            wanted |= flight.aircraft(request.aircraft, request.livery)
        elif request.livery:
            raise ValueError('livery: give its aircraft as well')
        if request.weather:
            wanted |= flight.weather(request.weather)
        wanted |= flight.more(request.more, wanted) if request.more else {}
        if not wanted:
            raise ValueError('nothing given: neither a place to start at, nor weather or more')
        if wanted.keys().isdisjoint(flight.STARTS):
            if 'aircraft' in wanted:
                raise ValueError('aircraft: give a place to start at as well')
            await self._ask(self._client.update_flight(wanted), _TIMEOUT)
            response.message = 'X-Plane has changed the flight'
        else:
            path = await self._ask(self._client.start_flight(wanted), _TIMEOUT)
            response.message = f'X-Plane starts a flight with {path}'
        response.success = True

    def _read_start(self, request: StartFlight.Request) -> dict[str, Any]:
        """Return the place to start at, {} for none. Raises ValueError."""
        given = POSE_MASK.given(request.pose) if request.pose.fields else {}
        ways = [name for name, way in (
            ('runway', request.runway), ('ramp', request.ramp), ('pose', given)) if way]
        if len(ways) > 1:
            raise ValueError(f'a flight starts at one place, got {" and ".join(ways)}')
        if bool(request.airport) != (ways in (['runway'], ['ramp'])):
            raise ValueError('airport and either runway or ramp go together')
        if request.final_distance and ways != ['runway']:
            raise ValueError('final_distance: give a runway')
        if not 0.0 <= request.final_distance <= _FARTHEST:
            raise ValueError(
                f'final_distance {request.final_distance:g} m is not in 0 .. {_FARTHEST:g} m')
        if not 0.0 <= request.airspeed <= _FASTEST:
            raise ValueError(f'airspeed {request.airspeed:g} m/s is not in 0 .. {_FASTEST:g} m/s')
        if request.on_ground and not given:
            raise ValueError('on_ground: give a pose')
        if request.airspeed and (request.on_ground or not given):
            raise ValueError('airspeed: give a pose in the air')
        if request.runway:
            return flight.runway_start(
                request.airport, request.runway, request.final_distance)
        if request.ramp:
            return flight.ramp_start(request.airport, request.ramp)
        return self._pose(request, given) if given else {}

    def _pose(self, request: StartFlight.Request, given: dict[str, float]) -> dict[str, Any]:
        """Return the start at a pose; what is not set keeps its value."""
        possible = {'latitude', 'longitude', 'true_heading'}
        if not request.on_ground:
            possible |= {'altitude', 'pitch'}
        if others := given.keys() - possible:
            raise ValueError(
                f'pose: a flight that starts there has no {", ".join(sorted(others)).upper()}')
        check_pose(given)
        # X-Plane starts level, and on the ground it knows the altitude.
        unused = {'altitude': 0.0} if request.on_ground else {}
        lat, lon, altitude = self._poses.position(unused | given)
        _, pitch, heading = self._poses.attitude({'roll': 0.0, 'pitch': 0.0} | given)
        if request.on_ground:
            return flight.ground_start(lat, lon, heading)
        return flight.air_start(
            lat, lon, altitude, heading, request.airspeed, pitch if 'pitch' in given else None)


# Of one call: each costs X-Plane up to three requests.
_MOST_NAMES = 50
_WRITABLE = {True: 1, False: 0, None: -1}
# A written number that went through a float32.
_READ_BACK_TOLERANCE = 1e-6

_UNKNOWN = '; whether X-Plane has done it is unknown'
_NOBODY = ('; X-Plane 12.1.4 and later have it, for programs on their own computer only: see '
           'docs/how-to/web_api.md, and the parameters web_host and web_port')


class WebApi:
    """
    The services of X-Plane's Web API, and the commands held through it.

    All conversations are of the queue's thread, but those about commands that are held.
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
        self._holds = WebHolds(
            node, self._client, self._without_socket, self._begin_hold, self._note)
        self.hold = self._holds.run
        self._values = WebValues(node, self._client, self._begin_by_socket)

    # Called by the node.

    def greet(self) -> None:
        """Ask for the versions, for diagnostics. From any thread."""
        if self._node.parameters.web_port and not self._node.plays_capture:
            try:
                self._start(self._client.greet(), lambda *_: None)
                self._holds.begin()
            except ValueError as error:
                self._failure = str(error)

    def forget(self) -> None:
        """Forget this X-Plane: it is away. From any thread."""
        self._client.forget()

    def give_back(self) -> None:
        """Cancel what is under way, and begin to release what is held."""
        if self._queue is not None:
            self._queue.stop()
        self._holds.give_back()

    def end(self) -> Left:
        """Return when X-Plane has shown what was given back, or what it has not in time."""
        left = self._holds.end()
        if self._queue is not None:
            self._queue.end()
        return left

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
        if unconfirmed := self._holds.unconfirmed():
            level, text = WARN, f'{text}; not shown as released: {named(unconfirmed)}'
        return Status('web api', level, text, (
            ('address', f'{self._address[0]}:{self._address[1]}' if self._queue else 'none yet'),
            ('X-Plane version', known.xplane if known else 'not known'),
            ('versions', ', '.join(sorted(known.apis)) if known else 'not known'),
            ('calls of services', str(self._calls)),
            ('WebSocket', self._socket_state()),
            ('WebSocket: messages, not understood', f'{heard.received}, {heard.malformed}'),
            ('WebSocket: last not understood', printable(heard.last_error, 200) or 'none'),
            ('web_datarefs', self._values.progress()),
            ('held commands', ', '.join(self._holds.names()) or 'none'),
            ('given back, not yet shown', ', '.join(unconfirmed) or 'none'),
            ('active, as X-Plane says', ', '.join(self._client.socket.active) or 'none')))

    def _socket_state(self) -> str:
        if self._without_socket:
            return self._without_socket
        return 'open' if self._web_socket is not None and self._web_socket.is_open else 'not open'

    # In the queue's thread.

    def _due(self, now: float) -> tuple[tuple[Steps, Done] | None, float | None]:
        """Return what web_datarefs need; for the queue."""
        if self._without_socket:
            return None, None
        steps, again = self._values.due(now)

        def done(_: Any, error: Exception | None) -> None:
            if (noted := self._note(error)) is not None:
                self._node.warn(
                    'web_datarefs', f'web_datarefs: {self._values.progress()}; {noted}')

        return None if steps is None else (steps, done), again

    # From X-Plane: in the WebSocket's thread.

    def _on_event(self, event: object) -> None:
        if isinstance(event, ValuesChanged):
            self._values.publish(event)
        elif isinstance(event, CommandReported):
            self._holds.on_report(event)

    def _on_lost(self, why: str) -> None:
        self._failure = why
        self._holds.lost()
        if (queue := self._queue) is not None:
            queue.wake()

    # Services.

    async def _describe(
        self, request: DescribeDatarefs.Request, response: DescribeDatarefs.Response
    ) -> None:
        if not request.names:
            raise ValueError('no dataref given')
        check_count('names', len(request.names), _MOST_NAMES)
        found: list[DatarefReading | None] = await self._ask(self._client.describe(request.names))
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
        reading: DatarefReading = await self._ask(
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

    def _begin_hold(self) -> None:
        """Note that a command is held or released. Raises ValueError."""
        self._calls += 1
        self._ready()

    def _start(self, steps: Any, done: Done, timeout: float | None = None) -> None:
        """Begin a conversation. Raises ValueError if that is not possible."""
        queue = self._ready()
        try:
            queue.start(
                steps, timeout or self._node.parameters.web_timeout,
                lambda result, error: done(result, self._note(error)))
        except LinkError as error:
            raise ValueError(str(error)) from error

    def _ready(self) -> HttpQueue:
        """Return the queue for the present X-Plane. Raises ValueError if there is none."""
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
        with self._starting:
            if self._queue is None or self._address != address:
                self._move_to(address)
            assert self._queue is not None
            return self._queue

    def _move_to(self, address: tuple[str, int]) -> None:
        """Talk to another X-Plane from now on."""
        if self._queue is not None:
            self._queue.end()
            self._holds.moved()
        self._client.forget()
        self._address = address
        web_socket = self._web_socket = WebSocket(
            address, 'the Web API', self._client.socket, on_event=self._on_event,
            on_lost=self._on_lost, largest=web_api.LARGEST_REPLY)

        def queue(due: Due) -> HttpQueue:
            return HttpQueue(
                address, 'Web API', web_api.CONTENT_TYPE, due=due,
                due_timeout=self._node.parameters.web_timeout, largest=web_api.LARGEST_REPLY,
                web_socket=web_socket)

        self._queue, self._holds.queue = queue(self._due), queue(self._holds.due)

    def _note(self, error: Exception | None) -> ValueError | None:
        """Note for diagnostics how a conversation has ended; return the error to tell."""
        if isinstance(error, LinkError):
            if not isinstance(error.__cause__, TimeoutError):
                # Whoever answers next may be another one. One that is slow is the same.
                self._client.forget()
            why = _UNKNOWN if isinstance(error, UnansweredError) else _NOBODY
            error = ValueError(f'{printable(str(error), 300)}{why}')
            self._failure = str(error)
        elif isinstance(error, ProtocolError):
            error = ValueError(f'not understood in an answer of the Web API: {error}')
            self._failure = str(error)
        elif isinstance(error, web_api.WebApiRefusedError) and error.is_disabled:
            self._failure = str(error)
        elif error is None or self._client.capabilities is not None:
            # It has answered, though perhaps with a refusal.
            self._failure = ''
        else:
            self._failure = str(error)
        if error is None or isinstance(error, ValueError):
            return error
        return ValueError(f'{type(error).__name__}: {error}')
