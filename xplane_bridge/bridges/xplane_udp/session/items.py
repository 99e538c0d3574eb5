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

"""Ledger of what was taken from the user of X-Plane, on hold while it may be another run."""

from __future__ import annotations

from xplane_bridge.bridges.sessions.ledger import Entry, Held, Ledger

OWN = 0
"""The user's aircraft: X-Plane's native UDP commands no others."""


class Items:
    """
    The ledger of one conversation, by value: 'elevator', 'joystick', 'pause' ...

    After a silence X-Plane may be another run, from which nothing was taken: then everything taken
    before is on hold until that is known.
    """

    def __init__(self) -> None:
        self._ledger = Ledger[float]()
        self._held: list[Entry[float]] = []

    def __bool__(self) -> bool:
        """Return whether anything is taken, or owed; what is on hold is neither."""
        return bool(self._ledger)

    def __contains__(self, value: str) -> bool:
        return (OWN, value) in self._ledger

    @property
    def names(self) -> tuple[str, ...]:
        """Return what commands have taken."""
        return self._ledger.names

    def take(self, value: str, before: float | None = None, aircraft: int = OWN) -> None:
        """Record that this was taken, and what it was before: unchanged if it is owed."""
        self._ledger.take(aircraft, value, before)

    def forget(self, value: str, aircraft: int = OWN) -> None:
        """Forget one item: another client has it now, or it was shown to be given back."""
        self._ledger.forget(aircraft, value)

    def owe(self) -> list[Entry[float]]:
        """Return what commands have taken, and what is owed: now all of it is owed."""
        self._ledger.owe()
        return self._ledger.entries(held=Held.OWED)

    def owe_again(self, item: tuple[int, str], before: float) -> None:
        """Record that an item, aircraft and value, that was given back is owed once more."""
        aircraft, value = item
        self._ledger.take(aircraft, value, before)
        self._ledger.owe(aircraft, (value,))

    @property
    def owed(self) -> tuple[str, ...]:
        """Return what was given back and is not shown yet."""
        return self._ledger.owed

    def is_owed(self, value: str) -> bool:
        """Return whether one item was given back and is not shown yet."""
        return any(
            entry.value == value for entry in self._ledger.entries(held=Held.OWED))

    # Is it still the same X-Plane?

    @property
    def on_hold(self) -> bool:
        """Return whether something that commands have taken is on hold."""
        return bool(self._held)

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
