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

"""Bounds of simulated peers that are HTTP servers: connections, bodies, silence, and web pages."""

from __future__ import annotations

from contextlib import suppress
from http.server import BaseHTTPRequestHandler
import re
import socket
from socketserver import BaseServer, ThreadingMixIn
import threading
import time
from typing import Any

MOST_CONNECTIONS = 16
"""Connections at a time; for another one, that with the slowest request is closed, if any is."""

LARGEST_BODY = 65536
"""Bytes in the body of a request; a larger one is refused without reading it."""

PATIENCE = 5.0
"""Seconds without a byte from the client after which its connection is closed."""

_WITH_BODY = ('POST', 'PATCH', 'PUT')
# Seconds that a request may take where somebody else waits for a place, and until that is free.
_SLOW, _FREED_WITHIN = 1.0, 1.0
# Pages of this computer. A browser lets those of anybody ask, and says from where they are.
_OWN_PAGES = re.compile(
    r'https?://(localhost|127\.0\.0\.1|\[::1\])(:\d{1,5})?|file://', re.IGNORECASE)


class BoundedServer(ThreadingMixIn, BaseServer):
    """
    A few connections at a time, each in its thread.

    An idle connection blocks neither other ones nor closing, and a slow one takes nobody's place.
    """

    daemon_threads = True
    block_on_close = False
    # Of more at once the rest would ask again a second later.
    request_queue_size = MOST_CONNECTIONS

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._places = threading.BoundedSemaphore(MOST_CONNECTIONS)
        # Since when each connection's present request is awaited.
        self._asked: dict[Any, float] = {}
        self._lock = threading.Lock()

    def process_request(self, request: Any, client_address: Any) -> None:
        """Serve a connection, or close it if too many are open."""
        if self._places.acquire(blocking=False) or (
                self._drop_slowest() and self._places.acquire(timeout=_FREED_WITHIN)):
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Serve a connection in its thread."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self.stays(request)
            self._places.release()

    def awaits(self, connection: Any) -> None:
        """Note that a request begins to come over a connection."""
        with self._lock:
            self._asked[connection] = time.monotonic()

    def stays(self, connection: Any) -> None:
        """Note that a connection is of no request any more."""
        with self._lock:
            self._asked.pop(connection, None)

    def _drop_slowest(self) -> bool:
        """End the connection whose request takes longest; return whether one takes too long."""
        with self._lock:
            slowest = min(self._asked, key=lambda one: self._asked[one], default=None)
            if slowest is None or time.monotonic() < self._asked[slowest] + _SLOW:
                return False
            del self._asked[slowest]
            with suppress(OSError):
                slowest.shutdown(socket.SHUT_RDWR)
        return True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing: the client has gone away."""


class BoundedHandler(BaseHTTPRequestHandler):
    """The requests of one connection."""

    timeout = PATIENCE
    server: BoundedServer

    def handle_one_request(self) -> None:
        """Read a request and answer it."""
        self.server.awaits(self.connection)
        super().handle_one_request()

    def parse_request(self) -> bool:
        """Read the headers; return False if it is refused, as of a foreign page, or its body."""
        if not super().parse_request():
            return False
        origins = self.headers.get_all('Origin', [])
        if len(origins) > 1 or not all(map(_OWN_PAGES.fullmatch, origins)):
            return self._refuse(403)
        length = self.headers.get('Content-Length', '' if self.command in _WITH_BODY else '0')
        if length.isdecimal() and len(length) < 10 and int(length) <= LARGEST_BODY:
            return True
        return self._refuse(413)

    def _refuse(self, status: int) -> bool:
        self.close_connection = True
        self.send_response(status)
        self.send_header('Content-Length', '0')
        self.end_headers()
        return False

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""
