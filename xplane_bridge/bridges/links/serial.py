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

"""The thread between a session and a serial port, which may disappear and return."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
import contextlib
from dataclasses import dataclass, replace
import errno
import math
import os
import select
import threading
import time
from typing import Any, Protocol

from xplane_bridge.bridges.links.loop import SessionLoop
from xplane_bridge.bridges.links.ports import (
    check_port,
    LAST_WRITE,
    open_port,
    OtherEndClosedError,
    Port,
    WRITE_TIMEOUT,
)
from xplane_bridge.bridges.links.session import LinkSession

_CHANNEL = 'serial'
# Seconds between attempts to open a missing port.
_FIRST_RETRY = 0.5
_LONGEST_RETRY = 5.0
# A port with this many bytes pending is stuck, like one that accepts nothing, and is reopened: it
# accepts them more slowly than they arise. 6 s at 115,200 baud.
_MOST_PENDING = 65536
# How long close() waits for a thread that waits for a peer.
_LAST_WAIT = 0.5
_LONGEST_SLEEP = 60.0


class SerialSession(LinkSession, Protocol):
    """A session over one serial port, channel 'serial', that may appear and disappear."""

    def opened(self, now: float) -> None:
        """Handle the port being opened or reopened: everything before is lost."""

    def lost(self, now: float) -> None:
        """Handle the loss of the port."""


@dataclass(frozen=True, slots=True)
class PortChanged:
    """The port has been opened or lost, or cannot be opened for a new reason."""

    is_open: bool
    text: str


@dataclass(slots=True)
class SerialCounters:
    """
    Counters of a link: bytes received and sent, and how often its port was opened and lost.

    stuck counts how often it was closed because it accepted no bytes, or too few.
    """

    received: int = 0
    sent: int = 0
    opened: int = 0
    lost: int = 0
    stuck: int = 0


class SerialLoop(SessionLoop):
    """
    Run a session over one serial port: a thread that reads, polls and delivers events.

    ``port`` and ``baud`` are those of open_port(). A port that is missing, busy or unplugged is
    retried after 0.5 s, then with increasing delays up to 5 s; the session is notified by opened()
    and lost(). ``on_event(event, stamp_ns)`` runs in the loop's thread, outside the lock, with the
    time at which the bytes that completed the event were read, or the current time for an event
    caused by time; PortChanged is delivered the same way. close() delivers the remaining ones
    itself. ``on_failure(error)`` is called for errors in the callbacks or in the session; they do
    not end the loop. With ``tells_closed`` the session is told lost() and opened() when the
    program at the other end of our own pseudo-terminal is gone.

    Other threads must hold ``lock`` to call the session, or use ``call``: neither waits for the
    port. Raises ValueError if the port or the baud rate is invalid.
    """

    def __init__(
        self,
        session: SerialSession,
        port: str,
        baud: int,
        on_event: Callable[[Any, int], None],
        on_failure: Callable[[Exception], None],
        *,
        name: str = 'serial',
        tells_closed: bool = False,
    ) -> None:
        check_port(port, baud)
        super().__init__(session, on_event, on_failure, name)
        self.status = PortChanged(False, f'{port}: not opened yet')
        self._session: SerialSession = session
        self._name = port
        self._baud = baud
        self._tells_closed = tells_closed
        self._counters = SerialCounters()
        self._port: Port | None = None
        self._failed: OSError | None = None
        self._pending = bytearray()
        self._moved_at = 0.0
        self._retry = _FIRST_RETRY
        self._retry_at = 0.0
        # What _sleep() waits for, besides a wake-up.
        self._poller = select.poll()
        self._watched: tuple[int | None, int] = -1, 0
        # Whether the thread is in a call whose duration depends on a peer.
        self._is_at_peer = False

    @property
    def is_open(self) -> bool:
        """Return whether the port is open."""
        return self.status.is_open

    @property
    def path(self) -> str:
        """Return where the other end finds the port; for 'pty:' known once it is open."""
        with self.lock:
            return self._name if self._port is None else self._port.path

    def counters(self) -> SerialCounters:
        """Return a copy of the counters."""
        with self.lock:
            return replace(self._counters)

    # Called with the lock held.

    def _transmit(self, now: float) -> Sequence[Exception]:
        """Send what the session has to send, as far as the port accepts it."""
        failures: list[Exception] = []
        outgoing = b''.join(
            data for _, data in self._poll(now, failures) if data is not None)
        if self._port is None:
            return failures
        if not self._pending:
            self._moved_at = now
        self._pending += outgoing
        if len(self._pending) > _MOST_PENDING and self._failed is None:
            self._counters.stuck += 1
            self._failed = OSError(
                errno.ENOBUFS, f'stuck: more than {_MOST_PENDING} bytes are waiting to be sent')
        if self._port.descriptor is not None:
            self._flush(self._port, now)
        # A port failure closes it, in the loop's thread.
        return failures

    def _has_work(self) -> bool:
        return super()._has_work() or bool(self._pending) or self._failed is not None

    def _disconnect(self) -> None:
        self._send_last()
        if self._port is not None:
            self._port.close(discard=bool(self._pending))
            self._port = None
        self.status = PortChanged(False, f'{self._name}: closed')

    def _flush(self, port: Port, now: float) -> None:
        """Write pending bytes to a non-blocking port."""
        if not self._pending or self._failed is not None:
            return
        try:
            size = port.write(bytes(self._pending))
        except OSError as error:
            self._failed = error
            return
        self._count_sent(size, now)

    def _count_sent(self, size: int, now: float) -> None:
        if size:
            del self._pending[:size]
            self._counters.sent += size
            self._moved_at = now

    def _send_last(self) -> None:
        """Wait briefly until the last bytes have been sent."""
        port = self._port
        if port is None or self._thread.is_alive():
            return
        if port.descriptor is not None:
            self._write_last(port)
            return
        # Such a port may block a write until it is closed.
        writer = threading.Thread(target=self._write_last, args=(port,), daemon=True)
        writer.start()
        writer.join(LAST_WRITE)

    def _write_last(self, port: Port) -> None:
        end = time.monotonic() + LAST_WRITE
        try:
            while self._pending and self._failed is None and time.monotonic() < end:
                if port.descriptor is not None:
                    poller = select.poll()
                    poller.register(port.descriptor, select.POLLOUT)
                    poller.poll(LAST_WRITE * 1000.0)
                self._count_sent(port.write(bytes(self._pending)), end)
        except OSError as error:
            self._failed = error

    def _join(self) -> None:
        """
        Wait until the thread has ended, but not for a peer.

        A thread that is opening a port closes it when done; a blocked write ends when the port is
        closed.
        """
        self._thread.join(_LAST_WAIT)
        if not self._is_at_peer:
            super()._join()

    # In the loop's thread.

    def _run(self) -> None:
        while self._running:
            if self._port is None and time.monotonic() >= self._retry_at:
                self._open()
            with self.lock:
                if not self._running:
                    return
                now = time.monotonic()
                failures: Sequence[Exception] = ()
                events: Sequence[Any] = ()
                if self._pending or not self._is_at_rest(now):
                    failures = self._transmit(now)
                    events = self._take_events()
                until = self._next_deadline()
                self._sleeping_until = math.inf if until is None else until
                port = self._port
                pending = bool(self._pending)
                failed = self._failed
                if pending and failed is None and now >= self._moved_at + WRITE_TIMEOUT:
                    self._counters.stuck += 1
                    failed = OSError(errno.ETIMEDOUT, 'stuck: it accepts no more bytes')
            if events or failures:
                self._hand_out(events, time.time_ns(), failures)
            if port is not None and failed is None:
                failed = self._wait_and_read(port, pending)
            elif port is None:
                self._sleep(min(self._sleeping_until, self._retry_at))
            if failed is not None and self._running:
                self._lose(failed)

    def _open(self) -> None:
        """Try to open the port, and notify the session if that succeeds."""
        try:
            with self._at_peer():
                port = open_port(self._name, self._baud)
        except Exception as error:
            # Besides LinkError, pyserial's URL handlers raise various exceptions.
            if not self._running:
                return
            self._retry_at = time.monotonic() + self._retry
            self._retry = min(_LONGEST_RETRY, 2.0 * self._retry)
            self._say(False, str(error))
            return
        self._retry = _FIRST_RETRY
        failures: list[Exception] = []
        with self.lock:
            if not self._running:
                port.close(discard=True)
                return
            self._port = port
            self._failed = None
            self._pending.clear()
            self._counters.opened += 1
            self._try(failures, self._session.opened, time.monotonic())
        self._hand_out((), 0, failures)
        self._say(True, f'{port.path}: open')

    @contextlib.contextmanager
    def _at_peer(self) -> Iterator[None]:
        """Mark a call whose duration depends on a peer."""
        self._is_at_peer = True
        try:
            yield
        finally:
            self._is_at_peer = False

    def _lose(self, error: OSError) -> None:
        """Close a port that has failed, and notify the session."""
        failures: list[Exception] = []
        with self.lock:
            port, self._port = self._port, None
            self._pending.clear()
            self._failed = None
            self._counters.lost += 1
            self._try(failures, self._session.lost, time.monotonic())
        self._hand_out((), 0, failures)
        if port is not None:
            port.close(discard=True)
        self._retry_at = time.monotonic() + self._retry
        self._say(False, f'{self._name}: lost ({error.strerror or error})')

    def _tell_closed(self) -> None:
        """Notify the session that the program at the other end is gone; another may open it."""
        failures: list[Exception] = []
        with self.lock:
            self._pending.clear()
            for tell in (self._session.lost, self._session.opened):
                self._try(failures, tell, time.monotonic())
        self._hand_out((), 0, failures)

    def _say(self, is_open: bool, text: str) -> None:
        status = PortChanged(is_open, text)
        if status != self.status:
            self.status = status
            self._hand_out([status], time.time_ns())

    def _wait_and_read(self, port: Port, pending: bool) -> OSError | None:
        """Wait for bytes or a deadline, and pass bytes to the session; return what failed."""
        until = self._sleeping_until
        descriptor = port.descriptor
        try:
            if descriptor is None:
                with self.lock:
                    outgoing = bytes(self._pending)
                if outgoing:
                    with self._at_peer():
                        size = port.write(outgoing)
                    with self.lock:
                        self._count_sent(size, time.monotonic())
            else:
                wanted = select.POLLIN | (select.POLLOUT if pending else 0)
                if pending:
                    until = min(until, self._moved_at + WRITE_TIMEOUT)
                if not self._sleep(until, descriptor, wanted) & ~select.POLLOUT:
                    return None
            data = port.read()
        except BlockingIOError:
            return None
        except OtherEndClosedError:
            if self._tells_closed:
                self._tell_closed()
            return None
        except OSError as error:
            return error
        stamp_ns = time.time_ns()
        if data:
            self._take(data, stamp_ns)
        return None

    def _take(self, data: bytes, stamp_ns: int) -> None:
        failures: list[Exception] = []
        with self.lock:
            if not self._running:
                return
            self._counters.received += len(data)
            events = self._receive(_CHANNEL, data, None, failures)
        self._hand_out(events, stamp_ns, failures)

    def _sleep(self, until: float, descriptor: int | None = None, wanted: int = 0) -> int:
        """Wait until a time, a wake-up or the descriptor; return the latter's ready events."""
        watched = descriptor, wanted
        if watched != self._watched:
            # A port that is opened again has the same number, which is all that is kept of it.
            self._watched = watched
            self._poller = select.poll()
            self._poller.register(self._wake, select.POLLIN)
            if descriptor is not None:
                self._poller.register(descriptor, wanted)
        timeout = min(max(until - time.monotonic(), 0.0), _LONGEST_SLEEP)
        # Rounded up, or the last fraction of a millisecond would be a busy wait.
        found = 0
        for ready, events in self._poller.poll(math.ceil(timeout * 1000.0)):
            if ready == descriptor:
                found = events
            else:
                os.eventfd_read(self._wake)
        return found
