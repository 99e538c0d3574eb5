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

"""Commands waiting to be sent to a plugin: pacing, expiry, and the axes they take."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from xplane_bridge.bridges.sessions.base import CommandDone, soonest, Tickets
from xplane_bridge.bridges.sessions.budget import Budget
from xplane_bridge.bridges.sessions.lifetimes import (
    CommandQueue,
    DEFAULT_LIFETIME,
    expired,
    LatestValues,
)
from xplane_bridge.bridges.simpit import protocol as simpit
from xplane_bridge.bridges.simpit.protocol import AXES, axis_message, axis_values, Profile
from xplane_bridge.bridges.simpit.session.commands import Part
from xplane_bridge.bridges.simpit.session.events import Statistics
from xplane_bridge.bridges.simpit.session.evidence import Evidence, Shows

# Of two action group packets within one game frame only the last counts (docs/wire/simpit.md,
# section 2.7); this is a frame at 20 frames per second.
ACTION_GAP = 0.05
# A game at 50 frames per second reads an axis no more often.
AXIS_GAP = 0.02

_LARGEST_OUTBOX = 128
# A thread that comes late does not take a command's lifetime, up to this much.
_LONGEST_HOLD = 2.0 * ACTION_GAP
# Bytes that may be sent at once: what a plugin's reader takes in one go.
_BURST = 256
# With a smaller budget a whole packet could never pass at once; the driver's buffer must cope.
_LOWEST_RATE = 120.0
_WHY = (
    f'at most {1 / ACTION_GAP:g} action groups are sent per second, '
    'and no more bytes than the line carries')


class Outbox:
    """
    Queued commands: no faster than the line, action groups spaced apart, newest axes only.

    ``line_rate`` is in bytes per second. Each waits at most ``lifetime`` seconds; the pauses
    between action groups do not count. Axes wait beside the queue, only the newest value of each.
    A command may count as done only when telemetry shows it (Evidence).
    """

    def __init__(
        self, line_rate: float, statistics: Statistics, tickets: Tickets,
        lifetime: float = DEFAULT_LIFETIME,
    ) -> None:
        self._lifetime = lifetime
        self._budget = Budget(max(line_rate, _LOWEST_RATE), _BURST)
        self._statistics = statistics
        self._tickets = tickets
        self._queue: CommandQueue[Part] = CommandQueue(
            tickets, lifetime=lifetime, limit=_LARGEST_OUTBOX, why=_WHY)
        self._axes = {channel: LatestValues[float](lifetime) for channel in AXES.values()}
        self._axis_at: dict[str, float] = {}
        self._action_at = 0.0
        self._later: float | None = None
        # Since when the first command waits only because it is an action group.
        self._held_at: float | None = None
        self._ended: list[CommandDone] = []
        self._evidence = Evidence()
        # Commands of axes alone that somebody waits for, by channel.
        self._awaited: dict[str, list[tuple[int, str]]] = {}

    def put(
        self, parts: Sequence[Part], now: float, *, what: str, awaited: bool = False
    ) -> int:
        """
        Queue the packets of one command; return the ticket of the last.

        Packets leave in order, so the last one's end is the command's; without any but axes, it
        ends when the last of these leave, or newer values of them. Raises ValueError if too many
        are queued already.
        """
        queued = [part for part in parts if not isinstance(part.message, simpit.Axes)]
        self._queue.check_room(what, len(queued))
        ticket = 0
        for part in queued:
            ticket = self._queue.put(part, what, now, awaited=awaited and part is queued[-1])
        for message, _ in parts:
            if isinstance(message, simpit.Axes) and self._axes[message.channel].set(
                    axis_values(message), now):
                self._statistics.held_back += 1
        axes = [message.channel for message, _ in parts if isinstance(message, simpit.Axes)]
        if awaited and not queued:
            ticket = self._tickets.draw()
            if axes:
                self._awaited.setdefault(axes[-1], []).append((ticket, what))
            else:
                self._ended.append(CommandDone(
                    ticket, what, f'{what} not sent: a cockpit has the axis'))
        return ticket

    def take(self, profile: Profile, now: float) -> list[Part]:
        """Take out what leaves now."""
        self._expire(now)
        outgoing: list[Part] = []
        later: list[float | None] = []
        while self._queue:
            message, data = self._queue.first
            paced = isinstance(message, simpit.ActionGroups)
            if paced and now < self._action_at:
                self._held_at = now
                later.append(self._action_at)
                break
            if not self._budget.take(len(data), now):
                later.append(self._budget.when(len(data), now))
                break
            if paced:
                self._action_at = now + ACTION_GAP
            self._queue.take()
            outgoing.append(Part(message, data))
        for channel, waiting in self._axes.items():
            if waiting:
                later.append(self._send_axes(channel, waiting, profile, now, outgoing))
        self._statistics.commands += len(outgoing)
        later += [waiting.deadline for waiting in self._axes.values() if waiting]
        self._later = soonest(self._queue.deadline, *later)
        return outgoing

    @property
    def deadline(self) -> float | None:
        """Return when take() may have something."""
        return soonest(self._later, self._evidence.deadline)

    def drop(self, reason: str) -> None:
        """End all queued commands unsent: they were meant for then."""
        self._queue.drop(reason)
        for channel, waiting in self._axes.items():
            self._report(channel, waiting.take(), reason)
            self._settle(channel, f'not sent: {reason}')

    def withdraw(self, names: Collection[str] | None) -> None:
        """Forget the queued values of these axes, by default of all: they are given back."""
        for channel, waiting in self._axes.items():
            waited = bool(waiting)
            waiting.clear(names)
            if waited and not waiting:
                self._settle(channel, 'not sent: given back instead')

    # What shows a command.

    def expect(self, ticket: int, what: str, shows: Shows, *, requested: bool) -> None:
        """Expect that a command shows; ``requested`` says that what is sent on change is."""
        self._evidence.expect(ticket, what, shows, requested=requested)

    def on_message(self, message: Any, lasting: bool) -> list[CommandDone]:
        """Return the commands that a message shows; ``lasting``: its channel is sent on change."""
        return self._evidence.on_message(message, lasting)

    def ended(self, now: float) -> list[CommandDone]:
        """Return what has ended since the last call."""
        ended, self._ended = self._ended, []
        return [
            *self._evidence.sent([*self._queue.ended(), *ended], now),
            *self._evidence.expire(now)]

    def abandon(self, reason: str) -> list[CommandDone]:
        """End the commands that were sent and are not shown yet, with the reason."""
        return self._evidence.abandon(reason)

    def lapse(self) -> None:
        """Forget what was reported: the flight, the vessel or the plugin may be another one."""
        self._evidence.forget()

    def _expire(self, now: float) -> None:
        if self._held_at is not None:
            self._queue.put_off(min(now - self._held_at, _LONGEST_HOLD))
            self._held_at = None
        self._queue.expire(now)
        for channel, waiting in self._axes.items():
            if waiting and (values := waiting.expire(now)):
                why = expired(self._lifetime, _WHY)
                self._report(channel, values, why)
                if not waiting:
                    self._settle(channel, f'not sent: {why}')

    def _report(self, channel: str, values: Collection[str], reason: str) -> None:
        if values:
            self._ended.append(CommandDone(
                self._tickets.draw(), channel, f'{", ".join(values)} not sent: {reason}'))

    def _settle(self, channel: str, error: str = '') -> None:
        """End the commands of the axes of one channel that somebody waits for."""
        for ticket, what in self._awaited.pop(channel, ()):
            self._ended.append(CommandDone(ticket, what, f'{what} {error}' if error else ''))

    def _send_axes(
        self, channel: str, waiting: LatestValues[float], profile: Profile, now: float,
        outgoing: list[Part],
    ) -> float | None:
        """Send the axes of one channel if they may leave; otherwise return when they may."""
        at = self._axis_at.get(channel, 0.0)
        if now < at:
            return at
        size = sum(profile.named('bridge', channel).sizes) + simpit.FRAME_OVERHEAD
        if not self._budget.take(size, now):
            return self._budget.when(size, now)
        values = waiting.take()
        self._axis_at[channel] = now + AXIS_GAP
        message = axis_message(channel, values)
        outgoing.append(Part(message, simpit.encode(message, 'bridge', profile)))
        self._settle(channel)
        return None
