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
X-Plane's own UDP for the simulated world, as in docs/wire/xplane_udp.md.

It has no socket and no clock. What the world does not model is ignored: other row contents,
failures by number, situations, objects, sounds, radar, starts on runways.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
import math
import re
from struct import Struct
from typing import Any

from xplane_bridge.bridges.protocols.base import Message
from xplane_bridge.bridges.protocols.errors import ProtocolError
from xplane_bridge.bridges.protocols.xplane_versions import FIRST_WITH_DATAREFS
from xplane_bridge.bridges.xplane_udp import protocol as wire
from xplane_bridge.bridges.xplane_udp.protocol.data import ByteOrder
from xplane_bridge.simulation.peers.endpoints import Address
from xplane_bridge.simulation.peers.world import World
from xplane_bridge.simulation.peers.xplane.commands import Commands
from xplane_bridge.simulation.peers.xplane.datarefs import DatarefStore
from xplane_bridge.simulation.peers.xplane_udp.rows import apply_rows, filled_rows

Receive = Callable[[], tuple[bytes, Address] | None]

BEACON_PERIOD = 1.0
# Not one that ends in r: pyxpudpserver takes the r of the RakNet port behind it for a part of it.
COMPUTER = 'xplane-host'
RREF_LABELS = {'RREF,': 11, 'RREFO': 10}
"""How replies to RREF begin -> a version that sends them so."""

_INTERNAL_VERSIONS = {10: 105110, 11: 115502, 12: 121001}
_FIFTH_BYTES = {9: ord('@'), 10: ord('@'), 11: ord('*'), 12: ord('*')}
_BY_POSITION = 6
# The bridge sends VEHS to 12 only; a public client places the aircraft of 11 with it, too
# (docs/wire/xplane_udp.md, "What public clients expect").
_FIRST_WITH_VEHS = 11
# Read as a float, an int32 that is written to an int dataref is smaller than any number meant.
_LEAST_FLOAT_OF_AN_INT = 1e-30
_RAKNET_PORT = 49010
# Limits of receivers of poses or values, and of values that they may request in all: far more
# than any program does. The real limits are unknown.
_MOST_CLIENTS = 100
_MOST_SUBSCRIPTIONS = 20_000

# X-Plane 6.51 lost about half of datagrams sent back to back, and none sent 10 ms apart
# (docs/wire/xplane_udp.md, section 3): so it reads two in a frame of 1/60 s, and drops the rest.
_READ_BY_6 = 2

# Its multiples modulo 1 are evenly distributed.
_GOLDEN = 0.618_033_988_75

_FLOAT32, _INT32 = Struct('<f'), Struct('<i')
# Where DREF has its value, and the name behind it; and how many names are known by their bytes.
_DREF_VALUE, _DREF_NAME = 5, 9
_MOST_WRITTEN = 256
_ELEMENT = re.compile(r'(.+)\[(\d+)\]')


@dataclass(slots=True)
class DatagramCounters:
    """Counts of datagrams: handled, rejected as malformed, lost, or without effect here."""

    handled: int = 0
    malformed: int = 0
    lost: int = 0
    ignored: int = 0


@dataclass(frozen=True, slots=True)
class _Subscription:
    """One value: what reads it, and its rate and stream."""

    read: Callable[[], float]
    timer: tuple[float, int]


