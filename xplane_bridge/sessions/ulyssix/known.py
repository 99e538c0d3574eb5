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

Without time tags the times are those of packets, in which one sample more or less is normal.
"""

SWITCH = 15
"""Whole numbers up to this only: a switch, which may stay as it is."""

_RECORD = np.dtype([
    ('samples', 'i8'), ('gaps', 'i8'), ('late', 'i8'), ('invalid', 'i8'), ('outside', 'i8'),
    ('first_ns', 'i8'), ('last_ns', 'i8'), ('changed_ns', 'i8'), ('value', 'f8'),
    ('minimum', 'f8'), ('maximum', 'f8'), ('period', 'f8'), ('recent', 'f8', (RECENT,)),
    ('intervals', 'i8'), ('moved', '?'), ('switch', '?'), ('follows', '?'),
    ('told', 'i8'), ('told_ns', 'i8'), ('rate', 'f8')])


def unknown(count: int) -> NDArray[Any]:
    """Return the records of parameters of which nothing is known."""
    known = np.zeros(count, _RECORD)
    for name in ('minimum', 'maximum', 'value'):
        known[name] = np.nan
    known['switch'] = True
    return known


def records(given: Sequence[Any]) -> NDArray[Any]:
    """Return these records as one array."""
    return np.array(given, _RECORD).reshape(-1)


class Intervals:
    """
    The intervals that a batch adds to what is ``known`` of its parameters, at most ``most`` each.

    They are learnt in blocks, of which the first is begun already: ``begun`` says how far.
    """

    def __init__(self, known: NDArray[Any], most: int) -> None:
        self._known = known
        self.begun: Ints = known['intervals'] % RECENT
        blocks = (RECENT + most) // RECENT + 1
        self._learnt = np.zeros((len(known), blocks * RECENT))
        self._learnt[:, :RECENT] = known['recent']

    def add(self, parameter: Ints, place: Ints, intervals: Floats) -> None:
        """Add intervals of parameters at their places: ``begun``, and how many are before."""
        self._learnt[parameter, place] = intervals

    def learn(self, added: Ints | int) -> Floats:
        """
        Learn them; return each parameter's usual intervals, by block: inf where there is none.

        ``added`` is how many each has. The usual interval at a place is that of its block.
        """
        known = self._known
        everyone = np.arange(len(known))
        learnt = self._learnt.reshape(len(known), -1, RECENT)
        complete = (self.begun + added) // RECENT
        # What is left of a block is written again before it is read.
        known['recent'] = learnt[everyone, complete]
        known['intervals'] += added
        most = int(complete.max(initial=0))
        periods = np.full((len(known), most + 1), np.inf)
        periods[:, 0] = known['period']
        if most:
            done = np.arange(most) < complete[:, None]
            ordered = np.sort(learnt[:, :most][done], axis=-1)
            periods[:, 1:][done] = (
                ordered[:, RECENT // 2 - 1] + ordered[:, RECENT // 2]) / 2
            known['period'] = periods[everyone, complete]
        return periods
