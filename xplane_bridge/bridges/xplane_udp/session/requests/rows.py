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

"""DATA rows: selected until they arrive (DSEL), collected by frame, deselected at the end."""

from __future__ import annotations

from collections.abc import Collection, Iterable
import math

from xplane_bridge.bridges.protocols.xplane_versions import HIGHEST_PLAUSIBLE_ROW
from xplane_bridge.bridges.sessions.leases import Leases
from xplane_bridge.bridges.xplane_udp.protocol import DataLayout, Dsel, encode, Segment

# Rows that X-Plane sends before we select any were selected by its user or another program, and
# are not deselected at the end. Once per second is its slowest setting.
_SLOWEST = 1.0
LISTENING = 1.1
"""How long to listen for rows before selecting any, in seconds."""

# Seconds without a row after which it is missing, and that a frame waits for it.
_PATIENCE = 2.5
_FRAME_PATIENCE = 1.0
_LONGEST_PAUSE = 10.0


class Rows:
    """
    The rows needed for telemetry, and those selected by the user.

    X-Plane sends all selected rows of a frame together: a repeated row starts the next frame. A
    frame is complete with all needed rows; once they were selected and X-Plane had time to send
    them, with those that still arrive.
    Those that we selected, last at ``selected_at``, are deselected at the end. Of another run of
    X-Plane they are its user's, so they are on hold after a silence until that is known.
    """

    def __init__(self, needed: Iterable[int] = (), chosen: Iterable[int] = ()) -> None:
        self.needed = frozenset(needed)
        self.chosen = frozenset(chosen)
        self.selected_at = -math.inf
        self._ours: set[int] = set()
        self._held: set[int] = set()
        self._leases = Leases[int](_PATIENCE, longest=_LONGEST_PAUSE)
        self._heard: dict[int, float] = {}
        self._group: dict[int, Segment] = {}
        self._listen_until = 0.0
        self._settled_at = math.inf
        self._heard_at = -math.inf
        self._period = _SLOWEST
        self._listening = False
        self._probed: int | None = None
        self._probed_ours = False

    @property
    def wanted(self) -> frozenset[int]:
        """Return all rows to select."""
        return self.needed | self.chosen

    @property
    def deadline(self) -> float | None:
        """Return when due() must be called, None if there is nothing to select."""
        at = self._leases.deadline if self._listening else None
        return None if at is None else max(at, self._listen_until)

    def successor(self, needed: Iterable[int], chosen: Iterable[int]) -> Rows:
        """Return another selection, which knows what already arrives, and which are ours."""
        successor = self.emptied()
        successor.needed, successor.chosen = frozenset(needed), frozenset(chosen)
        successor._heard = self._heard
        successor._period = self._period
        return successor

    def emptied(self) -> Rows:
        """Return a selection of no rows, which knows which are ours."""
        rows = Rows()
        rows._ours, rows._held = self._ours, self._held
        return rows

    def begin(self, now: float) -> None:
        """Listen for rows that arrive by themselves, then select what is missing."""
        self._listening = True
        self._listen_until = now + LISTENING
        self._leases.want(sorted(self.wanted), self._listen_until)
        self._leases.renew(self._listen_until)
        self._settled_at = math.inf
        self._leases.heard(self._coming(now), now)

    def end(self) -> None:
        """Select nothing, as X-Plane is silent; what has arrived no longer counts."""
        self._listening = False
        self._heard.clear()
        self._group = {}

    def due(self, now: float, layout: DataLayout, answered: bool) -> bytes | None:
        """
        Return the selection to send now, if any: all rows in one datagram.

        If X-Plane has not ``answered`` in any way, it is not known what its user selected.
        """
        if not self._listening or now < self._listen_until:
            return None
        if not answered:
            self._listen_until = now + LISTENING
            return self.probe(layout)
        if self._probed is not None:
            # If others arrive too, it may have been among those that the user selected.
            if self._probed_ours or self._heard.keys() <= {self._probed}:
                self._ours.add(self._probed)
            self._probed = None
        rows = self._leases.due(now)
        if self._settled_at == math.inf:
            self._settled_at = now + _FRAME_PATIENCE
        if not rows:
            return None
        self._ours.update(rows)
        self.selected_at = now
        return encode(Dsel(tuple(rows), layout))

    def probe(self, layout: DataLayout) -> bytes | None:
        """
        Return the message that makes a silent X-Plane send one row, if any is wanted.

        Only one: any others that then arrive were selected by its user.
        """
        if not self.wanted:
            return None
        ours = self.wanted & self._held
        self._probed_ours = bool(ours)
        self._probed = min(ours or self.wanted)
        return encode(Dsel((self._probed,), layout))

    # Is it still the same X-Plane?

    def hold(self) -> None:
        """Put on hold which rows are ours."""
        self._held |= self._ours
        self._ours.clear()

    def restore(self) -> None:
        """Count those on hold as ours again: it is the same run of X-Plane."""
        self._ours |= self._held
        self._held.clear()

    def disown(self) -> None:
        """Forget those on hold, and that the one that woke it was ours: it is another run."""
        self._held.clear()
        self._probed_ours = False

    def forget(self) -> None:
        """Forget which rows are ours: the conversation is over."""
        self.disown()
        self._ours.clear()

    def choose(self, rows: Iterable[int], now: float) -> tuple[int, ...]:
        """Select these besides the needed ones; return those to deselect."""
        before = self.chosen
        self.chosen = frozenset(rows)
        self._leases.want(sorted(self.wanted), now)
        self._leases.heard(self._coming(now), now)
        return self._give_back(before - self.wanted)

    def cancel(self) -> tuple[int, ...]:
        """Return the rows to deselect: all that we selected."""
        return self._give_back(self.wanted)

    @property
    def period(self) -> float:
        """Return the time between two datagrams, in seconds."""
        return self._period

    def missing(self, now: float) -> dict[int, float]:
        """Return the missing rows, and since when each is missing."""
        return self._leases.missing(now) if self._listening else {}

    def absent(self, now: float) -> tuple[int, ...]:
        """Return the rows that are wanted and have not arrived lately."""
        return tuple(sorted(self.wanted.difference(self._coming(now))))

    def receive(self, segments: Iterable[Segment], now: float) -> tuple[Segment, ...] | None:
        """Handle rows; return the needed ones of one frame if they are now complete."""
        # The wire format allows 4 billion, which are not kept.
        came = {
            segment.index: segment for segment in segments
            if 0 <= segment.index <= HIGHEST_PLAUSIBLE_ROW}
        rows = list(came)
        if not self._group.keys().isdisjoint(came):
            # A datagram is from one frame, including the rows before the repeated one.
            self._group = {}
        self._group.update(came)
        if now - self._heard_at > _FRAME_PATIENCE:
            # After a silence, as when X-Plane was busy, no row is missing yet.
            self._settled_at = max(self._settled_at, now + _FRAME_PATIENCE)
        self._period = min(now - self._heard_at, _SLOWEST)
        self._heard_at = now
        self._leases.heard(rows, now)
        self._heard.update(dict.fromkeys(rows, now))
        if not self._is_complete(now):
            return None
        group, self._group = self._group, {}
        return tuple(group[row] for row in sorted(self.needed & group.keys()))

    def _is_complete(self, now: float) -> bool:
        """Return whether the rows of one frame have arrived: all, later the remaining ones."""
        late = self.needed - self._group.keys()
        if not late:
            return bool(self.needed)
        if now < self._settled_at or late == self.needed:
            return False
        return not any(
            self._leases.has_come_since(row, now - _FRAME_PATIENCE) for row in late)

    def _give_back(self, rows: Collection[int]) -> tuple[int, ...]:
        """Return those of the rows that are ours, and forget them."""
        ours = self._ours.intersection(rows)
        self._ours -= ours
        return tuple(sorted(ours))

    def _coming(self, now: float) -> list[int]:
        return [row for row, at in self._heard.items() if now - at < _PATIENCE]
