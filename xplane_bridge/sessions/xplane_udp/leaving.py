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

"""The end of a conversation with X-Plane: what it has to show, and what it has not."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from xplane_bridge.protocols.xplane_udp import FIRST_WITH_DATAREFS
from xplane_bridge.sessions.base import Address, Left, PeerState
from xplane_bridge.sessions.xplane_udp.commands import TRIMS

# How long after release_timeout what was requested may still be ended, in seconds.
_LAST = 0.4


@dataclass(slots=True)
class Leaving:
    """
    The end of a conversation.

    ``was`` is the peer's state before, ``patience`` the release_timeout. ``shows``: the reports go
    on, as they show what was given back; ``answered``: X-Plane was heard since; ``next_peer``:
    where to talk to X-Plane afterwards.
    """

    was: PeerState
    began_at: float
    patience: float
    shows: bool = True
    answered: bool = False
    next_peer: Address | None = None

    @property
    def until(self) -> float:
        """Return when it ends at the latest."""
        return self.began_at + self.patience + min(_LAST, self.patience)

    def look_back(self, owed: tuple[str, ...], version: int | None) -> Left:
        """Return how it has ended, with what X-Plane has not shown to be given back."""
        if not owed:
            return Left()
        undo = f'to undo it, {_how_to_undo(owed, version)}'
        if self.answered or self.was is PeerState.ANSWERING:
            return Left(owed, (
                f'X-Plane did not show within {self.patience:g} s that it was given back; {undo}'),
                True)
        if self.was is PeerState.LOADING:
            return Left(owed, f'X-Plane is loading, or its data output is not set; {undo}', True)
        return Left(owed, f'X-Plane was already away; if it comes back as it was, {undo}')


def _how_to_undo(items: Collection[str], version: int | None) -> str:
    """Return how people put back what was taken, by the names of the ledger."""
    ways = []
    if not set(items).isdisjoint(('pause',)):
        ways.append('resume X-Plane with the key P')
    rows = [item for item in items if item in TRIMS]
    if rows:
        ways.append(f'set {", ".join(rows)} in the cockpit')
    if set(items).difference(('pause',), TRIMS):
        if (version or 0) >= FIRST_WITH_DATAREFS:
            ways.append(
                'start this node again and write 0 to the override_ datarefs with set_datarefs '
                '(docs/xplane_udp.md), or restart X-Plane')
        else:
            ways.append('restart X-Plane')
    return ', '.join(ways)
