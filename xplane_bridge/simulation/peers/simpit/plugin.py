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

"""The plugin's side of a KerbalSimpit conversation, as real plugins were measured to behave."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
import math

from xplane_bridge.bridges.protocols.errors import ProtocolError
from xplane_bridge.bridges.simpit import protocol as simpit
from xplane_bridge.bridges.simpit.protocol import (
    ActionGroup,
    ActionGroups,
    Axes,
    axis_values,
    CobsDecoder,
    CustomActionGroups,
    Framing,
    Handshake,
    HandshakeType,
    Packet,
    Profile,
    PROFILES,
    SimpitMessage,
    THROTTLE,
)
from xplane_bridge.simulation.peers.simpit.events import (
    DeviceCommand,
    DeviceHandshake,
    PluginEvent,
    PluginStatistics,
    PortDeaf,
    Subscriptions,
)
from xplane_bridge.simulation.peers.simpit.providers import is_sent_each_frame, Providers

# The telemetry that a device has registered with the simulated plugin, and how often.

class SubscriptionTable:
    """
    Registered channels, and how many copies of each the device gets.

    ``old`` plugins add a copy with each registration. 2.0 introduced clearing at SYN and the
    record that stops duplicates; the record outlives the SYN until the ACK.
    """

    def __init__(self, statistics: PluginStatistics, *, old: bool) -> None:
        self._statistics = statistics
        self._old = old
        self._copies: Counter[int] = Counter()
        self._record: set[int] = set()

    def __contains__(self, channel_id: object) -> bool:
        return channel_id in self._copies

    @property
    def ids(self) -> tuple[int, ...]:
        """Return the ids that the device gets; one that it gets n times is listed n times."""
        return tuple(sorted(self._copies.elements()))

    def copies(self, channel_id: int) -> int:
        """Return how many copies of a packet on this channel are sent."""
        return self._copies.get(channel_id, 0)

    def clear(self) -> None:
        """Start like a game that has just been launched."""
        self._copies.clear()
        self._record.clear()

    def on_syn(self) -> None:
        """Handle a SYN."""
        if not self._old:
            self._copies.clear()

    def on_ack(self) -> None:
        """Handle an ACK."""
        if not self._old:
            self._record.clear()

    def register(self, ids: bytes) -> Iterator[int]:
        """Register channels, yielding each when it is done."""
        for channel_id in self._in_order(ids, 'register'):
            if not self._old and channel_id in self._record:
                continue
            self._record.add(channel_id)
            self._copies[channel_id] += 1
            yield channel_id

    def deregister(self, ids: bytes) -> None:
        """Remove one registration of each of these channels."""
        for channel_id in self._in_order(ids, 'deregister'):
            self._record.discard(channel_id)
            self._remove(channel_id)

    def close(self) -> None:
        """Remove what is in the record: the port is closed."""
        for channel_id in self._record:
            self._remove(channel_id)
        self._record.clear()

    def _in_order(self, ids: bytes, what: str) -> Iterator[int]:
        # Last to first; 255 throws, and those before it are never reached.
        for channel_id in reversed(ids):
            if channel_id == 255:
                self._statistics.malformed.add(what)
                return
            yield channel_id

    def _remove(self, channel_id: int) -> None:
        if self._copies[channel_id] > 1:
            self._copies[channel_id] -= 1
        else:
            del self._copies[channel_id]


# How real plugins split their input into packets, bugs included.
#
# See docs/wire/simpit.md, sections 2.1 and 4.

_BUFFER = 255
_DEADLY_CHANNEL = 255


class PluginReader:
    """
    Splits bytes into packets as the reader thread of a plugin does.

    What a device must never send has its measured effect: ``dead`` says what ended the thread,
    and nothing is read after that. Channel number 255 does this; in aa50 framing a payload size
    of 0, which makes it swallow 255 bytes and end at the next; in cobs a frame of more than 255.
    """

    def __init__(self, framing: Framing) -> None:
        self.dead = ''
        self._framing = framing
        self._decoder = CobsDecoder(250)
        self._frame = bytearray()
        self._step: Callable[[int], Packet | None] = self._first_header_byte
        self._size = self._channel = 0

    def feed(self, data: bytes) -> list[Packet]:
        """Return the packets in these bytes, up to the one that ends the thread."""
        packets: list[Packet] = []
        for byte in data:
            packet = self._take_cobs(byte) if self._framing == 'cobs' else self._step(byte)
            if packet is not None:
                if packet.channel == _DEADLY_CHANNEL:
                    self.dead = f'a packet on channel {_DEADLY_CHANNEL}'
                else:
                    packets.append(packet)
            if self.dead:
                break
        return packets

    def _take_cobs(self, byte: int) -> Packet | None:
        if len(self._frame) == _BUFFER:
            self.dead = f'a frame of more than {_BUFFER} bytes'
            return None
        self._frame.append(byte)
        if byte:
            return None
        frame = bytes(self._frame)
        self._frame.clear()
        return next(iter(self._decoder.feed(frame)), None)

    # The five states of the older parser. None reads a byte twice: AA AA 50 loses the frame.

    def _first_header_byte(self, byte: int) -> None:
        if byte == 0xaa:
            self._step = self._second_header_byte

    def _second_header_byte(self, byte: int) -> None:
        self._step = self._size_byte if byte == 0x50 else self._first_header_byte

    def _size_byte(self, byte: int) -> None:
        self._size = byte
        self._step = self._channel_byte

    def _channel_byte(self, byte: int) -> None:
        self._channel = byte
        self._frame.clear()
        self._step = self._payload_byte
        if not self._size:
            self.dead = 'a payload size of 0'

    def _payload_byte(self, byte: int) -> Packet | None:
        self._frame.append(byte)
        if len(self._frame) != self._size:
            return None
        self._step = self._first_header_byte
        return Packet(self._channel, bytes(self._frame))


# The controls that a plugin forces on the game, for one flight scene.

class AxisHold:
    """
    Axes held for a device, and the game's throttle, which the player moves too.

    A nonzero value is forced on whatever vessel is active, whoever else moves the stick. A 0
    releases the axis; but before 2.3 a throttle is forced indefinitely, 0 included, and from 2.3
    on a 0 closes the throttle once and then leaves it to the player
    (docs/reference/peers/simpit.md, "2.2 or 2.3").
    """

    def __init__(self, profile: Profile) -> None:
        self.axes: dict[str, int] = {}
        self.throttle = 0
        self._lets_go = profile.throttle_lets_go

    def take(self, message: SimpitMessage) -> None:
        """Handle an axis message; others do not matter here."""
        if not isinstance(message, Axes):
            return
        for name, value in axis_values(message).items():
            if name == THROTTLE and (value or name in self.axes or not self._lets_go):
                self.throttle = value
            if value or (name == THROTTLE and not self._lets_go):
                self.axes[name] = value
            else:
                self.axes.pop(name, None)

    def move_throttle(self, value: int) -> None:
        """Move the throttle as the player does, 0..32767; without effect while it is forced."""
        self.throttle = self.axes.get(THROTTLE, value)

    def clear(self) -> None:
        """Start another flight scene: nothing is forced."""
        self.axes.clear()


_CHANNEL = 'serial'
# The measured games ran at 50 frames per second.
_FRAME = 0.02
# What plugins 1.2.1 to 1.4 write for any packet, followed by the rest of the buffer.
_PADDED_WRITE = 32
# What any plugin also obeys outside the flight scene.
_EVERYWHERE = (simpit.Register, simpit.Deregister, simpit.ClosePort, simpit.RequestMessage)


class PluginSession:
    """
    Answers one device as a plugin of ``profile`` does.

    v1 is that of plugins 1.2.1 to 1.4, cobs that of 2.3, or of KSP2 as ``game_id`` says. The
    owner tells by provide() what the vessel does, and by set_flight() whether there is one.
    ``hold`` is what the plugin forces on its controls.
    ``refresh`` is the time for one round of telemetry in seconds, by default the plugins' own.
    ``agx``: Action Groups Extended is installed; ``game_id`` is the second byte of the SYNACK,
    KSP2_ID for KSP2.

    The measured bugs that a device can trigger are reproduced, but not the race of plugins 1.2.1
    to 1.4 between simultaneous packets. Raises ValueError for an unknown profile.
    """

    rests = False

    def __init__(
        self,
        profile: str,
        *,
        refresh: float | None = None,
        agx: bool = False,
        game_id: int = simpit.KSP1_ID,
    ) -> None:
        if profile not in PROFILES:
            raise ValueError(f"profile '{profile}': must be one of {', '.join(PROFILES)}")
        if profile == 'cobs' and game_id == simpit.KSP1_ID:
            profile = 'v2.3'
        self.profile: Profile = PROFILES[profile]
        self.statistics = PluginStatistics()
        self.in_flight = False
        self.port_open = True
        self.hold = AxisHold(self.profile)
        self._agx = agx
        self._game_id = game_id
        self._old = profile in ('v0', 'v1')
        self._buffer = bytearray(_PADDED_WRITE) if profile == 'v1' else None
        self._reader = PluginReader(self.profile.framing)
        self._subscribed = SubscriptionTable(self.statistics, old=self._old)
        self._providers = Providers(self.profile, refresh)
        self._actions: dict[str, ActionGroups] = {}
        self._frame_at: float | None = None
        self._epoch: float | None = None
        self._queue: list[bytes] = []
        self._expired: list[PluginEvent] = []
        self._deadline: float | None = None

    @property
    def channels(self) -> frozenset[str]:
        """Return the names of the telemetry channels that provide() takes."""
        return frozenset(row.name for row in self.profile.channels if row.sender == 'peer')

    @property
    def subscriptions(self) -> tuple[int, ...]:
        """Return the ids that the device gets; one that it gets n times is listed n times."""
        return self._subscribed.ids

    # Calls by the owner.

    def set_flight(self, in_flight: bool, now: float) -> None:
        """Enter or leave the flight scene: all providers restart."""
        if in_flight == self.in_flight:
            return
        self.in_flight = in_flight
        self._providers.forget_rounds()
        self._actions.clear()
        self.hold.clear()
        if in_flight:
            for packet in self._providers.begin_flight():
                self._publish(packet)
        row = self.profile.named('peer', 'scene_change')
        if row.sent == 'event':
            message = simpit.SceneChange(0 if in_flight else 1)
            self._publish(simpit.encode_packet(message, 'peer', self.profile))

    def revert(self, now: float) -> None:
        """Revert to launch: the flight scene is left and loaded again."""
        self.set_flight(False, now)
        self.set_flight(True, now)

    def provide(self, message: SimpitMessage, now: float) -> None:
        """
        Set the value of a telemetry channel from now on.

        Raises ValueError if the profile has no such channel or not with these fields.
        """
        row = self.profile.named('peer', message.channel)
        if row.sent == 'event':
            self._publish(simpit.encode_packet(message, 'peer', self.profile))
            return
        packet, at_once = self._providers.provide(message)
        if at_once:
            self._publish_in_flight(packet)

    def withdraw(self, name: str, now: float) -> None:
        """Remove the value of a telemetry channel: a target that is no longer set."""
        self._providers.withdraw(name)

    def close(self, now: float) -> None:
        """
        Close the port, as the player or the device does.

        Registrations end, after what waits to be sent; the axes stay as they are.
        """
        self._subscribed.close()
        self.port_open = False

    def reopen(self, now: float) -> None:
        """Open the port again, as the player does in the plugin's window."""
        self.port_open = True

    def restart(self, now: float) -> None:
        """Start like a game that has just been launched; what was provided stays."""
        self.port_open = True
        self._reader = PluginReader(self.profile.framing)
        self._subscribed.clear()
        self._actions.clear()
        self.hold.clear()
        self._queue.clear()

    # Calls by the link.

    def opened(self, now: float) -> None:
        """Handle that the port has been opened: nothing depends on it."""

    def lost(self, now: float) -> None:
        """Handle the loss of the port: what waits to be sent is lost."""
        self._queue.clear()

    def next_deadline(self) -> float | None:
        """Return when poll() is due; known after poll()."""
        return self._deadline

    def expired(self) -> list[PluginEvent]:
        """Return the events caused by time or by a call since the last call."""
        events, self._expired = self._expired, []
        return events

    def receive(
        self, channel: str, data: bytes, sender: object, now: float
    ) -> list[PluginEvent]:
        """Take bytes from the device; return the events they cause."""
        if self._epoch is None:
            self._epoch = now
        self.statistics.received += len(data)
        events: list[PluginEvent] = []
        if not self.port_open or self._reader.dead:
            return events
        for packet in self._reader.feed(data):
            self.statistics.packets += 1
            events += self._take(packet, now)
            if not self.port_open:
                break
        if self._reader.dead:
            events.append(PortDeaf(
                f"{self._reader.dead} ended the plugin's reader", 'a restart of the game'))
        return events

    def poll(self, now: float) -> list[tuple[str, bytes]]:
        """Return what to send now."""
        if self._epoch is None:
            self._epoch = now
        deadlines = [self._run_ticks(self._epoch, now), self._run_frame(self._epoch, now)]
        if self._expired:
            deadlines.append(now)
        self._deadline = min((at for at in deadlines if at is not None), default=None)
        outgoing = [(_CHANNEL, data) for data in self._queue]
        self._queue.clear()
        return outgoing

    # Receiving from the device.

    def _take(self, packet: Packet, now: float) -> list[PluginEvent]:
        """Return the events that one packet causes."""
        row = self.profile.find('bridge', packet.channel)
        if row is None or row.fault:
            self.statistics.ignored += 1
            return []
        if row.sizes:
            # The handlers read only their struct, whatever follows it.
            packet = replace(packet, payload=packet.payload[:max(row.sizes)])
        try:
            message = simpit.decode(packet, 'bridge', self.profile)
        except ProtocolError as error:
            # The handler throws or reads too far; the plugin logs it and continues.
            self.statistics.malformed.add(row.name)
            self.statistics.last_error = str(error)
            return []
        if isinstance(message, Handshake):
            return self._shake_hands(message)
        if isinstance(message, simpit.EchoRequest | simpit.EchoResponse | Packet):
            # Only in flight before 2.3.
            if isinstance(message, simpit.EchoRequest) and (self.in_flight or self._since_2_3):
                self._reply(2, message.payload)
            return []
        if not (self.in_flight or row.anywhere or isinstance(message, _EVERYWHERE)) or (
                self._since_2_3 and isinstance(message, simpit.TimeWarp)
                and message.command in simpit.WARPS_UNTIL_2_3):
            self.statistics.ignored += 1
            return []
        return self._obey(message, now)

    def _obey(self, message: simpit.SimpitMessage, now: float) -> list[PluginEvent]:
        """Return the events that a message causes, except those about the line."""
        if isinstance(message, simpit.Register):
            for channel_id in self._subscribed.register(message.channels):
                row = self.profile.find('peer', channel_id)
                if row is not None and row.sent == 'subscription':
                    self._resend(channel_id)
            return [Subscriptions(self.subscriptions)]
        if isinstance(message, simpit.Deregister):
            self._subscribed.deregister(message.channels)
            return [Subscriptions(self.subscriptions)]
        if isinstance(message, simpit.RequestMessage):
            self._resend(message.channel_id)
            return []
        if isinstance(message, simpit.ClosePort):
            self.close(now)
            return [PortDeaf('the device closed it', "the player's start in the plugin's window")]
        if isinstance(message, ActionGroups):
            self._buffer_action(message)
            return []
        if isinstance(message, CustomActionGroups):
            return [DeviceCommand(part) for part in self._custom_groups(message)]
        self.hold.take(message)
        return [DeviceCommand(message)]

    @property
    def _since_2_3(self) -> bool:
        """Return whether this is 2.3, or KSP2's, which is later."""
        return self.profile.name in ('v2.3', 'cobs')

    def _shake_hands(self, message: Handshake) -> list[PluginEvent]:
        """Answer a handshake, which is stateless; ID bytes are never echoed."""
        kind = message.handshake
        if kind > HandshakeType.ACK:
            return []
        if kind == HandshakeType.SYN:
            self._subscribed.on_syn()
            self._reply(0, bytes((HandshakeType.SYNACK, self._game_id)))
        elif kind == HandshakeType.SYNACK:
            self._reply(0, bytes((HandshakeType.ACK, self._game_id)))
        else:
            self._subscribed.on_ack()
        return [DeviceHandshake(int(kind), message.rest)]

    def _resend(self, channel_id: int) -> None:
        """Resend a channel's value, or with 0 those of all registered channels that change."""
        for row in self.profile.channels:
            if row.sent == 'subscription' and channel_id in (0, row.id) and (
                    (packet := self._providers.value(row.id)) is not None):
                self._publish_in_flight(packet)

    def _buffer_action(self, message: ActionGroups) -> None:
        """Keep the last packet of each kind until the game's next frame."""
        self._actions[message.verb] = replace(
            message, action_bits=ActionGroup(message.action_bits & 0x7f))

    def _custom_groups(self, message: CustomActionGroups) -> Iterable[CustomActionGroups]:
        """Return what a list of custom groups actually does, group by group."""
        groups = message.groups[::-1] if self._old else message.groups[:1] * len(message.groups)
        for group in groups:
            if not self._agx and not group:
                continue
            if not self._agx and group not in simpit.STOCK_CUSTOM_GROUPS:
                # The handler throws: the rest of the list is skipped.
                self.statistics.malformed.add(message.channel)
                return
            yield replace(message, groups=(group,))

    # Sending to the device.

    def _run_ticks(self, epoch: float, now: float) -> float | None:
        """Send the registered channels that are due; return when the next is."""
        if not self.in_flight:
            return None
        packets, later = self._providers.due(self._subscribed, epoch, now)
        for packet in packets:
            self._publish(packet)
        return later

    def _run_frame(self, epoch: float, now: float) -> float | None:
        """Do the game's work of each frame, if there is any; return when the next is due."""
        status = next(filter(is_sent_each_frame, self.profile.channels), None)
        packet = None if status is None else self._providers.value(status.id)
        lit = (
            packet is not None and self.in_flight and packet.channel in self._subscribed
            and packet.payload != b'\0')
        if not self._actions and not lit:
            self._frame_at = None
            return None
        if self._frame_at is not None and now >= self._frame_at:
            for verb in ('activate', 'deactivate', 'toggle'):
                action = self._actions.get(verb)
                if action is not None and action.action_bits:
                    self._expired.append(DeviceCommand(action))
            self._actions.clear()
            self._frame_at = None
            if not lit:
                return None
            if packet is not None:
                self._publish(packet)
        if self._frame_at is None:
            frames = math.floor((now - epoch) / _FRAME + 1e-9) + 1
            self._frame_at = epoch + frames * _FRAME
        return self._frame_at

    def _publish_in_flight(self, packet: Packet) -> None:
        if self.in_flight:
            self._publish(packet)

    def _publish(self, packet: Packet) -> None:
        """Send a packet once per registration of its channel."""
        for _ in range(self._subscribed.copies(packet.channel)):
            self._send(packet)

    def _reply(self, channel_id: int, payload: bytes) -> None:
        self._send(Packet(channel_id, payload[:self.profile.plugin_payload_limit]))

    def _send(self, packet: Packet) -> None:
        if not self.port_open:
            return
        data = simpit.encode_frame(self.profile.framing, packet)
        if self._buffer is not None:
            self._buffer[:len(data)] = data
            data = bytes(self._buffer)
        self._queue.append(data)
        self.statistics.sent[packet.channel] += 1
