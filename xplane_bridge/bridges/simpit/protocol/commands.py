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
Messages from a device to a KerbalSimpit plugin.

See docs/wire/simpit.md, sections 2.5, 2.7, 3.2 and 4. Channel numbers of each profile are in
channels.py. The four axis commands that a plugin from 2.2 on also reads back (Rotation,
Translation, Wheel, Throttle) are in messages.py.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum, IntFlag
from typing import Any, ClassVar

from xplane_bridge.bridges.protocols.base import (
    checked_int,
    declared,
    float32,
    int16,
    Pair,
    uint8,
    WireForm,
)
from xplane_bridge.bridges.simpit.protocol.messages import (
    ActionGroup,
    group_bits,
    STOCK_CUSTOM_GROUPS,
    Verb,
)
from xplane_bridge.bridges.simpit.protocol.payloads import (
    encoded_text,
    from_channel,
    raw,
    rest,
    SimpitMessage,
)

CAMERA_MODES = (*range(1, 7), 10, 20, *range(50, 54))
"""1 flight, 2 to 6 its submodes, 10 IVA, 20 map, 50 to 53 next and previous."""


class AutopilotMode(IntEnum):
    """SAS modes of KSP1, as every plugin counts them (1.x device libraries start at 1)."""

    STABILITY_ASSIST = 0
    PROGRADE = 1
    RETROGRADE = 2
    NORMAL = 3
    ANTINORMAL = 4
    RADIAL_IN = 5
    RADIAL_OUT = 6
    TARGET = 7
    ANTITARGET = 8
    MANOEUVRE = 9


class WarpCommand(IntEnum):
    """TimeWarp.command apart from 0 to 7 (rates) and 8 to 11 (physical rates)."""

    UP = 12
    DOWN = 13
    TO_MANOEUVRE = 14
    TO_NEXT_SPHERE_OF_INFLUENCE = 15
    TO_APOAPSIS = 16
    TO_PERIAPSIS = 17
    TO_MORNING = 18
    CANCEL = 255


class WarpInstant(IntEnum):
    """TimeWarpTo.instant."""

    NOW = 0
    MANOEUVRE = 1
    BURN = 2
    NEXT_SPHERE_OF_INFLUENCE = 3
    APOAPSIS = 4
    PERIAPSIS = 5
    MORNING = 6


class LogFlags(IntFlag):
    """Bits of Log.flags."""

    VERBOSE_ONLY = 1
    SCREEN = 2
    NO_HEADER = 4


class KeyModifiers(IntFlag):
    """Bits of Keyboard.modifiers."""

    SHIFT = 1
    CONTROL = 2
    ALT = 4
    DOWN_ONLY = 8
    UP_ONLY = 16


class GroupSetting(IntEnum):
    """The effect of SetActionGroup on its group."""

    NOTHING = 0
    ACTIVATE = 1
    DEACTIVATE = 2
    TOGGLE = 3


def _verb(channel: str) -> Verb:
    """Return the effect of a channel of this name on its groups."""
    verb = channel.rpartition('_')[2]
    if verb == 'activate':
        return 'activate'
    return 'deactivate' if verb == 'deactivate' else 'toggle'


def _pack_ids(what: str, value: Any) -> bytes:
    ids = bytes(value)
    if not ids or len(ids) > 32 or 255 in ids:
        raise ValueError(f'{what}: must be 1..32 ids of 0..254')
    return ids


def _camera_mode(what: str, value: Any) -> int:
    if value not in CAMERA_MODES:
        raise ValueError(f'{what}: got {value}, must be one of {CAMERA_MODES}')
    return int(value)


def _warp_command(what: str, value: Any) -> int:
    return checked_int(what, value, 0, 18) if value != WarpCommand.CANCEL else int(value)


@dataclass(frozen=True, slots=True)
class Register(SimpitMessage):
    """
    Register telemetry channels, 1..32 ids of 0..254 (protocol document, "Register Channel").

    A plugin processes them last to first, and at 255 drops those before it.
    """

    tag: ClassVar[str] = 'register'

    channels: bytes = rest(_pack_ids, lambda _, ids: ids)


@dataclass(frozen=True, slots=True)
class Deregister(SimpitMessage):
    """
    Deregister telemetry channels, 1..32 ids of 0..254.

    Before 2.0, channels registered twice are sent twice, and this undoes one registration.
    """

    tag: ClassVar[str] = 'deregister'

    channels: bytes = rest(_pack_ids, lambda _, ids: ids)


@dataclass(frozen=True, slots=True)
class StageEvent(SimpitMessage):
    """Stage button of plugins 0.2 to 0.5: stages where a byte other than 0 follows a 0."""

    tag: ClassVar[str] = 'stage_event'

    states: bytes = raw()


@dataclass(frozen=True, slots=True)
class ClosePort(SimpitMessage):
    """
    Ask the plugin to close the port; value is ignored.

    Only the player can reopen it: not even a SYN does.
    """

    tag: ClassVar[str] = 'close_port'

    value: int = uint8(default=0)


@dataclass(frozen=True, slots=True)
class ActionGroups(SimpitMessage):
    """
    Activate, deactivate or toggle standard action groups.

    Activating or toggling STAGE fires the next stage every time; deactivating it does nothing. A
    plugin reads only the first byte, ignores bit 0x80, and of two packets within one game frame
    obeys the last: leave 20 ms or more between them (docs/wire/simpit.md, sections 2.7 and 6).
    """

    tag: ClassVar[str] = 'action_groups'
    sizes: ClassVar = ()

    verb: Verb = from_channel(_verb)
    action_bits: ActionGroup = group_bits()

    @property
    def channel(self) -> str:
        """Return the name of the channel that carries this message."""
        return f'action_groups_{self.verb}'


