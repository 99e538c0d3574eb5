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
One measurement of a telemetry ground station, Altair or DEWESoft; without sockets.

It samples quantities of the aircraft, each at its own rate, and packs them into Ulyssix packets.
No real publisher could be examined; this one follows the document as docs/wire/ulyssix.md, section
2, interprets it.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta, UTC
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from xplane_bridge.bridges.ulyssix import protocol as ulyssix
from xplane_bridge.bridges.ulyssix.protocol import MAX_DATAGRAM, PacketTime, WordOrder
from xplane_bridge.simulation.aircraft.state import AircraftState
from xplane_bridge.simulation.peers.world import World

# Seconds between packets of each program, from the document.
PACKET_PERIODS = {'altair': 0.01, 'dewesoft': 0.04}

# Slower and faster than the packet rates, in samples per second.
DEFAULT_PARAMETERS = (
    ('lat_deg', 20.0), ('lon_deg', 20.0), ('altitude_msl', 50.0), ('phi', 100.0),
    ('theta', 100.0), ('psi', 100.0), ('p', 200.0), ('q', 200.0), ('r', 200.0), ('f_x', 1000.0),
    ('f_y', 1000.0), ('f_z', 1000.0), ('v_north', 20.0), ('v_east', 20.0), ('v_down', 20.0),
    ('cas', 50.0), ('tas', 100.0), ('alpha', 100.0), ('beta', 100.0), ('static_pressure', 10.0),
    ('temperature', 1.0),
)

# The value of one count in integer mode, in the quantity's unit.
RESOLUTION = 1e-4

QUANTITIES = tuple(
    name for name, kind in AircraftState.__annotations__.items() if kind in (float, 'float'))

