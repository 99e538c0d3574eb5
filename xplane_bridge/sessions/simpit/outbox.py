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

from xplane_bridge.protocols import simpit
from xplane_bridge.protocols.simpit import AXES, axis_message, axis_values, Profile, THROTTLE
from xplane_bridge.sessions.base import CommandDone, Tickets
from xplane_bridge.sessions.budget import Budget
from xplane_bridge.sessions.ledger import Ledger
from xplane_bridge.sessions.lifetimes import CommandQueue, DEFAULT_LIFETIME, expired, LatestValues
from xplane_bridge.sessions.simpit.commands import Part
from xplane_bridge.sessions.simpit.events import Statistics

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
# The plugin holds axes for whatever vessel is active.
_VESSEL = 0


class Outbox:
    """
    Queued commands: no faster than the line, action groups spaced apart, newest axes only.

    ``line_rate`` is in bytes per second. Each waits at most ``lifetime`` seconds; the pauses
    between action groups do not count. Axes wait beside the queue, only the newest value of each.
    Those that were sent and that the plugin forces on the game are ``taken``.
    """

    def __init__(
        self, line_rate: float, statistics: Statistics, tickets: Tickets,
        lifetime: float = DEFAULT_LIFETIME,
    ) -> None:
        self.taken: Ledger[int] = Ledger()
        self._lifetime = lifetime
        self._budget = Budget(max(line_rate, _LOWEST_RATE), _BURST)
        self._statistics = statistics
        self._tickets = tickets
        self._queue: CommandQueue[Part] = CommandQueue(
            tickets, lifetime=lifetime, limit=_LARGEST_OUTBOX, why=_WHY)
        self._axes = {channel: LatestValues[float](lifetime) for channel in AXES.values()}
        self._axis_at: dict[str, float] = {}
        self._action_at = 0.0
        # Since when the first command waits only because it is an action group.
        self._held_at: float | None = None
        self._ended: list[CommandDone] = []
        # The plugin's profile when axes were last taken: after a silence it is unknown for a
        # while, and numbers mean something else to other plugins of the same framing.
        self._taken_by: Profile | None = None

    def add(
        self, parts: Sequence[Part], now: float, *, what: str, awaited: bool = False
    ) -> int:
        """
        Queue the packets of one command; return the ticket of the last.

        Packets leave in order, so the last one's end is the command's. Raises ValueError if too
        many are queued already.
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
        return ticket

    def due(self, profile: Profile, now: float) -> tuple[list[bytes], float | None]:
        """Return what may leave now, and when to ask again."""
        self._expire(now)
        outgoing: list[bytes] = []
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
            outgoing.append(data)
        for channel, waiting in self._axes.items():
            if waiting:
                later.append(self._send_axes(channel, waiting, profile, now, outgoing))
        self._statistics.commands += len(outgoing)
        later += [self._queue.deadline, *(waiting.deadline for waiting in self._axes.values())]
        return outgoing, min((at for at in later if at is not None), default=None)

    def give_back(
        self, profile: Profile, now: float, axes: Collection[str] | None = None, *,
        throttle: bool = False,
    ) -> list[bytes]:
        """
        Return what gives back axes that were taken, by default all, and drop their queued values.

        The throttle stays as it is unless ``throttle`` says otherwise and the plugin can give it
        back. A plugin of another framing than the one that axes were taken from holds none of
        them.
        """
        taken_by = self._taken_by or profile
        given: dict[str, dict[str, float]] = {}
        for entry in self.taken.entries(_VESSEL):
            if axes is not None and entry.value not in axes:
                continue
            if entry.value == THROTTLE and not (throttle and profile.throttle_lets_go):
                continue
            self.taken.forget(_VESSEL, entry.value)
            given.setdefault(AXES[entry.value], {})[entry.value] = 0
        for waiting in self._axes.values():
            values = waiting.take()
            waiting.set({
                name: value for name, value in values.items()
                if axes is not None and name not in axes}, now)
        if taken_by.framing != profile.framing:
            return []
        return [
            simpit.encode(axis_message(channel, values), 'bridge', taken_by)
            for channel, values in given.items()]

    def drop(self, reason: str) -> None:
        """End all queued commands unsent: they were meant for then."""
        self._queue.drop(reason)
        for channel, waiting in self._axes.items():
            self._report(channel, waiting.take(), reason)

    def ended(self) -> list[CommandDone]:
        """Return what has ended since the last call."""
        ended, self._ended = self._ended, []
        return [*self._queue.ended(), *ended]

    def _expire(self, now: float) -> None:
        if self._held_at is not None:
            self._queue.put_off(min(now - self._held_at, _LONGEST_HOLD))
            self._held_at = None
        self._queue.expire(now)
        for channel, waiting in self._axes.items():
            self._report(channel, waiting.expire(now), expired(self._lifetime, _WHY))

    def _report(self, channel: str, values: Collection[str], reason: str) -> None:
        if values:
            self._ended.append(CommandDone(
                self._tickets.draw(), channel, f'{", ".join(values)} not sent: {reason}'))

    def _send_axes(
        self, channel: str, waiting: LatestValues[float], profile: Profile, now: float,
        outgoing: list[bytes],
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
        outgoing.append(simpit.encode(axis_message(channel, values), 'bridge', profile))
        for axis, value in values.items():
            # A value of 0 hands an axis back to the game, the throttle from 2.3 on only.
            if value or (axis == THROTTLE and not profile.throttle_lets_go):
                self.taken.take(_VESSEL, axis)
                self._taken_by = profile
            else:
                self.taken.forget(_VESSEL, axis)
        return None
