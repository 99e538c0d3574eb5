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

"""From bytes to messages; layouts as in docs/wire/xpc.md, sections 2 and 3."""

from collections.abc import Callable
from functools import partial
from struct import Struct
from typing import TypeVar

from xplane_bridge.protocols.errors import ProtocolError
from xplane_bridge.protocols.xpc.messages import (
    Beacon,
    Camera,
    Command,
    CommandBegin,
    CommandEnd,
    Connect,
    Connected,
    Controls,
    ControlsReply,
    Datarefs,
    DataRows,
    Forwarded,
    FORWARDED_TAGS,
    GetControls,
    GetDatarefs,
    GetPosition,
    GetTerrain,
    LEAVE,
    LEAVE_ABOVE,
    LEAVE_BELOW,
    PlaceAndProbe,
    Position,
    PositionReply,
    Reply,
    Request,
    REQUEST_LIMIT,
    SelectCockpitRows,
    SelectRows,
    SetDatarefs,
    SetView,
    Simulation,
    Terrain,
    Text,
    UnselectCockpitRows,
    UnselectRows,
    Waypoints,
)

# Payloads begin at offset 5. Byte 4 was once a length; peers write 0 or 255 and none reads it.
_HEADER = 5
_CTRL_26 = Struct('<4fbf')
_CTRL_31 = Struct('<4fbfBf')
_FLOAT32 = Struct('<f')
_POSI_32 = Struct('<B7f')
_POSI_64 = Struct('<B3d4f')
_CONN = Struct('<H')
_TEXT = Struct('<iiB')
_VIEW = Struct('<i')
_CAMERA_37 = Struct('<3df')
_CAMERA_49 = Struct('<3d3ff')
_POINT = Struct('<3f')
_GETT = Struct('<B3d')
_TERR_50 = Struct('<B3d3f2f')
_TERR_62 = Struct('<B3d3f3f2i')
_DATA_ROW = Struct('<I8f')
_BECN = Struct('<HI')
# RESP comes at frame rate with dozens of rows: one ready format for each possible count.
_FLOATS = tuple(Struct(f'<{count}f') for count in range(256))

_Numbered = TypeVar('_Numbered', GetControls, GetPosition)
_Placed = TypeVar('_Placed', Position, PlaceAndProbe)
_Commanded = TypeVar('_Commanded', Command, CommandBegin, CommandEnd)
_Selected = TypeVar(
    '_Selected', SelectRows, UnselectRows, SelectCockpitRows, UnselectCockpitRows)


def decode_request(data: bytes | bytearray | memoryview) -> Request:
    """
    Return the message in a datagram from a client to the plugin.

    Anything but one whole well-formed request raises ProtocolError. Values are not judged:
    a request is shown as it is, even where encode() would refuse to make it.
    """
    raw = bytes(data)
    request = _decoder(_REQUESTS, raw, 'request')(raw)
    if len(raw) > REQUEST_LIMIT:
        raise ProtocolError(
            f'{_tag(raw)}: {len(raw)} bytes, expected at most {REQUEST_LIMIT}: '
            'the plugin cuts what is longer')
    return request


def decode_reply(data: bytes | bytearray | memoryview) -> Reply:
    """
    Return the message in a datagram from the plugin to a client, its beacon included.

    Anything but one whole well-formed reply raises ProtocolError.
    """
    raw = bytes(data)
    return _decoder(_REPLIES, raw, 'reply')(raw)


_Message = TypeVar('_Message')


def _decoder(
        decoders: dict[bytes, Callable[[bytes], _Message]], data: bytes,
        kind: str) -> Callable[[bytes], _Message]:
    if len(data) < _HEADER:
        raise ProtocolError(f'header: {len(data)} bytes left at offset 0, need {_HEADER}')
    decoder = decoders.get(data[:4])
    if decoder is None:
        raise ProtocolError(f'tag at offset 0: got {data[:4]!r}, expected that of an XPC {kind}')
    return decoder


def _tag(data: bytes) -> str:
    return data[:4].decode('ascii')


