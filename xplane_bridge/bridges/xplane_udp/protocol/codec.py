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
Codec of X-Plane's UDP datagrams, except DATA and its selections (data.py).

A datagram is four letters, one byte that no reader should test, and a packed little-endian body
(docs/wire/xplane_udp.md, section 5).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, partial
from itertools import chain
import struct
from typing import Any, TypeVar

from xplane_bridge.bridges.protocols.base import (
    Body,
    checked_float32,
    checked_int,
    checked_text,
    Codec,
    decimal,
    INT32_MAX,
    INT32_MIN,
    Message,
    Pair,
    Sender,
    SENDERS,
    shown_text,
)
from xplane_bridge.bridges.protocols.errors import ProtocolError
from xplane_bridge.bridges.xplane_udp.protocol.data import (
    check_version,
    Data,
    DataLayout,
    decode_data,
    decode_selection,
    encode_data,
    encode_selection,
    HEADER_SIZE,
    Selection,
)
from xplane_bridge.bridges.xplane_udp.protocol.messages import (
    Acfn,
    Acpr,
    Alrt,
    Becn,
    Cmnd,
    Dref,
    Fail,
    Ise4,
    Ise6,
    Iset,
    Lsnd,
    MESSAGES,
    Nfal,
    Nrec,
    Objl,
    Objn,
    Prel,
    Quit,
    RadrPoint11,
    RadrPoint12,
    RadrReply,
    RadrRequest,
    Reco,
    Rese,
    RposReply,
    RposRequest,
    RrefReply,
    RrefRequest,
    Shut,
    Simo,
    Soun,
    Ssnd,
    Veh1,
    Vehs,
    Vehx,
)
from xplane_bridge.common.text import counted

MOST_RREF_VALUES = 183
"""The most values X-Plane puts into one RREF reply: 1469 bytes."""

DREF_SIZE = 509

_ALRT_LINES, _ALRT_LINE_SIZE = 4, 240
_NAVAID_LENGTH = 5
_COMMAND_LENGTH = 500

_Kind = TypeVar('_Kind', bound=Message)


def _header(tag: str, fifth_byte: bytes = b'\0') -> bytes:
    return tag.encode('ascii') + fifth_byte


def _body(kind: type[_Kind], fifth_byte: bytes = b'\0', **options: Any) -> Body[_Kind]:
    return Body(kind, '<', header=_header(kind.tag, fifth_byte), **options)


def encode(message: Message, version: int = 12) -> bytes:
    """
    Encode a message in the form of X-Plane ``version`` (6 to 12).

    Raises ValueError for a value that must not be sent (NaN or infinity, out of range, not
    printable ASCII, too long, a negative row), TypeError for a value of the wrong type or anything
    but a message of X-Plane.
    """
    check_version(version)
    if isinstance(message, Data):
        return encode_data(message, version)
    if isinstance(message, Selection):
        return encode_selection(message, version)
    codec = _codecs(version).get(type(message))
    if codec is None:
        raise TypeError(f'not a message of X-Plane: {message!r}')
    return codec.pack(message)


def decode(
    data: bytes | bytearray | memoryview, sender: Sender, version: int | None = None, *,
    layout: DataLayout | None = None, previous: DataLayout | None = None,
) -> Message:
    """
    Decode one datagram of X-Plane ('peer') or of its client ('bridge').

    ``version``, if known, selects between forms that the bytes alone do not distinguish;
    ``layout`` and ``previous`` are decode_data's. Raises ProtocolError for bytes that are not a
    message.
    """
    tag = bytes(data[:4])
    codec = _codecs_by_label(sender, version).get(tag)
    if tag == b'DATA':
        return decode_data(data, layout, previous, version, sender)
    if len(data) < HEADER_SIZE:
        raise ProtocolError(f'{counted(len(data), "byte")}, a datagram has at least {HEADER_SIZE}')
    if codec is not None:
        message: Message = codec.unpack(bytes(data))
        return message
    kind = MESSAGES[sender].get(tag.decode('latin-1'))
    if kind is None:
        raise ProtocolError(f'label {tag!r} is not a message of X-Plane')
    assert issubclass(kind, Selection)
    return decode_selection(kind, data, layout, previous, version)


