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

"""Weather, failures, sensors and their faults in what SITL is told, and the record of it."""

import json
import math
import os
import sys
from types import SimpleNamespace

import pytest

pytest.importorskip('jsbsim', reason='the simulators need jsbsim')

from sitl_peer import frame

from xplane_bridge.bridges.ardupilot_json.protocol import decode_servos
from xplane_bridge.commands import dissect, simulator
from xplane_bridge.laboratory.flights.disturbed import happens
from xplane_bridge.laboratory.flights.scenario.scenario import ScenarioError
from xplane_bridge.simulation.aircraft.initial import Initial
from xplane_bridge.simulation.peers.ardupilot import Physics, ServoChannels
from xplane_bridge.simulation.peers.ardupilot.record import Record
from xplane_bridge.simulation.peers.world import World

RATE = 120
LEVEL = (1500, 1500, 1700, 1500)
# SITL's driver of range finders takes it for nearer than its minimum.
NOTHING = -1.0


def scenario(folder, *events, **more):
    path = folder / 'happens.yaml'
    path.write_text(json.dumps({'duration': 60.0, 'events': events, **more}))
    return str(path)


class Flight:
    """Controls that are held, as one frame follows the other."""

    def __init__(self, found, seed=0, record=None):
        self.aircraft = found.aircraft('c172p', found.start(Initial()), seed=seed)
        self.physics = Physics(World(self.aircraft), ServoChannels())
        self.record, self.count = record, 0

    def until(self, seconds, *pwm):
        lines = []
        while self.physics.world.flight_time < seconds - 1e-6:
            servos = decode_servos(frame(self.count, *(pwm or LEVEL)))
            lines.append(self.physics.fly(servos))
            if self.record is not None:
                self.record.add(servos, lines[-1], self.physics.world.flight_time)
            self.count += 1
        return [json.loads(line) for line in lines]


def test_it_starts_and_is_disturbed_as_a_scenario_says(tmp_path):
    found = happens(scenario(
        tmp_path, {'at': 0.0, 'wind': [6.0, 2.0, 0.0]}, {'at': 0.5, 'engage': True},
        {'at': 1.0, 'gust': {'axis': 'vertical', 'amplitude': 5.0, 'length': 30.0}},
        {'at': 2.0, 'engine_failed': True},
        initial={'altitude': 900.0, 'heading_deg': 180.0, 'airspeed': 50.0}))
    assert found.left == ('engage at 0.5 s',)
    flight = Flight(found)
    # The wind is that of the air: where it goes.
    told = flight.until(1.0)[-1]
    assert told['velocity_wind'] == pytest.approx([2.0, 6.0, 0.0], abs=1e-6)
    assert told['attitude'][2] == pytest.approx(math.pi, abs=0.2)
    assert told['altitude'] == pytest.approx(900.0, abs=60.0)
    assert flight.aircraft.state.engines[0].running
    told = flight.until(2.0)[-1]
    assert told['velocity_wind'][2] == pytest.approx(-5.0)
    flight.until(3.0)
    assert not flight.aircraft.state.engines[0].running
    # SITL that is started again begins with the same.
    flight.physics.restart()
    flight.count = 0
    assert flight.until(1.0)[-1]['velocity_wind'] == pytest.approx([2.0, 6.0, 0.0], abs=1e-6)
    assert flight.aircraft.state.engines[0].running


def test_weather_needs_no_scenario_and_is_the_same_for_a_seed():
    def flown(seed):
        found = happens(wind=[0.0, 0.0, 0.0], turbulence=[15.0, 4.0])
        return Flight(found, seed).until(2.0)

    assert flown(3) == flown(3) != flown(4)


def test_aircraft_beside_it_fly_in_the_same_weather(tmp_path):
    found = happens(scenario(tmp_path, {'at': 0.0, 'engine_failed': True}), wind=[4.0, 0.0, 0.0])
    first, other = (make('c172p', Initial()) for make in (found.aircraft, found.other))
    for one in (first, other):
        one.advance(0.5)
        assert one.wind == (0.0, 4.0, 0.0)
    assert not first.state.engines[0].running
    assert other.state.engines[0].running