def _check_length(data: bytes, *lengths: int) -> None:
    if len(data) not in lengths:
        *others, last = map(str, lengths)
        expected = f'{", ".join(others)} or {last}' if others else last
        raise ProtocolError(f'{_tag(data)}: {len(data)} bytes, expected {expected}')


def _need(data: bytes, what: str, offset: int, size: int) -> None:
    left = len(data) - offset
    if left < size:
        raise ProtocolError(
            f'{_tag(data)} {what}: {left} bytes left at offset {offset}, need {size}')


def _check_end(data: bytes, what: str, offset: int) -> None:
    if offset != len(data):
        raise ProtocolError(f'{_tag(data)}: {len(data)} bytes, expected {offset} for {what}')


def _unless_leave(value: float) -> float | None:
    return None if LEAVE_ABOVE < value < LEAVE_BELOW else value


def _string(data: bytes, what: str, offset: int) -> tuple[str, int]:
    """Return the string whose length byte is at the offset, and the offset after it."""
    _need(data, f'{what} length', offset, 1)
    start = offset + 1
    end = start + data[offset]
    _need(data, what, start, data[offset])
    # The wire names no character set; Latin-1 shows any byte as one character.
    return data[start:end].decode('latin-1'), end


def _commands(kind: type[_Commanded], data: bytes) -> _Commanded:
    commands: list[str] = []
    offset = _HEADER
    while offset < len(data):
        command, offset = _string(data, f'command {len(commands) + 1}', offset)
        commands.append(command)
    return kind(tuple(commands))


def _connect(data: bytes) -> Connect:
    _check_length(data, 7)
    return Connect(*_CONN.unpack_from(data, _HEADER))


def _connected(data: bytes) -> Connected:
    _check_length(data, 6)
    return Connected(data[5])


def _controls(data: bytes) -> Controls:
    _check_length(data, 26, 27, 31)
    elevator, aileron, rudder, throttle, gear, flaps = _CTRL_26.unpack_from(data, _HEADER)
    return Controls(
        _unless_leave(elevator), _unless_leave(aileron), _unless_leave(rudder),
        _unless_leave(throttle), None if gear == -1 else gear, _unless_leave(flaps),
        data[26] if len(data) > 26 else 0,
        _unless_leave(_FLOAT32.unpack_from(data, 27)[0]) if len(data) == 31 else None)


def _controls_reply(data: bytes) -> ControlsReply:
    _check_length(data, 31)
    elevator, aileron, rudder, throttle, gear, flaps, aircraft, speedbrake = _CTRL_31.unpack_from(
        data, _HEADER)
    if gear == -1:
        raise ProtocolError('CTRL gear at offset 21: got -1 (leave), expected a state')
    for name, offset, value in (
            ('elevator', 5, elevator), ('aileron', 9, aileron), ('rudder', 13, rudder),
            ('throttle', 17, throttle), ('flaps', 22, flaps), ('speedbrake', 27, speedbrake)):
        if _unless_leave(value) is None:
            raise ProtocolError(
                f'CTRL {name} at offset {offset}: got {value} (leave), expected a state')
    return ControlsReply(
        elevator, aileron, rudder, throttle, gear, flaps, aircraft, speedbrake)


def _aircraft(kind: type[_Numbered], data: bytes) -> _Numbered:
    _check_length(data, 6)
    return kind(data[5])


def _placement(kind: type[_Placed], data: bytes) -> _Placed:
    _check_length(data, 34, 46)
    form, precision = (_POSI_32, 32) if len(data) == 34 else (_POSI_64, 64)
    aircraft, lat, lon, alt, pitch, roll, heading, gear = form.unpack_from(data, _HEADER)
    return kind(
        aircraft, _unless_leave(lat), _unless_leave(lon), _unless_leave(alt),
        _unless_leave(pitch), _unless_leave(roll), _unless_leave(heading),
        None if gear < 0.0 else gear, precision)


