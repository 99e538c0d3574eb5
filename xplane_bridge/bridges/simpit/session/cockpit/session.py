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


"""The plugin's side towards a cockpit: what the cockpit would receive from the game itself."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
import re
from typing import Any

from xplane_bridge.bridges.protocols.errors import ProtocolError
from xplane_bridge.bridges.sessions.base import Address, Outgoing, PeerState, Session
from xplane_bridge.bridges.sessions.budget import Budget
from xplane_bridge.bridges.simpit import protocol as simpit
from xplane_bridge.bridges.simpit.protocol import (
    Channel,
    Framing,
    Handshake,
    HandshakeType,
    Packet,
    Profile,
    PROFILES,
    SimpitMessage,
)
from xplane_bridge.bridges.simpit.session.cockpit.events import (
    CockpitCommand,
    CockpitLeft,
    CockpitStatistics,
    CockpitWants,
)
from xplane_bridge.bridges.simpit.session.cockpit.peer import CockpitPeer
from xplane_bridge.bridges.simpit.session.dialect import AUTO, chosen_profile
from xplane_bridge.bridges.simpit.session.events import Presence
from xplane_bridge.bridges.simpit.session.requests.channels import registrable
from xplane_bridge.bridges.simpit.session.search import Search

# Which profile a cockpit speaks, and its channels by meaning.

# What the device libraries of 0.6 and 0.7 send behind SYN.
_OLD_ID = bytes((simpit.KSP1_ID,))
_VERSION = re.compile(rb'(\d{1,3})\.(\d{1,3})')
# The library of 1.4.0 calls itself 1.3.0, and so does that of 2.1.0.
_SHARED_VERSION = (1, 3)
_ACTION_STATUS_OF_V1 = PROFILES['v1'].named('peer', 'action_status').id
_NEW_IN_V2 = frozenset(
    row.id for row in PROFILES['v2'].channels if row.sender == 'peer'
    and PROFILES['v1'].find('peer', row.id) is None)


def recognised(
    framing: Framing, rest: bytes, registered: Collection[int], game: Profile | None
) -> Profile:
    """
    Return the profile of a cockpit, by its framing, its SYN and the channels it has registered.

    ``rest`` is what follows the type in its SYN. Where that leaves several, it is the game's
    profile, since the cockpit was made for that; or else the newest of them.
    """
    if framing == 'cobs':
        return game if game is not None and game.framing == 'cobs' else PROFILES['cobs']
    if rest == _OLD_ID:
        return PROFILES['v0']
    if _ACTION_STATUS_OF_V1 in registered:
        return PROFILES['v1']
    if not _NEW_IN_V2.isdisjoint(registered):
        return PROFILES['v2']
    version = _VERSION.match(rest)
    if version and (int(version[1]), int(version[2])) < _SHARED_VERSION:
        return PROFILES['v1']
    return PROFILES['v1'] if game is PROFILES['v1'] else PROFILES['v2']


def named(profile: Profile, name: str) -> Channel | None:
    """Return the channel of this name that the profile's plugins send, if they do."""
    return next((row for row in registrable(profile) if row.name == name), None)


def meaning(profile: Profile, channel_id: int, game: Profile | None) -> str | int | None:
    """
    Return the name of a cockpit's telemetry channel.

    An id without a name has the same meaning in the game's profile only if that is the same one;
    otherwise the result is None.
    """
    row = profile.find('peer', channel_id)
    if row is not None:
        return row.name if row in registrable(profile) else None
    return channel_id if game is profile and channel_id not in (0, 1, 2) else None


def translated(name: str, packet: Packet, profile: Profile, game: Profile | None) -> Packet | None:
    """
    Return a packet of the game for a cockpit, with the cockpit's number; None if it has none.

    The payload is as received. Messages have grown at their end: one that is longer than any
    that the cockpit knows is cut there, one that is shorter than all is not for it.
    """
    if not name:
        known = game is profile and profile.find('peer', packet.channel) is None
        return packet if known else None
    row = named(profile, name)
    if row is None:
        return None
    payload = packet.payload
    if row.sizes and len(payload) not in row.sizes:
        size = max((size for size in row.sizes if size < len(payload)), default=0)
        payload = payload[:size]
    return Packet(row.id, payload) if payload else None


