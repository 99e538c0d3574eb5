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

"""Polls of the simulator's state that may be outstanding at the same time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
import math
from typing import Any

from xplane_bridge.bridges.sessions.channels import ChannelPool
from xplane_bridge.bridges.sessions.round_trip import RoundTrip
from xplane_bridge.bridges.xpc.session.events import Statistics
from xplane_bridge.bridges.xpc.session.requests.pace import Pace

# Replies take up to a frame; below 10 frames per second X-Plane itself slows its time down. A
# frame that lasts twice as long as the others is common, and must not be requested twice.
_FIRST_TIMEOUT = 0.2
_SHORTEST_TIMEOUT = 0.03
_LONGEST_TIMEOUT = 3.0

# How long a reply may be late. Until then its channel is not used again, and afterwards it can
# be: the plugin forgets no port, so a new one for each lost datagram would cost it memory
# (docs/wire/xpc.md, section 1).
_LATE = 5.0
# Polls of one kind, outstanding or late.
_MOST = 128
# How often they may get new channels because it is doubtful who answers, in seconds.
_RENEWAL = 1.0

# A frame that comes this often in a row is not a repeated frame, but a simulator whose time has
# stopped.
_STANDING = 3
# Running times that are back by more than this are not late.
_JUMP = 1.0

RUNNING_TIME = 'sim/time/total_running_time_sec'
_PAUSED = 'sim/time/paused'


def make_round_trip() -> RoundTrip:
    """Return the round trip to a plugin, which answers once per frame."""
    return RoundTrip(first=_FIRST_TIMEOUT, shortest=_SHORTEST_TIMEOUT, longest=_LONGEST_TIMEOUT)


# The same channels come back with each poll, several times each.
@lru_cache(maxsize=4 * _MOST)
def parts_of(channel: str) -> tuple[str, str]:
    """Return what the channels of one request have in common, and the rest: their number."""
    stem, space, number = channel.rpartition(' ')
    return stem, space + number


@dataclass(slots=True)
class Poll:
    """One poll: its place in the order of all, when it was sent, and the replies so far."""

    number: int
    sent_at: float
    replies: dict[str, Any]
    # Since when its channel can have been in use: no copy of an earlier reply reaches it.
    channels_since: float = -math.inf
    # Nobody waits for it any more: it has timed out, or its telemetry was given out.
    is_over: bool = False
    has_timed_out: bool = False
    # The peer may be another one since.
    is_void: bool = False


class StatePoll:
    """
    Poll with the same ``requests`` each time, by the stems of their channels, sent together.

    Each poll has its own channels until it is answered, or cannot be any more. Pace says whether
    the next one waits for it. If X-Plane's running time is among the datarefs, a frame that is
    answered twice can be told from the next one, and one that comes after a newer one.
    """

    def __init__(
        self, requests: Mapping[str, bytes], period: float, statistics: Statistics,
        round_trip: RoundTrip,
    ) -> None:
        # Datagrams that start() returns.
        self.cost = len(requests)
        self.pace = Pace(period, round_trip)
        self._requests = requests
        self._statistics = statistics
        self._round_trip = round_trip
        self._pool = ChannelPool('', _MOST)
        # By the numbers that the pool gives out, oldest first, and all numbers used so far.
        self._polls: dict[str, Poll] = {}
        self._used: set[str] = set()
        self._number = 0
        self._outstanding = 0
        self._last: Mapping[str, float] = {}
        self._last_time: float | None = None
        self._last_number = 0
        self._standing = 0
        self._gap_before = self.pace.gap
        self._renewed_at = -math.inf

    def close(self) -> list[str]:
        """Return all channels in use, to be closed."""
        used, self._used = self._used, set()
        return [stem + number for stem in self._requests for number in used]

    def closed(self) -> list[str]:
        """Return the channels to close, since the last call."""
        closing = self._pool.closed()
        if not closing:
            return closing
        self._used.difference_update(closing)
        return [stem + number for stem in self._requests for number in closing]

    @property
    def waiting(self) -> bool:
        """Return whether the next poll waits for replies."""
        return self._outstanding > 0 and not self.pace.is_far or not self._pool

    def is_ready(self, now: float) -> bool:
        """Return whether the next poll is due, and need not wait for replies."""
        return now >= self.pace.due and not self.waiting

    def deadline(self, now: float) -> float:
        """Return when outstanding replies time out, or the next poll becomes due."""
        due = self.pace.due
        at = math.inf if due <= now or self.waiting else due
        for poll in self._polls.values():
            ends_at = poll.sent_at + (_LATE if poll.has_timed_out else self._round_trip.timeout)
            if ends_at < at:
                at = ends_at
        return at

    def start(self, now: float) -> list[tuple[str, bytes]]:
        """Start the next poll: return what to send."""
        number = self._pool.take()
        assert number is not None
        self._used.add(number)
        self._number += 1
        self._outstanding += 1
        self._polls[number] = Poll(self._number, now, {}, self._renewed_at)
        self.pace.sent(now)
        self._statistics.requests += self.cost
        return [(stem + number, request) for stem, request in self._requests.items()]

    def give_up(self, now: float) -> None:
        """Count replies that are overdue as lost; if the next poll waits for them, it is due."""
        timeout = self._round_trip.timeout
        if not self._polls:
            return
        for number, poll in list(self._polls.items()):
            if poll.has_timed_out:
                if now >= poll.sent_at + _LATE:
                    self._free(number)
            elif now >= poll.sent_at + timeout:
                poll.has_timed_out = True
                if poll.is_void:
                    continue
                self._statistics.lost += self.cost - len(poll.replies)
                if not poll.is_over:
                    self._end(poll)
                    self._round_trip.back_off(poll.sent_at, now)
                    if not self.pace.is_far:
                        self.pace.due = now

    def poll_now(self, now: float) -> None:
        """Make the next poll due at once."""
        self.pace.due = min(self.pace.due, now)

    def ask_anew(self, now: float, since: float) -> None:
        """
        Poll at once, on new channels: since then it is doubtful who answers on the old ones.

        The plugin keeps something for each port that it has ever heard of, so this is not done
        again and again.
        """
        if self._renewed_at < since and now >= self._renewed_at + _RENEWAL:
            self._renew(now)
        self.poll_now(now)

    def _renew(self, now: float) -> None:
        """Wait for none of the replies any more; poll on new channels from now on."""
        for poll in self._polls.values():
            poll.is_over = poll.is_void = True
        self._outstanding = 0
        self._renewed_at = now
        self._pool.renew()

    def suspend(self, due: float) -> None:
        """Forget what is outstanding and what was learnt about the peer; restart at ``due``."""
        self._renew(due)
        self.pace.restart(due)
        self._last_time = None
        self._last_number = self._number

    def poll_on(self, channel: str) -> Poll | None:
        """Return the poll that was sent on a channel, None if nothing is expected there."""
        stem, number = parts_of(channel)
        poll = self._polls.get(number)
        return None if poll is None or stem in poll.replies else poll

    def _take(self, channel: str, poll: Poll, reply: Any, now: float) -> None:
        """Add a reply to its poll."""
        stem, number = parts_of(channel)
        poll.replies[stem] = reply
        self._round_trip.learn(now - poll.sent_at, now)
        if poll.has_timed_out:
            self._statistics.unexpected += 1
        else:
            self._statistics.replies += 1
        if len(poll.replies) == self.cost:
            self._free(number)

    def _finish(self, poll: Poll, now: float) -> None:
        """Wait no longer for this poll, of which what is still to come is not needed."""
        poll.replies = dict.fromkeys(poll.replies)
        if not poll.is_over:
            self._end(poll)
            if not self.pace.is_far:
                self.pace.finished(now)

    def _end(self, poll: Poll) -> None:
        poll.is_over = True
        self._outstanding -= 1

    def _free(self, number: str) -> None:
        del self._polls[number]
        self._pool.give(number)

    # The order of frames.

    def _is_next(self, poll: Poll, values: Mapping[str, float], now: float) -> bool:
        """Return whether the values are of a frame that is newer than the last."""
        time = values.get(RUNNING_TIME)
        if time is not None and not math.isfinite(time):
            time = None
        step = None
        if self._last_time is not None and time is not None:
            step = time - self._last_time
        if (
            step is not None and -_JUMP < step < 0.0
            or (not step or step < 0.0) and poll.number < self._last_number
        ):
            self._statistics.overtaken += 1
            return False
        if values == self._last and (step == 0.0 or poll.has_timed_out):
            if poll.has_timed_out or self._is_answered_again(values, now):
                self._statistics.repeated += 1
                self._repeat(poll, now)
                return False
        else:
            self._standing = 0
            self.pace.new_frame(step, now - poll.sent_at, now)
        self._last, self._last_time, self._last_number = values, time, poll.number
        return True

    def _repeat(self, poll: Poll, now: float) -> None:
        """Poll again, unless the next poll has left already."""
        if not poll.has_timed_out and not self.pace.is_far:
            self.pace.repeat(now)

    def _is_answered_again(self, values: Mapping[str, float], now: float) -> bool:
        """Return whether this frame is the last one again; if polled too early, wait longer."""
        if not self._standing:
            self._gap_before = self.pace.gap
        self._standing += 1
        if self._standing > _STANDING:
            # The gap was not the reason.
            self.pace.gap = self._gap_before
            return False
        if values.get(_PAUSED) != 1.0:
            self.pace.same_frame(now)
        return True
