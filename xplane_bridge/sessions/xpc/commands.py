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

"""Sending of commands to the plugin, and giving back what they take."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from xplane_bridge.protocols import xpc
from xplane_bridge.sessions.base import CommandDone, Outgoing, RELEASE_TIMEOUT, Tickets
from xplane_bridge.sessions.round_trip import RoundTrip
from xplane_bridge.sessions.xpc.events import PluginVersion, Statistics
from xplane_bridge.sessions.xpc.flow import Flow
from xplane_bridge.sessions.xpc.items import (
    CONTROLS,
    HELD,
    JOYSTICK_OVERRIDE,
    Key,
    REPORTED,
    THROTTLE,
)
from xplane_bridge.sessions.xpc.outbox import CANNOT_CONFIRM, Outbox
from xplane_bridge.sessions.xpc.peer import Peer
from xplane_bridge.sessions.xpc.plugin_version import adapt
from xplane_bridge.sessions.xpc.reads import batches
from xplane_bridge.sessions.xpc.taken import Taken
from xplane_bridge.sessions.xpc.turns import Turns

COMMAND_CHANNEL = 'command'

# Channels to read overrides just before they are written, and what was written afterwards.
_BEFORE_CHANNEL = 'before '
_CHECK_CHANNEL = 'check '
_LARGEST_ASKED = 8
# X-Plane's own, whose sizes are fixed: scalars, or arrays of aircraft or engines.
_ARRAYS = {HELD, THROTTLE}
_ARRAY, _SCALAR = 64, 8
# How long a reply to these may take near the plugin.
_SHORTEST_TIMEOUT = 0.1


@dataclass(frozen=True, slots=True)
class _Awaited:
    """A command whose effect somebody waits for: these pauses, None for all that is owed."""

    done: CommandDone
    pauses: dict[Key, float] | None
    serial: int
    ends_at: float


@dataclass(frozen=True, slots=True)
class _Asked:
    """Datarefs asked for on one channel, after so many commands."""

    names: tuple[str, ...]
    serial: int
    ends_at: float


class Commands:
    """
    Send commands as fast as the plugin can accept them, and give back what they have taken.

    Commands wait in the Outbox for the budget (Flow) and for a peer that answers (Peer). What
    X-Plane shall have in the end (Taken) is sent again until its reports show it: this never waits
    for the budget, but happens only when the same X-Plane answers. In ``lockstep`` controls are
    followed by a poll, and only what is given back is repeated.
    """

    def __init__(
        self, flow: Flow, peer: Peer, turns: Turns, statistics: Statistics,
        tickets: Tickets, round_trip: RoundTrip, *, lifetime: float, lockstep: bool,
        polled: Collection[str] = REPORTED,
    ) -> None:
        self._flow = flow
        self._peer = peer
        self._turns = turns
        self._statistics = statistics
        self._tickets = tickets
        self._round_trip = round_trip
        self._lockstep = lockstep
        # What need not be asked for because of a wish.
        self._polled = polled
        self._outbox = Outbox(tickets, lifetime)
        self._taken = Taken(repeats=not lockstep)
        self.release_timeout = RELEASE_TIMEOUT
        self._awaited: list[_Awaited] = []
        self._ended: list[CommandDone] = []
        # What was asked because of commands, by channel.
        self._asked: dict[str, _Asked] = {}
        self._serial = 0
        self._closing: list[str] = []

    # For the owner.

    @property
    def taken(self) -> tuple[str, ...]:
        """Return what is taken, for people."""
        return self._taken.names

    @property
    def owed(self) -> tuple[str, ...]:
        """Return what was given back and is not yet shown, for people."""
        return self._taken.owed

    @property
    def foreign(self) -> tuple[str, ...]:
        """Return what is held by somebody else, or nobody, for people."""
        return self._taken.foreign_names

    def contradictions(self, now: float) -> tuple[str, ...]:
        """Return where what is commanded, held and reported disagree."""
        return self._taken.contradictions(now, self.release_timeout)

    @property
    def put_count(self) -> int:
        """Return how many single commands were queued so far."""
        return self._outbox.put_count

    @property
    def left_count(self) -> int:
        """Return how many of these no longer wait."""
        return self._outbox.left_count

    def put(
        self, messages: Sequence[xpc.Request], what: str, now: float, *, awaited: bool,
        plugin_version: PluginVersion | None,
    ) -> int:
        """Queue commands, all or none; return the ticket of the last. May raise ValueError."""
        adapted = [adapt(message, plugin_version) for message in messages]
        for message in adapted:
            xpc.encode(message)
        self._outbox.check_room(what, len(adapted))
        ticket = 0
        for place, message in enumerate(adapted, 1):
            ticket = self._outbox.put(message, what, now, awaited and place == len(adapted))
        return ticket

    def set_controls(self, values: Mapping[str, float], vehicle: int, now: float) -> None:
        """Queue the newest values of an aircraft's controls."""
        if self._outbox.set_controls(values, vehicle, now):
            self._statistics.held_back += 1

    def set_levers(self, datarefs: Mapping[str, tuple[float, ...]], now: float) -> None:
        """Queue the newest values of brakes, trims and levers of engines, by dataref."""
        if self._outbox.set_levers(self._taken.released_for(datarefs), now):
            self._statistics.held_back += 1

    def wants_joystick(self) -> bool:
        """Return whether to send the joystick's override."""
        return self._taken.wants_joystick() and not self._outbox.holds(JOYSTICK_OVERRIDE)

    def give_back(
        self, vehicle: int | None, now: float, values: Collection[str] | None = None
    ) -> None:
        """
        Give back what was taken: everything, or what controls of one aircraft have taken.

        ``values`` are some of the latter. Waiting controls are dropped. It is sent when the same
        peer answers, until that shows it.
        """
        if vehicle is None:
            self._taken.give_back(now)
            return
        self._outbox.drop_controls(vehicle, () if values else (JOYSTICK_OVERRIDE,))
        self._taken.give_back(now, vehicle, values or CONTROLS)

    def free(self, now: float) -> int:
        """Give back everything, also what nobody known holds; return the ticket of its end."""
        self._taken.free(now)
        done = CommandDone(self._tickets.draw(), 'release_all')
        self._awaited.append(_Awaited(
            done, None, self._flow.sent_commands + 1, now + self.release_timeout))
        return done.ticket

    def drop(self, reason: str, *, sent: bool = True) -> None:
        """End everything that waits, and what was sent and may not have been read."""
        self._outbox.drop(reason)
        if sent:
            self._outbox.lose(reason)
            self._taken.lose()
            self._ended += [
                replace(awaited.done, error=f'sent; not shown: {reason}')
                for awaited in self._awaited]
            self._awaited.clear()

    def begin(self) -> None:
        """Start over, with nothing taken."""
        self._taken.clear()

    def forget(self) -> None:
        """Forget what was taken: this is another X-Plane."""
        self._taken.clear()

    # From the plugin.

    def has_read(self) -> None:
        """Record a reply: commands that were sent before its request have been read."""
        self._outbox.has_read(self._flow.read_commands)

    def report(
        self, values: Mapping[str, tuple[float, ...]], now: float, serial: int
    ) -> None:
        """Compare what was taken with what X-Plane reports, asked after so many commands."""
        self._taken.report(values, now, serial)
        if self._awaited:
            self._awaited = [
                awaited for awaited in self._awaited if not self._has_ended(awaited, serial)]

    def _has_ended(self, awaited: _Awaited, serial: int) -> bool:
        """Return whether X-Plane shows what somebody waits for, and tell them."""
        if serial < awaited.serial:
            return False
        shown = not self._taken.owed if awaited.pauses is None else self._taken.shows(
            awaited.pauses)
        if shown is False:
            return False
        self._ended.append(replace(
            awaited.done, message='X-Plane reports it' if shown else CANNOT_CONFIRM))
        return True

    def asked_on(self, channel: str) -> bool:
        """Return whether a reply on this channel is about what is or was written."""
        return channel in self._asked

    def receive(self, channel: str, reply: xpc.Reply, now: float) -> None:
        """Handle a reply about what is written next, or was written."""
        asked = self._asked.pop(channel)
        self._closing.append(channel)
        if not isinstance(reply, xpc.Datarefs) or len(reply.rows) != len(asked.names):
            self._statistics.unexpected += 1
            return
        self._statistics.replies += 1
        values = dict(zip(asked.names, reply.rows, strict=True))
        if channel.startswith(_BEFORE_CHANNEL):
            self._taken.read_before(values)
        else:
            self.report(values, now, asked.serial)

    # Sending.

    def send_again(
        self, now: float, outgoing: list[Outgoing], *, answers: bool, all_asked: bool = False
    ) -> float | None:
        """
        Send what X-Plane shall have and does not show, if the same one answers.

        Return when to continue. ``all_asked``: nothing is polled that would show it.
        """
        self._expire(now)
        if not answers:
            return self._next_end
        keys = self._taken.due(now, urgent=True)
        at: float | None = now
        if self._taken.due(now, urgent=False):
            at = self._flow.when_command(now, leave=1)
            if at is not None and at <= now:
                keys += self._taken.due(now, urgent=False)
        if keys:
            messages = self._taken.messages(keys)
            self._flow.charge(len(messages), now)
            self._taken.sent(
                keys, now, self._flow.sent_commands, self._patience)
            outgoing += [(COMMAND_CHANNEL, xpc.encode(message)) for message in messages]
            names = tuple(
                name for name in self._taken.datarefs_of(keys)
                if all_asked or name not in self._polled)
            if names or all_asked:
                self._ask(_CHECK_CHANNEL, names or REPORTED[:1], now, outgoing)
            else:
                self._turns.poll_now(now, first=True)
        # What waits for the budget, or for a reply.
        waits = None if self._taken.next_at is None or at is None else max(
            self._taken.next_at, at)
        deadlines = (waits, self._next_end)
        return min((at for at in deadlines if at is not None), default=None)

    @property
    def _patience(self) -> float:
        return max(_SHORTEST_TIMEOUT, self._round_trip.usual_timeout)

    @property
    def _next_end(self) -> float | None:
        deadlines = [awaited.ends_at for awaited in self._awaited]
        deadlines += [asked.ends_at for asked in self._asked.values()]
        return min(deadlines, default=None)

    def _expire(self, now: float) -> None:
        """End what was not shown in time, and what is not answered any more."""
        self._taken.expire(now, self.release_timeout)
        late = [awaited for awaited in self._awaited if now >= awaited.ends_at]
        self._ended += [
            replace(awaited.done, error=f'sent; not shown within {self.release_timeout:g} s')
            for awaited in late]
        self._awaited = [awaited for awaited in self._awaited if awaited not in late]
        for channel, asked in list(self._asked.items()):
            if now >= asked.ends_at:
                self._close(channel)

    def send(self, now: float, outgoing: list[Outgoing]) -> float | None:
        """Send waiting commands, of each kind in turns; return when to continue."""
        self._outbox.expire(now)
        while self._outbox:
            # A waiting read gets its share too.
            leave = 1 if self._turns.reads.is_due(now, self.left_count, held=False) else 0
            if self._peer.is_doubted:
                return self._outbox.deadline
            at = self._flow.when_command(now, leave=leave)
            if at is None or at > now:
                return min((at for at in (at, self._outbox.deadline) if at is not None),
                           default=None)
            taken = self._outbox.take(lambda message: self._may(message, now, outgoing))
            if taken is None:
                deadlines = (self._next_end, self._outbox.deadline)
                return min((at for at in deadlines if at is not None), default=None)
            if not self._flow.take_command(now, leave=leave):
                # What is overridden was just asked for.
                self._flow.charge(1, now)
            self._send(*taken, now, outgoing)
        return None

    def _send(
        self, message: xpc.Request, done: CommandDone | None, now: float,
        outgoing: list[Outgoing],
    ) -> None:
        message = self._taken.resolve(message)
        serial = self._flow.sent_commands
        pauses = self._taken.note(message, now, serial, self._patience)
        outgoing.append((COMMAND_CHANNEL, xpc.encode(message)))
        if done is not None and pauses:
            self._awaited.append(_Awaited(done, pauses, serial, now + self.release_timeout))
        elif done is not None:
            self._outbox.confirm_later(done, serial)
        if self._lockstep and isinstance(message, xpc.Controls):
            self._turns.poll_now(now)
        if self._outbox.awaits or self._awaited:
            self._turns.poll_now(now, first=True)

    def _may(self, message: xpc.Request, now: float, outgoing: list[Outgoing]) -> bool:
        """Return whether a command may be sent: not before it is known what it overrides."""
        names = self._taken.unread(message)
        if not names:
            return True
        if not any(channel.startswith(_BEFORE_CHANNEL) and set(asked.names) & set(names)
                   for channel, asked in self._asked.items()):
            self._ask(_BEFORE_CHANNEL, names, now, outgoing)
        return False

    def _ask(
        self, prefix: str, names: tuple[str, ...], now: float, outgoing: list[Outgoing]
    ) -> None:
        """Read datarefs: the plugin handles datagrams in order of arrival."""
        sizes = {
            name: _ARRAY if name in _ARRAYS else _SCALAR
            for name in names} if prefix == _CHECK_CHANNEL else {}
        for batch in batches(names, sizes):
            self._serial += 1
            channel = f'{prefix}{self._serial}'
            self._flow.charge(1, now)
            self._asked[channel] = _Asked(
                batch, self._flow.sent_commands, now + max(
                    2.0 * self._patience, _SHORTEST_TIMEOUT))
            self._statistics.requests += 1
            outgoing.append((channel, xpc.encode(xpc.GetDatarefs(batch))))
            self._flow.ask(channel)
            self._peer.ask(now)
        while len(self._asked) > _LARGEST_ASKED:
            # Its reply was lost.
            self._close(next(iter(self._asked)))

    def _close(self, channel: str) -> None:
        del self._asked[channel]
        self._closing.append(channel)

    def suspend(self) -> None:
        """Forget what is outstanding."""
        for channel in list(self._asked):
            self._close(channel)

    def closed(self) -> list[str]:
        """Return the channels to close, since the last call."""
        closing, self._closing = self._closing, []
        return closing

    def ended(self) -> list[CommandDone]:
        """Return what has ended since the last call."""
        ended, self._ended = self._ended, []
        return ended + self._outbox.ended()
