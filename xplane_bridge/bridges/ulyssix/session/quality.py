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

"""Data quality of a publisher's parameters: what is missing, late, stuck, or cannot be true."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from xplane_bridge.bridges.ulyssix.protocol import COUNTER_MODULUS, DataPacket
from xplane_bridge.bridges.ulyssix.session.batches import follow, SampleBatch
from xplane_bridge.bridges.ulyssix.session.judged import CONSTANT, MOVING, ParameterQuality, STUCK
from xplane_bridge.bridges.ulyssix.session.known import KnownParameters, RECENT, records, unknown
from xplane_bridge.bridges.ulyssix.session.timeline import Placed
from xplane_bridge.common.timing import SECOND_NS

CONSTANT_AFTER = 30.0
"""Seconds without a change after which a parameter is constant."""

LONGEST_KEPT = 0.25
"""Seconds for which packets are kept until they are followed; their owner sees to it."""

MOST_KEPT = 2**20
"""Bytes of packets that are kept until they are followed."""

Limits = Callable[
    [Sequence[str], Sequence[str]], tuple[NDArray[np.float64], NDArray[np.float64]]]
"""
Lowest and highest good value of each of the named parameters and derived ones.

Those of parameters are raw; infinite where there is none.
"""

Computed = tuple[str, NDArray[np.int64], NDArray[np.float64]]
"""Samples of a derived parameter: its name, times in ns, and values in SI."""

# A step of the publisher's clock against the receiver's, or back. Slow parameters make the first
# data point of a packet older than that of the previous one, by less.
_JUMP = 1 * SECOND_NS
# Silent for longer than this (s) and this many usual intervals: it has stopped.
_STOPPED, _STOPPED_INTERVALS = 1.0, 3.0
# The names are the sender's: those that are gone are kept up to this number.
_MOST_GONE = 10_000
# What a kept packet takes beside its samples, in bytes.
_OVERHEAD = 512


class _Column:
    """What is kept of many packets, one after the other, in memory that is used again."""

    def __init__(self) -> None:
        self._memory: NDArray[Any] = np.empty(0)
        self._length = 0

    def add(self, new: NDArray[Any]) -> None:
        """Copy an array to the end; all have the same type until ``take_all``."""
        end = self._length + len(new)
        if end > len(self._memory) or new.dtype != self._memory.dtype:
            memory = np.empty(2 * end, new.dtype)
            memory[:self._length] = self._memory[:self._length]
            self._memory = memory
        self._memory[self._length:end] = new
        self._length = end

    def take_all(self) -> NDArray[Any]:
        """Return all, until the next ``add``, and begin anew."""
        all_of_it, self._length = self._memory[:self._length], 0
        return all_of_it


class Quality:
    """
    Follow the quality of parameters in memory bounded by their number.

    ``take`` only keeps a packet. ``follow`` follows all that are kept at once, which is many times
    cheaper and gives the same result as one by one. Whatever reports what is known does so first,
    and so does ``take`` when MOST_KEPT bytes are kept.

    A parameter is CONSTANT if it has not changed since its first sample, STUCK if it has changed
    before, both after ``constant_after`` seconds by its own sample times (0: never). One that has
    had whole numbers from 0 to 15 only is a switch or a mode, which is never STUCK. A value that
    is not finite counts as a change.

    A gap is an interval of more than 1.5 usual ones; without time tags of 2.5 if no packet number
    is missing. Samples that arrive late close it again. The usual interval is the median of the
    last eight packets', in the order of their times, so it follows a new rate. No gap is counted
    over a step of the publisher's clock of more than 1 s, which counts in ``time_jumps``. A step
    ahead shows as a latency less than any before, so that a network that holds packets back is
    none.

    Derived parameters are followed like those that are sent, and come after them. ``limits`` gives
    the limits for names. Not for two threads at the same time.
    """

    def __init__(
        self, constant_after: float = CONSTANT_AFTER, limits: Limits | None = None
    ) -> None:
        self.time_jumps = 0
        self.latency = self.latency_max = float('nan')
        self._constant_ns = constant_after * SECOND_NS
        self._limits_of = limits
        self._given: tuple[str, ...] = ()
        self._count = 0
        self._derived: dict[str, int] = {}
        self.names: tuple[str, ...] = ()
        self._know(KnownParameters.of(unknown(0)))
        self._limits: tuple[NDArray[np.float64], NDArray[np.float64]] | None = None
        self._gone: dict[str, NDArray[Any]] = {}
        # Counter and time of the newest packet.
        self._before: tuple[int, int] | None = None
        self._least_latency = 0
        self._unannounced: int | None = None
        # Packets to be followed: their times, whether they do not follow by number, the derived
        # samples that they complete, and columns.
        self._kept_ns: list[int] = []
        self._kept_skips: list[bool] = []
        self._kept_derived: list[Sequence[Computed]] = []
        self._counts, self._values, self._times = _Column(), _Column(), _Column()
        self._kept_bytes = 0
        # What all kept packets have in common.
        self._kind: tuple[Any, ...] = ()

    # Packets.

    def take(
        self, names: tuple[str, ...], packet: DataPacket, placed: Placed, received_ns: int,
        derived: Sequence[Computed] = (),
    ) -> None:
        """
        Take a packet: its names (none if unknown), its times, and when it was received.

        ``derived`` are the samples of derived parameters that it completes.
        """
        count = len(packet.counts)
        if names is not self._given or count != self._count:
            self._look_at_names(names if len(names) == count else (), count)
        if derived and any(one[0] not in self._derived for one in derived):
            self.follow()
            self._rename(self._given, count, tuple(dict.fromkeys(
                (*self._derived, *(one[0] for one in derived)))))
        skips = self._follow_clock(packet, placed.first_ns, received_ns)
        values, times = packet.values, placed.times
        kind = values.dtype, times is None, packet.times is None
        if kind != self._kind:
            self.follow()
            self._kind = kind
        self._kept_ns.append(placed.first_ns)
        self._kept_skips.append(skips)
        self._counts.add(packet.counts)
        self._values.add(values)
        size = packet.counts.nbytes + values.nbytes + _OVERHEAD
        if times is not None:
            self._times.add(times)
            size += times.nbytes
        if derived:
            self._kept_derived.append(derived)
            size += sum(one[1].nbytes + one[2].nbytes + _OVERHEAD for one in derived)
        self._kept_bytes += size
        if self._kept_bytes >= MOST_KEPT:
            self.follow()

    def follow(self) -> None:
        """Follow the packets that are kept."""
        if not self._kept_ns:
            return
        first_ns, self._kept_ns, self._kept_bytes = np.array(self._kept_ns), [], 0
        skips, self._kept_skips = np.array(self._kept_skips), []
        _, no_times, untagged = self._kind
        low, high = self._limits or (None, None)
        follow(self._known_sent, SampleBatch(
            self._counts.take_all().reshape(len(first_ns), self._count),
            self._values.take_all(), None if no_times else self._times.take_all(),
            first_ns, not untagged, skips,
        ), None if low is None or high is None else (low[:self._count], high[:self._count]))
        if self._kept_derived:
            derived, self._kept_derived = self._kept_derived, []
            self._follow_derived(derived)

    def _follow_derived(self, packets: Sequence[Sequence[Computed]]) -> None:
        """Follow the samples of derived parameters, those of one packet after the other."""
        counts = np.zeros((len(packets), len(self._derived)), np.int64)
        samples = []
        for row, derived in zip(counts, packets, strict=True):
            ordered = sorted(derived, key=lambda one: self._derived[one[0]])
            row[[self._derived[one[0]] for one in ordered]] = [len(one[1]) for one in ordered]
            samples += ordered
        low, high = self._limits or (None, None)
        follow(self._known_derived, SampleBatch(
            counts, np.concatenate([one[2] for one in samples]),
            np.concatenate([one[1] for one in samples]), np.zeros(len(packets), np.int64), True,
            np.zeros(len(packets), bool),
        ), None if low is None or high is None else (low[self._count:], high[self._count:]))

    def restart(self) -> None:
        """Count no gap to the next packet: the publisher was restarted."""
        self.follow()
        self._before = None
        self._known['follows'] = False
        self._known['intervals'] -= self._known['intervals'] % RECENT

    def _look_at_names(self, names: tuple[str, ...], count: int) -> None:
        if names != self._given or self._count != count:
            self.follow()
            self._rename(names, count, ())
        # The same object from now on, which is quick to compare.
        self._given = names

    def _rename(self, names: tuple[str, ...], count: int, derived: tuple[str, ...]) -> None:
        """Continue with other parameters; those that stay keep what is known of them."""
        self._given, self._count = names, count
        self._derived = {name: at for at, name in enumerate(derived)}
        sent = names or tuple(f'parameter_{number}' for number in range(1, count + 1))
        shown = (*sent, *derived)
        self._gone.update((name, record.copy()) for name, record in zip(
            self.names, self._known.records(), strict=True))
        known = unknown(len(shown))
        # Of equal names only the first has a past.
        for name, at in {name: at for at, name in reversed(list(enumerate(shown)))}.items():
            past = self._gone.pop(name, None)
            if past is not None:
                known[at] = past
        self._know(KnownParameters.of(known))
        for name in list(self._gone)[:max(len(self._gone) - _MOST_GONE, 0)]:
            del self._gone[name]
        self.names = shown
        self._limits = None
        if self._limits_of is not None and count:
            low, high = self._limits_of(sent, derived)
            if np.isfinite(low).any() or np.isfinite(high).any():
                self._limits = low, high

    def _know(self, known: KnownParameters) -> None:
        self._known = known
        self._known_sent = known.part(slice(self._count))
        self._known_derived = known.part(slice(self._count, None))

    def _follow_clock(self, packet: DataPacket, first_ns: int, received_ns: int) -> bool:
        """
        Compare the publisher's clock with the receiver's, and with itself.

        Return whether packets are missing before this one, by their numbers.
        """
        step = 1
        latency = received_ns - first_ns
        self.latency = latency / SECOND_NS
        self._unannounced = (
            latency if self._unannounced is None else max(self._unannounced, latency))
        if self._before is not None:
            counter, before_ns = self._before
            step = (packet.counter - counter) % COUNTER_MODULUS
            if step >= COUNTER_MODULUS // 2:
                # Overtaken by newer ones.
                return False
            if latency < self._least_latency - _JUMP or first_ns < before_ns - _JUMP:
                self.time_jumps += 1
                self.restart()
        self._least_latency = (
            latency if self._before is None else min(self._least_latency, latency))
        self._before = packet.counter, first_ns
        return step > 1

    # What is known.

    def report(self, renew: bool = True) -> ParameterQuality:
        """
        Return the quality of all parameters so far.

        ``renew`` begins a new period for the rates and ``latency_max``; without it rates are those
        since the first sample.
        """
        self.follow()
        if renew:
            self.latency_max = (
                float('nan') if self._unannounced is None else self._unannounced / SECOND_NS)
            self._unannounced = None
        return self._reported(self.names, self._known, renew)

    def gone(self) -> ParameterQuality:
        """Return the quality of parameters that the publisher no longer sends."""
        self.follow()
        return self._reported(
            tuple(self._gone), KnownParameters.of(records(list(self._gone.values()))), renew=False)

    def _reported(
        self, names: tuple[str, ...], state: KnownParameters, renew: bool
    ) -> ParameterQuality:
        seen = state['samples'] > 0
        newest = int(state['last_ns'].max(initial=0))
        age = np.where(seen, newest - state['last_ns'], 0)
        period = state['period']
        stopped = seen & (age > _STOPPED * SECOND_NS) & (age > _STOPPED_INTERVALS * period)
        known = np.where(period > 0, period, np.inf)
        if renew:
            fresh = seen & (state['announced'] > 0) & (state['last_ns'] > state['announced_ns'])
            done = state['samples'] - state['announced']
            rate = np.where(
                fresh, _per_second(done, state['last_ns'] - state['announced_ns']),
                np.where(stopped, 0.0, state['rate']))
            state['rate'] = rate
            advanced = seen & (state['last_ns'] > state['announced_ns'])
            state['announced'] = np.where(advanced, state['samples'], state['announced'])
            state['announced_ns'] = np.where(advanced, state['last_ns'], state['announced_ns'])
        else:
            rate = _per_second(state['samples'] - 1, state['last_ns'] - state['first_ns'])
        unchanged = np.where(seen, (state['last_ns'] - state['changed_ns']) / SECOND_NS, 0.0)
        steady = (unchanged * SECOND_NS > self._constant_ns) & (self._constant_ns > 0)
        constant = np.where(
            steady & ~state['moved'], CONSTANT,
            np.where(steady & ~state['switch'], STUCK, MOVING)).astype(np.uint8)
        return ParameterQuality(
            names, state['samples'].copy(), rate, SECOND_NS / known, age / SECOND_NS,
            # Those of one that has stopped are missing already.
            state['gaps'] + np.where(stopped, age // known, 0).astype(np.int64),
            state['late'].copy(), state['invalid'].copy(), state['outside'].copy(),
            state['minimum'].copy(), state['maximum'].copy(), unchanged, constant, stopped)


def _per_second(number: NDArray[Any], ns: NDArray[Any]) -> NDArray[np.float64]:
    """Return a rate in Hz, 0 over no time."""
    good = ns > 0
    rate: NDArray[np.float64] = np.where(good, number, 0) * SECOND_NS / np.where(good, ns, 1)
    return rate
