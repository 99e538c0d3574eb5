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
The simulated aircraft as a telemetry ground station publishes it: Altair, or DEWESoft.

It samples quantities of the aircraft, each at its own rate, and sends them in Ulyssix packets. No
real publisher could be examined; this one does what the document says, with the readings of
docs/wire/ulyssix.md, section 2.
"""

from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Callable, Sequence
from dataclasses import fields
from datetime import datetime, timedelta, timezone
import ipaddress
import math
import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from xplane_bridge.links.udp import Counters, resolve
from xplane_bridge.protocols import ulyssix
from xplane_bridge.protocols.ulyssix import MAX_DATAGRAM, PacketTime, WordOrder
from xplane_bridge.simulators import options
from xplane_bridge.simulators.aircraft_state import AircraftState
from xplane_bridge.simulators.endpoints import Endpoint, UdpEndpoint
from xplane_bridge.simulators.faults import Faults
from xplane_bridge.simulators.world import World

# Seconds between packets: what the document says of either program.
PACKET_PERIODS = {'altair': 0.01, 'dewesoft': 0.04}

# Slower and faster than packets are sent, in samples a second.
DEFAULT_PARAMETERS = (
    ('lat_deg', 20.0), ('lon_deg', 20.0), ('altitude_msl', 50.0), ('phi', 100.0),
    ('theta', 100.0), ('psi', 100.0), ('p', 200.0), ('q', 200.0), ('r', 200.0), ('f_z', 1000.0),
    ('tas', 100.0), ('static_pressure', 10.0), ('temperature', 1.0),
)

# What a raw value of 1 stands for in integer mode, in the quantity's unit.
RESOLUTION = 1e-4

QUANTITIES = tuple(
    field.name for field in fields(AircraftState) if field.type in (float, 'float'))

# Angles that jump by a whole turn: where they begin, and a turn.
_ANGLES = {
    'phi': (-math.pi, math.tau), 'psi': (0.0, math.tau), 'track': (0.0, math.tau),
    'lon_deg': (-180.0, 360.0),
}
# After a longer gap between frames than this, what was not sampled is left out.
_LONGEST_GAP = 0.5
_TOLERANCE = 1e-6
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


def _utc_ns(moment: float) -> int:
    """Return what the clock said at a moment of time.monotonic(), in ns since 1970."""
    return time.time_ns() - round((time.monotonic() - moment) * 1e9)


class _Channel:
    """
    One sampled quantity: sample k is taken k / rate seconds after the start.

    Between two frames of the simulator it goes on a straight line.
    """

    def __init__(self, name: str, rate: float) -> None:
        self.name = name
        self.rate = rate
        self.skip(0.0)

    def skip(self, now: float) -> None:
        """Forget what was sampled, and go on with the first sample after ``now``."""
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
        """Return the numbers and values of the samples before ``until``, and forget them."""
        count = max(0, math.ceil(until * self.rate - _TOLERANCE) - self.first)
        numbers = np.arange(self.first, self.first + count)
        values, self.values = self.values[:count], self.values[count:]
        self.first += count
        return numbers, values


class UlyssixFace:
    """
    A publisher of an aircraft's quantities to one destination (address, port).

    parameters are (name, samples a second) pairs, names being of fields of AircraftState.
    program is 'altair' or 'dewesoft'. integer_width is 8 or 4 bytes for raw values in units of
    RESOLUTION, which only Altair can send, or None for floating point. interface is the address
    of the one to multicast on. clock turns the time of the start into ns since 1970-01-01 UTC.

    Raises ValueError for parameters that do not exist or do not fit into one datagram.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        destination: tuple[str, int],
        parameters: Sequence[tuple[str, float]] = DEFAULT_PARAMETERS,
        *,
        program: str = 'altair',
        names: bool = True,
        times: bool = True,
        integer_width: int | None = None,
        word_order: WordOrder = WordOrder.FIRST_WORD_HIGH,
        interface: str | None = None,
        clock: Callable[[float], int] = _utc_ns,
    ) -> None:
        if program == 'dewesoft' and integer_width is not None:
            raise ValueError('DEWESoft has no integer mode')
        self.endpoint = endpoint
        self.destination = destination
        self.program = program
        self._period = PACKET_PERIODS[program]
        self._parameters = tuple(parameters)
        self._names = tuple(name for name, _ in parameters) if names else None
        self._times = times
        self._width = integer_width
        self._word_order = word_order
        self._interface = interface
        self._clock = clock
        for name, _ in parameters:
            if name not in QUANTITIES:
                raise ValueError(f'parameter {name}: expected one of {", ".join(QUANTITIES)}')
        sample = (integer_width or 4) + (8 if times else 0)
        largest = 49 + 2 + sum(len(name) + 1 for name, _ in parameters) + sum(
            4 + (math.floor(rate * self._period) + 1) * sample for _, rate in parameters)
        if not parameters or largest > MAX_DATAGRAM:
            raise ValueError(
                f'{len(parameters)} parameters make packets of up to {largest} bytes, expected '
                f'one or more parameters and at most {MAX_DATAGRAM} bytes')

    @property
    def name(self) -> str:
        """Return what it is."""
        return f'Ulyssix publisher ({self.program})'

    @property
    def address(self) -> str:
        """Return where it sends to."""
        host, port = self.destination
        return f'the way to {host}:{port}'

    @property
    def counters(self) -> Counters:
        """Return what has gone out."""
        return self.endpoint.counters

    def open(self, world: World, now: float) -> None:
        """Start a measurement: counter and total begin at 0."""
        self.endpoint.open()
        self._world = world
        self._opened = now
        self._begin_ns = self._clock(now)
        self._counter = 0
        self._total = 0
        self._sampled = 0.0
        self._sent = 0.0
        self._channels = [_Channel(name, rate) for name, rate in self._parameters]
        self._last = world.aircraft.state

    def frame(self, now: float) -> None:
        """Sample what the frame has brought, and send the packets that it completes."""
        end = now - self._opened
        state = self._world.aircraft.state
        if end - self._sampled > _LONGEST_GAP:
            for channel in self._channels:
                channel.skip(end)
            self._sent = end
        elif end > self._sampled:
            for channel in self._channels:
                channel.sample(self._sampled, end, getattr(self._last, channel.name),
                               getattr(state, channel.name))
            while self._sent + self._period <= end + _TOLERANCE:
                self._sent += self._period
                self._send(self._sent, now)
        self._sampled = end
        self._last = state

    def poll(self, now: float) -> None:
        """Send what faults have delayed."""
        self.endpoint.flush(now)

    def next_due(self) -> float | None:
        """Return when poll() is to be called next, or None if frames are often enough."""
        return self.endpoint.next_due()

    def close(self) -> None:
        """Stop; closing twice is fine."""
        self.endpoint.close()

    def _send(self, until: float, now: float) -> None:
        """Send the samples before ``until`` in one packet; none if there are none."""
        taken = [channel.take(until) for channel in self._channels]
        rates = [channel.rate for channel in self._channels]
        moments = [
            self._begin_ns // 1000 + np.rint(numbers / rate * 1e6).astype(np.int64)
            for (numbers, _), rate in zip(taken, rates, strict=True)
        ]
        first = min((int(each[0]) for each in moments if len(each)), default=None)
        if first is None:
            return
        values: list[NDArray[Any]] = [values for _, values in taken]
        if self._width is not None:
            limit = 2 ** (8 * self._width - 1)
            values = [
                np.clip(np.rint(each / RESOLUTION), -limit, limit - 1).astype(np.int64)
                for each in values
            ]
        self._total += sum(map(len, values))
        self.endpoint.send(ulyssix.encode(ulyssix.data_packet(
            self._counter,
            self._total,
            _packet_time(first, self._word_order),
            values,
            [self._since_jan1(each) for each in moments] if self._times else None,
            names=self._names,
            integer_width=self._width,
        )), self.destination, now, self._interface)
        self._counter = (self._counter + 1) % ulyssix.COUNTER_MODULUS

    def _since_jan1(self, moments: NDArray[np.int64]) -> NDArray[Any]:
        """Return microseconds since 1970 as time tags: each sample counts in its own year."""
        if not len(moments):
            return moments
        year = _date(int(moments[0])).year
        begin, after = _micros(year), _micros(year + 1)
        micros = moments - np.where(moments < after, begin, after)
        return micros if self._width is not None else micros / 1e6