# Messages that are a sequence of fields, the same in all versions.

_FIXED: Mapping[type[Any], Codec[Any]] = {
    kind: _body(kind) for kind in (
        Vehx, Vehs, Prel, Acfn, RrefRequest, Objn, Ise4, Ise6, Iset, Soun, Lsnd, Ssnd,
        Quit, Shut, Rese)
} | {
    Objl: _body(Objl, tail=4),
    Simo: _body(Simo, tail=2),
    RposReply: _body(RposReply, b'4'),
}


@cache
def _codecs(version: int | None) -> Mapping[type[Any], Codec[Any]]:
    """Return the codecs of the messages of X-Plane ``version``; None if unknown."""
    return {
        **_FIXED,
        RrefReply: Pair(partial(_pack_rref_reply, version), _unpack_rref_reply),
        Dref: Pair(_DREF.pack, partial(_unpack_dref, version)),
        Cmnd: Pair(_pack_cmnd, _unpack_cmnd),
        RposRequest: Pair(
            partial(_pack_rpos_request, version), partial(_unpack_rpos_request, version)),
        RadrRequest: _number(RadrRequest, 'points'),
        RadrReply: Pair(_pack_radr_reply, partial(_unpack_radr_reply, version)),
        Becn: Pair(_pack_becn, _unpack_becn),
        Veh1: Pair((_VEH1_PACKED if version in _WITH_PACKED_VEH1 else _VEH1_ALIGNED).pack,
                   _unpack_veh1),
        Acpr: Pair(_pack_acpr, _unpack_acpr),
        Alrt: Pair(_pack_alrt, _unpack_alrt),
        Fail: _number(Fail, 'system'),
        Reco: _number(Reco, 'system'),
        Nfal: _navaid(Nfal),
        Nrec: _navaid(Nrec),
    }


@cache
def _codecs_by_label(sender: Sender, version: int | None) -> Mapping[bytes, Codec[Any]]:
    """Return the codecs of what this side sends, but for rows and selections, by label."""
    if sender not in SENDERS:
        raise ValueError(f"sender: expected 'peer' or 'bridge', got {sender!r}")
    if version is not None:
        check_version(version)
    codecs = _codecs(version)
    return {tag.encode('latin-1'): codecs[kind]
            for tag, kind in MESSAGES[sender].items() if kind in codecs}


def _need(tag: str, data: bytes, size: int) -> None:
    if len(data) != size:
        raise ProtocolError(f'{tag}: {counted(len(data), "byte")}, expected {size}')


# Datarefs and commands.

_DREF = _body(Dref)
_RREF_VALUE = struct.Struct('<if')


def _pack_rref_reply(version: int | None, message: RrefReply) -> bytes:
    if len(message.values) > MOST_RREF_VALUES:
        raise ValueError(f'RREF: {len(message.values)} values, at most {MOST_RREF_VALUES} go '
                         'into one reply')
    header = _header('RREF', b'O' if version is not None and version < 11 else b',')
    try:
        return header + _rref_values(len(message.values)).pack(
            *chain.from_iterable(message.values))
    except (struct.error, OverflowError):
        # One by one, to say which.
        return header + b''.join(_RREF_VALUE.pack(
            checked_int('RREF index', index, INT32_MIN, INT32_MAX),
            checked_float32(f'RREF value of index {index}', value))
            for index, value in message.values)


@cache
def _rref_values(count: int) -> struct.Struct:
    return struct.Struct('<' + count * 'if')


def _unpack_rref_reply(data: bytes) -> RrefReply:
    if (len(data) - HEADER_SIZE) % _RREF_VALUE.size:
        raise ProtocolError('RREF: '
                            f'{counted(len(data), "byte")}, expected 5 + {_RREF_VALUE.size} n')
    return RrefReply(tuple(_RREF_VALUE.iter_unpack(data[HEADER_SIZE:])))


