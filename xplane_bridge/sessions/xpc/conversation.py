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

"""What goes to and fro between a session and an X-Plane Connect plugin, and when."""

from __future__ import annotations

from collections.abc import Collection, Mapping
import math

from xplane_bridge.protocols import xpc
from xplane_bridge.protocols.errors import ProtocolError
from xplane_bridge.sessions.base import Tickets
from xplane_bridge.sessions.leases import Leases
from xplane_bridge.sessions.lifetimes import DEFAULT_LIFETIME, expired
from xplane_bridge.sessions.xpc.events import (
    Event,
    Generation,
    PeerChanged,
    PeerReplaced,
    PeerState,
    Statistics,
)
from xplane_bridge.sessions.xpc.flow import Flow, FRAME_GAP
from xplane_bridge.sessions.xpc.outbox import Outbox
from xplane_bridge.sessions.xpc.peer import Peer
from xplane_bridge.sessions.xpc.reads import batches, Reads
from xplane_bridge.sessions.xpc.taken import REPORTED, Taken
from xplane_bridge.sessions.xpc.telemetry import AircraftPoll
from xplane_bridge.sessions.xpc.turns import Turns
from xplane_bridge.sessions.xpc.watch import Watch

# Channels that this session sends commands on, and hears beacons on.
COMMAND_CHANNEL = 'command'
BEACON_CHANNEL = 'beacon'

# Without any answer for this long, the peer counts as away. Already before, when it has as many
# requests as it can read in a frame, only a small one asks now and then. That has a channel of its
# own: all of them are answered when X-Plane goes on after loading.
_SILENCE = 1.0
_STALL = 0.25
_PROBE_PERIOD = 0.5
_PROBE_CHANNEL = 'probe'
# Reads what overrides are, just before they are written.
_BEFORE_CHANNEL = 'before '
_LARGEST_BEFORE = 8

_SMALLEST_BUDGET = 10.0
# How often a simulator in lockstep is asked while no commands come.
_LOCKSTEP_RATE = 10.0
# What a peer that has fallen silent has to answer before commands go on: these tell whether it is
# the same.
_IDENTITY = frozenset({'position', 'state'})


