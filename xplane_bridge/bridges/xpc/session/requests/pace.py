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

"""When an aircraft is polled: once per frame of the simulator, or at its own period."""

from __future__ import annotations

from collections import deque
import statistics

from xplane_bridge.bridges.sessions.round_trip import RoundTrip
from xplane_bridge.bridges.xpc.session.flow import FRAME_GAP

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
