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

"""Polling of one aircraft: its position and datarefs, from the same frame of the simulator."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
import struct

from xplane_bridge.protocols import xpc
from xplane_bridge.sessions.xpc.events import Polled, Statistics, Telemetry
from xplane_bridge.sessions.xpc.flow import FRAME_GAP
from xplane_bridge.sessions.xpc.watch import patient_leases

# Replies take up to a frame; below 10 frames per second X-Plane itself slows its time down. A
# frame that lasts twice as long as the others is common, and must not be requested twice.
_FIRST_TIMEOUT = 0.2
_SHORTEST_TIMEOUT = 0.03
_LONGEST_TIMEOUT = 0.5

# Position and datarefs that disagree this often in a row are not from different frames: this
# X-Plane's two representations of a position differ, so agreement is no longer required.
_DISAGREEMENTS = 60

# Plugins up to rc5 wait for more datagrams for some milliseconds in each frame, and a busy rc6
# may take as long: a request after FRAME_GAP can then hit the same frame. The gap adapts.
_WIDEST_GAP = 0.012
_GAP_DECAY = 0.999
# This often in a row it is not a repeated frame, but a simulator whose time has stopped.
_STANDING = 3

_RUNNING_TIME = 'sim/time/total_running_time_sec'
_PAUSED = 'sim/time/paused'

_FLOAT = struct.Struct('<f')


class AircraftPoll:
    """
    Poll one aircraft with a GETP and a GETD, each on its own channel, both sent together.

    The plugin answers both requests in one frame or in two, which the position datarefs show. If
    X-Plane's running time is among the datarefs, a frame that is answered twice can be told from
    the next one. ``reported`` are additional datarefs, for the session itself.
    ``period`` is in seconds, 0 for once per frame. One request per channel is outstanding.
    """

    # Datagrams that start() returns.
    cost = 2

    def __init__(
        self, aircraft: int, polled: Polled, period: float, statistics: Statistics,
        reported: tuple[str, ...] = (),
    ) -> None:
        self.aircraft = aircraft
        self.period = period
        self.leases = patient_leases((), period, 0.0)
        self.names = names = polled.names
        self.pose = polled.pose
        self._place = polled.place
        self._position_name = f'position of aircraft {aircraft} (GETP)'
        self._reported = reported
        self.position_channel = f'position {aircraft}'
        self.state_channel = f'state {aircraft}'
        self.due = 0.0
        self._requests = [
            (self.position_channel, xpc.encode(xpc.GetPosition(aircraft))),
            (self.state_channel, xpc.encode(xpc.GetDatarefs(names + reported))),
        ]
        self._count = len(names) + len(reported)
        self._statistics = statistics
        self._position: xpc.PositionReply | None = None
        self._values: Mapping[str, float] | None = None
        self._sent_at: float | None = None
        self._answered: set[str] = set()
        self._repeated = False
        self._backoff = 0
        self._smoothed: float | None = None
        self._deviation = 0.0
        self._disagreements = 0
        self._gap = self._gap_before = FRAME_GAP
        self._time_row = names.index(_RUNNING_TIME) if _RUNNING_TIME in names else None
        self._last: tuple[object, float] | None = None
        self._standing = 0

    def begin(self, now: float) -> None:
        """Want every value from now on."""
        self.leases.want((self._position_name, *self.names), now)
        self.leases.renew(now)

    def hear(self, values: Iterable[str], now: float) -> None:
        """Record the arrival of values in a request shared with other aircraft."""
        self.leases.heard((self._position_name, *values), now)

    def said(self, reply: xpc.Reply) -> tuple[float | None, dict[str, tuple[float, ...]]]:
        """Return X-Plane's running time, if a reply contains it, and the other reports."""
        if not isinstance(reply, xpc.Datarefs) or len(reply.rows) != self._count:
            return None, {}
        time = () if self._time_row is None else reply.rows[self._time_row]
        return time[0] if time else None, dict(
            zip(self._reported, reply.rows[len(self.names):], strict=True))

    @property
    def waiting(self) -> bool:
        """Return whether replies are outstanding."""
        return self._sent_at is not None

    @property
    def deadline(self) -> float:
        """Return when the outstanding replies time out, or the next poll is due."""
        return self.due if self._sent_at is None else self._sent_at + self._timeout

    @property
    def _timeout(self) -> float:
        """Return how long to wait, as in TCP, from the mean and spread of reply times."""
        if self._smoothed is None:
            timeout = _FIRST_TIMEOUT
        else:
            spread = max(self._smoothed, 4.0 * self._deviation)
            timeout = max(_SHORTEST_TIMEOUT, self._smoothed + spread)
        # The first retry may be due to a lost datagram just as well as to a slower peer.
        return float(min(_LONGEST_TIMEOUT, timeout * 2.0 ** max(0, self._backoff - 1)))

    def start(self, now: float) -> list[tuple[str, bytes]]:
        """Start the next poll: return what to send."""
        self._position = self._values = None
        self._answered.clear()
        self._sent_at = now
        # The schedule is kept as long as the simulator keeps up with it.
        self.due = max(self.due + self.period, now - self.period)
        self._statistics.requests += self.cost
        return self._requests

    def give_up(self, now: float) -> None:
        """Count the outstanding replies as lost; the next poll is due at once."""
        self._statistics.lost += self.cost - len(self._answered)
        self._repeated = True
        self._backoff = min(self._backoff + 1, 6)
        self._sent_at = None
        self.due = now

    def poll_now(self, now: float) -> None:
        """Make the next poll due at once."""
        self.due = min(self.due, now)

    def suspend(self, due: float) -> None:
        """Forget what is outstanding and what was learnt about the peer; restart at ``due``."""
        self.due = due
        self._sent_at = None
        self._repeated = False
        self._backoff = 0
        self._smoothed = None
        self._disagreements = 0
        self._last = None
        self._gap = FRAME_GAP

    def receive(self, channel: str, reply: xpc.Reply, now: float) -> Telemetry | None:
        """Handle one reply; return the aircraft's telemetry if it is now complete."""
        if self._sent_at is None:
            # Late, or a duplicate: this poll has its replies, or has timed out.
            self._statistics.unexpected += 1
            return None
        if channel == self.position_channel and isinstance(reply, xpc.PositionReply):
            self._position = reply
            self.leases.heard((self._position_name,), now)
        elif (
            channel == self.state_channel
            and isinstance(reply, xpc.Datarefs)
            and len(reply.rows) == self._count
        ):
            self._values = {
                name: row[0] for name, row in zip(self.names, reply.rows, strict=False) if row}
            self.leases.heard(self._values, now)
        else:
            self._statistics.unexpected += 1
            return None
        self._statistics.replies += 1
        if not self._repeated and channel not in self._answered:
            self._learn(now - self._sent_at)
        self._answered.add(channel)
        if self._position is None or self._values is None:
            return None
        self._finish(now)
        if not self._of_one_frame(self._position, self._values):
            self._statistics.split += 1
            self.due = now + self._gap
            return None
        if self._is_answered_again(self._position, self._values):
            self._statistics.repeated += 1
            self.due = now + self._gap
            return None
        return Telemetry(self.aircraft, self._values, self._position)

    def _is_answered_again(self, position: object, values: Mapping[str, float]) -> bool:
        """Return whether this frame is the last one again; if polled too early, wait longer."""
        time = values.get(_RUNNING_TIME)
        if time is None:
            return False
        last, self._last = self._last, (position, time)
        if last != self._last:
            self._standing = 0
            self._gap = max(FRAME_GAP, self._gap * _GAP_DECAY)
            return False
        if not self._standing:
            self._gap_before = self._gap
        self._standing += 1
        if self._standing > _STANDING:
            # The gap was not the reason.
            self._gap = self._gap_before
            return False
        if values.get(_PAUSED) != 1.0:
            self._gap = min(_WIDEST_GAP, 2.0 * self._gap)
        return True

    def _learn(self, sample: float) -> None:
        """
        Learn from the time that a reply took.

        A repeated request is not used, as the reply may belong to the first one; the longer
        timeout stays until a request is answered without a retry (RFC 6298, section 3).
        """
        self._backoff = 0
        if self._smoothed is None:
            self._smoothed, self._deviation = sample, sample / 2.0
        else:
            self._deviation += (abs(sample - self._smoothed) - self._deviation) / 4.0
            self._smoothed += (sample - self._smoothed) / 8.0

    def _finish(self, now: float) -> None:
        self._sent_at = None
        self._repeated = False
        self.due = max(self.due, now + self._gap)

    def _of_one_frame(
        self, position: xpc.PositionReply, values: Mapping[str, float]
    ) -> bool:
        """Return whether both replies contain the same position, to the last float32 bit."""
        if self._disagreements >= _DISAGREEMENTS:
            return True
        exact = position.lat, position.lon, position.alt
        for name, value in zip(self._place, exact, strict=False):
            if name in values and not _same_float(value, values[name]):
                self._disagreements += 1
                return False
        self._disagreements = 0
        return True


def _same_float(exact: float, single: float) -> bool:
    """Return whether a double equals ``single`` as float32."""
    try:
        return bool(_FLOAT.unpack(_FLOAT.pack(exact))[0] == single) or exact != exact
    except OverflowError:
        return False
