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

"""The physics behind ArduPilot's SITL, flown by a stand-in for it that knows the facts only."""

from argparse import ArgumentParser
from contextlib import closing
import json
import math
import socket
import struct

import pytest

pytest.importorskip('jsbsim', reason='the simulators need jsbsim')

from xplane_bridge.bridges.ardupilot_json.protocol import Servos
from xplane_bridge.commands.simulator import main
from xplane_bridge.simulation.aircraft.aircraft import Aircraft
from xplane_bridge.simulation.peers.ardupilot import (
    add_options,
    ArdupilotFrontend,
    make_frontend,
    Physics,
    ServoChannels,
)
from xplane_bridge.simulation.peers.endpoints import UdpEndpoint
from xplane_bridge.simulation.peers.faults import Faults
from xplane_bridge.simulation.peers.server import running
from xplane_bridge.simulation.peers.world import World

DEADLINE = 60.0
RATE = 120


def frame(count, *pwm, rate=RATE):
    return struct.pack('<HHI16H', 18458, rate, count, *pwm, *(16 - len(pwm)) * (0,))


class Sitl:
    """Keeps the wings level and the nose a little up, one frame for each answer."""

    def __init__(self, address):
        self.link = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.link.settimeout(DEADLINE)
        self.link.connect(address)
        self.pwm = (1500, 1500, 1700, 1500)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.link.close()

    def ask(self, data):
        self.link.send(data)
        return self.link.recv(65536)

    def fly(self, counts):
        answers = []
        for count in counts:
            answers.append(self.ask(frame(count, *self.pwm)))
            found = json.loads(answers[-1])
            roll, pitch, _ = found['attitude']
            self.pwm = (round(1500 - 400 * roll), round(1500 + 600 * (0.05 - pitch)), 1700, 1500)
        return answers


def flight(counts):
    frontend = ArdupilotFrontend(UdpEndpoint())
    with running(frontend), Sitl(frontend.endpoints[0].address) as sitl:
        return sitl.fly(counts)


def test_two_runs_in_lockstep_are_equal_to_the_bit():
    first, second = flight(range(360)), flight(range(360))
    assert first == second
    last = json.loads(first[-1])
    assert last['timestamp'] == pytest.approx(3.0)
    assert abs(last['attitude'][0]) < 0.2
    assert not {'no_lockstep', 'no_time_sync'} & last.keys()


def test_malformed_frames_and_strangers_are_passed_over_until_the_peer_is_silent():
    frontend = ArdupilotFrontend(UdpEndpoint())
    frontend.open(World(Aircraft()), 0.0)
    address = frontend.endpoints[0].address
    with closing(frontend), Sitl(address) as sitl, Sitl(address) as stranger:
        sitl.link.send(b'nonsense')
        sitl.link.send(frame(0))
        stranger.link.send(frame(9))
        frontend.frame(0.1)
        assert (frontend.malformed, frontend.exchange.strangers, frontend.sent) == (1, 1, 1)
        first = sitl.link.recv(65536)
        sitl.link.send(frame(1))
        frontend.frame(0.9)
        second = sitl.link.recv(65536)
        assert json.loads(second)['timestamp'] == pytest.approx(2 / RATE)
        stranger.link.send(frame(0))
        frontend.frame(2.0)
        assert stranger.link.recv(65536) == first
        stranger.link.send(frame(1))
        frontend.frame(2.1)
        assert stranger.link.recv(65536) == second


def physics():
    return Physics(World(Aircraft()), ServoChannels())


def answered(one, count, *pwm, rate=RATE):
    return one.fly(Servos(rate, count, (*pwm, *(16 - len(pwm)) * (0,))))


def test_lost_frames_are_flown_but_never_more_than_a_second():
    one = physics()
    for count, time in ((0, 1 / RATE), (3, 4 / RATE), (10_000, 4 / RATE + 1.0)):
        assert json.loads(answered(one, count))['timestamp'] == pytest.approx(time)


def test_a_flight_that_begins_again_is_the_same():
    one = physics()
    first = [answered(one, count, 1500, 1500, 1700, 1500) for count in (0, 1)]
    for count in range(2, 60):
        answered(one, count, 2000, 1500, 1700, 1500)
    one.restart()
    assert [answered(one, count, 1500, 1500, 1700, 1500) for count in (0, 1)] == first


