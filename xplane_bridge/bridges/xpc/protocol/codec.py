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
Codec of X-Plane Connect's datagrams.

A datagram is four letters, one unused byte, and a packed little-endian body (docs/wire/xpc.md,
sections 2 and 3). Whatever the plugin is known to crash on or misread is refused before it is
sent (section 9).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
import struct
from typing import Any, TypeVar

from xplane_bridge.bridges.protocols.base import (
    checked_float,
    checked_int,
    checked_text,
    Codec,
    FLOAT32_MAX,
    INT32_MAX,
    INT32_MIN,
    Message,
    Pair,
    Sender,
)
from xplane_bridge.bridges.protocols.errors import ProtocolError
from xplane_bridge.bridges.xpc.protocol.messages import (
    ALTITUDE_RANGE,
    Camera,
    CommandBegin,
    CommandEnd,
    CommandOnce,
    Connect,
    DataRows,
    EditWaypoints,
    Forwarded,
    FORWARDED_TAGS,
    GetControls,
    GetDatarefs,
    GetPosition,
    GetTerrain,
    LEAVE,
    MAX_DATA_ROWS,
    MAX_VALUES,
    MAX_WAYPOINTS,
    MESSAGES,
    PlaceAndProbe,
    Position,
    REQUEST_LIMIT,
    SelectCockpitRows,
    SelectRows,
    SetControls,
    SetDatarefs,
    SetView,
    Simulation,
    Text,
    UnselectCockpitRows,
    UnselectRows,
    View,
    WaypointOp,
)
from xplane_bridge.bridges.xpc.protocol.replies import REPLIES
from xplane_bridge.bridges.xpc.protocol.wire import (
    body,
    check_end,
    check_size,
    FLOATS,
    header,
    HEADER_SIZE,
    need,
    need_floats,
    placed,
    read_tag,
)
from xplane_bridge.common.fields import out_of_limits, wrong_kind
from xplane_bridge.common.text import counted

# Requests of a client; refuses what the plugin crashes on (docs/wire/xpc.md, section 9).

_MAX_TEXT = 255

_Commanded = TypeVar('_Commanded', CommandOnce, CommandBegin, CommandEnd)
_Selected = TypeVar(
    '_Selected', SelectRows, UnselectRows, SelectCockpitRows, UnselectCockpitRows)


def _check_count(what: str, count: int, low: int, high: int) -> None:
    if not low <= count <= high:
        raise ValueError(out_of_limits(what, count, low, high))


# Length-prefixed strings.

def _pack_text(what: str, value: object) -> bytes:
    text = checked_text(what, value, _MAX_TEXT)
    return bytes((len(text),)) + text


def _pack_texts(what: str, values: Iterable[str]) -> list[bytes]:
    # A lone string is iterable too, and would be sent as one name per character.
    if isinstance(values, str):
        raise TypeError(wrong_kind(what, 'a sequence of texts', values))
    return [_pack_text(f'{what} {number}', value) for number, value in enumerate(values, 1)]


def _unpack_text(data: bytes, what: str, offset: int) -> tuple[str, int]:
    """Return the text whose length is the byte at the offset, and the offset after it."""
    need(data, f'{what} length', offset, 1)
    start = offset + 1
    end = start + data[offset]
    need(data, what, start, data[offset])
    # The protocol names no character set; Latin-1 shows any byte as one character.
    return data[start:end].decode('latin-1'), end


def _commands(kind: type[_Commanded]) -> Pair[_Commanded]:
    """Return the codec of a message that is a list of commands."""
    def pack(message: _Commanded) -> bytes:
        commands = _pack_texts(f'{kind.tag} command', message.commands)
        if not commands:
            raise ValueError(f'{kind.tag} commands: got none, expected at least one')
        return header(kind.tag) + b''.join(commands)

    def unpack(data: bytes) -> _Commanded:
        commands: list[str] = []
        offset = HEADER_SIZE
        while offset < len(data):
            command, offset = _unpack_text(data, f'command {len(commands) + 1}', offset)
            commands.append(command)
        return kind(tuple(commands))

    return Pair(pack, unpack)


# Datarefs.

def _pack_set_datarefs(message: SetDatarefs) -> bytes:
    parts = []
    for item, (name, values) in enumerate(message.items, 1):
        _check_count(f'DREF item {item} values', len(values), 1, MAX_VALUES)
        parts += [
            _pack_text(f'DREF item {item} name', name),
            struct.pack(f'<B{len(values)}f', len(values), *(
                checked_float(f'DREF item {item} value {number}', value,
                              -FLOAT32_MAX, FLOAT32_MAX)
                for number, value in enumerate(values, 1)))]
    if not parts:
        raise ValueError('DREF items: got none, expected at least one')
    return header('DREF') + b''.join(parts)


