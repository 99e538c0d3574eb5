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


"""Conversations with one HTTP server, one after the other, in a thread of their own."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator
from dataclasses import dataclass
import threading
import time
from typing import Any, Protocol, TypeAlias

from xplane_bridge.bridges.links.http import EndedError, HttpExchange, LARGEST, NoHttpError
from xplane_bridge.bridges.links.udp import LinkError
from xplane_bridge.bridges.links.websocket import Question, WebSocket

SOCKET = 'WEBSOCKET'
"""In place of an HTTP method: what goes over the server's WebSocket."""

# Conversations that wait for their turn.
_MOST = 32
_JOIN_TIMEOUT = 1.0


class HttpRequest(Question, Protocol):
    """What is asked; its path has its query, if any."""

    @property
    def method(self) -> str:
        """Return the HTTP method."""


Steps: TypeAlias = Generator[HttpRequest, Any, Any]
Done: TypeAlias = Callable[[Any, Exception | None], None]
# Given the time, returns a conversation that is due and who is told, and when to call it again.
Due: TypeAlias = Callable[[float], tuple[tuple[Steps, Done] | None, float | None]]


@dataclass(frozen=True, slots=True)
class _Conversation:
    steps: Steps
    timeout: float
    done: Done


class HttpQueue:
    """
    Conversations with the server at ``address`` (its IPv4 address and port).

    A conversation is a generator that yields requests and is sent their responses. Each request
    may take its conversation's timeout, has its own connection, and a response of at most
    ``largest`` bytes. ``due`` is called in the thread whenever nothing is waiting; each request of
    what it returns may take ``due_timeout``. The thread starts with begin() or the first
    conversation; stop() cancels all, end() waits for that. A request with the method SOCKET goes
    over ``web_socket``, which end() closes.
    """

    def __init__(
        self, address: tuple[str, int], what: str, content_type: str, *, due: Due,
        due_timeout: float, largest: int = LARGEST, web_socket: WebSocket | None = None,
    ) -> None:
        self._address = address
        self._what = f'{what} at {address[0]}:{address[1]}'
        self._content_type = content_type
        self._due = due
        self._due_timeout = due_timeout
        self._largest = largest
        self._web_socket = web_socket
        self._waiting: deque[_Conversation] = deque()
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._exchange: HttpExchange | None = None
        self._ending = False

    def start(self, steps: Steps, timeout: float, done: Done) -> None:
        """
        Begin a conversation when its turn comes; ``done(result, error)`` is called in the thread.

        Raises LinkError if too many are waiting, or between stop() and end().
        """
        with self._changed:
            if self._ending and self._thread is not None:
                raise LinkError(f'{self._what}: it is being closed')
            if len(self._waiting) >= _MOST:
                raise LinkError(f'{self._what}: {_MOST} requests are waiting; try again later')
            self._waiting.append(_Conversation(steps, timeout, done))
        self.begin()

    def begin(self) -> None:
        """Have ``due`` called, from now on whenever nothing is waiting."""
        with self._changed:
            if self._thread is None:
                self._ending = False
                self._thread = threading.Thread(target=self._run, name='http', daemon=True)
                self._thread.start()
            self._changed.notify()

    def wake(self) -> None:
        """Have ``due`` called, unless it has ended: something may be due earlier than it said."""
        with self._changed:
            self._changed.notify()

    def stop(self) -> None:
        """Cancel the conversations that wait, and what is asked other than by the WebSocket."""
        with self._changed:
            self._ending = True
            self.interrupt()

    def interrupt(self) -> None:
        """Cancel what is being asked other than by the WebSocket; all else goes on."""
        with self._changed:
            if self._exchange is not None:
                self._exchange.end()
            self._changed.notify()

    def end(self) -> None:
        """Cancel the conversations that wait or are under way. New ones may follow."""
        self.stop()
        if self._web_socket is not None:
            self._web_socket.end()
        with self._changed:
            thread, self._thread = self._thread, None
        if thread is not None:
            thread.join(_JOIN_TIMEOUT)

    def _run(self) -> None:
        while (conversation := self._next()) is not None:
            self._converse(conversation)
        with self._changed:
            left, self._waiting = self._waiting, deque()
        for conversation in left:
            conversation.done(None, LinkError(f'{self._what}: cancelled before it was asked'))

    def _next(self) -> _Conversation | None:
        """Wait for the next conversation; return None at the end."""
        with self._changed:
            while not self._ending:
                if self._waiting:
                    return self._waiting.popleft()
                now = time.monotonic()
                due, again = self._due(now)
                if due is not None:
                    return _Conversation(due[0], self._due_timeout, due[1])
                self._changed.wait(None if again is None else max(again - now, 0.0))
        return None

    def _converse(self, conversation: _Conversation) -> None:
        result, failed = None, None
        try:
            request = next(conversation.steps)
            while True:
                try:
                    response = self._ask(request, conversation.timeout)
                except LinkError as error:
                    # A conversation may have something to undo.
                    request = conversation.steps.throw(error)
                else:
                    request = conversation.steps.send(response)
        except StopIteration as end:
            result = end.value
        except Exception as error:
            failed = error
        conversation.done(result, failed)

    def _ask(self, request: HttpRequest, timeout: float) -> Any:
        """Return the response. Raises LinkError, and UnansweredError if it may have been heard."""
        deadline = time.monotonic() + timeout
        with self._changed:
            if self._ending:
                raise LinkError(f'{self._what}: cancelled before it was asked')
            web_socket = self._web_socket if request.method == SOCKET else None
            if web_socket is None:
                exchange = self._exchange = HttpExchange(self._address)
            else:
                ends = web_socket.ends
        if web_socket is not None:
            return web_socket.ask(request, deadline, ends)
        try:
            return exchange.run(
                request.method, request.path, request.body, self._content_type,
                deadline=deadline, largest=self._largest)
        except (EndedError, OSError, NoHttpError) as error:
            raise exchange.failure(self._what, error, timeout) from error
        finally:
            with self._changed:
                self._exchange = None
                exchange.close()
