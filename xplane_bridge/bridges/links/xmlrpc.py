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

"""XML-RPC calls with an overall deadline, whatever the server does, and which can be cancelled."""

from __future__ import annotations

from collections.abc import Callable
import threading
import time
from typing import Any
import xmlrpc.client

from xplane_bridge.bridges.links.http import EndedError, HttpExchange, HttpResponse, NoHttpError
from xplane_bridge.bridges.links.udp import LinkError

_OK = 200
# Maximum number of concurrent calls of one server.
_MOST = 4
# How long end() waits for cancelled threads.
_JOIN_TIMEOUT = 1.0


class _NoXmlRpcError(Exception):
    """The response is not XML-RPC; the text says why."""


class XmlRpc:
    """
    Calls of one server's methods without arguments; ``host`` is its IPv4 address.

    A call takes at most its ``timeout`` in all, reads at most 64 KiB of a plain text/xml response,
    and ends immediately when end() is called. At most four run concurrently.
    """

    def __init__(self, host: str, port: int) -> None:
        self._address = host, port
        self._lock = threading.Lock()
        self._calls: set[_Call] = set()
        self._threads: set[threading.Thread] = set()

    def call(self, method: str, timeout: float) -> Any:
        """
        Call a method and return its result.

        Raises LinkError if it cannot be called or the server reports a failure, and
        UnansweredError if it was called without a valid response. The message may contain
        text of the server, unescaped.
        """
        call = self._begin(method)
        try:
            return call.run(timeout)
        finally:
            self._finish(call)

    def start(
        self, method: str, timeout: float, done: Callable[[Any, LinkError | None], None]
    ) -> None:
        """
        Call a method in a separate thread, which calls ``done(result, error)`` at the end.

        Raises LinkError if too many calls are running.
        """
        call = self._begin(method)

        def work() -> None:
            result, failed = None, None
            try:
                result = call.run(timeout)
            except LinkError as error:
                failed = error
            finally:
                self._finish(call)
            done(result, failed)

        thread = threading.Thread(target=work, name='xmlrpc', daemon=True)
        with self._lock:
            self._threads = {other for other in self._threads if other.is_alive()} | {thread}
            thread.start()

    def end(self) -> None:
        """Cancel the running calls: they count as unanswered. New ones may follow."""
        with self._lock:
            for call in self._calls:
                call.end()
            threads, self._threads = self._threads, set()
        deadline = time.monotonic() + _JOIN_TIMEOUT
        for thread in threads:
            thread.join(max(0.0, deadline - time.monotonic()))

    def _begin(self, method: str) -> _Call:
        with self._lock:
            if len(self._calls) >= _MOST:
                raise LinkError(
                    f'XML-RPC {method}: {_MOST} calls of {self._address[0]}:{self._address[1]} '
                    'are already waiting for a response; try again later')
            try:
                call = _Call(self._address, method)
            except OSError as error:
                raise LinkError(f'XML-RPC {method}: {error.strerror}') from error
            self._calls.add(call)
            return call

    def _finish(self, call: _Call) -> None:
        with self._lock:
            self._calls.discard(call)
            call.close()


class _Call:
    """One call, which another thread may cancel."""

    def __init__(self, address: tuple[str, int], method: str) -> None:
        self._exchange = HttpExchange(address)
        self._where = f'XML-RPC {method} at {address[0]}:{address[1]}'
        self._method = method

    def end(self) -> None:
        """Cancel it, from another thread."""
        self._exchange.end()

    def close(self) -> None:
        """Release its resources after it has ended."""
        self._exchange.close()

    def run(self, timeout: float) -> Any:
        """Return the result; raise LinkError or UnansweredError."""
        body = xmlrpc.client.dumps((), self._method).encode()
        try:
            return _result(self._exchange.run(
                'POST', '/', body, 'text/xml', deadline=time.monotonic() + timeout))
        except xmlrpc.client.Fault as error:
            raise LinkError(f'{self._where}: {error.faultString}') from error
        except (EndedError, OSError, NoHttpError, _NoXmlRpcError) as error:
            raise self._exchange.failure(self._where, error, timeout) from error
        except Exception as error:
            # Python's parser raises various exceptions: ValueError, TypeError, EOFError.
            raise self._exchange.failure(self._where, _NoXmlRpcError(
                f'the response is not XML-RPC ({error!r})'), timeout) from error


def _result(response: HttpResponse) -> Any:
    """Return the result in an HTTP response. Raises Fault, or any exception if it is invalid."""
    if response.status != _OK:
        raise _NoXmlRpcError(f'HTTP status {response.status} {response.reason}')
    kind = response.content_type or 'text/plain'
    encoding = response.headers.get('content-encoding', 'identity')
    if kind != 'text/xml' or encoding != 'identity':
        raise _NoXmlRpcError(
            f'the response is not XML-RPC: the content is {kind}, encoding '
            f'{response.headers.get("content-encoding", "none")}; expected plain text/xml')
    # Decoded here, so the encoding it declares does not matter.
    text = response.body.decode('utf-8')
    if '<!' in text:
        # Entities can grow without limit, and XML-RPC has none.
        raise _NoXmlRpcError('the response is not XML-RPC: it declares a document type')
    (result,), _ = xmlrpc.client.loads(text)
    return result