class XPlane:
    """
    X-Plane ``version`` (6 to 12), from its start to its end.

    ``port`` is the one in the beacon; ``data_target``, ``data_rate`` and ``byte_order`` are those
    of its settings and its machine, ``ticked`` the rows that its user has selected; ``started``
    is the time at which it started. ``drift`` is the largest relative error of a subscription's
    timer, each having its own error and phase; with 0 all of one rate tick together.
    ``rref_label``, ``RREF,`` or ``RREFO``, is how replies to RREF begin, by default those of the
    version; ``computer`` is the machine's name in the beacon.
    """

    def __init__(self, world: World, version: int, port: int = wire.PORT, *,
                 byte_order: ByteOrder = 'little', data_target: Address | None = None,
                 data_rate: float = 50.0, started: float = 0.0, ticked: Iterable[int] = (),
                 drift: float = 0.0, rref_label: str | None = None,
                 computer: str = COMPUTER) -> None:
        self.world = world
        self.version = version
        self.counters = DatagramCounters()
        self.data_target = data_target
        self.selected = set(ticked)
        self.next_beacon: float | None = (
            started + BEACON_PERIOD if version >= FIRST_WITH_DATAREFS else None)
        self._store = (
            DatarefStore(world, version) if version >= FIRST_WITH_DATAREFS else None)
        self._commands = Commands(world)
        self._port = port
        self._data_rate = data_rate
        self._layout = wire.default_layout(version, 'peer', byte_order=byte_order)
        self._input_layout: wire.DataLayout | None = None
        if version < 8:
            self._input_layout = wire.default_layout(version, 'bridge', byte_order=byte_order)
        self._subscriptions: dict[Address, dict[int, _Subscription]] = {}
        # Rate and stream of the pose.
        self._positions: dict[Address, tuple[int, int]] = {}
        self._rref_version = version if rref_label is None else RREF_LABELS[rref_label]
        self._computer = computer
        self._drift = drift
        self._streams = 0
        self._ticks: dict[tuple[float, int], int] = {}
        self._due: dict[tuple[float, int], bool] = {}
        # When the last frame was, and whether something may have been requested since.
        self._framed_at = math.nan
        self._has_news = False
        # Which dataref and element is meant, by the bytes that name it.
        self._written: dict[bytes, tuple[str, int]] = {}

    # Reading

    def read(self, receive: Receive) -> None:
        """Handle what has arrived; ``receive`` returns the next datagram, or None."""
        handled = 0
        while (received := receive()) is not None:
            if self.version == 6 and handled >= _READ_BY_6:
                self.counters.lost += 1
                continue
            handled += 1
            self.handle(*received)

    def handle(self, data: bytes, sender: Address) -> None:
        """Carry out one datagram; what X-Plane does not understand is dropped."""
        if data[:4] == b'DREF' and (known := self._written.get(data[_DREF_NAME:])) is not None:
            # The same are written in each frame of a flight.
            assert self._store is not None
            self.counters.handled += 1
            self._write(self._store, *known, _FLOAT32.unpack_from(data, _DREF_VALUE)[0])
            return
        try:
            message = self._decode(data)
        except ProtocolError:
            self.counters.malformed += 1
            return
        self.counters.handled += 1
        self._has_news |= not isinstance(message, wire.Dref)
        if isinstance(message, wire.Data):
            apply_rows(self.world, self.version, message.segments)
        elif isinstance(message, wire.Dsel):
            # Read in the wrong byte order, the numbers match no row.
            count = wire.ROW_COUNTS.get(self.version, wire.ROW_COUNTS[11])
            self.selected |= {row for row in message.indices if 0 <= row < count}
        elif isinstance(message, wire.Usel):
            self.selected -= set(message.indices)
        elif not self._set_target(message) and (
                self._store is None
                or not self._handle_modern(self._store, message, data, sender)):
            self.counters.ignored += 1

    def _decode(self, data: bytes) -> Message:
        """Decode in our own byte order; a public sender to version 6 omits the trailer."""
        if self._input_layout is None or data[:4] not in (b'DATA', b'DSEL', b'USEL'):
            return wire.decode(data, 'bridge', self.version, previous=self._layout)
        size = 36 if data[:4] == b'DATA' else 4
        bare = wire.DataLayout(self._input_layout.framing, self._input_layout.byte_order)
        has_trailer = (len(data) - bare.header_size) % size == 1
        layout = wire.DataLayout(bare.framing, bare.byte_order, has_trailer)
        return wire.decode(data, 'bridge', self.version, layout=layout)

    def _set_target(self, message: Message) -> bool:
        """Take the data output target of ISET (9, 10) or ISE4 (10 and later)."""
        known = {9: wire.Iset, 10: (wire.Iset, wire.Ise4), 11: wire.Ise4, 12: wire.Ise4}
        kinds: Any = known.get(self.version, ())
        if not kinds or not isinstance(message, kinds):
            return False
        if message.index != wire.DATA_OUTPUT_TARGET[self.version]:
            return False
        self.data_target = (message.ip, message.port) if message.use else None
        return True

    def _handle_modern(
        self, store: DatarefStore, message: Message, data: bytes, sender: Address
    ) -> bool:
        """Handle what X-Plane 10 and later know; return whether it has an effect here."""
        if isinstance(message, wire.RrefRequest):
            self._subscribe(store, message, sender)
        elif isinstance(message, wire.RposRequest):
            self._positions.pop(sender, None)
            if message.rate > 0 and len(self._positions) < _MOST_CLIENTS:
                self._positions[sender] = message.rate, self._next_stream()
        elif isinstance(message, wire.Dref):
            known = _element(store, message.dataref)
            if len(self._written) < _MOST_WRITTEN:
                self._written[data[_DREF_NAME:]] = known
            self._write(store, *known, message.value)
        elif isinstance(message, wire.Cmnd):
            self._commands.run(message.command)
        elif isinstance(message, wire.Vehx) or (
                isinstance(message, wire.Vehs) and self.version >= _FIRST_WITH_VEHS):
            return self._place(message)
        elif isinstance(message, wire.Prel) and message.type_start == _BY_POSITION:
            return self._start_flight(message)
        elif isinstance(message, wire.Rese):
            self._commands.run('sim/operation/fix_all_systems')
        else:
            return False
        return True

    def _write(self, store: DatarefStore, name: str, element: int, value: float) -> None:
        """Write a dataref; clients send int datarefs as float32 or as int32."""
        type_ = store.type_of(name)
        if type_ is not None and type_.is_integer and value != 0.0 and not (
                _LEAST_FLOAT_OF_AN_INT <= abs(value) < math.inf):
            value = _INT32.unpack(_FLOAT32.pack(value))[0]
        store.write(name, [value], element)

    def _subscribe(self, store: DatarefStore, message: wire.RrefRequest, sender: Address) -> None:
        """Start or end one subscription; an unknown path is silently ignored."""
        mine = self._subscriptions.setdefault(sender, {})
        mine.pop(message.index, None)
        name, element = _element(store, message.dataref)
        if message.freq > 0 and self._has_room() and (
                read := store.element_reader(name, element)) is not None:
            mine[message.index] = _Subscription(read, (message.freq, self._next_stream()))
        if not mine:
            del self._subscriptions[sender]

    def _has_room(self) -> bool:
        """Return whether there is room for a subscription; others are silently ignored."""
        return len(self._subscriptions) <= _MOST_CLIENTS and (
            sum(map(len, self._subscriptions.values())) < _MOST_SUBSCRIPTIONS)

    def _place(self, message: wire.Vehx | wire.Vehs) -> bool:
        figures = (message.lat, message.lon, message.ele_m, message.theta, message.phi,
                   message.psi_true)
        if not 0 <= message.p < 20 or not all(map(math.isfinite, figures)):
            return False
        self.world.teleport(message.p, *figures)
        if isinstance(message, wire.Vehx):
            self.world.freeze(message.p, True)
        return True

    def _start_flight(self, message: wire.Prel) -> bool:
        figures = (message.lat, message.lon, message.ele_m, message.psi_true, message.speed_m_s)
        if message.p_idx != 0 or not all(map(math.isfinite, figures)):
            return False
        self.world.freeze(0, False)
        self.world.teleport(0, message.lat, message.lon, message.ele_m, 0.0, 0.0,
                            message.psi_true)
        self.world.aircraft.teleport(speed=message.speed_m_s)
        return True

    # Sending

    def frame(self, now: float) -> Iterator[tuple[bytes, Address]]:
        """Return what is due in this frame, with its destinations."""
        if now == self._framed_at and not self._has_news:
            # In lockstep time stands while a command arrives, part by part.
            return
        self._framed_at, self._has_news = now, False
        if len(self._ticks) > len(self._due):
            # Drop unused rates; there may be as many as there are integers.
            self._ticks = {key: tick for key, tick in self._ticks.items() if key in self._due}
        self._due.clear()
        for client, pose in self._positions.items():
            if self._is_due(pose, now):
                yield wire.encode(self._pose(), self.version), client
        for client, subscriptions in self._subscriptions.items():
            due = {timer for timer in {one.timer for one in subscriptions.values()}
                   if self._is_due(timer, now)}
            asked = {index: one.read for index, one in subscriptions.items()
                     if one.timer in due} if due else {}
            # X-Plane sends what it has, NaN too.
            values = [*zip(asked, self.world.read([*asked.values()]), strict=True)]
            for start in range(0, len(values), wire.MOST_RREF_VALUES):
                part = tuple(values[start:start + wire.MOST_RREF_VALUES])
                yield wire.encode(wire.RrefReply(part), self._rref_version), client
        if self.selected and self.data_target is not None and (
                self._is_due((self._data_rate, 0), now)):
            segments = filled_rows(self.world, self.version, sorted(self.selected))
            yield wire.encode(wire.Data(
                segments, self._layout, _FIFTH_BYTES.get(self.version, 0)), self.version), (
                    self.data_target)

    def beacon(self, now: float) -> bytes | None:
        """Return the beacon if it is due: every second, even while no frames are drawn."""
        if self.next_beacon is None or now < self.next_beacon:
            return None
        self.next_beacon = max(self.next_beacon, now - BEACON_PERIOD) + BEACON_PERIOD
        minor, raknet = (1, None) if self.version == 10 else (2, _RAKNET_PORT)
        return wire.encode(wire.Becn(
            1, minor, 1, _INTERNAL_VERSIONS[self.version], 1, self._port, self._computer,
            raknet))

    def _next_stream(self) -> int:
        """Return the number of a new subscription; without drift all share one."""
        self._streams += self._drift > 0.0
        return self._streams

    def _is_due(self, timer: tuple[float, int], now: float) -> bool:
        """Return whether this rate is due, in the same frame for all of one stream."""
        if timer not in self._due:
            rate, stream = timer
            off = self._drift * (2.0 * (stream * _GOLDEN % 1.0) - 1.0)
            phase = stream * _GOLDEN * _GOLDEN % 1.0
            tick = math.floor(now * rate * (1.0 + off) + phase)
            self._due[timer] = self._ticks.get(timer) != tick
            self._ticks[timer] = tick
        return self._due[timer]

    def _pose(self) -> wire.RposReply:
        s = self.world.aircraft.state
        east, up, south = self.world.local.velocity
        return wire.RposReply(
            lon=s.lon_deg, lat=s.lat_deg, ele_m=s.altitude_msl, agl_m=s.altitude_agl,
            pitch_deg=math.degrees(s.theta), heading_true_deg=math.degrees(s.psi),
            roll_deg=math.degrees(s.phi), v_east=east, v_up=up, v_south=south,
            p_rad_s=s.p, q_rad_s=s.q, r_rad_s=s.r)


def _element(store: DatarefStore, name: str) -> tuple[str, int]:
    """
    Split ``name[3]`` into name and index; a name alone is its first element.

    A few names of X-Plane end so themselves, which are no elements of arrays.
    """
    match = None if store.type_of(name) else _ELEMENT.fullmatch(name)
    return (match[1], int(match[2])) if match else (name, 0)
