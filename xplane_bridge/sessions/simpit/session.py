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

from collections.abc import Iterable, Sequence

from xplane_bridge.protocols import simpit
from xplane_bridge.protocols.errors import ProtocolError
from xplane_bridge.protocols.simpit import (
    Channel,
    Counters,
    Deregister,
    Framing,
    Handshake,
    HandshakeType,
    Message,
    Packet,
    Profile,
    PROFILES,
    Register,
)
from xplane_bridge.sessions.simpit.advice import without_answer, without_telemetry
from xplane_bridge.sessions.simpit.commands import adapt, Outbox
from xplane_bridge.sessions.simpit.echo import Echoes
from xplane_bridge.sessions.simpit.events import (
    CHANNEL,
    Connected,
    Event,
    Game,
    PeerChanged,
    PeerState,
    ProfileHint,
    Statistics,
    Telemetry,
)

# Bytes that wait in drivers and adapters are older than our SYN: read and dropped before it.
_DRAIN = 0.05
# The device libraries wait 1.1 s for an answer.
_SYN_PERIOD = 1.0
_TRIES = 2
# Plugins write a packet in one go: a gap inside one means that its end is lost (wire notes, 6).
_STALL = 0.05

# Without registered telemetry for this long, a SYN asks who is there; plugins answer it in every
# scene. While that is all they answer, the game is in a menu, and is asked less often.
_SILENCE = 2.0
_LONGEST_SILENCE = 12.0
# What every plugin that has them sends all the time in flight, whatever is flown.
_STEADY = frozenset(('altitude', 'apsides', 'apsides_time', 'orbit', 'velocities'))

# An earlier run that crashed leaves its registrations behind in plugins before 2.0, one copy a
# run, and a deregistration removes one copy. 2.1.0 and 2.1.1 ignore a registration after a SYN
# unless a deregistration precedes it (wire notes, 2.5).
_COPIES = {'v0': 4, 'v1': 4, 'v2': 1, 'cobs': 0}


