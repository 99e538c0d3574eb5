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
The simulated Ulyssix publisher, against the document and JSBSim's own properties.

Packets are parsed with struct here, following the document, not with the project's decoder.
"""

from datetime import datetime, timedelta, UTC
import math
import struct
from types import SimpleNamespace

import pytest

pytest.importorskip('jsbsim', reason='needs JSBSim (pip install jsbsim)')

from memory_endpoint import MemoryEndpoint

from xplane_bridge.bridges.ulyssix.protocol import WordOrder
from xplane_bridge.commands import simulator as main
from xplane_bridge.simulation.aircraft.aircraft import Aircraft
from xplane_bridge.simulation.aircraft.initial import Initial
from xplane_bridge.simulation.peers import ulyssix
from xplane_bridge.simulation.peers.faults import Faults
from xplane_bridge.simulation.peers.server import SimulatedComputer
from xplane_bridge.simulation.peers.world import World

DESTINATION = ('127.0.0.1', 5000)
BEGIN = datetime(2026, 3, 5, 6, 7, 8, tzinfo=UTC)
DAY = 64  # of 5 March: 31 + 28 + 5
FRAME = 1 / 60


class Packet:
    """One packet, parsed by hand."""

    def __init__(self, data, width=None):
        self.data = data
        self.counter, self.control = struct.unpack_from('<IB', data)
        at, self.names = 5, None
        if self.control & 2:
            length, = struct.unpack_from('<H', data, at)
            self.names = data[7:7 + length].decode().split('\x1f')
            at = 7 + length
        assert data[at:at + 8] == bytes(range(8))
        size, kind, self.samples, self.total = struct.unpack_from('<IIIQ', data, at + 8)
        self.date, self.clock = data[at + 28:at + 32], data[at + 32:at + 36]
        end = at + 8 + size
        assert kind == 0
        assert data[end:] == bytes(range(8))[::-1]
        value = {None: 'f', 8: 'q', 4: 'i'}[width]
        time = ('Q' if width else 'd') if self.control & 1 else ''
        at += 36
        self.parameters = []
        while at < end:
            count, = struct.unpack_from('<I', data, at)
            at += 4
            samples = []
            for _ in range(count):
                samples.append(struct.unpack_from('<' + value + time, data, at))
                at += struct.calcsize('<' + value + time)
            self.parameters.append(samples)
        assert at == end
        assert sum(map(len, self.parameters)) == self.samples


def packet_time(date, clock):
    """Return (day, time of day) of a packet's time as the appendix reads its words."""
    (day, clock_word) = (f'{int.from_bytes(word, "little"):08x}' for word in (date, clock))
    return int(day[:4]), (f'{day[4:6]}:{day[6:]}:{clock_word[:2]}.{clock_word[2:]}')


def ns_of(moment):
    return int(moment.timestamp()) * 10**9 + moment.microsecond * 1000


class Bench:
    """A publisher in a world whose state a test sets, or of a flying aircraft."""

    def __init__(self, parameters, world=None, begin=BEGIN, faults=None, **options):
        self.width = options.get('integer_width')
        still = SimpleNamespace(**{name: 0.0 for name, _ in parameters})
        self.world = world or SimpleNamespace(aircraft=SimpleNamespace(state=still))
        self.endpoint = MemoryEndpoint(faults)
        self.frontend = ulyssix.UlyssixFrontend(
            self.endpoint, DESTINATION, ulyssix.Stream(tuple(parameters), **options),
            clock=lambda _: ns_of(begin))
        self.now = 1000.0
        self.frontend.open(self.world, self.now)

    def frame(self, seconds=FRAME, **state):
        """Advance one frame that ends in this state; return the packets sent."""
        self.now += seconds
        if state:
            # As in the real one, a state is never changed but replaced.
            self.world.aircraft.state = SimpleNamespace(**state)
        self.frontend.frame(self.now)
        collected = self.endpoint.collect()
        assert all(to == DESTINATION for _, to in collected)
        return [Packet(data, self.width) for data, _ in collected]

    def run(self, frames):
        return [packet for _ in range(frames) for packet in self.frame()]


def test_an_altair_packet_is_as_the_document_has_it():
    packet, = Bench([('tas', 200.0), ('alpha', 100.0)]).frame(0.01, tas=10.0, alpha=1.0)
    assert (packet.counter, packet.control, packet.total) == (0, 3, 3)
    assert packet.names == ['tas', 'alpha']
    assert packet_time(packet.date, packet.clock) == (DAY, '06:07:08.000000')
    since = (DAY - 1) * 86400 + 6 * 3600 + 7 * 60 + 8
    assert packet.parameters == [
        [(0.0, pytest.approx(since, abs=1e-6)), (5.0, pytest.approx(since + 0.005, abs=1e-6))],
        [(0.0, pytest.approx(since, abs=1e-6))]]