def _position_reply(data: bytes) -> PositionReply:
    _check_length(data, 34, 46)
    form, precision = (_POSI_32, 32) if len(data) == 34 else (_POSI_64, 64)
    gear_handle, lat, lon, alt, pitch, roll, heading, gear = form.unpack_from(data, _HEADER)
    return PositionReply(gear_handle, lat, lon, alt, pitch, roll, heading, gear, precision)


def _set_datarefs(data: bytes) -> SetDatarefs:
    items: list[tuple[str, tuple[float, ...]]] = []
    offset = _HEADER
    while offset < len(data):
        item = f'item {len(items) + 1}'
        name, offset = _string(data, f'{item} name', offset)
        _need(data, f'{item} count', offset, 1)
        floats = _FLOATS[data[offset]]
        start = offset + 1
        offset = start + floats.size
        if offset > len(data):
            whole = (len(data) - start) // 4
            _need(data, f'{item} value {whole + 1}', start + 4 * whole, 4)
        items.append((name, floats.unpack_from(data, start)))
    return SetDatarefs(tuple(items))


def _get_datarefs(data: bytes) -> GetDatarefs:
    _need(data, 'count', _HEADER, 1)
    names = []
    offset = _HEADER + 1
    for number in range(1, data[_HEADER] + 1):
        name, offset = _string(data, f'name {number} of {data[_HEADER]}', offset)
        names.append(name)
    _check_end(data, f'{len(names)} names', offset)
    return GetDatarefs(tuple(names))


def _datarefs(data: bytes) -> Datarefs:
    _need(data, 'count', _HEADER, 1)
    size = len(data)
    rows = []
    offset = _HEADER + 1
    for number in range(1, data[_HEADER] + 1):
        if offset >= size:
            _need(data, f'row {number} of {data[_HEADER]} count', offset, 1)
        floats = _FLOATS[data[offset]]
        start = offset + 1
        offset = start + floats.size
        if offset > size:
            whole = (size - start) // 4
            _need(data, f'row {number} value {whole + 1}', start + 4 * whole, 4)
        rows.append(floats.unpack_from(data, start))
    _check_end(data, f'{len(rows)} rows', offset)
    return Datarefs(tuple(rows))


def _simulation(data: bytes) -> Simulation:
    _check_length(data, 6)
    return Simulation(data[5])


def _text(data: bytes) -> Text:
    _need(data, 'place and length', _HEADER, _TEXT.size)
    x, y, length = _TEXT.unpack_from(data, _HEADER)
    start = _HEADER + _TEXT.size
    _need(data, 'text', start, length)
    _check_end(data, f'a text of {length}', start + length)
    # Clients cut UTF-8 between bytes (docs/wire/xpc.md, section 7): show what is left of it.
    return Text(x, y, data[start:].decode('utf-8', 'replace'))


def _view(data: bytes) -> SetView:
    _check_length(data, 9, 37, 49)
    view, = _VIEW.unpack_from(data, _HEADER)
    if len(data) == 9:
        return SetView(view)
    if len(data) == 37:
        *loc, zoom = _CAMERA_37.unpack_from(data, 9)
        return SetView(view, Camera((loc[0], loc[1], loc[2]), None, zoom))
    lat, lon, alt, roll, pitch, heading, zoom = _CAMERA_49.unpack_from(data, 9)
    direction = (_unless_free(roll), _unless_free(pitch), _unless_free(heading))
    return SetView(view, Camera((lat, lon, alt), direction, zoom))


def _unless_free(angle: float) -> float | None:
    return None if angle < -180.0 else angle


def _waypoints(data: bytes) -> Waypoints:
    _need(data, 'op and count', _HEADER, 2)
    op, count = data[_HEADER], data[_HEADER + 1]
    start = _HEADER + 2
    # NASA's Python client counts floats, not points: the plugin then draws stale memory.
    _check_length(data, start + _POINT.size * count)
    return Waypoints(op, tuple(_POINT.iter_unpack(data[start:])))


