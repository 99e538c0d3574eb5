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

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
import math
import statistics
from typing import Any

from xplane_bridge.bridges.sessions.channels import ChannelPool
from xplane_bridge.bridges.sessions.round_trip import RoundTrip
from xplane_bridge.bridges.xpc.session.events import Statistics
from xplane_bridge.bridges.xpc.session.flow import FRAME_GAP

# When an aircraft is polled: once per frame of the simulator, or at its own period.

# Plugins up to rc5 wait for more datagrams for some milliseconds in each frame, and a busy rc6
# may take as long: a request after FRAME_GAP can then hit the same frame. The gap adapts.
_WIDEST_GAP = 0.012
_GAP_DECAY = 0.999

# A request that leaves right after a reply always waits for most of a frame, however near the
# plugin is. Delayed by this much of a cycle, it does not; this many, delayed by at least half of
# it, show how far it is.
_DELAYS = (0.8, 0.6, 0.9, 0.7)
_DELAYED = 8
_LEAST_DELAY = 0.5
# A poll that leaves later than this had to wait for something else.
_PUNCTUAL = 0.005
# Hardly a frame lasts as long as this cycle, so fewer will do.
_LONG_CYCLE = 0.1
_DELAYED_LONG = 2

# How long the length of a frame is believed, once a shorter one was tried in vain; what is tried
# then, and while polls are still further apart than any frame lasts.
_BELIEVED = 10.0
_TRIED = 0.8
_TRIED_FIRST = 0.5
_LONGEST_FRAME = 0.05
_SHORTEST_FRAME = 0.004
# What the shortest round trip may contain of a frame.
_LONG_FRAME = 0.025
# What is no frame, but a jump of time.
_LONGEST_STEP = 1.0
_PHASE_GAIN = 0.125


class Pace:
    """
    When the next poll is due. ``period`` is in seconds, 0 for once per frame.

    ::

        near --- the shortest round trip is more than half of a cycle ---> far
             <-- it is less ----------------------------------------------

    Near, one poll is outstanding: the next one follows its replies, and cannot meet the same
    frame. Far, the round trip takes several frames, and so many polls are outstanding: they leave
    a frame apart, and arrive in the middle of one. The frame's length is learnt from X-Plane's
    running time; now and then a shorter one is tried, which may request a frame twice.
    """

    def __init__(self, period: float, round_trip: RoundTrip) -> None:
        self.period = period
        self.due = 0.0
        self.gap = FRAME_GAP
        self._round_trip = round_trip
        self.restart(0.0)

    def restart(self, due: float) -> None:
        """Forget what was learnt about the peer; the next poll is due then."""
        self.due = due
        self.gap = FRAME_GAP
        self._delayed = 0
        self._finished_at = due
        self._frame: float | None = None
        self._steps: deque[float] = deque(maxlen=4)
        self._last_steps: deque[float] = deque(maxlen=31)
        self._believed_until = 0.0

    @property
    def frame(self) -> float | None:
        """Return how long a frame lasts, None while unknown; or longer, if all are not seen."""
        return self._frame

    @property
    def usual_frame(self) -> float | None:
        """Return the median of the last frames, which may vary, None while unknown."""
        return statistics.median(self._last_steps) if self._last_steps else self._frame

    @property
    def is_far(self) -> bool:
        """Return whether the next poll need not wait for replies to the last one."""
        # Nearby nothing has been delayed, and this is asked five times for each update.
        return self._delayed > 0 and self._may_be_far and (
            self._delayed >= _DELAYED or self._delayed >= self._delays_needed)

    @property
    def distance(self) -> float:
        """Return how long datagrams are under way, both ways, 0 nearby."""
        beyond = self._round_trip.shortest - _LONG_FRAME
        return beyond if beyond > 0.0 and self.is_far else 0.0

    @property
    def _cycle(self) -> float:
        """Return the usual time from one poll to the next if these wait for replies."""
        return (self._round_trip.mean or 0.0) + FRAME_GAP

    @property
    def _may_be_far(self) -> bool:
        # As whole frames make up a cycle, two need a round trip of at least one, which is half.
        mean = self._round_trip.mean
        return mean is not None and (
            self._round_trip.shortest + FRAME_GAP >= (mean + FRAME_GAP) / 2.0)

    @property
    def _delays_needed(self) -> int:
        return _DELAYED if self._cycle < _LONG_CYCLE else _DELAYED_LONG

    def spacing(self, now: float) -> float:
        """Return how far apart polls leave if they do not wait for replies."""
        frame = self._frame or self._cycle
        believed = now < self._believed_until
        if self.period:
            return max(self.period, frame) if believed else self.period
        if not believed:
            frame *= _TRIED if frame < _LONGEST_FRAME else _TRIED_FIRST
        return max(_SHORTEST_FRAME, frame)

    def sent(self, now: float) -> None:
        """Record that a poll is sent."""
        if self.is_far:
            spacing = self.spacing(now)
            self.due = max(self.due + spacing, now + spacing / 2.0)
        else:
            if (
                self._may_be_far and now >= self._finished_at + _LEAST_DELAY * self._cycle
                and now <= self.due + _PUNCTUAL
            ):
                self._delayed += 1
            # The schedule is kept as long as the simulator keeps up with it.
            self.due = max(self.due + self.period, now - self.period)

    def finished(self, now: float) -> None:
        """Record that the only outstanding poll is answered."""
        wait = self.gap
        self._finished_at = now
        if not self._may_be_far:
            self._delayed = 0
        elif self._delayed < self._delays_needed:
            wait = max(wait, _DELAYS[self._delayed % len(_DELAYS)] * self._cycle)
        self.due = max(self.due, now + wait)

    def repeat(self, now: float) -> None:
        """Make the next poll due as soon as it can meet the next frame."""
        self.due = now + self.gap

    # What the replies show.

    def new_frame(self, step: float | None, sample: float, now: float) -> None:
        """
        Record a frame, ``step`` seconds of running time after the last one, None if unknown.

        ``sample`` is how long its poll took.
        """
        if self.gap > FRAME_GAP:
            self.gap = max(FRAME_GAP, self.gap * _GAP_DECAY)
        if step is None or not 0.0 < step < _LONGEST_STEP:
            return
        self._steps.append(step)
        self._last_steps.append(step)
        frame = self._frame
        if frame is None or step < 0.9 * frame:
            self._frame = step
        elif step < 1.3 * frame:
            self._frame = frame + (step - frame) / 16.0
        if self._frame and not self.period and now < self._believed_until and self.is_far:
            error = sample - self._round_trip.shortest - self._frame / 2.0
            self.due += _PHASE_GAIN * max(-self._frame / 2.0, min(self._frame / 2.0, error))

    def same_frame(self, now: float) -> None:
        """Record that a frame was requested twice: wait longer."""
        if self.is_far:
            self._believed_until = now + _BELIEVED
            if self._frame is not None and self._steps:
                self._frame = max(self._frame, min(self._steps))
        else:
            self.gap = min(_WIDEST_GAP, 2.0 * self.gap)


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
def split_channel(channel: str) -> tuple[str, str]:
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
        stem, number = split_channel(channel)
        poll = self._polls.get(number)
        return None if poll is None or stem in poll.replies else poll

    def _take(self, channel: str, poll: Poll, reply: Any, now: float) -> None:
        """Add a reply to its poll."""
        stem, number = split_channel(channel)
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
