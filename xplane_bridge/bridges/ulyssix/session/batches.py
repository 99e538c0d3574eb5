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
What is known of each parameter, and how the samples of several packets change it.

Whatever the samples are, all parameters of all packets are followed at once: by numpy, and with
the same result as packet by packet. A *part* is the samples of one parameter in one packet. Parts
are in the order of the samples, packet after packet; a *table* of them has the shape (packets,
parameters).
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from xplane_bridge.bridges.ulyssix.session import regular
from xplane_bridge.bridges.ulyssix.session.known import (
    Bools,
    Floats,
    Intervals,
    Ints,
    KnownParameters,
    RECENT,
    SWITCH,
    TAGGED,
    UNTAGGED,
)

# Earlier than any time, and later.
_NEVER, _FOREVER = np.iinfo(np.int64).min, np.iinfo(np.int64).max


class SampleBatch:
    """
    The samples of consecutive packets that have the same parameters.

    counts: int64, shape (packets, parameters). values: all samples, float or int64, packet after
    packet. times: theirs in ns, or None if only those of the packets are known, which are
    first_ns. is_tagged: whether the publisher has sent the times. skips: which packets do not
    follow the newest before them by number.
    """

    def __init__(
        self, counts: NDArray[np.int64], values: NDArray[Any], times: NDArray[np.int64] | None,
        first_ns: NDArray[np.int64], is_tagged: bool, skips: NDArray[np.bool_],
    ) -> None:
        self.shape = counts.shape
        self.values = values
        self.times = times
        self.first_ns = first_ns
        self.longest = np.where(skips | is_tagged, TAGGED, UNTAGGED)
        self._every = counts

    @cached_property
    def grid(self) -> regular.RegularSamples | None:
        """Return the samples as a grid, if all packets have the same numbers of them."""
        counts = self._every
        if not counts[0].all() or not (counts[1:] == counts[0]).all():
            return None
        return regular.RegularSamples(
            counts[0], self.values, self.times, self.first_ns, self.longest)

    @cached_property
    def at(self) -> Ints | None:
        """Return where there are samples, in a table without rows; None if everywhere."""
        every = self._every.ravel()
        return None if every.all() else np.flatnonzero(every)

    @cached_property
    def counts(self) -> Ints:
        """Return the number of each part's samples."""
        every = self._every.ravel()
        return every if self.at is None else every[self.at]

    @cached_property
    def ends(self) -> Ints:
        """Return where each part ends."""
        return np.cumsum(self.counts)

    @cached_property
    def starts(self) -> Ints:
        """Return where each part begins."""
        return self.ends - self.counts

    @cached_property
    def parameter(self) -> Ints:
        """Return the parameter of each part."""
        rows, columns = self.shape
        return np.tile(np.arange(columns), rows) if self.at is None else self.at % columns

    @cached_property
    def first(self) -> Ints:
        """Return the time of each part's first sample."""
        return self._packet_times if self.times is None else self.times[self.starts]

    @cached_property
    def last(self) -> Ints:
        """Return the time of each part's last sample."""
        return self._packet_times if self.times is None else self.times[self.ends - 1]

    @property
    def _packet_times(self) -> Ints:
        every = np.repeat(self.first_ns, self.shape[1])
        return every if self.at is None else every[self.at]

    def table(self, parts: NDArray[Any], empty: Any) -> NDArray[Any]:
        """Return one value of each part as a table, which is ``empty`` where there is no part."""
        if self.at is None:
            return parts.reshape(self.shape)
        table = np.full(self.shape[0] * self.shape[1], empty, parts.dtype)
        table[self.at] = parts
        return table.reshape(self.shape)

    def parts(self, table: NDArray[Any]) -> NDArray[Any]:
        """Return what a table has for each part."""
        flat = table.ravel()
        return flat if self.at is None else flat[self.at]

    @cached_property
    def owner(self) -> Ints:
        """Return the number of each sample's part."""
        return np.repeat(np.arange(len(self.counts)), self.counts)

    @cached_property
    def is_there(self) -> Bools:
        """Return the table of where there are samples."""
        return self.table(np.ones(len(self.counts), bool), False)

    @cached_property
    def newest(self) -> Ints:
        """Return the last row of each parameter that has samples, 0 if none has."""
        return self.last_row(self.is_there)

    def last_row(self, where: Bools) -> Ints:
        """Return the last row of each column where a table is true, 0 if none is."""
        rows = self.shape[0]
        last: Ints = np.where(where.any(0), rows - 1 - where[::-1].argmax(0), 0)
        return last

    def samples_of(self, parts: Ints) -> tuple[Ints, Ints]:
        """Return the places of all samples of these parts, and where each part begins there."""
        counts = self.counts[parts]
        starts = np.cumsum(counts) - counts
        return np.arange(counts.sum()) + np.repeat(self.starts[parts] - starts, counts), starts