def _date(micros: int) -> datetime:
    return _EPOCH + timedelta(microseconds=micros)


def _micros(year: int) -> int:
    return (datetime(year, 1, 1, tzinfo=timezone.utc) - _EPOCH) // timedelta(microseconds=1)


def _packet_time(micros: int, word_order: WordOrder) -> PacketTime:
    date = _date(micros)
    return PacketTime(date.timetuple().tm_yday, date.hour, date.minute, date.second,
                      date.microsecond, word_order)


# The subcommand.

def add_options(parser: ArgumentParser) -> None:
    """Add the options of ``simulator ulyssix``."""
    parser.add_argument('--host', default=options.LOOPBACK,
                        help='address or multicast group to send to (%(default)s)')
    parser.add_argument('--port', type=options.peer_port, required=True,
                        help='UDP port to send to')
    parser.add_argument('--interface', type=options.interface, default=options.LOOPBACK,
                        metavar='ADDRESS',
                        help='address of the interface to multicast on (%(default)s)')
    parser.add_argument('--program', choices=PACKET_PERIODS, default='altair',
                        help='who sends: a packet every 10 ms, or every 40 ms (%(default)s)')
    parser.add_argument('--parameter', action='append', type=_parameter, metavar='NAME=RATE',
                        help='a quantity to send and its samples a second; may be given more '
                        'than once (default: ' + ' '.join(
                            f'{name}={rate:g}' for name, rate in DEFAULT_PARAMETERS) + ')')
    parser.add_argument('--no-names', action='store_true', help='send no names')
    parser.add_argument('--no-times', action='store_true', help='send no time tags')
    parser.add_argument('--integer-width', type=int, choices=(8, 4),
                        help=f'send integers of so many bytes, in units of {RESOLUTION:g}')
    parser.add_argument('--word-order', choices=[order.value for order in WordOrder],
                        default=WordOrder.FIRST_WORD_HIGH.value,
                        help="which half of the packet's time comes first (%(default)s)")
    parser.add_argument('--start-time', type=_time, metavar='TIME',
                        help='what the clock says at the start, UTC, such as '
                        '2025-12-31T23:59:55 (default: the time)')


