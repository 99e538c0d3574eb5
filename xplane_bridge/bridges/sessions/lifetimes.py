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

"""Lifetimes of commands that wait to be sent. Time is passed in, in seconds."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from xplane_bridge.bridges.sessions.base import CommandDone, Tickets

DEFAULT_LIFETIME = 0.5
"""Seconds that a command may wait to be sent."""

_T = TypeVar('_T')
_V = TypeVar('_V')


@dataclass(frozen=True, slots=True)
class WaitingCommand(Generic[_T]):
    """One command that waits to be sent."""

    command: _T
    what: str
    ticket: int
    awaited: bool
    expires_at: float


class CommandQueue(Generic[_T]):
    """
    Commands that wait to be sent, in order, each for at most ``lifetime`` seconds.

    ``limit`` is how many may wait; ``why`` says what they wait for, in the message about one that
    has waited too long. ended() returns all that end without being sent.
    """

    def __init__(
        self, tickets: Tickets, *, lifetime: float = DEFAULT_LIFETIME, limit: int = 64,
        why: str = 'the budget of datagrams is used up',
    ) -> None:
        self._tickets = tickets
        # True if any wait: looked at far more often than there are any.
        self.waiting: deque[WaitingCommand[_T]] = deque()
        self._ended: list[CommandDone] = []
        self.lifetime = lifetime
        self.limit = limit
        self._why = why

    def __len__(self) -> int:
        return len(self.waiting)

    def __iter__(self) -> Iterator[WaitingCommand[_T]]:
        return iter(self.waiting)

    def put(self, command: _T, what: str, now: float, *, awaited: bool = False) -> int:
        """
        Queue a command; return its ticket.

        ``awaited``: a caller waits for its CommandDone, and also gets one when it was sent.
        Raises ValueError if too many are already waiting.
        """
        self.check_room(what, 1)
        ticket = self._tickets.draw()
        self.waiting.append(WaitingCommand(command, what, ticket, awaited, now + self.lifetime))
        return ticket

    def check_room(self, what: str, count: int) -> None:
        """Raise ValueError if too many are waiting to queue ``count`` of a command ``what``."""
        waiting = len(self.waiting)
        if waiting + count > self.limit:
            which = f'{waiting} commands are already waiting' if count == 1 else (
                f'{count} commands in addition to {waiting} waiting, at most {self.limit} allowed')
            raise ValueError(f'{what}: {which}; {self._why}')

    def take(self) -> _T:
        """Remove and return the first command, which is sent now."""
        first = self.waiting.popleft()
        if first.awaited:
            self._ended.append(CommandDone(first.ticket, first.what))
        return first.command

    @property
    def first(self) -> _T:
        """Return the next command; IndexError if none waits."""
        return self.waiting[0].command

    def remove(self, commands: Collection[_T]) -> None:
        """Forget these commands, if they wait, in silence."""
        self.waiting = deque(
            waiting for waiting in self.waiting if waiting.command not in commands)

    def put_off(self, seconds: float) -> None:
        """Let all of them wait this much longer."""
        self.waiting = deque(
            replace(waiting, expires_at=waiting.expires_at + seconds) for waiting in self.waiting)

    def expire(self, now: float) -> None:
        """End those that have waited too long."""
        # All have the same lifetime, so the first is the oldest, unless the lifetime was changed.
        while self.waiting and now >= self.waiting[0].expires_at:
            self._end(self.waiting.popleft(), expired(self.lifetime, self._why))

    def drop(self, reason: str) -> None:
        """End all of them unsent."""
        while self.waiting:
            self._end(self.waiting.popleft(), reason)

    def ended(self) -> list[CommandDone]:
        """Return what has ended since the last call."""
        ended, self._ended = self._ended, []
        return ended

    @property
    def deadline(self) -> float | None:
        """Return when expire() has something to do, None if nothing waits."""
        return self.waiting[0].expires_at if self.waiting else None

    def _end(self, waiting: WaitingCommand[_T], reason: str) -> None:
        self._ended.append(
            CommandDone(waiting.ticket, waiting.what, f'not sent: {reason}'))


def expired(lifetime: float, why: str) -> str:
    """Return the reason for a command that has waited too long."""
    return f'it waited {lifetime:g} s (command_lifetime): {why}'


class LatestValues(Generic[_V]):
    """
    The newest value of each control of one vehicle until it is sent, for at most ``lifetime`` s.

    Controls may arrive faster than they can be sent: a newer value replaces the waiting one, and
    values of different controls are sent together.
    """

    def __init__(self, lifetime: float = DEFAULT_LIFETIME) -> None:
        self.lifetime = lifetime
        # Values and until when they may wait, by name.
        self.waiting: dict[str, tuple[_V, float]] = {}

    def __bool__(self) -> bool:
        return bool(self.waiting)

    def set(self, values: Mapping[str, _V], now: float) -> bool:
        """Queue values; return whether others were already waiting."""
        waited = bool(self.waiting)
        expires_at = now + self.lifetime
        for name, value in values.items():
            self.waiting[name] = value, expires_at
        return waited

    @property
    def values(self) -> dict[str, _V]:
        """Return the waiting values, by name."""
        return {name: value for name, (value, _) in self.waiting.items()}

    def take(self) -> dict[str, _V]:
        """Remove and return the waiting values, by name."""
        values = self.values
        self.waiting.clear()
        return values

    def expire(self, now: float) -> dict[str, _V]:
        """Remove and return those that have waited too long."""
        old = {
            name: value for name, (value, expires_at) in self.waiting.items()
            if now >= expires_at}
        for name in old:
            del self.waiting[name]
        return old

    def clear(self, names: Collection[str] | None = None) -> None:
        """Forget the waiting values, or those of these names."""
        for name in list(self.waiting) if names is None else names:
            self.waiting.pop(name, None)

    @property
    def deadline(self) -> float | None:
        """Return when expire() has something to do, None if nothing waits."""
        return min((at for _, at in self.waiting.values()), default=None)
