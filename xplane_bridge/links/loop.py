"""The thread between a session and its sockets."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
import select
import socket
import threading
import time
from typing import Any, Protocol

from xplane_bridge.links.udp import Counters, UdpSocket

# How long close() waits for the thread. It only ever blocks in select() or in a publish.
_JOIN_TIMEOUT = 5.0

# Datagrams of one socket in a row before the others and poll() get their turn.
_BURST = 64


class Session(Protocol):
    """
    What a conversation over datagrams offers to its link. It knows neither sockets nor clocks.

    A channel is a name for one socket of ours; sending on a channel not seen before opens it.
    """

    def receive(self, channel: str, data: bytes, now: float) -> Sequence[Any]:
        """Take one datagram; return the events that it completes."""

    def poll(self, now: float) -> Sequence[tuple[str, bytes | None]]:
        """Return what is to be sent now, by channel; None instead of bytes closes the channel."""

    def next_deadline(self) -> float | None:
        """Return when poll() is to be called next at the latest; None when only data matters."""

    def expired(self) -> Sequence[Any]:
        """Return the events that poll() or a call has caused: time-outs, changes of state."""


class UdpLoop:
    """
    Run a session over UDP sockets: one thread that receives, polls and hands out events.

    ``open_channel(name)`` makes the socket of a channel at its first use. ``channels`` are open
    from the start (beacons). ``on_event(event, stamp_ns)`` runs in the loop's thread, outside the
    lock, with the kernel's receive time of the datagram that completed the event, or the present
    time for an event that time has caused.
    ``on_failure(error)`` hears what went wrong in there or in opening a socket: that ends nothing.

    Others who call the session hold ``lock`` meanwhile, or use ``call``.
    """

    def __init__(
        self,
        session: Session,
        open_channel: Callable[[str], UdpSocket],
        on_event: Callable[[Any, int], None],
        on_failure: Callable[[Exception], None],
        *,
        channels: Mapping[str, UdpSocket] | None = None,
        name: str = 'link',
    ) -> None:
        self.lock = threading.Lock()
        self._session = session
        self._open_channel = open_channel
        self._on_event = on_event
        self._on_failure = on_failure
        self._channels = dict(channels or {})
        self._retired: list[UdpSocket] = []
        self._past = Counters()
        self._wake_receive, self._wake_send = socket.socketpair()
        self._wake_receive.setblocking(False)
        self._running = True
        self._sleeping_until = 0.0
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def close(self) -> None:
        """Stop and join the thread, close all sockets. What the session still owes is sent."""
        if self._running:
            self._running = False
            self._wake_send.send(b'\0')
            if self._thread.is_alive():
                self._thread.join(_JOIN_TIMEOUT)
            with self.lock:
                self._transmit(time.monotonic())
                events = self._session.expired()
                self._retired.extend(self._channels.values())
                self._channels.clear()
                self._close_retired()
            self._wake_receive.close()
            self._wake_send.close()
            for event in events:
                self._hand_out(event, time.time_ns())

    def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """
        Call the session from another thread and send at once what that makes due.

        ``function`` gets ``arguments`` and then the time. What it raises reaches the caller.
        """
        now = time.monotonic()
        with self.lock:
            result = function(*arguments, now)
            self._transmit(now)
            deadline = self._session.next_deadline()
        if deadline is not None and deadline < self._sleeping_until:
            self._wake_send.send(b'\0')
        return result

    def counters(self) -> Counters:
        """Return the sums over all sockets, closed ones included."""
        with self.lock:
            links = [*self._channels.values(), *self._retired]
            parts = [self._past, *(link.counters for link in links)]
            return Counters(
                sum(part.received for part in parts),
                sum(part.sent for part in parts),
                sum(part.strangers for part in parts),
                sum(part.send_errors for part in parts),
            )

    def _transmit(self, now: float) -> None:
        """Send what the session wants sent. The lock is held."""
        for channel, data in self._session.poll(now):
            if data is None:
                if channel in self._channels:
                    self._retired.append(self._channels.pop(channel))
                continue
            link = self._channels.get(channel)
            if link is None:
                try:
                    link = self._channels[channel] = self._open_channel(channel)
                except OSError as error:
                    self._past.send_errors += 1
                    self._on_failure(error)
                    continue
            link.send(data)

    def _close_retired(self) -> None:
        """Close what poll() gave up; only here, so that no socket closes below select()."""
        for link in self._retired:
            link.close()
            self._past.received += link.counters.received
            self._past.sent += link.counters.sent
            self._past.strangers += link.counters.strangers
            self._past.send_errors += link.counters.send_errors
        self._retired.clear()

    def _run(self) -> None:
        while self._running:
            now = time.monotonic()
            with self.lock:
                self._transmit(now)
                self._close_retired()
                events = self._session.expired()
                deadline = self._session.next_deadline()
                self._sleeping_until = float('inf') if deadline is None else deadline
                links = {link: channel for channel, link in self._channels.items()}
            for event in events:
                self._hand_out(event, time.time_ns())
            timeout = None if deadline is None else max(0.0, deadline - time.monotonic())
            waiting: list[Any] = [self._wake_receive, *links]
            for link in select.select(waiting, [], [], timeout)[0]:
                if link is self._wake_receive:
                    self._wake_receive.recv(4096)
                else:
                    self._drain(link, links[link])

    def _drain(self, link: UdpSocket, channel: str) -> None:
        """Hand waiting datagrams of one socket to the session, and its events onwards."""
        for _ in range(_BURST):
            with self.lock:
                if not self._running or self._channels.get(channel) is not link:
                    return
                received = link.receive()
                if received is None:
                    return
                events = self._session.receive(channel, received.data, time.monotonic())
            for event in events:
                self._hand_out(event, received.stamp_ns)

    def _hand_out(self, event: Any, stamp_ns: int) -> None:
        try:
            self._on_event(event, stamp_ns)
        except Exception as error:
            self._on_failure(error)
