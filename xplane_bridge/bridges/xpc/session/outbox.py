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

"""Commands that wait to be sent, and sent ones that are not known to be read yet."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from enum import Enum
from typing import TypeAlias

from xplane_bridge.bridges.sessions.base import CommandDone, soonest, Tickets
from xplane_bridge.bridges.sessions.lifetimes import (
    CommandQueue,
    DEFAULT_LIFETIME,
    expired,
    LatestValues,
)
from xplane_bridge.bridges.sessions.pending import Pending, PendingTable
from xplane_bridge.bridges.xpc import protocol as xpc
from xplane_bridge.bridges.xpc.session.commands import to_controls
from xplane_bridge.bridges.xpc.session.items import Key

# What is said of a command whose effect the plugin does not report.
_CANNOT_CONFIRM = 'sent; this protocol cannot confirm it'
_MAY_HAPPEN = '; it may still happen'
_WHY = 'the budget of datagrams is used up, or X-Plane stopped answering'

Pauses: TypeAlias = Mapping[Key, float]
"""Whether aircraft are paused."""


class CommandSource(Enum):
    """Which of the commands that wait; sources take turns."""

    CONTROLS = 'controls'
    SINGLE = 'single'
    LEVERS = 'levers'


PendingPauses: TypeAlias = Pending[Pauses | None, int]
"""
A command whose effect somebody waits for: these pauses, None: all unconfirmed ones.

