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

"""
The channel table of each KerbalSimpit profile, and payloads by these tables.

The frame does not tell which plugin speaks, and plugins gave the same number to other things, so
a profile must be chosen (docs/wire/simpit.md, sections 2.7, 3.1, 3.2, 4 and 5):

========  ===================  ========  ====================================================
profile   plugins              framing   remarks
========  ===================  ========  ====================================================
``v0``    0.6, 0.7 (2017)      aa50      the protocol document
``v1``    0.8 to 1.4           aa50      every write filled up to 32 bytes from 1.2.1 on
``v2``    2.0, 2.1             aa50
``v2.2``  2.2                  cobs      a throttle is forced for ever; warps as 2.0 and 2.1
``v2.3``  2.3                  cobs      a throttle of 0 lets go; warp targets on channel 30
``cobs``  2.2 and later        cobs      either of the two, or KSP2 (ids 52 to 60)
========  ===================  ========  ====================================================
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Literal

from xplane_bridge.protocols.errors import ProtocolError
from xplane_bridge.protocols.simpit import commands, payloads, telemetry
from xplane_bridge.protocols.simpit.framing import encode_frame, Framing, Packet
from xplane_bridge.protocols.simpit.payloads import Message, wrong_size

Sender = Literal['plugin', 'device']

Sent = Literal['request', 'tick', 'change', 'subscription', 'event', 'never']
"""
When a plugin sends on a channel.

