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

"""XML-RPC calls that end in time, whatever answers."""

from __future__ import annotations

from http.client import HTTPException, HTTPResponse
from io import BytesIO
import socket
import time
from typing import Any, cast
import xmlrpc.client

from xplane_bridge.links.udp import LinkError

# An answer is a boolean, or a fault with a sentence: some hundred bytes.
_LARGEST = 65536
_CHUNK = 4096
_OK = 200


class _NoXmlRpcError(Exception):
    """What answers is something else; the text says why."""


class _Received:
    """What HTTPResponse reads in the place of a socket."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    def makefile(self, _: str) -> BytesIO:
        """Return the bytes as a file."""
        return BytesIO(self._data)


def call(host: str, port: int, method: str, timeout: float) -> Any:
    """
    Call a method without arguments and return its result.

    Blocks for at most ``timeout`` seconds in all, and reads at most 64 KiB. Raises LinkError with
    a sentence if there is no answer, or an error instead of one.
    """
    where = f'XML-RPC {method} at {host}:{port}'
    try:
        return _result(_exchange(host, port, method, time.monotonic() + timeout))
    except xmlrpc.client.Fault as error:
        raise LinkError(f'{where}: {error.faultString}') from error
    except TimeoutError as error:
        raise LinkError(f'{where}: timed out, no complete answer in {timeout:g} s') from error
    except OSError as error:
        raise LinkError(f'{where}: {error.strerror or error}') from error
    except _NoXmlRpcError as error:
        raise LinkError(f'{where}: {error}') from error
    except Exception as error:
        # Python's reader lets out whatever it stumbles over: ValueError, TypeError, EOFError, ...
        raise LinkError(f'{where}: what answers there is no XML-RPC ({error!r})') from error


def _exchange(host: str, port: int, method: str, deadline: float) -> bytes:
    """Send one request and return all that is answered until the server closes."""
    body = xmlrpc.client.dumps((), method).encode()
    head = (f'POST / HTTP/1.1\r\nHost: {host}:{port}\r\nContent-Type: text/xml\r\n'
            f'Content-Length: {len(body)}\r\nConnection: close\r\n\r\n')
    received = b''
    # A server that drips resets the limit of each wait: what counts is their sum.
    with socket.create_connection((host, port), _left(deadline)) as connection:
        connection.settimeout(_left(deadline))
        connection.sendall(head.encode('ascii') + body)
        while True:
            connection.settimeout(_left(deadline))
            chunk = connection.recv(_CHUNK)
            if not chunk:
                return received
            received += chunk
            if len(received) > _LARGEST:
                raise _NoXmlRpcError(
                    f'the answer is longer than {_LARGEST} bytes')


def _left(deadline: float) -> float:
    left = deadline - time.monotonic()
    if left <= 0.0:
        raise TimeoutError
    return left


def _result(data: bytes) -> Any:
    """Return the result in an HTTP answer. Raises Fault, or anything at all for what is none."""
    if not data:
        raise _NoXmlRpcError('the server closed the connection without an answer')
    response = HTTPResponse(cast(socket.socket, _Received(data)))
    try:
        response.begin()
        body = response.read()
    except HTTPException as error:
        raise _NoXmlRpcError(f'what answers there is no XML-RPC ({error!r})') from error
    if response.status != _OK:
        raise _NoXmlRpcError(f'HTTP status {response.status} {response.reason}')
    kind = response.headers.get_content_type()
    if kind != 'text/xml' or response.headers.get('Content-Encoding', 'identity') != 'identity':
        raise _NoXmlRpcError(
            f'what answers there is no XML-RPC: the content is {kind}, encoding '
            f'{response.headers.get("Content-Encoding", "none")}; expected plain text/xml')
    if b'<!' in body:
        # Entities can grow without limit, and XML-RPC has none.
        raise _NoXmlRpcError('what answers there is no XML-RPC: it declares a document type')
    (result,), _ = xmlrpc.client.loads(body)
    return result
