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

"""Samples of several parameters, each at its own rate, brought to common times."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from xplane_bridge.common.timing import SECOND_NS

Times: TypeAlias = NDArray[np.int64]
Values: TypeAlias = NDArray[np.float64]

# A parameter that has been silent for this long, and for some of its periods, is not waited for.
_PATIENCE = 1 * SECOND_NS
_SILENT_PERIODS = 3.0
# Nor is any parameter, however slow it is, for longer than this.
_LONGEST_PATIENCE = 60 * SECOND_NS
# Samples that are older than this are not late: the clock was set back.
_NOT_LATE = 10 * SECOND_NS
# Between two samples further apart than this many periods nothing is interpolated.
_LONGEST_GAP = 3.5
# Another parameter sets the pace only if it is clearly slower.
_CLEARLY = 1.2
# What is kept of one parameter, at most: it waits for slower ones.
_MOST_SAMPLES = 65_536
_WEIGHT = 0.1
# Packets without a sample of the slowest parameter that are handled at once.
_MOST_WAITING = 20


class ParameterSeries(NamedTuple):
    """Samples of one parameter: times in ns, int64, and values, float64, of the same length."""

    times: Times
    values: Values


_NOTHING = ParameterSeries(np.empty(0, np.int64), np.empty(0))


def _joined(parts: Sequence[ParameterSeries]) -> ParameterSeries:
    some = [part for part in parts if len(part.times)]
    if len(some) < 2:
        return some[0] if some else _NOTHING
    return ParameterSeries(np.concatenate([part.times for part in some]),
                           np.concatenate([part.values for part in some]))


class _Buffer:
    """
    The latest samples of one parameter.

    An angle with a full ``turn`` is unwrapped, and returned as it came: from 0, or from minus
    half a turn if it is ever negative.
    """

    def __init__(self, turn: float) -> None:
        self._turn = turn
        self._lowest = 0.0
        self.kept = _NOTHING
        self.period = 0.0

    @property
    def last(self) -> int | None:
        return int(self.kept.times[-1]) if len(self.kept.times) else None

    @property
    def patience(self) -> float:
        return min(_PATIENCE + _SILENT_PERIODS * self.period, _LONGEST_PATIENCE)

    def add(self, new: ParameterSeries) -> int:
        """Append finite samples that are later than those before; return how many are not."""
        times, values = new
        good = np.isfinite(values)
        last = self.last
        if last is not None:
            good &= times > last
        if not good.all():
            times, values = times[good], values[good]
        if len(times) > 1 and not (times[1:] > times[:-1]).all():
            times, first = np.unique(times, return_index=True)
            values = values[first]
        if not len(times):
            return len(new.times)
        self._measure(times, last)
        if self._turn:
            if not self._lowest and values.min() < 0.0:
                self._lowest = -self._turn / 2
            before = self.kept.values[-1:]
            values = np.unwrap(np.concatenate((before, values)), period=self._turn)[len(before):]
        self.kept = ParameterSeries(
            np.concatenate((self.kept.times, times))[-_MOST_SAMPLES:],
            np.concatenate((self.kept.values, values))[-_MOST_SAMPLES:])
        return len(new.times) - len(times)

    def pass_by(self, new: ParameterSeries) -> None:
        """Keep only the last of samples that are already used."""
        self._measure(new.times, self.last)
        self.kept = ParameterSeries(new.times[-1:], new.values[-1:])

    def _measure(self, times: Times, last: int | None) -> None:
        count = len(times) - (last is None)
        if not count:
            return
        mean = (int(times[-1]) - (int(times[0]) if last is None else last)) / count
        if not self.period:
            self.period = mean
        elif mean < _LONGEST_GAP * self.period:
            self.period += _WEIGHT * (mean - self.period)

    def at(self, times: Times) -> Values:
        """Return the values at these times, by linear interpolation; NaN where none is near."""
        own, values = self.kept
        if not len(own):
            return np.full(len(times), np.nan)
        # Relative to the first, ns are exact as floating point.
        found: Values = np.interp(times - own[0], own - own[0], values, np.nan, np.nan)
        right = np.minimum(np.searchsorted(own, times), len(own) - 1)
        gap = own[right] - own[np.maximum(right - 1, 0)]
        far = (gap > max(_LONGEST_GAP * self.period, 1.0)) & (own[right] != times)
        if far.any():
            found[far] = np.nan
        if self._turn:
            found -= self._lowest
            found %= self._turn
            found += self._lowest
        return found

    def forget(self, before: int) -> None:
        """Drop what is not needed to interpolate after a time."""
        first = max(int(np.searchsorted(self.kept.times, before, 'right')) - 1, 0)
        if first:
            self.kept = ParameterSeries(self.kept.times[first:], self.kept.values[first:])


class Aligner:
    """
    Brings parameters to the sample times of the slowest of them, or to a constant ``rate`` in Hz.

    ``turns`` has the full turn of each parameter that is an angle, or 0. Values in between are
    interpolated linearly, angles the shorter way round. A parameter that is silent counts as
    unknown after a second and three of its periods, at most 60 s, and is not waited for any more.
    At most 65,536 samples of each wait for the others. ``late``
    counts samples that were left out, being older than those before them, or no numbers. If a
    parameter's are 10 s older, or all are by that older than what was returned, the publisher's
    clock was set back, or had been wrong: all starts over.
    ``fastest`` is the highest rate in Hz of the slowest parameter: of a faster one, every second
    or third or n-th sample counts. 0 is any.
    """

    def __init__(
        self, turns: Sequence[float], rate: float = 0.0, fastest: float = 0.0
    ) -> None:
        self.late = 0
        self._closest = SECOND_NS / fastest if fastest else 0.0
        self._turns = tuple(turns)
        self._step = round(SECOND_NS / rate) if rate else 0
        self.restart()

    @property
    def delay(self) -> float:
        """Return how much older the last times returned are than the newest sample, in s."""
        lasts = [buffer.last for buffer in self._buffers]
        lasts += [int(one.times[-1]) for series in self._waiting for one in series
                  if len(one.times)]
        newest = max((last for last in lasts if last is not None), default=None)
        begin = self._done if self._done is not None else self._since
        return 0.0 if newest is None or begin is None else max(newest - begin, 0) / SECOND_NS

    def restart(self) -> None:
        """Forget all samples."""
        self._buffers = [_Buffer(turn) for turn in self._turns]
        self._done: int | None = None
        self._since: int | None = None
        self._slowest = 0
        self._waiting: list[Sequence[ParameterSeries]] = []

    def add(self, series: Sequence[ParameterSeries]) -> tuple[Times, NDArray[np.float64]]:
        """
        Add the next samples of each parameter.

        Returns times, and the values at them, of shape (parameters, times), NaN for unknown.
        """
        if self._is_early(series):
            self._waiting.append(series)
            return _NOTHING.times, np.empty((len(self._buffers), 0))
        if self._waiting:
            series = [_joined(parts) for parts in zip(*self._waiting, series, strict=True)]
            self._waiting = []
        if (values := self._together(series)) is not None:
            return series[0].times, values
        self._append(series)
        until, live = self._complete()
        times = self._times(live, until) if live else _NOTHING.times
        values = np.empty((len(self._buffers), len(times)))
        if len(times):
            for n, buffer in enumerate(self._buffers):
                values[n] = buffer.at(times)
            self._done = int(times[-1])
            for buffer in self._buffers:
                buffer.forget(self._done)
        return times, values

    def _append(self, series: Sequence[ParameterSeries]) -> None:
        new_lasts = [int(new.times[-1]) for new in series if len(new.times)]
        if (self._done is not None and new_lasts and max(new_lasts) < self._done - _NOT_LATE) or (
                any(len(new.times) and buffer.last is not None
                    and new.times[-1] < buffer.last - _NOT_LATE
                    for buffer, new in zip(self._buffers, series, strict=True))):
            self.restart()
        for buffer, new in zip(self._buffers, series, strict=True):
            if len(new.times):
                self.late += buffer.add(new)

    def _complete(self) -> tuple[int, list[int]]:
        """Return until when all that are not silent are known, and which these are, if any."""
        lasts = [buffer.last for buffer in self._buffers]
        newest = max((last for last in lasts if last is not None), default=None)
        if newest is None:
            return 0, []
        if self._since is None:
            self._since = min(int(one.kept.times[0]) for one in self._buffers
                              if one.last is not None)
        live = [n for n, buffer in enumerate(self._buffers) if newest - (
            self._since if buffer.last is None else buffer.last) <= buffer.patience]
        known = [last for n in live if (last := lasts[n]) is not None]
        return (min(known), live) if len(known) == len(live) else (0, [])

    def _together(self, series: Sequence[ParameterSeries]) -> NDArray[np.float64] | None:
        """Return the values if all are of the same times, and nothing is left: the usual case."""
        times = series[0].times
        if not len(times) or self._step or self._closest or any(self._turns):
            return None
        if any(buffer.last != self._done for buffer in self._buffers):
            return None
        if not all(one.times is times or np.array_equal(one.times, times) for one in series[1:]):
            return None
        if (self._done is not None and times[0] <= self._done) or (times[1:] <= times[:-1]).any():
            return None
        values = np.array([one.values for one in series])
        if not np.isfinite(values).all():
            return None
        for buffer, own in zip(self._buffers, values, strict=True):
            buffer.pass_by(ParameterSeries(times, own))
        self._done = int(times[-1])
        self._since = int(times[0]) if self._since is None else self._since
        return values

    def _is_early(self, series: Sequence[ParameterSeries]) -> bool:
        """Return whether the slowest parameter has nothing new: then it is cheaper to wait."""
        return (not self._step and self._done is not None
                and not len(series[self._slowest].times)
                and self._buffers[self._slowest].last == self._done
                and len(self._waiting) < _MOST_WAITING)

    def _times(self, live: Sequence[int], until: int) -> Times:
        """Return the times that are now complete."""
        begin = max(int(self._buffers[n].kept.times[0]) for n in live)
        if self._step:
            low = -(-begin // self._step) if self._done is None else self._done // self._step + 1
            # After a pause, the samples before it do not count.
            high = until // self._step
            return np.arange(max(low, high - _MOST_SAMPLES), high + 1) * self._step
        periods = [buffer.period for buffer in self._buffers]
        if self._slowest not in live:
            self._slowest = live[0]
        for n in live:
            if periods[n] > _CLEARLY * periods[self._slowest]:
                self._slowest = n
        times = self._buffers[self._slowest].kept.times
        after = (np.searchsorted(times, begin, 'left') if self._done is None else
                 np.searchsorted(times, self._done, 'right'))
        times = times[after:np.searchsorted(times, until, 'right')]
        # A sample too many rather than none, by the jitter of the period.
        period = periods[self._slowest]
        every = round(self._closest / period) if period else 1
        return times[every - 1::every] if every > 1 else times
