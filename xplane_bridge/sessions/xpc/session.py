"""The conversation with an X-Plane Connect plugin. Time is passed in; there is no socket."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace

from xplane_bridge.protocols import xpc
from xplane_bridge.protocols.errors import ProtocolError
from xplane_bridge.sessions.budget import Budget
from xplane_bridge.sessions.xpc.commands import adapt, JOYSTICK_OVERRIDE, Taken
from xplane_bridge.sessions.xpc.events import (
    Event,
    Generation,
    PeerChanged,
    PeerState,
    Statistics,
)
from xplane_bridge.sessions.xpc.reads import batches, Reads
from xplane_bridge.sessions.xpc.telemetry import AircraftPoll, FRAME_GAP
from xplane_bridge.sessions.xpc.watch import Watch

# Channels that this session sends commands on, and hears beacons on.
COMMAND_CHANNEL = 'command'
BEACON_CHANNEL = 'beacon'

# Without any answer for this long, the peer counts as away, and one small request asks again.
_SILENCE = 1.0
_PROBE_PERIOD = 0.5

# The plugin beacons once a second.
_BEACON_TIMEOUT = 3.5

# Datagrams at once: with what others send, the plugin must not see 20 in one frame.
_BURST = 8
# What polling leaves of the budget, so that a command never waits for it.
_COMMAND_RESERVE = 2
# A peer that does not answer keeps what is sent to it, and drops all of it at the 20th datagram.
_SILENT_RATE = 2.0
_LARGEST_OUTBOX = 64


class XpcSession:
    """
    Poll aircraft, read and write datarefs and send commands to one plugin.

    ``aircraft`` maps each aircraft number to the datarefs to poll for it, the first three of
    them its latitude, longitude and elevation. ``rate`` is in updates a second, 0 for once a
    frame. ``budget`` is how many datagrams a second may leave in all. ``generation`` None finds
    out; ``hears_beacons`` tells whether the beacon's multicast group could be joined.

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
    ) -> None:
        self.statistics = Statistics()
        self.peer_state = PeerState.UNKNOWN
        self.beacon: xpc.Beacon | None = None
        self._chosen_generation = generation
        self._hears_beacons = hears_beacons
        self._position_bits: int | None = None
        self._polls = [
            AircraftPoll(number, names, 1.0 / rate if rate else 0.0, self.statistics)
            for number, names in aircraft.items()
        ]
        self._poll_of_channel = {
            channel: poll
            for poll in self._polls
            for channel in (poll.position_channel, poll.state_channel)
        }
        self._budget_rate = budget
        self._budget = Budget(budget, _BURST)
        self._reads = Reads(self.statistics)
        self._watch: Watch | None = None
        self._watch_serial = 0
        self._closing: list[str] = []
        self._outbox: deque[bytes] = deque()
        self._urgent: list[bytes] = []
        self._held: dict[int, xpc.Controls] = {}
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
        for poll in self._polls:
            poll.suspend()
            poll.due = now

    def stop(self, now: float) -> None:
        """Stop polling, and give back what was taken."""
        self.release(now)
        self._active = False
        self._expired += self._reads.abandon('the node was deactivated')
        for poll in self._polls:
            poll.suspend()

    def send(self, message: xpc.Request, now: float) -> None:
        """Send a command that has no reply."""
        data = xpc.encode(adapt(message, self.generation))
        if len(self._outbox) >= _LARGEST_OUTBOX:
            raise ValueError(
                f'{message.tag}: {_LARGEST_OUTBOX} commands wait already; the budget of '
                f'{self._budget_rate:g} datagrams a second is used up'
            )
        self._outbox.append(data)
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
        """Give back what was taken: throttle override, joystick, pause, text."""
        self._held.clear()
        self._urgent += [xpc.encode(message) for message in self._taken.give_back()]

    def read_datarefs(self, names: Sequence[str], now: float) -> int:
        """Read datarefs once; return the ticket of the ReadDone that will come."""
        requests = [xpc.GetDatarefs(batch) for batch in batches(names, {})]
        return self._read(requests, repeatable=True)

    def read_terrain(self, request: xpc.GetTerrain | xpc.PlaceAndProbe, now: float) -> int:
        """Probe the terrain; return the ticket of the ReadDone that will come."""
        adapted = adapt(request, self.generation)
        return self._read([adapted], repeatable=isinstance(request, xpc.GetTerrain))

    def watch(self, names: Sequence[str], rate: float, now: float) -> None:
        """Poll these datarefs ``rate`` times a second from now on; no names ends it."""
        for batch in batches(names, {}):
            xpc.encode(xpc.GetDatarefs(batch))
        if self._watch is not None:
            self._closing.extend(self._watch.channels)
            self._watch = None
        if names:
            self._watch_serial += 1000
            self._watch = Watch(tuple(names), 1.0 / rate, self._watch_serial, self.statistics)

    def _read(self, requests: Sequence[xpc.Request], *, repeatable: bool) -> int:
        for request in requests:
            xpc.encode(request)
        if not requests:
            raise ValueError('a read needs at least one dataref name')
        self._ticket += 1
        self._reads.add(self._ticket, requests, repeatable=repeatable)
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
        self._waiting_since = None
        self._answered = True
        if isinstance(reply, xpc.PositionReply):
            self._position_bits = reply.precision
        if self._silent:
            return self._wake_up(now)
        events: list[Event] = []
        if self.peer_state is PeerState.UNKNOWN and self._active:
            events.append(self._become(PeerState.ANSWERING))
        poll = self._poll_of_channel.get(channel)
        if poll is not None:
            telemetry = poll.receive(channel, reply, now)
            if telemetry is not None:
                self.statistics.updates[poll.aircraft] += 1
                events.append(telemetry)
        elif channel.startswith('read '):
            done = self._reads.receive(channel, reply)
            if done is not None:
                events.append(done)
        elif self._watch is not None and channel in self._watch.channels:
            watched = self._watch.receive(channel, reply)
            if watched is not None:
                self._closing.extend(self._watch.regroup(watched.values))
                events.append(watched)
        else:
            self.statistics.unexpected += 1
        return events

    def poll(self, now: float) -> list[tuple[str, bytes | None]]:
        """Return what to send now, by channel; None closes a channel."""
        outgoing: list[tuple[str, bytes | None]] = [(name, None) for name in self._closing]
        outgoing += [(COMMAND_CHANNEL, data) for data in self._urgent]
        self._closing.clear()
        self._urgent.clear()
        deadlines = [
            self._watch_peer(now),
            self._send_commands(now, outgoing),
            self._poll_reads(now, outgoing),
        ]
        if self._active and self._silent:
            deadlines.append(self._probe(now, outgoing))
        elif self._active:
            deadlines.append(self._poll_aircraft(now, outgoing))
            deadlines.append(self._poll_watch(now, outgoing))
        if self._expired:
            deadlines.append(now)
        self._deadline = min((at for at in deadlines if at is not None), default=None)
        return outgoing

    # How the peer seems.

    @property
    def _silent(self) -> bool:
        return self.peer_state in (PeerState.LOADING, PeerState.AWAY)

    def _receive_beacon(self, reply: xpc.Reply, now: float) -> None:
        if isinstance(reply, xpc.Beacon):
            self.beacon = reply
            self._beacon_at = now
        else:
            self.statistics.unexpected += 1

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
        if now - self._waiting_since < _SILENCE:
            return self._waiting_since + _SILENCE
        self._expired.append(self._become(quiet))
        self._probe_at = now
        for poll in self._polls:
            poll.suspend()
        return None

    def _become(self, state: PeerState) -> PeerChanged:
        self.peer_state = state
        slow = state is PeerState.LOADING or (state is PeerState.AWAY and self._answered)
        self._budget.rate = _SILENT_RATE if slow else self._budget_rate
        return PeerChanged(state)

    def _wake_up(self, now: float) -> list[Event]:
        """Start anew after silence. The peer may be another one: what was learnt is forgotten."""
        self.statistics.replies += 1
        for poll in self._polls:
            poll.suspend()
            poll.due = now + FRAME_GAP
        if self._watch is not None:
            names, period = self._watch.names, self._watch.period
            self.watch(names, 1.0 / period, now)
        return [self._become(PeerState.ANSWERING)] if self._active else []

    # What is sent.

    def _send_commands(
        self, now: float, outgoing: list[tuple[str, bytes | None]]
    ) -> float | None:
        while self._outbox and self._budget.take(1, now):
            outgoing.append((COMMAND_CHANNEL, self._outbox.popleft()))
        while self._held and self._budget.take(1, now):
            controls = self._held.pop(next(iter(self._held)))
            outgoing.append((COMMAND_CHANNEL, xpc.encode(controls)))
        return self._budget.when(1, now) if self._outbox or self._held else None

    def _poll_reads(self, now: float, outgoing: list[tuple[str, bytes | None]]) -> float | None:
        deadline = self._reads.deadline
        if deadline is not None and now >= deadline:
            done = self._reads.give_up()
            if done is not None:
                self._expired.append(done)
        if not self._reads.idle:
            if not self._budget.take(1, now):
                return self._budget.when(1, now)
            outgoing += self._reads.start(now)
            self._expect(now)
        return self._reads.deadline

    def _probe(self, now: float, outgoing: list[tuple[str, bytes | None]]) -> float:
        """Ask the silent peer one small thing now and then, whatever the budget."""
        if now >= self._probe_at and self._polls:
            self._probe_at = now + _PROBE_PERIOD
            self.statistics.requests += 1
            outgoing.append(self._polls[0].probe)
        return self._probe_at

    def _poll_aircraft(
        self, now: float, outgoing: list[tuple[str, bytes | None]]
    ) -> float | None:
        deadlines = []
        for poll in sorted(self._polls, key=_due):
            if poll.waiting and now >= poll.deadline:
                poll.give_up(now)
            if not poll.waiting and now >= poll.due:
                if self._budget.take(2, now, leave=_COMMAND_RESERVE):
                    outgoing += poll.start(now)
                    self._expect(now)
                else:
                    deadlines.append(self._budget.when(2, now, leave=_COMMAND_RESERVE))
                    continue
            deadlines.append(poll.deadline)
        return min(deadlines, default=None)

    def _poll_watch(self, now: float, outgoing: list[tuple[str, bytes | None]]) -> float | None:
        watch = self._watch
        if watch is None:
            return None
        if watch.waiting and now >= watch.deadline:
            watch.give_up()
        if not watch.waiting and now >= watch.due:
            cost = min(watch.cost, _BURST - _COMMAND_RESERVE)
            if not self._budget.take(cost, now, leave=_COMMAND_RESERVE):
                return self._budget.when(cost, now, leave=_COMMAND_RESERVE)
            outgoing += watch.start(now)
            self._expect(now)
        return watch.deadline

    def _expect(self, now: float) -> None:
        """Note that an answer is outstanding."""
        if self._waiting_since is None:
            self._waiting_since = now


def _due(poll: AircraftPoll) -> float:
    return poll.due


def _kind(data: bytes) -> str:
    """Name the kind of a malformed datagram: its tag, if it has one."""
    tag = data[:4]
    return tag.decode() if len(tag) == 4 and tag.isalnum() and tag.isascii() else 'no tag'
