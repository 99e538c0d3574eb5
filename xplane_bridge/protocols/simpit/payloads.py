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
What KerbalSimpit payloads have in common, and the messages that both ends send.

All numbers are little-endian, without padding, floats single precision. A field name ends in the
unit where the unit is sure. Floats from a plugin may be infinite or NaN (docs/wire/simpit.md,
section 2.6).
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields
from enum import IntEnum, IntFlag
import struct
from typing import Any, cast, ClassVar, Literal, TypeVar

from xplane_bridge.protocols.errors import ProtocolError

SomeMessage = TypeVar('SomeMessage', bound='Message')

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
    """The standard action groups, added up (protocol document, "Action Group Toggle")."""

    STAGE = 0x01
    GEAR = 0x02
    LIGHT = 0x04
    RCS = 0x08
    SAS = 0x10
    BRAKES = 0x20
    ABORT = 0x40


class Message:
    """
    Base of every typed payload.

    tag is the message's label and, where one channel carries it, the channel's name; sizes are
    the payload lengths in bytes that it can have, empty for any.
    """

    __slots__ = ()

    tag: ClassVar[str]
    sizes: ClassVar[tuple[int, ...]] = ()

    @property
    def channel(self) -> str:
        """Return the name of the channel that carries this message."""
        return self.tag

    @classmethod
    def from_payload(cls: type[SomeMessage], name: str, payload: bytes) -> SomeMessage:
        """Return the message in a payload of one of ``sizes`` that came on channel ``name``."""
        raise NotImplementedError

    def to_payload(self) -> bytes:
        """Return the payload; raise ValueError for what no real peer understands."""
        raise NotImplementedError


class StructMessage(Message):
    """
    Base of the payloads that are one C struct, which may have grown at its end.

    layouts are the struct's versions, shortest first, one value a dataclass field. A field that
    a shorter version lacks is None.
    """

    __slots__ = ()

    layouts: ClassVar[tuple[struct.Struct, ...]]

    @classmethod
    def from_payload(cls: type[SomeMessage], name: str, payload: bytes) -> SomeMessage:
        """Return the message in a payload of one of ``sizes``."""
        for layout in cast(Any, cls).layouts:
            if layout.size == len(payload):
                return cls(*layout.unpack(payload))
        raise wrong_size(name, payload, cls.sizes)

    def check(self) -> None:
        """Raise ValueError for values that fit the struct but that no real peer understands."""

    def to_payload(self) -> bytes:
        """Return the payload; raise ValueError for what no real peer understands."""
        self.check()
        values = [getattr(self, field.name) for field in fields(cast(Any, self))]
        while values and values[-1] is None:
            values.pop()
        for layout in self.layouts:
            try:
                if len(layout.unpack(bytes(layout.size))) == len(values):
                    return layout.pack(*values)
            except (struct.error, OverflowError) as error:
                raise ValueError(f'{self}: {error}') from None
        raise ValueError(f'{self}: no version of this message has {len(values)} values')


class ByteListMessage(Message):
    """Base of the payloads that are a run of 1..32 bytes, kept in the one dataclass field."""

    __slots__ = ()

    @classmethod
    def from_payload(cls: type[SomeMessage], name: str, payload: bytes) -> SomeMessage:
        """Return the message in any payload."""
        make = cast(Callable[[bytes], SomeMessage], cls)
        return make(payload)


class TextMessage(Message):
    """Base of the payloads that are ASCII text without a terminator, in the field text."""

    __slots__ = ()

    @classmethod
    def from_payload(cls: type[SomeMessage], name: str, payload: bytes) -> SomeMessage:
        """Return the message in a payload; raise ProtocolError for a byte outside ASCII."""
        make = cast(Callable[[str], SomeMessage], cls)
        return make(to_text(name, payload, 'ascii'))

    def to_payload(self) -> bytes:
        """Return the payload; raise ValueError for text that is empty, long or not ASCII."""
        text: str = cast(Any, self).text
        if not text.isascii() or not 1 <= len(text) <= 32:
            raise ValueError(f'{self}: text must be 1..32 ASCII characters')
        return text.encode('ascii')