def _unpack_dref(version: int | None, data: bytes) -> Dref:
    # X-Plane 12 requires the length; in earlier versions the path may end with the datagram.
    if version is not None and version < 12 and 9 < len(data) <= DREF_SIZE:
        data = data.ljust(DREF_SIZE, b'\0')
    return _DREF.unpack(data)


def _pack_cmnd(message: Cmnd) -> bytes:
    return _header('CMND') + checked_text(
        'CMND command', message.command, _COMMAND_LENGTH, spaces=False)


def _unpack_cmnd(data: bytes) -> Cmnd:
    return Cmnd(shown_text(data[HEADER_SIZE:]).rstrip(' '))


# Reports of X-Plane.

_INT32 = struct.Struct('<i')


def _pack_rpos_request(version: int | None, message: RposRequest) -> bytes:
    if version is not None and version <= 10:
        rate = checked_int('RPOS rate', message.rate, 0, INT32_MAX)
        return _header('RPOS') + _INT32.pack(rate)
    return _pack_number('RPOS', 'rate', message.rate)


def _unpack_rpos_request(version: int | None, data: bytes) -> RposRequest:
    body = data[HEADER_SIZE:]
    digits = body.split(b'\0', 1)[0]
    # Four bytes can be a binary int32 or a string like '100' and its NUL. Without a version,
    # anything that reads as a decimal number is one; X-Plane 9 and 10 document the int32, and
    # some clients send 10 the string all the same.
    is_text = digits.isdigit() if version is None else version >= 11 or (
        digits.isdigit() and (len(body) != _INT32.size or len(digits) == _INT32.size - 1))
    if is_text:
        return RposRequest(decimal('RPOS rate', body))
    _need('RPOS', data, HEADER_SIZE + _INT32.size)
    return RposRequest(_INT32.unpack(body)[0])


_RADR_11, _RADR_12 = Body(RadrPoint11, '<'), Body(RadrPoint12, '<')


def _pack_radr_reply(message: RadrReply) -> bytes:
    if len({type(point) for point in message.points}) > 1:
        raise ValueError('RADR: points of X-Plane 11 and 12 in one reply')
    return _header('RADR', b'5') + b''.join(
        _RADR_12.pack(point) if isinstance(point, RadrPoint12) else _RADR_11.pack(point)
        for point in message.points)


def _unpack_radr_reply(version: int | None, data: bytes) -> RadrReply:
    size = len(data) - HEADER_SIZE
    is_12 = size % _RADR_12.size == 0 if version is None else version >= 12
    body: Body[Any] = _RADR_12 if is_12 else _RADR_11
    if size % body.size:
        raise ProtocolError(f'RADR: {counted(len(data), "byte")}, expected 5 + 13 n (X-Plane 11) '
                            'or 5 + 24 n (12)')
    return RadrReply(tuple(
        body.unpack(data[offset:offset + body.size])
        for offset in range(HEADER_SIZE, len(data), body.size)))


_BECN = struct.Struct('<BBiiIH')
_BECN_NAME_SIZE = 500
_UINT16 = struct.Struct('<H')


def _pack_becn(message: Becn) -> bytes:
    fixed = _BECN.pack(
        checked_int('BECN major', message.major, 1, 1),
        checked_int('BECN minor', message.minor, 0, 255),
        checked_int('BECN host_id', message.host_id, INT32_MIN, INT32_MAX),
        checked_int('BECN version', message.version, INT32_MIN, INT32_MAX),
        checked_int('BECN role', message.role, 0, 2**32 - 1),
        checked_int('BECN port', message.port, 1, 65535))
    name = checked_text('BECN name', message.name, _BECN_NAME_SIZE - 1, empty=True)
    raknet = b'' if message.raknet_port is None else _UINT16.pack(
        checked_int('BECN raknet_port', message.raknet_port, 0, 65535))
    return _header('BECN') + fixed + name + b'\0' + raknet


