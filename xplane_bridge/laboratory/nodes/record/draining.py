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

"""How long a recorder waits at its end, where nobody tells it what it lacks."""

from __future__ import annotations

import math
import time

# How often a recorder calls tick(), in seconds.
TICK_PERIOD = 0.1
# Where a tick is so late, the machine is busy: publishers and the middleware wait for time too.
_QUIET, _BUSY_QUIET = 0.3, 1.0
_LATE = 0.05
# The middleware drops what a process that gets no processor time does not take, and sends it again
# with its next heartbeat: Fast DDS every 3 s.
_STARVED = 0.2
SENT_AGAIN = 3.5
# A bridge that gives back says nothing for 4 s, and then how much it has published.
_GIVING_BACK = 6.0
# Longer than that only on a busy machine: one without processor time answered heartbeats after
# 8 s, and a publisher's clock may be behind.
LONGEST = 15.0


class Quiet:
    """
    How long nothing may arrive for everything to count as received: longer if busy or starved.

    What was dropped then is sent again within ``sent_again`` s.
    """

    def __init__(self, sent_again: float = SENT_AGAIN) -> None:
        self._sent_again = sent_again
        self._ticked = time.monotonic()
        self._late_at = self._starved_at = -math.inf

    def tick(self) -> None:
        """Notice, each TICK_PERIOD, whether this process gets processor time."""
        now = time.monotonic()
        late = now - self._ticked - TICK_PERIOD
        if late > _LATE:
            self._late_at = now
        if late > _STARVED:
            self._starved_at = now
        self._ticked = now

    def longest(self) -> float:
        """Return how long (s) to wait at most: longer if a tick was late not long ago."""
        return LONGEST if self._ticked - self._late_at < LONGEST else max(
            self._sent_again, _GIVING_BACK)

    def until(self) -> float:
        """Return the end of the quiet that begins now, on the monotonic clock."""
        self.tick()
        if self._ticked - self._starved_at < LONGEST:
            return self._ticked + max(self._sent_again, _BUSY_QUIET)
        return self._ticked + (
            _BUSY_QUIET if self._ticked - self._late_at < LONGEST else _QUIET)