def test_the_owners_frames_do_not_move_it():
    one = physics()
    before = answered(one, 0)
    one.world.advance(1.0)
    assert one.line() == before


@pytest.mark.parametrize(('pwm', 'controls'), [
    ((2000, 1000, 1250, 1750), {'aileron': 1.0, 'elevator': -1.0, 'throttle': 0.25,
                                'rudder': 0.5}),
    ((65535, 1, 65535, 0), {'aileron': 1.0, 'elevator': -1.0, 'throttle': 1.0})])
def test_channels_move_controls_and_no_signal_moves_none(pwm, controls):
    assert ServoChannels().controls(pwm) == controls


def test_channels_are_reversed_and_beyond_the_frame_ignored():
    channels = ServoChannels(
        {'elevator': 1, 'flaps': 2, 'rudder': 20}, frozenset({'elevator', 'flaps'}))
    assert channels.controls((2000, 1250) + 14 * (0,)) == {'elevator': -1.0, 'flaps': 0.75}


def test_a_frame_of_32_channels_moves_what_a_channel_above_16_moves():
    frontend = ArdupilotFrontend(UdpEndpoint(), ServoChannels({'aileron': 32, 'throttle': 3}))
    with running(frontend), Sitl(frontend.endpoints[0].address) as sitl:
        for count in range(60):
            answer = sitl.ask(struct.pack(
                '<HHI32H', 29569, RATE, count, 0, 0, 1700, *[0] * 28, 1900))
    found = json.loads(answer)
    assert found['timestamp'] == pytest.approx(60 / RATE)
    assert found['attitude'][0] > 0.1


def test_place_air_and_height_are_those_of_the_aircraft():
    aircraft = Aircraft()
    aircraft.set_wind(0.0, 10.0)
    one = Physics(World(aircraft), ServoChannels())
    for count in range(30):
        found = json.loads(answered(one, count, 2000, 1500, 1700, 1500))
    s = aircraft.state
    assert (found['latitude'], found['longitude'], found['altitude']) == (
        s.lat_deg, s.lon_deg, s.altitude_msl)
    # SITL makes a pressure of it, as if the air were that of the sea level.
    assert found['airspeed'] == s.eas < s.tas - 0.5
    assert found['windvane'] == {'direction': s.beta, 'speed': s.tas}
    assert found['rng_1'] == pytest.approx(
        s.altitude_agl / math.cos(s.phi) / math.cos(s.theta))
    assert found['position'][2] == pytest.approx(-s.altitude_agl, abs=5.0)


def test_an_aircraft_on_its_side_has_no_range():
    one = physics()
    one.world.aircraft.teleport(roll_deg=89.0)
    assert 'rng_1' not in json.loads(one.line())


@pytest.mark.parametrize(('channel', 'rate'), [(0, 0), (1, 1), (3, 2)])
def test_a_longer_pulse_is_right_wing_down_nose_up_nose_right(channel, rate):
    def gyro(pulse):
        one, pwm = physics(), [1500, 1500, 1700, 1500]
        pwm[channel] = pulse
        return [json.loads(answered(one, count, *pwm)) for count in range(24)][-1]['imu'][
            'gyro'][rate]

    assert gyro(1900) > gyro(1500) > gyro(1100)


def test_in_real_time_it_says_so():
    frontend = ArdupilotFrontend(UdpEndpoint(), lockstep=False)
    with running(frontend), Sitl(frontend.endpoints[0].address) as sitl:
        assert json.loads(sitl.ask(frame(0)))['no_lockstep'] == 1
        earlier, later = (json.loads(sitl.link.recv(65536))['timestamp'] for _ in range(2))
        assert later > earlier


def test_sitl_is_told_not_to_keep_to_real_time():
    parser = ArgumentParser()
    add_options(parser)
    frontend = make_frontend(parser.parse_args(['--port', '0', '--no-time-sync']), Faults())
    with running(frontend), Sitl(frontend.endpoints[0].address) as sitl:
        assert json.loads(sitl.ask(frame(0)))['no_time_sync'] == 1


def test_the_command_runs_it(capsys):
    assert main(['ardupilot', '--port', '0', '--duration', '0.2', '--flaps-channel', '5',
                 '--reverse', 'elevator']) == 0
    assert capsys.readouterr().out.startswith("physics of ArduPilot's SITL (JSON) of a c172p on ")