def _unpack_set_datarefs(data: bytes) -> SetDatarefs:
    items: list[tuple[str, tuple[float, ...]]] = []
    offset = HEADER_SIZE
    while offset < len(data):
        item = f'item {len(items) + 1}'
        name, offset = _unpack_text(data, f'{item} name', offset)
        need_floats(data, item, offset)
        floats = FLOATS[data[offset]]
        items.append((name, floats.unpack_from(data, offset + 1)))
        offset += 1 + floats.size
    return SetDatarefs(tuple(items))


def _pack_get_datarefs(message: GetDatarefs) -> bytes:
    names = _pack_texts('GETD name', message.names)
    # The plugin's "repeat the last request" for 0 names is broken: it replies with 0 rows.
    _check_count('GETD names', len(names), 1, 255)
    return header('GETD') + bytes((len(names),)) + b''.join(names)


def _unpack_get_datarefs(data: bytes) -> GetDatarefs:
    need(data, 'count', HEADER_SIZE, 1)
    count = data[HEADER_SIZE]
    names = []
    offset = HEADER_SIZE + 1
    for number in range(1, count + 1):
        name, offset = _unpack_text(data, f'name {number} of {count}', offset)
        names.append(name)
    check_end(data, f'{count} names', offset)
    return GetDatarefs(tuple(names))


# Controls.

_CONTROLS = body(SetControls)
_CONTROLS_SIZES = (26, 27, _CONTROLS.size)
_CONTROLS_DEFAULTS = _CONTROLS.pack(SetControls())


def _unpack_controls(data: bytes) -> SetControls:
    check_size(data, *_CONTROLS_SIZES)
    # Older clients end before the aircraft, or before the speedbrake.
    return _CONTROLS.unpack(data + _CONTROLS_DEFAULTS[len(data):])


# Drawing and views.

_TEXT = struct.Struct('<iiB')


def _pack_screen_text(message: Text) -> bytes:
    if not isinstance(message.text, str):
        raise TypeError(wrong_kind('TEXT text', 'a text', message.text))
    try:
        text = message.text.encode('utf-8')
    except UnicodeEncodeError:
        raise ValueError(
            f'TEXT text: got {message.text!r}, expected text encodable as UTF-8') from None
    if 0 in text:
        raise ValueError(f'TEXT text: got {message.text!r}, expected no NUL, which would end it')
    _check_count('TEXT length in bytes', len(text), 0, _MAX_TEXT)
    return header('TEXT') + _TEXT.pack(
        checked_int('TEXT x', message.x, INT32_MIN, INT32_MAX),
        checked_int('TEXT y', message.y, INT32_MIN, INT32_MAX), len(text)) + text


def _unpack_screen_text(data: bytes) -> Text:
    need(data, 'place and length', HEADER_SIZE, _TEXT.size)
    x, y, length = _TEXT.unpack_from(data, HEADER_SIZE)
    start = HEADER_SIZE + _TEXT.size
    need(data, 'text', start, length)
    check_end(data, f'a text of {length}', start + length)
    # Clients truncate UTF-8 between bytes (docs/wire/xpc.md, section 7): show the rest.
    return Text(x, y, data[start:].decode('utf-8', 'replace'))


_VIEW = body(SetView, count=1)
_CAMERA_37 = struct.Struct('<3df')
_CAMERA_49 = struct.Struct('<3d3ff')
# Limits of a camera: metres from the aircraft, and magnification.
_FARTHEST = 1e6
_LARGEST_ZOOM = 1e3


def _pack_view(message: SetView) -> bytes:
    data = _VIEW.pack(message)
    camera = message.camera
    return data if camera is None else data + _pack_camera(message.view, camera)


def _pack_camera(view: int, camera: Camera) -> bytes:
    offset = (-_FARTHEST, _FARTHEST)
    limits = (
        ((-90.0, 90.0), (-180.0, 180.0), ALTITUDE_RANGE) if view == View.RUNWAY
        else (offset, offset, offset))
    loc = [
        checked_float(f'VIEW loc {number}', value, *limit)
        for number, (value, limit) in enumerate(zip(camera.loc, limits, strict=True), 1)]
    zoom = checked_float('VIEW zoom', camera.zoom, 0.0, _LARGEST_ZOOM)
    if camera.direction is None:
        return _CAMERA_37.pack(*loc, zoom)
    # The plugin ignores values below -180.
    roll, pitch, heading = (
        LEAVE if angle is None else checked_float(f'VIEW direction {number}', angle, -180.0, 360.0)
        for number, angle in enumerate(camera.direction, 1))
    return _CAMERA_49.pack(*loc, roll, pitch, heading, zoom)


