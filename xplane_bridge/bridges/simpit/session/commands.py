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

"""Commands to a plugin: what its profile understands, split into packets."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from xplane_bridge.bridges.protocols.errors import ProtocolError
from xplane_bridge.bridges.simpit import protocol as simpit
from xplane_bridge.bridges.simpit.protocol import Packet, Profile, SimpitMessage
from xplane_bridge.bridges.simpit.session.events import Game

# Equivalents in 2.0 to 2.2 of commands that have a channel of their own in 2.3, where they exist.
_WARP_TARGETS = {
    simpit.WarpInstant.MANOEUVRE: simpit.WarpCommand.TO_MANOEUVRE,
    simpit.WarpInstant.NEXT_SPHERE_OF_INFLUENCE: simpit.WarpCommand.TO_NEXT_SPHERE_OF_INFLUENCE,
    simpit.WarpInstant.APOAPSIS: simpit.WarpCommand.TO_APOAPSIS,
    simpit.WarpInstant.PERIAPSIS: simpit.WarpCommand.TO_PERIAPSIS,
    simpit.WarpInstant.MORNING: simpit.WarpCommand.TO_MORNING,
}

_OWN = (simpit.Handshake, simpit.Register, simpit.Deregister, simpit.EchoRequest,
        simpit.EchoResponse)


class Part(NamedTuple):
    """One packet of a command, and its bytes on the wire."""

    message: SimpitMessage | Packet
    data: bytes


def prepare(
    message: SimpitMessage | Packet, profile: Profile, *, agx: bool, game: Game | None
) -> list[Part]:
    """
    Return the packets that real plugins of the profile need for a command.

    Raises ValueError, with a sentence for the user, for what they cannot do and for what is
    reserved to the session: handshake, registration, echo.
    """
    return [
        Part(part, simpit.encode(part, 'bridge', profile, agx=agx))
        for part in _parts(message, profile, game)]


def _parts(
    message: SimpitMessage | Packet, profile: Profile, game: Game | None
) -> list[SimpitMessage | Packet]:
    if isinstance(message, Packet):
        return [_checked(message, profile)]
    if isinstance(message, _OWN):
        raise ValueError(f'{message.tag}: the session sends these itself')
    if isinstance(message, simpit.TimeWarpTo):
        return _warp_to(message, profile)
    row = profile.named('bridge', message.channel)
    if row.fault:
        raise ValueError(f'{row.name}: {row.fault}')
    if isinstance(message, simpit.SetActionGroup) and game is not Game.KSP2:
        raise ValueError(
            f'{row.name} is for Kerbal Space Program 2; to this plugin '
            'send action_groups or custom_action_groups')
    if isinstance(message, simpit.CustomActionGroups) and message.groups:
        # From 2.0 on a list acts on its first group only, before that from its end backwards.
        return [replace(message, groups=(group,)) for group in message.groups]
    return [message]


def is_obeyed_anywhere(message: SimpitMessage | Packet, profile: Profile) -> bool:
    """Return whether a plugin accepts this outside the flight scene too, or may do so."""
    if isinstance(message, Packet):
        row = profile.find('bridge', message.channel)
        return row is None or row.anywhere
    return any(
        row.anywhere for row in profile.channels
        if row.sender == 'bridge' and row.name == message.channel)


def _checked(packet: Packet, profile: Profile) -> SimpitMessage | Packet:
    """
    Return a raw packet, or the axes or action groups in it: taken or paced in whatever form.

    Raises ValueError for one that is reserved to the session or would mislead a plugin.
    """
    row = profile.find('bridge', packet.channel)
    if row is None:
        return packet
    if issubclass(row.message, _OWN):
        raise ValueError(f'channel {row.id} ({row.name}): the session sends these itself')
    try:
        message = simpit.decode(packet, 'bridge', profile)
    except ProtocolError as error:
        raise ValueError(str(error)) from None
    return message if isinstance(message, simpit.Axes | simpit.ActionGroups) else packet


def axes_in(command: SimpitMessage | Packet, profile: Profile | None) -> frozenset[str]:
    """Return the axes that a command sets, in whatever form it comes, by name."""
    if isinstance(command, Packet) and profile is not None:
        try:
            command = simpit.decode(command, 'bridge', profile)
        except ProtocolError:
            return frozenset()
    return frozenset(simpit.axis_values(command) if isinstance(command, simpit.Axes) else ())


def request_for(channel: str, profile: Profile) -> simpit.RequestMessage:
    """
    Return what makes plugins of a profile resend a channel, by name or number; '*' is all.

    Raises ValueError for a channel that they do not resend.
    """
    profile.named('bridge', simpit.RequestMessage.tag)
    if channel == '*':
        return simpit.RequestMessage(0)
    if channel.isdecimal():
        row = profile.find('peer', int(channel))
        if row is None:
            raise ValueError(f'channel {channel}: plugins {profile.plugins} do not send it')
    else:
        row = profile.named('peer', channel)
    if row.sent != 'subscription':
        raise ValueError(
            f'channel {row.name}: plugins resend only what they send on registration and on '
            'change')
    return simpit.RequestMessage(row.id)


def _warp_to(message: simpit.TimeWarpTo, profile: Profile) -> list[SimpitMessage | Packet]:
    """
    Return what makes a plugin warp to a target.

    If it may be 2.2 or 2.3, it gets both: each ignores what is meant for the other
    (docs/reference/peers/simpit.md, "2.2 or 2.3").
    """
    parts: list[SimpitMessage | Packet] = []
    has_channel = any(row.message is simpit.TimeWarpTo for row in profile.channels)
    target = _WARP_TARGETS.get(simpit.WarpInstant(message.instant))
    if target is not None and not message.delay_s and profile.name != 'v2.3':
        parts.append(simpit.TimeWarp(target))
    elif not has_channel:
        # For the sentence about a profile without any time warp.
        profile.named('bridge', 'time_warp')
        raise ValueError(
            f'plugins {profile.plugins} cannot warp with a delay or to a burn: that needs 2.3')
    if has_channel:
        parts.append(message)
    return parts