def _unpack_becn(data: bytes) -> Becn:
    start = HEADER_SIZE + _BECN.size
    if len(data) < start:
        raise ProtocolError('BECN: '
                            f'{counted(len(data), "byte")}, the fixed part alone has {start}')
    major, minor, host_id, simulator, role, port = _BECN.unpack_from(data, HEADER_SIZE)
    if major != 1:
        raise ProtocolError(f'BECN: major version {major}, only 1 is known')
    end = data.find(b'\0', start)
    if end < 0:
        raise ProtocolError(f'BECN: the name from offset {start} on has no end')
    rest = data[end + 1:]
    if len(rest) not in (0, _UINT16.size) and len(data) >= start + _BECN_NAME_SIZE:
        # The vendor documents the name as char[500]; on the wire its length varies.
        rest = data[start + _BECN_NAME_SIZE:]
    if len(rest) not in (0, _UINT16.size):
        raise ProtocolError(f'BECN: {counted(len(rest), "byte")} after the name, expected 0 or 2')
    return Becn(major, minor, host_id, simulator, role, port, shown_text(data[start:]),
                _UINT16.unpack(rest)[0] if rest else None)


# Placing and loading.

_WITH_PACKED_VEH1 = range(6, 10)
_VEH1_PACKED, _VEH1_ALIGNED = _body(Veh1, padded=False), _body(Veh1)
_ACFN, _PREL = Body(Acfn, '<'), Body(Prel, '<')


def _unpack_veh1(data: bytes) -> Veh1:
    for body in (_VEH1_PACKED, _VEH1_ALIGNED):
        if len(data) == body.size:
            return body.unpack(data)
    raise ProtocolError(f'VEH1: {counted(len(data), "byte")}, expected 57 or 61')


def _pack_acpr(message: Acpr) -> bytes:
    return _header('ACPR') + _ACFN.pack(message.aircraft) + _PREL.pack(message.start)


def _unpack_acpr(data: bytes) -> Acpr:
    start = HEADER_SIZE + _ACFN.size
    _need('ACPR', data, start + _PREL.size)
    return Acpr(_ACFN.unpack(data[HEADER_SIZE:start]), _PREL.unpack(data[start:]))


# Alerts and failures.

def _pack_alrt(message: Alrt) -> bytes:
    if len(message.lines) != _ALRT_LINES:
        raise ValueError(f'ALRT: {len(message.lines)} lines, need {_ALRT_LINES}')
    return _header('ALRT') + b''.join(
        checked_text(f'ALRT line {i}', line, _ALRT_LINE_SIZE - 1, empty=True)
        .ljust(_ALRT_LINE_SIZE, b'\0') for i, line in enumerate(message.lines))


def _unpack_alrt(data: bytes) -> Alrt:
    end = HEADER_SIZE + _ALRT_LINES * _ALRT_LINE_SIZE
    _need('ALRT', data, end)
    return Alrt(tuple(shown_text(data[i:i + _ALRT_LINE_SIZE])
                      for i in range(HEADER_SIZE, end, _ALRT_LINE_SIZE)))


def _pack_number(tag: str, name: str, value: int) -> bytes:
    return _header(tag) + str(checked_int(f'{tag} {name}', value, 0, INT32_MAX)).encode() + b'\0'


def _number(kind: type[Any], name: str) -> Pair[Any]:
    """Return the codec of a message that is a decimal number."""
    return Pair(
        lambda message: _pack_number(kind.tag, name, getattr(message, name)),
        lambda data: kind(decimal(f'{kind.tag} {name}', data[HEADER_SIZE:])))


def _navaid(kind: type[Nfal] | type[Nrec]) -> Pair[Any]:
    """Return the codec of a message that is the identifier of a navaid."""
    return Pair(
        lambda message: _header(kind.tag) + checked_text(
            f'{kind.tag} navaid', message.navaid, _NAVAID_LENGTH, spaces=False) + b'\0',
        lambda data: kind(shown_text(data[HEADER_SIZE:])))
