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
Base of the messages of all protocols: frozen dataclasses with declared fields.

Each field declares how it is written, the range that may be sent, and the wire value that leaves
it unchanged::

    @dataclass(frozen=True, slots=True)
    class Controls(Message):
        tag: ClassVar[str] = 'CTRL'

        elevator: float | None = float32(-1.0, 1.0, leave=-998.0)
        gear: int | None = int8(0, 1, leave=-1)

``Body`` reads and writes the declared fields of a message. Ranges apply only to sending: a decoded
message shows what was on the wire. A message that is not a sequence of fixed fields (a list, a
string with its length) has its own functions next to it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, Field, field, fields, MISSING
import math
from numbers import Integral, Real
from operator import attrgetter
import struct
from typing import Any, ClassVar, Generic, Literal, Protocol, TypeAlias, TypeVar

from xplane_bridge.bridges.protocols.errors import ProtocolError
from xplane_bridge.common.fields import out_of_limits, wrong_kind
from xplane_bridge.common.text import counted

Sender: TypeAlias = Literal['bridge', 'peer']
"""Who sent a datagram: our side of the conversation, or the simulator's."""

SENDERS: tuple[Sender, ...] = ('bridge', 'peer')

INT32_MIN, INT32_MAX = -(2**31), 2**31 - 1
FLOAT32_MAX = 3.4028234663852886e38
FLOAT64_MAX = 1.7976931348623157e308


class Message:
    """Base of all messages; ``tag`` is its label for people."""

    __slots__ = ()

    tag: ClassVar[str]


Messages: TypeAlias = Mapping[Sender, Mapping[str, type[Message]]]
"""The messages that each side sends, by tag."""


def messages(*, bridge: Iterable[type[Message]], peer: Iterable[type[Message]]) -> Messages:
    """Return the messages that each side sends, by tag."""
    return {
        'bridge': {kind.tag: kind for kind in bridge},
        'peer': {kind.tag: kind for kind in peer},
    }


MessageT = TypeVar('MessageT', bound=Message)


# Checks before sending: they raise TypeError or ValueError, in the words of common.fields.

# NumPy's numbers too; the built-in types come first, as they are by far the fastest to check.
_INTEGERS = (int, Integral)
_NUMBERS = (int, float, Real)


def checked_int(what: str, value: object, low: int, high: int) -> int:
    """Return value if it is an int in low..high."""
    if not isinstance(value, _INTEGERS):
        raise TypeError(wrong_kind(what, 'a whole number', value))
    number = int(value)
    if not low <= number <= high:
        raise ValueError(out_of_limits(what, number, low, high))
    return number


def checked_float(what: str, value: object, low: float, high: float) -> float:
    """Return value as a finite float in low..high."""
    number = value if type(value) is float else _as_float(what, value)
    # The difference is NaN for an infinity, which may be within the limits.
    if low <= number <= high and number - number == 0.0:
        return number
    # No simulator validates its input: a NaN would get into its flight model.
    raise ValueError(out_of_limits(what, number, low, high))


def _as_float(what: str, value: object) -> float:
    if not isinstance(value, _NUMBERS):
        raise TypeError(wrong_kind(what, 'a number', value))
    try:
        return float(value)
    except OverflowError:
        return math.inf


def checked_text(
    what: str, value: object, longest: int, *, empty: bool = False, spaces: bool = True
) -> bytes:
    """Return value as printable ASCII bytes, at most ``longest``."""
    if not isinstance(value, str):
        raise TypeError(wrong_kind(what, 'a text', value))
    if not value and not empty:
        raise ValueError(f'{what} is empty')
    if not (value.isascii() and value.isprintable()) or not spaces and ' ' in value:
        lowest = ' ' if spaces else '!'
        character = next(each for each in value if not lowest <= each <= '~')
        raise ValueError(f'{what}: {character!r} cannot be sent, only printable ASCII'
                         + ('' if spaces else ' without spaces'))
    if len(value) > longest:
        raise ValueError(f'{what}: {len(value)} characters, at most {longest} fit')
    return value.encode('ascii')


def shown_text(raw: bytes) -> str:
    r"""Return the text before the first NUL, non-ASCII bytes as ``\xNN``."""
    return raw.split(b'\0', 1)[0].decode('ascii', 'backslashreplace')


