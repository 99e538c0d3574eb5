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
X-Plane with the X-Plane Connect plugin, as the real one was measured to behave.

It has no socket and no clock. What is not in docs/wire/xpc.md follows the plugin's source. NaN and
infinities pass where they pass the real one: see DatarefStore.write.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from struct import Struct
from typing import Any, TypeAlias

from xplane_bridge.bridges.xpc import protocol as xpc
from xplane_bridge.bridges.xpc.protocol import MAX_DATA_ROWS
from xplane_bridge.simulation.peers.endpoints import Address
from xplane_bridge.simulation.peers.faults import SimulatorCrashError
from xplane_bridge.simulation.peers.world import VIEW_TYPES, World
from xplane_bridge.simulation.peers.xpc.buffer import ReceiveBuffer
from xplane_bridge.simulation.peers.xpc.flight import AircraftAccess
from xplane_bridge.simulation.peers.xpc.plugin_versions import PLUGIN_VERSIONS, PluginBehaviour
from xplane_bridge.simulation.peers.xplane.commands import Commands, Phase
from xplane_bridge.simulation.peers.xplane.datarefs import DatarefStore
from xplane_bridge.simulation.peers.xplane.entries import DatarefType

# DATA, rows of X-Plane's data output table written to it: how the plugin handles them.

_ROW = Struct('<B3x8f')
_TABLE_END = 134
_COLUMNS = 8

# How many of a row's eight cells the plugin knows. Each unknown one makes it forward the whole
# datagram to X-Plane. A known cell whose dataref is not an array does nothing.
_KNOWN_CELLS = {1: 3, 4: 4, 5: 3, 8: 3, 11: 3, 13: 2, 14: 5, 15: 3, 16: 6, 19: 2, 21: 6, 22: 8,
                23: 8, 24: 8, 26: 1}

# Velocities and flow angles: the plugin's code for them sets nothing useful.
_IDLE_ROWS = (3, 18)


def write_rows(buffer: ReceiveBuffer, flight: AircraftAccess, store: DatarefStore) -> int:
    """
    Handle DATA; return how many times the plugin forwards the datagram.

    More than 31 rows raise SimulatorCrashError (docs/wire/xpc.md, section 2), and so does a
    datagram that ends before the rows begin: the plugin's difference of lengths is unsigned.
    """
    if buffer.size < 5:
        raise SimulatorCrashError(f'X-Plane has crashed: DATA of {buffer.size} bytes')
    count = (buffer.size - 5) // _ROW.size
    if count > MAX_DATA_ROWS:
        raise SimulatorCrashError(
            f'X-Plane has crashed: DATA of {count} rows, X-Plane Connect handles {MAX_DATA_ROWS}')
    forwarded = 0
    for n in range(count):
        row, *values = buffer.unpack(_ROW, 5 + n * _ROW.size)
        if row >= _TABLE_END or row in _IDLE_ROWS:
            continue
        if row == 17:
            flight.set_attitude(values[:3])
        elif row == 20:
            # Off by one column: the documented ones are the first three.
            flight.set_place(values[1:4])
        elif row == 25:
            flight.write_throttles(values[0])
        else:
            if row == 14:
                flight.move_gear(values[0])
            elif row == 26:
                store.write('sim/flightmodel2/engines/throttle_used_ratio', values)
            forwarded += _COLUMNS - _KNOWN_CELLS.get(row, 0)
    return forwarded


Receive: TypeAlias = Callable[[], tuple[bytes, Address] | None]
Send: TypeAlias = Callable[[bytes, Address], None]
_Row: TypeAlias = Callable[[Sequence[Any]], tuple[float, ...]]

# docs/wire/xpc.md, section 1.
DATAGRAMS_PER_FRAME = 20
BEACON_PERIOD = 1.0

_SHORTEST = 4
# How many addresses with ports the plugin answers to.
_MOST_CLIENTS = 1000
_INT_ARRAY_LIMIT = 200
# Requests of which is known what they ask for.
_MOST_REQUESTS = 16
_PAUSE_KEY = 0
_TEXT_X, _TEXT_Y = 10, 600
# What XPLMGetVersions returns; 11 and 12 are the releases of the store's xplane_internal_version.
_XPLANE_VERSIONS = {9: 970, 10: 1051, 11: 11550, 12: 12100}

_VIEW_TYPES = {xpc.View.FORWARD: VIEW_TYPES['forward'], xpc.View.CHASE: VIEW_TYPES['chase']}

