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
KerbalSimpit packets to messages and back, by the channel table of a profile.

A serial line has no datagrams, so a stateful decoder (framing.py) first cuts the stream into
packets; decode() takes one packet.
"""

from __future__ import annotations

from xplane_bridge.bridges.protocols.base import Sender
from xplane_bridge.bridges.protocols.errors import ProtocolError
from xplane_bridge.bridges.simpit.protocol import commands, messages
from xplane_bridge.bridges.simpit.protocol.channels import Channel, ENDS, Profile
from xplane_bridge.bridges.simpit.protocol.framing import encode_frame, Packet
from xplane_bridge.bridges.simpit.protocol.payloads import SimpitMessage
from xplane_bridge.common.text import counted

# Time warps that plugins from 2.3 on lack: TimeWarpTo replaced them.
WARPS_UNTIL_2_3 = range(
    commands.WarpCommand.TO_MANOEUVRE, commands.WarpCommand.TO_MORNING + 1)


def decode(packet: Packet, sender: Sender, profile: Profile) -> SimpitMessage | Packet:
    """
    Return the message in a packet of this sender, or the packet itself if its channel is unknown.

    Raises ProtocolError if the payload has a length that the channel does not have in this
    profile, or holds text in another encoding. Without a checksum, a wrong length is how a damaged
    aa50 frame shows.
    """
    channel = profile.find(sender, packet.channel)
    if channel is None:
        return packet
    payload = packet.payload
    if channel.sizes:
        if len(payload) not in channel.sizes:
            raise ProtocolError(_wrong_size(profile, channel, payload))
    elif not payload:
        raise ProtocolError(f'{_place(profile, channel)}: no payload, need 1 byte or more')
    message: SimpitMessage = channel.codec.unpack(payload)
    return message


def encode(
    message: SimpitMessage | Packet, sender: Sender, profile: Profile, *, agx: bool = False
) -> bytes:
    """Return the bytes on the wire; raises as encode_packet() and encode_frame() do."""
    return encode_frame(profile.framing, encode_packet(message, sender, profile, agx=agx))


def encode_packet(
    message: SimpitMessage | Packet, sender: Sender, profile: Profile, *, agx: bool = False
) -> Packet:
    """
    Return the packet that carries a message of this sender; packets are returned unchanged.

    ``agx`` says that the plugin has the mod Action Groups Extended. Raises ValueError or TypeError
    for what the profile lacks, and for what would crash, block or mislead a real peer.
    """
    if isinstance(message, Packet):
        packet = message
    else:
        channel = profile.named(sender, message.channel)
        _check_profile(message, profile, agx)
        payload = channel.codec.pack(message)
        if channel.sizes and len(payload) not in channel.sizes:
            raise ValueError(_wrong_size(profile, channel, payload))
        packet = Packet(channel.id, payload)
    if sender == 'peer' and len(packet.payload) > profile.plugin_payload_limit:
        raise ValueError(
            f'channel {packet.channel}: '
            f'{counted(len(packet.payload), "payload byte")}, a plugin of '
            f'profile {profile.name} sends at most {profile.plugin_payload_limit}')
    return packet


def _place(profile: Profile, channel: Channel) -> str:
    """Return the name of a channel for error messages."""
    return f'{profile.name} {ENDS[channel.sender]} channel {channel.id} ({channel.name})'


def _wrong_size(profile: Profile, channel: Channel, payload: bytes) -> str:
    need = ' or '.join(map(str, channel.sizes))
    return f'{_place(profile, channel)}: {counted(len(payload), "payload byte")}, need {need}'


def _check_profile(message: SimpitMessage, profile: Profile, agx: bool) -> None:
    """Raise ValueError for values that only plugins of other profiles understand."""
    if isinstance(message, commands.CustomActionGroups):
        allowed = messages.AGX_CUSTOM_GROUPS if agx else messages.STOCK_CUSTOM_GROUPS
        for group in message.groups:
            if group not in allowed:
                extended = '' if agx else ' without Action Groups Extended'
                raise ValueError(
                    f'custom action group {group}: must be {allowed[0]}..{allowed[-1]}{extended}')
        if len(message.groups) > profile.custom_groups_per_packet:
            raise ValueError(
                f'{len(message.groups)} custom action groups in one packet: plugins '
                f'{profile.plugins} take {profile.custom_groups_per_packet}')
    elif (isinstance(message, commands.TimeWarp) and profile.name == 'v2.3'
            and message.command in WARPS_UNTIL_2_3):
        raise ValueError(
            f'time warp command {message.command}: gone in plugin 2.3, use time_warp_to')