def decimal(what: str, raw: bytes) -> int:
    """Return a decimal number that was sent as text; raise ProtocolError if it is not one."""
    digits = raw.split(b'\0', 1)[0].strip(b' ')
    # int32 has ten digits; isdigit() also rejects the signs and underscores that int() allows.
    if not digits.isdigit() or len(digits) > 10:
        raise ProtocolError(f'{what}: expected a decimal number, got {digits[:20]!r}')
    return int(digits)


# Declarations of fields.

def _as_is(what: str, raw: Any) -> Any:
    return raw


@dataclass(frozen=True, slots=True)
class WireForm:
    """Wire form of one value: its struct code, and its conversions."""

    code: str
    pack: Callable[[str, Any], Any] = _as_is
    unpack: Callable[[str, Any], Any] = _as_is
    pad: int = 0
    """Bytes of padding before it, if the layout is that of an aligned C struct."""

    @property
    def converts(self) -> bool:
        """Return whether the decoded value differs from struct's."""
        return self.unpack is not _as_is


_FORM = 'form'


def declared(form: WireForm, default: Any = MISSING) -> Any:
    """Declare a field of a message; as with dataclasses.field, the type is the value's."""
    return field(default=default, metadata={_FORM: form})


def forms(kind: type[Message], count: int | None = None) -> tuple[tuple[str, WireForm], ...]:
    """Return name and form of a message's fields, of all or of the first ``count``."""
    every: tuple[Field[Any], ...] = fields(kind)  # type: ignore[arg-type]
    return tuple((each.name, each.metadata[_FORM]) for each in every[:count])


def _or_leave(form: WireForm, leave: float | None, default: Any) -> Any:
    """Declare a field; with ``leave``, its number on the wire, None leaves the value unchanged."""
    if leave is None:
        return declared(form, default)
    return declared(WireForm(
        form.code,
        lambda what, value: leave if value is None else form.pack(what, value),
        lambda what, raw: None if raw == leave else raw, form.pad), default)


def _integer(code: str, lowest: int, highest: int) -> Callable[..., Any]:
    def declare(
        low: int = lowest, high: int = highest, *, leave: int | None = None,
        default: Any = MISSING, pad: int = 0,
    ) -> Any:
        return _or_leave(WireForm(
            code, lambda what, value: checked_int(what, value, low, high), pad=pad),
            leave, default)

    declare.__doc__ = f'Declare an integer in {lowest}..{highest}, or in a range within.'
    return declare


def _number(code: str, highest: float) -> Callable[..., Any]:
    def declare(
        low: float = -highest, high: float = highest, *, leave: float | None = None,
        default: Any = MISSING, pad: int = 0,
    ) -> Any:
        return _or_leave(WireForm(
            code, lambda what, value: checked_float(what, value, low, high), pad=pad),
            leave, default)

    declare.__doc__ = f'Declare a number of {8 * struct.calcsize(code)} bits, or in a range.'
    return declare


int8 = _integer('b', -128, 127)
uint8 = _integer('B', 0, 255)
int16 = _integer('h', -(2**15), 2**15 - 1)
uint16 = _integer('H', 0, 2**16 - 1)
int32 = _integer('i', INT32_MIN, INT32_MAX)
uint32 = _integer('I', 0, 2**32 - 1)
float32 = _number('f', FLOAT32_MAX)
float64 = _number('d', FLOAT64_MAX)


def any_float32(*, default: Any = MISSING) -> Any:
    """Declare a float32 reported by a peer, which may be anything, including NaN and infinity."""
    return declared(WireForm('f', checked_float32), default)


def any_float64(*, default: Any = MISSING) -> Any:
    """Declare a float64 reported by a peer, which may be anything, including NaN and infinity."""
    return declared(WireForm('d', _as_float), default)


def checked_float32(what: str, value: object) -> float:
    """Return value as a float, including NaN and infinity, if it fits into float32."""
    number = _as_float(what, value)
    if math.isfinite(number) and abs(number) > FLOAT32_MAX:
        raise ValueError(f'{what}: {value} is too large for float32')
    return number


