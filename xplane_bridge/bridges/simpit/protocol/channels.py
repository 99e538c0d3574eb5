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
The channel table of each KerbalSimpit profile, and the payloads it implies.

Frames do not identify the plugin, and plugins use the same numbers for different things, so a
profile must be chosen (docs/wire/simpit.md, sections 2.7, 3.1, 3.2, 4 and 5):

========  ===================  ========  ====================================================
profile   plugins              framing   remarks
========  ===================  ========  ====================================================
``v0``    0.6, 0.7 (2017)      aa50      the protocol document
``v1``    0.8 to 1.4           aa50      every write padded to 32 bytes from 1.2.1 on
``v2``    2.0, 2.1             aa50
``v2.2``  2.2                  cobs      throttle forced indefinitely; warps as 2.0 and 2.1
``v2.3``  2.3                  cobs      a throttle of 0 lets go; warp targets on channel 30
``cobs``  2.2 and later        cobs      either of the two, or KSP2 (ids 52 to 60)
========  ===================  ========  ====================================================
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from xplane_bridge.bridges.protocols.base import Codec, Sender
from xplane_bridge.bridges.protocols.base import messages as by_sender
from xplane_bridge.bridges.simpit.protocol import commands, messages, status, telemetry
from xplane_bridge.bridges.simpit.protocol.framing import Framing, Packet
from xplane_bridge.bridges.simpit.protocol.payloads import codec_of, SimpitMessage

ENDS = {'bridge': 'device', 'peer': 'plugin'}
"""The documents' name for either sender."""

Sent = Literal['request', 'tick', 'change', 'subscription', 'event', 'never']
"""
When a plugin sends on a channel.

request: as an answer. tick: every refresh period (80 or 125 ms by default), once registered, in
flight. change: when the value changes. subscription: when it changes, and at once when
registered. event: when it happens. never: the plugin has the number and does not send it.
"""

RESERVED_CHANNELS = range(0x10)
"""Ids reserved for the protocol itself (protocol document, "Header"), whatever plugins do."""


@dataclass(frozen=True, slots=True)
class Channel:
    """
    One row of a channel table: what one end sends with one id.

    id is 0..254; name is unique per sender; codec reads and writes the payload; sizes are its
    allowed lengths in bytes, empty for any from 1. sent is for the plugin's channels: when it
    sends; at_times marks those that also depend on something else, such as a mod or a target.
    anywhere is for the device's channels: the plugin also obeys outside the flight scene. fault is
    empty, or a sentence why the real plugins of this profile do not hear a device on this channel.
    """

    id: int
    name: str
    sender: Sender
    message: type[SimpitMessage]
    codec: Codec[Any]
    sizes: tuple[int, ...]
    sent: Sent = 'request'
    fault: str = ''
    at_times: bool = False
    anywhere: bool = False


