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

"""When a sensor samples, which samples it loses, and when it delivers those that it has."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, NamedTuple, TypeVar

import numpy as np

from xplane_bridge.common.fields import declared
from xplane_bridge.common.timing import SECOND_NS

# A state comes a little early or late: X-Plane's time is rounded, a network has jitter. Earlier by
# this much (ns), or by a quarter of the period, it still is the one to sample.
_EARLY = 4_000_000
# A latency that ends within this (ns) after a state is over.
_ROUNDED = 500_000
# The time before the first sample (ns), if the sensor has no rate of its own.
_FIRST = 20_000_000


@dataclass(frozen=True, slots=True)
class Dropout:
    """Losing samples: each may begin a time in which all are lost."""

    probability: float = declared(
        0.0, 'with which a sample begins a time in which all are lost', low=0.0, high=1.0)
    duration: float = declared(0.0, 'of that time', unit='s', low=0.0)


@dataclass(frozen=True, slots=True)
class Timing:
    """When a device samples, and when it delivers."""

    rate: float = declared(
        0.0, 'samples per second, by stamps, on a grid; 0 is each state, and so is more than the '
        "bridge's", unit='1/s', low=0.0)
    latency: float = declared(
        0.0, 'how much later than the state a sample is delivered', unit='s', low=0.0)
    dropout: Dropout = declared(Dropout(), 'losses', form='{probability: …, duration: …}')


Reading = TypeVar('Reading')


class Delivery(NamedTuple, Generic[Reading]):
    """What a sensor measured at ``stamp`` (ns), however much later it is delivered."""

    stamp: int
    reading: Reading


class Device(Generic[Reading]):
    """
    One device: takes samples of the states that it is shown, and delivers them later.

    All times are stamps in nanoseconds: no clock is read. A delivery comes with the first state
    that is at least the latency after the one that was measured; the first one at once, as by a
    device that has been on for a while.
    """

    def __init__(self, timing: Timing, generator: np.random.Generator) -> None:
        self._timing = timing
        self._generator = generator
        self._period = round(SECOND_NS / timing.rate) if timing.rate else 0
        self._latency = round(timing.latency * SECOND_NS)
        # Earlier by this, a state still is the one to sample.
        self._early = min(_EARLY, self._period // 4)
        self._last: int | None = None
        self._sampled: int | None = None
        self._next = 0
        self._lost_until = 0
        self._queue: deque[Delivery[Reading]] = deque()
        self._has_delivered = False

    def show(
        self, stamp: int, measure: Callable[[float], Reading | None]
    ) -> list[Delivery[Reading]]:
        """
        Show the state at ``stamp``; return what is delivered now.

        If it is to be sampled, ``measure`` is called with the seconds since the last sample; it
        may return None. A state that has been shown already is not sampled again.
        """
        if (last := self._last) is not None and stamp < last:
            # Another flight: time has begun anew.
            self._sampled, self._lost_until, self._has_delivered = None, 0, False
            self._queue.clear()
        self._last = stamp
        if stamp != last and (self._sampled is None or stamp >= self._next - self._early):
            self._sample(stamp, measure)
        delivered: list[Delivery[Reading]] = []
        if queue := self._queue:
            until = stamp - self._latency + _ROUNDED
            while queue and (queue[0].stamp <= until or not self._has_delivered):
                delivered.append(queue.popleft())
                self._has_delivered = True
        return delivered

    def _sample(self, stamp: int, measure: Callable[[float], Reading | None]) -> None:
        if self._sampled is None:
            since, self._next = self._period or _FIRST, stamp
        else:
            since = stamp - self._sampled
        if self._period:
            # On the same grid, whatever was missed.
            missed = (stamp + self._early - self._next) // self._period
            self._next += (missed + 1) * self._period
        self._sampled = stamp
        reading = measure(since / SECOND_NS)
        dropout = self._timing.dropout
        if self._has_delivered and self._generator.random() < dropout.probability:
            self._lost_until = max(
                self._lost_until, stamp + max(round(dropout.duration * SECOND_NS), 1))
        if reading is not None and stamp >= self._lost_until:
            self._queue.append(Delivery(stamp, reading))
