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
What a KerbalSimpit plugin sends about the game and the vessel's systems and supplies.

See docs/wire/simpit.md, sections 2.7, 3.1 and 4; channel numbers are in channels.py.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum, IntFlag
import struct
from typing import Any, ClassVar

from xplane_bridge.bridges.protocols.base import (
    any_float32,
    checked_int,
    declared,
    uint8,
    uint16,
    WireForm,
)
from xplane_bridge.bridges.simpit.protocol.messages import ActionGroup, group_bits
from xplane_bridge.bridges.simpit.protocol.payloads import (
    encoded_text,
    from_channel,
    rest,
    SimpitMessage,
)


class FlightFlags(IntFlag):
    """Bits of FlightStatus.flags; the two control level bits form a number of 0 to 3."""

    IN_FLIGHT = 1
    EVA = 2
    RECOVERABLE = 4
    PHYSICAL_WARP = 8
    CONTROL_LEVEL_LOW = 16
    CONTROL_LEVEL_HIGH = 32
    HAS_TARGET = 64


class GroupState(IntEnum):
    """State of one action group of KSP2."""

    UNAVAILABLE = 0
    ON = 1
    OFF = 2
    MIXED = 3


def _pack_scene(what: str, value: Any) -> bytes:
    return struct.pack('<i', checked_int(what, value, 0, 1))


def _unpack_scene(what: str, data: bytes) -> int:
    return int.from_bytes(data, 'little', signed=len(data) == 4)


def _pack_eight(what: str, values: Any) -> bytes:
    if len(values) != 8:
        raise ValueError(f'{what}: {len(values)} values, expected 8')
    try:
        return struct.pack('<8f', *values)
    except (struct.error, OverflowError) as error:
        raise ValueError(f'{what}: {error}') from None


def _unpack_eight(what: str, data: bytes) -> tuple[float, ...]:
    return struct.unpack('<8f', data)


def _pack_set(what: str, numbers: Any) -> bytes:
    """Return 32 bytes: number n is bit n % 8 of byte n // 8."""
    return sum(1 << checked_int(what, number, 0, 255) for number in set(numbers)).to_bytes(
        32, 'little')


def _unpack_set(what: str, data: bytes) -> tuple[int, ...]:
    bits = int.from_bytes(data, 'little')
    return tuple(n for n in range(256) if bits >> n & 1) if bits else ()


def _pack_states(what: str, states: Any) -> bytes:
    """Return 4 bytes: two bits per group."""
    if len(states) != 16:
        raise ValueError(f'{what}: {len(states)} states, must be 16 numbers of 0..3')
    return sum(
        checked_int(what, state, 0, 3) << 2 * index for index, state in enumerate(states)
    ).to_bytes(4, 'little')


def _unpack_states(what: str, data: bytes) -> tuple[GroupState, ...]:
    bits = int.from_bytes(data, 'little')
    return tuple(GroupState(bits >> 2 * index & 3) for index in range(16))


@dataclass(frozen=True, slots=True)
class SceneChange(SimpitMessage):
    """
    The flight scene is ready (scene 0) or about to be left (1).

    One byte in the documents, a 32-bit number from every plugin that ever sent it; both are
    accepted, four bytes are sent.
    """

    tag: ClassVar[str] = 'scene_change'
    sizes: ClassVar = (1, 4)

    scene: int = rest(_pack_scene, _unpack_scene)


@dataclass(frozen=True, slots=True)
class Resource(SimpitMessage):
    """
    Capacity and amount of one resource, in the game's units.

    resource is the channel's name: liquid_fuel (methane in KSP2), oxidizer, ore...; a name ending
    in _stage counts the current stage only. KSP1 needs the mod Alternate Resource Panel.
    """

    tag: ClassVar[str] = 'resource'

    resource: str = from_channel(str)
    maximum: float = any_float32()
    available: float = any_float32()

    @property
    def channel(self) -> str:
        """Return the name of the channel that carries this message."""
        return self.resource


@dataclass(frozen=True, slots=True)
class TacResources(SimpitMessage):
    """Supplies of the mod TAC Life Support: current before maximum, in its units."""

    tag: ClassVar[str] = 'tac_resources'

    food: float = any_float32()
    food_maximum: float = any_float32()
    water: float = any_float32()
    water_maximum: float = any_float32()
    oxygen: float = any_float32()
    oxygen_maximum: float = any_float32()


