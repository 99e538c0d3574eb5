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
From messages to bytes, refusing what the plugin is known to crash on or to misunderstand.

Layouts as in docs/wire/xpc.md, sections 2 and 3; refusals after section 9.
"""

from collections.abc import Callable, Iterable
import math
from numbers import Integral, Real
import struct
from typing import Any

from xplane_bridge.protocols.xpc.messages import (
    ALTITUDE_RANGE,
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
    MAX_AIRCRAFT,
    MAX_DATA_ROWS,
    MAX_VALUES,
    MAX_WAYPOINTS,
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
    View,
    WaypointOp,
    Waypoints,
)

_POINT = struct.Struct('<3f')
_FLOAT32_MAX = 3.4028234663852886e38
_MAX_VIEW = 93
# Of a camera: metres from the aircraft, and magnification.
_FARTHEST = 1e6
_LARGEST_ZOOM = 1e3
_SIMULATION_OPS = frozenset((0, 1, 2, *range(100, 120), *range(200, 220)))


def encode(message: Request | Reply) -> bytes:
    """
    Return the datagram for a message; byte 4, which nobody reads, is 0.

    A request that could crash or confuse a plugin raises ValueError, or TypeError where a value
    is of the wrong kind: an aircraft outside 0..19, a number that is not finite or out of its
    range, one that the plugin would take for "leave", a name that is empty, longer than 255
    bytes or not ASCII, too many items, or more than 4096 bytes. How long the answer to
    GetDatarefs gets is not checked; resp_size() helps with that. Replies are only refused what
    the format cannot hold.
    """
    encoder = _ENCODERS.get(type(message))
    if encoder is None:
        raise TypeError(f'got a {type(message).__name__}, expected an XPC message')
    return encoder(message)


def resp_size(counts: Iterable[int]) -> int:
    """
    Return the length in bytes of a RESP whose rows have these numbers of values.

    A dataref of unknown size counts as MAX_VALUES. An answer longer than RESP_LIMIT crashes
    X-Plane.
    """
    return 6 + sum(1 + 4 * count for count in counts)


# Checks of values. `where` is the tag and the field's name.

def _finite(where: str, value: object) -> float:
    if not isinstance(value, Real):
        raise TypeError(f'{where}: got {value!r}, expected a number')
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise ValueError(f'{where}: got {value!r}, expected a finite number')
    return number


def _float32(where: str, value: object) -> float:
    number = _finite(where, value)
    if abs(number) > _FLOAT32_MAX:
        raise ValueError(f'{where}: got {value!r}, expected a number that fits a float32')
    return number


def _ranged(where: str, value: object, low: float, high: float) -> float:
    number = _finite(where, value)
    if not low <= number <= high:
        raise ValueError(f'{where}: got {value!r}, expected {low:g}..{high:g}')
    return number


def _optional(where: str, value: object, low: float, high: float) -> float:
    return LEAVE if value is None else _ranged(where, value, low, high)


def _integer(where: str, value: object, low: int, high: int) -> int:
    if not isinstance(value, Integral):
        raise TypeError(f'{where}: got {value!r}, expected a whole number')
    number = int(value)
    if not low <= number <= high:
        raise ValueError(f'{where}: got {number}, expected {low}..{high}')
    return number


def _aircraft_byte(tag: str, value: object) -> bytes:
    return bytes((_integer(f'{tag} aircraft', value, 0, MAX_AIRCRAFT),))


def _count(where: str, count: int, low: int, high: int) -> None:
    if not low <= count <= high:
        raise ValueError(f'{where}: got {count}, expected {low}..{high}')


def _string(where: str, value: object) -> bytes:
    if not isinstance(value, str):
        raise TypeError(f'{where}: got {value!r}, expected a string')
    _count(f'{where} length', len(value), 1, 255)
    if not value.isascii() or '\0' in value:
        raise ValueError(f'{where}: got {value!r}, expected ASCII without NUL')
    return bytes((len(value),)) + value.encode('ascii')


def _strings(where: str, values: Iterable[str]) -> list[bytes]:
    # A lone string is iterable too, and would be sent as one name a character.
    if isinstance(values, str):
        raise TypeError(f'{where}: got {values!r}, expected a sequence of strings')
    return [_string(f'{where} {n}', value) for n, value in enumerate(values, 1)]


def _request(tag: str, body: bytes) -> bytes:
    datagram = tag.encode('ascii') + b'\0' + body
    if len(datagram) > REQUEST_LIMIT:
        raise ValueError(
            f'{tag}: {len(datagram)} bytes, expected at most {REQUEST_LIMIT}: '
            'the plugin cuts what is longer')
    return datagram


def _reply(tag: str, form: str, *values: float) -> bytes:
    try:
        return tag.encode('ascii') + b'\0' + struct.pack(form, *values)
    except (struct.error, OverflowError) as error:
        raise ValueError(f'{tag}: {error}') from None


# Requests.

def _commands(message: Command | CommandBegin | CommandEnd) -> bytes:
    commands = _strings(f'{message.tag} command', message.commands)
    if not commands:
        raise ValueError(f'{message.tag} commands: got none, expected at least one')
    return _request(message.tag, b''.join(commands))


def _connect(message: Connect) -> bytes:
    return _request('CONN', struct.pack('<H', _integer('CONN port', message.port, 1, 65535)))


def _controls(message: Controls) -> bytes:
    return _request('CTRL', struct.pack(
        '<4fbf',
        _optional('CTRL elevator', message.elevator, -1.0, 1.0),
        _optional('CTRL aileron', message.aileron, -1.0, 1.0),
        _optional('CTRL rudder', message.rudder, -1.0, 1.0),
        _optional('CTRL throttle', message.throttle, 0.0, 1.0),
        -1 if message.gear is None else _integer('CTRL gear', message.gear, 0, 1),
        _optional('CTRL flaps', message.flaps, 0.0, 1.0),
    ) + _aircraft_byte('CTRL', message.aircraft) + struct.pack(
        '<f', _optional('CTRL speedbrake', message.speedbrake, -0.5, 1.5)))


def _aircraft(message: GetControls | GetPosition) -> bytes:
    return _request(message.tag, _aircraft_byte(message.tag, message.aircraft))


def _placement(message: Position | PlaceAndProbe) -> bytes:
    tag = message.tag
    bits = _precision(tag, message.precision)
    return _request(tag, _aircraft_byte(tag, message.aircraft) + struct.pack(
        '<3f4f' if bits == 32 else '<3d4f',
        _optional(f'{tag} lat', message.lat, -90.0, 90.0),
        _optional(f'{tag} lon', message.lon, -180.0, 180.0),
        _optional(f'{tag} alt', message.alt, *ALTITUDE_RANGE),
        _optional(f'{tag} pitch', message.pitch, -90.0, 90.0),
        _optional(f'{tag} roll', message.roll, -180.0, 180.0),
        _optional(f'{tag} heading', message.heading, -360.0, 360.0),
        _optional(f'{tag} gear', message.gear, 0.0, 1.0)))


def _precision(tag: str, precision: int) -> int:
    if precision not in (32, 64):
        raise ValueError(f'{tag} precision: got {precision!r}, expected 32 or 64')
    return precision


def _set_datarefs(message: SetDatarefs) -> bytes:
    parts = []
    for item, (name, values) in enumerate(message.items, 1):
        _count(f'DREF item {item} values', len(values), 1, MAX_VALUES)
        parts += [
            _string(f'DREF item {item} name', name),
            bytes((len(values),)),
            struct.pack(f'<{len(values)}f', *(
                _float32(f'DREF item {item} value {n}', value)
                for n, value in enumerate(values, 1)))]
    if not parts:
        raise ValueError('DREF items: got none, expected at least one')
    return _request('DREF', b''.join(parts))


def _get_datarefs(message: GetDatarefs) -> bytes:
    names = _strings('GETD name', message.names)
    # The plugin's "repeat the last request" for 0 names is broken: it answers no rows.
    _count('GETD names', len(names), 1, 255)
    return _request('GETD', bytes((len(names),)) + b''.join(names))


def _simulation(message: Simulation) -> bytes:
    if message.op not in _SIMULATION_OPS:
        raise ValueError(
            f'SIMU op: got {message.op!r}, expected 0, 1, 2, 100..119 or 200..219')
    return _request('SIMU', bytes((int(message.op),)))


def _text(message: Text) -> bytes:
    if not isinstance(message.text, str):
        raise TypeError(f'TEXT text: got {message.text!r}, expected a string')
    try:
        text = message.text.encode('utf-8')
    except UnicodeEncodeError:
        raise ValueError(
            f'TEXT text: got {message.text!r}, expected what UTF-8 can say') from None
    if 0 in text:
        raise ValueError(f'TEXT text: got {message.text!r}, expected no NUL, which would end it')
    _count('TEXT length in bytes', len(text), 0, 255)
    return _request('TEXT', struct.pack(
        '<iiB',
        _integer('TEXT x', message.x, -2**31, 2**31 - 1),
        _integer('TEXT y', message.y, -2**31, 2**31 - 1),
        len(text)) + text)


def _view(message: SetView) -> bytes:
    view = _integer('VIEW view', message.view, 0, _MAX_VIEW)
    camera = b'' if message.camera is None else _camera(view, message.camera)
    return _request('VIEW', struct.pack('<i', view) + camera)


def _camera(view: int, camera: Camera) -> bytes:
    offset = (-_FARTHEST, _FARTHEST)
    limits = (
        ((-90.0, 90.0), (-180.0, 180.0), ALTITUDE_RANGE) if view == View.RUNWAY
        else (offset, offset, offset))
    loc = [
        _ranged(f'VIEW loc {n}', value, *limit)
        for n, (value, limit) in enumerate(zip(camera.loc, limits, strict=True), 1)]
    zoom = _ranged('VIEW zoom', camera.zoom, 0.0, _LARGEST_ZOOM)
    if camera.direction is None:
        return struct.pack('<3df', *loc, zoom)
    roll, pitch, heading = (
        _direction(f'VIEW direction {n}', angle) for n, angle in enumerate(camera.direction, 1))
    return struct.pack('<3d3ff', *loc, roll, pitch, heading, zoom)


def _direction(where: str, angle: float | None) -> float:
    if angle is None:
        return LEAVE
    # What is below -180 is none to the plugin.
    return _ranged(where, angle, -180.0, 360.0)


def _waypoints(message: Waypoints) -> bytes:
    op = _integer('WYPT op', message.op, min(WaypointOp), max(WaypointOp))
    _count('WYPT points', len(message.points), 0, MAX_WAYPOINTS)
    points = [
        _POINT.pack(
            _ranged(f'WYPT point {n} lat', lat, -90.0, 90.0),
            _ranged(f'WYPT point {n} lon', lon, -180.0, 180.0),
            _ranged(f'WYPT point {n} alt', alt, *ALTITUDE_RANGE))
        for n, (lat, lon, alt) in enumerate(message.points, 1)]
    if op == WaypointOp.REMOVE and len({*map(_POINT.unpack, points)}) < len(points):
        raise ValueError(
            'WYPT points: got one twice, expected each once: the plugin counts it twice, and '
            'removes another one too or crashes')
    return _request('WYPT', bytes((op, len(points))) + b''.join(points))


def _get_terrain(message: GetTerrain) -> bytes:
    return _request('GETT', _aircraft_byte('GETT', message.aircraft) + struct.pack(
        '<3d',
        _optional('GETT lat', message.lat, -90.0, 90.0),
        _optional('GETT lon', message.lon, -180.0, 180.0),
        _optional('GETT alt', message.alt, *ALTITUDE_RANGE)))


def _data_rows(message: DataRows) -> bytes:
    _count('DATA rows', len(message.rows), 0, MAX_DATA_ROWS)
    parts = []
    for n, (row, *values) in enumerate(message.rows, 1):
        if len(values) != 8:
            raise ValueError(f'DATA row {n}: got {len(values)} values, expected 8')
        parts.append(struct.pack(
            '<I8f',
            _integer(f'DATA row {n} number', row, 0, 255),
            *(_float32(f'DATA row {n} v{v}', value) for v, value in enumerate(values, 1))))
    return _request('DATA', b''.join(parts))


def _row_numbers(
        message: SelectRows | UnselectRows | SelectCockpitRows | UnselectCockpitRows) -> bytes:
    rows = [_integer(f'{message.tag} row {n}', row, 0, 255)
            for n, row in enumerate(message.rows, 1)]
    return _request(message.tag, struct.pack(f'<{len(rows)}I', *rows))


def _forwarded(message: Forwarded) -> bytes:
    if message.tag not in FORWARDED_TAGS:
        raise ValueError(
            f'tag: got {message.tag!r}, expected one that the plugin forwards: '
            f'{", ".join(FORWARDED_TAGS)}')
    return _request(message.tag, message.body)


# Replies.

def _connected(message: Connected) -> bytes:
    return _reply('CONF', '<B', message.id)


def _controls_reply(message: ControlsReply) -> bytes:
    return _reply(
        'CTRL', '<4fbfBf', message.elevator, message.aileron, message.rudder, message.throttle,
        message.gear, message.flaps, message.aircraft, message.speedbrake)


def _position_reply(message: PositionReply) -> bytes:
    bits = _precision('POSI', message.precision)
    return _reply(
        'POSI', '<B7f' if bits == 32 else '<B3d4f', message.gear_handle, message.lat,
        message.lon, message.alt, message.pitch, message.roll, message.heading, message.gear)


def _datarefs(message: Datarefs) -> bytes:
    form = ['<B']
    values: list[float] = [len(message.rows)]
    for row in message.rows:
        form.append(f'B{len(row)}f')
        values += [len(row), *row]
    return _reply('RESP', ''.join(form), *values)


def _terrain(message: Terrain) -> bytes:
    place = (message.aircraft, message.lat, message.lon, message.alt, *message.normal)
    if message.velocity is None:
        return _reply('TERR', '<B3d3f2f', *place, message.is_wet, message.status)
    return _reply(
        'TERR', '<B3d3f3f2i', *place, *message.velocity, message.is_wet, message.status)


def _beacon(message: Beacon) -> bytes:
    version = message.plugin_version
    if not version.isascii() or (version and not version.isprintable()):
        raise ValueError(f'BECN plugin_version: got {version!r}, expected printable ASCII')
    return _reply('BECN', '<HI', message.port, message.xplane_version) + (
        version.encode('ascii') + bytes(message.padding))


_ENCODERS: dict[type, Callable[[Any], bytes]] = {
    Command: _commands,
    CommandBegin: _commands,
    CommandEnd: _commands,
    Connect: _connect,
    Controls: _controls,
    GetControls: _aircraft,
    Position: _placement,
    PlaceAndProbe: _placement,
    GetPosition: _aircraft,
    SetDatarefs: _set_datarefs,
    GetDatarefs: _get_datarefs,
    Simulation: _simulation,
    Text: _text,
    SetView: _view,
    Waypoints: _waypoints,
    GetTerrain: _get_terrain,
    DataRows: _data_rows,
    SelectRows: _row_numbers,
    UnselectRows: _row_numbers,
    SelectCockpitRows: _row_numbers,
    UnselectCockpitRows: _row_numbers,
    Forwarded: _forwarded,
    Connected: _connected,
    ControlsReply: _controls_reply,
    PositionReply: _position_reply,
    Datarefs: _datarefs,
    Terrain: _terrain,
    Beacon: _beacon,
}
