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
The field types that X-Plane's packed, little-endian message bodies are made of.

A ``Body`` ties a message dataclass to its fields in wire order; it encodes and decodes. Checks
are made when encoding only: a decoded message shows what was on the wire.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass
import math
import struct
from typing import Any, Generic, Protocol, TypeVar

from xplane_bridge.protocols.errors import ProtocolError

HEADER_SIZE = 5
"""Four letters of label and one byte, usually zero, which no reader should test."""

INT32_MIN, INT32_MAX = -(2**31), 2**31 - 1
FLOAT32_MAX = 3.4028234663852886e38
FLOAT64_MAX = 1.7976931348623157e308

NO_DATA = -999.0
"""What the wire has for "no data" (from X-Plane) and "leave alone" (to X-Plane)."""


def checked_int(what: str, value: object, low: int, high: int) -> int:
    """Return value if it is an int in low..high; raise TypeError or ValueError if not."""
    if not isinstance(value, int):
        raise TypeError(f'{what}: expected an int, got {value!r}')
    if not low <= value <= high:
        raise ValueError(f'{what}: {value} is outside {low}..{high}')
    return int(value)


def checked_float(what: str, value: object, low: float, high: float) -> float:
    """Return value as a finite float in low..high; raise TypeError or ValueError if not."""
    if not isinstance(value, (int, float)):
        raise TypeError(f'{what}: expected a number, got {value!r}')
    # X-Plane does not check what it is sent: a NaN would get into its flight model.
    if not math.isfinite(value):
        raise ValueError(f'{what}: {value} is not finite')
    if not low <= value <= high:
        raise ValueError(f'{what}: {value} is outside {low}..{high}')
    return float(value)


def checked_text(what: str, value: object, longest: int, empty: bool, spaces: bool) -> bytes:
    """Return value as printable ASCII bytes; raise TypeError or ValueError if it is not."""
    if not isinstance(value, str):
        raise TypeError(f'{what}: expected a str, got {value!r}')
    if not value and not empty:
        raise ValueError(f'{what} is empty')
    if len(value) > longest:
        raise ValueError(f'{what}: {len(value)} characters, at most {longest} fit')
    lowest = ' ' if spaces else '!'
    for character in value:
        if not lowest <= character <= '~':
            raise ValueError(f'{what}: {character!r} cannot be sent, only printable ASCII'
                             + ('' if spaces else ' without spaces'))
    return value.encode('ascii')


def shown_text(raw: bytes) -> str:
    r"""Return what stands before the first NUL, foreign bytes as ``\xNN``."""
    return raw.split(b'\0', 1)[0].decode('ascii', 'backslashreplace')


def decimal(what: str, raw: bytes) -> int:
    """Read a decimal number that was sent as text; raise ProtocolError if it is not one."""
    digits = raw.split(b'\0', 1)[0].strip(b' ')
    # int32 has ten digits; isdigit() also keeps out the signs and underscores int() allows.
    if not digits.isdigit() or len(digits) > 10:
        raise ProtocolError(f'{what}: expected a decimal number, got {digits[:20]!r}')
    return int(digits)


class WireMessage(Protocol):
    """What every message has: the label it is sent under."""

    @property
    def tag(self) -> str:
        """Return the four letters."""
        ...


MessageT = TypeVar('MessageT', bound=WireMessage)


@dataclass(frozen=True, slots=True)
class Field:
    """One field: its struct code and how its value gets onto and off the wire."""

    name: str
    code: str
    pack: Callable[[str, Any], Any]
    unpack: Callable[[str, Any], Any]


def _as_is(what: str, raw: Any) -> Any:
    return raw


def int32(name: str, low: int = INT32_MIN, high: int = INT32_MAX) -> Field:
    """Describe a 32-bit integer."""
    return Field(name, 'i', lambda what, v: checked_int(what, v, low, high), _as_is)


def float32(name: str, low: float = -FLOAT32_MAX, high: float = FLOAT32_MAX) -> Field:
    """Describe a single-precision number."""
    return Field(name, 'f', lambda what, v: checked_float(what, v, low, high), _as_is)


def float32_or_leave(name: str, low: float, high: float) -> Field:
    """Describe a single-precision number that None, on the wire -999, leaves alone."""
    return Field(name, 'f',
                 lambda what, v: NO_DATA if v is None else checked_float(what, v, low, high),
                 lambda what, raw: None if raw == NO_DATA else raw)


def float64(name: str, low: float = -FLOAT64_MAX, high: float = FLOAT64_MAX) -> Field:
    """Describe a double-precision number."""
    return Field(name, 'd', lambda what, v: checked_float(what, v, low, high), _as_is)


def text(name: str, size: int, *, pad: bytes = b'\0', spaces: bool = True,
         empty: bool = False) -> Field:
    """
    Describe a char[size]: printable ASCII, a NUL, then padding.

    Peers pad with NUL or with spaces; where the text itself has no spaces, trailing ones are
    padding too.
    """
    def pack(what: str, value: Any) -> bytes:
        raw = checked_text(what, value, size - 1, empty, spaces)
        return (raw + b'\0').ljust(size, pad)

    def unpack(what: str, raw: bytes) -> str:
        shown = shown_text(raw)
        return shown if spaces else shown.rstrip(' ')

    return Field(name, f'{size}s', pack, unpack)


def decimal_text(name: str, size: int, low: int, high: int) -> Field:
    """Describe a char[size] that holds a decimal number."""
    return Field(name, f'{size}s',
                 lambda what, v: str(checked_int(what, v, low, high)).encode('ascii'), decimal)


class Body(Generic[MessageT]):
    """
    The packed body of one message type.

    Parameters are the dataclass and its fields in wire order; a plain string among them is a
    struct code for padding.
    """

    def __init__(self, message_type: Callable[..., MessageT], tag: str,
                 *parts: Field | str) -> None:
        self._message_type = message_type
        self._tag = tag
        self._struct = struct.Struct(
            '<' + ''.join(f if isinstance(f, str) else f.code for f in parts))
        self._fields = tuple(f for f in parts if not isinstance(f, str))
        self.size = self._struct.size
        # Poses come a thousand times a second: where nothing is to be converted, the unpacked
        # values are the message's, in its order.
        self._is_plain = all(f.unpack is _as_is for f in self._fields) and is_dataclass(
            message_type) and [f.name for f in self._fields] == [
                f.name for f in fields(message_type)]

    def encode(self, message: MessageT) -> bytes:
        """Return the body's bytes; raise ValueError or TypeError for what must not be sent."""
        return self._struct.pack(*(
            f.pack(f'{self._tag} {f.name}', getattr(message, f.name)) for f in self._fields))

    def decode(self, data: bytes, offset: int = HEADER_SIZE) -> MessageT:
        """Read the body that starts at offset; the caller has checked the length."""
        raw = self._struct.unpack_from(data, offset)
        if self._is_plain:
            return self._message_type(*raw)
        return self._message_type(**{
            f.name: f.unpack(f'{self._tag} {f.name}', r)
            for f, r in zip(self._fields, raw, strict=True)})