class SimpitSession:
    """
    Shake hands with a plugin, keep channels registered, send commands.

    ``channels`` are names of the plugin's channels or ids of 3..254. ``profile`` is one of
    PROFILES, or 'auto': the answer to the handshake tells cobs from the older framing, for which
    v0 is taken. ``id_bytes``, at most 31, go with SYN and ACK. ``agx`` tells that the game has
    Action Groups Extended. ``line_rate`` is in bytes a second, a tenth of the baud rate.
    ``heartbeat`` is the time between echo requests in seconds.

    Everything that sends raises ValueError with a sentence if it must not be sent. Raise
    ValueError for a channel or a profile that does not exist.
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
        self._chosen = None if profile == 'auto' else PROFILES[profile]
        self._profile = self._chosen
        self._confirmed = self._chosen is not None
        self._id_bytes = bytes(id_bytes)
        self._agx = agx
        self._wishes: tuple[str | int, ...] = ()
        self._check(channels)
        self._wishes = tuple(channels)
        self._registered: dict[int, Channel | None] = {}
        framings: tuple[Framing, ...] = (
            (self._chosen.framing,) if self._chosen else ('cobs', 'aa50'))
        self._decoders = {framing: simpit.make_decoder(framing) for framing in framings}
        self._listening = framings
        self._counted: Framing = framings[-1]
        self._outbox = Outbox(line_rate, self.statistics)
        self._echoes = Echoes(heartbeat, self.statistics)
        self._urgent: list[bytes] = []
        self._expired: list[Event] = []
        self._open = self._active = self._connected = False
        self._bytes_at = 0.0
        self._deadline: float | None = None
        # The search: None when no SYN is to be sent or outstanding.
        self._syn_at: float | None = None
        self._syns = 0
        self._searching_since = 0.0
        self._noise_before = 0
        self._flow_at = 0.0
        self._silence = _SILENCE

    # What the owner may ask at any time.

    @property
    def profile(self) -> Profile | None:
        """Return the profile in use; None with 'auto' until a plugin has answered."""
        return self._profile

    @property
    def registered(self) -> tuple[int, ...]:
        """Return the ids of the channels registered now."""
        return tuple(sorted(self._registered))

    @property
    def unavailable(self) -> tuple[str, ...]:
        """Return the channels wished for that plugins of the profile in use do not send."""
        if self._profile is None:
            return ()
        return tuple(
            wish for wish in self._wishes
            if isinstance(wish, str) and _find(self._profile, wish) is None)

    @property
    def round_trip(self) -> float | None:
        """Return how long the last echo took, in seconds; None if none came back yet."""
        return self._echoes.round_trip

    @property
    def taken(self) -> frozenset[str]:
        """Return the axis channels that release() would give back."""
        return self._outbox.taken

    @property
    def framing(self) -> Counters:
        """Return what the decoder of the framing in use has counted."""
        return self._decoders[self._counted].counters

    @property
    def advice(self) -> str:
        """Return what the user should check, empty when all is well."""
        return without_answer(self._chosen) if self.peer_state is PeerState.AWAY else self.hint

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
            self._deregister(self._registered, 1)
        self._expired += self._echoes.abandon('the node was deactivated')
        self._active = False
        self._disconnect()
        self._become(PeerState.UNKNOWN)

    def set_channels(self, channels: Sequence[str | int], now: float) -> None:
        """Register these channels from now on, and deregister those that are not among them."""
        self._check(channels)
        self._wishes = tuple(channels)
        if not self._connected:
            return
        wanted = self._wanted()
        gone = [channel_id for channel_id in self._registered if channel_id not in wanted]
        new = [channel_id for channel_id in wanted if channel_id not in self._registered]
        self._deregister(gone, 1)
        self._register(new)
        self._registered = wanted
        self._flow_at = now

    def send(self, message: Message | Packet, now: float) -> None:
        """
        Send a command, or a raw packet.

        Custom action groups leave one a packet; of the values of an axis the newest leaves.
        """
        self.send_all((message,), now)

    def send_all(self, messages: Iterable[Message | Packet], now: float) -> None:
        """Send commands as send() does; if one of them is refused, none is sent."""
        profile = self._ready()
        if not self._confirmed:
            raise ValueError(
                "with profile 'auto' nothing is sent before altitude has come as from plugins "
                '0.6 and 0.7: to others the same numbers mean something else. '
                f'{self.hint or "Set the profile to send at once"}')
        parts = [
            part for message in messages
            for part in adapt(message, profile, agx=self._agx, game=self.game)]
        self._outbox.add(parts, profile, agx=self._agx)

    def ping(self, payload: bytes, now: float) -> int:
        """Send an echo request of 1..32 bytes; return the ticket of the EchoDone to come."""
        simpit.encode(self._ready(), 'device', simpit.EchoRequest(payload))
        return self._echoes.add(bytes(payload), now)

    def release(self, now: float) -> None:
        """
        Give the axes taken back to the game.

        A throttle cannot be given back before plugin 2.2 and stays as it is.
        """
        if self._connected and self._profile is not None:
            self._urgent += self._outbox.release(self._profile)
        self._outbox.forget()

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
        return events

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
            deadlines.append(self._watch_peer(now))
            deadlines.append(self._shake_hands(now))
            if self._connected and self._profile is not None:
                deadlines.append(self._echo(self._profile, now))
                commands, later = self._outbox.due(self._profile, now)
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

    def _disconnect(self) -> None:
        """Forget the plugin: the next one may be another."""
        self._connected = False
        self._registered = {}
        self._outbox.forget()
        self._syn_at = None
        self._syns = 0
        self._silence = _SILENCE
        self.hint = ''
        self.game = None
        self._profile = self._chosen
        self._confirmed = self._chosen is not None
        self._listening = tuple(self._decoders)
        for decoder in self._decoders.values():
            decoder.expire()

    def _shake_hands(self, now: float) -> float | None:
        """Send a SYN when it is time; return when the next is."""
        if self._syn_at is None or now < self._syn_at:
            return self._syn_at
        unanswered = self._syns >= _TRIES * len(self._listening)
        if unanswered and self.peer_state is not PeerState.AWAY and (
                not self._connected or self._flow_at < self._searching_since):
            self._disconnect()
            self._expired += self._echoes.abandon('the plugin answers no more')
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
        self._noise_before = self._decoders[framing].counters.noise_bytes
        return self._syn_at

    def _synack(self, framing: Framing, message: Handshake, now: float) -> list[Event]:
        """Complete the handshake: ACK, then the channels wished for."""
        if self._syn_at is None or not self._syns:
            # The answer to an earlier SYN, late.
            self.statistics.unexpected += 1
            return []
        if self._chosen is None:
            self._profile = PROFILES['cobs' if framing == 'cobs' else 'v0']
            self._confirmed |= framing == 'cobs'
        profile = self._profile
        assert profile is not None
        self._listening = (framing,)
        self._counted = framing
        self.game = Game.KSP2 if message.rest[:1] == bytes((simpit.KSP2_ID,)) else Game.KSP1
        if not self._connected:
            self._echoes.reset(now)
        self._connected = True
        self._syn_at = None
        self._syns = 0
        self._flow_at = now
        self.statistics.handshakes += 1
        self._urgent.append(simpit.encode(
            profile, 'device', Handshake(HandshakeType.ACK, self._id_bytes)))
        self._deregister((row.id for row in registrable(profile)), _COPIES[profile.name])
        self._registered = self._wanted()
        self._register(self._registered)
        events: list[Event] = [Connected(profile.name, self.game)]
        if self.peer_state is not PeerState.STREAMING:
            events += self._change(PeerState.ANSWERING)
        return events

    # Registration.

    def _check(self, channels: Iterable[str | int]) -> None:
        """Raise ValueError for a channel that the profile, or with 'auto' every one, lacks."""
        for wish in channels:
            if isinstance(wish, int):
                if not 3 <= wish <= simpit.MAX_CHANNEL:
                    raise ValueError(f'channel {wish}: must be 3..{simpit.MAX_CHANNEL}')
            elif self._chosen is not None:
                row = self._chosen.named('plugin', wish)
                if row not in registrable(self._chosen):
                    raise ValueError(
                        f'channel {wish}: plugins {self._chosen.plugins} never send it')
            elif all(_find(profile, wish) is None for profile in PROFILES.values()):
                raise ValueError(f'channel {wish}: no plugin has a channel of that name to give')

    def _wanted(self) -> dict[int, Channel | None]:
        """Return the channels wished for that the profile has, by id."""
        wanted: dict[int, Channel | None] = {}
        profile = self._profile
        if profile is not None:
            for wish in self._wishes:
                if isinstance(wish, int):
                    wanted[wish] = profile.find('plugin', wish)
                elif (row := _find(profile, wish)) is not None:
                    wanted[row.id] = row
        return wanted

    def _register(self, ids: Iterable[int]) -> None:
        for part in _slices([*ids]):
            self._own(Register(part))

    def _deregister(self, ids: Iterable[int], copies: int) -> None:
        for part in _slices([*ids] * copies):
            self._own(Deregister(part))

    def _own(self, message: Message) -> None:
        """Send a message of the session's own, before all commands."""
        if self._profile is not None:
            self._urgent.append(simpit.encode(self._profile, 'device', message))

    # How the peer seems.

    def _watch_peer(self, now: float) -> float | None:
        """Notice silence and ask for a sign of life; return when to look again."""
        if not self._connected or self._syn_at is not None:
            return None
        # A missing echo says nothing: plugins before 2.3 echo in the flight scene only.
        if now < self._flow_at + self._silence:
            return self._flow_at + self._silence
        if self.peer_state is PeerState.STREAMING:
            self._become(PeerState.ANSWERING)
        self._expect_telemetry()
        self._silence = min(_LONGEST_SILENCE, 2.0 * self._silence)
        self._syn_at = self._searching_since = now
        return None

    @property
    def _ticking(self) -> bool:
        """Tell whether a registered channel should come regularly."""
        return any(row is not None and row.name in _STEADY for row in self._registered.values())

    def _expect_telemetry(self) -> None:
        """Say why registered telemetry may stay away, if it does."""
        if self._profile is None or not self._ticking:
            return
        noise = self._decoders[self._profile.framing].counters.noise_bytes - self._noise_before
        profile, text = without_telemetry(
            self._profile, chosen=self._chosen is not None, noise=noise,
            answer_size=self._echoes.answer_size)
        if text != self.hint:
            self.hint = text
            self._expired.append(ProfileHint(profile, text))

    def _flows(self, row: Channel | None, now: float) -> list[Event]:
        """Take note of telemetry; a channel of the profile's confirms the profile."""
        self._flow_at = now
        self._silence = _SILENCE
        self._confirmed |= row is not None
        self.hint = ''
        return self._change(PeerState.STREAMING)

    def _change(self, state: PeerState) -> list[Event]:
        if state is self.peer_state:
            return []
        self.peer_state = state
        return [PeerChanged(state)]

    def _become(self, state: PeerState) -> None:
        self._expired += self._change(state)

    def _ready(self) -> Profile:
        """Return the profile to send with; raise ValueError when there is nobody to send to."""
        if not self._connected or self._profile is None:
            state = self.peer_state.value if self._active else 'the session is not started'
            raise ValueError(f'nothing can be sent: {state}')
        return self._profile

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
            profile = self._profile or PROFILES['cobs' if framing == 'cobs' else 'v0']
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
            pass
        elif isinstance(message, simpit.EchoRequest):
            self._own(simpit.EchoResponse(message.payload))
            return []
        elif isinstance(message, simpit.EchoResponse):
            matches, done = self._echoes.receive(message.payload, now)
            if matches:
                if not self._ticking:
                    self._flow_at = now
                elif self.peer_state is PeerState.ANSWERING and self.hint:
                    self._expect_telemetry()
                return [done] if done else []
        elif packet.channel in self._registered:
            row = self._registered[packet.channel]
            name = row.name if row else ''
            self.statistics.updates[name or f'channel {packet.channel}'] += 1
            return [
                *self._flows(row, now),
                Telemetry(name, packet, None if isinstance(message, Packet) else message)]
        self.statistics.unexpected += 1
        return []

    # What is sent.

    def _echo(self, profile: Profile, now: float) -> float:
        """Run the heartbeat and the user's echoes; return when to look again."""
        done = self._echoes.give_up(now)
        if done is not None:
            self._expired.append(done)
        # How much comes back of a long one tells plugins 2.0 and 2.1 from older ones.
        long = profile.framing == 'aa50' and self._echoes.answer_size is None
        payload = self._echoes.start(now, long=long)
        if payload is not None:
            self._own(simpit.EchoRequest(payload))
        return self._echoes.deadline


def registrable(profile: Profile) -> tuple[Channel, ...]:
    """Return the channels that plugins of a profile send once they are registered."""
    return tuple(
        row for row in profile.channels
        if row.sender == 'plugin' and row.sent not in ('request', 'never'))


def _find(profile: Profile, name: str) -> Channel | None:
    """Return the channel of this name that the profile's plugins send, if they do."""
    return next((row for row in registrable(profile) if row.name == name), None)


def _slices(ids: Sequence[int]) -> Iterable[bytes]:
    """Cut ids into payloads."""
    for start in range(0, len(ids), simpit.MAX_PAYLOAD):
        yield bytes(ids[start:start + simpit.MAX_PAYLOAD])
