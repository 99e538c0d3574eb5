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

"""Bounds of simulated peers that are HTTP servers: connections, bodies and silence."""

from __future__ import annotations

from http.server import BaseHTTPRequestHandler
from socketserver import BaseServer, ThreadingMixIn
import threading
from typing import Any

MOST_CONNECTIONS = 16
"""Connections at a time; others are closed at once."""

LARGEST_BODY = 65536
"""Bytes in the body of a request; a larger one is refused without reading it."""

PATIENCE = 5.0
"""Seconds without a byte from the client after which its connection is closed."""

_WITH_BODY = ('POST', 'PATCH', 'PUT')


class BoundedServer(ThreadingMixIn, BaseServer):
    """
    A few connections at a time, each in its thread.

    An idle connection blocks neither other ones nor closing.
    """

    daemon_threads = True
    block_on_close = False

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._places = threading.BoundedSemaphore(MOST_CONNECTIONS)

    def process_request(self, request: Any, client_address: Any) -> None:
        """Serve a connection, or close it if too many are open."""
        if self._places.acquire(blocking=False):
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Serve a connection in its thread."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._places.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing: the client has gone away."""


class BoundedHandler(BaseHTTPRequestHandler):
    """The requests of one connection."""

    timeout = PATIENCE

    def parse_request(self) -> bool:
        """Read the headers; return False if it is refused, for its body among others."""
        if not super().parse_request():
            return False
        length = self.headers.get('Content-Length', '' if self.command in _WITH_BODY else '0')
        if length.isdecimal() and len(length) < 10 and int(length) <= LARGEST_BODY:
            return True
        self.close_connection = True
        self.send_response(413)
        self.send_header('Content-Length', '0')
        self.end_headers()
        return False

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""