class Conversation:
    """
    What is asked, sent and heard, and when: the link's side of XpcSession, which has the commands.

    The peer answers, falls silent, comes back or is replaced by another one (Peer); what was sent
    into silence, and what was learnt of another one, is forgotten.
    """

    def __init__(
        self,
        aircraft: Mapping[int, tuple[str, ...]],
        *,
        rate: float,
        budget: float = 240.0,
        lifetime: float = DEFAULT_LIFETIME,
        generation: Generation | None = None,
        hears_beacons: bool = True,
        address: str = 'its address',
        port: int | None = None,
        lockstep: bool = False,
    ) -> None:
        if not _SMALLEST_BUDGET <= budget < math.inf:
            raise ValueError(
                f'budget: got {budget:g} datagrams per second, expected at least '
                f'{_SMALLEST_BUDGET:g}'
            )
        self.statistics = Statistics()
        self._peer = Peer(address, generation, hears_beacons, port)
        self._lockstep = lockstep
        self._lifetime = lifetime
        self._polls = [
            AircraftPoll(
                number, names, period_of(_LOCKSTEP_RATE if lockstep else rate), self.statistics,
                () if place else REPORTED)
            for place, (number, names) in enumerate(aircraft.items())
        ]
        self._poll_of_channel = {
            channel: poll
            for poll in self._polls
            for channel in (poll.position_channel, poll.state_channel)
        }
        self._probe_request = xpc.encode(xpc.GetPosition(next(iter(aircraft), 0)))
        self._flow = Flow(budget)
        self._tickets = Tickets()
        self._outbox = Outbox(self._tickets, lifetime)
        self._reads = Reads(self.statistics)
        self._turns = Turns(self._polls, self._reads, self._flow)
        self._watch_serial = 0
        self._closing: list[str] = []
        self._urgent: list[bytes] = []
        self._taken = Taken()
        # Giving back that waits for the peer to answer: of which aircraft, which values.
        self._owed: list[tuple[int | None, Collection[str] | None]] = []
        # Which datarefs are read on which channel just before they are written.
        self._asked_before: dict[str, tuple[str, ...]] = {}
        self._before_serial = 0
        self._active = False
        self._waiting_since: float | None = None
        self._asked_at = 0.0
        self._unseen: frozenset[str] = frozenset()
        self._probe_at = 0.0
        self._deadline: float | None = None
        self._expired: list[Event] = []

    @property
    def peer_state(self) -> PeerState:
        """Return how the plugin's side looks from here."""
        return self._peer.state

    # What the link calls.

    def next_deadline(self) -> float | None:
        """Return when poll() is due; known after poll()."""
        return self._deadline

    def expired(self) -> list[Event]:
        """Return the events that time has caused, since the last call."""
        events, self._expired = self._expired, []
        return events

    def receive(self, channel: str, data: bytes, now: float) -> list[Event]:
        """Take one datagram of the peer; return the events that it completes."""
        try:
            reply = xpc.decode(data, 'peer')
        except ProtocolError as error:
            self.statistics.malformed.add(_kind(data))
            self.statistics.last_error = str(error)
            return []
        if channel == BEACON_CHANNEL:
            return self._receive_beacon(reply, now)
        self._note_stall(now)
        self._flow.answer(channel)
        self._outbox.has_read(self._flow.read_commands)
        self._waiting_since = None
        if self._flow.unanswered:
            self._wait_from(now)
        events: list[Event] = []
        if self._active and self.peer_state is not PeerState.ANSWERING:
            events.append(self._wake_up(now))
        self._identify(channel, reply, now, events)
        poll = self._poll_of_channel.get(channel)
        done: Event | None = None
        if poll is not None:
            done = poll.receive(channel, reply, now)
            if done is not None:
                self.statistics.updates[poll.aircraft] += 1
        elif channel.startswith('read '):
            done = self._reads.receive(channel, reply, now)
        elif self._turns.watch is not None and channel in self._turns.watch.channels:
            done = self._turns.watch.receive(channel, reply, now)
        elif channel == _PROBE_CHANNEL:
            self.statistics.replies += 1
        elif channel in self._asked_before:
            self._receive_before(channel, reply)
        else:
            self.statistics.unexpected += 1
        if done is not None:
            events.append(done)
        return events

    def poll(self, now: float) -> list[tuple[str, bytes | None]]:
        """Return what to send now, by channel; None closes a channel."""
        outgoing: list[tuple[str, bytes | None]] = []
        self._note_stall(now)
        deadlines = [self._watch_peer(now)]
        if self._owed and self._peer.state is PeerState.ANSWERING and not self._holds(now):
            for aircraft, values in self._owed:
                self._give_back(aircraft, values)
            self._owed.clear()
        outgoing += [(COMMAND_CHANNEL, data) for data in self._urgent]
        self._flow.charge(len(self._urgent), now)
        self._urgent.clear()
        deadlines.append(self._send_commands(now, outgoing))
        if self._active and self._peer.silent:
            self._expired += self._reads.abandon(self._peer.absence)
            deadlines.append(self._probe(now, outgoing))
        elif self._active:
            deadlines.append(self._poll_peer(now, outgoing))
        self._deadline = min((at for at in deadlines if at is not None), default=None)
        for channel in (*self._closing, *self._reads.close_given_up()):
            self._flow.forget(channel)
            outgoing.append((channel, None))
        self._closing.clear()
        self._expired += self._outbox.ended()
        return outgoing

    def _give_back(self, aircraft: int | None, values: Collection[str] | None) -> None:
        self._urgent += [
            xpc.encode(message) for message in self._taken.give_back(aircraft, values)]

    def _start_watch(self, names: tuple[str, ...], period: float, now: float) -> None:
        """Poll these datarefs on new channels: late replies on the old ones are nobody's."""
        if self._turns.watch is not None:
            self._closing.extend(self._turns.watch.channels)
            self._watch_serial = self._turns.watch.serial
        self._turns.watch = None
        if names:
            self._turns.watch = Watch(names, period, self._watch_serial, self.statistics, now)

    # How the peer seems.

    @property
    def _leases(self) -> list[Leases[str]]:
        watched = [self._turns.watch.leases] if self._turns.watch is not None else []
        return [*(poll.leases for poll in self._polls), *watched]

    def _receive_beacon(self, reply: xpc.Reply, now: float) -> list[Event]:
        events: list[Event] = []
        if isinstance(reply, xpc.Beacon):
            reason = self._peer.hear_beacon(reply, now)
            if reason:
                self._meet_another(reason, now, events)
                self._peer.hear_beacon(reply, now)
        else:
            self.statistics.unexpected += 1
        return events

    def _identify(
        self, channel: str, reply: xpc.Reply, now: float, events: list[Event]
    ) -> None:
        """Look at what a reply says of who answers, and of what is taken."""
        poll = self._poll_of_channel.get(channel)
        if isinstance(reply, xpc.PositionReply):
            self._unseen -= {'position'}
            if reason := self._peer.hear_position(reply, now):
                self._meet_another(reason, now, events)
                self._peer.hear_position(reply, now)
        elif poll is not None and channel == poll.state_channel:
            running_time, reported = poll.said(reply)
            self._unseen -= {'state'}
            if running_time is not None and (reason := self._peer.hear_time(running_time, now)):
                self._meet_another(reason, now, events)
                self._peer.hear_time(running_time, now)
            if reported and 'state' not in self._peer.doubts:
                self._taken.report(reported)
        if self._peer.doubts and not self._lockstep:
            # The next reply tells whether this is another one.
            self._unseen |= self._peer.doubts
            for known in self._polls[:1]:
                known.hasten(now)

    def _meet_another(self, reason: str, now: float, events: list[Event]) -> None:
        """Begin anew with another instance of X-Plane: it knows nothing of what was before."""
        self._taken.clear()
        self._owed.clear()
        self._urgent.clear()
        self._peer.forget(now)
        if self._active:
            events.append(PeerReplaced(reason))
            self._drop(f'another X-Plane answers: {reason}')
            self._expired += self._reads.abandon(f'another X-Plane answers: {reason}')
            self._waiting_since = None
            self._suspend(now + FRAME_GAP)

    def _receive_before(self, channel: str, reply: xpc.Reply) -> None:
        names = self._asked_before.pop(channel)
        self._closing.append(channel)
        if isinstance(reply, xpc.Datarefs) and len(reply.rows) == len(names):
            self.statistics.replies += 1
            self._taken.read_before(dict(zip(names, reply.rows, strict=True)))
        else:
            self.statistics.unexpected += 1

    def _note_stall(self, now: float) -> None:
        """Let commands wait for a peer that stopped answering, until it is known who it is."""
        if (
            self._active and self._polls and not self._lockstep
            and self._waiting_since is not None and now >= self._waiting_since + _STALL
        ):
            self._unseen = _IDENTITY

    def _holds(self, now: float) -> bool:
        """Tell whether commands wait for the peer to answer."""
        self._note_stall(now)
        return bool(self._unseen)

    def _watch_peer(self, now: float) -> float | None:
        """Notice silence, and what the beacon says about it; return when to look again."""
        if not self._active:
            return None
        self._peer.listen(now)
        quiet = self._peer.quiet(now)
        if self._peer.silent:
            if self.peer_state is not quiet:
                self._expired.append(self._become(quiet, now))
            return None
        if self._waiting_since is None:
            return None
        if now < self._waiting_since + _SILENCE:
            return self._waiting_since + _SILENCE
        self._expired.append(self._become(quiet, now))
        self._probe_at = now
        if not self._lockstep:
            self._drop(self._peer.absence)
        self._suspend(now)
        return None

    def _become(self, state: PeerState, now: float) -> PeerChanged:
        self._peer.become(state, now)
        return PeerChanged(state)

    def _wake_up(self, now: float) -> PeerChanged:
        """Start anew at the first answer after silence."""
        if self._peer.silent:
            self._waiting_since = None
            if self._polls and not self._lockstep:
                self._unseen = _IDENTITY
            self._suspend(now + FRAME_GAP)
        return self._become(PeerState.ANSWERING, now)

    def _drop(self, reason: str) -> None:
        """End all commands, those that wait and those of which nobody knows whether they came."""
        self._outbox.drop(reason)
        self._outbox.lose(reason)

    def _suspend(self, until: float) -> None:
        """Forget what is outstanding and what was learnt of the peer; poll anew from then on."""
        self._flow.reset()
        self._closing += self._asked_before
        self._asked_before.clear()
        for poll in self._polls:
            poll.suspend(until)
        if self._turns.watch is not None:
            self._start_watch(self._turns.watch.names, self._turns.watch.period, until)

    # What is sent.

    def _send_commands(
        self, now: float, outgoing: list[tuple[str, bytes | None]]
    ) -> float | None:
        """Send commands that wait, single ones and controls by turns."""
        self._outbox.expire(now)
        while self._outbox:
            # A read that waits has its part too.
            leave = 1 if self._reads.is_due(now, self._outbox.left_count, held=False) else 0
            if self._holds(now):
                return self._outbox.deadline
            if not self._flow.take_command(now, leave=leave):
                at = self._flow.when_command(now, leave=leave)
                deadlines = (at, self._outbox.deadline)
                return min((at for at in deadlines if at is not None), default=None)
            message = self._outbox.take(self._flow.sent_commands)
            if names := self._taken.unread(message):
                self._ask_before(names, now, outgoing)
            self._taken.note(message, now)
            outgoing.append((COMMAND_CHANNEL, xpc.encode(message)))
            if self._lockstep and isinstance(message, xpc.Controls):
                for poll in self._polls:
                    poll.hasten(now)
            if self._outbox.awaits:
                for poll in self._polls[:1]:
                    poll.hasten(now)
        return None

    def _ask_before(
        self, names: tuple[str, ...], now: float, outgoing: list[tuple[str, bytes | None]]
    ) -> None:
        """Read what is written next: the plugin handles datagrams in the order of arrival."""
        for batch in batches(names, {}):
            self._before_serial += 1
            channel = f'{_BEFORE_CHANNEL}{self._before_serial}'
            self._asked_before[channel] = batch
            self.statistics.requests += 1
            self._flow.charge(1, now)
            outgoing.append((channel, xpc.encode(xpc.GetDatarefs(batch))))
            self._expect(channel, now)
        while len(self._asked_before) > _LARGEST_BEFORE:
            # Its answer was lost.
            lost = next(iter(self._asked_before))
            del self._asked_before[lost]
            self._closing.append(lost)

    def _probe(self, now: float, outgoing: list[tuple[str, bytes | None]]) -> float:
        """Ask the silent peer one small thing if it is time for it; return when to ask again."""
        if now >= self._probe_at:
            self._probe_at = now + _PROBE_PERIOD
            self.statistics.requests += 1
            outgoing.append((_PROBE_CHANNEL, self._probe_request))
            if not self._peer.silent:
                self._flow.charge(1, now)
                self._expect(_PROBE_CHANNEL, now)
        return self._probe_at

    def _poll_peer(self, now: float, outgoing: list[tuple[str, bytes | None]]) -> float | None:
        """Ask for telemetry, reads and watched datarefs; return when to look again."""
        self._give_up(now)
        for request in self._turns.ask(now, self._outbox.left_count, self._holds(now)):
            outgoing.append(request)
            self._await(now)
        deadlines = self._turns.deadlines(now)
        # Whoever polls seldom wants to know all the same whether it is there.
        idle = self._asked_at + _PROBE_PERIOD
        if None in deadlines or now >= idle:
            deadlines.append(self._probe(now, outgoing))
        else:
            deadlines.append(idle)
        return min((at for at in deadlines if at is not None), default=None)

    def _give_up(self, now: float) -> None:
        """End the waiting for what has not come for long."""
        for poll in self._polls:
            if poll.waiting and now >= poll.deadline:
                poll.give_up(now)
        if self._turns.watch is not None:
            if self._turns.watch.waiting and now >= self._turns.watch.deadline:
                lacking = self._turns.watch.give_up(now)
                if lacking is not None:
                    self._expired.append(lacking)
            self._closing.extend(self._turns.watch.regroup())
        if self._reads:
            self._expired += self._reads.expire(now, expired(
                self._lifetime, 'other reads and the budget of datagrams went first'))
            self._expired += self._reads.give_up(now)

    def _expect(self, channel: str, now: float) -> None:
        """Note that an answer is outstanding."""
        self._flow.ask(channel)
        self._await(now)

    def _await(self, now: float) -> None:
        self._asked_at = now
        if self._waiting_since is None:
            self._wait_from(now)

    def _wait_from(self, now: float) -> None:
        self._waiting_since = now
        self._probe_at = now + _STALL


def period_of(rate: float) -> float:
    """Return the seconds between updates, 0 for a rate of 0."""
    if not 0.0 <= rate < math.inf:
        raise ValueError(f'rate: got {rate:g} updates per second, expected 0 or more')
    return 1.0 / rate if rate else 0.0


def _kind(data: bytes) -> str:
    """Name the kind of a malformed datagram: its tag, if it is one of the plugin's."""
    tag = data[:4].decode('latin-1')
    return tag if tag in xpc.MESSAGES['peer'] else 'unknown tag' if len(tag) == 4 else 'no tag'
