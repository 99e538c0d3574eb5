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
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from xplane_bridge.common.timing import SECOND_NS
from xplane_bridge.protocols.ulyssix import COUNTER_MODULUS, DataPacket
from xplane_bridge.sessions.ulyssix.timeline import Placed

MOVING, CONSTANT, STUCK = range(3)
"""Whether a parameter changes: it does, it never has, it has stopped. See UlyssixQuality.msg."""

CONSTANT_AFTER = 30.0
"""Seconds without a change after which a parameter is constant."""

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
# A usual interval is the median of this many packets', renewed after as many.
_RECENT = 8
# An interval longer than this many usual ones is a gap. Without time tags the times are those of
# packets, in which one sample more or less is normal.
_TAGGED, _UNTAGGED = 1.5, 2.5
# Silent for longer than this (s) and this many usual intervals: it has stopped.
_STOPPED, _STOPPED_INTERVALS = 1.0, 3.0
# Whole numbers up to this only: a switch, which may stay as it is.
_SWITCH = 15
# The names are the sender's: those that are gone are kept up to this number.
_MOST_GONE = 10_000

_COUNTED = {
    'missing': 'gaps', 'late': 'late', 'invalid': 'invalid', 'out of limits': 'out_of_limits'}

_STATE = np.dtype([
    ('samples', 'i8'), ('gaps', 'i8'), ('late', 'i8'), ('invalid', 'i8'), ('outside', 'i8'),
    ('first_ns', 'i8'), ('last_ns', 'i8'), ('changed_ns', 'i8'), ('value', 'f8'),
    ('minimum', 'f8'), ('maximum', 'f8'), ('period', 'f8'), ('recent', 'f8', (_RECENT,)),
    ('intervals', 'i8'), ('moved', '?'), ('switch', '?'), ('follows', '?'),
    ('told', 'i8'), ('told_ns', 'i8'), ('rate', 'f8')])


@dataclass(frozen=True, slots=True)
class ParameterQuality:
    """
    The quality of all parameters: arrays with one element per name.

    samples were received. rate was achieved, expected_rate is the usual one (Hz; 0 unknown).
    age: by how many seconds the newest sample is older than the newest of all. gaps are missing
    samples by the usual rate, late those that arrived after newer ones, invalid NaN or infinite,
    out_of_limits outside the map's limits. minimum and maximum are of the valid samples, NaN
    without any. unchanged: seconds since the value was another. constant: MOVING, CONSTANT or
    STUCK. stopped: silent for longer than a second and three of its intervals.
    """

    names: tuple[str, ...]
    samples: NDArray[np.int64]
    rate: NDArray[np.float64]
    expected_rate: NDArray[np.float64]
    age: NDArray[np.float64]
    gaps: NDArray[np.int64]
    late: NDArray[np.int64]
    invalid: NDArray[np.int64]
    out_of_limits: NDArray[np.int64]
    minimum: NDArray[np.float64]
    maximum: NDArray[np.float64]
    unchanged: NDArray[np.float64]
    constant: NDArray[np.uint8]
    stopped: NDArray[np.bool_]

    def faults(self, since: ParameterQuality | None = None) -> dict[str, tuple[str, ...]]:
        """Return the parameters with each kind of fault, by kind: all, or new ones ``since``."""
        if since is not None and since.names != self.names:
            since = self
        found = {
            kind: getattr(self, field) > (0 if since is None else getattr(since, field))
            for kind, field in _COUNTED.items()}
        found |= {'stuck': self.constant == STUCK, 'stopped': self.stopped}
        return {kind: tuple(self.names[at] for at in np.flatnonzero(which))
                for kind, which in found.items() if which.any()}

    def lines(self) -> dict[str, str]:
        """Return what is wrong with each parameter that has a fault, as text by name."""
        texts: dict[str, list[str]] = {}
        for kind, names in self.faults().items():
            for name in names:
                field = _COUNTED.get(kind)
                at = self.names.index(name)
                texts.setdefault(name, []).append(
                    f'{int(getattr(self, field)[at])} {kind}' if field else
                    f'stuck for {self.unchanged[at]:.1f} s' if kind == 'stuck' else
                    f'stopped {self.age[at]:.1f} s ago')
        return {name: ', '.join(parts) for name, parts in texts.items()}