_FIRST_VALUE = Struct('<f')
_PORT = Struct('<H')
_TEXT = Struct('<iiB')
_VIEW = Struct('<i')
_CAMERA_37 = Struct('<3df')
_CAMERA_49 = Struct('<3d3ff')
_POINT = Struct('<3f')
_GETT = Struct('<3d')


@dataclass(slots=True)
class Screen:
    """
    What the plugin shows on X-Plane's screen.

    ``view`` is the last one requested, with its camera if it has one; each of ``waypoints`` is
    latitude, longitude (deg) and altitude (m), as float32.
    """

    text: xpc.Text | None = None
    view: xpc.SetView | None = None
    waypoints: list[tuple[float, ...]] = field(default_factory=list)


@dataclass(slots=True)
class PluginCounters:
    """
    The plugin's counts: datagrams handled, and those with an unknown tag among them.

    ``forwarded`` counts datagrams forwarded to X-Plane's own port, which nothing here reads;
    ``resets`` how often the socket was reopened.
    """

    handled: int = 0
    unknown: int = 0
    forwarded: int = 0
    resets: int = 0


@dataclass(slots=True)
class _Connection:
    id: int
    has_asked: bool = False


class XpcPlugin:
    """
    X-Plane with the plugin, from its start to its end.

    ``plugin_version`` is a key of PLUGIN_VERSIONS, ``port`` the one in the beacon, ``started``
    the time at which X-Plane started.
    """

    def __init__(self, world: World, store: DatarefStore, plugin_version: str = 'rc6',
                 port: int = xpc.PORT, started: float = 0.0) -> None:
        if plugin_version not in PLUGIN_VERSIONS:
            raise ValueError(f'plugin_version: got {plugin_version!r}, expected one of '
                             f'{", ".join(PLUGIN_VERSIONS)}')
        self.world = world
        self.store = store
        self.plugin_version = PLUGIN_VERSIONS[plugin_version]
        self.screen = Screen()
        self.counters = PluginCounters()
        self.next_beacon: float | None = (
            started + BEACON_PERIOD if self.plugin_version.beacon else None)
        self._port = port
        self._commands = Commands(world)
        self._flight = AircraftAccess(world, store, self.plugin_version)
        self._buffer = ReceiveBuffer()
        # What GETD asked for, by its datagram: clients ask for the same again and again.
        self._readers: dict[bytes, tuple[list[Callable[[], Any]], list[_Row | None]]] = {}
        self._connections: dict[Address, _Connection] = {}
        self._handlers = self._make_handlers(self.plugin_version)

    def frame(self, receive: Receive, send: Send) -> bool:
        """
        Do the plugin's work of one frame; return whether it reopens its socket.

        ``receive`` returns the next datagram and its sender, or None when none waits. At most 20
        are handled; after 20, all that still wait are lost. One of less than four bytes ends the
        frame. Raises SimulatorCrashError where the real one crashes.
        """
        for _ in range(DATAGRAMS_PER_FRAME):
            received = receive()
            if received is None or len(received[0]) < _SHORTEST:
                return False
            data, sender = received
            reply = self._handle(data, sender)
            if reply is not None:
                send(*reply)
        self.counters.resets += 1
        return True

    def beacon(self, now: float) -> bytes | None:
        """Return the beacon if it is due: every second, even while X-Plane renders no frames."""
        if self.next_beacon is None or now < self.next_beacon:
            return None
        self.next_beacon += BEACON_PERIOD
        if self.next_beacon <= now:
            # Missed ones are skipped.
            self.next_beacon = now + BEACON_PERIOD
        version = _XPLANE_VERSIONS[self.store.xplane_version]
        return xpc.encode(xpc.Beacon(self._port, version))

    # A handler returns the reply to the sender, if there is one.

    def _make_handlers(self, plugin_version: PluginBehaviour) -> dict[
            bytes, Callable[[_Connection], xpc.Reply | None]]:
        flight, buffer = self._flight, self._buffer
        handlers: dict[bytes, Callable[[_Connection], xpc.Reply | None]] = {
            b'CTRL': lambda _: flight.write_controls(buffer),
            b'GETC': lambda _: flight.controls(buffer[5]) if buffer.size == 6 else None,
            b'POSI': lambda _: flight.write_position(buffer),
            b'GETP': lambda _: flight.position(buffer[5]) if buffer.size == 6 else None,
            b'SIMU': lambda _: flight.hold(buffer[5]),
            b'DREF': self._set_datarefs,
            b'GETD': self._get_datarefs,
            b'DATA': self._data,
            b'TEXT': self._show_text,
            b'VIEW': self._show_view,
            b'WYPT': self._show_waypoints,
        }
        for tag in ('DSEL', 'USEL', 'DCOC', 'UCOC', *xpc.FORWARDED_TAGS):
            handlers[tag.encode('ascii')] = self._forward
        if plugin_version.commands:
            handlers[b'COMM'] = lambda _: self._run_commands('once')
            handlers[b'GETT'] = self._get_terrain
            handlers[b'POST'] = self._place_and_probe
        if plugin_version.held_commands:
            handlers[b'BCOM'] = lambda _: self._run_commands('begin')
            handlers[b'ECOM'] = lambda _: self._run_commands('end')
        return handlers

    def _handle(self, data: bytes, sender: Address) -> tuple[bytes, Address] | None:
        self._buffer.fill(data)
        self.counters.handled += 1
        connection = self._connections.get(sender)
        if connection is None:
            connection = _Connection(len(self._connections) % 256)
            self._remember(sender, connection)
        if self._buffer.tag == b'CONN':
            return self._connect(connection, sender)
        handler = self._handlers.get(self._buffer.tag)
        if handler is None:
            self.counters.unknown += 1
            return None
        reply = handler(connection)
        if reply is None:
            return None
        encoded = xpc.encode(reply)
        if len(encoded) > xpc.RESP_LIMIT:
            raise SimulatorCrashError(
                f'X-Plane has crashed: GETD with an answer of {len(encoded)} bytes, '
                f'X-Plane Connect has room for {xpc.RESP_LIMIT}', [(encoded, sender)])
        return encoded, sender

    def _connect(self, connection: _Connection, sender: Address) -> tuple[bytes, Address]:
        """Answer to the port in CONN, by which the peer is known from now on."""
        address = (sender[0], self._buffer.unpack(_PORT, 5)[0])
        del self._connections[sender]
        self._remember(address, connection)
        return xpc.encode(xpc.ConnectReply(connection.id)), address

    def _remember(self, address: Address, connection: _Connection) -> None:
        """Remember a client's address; if there are too many, the first one is forgotten."""
        if len(self._connections) >= _MOST_CLIENTS and address not in self._connections:
            del self._connections[next(iter(self._connections))]
        self._connections[address] = connection

    # Datarefs and commands

    def _set_datarefs(self, _: _Connection) -> None:
        buffer, size = self._buffer, self._buffer.size
        offset = 5
        while offset < size:
            start = offset + 1
            offset = start + buffer[offset]
            if offset > size:
                return
            name = buffer.string(start, offset - start)
            count = buffer[offset]
            form = Struct(f'<{count}f')
            if offset + 1 + form.size > size:
                return
            self._set_dataref(name, offset + 1, form)
            offset += 1 + form.size

    def _set_dataref(self, name: str, offset: int, form: Struct) -> None:
        """Write one dataref. A scalar takes what comes first, even if that is not a value."""
        known = self.store.read(name)
        first, = self._buffer.unpack(_FIRST_VALUE, offset)
        if known is None or first != first:
            return
        values = self._buffer.unpack(form, offset)
        self.store.write(name, values if known.type.is_array else (first,), checked=False)

    def _get_datarefs(self, connection: _Connection) -> xpc.Datarefs | None:
        buffer = self._buffer
        count = buffer[5]
        if count == 0:
            # Meant to repeat the last request, but it repeats no rows.
            return xpc.Datarefs(()) if connection.has_asked else None
        connection.has_asked = True
        request = buffer.datagram
        found = self._readers.get(request)
        if found is None:
            readers, rows = found = [], []
            offset = 6
            for _ in range(count):
                length = buffer[offset]
                read, row = self._reader(buffer.string(offset + 1, length))
                readers.append(read)
                rows.append(row)
                offset += 1 + length
            # Beyond its end are the bytes of earlier ones, which change.
            if offset <= buffer.size:
                if len(self._readers) >= _MOST_REQUESTS:
                    self._readers.clear()
                self._readers[request] = found
        readers, rows = found
        return xpc.Datarefs(tuple([
            (value,) if row is None else row(value)
            for value, row in zip(self.world.read(readers), rows, strict=True)]))

    def _reader(self, name: str) -> tuple[Callable[[], Any], _Row | None]:
        """Return what reads a dataref, and what makes a row of that unless it is one number."""
        type_, read = self.store.type_of(name), self.store.reader(name)
        if type_ is None or read is None:
            return tuple, tuple
        if not type_.is_array:
            return read, None
        if type_ is DatarefType.INT_ARRAY:
            return read, lambda values: tuple(values[:_INT_ARRAY_LIMIT])
        if type_ is DatarefType.BYTES:
            return read, lambda values: tuple(
                byte - 256 if byte > 127 else byte for byte in values[:xpc.MAX_VALUES])
        return read, lambda values: tuple(values[:xpc.MAX_VALUES])

    def _data(self, _: _Connection) -> None:
        self.counters.forwarded += write_rows(self._buffer, self._flight, self.store)

    def _forward(self, _: _Connection) -> None:
        self.counters.forwarded += 1

    def _run_commands(self, phase: Phase) -> None:
        buffer, size = self._buffer, self._buffer.size
        offset = 5
        while offset < size:
            start = offset + 1
            offset = start + buffer[offset]
            if offset > size:
                return
            self._commands.run(buffer.string(start, offset - start), phase)

    # Terrain

    def _get_terrain(self, _: _Connection) -> xpc.Terrain | None:
        if self._buffer.size != 30:
            return None
        number = self._buffer[5]
        lat, lon, alt = self._buffer.unpack(_GETT, 6)
        if xpc.LEAVE in (lat, lon, alt):
            return self._flight.ground_below(number)
        return self._flight.ground(lat, lon, number)

    def _place_and_probe(self, _: _Connection) -> xpc.Terrain | None:
        self._flight.write_position(self._buffer)
        return self._flight.ground_below(self._buffer[5])

    # The screen

    def _show_text(self, _: _Connection) -> None:
        if self._buffer.size < 5 + _TEXT.size:
            return
        x, y, length = self._buffer.unpack(_TEXT, 5)
        text = self._buffer.string(5 + _TEXT.size, length)
        self.screen.text = xpc.Text(
            _TEXT_X if x < 0 else x, _TEXT_Y if y < 0 else y, text) if text else None

    def _show_view(self, _: _Connection) -> None:
        buffer = self._buffer
        if buffer.size not in self.plugin_version.view_lengths:
            return
        key, = buffer.unpack(_VIEW, 5)
        if key == _PAUSE_KEY:
            self._commands.run('sim/operation/pause_toggle')
        if not xpc.View.FORWARD <= key <= xpc.View.FULL_SCREEN:
            return
        self.world.view_type = _VIEW_TYPES.get(key, self.world.view_type)
        camera = None
        if buffer.size == 37 and key == xpc.View.RUNWAY:
            lat, lon, alt, zoom = buffer.unpack(_CAMERA_37, 9)
            camera = xpc.Camera((lat, lon, alt), None, zoom)
        elif buffer.size == 49 and key in (xpc.View.RUNWAY, xpc.View.CHASE):
            x, y, z, *angles, zoom = buffer.unpack(_CAMERA_49, 9)
            roll, pitch, heading = (None if angle < -180.0 else angle for angle in angles)
            camera = xpc.Camera((x, y, z), (roll, pitch, heading), zoom)
        self.screen.view = xpc.SetView(key, camera)

    def _show_waypoints(self, _: _Connection) -> None:
        op, count = self._buffer[5], self._buffer[6]
        points = [self._buffer.unpack(_POINT, 7 + n * _POINT.size) for n in range(count)]
        shown = self.screen.waypoints
        if op == xpc.WaypointOp.ADD:
            shown += points[:xpc.MAX_WAYPOINTS - len(shown)]
        elif op == xpc.WaypointOp.REMOVE:
            found = [shown.index(point) for point in points if point in shown]
            if len(found) > xpc.MAX_WAYPOINTS:
                raise SimulatorCrashError(
                    'X-Plane has crashed: more than 128 waypoints to remove in one datagram, '
                    f'X-Plane Connect handles {xpc.MAX_WAYPOINTS}')
            # One that is listed twice is counted twice, but removed once.
            left = len(shown) - len(found)
            if left < 0:
                raise SimulatorCrashError(
                    f'X-Plane has crashed: {len(found)} of {len(shown)} waypoints removed, one '
                    'of them twice in one datagram')
            shown[:] = [point for n, point in enumerate(shown) if n not in found][:left]
        elif op == xpc.WaypointOp.CLEAR:
            shown.clear()
