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

"""What is known of each parameter: the record that packets change, and quality is told from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

RECENT = 8
"""A usual interval is the median of this many packets', renewed after as many."""

TAGGED, UNTAGGED = 1.5, 2.5
"""
An interval longer than this many usual ones is a gap.

Without time tags the times are those of packets, in which one sample more or less is normal,
unless the numbers of the packets show that one is missing.
"""

SWITCH = 15
"""Whole numbers up to this only: a switch, which may stay as it is."""

_RECORD = np.dtype([
    ('samples', 'i8'), ('gaps', 'i8'), ('late', 'i8'), ('invalid', 'i8'), ('outside', 'i8'),
    ('first_ns', 'i8'), ('last_ns', 'i8'), ('changed_ns', 'i8'), ('value', 'f8'),
    ('minimum', 'f8'), ('maximum', 'f8'), ('period', 'f8'), ('base_ns', 'i8'),
    ('ends', 'i8', (RECENT,)), ('sizes', 'i4', (RECENT,)),
    ('intervals', 'i8'), ('moved', '?'), ('switch', '?'), ('follows', '?'),
    ('announced', 'i8'), ('announced_ns', 'i8'), ('rate', 'f8')])


@dataclass(frozen=True, slots=True)
class KnownParameters:
    """
    What is known of parameters: an array of each of its ``fields``, by name.

    The last axis is the parameter. In an array of records, what all of them have in one field
    would have to be gathered from as many places.
    """

    fields: dict[str, NDArray[Any]]

    @classmethod
    def of(cls, given: NDArray[Any]) -> KnownParameters:
        """Return what these records say."""
        return cls({name: np.array(given[name].T, order='C') for name in _RECORD.names or ()})

    def __len__(self) -> int:
        return len(self.fields['samples'])

    def __getitem__(self, name: str) -> NDArray[Any]:
        return self.fields[name]

    def __setitem__(self, name: str, values: Any) -> None:
        self.fields[name][...] = values

    def part(self, which: slice) -> KnownParameters:
        """Return what is known of some of them; whatever is learnt there is learnt here."""
        return KnownParameters({name: field[..., which] for name, field in self.fields.items()})

    def records(self) -> NDArray[Any]:
        """Return a record of each parameter."""
        records = np.empty(len(self), _RECORD)
        for name, field in self.fields.items():
            records[name] = field.T
        return records


def unknown(count: int) -> NDArray[Any]:
    """Return the records of parameters of which nothing is known."""
    known = np.zeros(count, _RECORD)
    known['sizes'] = 1
    for name in ('minimum', 'maximum', 'value'):
        known[name] = np.nan
    known['switch'] = True
    return known


def records(given: Sequence[Any]) -> NDArray[Any]:
    """Return these records as one array."""
    return np.array(given, _RECORD).reshape(-1)


class Intervals:
    """
    The packets that a batch adds to what is ``known`` of its parameters, at most ``most`` each.

    The intervals between them are learnt in blocks, of which the first is begun already:
    ``begun`` says how far. Within a block the packets may have come in any order.
    """

    def __init__(self, known: KnownParameters, most: int) -> None:
        self._known = known
        self.begun: Ints = known['intervals'] % RECENT
        blocks = (int(self.begun.max(initial=0)) + most) // RECENT + 1
        shape = blocks * RECENT, len(known)
        self._ends, self._sizes = np.zeros(shape, np.int64), np.ones(shape, np.int32)
        self._ends[:RECENT], self._sizes[:RECENT] = known['ends'], known['sizes']
        # The newest sample before the first block.
        self._base: Ints = np.where(self.begun > 0, known['base_ns'], known['last_ns'])

    def add(self, parameter: Ints, place: Ints, ends: Ints, sizes: Ints) -> None:
        """
        Add packets of parameters: the time of the last sample, and how many there are.

        Their places are ``begun``, and how many are before.
        """
        self._ends[place, parameter], self._sizes[place, parameter] = ends, sizes

    def add_rows(self, ends: Ints, sizes: Ints) -> Ints:
        """Add packets of all parameters, ends of shape (packets, parameters); return places."""
        rows, columns = ends.shape
        begun = self.begun
        if (begun == begun[0]).all():
            # As usual all of them have had as many; then this is a block in memory.
            place = np.arange(begun[0], begun[0] + rows)[:, None]
            which = slice(begun[0], begun[0] + rows)
            self._ends[which], self._sizes[which] = ends, sizes
        else:
            place = np.arange(rows)[:, None] + begun
            self.add(np.arange(columns), place, ends, sizes)
        return place

    def at(self, place: Ints) -> Floats:
        """Return the usual intervals at these places, as ``learn`` has returned them."""
        block = place // RECENT
        usual: Floats = (
            self._periods[block[:, 0]] if block.shape[1] == 1 else
            self._periods[block, np.arange(block.shape[1])])
        return usual

    def learn(self, added: Ints | int) -> Floats:
        """
        Learn them; return the usual intervals, shape (blocks, parameters), inf for none.

        ``added`` is how many each has. The usual interval at a place is that of its block.
        """
        known = self._known
        blocks = (-1, RECENT, len(known))
        ends, sizes = self._ends.reshape(blocks), self._sizes.reshape(blocks)
        complete = (self.begun + added) // RECENT
        are_alike = (complete == complete[0]).all()
        everyone = np.arange(len(known))
        # What is left of a block is written again before it is read.
        for name, learnt in (('ends', ends), ('sizes', sizes)):
            known[name] = learnt[complete[0]] if are_alike else learnt[complete, :, everyone].T
        known['intervals'] += added
        most = int(complete.max(initial=0))
        periods = self._periods = np.empty((most + 1, len(known)))
        periods[0] = known['period']
        base = np.empty((most + 1, len(known)), np.int64)
        base[0] = self._base
        if most:
            np.max(ends[:most], axis=1, out=base[1:])
            np.maximum.accumulate(base, axis=0, out=base)
            periods[1:] = np.where(
                np.arange(most)[:, None] < complete,
                _usual(base[:-1], ends[:most], sizes[:most]), np.inf)
            known['period'] = periods[most] if are_alike else periods[complete, everyone]
        known['base_ns'] = base[most] if are_alike else base[complete, everyone]
        return periods


def _usual(base: Ints, ends: Ints, sizes: NDArray[np.int32]) -> Floats:
    """
    Return the median interval in blocks of packets, shape (blocks, parameters).

    Packets follow one another by their times, whenever they came: the first of a block follows
    the newest before it, ``base``, unless it is older.
    """
    steps = np.empty(ends.shape, np.int64)
    np.subtract(ends[:, 0], base, out=steps[:, 0])
    np.subtract(ends[:, 1:], ends[:, :-1], out=steps[:, 1:])
    if steps.min() < 0:
        times = np.concatenate((base[:, None], ends), axis=1)
        order = np.argsort(times, axis=1, kind='stable')
        steps = np.diff(np.take_along_axis(times, order, axis=1), axis=1)
        sizes = np.take_along_axis(
            np.concatenate((sizes[:, :1], sizes), axis=1), order, axis=1)[:, 1:]
    intervals: Floats = steps / sizes
    intervals.sort(axis=1)
    return (intervals[:, RECENT // 2 - 1] + intervals[:, RECENT // 2]) / 2