def _get_terrain(data: bytes) -> GetTerrain:
    _check_length(data, 30)
    aircraft, *place = _GETT.unpack_from(data, _HEADER)
    # Unlike in POSI, the plugin compares for equality here.
    lat, lon, alt = (None if value == LEAVE else value for value in place)
    return GetTerrain(aircraft, lat, lon, alt)


def _terrain(data: bytes) -> Terrain:
    _check_length(data, 50, 62)
    velocity: tuple[float, float, float] | None
    if len(data) == 62:
        aircraft, lat, lon, alt, nx, ny, nz, vx, vy, vz, is_wet, status = _TERR_62.unpack_from(
            data, _HEADER)
        velocity = (vx, vy, vz)
    else:
        aircraft, lat, lon, alt, nx, ny, nz, is_wet, status = _TERR_50.unpack_from(data, _HEADER)
        velocity = None
        is_wet = _whole_number('is_wet at offset 42', is_wet)
        status = _whole_number('status at offset 46', status)
    return Terrain(aircraft, lat, lon, alt, (nx, ny, nz), velocity, is_wet, status)


def _whole_number(what: str, value: float) -> int:
    if not value.is_integer():
        raise ProtocolError(f'TERR {what}: got {value}, expected a whole number')
    return int(value)


def _data_rows(data: bytes) -> DataRows:
    whole = (len(data) - _HEADER) // _DATA_ROW.size
    end = _HEADER + _DATA_ROW.size * whole
    if end != len(data):
        _need(data, f'row {whole + 1}', end, _DATA_ROW.size)
    return DataRows(tuple(_DATA_ROW.iter_unpack(data[_HEADER:])))


def _row_numbers(kind: type[_Selected], data: bytes) -> _Selected:
    whole = (len(data) - _HEADER) // 4
    end = _HEADER + 4 * whole
    if end != len(data):
        _need(data, f'row {whole + 1}', end, 4)
    return kind(Struct(f'<{whole}I').unpack_from(data, _HEADER))


def _forwarded(data: bytes) -> Forwarded:
    return Forwarded(_tag(data), data[_HEADER:])


def _beacon(data: bytes) -> Beacon:
    _need(data, 'port and version', _HEADER, _BECN.size)
    port, xplane_version = _BECN.unpack_from(data, _HEADER)
    text = data[_HEADER + _BECN.size:]
    version = text.rstrip(b'\0')
    # X-Plane's own beacon has the same tag, but binary fields here.
    if not all(0x20 <= byte < 0x7f for byte in version):
        raise ProtocolError(
            f'BECN plugin_version at offset 11: got {version!r}, expected printable ASCII')
    return Beacon(port, xplane_version, version.decode('ascii'), len(text) - len(version))


_REQUESTS: dict[bytes, Callable[[bytes], Request]] = {
    b'COMM': partial(_commands, Command),
    b'BCOM': partial(_commands, CommandBegin),
    b'ECOM': partial(_commands, CommandEnd),
    b'CONN': _connect,
    b'CTRL': _controls,
    b'GETC': partial(_aircraft, GetControls),
    b'POSI': partial(_placement, Position),
    b'POST': partial(_placement, PlaceAndProbe),
    b'GETP': partial(_aircraft, GetPosition),
    b'DREF': _set_datarefs,
    b'GETD': _get_datarefs,
    b'SIMU': _simulation,
    b'TEXT': _text,
    b'VIEW': _view,
    b'WYPT': _waypoints,
    b'GETT': _get_terrain,
    b'DATA': _data_rows,
    b'DSEL': partial(_row_numbers, SelectRows),
    b'USEL': partial(_row_numbers, UnselectRows),
    b'DCOC': partial(_row_numbers, SelectCockpitRows),
    b'UCOC': partial(_row_numbers, UnselectCockpitRows),
    **{tag.encode('ascii'): _forwarded for tag in FORWARDED_TAGS},
}
_REPLIES: dict[bytes, Callable[[bytes], Reply]] = {
    b'CONF': _connected,
    b'CTRL': _controls_reply,
    b'POSI': _position_reply,
    b'RESP': _datarefs,
    b'TERR': _terrain,
    b'BECN': _beacon,
}
