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

"""
The door of the live view: a WebSocket server behind it is reached by viewers only.

A request for no WebSocket gets the page that shows the flight, or a refusal. The page is in
memory: no file is opened by a name of a request.

Any page in a browser may open a WebSocket to this computer, and a browser says which page it is
(Origin). The Foxglove SDK does not look at that. So its server gets an address that nobody
guesses, and what comes to the port that everybody knows is passed on only for viewers.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import CancelledError
from contextlib import suppress
import re
import secrets
import threading

# Pages that are viewers: Foxglove's, Lichtblick's, and any from this computer. Not "null": a frame
# of any page can be that.
_VIEWERS = re.compile(
    r'(https://([a-z0-9-]+\.)*foxglove\.dev|https://lichtblick-suite\.github\.io'
    r'|https?://(localhost|127\.0\.0\.1|\[::1\])(:\d{1,5})?|file://.*)', re.IGNORECASE)
_LONGEST_HEAD = 8 * 1024
# Seconds until the head is there, and connections at a time.
_PATIENCE = 5.0
# Seconds for what was said before the end.
_FAREWELL = 1.0
# Bytes of what was passed on that an expected text may have begun in.
_TAIL = 64
_MOST = 16
_BLOCK = 64 * 1024
_UPGRADE = re.compile(rb'\r\nupgrade[ \t]*:[ \t]*websocket[ \t]*\r\n', re.IGNORECASE)
_REQUEST = re.compile(rb'([A-Z]{1,16}) (/[!-~]*) HTTP/1\.[01]')
# What the page may do: run its own script, and connect to this computer. 'self' is of HTTP only
# in some browsers, and a forwarded port is another one.
_POLICY = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:; "
    "connect-src 'self' ws://localhost:* ws://127.0.0.1:*; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'")


def hidden_address() -> str:
    """Return a loopback address that nobody guesses."""
    return '.'.join(map(str, (127, *(1 + secrets.randbelow(254) for _ in range(3)))))


def is_viewer(head: bytes) -> bool:
    """Return whether a request is of a viewer: without an Origin, or with that of one."""
    origins = re.findall(rb'\r\norigin[ \t]*:[ \t]*([^\r\n]*?)[ \t]*(?=\r\n)', head, re.IGNORECASE)
    return not origins or (
        len(origins) == 1 and bool(_VIEWERS.fullmatch(origins[0].decode('latin-1'))))


def answer(head: bytes, page: bytes) -> bytes:
    """Return what a request gets that wants no WebSocket: the page, or why not."""
    if not is_viewer(head):
        return _response('403 Forbidden', b'The live view is for viewers on this computer.\n')
    request = _REQUEST.fullmatch(head.partition(b'\r\n')[0])
    if request is None:
        return _response('400 Bad Request', b'This is no request of HTTP/1.1.\n')
    method, target = request.groups()
    if method != b'GET':
        return _response('405 Method Not Allowed', b'There is nothing but GET.\n', 'Allow: GET')
    if target.partition(b'?')[0] != b'/':
        return _response('404 Not Found', b'There is one page, at /.\n')
    return _response('200 OK', page, f'Content-Security-Policy: {_POLICY}', kind='text/html')


def _response(status: str, body: bytes, *more: str, kind: str = 'text/plain') -> bytes:
    return '\r\n'.join((
        f'HTTP/1.1 {status}', f'Content-Type: {kind}; charset=utf-8',
        f'Content-Length: {len(body)}', 'Cache-Control: no-store',
        'X-Content-Type-Options: nosniff', 'Connection: close', *more, '', '')).encode() + body


class LiveGate:
    """
    Listens at a port of this computer, in a thread of its own. Raises OSError.

    ``behind`` is the WebSocket server, and ``page`` what browsers get.
    """

    def __init__(self, port: int, behind: tuple[str, int], page: bytes) -> None:
        self._behind, self._page = behind, page
        self._tasks: set[asyncio.Task[None]] = set()
        self._expected: re.Pattern[bytes] | None = None
        # Of each viewer, whether what is expected has been passed on to it.
        self._passed: set[asyncio.Event] = set()
        self._loop = asyncio.new_event_loop()
        try:
            self._server = self._loop.run_until_complete(
                asyncio.start_server(self._take, '127.0.0.1', port, limit=_LONGEST_HEAD))
        except (OSError, OverflowError):
            self._loop.close()
            raise
        self.port: int = self._server.sockets[0].getsockname()[1]
        self._thread = threading.Thread(
            target=self._loop.run_forever, name='live gate', daemon=True)
        self._thread.start()

    def expect(self, text: re.Pattern[bytes]) -> None:
        """Look from now on whether such a text, of 64 bytes at most, is passed to viewers."""
        self._expected = text

    def wait_passed(self) -> None:
        """Wait until each viewer was passed what is expected, or a second has gone by."""
        asyncio.run_coroutine_threadsafe(self._wait_passed(), self._loop).result()

    async def _wait_passed(self) -> None:
        waiting = [asyncio.ensure_future(one.wait()) for one in self._passed]
        if waiting:
            _, late = await asyncio.wait(waiting, timeout=_FAREWELL)
            for one in late:
                one.cancel()

    def close(self) -> None:
        """Close all connections; what is behind ends before, so that its last words arrive."""
        with suppress(CancelledError):
            asyncio.run_coroutine_threadsafe(self._end(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _end(self) -> None:
        self._server.close()
        if tasks := [*self._tasks]:
            await asyncio.wait(tasks, timeout=_FAREWELL)
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _take(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            if len(self._tasks) <= _MOST:
                await self._pass(reader, writer)
        except (OSError, EOFError, TimeoutError, asyncio.LimitOverrunError,
                asyncio.CancelledError):
            # Whoever left, was too slow or said too much; or the view ends.
            pass
        finally:
            self._tasks.discard(task)
            writer.close()

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await asyncio.wait_for(reader.readuntil(b'\r\n\r\n'), _PATIENCE)
        if not _UPGRADE.search(head) or not is_viewer(head):
            await self._answer(head, writer)
            return
        inner_reader, inner_writer = await asyncio.open_connection(*self._behind)
        passed = asyncio.Event()
        self._passed.add(passed)
        try:
            inner_writer.write(head)
            ways = [asyncio.ensure_future(way) for way in (
                _copy(reader, inner_writer),
                _copy(inner_reader, writer, lambda data: self._look(data, passed)))]
            try:
                # Whoever ends it, ends both; but a viewer gets what was said before the end.
                await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
                if ways[0].done() and ways[0].exception() is not None:
                    await asyncio.wait(ways[1:], timeout=_FAREWELL)
            finally:
                for way in ways:
                    way.cancel()
                await asyncio.gather(*ways, return_exceptions=True)
        finally:
            passed.set()
            self._passed.discard(passed)
            inner_writer.close()

    async def _answer(self, head: bytes, writer: asyncio.StreamWriter) -> None:
        writer.write(answer(head, self._page))
        writer.close()
        # All of it is gone before this connection counts no more; who does not read is left.
        try:
            await asyncio.wait_for(writer.wait_closed(), _PATIENCE)
        except TimeoutError:
            writer.transport.abort()

    def _look(self, data: bytes, passed: asyncio.Event) -> None:
        if self._expected is not None and self._expected.search(data):
            passed.set()


async def _copy(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter,
    look: Callable[[bytes], None] = lambda data: None,
) -> None:
    """Pass everything on, and show it to ``look``, with the end of what came before."""
    before = b''
    while data := await reader.read(_BLOCK):
        writer.write(data)
        await writer.drain()
        look(before + data)
        before = data[-_TAIL:]
