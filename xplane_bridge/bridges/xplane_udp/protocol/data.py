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
DATA, and DSEL, USEL, DCOC, UCOC that select its rows, in every framing since X-Plane 6.

A DATA datagram contains rows of X-Plane's data output screen. Its framing changed twice
(docs/wire/xplane_udp.md, section 1); the body never did: any number of segments of one int32 row
number and eight float32 values, in the byte order of X-Plane's machine.

====== ===================================================== ===============================
layout bytes                                                 X-Plane
====== ===================================================== ===============================
6      DATA, 0, platform, segments, platform (the trailer)   6: platform '0' little, '1' big
7      DATA, 0, segments, 0 (the trailer)                    7.4
8      DATA, any byte, segments                              8 and later
====== ===================================================== ===============================

The plain int32 lists of DSEL, USEL, DCOC and UCOC use the same framing. For X-Plane 6 that is
an inference: no document or capture shows its DSEL, so all of it can be set with a ``DataLayout``.

Length, platform byte and row numbers distinguish the layouts, with one exception: a version 6
datagram **without** its trailer whose last byte happens to be 0 can also be read as 7.4, because
its platform byte is then taken for a row number (48 or 49). Only datagrams from a client to
X-Plane may lack the trailer, so only a program that emulates X-Plane can encounter this; it knows
which version it emulates and passes ``version`` or ``layout``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
import struct
from typing import ClassVar, Literal, TypeAlias, TypeVar

from xplane_bridge.bridges.protocols.base import (
    checked_float,
    checked_int,
    FLOAT32_MAX,
    INT32_MAX,
    INT32_MIN,
    Message,
    Sender,
)
from xplane_bridge.bridges.protocols.errors import ProtocolError
from xplane_bridge.bridges.protocols.xplane_versions import HIGHEST_PLAUSIBLE_ROW
from xplane_bridge.common.text import counted

HEADER_SIZE = 5
"""A label of four letters and one byte, usually zero, which no reader should test."""

NO_DATA = -999.0
"""The wire value for "no data" (from X-Plane) and "leave unchanged" (to X-Plane)."""


VERSIONS = (6, 7, 8, 9, 10, 11, 12)
"""The X-Plane versions whose UDP is known."""

MOST_ROWS = HIGHEST_PLAUSIBLE_ROW + 1
"""Maximum number of rows in a datagram that is sent; X-Plane has no more."""

VALUES_PER_ROW = 8
SEGMENT_SIZE = 36
INDEX_SIZE = 4

INTEGER_INPUTS: Mapping[int, Mapping[int, tuple[int, ...]]] = {7: {12: (0,)}}
"""
Version -> row -> the values X-Plane expects as int32. 7.4: the gear flag of row 12
(docs/wire/xplane_udp.md, section 2). Later versions accept only floats.
"""

ByteOrder: TypeAlias = Literal['little', 'big']

_CODES = {'little': '<', 'big': '>'}
_SEGMENTS = {order: struct.Struct(code + 'i8f') for order, code in _CODES.items()}
_INTS = {order: struct.Struct(code + 'i') for order, code in _CODES.items()}
_FLOATS = {order: struct.Struct(code + 'f') for order, code in _CODES.items()}
_PLATFORM = {'little': ord('0'), 'big': ord('1')}
_PLATFORM_ORDER: dict[int, ByteOrder] = {ord('0'): 'little', ord('1'): 'big'}


@dataclass(frozen=True, slots=True)
class DataLayout:
    """
    Framing of a DATA or DSEL datagram.

    framing is 6, 7 or 8: the first X-Plane version that used it. byte_order is that of X-Plane's
    machine. trailer says whether there is a closing byte; framing 8 has none.
    """

    framing: Literal[6, 7, 8]
    byte_order: ByteOrder = 'little'
    trailer: bool = False

    def __post_init__(self) -> None:
        """Refuse a layout that no version has."""
        if self.framing not in (6, 7, 8):
            raise ValueError(f'framing: expected 6, 7 or 8, got {self.framing!r}')
        if self.byte_order not in _CODES:
            raise ValueError(f"byte_order: expected 'little' or 'big', got {self.byte_order!r}")
        if self.framing == 8 and self.trailer:
            raise ValueError('framing 8 has no trailer')

    @property
    def header_size(self) -> int:
        """Bytes before the first segment."""
        return HEADER_SIZE + (self.framing == 6)

    @property
    def overhead(self) -> int:
        """Bytes of an empty datagram."""
        return self.header_size + self.trailer


