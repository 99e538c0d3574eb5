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


"""Captures to tables: what each protocol's datagrams say, by message."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable, Collection, Hashable, Iterator
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cache
from importlib import import_module
from itertools import islice
import json
from operator import attrgetter
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, cast, get_args, get_origin, get_type_hints, Literal, Union

from xplane_bridge.bridges.links.captures.capture import CaptureError, Datagram, read_datagrams
from xplane_bridge.bridges.protocols.base import Sender
from xplane_bridge.bridges.protocols.dialect import Dialect, other_side
from xplane_bridge.bridges.protocols.errors import ProtocolError
from xplane_bridge.bridges.protocols.registry import DATA_PORT, PROTOCOLS
from xplane_bridge.bridges.ulyssix import protocol as ulyssix
from xplane_bridge.bridges.xplane_udp.protocol import rows as data_rows
from xplane_bridge.common.plain_files import open_regular
from xplane_bridge.common.text import counted
from xplane_bridge.common.timing import SECOND_NS
from xplane_bridge.laboratory.export.tables import (
    is_named,
    RowBatch,
    RowBatcher,
    TableColumn,
    TIME_COLUMNS,
    Warn,
)

# The ports by which a capture's protocol is recognised; Ulyssix has none.
# X-Plane answers from its other ports, or to those of the programs that ask it.
_X_PLANES = {*range(49001, 49006), DATA_PORT}
_PORTS = {
    name: {protocol.port, *(_X_PLANES if name == 'xplane_udp' else ())}
    for name, protocol in PROTOCOLS.items() if protocol.port is not None}
CAPTURED = (*_PORTS, 'ulyssix')
"""The protocols that a capture can be of: Kerbal Simpit's is serial."""
_LOOKED_AT = 1000

_UNITS = {
    'fdmdata': {
        'latitude': 'deg', 'longitude': 'deg', 'altitude': 'm', 'airspeed': 'm/s',
        'heading': 'deg', 'roll': 'deg', 'pitch': 'deg', 'roll_rate': 'deg/s',
        'pitch_rate': 'deg/s', 'yaw_rate': 'deg/s', 'pressure': 'Pa'},
    'xpc': {'lat': 'deg', 'lon': 'deg', 'alt': 'm', 'pitch': 'deg', 'roll': 'deg',
            'heading': 'deg'},
}


Wanted = Callable[[str], bool]
"""Says of a table whether it is exported."""


class CapturedTables:
    """
    What reads the datagrams of a capture, and has their tables.

    ``known`` are the names of those that there were, wanted or not.
    """

    def __init__(self) -> None:
        self.known: set[str] = set()
        self._faults = 0
        self._first_fault = ''

    def take(self, datagram: Datagram, start_ns: int, wanted: Wanted) -> Iterator[RowBatch]:
        """Take a datagram of a capture that began then; yield what is to be written."""
        raise NotImplementedError

    def rest(self, wanted: Wanted) -> Iterator[RowBatch]:
        """Yield what is left at the end."""
        raise NotImplementedError

    def fault(self, text: str) -> None:
        """Count a datagram that cannot be read, and why."""
        self._first_fault = self._first_fault or text
        self._faults += 1

    def sentences(self) -> Iterator[str]:
        """Yield what was not exported."""
        if self._faults:
            yield (f'not exported: {counted(self._faults, "datagram")}, the first: '
                   f'{self._first_fault}')


def read(
    path: Path, topics: Collection[str], source: CapturedTables, warn: Warn
) -> Iterator[RowBatch]:
    """
    Yield the tables of a capture in batches, as ``source`` has them.

    ``topics`` limits them. Of a damaged or truncated capture everything before the fault is read,
    and ``warn`` gets a sentence. Raises CaptureError if it is none.
    """
    def wanted(table: str) -> bool:
        return not topics or any(is_named(table, name) for name in topics)

    for datagram, start_ns in _datagrams(path, source, warn):
        yield from source.take(datagram, start_ns, wanted)
    yield from source.rest(wanted)
    for sentence in source.sentences():
        warn(f'{path}: {sentence}')
    for name in topics:
        if not any(is_named(table, name) for table in source.known):
            warn(f'{name}: there is no such table; the capture has '
                 f'{", ".join(sorted(source.known)) or "none"}')


