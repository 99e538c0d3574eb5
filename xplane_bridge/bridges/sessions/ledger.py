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

"""Ledger of what was taken from the user of a simulator, so that exactly that is given back."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from enum import Enum
from typing import Generic, TypeVar

_T = TypeVar('_T')


class Held(Enum):
    """
    Who has an item of the ledger.

    ::

        take() --> TAKEN --release()--> UNCONFIRMED --forget(): a report shows it--> gone
                     ^---take()------'
    """

    TAKEN = 'taken'
    UNCONFIRMED = 'given back, not yet shown'


@dataclass(frozen=True, slots=True)
class LedgerEntry(Generic[_T]):
    """One item taken: the vehicle, the value, and what it was before (None: unknown)."""

    vehicle: int
    value: str
    before: _T | None = None
    held: Held = Held.TAKEN


class Ledger(Generic[_T]):
    """
    What was taken from the user of the simulator, by vehicle and by value.

    What is given back is unconfirmed until the peer shows it, not until a datagram has left. It is
    given back only to the peer that it was taken from: a session that meets another instance calls
    clear().
    """

    def __init__(self) -> None:
        self._entries: dict[tuple[int, str], LedgerEntry[_T]] = {}

    def __bool__(self) -> bool:
        return bool(self._entries)

    def __contains__(self, key: tuple[int, str]) -> bool:
        """Return whether an item is taken, and not unconfirmed."""
        entry = self._entries.get(key)
        return entry is not None and entry.held is Held.TAKEN

    def get(self, vehicle: int, value: str) -> LedgerEntry[_T] | None:
        """Return one item, None if it is neither taken nor unconfirmed."""
        return self._entries.get((vehicle, value))

    def take(self, vehicle: int, value: str, before: _T | None = None) -> None:
        """
        Record that this was taken, or taken again.

        The original value is kept from the first time.
        """
        entry = self._entries.get((vehicle, value))
        if entry is None:
            self._entries[vehicle, value] = LedgerEntry(vehicle, value, before)
        elif entry.held is not Held.TAKEN:
            self._entries[vehicle, value] = replace(entry, held=Held.TAKEN)

    def entries(
        self, vehicle: int | None = None, held: Held = Held.TAKEN
    ) -> list[LedgerEntry[_T]]:
        """Return what is taken, or unconfirmed, of one vehicle or of all, in order."""
        return [
            entry for entry in self._entries.values()
            if vehicle in (None, entry.vehicle) and entry.held is held]

    def release(
        self, vehicle: int | None = None, values: Collection[str] | None = None
    ) -> list[LedgerEntry[_T]]:
        """
        Record that what is taken is given back, and return it.

        ``vehicle`` None means of all, ``values`` None everything. It stays until forget().
        """
        entries = [
            replace(entry, held=Held.UNCONFIRMED) for entry in self.entries(vehicle)
            if values is None or entry.value in values]
        self._entries.update(((entry.vehicle, entry.value), entry) for entry in entries)
        return entries

    def give_back(self, vehicle: int | None = None) -> list[LedgerEntry[_T]]:
        """Return what is taken, of one vehicle or of all, and forget it."""
        entries = self.entries(vehicle)
        for entry in entries:
            del self._entries[entry.vehicle, entry.value]
        return entries

    def forget(self, vehicle: int, value: str) -> None:
        """Forget one item: a report shows that it was given back, or another client took it."""
        self._entries.pop((vehicle, value), None)

    def clear(self) -> None:
        """Forget everything: the peer is another instance, from which nothing was taken."""
        self._entries.clear()

    @property
    def names(self) -> tuple[str, ...]:
        """Return what is taken, for people: 'throttle', 'elevator of aircraft 3' ..."""
        return tuple(map(name_of, self.entries()))

    @property
    def unconfirmed(self) -> tuple[str, ...]:
        """Return what is unconfirmed, for people."""
        return tuple(map(name_of, self.entries(held=Held.UNCONFIRMED)))


def name_of(entry: LedgerEntry[_T]) -> str:
    """Return the name of an item, for people."""
    return f'{entry.value} of aircraft {entry.vehicle}' if entry.vehicle else entry.value