@dataclass(frozen=True, slots=True)
class Segment:
    """
    One row: its number and eight values in wire units (rows.py has the meanings).

    A value of None is -999 on the wire: "no data" from X-Plane, "leave unchanged" to X-Plane.
    integers lists the values sent as int32, which only 7.4 has and only on input.
    """

    index: int
    values: tuple[float | None, ...]
    integers: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Data(Message):
    """
    Rows of the data output (DATA), in either direction.

    layout None means the default one of the encoding version; a decoded message always has the
    layout it was read with. fifth_byte is shown and sent in framing 8 ('@' in X-Plane 9
    and 10, '*' in 11 and 12, anything from clients) and never tested.
    """

    tag: ClassVar[str] = 'DATA'

    segments: tuple[Segment, ...]
    layout: DataLayout | None = None
    fifth_byte: int = 0


@dataclass(frozen=True, slots=True)
class Selection(Message):
    """A request about rows, by number."""

    indices: tuple[int, ...]
    layout: DataLayout | None = None


@dataclass(frozen=True, slots=True)
class Dsel(Selection):
    """
    Request rows as DATA datagrams (DSEL).

    indices are the row numbers as printed on the data output screen, from 0, and the same in DATA.
    DSEL says what, not where: the destination is the data output target.
    """

    tag: ClassVar[str] = 'DSEL'


@dataclass(frozen=True, slots=True)
class Usel(Selection):
    """Stop rows that DSEL requested (USEL)."""

    tag: ClassVar[str] = 'USEL'


@dataclass(frozen=True, slots=True)
class Dcoc(Selection):
    """Show rows in X-Plane's cockpit display (DCOC)."""

    tag: ClassVar[str] = 'DCOC'


@dataclass(frozen=True, slots=True)
class Ucoc(Selection):
    """Remove rows from X-Plane's cockpit display (UCOC)."""

    tag: ClassVar[str] = 'UCOC'


SelectionT = TypeVar('SelectionT', bound=Selection)


def check_version(version: int) -> None:
    """Raise ValueError unless version is one of VERSIONS."""
    if version not in VERSIONS:
        raise ValueError(f'X-Plane version: expected one of {VERSIONS}, got {version!r}')


def default_layout(version: int, sender: Sender = 'bridge', *, byte_order: ByteOrder = 'little',
                   trailer: bool | None = None) -> DataLayout:
    """
    Return the layout of DATA and DSEL of an X-Plane version.

    trailer None uses the default: version 6 has it both ways, 7 only in what X-Plane sends
    (sender 'peer'). byte_order matters to 6 and 7, which used their machine's own; X-Plane 8
    and 9 on an old Mac were big-endian too.
    """
    check_version(version)
    if version >= 8:
        if trailer:
            raise ValueError('no trailer from X-Plane 8 on')
        return DataLayout(8, byte_order)
    if trailer is None:
        trailer = version == 6 or sender == 'peer'
    return DataLayout(6 if version == 6 else 7, byte_order, trailer)


def encode_data(message: Data, version: int = 12) -> bytes:
    """
    Encode DATA in message.layout, or in the version's default layout if that is None.

    Raises ValueError for more than MOST_ROWS, a negative row, other than eight values, NaN or
    infinity, or an int32 value in a layout other than 7.4's.
    """
    _check_count(message.tag, len(message.segments))
    layout = message.layout or default_layout(version)
    body = b''.join(_segment_bytes(i, s, layout) for i, s in enumerate(message.segments))
    return _framed(message.tag, body, layout, message.fifth_byte)


