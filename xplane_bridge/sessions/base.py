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

"""
What every session holds about its peer, so that it is true or expires.

A command that waits has a lifetime (CommandQueue, LatestValues). A value asked for is a lease
(Leases). What was taken from the user of the simulator is in a ledger (Ledger). Time is passed
in, in seconds of any steady clock.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
import math
from typing import Generic, TypeVar

DEFAULT_LIFETIME = 0.5
"""Seconds that a command may wait to be sent."""

MOST_READ = 2000
"""Datarefs in one read, and in all reads that wait twice as many."""

LONGEST_READ = 60.0
"""Seconds after which a read ends, whatever has come."""

_T = TypeVar('_T')
_Key = TypeVar('_Key', bound=Hashable)


class PeerAbsentError(ValueError):
    """A command or read was refused because the peer is not there to take it."""


@dataclass(frozen=True, slots=True)
class CommandDone:
    """
    The end of one command: sent, or not and the reason.

    ``what`` names the command for a person. A command that nobody waits for has an end only if it
    was not sent.
    """

    ticket: int
    what: str
    error: str = ''


class Tickets:
    """Numbers that tie an answer to its question, unique within a session."""

    def __init__(self) -> None:
        self._last = 0

    def draw(self) -> int:
        """Return the next number."""
        self._last += 1
        return self._last


@dataclass(frozen=True, slots=True)
class Waiting(Generic[_T]):
    """One command that waits to be sent."""

    command: _T
    what: str
    ticket: int
    awaited: bool
    expires_at: float


class CommandQueue(Generic[_T]):
    """
    Commands that wait to be sent, in order, each for at most ``lifetime`` seconds.

    ``limit`` is how many may wait; ``why`` tells what they wait for, in the sentence that ends one
    that has waited too long. All that ends without being sent is in ended().
    """

    def __init__(
        self, tickets: Tickets, *, lifetime: float = DEFAULT_LIFETIME, limit: int = 64,
        why: str = 'the budget of datagrams is used up',
    ) -> None:
        self._tickets = tickets
        self._queue: deque[Waiting[_T]] = deque()
        self._ended: list[CommandDone] = []
        self.lifetime = lifetime
        self.limit = limit
        self._why = why

    def __len__(self) -> int:
        return len(self._queue)

    def __iter__(self) -> Iterator[Waiting[_T]]:
        return iter(self._queue)

    def put(self, command: _T, what: str, now: float, *, awaited: bool = False) -> int:
        """
        Let a command wait; return its ticket.

        ``awaited``: somebody waits for its CommandDone, and gets one also when it was sent.
        Raises ValueError if too many wait already.
        """
        self.check_room(what, 1)
        ticket = self._tickets.draw()
        self._queue.append(Waiting(command, what, ticket, awaited, now + self.lifetime))
        return ticket

    def check_room(self, what: str, count: int) -> None:
        """Raise ValueError if too many wait already to put in so many of a command ``what``."""
        waiting = len(self._queue)
        if waiting + count > self.limit:
            which = f'{waiting} commands are waiting already' if count == 1 else (
                f'{count} commands at once beside {waiting} that wait, at most {self.limit} may')
            raise ValueError(f'{what}: {which}; {self._why}')

    def take(self) -> _T:
        """Remove the first command, which is sent now, and return it."""
        first = self._queue.popleft()
        if first.awaited:
            self._ended.append(CommandDone(first.ticket, first.what))
        return first.command

    @property
    def first(self) -> _T:
        """Return the command whose turn it is; IndexError if none waits."""
        return self._queue[0].command

    def expire(self, now: float) -> None:
        """End those that have waited too long."""
        # All have the same lifetime, so the first is the oldest, unless that was changed.
        while self._queue and now >= self._queue[0].expires_at:
            self._end(self._queue.popleft(), expired(self.lifetime, self._why))

    def drop(self, reason: str) -> None:
        """End all of them, unsent."""
        while self._queue:
            self._end(self._queue.popleft(), reason)

    def ended(self) -> list[CommandDone]:
        """Return what has ended since the last call."""
        ended, self._ended = self._ended, []
        return ended

    @property
    def deadline(self) -> float | None:
        """Return when expire() has something to do, None if nothing waits."""
        return self._queue[0].expires_at if self._queue else None

    def _end(self, waiting: Waiting[_T], reason: str) -> None:
        self._ended.append(
            CommandDone(waiting.ticket, waiting.what, f'not sent: {reason}'))


def check_read(count: int, waiting: int) -> None:
    """Raise ValueError if ``count`` datarefs are none or too many to read beside those waiting."""
    if not count:
        raise ValueError('a read needs at least one dataref name')
    if count > MOST_READ:
        raise ValueError(f'{count} datarefs, at most {MOST_READ} can be read at once')
    if count + waiting > 2 * MOST_READ:
        raise ValueError(f'{waiting} datarefs wait to be read already; ask less often')


READ_TOO_LONG = (
    f'not everything came within {LONGEST_READ:g} s; read fewer datarefs at once, or less often')
"""Why a read has ended after LONGEST_READ."""


def expired(lifetime: float, why: str) -> str:
    """Return the reason of a command that has waited too long."""
    return f'it waited {lifetime:g} s (command_lifetime): {why}'


class LatestValues:
    """
    The newest value of each control of one vehicle until it is sent, for at most ``lifetime`` s.

    Controls come faster than they can be sent: a newer value replaces the one that waits, and
    values of different controls leave together.
    """

    def __init__(self, lifetime: float = DEFAULT_LIFETIME) -> None:
        self.lifetime = lifetime
        self._values: dict[str, tuple[float, float]] = {}

    def __bool__(self) -> bool:
        return bool(self._values)

    def set(self, values: Mapping[str, float], now: float) -> bool:
        """Let values wait; tell whether others were waiting already."""
        waited = bool(self._values)
        expires_at = now + self.lifetime
        for name, value in values.items():
            self._values[name] = value, expires_at
        return waited

    def take(self) -> dict[str, float]:
        """Remove and return what waits, by name."""
        values = {name: value for name, (value, _) in self._values.items()}
        self._values.clear()
        return values

    def expire(self, now: float) -> dict[str, float]:
        """Remove and return those that have waited too long."""
        old = {
            name: value for name, (value, expires_at) in self._values.items()
            if now >= expires_at}
        for name in old:
            del self._values[name]
        return old

    def clear(self) -> None:
        """Forget what waits."""
        self._values.clear()

    @property
    def deadline(self) -> float | None:
        """Return when expire() has something to do, None if nothing waits."""
        return min((at for _, at in self._values.values()), default=None)


@dataclass(slots=True)
class _Lease:
    """One value asked for: since when it is missed, when to ask again, after which pause."""

    since: float
    ask_at: float
    pause: float
    patience: float


class Leases(Generic[_Key]):
    """
    Values asked for, each with its own freshness; what stops coming is asked for again, for ever.

    A value is fresh for ``patience`` seconds after it came, or for its own patience. One that is
    not is due again after ``first`` seconds, then after twice as long each time, up to
    ``longest``. That a peer does not know a value is nothing that lasts: it is asked for again
    too, at ``longest``.
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
        # Those that were asked for and have not come since.
        self._asked: set[_Key] = set()
        self._look_at = 0.0

    def __contains__(self, key: object) -> bool:
        return key in self._leases

    def __len__(self) -> int:
        return len(self._leases)

    @property
    def keys(self) -> tuple[_Key, ...]:
        """Return all that is wanted, in the order of asking."""
        return tuple(self._leases)

    def want(
        self, keys: Iterable[_Key], now: float, patience: Mapping[_Key, float] | None = None
    ) -> None:
        """
        Want exactly these from now on: new ones are due at once, others keep their state.

        ``patience`` is that of those that come at a pace of their own; with math.inf a value that
        is sent on a change only stays fresh once it has come, until renew().
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
        """Take these, or all, as never heard and due at once: the peer may be another one."""
        for key in list(self._leases) if keys is None else keys:
            if key in self._leases:
                self._heard.pop(key, None)
                self._asked.discard(key)
                self._leases[key] = _Lease(
                    now, now, self._first, self._leases[key].patience)
        self._look_at = now

    def heard(self, keys: Iterable[_Key], now: float) -> None:
        """Note that these came. It may name others, which do not count."""
        # A peer may name as many others as it likes: they are not kept.
        came = {key: now for key in keys if key in self._leases}
        self._heard.update(came)
        for key in self._asked.intersection(came):
            # Should it stop again, it is due at once then, however long the last pause was.
            lease = self._leases[key]
            lease.since, lease.pause, lease.ask_at = now, self._first, now + lease.patience
            self._look_at = min(self._look_at, lease.ask_at)
        self._asked.difference_update(came)

    def unknown(self, key: _Key, now: float) -> None:
        """Note that the peer says it does not know this one: ask again after the longest pause."""
        lease = self._leases.get(key)
        if lease is not None:
            self._heard.pop(key, None)
            lease.pause = self._longest
            lease.ask_at = now + self._longest

    def due(self, now: float) -> list[_Key]:
        """Return what is to be asked for now, and count it as asked."""
        if now < self._look_at:
            return []
        due = []
        look_at = now + self._longest
        for key, lease in self._leases.items():
            heard = self._heard.get(key)
            if heard is not None and now < heard + lease.patience:
                # Fresh: should it stop, it is missed since it last came, and due at once then.
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
    def deadline(self) -> float | None:
        """Return when due() may have something, None if nothing is wanted."""
        return self._look_at if self._leases else None

    def is_fresh(self, key: _Key, now: float) -> bool:
        """Tell whether this one came within the last ``patience`` seconds."""
        heard, lease = self._heard.get(key), self._leases.get(key)
        return heard is not None and lease is not None and now < heard + lease.patience

    def has_come(self, key: _Key) -> bool:
        """Tell whether this one has come at all since it was wanted or renewed."""
        return key in self._heard

    def has_come_since(self, key: _Key, at: float) -> bool:
        """Tell whether this one came last at this time or later."""
        heard = self._heard.get(key)
        return heard is not None and heard >= at

    def missing(self, now: float) -> dict[_Key, float]:
        """Return those that have not come for longer than ``patience``, with since when."""
        missing = {}
        for key, lease in self._leases.items():
            heard = self._heard.get(key)
            since, patience = lease.since if heard is None else heard, lease.patience
            if heard is None and math.isinf(patience):
                patience = self.patience
            if now >= since + patience:
                missing[key] = since
        return missing


@dataclass(frozen=True, slots=True)
class Entry(Generic[_T]):
    """One thing taken: of which vehicle, what, and what it was before (None: not known)."""

    vehicle: int
    value: str
    before: _T | None = None


class Ledger(Generic[_T]):
    """
    What was taken from the user of the simulator, by vehicle and by value.

    It is given back to the peer that it was taken from, and to no other: a session that meets
    another instance calls clear().
    """

    def __init__(self) -> None:
        self._entries: dict[tuple[int, str], Entry[_T]] = {}

    def __bool__(self) -> bool:
        return bool(self._entries)

    def __contains__(self, key: tuple[int, str]) -> bool:
        return key in self._entries

    def take(self, vehicle: int, value: str, before: _T | None = None) -> None:
        """Note that this was taken. What it was before is kept from the first time."""
        self._entries.setdefault((vehicle, value), Entry(vehicle, value, before))

    def entries(self, vehicle: int | None = None) -> list[Entry[_T]]:
        """Return what was taken, from one vehicle or from all, in the order of taking."""
        return [
            entry for entry in self._entries.values() if vehicle in (None, entry.vehicle)]

    def give_back(self, vehicle: int | None = None) -> list[Entry[_T]]:
        """Return what was taken, from one vehicle or from all, and forget it."""
        entries = self.entries(vehicle)
        for entry in entries:
            del self._entries[entry.vehicle, entry.value]
        return entries

    def forget(self, vehicle: int, value: str) -> None:
        """Forget one thing: it was given back, or somebody else took it."""
        self._entries.pop((vehicle, value), None)

    def clear(self) -> None:
        """Forget everything: the peer is another instance, which knows nothing of it."""
        self._entries.clear()

    @property
    def names(self) -> tuple[str, ...]:
        """Return what was taken, for a person: 'throttle', 'elevator of aircraft 3' ..."""
        return tuple(
            f'{entry.value} of aircraft {entry.vehicle}' if entry.vehicle else entry.value
            for entry in self._entries.values())