def _unpack_view(data: bytes) -> SetView:
    check_size(data, _VIEW.size, _VIEW.size + _CAMERA_37.size, _VIEW.size + _CAMERA_49.size)
    view = _VIEW.unpack(data[:_VIEW.size]).view
    camera = data[_VIEW.size:]
    if not camera:
        return SetView(view)
    if len(camera) == _CAMERA_37.size:
        lat, lon, alt, zoom = _CAMERA_37.unpack(camera)
        return SetView(view, Camera((lat, lon, alt), None, zoom))
    lat, lon, alt, *angles, zoom = _CAMERA_49.unpack(camera)
    roll, pitch, heading = (None if angle < -180.0 else angle for angle in angles)
    return SetView(view, Camera((lat, lon, alt), (roll, pitch, heading), zoom))


_POINT = struct.Struct('<3f')


def _pack_waypoints(message: EditWaypoints) -> bytes:
    op = checked_int('WYPT op', message.op, min(WaypointOp), max(WaypointOp))
    _check_count('WYPT points', len(message.points), 0, MAX_WAYPOINTS)
    points = [
        _POINT.pack(
            checked_float(f'WYPT point {number} lat', lat, -90.0, 90.0),
            checked_float(f'WYPT point {number} lon', lon, -180.0, 180.0),
            checked_float(f'WYPT point {number} alt', alt, *ALTITUDE_RANGE))
        for number, (lat, lon, alt) in enumerate(message.points, 1)]
    if op == WaypointOp.REMOVE and len({*map(_POINT.unpack, points)}) < len(points):
        raise ValueError(
            'WYPT points: got one twice, expected each once: the plugin counts it twice, and '
            'also removes another one, or crashes')
    return header('WYPT') + bytes((op, len(points))) + b''.join(points)


def _unpack_waypoints(data: bytes) -> EditWaypoints:
    need(data, 'op and count', HEADER_SIZE, 2)
    op, count = data[HEADER_SIZE:HEADER_SIZE + 2]
    start = HEADER_SIZE + 2
    # NASA's Python client counts floats, not points: the plugin then draws stale memory.
    check_size(data, start + _POINT.size * count)
    return EditWaypoints(op, tuple(_POINT.iter_unpack(data[start:])))


# X-Plane's data output, and other datagrams that the plugin forwards to X-Plane.

_DATA_ROW = struct.Struct('<I8f')
_ROW_NUMBER = struct.Struct('<I')


def _pack_data_rows(message: DataRows) -> bytes:
    _check_count('DATA rows', len(message.rows), 0, MAX_DATA_ROWS)
    parts = []
    for number, (row, *values) in enumerate(message.rows, 1):
        if len(values) != 8:
            raise ValueError(f'DATA row {number}: got {len(values)} values, expected 8')
        parts.append(_DATA_ROW.pack(
            checked_int(f'DATA row {number} number', row, 0, 255),
            *(checked_float(f'DATA row {number} v{column}', value, -FLOAT32_MAX, FLOAT32_MAX)
              for column, value in enumerate(values, 1))))
    return header('DATA') + b''.join(parts)


def _unpack_data_rows(data: bytes) -> DataRows:
    return DataRows(tuple(_rows(data, _DATA_ROW)))


def _row_numbers(kind: type[_Selected]) -> Pair[_Selected]:
    """Return the codec of a message that is a list of row numbers."""
    def pack(message: _Selected) -> bytes:
        return header(kind.tag) + b''.join(
            _ROW_NUMBER.pack(checked_int(f'{kind.tag} row {number}', row, 0, 255))
            for number, row in enumerate(message.rows, 1))

    def unpack(data: bytes) -> _Selected:
        return kind(tuple(row for row, in _rows(data, _ROW_NUMBER)))

    return Pair(pack, unpack)


def _rows(data: bytes, row: struct.Struct) -> Iterable[tuple[Any, ...]]:
    whole, left = divmod(len(data) - HEADER_SIZE, row.size)
    if left:
        need(data, f'row {whole + 1}', HEADER_SIZE + row.size * whole, row.size)
    return row.iter_unpack(data[HEADER_SIZE:])