# Angles that wrap: lower end of the range, and one turn.
_ANGLES = {
    'phi': (-math.pi, math.tau), 'psi': (0.0, math.tau), 'track': (0.0, math.tau),
    'lon_deg': (-180.0, 360.0),
}
# After a longer gap between frames than this, the missed samples are left out.
_LONGEST_GAP = 0.5
_TOLERANCE = 1e-6
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class _Channel:
    """
    One sampled quantity: sample k is taken k / rate seconds after the start.

    It is interpolated linearly between two frames of the simulator.
    """

    def __init__(self, name: str, rate: float) -> None:
        self.name = name
        self.rate = rate
        self.skip(0.0)

    def skip(self, now: float) -> None:
        """Drop the samples taken, and continue with the first one after ``now``."""
        self.first = math.ceil(now * self.rate - _TOLERANCE)
        self.values = np.empty(0)

    def sample(self, begin: float, end: float, before: float, after: float) -> None:
        """Take the samples up to ``end``; the quantity changed since ``begin``."""
        change = after - before
        if self.name in _ANGLES:
            change = math.remainder(change, _ANGLES[self.name][1])
        low = self.first + len(self.values)
        numbers = np.arange(low, math.floor(end * self.rate + _TOLERANCE) + 1)
        part = np.clip((numbers / self.rate - begin) / (end - begin), 0.0, 1.0)
        values = before + part * change
        if self.name in _ANGLES:
            least, turn = _ANGLES[self.name]
            values = least + (values - least) % turn
        self.values = np.concatenate((self.values, values))

    def take(self, until: float) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return and remove the numbers and values of the samples before ``until``."""
        count = max(0, math.ceil(until * self.rate - _TOLERANCE) - self.first)
        numbers = np.arange(self.first, self.first + count)
        values, self.values = self.values[:count], self.values[count:]
        self.first += count
        return numbers, values


@dataclass(frozen=True, slots=True)
class Stream:
    """
    What a publisher sends.

    parameters are (name, samples per second) pairs, the names being fields of AircraftState.
    program is 'altair' or 'dewesoft'. integer_width is 8 or 4 bytes for raw values in units of
    RESOLUTION, which only Altair can send, or None for floating point.

    Raises ValueError for parameters that do not exist or do not fit into one datagram.
    """

    parameters: tuple[tuple[str, float], ...] = DEFAULT_PARAMETERS
    program: str = 'altair'
    names: bool = True
    times: bool = True
    integer_width: int | None = None
    word_order: WordOrder = WordOrder.FIRST_WORD_HIGH

    def __post_init__(self) -> None:
        """Check the combination of values."""
        if self.program == 'dewesoft' and self.integer_width is not None:
            raise ValueError('DEWESoft has no integer mode')
        for name, _ in self.parameters:
            if name not in QUANTITIES:
                raise ValueError(f'parameter {name}: expected one of {", ".join(QUANTITIES)}')
        sample = (self.integer_width or 4) + (8 if self.times else 0)
        largest = 49 + 2 + sum(len(name) + 1 for name, _ in self.parameters) + sum(
            4 + (math.floor(rate * self.period) + 1) * sample for _, rate in self.parameters)
        if not self.parameters or largest > MAX_DATAGRAM:
            raise ValueError(
                f'{len(self.parameters)} parameters make packets of up to {largest} bytes, '
                f'expected one or more parameters and at most {MAX_DATAGRAM} bytes')

    @property
    def period(self) -> float:
        """Return the seconds between packets."""
        return PACKET_PERIODS[self.program]


DEFAULT_STREAM = Stream()


class UlyssixPublisher:
    """One measurement of a world, started at ``begin_ns`` since 1970-01-01 UTC."""

    def __init__(self, world: World, stream: Stream, begin_ns: int) -> None:
        self._world = world
        self._stream = stream
        self._begin_ns = begin_ns
        self._counter = 0
        self._total = 0
        self._sampled = 0.0
        self._sent = 0.0
        self._channels = [_Channel(name, rate) for name, rate in stream.parameters]
        self._last = world.aircraft.state

    def frame(self, elapsed: float) -> Iterator[bytes]:
        """Sample the frame, and yield the packets that it completes."""
        state = self._world.aircraft.state
        if elapsed - self._sampled > _LONGEST_GAP:
            for channel in self._channels:
                channel.skip(elapsed)
            self._sent = elapsed
        elif elapsed > self._sampled:
            for channel in self._channels:
                channel.sample(self._sampled, elapsed, getattr(self._last, channel.name),
                               getattr(state, channel.name))
            while self._sent + self._stream.period <= elapsed + _TOLERANCE:
                self._sent += self._stream.period
                if (packet := self._packet(self._sent)) is not None:
                    yield packet
        self._sampled = elapsed
        self._last = state

    def _packet(self, until: float) -> bytes | None:
        """Return one packet with the samples before ``until``; None if there are none."""
        taken = [channel.take(until) for channel in self._channels]
        moments = [
            self._begin_ns // 1000 + np.rint(numbers / channel.rate * 1e6).astype(np.int64)
            for (numbers, _), channel in zip(taken, self._channels, strict=True)
        ]
        first = min((int(each[0]) for each in moments if len(each)), default=None)
        if first is None:
            return None
        values = [self._raw(values) for _, values in taken]
        self._total += sum(map(len, values))
        packet = ulyssix.data_packet(
            self._counter,
            self._total,
            _packet_time(first, self._stream.word_order),
            values,
            [self._since_jan1(each) for each in moments] if self._stream.times else None,
            names=[channel.name for channel in self._channels] if self._stream.names else None,
            integer_width=self._stream.integer_width,
        )
        self._counter = (self._counter + 1) % ulyssix.COUNTER_MODULUS
        return ulyssix.encode(packet)

    def _raw(self, values: NDArray[np.float64]) -> NDArray[Any]:
        """Return values as sent: in integer mode as counts of RESOLUTION."""
        width = self._stream.integer_width
        if width is None:
            return values
        limit = 2 ** (8 * width - 1)
        return np.clip(np.rint(values / RESOLUTION), -limit, limit - 1).astype(np.int64)

    def _since_jan1(self, moments: NDArray[np.int64]) -> NDArray[Any]:
        """Convert microseconds since 1970 to time tags, each relative to its own year."""
        if not len(moments):
            return moments
        year = _date(int(moments[0])).year
        begin, after = _micros(year), _micros(year + 1)
        micros = moments - np.where(moments < after, begin, after)
        return micros if self._stream.integer_width is not None else micros / 1e6


def _date(micros: int) -> datetime:
    return _EPOCH + timedelta(microseconds=micros)


def _micros(year: int) -> int:
    return (datetime(year, 1, 1, tzinfo=UTC) - _EPOCH) // timedelta(microseconds=1)


def _packet_time(micros: int, word_order: WordOrder) -> PacketTime:
    date = _date(micros)
    return PacketTime(date.timetuple().tm_yday, date.hour, date.minute, date.second,
                      date.microsecond, word_order)