def _datagrams(
    path: Path, source: CapturedTables, warn: Warn
) -> Iterator[tuple[Datagram, int]]:
    """Yield each datagram, and when the first one was captured."""
    start_ns = None
    with open_regular(path) as stream:
        try:
            for datagram in read_datagrams(stream):
                start_ns = datagram.stamp_ns if start_ns is None else start_ns
                if datagram.missing:
                    source.fault(datagram.incomplete)
                else:
                    yield datagram, start_ns
        except CaptureError as error:
            if start_ns is None:
                raise
            warn(f'{path}: {error}; what is before it is exported')


def recognised(path: Path) -> str:
    """
    Return the protocol of a capture, by its ports, or because it can be nothing else.

    Raises CaptureError if it is none, and ValueError if the protocol is not recognised.
    """
    with open_regular(path) as stream:
        try:
            first = list(islice(read_datagrams(stream), _LOOKED_AT))
        except CaptureError:
            stream.seek(0)
            first = _before_fault(read_datagrams(stream))
    for name, ports in _PORTS.items():
        if any(port in ports for one in first
               for port in (one.source[1], one.destination[1])):
            return name
    for one in first:
        try:
            ulyssix.decode(one.data, 'peer')
        except ProtocolError:
            continue
        return 'ulyssix'
    raise ValueError(
        f'{path}: the protocol is not recognised by its ports; give --protocol, one of '
        f'{", ".join(CAPTURED)}')


def _before_fault(datagrams: Iterator[Datagram]) -> list[Datagram]:
    found: list[Datagram] = []
    try:
        for datagram in datagrams:
            found.append(datagram)
    except CaptureError:
        if not found:
            raise
    return found


class CapturedMessages(CapturedTables):
    """The messages of a protocol, a table for each; of X-Plane's rows by its ``version``."""

    def __init__(self, protocol: str, version: int | None) -> None:
        super().__init__()
        self.protocol = protocol
        self._version = version
        module = import_module(f'xplane_bridge.bridges.{protocol}.protocol')
        self._dialect: Dialect = getattr(module, 'Dialect', Dialect)(
            module, Namespace(version=version))
        self._port = PROTOCOLS[protocol].port
        self._rows = RowBatcher()
        # The numbers that a client has given to datarefs.
        self._datarefs: dict[int, str] = {}

    def take(self, datagram: Datagram, start_ns: int, wanted: Wanted) -> Iterator[RowBatch]:
        """Take what is in a datagram; yield what is to be written."""
        # Only the peer sends from its port.
        from_bridge = (datagram.destination[1] == self._port
                       and datagram.source[1] != self._port)
        side: Sender = 'bridge' if from_bridge else 'peer'
        times = ((datagram.stamp_ns - start_ns) / SECOND_NS, None, datagram.stamp_ns / SECOND_NS)
        try:
            messages = list(self._dialect.decode(datagram.data, side))
        except ProtocolError as error:
            self.fault(f'{datagram.where}: {error}')
            return
        for message in messages:
            tag = str(getattr(message, 'tag', type(message).__name__))
            if self._dialect.messages(side).get(tag) is not type(message):
                side = other_side(side)
            for table, columns, values in self._tables(f'{self.protocol}/{side}/{tag}', message):
                self.known.add(table)
                if wanted(table):
                    yield from self._rows.add(
                        table, self.protocol, (*TIME_COLUMNS, *columns), (*times, *values),
                        len(datagram.data))

    def rest(self, wanted: Wanted) -> Iterator[RowBatch]:
        """Yield what is left."""
        yield from self._rows.rest()

    def _tables(
        self, name: str, message: Any
    ) -> Iterator[tuple[str, tuple[TableColumn, ...], tuple[Any, ...]]]:
        kind = type(message).__name__
        if self.protocol == 'xplane_udp' and kind == 'RrefRequest':
            self._datarefs[message.index] = message.dataref
        if self.protocol == 'xplane_udp' and kind == 'Data':
            for segment in message.segments:
                columns = _row_columns(segment.index, self._version)
                yield f'{name}/{segment.index}', columns, segment.values
        elif self.protocol == 'xplane_udp' and kind == 'RrefReply':
            for index, value in message.values:
                dataref = self._datarefs.get(index, f'index_{index}')
                yield f'{name}/{dataref}', (TableColumn('value', 'float32'),), (value,)
        else:
            columns, getters = _layout(cast(Hashable, type(message)), self.protocol)
            yield name, columns, tuple(get(message) for get in getters)


