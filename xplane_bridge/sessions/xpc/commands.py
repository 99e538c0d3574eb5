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

from xplane_bridge.protocols import xpc
from xplane_bridge.sessions.base import CommandDone, Outgoing, Tickets
from xplane_bridge.sessions.xpc.contact import Contact
from xplane_bridge.sessions.xpc.events import PluginVersion, Statistics
from xplane_bridge.sessions.xpc.flow import Flow
from xplane_bridge.sessions.xpc.outbox import Outbox
from xplane_bridge.sessions.xpc.plugin_version import adapt
from xplane_bridge.sessions.xpc.reads import batches
from xplane_bridge.sessions.xpc.taken import JOYSTICK_OVERRIDE, Taken
from xplane_bridge.sessions.xpc.turns import Turns

COMMAND_CHANNEL = 'command'

# Channel to read overrides just before they are written.
_BEFORE_CHANNEL = 'before '
_LARGEST_BEFORE = 8


class Commands:
    """
    Send commands as fast as the plugin can accept them, and give back what they have taken.

    Commands wait in the Outbox for the budget (Flow) and for a peer that answers (Contact).
    Giving back never waits for the budget, but happens only when the same X-Plane answers. In
    ``lockstep`` controls are followed by a poll.
    """

    def __init__(
        self, flow: Flow, contact: Contact, turns: Turns, statistics: Statistics,
        tickets: Tickets, *, lifetime: float, lockstep: bool,
    ) -> None:
        self._flow = flow
        self._contact = contact
        self._turns = turns
        self._statistics = statistics
        self._lockstep = lockstep
        self._outbox = Outbox(tickets, lifetime)
        self._taken = Taken()
        self._urgent: list[bytes] = []
        # Releases that wait for the peer to answer: of which aircraft, which values.
        self._owed: list[tuple[int | None, Collection[str] | None]] = []
        # Datarefs read just before they are written, by channel.
        self._asked_before: dict[str, tuple[str, ...]] = {}
        self._before_serial = 0
        self._closing: list[str] = []

    # For the owner.

    @property
    def taken(self) -> tuple[str, ...]:
        """Return what is taken, for people."""
        return self._taken.names

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
        datagrams = [xpc.encode(message) for message in adapted]
        self._outbox.check_room(what, len(adapted))
        ticket = 0
        for place, waiting in enumerate(zip(adapted, datagrams, strict=True), 1):
            ticket = self._outbox.put(
                *waiting, what, now, awaited and place == len(adapted))
        return ticket

    def set_controls(self, values: Mapping[str, float], vehicle: int, now: float) -> None:
        """Queue the newest values of an aircraft's controls."""
        if self._outbox.set_controls(values, vehicle, now):
            self._statistics.held_back += 1

    def set_levers(self, datarefs: Mapping[str, tuple[float, ...]], now: float) -> None:
        """Queue the newest values of brakes, trims and levers of engines, by dataref."""
        if self._outbox.set_levers(self._taken.released_for(datarefs), now):
            self._statistics.held_back += 1

    def wants_joystick(self, now: float) -> bool:
        """Return whether to send the joystick's override."""
        return self._taken.wants_joystick(now) and not self._outbox.holds(JOYSTICK_OVERRIDE)

    def give_back(
        self, vehicle: int | None, values: Collection[str] | None, *, answers: bool
    ) -> None:
        """
        Give back what was taken, of one aircraft or of all, and these values or all.

        Waiting controls are dropped. If the peer does not answer, it is done when the same one
        does.
        """
        if vehicle is not None:
            self._outbox.drop_controls(vehicle)
        elif values is None:
            self._owed.clear()
        if answers:
            self._give_back(vehicle, values)
        else:
            self._owed.append((vehicle, values))

    def _give_back(self, vehicle: int | None, values: Collection[str] | None) -> None:
        self._urgent += [
            xpc.encode(message) for message in self._taken.give_back(vehicle, values)]

    def drop(self, reason: str, *, sent: bool = True) -> None:
        """End everything that waits, and what was sent and may not have been read."""
        self._outbox.drop(reason)
        if sent:
            self._outbox.lose(reason)

    def begin(self) -> None:
        """Start over, with nothing taken."""
        self._taken.clear()

    def forget(self) -> None:
        """Forget what was taken: this is another X-Plane."""
        self._taken.clear()
        self._owed.clear()
        self._urgent.clear()

    # From the plugin.

    def has_read(self) -> None:
        """Record a reply: commands that were sent before its request have been read."""
        self._outbox.has_read(self._flow.read_commands)

    def report(self, values: Mapping[str, tuple[float, ...]]) -> None:
        """Compare what was taken with what X-Plane reports."""
        self._taken.report(values)

    def asked_on(self, channel: str) -> bool:
        """Return whether a reply on this channel is about what is written next."""
        return channel in self._asked_before

    def receive(self, channel: str, reply: xpc.Reply) -> None:
        """Handle a reply about what was written next."""
        names = self._asked_before.pop(channel)
        self._closing.append(channel)
        if isinstance(reply, xpc.Datarefs) and len(reply.rows) == len(names):
            self._statistics.replies += 1
            self._taken.read_before(dict(zip(names, reply.rows, strict=True)))
        else:
            self._statistics.unexpected += 1

    # Sending.

    def send_urgent(self, now: float, *, answers: bool) -> list[Outgoing]:
        """Return the messages that give back what was taken."""
        if answers:
            owed, self._owed = self._owed, []
            for vehicle, values in owed:
                self._give_back(vehicle, values)
        outgoing: list[Outgoing] = [(COMMAND_CHANNEL, data) for data in self._urgent]
        self._flow.charge(len(self._urgent), now)
        self._urgent.clear()
        return outgoing

    def send(self, now: float, outgoing: list[Outgoing]) -> float | None:
        """Send waiting commands, single ones and controls in turns; return when to continue."""
        self._outbox.expire(now)
        while self._outbox:
            # A waiting read gets its share too.
            leave = 1 if self._turns.reads.is_due(now, self.left_count, held=False) else 0
            if self._contact.holds(now):
                return self._outbox.deadline
            if not self._flow.take_command(now, leave=leave):
                at = self._flow.when_command(now, leave=leave)
                deadlines = (at, self._outbox.deadline)
                return min((at for at in deadlines if at is not None), default=None)
            message, data = self._outbox.take(self._flow.sent_commands)
            if names := self._taken.unread(message):
                self._ask_before(names, now, outgoing)
            self._taken.note(message, now)
            outgoing.append((COMMAND_CHANNEL, data))
            if self._lockstep and isinstance(message, xpc.Controls):
                self._turns.poll_now(now)
            if self._outbox.awaits:
                self._turns.poll_now(now, first=True)
        return None

    def _ask_before(
        self, names: tuple[str, ...], now: float, outgoing: list[Outgoing]
    ) -> None:
        """Read what is written next: the plugin handles datagrams in order of arrival."""
        for batch in batches(names, {}):
            self._before_serial += 1
            channel = f'{_BEFORE_CHANNEL}{self._before_serial}'
            self._asked_before[channel] = batch
            self._statistics.requests += 1
            self._flow.charge(1, now)
            outgoing.append((channel, xpc.encode(xpc.GetDatarefs(batch))))
            self._flow.ask(channel)
            self._contact.ask(now)
        while len(self._asked_before) > _LARGEST_BEFORE:
            # Its reply was lost.
            lost = next(iter(self._asked_before))
            del self._asked_before[lost]
            self._closing.append(lost)

    def suspend(self) -> None:
        """Forget what is outstanding."""
        self._closing += self._asked_before
        self._asked_before.clear()

    def closed(self) -> list[str]:
        """Return the channels to close, since the last call."""
        closing, self._closing = self._closing, []
        return closing

    def ended(self) -> list[CommandDone]:
        """Return what has ended since the last call."""
        return self._outbox.ended()