def test_counter_total_and_time_go_on():
    packets = Bench([('tas', 1000.0)]).run(60)
    assert [packet.counter for packet in packets] == list(range(100))
    total = 0
    for packet in packets:
        total += packet.samples
        assert packet.total == total
    assert total == 1000
    times = [time for packet in packets for _, time in packet.parameters[0]]
    assert [later - before for before, later in zip(times, times[1:], strict=False)] == (
        pytest.approx([0.001] * 999, abs=1e-6))


@pytest.mark.parametrize(('program', 'count'), [('altair', 100), ('dewesoft', 25)])
def test_packets_come_as_often_as_the_program_sends_them(program, count):
    assert len(Bench([('tas', 1000.0)], program=program).run(60)) == count


def test_slow_parameters_have_no_samples_in_most_packets_and_an_empty_one_is_not_sent():
    packets = Bench([('tas', 5.0), ('alpha', 20.0)]).run(60)
    assert [[len(samples) for samples in packet.parameters] for packet in packets] == (
        [[1, 1], [0, 1], [0, 1], [0, 1]] * 5)


def test_samples_between_frames_are_on_the_way_and_fit_their_times():
    bench = Bench([('altitude_msl', 500.0)])
    begin = (BEGIN - datetime(2026, 1, 1, tzinfo=UTC)).total_seconds()
    packets = [packet for number in range(1, 31)
               for packet in bench.frame(altitude_msl=300.0 * number * FRAME)]
    samples = [sample for packet in packets for sample in packet.parameters[0]]
    assert len(samples) > 200
    for value, time in samples:
        assert value == pytest.approx(300.0 * (time - begin), abs=1e-3)


@pytest.mark.parametrize(('name', 'before', 'after', 'middle'), [
    ('psi', math.radians(350), math.radians(10), {0.0, math.tau}),
    ('psi', math.radians(10), math.radians(350), {0.0, math.tau}),
    ('phi', math.radians(170), math.radians(-170), {math.pi, -math.pi}),
    ('lon_deg', 179.0, -179.0, {180.0, -180.0}),
    ('lon_deg', -1.0, 1.0, {0.0}),
])
def test_angles_turn_the_short_way(name, before, after, middle):
    bench = Bench([(name, 100.0)])
    bench.frame(0.01, **{name: before})
    packets = bench.frame(0.02, **{name: after})
    samples = [value for packet in packets for value, _ in packet.parameters[0]]
    assert samples[0] == pytest.approx(before, abs=1e-4)
    assert any(samples[1] == pytest.approx(value, abs=1e-4) for value in middle)


def test_terse_packets_are_values_only():
    packet, = Bench([('tas', 200.0)], names=False, times=False).frame(0.01, tas=10.0)
    assert (packet.control, packet.names) == (0, None)
    assert packet.parameters == [[(0.0,), (5.0,)]]


@pytest.mark.parametrize('width', [8, 4])
def test_integers_are_raw_values_and_microseconds(width):
    packet, = Bench([('tas', 200.0)], integer_width=width).frame(0.01, tas=-10.0)
    since = 1_000_000 * ((DAY - 1) * 86400 + 6 * 3600 + 7 * 60 + 8)
    assert packet.control == 7
    assert packet.parameters == [[(0, since), (-50_000, since + 5000)]]


def test_integers_end_at_their_range():
    bench = Bench([('static_pressure', 100.0)], integer_width=4)
    bench.frame(0.01, static_pressure=1e6)
    packet, = bench.frame(0.01)
    assert packet.parameters[0][0][0] == 2**31 - 1


def test_the_other_word_order_sends_the_clock_first():
    packet, = Bench([('tas', 200.0)], word_order=WordOrder.TRUE_U64).frame(0.01)
    assert packet_time(packet.clock, packet.date) == (DAY, '06:07:08.000000')


def test_at_new_year_each_sample_counts_in_its_own_year():
    begin = datetime(2025, 12, 31, 23, 59, 59, 980_000, tzinfo=UTC)
    packets = Bench([('tas', 200.0)], program='dewesoft', begin=begin).run(6)
    assert packet_time(packets[0].date, packets[0].clock) == (365, '23:59:59.980000')
    assert packet_time(packets[1].date, packets[1].clock) == (1, '00:00:00.020000')
    times = [time for _, time in packets[0].parameters[0]]
    assert times[3] == pytest.approx(365 * 86400 - 0.005, abs=1e-6)
    assert times[4] == pytest.approx(0.0, abs=1e-6)


def test_a_freeze_leaves_a_gap_in_time_and_none_in_the_counter():
    bench = Bench([('tas', 100.0)])
    before = bench.run(6)[-1]
    after, *_ = bench.frame(2.0) + bench.run(3)
    assert after.counter == before.counter + 1
    gap = after.parameters[0][0][1] - before.parameters[0][-1][1]
    assert 1.9 < gap < 2.1


def test_a_restart_begins_to_count_anew():
    bench = Bench([('tas', 100.0)])
    bench.run(6)
    bench.frontend.close()
    bench.frontend.open(bench.world, bench.now)
    packet = bench.run(2)[0]
    assert (packet.counter, packet.total) == (0, 1)