request: as an answer. tick: every refresh period (80 or 125 ms by default), once registered, in
flight. change: when the value changes. subscription: when it changes, and at once when
registered. event: when it happens. never: the plugin has the number and does not send it.
"""

RESERVED_CHANNELS = range(0x10)
"""Ids kept for the protocol itself (protocol document, "Header"), whatever plugins made of it."""


@dataclass(frozen=True, slots=True)
class Channel:
    """
    One row of a channel table: what one end sends with one id.

    id is 0..254; name is unique for a sender; sizes are the allowed payload lengths in bytes,
    empty for any from 1. sent is for channels of the plugin; at_times tells that it also depends
    on something else: a mod, a target. anywhere is for channels of the device: the plugin obeys
    outside the flight scene too. fault is empty, or a sentence that says why the real plugins of
    this profile do not hear a device on this channel.
    """

    id: int
    name: str
    sender: Sender
    message: type[Message]
    sizes: tuple[int, ...]
    sent: Sent = 'request'
    fault: str = ''
    at_times: bool = False
    anywhere: bool = False


@dataclass(frozen=True)
class Profile:
    """
    One generation of plugins.

    plugin_payload_limit is the longest payload that the plugin sends, in bytes; it cuts what is
    longer, an echo for example. custom_groups_per_packet is how many custom action groups one
    packet may name. throttle_lets_go tells that a throttle of 0 gives it back to the player; other
    plugins force a 0 as they force any value.
    """

    name: str
    plugins: str
    framing: Framing
    channels: tuple[Channel, ...] = field(repr=False)
    plugin_payload_limit: int
    custom_groups_per_packet: int
    throttle_lets_go: bool = False

    def __post_init__(self) -> None:
        """Index the channel table."""
        by_id = {(row.sender, row.id): row for row in self.channels}
        by_name = {(row.sender, row.name): row for row in self.channels}
        if not len(by_id) == len(by_name) == len(self.channels):
            raise ValueError(f'profile {self.name}: an id or a name occurs twice')
        object.__setattr__(self, '_by_id', by_id)
        object.__setattr__(self, '_by_name', by_name)

    def find(self, sender: Sender, channel_id: int) -> Channel | None:
        """Return the channel on which this end sends with this id, or None."""
        by_id: dict[tuple[Sender, int], Channel] = self.__dict__['_by_id']
        return by_id.get((sender, channel_id))

    def named(self, sender: Sender, name: str) -> Channel:
        """Return the channel of this name; raise ValueError where the profile has none."""
        by_name: dict[tuple[Sender, str], Channel] = self.__dict__['_by_name']
        try:
            return by_name[sender, name]
        except KeyError:
            raise ValueError(
                f'profile {self.name} (plugins {self.plugins}) has no channel {name} '
                f'that a {sender} sends on') from None


def decode_payload(profile: Profile, sender: Sender, packet: Packet) -> Message | Packet:
    """
    Return what a packet from this end means; the packet itself on a channel without a meaning.

    Raise ProtocolError if the payload has a length that the channel does not have in this
    profile, or holds text in another encoding. For want of a checksum a wrong length is how a
    damaged aa50 frame shows.
    """
    channel = profile.find(sender, packet.channel)
    if channel is None:
        return packet
    payload = packet.payload
    if channel.sizes:
        if len(payload) not in channel.sizes:
            raise wrong_size(_place(profile, channel), payload, channel.sizes)
    elif not payload:
        raise ProtocolError(f'{_place(profile, channel)}: no payload, need 1 byte or more')
    return channel.message.from_payload(channel.name, payload)


def encode_payload(
        profile: Profile, sender: Sender, message: Message | Packet, *,
        agx: bool = False) -> Packet:
    """
    Return the packet that carries a message from this end; a packet stays as it is.

    agx tells that the plugin has the mod Action Groups Extended. Raise ValueError for what the
    profile has not, and for what would end, wedge or mislead a real peer of it.
    """
    if isinstance(message, Packet):
        packet = message
    else:
        channel = profile.named(sender, message.channel)
        _check_profile(profile, message, agx)
        payload = message.to_payload()
        if channel.sizes and len(payload) not in channel.sizes:
            need = ' or '.join(map(str, channel.sizes))
            raise ValueError(
                f'{_place(profile, channel)}: {len(payload)} payload bytes, need {need}')
        packet = Packet(channel.id, payload)
    if sender == 'plugin' and len(packet.payload) > profile.plugin_payload_limit:
        raise ValueError(
            f'channel {packet.channel}: {len(packet.payload)} payload bytes, a plugin of '
            f'profile {profile.name} sends at most {profile.plugin_payload_limit}')
    return packet


def encode(
        profile: Profile, sender: Sender, message: Message | Packet, *,
        agx: bool = False) -> bytes:
    """Return the bytes on the wire; raise as encode_payload() and encode_frame() do."""
    return encode_frame(profile.framing, encode_payload(profile, sender, message, agx=agx))


def _place(profile: Profile, channel: Channel) -> str:
    """Return how errors call a channel."""
    return f'{profile.name} {channel.sender} channel {channel.id} ({channel.name})'


def _check_profile(profile: Profile, message: Message, agx: bool) -> None:
    """Raise ValueError for values that only other generations of plugins understand."""
    if isinstance(message, commands.CustomActionGroups):
        allowed = payloads.AGX_CUSTOM_GROUPS if agx else payloads.STOCK_CUSTOM_GROUPS
        for group in message.groups:
            if group not in allowed:
                extended = '' if agx else ' without Action Groups Extended'
                raise ValueError(
                    f'custom action group {group}: must be {allowed[0]}..{allowed[-1]}{extended}')
        if len(message.groups) > profile.custom_groups_per_packet:
            raise ValueError(
                f'{len(message.groups)} custom action groups in one packet: plugins '
                f'{profile.plugins} take {profile.custom_groups_per_packet}')
    elif (isinstance(message, commands.TimeWarp)
            and profile.name == 'v2.3' and 14 <= message.command <= 18):
        raise ValueError(
            f'time warp command {message.command}: gone in plugin 2.3, use time_warp_to')


def _row(
        channel_id: int, sender: Sender, message: type[Message], name: str = '', *,
        sizes: Iterable[int] | None = None, sent: Sent = 'request', fault: str = '',
        at_times: bool = False, anywhere: bool = False) -> Channel:
    """Return a row that takes what is not given from its message class."""
    allowed = message.sizes if sizes is None else tuple(sizes)
    return Channel(
        channel_id, name or message.tag, sender, message, allowed, sent, fault, at_times, anywhere)


def _resources(first_id: int, names: str, sent: Sent) -> tuple[Channel, ...]:
    """Return the rows of resources with consecutive ids; a mod has to know them."""
    return tuple(
        _row(channel_id, 'plugin', telemetry.Resource, name, sent=sent, at_times=True)
        for channel_id, name in enumerate(names.split(), first_id))


_FUELS = 'liquid_fuel liquid_fuel_stage oxidizer oxidizer_stage solid_fuel solid_fuel_stage'
_SUPPLIES = 'monopropellant electric_charge eva_propellant ore ablator ablator_stage'

_COMMON = (
    _row(0, 'device', payloads.Handshake),
    _row(0, 'plugin', payloads.Handshake),
    _row(1, 'device', payloads.EchoRequest),
    _row(1, 'plugin', payloads.EchoRequest, sent='never'),
    _row(2, 'device', payloads.EchoResponse),
    _row(2, 'plugin', payloads.EchoResponse),
)

_V0 = (
    *_COMMON,
    _row(3, 'plugin', telemetry.SceneChange, sent='never'),
    _row(4, 'plugin', telemetry.Altitude, sent='tick'),
    _row(3, 'device', commands.Register),
    _row(4, 'device', commands.Deregister),
    _row(5, 'device', commands.StageEvent,
         fault='plugins 0.6 and 0.7 do not listen on it, only 0.2 to 0.5 did'),
    _row(6, 'device', commands.CustomActionGroups, 'custom_action_groups_activate'),
    _row(7, 'device', commands.CustomActionGroups, 'custom_action_groups_deactivate'),
    _row(8, 'device', commands.CustomActionGroups, 'custom_action_groups_toggle'),
    _row(9, 'device', commands.ActionGroups, 'action_groups_activate'),
    _row(10, 'device', commands.ActionGroups, 'action_groups_deactivate'),
    _row(11, 'device', commands.ActionGroups, 'action_groups_toggle',
         fault='plugins 0.6 and 0.7 do not listen on it, although the document has it'),
)

_COMMANDS = (
    _row(8, 'device', commands.Register),
    _row(9, 'device', commands.Deregister),
    _row(10, 'device', commands.CustomActionGroups, 'custom_action_groups_activate'),
    _row(11, 'device', commands.CustomActionGroups, 'custom_action_groups_deactivate'),
    _row(12, 'device', commands.CustomActionGroups, 'custom_action_groups_toggle'),
    _row(13, 'device', commands.ActionGroups, 'action_groups_activate'),
    _row(14, 'device', commands.ActionGroups, 'action_groups_deactivate'),
    _row(15, 'device', commands.ActionGroups, 'action_groups_toggle'),
    _row(16, 'device', payloads.Rotation),
    _row(17, 'device', payloads.Translation),
    _row(18, 'device', payloads.Wheel),
    _row(19, 'device', payloads.Throttle),
)

_TELEMETRY = (
    _row(8, 'plugin', telemetry.Altitude, sent='tick'),
    _row(9, 'plugin', telemetry.Apsides, sent='tick'),
    _row(22, 'plugin', telemetry.Velocities, sent='tick'),
    _row(24, 'plugin', telemetry.ApsidesTime, sent='tick'),
)

_V1 = (
    *_COMMON,
    *_COMMANDS,
    _row(28, 'device', commands.SasMode),
    _row(20, 'device', commands.SasMode, 'sas_mode_library',
         fault='the 1.x device libraries send it, plugins 1.3 and 1.4 listen on 28'),
    *_TELEMETRY,
    *_resources(10, _FUELS, 'tick'),
    *_resources(16, _SUPPLIES, 'tick'),
    _row(3, 'plugin', telemetry.SceneChange, sent='never'),
    # Sent in every game frame while a group is on, and not when the last one goes off.
    _row(23, 'plugin', telemetry.ActionStatus, sent='change'),
    _row(25, 'plugin', telemetry.Target, sizes=(8,), sent='tick', at_times=True),
    _row(26, 'plugin', telemetry.SphereOfInfluence, sent='change'),
    _row(27, 'plugin', telemetry.Airspeed, sizes=(8,), sent='tick'),
)

_COMMANDS_2 = (
    *_COMMANDS,
    _row(7, 'device', commands.ClosePort, anywhere=True),
    _row(20, 'device', commands.SasMode),
    _row(21, 'device', commands.CameraMode),
    _row(22, 'device', commands.CameraRotation),
    _row(23, 'device', commands.CameraTranslation),
    _row(24, 'device', commands.TimeWarp),
    _row(26, 'device', commands.Keyboard),
    _row(27, 'device', commands.CustomAxes),
)

_TELEMETRY_2 = (
    *_TELEMETRY,
    *_resources(10, _FUELS, 'subscription'),
    *_resources(16, _SUPPLIES, 'subscription'),
    *_resources(28, 'xenon_gas xenon_gas_stage', 'subscription'),
    _row(3, 'plugin', telemetry.SceneChange, sent='event'),
    _row(26, 'plugin', telemetry.SphereOfInfluence, sent='subscription'),
    _row(30, 'plugin', telemetry.TacResources, sent='tick', at_times=True),
    _row(31, 'plugin', telemetry.TacWaste, sent='tick', at_times=True),
    _row(32, 'plugin', telemetry.CustomResources, 'custom_resources_1', sent='tick',
         at_times=True),
    _row(33, 'plugin', telemetry.CustomResources, 'custom_resources_2', sent='tick',
         at_times=True),
    _row(35, 'plugin', telemetry.SasInfo, sent='change'),
    _row(36, 'plugin', telemetry.Orbit, sent='tick'),
    _row(37, 'plugin', telemetry.ActionStatus, sent='subscription'),
    _row(38, 'plugin', telemetry.DeltaV, sent='tick'),
    _row(39, 'plugin', telemetry.DeltaVEnvironment, sent='tick'),
    _row(40, 'plugin', telemetry.BurnTime, sent='tick'),
    _row(41, 'plugin', telemetry.CustomActionGroupStatus, sent='subscription'),
    _row(42, 'plugin', telemetry.Temperature, sent='tick'),
    _row(44, 'plugin', telemetry.Atmosphere, sent='subscription'),
    _row(45, 'plugin', telemetry.Attitude, sent='tick'),
)

_LOG = _row(25, 'device', commands.Log)

_V2 = (
    *_COMMON,
    *_COMMANDS_2,
    _LOG,
    *_TELEMETRY_2,
    # The longer ones are those of 2.1.
    _row(25, 'plugin', telemetry.Target, sent='tick', at_times=True),
    _row(27, 'plugin', telemetry.Airspeed, sizes=(8,), sent='tick'),
    _row(34, 'plugin', telemetry.Manoeuvre, sent='tick'),
    _row(43, 'plugin', telemetry.FlightStatus, sent='subscription'),
)

# What 2.2 and 2.3 have in common.
_COBS = (
    *_COMMON,
    *_COMMANDS_2,
    _row(28, 'device', commands.NavballMode),
    _row(29, 'device', commands.RequestMessage),
    *_TELEMETRY_2,
    _row(25, 'plugin', telemetry.Target, sizes=(24,), sent='tick', at_times=True),
    _row(27, 'plugin', telemetry.Airspeed, sizes=(12,), sent='tick'),
    _row(34, 'plugin', telemetry.Manoeuvre, sizes=(24,), sent='tick'),
    _row(43, 'plugin', telemetry.FlightStatus, sizes=(8,), sent='subscription'),
    _row(46, 'plugin', telemetry.VesselName, sent='subscription'),
    _row(47, 'plugin', payloads.Rotation, sent='subscription'),
    _row(48, 'plugin', payloads.Translation, sent='subscription'),
    _row(49, 'plugin', payloads.Wheel, sent='subscription'),
    _row(50, 'plugin', payloads.Throttle, sent='subscription'),
)

_SINCE_2_3 = (
    _row(30, 'device', commands.TimeWarpTo),
    _row(51, 'plugin', telemetry.VesselChange, sent='event'),
)

# From the device library's table: no KSP2 plugin was measured.
_KSP2 = (
    *_resources(52, 'intake_air hydrogen hydrogen_stage uranium', 'subscription'),
    _row(56, 'plugin', telemetry.AdvancedActionStatus, sent='subscription', at_times=True),
    _row(57, 'plugin', telemetry.AdvancedActionStatus, 'advanced_custom_action_status',
         sent='subscription', at_times=True),
    _row(58, 'device', commands.SetActionGroup),
    _row(59, 'device', commands.SetActionGroup, 'set_custom_action_group'),
    _row(60, 'plugin', telemetry.Intersects, sent='tick', at_times=True),
)

PROFILES = {
    profile.name: profile for profile in (
        Profile('v0', '0.6 and 0.7', 'aa50', _V0, 28, 32),
        Profile('v1', '0.8 to 1.4', 'aa50', _V1, 28, 32),
        # From 2.0 on a list acts on its first group only (docs/wire/simpit.md, section 3).
        Profile('v2', '2.0 and 2.1', 'aa50', _V2, 32, 1),
        Profile('v2.2', '2.2', 'cobs', (*_COBS, _LOG), 32, 1),
        Profile(
            'v2.3', '2.3', 'cobs', (*_COBS, *_SINCE_2_3, replace(_LOG, anywhere=True)), 32, 1,
            throttle_lets_go=True),
        # What harms none of them is all that is sent to it.
        Profile('cobs', '2.2 and later', 'cobs', (*_COBS, *_SINCE_2_3, _LOG, *_KSP2), 32, 1),
    )
}
