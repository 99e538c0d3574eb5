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


"""A serial port put on the network, as pyserial's own example servers do it."""

import contextlib
import select
import socket
import threading
from types import SimpleNamespace

import serial
from serial import rfc2217


class _Pty(serial.Serial):
    """A pseudo-terminal has no modem lines."""

    cts = dsr = ri = cd = True

    def _update_dtr_state(self):
        pass

    def _update_rts_state(self):
        pass


class Redirect:
    """Serve the port at ``path`` to one client after the other, raw (socket) or by rfc2217."""

    def __init__(self, path, scheme):
        self._path = path
        self._rfc2217 = scheme == 'rfc2217'
        self._server = socket.create_server(('127.0.0.1', 0))
        self.url = f'{scheme}://127.0.0.1:{self._server.getsockname()[1]}'
        self._peer = None
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def hang_up(self):
        """Close the connection; the next one is accepted."""
        self._peer.shutdown(socket.SHUT_RDWR)

    def close(self):
        self._server.shutdown(socket.SHUT_RDWR)
        with contextlib.suppress(OSError):
            self.hang_up()
        self._thread.join(60.0)
        self._server.close()

    def _serve(self):
        while True:
            try:
                self._peer, _ = self._server.accept()
            except OSError:
                return
            with self._peer as peer, _Pty(self._path, 115200, timeout=0) as port, \
                    contextlib.suppress(OSError):
                self._carry(peer, port)

    def _carry(self, peer, port):
        manager = rfc2217.PortManager(port, SimpleNamespace(write=peer.sendall))
        while True:
            ready, _, _ = select.select([peer, port], [], [])
            if peer in ready:
                data = peer.recv(4096)
                if not data:
                    return
                port.write(b''.join(manager.filter(data)) if self._rfc2217 else data)
            if port in ready:
                data = port.read(4096)
                peer.sendall(b''.join(manager.escape(data)) if self._rfc2217 else data)
