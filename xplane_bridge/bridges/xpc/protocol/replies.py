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

"""Replies of the plugin; values are refused only if they do not fit into the format."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import accumulate, pairwise
from operator import itemgetter
import struct
from typing import Any

from xplane_bridge.bridges.protocols.base import checked_text, Codec, Pair
from xplane_bridge.bridges.protocols.errors import ProtocolError
from xplane_bridge.bridges.xpc.protocol.messages import (
    Beacon,
    ConnectReply,
    ControlsReply,
    Datarefs,
    PositionReply,
    Terrain,
)
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
)


def resp_size(counts: Iterable[int]) -> int:
    """
    Return the length in bytes of a RESP whose rows have these numbers of values.

    A dataref of unknown size counts as MAX_VALUES. A reply longer than RESP_LIMIT crashes X-Plane.
    """
    return 6 + sum(1 + 4 * count for count in counts)


def _packed(tag: str, form: str | struct.Struct, *values: float) -> bytes:
    try:
        return header(tag) + (
            struct.pack(form, *values) if isinstance(form, str) else form.pack(*values))
    except (struct.error, OverflowError) as error:
        raise ValueError(f'{tag}: {error}') from None


def _pack_datarefs(message: Datarefs) -> bytes:
    values: list[float] = [len(message.rows)]
    for row in message.rows:
        values.append(len(row))
        values += row
    return _packed('RESP', _form_of(tuple(map(len, message.rows))), *values)


@lru_cache(maxsize=64)
def _form_of(counts: tuple[int, ...]) -> struct.Struct:
    """Return the form of a RESP with rows of so many values; the same is sent again and again."""
    return struct.Struct('<B' + ''.join(f'B{count}f' for count in counts))


class _Layout:
    """The layout of a RESP, kept because the same request is answered in the same way."""

    def __init__(self, rows: Sequence[tuple[float, ...]]) -> None:
        counts = [len(row) for row in rows]
        ends = [*accumulate(counts, initial=0)]
        self._parts = [slice(begin, end) for begin, end in pairwise(ends)]
        self._numbers = struct.Struct(
            f'<{HEADER_SIZE + 1}x' + ''.join(f'x{count}f' for count in counts))
        self._counts_of = itemgetter(HEADER_SIZE, *(
            HEADER_SIZE + 1 + place + 4 * begin for place, begin in enumerate(ends[:-1])))
        self._counts = (len(counts), *counts)

    def rows(self, data: bytes) -> tuple[tuple[float, ...], ...] | None:
        """Return the rows of a RESP of the same length, None if its layout differs."""
        if self._counts_of(data) != self._counts:
            return None
        numbers = self._numbers.unpack(data)
        return tuple([numbers[part] for part in self._parts])


# The last layout of each length.
_layouts: dict[int, _Layout] = {}
_MOST_LAYOUTS = 64


def _unpack_datarefs(data: bytes) -> Datarefs:
    layout = _layouts.get(len(data))
    if layout is not None and (known := layout.rows(data)) is not None:
        return Datarefs(known)
    rows = _read_rows(data)
    if rows:
        if len(_layouts) >= _MOST_LAYOUTS:
            _layouts.clear()
        _layouts[len(data)] = _Layout(rows)
    return Datarefs(tuple(rows))


def _read_rows(data: bytes) -> list[tuple[float, ...]]:
    """Return the rows of any RESP, one by one."""
    need(data, 'count', HEADER_SIZE, 1)
    count = data[HEADER_SIZE]
    rows: list[tuple[float, ...]] = []
    offset = HEADER_SIZE + 1
    try:
        for _ in range(count):
            floats = FLOATS[data[offset]]
            rows.append(floats.unpack_from(data, offset + 1))
            offset += 1 + floats.size
    except (IndexError, struct.error):
        need(data, f'row {len(rows) + 1} of {count} count', offset, 1)
        need_floats(data, f'row {len(rows) + 1}', offset)
    check_end(data, f'{len(rows)} rows', offset)
    return rows


_TERRAIN_50 = struct.Struct('<B3d3f2f')
_TERRAIN_62 = struct.Struct('<B3d3f3f2i')


def _pack_terrain(message: Terrain) -> bytes:
    place = (message.aircraft, message.lat, message.lon, message.alt, *message.normal)
    if message.velocity is None:
        return _packed('TERR', _TERRAIN_50.format, *place, message.is_wet, message.status)
    return _packed(
        'TERR', _TERRAIN_62.format, *place, *message.velocity, message.is_wet, message.status)


def _unpack_terrain(data: bytes) -> Terrain:
    check_size(data, 50, 62)
    velocity: tuple[float, float, float] | None
    if len(data) == 62:
        aircraft, lat, lon, alt, nx, ny, nz, vx, vy, vz, is_wet, status = (
            _TERRAIN_62.unpack_from(data, HEADER_SIZE))
        velocity = (vx, vy, vz)
    else:
        aircraft, lat, lon, alt, nx, ny, nz, is_wet, status = _TERRAIN_50.unpack_from(
            data, HEADER_SIZE)
        velocity = None
        is_wet = _whole_number('is_wet at offset 42', is_wet)
        status = _whole_number('status at offset 46', status)
    return Terrain(aircraft, lat, lon, alt, (nx, ny, nz), velocity, is_wet, status)


def _whole_number(what: str, value: float) -> int:
    if not value.is_integer():
        raise ProtocolError(f'TERR {what}: got {value}, expected a whole number')
    return int(value)


_BEACON = struct.Struct('<HI')


def _pack_beacon(message: Beacon) -> bytes:
    version = checked_text('BECN plugin_version', message.plugin_version, 255, empty=True)
    return _packed('BECN', _BEACON.format, message.port, message.xplane_version) + (
        version + bytes(message.padding))


def _unpack_beacon(data: bytes) -> Beacon:
    need(data, 'port and version', HEADER_SIZE, _BEACON.size)
    port, xplane_version = _BEACON.unpack_from(data, HEADER_SIZE)
    text = data[HEADER_SIZE + _BEACON.size:]
    version = text.rstrip(b'\0')
    # X-Plane's own beacon has the same tag, but binary fields here.
    if not all(0x20 <= byte < 0x7f for byte in version):
        raise ProtocolError(
            f'BECN plugin_version at offset 11: got {version!r}, expected printable ASCII')
    return Beacon(port, xplane_version, version.decode('ascii'), len(text) - len(version))


REPLIES: Mapping[type[Any], Codec[Any]] = {
    ConnectReply: body(ConnectReply),
    ControlsReply: body(ControlsReply),
    PositionReply: placed(PositionReply),
    Datarefs: Pair(_pack_datarefs, _unpack_datarefs),
    Terrain: Pair(_pack_terrain, _unpack_terrain),
    Beacon: Pair(_pack_beacon, _unpack_beacon),
}
