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

"""What keeps a device's conversation with a plugin going: handshake, registration, presence."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from xplane_bridge.protocols import simpit
from xplane_bridge.protocols.errors import ProtocolError
from xplane_bridge.protocols.foreign import printable
from xplane_bridge.protocols.simpit import (
    ActionGroup,
    Counters,
    Framing,
    Handshake,
    HandshakeType,
    Message,
    Packet,
    Profile,
    PROFILES,
)
from xplane_bridge.sessions.base import Tickets
from xplane_bridge.sessions.lifetimes import DEFAULT_LIFETIME
from xplane_bridge.sessions.simpit.advice import without_telemetry
from xplane_bridge.sessions.simpit.echo import Echoes
from xplane_bridge.sessions.simpit.events import (
    CHANNEL,
    Connected,
    Event,
    Game,
    PeerChanged,
    PeerState,
    ProfileHint,
    ProfileKnown,
    Statistics,
    Telemetry,
)
from xplane_bridge.sessions.simpit.flight import Flight
from xplane_bridge.sessions.simpit.generation import Generation
from xplane_bridge.sessions.simpit.groups import ActionReport
from xplane_bridge.sessions.simpit.outbox import Outbox
from xplane_bridge.sessions.simpit.registration import Registration, SILENCE
from xplane_bridge.sessions.simpit.search import Search

# Bytes that wait in drivers and adapters are older than our SYN: read and dropped before it.
_DRAIN = 0.05
# Without registered telemetry a SYN asks who is there; plugins answer it in every scene. While
# that is all they answer, the game is in a menu, and is asked less often.
_LONGEST_SILENCE = 12.0
# An echo that comes back this long after telemetry comes back without it.
_ECHO_ALONE = 0.5
# A plugin asks for one echo at a time; more answers than this do not wait to be written.
_MOST_ANSWERS = 32


class Conversation:
    """The link to a plugin, whatever its owner sends; SimpitSession tells of the arguments."""

    def __init__(
        self,
        channels: Sequence[str | int] = ('altitude',),
        *,
        profile: str = 'auto',
        id_bytes: bytes = b'xplane_bridge\0',
        agx: bool = False,
        line_rate: float = 11520.0,
        heartbeat: float = 1.0,
        lifetime: float = DEFAULT_LIFETIME,
        release_throttle: bool = False,
        name: str = 'the serial port',
    ) -> None:
        if profile != 'auto' and profile not in PROFILES:
            raise ValueError(
                f"profile '{profile}': must be auto, {', '.join(PROFILES)} (by plugin: "
                f"{', '.join(f'{p.name} {p.plugins}' for p in PROFILES.values())})")
        if len(id_bytes) >= simpit.MAX_PAYLOAD:
            raise ValueError(f'{len(id_bytes)} ID bytes, at most {simpit.MAX_PAYLOAD - 1} fit')
        self.statistics = Statistics()
        self.peer_state = PeerState.UNKNOWN
        self.game: Game | None = None
        self.hint = ''
        chosen = None if profile == 'auto' else PROFILES[profile]
        self._name = name
        self._id_bytes = bytes(id_bytes)
        self._agx = agx
        self._release_throttle = release_throttle
        self._generation = Generation(chosen)
        self._registration = Registration(channels, chosen)
        self._search = Search(
            (chosen.framing,) if chosen else ('cobs', 'aa50'), self._id_bytes)
        tickets = Tickets()
        self._outbox = Outbox(line_rate, self.statistics, tickets, lifetime)
        self._echoes = Echoes(heartbeat, self.statistics, tickets)
        self._report = ActionReport()
        self._flight = Flight(self._registration, self._report, self._outbox.taken)
        self._urgent: list[bytes] = []
        self._expired: list[Event] = []
        self._open = self._active = self._connected = False
        self._deadline: float | None = None
        # When telemetry or a handshake was last seen, and how long its silence is no matter.
        self._flow_at = 0.0
        self._silence = SILENCE
        # While the plugin does not answer: what it had registered, whether it has proved to be
        # the one that held our axes, and those that were to be given back meanwhile.
        self._remembered: frozenset[int] = frozenset()
        self._same = False
        self._owed: set[str] = set()

    # What the owner may ask at any time.

    @property
    def profile(self) -> Profile | None:
        """Return the profile in use; None with 'auto' until a plugin has answered."""
        return self._generation.profile


    @property
    def framing(self) -> Counters:
        """Return what the decoder of the framing in use has counted."""
        return self._search.counters


    # What the link calls.

    def opened(self, now: float) -> None:
        """Begin anew: the port has been opened, or opened again."""
        self._open = True
        self._become(PeerState.UNKNOWN)
        self._begin(now)

    def lost(self, now: float) -> None:
        """Take note that the port is gone."""
        self._open = False
        self._urgent.clear()
        self._expired += self._echoes.abandon('the serial port was lost')
        self._disconnect()
        self._become(PeerState.CLOSED)

    def next_deadline(self) -> float | None:
        """Return when poll() is due; known after poll()."""
        return self._deadline

    def expired(self) -> list[Event]:
        """Return the events that time or a call has caused, since the last call."""
        events, self._expired = self._expired, []
        return [*events, *self._outbox.ended()]

    def receive(self, channel: str, data: bytes, now: float) -> list[Event]:
        """Take bytes of the port; return the events that they complete."""
        self.statistics.received += len(data)
        if not self._active or (not self._connected and not self._search.count):
            self.statistics.drained += len(data)
            return []
        return self._take(self._search.feed(data, now), now)

    def poll(self, now: float) -> list[tuple[str, bytes]]:
        """Return what to send now."""
        deadlines: list[float | None] = []
        if self._open and self._active:
            self._expired += self._take(self._search.expire(now), now)
            if self._generation.settled(self._search.framing, self.framing.noise_bytes, now):
                self._look(now)
            deadlines += [
                self._search.deadline, self._generation.deadline, self._watch_peer(now),
                self._shake_hands(now)]
            if self._connected and self.profile is not None:
                deadlines.append(self._echo(self.profile, now))
                if self.peer_state is PeerState.STREAMING:
                    self._own(*self._registration.due(now))
                    deadlines.append(self._registration.deadline)
                commands, later = self._outbox.due(self.profile, now)
                self._urgent += commands
                deadlines.append(later)
        if self._expired:
            deadlines.append(now)
        self._deadline = min((at for at in deadlines if at is not None), default=None)
        outgoing = [(CHANNEL, data) for data in self._urgent] if self._open else []
        self._urgent.clear()
        return outgoing

    # The handshake.

    def _begin(self, now: float) -> None:
        """Search for a plugin from the start."""
        self._disconnect()
        self._expired += self._echoes.abandon('the conversation began anew')
        if self._open and self._active:
            self._search.begin(now + _DRAIN)

    def _disconnect(self, *, away: bool = False) -> None:
        """Forget the plugin: the next one may be another; ``away``: it may be the same too."""
        self._remembered = frozenset(self._registration.ids) if away else frozenset()
        self._same = False
        self._owed.clear()
        if not away:
            self._outbox.taken.clear()
        self._connected = False
        self._registration.forget()
        self._report.forget()
        self._search.reset()
        self._silence = SILENCE
        self.hint = ''
        self.game = None
        self._generation.forget()

    def _shake_hands(self, now: float) -> float | None:
        """Send a SYN when it is time; return when the next is."""
        search = self._search
        if search.at is None or now < search.at:
            return search.at
        # Telemetry that came back meanwhile is an answer too, while it comes.
        quiet = max(search.since, now - SILENCE)
        if search.is_unanswered and self.peer_state is not PeerState.AWAY and (
                not self._connected or self._flow_at < quiet):
            self._disconnect(away=self._connected)
            self._expired += self._echoes.abandon('the plugin stopped responding')
            self._become(PeerState.AWAY)
        self._urgent.append(search.syn(now))
        self.statistics.syns += 1
        self._generation.asked(search.noise, now)
        return search.at

    def _synack(self, framing: Framing, message: Handshake, now: float) -> list[Event]:
        """Complete the handshake: ACK, then the channels wished for."""
        if not self._search.count:
            # The answer to an earlier SYN, late.
            self.statistics.unexpected += 1
            return []
        profile = self._generation.answered(framing, now)
        self._search.found(framing)
        self.game = Game.KSP2 if message.rest[:1] == bytes((simpit.KSP2_ID,)) else Game.KSP1
        if not self._connected:
            self._meet(profile, now)
        self._flow_at = now
        self.statistics.handshakes += 1
        self._urgent.append(simpit.encode(
            Handshake(HandshakeType.ACK, self._id_bytes), 'bridge', profile))
        events = self._register(profile, now)
        if self.peer_state is not PeerState.STREAMING:
            events += self._change(PeerState.ANSWERING)
        return events

    def _meet(self, profile: Profile, now: float) -> None:
        """Begin with a plugin: give back what it is owed if it is the same, or else nothing."""
        self._echoes.reset(now)
        self._connected = True
        self._flight.meet(now)
        if self._same:
            self._urgent += self._outbox.give_back(profile, now, self._owed)
        else:
            self._outbox.taken.clear()
        self._remembered = frozenset()
        self._same = False
        self._owed.clear()

    def _register(self, profile: Profile, now: float) -> list[Event]:
        """Register all that is wished for, as the profile has it."""
        self._own(*self._registration.begin(profile, now))
        self._flight.registered(now)
        assert self.game is not None
        return [Connected(profile.name, self.game)]

    def _own(self, *messages: Message) -> None:
        """Send messages of the session's own, before all commands."""
        if self.profile is not None:
            self._urgent += [
                simpit.encode(message, 'bridge', self.profile) for message in messages]

    # Which plugin it is, and how it seems.

    def _look(self, now: float) -> None:
        """Conclude what can be from answers of the plugin while no telemetry comes."""
        if not self._connected or self.profile is None:
            return
        generation, repeated = self._generation, self._flight.is_silent(now)
        found = generation.candidate(
            answer_size=self._echoes.answer_size, repeated=repeated, now=now)
        if found is not None:
            generation.adopt(found)
            self.hint = ''
            self._flight.meet(now)
            self._expired += self._register(found, now)
            return
        if not generation.confirmed and generation.padded == 1 and self._search.at is None:
            # Noise may look like it once, hardly twice.
            self._search.begin(now)
        if generation.outside(
            streak=self._echoes.streak, since=self._flight.telemetry_at, repeated=repeated,
            game=self.game, now=now,
        ):
            self._expired.append(ProfileKnown('v2.3', 'it echoes outside the flight scene'))
        if self.peer_state is PeerState.ANSWERING and (
                now >= self._flight.telemetry_at + SILENCE):
            profile, text = without_telemetry(
                self.profile, chosen=generation.chosen is not None,
                padded=generation.padded > 0, answer_size=self._echoes.answer_size)
            if text != self.hint:
                self.hint = text
                self._expired.append(ProfileHint(profile, text))

    def _watch_peer(self, now: float) -> float | None:
        """Notice silence and ask for a sign of life; return when to look again."""
        if not self._connected or self._search.at is not None:
            return None
        # A missing echo says nothing: plugins before 2.3 echo in the flight scene only.
        if now < self._flow_at + self._silence:
            return self._flow_at + self._silence
        if self.peer_state is PeerState.STREAMING:
            self._become(PeerState.ANSWERING)
        self._silence = min(_LONGEST_SILENCE, 2.0 * self._silence)
        self._search.begin(now)
        return None

    def _change(self, state: PeerState) -> list[Event]:
        if state is self.peer_state:
            return []
        self.peer_state = state
        if state is not PeerState.STREAMING:
            self._report.forget()
            self._outbox.drop(self._absence() or state.value)
        return [PeerChanged(state)]

    def _become(self, state: PeerState) -> None:
        self._expired += self._change(state)

    def _absence(self) -> str:
        """Say why nothing obeys commands now; empty if something does."""
        if not self._active:
            return 'the session is not started'
        if not self._open:
            return f'{self._name} is not open'
        if not self._connected:
            if self.peer_state is PeerState.AWAY:
                return f'nothing answers on {self._name}'
            return f'waiting for the first answer on {self._name}'
        if not self._generation.confirmed:
            return (
                "with profile 'auto' nothing is sent before it shows which of the older plugins "
                f'answers on {self._name}: to others the same numbers mean something else. '
                f'{self.hint or "Set the profile to know it at once"}')
        if self.peer_state is PeerState.STREAMING:
            return ''
        return self._flight.absence(self.hint).format(self._name)

    # What is received.

    def _take(self, packets: Iterable[tuple[Framing, Packet]], now: float) -> list[Event]:
        """Return the events that packets cause."""
        events: list[Event] = []
        for framing, packet in packets:
            profile = self.profile or PROFILES['cobs' if framing == 'cobs' else 'v0']
            try:
                message = simpit.decode(packet, 'peer', profile)
            except ProtocolError as error:
                row = profile.find('peer', packet.channel)
                assert row is not None
                self.statistics.malformed.add(row.name)
                self.statistics.last_error = str(error)
                continue
            events += self._understand(framing, packet, message, now)
        return events

    def _understand(
        self, framing: Framing, packet: Packet, message: Message | Packet, now: float
    ) -> list[Event]:
        """Return the events that one packet causes."""
        if isinstance(message, Handshake):
            if message.handshake == HandshakeType.SYNACK:
                return self._synack(framing, message, now)
        elif not self._connected:
            # Nobody but the plugin that we registered with has a reason to send this.
            self._same |= packet.channel in self._remembered
        elif isinstance(message, simpit.EchoRequest):
            if len(self._urgent) < _MOST_ANSWERS:
                self._own(simpit.EchoResponse(message.payload))
                return []
        elif isinstance(message, simpit.EchoResponse):
            matches, done = self._echoes.receive(message.payload, now)
            if matches:
                self._heard_echo(now)
                return [done] if done else []
        elif packet.channel in self._registration.rows:
            return self._heard_telemetry(packet, message, now)
        self.statistics.unexpected += 1
        return []

    def _heard_echo(self, now: float) -> None:
        """Draw conclusions from an echo that comes back while there is no telemetry."""
        if self.peer_state is not PeerState.ANSWERING or now < self._flow_at + _ECHO_ALONE:
            return
        self._generation.echo(now)
        if not self._generation.confirmed and self._flight.tries < 2:
            self._own(*self._registration.repeat())
            self._flight.registered(now)
        self._look(now)

    def _heard_telemetry(
        self, packet: Packet, message: Message | Packet, now: float
    ) -> list[Event]:
        """Take a packet on a registered channel; it is a sign of life, and of the flight scene."""
        row = self._registration.rows[packet.channel]
        name = row.name if row else ''
        if isinstance(message, simpit.SphereOfInfluence | simpit.VesselName):
            message = replace(message, text=printable(message.text))
        self._flow_at = now
        self._silence = SILENCE
        self.statistics.updates[name or f'channel {packet.channel}'] += 1
        self._registration.heard(packet.channel, now)
        events: list[Event] = []
        known = self._generation.telemetry(name)
        if known is not None:
            events.append(ProfileKnown(known.name, 'it tells of a vessel change'))
        if self._registration.shows(packet.channel):
            events.append(
                Telemetry(name, packet, None if isinstance(message, Packet) else message))
        flying = self.peer_state is PeerState.STREAMING
        for in_flight in self._flight.heard(message, now, flying=flying):
            events += self._change(PeerState.STREAMING if in_flight else PeerState.ANSWERING)
            self.hint = ''
        if self.profile is PROFILES['v1'] and not isinstance(message, simpit.ActionStatus):
            events += self._heard_quiet(now)
        return events

    def _heard_quiet(self, now: float) -> list[Event]:
        """Tell from the silence of v1 that no action group is on."""
        row = PROFILES['v1'].named('peer', 'action_status')
        if row.id not in self._registration.rows or not self._report.heard_other(now):
            return []
        return [Telemetry(row.name, None, simpit.ActionStatus(ActionGroup(0)))]

    def _echo(self, profile: Profile, now: float) -> float:
        """Run the heartbeat and the user's echoes; return when to look again."""
        done = self._echoes.give_up(now)
        if done is not None:
            self._expired.append(done)
        if self._echoes.streak <= -2:
            self._generation.doubt()
        # How much comes back of a long one tells plugins 2.0 and 2.1 from older ones.
        long = profile.framing == 'aa50' and self._echoes.answer_size is None
        payload = self._echoes.start(now, long=long)
        if payload is not None:
            self._own(simpit.EchoRequest(payload))
        return self._echoes.deadline
