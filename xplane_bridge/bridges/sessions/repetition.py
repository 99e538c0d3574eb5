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

"""Repetition of what was given back to a peer that cannot show it. Time is passed in."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from typing import Generic, TypeVar

PERIOD = 0.25
"""Seconds between two repetitions: a few times per second harm no peer."""

_Key = TypeVar('_Key', bound=Hashable)


@dataclass(slots=True)
class _Item:
    """When to send it next, and for the last time (None until it was first sent)."""

    at: float
    until: float | None = None


class Repetition(Generic[_Key]):
    """
    What was given back, and is sent again and again because the peer's protocol cannot show it.

    An item is sent at once, then every ``PERIOD`` seconds, for the last time a given number of
    seconds after the first. Only absolute values may be repeated. Times are in seconds.
    """

    def __init__(self) -> None:
        self._items: dict[_Key, _Item] = {}

    def __bool__(self) -> bool:
        return bool(self._items)

    def __iter__(self) -> Iterator[_Key]:
        return iter(tuple(self._items))

    def begin(self, key: _Key, now: float) -> None:
        """Send this one from now on; one that is being repeated starts over."""
        self._items[key] = _Item(now)

    def restart(self, now: float) -> None:
        """Start over with all of them: the peer may not have heard any."""
        for key in self:
            self.begin(key, now)

    def end(self, key: _Key) -> None:
        """Repeat this one no more: it was taken again, or shown."""
        self._items.pop(key, None)

    def clear(self) -> None:
        """Repeat nothing: the peer is another instance."""
        self._items.clear()

    def due(self, now: float, seconds: float) -> list[_Key]:
        """Return what to send now; each item for ``seconds`` from its first time."""
        if not self._items:
            return []
        due = [key for key, item in self._items.items() if now >= item.at]
        for key in due:
            item = self._items[key]
            if item.until is None:
                item.until = now + seconds
            if now >= item.until:
                del self._items[key]
            else:
                item.at = min(now + PERIOD, item.until)
        return due

    @property
    def deadline(self) -> float | None:
        """Return when due() has something, None if nothing is repeated."""
        return min(item.at for item in self._items.values()) if self._items else None
