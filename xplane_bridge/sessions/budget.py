"""A budget of datagrams a second, shared by everything that one session sends."""

from __future__ import annotations


class Budget:
    """
    Allow ``rate`` datagrams a second, at most ``burst`` of them at once.

    Time is passed in, in seconds of any steady clock.
    """

    def __init__(self, rate: float, burst: float) -> None:
        self.rate = rate
        self._burst = burst
        self._left = burst
        self._at = 0.0

    def _refill(self, now: float) -> None:
        self._left = min(self._burst, self._left + max(0.0, now - self._at) * self.rate)
        self._at = now

    def take(self, count: int, now: float, *, leave: int = 0) -> bool:
        """Take ``count`` datagrams if ``leave`` stay for others; tell whether they were taken."""
        self._refill(now)
        if self._left < count + leave:
            return False
        self._left -= count
        return True

    def when(self, count: int, now: float, *, leave: int = 0) -> float:
        """Return the time from which take() of as much succeeds."""
        self._refill(now)
        return now + max(0.0, count + leave - self._left) / self.rate
