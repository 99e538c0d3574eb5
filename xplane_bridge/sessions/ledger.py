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

from dataclasses import dataclass
from typing import Generic, TypeVar

_T = TypeVar('_T')


@dataclass(frozen=True, slots=True)
class Entry(Generic[_T]):
    """One item taken: the vehicle, the value, and what it was before (None: unknown)."""

    vehicle: int
    value: str
    before: _T | None = None


class Ledger(Generic[_T]):
    """
    What was taken from the user of the simulator, by vehicle and by value.

    It is given back only to the peer that it was taken from: a session that meets another
    instance calls clear().
    """

    def __init__(self) -> None:
        self._entries: dict[tuple[int, str], Entry[_T]] = {}

    def __bool__(self) -> bool:
        return bool(self._entries)

    def __contains__(self, key: tuple[int, str]) -> bool:
        return key in self._entries

    def take(self, vehicle: int, value: str, before: _T | None = None) -> None:
        """Record that this was taken. The original value is kept from the first time."""
        self._entries.setdefault((vehicle, value), Entry(vehicle, value, before))

    def entries(self, vehicle: int | None = None) -> list[Entry[_T]]:
        """Return what was taken, from one vehicle or from all, in order."""
        return [
            entry for entry in self._entries.values() if vehicle in (None, entry.vehicle)]

    def give_back(self, vehicle: int | None = None) -> list[Entry[_T]]:
        """Return what was taken, from one vehicle or from all, and forget it."""
        entries = self.entries(vehicle)
        for entry in entries:
            del self._entries[entry.vehicle, entry.value]
        return entries

    def forget(self, vehicle: int, value: str) -> None:
        """Forget one item: it was given back, or another client took it."""
        self._entries.pop((vehicle, value), None)

    def clear(self) -> None:
        """Forget everything: the peer is another instance, from which nothing was taken."""
        self._entries.clear()

    @property
    def names(self) -> tuple[str, ...]:
        """Return what was taken, for people: 'throttle', 'elevator of aircraft 3' ..."""
        return tuple(
            f'{entry.value} of aircraft {entry.vehicle}' if entry.vehicle else entry.value
            for entry in self._entries.values())
