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

from xplane_bridge.bridges.ulyssix.session.known import (
    Bools,
    Floats,
    Intervals,
    Ints,
    KnownParameters,
    SWITCH,
)

# Whole numbers up to this are told apart in double precision, as which the last one is known.
_EXACT = 2**53


class RegularSamples:
    """
    The samples of packets with the same ``counts`` of parameters, which all have some.

    values: shape (packets, samples). times: the same in ns, or None if only those of the packets
    are known, which are first_ns. longest: as many usual intervals are no gap, in each packet.
    """

    def __init__(
        self, counts: NDArray[np.int64], values: NDArray[Any], times: NDArray[np.int64] | None,
        first_ns: NDArray[np.int64], longest: NDArray[np.float64],
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

    def follow_times(self, known: KnownParameters) -> bool:
        """
        Count gaps, and learn the usual intervals; return whether all samples advance.

        If not, nothing has changed.
        """
        times = self._times
        if times is None or not known['follows'].all():
            return False
        steps = _steps(times)
        # Unsigned, a step back is longer than any ahead: one look at all of them finds both.
        longest = steps.view(np.uint64).max(axis=0).view(np.int64)
        # All of them take more memory than what is learnt below.
        del steps
        # The first samples of parameters follow those of another packet.
        longest[self._starts] = 0
        before = np.concatenate((known['last_ns'][None], self._last[:-1]))
        ahead = times[:, self._starts] - before
        if longest.min() < 0 or ahead.min() <= 0:
            return False
        intervals = Intervals(known, len(times))
        place = intervals.add_rows(self._last, self.counts)
        periods = intervals.learn(len(times))
        known['last_ns'] = self._last[-1]
        # Nothing is a gap while the usual interval is not known.
        periods[periods == 0] = np.inf
        allowed = self._longest.min() * periods.min(axis=0)
        usual = intervals.at(place)
        if (ahead.max(axis=0) > allowed).any():
            rows, parameters = _places(ahead > allowed)
            self._count_gaps(known, rows, parameters, ahead[rows, parameters], usual)
        within = np.flatnonzero(self._of_each(np.maximum, longest) > allowed)
        if len(within):
            columns, begins = self._columns_of(within)
            # If it is all of them, they need not be copied.
            chosen = _steps(times if len(within) == len(known) else times[:, columns])
            chosen[:, begins] = 0
            counts = self.counts[within]
            # Whole numbers are compared at once; few of them are gaps.
            rows, at = _places(chosen > np.repeat(allowed[within].astype(np.int64), counts))
            parameters = np.repeat(within, counts)[at]
            self._count_gaps(known, rows, parameters, chosen[rows, at], usual)
        return True

    def _count_gaps(
        self, known: KnownParameters, rows: Ints, parameters: Ints, steps: Ints, usual: Floats
    ) -> None:
        """Count the samples that are missing in steps of packets and parameters, if any are."""
        period = np.broadcast_to(usual, (len(self._longest), len(known)))[rows, parameters]
        missing = np.where(
            steps > self._longest[rows] * period, np.rint(steps / period - 1.0), 0.0)
        known['gaps'] += np.bincount(parameters, missing, len(known)).astype(np.int64)

    def follow_values(self, known: KnownParameters, limits: tuple[Floats, Floats] | None) -> bool:
        """
        Notice whether values change; return whether all are finite and within their limits.

        If not, nothing has changed.
        """
        values = self.values
        is_float = values.dtype.kind == 'f'
        least = self._of_each(np.minimum, values.min(axis=0))
        most = self._of_each(np.maximum, values.max(axis=0))
        if is_float:
            if not (np.isfinite(least) & np.isfinite(most)).all():
                return False
        elif least.min() < -_EXACT or most.max() > _EXACT:
            return False
        if limits is not None:
            # As sent: 0.1 of single precision is not above 0.1.
            low, high = (each.astype(values.dtype) if is_float else each for each in limits)
            if ((least < low) | (most > high)).any():
                return False
        self._follow_changes(known, (least != most) | (least != known['value']))
        known['minimum'] = np.fmin(known['minimum'], least)
        known['maximum'] = np.fmax(known['maximum'], most)
        switch = known['switch']
        if switch.any():
            switch &= (least >= 0) & (most <= SWITCH)
            if is_float and switch.any():
                columns, begins = self._columns_of(np.flatnonzero(switch))
                chosen = values[:, columns]
                switch[switch] = np.logical_and.reduceat(
                    (chosen == np.floor(chosen)).all(axis=0), begins)
        return True

    def _follow_changes(self, known: KnownParameters, has_changed: Bools) -> None:
        """Note when each of the parameters that have changed did so last."""
        values = self.values
        final = values[-2:, self._ends - 1].astype(np.float64)
        before = final[0] if len(values) > 1 else known['value']
        # If the last samples of two packets differ, the later packet has changed.
        at_last = final[-1] != before
        known['changed_ns'] = np.where(at_last, self._last[-1], known['changed_ns'])
        others = np.flatnonzero(has_changed & ~at_last)
        if len(others):
            columns, begins = self._columns_of(others)
            chosen = values[:, columns]
            differs = np.empty(chosen.shape, bool)
            np.not_equal(chosen[:, 1:], chosen[:, :-1], out=differs[:, 1:])
            ends = begins + self.counts[others] - 1
            differs[0, begins] = chosen[0, begins] != known['value'][others]
            differs[1:, begins] = chosen[1:, begins] != chosen[:-1, ends]
            rows = np.logical_or.reduceat(differs, begins, axis=1)
            known['changed_ns'][others] = self._last[
                len(rows) - 1 - rows[::-1].argmax(axis=0), others]
        known['moved'] |= has_changed
        known['value'] = final[-1]

    def _of_each(self, extreme: np.ufunc, row: NDArray[Any]) -> NDArray[Any]:
        """Return the least or most of each parameter's samples in a row."""
        number = len(row) // len(self.counts)
        if number * len(self.counts) == len(row) and (self.counts == number).all():
            # Usually they are equally many: sample by sample it is three times as fast.
            return np.asarray(extreme.reduce(np.ascontiguousarray(row.reshape(-1, number).T)))
        return np.asarray(extreme.reduceat(row, self._starts))

    def _columns_of(self, parameters: Ints) -> tuple[Ints, Ints]:
        """Return the columns of these parameters' samples, and where each begins there."""
        counts = self.counts[parameters]
        begins = np.cumsum(counts) - counts
        return (np.arange(counts.sum()) + np.repeat(self._starts[parameters] - begins, counts),
                begins)


def _steps(times: Ints) -> Ints:
    """Return the steps from sample to sample; the very first one means nothing."""
    steps = np.empty(times.shape, np.int64)
    np.subtract(times.ravel()[1:], times.ravel()[:-1], out=steps.ravel()[1:])
    return steps


def _places(table: Bools) -> tuple[Ints, Ints]:
    """Return the rows and columns where a table is true: as np.nonzero, in a third of the time."""
    places = np.flatnonzero(table)
    rows = places // table.shape[1]
    return rows, places - rows * table.shape[1]