def follow(
    known: KnownParameters, batch: SampleBatch, limits: tuple[Floats, Floats] | None
) -> None:
    """
    Let the samples of a batch change what is ``known`` of its parameters, in place.

    limits: lowest and highest good value of each parameter.
    """
    if not len(batch.values):
        return
    grid = batch.grid
    is_new = known['samples'] == 0
    if grid is None or not grid.follow_times(known):
        _follow_times(known, batch)
    if grid is None or is_new.any() or not grid.follow_values(known, limits):
        _follow_values(known, batch, is_new, limits)
    if grid is not None and not is_new.any():
        known['samples'] += len(grid.values) * grid.counts
        return
    some = batch.is_there.any(0)
    begins = is_new & some
    if begins.any():
        first_row = batch.is_there.argmax(0)[begins]
        known['first_ns'][begins] = batch.table(batch.first, 0)[first_row, np.flatnonzero(begins)]
    known['samples'] += batch.table(batch.counts, 0).sum(0)


# Times: gaps, late samples, usual intervals.

def _follow_times(known: KnownParameters, batch: SampleBatch) -> None:
    """Count gaps and late samples, and learn the usual intervals."""
    newest = np.empty((batch.shape[0] + 1, batch.shape[1]), np.int64)
    newest[0] = np.where(known['follows'], known['last_ns'], _NEVER)
    newest[1:] = batch.table(batch.last, _NEVER)
    np.maximum.accumulate(newest, axis=0, out=newest)
    before = batch.parts(newest[:-1])
    follows = before != _NEVER
    ahead = np.where(follows, batch.first - before, 0)
    period = _learn(known, batch, follows)
    some = batch.is_there.any(0)
    known['last_ns'] = np.where(some, newest[-1], known['last_ns'])
    known['follows'] |= some
    if batch.times is None:
        # A step per packet, which has counts samples.
        missing, late = _count_packet_gaps(batch, ahead, period)
    else:
        missing, late = _count_sample_gaps(batch, batch.times, ahead, before, period)
    if missing is None and late is None:
        return
    # Samples that come late close gaps, of which there are never less than none.
    change = np.zeros(len(batch.counts), np.int64)
    if missing is not None:
        change += missing
    if late is not None:
        known['late'] += batch.table(late, 0).sum(0)
        change -= late
    sums = np.cumsum(batch.table(change, 0), axis=0)
    known['gaps'] = sums[-1] + np.maximum(known['gaps'], -sums.min(0))