def make_face(arguments: Namespace, faults: Faults) -> UlyssixFace:
    """Return the face that the options ask for."""
    host = resolve(arguments.host)
    start = arguments.start_time
    return UlyssixFace(
        UdpEndpoint('', 0, faults),
        (host, arguments.port),
        arguments.parameter or DEFAULT_PARAMETERS,
        program=arguments.program,
        names=not arguments.no_names,
        times=not arguments.no_times,
        integer_width=arguments.integer_width,
        word_order=WordOrder(arguments.word_order),
        interface=arguments.interface if ipaddress.ip_address(host).is_multicast else None,
        clock=_utc_ns if start is None else lambda _: start,
    )


def _parameter(text: str) -> tuple[str, float]:
    name, _, number = text.partition('=')
    try:
        rate = float(number)
    except ValueError:
        rate = 0.0
    if name not in QUANTITIES or not 0.0 < rate <= 1e6:
        raise ArgumentTypeError(f'{text!r} is not like altitude_msl=50')
    return name, rate


def _time(text: str) -> int:
    try:
        moment = datetime.fromisoformat(text).replace(tzinfo=timezone.utc)
    except ValueError:
        raise ArgumentTypeError(f'{text!r} is not like 2025-12-31T23:59:55') from None
    return (moment - _EPOCH) // timedelta(microseconds=1) * 1000