def decode_data(data: bytes | bytearray | memoryview, layout: DataLayout | None = None,
                previous: DataLayout | None = None, version: int | None = None,
                sender: Sender = 'peer') -> Data:
    """
    Decode a DATA datagram.

    layout, if given, is used; otherwise the layout is detected, among those of version if that is
    given. previous, the layout of an earlier datagram of this peer, decides ambiguous cases.
    sender 'bridge' reads the int32 values of INTEGER_INPUTS, which only occur towards X-Plane.
    Raises ProtocolError for a length that no layout has, a trailer that does not match, or row
    numbers that are plausible in neither byte order.
    """
    layout, end = _find_layout(data, 'DATA', SEGMENT_SIZE, layout, previous, version)
    segments = []
    for index, *values in _SEGMENTS[layout.byte_order].iter_unpack(data[layout.header_size:end]):
        segments.append(Segment(index, tuple(
            [None if v == NO_DATA else v for v in values] if NO_DATA in values else values)))
    if sender == 'bridge' and version is not None and version in INTEGER_INPUTS:
        segments = [_with_integers(s, INTEGER_INPUTS[version].get(s.index, ()), layout,
                                   data[layout.header_size + SEGMENT_SIZE * i:])
                    for i, s in enumerate(segments)]
    return Data(tuple(segments), layout, data[4] if layout.framing == 8 else 0)


def encode_selection(message: Selection, version: int = 12) -> bytes:
    """
    Encode DSEL, USEL, DCOC or UCOC in message.layout, or in the version's default layout.

    Raises ValueError for no row at all, more than MOST_ROWS or a negative one. The list is never
    padded: each zero would select row 0 as well (docs/wire/xplane_udp.md, section 3).
    """
    layout = message.layout or default_layout(version)
    if not message.indices:
        raise ValueError(f'{message.tag}: no row')
    _check_count(message.tag, len(message.indices))
    pack = _INTS[layout.byte_order].pack
    body = b''.join(pack(checked_int(f'{message.tag} row', i, 0, INT32_MAX))
                    for i in message.indices)
    return _framed(message.tag, body, layout, 0)


def decode_selection(message_type: type[SelectionT], data: bytes | bytearray | memoryview,
                     layout: DataLayout | None = None, previous: DataLayout | None = None,
                     version: int | None = None) -> SelectionT:
    """Decode a Dsel, Usel, Dcoc or Ucoc; parameters and errors as decode_data's."""
    layout, end = _find_layout(data, message_type.tag, INDEX_SIZE, layout, previous, version)
    unpacked = _INTS[layout.byte_order].iter_unpack(data[layout.header_size:end])
    return message_type(tuple(i for i, in unpacked), layout)


def _check_count(tag: str, count: int) -> None:
    if count > MOST_ROWS:
        raise ValueError(f'{tag}: {count} rows, at most {MOST_ROWS} go into a datagram')


def _framed(tag: str, body: bytes, layout: DataLayout, fifth_byte: int) -> bytes:
    if layout.framing == 8:
        return tag.encode() + bytes([checked_int(f'{tag} fifth byte', fifth_byte, 0, 255)]) + body
    if layout.framing == 7:
        return tag.encode() + b'\0' + body + b'\0' * layout.trailer
    platform = bytes([_PLATFORM[layout.byte_order]])
    return tag.encode() + b'\0' + platform + body + platform * layout.trailer


def _segment_bytes(position: int, segment: Segment, layout: DataLayout) -> bytes:
    what = f'DATA segment {position}'
    index = checked_int(f'{what}: row', segment.index, 0, INT32_MAX)
    if len(segment.values) != VALUES_PER_ROW:
        raise ValueError(f'{what}: {len(segment.values)} values, need {VALUES_PER_ROW}')
    plain = [NO_DATA if v is None else v for v in segment.values]
    # Names of values, for the error, take longer than all else. NaN is not between.
    if not segment.integers and all(type(v) is float and abs(v) <= FLOAT32_MAX for v in plain):
        return _SEGMENTS[layout.byte_order].pack(index, *plain)
    values = [NO_DATA if v is None else v if i in segment.integers else
              checked_float(f'{what} value {i}', v, -FLOAT32_MAX, FLOAT32_MAX)
              for i, v in enumerate(segment.values)]
    if not segment.integers:
        return _SEGMENTS[layout.byte_order].pack(index, *values)
    if layout.framing != 7:
        raise ValueError(f'{what}: only X-Plane 7 takes int32 values')
    parts = [_INTS[layout.byte_order].pack(index)]
    for i, value in enumerate(values):
        if i in segment.integers and segment.values[i] is not None:
            if value != int(value):
                raise ValueError(f'{what} value {i}: {value} is not whole, and travels as int32')
            parts.append(_INTS[layout.byte_order].pack(
                checked_int(f'{what} value {i}', int(value), INT32_MIN, INT32_MAX)))
        else:
            parts.append(_FLOATS[layout.byte_order].pack(value))
    return b''.join(parts)