def test_loss_and_duplicates_are_in_the_network_only():
    bench = Bench([('tas', 100.0)], faults=Faults(loss=0.3, duplicate=0.3))
    counters = [packet.counter for packet in bench.run(120)]
    assert len(set(counters)) < 180
    assert len(counters) > len(set(counters))
    assert counters == sorted(counters)


@pytest.mark.parametrize(('options', 'text'), [
    ({'parameters': []}, '0 parameters'),
    ({'parameters': [('warp', 1.0)]}, 'parameter warp: expected one of time, lat_deg'),
    ({'parameters': [('tas', 1e6)]}, 'expected one or more parameters and at most 65507 bytes'),
    ({'parameters': [('tas', 1.0)], 'program': 'dewesoft', 'integer_width': 8},
     'DEWESoft has no integer mode'),
])
def test_what_cannot_be_published_is_refused(options, text):
    with pytest.raises(ValueError, match=text):
        ulyssix.Stream(**options)


def test_the_quantities_are_the_aircrafts():
    """A turning, climbing flight: the last values sent equal JSBSim's own."""
    aircraft = Aircraft(initial=Initial(lat_deg=47.5, lon_deg=8.5, altitude_msl=1500.0))
    world = World(aircraft)
    bench = Bench(ulyssix.DEFAULT_PARAMETERS, world=world)
    simulation = SimulatedComputer([bench.frontend], lambda: world, frame_rate=60.0)
    simulation.open(0.0)
    aircraft.set_controls(elevator=0.2, aileron=0.3)
    for number in range(1, 61):
        simulation.frame(number / 60)
    packets = [Packet(data) for data, _ in bench.endpoint.collect()]
    assert len(packets) == 100
    latest = {}
    for packet in packets:
        for name, samples in zip(packet.names, packet.parameters, strict=True):
            if samples:
                latest[name] = samples[-1][0]
    foot = 0.3048
    for name, jsbsim, factor, tolerance in (
        ('lat_deg', 'position/lat-geod-deg', 1.0, 1e-4),
        ('lon_deg', 'position/long-gc-deg', 1.0, 1e-4),
        ('altitude_msl', 'position/h-sl-ft', foot, 1.0),
        ('phi', 'attitude/phi-rad', 1.0, 0.02),
        ('theta', 'attitude/theta-rad', 1.0, 0.02),
        ('psi', 'attitude/psi-rad', 1.0, 0.02),
        ('p', 'velocities/p-rad_sec', 1.0, 0.05),
        ('tas', 'velocities/vt-fps', foot, 0.5),
        ('static_pressure', 'atmosphere/P-psf', 47.880259, 30.0),
    ):
        expected = aircraft.property_value(jsbsim) * factor
        assert latest[name] == pytest.approx(expected, abs=tolerance), name
    assert abs(latest['phi']) > 0.1


def parse(*arguments):
    given = ['ulyssix', '--port', '5000', *arguments]
    return main._parser(given).parse_args(given)


def test_the_options_make_the_frontend():
    frontend = ulyssix.make_frontend(parse(
        '--program', 'dewesoft', '--no-names', '--no-times', '--word-order', 'true_u64',
        '--parameter', 'tas=10', '--parameter', 'p=200', '--host', '239.1.2.3',
        '--start-time', '2025-12-31T23:59:55'), Faults())
    assert frontend.name == 'Ulyssix publisher (dewesoft)'
    assert frontend.address == 'this host, sending to 239.1.2.3:5000'
    world = SimpleNamespace(aircraft=SimpleNamespace(state=SimpleNamespace(tas=1.0, p=2.0)))
    endpoint = MemoryEndpoint()
    frontend.endpoints = (endpoint,)
    frontend.open(world, 0.0)
    frontend.frame(0.1)
    packet = Packet(endpoint.collect()[0][0])
    assert packet.control == 0
    assert [len(samples) for samples in packet.parameters] == [1, 8]
    assert packet_time(packet.clock, packet.date) == (365, '23:59:55.000000')


@pytest.mark.parametrize('arguments', [
    ('--parameter', 'warp=1'), ('--parameter', 'tas'), ('--parameter', 'tas=0'),
    ('--start-time', 'noon'), ('--integer-width', '2'),
])
def test_options_that_make_no_sense_are_refused(arguments, capsys):
    with pytest.raises(SystemExit):
        parse(*arguments)
    assert arguments[0] in capsys.readouterr().err


def test_midnight_is_the_next_day():
    begin = datetime(2026, 3, 5, 23, 59, 59, 990_000, tzinfo=UTC)
    packets = Bench([('tas', 100.0)], begin=begin).run(4)
    assert [packet_time(p.date, p.clock)[0] for p in packets[:2]] == [DAY, DAY + 1]
    assert packets[1].parameters[0][0][1] == pytest.approx(
        timedelta(days=DAY).total_seconds(), abs=1e-6)