def test_perfect_sensors_deliver_the_truth():
    found = happens(sensors='perfect')
    told = Flight(found).until(1.0, 1600, 1550, 1700, 1500)[-1]
    true = Flight(happens()).until(1.0, 1600, 1550, 1700, 1500)[-1]
    for name in ('airspeed', 'rng_1'):
        assert told.pop(name) == pytest.approx(true.pop(name), rel=1e-5)
    for name in ('gyro', 'accel_body'):
        assert told['imu'].pop(name) == pytest.approx(true['imu'].pop(name), abs=1e-9)
    assert told == true


def test_sensors_have_errors_and_a_restart_has_the_same():
    flight = Flight(happens(sensors='ardupilot'))
    true = Flight(happens()).until(1.0)[-1]
    first = flight.until(1.0)
    told = first[-1]
    assert 1e-5 < abs(told['imu']['gyro'][0] - true['imu']['gyro'][0]) < 0.01
    assert 1e-4 < abs(told['imu']['accel_body'][2] - true['imu']['accel_body'][2]) < 0.1
    assert 1e-4 < abs(told['airspeed'] - true['airspeed']) < 1.0
    # What SITL makes itself of the truth stays the truth.
    for name in ('position', 'attitude', 'velocity', 'latitude', 'altitude', 'timestamp'):
        assert told[name] == true[name]
    flight.physics.restart()
    flight.count = 0
    assert flight.until(1.0) == first


def test_sensors_break_and_are_repaired(tmp_path):
    flight = Flight(happens(scenario(
        tmp_path, {'at': 1.0, 'pitot_blocked': True}, {'at': 1.0, 'range_finder_failed': True},
        {'at': 3.0, 'pitot_blocked': False}, {'at': 3.0, 'range_finder_failed': False},
        sensors='ardupilot')))
    assert flight.until(1.0)[-1]['rng_1'] > 100.0
    # Nose down: it gets faster, and a blocked tube falls behind.
    dived = flight.until(3.0, 1500, 1200, 2000, 1500)[-1]
    assert dived['rng_1'] == NOTHING
    assert dived['airspeed'] < flight.aircraft.state.eas - 3.0
    repaired = flight.until(3.5, 1500, 1500, 1700, 1500)[-1]
    assert repaired['airspeed'] == pytest.approx(flight.aircraft.state.eas, abs=1.0)
    assert repaired['rng_1'] > 100.0


@pytest.mark.parametrize(('event', 'said'), [
    ({'controls': {'elevator': 0.1}, 'for': 1.0}, 'another program flies here'),
    ({'link_down': True}, 'another program flies here'),
    ({'gnss_outage': True}, 'SIM_GPS1_ENABLE'),
    ({'pitot_blocked': True}, 'pitot_blocked at 2 s needs sensors')])
def test_what_cannot_happen_is_refused_with_a_sentence(tmp_path, event, said):
    with pytest.raises(ScenarioError, match=said):
        happens(scenario(tmp_path, {'at': 2.0, **event}))


def test_the_command_says_what_is_not_flown(tmp_path, capsys):
    path = scenario(tmp_path, {'at': 1.0, 'engage': True}, {'at': 2.0, 'engine_failed': True},
                    initial={'model': 'c310'})
    assert simulator.main([
        'ardupilot', '--port', '0', '--duration', '0.1', '--scenario', path, '--wind', '3', '-2',
        '0', '--turbulence', '7.6', '3', '--sensors', 'consumer']) == 0
    left, ready, _ = capsys.readouterr().out.splitlines()
    assert left == f'scenario {path}: engage at 1 s is left to who flies'
    assert ' of a c310 on ' in ready
    assert simulator.main(['xpc', '--port', '0', '--scenario', scenario(
        tmp_path, {'at': 1.0, 'static_blocked': True}, sensors='consumer')]) == 1
    assert 'static_blocked at 1 s needs sensors' in capsys.readouterr().err


def recorded(path, flown=1.0, seconds=None, seed=0, late=None):
    record = Record(path, seconds)
    record.open()
    flight = Flight(happens(turbulence=[15.0, 4.0]), seed, record)
    flight.until(min(flown, 0.5))
    flight.until(flown, *(late or LEVEL))
    return path