Its proof is the number of commands sent then: a report that was asked for later shows it.
"""


class Outbox:
    """
    Single commands, each of which counts, and the newest value of each control of each aircraft.

    Sources take turns, so that none starves. An awaited command ends when X-Plane shows its
    effect. One whose effect X-Plane does not report ends as sent when a later request has been
    answered: the plugin reads in order of arrival. ``serial`` counts commands that were sent.
    """

    def __init__(self, tickets: Tickets, lifetime: float = DEFAULT_LIFETIME) -> None:
        self._tickets = tickets
        self._lifetime = lifetime
        self._queue: CommandQueue[xpc.Request] = CommandQueue(
            tickets, lifetime=lifetime, why=_WHY)
        self._controls: dict[int, LatestValues[float]] = {}
        self._levers = LatestValues[tuple[float, ...]](lifetime)
        # The next one first.
        self._turns = list(CommandSource)
        self._put = 0
        # By ticket: sent, and not known to be read; sent, and not shown.
        self._unread = PendingTable[int, Pending[None, int]]()
        self._awaited = PendingTable[int, PendingPauses]()
        self._ended: list[CommandDone] = []

    def __bool__(self) -> bool:
        return bool(self._queue.waiting or self._controls or self._levers.waiting)

    @property
    def awaits(self) -> bool:
        """Return whether somebody waits for a command to be read, or to be shown."""
        return bool(self._unread or self._awaited)

    @property
    def put_count(self) -> int:
        """Return how many single commands were queued so far."""
        return self._put

    @property
    def left_count(self) -> int:
        """Return how many of these no longer wait."""
        return self._put - len(self._queue.waiting)

    @property
    def waits_until(self) -> float | None:
        """Return when the first waiting command has waited too long, None if none waits."""
        return soonest(self._queue.deadline, self._levers.deadline, *(
            values.deadline for values in self._controls.values()))

    @property
    def awaits_until(self) -> float | None:
        """Return when the first awaited command must be shown, None if none is awaited."""
        return self._awaited.deadline

    def put(
        self, messages: Sequence[xpc.Request], what: str, now: float, *, awaited: bool
    ) -> int:
        """
        Queue single commands, all or none; return the ticket of the last, which is ``awaited``.

        Raises ValueError if too many wait.
        """
        self._queue.check_room(what, len(messages))
        ticket = 0
        for place, message in enumerate(messages, 1):
            ticket = self._queue.put(
                message, what, now, awaited=awaited and place == len(messages))
        self._put += len(messages)
        return ticket

    def holds(self, message: xpc.Request) -> bool:
        """Return whether this very command waits."""
        return any(waiting.command == message for waiting in self._queue)

    def set_controls(self, values: Mapping[str, float], aircraft: int, now: float) -> bool:
        """Queue values of controls; return whether others of that aircraft were waiting."""
        held = self._controls.setdefault(aircraft, LatestValues(self._lifetime))
        return held.set(values, now)

    def set_levers(self, datarefs: Mapping[str, tuple[float, ...]], now: float) -> bool:
        """Queue values of datarefs, the newest of each; return whether some were waiting."""
        return self._levers.set(datarefs, now)

    def heads(self) -> Iterator[tuple[CommandSource, xpc.Request]]:
        """Yield the next command of each source, that whose turn it is first."""
        for source in tuple(self._turns):
            message = self._head(source)
            if message is not None:
                yield source, message

    def _head(self, source: CommandSource) -> xpc.Request | None:
        if source is CommandSource.CONTROLS and self._controls:
            aircraft = next(iter(self._controls))
            return to_controls(self._controls[aircraft].values, aircraft)
        if source is CommandSource.SINGLE and self._queue:
            return self._queue.first
        if source is CommandSource.LEVERS and self._levers:
            # What is released comes first: while it is forced a handle has no effect.
            return xpc.SetDatarefs(tuple(sorted(
                self._levers.values.items(), key=lambda item: item[1][0] >= -1.0)))
        return None

    def take(self, source: CommandSource) -> CommandDone | None:
        """Remove the head of a source, sent now; return its end if somebody waits for it."""
        self._turns.remove(source)
        self._turns.append(source)
        if source is CommandSource.CONTROLS:
            del self._controls[next(iter(self._controls))]
        elif source is CommandSource.LEVERS:
            self._levers.clear()
        else:
            self._queue.take()
            done = [done for done in self._queue.ended() if not self._note(done)]
            return done[0] if done else None
        return None

    # Commands that were sent.

    def await_report(
        self, done: CommandDone, pauses: Pauses | None, serial: int, now: float, timeout: float
    ) -> None:
        """Report a command as done when X-Plane shows its effect: see PendingPauses."""
        self._awaited[done.ticket] = Pending(
            done.what, pauses, serial, now, until=now + timeout, ticket=done.ticket)

    def awaited(self, serial: int) -> list[PendingPauses]:
        """Return what a report may show that was asked for after so many commands."""
        return [awaited for awaited in self._awaited.values() if serial >= awaited.proof
                ] if self._awaited else []

    def confirm(self, awaited: PendingPauses, *, reported: bool) -> None:
        """Report that X-Plane shows a command's effect, or that it does not report such."""
        del self._awaited[awaited.ticket]
        self._ended.append(awaited.done('X-Plane reports it' if reported else _CANNOT_CONFIRM))

    def confirm_later(self, done: CommandDone, serial: int) -> None:
        """Report an awaited command when the plugin has read number ``serial``."""
        self._unread[done.ticket] = Pending(done.what, None, serial, ticket=done.ticket)

    def has_read(self, serial: int) -> None:
        """Record that the plugin has read the commands up to this one."""
        for unread in [*self._unread.values()] if self._unread else ():
            if unread.proof <= serial:
                del self._unread[unread.ticket]
                self._ended.append(unread.done(_CANNOT_CONFIRM))

    def expire(self, now: float, timeout: float) -> None:
        """End commands that have waited too long, and those not shown within ``timeout``."""
        if self._awaited:
            self._ended += [
                awaited.done(error=f'sent; not shown within {timeout:g} s{_MAY_HAPPEN}')
                for awaited in self._awaited.expire(now)]
        if self._queue.waiting:
            self._queue.expire(now)
            self._collect()
        if self._controls:
            for aircraft, values in list(self._controls.items()):
                old = values.expire(now)
                if old:
                    self._end_controls(aircraft, old, expired(self._lifetime, _WHY))
                if not values:
                    del self._controls[aircraft]
        if self._levers.waiting and self._levers.expire(now):
            self._ended.append(CommandDone(
                self._tickets.draw(), 'brakes, trims or levers of engines',
                f'not sent: {expired(self._lifetime, _WHY)}'))

    def drop_controls(self, aircraft: int, commands: Collection[xpc.Request] = ()) -> None:
        """Forget an aircraft's waiting controls, and these waiting commands."""
        self._controls.pop(aircraft, None)
        if not aircraft:
            self._levers.clear()
            self._queue.remove(commands)

    def drop(self, reason: str) -> None:
        """End everything that waits, unsent; controls silently."""
        self._queue.drop(reason)
        self._collect()
        self._controls.clear()
        self._levers.clear()

    def lose(self, reason: str) -> None:
        """End commands that were sent and may not have been read, or are not shown."""
        self._ended += [
            awaited.done(error=f'sent; not shown: {reason}{_MAY_HAPPEN}')
            for awaited in self._awaited.empty()]
        self._ended += [
            unread.done(error=f'sent, but not known to be read: {reason}')
            for unread in self._unread.empty()]

    def ended(self) -> list[CommandDone]:
        """Return what has ended since the last call."""
        ended, self._ended = self._ended, []
        return ended

    def _collect(self) -> None:
        """Report what has ended in the queue unsent."""
        for done in self._queue.ended():
            self._note(done)

    def _note(self, done: CommandDone) -> bool:
        """Report a command that was not sent; return whether it is one."""
        if done.error:
            self._ended.append(done)
        return bool(done.error)

    def _end_controls(self, aircraft: int, values: dict[str, float], reason: str) -> None:
        prefix = f'aircraft_{aircraft}/' if aircraft else ''
        self._ended.append(CommandDone(
            self._tickets.draw(), f'{prefix}command/controls',
            f'{", ".join(values)} not sent: {reason}'))
