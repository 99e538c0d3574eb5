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

"""The conversation with an X-Plane Connect plugin. Time is passed in; there is no socket."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
import math

from xplane_bridge.protocols import xpc
from xplane_bridge.protocols.errors import ProtocolError
from xplane_bridge.sessions.xpc.commands import adapt, JOYSTICK_OVERRIDE, Taken
from xplane_bridge.sessions.xpc.events import (
    Event,
    Generation,
    PeerChanged,
    PeerState,
    Statistics,
)
from xplane_bridge.sessions.xpc.flow import Flow, FRAME_GAP
from xplane_bridge.sessions.xpc.reads import batches, Reads
from xplane_bridge.sessions.xpc.telemetry import AircraftPoll
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

# The plugin beacons once a second.
_BEACON_TIMEOUT = 3.5

_SMALLEST_BUDGET = 10.0
# How often a simulator in lockstep is asked while no commands come.
_LOCKSTEP_RATE = 10.0
# A peer that does not answer keeps what is sent to it, and drops all of it at the 20th datagram.
_SILENT_RATE = 2.0
_LARGEST_OUTBOX = 64


class XpcSession:
    """
    Poll aircraft, read and write datarefs and send commands to one plugin.

    ``aircraft`` maps each aircraft number to the datarefs to poll for it, the first three of
    them its latitude, longitude and elevation. ``rate`` is in updates a second, 0 for once a
    frame. ``budget`` is how many datagrams may leave in any second, at least 10; only giving back
    is never kept waiting. ``generation`` None finds out; ``hears_beacons`` tells whether the
    beacon's multicast group could be joined. ``port`` is the plugin's: a beacon that names another
    one is that of another X-Plane on the same computer; None takes any. In ``lockstep`` it is
    controls that take the simulator to its next frame: each is followed by a poll, and ``rate``
    does not count.

    Everything that sends raises ValueError with a sentence if it must not be sent.
    """

    def __init__(
        self,
        aircraft: Mapping[int, tuple[str, ...]],
        *,
        rate: float,
        budget: float = 240.0,
        generation: Generation | None = None,
        hears_beacons: bool = True,
        port: int | None = None,
        lockstep: bool = False,
    ) -> None:
        if not _SMALLEST_BUDGET <= budget < math.inf:
            raise ValueError(
                f'budget: got {budget:g} datagrams a second, expected at least '
                f'{_SMALLEST_BUDGET:g}'
            )
        self.statistics = Statistics()
        self.peer_state = PeerState.UNKNOWN
        self.beacon: xpc.Beacon | None = None
        self._chosen_generation = generation
        self._hears_beacons = hears_beacons
        self._port = port
        self._lockstep = lockstep
        self._position_bits: int | None = None
        self._polls = [
            AircraftPoll(
                number, names, _period(_LOCKSTEP_RATE if lockstep else rate), self.statistics)
            for number, names in aircraft.items()
        ]
        self._poll_of_channel = {
            channel: poll
            for poll in self._polls
            for channel in (poll.position_channel, poll.state_channel)
        }
        self._probe_request = xpc.encode(xpc.GetPosition(next(iter(aircraft), 0)))
        self._budget_rate = budget
        self._flow = Flow(budget)
        self._reads = Reads(self.statistics)
        self._watch: Watch | None = None
        self._watch_serial = 0
        self._closing: list[str] = []
        self._outbox: deque[bytes] = deque()
        self._queued = 0
        self._urgent: list[bytes] = []
        self._held: dict[int, xpc.Controls] = {}
        self._controls_next = False
        self._ticket = 0
        self._active = False
        self._answered = False
        self._started_at = 0.0
        self._listened = False
        self._waiting_since: float | None = None
        self._beacon_at: float | None = None
        self._probe_at = 0.0
        self._deadline: float | None = None
        self._expired: list[Event] = []
        self._taken = Taken()

    # What the owner may ask at any time.

    @property
    def generation(self) -> Generation | None:
        """Return the plugin's generation, None while unknown (XPC wire notes, section 6)."""
        if self._chosen_generation is not None:
            return self._chosen_generation
        if self._position_bits == 64:
            return Generation.RC6
        if self._position_bits == 32:
            if self.beacon is not None:
                return Generation.RC5
            if not self._hears_beacons or self._listened:
                return Generation.V1_2_1
        return None

    @property
    def taken(self) -> frozenset[str]:
        """Return what release() would give back: 'throttle', 'joystick', 'pause', 'text' ..."""
        return frozenset(self._taken.what)

    # Commands.

    def start(self, now: float) -> None:
        """Begin to poll."""
        self._active = True
        self._answered = self._listened = False
        self._started_at = now
        self._waiting_since = None
        self._become(PeerState.UNKNOWN)
        self._suspend(now)

    def stop(self, now: float) -> None:
        """Stop polling, and give back what was taken."""
        self.release(now)
        self._active = False
        self._become(PeerState.UNKNOWN)
        self._suspend(now)
        self._expired += self._reads.abandon('the node was deactivated')

    def send(self, message: xpc.Request, now: float) -> None:
        """Send a command that has no reply."""
        data = xpc.encode(adapt(message, self.generation))
        if len(self._outbox) >= _LARGEST_OUTBOX:
            raise ValueError(
                f'{message.tag}: {_LARGEST_OUTBOX} commands wait already; the budget of '
                f'{self._budget_rate:g} datagrams a second is used up'
            )
        self._outbox.append(data)
        self._queued += 1
        self._taken.note(message)

    def set_controls(self, controls: xpc.Controls, now: float) -> None:
        """
        Set the controls of one aircraft.

        When the budget does not allow it at once, the newest value of each control is sent as
        soon as it does.
        """
        xpc.encode(controls)
        held = self._held.get(controls.aircraft)
        if held is not None:
            self.statistics.held_back += 1
            news = {
                field.name: value
                for field in fields(controls)
                if (value := getattr(controls, field.name)) is not None
            }
            controls = replace(held, **news)
        self._held[controls.aircraft] = controls
        self._taken.note(controls)

    def take_joystick(self, now: float) -> None:
        """Keep the user's joystick from overwriting commands, until release()."""
        if 'joystick' not in self._taken.what:
            self.send(JOYSTICK_OVERRIDE, now)

    def release(self, now: float) -> None:
        """
        Give back what was taken: surfaces, throttle override, joystick, pause, text.

        Commands that still wait are dropped, for they could take it again.
        """
        self._held.clear()
        self._outbox.clear()
        self._urgent += [xpc.encode(message) for message in self._taken.give_back()]

    def read_datarefs(self, names: Sequence[str], now: float) -> int:
        """Read datarefs once; return the ticket of the ReadDone that will come."""
        requests = _gets(names)
        return self._read(requests, repeatable=True)

    def read_terrain(self, request: xpc.GetTerrain | xpc.PlaceAndProbe, now: float) -> int:
        """Probe the terrain; return the ticket of the ReadDone that will come."""
        adapted = adapt(request, self.generation)
        return self._read([adapted], repeatable=isinstance(request, xpc.GetTerrain))

    def watch(self, names: Sequence[str], rate: float, now: float) -> None:
        """
        Poll these datarefs ``rate`` times a second from now on, 0 for once a frame.

        No names ends it.
        """
        for request in _gets(names):
            xpc.encode(request)
        self._start_watch(tuple(names), _period(rate), now)

    def _start_watch(self, names: tuple[str, ...], period: float, now: float) -> None:
        """Poll these datarefs on new channels: late replies on the old ones are nobody's."""
        if self._watch is not None:
            self._closing.extend(self._watch.channels)
            self._watch_serial = self._watch.serial
        self._watch = None
        if names:
            self._watch = Watch(names, period, self._watch_serial, self.statistics)
            self._watch.due = now

    def _read(self, requests: Sequence[xpc.Request], *, repeatable: bool) -> int:
        for request in requests:
            xpc.encode(request)
        if not requests:
            raise ValueError('a read needs at least one dataref name')
        self._ticket += 1
        self._reads.add(self._ticket, requests, self._queued, repeatable=repeatable)
        return self._ticket

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
            reply = xpc.decode_reply(data)
        except ProtocolError as error:
            self.statistics.malformed[_kind(data)] += 1
            self.statistics.last_error = str(error)
            return []
        if channel == BEACON_CHANNEL:
            self._receive_beacon(reply, now)
            return []
        self._flow.answer(channel)
        self._waiting_since = None
        if self._flow.unanswered:
            self._wait_from(now)
        self._answered = True
        if isinstance(reply, xpc.PositionReply):
            self._position_bits = reply.precision
        events: list[Event] = []
        if self._active and self.peer_state is not PeerState.ANSWERING:
            events.append(self._wake_up(now))
        poll = self._poll_of_channel.get(channel)
        if poll is not None:
            telemetry = poll.receive(channel, reply, now)
            if telemetry is not None:
                self.statistics.updates[poll.aircraft] += 1
                events.append(telemetry)
        elif channel.startswith('read '):
            done = self._reads.receive(channel, reply, now)
            if done is not None:
                events.append(done)
        elif self._watch is not None and channel in self._watch.channels:
            watched = self._watch.receive(channel, reply, now)
            if watched is not None:
                events.append(watched)
        elif channel == _PROBE_CHANNEL:
            self.statistics.replies += 1
        else:
            self.statistics.unexpected += 1
        return events

    def poll(self, now: float) -> list[tuple[str, bytes | None]]:
        """Return what to send now, by channel; None closes a channel."""
        outgoing: list[tuple[str, bytes | None]] = [
            (COMMAND_CHANNEL, data) for data in self._urgent]
        self._flow.charge(len(self._urgent), now)
        self._urgent.clear()
        deadlines = [
            self._watch_peer(now),
            self._send_commands(now, outgoing),
            self._poll_reads(now, outgoing),
        ]
        if self._active and self._silent:
            deadlines.append(self._probe(now, outgoing))
        elif self._active:
            deadlines.append(self._poll_peer(now, outgoing))
        self._deadline = min((at for at in deadlines if at is not None), default=None)
        for channel in (*self._closing, *self._reads.close_given_up()):
            self._flow.forget(channel)
            outgoing.append((channel, None))
        self._closing.clear()
        return outgoing

    # How the peer seems.

    @property
    def _silent(self) -> bool:
        return self.peer_state in (PeerState.LOADING, PeerState.AWAY)

    def _receive_beacon(self, reply: xpc.Reply, now: float) -> None:
        if not isinstance(reply, xpc.Beacon):
            self.statistics.unexpected += 1
        elif self._port in (None, reply.port):
            self.beacon = reply
            self._beacon_at = now

    def _watch_peer(self, now: float) -> float | None:
        """Notice silence, and what the beacon says about it; return when to look again."""
        if not self._active:
            return None
        self._listened |= now - self._started_at > _BEACON_TIMEOUT
        heard = self._beacon_at is not None and now - self._beacon_at < _BEACON_TIMEOUT
        quiet = PeerState.LOADING if heard else PeerState.AWAY
        if self._silent:
            if self.peer_state is not quiet:
                self._expired.append(self._become(quiet))
            return None
        if self._waiting_since is None:
            return None
        if now < self._waiting_since + _SILENCE:
            return self._waiting_since + _SILENCE
        self._expired.append(self._become(quiet))
        self._probe_at = now
        self._suspend(now)
        return None

    def _become(self, state: PeerState) -> PeerChanged:
        self.peer_state = state
        slow = state is PeerState.LOADING or (state is PeerState.AWAY and self._answered)
        self._flow.set_rate(_SILENT_RATE if slow else self._budget_rate)
        if state is PeerState.AWAY:
            # What comes back may be another X-Plane.
            self.beacon = None
            self._position_bits = None
        return PeerChanged(state)

    def _wake_up(self, now: float) -> PeerChanged:
        """Start anew at the first answer after silence."""
        if self._silent:
            if self.peer_state is PeerState.AWAY:
                self._started_at = now
                self._listened = False
            self._waiting_since = None
            self._suspend(now + FRAME_GAP)
            if 'joystick' in self._taken.what:
                self._urgent.append(xpc.encode(JOYSTICK_OVERRIDE))
        return self._become(PeerState.ANSWERING)

    def _suspend(self, until: float) -> None:
        """Forget what is outstanding and what was learnt of the peer; poll anew from then on."""
        self._flow.reset()
        for poll in self._polls:
            poll.suspend(until)
        if self._watch is not None:
            self._start_watch(self._watch.names, self._watch.period, until)

    # What is sent.

    def _send_commands(
        self, now: float, outgoing: list[tuple[str, bytes | None]]
    ) -> float | None:
        """Send commands that wait, single ones and controls by turns."""
        while self._outbox or self._held:
            # A read that waits has its part too.
            leave = 1 if self._read_is_due(now) else 0
            if not self._flow.take_command(now, leave=leave):
                return self._flow.when_command(now, leave=leave)
            self._controls_next = not self._controls_next
            if self._held and (self._controls_next or not self._outbox):
                controls = self._held.pop(next(iter(self._held)))
                outgoing.append((COMMAND_CHANNEL, xpc.encode(controls)))
                if self._lockstep:
                    for poll in self._polls:
                        poll.hasten(now)
            else:
                outgoing.append((COMMAND_CHANNEL, self._outbox.popleft()))
        return None

    def _poll_reads(self, now: float, outgoing: list[tuple[str, bytes | None]]) -> float | None:
        reads = self._reads
        if self._active and self._silent:
            self._expired += reads.abandon(self.peer_state.value)
            return None
        if reads.waiting and reads.deadline is not None and now >= reads.deadline:
            done = reads.give_up()
            if done is not None:
                self._expired.append(done)
            if not self._active:
                # No poll goes on asking, whose answer would make room for what is sent next.
                self._flow.reset()
        if self._read_is_due(now):
            if not self._flow.take_command(now):
                return self._flow.when_command(now)
            request = reads.start(now)
            outgoing.append(request)
            self._expect(request[0], now)
        at = reads.deadline
        # One that waits for commands goes when they have gone.
        return None if at is None or at <= now else at

    def _read_is_due(self, now: float) -> bool:
        return self._reads.is_due(now, self._queued - len(self._outbox))

    def _probe(self, now: float, outgoing: list[tuple[str, bytes | None]]) -> float:
        """Ask the silent peer one small thing if it is time for it; return when to ask again."""
        if now >= self._probe_at:
            self._probe_at = now + _PROBE_PERIOD
            self.statistics.requests += 1
            outgoing.append((_PROBE_CHANNEL, self._probe_request))
            if not self._silent:
                self._flow.charge(1, now)
                self._expect(_PROBE_CHANNEL, now)
        return self._probe_at

    def _poll_peer(self, now: float, outgoing: list[tuple[str, bytes | None]]) -> float | None:
        """Poll aircraft and watched datarefs; who waits longest goes first, none overtakes."""
        polls: list[AircraftPoll | Watch] = [*self._polls]
        if self._watch is not None:
            polls.append(self._watch)
        for poll in polls:
            if poll.waiting and now >= poll.deadline:
                poll.give_up(now)
        if self._watch is not None:
            self._closing.extend(self._watch.regroup())
        deadlines: list[float] = []
        while ready := [poll for poll in polls if not poll.waiting and now >= poll.due]:
            poll = min(ready, key=_due)
            if not self._flow.take_poll(poll.cost, now):
                at = self._flow.when_poll(poll.cost, now)
                deadlines.append(self._probe(now, outgoing) if at is None else at)
                break
            for request in poll.start(now):
                outgoing.append(request)
                self._expect(request[0], now)
        deadlines += [poll.deadline for poll in polls if poll.deadline > now]
        return min(deadlines, default=None)

    def _expect(self, channel: str, now: float) -> None:
        """Note that an answer is outstanding."""
        self._flow.ask(channel)
        if self._waiting_since is None:
            self._wait_from(now)

    def _wait_from(self, now: float) -> None:
        self._waiting_since = now
        self._probe_at = now + _STALL


def _due(poll: AircraftPoll | Watch) -> float:
    return poll.due


def _period(rate: float) -> float:
    """Return the seconds between updates, 0 for a rate of 0."""
    if not 0.0 <= rate < math.inf:
        raise ValueError(f'rate: got {rate:g} updates a second, expected 0 or more')
    return 1.0 / rate if rate else 0.0


def _gets(names: Sequence[str]) -> list[xpc.GetDatarefs]:
    """Return the requests for datarefs whose sizes are not known."""
    return [xpc.GetDatarefs(batch) for batch in batches(names, {})]


def _kind(data: bytes) -> str:
    """Name the kind of a malformed datagram: its tag, if it is one of the plugin's."""
    tag = data[:4].decode('latin-1')
    return tag if tag in xpc.REPLY_CLASSES else 'unknown tag' if len(tag) == 4 else 'no tag'
