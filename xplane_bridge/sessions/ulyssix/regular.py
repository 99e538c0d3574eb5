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
Packets that all have the same numbers of samples, none of them late: the usual case.

What ``batches`` finds out of any packets is found out here a column at a time, from tables of all
samples: with the same result, for a fifth of the time.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from xplane_bridge.sessions.ulyssix.known import Floats, Intervals, Ints, RECENT, SWITCH


class Grid:
    """
    The samples of packets with the same ``counts`` of parameters, which all have some.

    values: shape (packets, samples). times: the same in ns, or None if only those of the packets
    are known, which are first_ns. longest: as many usual intervals are no gap.
    """

    def __init__(
        self, counts: NDArray[np.int64], values: NDArray[Any], times: NDArray[np.int64] | None,
        first_ns: NDArray[np.int64], longest: float,
    ) -> None:
        packets = len(first_ns)
        self.counts = counts
        self.values = values.reshape(packets, -1)
        self._times = None if times is None else times.reshape(packets, -1)
        self._longest = longest
        self._ends = np.cumsum(counts)
        self._starts = self._ends - counts
        self._last = (
            np.repeat(first_ns, len(counts)).reshape(packets, -1) if self._times is None else
            self._times[:, self._ends - 1])

    def follow_times(self, known: NDArray[Any]) -> bool:
        """
        Count gaps, and learn the usual intervals; return whether all samples advance.

        If not, nothing has changed.
        """
        times = self._times
        if times is None or not known['follows'].all():
            return False
        before = np.concatenate((known['last_ns'][None], self._last[:-1]))
        steps = np.empty(times.shape, np.int64)
        np.subtract(times.ravel()[1:], times.ravel()[:-1], out=steps.ravel()[1:])
        ahead = times[:, self._starts] - before
        steps[:, self._starts] = ahead
        if steps.min() < 0 or ahead.min() <= 0:
            return False
        packets = np.arange(len(times))
        intervals = Intervals(known, len(times))
        place = packets + intervals.begun[:, None]
        intervals.add(
            np.arange(len(known))[:, None], place, ((self._last - before) / self.counts).T)
        periods = intervals.learn(len(times))
        known['last_ns'] = self._last[-1]
        self._count_gaps(known, steps, periods, place // RECENT)
        return True

    def _count_gaps(
        self, known: NDArray[Any], steps: Ints, periods: Floats, block: Ints
    ) -> None:
        """Count gaps where a step is longer than the least of the usual intervals allows."""
        # Nothing is a gap while the usual interval is not known.
        periods[periods == 0] = np.inf
        longest = np.repeat(self._longest * periods.min(axis=1), self.counts)
        columns = np.flatnonzero(steps.max(axis=0) > longest)
        if not len(columns):
            return
        owner = np.searchsorted(self._ends, columns, 'right')
        period = periods[owner[:, None], block[owner]].T
        chosen = steps[:, columns]
        missing = np.where(
            chosen > self._longest * period, np.rint(chosen / period - 1.0), 0.0).sum(0)
        known['gaps'] += np.bincount(owner, missing, len(known)).astype(np.int64)

    def follow_values(
        self, known: NDArray[Any], limits: tuple[Floats, Floats] | None
    ) -> bool:
        """
        Notice whether values change; return whether all are finite and within their limits.

        If not, nothing has changed.
        """
        values, starts = self.values, self._starts
        least = np.minimum.reduceat(values.min(axis=0), starts)
        most = np.maximum.reduceat(values.max(axis=0), starts)
        if values.dtype.kind == 'f' and not (np.isfinite(least) & np.isfinite(most)).all():
            return False
        if limits is not None:
            # As sent: 0.1 of single precision is not above 0.1.
            low, high = (each.astype(values.dtype) if values.dtype.kind == 'f' else each
                         for each in limits)
            if ((least < low) | (most > high)).any():
                return False
        self._follow_changes(known)
        known['minimum'] = np.fmin(known['minimum'], least)
        known['maximum'] = np.fmax(known['maximum'], most)
        switch = known['switch']
        switch &= (least >= 0) & (most <= SWITCH)
        if values.dtype.kind == 'f' and switch.any():
            columns, begins = self._columns_of(np.flatnonzero(switch))
            chosen = values[:, columns]
            switch[switch] = np.logical_and.reduceat(
                (chosen == np.floor(chosen)).all(axis=0), begins)
        return True

    def _follow_changes(self, known: NDArray[Any]) -> None:
        """Note when each parameter has changed last."""
        values, starts = self.values, self._starts
        final = values[:, self._ends - 1].astype(np.float64)
        before = np.concatenate((known['value'][None], final[:-1]))
        differs = np.empty(values.shape, bool)
        np.not_equal(values.ravel()[1:], values.ravel()[:-1], out=differs.ravel()[1:])
        differs[:, starts] = values[:, starts].astype(np.float64) != before
        has_changed = np.logical_or.reduceat(differs.any(axis=0), starts)
        at_last = np.logical_or.reduceat(differs[-1], starts)
        known['moved'] |= has_changed
        known['value'] = final[-1]
        known['changed_ns'] = np.where(at_last, self._last[-1], known['changed_ns'])
        earlier = np.flatnonzero(has_changed & ~at_last)
        if len(earlier):
            columns, begins = self._columns_of(earlier)
            rows = np.logical_or.reduceat(differs[:, columns], begins, axis=1)
            known['changed_ns'][earlier] = self._last[
                len(rows) - 1 - rows[::-1].argmax(axis=0), earlier]

    def _columns_of(self, parameters: Ints) -> tuple[Ints, Ints]:
        """Return the columns of these parameters' samples, and where each begins there."""
        counts = self.counts[parameters]
        begins = np.cumsum(counts) - counts
        return (np.arange(counts.sum()) + np.repeat(self._starts[parameters] - begins, counts),
                begins)
