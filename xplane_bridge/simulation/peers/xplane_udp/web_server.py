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


"""The TCP port of the simulated X-Plane's Web API: HTTP/1.1, a few connections at a time."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, HTTPServer
import json
from queue import Empty, SimpleQueue
import socket
import threading
from typing import Any, TypeVar

from xplane_bridge.bridges.links.udp import LinkError
from xplane_bridge.bridges.links.websocket import TextLine
from xplane_bridge.bridges.links.websocket_frames import check_installed, WebSocketConnection
from xplane_bridge.simulation.peers.http import BoundedHandler, BoundedServer, LARGEST_BODY
from xplane_bridge.simulation.peers.world import World
from xplane_bridge.simulation.peers.xplane_udp.web_api import Answer, SimulatedWebApi
from xplane_bridge.simulation.peers.xplane_udp.web_socket import WebSocketPeer

# A WebSocket connection of the simulated X-Plane: a thread at one end, frames at the other.

_MOST_UNREAD = 64
"""Messages of a client that one frame reads: about as many wait, more are left in its socket."""


class WebLine:
    """
    What passes between the thread of a connection and the frames of the simulator.

    converse() is the thread's; frame() is called between two frames; end() by anyone.
    """

    def __init__(self, peer: WebSocketPeer) -> None:
        self._peer = peer
        self._heard: SimpleQueue[str] = SimpleQueue()
        self._line = TextLine(
            self._heard.put, may_read=lambda: self._heard.qsize() < _MOST_UNREAD)

    def end(self) -> None:
        """Close the connection: its X-Plane has gone."""
        self._line.end()

    def frame(self) -> bool:
        """Answer what has arrived and say what is due; return whether there will be more."""
        if self._line.ended:
            self._peer.close()
            return False
        for text in self._read():
            self._line.say(self._peer.receive(text))
        for text in self._peer.step():
            self._line.say(text)
        return True

    def converse(self, connection: socket.socket, frames: WebSocketConnection) -> None:
        """Carry messages until either end closes."""
        self._line.carry(connection, frames)

    def _read(self) -> list[str]:
        """Return what has arrived, of much the first: the rest is for the next frame."""
        texts: list[str] = []
        with suppress(Empty):
            while len(texts) < _MOST_UNREAD:
                texts.append(self._heard.get_nowait())
        return texts


_LOOK = 0.02
_JOIN_TIMEOUT = 5.0

_T = TypeVar('_T')
_Call = tuple[Callable[[SimulatedWebApi], Any], SimpleQueue[Any]]


class WebServer:
    """
    Serves the Web API at ``address``, port 0 for a free one, by REST and by WebSocket.

    Requests are answered between two frames, by frame(): only that touches the world.
    ``without_socket`` is why it has no WebSocket, '' if it has.
    """

    def __init__(self, address: tuple[str, int], api: str = 'v3') -> None:
        self.address = address
        self._api = api
        self._calls: SimpleQueue[_Call] = SimpleQueue()
        self._lines: list[WebLine] = []
        self._stopping = threading.Event()
        self._server: _Server | None = None
        self._thread: threading.Thread | None = None
        self.without_socket = ''
        try:
            check_installed()
        except LinkError as error:
            self.without_socket = str(error)

    def open(self) -> None:
        """Listen. Raises LinkError if the address is not available."""
        self._stopping.clear()
        try:
            self._server = _Server(self.address, self)
        except OSError as error:
            raise LinkError(
                f'TCP {self.address[0]}:{self.address[1]}: {error.strerror}; is another program '
                'using it?') from error
        self.address = (self.address[0], int(self._server.server_address[1]))
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(_LOOK,), name='web api', daemon=True)
        self._thread.start()

    def begin(self, world: World) -> None:
        """Start X-Plane; nothing of an earlier start is left."""
        self.web_api = SimulatedWebApi(world, self._api)
        self._calls = SimpleQueue()
        self._end_lines()

    def frame(self) -> None:
        """Answer what has arrived, and send what is due."""
        self.web_api.step()
        try:
            while True:
                call, answer = self._calls.get_nowait()
                answer.put(call(self.web_api))
        except Empty:
            pass
        self._lines = [line for line in self._lines if line.frame()]

    def close(self) -> None:
        """Stop listening; closing twice is fine."""
        self._stopping.set()
        self._end_lines()
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
            self._server = None
        if self._thread is not None:
            self._thread.join(_JOIN_TIMEOUT)
            self._thread = None

    def _end_lines(self) -> None:
        lines, self._lines = self._lines, []
        for line in lines:
            line.end()

    # In the threads of connections.

    def ask(self, call: Callable[[SimulatedWebApi], _T]) -> _T | None:
        """Return what the next frame answers to a call, or None if no frame will come."""
        answer: SimpleQueue[_T] = SimpleQueue()
        self._calls.put((call, answer))
        while not self._stopping.is_set():
            try:
                return answer.get(timeout=_LOOK)
            except Empty:
                pass
        return None

    def join(self, target: str) -> WebLine | None:
        """Return the WebSocket there, or None if there is none."""
        def begin(web_api: SimulatedWebApi) -> WebLine | None:
            peer = web_api.join(target)
            if peer is None:
                return None
            self._lines.append(WebLine(peer))
            return self._lines[-1]

        return self.ask(begin)


class _Server(BoundedServer, HTTPServer):
    """The server of one Web API."""

    def __init__(self, address: tuple[str, int], web: WebServer) -> None:
        super().__init__(address, _Handler)
        self.web = web


class _Handler(BoundedHandler, BaseHTTPRequestHandler):
    """The requests of one connection."""

    protocol_version = 'HTTP/1.1'
    server: _Server

    def do_GET(self) -> None:
        """Read something, or go on as a WebSocket."""
        if self.headers.get('Upgrade', '').lower() == 'websocket':
            self._upgrade()
        else:
            self._answer(b'')

    def do_POST(self) -> None:
        """Start something."""
        self._answer_with_body()

    def do_PATCH(self) -> None:
        """Change something."""
        self._answer_with_body()

    def _answer_with_body(self) -> None:
        self._answer(self.rfile.read(int(self.headers['Content-Length'])))

    def _answer(self, body: bytes) -> None:
        answer = self.server.web.ask(
            lambda web_api: web_api.answer(self.command, self.path, body))
        if answer is None:
            self.close_connection = True
        else:
            self._send(answer)

    def _upgrade(self) -> None:
        self.close_connection = True
        web = self.server.web
        if web.without_socket:
            self._send((501, json.dumps({'error_message': web.without_socket}).encode('ascii')))
            return
        frames = WebSocketConnection.server(self.headers.items(), self.path, LARGEST_BODY)
        if not frames.is_open:
            self.wfile.write(frames.take())
        elif (line := web.join(self.path)) is not None:
            self.server.stays(self.connection)
            line.converse(self.connection, frames)
        else:
            self._answer(b'')

    def _send(self, answer: Answer) -> None:
        status, content = answer
        self.send_response(status)
        if content:
            self.send_header('Content-Type', 'application/json')
        self.send_header('Content-Length', str(len(content)))
        self.end_headers()
        self.wfile.write(content)
