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

"""A capture file in place of sockets: replay recorded datagrams through a session."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
import math
import os
import select
import time
from typing import Any

from xplane_bridge.bridges.links.captures.capture import (
    Address,
    CaptureError,
    check_capture,
    Datagram,
    read_datagrams,
    Tally,
)
from xplane_bridge.bridges.links.loop import SessionLoop
from xplane_bridge.bridges.links.session import LinkSession
from xplane_bridge.bridges.links.udp import LinkError, SocketCounters
from xplane_bridge.common.plain_files import open_regular
from xplane_bridge.common.timing import SECOND_NS

_LONGEST_SLEEP = 60.0

# In a map of channels: any destination port; for a sender: any port.
ANY_PORT = 0

# Number of the session's latest requests to compare recorded ones with; and of ports that these
# came from.
_REMEMBERED = 256

# How often a held replay checks whether it still has to wait.
_HOLD_STEP = 0.001

# At full speed only the session's deadlines and the recorded times advance its clock; a deadline
# in the past advances it by this much.
_SHORTEST_STEP = 1e-4

# The recorder's clock was changed, or a time is damaged: beyond these limits (seconds) a datagram
# is played as if it had arrived right after the previous one.
_LONGEST_GAP = 86_400.0
_LONGEST_STEP_BACK = 1.0
# The seconds of a time in ROS (builtin_interfaces/Time) end on 2038-01-19.
_END_OF_TIME_NS = 2**31 * SECOND_NS


@dataclass(slots=True)
class ReplayProgress:
    """
    Progress of a replay: what the file contains, and what could not be played.

    ``incomplete`` counts datagrams for the session that were truncated by the capture, and
    ``untimely`` those recorded before 1970 or after 2038-01-18, which ROS time cannot represent:
    neither are played. ``jumps`` counts steps of the recorded time that were not waited for: more
    than a day, or backwards. ``fault`` is a sentence about the latest of the former two, ``error``
    one about why the replay ended before the file's end.
    """

    tally: Tally = field(default_factory=Tally)
    incomplete: int = 0
    untimely: int = 0
    jumps: int = 0
    fault: str = ''
    error: str = ''


class ReplayLoop(SessionLoop):
    """
    Run a session over a capture file, as UdpLoop does over sockets.

    It plays from the first ``call`` on (a node's activation), so that nothing is lost on a
    session that has not been started. ``speed`` is a multiple of the recorded speed; 0 is as fast
    as possible. The session's time is that of the capture, and stamps are the recorded ones. At
    the capture's end real time continues, ``finished`` is true and ``on_end()`` is called once.

    ``channels`` maps the ports at which a session listens to the names of the channels; ANY_PORT
    stands for all ports.
    ``peer_port`` is where requests went. They are not sent; but a recorded one that equals one of
    the session's, byte for byte, binds the port it was recorded from to the session's channel,
    and datagrams recorded to that port are passed to the session. So a conversation is followed
    if the session sends the same requests, equally often. ``source_port`` is for a session that
    only listens: all datagrams from this port are passed to it, on channels named after their
    destinations. ``sender`` is the only address whose datagrams are accepted, and
    ``sender_port`` its only port; others are counted.

    While ``holds()`` is true the replay waits, and its time stops: it is called, in the loop's
    thread, before the first datagram and after each event. Raises LinkError if the file cannot be
    read.
    """

    def __init__(
        self,
        path: str,
        session: LinkSession,
        on_event: Callable[[Any, int], None],
        on_failure: Callable[[Exception], None],
        *,
        speed: float = 1.0,
        channels: Mapping[int, str] | None = None,
        peer_port: int | None = None,
        source_port: int | None = None,
        sender: str | None = None,
        sender_port: int = ANY_PORT,
        on_end: Callable[[str], None] = lambda _: None,
        holds: Callable[[], bool] = lambda: False,
        name: str = 'replay',
    ) -> None:
        try:
            with open_regular(path) as stream:
                check_capture(stream)
        except CaptureError as error:
            raise LinkError(f'capture {path}: {error}') from error
        except OSError as error:
            raise LinkError(f'capture {path}: {error.strerror}') from error
        super().__init__(session, on_event, on_failure, name)
        self.finished = False
        self._progress = ReplayProgress()
        self.path = path
        self._on_end = on_end
        self._holds = holds
        self._channels = dict(channels or {})
        self._peer_port = peer_port
        self._source_port = source_port
        self._sender = sender
        self._sender_port = sender_port
        self._speed = speed
        self._counters = SocketCounters()
        self._asked: dict[bytes, str] = {}
        self._ports: dict[Address, str] = {}
        self._playing = False
        self._held = False
        # The start of the session's time, in recorded time; and the time of the last datagram, in
        # the session's.
        self._begin_ns = 0
        self._latest: float | None = None
        # The session's time at a moment of real time, both in seconds.
        self._time = 0.0
        self._moment = 0.0

    def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """
        Call the session from another thread.

        ``function`` gets ``arguments`` and then the time. Its exceptions reach the caller.
        """
        with self.lock:
            now = self._now()
            result = function(*arguments, now)
            failures: Sequence[Exception] = ()
            if self._running:
                failures = self._transmit(now)
                self._waiting += self._session.expired()
                if not self._playing:
                    self._playing = True
                    self._moment = time.monotonic()
                os.eventfd_write(self._wake, 1)
        super()._hand_out((), 0, failures)
        return result

    def counters(self) -> SocketCounters:
        """Return the datagrams so far; suppressed requests count as sent."""
        with self.lock:
            return replace(self._counters)

    def progress(self) -> ReplayProgress:
        """Return what has been read so far, and what could not be played."""
        with self.lock:
            tally = self._progress.tally
            return replace(self._progress, tally=replace(tally, kinds=dict(tally.kinds)))

    # Called with the lock held.

    def _now(self) -> float:
        """Return the session's time, in seconds since the start of the capture."""
        if self._playing and not self._held and self._speed:
            return self._time + (time.monotonic() - self._moment) * self._speed
        return self._time

    def _transmit(self, _: float) -> Sequence[Exception]:
        """Record what the session wants to send."""
        failures: list[Exception] = []
        for channel, data in self._poll(self._now(), failures):
            if data:
                self._asked.pop(data, None)
                self._asked[data] = channel
                self._counters.sent += 1
        while len(self._asked) > _REMEMBERED:
            del self._asked[next(iter(self._asked))]
        return failures

    def _disconnect(self) -> None:
        """Do nothing: the thread closes the file."""

    # In the loop's thread.

    def _run(self) -> None:
        self._sleep(math.inf)
        self._hold()
        error = self._play()
        with self.lock:
            self._time = self._now()
            self._moment = time.monotonic()
            self._speed = 1.0
            self._progress.error = error
            self.finished = True
        self._on_end(error)
        self._pass_time(math.inf)

    def _play(self) -> str:
        """Play the file to its end; return a sentence if that is not reached."""
        try:
            with open_regular(self.path) as stream:
                for datagram in read_datagrams(
                        stream, self._progress.tally, lambda: not self._running):
                    if not 0 <= datagram.stamp_ns < _END_OF_TIME_NS:
                        self._progress.untimely += 1
                        self._progress.fault = (
                            f'{datagram.where}: recorded outside 1970 to 2038-01-18, which '
                            'ROS time cannot represent; shift the times (editcap -t)')
                    elif self._pass_time(self._due(datagram.stamp_ns)):
                        self._deliver(datagram)
        except CaptureError as error:
            return f'capture {self.path}: {error}'
        except OSError as error:
            return f'capture {self.path}: {error.strerror}'
        return ''

    def _due(self, stamp_ns: int) -> float:
        """Return the arrival of a datagram in the session's time, with bounded steps."""
        if self._latest is None:
            self._begin_ns, self._latest = stamp_ns, 0.0
        due = (stamp_ns - self._begin_ns) / 1e9
        if not -_LONGEST_STEP_BACK <= due - self._latest <= _LONGEST_GAP:
            self._begin_ns += round((due - self._latest) * 1e9)
            self._progress.jumps += 1
            due = self._latest
        self._latest = max(due, self._latest)
        return due

    def _hand_out(
        self, events: Sequence[Any], stamp_ns: int, failures: Sequence[Exception] = ()
    ) -> None:
        super()._hand_out((), stamp_ns, failures)
        for event in events:
            super()._hand_out((event,), stamp_ns)
            self._hold()

    def _hold(self) -> None:
        """Stop the session's time for as long as the replay has to wait."""
        while self._running and self._is_held():
            if not self._held:
                with self.lock:
                    self._time = self._now()
                    self._held = True
            self._sleep(_HOLD_STEP)
        if self._held:
            with self.lock:
                self._held = False
                self._moment = time.monotonic()

    def _is_held(self) -> bool:
        try:
            return self._holds()
        except Exception as error:
            self._on_failure(error)
            return False

    def _sleep(self, seconds: float) -> None:
        """Let real time pass, or until another thread calls."""
        timeout = None if seconds == math.inf else min(seconds, _LONGEST_SLEEP)
        if select.select([self._wake], [], [], timeout)[0]:
            os.eventfd_read(self._wake)

    def _pass_time(self, until: float) -> bool:
        """Poll the session until its time reaches ``until``; return False when closed."""
        while True:
            with self.lock:
                if not self._running:
                    return False
                now = self._now()
                failures = self._transmit(now)
                events = self._take_events()
                deadline = self._next_deadline()
                wake = until if deadline is None else min(until, deadline)
                idle = not events and now < until
                if idle and not self._speed:
                    self._time = min(until, max(wake, now + _SHORTEST_STEP))
            self._hand_out(events, self._begin_ns + round(now * 1e9), failures)
            if now >= until:
                return True
            if idle and self._speed and wake > now:
                self._sleep((wake - now) / self._speed)

    def _deliver(self, datagram: Datagram) -> None:
        """Pass a recorded datagram to the session if it belongs to one of its channels."""
        with self.lock:
            if self._peer_port is not None and datagram.destination[1] == self._peer_port:
                if datagram.data in self._asked:
                    self._ports.pop(datagram.source, None)
                    self._ports[datagram.source] = self._asked[datagram.data]
                    if len(self._ports) > _REMEMBERED:
                        del self._ports[next(iter(self._ports))]
                return
            channel = (
                self._channels.get(datagram.destination[1])
                or self._ports.get(datagram.destination)
                or (str(datagram.destination) if datagram.source[1] == self._source_port else None)
                or self._channels.get(ANY_PORT)
            )
            if channel is None:
                return
            if self._sender is not None and datagram.source[0] != self._sender:
                self._counters.strangers += 1
                return
            if self._sender_port not in (ANY_PORT, datagram.source[1]):
                self._counters.other_ports += 1
                return
            if datagram.missing:
                self._progress.incomplete += 1
                self._progress.fault = datagram.incomplete
                return
            self._counters.received += 1
            failures: list[Exception] = []
            events = self._receive(channel, datagram.data, datagram.source, failures)
        self._hand_out(events, datagram.stamp_ns, failures)
