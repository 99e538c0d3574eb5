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
The flights that are not in a table because their machine kept them from being flown.

A table has them in the metadata of its file: they are no rows, and part of no figure.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
import json

from xplane_bridge.common.text import counted, printable

_KEY = b'lost_flights'
# Of reasons: those that are kept, and those that are said.
_MOST, _SAID = 100, 3
_LONGEST = 300
_OTHERS = 'other reasons'


@dataclass(frozen=True, slots=True)
class LostFlights:
    """Flights by the reason why they were not flown."""

    reasons: Counter[str] = field(default_factory=Counter)

    def add(self, reason: str) -> None:
        """Count a flight."""
        reason = printable(reason, _LONGEST)
        known = reason in self.reasons or len(self.reasons) < _MOST
        self.reasons[reason if known else _OTHERS] += 1

    @property
    def flights(self) -> int:
        """Return how many there are."""
        return self.reasons.total()

    def __str__(self) -> str:
        """Return a sentence, empty if there are none."""
        if not self.flights:
            return ''
        most = self.reasons.most_common(_SAID)
        rest = self.flights - sum(count for _, count in most)
        why = '; '.join(f'{reason} ({count})' for reason, count in most) if (
            len(self.reasons) > 1) else most[0][0]
        return (f'{counted(self.flights, "flight")} {"was" if self.flights == 1 else "were"} not '
                f'flown: {why}' + (f'; and others ({rest})' if rest else ''))

    def metadata(self) -> dict[bytes, bytes]:
        """Return what the metadata of a table has of them."""
        return {_KEY: json.dumps(self.reasons).encode()} if self.flights else {}

    @classmethod
    def of(cls, metadata: Mapping[bytes, bytes] | None) -> LostFlights:
        """Return those of a table; ValueError if that is of something else."""
        try:
            found = json.loads((metadata or {}).get(_KEY, b'{}'))
            counts = {printable(reason, _LONGEST): count for reason, count in found.items()}
        except (AttributeError, RecursionError, ValueError):
            raise ValueError(f'{_KEY.decode()}: expected a number of flights by reason') from None
        if len(counts) > _MOST + 1 or not all(
                type(count) is int and count > 0 for count in counts.values()):
            raise ValueError(f'{_KEY.decode()}: expected a number of flights by reason')
        return cls(Counter(counts))