def _pack_forwarded(message: Forwarded) -> bytes:
    if message.tag not in FORWARDED_TAGS:
        raise ValueError(
            f'tag: got {message.tag!r}, expected one that the plugin forwards: '
            f'{", ".join(FORWARDED_TAGS)}')
    return header(message.tag) + message.body


def _unpack_forwarded(data: bytes) -> Forwarded:
    return Forwarded(read_tag(data), data[HEADER_SIZE:])


REQUESTS: Mapping[type[Any], Codec[Any]] = {
    CommandOnce: _commands(CommandOnce),
    CommandBegin: _commands(CommandBegin),
    CommandEnd: _commands(CommandEnd),
    Connect: body(Connect),
    SetControls: Pair(_CONTROLS.pack, _unpack_controls),
    GetControls: body(GetControls),
    Position: placed(Position),
    PlaceAndProbe: placed(PlaceAndProbe),
    GetPosition: body(GetPosition),
    SetDatarefs: Pair(_pack_set_datarefs, _unpack_set_datarefs),
    GetDatarefs: Pair(_pack_get_datarefs, _unpack_get_datarefs),
    Simulation: body(Simulation),
    Text: Pair(_pack_screen_text, _unpack_screen_text),
    SetView: Pair(_pack_view, _unpack_view),
    EditWaypoints: Pair(_pack_waypoints, _unpack_waypoints),
    GetTerrain: body(GetTerrain),
    DataRows: Pair(_pack_data_rows, _unpack_data_rows),
    SelectRows: _row_numbers(SelectRows),
    UnselectRows: _row_numbers(UnselectRows),
    SelectCockpitRows: _row_numbers(SelectCockpitRows),
    UnselectCockpitRows: _row_numbers(UnselectCockpitRows),
    Forwarded: Pair(_pack_forwarded, _unpack_forwarded),
}


_SIDES: Mapping[Sender, Mapping[type[Any], Codec[Any]]] = {'bridge': REQUESTS, 'peer': REPLIES}
_BY_TAG = {
    sender: {tag.encode('ascii'): _SIDES[sender][kind] for tag, kind in kinds.items()}
    for sender, kinds in MESSAGES.items()}
_NAMES: Mapping[Sender, str] = {'bridge': 'request', 'peer': 'reply'}


def decode(data: bytes | bytearray | memoryview, sender: Sender) -> Message:
    """
    Decode one datagram of a client ('bridge') or of the plugin ('peer', its beacon included).

    Values are not checked: a request is shown as it is, even if encode() would refuse it. Raises
    ProtocolError for anything but one complete well-formed message.
    """
    raw = bytes(data)
    if len(raw) < HEADER_SIZE:
        raise ProtocolError('header: '
                            f'{counted(len(raw), "byte")} left at offset 0, need {HEADER_SIZE}')
    codec = _BY_TAG[sender].get(raw[:4])
    if codec is None:
        raise ProtocolError(
            f'tag at offset 0: got {raw[:4]!r}, expected that of an XPC {_NAMES[sender]}')
    message: Message = codec.unpack(raw)
    if sender == 'bridge' and len(raw) > REQUEST_LIMIT:
        raise ProtocolError(_too_long(message.tag, len(raw)))
    return message


def encode(message: Message) -> bytes:
    """
    Encode any XPC message; byte 4, which is unused, is 0.

    Raises ValueError for a request that could crash or confuse a plugin: an aircraft outside
    0..19, a number that is not finite or out of range, one that the plugin would take for
    "leave", a name that is empty, longer than 255 bytes or not printable ASCII, too many items,
    or more than 4096 bytes; TypeError if a value has the wrong type. The length of the answer to
    GetDatarefs is not checked; resp_size() helps with that. Replies are refused only if they do
    not fit into the format.
    """
    codec = REQUESTS.get(type(message))
    if codec is None:
        codec = REPLIES.get(type(message))
        if codec is None:
            raise TypeError(f'not a message of X-Plane Connect: {message!r}')
        return codec.pack(message)
    data = codec.pack(message)
    if len(data) > REQUEST_LIMIT:
        raise ValueError(_too_long(message.tag, len(data)))
    return data


def _too_long(tag: str, size: int) -> str:
    return (f'{tag}: {counted(size, "byte")}, expected at most {REQUEST_LIMIT}: '
            'the plugin truncates longer ones')