@dataclass(frozen=True, slots=True)
class TacWaste(SimpitMessage):
    """Waste of the mod TAC Life Support: current before maximum, in its units."""

    tag: ClassVar[str] = 'tac_waste'

    waste: float = any_float32()
    waste_maximum: float = any_float32()
    liquid_waste: float = any_float32()
    liquid_waste_maximum: float = any_float32()
    carbon_dioxide: float = any_float32()
    carbon_dioxide_maximum: float = any_float32()


@dataclass(frozen=True, slots=True)
class CustomResources(SimpitMessage):
    """
    Four resources chosen in the plugin's configuration, current before maximum.

    bank is 1 or 2: channels custom_resources_1 and custom_resources_2. values are eight floats in
    the resources' units: current and maximum of the first, of the second...
    """

    tag: ClassVar[str] = 'custom_resources'

    bank: int = from_channel(lambda channel: int(channel[-1]))
    values: tuple[float, ...] = declared(WireForm('32s', _pack_eight, _unpack_eight))

    @property
    def channel(self) -> str:
        """Return the name of the channel that carries this message."""
        return f'custom_resources_{self.bank}'


@dataclass(frozen=True, slots=True)
class ActionStatus(SimpitMessage):
    """Standard action groups that are on."""

    tag: ClassVar[str] = 'action_status'

    action_bits: ActionGroup = group_bits()


@dataclass(frozen=True, slots=True)
class CustomActionGroupStatus(SimpitMessage):
    """Numbers (0..255) of the custom action groups that are on, in ascending order."""

    tag: ClassVar[str] = 'custom_action_group_status'

    active: tuple[int, ...] = declared(WireForm('32s', _pack_set, _unpack_set))


@dataclass(frozen=True, slots=True)
class SphereOfInfluence(SimpitMessage):
    """Name of the body in whose sphere of influence the vessel is, 1..32 ASCII characters."""

    tag: ClassVar[str] = 'sphere_of_influence'

    text: str = encoded_text('ascii')


@dataclass(frozen=True, slots=True)
class SasInfo(SimpitMessage):
    """SAS mode 0..9 as in SasMode, 255 for off; available has bit 1 << mode for each mode."""

    tag: ClassVar[str] = 'sas_info'

    mode: int = uint8()
    available: int = uint16()


@dataclass(frozen=True, slots=True)
class FlightStatus(SimpitMessage):
    """
    State of the flight, every field 0..255.

    flags are FlightFlags; situation and vessel_type are the game's own numbers; warp_index is the
    index of the time warp rate; comm_pct the signal strength in percent. stage and vessel_type
    were added in 2.1 and are None before.
    """

    tag: ClassVar[str] = 'flight_status'
    older: ClassVar = (6,)

    flags: int = uint8()
    situation: int = uint8()
    warp_index: int = uint8()
    crew_capacity: int = uint8()
    crew: int = uint8()
    comm_pct: int = uint8()
    stage: int | None = uint8(default=None)
    vessel_type: int | None = uint8(default=None)

    @property
    def control_level(self) -> int:
        """Return 0 none, 1 partial unmanned, 2 partial manned, 3 full control."""
        return self.flags >> 4 & 3


@dataclass(frozen=True, slots=True)
class VesselName(SimpitMessage):
    """Name of the vessel, truncated to 32 characters, ``?`` for non-ASCII ones."""

    tag: ClassVar[str] = 'vessel_name'

    text: str = encoded_text('ascii')


@dataclass(frozen=True, slots=True)
class VesselChange(SimpitMessage):
    """The controlled vessel changed: 1 by switching, 2 by docking, 3 by undocking."""

    tag: ClassVar[str] = 'vessel_change'

    change: int = uint8()


@dataclass(frozen=True, slots=True)
class AdvancedActionStatus(SimpitMessage):
    """
    States of the 16 standard or custom action groups of KSP2.

    custom tells them apart: channel advanced_action_status or advanced_custom_action_status.
    states holds 16 GroupStates; standard ones count stage, gear, light, RCS, SAS, brakes, abort,
    solar panels, radiators; custom ones are 1 to 10.
    """

    tag: ClassVar[str] = 'advanced_action_status'

    custom: bool = from_channel(lambda channel: channel == 'advanced_custom_action_status')
    states: tuple[GroupState, ...] = declared(WireForm('4s', _pack_states, _unpack_states))

    @property
    def channel(self) -> str:
        """Return the name of the channel that carries this message."""
        return 'advanced_custom_action_status' if self.custom else 'advanced_action_status'