@cache
def _row_columns(number: int, version: int | None) -> tuple[TableColumn, ...]:
    """Return the columns of one of X-Plane's data rows; their meaning depends on the version."""
    names = [f'value[{index}]' for index in range(8)]
    units = [''] * 8
    row = data_rows.ROWS.get(version or 0, {}).get(number)
    for column in row.columns if row else ():
        for index in range(column.width):
            names[column.index + index] = column.name + (f'[{index}]' if column.width > 1 else '')
            units[column.index + index] = column.unit.symbol
    return tuple(TableColumn(name, 'float32', unit)
                 for name, unit in zip(names, units, strict=True))


@cache
def _layout(
    kind: Any, protocol: str
) -> tuple[tuple[TableColumn, ...], tuple[Callable[[Any], Any], ...]]:
    """Return the columns of a message, and how to get their values."""
    hints = get_type_hints(kind)
    found = [leaf for one in fields(kind) if one.name != 'tag' for leaf in _leaves(
        one.name, hints[one.name], _UNITS.get(protocol, {}).get(one.name, ''),
        attrgetter(one.name))]
    return tuple(column for column, _ in found), tuple(get for _, get in found)


def _leaves(
    name: str, hint: Any, unit: str, get: Callable[[Any], Any]
) -> Iterator[tuple[TableColumn, Callable[[Any], Any]]]:
    """Yield the columns of one field: scalars and fixed tuples of them; else JSON."""
    kinds = [one for one in get_args(hint) if one is not NoneType] if (
        get_origin(hint) in (Union, UnionType)) else [hint]
    if len(kinds) == 1 and get_origin(kinds[0]) is tuple and get_args(kinds[0])[-1] is not ...:
        for index, inner in enumerate(get_args(kinds[0])):
            yield from _leaves(f'{name}[{index}]', inner, unit, _element(get, index))
        return
    scalar = {_scalar(kind) for kind in kinds}
    if len(scalar) == 1 and (kind := scalar.pop()):
        yield TableColumn(name, kind, unit), lambda message: _plain(get(message))
    else:
        yield TableColumn(name, 'str', unit), lambda message: json.dumps(_plain(get(message)))


def _element(get: Callable[[Any], Any], index: int) -> Callable[[Any], Any]:
    return lambda message: None if (found := get(message)) is None else found[index]


def _scalar(hint: Any) -> str:
    """Return the kind of a column for a type, empty if it is none of a scalar."""
    if get_origin(hint) is Literal:
        hint = type(get_args(hint)[0])
    if not isinstance(hint, type):
        return ''
    for base, kind in (
            (bool, 'bool'), (int, 'int64'), (float, 'float64'), (str, 'str'), (bytes, 'str')):
        if issubclass(hint, base):
            return kind
    return 'str' if issubclass(hint, Enum) else ''


def _plain(value: Any) -> Any:
    if isinstance(value, Enum):
        return _plain(value.value)
    if isinstance(value, bytes):
        return value.hex()
    if is_dataclass(value):
        return {one.name: _plain(getattr(value, one.name)) for one in fields(value)}
    return [_plain(item) for item in value] if isinstance(value, tuple) else value
