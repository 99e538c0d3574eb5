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
Datagrams without names of computers and without places, otherwise byte for byte as they were.

A datagram is changed only if it is understood: what is decoded and encoded again must be the same
bytes. Everything else is left out.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Mapping
from dataclasses import fields, replace
import math
from typing import Any

from xplane_bridge.bridges.conversions.xplane import state as xplane
from xplane_bridge.bridges.fdmdata import protocol as fdmdata
from xplane_bridge.bridges.protocols.base import Message, Sender
from xplane_bridge.bridges.protocols.errors import ProtocolError
from xplane_bridge.bridges.xpc import protocol as xpc
from xplane_bridge.bridges.xplane_udp import protocol as wire

_LATITUDE, _LONGITUDE, _X, _Z = 'latitude', 'longitude', 'x', 'z'
BEGINS: Mapping[str, float] = {_LATITUDE: 47.0, _LONGITUDE: 8.0, _X: 0.0, _Z: 0.0}
"""Where each flight begins once it is moved: degrees; metres along X-Plane's local axes."""

COMPUTER = 'computer'
"""In place of a computer's name."""

_FIELDS = {'lat': _LATITUDE, 'latitude': _LATITUDE, 'lon': _LONGITUDE, 'longitude': _LONGITUDE}
_DATAREFS = {
    xplane.LATITUDE: _LATITUDE, xplane.LONGITUDE: _LONGITUDE, xplane.ORIGIN[0]: _LATITUDE,
    xplane.ORIGIN[1]: _LONGITUDE, xplane.LOCAL_PLACE[0]: _X, xplane.LOCAL_PLACE[2]: _Z}
_COLUMNS = {
    'latitude_deg': _LATITUDE, 'tile_latitude_deg': _LATITUDE, 'longitude_deg': _LONGITUDE,
    'tile_longitude_deg': _LONGITUDE, 'local_x_m': _X, 'local_z_m': _Z}
# Questions whose answers are awaited.
_MOST_ASKED = 64


class Unplaced(ABC):
    """Moves the places in the datagrams of one conversation, all by the same distance."""

    def __init__(self) -> None:
        self._moved: dict[str, float] = {}

    def clean(self, data: bytes, sender: Sender) -> bytes | None:
        """Return a datagram without names and places, None if it is to be left out."""
        try:
            message = self._decode(data, sender)
            if self._encode(message) != data:
                return None
            cleaned = self._cleaned(message)
            return None if cleaned is None else self._encode(cleaned)
        except (ProtocolError, ValueError, TypeError):
            return None

    @abstractmethod
    def _decode(self, data: bytes, sender: Sender) -> Message:
        """Return the message. Raises ProtocolError."""

    @abstractmethod
    def _encode(self, message: Message) -> bytes:
        """Return its datagram."""

    @abstractmethod
    def _cleaned(self, message: Any) -> Message | None:
        """Return the message without names and places, None to leave it out."""

    def _move(self, kind: str, value: float) -> float:
        """Return a value of a place, moved; the first one says how far."""
        if not math.isfinite(value):
            return value
        moved = value + self._moved.setdefault(kind, BEGINS[kind] - value)
        return (moved + 180.0) % 360.0 - 180.0 if kind == _LONGITUDE else moved

    def _without_fields(self, message: Any) -> Message:
        found: Message = replace(message, **{
            one.name: self._move(_FIELDS[one.name], value) for one in fields(message)
            if one.name in _FIELDS and (value := getattr(message, one.name)) is not None})
        return found


class UnplacedXplane(Unplaced):
    """X-Plane's own UDP, of a version that may become known later."""

    version: int | None = None

    def __init__(self) -> None:
        super().__init__()
        self._layout: wire.DataLayout | None = None
        self._names: dict[int, str] = {}

    def _decode(self, data: bytes, sender: Sender) -> Message:
        message: Message = wire.decode(data, sender, self.version, previous=self._layout)
        if isinstance(message, wire.Data):
            self._layout = message.layout
        return message

    def _encode(self, message: Message) -> bytes:
        return wire.encode(message, self.version or wire.VERSIONS[-1])

    def _cleaned(self, message: Any) -> Message | None:
        if isinstance(message, wire.RrefRequest):
            self._names[message.index] = message.dataref
            return message
        if isinstance(message, wire.RrefReply):
            if not all(index in self._names for index, _ in message.values):
                return None
            return replace(message, values=tuple(
                (index, self._move(_DATAREFS[name], value)
                 if (name := self._names[index]) in _DATAREFS else value)
                for index, value in message.values))
        if isinstance(message, wire.Data):
            segments = tuple(filter(None, map(self._segment, message.segments)))
            return replace(message, segments=segments) if segments else None
        if isinstance(message, wire.Becn):
            return replace(message, name=COMPUTER)
        if isinstance(message, wire.RposReply | wire.Vehs | wire.Vehx):
            return self._without_fields(message)
        kept = wire.RposRequest | wire.Dref | wire.Cmnd | wire.Selection
        return message if isinstance(message, kept) else None

    def _segment(self, segment: wire.Segment) -> wire.Segment | None:
        """Return a row without places, None for one whose columns nobody knows."""
        row = wire.ROWS.get(self.version or 0, {}).get(segment.index)
        if row is None or not row.columns:
            return None
        values = list(segment.values)
        for column in row.columns:
            value = values[column.index]
            if column.name in _COLUMNS and value is not None:
                values[column.index] = self._move(_COLUMNS[column.name], value)
        return replace(segment, values=tuple(values))


class UnplacedXpc(Unplaced):
    """X-Plane Connect, whose answers do not say what they answer."""

    def __init__(self) -> None:
        super().__init__()
        self._asked: deque[tuple[str, ...]] = deque(maxlen=_MOST_ASKED)

    def _decode(self, data: bytes, sender: Sender) -> Message:
        return xpc.decode(data, sender)

    def _encode(self, message: Message) -> bytes:
        return xpc.encode(message)

    def _cleaned(self, message: Any) -> Message | None:
        if isinstance(message, xpc.GetDatarefs):
            if message.names not in self._asked:
                self._asked.append(message.names)
            return message
        if isinstance(message, xpc.Datarefs):
            asked = [names for names in self._asked if len(names) == len(message.rows)]
            return None if len(asked) != 1 else replace(message, rows=tuple(
                tuple(self._move(_DATAREFS[name], value) for value in row)
                if name in _DATAREFS else row
                for name, row in zip(asked[0], message.rows, strict=True)))
        if isinstance(message, xpc.PositionReply | xpc.Position):
            return self._without_fields(message)
        kept = (xpc.GetPosition | xpc.GetControls | xpc.SetControls | xpc.ControlsReply
                | xpc.SetDatarefs | xpc.Simulation | xpc.Beacon | xpc.CommandOnce)
        return message if isinstance(message, kept) else None


class UnplacedHuginn(Unplaced):
    """FDMData, each message of which is known."""

    def _decode(self, data: bytes, sender: Sender) -> Message:
        return fdmdata.decode(data, sender)

    def _encode(self, message: Message) -> bytes:
        return fdmdata.encode(message)

    def _cleaned(self, message: Any) -> Message | None:
        return self._without_fields(message)