def text(
    size: int, *, fill: bytes = b'\0', spaces: bool = True, empty: bool = False,
    default: Any = MISSING, pad: int = 0,
) -> Any:
    """
    Declare a char[size]: printable ASCII, a NUL, then padding.

    Peers pad with NUL or with spaces; if the text itself has no spaces, trailing ones are padding
    too.
    """
    def pack(what: str, value: Any) -> bytes:
        return (checked_text(what, value, size - 1, empty=empty, spaces=spaces) + b'\0').ljust(
            size, fill)

    def unpack(what: str, raw: bytes) -> str:
        shown = shown_text(raw)
        return shown if spaces else shown.rstrip(' ')

    return declared(WireForm(f'{size}s', pack, unpack, pad), default)


def decimal_text(size: int, low: int, high: int, *, default: Any = MISSING, pad: int = 0) -> Any:
    """Declare a char[size] that contains a decimal number."""
    return declared(WireForm(
        f'{size}s', lambda what, value: str(checked_int(what, value, low, high)).encode('ascii'),
        decimal, pad), default)


def _narrowed(form: WireForm) -> WireForm:
    """Return the form of a float64 as a float32."""
    return WireForm('f', lambda what, value: checked_float32(what, form.pack(what, value)),
                    form.unpack, form.pad)


class Codec(Protocol[MessageT]):
    """Encodes and decodes one kind of message."""

    def pack(self, message: MessageT) -> bytes:
        """Return the datagram; ValueError or TypeError for what must not be sent."""

    def unpack(self, data: bytes) -> MessageT:
        """Return the message of a datagram, or raise ProtocolError."""


@dataclass(frozen=True, slots=True)
class Pair(Generic[MessageT]):
    """The codec of a message that is not a sequence of fixed fields: two functions."""

    pack: Callable[[MessageT], bytes]
    unpack: Callable[[bytes], MessageT]


class Body(Generic[MessageT]):
    """
    Encodes and decodes the declared fields of one message, packed in order.

    ``order`` is struct's '<' or '>'. ``header`` is the bytes before them, written when encoding
    and skipped when decoding. ``count`` uses only that many first fields, as older peers do; the
    others are then None, or ``rest``. ``narrow`` are float64 that an older form has as float32.
    ``padded`` says whether the declared padding is there; ``tail`` is the number of padding bytes
    at the end.
    """

    def __init__(
        self, kind: type[MessageT], order: Literal['<', '>'], *, header: bytes = b'',
        count: int | None = None, rest: tuple[Any, ...] = (), narrow: Collection[str] = (),
        padded: bool = True, tail: int = 0,
    ) -> None:
        declared_fields = forms(kind, count)
        self._kind = kind
        self._header = header
        # With the name of each field in messages.
        self._fields = tuple(
            (name, f'{kind.tag} {name}', _narrowed(form) if name in narrow else form)
            for name, form in declared_fields)
        missing = len(fields(kind)) - len(self._fields)  # type: ignore[arg-type]
        self._missing = rest or (None,) * missing
        names = [name for name, _, _ in self._fields]
        # Of a message's values all at once; attrgetter returns one alone as it is.
        self._read: Callable[[MessageT], tuple[Any, ...]] = (
            attrgetter(*names) if len(names) > 1
            else lambda message: tuple(getattr(message, name) for name in names))
        self._struct = struct.Struct(order + f'{len(header)}x' + ''.join(
            (f'{form.pad}x' if form.pad and padded else '') + form.code
            for _, _, form in self._fields) + f'{tail}x')
        self.size = self._struct.size
        # Poses arrive a thousand times per second: most need no conversion.
        self._plain = not any(form.converts for _, _, form in self._fields)

    @property
    def names(self) -> tuple[str, ...]:
        """Return the fields' names in order."""
        return tuple(name for name, _, _ in self._fields)

    def pack(self, message: MessageT) -> bytes:
        """Return the bytes; ValueError or TypeError for what must not be sent."""
        data = bytearray(self._struct.pack(*[
            form.pack(what, value)
            for value, (_, what, form) in zip(self._read(message), self._fields, strict=True)]))
        data[:len(self._header)] = self._header
        return bytes(data)

    def unpack(self, data: bytes | bytearray | memoryview) -> MessageT:
        """Return the message in bytes of the layout's size; raise ProtocolError otherwise."""
        try:
            values = self._struct.unpack(data)
        except struct.error:
            raise ProtocolError(f'{self._kind.tag}: {counted(len(data), "byte")}, '
                                f'expected {self.size}') from None
        if not self._plain:
            values = tuple(
                form.unpack(what, raw)
                for (_, what, form), raw in zip(self._fields, values, strict=True))
        return self._kind(*values, *self._missing)
