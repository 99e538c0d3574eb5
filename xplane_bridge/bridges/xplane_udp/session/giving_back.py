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

"""What gives back what was taken from the user of X-Plane, and what it says if it is not shown."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from xplane_bridge.bridges.protocols.xplane_versions import FIRST_WITH_DATAREFS
from xplane_bridge.bridges.sessions.ledger import LedgerEntry
from xplane_bridge.bridges.sessions.left import Left
from xplane_bridge.bridges.sessions.machine import State
from xplane_bridge.bridges.xplane_udp.protocol import Dref
from xplane_bridge.bridges.xplane_udp.session.commands import (
    BRAKES,
    pause,
    RowKind,
    STICKS,
    TOE_BRAKES,
    TRIMS,
)
from xplane_bridge.bridges.xplane_udp.session.pending import OtherHand, PendingWrite
from xplane_bridge.bridges.xplane_udp.session.reports import OVERRIDE, PAUSED, planepath

FLIGHT_MODEL = 'flight model'
TAKEN_BRAKES = 'brakes'
AXES = 'axes'
"""Groups of controls, which are free if nothing of ours overrides them."""

_WHAT = 'release'


def report_of(axis: str, version: int, row_kind: RowKind) -> str:
    """Return the name under which X-Plane reports what controls of an axis write."""
    if version >= FIRST_WITH_DATAREFS:
        return STICKS[axis]
    return f'{axis}_trim' if row_kind == 'trim' else f'stick_{axis}'


def giving_back(
    entries: Sequence[LedgerEntry[float]], version: int, row_kind: RowKind,
    written: Mapping[str, float],
) -> list[PendingWrite]:
    """
    Return the values that give back items of the ledger, none for what was not known before.

    The axes come before the override, centred, so that nothing stays deflected
    (docs/wire/xplane_datarefs.md, row 4.4). ``written`` is what controls have written last, by
    report.
    """
    all_pending: list[PendingWrite] = []
    for entry in sorted(entries, key=lambda entry: entry.value not in STICKS):
        before: float | None = 0.0
        group = AXES
        if entry.value in STICKS:
            reports = [report_of(entry.value, version, row_kind)]
        elif entry.value in TRIMS:
            reports, before = [entry.value], entry.before
        elif entry.value == TAKEN_BRAKES:
            reports, group = [*BRAKES.values(), TOE_BRAKES], TAKEN_BRAKES
        else:
            reports = [{
                'joystick': OVERRIDE, 'pause': PAUSED,
                FLIGHT_MODEL: planepath(entry.vehicle)}[entry.value]]
        if before is None:
            continue
        for report in reports:
            message = pause(False) if report == PAUSED else Dref(before, report)
            all_pending.append(PendingWrite(
                _WHAT, before, OtherHand(written.get(report), group), report=report,
                message=message if version >= FIRST_WITH_DATAREFS else None,
                item=(entry.vehicle, entry.value)))
    return all_pending


def look_back(
    was: State, unconfirmed: tuple[str, ...], version: int | None, patience: float
) -> Left:
    """
    Return how a conversation has ended, with what X-Plane has not shown to be given back.

    ``was`` is the last state in it, ``patience`` the release_timeout.
    """
    if not unconfirmed:
        return Left()
    undo = f'to undo it, {_how_to_undo(unconfirmed, version)}'
    if was is State.ANSWERING:
        return Left(unconfirmed, (
            f'X-Plane did not show within {patience:g} s that it was given back; {undo}'), True)
    if was is State.LOADING:
        return Left(
            unconfirmed, f'X-Plane is loading, or its data output is not set; {undo}', True)
    return Left(unconfirmed, f'X-Plane was already away; if it comes back as it was, {undo}')


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
                '(docs/reference/peers/xplane_udp.md), or restart X-Plane')
        else:
            ways.append('restart X-Plane')
    return ', '.join(ways)