def _with_integers(segment: Segment, integers: tuple[int, ...], layout: DataLayout,
                   raw: bytes | bytearray | memoryview) -> Segment:
    values = list(segment.values)
    for i in integers:
        if values[i] is not None:
            values[i], = _INTS[layout.byte_order].unpack_from(raw, 4 + 4 * i)
    return Segment(segment.index, tuple(values), integers)


def _find_layout(
    data: bytes | bytearray | memoryview, tag: str, size: int, layout: DataLayout | None,
    previous: DataLayout | None, version: int | None,
) -> tuple[DataLayout, int]:
    """Return the layout of a datagram of items of size bytes, and where the last item ends."""
    if version is not None:
        check_version(version)
    if bytes(data[:4]) != tag.encode():
        raise ProtocolError(f'label {bytes(data[:4])!r}, expected {tag}')
    if layout is None:
        layout = _recognised(data, tag, size, previous, version)
    end = len(data) - layout.trailer
    if end < layout.header_size or (end - layout.header_size) % size:
        raise ProtocolError(f'{tag}: '
                            f'{counted(len(data), "byte")}, expected {layout.overhead} + {size} n')
    if layout.trailer:
        expected = data[5] if layout.framing == 6 else 0
        if data[-1] != expected:
            raise ProtocolError(f'{tag}: trailer {data[-1]} at offset {len(data) - 1}, '
                                f'expected {expected}')
    return layout, end


def _recognised(data: bytes | bytearray | memoryview, tag: str, size: int,
                previous: DataLayout | None, version: int | None) -> DataLayout:
    surplus = (len(data) - HEADER_SIZE) % size
    if len(data) < HEADER_SIZE or surplus > 2:
        raise ProtocolError(f'{tag}: {counted(len(data), "byte")}, expected 5, 6 or 7 + {size} n')
    candidates = [c for c in _candidates(data, size, surplus)
                  if version is None or _fits(c, version)]
    if not candidates:
        raise ProtocolError(
            f'{tag}: {counted(len(data), "byte")}, no datagram of X-Plane {version or "6 to 12"}: '
            f'platform bytes {bytes(data[4:6])!r} .. {bytes(data[-1:])!r} or row numbers, '
            f'expected 0..{HIGHEST_PLAUSIBLE_ROW}, do not match')
    if previous is not None and previous in candidates:
        return previous
    return candidates[0]


def _candidates(data: bytes | bytearray | memoryview, size: int,
                surplus: int) -> Iterator[DataLayout]:
    """Yield the layouts that the bytes allow, the most likely first."""
    orders: tuple[ByteOrder, ByteOrder] = ('little', 'big')
    if surplus == 0:
        yield from (DataLayout(8, o) for o in orders if _plausible(data, size, 5, len(data), o))
        return
    # 7.4's trailer is known only for DATA.
    if surplus == 1 and size == SEGMENT_SIZE and data[-1] == 0:
        yield from (DataLayout(7, o, True) for o in orders
                    if _plausible(data, size, 5, len(data) - 1, o))
    order = _PLATFORM_ORDER.get(data[5])
    if order is None or data[4] != 0:
        return
    if surplus == 1:
        if _plausible(data, size, 6, len(data), order):
            yield DataLayout(6, order, False)
    elif data[-1] == data[5]:
        yield DataLayout(6, order, True)


def _fits(layout: DataLayout, version: int) -> bool:
    # 7.4 without its trailer is, byte for byte, the framing of version 8.
    return layout.framing == min(version, 8) or (version == 7 and layout.framing == 8)


def _plausible(data: bytes | bytearray | memoryview, size: int, start: int, end: int,
               order: ByteOrder) -> bool:
    unpack_from = _INTS[order].unpack_from
    return all(0 <= unpack_from(data, offset)[0] <= HIGHEST_PLAUSIBLE_ROW
               for offset in range(start, end, size))
