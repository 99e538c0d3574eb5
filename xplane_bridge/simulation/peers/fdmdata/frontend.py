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

"""The simulated Huginn as a peer on the network: two UDP ports, and XML-RPC."""

from collections.abc import Callable, Sequence
from queue import Empty, SimpleQueue
import threading
import time
from xmlrpc.server import SimpleXMLRPCRequestHandler, SimpleXMLRPCServer

from xplane_bridge.bridges.links.udp import LinkError
from xplane_bridge.simulation.peers.base import Frontend
from xplane_bridge.simulation.peers.endpoints import Endpoint
from xplane_bridge.simulation.peers.fdmdata.huginn import Huginn
from xplane_bridge.simulation.peers.http import BoundedHandler, BoundedServer
from xplane_bridge.simulation.peers.world import World

# Without a frame for this long the program is considered frozen and answers nothing.
_STOPPED_AFTER = 0.25
_LONGEST_PAUSE = 0.02
_JOIN_TIMEOUT = 5.0


class _RpcHandler(BoundedHandler, SimpleXMLRPCRequestHandler):
    """XML-RPC requests: small ones, not compressed."""

    def decode_request_content(self, data: bytes) -> bytes | None:
        """Return the request; a compressed one, of any size, is refused."""
        if self.headers.get('Content-Encoding', 'identity').lower() == 'identity':
            return data
        self.send_response(501)
        self.send_header('Content-Length', '0')
        self.end_headers()
        return None


class _RpcServer(BoundedServer, SimpleXMLRPCServer):
    """The server of XML-RPC."""


class FdmdataFrontend(Frontend):
    """
    Huginn at two UDP endpoints and a TCP port for its XML-RPC.

    ``rpc_address`` is where XML-RPC listens, port 0 for a free one, None for no XML-RPC.

    Requests for data are answered at once, not once per frame, by a thread that has only the
    values of the last frame. Only frame() touches the world.
    """

    name = 'Huginn (FDMData)'

    def __init__(
        self, data: Endpoint, controls: Endpoint,
        rpc_address: tuple[str, int] | None = None, held: bool = False,
    ) -> None:
        super().__init__(data, controls)
        self.data = data
        self.controls = controls
        self.rpc_address = rpc_address
        self.held = held
        self._stopping = threading.Event()
        self._threads: list[threading.Thread] = []
        self._rpc: SimpleXMLRPCServer | None = None
        self._calls: SimpleQueue[tuple[Callable[[], bool], SimpleQueue[bool]]] = SimpleQueue()
        self._framed_at = 0.0

    @property
    def address(self) -> str:
        """Return its addresses for display."""
        rpc = '' if self.rpc_address is None else f', XML-RPC on port {self.rpc_address[1]}'
        return f'{super().address}, controls on port {self.controls.address[1]}{rpc}'

    @property
    def commanded(self) -> Sequence[Endpoint]:
        """Return the endpoint of controls: at the other one it is only asked."""
        return (self.controls,)

    def open(self, world: World, now: float) -> None:
        """Start Huginn in a world. Raises LinkError if an address is not available."""
        self._stopping.clear()
        try:
            super().open(world, now)
            if self.rpc_address is not None:
                self._rpc = self._make_rpc(self.rpc_address)
        except OSError:
            self.close()
            raise
        self._start(self._serve_data)
        if self._rpc is not None:
            self._start(self._rpc.serve_forever, _LONGEST_PAUSE)

    def _begin(self, world: World, now: float) -> None:
        """Start Huginn."""
        self.huginn = Huginn(world, self.held)
        self._framed_at = time.monotonic()

    def frame(self, now: float) -> None:
        """Process controls and calls; take the values to answer until the next frame."""
        while (received := self.controls.receive(now)) is not None:
            self.huginn.control(received[0])
        while True:
            try:
                call, result = self._calls.get_nowait()
            except Empty:
                break
            result.put(call())
        self.huginn.step()
        self._framed_at = time.monotonic()

    def poll(self, now: float) -> None:
        """Do nothing: the thread does what is due between frames."""

    def next_due(self) -> float | None:
        """Return None: frames are often enough."""
        return None

    def close(self) -> None:
        """Stop Huginn; closing twice is fine."""
        self._stopping.set()
        if self._rpc is not None:
            if self._threads:
                self._rpc.shutdown()
            self._rpc.server_close()
            self._rpc = None
        for thread in self._threads:
            thread.join(_JOIN_TIMEOUT)
        self._threads.clear()
        super().close()

    def _start(self, function: Callable[..., None], *arguments: float) -> None:
        thread = threading.Thread(
            target=function, args=arguments, name='huginn', daemon=True)
        self._threads.append(thread)
        thread.start()

    # Run in threads of their own.

    def _serve_data(self) -> None:
        while not self._stopping.is_set():
            now = time.monotonic()
            if now - self._framed_at > _STOPPED_AFTER:
                self._stopping.wait(_LONGEST_PAUSE)
                continue
            while (received := self.data.receive(now)) is not None:
                request, sender = received
                self.data.send(self.huginn.answer(request), sender, now)
            self.data.flush(now)
            due = self.data.next_due()
            self.data.pause(
                _LONGEST_PAUSE if due is None else min(max(due - now, 0.0), _LONGEST_PAUSE))

    def _make_rpc(self, address: tuple[str, int]) -> SimpleXMLRPCServer:
        try:
            server = _RpcServer(address, _RpcHandler)
        except OSError as error:
            raise LinkError(
                f'TCP {address[0]}:{address[1]}: {error.strerror}; is another program using it?'
            ) from error
        self.rpc_address = (address[0], int(server.server_address[1]))
        for method in ('pause', 'resume', 'reset'):
            server.register_function(self._in_frame(method), method)
        return server

    def _in_frame(self, method: str) -> Callable[[], bool]:
        """Return a function that runs the method in the next frame and waits for it."""
        def call() -> bool:
            result: SimpleQueue[bool] = SimpleQueue()
            self._calls.put((getattr(self.huginn, method), result))
            while not self._stopping.is_set():
                try:
                    return result.get(timeout=_LONGEST_PAUSE)
                except Empty:
                    pass
            return False

        return call
