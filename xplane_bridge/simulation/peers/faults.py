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

"""
Injected faults between a bridge and a simulator, repeatable by seed.

Nothing here reads a clock: times are passed in, in seconds of any one clock, and never go back.
The same seed and the same calls give the same faults.
"""

from collections.abc import Sequence
from dataclasses import dataclass
import heapq
import math
import random
from typing import Generic, TypeVar

_Item = TypeVar('_Item')

# Outages are random: 0.5 to 1.5 times their mean interval apart.
_SHORTEST_WAIT = 0.5
_LONGEST_WAIT = 1.5


class SimulatorCrashError(Exception):
    """
    The simulator has received something that is known to crash the real one.

    The text says what; ``replies`` is what the real one still sends before it crashes.
    """

    def __init__(self, reason: str, replies: Sequence[tuple[bytes, tuple[str, int]]] = ()) -> None:
        super().__init__(reason)
        self.replies = tuple(replies)


@dataclass(frozen=True, slots=True)
class Faults:
    """
    The faults to inject; none by default.

    ``loss`` and ``duplicate`` are probabilities per datagram and direction. A datagram takes
    ``delay`` seconds and up to ``jitter`` more, uniformly distributed, so jitter reorders
    datagrams. About every ``freeze_every`` seconds (0: never) the simulator renders no frames
    for ``freeze_for`` seconds: what arrives meanwhile waits. About every ``restart_every``
    seconds (0: never) it is gone for ``restart_for`` seconds and then restarts. Raises
    ValueError for a value out of range.
    """

    loss: float = 0.0
    delay: float = 0.0
    jitter: float = 0.0
    duplicate: float = 0.0
    freeze_every: float = 0.0
    freeze_for: float = 2.0
    restart_every: float = 0.0
    restart_for: float = 3.0
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ('loss', 'duplicate'):
            value = getattr(self, name)
            if not 0.0 <= value <= 1.0:
                raise ValueError(f'{name} is {value}, must be a probability, 0..1')
        for name in ('delay', 'jitter', 'freeze_every', 'freeze_for', 'restart_every',
                     'restart_for'):
            value = getattr(self, name)
            if not 0.0 <= value < math.inf:
                raise ValueError(f'{name} is {value} s, must be finite and at least 0')

    def freezes(self) -> 'Outages':
        """Return the times at which the simulator renders no frames."""
        return Outages(self.freeze_every, self.freeze_for, f'{self.seed} freeze')

    def restarts(self) -> 'Outages':
        """Return the times at which the simulator is gone."""
        return Outages(self.restart_every, self.restart_for, f'{self.seed} restart')


class Outages:
    """Outages of ``length`` seconds, about every ``every`` seconds."""

    def __init__(self, every: float, length: float, seed: str) -> None:
        """Start at the first call of active(); ``every`` 0 means never."""
        self._every = every
        self._length = length
        self._random = random.Random(seed)
        self._begin: float | None = None

    def active(self, now: float) -> bool:
        """Return whether there is an outage now."""
        if self._every == 0.0:
            return False
        if self._begin is None:
            self._begin = now + self._wait()
        while now >= self._begin + self._length:
            self._begin += self._length + self._wait()
        return now >= self._begin

    def _wait(self) -> float:
        return self._every * self._random.uniform(_SHORTEST_WAIT, _LONGEST_WAIT)


class Path(Generic[_Item]):
    """One direction of a network with faults: items come out late, twice or never."""

    def __init__(self, faults: Faults, direction: str) -> None:
        """Start empty; each direction has its own random sequence, independent of the other."""
        self._faults = faults
        self._random = random.Random(f'{faults.seed} {direction}')
        self._under_way: list[tuple[float, int, _Item]] = []
        self._count = 0

    def put(self, item: _Item, now: float) -> None:
        """Send an item."""
        faults, chance = self._faults, self._random.random
        if faults.loss and chance() < faults.loss:
            return
        copies = 2 if faults.duplicate and chance() < faults.duplicate else 1
        for _ in range(copies):
            arrival = now + faults.delay + (faults.jitter * chance() if faults.jitter else 0.0)
            # The count preserves the order of items that arrive at the same time.
            heapq.heappush(self._under_way, (arrival, self._count, item))
            self._count += 1

    def take(self, now: float) -> _Item | None:
        """Return the next item that has arrived, or None."""
        if not self._under_way or self._under_way[0][0] > now:
            return None
        return heapq.heappop(self._under_way)[2]

    def next_arrival(self) -> float | None:
        """Return when the next item arrives, or None if nothing is in transit."""
        return self._under_way[0][0] if self._under_way else None

    def clear(self) -> None:
        """Drop everything in transit."""
        self._under_way.clear()
