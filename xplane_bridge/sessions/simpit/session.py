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

"""The device's side of a KerbalSimpit conversation. Time is passed in; there is no port."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from xplane_bridge.protocols import simpit
from xplane_bridge.protocols.errors import ProtocolError
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
from xplane_bridge.sessions.base import DEFAULT_LIFETIME, PeerAbsentError, Tickets
from xplane_bridge.sessions.simpit.advice import without_answer, without_telemetry
from xplane_bridge.sessions.simpit.axes import AXES
from xplane_bridge.sessions.simpit.commands import adapt, is_obeyed_anywhere
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
from xplane_bridge.sessions.simpit.generation import Generation
from xplane_bridge.sessions.simpit.groups import ActionReport
from xplane_bridge.sessions.simpit.outbox import Outbox
from xplane_bridge.sessions.simpit.registration import Registration, SILENCE

# Bytes that wait in drivers and adapters are older than our SYN: read and dropped before it.
_DRAIN = 0.05
# The device libraries wait 1.1 s for an answer.
_SYN_PERIOD = 1.0
_TRIES = 2
# Plugins write a packet in one go: a gap inside one means that its end is lost.
_STALL = 0.05
# Without registered telemetry a SYN asks who is there; plugins answer it in every scene. While
# that is all they answer, the game is in a menu, and is asked less often.
_LONGEST_SILENCE = 12.0
# A packet or two may still come after the game has said that it leaves the flight scene.
_STRAY = 0.5
# After a registration, telemetry would have come by now.
_REGISTERED = 1.0


class SimpitSession:
    """
    Shake hands with a plugin, keep channels registered, send commands.

    ``channels`` are names of the plugin's channels or ids of 3..254. ``profile`` is one of
    PROFILES, or 'auto': what the plugin does tells which (Generation). ``id_bytes``, at most 31,
    go with SYN and ACK. ``agx`` tells that the game has Action Groups Extended. ``line_rate`` is
    in bytes a second, a tenth of the baud rate. ``heartbeat`` is the time between echo requests
    in seconds. A command waits at most ``lifetime`` seconds. ``release_throttle``: release() and
    stop() also give the throttle to the player's lever, where the plugin can. ``name`` is what
    sentences call the port.

    Everything that sends raises PeerAbsentError while there is no game in the flight scene to
    take it, and ValueError, each with a sentence, if it must not be sent. Raise ValueError for a
    channel or a profile that does not exist.
    """

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
        framings: tuple[Framing, ...] = (chosen.framing,) if chosen else ('cobs', 'aa50')
        self._decoders = {framing: simpit.make_decoder(framing) for framing in framings}
        self._listening = framings
        self._counted: Framing = framings[-1]
        tickets = Tickets()
        self._outbox = Outbox(line_rate, self.statistics, tickets, lifetime)
        self._echoes = Echoes(heartbeat, self.statistics, tickets)
        self._report = ActionReport()
        self._urgent: list[bytes] = []
        self._expired: list[Event] = []
        self._open = self._active = self._connected = False
        self._bytes_at = 0.0
        self._deadline: float | None = None
        # The search: None when no SYN is to be sent or outstanding.
        self._syn_at: float | None = None
        self._syns = 0
        self._searching_since = 0.0
        self._silence = SILENCE
        # Telemetry, a handshake, and telemetry or the first handshake were last seen at.
        self._flow_at = self._shaken_at = self._telemetry_at = 0.0
        # Since when the game has left the flight scene, by its own word.
        self._left_at: float | None = None
        # How often the channels were registered without any telemetry.
        self._tries = 0
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
    def registered(self) -> tuple[int, ...]:
        """Return the ids of the channels registered now."""
        return self._registration.ids

    @property
    def unavailable(self) -> tuple[str, ...]:
        """Return the channels wished for that plugins of the profile in use do not send."""
        return self._registration.unavailable(self.profile)

    @property
    def expected(self) -> tuple[str, ...]:
        """Return which of the channels wished for should come in flight."""
        return self._registration.expected

    def missing(self, now: float) -> dict[str, tuple[float, bool]]:
        """
        Return which channels do not come although they should: since when, and if ever they came.

        Outside the flight scene nothing should come.
        """
        if self.peer_state is not PeerState.STREAMING:
            return {}
        return self._registration.missing(now)

    @property
    def round_trip(self) -> float | None:
        """Return how long the last echo took, in seconds; None if none came back yet."""
        return self._echoes.round_trip

    @property
    def taken(self) -> tuple[str, ...]:
        """Return the axes that the plugin forces upon the game for us."""
        return self._outbox.taken.names

    @property
    def framing(self) -> Counters:
        """Return what the decoder of the framing in use has counted."""
        return self._decoders[self._counted].counters

    @property
    def advice(self) -> str:
        """Return what the user should check, empty when all is well."""
        if self.peer_state is PeerState.AWAY:
            return without_answer(self._generation.chosen)
        return self.hint

    # Commands.

    def start(self, now: float) -> None:
        """Begin to talk."""
        self._active = True
        self._become(PeerState.UNKNOWN if self._open else PeerState.CLOSED)
        self._begin(now)

    def stop(self, now: float) -> None:
        """Deregister, give back the axes taken, and stop talking."""
        self.release(now)
        if self._connected:
            self._own(*self._registration.end())
        self._expired += self._echoes.abandon('the node was deactivated')
        self._active = False
        self._disconnect()
        self._become(PeerState.UNKNOWN)

    def set_channels(self, channels: Sequence[str | int], now: float) -> None:
        """Register these channels from now on, and deregister those that are not among them."""
        self._own(*self._registration.change(channels, now))
        if self._connected:
            self._flow_at = now

    def send(
        self, message: Message | Packet, now: float, *, what: str = '', awaited: bool = False
    ) -> int:
        """
        Send a command, or a raw packet; return its ticket.

        Custom action groups leave one a packet; of the values of an axis the newest leaves. A
        CommandDone tells of what was not sent, and of all that is ``awaited``; ``what`` names
        the command there.
        """
        return self.send_all((message,), now, what=what, awaited=awaited)

    def send_all(
        self, messages: Sequence[Message | Packet], now: float, *,
        groups: Mapping[ActionGroup, bool] | None = None, what: str = '', awaited: bool = False,
    ) -> int:
        """
        Send commands as send() does; if one of them is refused, none is sent.

        ``groups`` are action groups that shall be on or off: sent if the plugin reports another
        state, or none.
        """
        profile = self._check_present(messages, bool(groups))
        parts = [
            part for message in messages
            for part in adapt(message, profile, agx=self._agx, game=self.game)]
        parts += self._report.missing(groups or {}, now)
        return self._outbox.add(
            parts, profile, now, what=what or ', '.join(part.tag for part in parts),
            agx=self._agx, awaited=awaited)

    def ping(self, payload: bytes, now: float) -> int:
        """Send an echo request of 1..32 bytes; return the ticket of the EchoDone to come."""
        profile = self._check_connected()
        simpit.encode(profile, 'device', simpit.EchoRequest(payload))
        return self._echoes.add(bytes(payload), now)

    def release(self, now: float, axes: Collection[str] | None = None) -> None:
        """
        Give axes back to the game: those of ``axes`` that were taken, by default all.

        The throttle stays as it was last commanded unless all are given back, the user chose to
        release it, and the plugin can let go of it. A plugin that does not answer gets its due
        when it turns out to be the same one.
        """
        profile = self.profile
        if self._connected and profile is not None:
            self._urgent += self._outbox.give_back(
                profile, now, axes, throttle=axes is None and self._release_throttle)
        elif self._active:
            self._owed |= AXES if axes is None else frozenset(axes)

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
        if not self._active or (not self._connected and not self._syns):
            self.statistics.drained += len(data)
            return []
        self._bytes_at = now
        events: list[Event] = []
        for framing in self._listening:
            self._take(framing, self._decoders[framing].feed(data), now, events)
        return events

    def poll(self, now: float) -> list[tuple[str, bytes]]:
        """Return what to send now."""
        deadlines: list[float | None] = []
        if self._open and self._active:
            deadlines.append(self._expire_stalled(now))
            if self._generation.settled(self._counted, self.framing.noise_bytes, now):
                self._look(now)
            deadlines += [self._generation.deadline, self._watch_peer(now), self._shake_hands(now)]
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
            self._syn_at = self._searching_since = now + _DRAIN

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
        self._syn_at = None
        self._syns = 0
        self._silence = SILENCE
        self._left_at = None
        self.hint = ''
        self.game = None
        self._generation.forget()
        self._listening = tuple(self._decoders)
        for decoder in self._decoders.values():
            decoder.expire()

    def _shake_hands(self, now: float) -> float | None:
        """Send a SYN when it is time; return when the next is."""
        if self._syn_at is None or now < self._syn_at:
            return self._syn_at
        unanswered = self._syns >= _TRIES * len(self._listening)
        # Telemetry that came back meanwhile is an answer too, while it comes.
        quiet = max(self._searching_since, now - SILENCE)
        if unanswered and self.peer_state is not PeerState.AWAY and (
                not self._connected or self._flow_at < quiet):
            self._disconnect(away=self._connected)
            self._expired += self._echoes.abandon('the plugin stopped responding')
            self._become(PeerState.AWAY)
        framing = self._listening[self._syns % len(self._listening)]
        syn = simpit.encode_frame(framing, Packet(
            0, Handshake(HandshakeType.SYN, self._id_bytes).to_payload()))
        if framing == 'aa50' and len(self._listening) > 1 and not syn.endswith(b'\0'):
            # Ends it as well for a plugin of the other framing, which would lose the next packet.
            syn += b'\0'
        self._urgent.append(syn)
        self.statistics.syns += 1
        self._syns += 1
        # Each framing in its turn about once a second.
        self._syn_at = now + _SYN_PERIOD / len(self._listening)
        self._generation.asked({
            name: decoder.counters.noise_bytes for name, decoder in self._decoders.items()}, now)
        return self._syn_at

    def _synack(self, framing: Framing, message: Handshake, now: float) -> list[Event]:
        """Complete the handshake: ACK, then the channels wished for."""
        if self._syn_at is None or not self._syns:
            # The answer to an earlier SYN, late.
            self.statistics.unexpected += 1
            return []
        profile = self._generation.answered(framing, now)
        self._listening = (framing,)
        self._counted = framing
        self.game = Game.KSP2 if message.rest[:1] == bytes((simpit.KSP2_ID,)) else Game.KSP1
        if not self._connected:
            self._meet(profile, now)
        self._syn_at = None
        self._syns = 0
        self._flow_at = self._shaken_at = now
        self.statistics.handshakes += 1
        self._urgent.append(simpit.encode(
            profile, 'device', Handshake(HandshakeType.ACK, self._id_bytes)))
        events = self._register(profile, now)
        if self.peer_state is not PeerState.STREAMING:
            events += self._change(PeerState.ANSWERING)
        return events

    def _meet(self, profile: Profile, now: float) -> None:
        """Begin with a plugin: give back what it is owed if it is the same, or else nothing."""
        self._echoes.reset(now)
        self._connected = True
        self._telemetry_at = now
        self._tries = 0
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
        self._tries += 1
        assert self.game is not None
        return [Connected(profile.name, self.game)]

    def _own(self, *messages: Message) -> None:
        """Send messages of the session's own, before all commands."""
        if self.profile is not None:
            self._urgent += [
                simpit.encode(self.profile, 'device', message) for message in messages]

    # Which plugin it is, and how it seems.

    def _look(self, now: float) -> None:
        """Conclude what can be from answers of the plugin while no telemetry comes."""
        if not self._connected or self.profile is None:
            return
        generation = self._generation
        repeated = self._tries > 1 and now >= self._shaken_at + _REGISTERED
        found = generation.candidate(
            answer_size=self._echoes.answer_size, repeated=repeated, now=now)
        if found is not None:
            generation.adopt(found)
            self.hint = ''
            self._shaken_at = now
            self._tries = 0
            self._expired += self._register(found, now)
            return
        if not generation.confirmed and generation.padded == 1 and self._syn_at is None:
            # Noise may look like it once, hardly twice.
            self._syn_at = self._searching_since = now
        if generation.outside(
            streak=self._echoes.streak, since=self._telemetry_at, repeated=repeated,
            game=self.game, now=now,
        ):
            self._expired.append(ProfileKnown('v2.3', 'it echoes outside the flight scene'))
        if self.peer_state is PeerState.ANSWERING and now >= self._telemetry_at + SILENCE:
            profile, text = without_telemetry(
                self.profile, chosen=generation.chosen is not None,
                padded=generation.padded > 0, answer_size=self._echoes.answer_size)
            if text != self.hint:
                self.hint = text
                self._expired.append(ProfileHint(profile, text))

    def _watch_peer(self, now: float) -> float | None:
        """Notice silence and ask for a sign of life; return when to look again."""
        if not self._connected or self._syn_at is not None:
            return None
        # A missing echo says nothing: plugins before 2.3 echo in the flight scene only.
        if now < self._flow_at + self._silence:
            return self._flow_at + self._silence
        if self.peer_state is PeerState.STREAMING:
            self._become(PeerState.ANSWERING)
        self._silence = min(_LONGEST_SILENCE, 2.0 * self._silence)
        self._syn_at = self._searching_since = now
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
        if self._left_at is not None:
            return f'the game on {self._name} has left the flight scene'
        if self._telemetry_at <= self._shaken_at and not self.hint:
            return f'waiting for the first telemetry on {self._name}'
        return f'the game on {self._name} is not in the flight scene: no telemetry comes'

    def _check_connected(self) -> Profile:
        """Return the profile to send with; raise PeerAbsentError if there is nobody."""
        if not self._connected or self.profile is None:
            raise PeerAbsentError(f'not sent: {self._absence()}')
        return self.profile

    def _check_present(self, messages: Iterable[Message | Packet], groups: bool) -> Profile:
        """Return the profile to send with; raise PeerAbsentError if nothing obeys these now."""
        profile = self._check_connected()
        absence = self._absence()
        if absence and (groups or not self._generation.confirmed or not all(
                is_obeyed_anywhere(message, profile) for message in messages)):
            raise PeerAbsentError(f'not sent: {absence}')
        return profile

    # What is received.

    def _expire_stalled(self, now: float) -> float | None:
        """Give up packets whose end does not come; return when to look again."""
        for framing in self._listening:
            if self._decoders[framing].waiting:
                if now < self._bytes_at + _STALL:
                    return self._bytes_at + _STALL
                self._take(framing, self._decoders[framing].expire(), now, self._expired)
        return None

    def _take(
        self, framing: Framing, packets: Iterable[Packet], now: float, events: list[Event]
    ) -> None:
        """Take packets, and append the events that they cause."""
        for packet in packets:
            # A SYNACK before it in the same bytes may have settled on the other framing.
            if framing not in self._listening:
                return
            profile = self.profile or PROFILES['cobs' if framing == 'cobs' else 'v0']
            try:
                message = simpit.decode_payload(profile, 'plugin', packet)
            except ProtocolError as error:
                row = profile.find('plugin', packet.channel)
                assert row is not None
                self.statistics.malformed[row.name] += 1
                self.statistics.last_error = str(error)
                continue
            events += self._understand(framing, packet, message, now)

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
        if self.peer_state is not PeerState.ANSWERING or now < self._flow_at + _REGISTERED / 2:
            return
        self._generation.echo(now)
        if not self._generation.confirmed and self._tries < 2:
            self._own(*self._registration.repeat())
            self._tries += 1
            self._shaken_at = now
        self._look(now)

    def _heard_telemetry(
        self, packet: Packet, message: Message | Packet, now: float
    ) -> list[Event]:
        """Take a packet on a registered channel; it is a sign of life, and of the flight scene."""
        row = self._registration.rows[packet.channel]
        name = row.name if row else ''
        self._flow_at = self._telemetry_at = now
        self._silence = SILENCE
        self._tries = 0
        self.statistics.updates[name or f'channel {packet.channel}'] += 1
        self._registration.heard(packet.channel, now)
        events: list[Event] = []
        known = self._generation.telemetry(name)
        if known is not None:
            events.append(ProfileKnown(known.name, 'it tells of a vessel change'))
        shown = self._registration.shows(packet.channel)
        if shown:
            events.append(
                Telemetry(name, packet, None if isinstance(message, Packet) else message))
        events += self._heard_state(message, now)
        if self.profile is PROFILES['v1'] and not isinstance(message, simpit.ActionStatus):
            events += self._heard_quiet(now)
        return events

    def _heard_state(self, message: Message | Packet, now: float) -> list[Event]:
        """Take what a packet says about scene, vessel and action groups."""
        if isinstance(message, simpit.SceneChange):
            return self._change_scene(message, now)
        if isinstance(message, simpit.ActionStatus):
            self._report.heard(message.action_bits, now)
        elif isinstance(message, simpit.VesselChange):
            # The plugin goes on forcing the axes taken, now upon this vessel.
            self._report.forget()
            self._registration.refresh(now)
        if self._left_at is not None and now < self._left_at + _STRAY:
            return []
        return self._enter_flight(now)

    def _change_scene(self, message: simpit.SceneChange, now: float) -> list[Event]:
        """Take note that the flight scene is ready, or is being left: revert, load, menu."""
        # With the scene goes all that the plugin forces upon the game.
        self._outbox.taken.clear()
        events: list[Event] = []
        if message.scene or self.peer_state is PeerState.STREAMING:
            self._left_at = now
            events += self._change(PeerState.ANSWERING)
        if not message.scene:
            events += self._enter_flight(now)
        return events

    def _enter_flight(self, now: float) -> list[Event]:
        """Take note that the game is in the flight scene."""
        if self.peer_state is not PeerState.STREAMING and (
                self._left_at is not None or now >= self._shaken_at + SILENCE):
            self._registration.flight_began(now)
        self._left_at = None
        self.hint = ''
        return self._change(PeerState.STREAMING)

    def _heard_quiet(self, now: float) -> list[Event]:
        """Tell from the silence of v1 that no action group is on."""
        row = PROFILES['v1'].named('plugin', 'action_status')
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
