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

"""The thread between a session and its sockets, and what all links have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
import math
import os
import select
import threading
import time
from typing import Any, TypeAlias, TypeVar

from xplane_bridge.bridges.links.peer import LearntPort
from xplane_bridge.bridges.links.session import Address, LinkSession, SessionError, UdpSession
from xplane_bridge.bridges.links.udp import SocketCounters, UdpSocket

# How long close() waits for the thread. It only ever blocks in poll() or in a publish.
_JOIN_TIMEOUT = 5.0
_LONGEST_SLEEP = 60.0
# The same after something was received: a command often follows, and brings a deadline (of its
# reply) that is later than this. Then the thread need not be woken for it, which costs as much as
# to send the command.
_SHORT_SLEEP = 0.02
# How long a session whose poll() has raised is left alone, in seconds.
_AFTER_FAILURE = 0.1

# Consecutive datagrams of one socket, from the peer and from strangers each, before the other
# sockets and poll() get their turn.
_BURST = 64


_T = TypeVar('_T')

Tap: TypeAlias = Callable[[bytes, bool, Address, Address, int], None]
"""Told of a datagram, whether it was sent, the own and the other address, and when (ns)."""


class SessionLoop(ABC):
    """
    A thread that runs a session, and that other threads can call into.

    ``on_event(event, stamp_ns)`` and ``on_failure(error)`` run in the loop's thread, outside the
    lock; events caused by a call are delivered there too, and remaining ones by close(). What the
    session raises there is a failure, a SessionError, and does not end the thread.

    Other threads must hold ``lock`` to call the session, or use ``call``.
    """

    def __init__(
        self,
        session: LinkSession,
        on_event: Callable[[Any, int], None],
        on_failure: Callable[[Exception], None],
        name: str,
    ) -> None:
        self.lock = threading.Lock()
        self._polled = threading.Condition(self.lock)
        # How many threads wait until the session has been polled.
        self._waiters = 0
        self._session = session
        self._on_event = on_event
        self._on_failure = on_failure
        # Events caused by calls, to be delivered by the loop's thread.
        self._waiting: list[Any] = []
        self._wake = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        self._running = True
        self._watches = False
        # The thread did not end in time: there is nobody left to notify.
        self._abandoned = False
        self._sleeping_until = 0.0
        # When poll() last raised something, None if the last call did not.
        self._failed_at: float | None = None
        # How many calls of the session have raised in a row, by name; those that returned are not
        # here.
        self._raised: dict[str, int] = {}
        self._thread = threading.Thread(target=self._main, name=name, daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def close(self) -> None:
        """Stop and join the thread, send what the session still has to send, close the link."""
        with self.lock:
            if not self._running:
                return
            self._running = False
            os.eventfd_write(self._wake, 1)
        if self._thread.is_alive():
            self._join()
        with self.lock:
            failures = self._transmit(self._now())
            self._disconnect()
            events = self._take_events()
            self._abandoned = self._thread.is_alive()
            if not self._abandoned:
                os.close(self._wake)
        self._hand_out(events, time.time_ns(), failures)

    def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """
        Call the session from another thread, and immediately send what becomes due.

        ``function`` gets ``arguments`` and then the time. Its exceptions reach the caller.
        After close() nothing is sent.
        """
        with self.lock:
            now = self._now()
            result = function(*arguments, now)
            if not self._running:
                return result
            failures = self._transmit(now)
            self._waiting += self._session.expired()
            deadline = self._next_deadline()
            if self._has_work() or (deadline is not None and deadline < self._sleeping_until):
                os.eventfd_write(self._wake, 1)
        self._hand_out((), 0, failures)
        return result

    def wait_for(self, condition: Callable[[], bool], timeout: float) -> bool:
        """
        Wait until the session fulfils ``condition``, checked after each poll(); return whether.

        Not for the loop's own thread, which would wait for itself.
        """
        with self._polled:
            self._waiters += 1
            try:
                return self._polled.wait_for(condition, timeout)
            finally:
                self._waiters -= 1

    def watch_refusals(self, on: bool) -> None:
        """Tell the session, while ``on``, what is refused, if the link can know that."""
        self._watches = on

    def _main(self) -> None:
        try:
            self._run()
        finally:
            with self.lock:
                if self._abandoned:
                    os.close(self._wake)

    def _join(self) -> None:
        """Wait until the thread has ended."""
        self._thread.join(_JOIN_TIMEOUT)

    @abstractmethod
    def _run(self) -> None:
        """Receive, poll and deliver events while ``_running``; in the loop's thread."""

    @abstractmethod
    def counters(self) -> Any:
        """Return the traffic counters."""

    # Called with the lock held.

    def _now(self) -> float:
        """Return the session's time, in seconds."""
        return time.monotonic()

    def _try(
        self, failures: list[Exception], function: Callable[..., _T], *given: Any
    ) -> _T | None:
        """Return what the session's function returns, or None and record what it raised."""
        name = function.__name__
        try:
            result = function(*given)
        except Exception as error:
            failures.append(self._count_raised(name, error))
            return None
        if self._raised:
            self._raised.pop(name, None)
        return result

    def _count_raised(self, name: str, error: Exception) -> SessionError:
        """Count what a function of the session has raised; return it as a failure."""
        in_a_row = self._raised[name] = self._raised.get(name, 0) + 1
        return SessionError(error, in_a_row)

    def _receive(
        self, channel: str, data: bytes, sender: Address | None, failures: list[Exception]
    ) -> Sequence[Any]:
        """Pass a datagram to the session; return its events, or record what went wrong."""
        # As _try() does, without its call for each datagram.
        try:
            events = self._session.receive(channel, data, sender, self._now())
        except Exception as error:
            failures.append(self._count_raised('receive', error))
            return ()
        if self._raised:
            self._raised.pop('receive', None)
        return events

    def _poll(
        self, now: float, failures: list[Exception]
    ) -> Sequence[tuple[str, bytes | None]]:
        """Return what the session has to send, or record what went wrong."""
        outgoing = self._try(failures, self._session.poll, now)
        self._failed_at = now if outgoing is None else None
        if self._waiters:
            self._polled.notify_all()
        return outgoing or ()

    def _next_deadline(self) -> float | None:
        """Return when to poll the session next, None if only data matter."""
        if self._failed_at is not None:
            return self._failed_at + _AFTER_FAILURE
        return self._session.next_deadline()

    def _is_at_rest(self, now: float) -> bool:
        """Return whether the session need not be polled now, and has nothing to tell."""
        if not self._session.rests or self._waiting or self._waiters:
            return False
        deadline = self._next_deadline()
        return deadline is None or now < deadline

    @abstractmethod
    def _transmit(self, now: float) -> Sequence[Exception]:
        """Send what the session has to send; return what went wrong."""

    @abstractmethod
    def _disconnect(self) -> None:
        """Close everything; the thread has ended, unless it is stuck."""

    def _has_work(self) -> bool:
        """Return whether the thread has work other than the session's deadlines."""
        return bool(self._waiting)

    def _take_events(self) -> Sequence[Any]:
        events = self._session.expired()
        if not self._waiting:
            return events
        events = [*self._waiting, *events]
        self._waiting.clear()
        return events

    # Called without the lock.

    def _hand_out(
        self, events: Sequence[Any], stamp_ns: int, failures: Sequence[Exception] = ()
    ) -> None:
        if self._abandoned and threading.current_thread() is self._thread:
            return
        for failure in failures:
            self._on_failure(failure)
        for event in events:
            try:
                self._on_event(event, stamp_ns)
            except Exception as error:
                self._on_failure(error)