_CHANNEL = 'serial'
# A device requests one answer at a time; no more than this are queued.
_MOST_ANSWERS = 32
# Bytes that may be sent at once; the buffer of an Arduino has 64 and is emptied continuously.
_BURST = 128
_LOWEST_RATE = 120.0


class CockpitSession(Session):
    """
    Be the plugin for one cockpit, as long as there is a game.

    ``profile`` is one of PROFILES, or 'auto' to recognise it by what the cockpit says.
    ``line_rate`` is in bytes per second. The owner tells by set_game() what the game is, passes
    telemetry on by forward(), and settles the events: what the cockpit wants, its commands, and
    that it has left. Telemetry that the line is too slow for is replaced by the next value of its
    channel.

    Like a plugin it has no gate: a cockpit that registers without a handshake is served, if its
    profile was set. Unlike a plugin it survives everything that a device may send.
    """

    sentences = {
        PeerState.UNKNOWN: 'not started',
        PeerState.CLOSED: 'its serial port is not open: unplugged?',
        PeerState.AWAY: 'waiting for its handshake: reset the board if it is running',
        PeerState.HELD: 'it waits for the game',
        PeerState.ANSWERING: 'connected; it has registered no channel',
        PeerState.STREAMING: 'connected',
    }

    statistics: CockpitStatistics

    def __init__(self, *, profile: str = AUTO, line_rate: float = 11520.0) -> None:
        super().__init__(CockpitStatistics())
        self.chosen = chosen_profile(profile)
        self.game = Presence()
        self.registered: dict[int, None] = {}
        self._framing: Framing | None = None
        self._stream = Search(
            (self.chosen.framing,) if self.chosen else ('cobs', 'aa50'), b'')
        self._rest = b''
        self._peer = CockpitPeer()
        # Whether it may register, and has done or commanded anything; whether a SYN waits for the
        # game.
        self._greeted = False
        self._served = False
        self._asked = False
        self._wanted: tuple[str | int, ...] = ()
        self._answers: list[bytes] = []
        self._telemetry: dict[int, bytes] = {}
        self._budget = Budget(max(line_rate, _LOWEST_RATE), _BURST)

    # Called by the owner.

    @property
    def profile(self) -> Profile | None:
        """Return the profile that the cockpit speaks, None while it is unknown."""
        if self.chosen is not None or self._framing is None:
            return self.chosen
        return recognised(self._framing, self._rest, self.registered, self.game.profile)

    @property
    def noise(self) -> int:
        """Return how many bytes from the cockpit belonged to no packet."""
        return self._stream.counters.noise_bytes

    @property
    def lacking(self) -> tuple[str, ...]:
        """Return the registered channels that the game does not have."""
        profile, game = self.profile, self.game.profile
        if profile is None or game is None:
            return ()
        lacking = []
        for channel_id in self.registered:
            name = meaning(profile, channel_id, game)
            if name is None or (isinstance(name, str) and named(game, name) is None):
                lacking.append(str(name or channel_id))
        return tuple(lacking)

    def start(self, now: float) -> None:
        """Begin to listen."""
        self._peer.is_started = True
        self._look()

    def stop(self, now: float) -> None:
        """Stop listening."""
        self._peer.is_started = False
        self._look()

    def set_game(self, game: Presence, now: float) -> None:
        """Take note of the game; a cockpit whose SYN waits for it is answered."""
        self.game = game
        if not game.connected:
            self._telemetry.clear()
        self._greet()
        self._want()
        self._look()

    def forward(self, name: str, packet: Packet, now: float) -> None:
        """Pass on a packet of the game, by its channel's name, if the cockpit registered it."""
        profile = self.profile
        if profile is None or not self._greeted:
            return
        found = translated(name, packet, profile, self.game.profile)
        if found is None or found.channel not in self.registered:
            if name in self._wanted:
                self.statistics.dropped.add(name)
            return
        if self._telemetry.pop(found.channel, None) is not None:
            self.statistics.held_back += 1
        self._telemetry[found.channel] = simpit.encode_frame(profile.framing, found)

    # Called by the link.

    def opened(self, now: float) -> None:
        """Start over: the port has been opened."""
        self._peer.is_open = True
        self._stream.reset()
        self._framing = self.chosen.framing if self.chosen else None
        self._peer.heard = self._asked = False
        self._greeted = self.chosen is not None
        self._look()

    def lost(self, now: float) -> None:
        """Note that the port is gone, and the cockpit with it."""
        self._peer.is_open = False
        self._answers.clear()
        self._forget('it was unplugged')
        self._look()

    def receive(
        self, channel: str, data: bytes, sender: Address | None, now: float
    ) -> list[Any]:
        """Process bytes from the port, in pieces of any size; return the resulting events."""
        if not self._peer.is_started:
            return []
        return self._take_packets(self._stream.feed(data, now), now)

    def poll(self, now: float) -> list[Outgoing]:
        """Return what to send now: answers first, then telemetry as far as the line carries it."""
        if not (self._peer.is_open and self._peer.is_started):
            self._deadline = now if self._expired else None
            return []
        events = self._take_packets(self._stream.expire(now), now)
        self._expired += events
        outgoing, self._answers = self._answers, []
        if outgoing:
            self._budget.charge(sum(map(len, outgoing)), now)
        later = self._stream.deadline
        while self._telemetry:
            channel_id, data = next(iter(self._telemetry.items()))
            if not self._budget.take(len(data), now):
                at = self._budget.when(len(data), now)
                later = at if later is None else min(at, later)
                break
            del self._telemetry[channel_id]
            outgoing.append(data)
        self.statistics.sent += len(outgoing)
        self._deadline = now if self._expired else later
        return [(_CHANNEL, data) for data in outgoing]

    # Reception.

    def _take_packets(self, packets: Iterable[tuple[Framing, Packet]], now: float) -> list[Any]:
        events: list[Any] = []
        for framing, packet in packets:
            self.statistics.received += 1
            if self._framing is None:
                if packet.channel or packet.payload[0] != HandshakeType.SYN:
                    self.statistics.unexpected += 1
                    continue
                self._framing = framing
                self._stream.found(framing)
                self._rest = packet.payload[1:]
            self._peer.heard = True
            events += super().receive(_CHANNEL, packet, None, now)
            events += self.expired()
        return events

    def _decode(self, channel: str, data: Any) -> tuple[Packet, SimpitMessage | Packet]:
        profile = self.profile
        assert profile is not None
        row = profile.find('bridge', data.channel)
        if row is None:
            return data, data
        if row.sizes:
            # The handlers of plugins read only their struct, whatever follows it.
            data = replace(data, payload=data.payload[:max(row.sizes)])
        return data, simpit.decode(data, 'bridge', profile)

    def _kind(self, data: Any, error: ProtocolError) -> str:
        row = self.profile.find('bridge', data.channel) if self.profile else None
        return row.name if row else str(data.channel)

    def _on_datagram(
        self, channel: str, message: Any, sender: Address | None, now: float
    ) -> Sequence[Any]:
        packet, message = message
        if isinstance(message, Handshake):
            self._shake_hands(message)
        elif isinstance(message, simpit.EchoRequest):
            self._echo(message)
        elif isinstance(message, simpit.EchoResponse):
            pass
        elif not self._greeted:
            self.statistics.unexpected += 1
        elif isinstance(message, simpit.Register):
            self._served = True
            self.registered |= dict.fromkeys(message.channels)
            self.registered.pop(simpit.MAX_CHANNEL + 1, None)
            self._want(message.channels)
        elif isinstance(message, simpit.Deregister):
            for channel_id in message.channels:
                self.registered.pop(channel_id, None)
                self._telemetry.pop(channel_id, None)
            self._want()
        elif isinstance(message, simpit.RequestMessage):
            self._want((message.channel_id,) if message.channel_id else tuple(self.registered))
        elif isinstance(message, simpit.ClosePort):
            self._forget('it has closed its port')
        else:
            return self._command(packet, message)
        self._look()
        return ()

    def _command(self, packet: Packet, message: SimpitMessage | Packet) -> list[Any]:
        """Return the event of a command, unless plugins of its profile would not act on it."""
        profile = self.profile
        assert profile is not None
        row = profile.find('bridge', packet.channel)
        if (row is not None and row.fault) or (row is None and self.game.profile is not profile):
            self.statistics.dropped.add(row.name if row else f'channel {packet.channel}')
            return []
        self._served = True
        return [CockpitCommand(message, packet)]

    def _shake_hands(self, message: Handshake) -> None:
        """Answer a handshake; a SYN is a cockpit that has started anew."""
        if message.handshake == HandshakeType.SYN:
            self._forget('it has started anew')
            self._peer.heard = True
            self._rest = message.rest
            self._asked = True
            self._greet()
        elif message.handshake == HandshakeType.SYNACK and self.game.connected:
            self._answer_handshake(HandshakeType.ACK)
        elif message.handshake == HandshakeType.ACK:
            self.statistics.handshakes += 1

    def _greet(self) -> None:
        """Answer a SYN, once there is a game."""
        if self._asked and self.game.connected:
            self._asked = False
            self._greeted = True
            self._answer_handshake(HandshakeType.SYNACK)

    def _answer_handshake(self, kind: HandshakeType) -> None:
        own_id = simpit.KSP2_ID if self.game.is_ksp2 else simpit.KSP1_ID
        self._answer(Handshake(kind, bytes((own_id,))))

    def _echo(self, message: simpit.EchoRequest) -> None:
        """Answer an echo request where the plugin would: before 2.3 in flight only."""
        profile, game = self.profile, self.game
        assert profile is not None
        anywhere = profile in (PROFILES['v2.3'], PROFILES['cobs'])
        if game.connected and (game.in_flight or anywhere):
            self._answer(simpit.EchoResponse(message.payload[:profile.plugin_payload_limit]))

    def _answer(self, message: SimpitMessage) -> None:
        profile = self.profile
        if profile is None:
            return
        if len(self._answers) < _MOST_ANSWERS:
            self._answers.append(simpit.encode(message, 'peer', profile))
        else:
            self.statistics.dropped.add(message.tag)

    # State.

    def _want(self, again: Iterable[int] = ()) -> None:
        """Report what is wanted, if that is new or requested again."""
        profile, game = self.profile, self.game.profile
        if profile is None:
            return
        names = {
            channel_id: name for channel_id in (*self.registered, *again)
            if (name := meaning(profile, channel_id, game)) is not None}
        wanted = tuple(names[one] for one in self.registered if one in names)
        anew = tuple(names[one] for one in again if one in names and one in self.registered)
        if wanted != self._wanted or anew:
            self._wanted = wanted
            self._expired.append(CockpitWants(wanted, anew))

    def _forget(self, why: str) -> None:
        """Forget a cockpit that is gone: what it wants, and what waits for it."""
        self._greeted = self.chosen is not None
        self._peer.heard = self._asked = False
        self._telemetry.clear()
        self.registered.clear()
        self._want()
        if self._served:
            self._served = False
            self._expired.append(CockpitLeft(why))

    def _look(self) -> None:
        """Report a new state."""
        self._peer.has_game = self.game.connected
        self._peer.wants = bool(self.registered)
        self._expired += self._look_at_shown()
