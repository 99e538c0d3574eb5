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


"""Links of a WebSocket: texts over one connection, and questions that are answered over it."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
import os
import select
import socket
import threading
import time
from typing import Any, Protocol
import weakref

from xplane_bridge.bridges.links.http import UnansweredError
from xplane_bridge.bridges.links.udp import LinkError
from xplane_bridge.bridges.links.websocket_frames import (
    check_installed,
    LARGEST_MESSAGE,
    WebSocketConnection,
)

_BLOCK = 65536
_MOST_UNSENT, _LARGEST_UNSENT = 256, 8 << 20
"""Texts, and their characters, that the peer has not taken: then the connection is closed."""

_SENT_WITHIN = 5.0
_SILENCE = 20.0
"""Seconds without a byte after which the peer is pinged, and again after which it has gone."""

_JOIN_TIMEOUT = 1.0


class TextLine:
    """
    Texts over one connection, for either end.

    carry() is a thread's: it hands what is heard to ``on_text``, as long as ``may_read()``, and
    calls ``changed`` when the line opens and when it has ended. say() and end() are anybody's.
    ``ended`` is why it has ended, '' until then.
    """

    def __init__(
        self, on_text: Callable[[str], None], *, may_read: Callable[[], bool] = lambda: True,
        changed: Callable[[], None] = lambda: None,
    ) -> None:
        self.is_open = False
        self.ended = ''
        self._on_text = on_text
        self._may_read = may_read
        self._changed = changed
        self._ending = ''
        self._unsent: deque[str] = deque()
        self._unsent_size = 0
        self._lock = threading.Lock()
        self._wake = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        weakref.finalize(self, os.close, self._wake)

    def say(self, text: str) -> None:
        """Send a text, unless it is ending; a peer that takes none any more is left."""
        with self._lock:
            if self._ending or self.ended:
                return
            self._unsent.append(text)
            self._unsent_size += len(text)
            most = f'{_MOST_UNSENT} messages' if len(self._unsent) > _MOST_UNSENT else (
                f'{_LARGEST_UNSENT} characters' if self._unsent_size > _LARGEST_UNSENT else '')
            if most:
                self._unsent.clear()
                self._ending = f'{most} were not taken'
        os.eventfd_write(self._wake, 1)

    def end(self, why: str = 'closed here') -> None:
        """Close it."""
        self._ending = why
        os.eventfd_write(self._wake, 1)

    def carry(self, connection: socket.socket, frames: WebSocketConnection) -> None:
        """Carry texts until either end closes, or the peer is silent for too long."""
        why = ''
        try:
            connection.settimeout(_SENT_WITHIN)
            why = self._carry(connection, frames)
        except OSError as error:
            why = error.strerror or str(error)
        finally:
            self.ended = why or 'closed'
            self._changed()

    def _carry(self, connection: socket.socket, frames: WebSocketConnection) -> str:
        heard, is_asked = time.monotonic(), False
        while True:
            if frames.is_open and not self.is_open:
                self.is_open = True
                self._changed()
            if self.is_open:
                self._speak(frames)
            ending = self._ending
            if ending:
                frames.close()
            connection.sendall(frames.take())
            if frames.ended:
                return ending or frames.ended
            if self._wait(connection, heard + _SILENCE - time.monotonic()):
                heard, is_asked = time.monotonic(), False
                for text in frames.receive(connection.recv(_BLOCK)):
                    self._on_text(text)
            elif time.monotonic() >= heard + _SILENCE:
                if is_asked:
                    return f'silent for {2.0 * _SILENCE:g} s'
                frames.ping()
                heard, is_asked = time.monotonic(), True

    def _speak(self, frames: WebSocketConnection) -> None:
        with self._lock:
            texts, self._unsent, self._unsent_size = self._unsent, deque(), 0
        for text in texts:
            frames.send(text)

    def _wait(self, connection: socket.socket, seconds: float) -> bool:
        """Wait until there is something to say or to read; return whether to read."""
        poller = select.poll()
        poller.register(self._wake, select.POLLIN)
        if self._may_read():
            poller.register(connection, select.POLLIN)
        ready = {number for number, _ in poller.poll(max(seconds, 0.0) * 1000.0)}
        if self._wake in ready:
            os.eventfd_read(self._wake)
        return connection.fileno() in ready


class Question(Protocol):
    """What is asked."""

    @property
    def path(self) -> str:
        """Return where it is, such as the WebSocket."""

    @property
    def body(self) -> bytes:
        """Return the content."""

    @property
    def connection(self) -> int:
        """Return the session's ``connection`` for which it makes sense."""


class SocketSession(Protocol):
    """What is said and heard; called under one lock."""

    @property
    def connection(self) -> int:
        """Return how many connections were lost until now."""

    def ask(self, body: bytes) -> tuple[int, str]:
        """Return the number of a question, and its text."""

    def answer(self, number: int) -> Any:
        """Return what was answered to a question, None for nothing yet."""

    def forget(self, number: int) -> None:
        """Forget a question and its answer."""

    def receive(self, text: str, now: float) -> Sequence[Any]:
        """Return what a text from the peer brings, whatever it is."""

    def lost(self) -> None:
        """Note that the connection has ended."""