def _learn(known: KnownParameters, batch: SampleBatch, follows: Bools) -> Floats:
    """Learn the intervals between the packets of each parameter; return the usual ones before."""
    begins = ~known['follows'] & batch.is_there.any(0)
    if begins.any():
        known['last_ns'][begins] = batch.table(batch.last, 0)[
            batch.is_there.argmax(0)[begins], np.flatnonzero(begins)]
    good = batch.table(follows, False)
    upto = np.cumsum(good, axis=0)
    intervals = Intervals(known, batch.shape[0])
    place = batch.parts(intervals.begun + upto - good)
    which = np.flatnonzero(follows)
    intervals.add(
        batch.parameter[which], place[which], batch.last[which], batch.counts[which])
    periods = intervals.learn(upto[-1])
    return np.asarray(periods[place // RECENT, batch.parameter])


def _count_packet_gaps(
    batch: SampleBatch, ahead: Ints, period: Floats
) -> tuple[Ints | None, Ints | None]:
    """Return how many samples are missing, and late, in each part; None for none at all."""
    missing = late = None
    usual = period * batch.counts
    gaps = np.flatnonzero((ahead > _longest(batch) * usual) & (period > 0))
    if len(gaps):
        missing = np.zeros(len(ahead), np.int64)
        missing[gaps] = np.rint(ahead[gaps] / period[gaps] - usual[gaps] / period[gaps])
    if (ahead < 0).any():
        late = batch.counts * (ahead < 0)
    return missing, late


def _count_sample_gaps(
    batch: SampleBatch, times: Ints, ahead: Ints, before: Ints, period: Floats
) -> tuple[Ints | None, Ints | None]:
    """Return the same by the time of each sample."""
    missing = late = None
    steps = np.empty(len(times), np.int64)
    np.subtract(times[1:], times[:-1], out=steps[1:])
    steps[batch.starts] = ahead
    # A whole number of ns is above a limit if it is above the limit's whole part.
    longest = np.where(period > 0, _longest(batch) * period, _FOREVER / 2).astype(np.int64)
    gaps = np.flatnonzero(steps > longest[batch.owner])
    if len(gaps):
        owner = batch.owner[gaps]
        missing = _sums(owner, len(ahead), np.rint(steps[gaps] / period[owner] - 1.0))
    if steps.min() < 0:
        late = _sums(batch.owner[(steps < 0) | (times < before[batch.owner])], len(ahead))
    return missing, late


def _longest(batch: SampleBatch) -> Floats:
    """Return for each part how many usual intervals are no gap."""
    return batch.parts(np.broadcast_to(batch.longest[:, None], batch.shape))


def _sums(owner: Ints, parts: int, weights: Floats | None = None) -> Ints:
    return np.bincount(owner, weights, parts).astype(np.int64)


# Values: what cannot be true, and whether they change.

def _follow_values(
    known: KnownParameters, batch: SampleBatch, is_new: Bools, limits: tuple[Floats, Floats] | None
) -> None:
    """Count values that cannot be true, and notice whether they change."""
    values, starts = batch.values, batch.starts
    is_float = values.dtype.kind == 'f'
    least, most = np.minimum.reduceat(values, starts), np.maximum.reduceat(values, starts)
    invalid: Bools | None = None
    if is_float and not (np.isfinite(least) & np.isfinite(most)).all():
        invalid = ~np.isfinite(values)
        bad = _sums(batch.owner[invalid], len(starts))
        known['invalid'] += batch.table(bad, 0).sum(0)
        values = np.where(invalid, np.nan, values)
        least, most = np.fmin.reduceat(values, starts), np.fmax.reduceat(values, starts)
    if limits is not None:
        _follow_limits(known, batch, values, least, most, limits)
    value = values[batch.ends - 1].astype(np.float64)
    _follow_changes(known, batch, is_new, least, most, value)
    columns = np.arange(len(known))
    some = batch.is_there.any(0)
    known['value'] = np.where(
        some, batch.table(value, 0.0)[batch.newest, columns], known['value'])
    for name, lowest, parts in (
            ('minimum', np.fmin, least), ('maximum', np.fmax, most)):
        known[name] = lowest(known[name], lowest.reduce(
            batch.table(parts.astype(np.float64), np.nan), axis=0))
    _follow_switches(known, batch, values, least, most, invalid is None)


def _follow_limits(
    known: KnownParameters, batch: SampleBatch, values: NDArray[Any], least: NDArray[Any],
    most: NDArray[Any], limits: tuple[Floats, Floats],
) -> None:
    # As sent: 0.1 of single precision is not above 0.1.
    low, high = (
        (each.astype(values.dtype) if values.dtype.kind == 'f' else each)[batch.parameter]
        for each in limits)
    parts = np.flatnonzero((least < low) | (most > high))
    if not len(parts):
        return
    places, starts = batch.samples_of(parts)
    chosen, counts = values[places], batch.counts[parts]
    outside = (chosen < np.repeat(low[parts], counts)) | (chosen > np.repeat(high[parts], counts))
    known['outside'] += _sums(
        batch.parameter[parts], len(known), np.add.reduceat(outside, starts, dtype=np.int64))


def _follow_changes(
    known: KnownParameters, batch: SampleBatch, is_new: Bools, least: NDArray[Any],
    most: NDArray[Any], value: Floats,
) -> None:
    """Note when each parameter has changed last; NaN differs from everything, and is a change."""
    rows, columns = batch.shape
    is_first = np.zeros(batch.shape, bool)
    old = np.empty(batch.shape)
    if batch.at is None:
        old[0], old[1:] = known['value'], value.reshape(batch.shape)[:-1]
        is_first[0] = is_new
    else:
        # The row of the last samples before.
        row = np.where(batch.is_there, np.arange(rows)[:, None], -1)
        np.maximum.accumulate(row, axis=0, out=row)
        row = np.concatenate((np.full((1, columns), -1), row[:-1]))
        old = np.where(row < 0, known['value'], batch.table(value, np.nan)[
            row, np.arange(columns)])
        is_first = (row < 0) & is_new
    new = batch.parts(is_first)
    steady = (least == most) & ((least == batch.parts(old)) | new)
    if steady.all():
        changes = batch.table(new, False)
    else:
        known['moved'] |= batch.table(~steady, False).any(0)
        changes = batch.table(~steady | new, False)
    changed = np.flatnonzero(changes.any(0))
    known['changed_ns'][changed] = batch.table(batch.last, 0)[
        batch.last_row(changes)[changed], changed]


def _follow_switches(
    known: KnownParameters, batch: SampleBatch, values: NDArray[Any], least: NDArray[Any],
    most: NDArray[Any], are_valid: bool,
) -> None:
    """Remember which parameters have had small whole numbers only."""
    switch = known['switch']
    if not switch.any():
        return
    small = (least >= 0) & (most <= SWITCH)
    switch = switch & ~batch.table(~small, False).any(0)
    if values.dtype.kind == 'f' and switch.any():
        # If all are equal, one shows it.
        whole = (least == np.floor(least)) if are_valid else np.zeros(len(least), bool)
        mixed = whole & (least != most) if are_valid else np.ones(len(least), bool)
        parts = np.flatnonzero(switch[batch.parameter] & mixed)
        if len(parts):
            places, starts = batch.samples_of(parts)
            chosen = values[places]
            whole[parts] = np.logical_and.reduceat(chosen == np.floor(chosen), starts)
        switch &= ~batch.table(~whole, False).any(0)
    known['switch'] = switch
