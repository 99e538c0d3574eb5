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
The front for every message: bytes to dataclasses and back.

A datagram is a label of four letters, one byte that is usually zero and that no reader should
test, and a packed, little-endian body. The layouts are those of X-Plane 10 to 12
(docs/wire/xplane_udp.md, section 5); what 9 and 10 had in another form is chosen by the version.
Three traps: RPOS has the longitude first, VEHX and everything else the latitude; DREF is 509
bytes, neither more nor less; RREF, RPOS and RADR mean one thing on the way to X-Plane and another
on the way back, so ``decode`` asks who sent them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
import struct
from typing import Any

from xplane_bridge.protocols.errors import ProtocolError
from xplane_bridge.protocols.xplane_udp.data import (
    check_version,
    Data,
    Dcoc,
    decode_data,
    decode_selection,
    Dsel,
    encode_data,
    encode_selection,
    Layout,
    Selection,
    Sender,
    Ucoc,
    Usel,
)
from xplane_bridge.protocols.xplane_udp.fields import (
    Body,
    checked_float,
    checked_int,
    checked_text,
    decimal,
    decimal_text,
    Field,
    float32,
    FLOAT32_MAX,
    float32_or_leave,
    float64,
    HEADER_SIZE,
    int32,
    INT32_MAX,
    INT32_MIN,
    shown_text,
    text,
)
from xplane_bridge.protocols.xplane_udp.messages import (
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
    Message,
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

MOST_RREF_VALUES = 183
"""The most values X-Plane puts into one RREF reply: 1469 bytes."""

DREF_SIZE = 509


# ---------------------------------------------------------------- bodies of one fixed length

_RATIO_MAX = 1.0
_NAVAID_LENGTH = 5
_COMMAND_LENGTH = 500


def _pose(index: str) -> tuple[Field, ...]:
    return (int32(index, 0, 19), *_position(), float32('psi_true'), float32('theta'),
            float32('phi'))


def _position() -> tuple[Field, ...]:
    return float64('lat', -90, 90), float64('lon', -180, 180), float64('ele_m')


def _target(address: int, port: int, pad: str) -> tuple[Field | str, ...]:
    return (int32('index', 0), text('ip', address, spaces=False),
            decimal_text('port', port, 1, 65535), pad, int32('use', 0, 1))


def _sound() -> tuple[Field, ...]:
    return float32('freq', 0), float32('vol', 0), text('path', 500)


_RREF_REQUEST = Body(RrefRequest, 'RREF', int32('freq', 0), int32('index'),
                     text('dataref', 400, spaces=False))
_DREF = Body(Dref, 'DREF', float32('value'), text('dataref', 500, pad=b' ', spaces=False))
_RPOS_REPLY = Body(
    RposReply, 'RPOS', float64('lon', -180, 180), float64('lat', -90, 90), float64('ele_m'),
    float32('agl_m'), float32('pitch_deg'), float32('heading_true_deg'), float32('roll_deg'),
    float32('v_east'), float32('v_up'), float32('v_south'),
    float32('p_rad_s'), float32('q_rad_s'), float32('r_rad_s'))
_RADR_11 = Body(RadrPoint11, 'RADR', float32('lon', -180, 180), float32('lat', -90, 90),
                Field('storm_level', 'B', lambda what, v: checked_int(what, v, 0, 100),
                      lambda what, raw: raw), float32('tops_m'))
_RADR_12 = Body(RadrPoint12, 'RADR', float32('lon', -180, 180), float32('lat', -90, 90),
                float32('bases_m'), float32('tops_m'), float32('clouds_ratio', 0, _RATIO_MAX),
                float32('precip_ratio', 0, _RATIO_MAX))
_ACFN = Body(Acfn, 'ACFN', int32('p', 0, 19), text('path', 150), '2x', int32('livery_index', 0))
_PREL = Body(Prel, 'PREL', int32('type_start', 0), int32('p_idx', 0, 19),
             text('apt_id', 8, spaces=False, empty=True), int32('apt_rwy_idx', 0),
             int32('apt_rwy_dir', 0, 1), *_position(), float64('psi_true'), float64('speed_m_s'))
_GEAR_FLAP_VECTOR = (float32_or_leave('gear', 0, _RATIO_MAX),
                     float32_or_leave('flap', 0, _RATIO_MAX),
                     float32_or_leave('vector', 0, _RATIO_MAX))
_VEH1_PACKED = Body(Veh1, 'VEH1', *_pose('p'), *_GEAR_FLAP_VECTOR)
_VEH1_ALIGNED = Body(Veh1, 'VEH1', _pose('p')[0], '4x', *_pose('p')[1:], *_GEAR_FLAP_VECTOR)

_FIXED: Mapping[type[Any], Body[Any]] = {
    Dref: _DREF,
    Vehx: Body(Vehx, 'VEHX', *_pose('p')),
    Vehs: Body(Vehs, 'VEHS', *_pose('p')),
    Prel: _PREL,
    Acfn: _ACFN,
    RrefRequest: _RREF_REQUEST,
    Objn: Body(Objn, 'OBJN', int32('index', 0), text('path', 500)),
    Objl: Body(Objl, 'OBJL', int32('index', 0), '4x', *_position(), float32('psi_true'),
               float32('theta'), float32('phi'), int32('on_ground', 0, 1),
               float32('smoke_size', 0), '4x'),
    Simo: Body(Simo, 'SIMO', int32('action', 0, 3), text('path', 150), '2x'),
    Ise4: Body(Ise4, 'ISE4', *_target(16, 8, '')),
    Ise6: Body(Ise6, 'ISE6', *_target(65, 6, 'x')),
    # The port had six bytes and two of padding, so the whole is as long as ISE4.
    Iset: Body(Iset, 'ISET', *_target(16, 6, '2x')),
    Soun: Body(Soun, 'SOUN', *_sound()),
    Lsnd: Body(Lsnd, 'LSND', int32('index', 0), *_sound()),
    Ssnd: Body(Ssnd, 'SSND', int32('index', 0), *_sound()),
}

_ALRT_LINES, _ALRT_LINE_SIZE = 4, 240
_BECN = struct.Struct('<BBiiIH')
_BECN_NAME_SIZE = 500
_RREF_VALUE = struct.Struct('<if')
_INT32 = struct.Struct('<i')
_UINT16 = struct.Struct('<H')


# ---------------------------------------------------------------- encoding

def encode(message: Message, version: int = 12) -> bytes:
    """
    Encode a message as X-Plane ``version`` (6 to 12) has it.

    Raise ValueError for a value that must not be sent: NaN or infinity, out of range, not
    printable ASCII, too long, or a negative row; TypeError for a value of the wrong type or
    something that is no message.
    """
    check_version(version)
    if isinstance(message, Data):
        return encode_data(message, version)
    if isinstance(message, (Dsel, Usel, Dcoc, Ucoc)):
        return encode_selection(message, version)
    if type(message) in _FIXED:
        return _labelled(message.tag, _FIXED[type(message)].encode(message))
    if type(message) not in _ENCODERS:
        raise TypeError(f'not a message of X-Plane: {message!r}')
    return _ENCODERS[type(message)](message, version)


def _labelled(tag: str, body: bytes, fifth_byte: bytes = b'\0') -> bytes:
    return tag.encode('ascii') + fifth_byte + body


def _encode_rref_reply(message: RrefReply, version: int) -> bytes:
    if len(message.values) > MOST_RREF_VALUES:
        raise ValueError(f'RREF: {len(message.values)} values, at most {MOST_RREF_VALUES} go '
                         'into one reply')
    body = b''.join(_RREF_VALUE.pack(
        checked_int('RREF index', index, INT32_MIN, INT32_MAX),
        checked_float(f'RREF value of index {index}', value, -FLOAT32_MAX, FLOAT32_MAX))
        for index, value in message.values)
    return _labelled('RREF', body, b',' if version >= 11 else b'O')


def _encode_cmnd(message: Cmnd, version: int) -> bytes:
    return _labelled('CMND', checked_text('CMND command', message.command, _COMMAND_LENGTH,
                                          empty=False, spaces=False))


def _encode_rpos_request(message: RposRequest, version: int) -> bytes:
    rate = checked_int('RPOS rate', message.rate, 0, INT32_MAX)
    if version <= 10:
        return _labelled('RPOS', _INT32.pack(rate))
    return _labelled('RPOS', _decimal_body(rate))


def _decimal_body(value: int) -> bytes:
    return str(value).encode('ascii') + b'\0'


def _encode_radr_reply(message: RadrReply, version: int) -> bytes:
    if len({type(point) for point in message.points}) > 1:
        raise ValueError('RADR: points of X-Plane 11 and 12 in one reply')
    return _labelled('RADR', b''.join(
        _RADR_12.encode(point) if isinstance(point, RadrPoint12) else _RADR_11.encode(point)
        for point in message.points), b'5')


def _encode_becn(message: Becn, version: int) -> bytes:
    fixed = _BECN.pack(
        checked_int('BECN major', message.major, 1, 1),
        checked_int('BECN minor', message.minor, 0, 255),
        checked_int('BECN host_id', message.host_id, INT32_MIN, INT32_MAX),
        checked_int('BECN version', message.version, INT32_MIN, INT32_MAX),
        checked_int('BECN role', message.role, 0, 2**32 - 1),
        checked_int('BECN port', message.port, 1, 65535))
    name = checked_text('BECN name', message.name, _BECN_NAME_SIZE - 1, empty=True, spaces=True)
    raknet = b'' if message.raknet_port is None else _UINT16.pack(
        checked_int('BECN raknet_port', message.raknet_port, 0, 65535))
    return _labelled('BECN', fixed + name + b'\0' + raknet)


def _encode_veh1(message: Veh1, version: int) -> bytes:
    body = _VEH1_PACKED if version <= 9 else _VEH1_ALIGNED
    return _labelled('VEH1', body.encode(message))


def _encode_alrt(message: Alrt, version: int) -> bytes:
    if len(message.lines) != _ALRT_LINES:
        raise ValueError(f'ALRT: {len(message.lines)} lines, need {_ALRT_LINES}')
    return _labelled('ALRT', b''.join(
        checked_text(f'ALRT line {i}', line, _ALRT_LINE_SIZE - 1, empty=True, spaces=True)
        .ljust(_ALRT_LINE_SIZE, b'\0') for i, line in enumerate(message.lines)))


def _encode_system(message: Fail | Reco, version: int) -> bytes:
    return _labelled(message.tag, _decimal_body(
        checked_int(f'{message.tag} system', message.system, 0, INT32_MAX)))


def _encode_navaid(message: Nfal | Nrec, version: int) -> bytes:
    return _labelled(message.tag, checked_text(
        f'{message.tag} navaid', message.navaid, _NAVAID_LENGTH, empty=False, spaces=False)
        + b'\0')


def _encode_label(message: Quit | Shut | Rese, version: int) -> bytes:
    return _labelled(message.tag, b'')


_ENCODERS: Mapping[type[Any], Callable[[Any, int], bytes]] = {
    RrefReply: _encode_rref_reply,
    Cmnd: _encode_cmnd,
    RposRequest: _encode_rpos_request,
    RposReply: lambda message, version: _labelled('RPOS', _RPOS_REPLY.encode(message), b'4'),
    RadrRequest: lambda message, version: _labelled('RADR', _decimal_body(
        checked_int('RADR points', message.points, 0, INT32_MAX))),
    RadrReply: _encode_radr_reply,
    Becn: _encode_becn,
    Veh1: _encode_veh1,
    Acpr: lambda message, version: _labelled(
        'ACPR', _ACFN.encode(message.aircraft) + _PREL.encode(message.start)),
    Alrt: _encode_alrt,
    Fail: _encode_system,
    Reco: _encode_system,
    Nfal: _encode_navaid,
    Nrec: _encode_navaid,
    Quit: _encode_label,
    Shut: _encode_label,
    Rese: _encode_label,
}


# ---------------------------------------------------------------- decoding

def decode(data: bytes | bytearray | memoryview, sender: Sender = 'peer',
           version: int | None = None, *, layout: Layout | None = None,
           previous: Layout | None = None) -> Message:
    """
    Decode one datagram.

    sender says who sent it: 'peer' is X-Plane, 'bridge' is its client. version, if known, picks
    between forms that the bytes alone do not tell apart; layout and previous are decode_data's.
    Raise ProtocolError for bytes that are no message, and nothing else for any bytes.
    """
    if sender not in ('peer', 'bridge'):
        raise ValueError(f"sender: expected 'peer' or 'bridge', got {sender!r}")
    if version is not None:
        check_version(version)
    tag = bytes(data[:4])
    if tag == b'DATA':
        return decode_data(data, layout, previous, version, sender)
    if len(data) < HEADER_SIZE:
        raise ProtocolError(f'{len(data)} bytes, a datagram has at least {HEADER_SIZE}')
    if tag in _SELECTIONS:
        selection: Selection = decode_selection(_SELECTIONS[tag], data, layout, previous, version)
        return selection
    decoder = _REPLIES.get(tag) if sender == 'peer' else None
    decoder = decoder or _DECODERS.get(tag)
    if decoder is None:
        raise ProtocolError(f'label {tag!r} is no message of X-Plane')
    return decoder(bytes(data), version)


def _need(tag: str, data: bytes, size: int) -> None:
    if len(data) != size:
        raise ProtocolError(f'{tag}: {len(data)} bytes, expected {size}')


def _fixed_decoder(message_type: type[Any]) -> Callable[[bytes, int | None], Any]:
    body, tag = _FIXED[message_type], message_type.tag

    def decode_fixed(data: bytes, version: int | None) -> Any:
        _need(tag, data, HEADER_SIZE + body.size)
        return body.decode(data)

    return decode_fixed


def _decode_rref_reply(data: bytes, version: int | None) -> RrefReply:
    if (len(data) - HEADER_SIZE) % _RREF_VALUE.size:
        raise ProtocolError(f'RREF: {len(data)} bytes, expected 5 + {_RREF_VALUE.size} n')
    return RrefReply(tuple(_RREF_VALUE.iter_unpack(data[HEADER_SIZE:])))


def _decode_dref(data: bytes, version: int | None) -> Dref:
    # X-Plane 12 insists on the length; before it, the path may end with the datagram.
    if version is None or version >= 12 or not 9 < len(data) <= DREF_SIZE:
        _need('DREF', data, DREF_SIZE)
    return _DREF.decode(data.ljust(DREF_SIZE, b'\0'))


def _decode_cmnd(data: bytes, version: int | None) -> Cmnd:
    return Cmnd(shown_text(data[HEADER_SIZE:]).rstrip(' '))


def _decode_rpos_request(data: bytes, version: int | None) -> RposRequest:
    body = data[HEADER_SIZE:]
    # Four bytes can be a binary int32 or a string like '100' and its NUL. Without a version,
    # what reads as a decimal number is one.
    is_text = body.split(b'\0', 1)[0].isdigit() if version is None else version >= 11
    if is_text:
        return RposRequest(decimal('RPOS rate', body))
    _need('RPOS', data, HEADER_SIZE + _INT32.size)
    return RposRequest(_INT32.unpack(body)[0])


def _decode_rpos_reply(data: bytes, version: int | None) -> RposReply:
    _need('RPOS', data, HEADER_SIZE + _RPOS_REPLY.size)
    return _RPOS_REPLY.decode(data)


def _decode_radr_request(data: bytes, version: int | None) -> RadrRequest:
    return RadrRequest(decimal('RADR points', data[HEADER_SIZE:]))


def _decode_radr_reply(data: bytes, version: int | None) -> RadrReply:
    size = len(data) - HEADER_SIZE
    is_12 = size % _RADR_12.size == 0 if version is None else version >= 12
    body: Body[RadrPoint11] | Body[RadrPoint12] = _RADR_12 if is_12 else _RADR_11
    if size % body.size:
        raise ProtocolError(f'RADR: {len(data)} bytes, expected 5 + 13 n (X-Plane 11) '
                            'or 5 + 24 n (12)')
    offsets = range(HEADER_SIZE, len(data), body.size)
    if is_12:
        return RadrReply(tuple(_RADR_12.decode(data, offset) for offset in offsets))
    return RadrReply(tuple(_RADR_11.decode(data, offset) for offset in offsets))


def _decode_becn(data: bytes, version: int | None) -> Becn:
    start = HEADER_SIZE + _BECN.size
    if len(data) < start:
        raise ProtocolError(f'BECN: {len(data)} bytes, the fixed part alone has {start}')
    major, minor, host_id, simulator, role, port = _BECN.unpack_from(data, HEADER_SIZE)
    if major != 1:
        raise ProtocolError(f'BECN: major version {major}, only 1 is known')
    end = data.find(b'\0', start)
    if end < 0:
        raise ProtocolError(f'BECN: the name from offset {start} on has no end')
    rest = data[end + 1:]
    if len(rest) not in (0, _UINT16.size) and len(data) >= start + _BECN_NAME_SIZE:
        # The vendor prints the name as char[500]; on the wire it is as long as it is.
        rest = data[start + _BECN_NAME_SIZE:]
    if len(rest) not in (0, _UINT16.size):
        raise ProtocolError(f'BECN: {len(rest)} bytes after the name, expected 0 or 2')
    return Becn(major, minor, host_id, simulator, role, port, shown_text(data[start:]),
                _UINT16.unpack(rest)[0] if rest else None)


def _decode_veh1(data: bytes, version: int | None) -> Veh1:
    for body in (_VEH1_PACKED, _VEH1_ALIGNED):
        if len(data) == HEADER_SIZE + body.size:
            return body.decode(data)
    raise ProtocolError(f'VEH1: {len(data)} bytes, expected 57 or 61')


def _decode_acpr(data: bytes, version: int | None) -> Acpr:
    _need('ACPR', data, HEADER_SIZE + _ACFN.size + _PREL.size)
    return Acpr(_ACFN.decode(data), _PREL.decode(data, HEADER_SIZE + _ACFN.size))


def _decode_alrt(data: bytes, version: int | None) -> Alrt:
    end = HEADER_SIZE + _ALRT_LINES * _ALRT_LINE_SIZE
    _need('ALRT', data, end)
    return Alrt(tuple(shown_text(data[i:i + _ALRT_LINE_SIZE])
                      for i in range(HEADER_SIZE, end, _ALRT_LINE_SIZE)))


def _label_decoder(message_type: type[Quit] | type[Shut] | type[Rese],
                   ) -> Callable[[bytes, int | None], Quit | Shut | Rese]:
    def decode_label(data: bytes, version: int | None) -> Quit | Shut | Rese:
        _need(message_type.tag, data, HEADER_SIZE)
        return message_type()

    return decode_label


def _system(tag: str, data: bytes) -> int:
    return decimal(f'{tag} system', data[HEADER_SIZE:])


def _navaid(data: bytes) -> str:
    return shown_text(data[HEADER_SIZE:])


_SELECTIONS: Mapping[bytes, type[Any]] = {
    t.tag.encode(): t for t in (Dsel, Usel, Dcoc, Ucoc)}

_REPLIES: Mapping[bytes, Callable[[bytes, int | None], Message]] = {
    b'RREF': _decode_rref_reply,
    b'RPOS': _decode_rpos_reply,
    b'RADR': _decode_radr_reply,
}

_DECODERS: Mapping[bytes, Callable[[bytes, int | None], Message]] = {
    **{t.tag.encode(): _fixed_decoder(t) for t in _FIXED},
    b'DREF': _decode_dref,
    b'CMND': _decode_cmnd,
    b'RPOS': _decode_rpos_request,
    b'RADR': _decode_radr_request,
    b'BECN': _decode_becn,
    b'VEH1': _decode_veh1,
    b'ACPR': _decode_acpr,
    b'ALRT': _decode_alrt,
    b'FAIL': lambda data, version: Fail(_system('FAIL', data)),
    b'RECO': lambda data, version: Reco(_system('RECO', data)),
    b'NFAL': lambda data, version: Nfal(_navaid(data)),
    b'NREC': lambda data, version: Nrec(_navaid(data)),
    b'QUIT': _label_decoder(Quit),
    b'SHUT': _label_decoder(Shut),
    b'RESE': _label_decoder(Rese),
}
