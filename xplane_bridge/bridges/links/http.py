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


"""HTTP requests with an overall deadline, whatever the server does, and which can be cancelled."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
import errno
from http.client import HTTPException, HTTPResponse
from io import BytesIO
import math
import os
import re
import select
import socket
import time
from typing import cast

from xplane_bridge.bridges.links.udp import LinkError

LARGEST = 65536
"""Maximum length of a whole response in bytes, by default."""

_CHUNK = 4096
_END_OF_HEAD = b'\r\n\r\n'
_LAST_CHUNK = b'0\r\n\r\n'
_LENGTH = re.compile(rb'\r\ncontent-length:[ \t]*([0-9]{1,10})[ \t]*\r\n', re.IGNORECASE)


class UnansweredError(LinkError):
    """The request was sent, but no response came: it is unknown whether it was executed."""


class EndedError(Exception):
    """This exchange has been cancelled."""


class NoHttpError(Exception):
    """The response is not usable as HTTP; the text says why."""


@dataclass(frozen=True, slots=True)
class HttpResponse:
    """A complete response; the names of ``headers`` are in lower case."""

    status: int
    reason: str
    body: bytes
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def content_type(self) -> str:
        """Return the type of the content without parameters, '' if it has none."""
        return self.headers.get('content-type', '').partition(';')[0].strip().lower()


class HttpExchange:
    """
    One request over a connection of its own, and its response, which another thread may cancel.

    ``sent`` is whether the server may have received the request.
    """

    def __init__(self, address: tuple[str, int]) -> None:
        self.sent = False
        self._address = address
        self._wake = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)

    def end(self) -> None:
        """Cancel it, from another thread."""
        os.eventfd_write(self._wake, 1)

    def close(self) -> None:
        """Release its resources after it has ended."""
        os.close(self._wake)

    def run(
        self, method: str, path: str, body: bytes = b'', content_type: str = '', *,
        deadline: float, largest: int = LARGEST,
    ) -> HttpResponse:
        """
        Send one request and return its response, complete by ``deadline`` (of time.monotonic).

        Raises EndedError, TimeoutError, another OSError, or NoHttpError.
        """
        host, port = self._address
        lines = [f'{method} {path} HTTP/1.1', f'Host: {host}:{port}']
        if content_type:
            lines += [f'Accept: {content_type}', f'Content-Type: {content_type}']
        if body or method != 'GET':
            lines += [f'Content-Length: {len(body)}']
        head = '\r\n'.join([*lines, 'Connection: close', '', ''])
        return parse(self._exchange(head.encode('ascii') + body, deadline, largest))

    def _exchange(self, request: bytes, deadline: float, largest: int) -> bytes:
        """Send the request; return the whole response, at the latest when the server closes."""
        received = b''
        # A slowly dripping server would reset a limit per wait: the sum counts.
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as connection:
            connection.setblocking(False)
            refused = connection.connect_ex(self._address)
            if refused == errno.EINPROGRESS:
                self._wait(connection, select.POLLOUT, deadline)
                refused = connection.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
            if refused:
                raise OSError(refused, os.strerror(refused))
            while request:
                self._wait(connection, select.POLLOUT, deadline)
                request = request[connection.send(request):]
                self.sent = True
            while not is_complete(received):
                self._wait(connection, select.POLLIN, deadline)
                chunk = connection.recv(_CHUNK)
                if not chunk:
                    break
                received += chunk
                if len(received) > largest:
                    raise NoHttpError(f'the response is longer than {largest} bytes')
        return received

    def _wait(self, connection: socket.socket, wanted: int, deadline: float) -> None:
        """Wait until the connection is ready; raise TimeoutError, or EndedError if cancelled."""
        poller = select.poll()
        poller.register(connection, wanted)
        poller.register(self._wake, select.POLLIN)
        left = deadline - time.monotonic()
        # Rounded up, or the last fraction of a millisecond would be a busy wait.
        ready = dict(poller.poll(math.ceil(left * 1000.0))) if left > 0.0 else {}
        if self._wake in ready:
            raise EndedError
        if not ready:
            raise TimeoutError

    def failure(self, what: str, error: Exception, timeout: float) -> LinkError:
        """Return the error to raise for one of ``run``: UnansweredError if it was sent."""
        if isinstance(error, EndedError):
            reason = 'cancelled before it was answered'
        elif isinstance(error, TimeoutError):
            reason = f'timed out, no complete response within {timeout:g} s'
        else:
            reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
        return (UnansweredError if self.sent else LinkError)(f'{what}: {reason}')


def is_complete(received: bytes) -> bool:
    """Return whether a response needs no more bytes, though the server has not closed."""
    head, separator, body = received.partition(_END_OF_HEAD)
    if not separator:
        return False
    if found := _LENGTH.search(head + b'\r\n'):
        return len(body) >= int(found[1])
    # Without a length it is chunked, or ends when the server closes.
    return body.endswith(_LAST_CHUNK) and b'chunked' in head.lower() and _is_whole(received)


def _is_whole(received: bytes) -> bool:
    try:
        parse(received)
    except NoHttpError:
        return False
    return True


def parse(received: bytes) -> HttpResponse:
    """Return the response in these bytes. Raises NoHttpError."""
    if not received:
        raise NoHttpError('the server closed the connection without a response')
    response = HTTPResponse(cast(socket.socket, _Received(received)))
    try:
        response.begin()
        body = response.read()
    except (HTTPException, ValueError) as error:
        raise NoHttpError(f'the response is not HTTP ({error!r})') from error
    return HttpResponse(
        response.status, response.reason, body,
        {name.lower(): value for name, value in response.headers.items()})


class _Received:
    """Bytes that HTTPResponse reads in place of a socket."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    def makefile(self, _: str) -> BytesIO:
        """Return the bytes as a file."""
        return BytesIO(self._data)