class WebSocket:
    """
    Questions and their answers over one WebSocket to ``address``, which opens with the first one.

    ``on_event`` is given what the session makes of all that comes, and ``on_lost`` why a
    connection that was open has ended; both in the connection's thread.
    """

    def __init__(
        self, address: tuple[str, int], what: str, session: SocketSession, *,
        on_event: Callable[[Any], None], on_lost: Callable[[str], None],
        largest: int = LARGEST_MESSAGE,
    ) -> None:
        self.ends = 0
        """How often end() was called: what was begun before is cancelled."""

        self._address = address
        self._what = f'WebSocket of {what} at {address[0]}:{address[1]}'
        self._session = session
        self._on_event = on_event
        self._on_lost = on_lost
        self._largest = largest
        self._changed = threading.Condition()
        self._line: TextLine | None = None
        self._thread: threading.Thread | None = None

    @property
    def is_open(self) -> bool:
        """Return whether there is a connection."""
        line = self._line
        return line is not None and line.is_open

    def ask(self, request: Question, deadline: float, ends: int) -> Any:
        """
        Return the answer to a question, by ``deadline`` (of time.monotonic).

        ``ends`` is what ``ends`` was when it began. Raises LinkError, or UnansweredError if the
        question was sent; then the connection is closed, so that nobody waits for what may come of
        it, and a command is not held that nobody knows of.
        """
        check_installed()
        line = self._opened(request.path, deadline, ends)
        with self._changed:
            if self._line is not line or self.ends != ends:
                raise LinkError(self._failure(line, ends))
            if request.connection != self._session.connection:
                raise LinkError(f'{self._what}: the connection was lost meanwhile')
            number, text = self._session.ask(request.body)
            line.say(text)
            self._wait(line, deadline, ends, lambda: self._session.answer(number) is not None)
            answer = self._session.answer(number)
            self._session.forget(number)
        if answer is None:
            failure = self._failure(line, ends)
            line.end('a question was not answered')
            with self._changed:
                # The next question is for a new connection.
                self._changed.wait_for(lambda: self._line is not line, _JOIN_TIMEOUT)
            raise UnansweredError(failure)
        return answer

    def end(self) -> None:
        """Close the connection, and cancel what is asked. New questions may follow."""
        with self._changed:
            self.ends += 1
            line, thread = self._line, self._thread
            if line is not None:
                line.end()
                self._drop()
            self._changed.notify_all()
        if thread is not None and thread is not threading.current_thread():
            thread.join(_JOIN_TIMEOUT)

    def _opened(self, path: str, deadline: float, ends: int) -> TextLine:
        """Return an open line, a new one if need be. Raises LinkError."""
        with self._changed:
            line = self._line or self._begin(path, deadline - time.monotonic())
            self._wait(line, deadline, ends, lambda: line.is_open)
            if line.is_open and self._line is line and self.ends == ends:
                return line
            line.end()
        raise LinkError(self._failure(line, ends))

    def _begin(self, path: str, timeout: float) -> TextLine:
        line: TextLine = TextLine(
            lambda text: self._on_text(line, text), changed=self._tell_changed)
        self._line = line
        self._thread = threading.Thread(
            target=self._run, args=(line, path, timeout), name='websocket', daemon=True)
        self._thread.start()
        return line

    def _wait(
        self, line: TextLine, deadline: float, ends: int, is_done: Callable[[], bool]
    ) -> None:
        """Wait until it is done, cannot be done any more, or is cancelled."""
        while not (is_done() or self._line is not line or self.ends != ends):
            left = deadline - time.monotonic()
            if left <= 0.0:
                break
            self._changed.wait(left)

    def _failure(self, line: TextLine, ends: int) -> str:
        if self.ends != ends:
            return f'{self._what}: cancelled before it was answered'
        return f'{self._what}: {line.ended or "timed out"}'

    def _drop(self) -> None:
        """Forget the connection: the next question opens another one."""
        self._line = self._thread = None
        self._session.lost()

    # In the thread of the connection.

    def _run(self, line: TextLine, path: str, timeout: float) -> None:
        host, port = self._address
        try:
            with socket.create_connection(self._address, max(timeout, 0.01)) as connection:
                line.carry(
                    connection, WebSocketConnection.client(f'{host}:{port}', path, self._largest))
        except OSError as error:
            line.ended = error.strerror or str(error)
        with self._changed:
            is_left = self._line is not line
            if not is_left:
                self._drop()
            self._changed.notify_all()
        if line.is_open and not is_left:
            self._on_lost(f'{self._what}: {line.ended}')

    def _on_text(self, line: TextLine, text: str) -> None:
        with self._changed:
            if self._line is not line:
                return
            events = self._session.receive(text, time.monotonic())
            self._changed.notify_all()
        for event in events:
            self._on_event(event)

    def _tell_changed(self) -> None:
        with self._changed:
            self._changed.notify_all()
