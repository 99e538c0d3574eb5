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

"""A budget of datagrams per second, shared by everything that one session sends."""

from __future__ import annotations

# Rounding of floating-point times: a caller at when() must not be rejected.
_TOLERANCE = 1e-6


class Budget:
    """
    Allow at most ``rate`` datagrams in any second, and at most ``burst`` at once.

    A low rate lowers the burst too, to half a second's worth. Time is passed in, in seconds of
    any steady clock.
    """

    def __init__(self, rate: float, burst: float) -> None:
        self._largest_burst = burst
        self._left = burst
        self._at = 0.0
        self.rate = rate

    @property
    def rate(self) -> float:
        """Return how many datagrams are allowed in any second."""
        return self._rate

    @rate.setter
    def rate(self, rate: float) -> None:
        self._rate = rate
        self._burst = min(self._largest_burst, rate / 2.0)
        # The burst and what is added within a second make up the rate together.
        self._growth = rate - self._burst
        self._left = min(self._left, self._burst)

    def take(self, count: int, now: float, *, leave: int = 0) -> bool:
        """Take ``count`` datagrams if ``leave`` remain for others; return whether taken."""
        self._refill(now)
        if self._left < count + leave - _TOLERANCE:
            return False
        self._left -= count
        return True

    def charge(self, count: int, now: float) -> None:
        """Take ``count`` datagrams that cannot wait; a deficit is saved up afterwards."""
        self._refill(now)
        self._left -= count

    def when(self, count: int, now: float, *, leave: int = 0) -> float:
        """Return when a take() of this size succeeds, if the burst is large enough."""
        self._refill(now)
        return now + max(0.0, count + leave - self._left) / self._growth

    def _refill(self, now: float) -> None:
        if now > self._at:
            self._left = min(self._burst, self._left + (now - self._at) * self._growth)
            self._at = now