@pytest.fixture
def dissected(monkeypatch, capsys):
    def dissected(file, *arguments):
        with file.open('rb') as stream:
            monkeypatch.setattr(sys, 'stdin', SimpleNamespace(buffer=stream))
            code = dissect.main(['ardupilot_json', *map(str, arguments)])
        return code, [json.loads(line) for line in capsys.readouterr().out.splitlines()]

    return dissected


@pytest.fixture
def compared(dissected):
    def compared(first, second):
        code, (found,) = dissected(second, '--expect', first)
        return code, found

    return compared


def test_records_of_equal_flights_are_equal_to_the_last_byte(tmp_path, compared):
    first, second = (recorded(tmp_path / f'{n}.pcap', flown, 0.75)
                     for n, flown in (('first', 1.0), ('second', 0.8)))
    assert first.read_bytes() == second.read_bytes()
    assert compared(first, second) == (0, {'equal': 2 * 90})


def test_a_record_is_read_by_dissect(tmp_path, dissected):
    code, shown = dissected(recorded(tmp_path / 'first.pcap', 0.1))
    assert code == 0
    assert [one['message'] for one in shown] == 12 * ['servos', 'report']
    assert [one['count'] for one in shown[::2]] == list(range(12))


def test_the_first_difference_is_named_with_its_frame(tmp_path, compared):
    first = recorded(tmp_path / 'first.pcap')
    commanded = recorded(tmp_path / 'commanded.pcap', late=(1500, 1501, 1700, 1500))
    assert compared(first, commanded) == (1, {
        'datagram': 121, 'after': {'from': 'peer', 'message': 'report'}, 'field': 'pwm[1]',
        'expected': 1500, 'got': 1501})
    code, found = compared(first, recorded(tmp_path / 'seed.pcap', seed=2))
    assert (code, found['datagram'], found['after']['count']) == (1, 2, 0)
    assert found['expected'] != found['got']
    code, found = compared(first, recorded(tmp_path / 'short.pcap', 0.9))
    assert (code, found['datagram'], found['got']) == (1, 2 * 108 + 1, 'the end')


def test_what_is_no_capture_is_said(tmp_path, compared):
    first = recorded(tmp_path / 'first.pcap', 0.1)
    other = tmp_path / 'other'
    other.write_text('nothing of the kind')
    os.mkfifo(tmp_path / 'fifo')
    for one in (other, tmp_path / 'fifo', tmp_path / 'none'):
        code, found = compared(one, first)
        assert (code, list(found)) == (1, ['error'])


def test_a_record_overwrites_nothing_and_says_why_it_cannot_be_written(tmp_path, capsys):
    path = recorded(tmp_path / 'first.pcap', 0.1)
    kept = path.read_bytes()
    (tmp_path / 'link.pcap').symlink_to(tmp_path / 'elsewhere')
    for given, said in (
            (path, 'first.pcap exists; --record writes elsewhere'),
            (tmp_path / 'link.pcap', 'link.pcap exists; --record writes elsewhere'),
            (tmp_path / 'none' / 'a.pcap', 'a.pcap cannot be written: No such file')):
        assert simulator.main([
            'ardupilot', '--port', '0', '--duration', '0.1', '--record', str(given)]) == 1
        assert said in capsys.readouterr().err
    new = str(tmp_path / 'new.pcap')
    assert simulator.main(['ardupilot', '--no-lockstep', '--record', new]) == 1
    assert '--record is for flights in lockstep' in capsys.readouterr().err
    assert path.read_bytes() == kept
    assert not (tmp_path / 'elsewhere').exists()


def test_a_full_disk_ends_it_with_a_sentence(tmp_path):
    record = Record(tmp_path / 'first.pcap')
    record.open()
    with open('/dev/full', 'wb') as full:
        os.dup2(full.fileno(), record._file._stream.fileno())
    with pytest.raises(OSError, match=r'first.pcap cannot be written: the disk is full'):
        Flight(happens(), record=record).until(0.1)
    with pytest.raises(OSError, match='the disk is full'):
        record._file.close()
