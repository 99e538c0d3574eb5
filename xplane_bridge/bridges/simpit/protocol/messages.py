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
The messages that both ends of a KerbalSimpit conversation send, and their enumerations.

A field name ends in the unit if the unit is certain. Floats from a plugin may be infinite or NaN
(docs/wire/simpit.md, section 2.6).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum, IntFlag
from typing import Any, ClassVar, Literal

from xplane_bridge.bridges.protocols.base import checked_int, declared, int16, uint8, WireForm
from xplane_bridge.bridges.simpit.protocol.payloads import raw, SimpitMessage

Verb = Literal['activate', 'deactivate', 'toggle']

KSP1_ID = 0x37
"""Second byte of every SYNACK and of the 2017 libraries' SYN, whatever ID bytes came."""
KSP2_ID = 0xc8
"""Second byte of the SYNACK of a KSP2 plugin."""

STOCK_CUSTOM_GROUPS = range(1, 11)
AGX_CUSTOM_GROUPS = range(1, 251)
"""Custom action groups with the mod Action Groups Extended."""


class HandshakeType(IntEnum):
    """First byte of a handshake (protocol document, "0x00: Handshake packets")."""

    SYN = 0
    SYNACK = 1
    ACK = 2


class ActionGroup(IntFlag):
    """The standard action groups as bits (protocol document, "Action Group Toggle")."""

    STAGE = 0x01
    GEAR = 0x02
    LIGHT = 0x04
    RCS = 0x08
    SAS = 0x10
    BRAKES = 0x20
    ABORT = 0x40


def group_bits() -> Any:
    """Declare a byte of standard action groups."""
    return declared(WireForm(
        'B', lambda what, value: checked_int(what, value, 0, 0x7f),
        lambda _, value: ActionGroup(value)))


def _known_type(what: str, value: Any) -> int:
    return checked_int(what, value, HandshakeType.SYN, HandshakeType.ACK)


def _to_type(what: str, value: int) -> HandshakeType | int:
    return HandshakeType(value) if value <= HandshakeType.ACK else value


@dataclass(frozen=True, slots=True)
class Handshake(SimpitMessage):
    """
    Handshake, channel 0, both ways (protocol document, "Handshake packets").

    handshake is a HandshakeType, or the bare number if a peer sent another one; rest holds the
    bytes behind it, at most 31: ID bytes, or from 0.8 on the library's version and a NUL. No
    plugin ever sent ID bytes back (docs/wire/simpit.md, section 2.3).
    """

    tag: ClassVar[str] = 'handshake'

    handshake: HandshakeType | int = declared(WireForm('B', _known_type, _to_type))
    rest: bytes = raw(default=b'')


@dataclass(frozen=True, slots=True)
class EchoRequest(SimpitMessage):
    """
    Echo request, channel 1, answered by an EchoResponse; payload has 1..32 bytes.

    An empty one, which the document allows, kills the reader of a real plugin. Plugins before 2.3
    answer in flight only, and truncate the answer (Profile.plugin_payload_limit).
    """

    tag: ClassVar[str] = 'echo_request'

    payload: bytes = raw()


@dataclass(frozen=True, slots=True)
class EchoResponse(SimpitMessage):
    """Echo response, channel 2, without registration; payload is that of the request."""

    tag: ClassVar[str] = 'echo_response'

    payload: bytes = raw()


@dataclass(frozen=True, slots=True)
class Rotation(SimpitMessage):
    """
    Rotation of the vessel: a command, or from 2.2 on the current value.

    pitch, roll and yaw are -32768..32767 for about -1..1 (the plugin divides by 32767); mask names
    those that are set: 1 pitch, 2 roll, 4 yaw; 0 when read back. The last value holds; 0 gives the
    axis back to the game (docs/wire/simpit.md, section 3.2).
    """

    tag: ClassVar[str] = 'rotation'

    pitch: int = int16()
    roll: int = int16()
    yaw: int = int16()
    mask: int = uint8(0, 7)


@dataclass(frozen=True, slots=True)
class Translation(SimpitMessage):
    """
    Translation of the vessel: a command, or from 2.2 on the current value.

    x, y and z are -32768..32767 for about -1..1; mask: 1 x, 2 y, 4 z; 0 when read back.
    """

    tag: ClassVar[str] = 'translation'

    x: int = int16()
    y: int = int16()
    z: int = int16()
    mask: int = uint8(0, 7)


@dataclass(frozen=True, slots=True)
class Wheel(SimpitMessage):
    """
    Wheel steering and throttle: a command, or from 2.2 on the current value.

    steer and throttle are -32768..32767 for about -1..1; mask: 1 steer, 2 throttle; 0 when read
    back.
    """

    tag: ClassVar[str] = 'wheel'

    steer: int = int16()
    throttle: int = int16()
    mask: int = uint8(0, 3)


@dataclass(frozen=True, slots=True)
class Throttle(SimpitMessage):
    """
    Main throttle: a command, or from 2.2 on the current value.

    throttle is 0..32767 for 0..1. Before 2.2 a throttle once received is forced indefinitely; from
    2.2 on 0 releases it.
    """

    tag: ClassVar[str] = 'throttle'

    throttle: int = int16(0, 32767)