@dataclass(frozen=True)
class Profile:
    """
    The common properties of some versions of the plugin.

    plugin_payload_limit is the longest payload that the plugin sends, in bytes; it truncates
    anything longer, an echo for example. custom_groups_per_packet is how many custom action groups
    one packet may name. throttle_lets_go says that a throttle of 0 gives it back to the player;
    other plugins force a 0 like any other value.
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
        """Return the channel of this name; raise ValueError if the profile has none."""
        by_name: dict[tuple[Sender, str], Channel] = self.__dict__['_by_name']
        try:
            return by_name[sender, name]
        except KeyError:
            raise ValueError(
                f'profile {self.name} (plugins {self.plugins}) has no channel {name} '
                f'that a {ENDS[sender]} sends on') from None


def _row(
    channel_id: int, sender: Sender, message: type[SimpitMessage], name: str = '', *,
    codec: Codec[Any] | None = None, sizes: Iterable[int] | None = None, **options: Any,
) -> Channel:
    """Return a row whose omitted values come from its message class."""
    name = name or message.tag
    if codec is None:
        codec, allowed = codec_of(message, name)
        sizes = allowed if sizes is None else sizes
    return Channel(channel_id, name, sender, message, codec, tuple(sizes or ()), **options)


def _resources(first_id: int, names: str, sent: Sent) -> tuple[Channel, ...]:
    """Return the rows of resources with consecutive ids; a mod must support them."""
    return tuple(
        _row(channel_id, 'peer', status.Resource, name, sent=sent, at_times=True)
        for channel_id, name in enumerate(names.split(), first_id))


_FUELS = 'liquid_fuel liquid_fuel_stage oxidizer oxidizer_stage solid_fuel solid_fuel_stage'
_SUPPLIES = 'monopropellant electric_charge eva_propellant ore ablator ablator_stage'

_COMMON = (
    _row(0, 'bridge', messages.Handshake),
    _row(0, 'peer', messages.Handshake),
    _row(1, 'bridge', messages.EchoRequest),
    _row(1, 'peer', messages.EchoRequest, sent='never'),
    _row(2, 'bridge', messages.EchoResponse),
    _row(2, 'peer', messages.EchoResponse),
)

_V0 = (
    *_COMMON,
    _row(3, 'peer', status.SceneChange, sent='never'),
    _row(4, 'peer', telemetry.Altitude, sent='tick'),
    _row(3, 'bridge', commands.Register),
    _row(4, 'bridge', commands.Deregister),
    _row(5, 'bridge', commands.StageEvent,
         fault='plugins 0.6 and 0.7 do not listen on it, only 0.2 to 0.5 did'),
    _row(6, 'bridge', commands.CustomActionGroups, 'custom_action_groups_activate'),
    _row(7, 'bridge', commands.CustomActionGroups, 'custom_action_groups_deactivate'),
    _row(8, 'bridge', commands.CustomActionGroups, 'custom_action_groups_toggle'),
    _row(9, 'bridge', commands.ActionGroups, 'action_groups_activate'),
    _row(10, 'bridge', commands.ActionGroups, 'action_groups_deactivate'),
    _row(11, 'bridge', commands.ActionGroups, 'action_groups_toggle',
         fault='plugins 0.6 and 0.7 do not listen on it, although the document has it'),
)

_COMMANDS = (
    _row(8, 'bridge', commands.Register),
    _row(9, 'bridge', commands.Deregister),
    _row(10, 'bridge', commands.CustomActionGroups, 'custom_action_groups_activate'),
    _row(11, 'bridge', commands.CustomActionGroups, 'custom_action_groups_deactivate'),
    _row(12, 'bridge', commands.CustomActionGroups, 'custom_action_groups_toggle'),
    _row(13, 'bridge', commands.ActionGroups, 'action_groups_activate'),
    _row(14, 'bridge', commands.ActionGroups, 'action_groups_deactivate'),
    _row(15, 'bridge', commands.ActionGroups, 'action_groups_toggle'),
    _row(16, 'bridge', messages.Rotation),
    _row(17, 'bridge', messages.Translation),
    _row(18, 'bridge', messages.Wheel),
    _row(19, 'bridge', messages.Throttle),
)

_TELEMETRY = (
    _row(8, 'peer', telemetry.Altitude, sent='tick'),
    _row(9, 'peer', telemetry.Apsides, sent='tick'),
    _row(22, 'peer', telemetry.Velocities, sent='tick'),
    _row(24, 'peer', telemetry.ApsidesTime, sent='tick'),
)

_V1 = (
    *_COMMON,
    *_COMMANDS,
    _row(28, 'bridge', commands.SasMode),
    _row(20, 'bridge', commands.SasMode, 'sas_mode_library',
         fault='the 1.x device libraries send it, plugins 1.3 and 1.4 listen on 28'),
    *_TELEMETRY,
    *_resources(10, _FUELS, 'tick'),
    *_resources(16, _SUPPLIES, 'tick'),
    _row(3, 'peer', status.SceneChange, sent='never'),
    # Sent in every game frame while a group is on, but not when the last one goes off.
    _row(23, 'peer', status.ActionStatus, sent='change'),
    _row(25, 'peer', telemetry.TargetInfo, sizes=(8,), sent='tick', at_times=True),
    _row(26, 'peer', status.SphereOfInfluence, sent='change'),
    _row(27, 'peer', telemetry.Airspeed, sizes=(8,), sent='tick'),
)

_COMMANDS_2 = (
    *_COMMANDS,
    _row(7, 'bridge', commands.ClosePort, anywhere=True),
    _row(20, 'bridge', commands.SasMode),
    _row(21, 'bridge', commands.CameraMode),
    _row(22, 'bridge', commands.CameraRotation),
    _row(23, 'bridge', commands.CameraTranslation),
    _row(24, 'bridge', commands.TimeWarp),
    _row(26, 'bridge', commands.Keyboard),
    _row(27, 'bridge', commands.CustomAxes),
)

_TELEMETRY_2 = (
    *_TELEMETRY,
    *_resources(10, _FUELS, 'subscription'),
    *_resources(16, _SUPPLIES, 'subscription'),
    *_resources(28, 'xenon_gas xenon_gas_stage', 'subscription'),
    _row(3, 'peer', status.SceneChange, sent='event'),
    _row(26, 'peer', status.SphereOfInfluence, sent='subscription'),
    _row(30, 'peer', status.TacResources, sent='tick', at_times=True),
    _row(31, 'peer', status.TacWaste, sent='tick', at_times=True),
    _row(32, 'peer', status.CustomResources, 'custom_resources_1', sent='tick',
         at_times=True),
    _row(33, 'peer', status.CustomResources, 'custom_resources_2', sent='tick',
         at_times=True),
    _row(35, 'peer', status.SasInfo, sent='change'),
    _row(36, 'peer', telemetry.Orbit, sent='tick'),
    _row(37, 'peer', status.ActionStatus, sent='subscription'),
    _row(38, 'peer', telemetry.DeltaV, sent='tick'),
    _row(39, 'peer', telemetry.DeltaVEnvironment, sent='tick'),
    _row(40, 'peer', telemetry.BurnTime, sent='tick'),
    _row(41, 'peer', status.CustomActionGroupStatus, sent='subscription'),
    _row(42, 'peer', telemetry.Temperature, sent='tick'),
    _row(44, 'peer', telemetry.Atmosphere, sent='subscription'),
    _row(45, 'peer', telemetry.Attitude, sent='tick'),
)

_LOG = _row(25, 'bridge', commands.Log)

_V2 = (
    *_COMMON,
    *_COMMANDS_2,
    _LOG,
    *_TELEMETRY_2,
    # The longer sizes are those of 2.1.
    _row(25, 'peer', telemetry.TargetInfo, sent='tick', at_times=True),
    _row(27, 'peer', telemetry.Airspeed, sizes=(8,), sent='tick'),
    _row(34, 'peer', telemetry.ManoeuvreInfo, sent='tick'),
    _row(43, 'peer', status.FlightStatus, sent='subscription'),
)

# Common to 2.2 and 2.3.
_COBS = (
    *_COMMON,
    *_COMMANDS_2,
    _row(28, 'bridge', commands.NavballMode),
    _row(29, 'bridge', commands.RequestMessage),
    *_TELEMETRY_2,
    _row(25, 'peer', telemetry.TargetInfo, sizes=(24,), sent='tick', at_times=True),
    _row(27, 'peer', telemetry.Airspeed, sizes=(12,), sent='tick'),
    _row(34, 'peer', telemetry.ManoeuvreInfo, sizes=(24,), sent='tick'),
    _row(43, 'peer', status.FlightStatus, sizes=(8,), sent='subscription'),
    _row(46, 'peer', status.VesselName, sent='subscription'),
    _row(47, 'peer', messages.Rotation, sent='subscription'),
    _row(48, 'peer', messages.Translation, sent='subscription'),
    _row(49, 'peer', messages.Wheel, sent='subscription'),
    _row(50, 'peer', messages.Throttle, sent='subscription'),
)

_SINCE_2_3 = (
    _row(30, 'bridge', commands.TimeWarpTo),
    _row(51, 'peer', status.VesselChange, sent='event'),
)

# From the device library's table: no KSP2 plugin was measured.
_KSP2 = (
    *_resources(52, 'intake_air hydrogen hydrogen_stage uranium', 'subscription'),
    _row(56, 'peer', status.AdvancedActionStatus, sent='subscription', at_times=True),
    _row(57, 'peer', status.AdvancedActionStatus, 'advanced_custom_action_status',
         sent='subscription', at_times=True),
    _row(58, 'bridge', commands.SetActionGroup, sizes=(1,),
         codec=commands.set_action_group(custom=False)),
    _row(59, 'bridge', commands.SetActionGroup, 'set_custom_action_group', sizes=(1,),
         codec=commands.set_action_group(custom=True)),
    _row(60, 'peer', telemetry.Intersects, sent='tick', at_times=True),
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
        # Only commands that are harmless to all of them are sent.
        Profile('cobs', '2.2 and later', 'cobs', (*_COBS, *_SINCE_2_3, _LOG, *_KSP2), 32, 1),
    )
}


def _sent_by(sender: Sender) -> dict[type[Any], None]:
    return dict.fromkeys(
        row.message for profile in PROFILES.values() for row in profile.channels
        if row.sender == sender)


MESSAGES = by_sender(bridge=(*_sent_by('bridge'), Packet), peer=(*_sent_by('peer'), Packet))
"""Every message of any profile; its meaning on a line depends on the profile."""