class UdpLoop(SessionLoop):
    """
    Run a session over UDP sockets: one thread that receives, polls and delivers events.

    ``open_channel(name)`` creates the socket of a channel on first use. ``channels`` are open from
    the start (beacons). ``port`` learns the port of the peer, for the sockets that should accept
    only that port. ``on_event(event, stamp_ns)`` runs in the loop's thread, outside the lock, with
    the kernel's receive time of the datagram that completed the event, or the current time for
    an event caused by time; close() delivers the remaining ones itself.
    ``on_failure(error)`` is called for errors in the callbacks, in the session's receive() and
    poll() or in opening a socket; they do not end the loop. ``tap``, set before start(), is told
    of each datagram, with the lock held: whether it was sent, both addresses, and when.
    """

    tap: Tap | None = None

    def __init__(
        self,
        session: UdpSession,
        open_channel: Callable[[str], UdpSocket],
        on_event: Callable[[Any, int], None],
        on_failure: Callable[[Exception], None],
        *,
        channels: Mapping[str, UdpSocket] | None = None,
        port: LearntPort | None = None,
        name: str = 'link',
    ) -> None:
        super().__init__(session, on_event, on_failure, name)
        self._port = port
        self._open_channel = open_channel
        self._links: dict[str, UdpSocket] = {}
        self._channel_of: dict[int, str] = {}
        self._refusable = session
        self._past = SocketCounters()
        # Unlike select(), epoll supports descriptors above 1023, and immediately notices sockets
        # that other threads open and close.
        self._epoll = select.epoll()
        self._epoll.register(self._wake, select.EPOLLIN)
        for channel, link in (channels or {}).items():
            self._add(channel, link)

    def counters(self) -> SocketCounters:
        """Return the sums over all sockets, including closed ones."""
        with self.lock:
            total = SocketCounters()
            for part in (self._past, *(link.counters for link in self._links.values())):
                total.add(part)
            return total

    def watch_refusals(self, on: bool) -> None:
        """Tell the session, while ``on``, what is refused: see UdpSocket.watch_refusals()."""
        with self.lock:
            super().watch_refusals(on)
            for link in self._links.values():
                link.watch_refusals(on)

    # Called with the lock held.

    def _transmit(self, now: float) -> list[Exception]:
        """Send what the session has to send; return what went wrong."""
        failures: list[Exception] = []
        for channel, data in self._poll(now, failures):
            if data is None:
                if channel in self._links:
                    self._remove(channel)
                continue
            if channel not in self._links:
                try:
                    self._add(channel, self._open_channel(channel))
                except OSError as error:
                    self._past.send_errors += 1
                    failures.append(error)
                    continue
            if data:
                link = self._links[channel]
                link.send(data)
                if self.tap is not None and link.peer is not None:
                    self.tap(data, True, link.local, link.peer, time.time_ns())
        return failures

    def _disconnect(self) -> None:
        for channel in list(self._links):
            self._remove(channel)
        if not self._thread.is_alive():
            self._epoll.close()

    def _add(self, channel: str, link: UdpSocket) -> None:
        self._links[channel] = link
        if self._watches:
            link.watch_refusals(True)
        self._channel_of[link.fileno()] = channel
        self._epoll.register(link.fileno(), select.EPOLLIN)

    def _remove(self, channel: str) -> None:
        link = self._links.pop(channel)
        del self._channel_of[link.fileno()]
        self._epoll.unregister(link.fileno())
        link.close()
        self._past.add(link.counters)

    def _reopen(self) -> float:
        """Accept strangers again where it is time; return when to check next."""
        until = math.inf
        for link in self._links.values():
            if link.shut_until is not None:
                link.reopen(time.monotonic())
                until = min(until, link.shut_until or math.inf)
        return until

    # In the loop's thread.

    def _run(self) -> None:
        taken: Sequence[int] = ()
        while True:
            with self.lock:
                if not self._running:
                    return
                now = time.monotonic()
                failures: Sequence[Exception] = ()
                events: Sequence[Any] = ()
                if not self._is_at_rest(now):
                    failures = self._transmit(now)
                    events = self._take_events()
                deadline = self._next_deadline()
                self._sleeping_until = until = min(
                    math.inf if deadline is None else deadline, self._reopen(),
                    now + _SHORT_SLEEP if taken else math.inf)
            if events or failures:
                self._hand_out(events, time.time_ns(), failures)
                now = time.monotonic()
            timeout = min(max(until - now, 0.0), _LONGEST_SLEEP)
            taken = self._take_ready(timeout)
            if taken and len(self._links) > 1 and self._wake not in taken:
                # The other half of a reply may have arrived on another socket meanwhile: it need
                # not wait until the session has been polled.
                self._take_ready(0.0, but=taken)

    def _take_ready(self, timeout: float, but: Sequence[int] = ()) -> list[int]:
        """Handle what arrives within ``timeout`` seconds; return the descriptors."""
        ready = [descriptor for descriptor, _ in self._epoll.poll(timeout)]
        for descriptor in ready:
            if descriptor == self._wake:
                os.eventfd_read(self._wake)
            elif descriptor not in but:
                self._drain(descriptor)
        return ready

    def _drain(self, descriptor: int) -> None:
        """Pass pending datagrams of one socket to the session, and deliver its events."""
        dropped: int | None = None
        for _ in range(_BURST):
            with self.lock:
                # Meanwhile another thread may have closed it and opened another.
                channel = self._channel_of.get(descriptor)
                if channel is None or not self._running:
                    return
                link = self._links[channel]
                if dropped is None:
                    dropped = link.counters.dropped
                received = link.receive()
                if received is None:
                    if self._watches and link.take_refusals():
                        self._refusable.port_refused(self._now())
                    return
                if self.tap is not None:
                    self.tap(received.data, False, link.local, received.sender, received.stamp_ns)
                failures: list[Exception] = []
                events = self._receive(channel, received.data, received.sender, failures)
                if self._port is not None:
                    self._port.settle(received.sender[1])
                is_flood = link.counters.dropped >= dropped + _BURST
            if events or failures:
                self._hand_out(events, received.stamp_ns, failures)
            if is_flood:
                return
