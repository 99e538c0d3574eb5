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

"""Which run of X-Plane answers, and what a report says of now: told by its running time."""

from __future__ import annotations

from enum import Enum
import math
from typing import NamedTuple

# An X-Plane that was frozen reports again within this many seconds of its own.
_FIRST_REPORT = 0.5

# Its time runs sim_speed times as fast as ours. What is further ahead is damaged, or another's.
_FASTEST = 20.0
_LEAP = 10.0

# Another run is believed once two reports have shown it, not of one burst, and the known one has
# missed some: copies of old reports come in bursts, or beside new ones.
_HEARD_FOR = 0.08
_MISSED_FOR = 0.45


class Sign(Enum):
    """What its running time says of a report."""

    NEWER = 'it is later than all that was heard of the same run'
    AGAIN = 'it is as old as the last one: in a pause the time stands still'
    LATE = 'it was sent before the last one, or by another run: the next ones show that'
    OTHER = 'another run has sent it, as it did some before'
    UNDATED = 'nothing: there is none'


class _Heard(NamedTuple):
    time: float
    at: float


class Identity:
    """The running time that was reported last, and when; and one that does not go on from it."""

    def __init__(self) -> None:
        self._known: _Heard | None = None
        self._odd: _Heard | None = None

    @property
    def is_known(self) -> bool:
        """Return whether one run can be told from the next: the rows of 7 have no time."""
        return self._known is not None

    def on_reply(self, time: float | None, now: float) -> Sign:
        """Handle the running time of a report; return what it says of it."""
        if time is None or not math.isfinite(time):
            return Sign.UNDATED
        known, odd = self._known, self._odd
        if known is None or self._goes_on(known, time, now):
            self._learn(time, now)
            return Sign.AGAIN if known and time == known.time else Sign.NEWER
        if odd is None or time < odd.time:
            self._odd = _Heard(time, now)
            return Sign.LATE
        if now < odd.at + _HEARD_FOR or now < known.at + _MISSED_FOR:
            return Sign.LATE
        self._learn(time, now)
        return Sign.NEWER if _is_ahead(known, time, now) else Sign.OTHER

    def forget(self) -> None:
        """Forget which run of X-Plane it was."""
        self._known = self._odd = None

    def _learn(self, time: float, now: float) -> None:
        self._known, self._odd = _Heard(time, now), None

    def _goes_on(self, known: _Heard, time: float, now: float) -> bool:
        """
        Return, from the running time, whether it is the same X-Plane as before.

        It never goes back. A frozen X-Plane continues where it was; one that was only not heard
        has continued for as long; one that was started since has not run for longer than that.
        """
        is_new = known.time + _FIRST_REPORT < time <= now - known.at
        return time >= known.time and not is_new and not _is_ahead(known, time, now)


def _is_ahead(known: _Heard, time: float, now: float) -> bool:
    """Return whether the running time is further ahead than it can have got."""
    return time > known.time + _FASTEST * (now - known.at) + _LEAP
