"""A capture file in the place of sockets: what was recorded goes through a session again."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
import threading
import time
from typing import Any

from xplane_bridge.links.loop import Session
from xplane_bridge.links.pcap import Address, CaptureError, Datagram, read_pcap
from xplane_bridge.links.udp import Counters, LinkError

_JOIN_TIMEOUT = 5.0

# In a map of channels: every destination port.
ANY_PORT = 0

# Requests of the session, the newest ones, that recorded ones are compared with.
_REMEMBERED = 256

# At full speed nothing but the session's deadlines and the recorded times move its clock; a
# deadline that is already past moves it by this much.
_SHORTEST_STEP = 1e-4


class ReplayLoop:
    """
    Run a session over a capture file, as UdpLoop does over sockets.

    It plays from the first ``call`` on (a node's activation), so that nothing is lost on a
    session that nobody has started. ``speed`` is a multiple of the recorded speed; 0 is as fast
    as it goes. The session's time is that of the capture, and stamps are the recorded ones. At
    the capture's end real time goes on, ``finished`` is true and ``on_end()`` is called, once.

    ``channels`` maps the ports at which a session listens to the names of the channels, ANY_PORT
    standing for all ports.
    ``peer_port`` is where requests went. They are not sent; but a recorded one that is the same
    as one of the session's, byte for byte, binds the port that it was recorded from to the
    session's channel, and the datagrams that were recorded to that port are handed to it. So a
    conversation is followed if the session asks what was asked, as often. ``sender`` is the only
    address whose datagrams are taken; others are counted as strangers. Raises LinkError if the
    file cannot be read.
    """

    def __init__(
        self,
        path: str,
        session: Session,
        on_event: Callable[[Any, int], None],
        on_failure: Callable[[Exception], None],
        *,
        speed: float = 1.0,
        channels: Mapping[int, str] | None = None,
        peer_port: int | None = None,
        sender: str | None = None,
        on_end: Callable[[], None] = lambda: None,
        name: str = 'replay',
    ) -> None:
        self.lock = threading.Lock()
        self.finished = False
        self._session = session
        self._on_event = on_event
        self._on_failure = on_failure
        self._on_end = on_end
        self._channels = dict(channels or {})
        self._peer_port = peer_port
        self._sender = sender
        self._speed = speed
        self._counters = Counters()
        self._asked: dict[bytes, str] = {}
        self._ports: dict[Address, str] = {}
        self._changed = threading.Condition(self.lock)
        self._running = True
        self._playing = False
        # The session's time at a moment of ours, both in seconds.
        self._time = 0.0
        self._moment = 0.0
        self._path = path
        try:
            with open(path, 'rb') as stream:
                first = next(read_pcap(stream), None)
        except CaptureError as error:
            raise LinkError(f'capture {path}: {error}') from error
        except OSError as error:
            raise LinkError(f'capture {path}: {error.strerror}') from error
        self._begin_ns = 0 if first is None else first.stamp_ns
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        """Start the thread; it plays from the first call on."""
        self._thread.start()

    def close(self) -> None:
        """Stop and join the thread."""
        with self._changed:
            self._running = False
            self._changed.notify_all()
        if self._thread.is_alive():
            self._thread.join(_JOIN_TIMEOUT)

    def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """
        Call the session from another thread.

        ``function`` gets ``arguments`` and then the time. What it raises reaches the caller.
        """
        with self._changed:
            result = function(*arguments, self._now())
            self._transmit(self._now())
            if not self._playing:
                self._playing = True
                self._moment = time.monotonic()
            self._changed.notify_all()
            return result

    def counters(self) -> Counters:
        """Return the datagrams so far; those that were not sent count as sent."""
        with self.lock:
            past = self._counters
            return Counters(past.received, past.sent, past.strangers, past.send_errors)

    def _now(self) -> float:
        """Return the session's time, in seconds since the capture's beginning."""
        if self._playing and self._speed:
            return self._time + (time.monotonic() - self._moment) * self._speed
        return self._time

    def _transmit(self, now: float) -> None:
        """Note what the session wants to send. The lock is held."""
        for channel, data in self._session.poll(now):
            if data is not None:
                self._asked.pop(data, None)
                self._asked[data] = channel
                self._counters.sent += 1
        while len(self._asked) > _REMEMBERED:
            del self._asked[next(iter(self._asked))]

    def _run(self) -> None:
        with self._changed:
            self._changed.wait_for(lambda: self._playing or not self._running)
        for datagram in self._read():
            if not self._pass_time((datagram.stamp_ns - self._begin_ns) / 1e9):
                return
            self._deliver(datagram)
        with self._changed:
            self._time = self._now()
            self._moment = time.monotonic()
            self._speed = 1.0
            self.finished = True
        self._on_end()
        self._pass_time(float('inf'))

    def _read(self) -> Iterator[Datagram]:
        try:
            with open(self._path, 'rb') as stream:
                yield from read_pcap(stream)
        except (CaptureError, OSError) as error:
            self._on_failure(error)

    def _pass_time(self, until: float) -> bool:
        """Poll the session until its time has come to ``until``; return False when closed."""
        while self._running:
            with self._changed:
                now = self._now()
                self._transmit(now)
                events = self._session.expired()
                deadline = self._session.next_deadline()
                wake = until if deadline is None else min(until, deadline)
                if not events and now < until:
                    if not self._speed:
                        self._time = min(until, max(wake, now + _SHORTEST_STEP))
                    elif wake > now:
                        pause = (wake - now) / self._speed
                        self._changed.wait(min(pause, threading.TIMEOUT_MAX))
            for event in events:
                self._hand_out(event, self._begin_ns + round(now * 1e9))
            if now >= until:
                return True
        return False

    def _deliver(self, datagram: Datagram) -> None:
        """Hand a recorded datagram to the session, if it is one of its channels'."""
        with self.lock:
            if self._peer_port is not None and datagram.destination[1] == self._peer_port:
                if datagram.data in self._asked:
                    self._ports[datagram.source] = self._asked[datagram.data]
                return
            channel = (
                self._channels.get(datagram.destination[1])
                or self._ports.get(datagram.destination)
                or self._channels.get(ANY_PORT)
            )
            if channel is None:
                return
            if self._sender is not None and datagram.source[0] != self._sender:
                self._counters.strangers += 1
                return
            self._counters.received += 1
            events = self._session.receive(channel, datagram.data, self._now())
        for event in events:
            self._hand_out(event, datagram.stamp_ns)

    def _hand_out(self, event: Any, stamp_ns: int) -> None:
        try:
            self._on_event(event, stamp_ns)
        except Exception as error:
            self._on_failure(error)