@dataclass(frozen=True, slots=True)
class CustomActionGroups(SimpitMessage):
    """
    Activate, deactivate or toggle custom action groups.

    groups are numbers of 1..10, or 1..250 with Action Groups Extended; a stock plugin stops at the
    first one it does not have, counted from the last. From 2.0 on a list acts on its first group
    as many times as it has entries, so send one group per packet (docs/wire/simpit.md, section 3).
    """

    tag: ClassVar[str] = 'custom_action_groups'

    verb: Verb = from_channel(_verb)
    groups: tuple[int, ...] = rest(lambda _, groups: bytes(groups), lambda _, data: tuple(data))

    @property
    def channel(self) -> str:
        """Return the name of the channel that carries this message."""
        return f'custom_action_groups_{self.verb}'


@dataclass(frozen=True, slots=True)
class SasMode(SimpitMessage):
    """Choose the SAS mode: mode is 0..9, see AutopilotMode; SAS itself is an action group."""

    tag: ClassVar[str] = 'sas_mode'

    mode: int = uint8(0, 9)


@dataclass(frozen=True, slots=True)
class CameraMode(SimpitMessage):
    """Choose the camera: mode is one of CAMERA_MODES."""

    tag: ClassVar[str] = 'camera_mode'

    mode: int = declared(WireForm('B', _camera_mode))


@dataclass(frozen=True, slots=True)
class CameraRotation(SimpitMessage):
    """Turn the camera: axes -32768..32767; mask: 1 pitch, 2 roll, 4 yaw, 8 zoom."""

    tag: ClassVar[str] = 'camera_rotation'

    pitch: int = int16()
    roll: int = int16()
    yaw: int = int16()
    zoom: int = int16()
    mask: int = uint8(0, 15)


@dataclass(frozen=True, slots=True)
class CameraTranslation(SimpitMessage):
    """Move the camera: axes -32768..32767; mask: 1 x, 2 y, 4 z."""

    tag: ClassVar[str] = 'camera_translation'

    x: int = int16()
    y: int = int16()
    z: int = int16()
    mask: int = uint8(0, 7)


@dataclass(frozen=True, slots=True)
class TimeWarp(SimpitMessage):
    """
    Change the time warp.

    command is 0..7 for a rate, 8..11 for a physical rate, or a WarpCommand. From 2.3 on 14 to 18
    are gone (replaced by TimeWarpTo).
    """

    tag: ClassVar[str] = 'time_warp'

    command: int = declared(WireForm('B', _warp_command))


@dataclass(frozen=True, slots=True)
class Log(SimpitMessage):
    """
    Write a line to the game's log; flags are LogFlags, text at most 31 bytes of UTF-8.

    The device libraries pad the payload with NULs to 32 bytes, which the game displays; decoding
    keeps them.
    """

    tag: ClassVar[str] = 'log'

    flags: int = uint8(0, 7)
    text: str = encoded_text('utf-8')


@dataclass(frozen=True, slots=True)
class Keyboard(SimpitMessage):
    """Press a key: modifiers are KeyModifiers, key a Windows virtual key code."""

    tag: ClassVar[str] = 'keyboard'

    modifiers: int = uint8(0, 31)
    key: int = int16()


@dataclass(frozen=True, slots=True)
class CustomAxes(SimpitMessage):
    """Set the four custom axes, -32768..32767 each; mask: 1, 2, 4, 8 in order."""

    tag: ClassVar[str] = 'custom_axes'

    custom_1: int = int16()
    custom_2: int = int16()
    custom_3: int = int16()
    custom_4: int = int16()
    mask: int = uint8(0, 15)


@dataclass(frozen=True, slots=True)
class NavballMode(SimpitMessage):
    """Go to the next mode of the navball; value is ignored."""

    tag: ClassVar[str] = 'navball_mode'

    value: int = uint8(default=0)


@dataclass(frozen=True, slots=True)
class RequestMessage(SimpitMessage):
    """Request an on-change channel to be sent again: its id, or 0 for all registered."""

    tag: ClassVar[str] = 'request_message'

    channel_id: int = uint8(0, 254)


@dataclass(frozen=True, slots=True)
class TimeWarpTo(SimpitMessage):
    """Warp to an instant, 0..6 as in WarpInstant, plus delay_s seconds (may be negative)."""

    tag: ClassVar[str] = 'time_warp_to'

    instant: int = uint8(0, 6)
    delay_s: float = float32(default=0.0)


@dataclass(frozen=True, slots=True)
class SetActionGroup(SimpitMessage):
    """
    Set one action group of KSP2.

    custom selects a standard group (channel set_action_group; index counts stage, gear, light,
    RCS, SAS, brakes, abort, solar panels, radiators from 0) or a custom one (channel
    set_custom_action_group, index 1..10); setting is a GroupSetting. Both are in one byte.
    """

    tag: ClassVar[str] = 'set_action_group'

    custom: bool
    index: int
    setting: GroupSetting

    @property
    def channel(self) -> str:
        """Return the name of the channel that carries this message."""
        return 'set_custom_action_group' if self.custom else 'set_action_group'


def set_action_group(*, custom: bool) -> Pair[SetActionGroup]:
    """Return the codec of SetActionGroup on either of its channels."""
    groups = STOCK_CUSTOM_GROUPS if custom else range(9)

    def pack(message: SetActionGroup) -> bytes:
        index = checked_int(
            f'{message.channel} index', message.index, groups[0], groups[-1])
        return bytes((index << 2 | GroupSetting(message.setting),))

    def unpack(data: bytes) -> SetActionGroup:
        return SetActionGroup(custom, data[0] >> 2, GroupSetting(data[0] & 3))

    return Pair(pack, unpack)
