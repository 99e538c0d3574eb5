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

"""Rows of DATA: selected until they come (DSEL), collected by frame, let go at the end (USEL)."""

from __future__ import annotations

from collections.abc import Iterable

from xplane_bridge.protocols.xplane_udp import Dsel, encode, Layout, Segment, Usel

_PERIOD = 1.0


class RowSelection:
    """
    The rows that the telemetry needs, and those that the user chose.

    X-Plane sends all selected rows of a frame together: a row that comes again begins the next.
    """

    def __init__(self, needed: Iterable[int], chosen: Iterable[int]) -> None:
        self.needed = frozenset(needed)
        self.chosen = frozenset(chosen)
        self._seen: set[int] = set()
        self._group: dict[int, Segment] = {}
        self._tries = 0
        self._ask_at: float | None = None

    @property
    def wanted(self) -> frozenset[int]:
        """Return all rows to select."""
        return self.needed | self.chosen

    @property
    def deadline(self) -> float | None:
        """Return when due() has to be called, None when there is nothing to select."""
        return self._ask_at

    @property
    def missing(self) -> tuple[int, ...]:
        """Return the rows that are selected and have not come."""
        return tuple(sorted(self.wanted - self._seen))

    def ask(self, at: float) -> None:
        """Select all that has not come, from time ``at`` on."""
        self._ask_at = at

    def forget(self) -> None:
        """Take X-Plane as restarted: no row has come."""
        self._seen.clear()
        self._group = {}
        self._tries = 0

    def due(self, now: float, layout: Layout) -> bytes | None:
        """Return the selection to send now, if any: all rows in one datagram."""
        if self._ask_at is None or now < self._ask_at:
            return None
        missing = self.missing
        if not missing:
            self._ask_at = None
            return None
        self._tries += 1
        self._ask_at = now + _PERIOD
        return encode(Dsel(missing, layout))

    def choose(self, rows: Iterable[int], now: float) -> tuple[int, ...]:
        """Select these beside the needed ones; return those to let go."""
        before = self.chosen
        self.chosen = frozenset(rows)
        self._seen &= self.wanted
        self.ask(now)
        return tuple(sorted(before - self.wanted))

    def cancel(self, layout: Layout) -> bytes | None:
        """Return what lets all rows go."""
        rows = tuple(sorted(self.wanted))
        return encode(Usel(rows, layout)) if rows else None

    def receive(self, segments: Iterable[Segment]) -> tuple[Segment, ...] | None:
        """Take rows; return the needed ones of one frame if they are all here now."""
        for segment in segments:
            if segment.index in self._group:
                self._group = {}
            self._group[segment.index] = segment
        self._seen.update(self._group)
        # What X-Plane does not have never comes: it is waited for no longer than this.
        expected = self.needed & self._seen if self._tries > 1 else self.needed
        if not expected or not self._group.keys() >= expected:
            return None
        group, self._group = self._group, {}
        return tuple(group[row] for row in sorted(expected))
