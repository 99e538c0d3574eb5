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

"""Requested values are leases, each with its own freshness. Time is passed in, in seconds."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
import math
from typing import Generic, TypeVar

_Key = TypeVar('_Key', bound=Hashable)


@dataclass(slots=True)
class _Lease:
    """One requested value: since when it is missing, when to request it again, the pause."""

    since: float
    ask_at: float
    pause: float
    patience: float


class Leases(Generic[_Key]):
    """
    Requested values, each with its own freshness; those that stop are requested again, forever.

    A value is fresh for ``patience`` seconds after it arrived, or for its own patience. A stale
    one is due again after ``first`` seconds, then after twice as long each time, up to
    ``longest``. That a peer does not know a value is not permanent: it is requested again too,
    at ``longest``.
    """

    def __init__(
        self, patience: float, *, first: float = 1.0, longest: float = 30.0
    ) -> None:
        if not 0.0 < first <= longest:
            raise ValueError(f'first: got {first:g} s, expected above 0 and up to {longest:g}')
        self.patience = patience
        self._first = first
        self._longest = longest
        self._heard: dict[_Key, float] = {}
        self._leases: dict[_Key, _Lease] = {}
        # Those that were requested and have not arrived since.
        self._asked: set[_Key] = set()
        self._look_at = 0.0

    def __contains__(self, key: object) -> bool:
        return key in self._leases

    def __len__(self) -> int:
        return len(self._leases)

    @property
    def keys(self) -> tuple[_Key, ...]:
        """Return all wanted values, in request order."""
        return tuple(self._leases)

    def want(
        self, keys: Iterable[_Key], now: float, patience: Mapping[_Key, float] | None = None
    ) -> None:
        """
        Want exactly these from now on: new ones are due at once, others keep their state.

        ``patience`` is for those with their own rate; with math.inf a value that is sent only on
        change stays fresh once it has arrived, until renew().
        """
        old, own = self._leases, patience or {}
        self._leases = {}
        for key in keys:
            limit = own.get(key, self.patience)
            lease = old.get(key) or _Lease(now, now, self._first, limit)
            lease.patience = limit
            self._leases[key] = lease
        self._heard = {key: at for key, at in self._heard.items() if key in self._leases}
        self._asked &= self._leases.keys()
        self._look_at = now

    def renew(self, now: float, keys: Iterable[_Key] | None = None) -> None:
        """Treat these, or all, as never received and due at once: the peer may have changed."""
        for key in list(self._leases) if keys is None else keys:
            if key in self._leases:
                self._heard.pop(key, None)
                self._asked.discard(key)
                self._leases[key] = _Lease(
                    now, now, self._first, self._leases[key].patience)
        self._look_at = now

    def heard(self, keys: Iterable[_Key], now: float) -> None:
        """Record the arrival of these. Names that are not wanted are ignored."""
        for key in keys:
            # A peer may send any number of other names: they are not kept.
            if key not in self._leases:
                continue
            self._heard[key] = now
            if key in self._asked:
                # If it stops again, it is due at once, however long the last pause was.
                lease = self._leases[key]
                lease.since, lease.pause, lease.ask_at = now, self._first, now + lease.patience
                self._look_at = min(self._look_at, lease.ask_at)
                self._asked.remove(key)

    def unknown(self, key: _Key, now: float) -> None:
        """Record that the peer does not know this one: retry after the longest pause."""
        lease = self._leases.get(key)
        if lease is not None:
            self._heard.pop(key, None)
            lease.pause = self._longest
            lease.ask_at = now + self._longest

    def due(self, now: float) -> list[_Key]:
        """Return what to request now, and count it as requested."""
        if now < self._look_at:
            return []
        due = []
        look_at = now + self._longest
        for key, lease in self._leases.items():
            heard = self._heard.get(key)
            if heard is not None and now < heard + lease.patience:
                # Fresh: if it stops, it is missing since it last arrived, and due at once.
                lease.since, lease.pause = heard, self._first
                lease.ask_at = heard + lease.patience
                self._asked.discard(key)
            elif now >= lease.ask_at:
                due.append(key)
                self._asked.add(key)
                lease.ask_at = now + lease.pause
                lease.pause = min(2.0 * lease.pause, self._longest)
            look_at = min(look_at, lease.ask_at)
        self._look_at = look_at
        return due

    @property
    def are_awaited(self) -> bool:
        """Return whether due() has asked for one that has not come since: none else is missing."""
        return bool(self._asked)

    @property
    def deadline(self) -> float | None:
        """Return when due() may have something, None if nothing is wanted."""
        return self._look_at if self._leases else None

    def is_fresh(self, key: _Key, now: float) -> bool:
        """Return whether this one arrived within the last ``patience`` seconds."""
        heard, lease = self._heard.get(key), self._leases.get(key)
        return heard is not None and lease is not None and now < heard + lease.patience

    def has_come(self, key: _Key) -> bool:
        """Return whether this one has arrived since it was wanted or renewed."""
        return key in self._heard

    def has_come_since(self, key: _Key, at: float) -> bool:
        """Return whether this one last arrived at this time or later."""
        heard = self._heard.get(key)
        return heard is not None and heard >= at

    def missing(self, now: float) -> dict[_Key, float]:
        """Return those that have been missing for longer than ``patience``, with that time."""
        missing = {}
        for key, lease in self._leases.items():
            heard = self._heard.get(key)
            since, patience = lease.since if heard is None else heard, lease.patience
            if heard is None and math.isinf(patience):
                patience = self.patience
            if now >= since + patience:
                missing[key] = since
        return missing
