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

"""The round trip to a peer, and the time-out that follows from it (RFC 6298)."""

from __future__ import annotations

import math

# The shortest round trip is that of the last one or two of these, in seconds.
_MEMORY = 5.0

_LARGEST_BACKOFF = 6
# Nearby, a request is repeated at least this often, in seconds.
_LONGEST_BACKED_OFF = 0.5
_MOST_OF_SHORTEST = 8.0


class RoundTrip:
    """
    Mean and variation of the time from a request to its reply, as TCP keeps them.

    ``first`` is the time-out before anything is known, ``shortest`` and ``longest`` are its
    limits. Time is passed in, in seconds. Each request must be told from the others, as by its
    channel: then late replies count too, and no sample is ambiguous (RFC 6298, section 3).

    What follows is kept, as it is asked for far more often than it changes: ``shortest`` is the
    shortest round trip of the last seconds, infinite if there was none; ``usual_timeout`` is how
    long to wait for a reply of a peer that has answered in time, ``timeout`` is longer after each
    request that had none.
    """

    def __init__(self, *, first: float, shortest: float, longest: float) -> None:
        self._first = first
        self._least = shortest
        self._most = longest
        self.reset()

    def reset(self) -> None:
        """Forget everything."""
        self.mean: float | None = None
        self._variation = 0.0
        self._backoff = 0
        self._backed_off_at = -math.inf
        self._minima = [math.inf, math.inf]
        self._minima_until = -math.inf
        self._conclude()

    def learn(self, sample: float, now: float) -> None:
        """Record that a request was answered after ``sample`` seconds."""
        if not 0.0 <= sample <= self._most:
            # As long as that, it is the peer that had stopped.
            return
        self._backoff = 0
        if self.mean is None:
            self.mean, self._variation = sample, sample / 2.0
        else:
            self._variation += (abs(sample - self.mean) - self._variation) / 4.0
            self.mean += (sample - self.mean) / 8.0
        if now >= self._minima_until:
            self._minima = [math.inf, self._minima[0]]
            self._minima_until = now + _MEMORY
        if sample < self._minima[0]:
            self._minima[0] = sample
        self._conclude()

    def back_off(self, sent_at: float, now: float) -> None:
        """Record that a request sent then was not answered in time: wait longer, once a flight."""
        if sent_at >= self._backed_off_at:
            self._backoff = min(self._backoff + 1, _LARGEST_BACKOFF)
            self._backed_off_at = now
            self._conclude()

    @property
    def backs_off(self) -> bool:
        """Return whether the last request had no reply in time."""
        return self._backoff > 0

    def _conclude(self) -> None:
        """Work out the time-outs."""
        # After each reply: comparisons, not calls.
        newer, older = self._minima
        self.shortest = shortest = newer if newer < older else older
        usual, mean = self._first, self.mean
        if mean is not None:
            # A reply may always take twice the usual time, or a tenth of a second more.
            spread, twice = 4.0 * self._variation, mean if mean < 0.1 else 0.1
            usual = mean + (spread if spread > twice else twice)
            if usual < self._least:
                usual = self._least
            # A peer that had stopped for a while answers late, but is no further away than before.
            if usual > _LONGEST_BACKED_OFF or usual > self._most:
                usual = min(usual, self._most, max(
                    _LONGEST_BACKED_OFF, _MOST_OF_SHORTEST * shortest))
        self.usual_timeout = usual
        self.timeout = usual
        # The first time-out may be due to a lost datagram just as well as to a slower peer.
        if self._backoff > 1:
            longest = min(self._most, max(_LONGEST_BACKED_OFF, 2.0 * usual))
            self.timeout = float(min(longest, usual * 2.0 ** (self._backoff - 1)))
