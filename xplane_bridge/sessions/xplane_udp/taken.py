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

"""Ledger of what was taken from the user of X-Plane, to give back to the same run of X-Plane."""

from __future__ import annotations

from collections.abc import Iterable

from xplane_bridge.sessions.ledger import Entry, Held, Ledger

OWN = 0
"""The user's aircraft: X-Plane's native UDP commands no others."""

_ROW = 'row '


class Taken:
    """
    The ledger of one conversation, by value: 'elevator', 'joystick', 'pause', 'row 17' ...

    After a silence X-Plane may be another run, from which nothing was taken: then everything taken
    before is on hold until that is known.
    """

    def __init__(self) -> None:
        self._ledger = Ledger[float]()
        self._held: list[Entry[float]] = []
        # Whether what is on hold is to be given back once it is the same run.
        self.release_owed = False

    def __contains__(self, value: str) -> bool:
        return (OWN, value) in self._ledger

    @property
    def names(self) -> tuple[str, ...]:
        """Return what commands have taken."""
        return tuple(name for name in self._ledger.names if not name.startswith(_ROW))

    @property
    def rows(self) -> tuple[int, ...]:
        """Return the rows that we have selected."""
        return tuple(sorted(
            int(name.removeprefix(_ROW)) for name in self._ledger.names
            if name.startswith(_ROW)))

    @property
    def held_rows(self) -> tuple[int, ...]:
        """Return the rows that we had selected before X-Plane fell silent."""
        return tuple(int(entry.value.removeprefix(_ROW)) for entry in self._held
                     if entry.value.startswith(_ROW))

    def take(self, value: str, before: float | None = None, aircraft: int = OWN) -> None:
        """Record that this was taken, and what it was before: unchanged if it is owed."""
        self._ledger.take(aircraft, value, before)

    def take_row(self, row: int) -> None:
        """Record that we have selected a row."""
        self.take(f'{_ROW}{row}')

    def forget(self, value: str, aircraft: int = OWN) -> None:
        """Forget one item: another client has it now, or it was shown to be given back."""
        self._ledger.forget(aircraft, value)

    def owe(self) -> list[Entry[float]]:
        """Return what commands have taken, and what is owed: now all of it is owed."""
        self._ledger.owe(values={
            entry.value for entry in self._ledger.entries()
            if not entry.value.startswith(_ROW)})
        return self._ledger.entries(held=Held.OWED)

    @property
    def owed(self) -> tuple[str, ...]:
        """Return what was given back and is not shown yet."""
        return self._ledger.owed

    def is_owed(self, value: str) -> bool:
        """Return whether one item was given back and is not shown yet."""
        return any(
            entry.value == value for entry in self._ledger.entries(held=Held.OWED))

    def give_back_rows(self, rows: Iterable[int]) -> tuple[int, ...]:
        """Return those of the rows that we have selected, and forget them."""
        ours = tuple(sorted(set(rows).intersection(self.rows)))
        for row in ours:
            self.forget(f'{_ROW}{row}')
        return ours

    # Is it still the same X-Plane?

    @property
    def on_hold(self) -> bool:
        """Return whether something that commands have taken is on hold."""
        return any(not entry.value.startswith(_ROW) for entry in self._held)

    def hold(self) -> None:
        """Put on hold what was taken from an X-Plane that fell silent."""
        self._held += self._everything()

    def restore(self) -> None:
        """Restore what was on hold: it is the same run of X-Plane."""
        later = self._everything()
        for entry in (*self._held, *later):
            self._ledger.take(entry.vehicle, entry.value, entry.before)
            if entry.held is Held.OWED:
                self._ledger.owe(entry.vehicle, (entry.value,))
        self._held = []

    def clear(self) -> None:
        """Forget everything."""
        self._ledger.clear()
        self._held = []

    def drop(self) -> None:
        """Forget what was on hold: it is another run of X-Plane."""
        self._held = []

    def _everything(self) -> list[Entry[float]]:
        """Return all of the ledger, and empty it."""
        entries = [*self._ledger.entries(), *self._ledger.entries(held=Held.OWED)]
        self._ledger.clear()
        return entries
