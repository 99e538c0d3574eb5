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

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from typing import Any, TypeAlias

from xplane_bridge.protocols import xpc
from xplane_bridge.sessions.base import CommandDone, Tickets
from xplane_bridge.sessions.lifetimes import CommandQueue, DEFAULT_LIFETIME, expired, LatestValues

CANNOT_CONFIRM = 'sent; this protocol cannot confirm it'
"""What is said of a command whose effect the plugin does not report."""

_WHY = 'the budget of datagrams is used up, or X-Plane stopped answering'

Sent: TypeAlias = tuple[xpc.Request, CommandDone | None]
"""A command that is sent now, and what is reported in the end if somebody waits for it."""


def to_controls(values: Mapping[str, float], aircraft: int) -> xpc.Controls:
    """Return the message that sets controls by their names."""
    given: dict[str, Any] = dict(values)
    if 'gear' in given:
        given['gear'] = round(given['gear'])
    return xpc.Controls(**given, aircraft=aircraft)


class Outbox:
    """
    Single commands, each of which counts, and the newest value of each control of each aircraft.

    Sources take turns, so that none starves. An awaited command that X-Plane does not show is
    reported as sent when a later request has been answered: the plugin reads in order of arrival.
    ``serial`` counts commands that were sent.
    """

    def __init__(self, tickets: Tickets, lifetime: float = DEFAULT_LIFETIME) -> None:
        self._tickets = tickets
        self._lifetime = lifetime
        self._queue: CommandQueue[xpc.Request] = CommandQueue(
            tickets, lifetime=lifetime, why=_WHY)
        self._controls: dict[int, LatestValues[float]] = {}
        self._levers = LatestValues[tuple[float, ...]](lifetime)
        # The sources, the next one first.
        self._turns = [self._take_controls, self._take_single, self._take_levers]
        self._put = 0
        self._unconfirmed: list[tuple[int, CommandDone]] = []
        self._ended: list[CommandDone] = []

    def __bool__(self) -> bool:
        return bool(self._queue or self._controls or self._levers)

    @property
    def awaits(self) -> bool:
        """Return whether somebody waits for a command to be read."""
        return bool(self._unconfirmed)

    @property
    def put_count(self) -> int:
        """Return how many single commands were queued so far."""
        return self._put

    @property
    def left_count(self) -> int:
        """Return how many of these no longer wait."""
        return self._put - len(self._queue)

    @property
    def deadline(self) -> float | None:
        """Return when expire() has something to do."""
        deadlines = [self._queue.deadline, self._levers.deadline, *(
            values.deadline for values in self._controls.values())]
        return min((at for at in deadlines if at is not None), default=None)

    def put(self, message: xpc.Request, what: str, now: float, awaited: bool) -> int:
        """Queue a single command; return its ticket. ValueError if too many wait."""
        ticket = self._queue.put(message, what, now, awaited=awaited)
        self._put += 1
        return ticket

    def check_room(self, what: str, count: int) -> None:
        """Raise ValueError if too many single commands wait to queue this many more."""
        self._queue.check_room(what, count)

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

    def take(self, may: Callable[[xpc.Request], bool]) -> Sent | None:
        """
        Return what to send now, from each source in turns; None if nothing may be sent.

        What ``may`` not be sent yet waits, with what is behind it; the other sources go on.
        """
        for source in self._turns:
            taken = source(may)
            if taken is not None:
                self._turns.remove(source)
                self._turns.append(source)
                return taken
        return None

    def _take_controls(self, _: Callable[[xpc.Request], bool]) -> Sent | None:
        if not self._controls:
            return None
        aircraft = next(iter(self._controls))
        return to_controls(self._controls.pop(aircraft).take(), aircraft), None

    def _take_levers(self, may: Callable[[xpc.Request], bool]) -> Sent | None:
        if not self._levers:
            return None
        # What is released comes first: while it is forced a handle has no effect.
        levers = xpc.SetDatarefs(tuple(sorted(
            self._levers.values.items(), key=lambda item: item[1][0] >= -1.0)))
        if not may(levers):
            return None
        self._levers.clear()
        return levers, None

    def _take_single(self, may: Callable[[xpc.Request], bool]) -> Sent | None:
        if not self._queue or not may(self._queue.first):
            return None
        message = self._queue.take()
        done = [done for done in self._queue.ended() if not self._note(done)]
        return message, done[0] if done else None

    def confirm_later(self, done: CommandDone, serial: int) -> None:
        """Report an awaited command when the plugin has read number ``serial``."""
        self._unconfirmed.append((serial, done))

    def has_read(self, serial: int) -> None:
        """Record that the plugin has read the commands up to this one."""
        self._ended += [
            replace(done, message=CANNOT_CONFIRM)
            for at, done in self._unconfirmed if at <= serial]
        self._unconfirmed = [(at, done) for at, done in self._unconfirmed if at > serial]

    def expire(self, now: float) -> None:
        """End commands that have waited too long."""
        self._queue.expire(now)
        self._collect()
        for aircraft, values in list(self._controls.items()):
            old = values.expire(now)
            if old:
                self._end_controls(aircraft, old, expired(self._lifetime, _WHY))
            if not values:
                del self._controls[aircraft]
        if self._levers.expire(now):
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
        """End commands that were sent and may not have been read."""
        self._ended += [
            CommandDone(done.ticket, done.what, f'sent, but not known to be read: {reason}')
            for _, done in self._unconfirmed]
        self._unconfirmed.clear()

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
