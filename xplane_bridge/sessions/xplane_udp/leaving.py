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

from xplane_bridge.protocols.xplane_udp import FIRST_WITH_DATAREFS
from xplane_bridge.sessions.base import Left
from xplane_bridge.sessions.machine import State
from xplane_bridge.sessions.xplane_udp.commands import TRIMS


def look_back(
    was: State, owed: tuple[str, ...], version: int | None, patience: float
) -> Left:
    """
    Return how a conversation has ended, with what X-Plane has not shown to be given back.

    ``was`` is the last state in it, ``patience`` the release_timeout.
    """
    if not owed:
        return Left()
    undo = f'to undo it, {_how_to_undo(owed, version)}'
    if was in (State.LEAVING, State.MOVING):
        return Left(owed, (
            f'X-Plane did not show within {patience:g} s that it was given back; {undo}'), True)
    if was in (State.LEAVING_LOADING, State.MOVING_LOADING):
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
