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
Untrusted keys from peers, counted within bounds.

Anybody who can reach a port may write names and tags, as many and as long as they like: Kinds
counts by them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from xplane_bridge.common.text import printable

LONGEST_KIND = 40
"""Maximum number of characters in the name of a kind."""

FREQUENT_KINDS = 8
"""Kinds that are counted by name besides the ones known beforehand."""

OTHER = 'other'
"""The name under which all other kinds are counted together."""


class Kinds(Mapping[str, int]):
    """
    Count by kind when the peer names the kind: bounded in memory, time and values.

    ``known`` kinds are always counted by name, and of the others the most frequent ``few``; the
    rest is OTHER. So there are never more than ``len(known) + few + 1`` kinds. The sum of all is
    exact; a name that appears late counts from then on, and its earlier occurrences are in OTHER,
    as is the count of a name that lost its place. A kind that makes up more than ``1/(few + 1)``
    of the unknown ones has a place, whatever came before (Misra and Gries, 1982).

    Reads as a mapping from kind to count; a kind that has not occurred counts 0.
    """

    def __init__(self, known: Iterable[str] = (), few: int = FREQUENT_KINDS) -> None:
        self._known = dict.fromkeys(known, 0)
        self._few = few
        self._counts: dict[str, int] = {}
        # A name keeps its place while its credit is above what has been spent on all of them.
        self._credit: dict[str, int] = {}
        self._spent = 0
        self._other = 0

    def add(self, kind: str) -> None:
        """Count one of this kind; the name is made printable and truncated."""
        if kind in self._known:
            self._known[kind] += 1
            return
        if kind not in self._counts:
            kind = printable(kind, LONGEST_KIND)
        if kind in self._counts:
            self._counts[kind] += 1
            self._credit[kind] += 1
        elif kind != OTHER and self._has_place():
            self._counts[kind] = 1
            self._credit[kind] = self._spent + 1
        else:
            self._other += 1

    def _has_place(self) -> bool:
        """Return whether a new name gets a place; if not, the others lose credit."""
        if len(self._counts) < self._few:
            return True
        weakest = min(self._credit, key=self._credit.__getitem__)
        if self._credit[weakest] > self._spent:
            self._spent += 1
            return False
        self._other += self._counts.pop(weakest)
        del self._credit[weakest]
        return True

    @property
    def total(self) -> int:
        """Return how many have been counted."""
        return sum(self._known.values()) + sum(self._counts.values()) + self._other

    def __getitem__(self, kind: str) -> int:
        if kind == OTHER and kind not in self._known:
            return self._other
        return self._known.get(kind, 0) or self._counts.get(kind, 0)

    def __iter__(self) -> Iterator[str]:
        names = [kind for kind, count in self._known.items() if count]
        names += sorted(self._counts)
        return iter(names + [OTHER] if self._other else names)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __contains__(self, kind: object) -> bool:
        return isinstance(kind, str) and self[kind] > 0