@dataclass(frozen=True, slots=True)
class Handshake(Message):
    """
    Handshake, channel 0, both ways (protocol document, "Handshake packets").

    handshake is a HandshakeType, or the bare number if a peer sent another one; rest holds the
    bytes behind it, at most 31: ID bytes, or from 0.8 on the library's version and a NUL. No
    plugin ever sent ID bytes back (docs/wire/simpit.md, section 2.3).
    """

    tag: ClassVar[str] = 'handshake'

    handshake: HandshakeType | int
    rest: bytes = b''

    @classmethod
    def from_payload(cls, name: str, payload: bytes) -> 'Handshake':
        """Return the message in any payload."""
        first = payload[0]
        return cls(HandshakeType(first) if first <= HandshakeType.ACK else first, payload[1:])

    def to_payload(self) -> bytes:
        """Return the payload; raise ValueError for a type that no peer answers."""
        if self.handshake not in tuple(HandshakeType):
            raise ValueError(f'handshake is {self.handshake}, must be 0 (SYN), 1 or 2 (ACK)')
        return bytes((self.handshake,)) + self.rest


@dataclass(frozen=True, slots=True)
class EchoRequest(ByteListMessage):
    """
    Echo request, channel 1, answered with an EchoResponse; payload has 1..32 bytes.

    An empty one, which the document allows, ends the reader of a real plugin. Plugins before
    2.3 answer in flight only, and cut the answer (Profile.plugin_payload_limit).
    """

    tag: ClassVar[str] = 'echo_request'

    payload: bytes

    def to_payload(self) -> bytes:
        """Return the payload."""
        return bytes(self.payload)


@dataclass(frozen=True, slots=True)
class EchoResponse(ByteListMessage):
    """Echo response, channel 2, needs no registration; payload is that of the request."""

    tag: ClassVar[str] = 'echo_response'

    payload: bytes

    def to_payload(self) -> bytes:
        """Return the payload."""
        return bytes(self.payload)


@dataclass(frozen=True, slots=True)
class Rotation(StructMessage):
    """
    Rotation of the vessel: a command, or from 2.2 on what is in force.

    pitch, roll and yaw are -32768..32767 for about -1..1 (the plugin divides by 32767); mask
    names those that are set: 1 pitch, 2 roll, 4 yaw; 0 when read back. The last value holds; 0
    gives the axis back to the game (docs/wire/simpit.md, section 3.2).
    """

    tag: ClassVar[str] = 'rotation'
    layouts: ClassVar = (struct.Struct('<3hB'),)
    sizes: ClassVar = (7,)

    pitch: int
    roll: int
    yaw: int
    mask: int

    def check(self) -> None:
        """Raise ValueError for a mask bit without an axis."""
        check_mask(self, self.mask, 7)


@dataclass(frozen=True, slots=True)
class Translation(StructMessage):
    """
    Translation of the vessel: a command, or from 2.2 on what is in force.

    x, y and z are -32768..32767 for about -1..1; mask: 1 x, 2 y, 4 z; 0 when read back.
    """

    tag: ClassVar[str] = 'translation'
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
class Wheel(StructMessage):
    """
    Wheel steering and throttle: a command, or from 2.2 on what is in force.

    steer and throttle are -32768..32767 for about -1..1; mask: 1 steer, 2 throttle; 0 when read
    back.
    """

    tag: ClassVar[str] = 'wheel'
    layouts: ClassVar = (struct.Struct('<2hB'),)
    sizes: ClassVar = (5,)

    steer: int
    throttle: int
    mask: int

    def check(self) -> None:
        """Raise ValueError for a mask bit without an axis."""
        check_mask(self, self.mask, 3)


@dataclass(frozen=True, slots=True)
class Throttle(StructMessage):
    """
    Main throttle: a command, or from 2.2 on what is in force.

    throttle is 0..32767 for 0..1. Before 2.2 a throttle once received is forced for ever, from
    2.2 on 0 releases it.
    """

    tag: ClassVar[str] = 'throttle'
    layouts: ClassVar = (struct.Struct('<h'),)
    sizes: ClassVar = (2,)

    throttle: int

    def check(self) -> None:
        """Raise ValueError for a negative throttle."""
        if self.throttle < 0:
            raise ValueError(f'throttle is {self.throttle}, must be 0..32767')


def wrong_size(name: str, payload: bytes, sizes: Iterable[int]) -> ProtocolError:
    """Return the error for a payload of a length that its channel does not have."""
    need = ' or '.join(map(str, sizes))
    return ProtocolError(f'{name}: {len(payload)} payload bytes, need {need}')


def to_text(name: str, data: bytes, encoding: str) -> str:
    """Return the text in a payload; raise ProtocolError where it is not in this encoding."""
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        raise ProtocolError(
            f'{name}: byte {data[error.start]:#04x} at text offset {error.start}, '
            f'need {encoding}') from None


def check_mask(message: Message, mask: int, highest: int) -> None:
    """Raise ValueError for an axis mask outside 0..highest."""
    if not 0 <= mask <= highest:
        raise ValueError(f'{message}: mask must be 0..{highest}')