class Quality:
    """
    Follow the quality of parameters, packet by packet, in memory bounded by their number.

    A parameter is CONSTANT if it has not changed since its first sample, STUCK if it has changed
    before, both after ``constant_after`` seconds by its own sample times (0: never). One that has
    had whole numbers from 0 to 15 only is a switch or a mode, which is never STUCK. A value that
    is not finite counts as a change.

    A gap is an interval of more than 1.5 usual ones, without time tags of 2.5; samples that arrive
    late close it again. The usual interval is the median of the last eight packets', so it follows
    a new rate. No gap is counted over a step of the publisher's clock of more than 1 s, which
    counts in ``time_jumps``. A step ahead shows as a latency less than any before, so that a
    network that holds packets back is none.

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
        self._derived: tuple[str, ...] = ()
        self.names: tuple[str, ...] = ()
        self._state = np.zeros(0, _STATE)
        self._limits: tuple[NDArray[np.float64], NDArray[np.float64]] | None = None
        self._gone: dict[str, NDArray[Any]] = {}
        # Counter and time of the newest packet.
        self._before: tuple[int, int] | None = None
        self._least_latency = 0
        self._untold: int | None = None

    def take(
        self, names: tuple[str, ...], packet: DataPacket, placed: Placed, received_ns: int,
        derived: Sequence[Computed] = (),
    ) -> None:
        """
        Follow a packet: its names (none if unknown), its times, and when it was received.

        ``derived`` are the samples of derived parameters that it completes.
        """
        if len(names) != len(packet.counts):
            names = ()
        if names != self._given or self._count != len(packet.counts):
            self._rename(names, len(packet.counts), ())
        new = tuple(name for name, *_ in derived if name not in self._derived)
        if new:
            self._rename(self._given, self._count, (*self._derived, *new))
        self._follow_clock(packet, placed.first_ns, received_ns)
        if len(packet.values):
            here: Any = slice(self._count)
            if not packet.counts.all():
                here = np.flatnonzero(packet.counts)
            self._follow(here, packet.counts[here], packet.values, placed.times, placed.first_ns,
                         packet.times is not None)
        if derived:
            shown, times, values = zip(*derived, strict=True)
            self._follow(
                np.array([self._count + self._derived.index(name) for name in shown]),
                np.array([len(one) for one in values]), np.concatenate(values),
                np.concatenate(times), placed.first_ns, True)

    def _follow(
        self, here: Any, counts: NDArray[np.int64], values: NDArray[Any],
        times: NDArray[np.int64] | None, first_ns: int, tagged: bool,
    ) -> None:
        """Follow the samples of the parameters ``here``, one after the other."""
        ends = np.cumsum(counts)
        starts = ends - counts
        first: Any = first_ns if times is None else times[starts]
        last: Any = first_ns if times is None else times[ends - 1]
        self._follow_times(here, counts, starts, first, last, times, tagged)
        self._follow_values(here, counts, starts, ends, last, values)
        state = self._state
        new = state['samples'][here] == 0
        if new.any():
            state['first_ns'][here] = np.where(new, first, state['first_ns'][here])
        state['samples'][here] += counts
        state['last_ns'][here] = np.where(
            state['follows'][here], np.maximum(state['last_ns'][here], last), last)
        state['follows'][here] = True

    def restart(self) -> None:
        """Count no gap to the next packet: the publisher was restarted."""
        self._before = None
        self._state['follows'] = False

    def _rename(self, names: tuple[str, ...], count: int, derived: tuple[str, ...]) -> None:
        """Continue with other parameters; those that stay keep what is known of them."""
        self._given, self._count, self._derived = names, count, derived
        sent = names or tuple(f'parameter_{number}' for number in range(1, count + 1))
        shown = (*sent, *derived)
        known = {name: self._state[at].copy() for at, name in enumerate(self.names)}
        self._gone.update(known)
        self._state = np.zeros(len(shown), _STATE)
        for name in ('minimum', 'maximum', 'value'):
            self._state[name] = np.nan
        self._state['switch'] = True
        # Of equal names only the first has a past.
        for name, at in {name: at for at, name in reversed(list(enumerate(shown)))}.items():
            past = self._gone.pop(name, None)
            if past is not None:
                self._state[at] = past
        for name in list(self._gone)[:max(len(self._gone) - _MOST_GONE, 0)]:
            del self._gone[name]
        self.names = shown
        self._limits = None
        if self._limits_of is not None and count:
            low, high = self._limits_of(sent, derived)
            if np.isfinite(low).any() or np.isfinite(high).any():
                self._limits = low, high

    def _follow_clock(self, packet: DataPacket, first_ns: int, received_ns: int) -> None:
        """Compare the publisher's clock with the receiver's, and with itself."""
        latency = received_ns - first_ns
        self.latency = latency / SECOND_NS
        self._untold = latency if self._untold is None else max(self._untold, latency)
        if self._before is not None:
            counter, before_ns = self._before
            if (packet.counter - counter) % COUNTER_MODULUS >= COUNTER_MODULUS // 2:
                # Overtaken by newer ones.
                return
            if latency < self._least_latency - _JUMP or first_ns < before_ns - _JUMP:
                self.time_jumps += 1
                self.restart()
        self._least_latency = (
            latency if self._before is None else min(self._least_latency, latency))
        self._before = packet.counter, first_ns

    def _follow_times(
        self, here: Any, counts: NDArray[np.int64], starts: NDArray[np.int64],
        first: Any, last: Any, times: NDArray[np.int64] | None, tagged: bool,
    ) -> None:
        """Count gaps and late samples, and learn the usual intervals."""
        state = self._state
        before, period = state['last_ns'][here], state['period'][here]
        follows = state['follows'][here]
        ahead = np.where(follows, first - before, 0)
        if times is None:
            # A step per packet, which has counts samples.
            usual = period * counts
            longest, least = ahead, ahead
        else:
            steps = np.empty(len(times), np.int64)
            np.subtract(times[1:], times[:-1], out=steps[1:])
            steps[starts] = ahead
            usual = period
            longest = np.maximum.reduceat(steps, starts)
            least = np.minimum.reduceat(steps, starts)
        limit = (_TAGGED if tagged else _UNTAGGED) * usual
        if (gaps := (longest > limit) & (period > 0)).any():
            missing = np.zeros(len(counts), np.int64)
            for at in np.flatnonzero(gaps):
                own = ahead[at:at + 1] if times is None else (
                    steps[starts[at]:starts[at] + counts[at]])
                own = own[own > limit[at]]
                missing[at] = np.rint(own / period[at] - usual[at] / period[at]).sum()
            state['gaps'][here] += missing
        if (least < 0).any():
            late = counts * (least < 0)
            if times is not None:
                newest = np.repeat(np.where(follows, before, np.iinfo(np.int64).min), counts)
                late = np.add.reduceat((times < newest) | (steps < 0), starts, dtype=np.int64)
            state['late'][here] += late
            state['gaps'][here] = np.maximum(state['gaps'][here] - late, 0)
        good = follows & (last > before) & (ahead > 0)
        if good.any():
            self._learn(np.arange(len(state))[here][good], ((last - before) / counts)[good])

    def _learn(self, which: NDArray[np.int64], intervals: NDArray[np.float64]) -> None:
        """Learn the mean interval of the samples in a packet."""
        state = self._state
        number = state['intervals'][which]
        state['recent'][which, number % _RECENT] = intervals
        state['intervals'][which] = number + 1
        due = which[number % _RECENT == _RECENT - 1]
        if len(due):
            state['period'][due] = np.median(state['recent'][due], axis=1)

    def _follow_values(
        self, here: Any, counts: NDArray[np.int64], starts: NDArray[np.int64],
        ends: NDArray[np.int64], last: Any, values: NDArray[Any],
    ) -> None:
        """Count values that cannot be true, and notice whether they change."""
        state = self._state
        least, most = np.minimum.reduceat(values, starts), np.maximum.reduceat(values, starts)
        if values.dtype.kind == 'f' and not (np.isfinite(least) & np.isfinite(most)).all():
            invalid = ~np.isfinite(values)
            state['invalid'][here] += np.add.reduceat(invalid, starts, dtype=np.int64)
            values = np.where(invalid, np.nan, values)
            least, most = np.fmin.reduceat(values, starts), np.fmax.reduceat(values, starts)
        if self._limits is not None:
            # As sent: 0.1 of single precision is not above 0.1.
            low, high = (
                each[here].astype(values.dtype) if values.dtype.kind == 'f' else each[here]
                for each in self._limits)
            if ((least < low) | (most > high)).any():
                outside = (values < np.repeat(low, counts)) | (values > np.repeat(high, counts))
                state['outside'][here] += np.add.reduceat(outside, starts, dtype=np.int64)
        old, new = state['value'][here], state['samples'][here] == 0
        # NaN differs from everything, and is a change.
        steady = (least == most) & ((least == old) | new)
        state['changed_ns'][here] = np.where(
            steady & ~new, state['changed_ns'][here], last)
        state['moved'][here] |= ~steady
        state['value'][here] = values[ends - 1]
        state['minimum'][here] = np.fmin(state['minimum'][here], least)
        state['maximum'][here] = np.fmax(state['maximum'][here], most)
        switch = state['switch'][here] & (least >= 0) & (most <= _SWITCH)
        if switch.any():
            switch &= np.logical_and.reduceat(values == np.floor(values), starts)
        state['switch'][here] = switch

    def report(self, renew: bool = True) -> ParameterQuality:
        """
        Return the quality of all parameters so far.

        ``renew`` begins a new period for the rates and ``latency_max``; without it rates are those
        since the first sample.
        """
        if renew:
            self.latency_max = float('nan') if self._untold is None else self._untold / SECOND_NS
            self._untold = None
        return self._reported(self.names, self._state, renew)

    def gone(self) -> ParameterQuality:
        """Return the quality of parameters that the publisher no longer sends."""
        state = np.array(list(self._gone.values()), _STATE).reshape(-1)
        return self._reported(tuple(self._gone), state, renew=False)

    def _reported(
        self, names: tuple[str, ...], state: NDArray[Any], renew: bool
    ) -> ParameterQuality:
        seen = state['samples'] > 0
        newest = int(state['last_ns'].max(initial=0))
        age = np.where(seen, newest - state['last_ns'], 0)
        period = state['period']
        stopped = seen & (age > _STOPPED * SECOND_NS) & (age > _STOPPED_INTERVALS * period)
        known = np.where(period > 0, period, np.inf)
        if renew:
            fresh = seen & (state['told'] > 0) & (state['last_ns'] > state['told_ns'])
            done = state['samples'] - state['told']
            rate = np.where(
                fresh, _per_second(done, state['last_ns'] - state['told_ns']),
                np.where(stopped, 0.0, state['rate']))
            state['rate'] = rate
            advanced = seen & (state['last_ns'] > state['told_ns'])
            state['told'] = np.where(advanced, state['samples'], state['told'])
            state['told_ns'] = np.where(advanced, state['last_ns'], state['told_ns'])
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
