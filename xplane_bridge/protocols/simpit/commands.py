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
What a device sends to a KerbalSimpit plugin (docs/wire/simpit.md, sections 2.5, 2.7, 3.2 and 4).

Channel numbers of each profile are in channels.py. The four axis commands that a plugin from 2.2
on also reads back (Rotation, Translation, Wheel, Throttle) are in payloads.py.
"""

from dataclasses import dataclass
from enum import IntEnum, IntFlag
from math import isfinite
import struct
from typing import ClassVar

from xplane_bridge.protocols.simpit.payloads import (
    ActionGroup,
    ByteListMessage,
    check_mask,
    Message,
    STOCK_CUSTOM_GROUPS,
    StructMessage,
    to_text,
    Verb,
)

_ONE_BYTE = struct.Struct('<B')

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
    """What SetActionGroup does to its group."""

    NOTHING = 0
    ACTIVATE = 1
    DEACTIVATE = 2
    TOGGLE = 3


@dataclass(frozen=True, slots=True)
class Register(ByteListMessage):
    """
    Ask for telemetry channels, 1..32 ids of 0..254 (protocol document, "Register Channel").

    A plugin works through them last to first, and at 255 drops those before it.
    """

    tag: ClassVar[str] = 'register'

    channels: bytes

    def to_payload(self) -> bytes:
        """Return the payload; raise ValueError for an id that is no channel."""
        return _channel_list(self, self.channels)


@dataclass(frozen=True, slots=True)
class Deregister(ByteListMessage):
    """
    Give telemetry channels back, 1..32 ids of 0..254.

    Before 2.0 channels registered twice come twice, and this takes one of them back.
    """

    tag: ClassVar[str] = 'deregister'

    channels: bytes

    def to_payload(self) -> bytes:
        """Return the payload; raise ValueError for an id that is no channel."""
        return _channel_list(self, self.channels)


@dataclass(frozen=True, slots=True)
class StageEvent(ByteListMessage):
    """Stage button of plugins 0.2 to 0.5: stages where a byte other than 0 follows a 0."""

    tag: ClassVar[str] = 'stage_event'

    states: bytes

    def to_payload(self) -> bytes:
        """Return the payload."""
        return bytes(self.states)


@dataclass(frozen=True, slots=True)
class ClosePort(StructMessage):
    """
    Ask the plugin to close the port; value is ignored.

    Nothing but the player reopens it: not even a SYN.
    """

    tag: ClassVar[str] = 'close_port'
    layouts: ClassVar = (_ONE_BYTE,)
    sizes: ClassVar = (1,)

    value: int = 0


@dataclass(frozen=True, slots=True)
class ActionGroups(Message):
    """
    Activate, deactivate or toggle standard action groups.

    Activating or toggling STAGE fires the next stage every time, deactivating it does nothing.
    A plugin reads the first byte only, ignores bit 0x80, and of two packets within one game
    frame obeys the last: leave 20 ms or more between them (docs/wire/simpit.md,
    sections 2.7 and 6).
    """

    tag: ClassVar[str] = 'action_groups'

    verb: Verb
    action_bits: ActionGroup

    @property
    def channel(self) -> str:
        """Return the name of the channel that carries this message."""
        return f'action_groups_{self.verb}'

    @classmethod
    def from_payload(cls, name: str, payload: bytes) -> 'ActionGroups':
        """Return the message in the first byte of a payload that came on channel ``name``."""
        return cls(_verb(name), ActionGroup(payload[0]))

    def to_payload(self) -> bytes:
        """Return the payload; raise ValueError for a bit that is no action group."""
        if not 0 <= self.action_bits <= 0x7f:
            raise ValueError(f'action_bits is {int(self.action_bits)}, must be 0..127')
        return bytes((self.action_bits,))


@dataclass(frozen=True, slots=True)
class CustomActionGroups(Message):
    """
    Activate, deactivate or toggle custom action groups.

    groups are numbers of 1..10, or 1..250 with Action Groups Extended; a stock plugin stops at
    the first it does not have, counted from the last. From 2.0 on a list acts on its first
    group as often as it is long, so one group a packet (docs/wire/simpit.md, section 3).
    """

    tag: ClassVar[str] = 'custom_action_groups'

    verb: Verb
    groups: tuple[int, ...]

    @property
    def channel(self) -> str:
        """Return the name of the channel that carries this message."""
        return f'custom_action_groups_{self.verb}'

    @classmethod
    def from_payload(cls, name: str, payload: bytes) -> 'CustomActionGroups':
        """Return the message in any payload that came on channel ``name``."""
        return cls(_verb(name), tuple(payload))

    def to_payload(self) -> bytes:
        """Return the payload; encode_payload() knows which numbers the plugin has."""
        return bytes(self.groups)


@dataclass(frozen=True, slots=True)
class SasMode(StructMessage):
    """Choose the SAS mode: mode is 0..9, see AutopilotMode; SAS itself is an action group."""

    tag: ClassVar[str] = 'sas_mode'
    layouts: ClassVar = (_ONE_BYTE,)
    sizes: ClassVar = (1,)

    mode: int

    def check(self) -> None:
        """Raise ValueError for a mode that KSP1 does not have."""
        _check_range(self, 'mode', self.mode, 9)


@dataclass(frozen=True, slots=True)
class CameraMode(StructMessage):
    """Choose the camera: mode is one of CAMERA_MODES."""

    tag: ClassVar[str] = 'camera_mode'
    layouts: ClassVar = (_ONE_BYTE,)
    sizes: ClassVar = (1,)

    mode: int

    def check(self) -> None:
        """Raise ValueError for a mode that no plugin has."""
        if self.mode not in CAMERA_MODES:
            raise ValueError(f'camera mode is {self.mode}, must be one of {CAMERA_MODES}')


@dataclass(frozen=True, slots=True)
class CameraRotation(StructMessage):
    """Turn the camera: axes -32768..32767; mask: 1 pitch, 2 roll, 4 yaw, 8 zoom."""

    tag: ClassVar[str] = 'camera_rotation'
    layouts: ClassVar = (struct.Struct('<4hB'),)
    sizes: ClassVar = (9,)

    pitch: int
    roll: int
    yaw: int
    zoom: int
    mask: int

    def check(self) -> None:
        """Raise ValueError for a mask bit without an axis."""
        check_mask(self, self.mask, 15)


@dataclass(frozen=True, slots=True)
class CameraTranslation(StructMessage):
    """Move the camera: axes -32768..32767; mask: 1 x, 2 y, 4 z."""

    tag: ClassVar[str] = 'camera_translation'
    layouts: ClassVar = (struct.Struct('<3hB'),)
    sizes: ClassVar = (7,)

    x: int
    y: int
    z: int
    mask: int

    def check(self) -> None:
        """Raise ValueError for a mask bit without an axis."""
        check_mask(self, self.mask, 7)


@dataclass(frozen=True, slots=True)
class TimeWarp(StructMessage):
    """
    Change the time warp.

    command is 0..7 for a rate, 8..11 for a physical rate, or a WarpCommand. From 2.3 on 14 to
    18 are gone (TimeWarpTo took their place).
    """

    tag: ClassVar[str] = 'time_warp'
    layouts: ClassVar = (_ONE_BYTE,)
    sizes: ClassVar = (1,)

    command: int

    def check(self) -> None:
        """Raise ValueError for a command that no plugin has."""
        if self.command != WarpCommand.CANCEL:
            _check_range(self, 'command', self.command, 18)


@dataclass(frozen=True, slots=True)
class Log(Message):
    """
    Write a line to the game's log; flags are LogFlags, text at most 31 bytes of UTF-8.

    The device libraries fill the payload with NULs up to 32 bytes, and the game shows them; they
    are kept when decoded.
    """

    tag: ClassVar[str] = 'log'

    flags: int
    text: str

    @classmethod
    def from_payload(cls, name: str, payload: bytes) -> 'Log':
        """Return the message in any payload; raise ProtocolError for text that is not UTF-8."""
        return cls(payload[0], to_text(name, payload[1:], 'utf-8'))

    def to_payload(self) -> bytes:
        """Return the payload; raise ValueError for unknown flags."""
        _check_range(self, 'flags', self.flags, 7)
        return bytes((self.flags,)) + self.text.encode('utf-8')


@dataclass(frozen=True, slots=True)
class Keyboard(StructMessage):
    """Press a key: modifiers are KeyModifiers, key a Windows virtual key code."""

    tag: ClassVar[str] = 'keyboard'
    layouts: ClassVar = (struct.Struct('<Bh'),)
    sizes: ClassVar = (3,)

    modifiers: int
    key: int

    def check(self) -> None:
        """Raise ValueError for unknown modifiers."""
        _check_range(self, 'modifiers', self.modifiers, 31)


@dataclass(frozen=True, slots=True)
class CustomAxes(StructMessage):
    """Set the four custom axes, -32768..32767 each; mask: 1, 2, 4, 8 in their order."""

    tag: ClassVar[str] = 'custom_axes'
    layouts: ClassVar = (struct.Struct('<4hB'),)
    sizes: ClassVar = (9,)

    custom_1: int
    custom_2: int
    custom_3: int
    custom_4: int
    mask: int

    def check(self) -> None:
        """Raise ValueError for a mask bit without an axis."""
        check_mask(self, self.mask, 15)


@dataclass(frozen=True, slots=True)
class NavballMode(StructMessage):
    """Go to the next mode of the navball; value is ignored."""

    tag: ClassVar[str] = 'navball_mode'
    layouts: ClassVar = (_ONE_BYTE,)
    sizes: ClassVar = (1,)

    value: int = 0


@dataclass(frozen=True, slots=True)
class RequestMessage(StructMessage):
    """Ask for an on-change channel to be sent again: its id, or 0 for all registered."""

    tag: ClassVar[str] = 'request_message'
    layouts: ClassVar = (_ONE_BYTE,)
    sizes: ClassVar = (1,)

    channel_id: int

    def check(self) -> None:
        """Raise ValueError for an id that is no channel."""
        _check_range(self, 'channel_id', self.channel_id, 254)


@dataclass(frozen=True, slots=True)
class TimeWarpTo(StructMessage):
    """Warp to an instant, 0..6 as in WarpInstant, plus delay_s seconds (may be negative)."""

    tag: ClassVar[str] = 'time_warp_to'
    layouts: ClassVar = (struct.Struct('<Bf'),)
    sizes: ClassVar = (5,)

    instant: int
    delay_s: float = 0.0

    def check(self) -> None:
        """Raise ValueError for an unknown instant or a delay that is no time."""
        _check_range(self, 'instant', self.instant, 6)
        if not isfinite(self.delay_s):
            raise ValueError(f'{self}: delay_s must be finite')


@dataclass(frozen=True, slots=True)
class SetActionGroup(Message):
    """
    Set one action group of KSP2.

    custom tells whether a standard one (channel set_action_group; index counts stage, gear,
    light, RCS, SAS, brakes, abort, solar panels, radiators from 0) or a custom one (channel
    set_custom_action_group, index 1..10); setting is a GroupSetting.
    """

    tag: ClassVar[str] = 'set_action_group'
    sizes: ClassVar = (1,)

    custom: bool
    index: int
    setting: GroupSetting

    @property
    def channel(self) -> str:
        """Return the name of the channel that carries this message."""
        return 'set_custom_action_group' if self.custom else 'set_action_group'

    @classmethod
    def from_payload(cls, name: str, payload: bytes) -> 'SetActionGroup':
        """Return the message in 1 byte that came on channel ``name``."""
        value = payload[0]
        return cls(name == 'set_custom_action_group', value >> 2, GroupSetting(value & 3))

    def to_payload(self) -> bytes:
        """Return the payload; raise ValueError for a group that KSP2 does not have."""
        groups = STOCK_CUSTOM_GROUPS if self.custom else range(9)
        if self.index not in groups:
            raise ValueError(f'{self}: index must be {groups[0]}..{groups[-1]}')
        _check_range(self, 'setting', self.setting, 3)
        return bytes((self.index << 2 | self.setting,))


def _verb(name: str) -> Verb:
    """Return what a channel of this name does to its groups."""
    verb = name.rpartition('_')[2]
    if verb == 'activate':
        return 'activate'
    return 'deactivate' if verb == 'deactivate' else 'toggle'


def _channel_list(message: Message, channels: bytes) -> bytes:
    """Return the ids as a payload; raise ValueError for none, too many, or one above 254."""
    ids = bytes(channels)
    if not ids or len(ids) > 32 or 255 in ids:
        raise ValueError(f'{message}: must be 1..32 ids of 0..254')
    return ids


def _check_range(message: Message, name: str, value: int, highest: int) -> None:
    """Raise ValueError for a value outside 0..highest."""
    if not 0 <= value <= highest:
        raise ValueError(f'{message}: {name} must be 0..{highest}')
