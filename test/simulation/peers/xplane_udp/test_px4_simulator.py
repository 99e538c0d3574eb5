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

"""A program that flies as PX4's X-Plane module does, by docs/wire/xplane_udp.md, section 9."""

from argparse import ArgumentParser
from contextlib import closing
import math
import socket
import struct

import pytest

pytest.importorskip('jsbsim', reason='the simulators need jsbsim')

from xplane_bridge.commands.simulator import main
from xplane_bridge.simulation.aircraft.aircraft import Aircraft
from xplane_bridge.simulation.peers.faults import Faults
from xplane_bridge.simulation.peers.server import running
from xplane_bridge.simulation.peers.world import World
from xplane_bridge.simulation.peers.xplane_udp.options import add_options, make_frontend
from xplane_bridge.simulation.peers.xplane_udp.xplane import XPlane

DEADLINE = 60.0
FRAMES = 200
PX4 = ('127.0.0.1', 49_005)
P, F = 'sim/flightmodel/position/', 'sim/flightmodel/forces/'
NAMES = (
    'sim/version/xplane_internal_version', P + 'Prad', P + 'Qrad', P + 'Rrad', F + 'g_axil',
    F + 'g_side', F + 'g_nrml', P + 'local_vx', P + 'local_vy', P + 'local_vz', P + 'latitude',
    P + 'longitude', P + 'elevation', P + 'theta', P + 'phi', P + 'psi')
OVERRIDES = ('override_joystick', 'override_throttles', 'override_flightcontrol')
G = 9.80665


def dref(name, value):
    return b'DREF\0' + struct.pack('<f500s', value, name.encode())


class Px4:
    """Keeps the wings level, the nose a little up: four channels by the map of the Cessna."""

    def __init__(self):
        self.values = {}
        self.rows = {}
        self.samples = []

    def begin(self):
        """Return what it sends at its start, and every five seconds."""
        # One byte that belongs to nothing is behind the rows.
        return [b'DSEL\0' + struct.pack('<4I', 1, 4, 16, 17) + b'\x7f',
                *(b'RREF\0' + struct.pack('<II400s', 100 if code > 1 else 1, code, name.encode())
                  for code, name in enumerate(NAMES, 1)),
                *(dref(f'sim/operation/override/{name}', 1.0) for name in OVERRIDES)]

    def receive(self, data):
        """Return what it sends after this datagram."""
        if data[:4] == b'DATA':
            self.rows |= {row: values for row, *values in struct.iter_unpack('<I8f', data[5:])}
            return []
        assert data[:4] == b'RREF'
        fresh = dict(struct.iter_unpack('<If', data[5:]))
        self.values |= fresh
        if not fresh.keys() >= set(range(2, 8)):
            return []
        p, q, r, axial, side, normal = (fresh[code] for code in range(2, 8))
        self.samples.append((p, q, r, -G * axial, G * side, -G * normal))
        roll, pitch = math.radians(self.values[15]), math.radians(self.values[14])
        aileron, elevator = -0.8 * roll - 0.3 * p, 1.2 * (0.05 - pitch) - 0.5 * q
        surfaces = 'sim/flightmodel/controls/'
        return [dref('sim/flightmodel/engine/ENGN_running[0]', 1.0),
                dref('sim/flightmodel/engine/ENGN_thro_use[0]', 0.7),
                dref(surfaces + 'wing1l_ail1def', 20.0 * aileron),
                dref(surfaces + 'wing1r_ail1def', -20.0 * aileron),
                dref(surfaces + 'hstab1_elv1def', -20.0 * elevator),
                dref(surfaces + 'hstab2_elv1def', -20.0 * elevator),
                dref(surfaces + 'vstab1_rud1def', 0.0)]


def frontend_of(*arguments):
    parser = ArgumentParser()
    add_options(parser)
    return make_frontend(parser.parse_args(['--no-beacon', '--for', 'px4', *arguments]), Faults())


def flown(seconds):
    """Fly; return the program, the world, and the frames in which its 15 values came."""
    preset = frontend_of()
    assert preset.frame_rate == FRAMES
    world = World(Aircraft(dt=1 / FRAMES))
    xplane = XPlane(world, 12, data_target=preset.data_target, data_rate=preset.data_rate,
                    ticked=preset.ticked)
    px4, came = Px4(), []
    for request in px4.begin():
        xplane.handle(request, PX4)
    for frame in range(seconds * FRAMES):
        world.advance(1 / FRAMES)
        known = len(px4.samples)
        for data, to in xplane.frame((frame + 0.5) / FRAMES):
            assert to == PX4
            for request in px4.receive(data):
                xplane.handle(request, PX4)
        if len(px4.samples) > known:
            came.append(frame)
    # The odd byte makes the selection of rows one that is not understood: they are ticked.
    assert xplane.counters.malformed == 1
    return px4, world, came


def test_all_values_come_at_100_hz_evenly_and_each_is_new():
    px4, world, came = flown(4)
    assert [later - earlier for earlier, later in zip(came, came[1:], strict=False)] == [2] * 399
    assert len(set(px4.samples)) == 400
    state = world.aircraft.state
    assert px4.values[1] == 121_001.0
    assert px4.rows.keys() == {1, 4, 16, 17}
    assert abs(math.degrees(state.phi)) < 2.0
    assert math.degrees(state.theta) == pytest.approx(3.0, abs=2.0)


def test_accelerometer_and_gyroscope_are_those_of_the_aircraft():
    px4, world, came = flown(1)
    # The last values are of the frame before the last.
    assert came[-1] == FRAMES - 2
    state = world.aircraft.state
    assert px4.samples[-1] == pytest.approx(
        (state.p, state.q, state.r, state.f_x, state.f_y, state.f_z), abs=0.05)
    assert px4.values[10] == pytest.approx(-state.v_north, abs=0.05)
    assert px4.values[13] == pytest.approx(state.altitude_msl, abs=0.05)


def test_two_runs_are_equal_to_the_bit():
    (first, *_), (second, *_) = flown(2), flown(2)
    assert (first.samples, first.values, first.rows) == (
        second.samples, second.values, second.rows)


def test_it_flies_over_udp_from_one_port():
    with closing(socket.socket(socket.AF_INET, socket.SOCK_DGRAM)) as link:
        link.bind(('127.0.0.1', 0))
        link.settimeout(DEADLINE)
        target = f'127.0.0.1:{link.getsockname()[1]}'
        frontend = frontend_of('--port', '0', '--send-port', '0', '--data-target', target)
        px4 = Px4()
        with running(frontend, make_world=lambda: World(Aircraft(dt=1 / FRAMES)),
                     frame_rate=frontend.frame_rate) as server:
            for request in px4.begin():
                link.sendto(request, frontend.endpoint.address)
            while len(px4.samples) < 40 or px4.rows.keys() != {1, 4, 16, 17}:
                for request in px4.receive(link.recv(4096)):
                    link.sendto(request, frontend.endpoint.address)
            assert server.call(lambda world: world.throttle_use[0]) == pytest.approx(0.7)


def test_the_command_has_as_many_frames_as_it_needs(capsys):
    ports = ['--port', '0', '--send-port', '0', '--no-beacon', '--duration', '0.05']
    assert main(['xplane12', '--for', 'px4', *ports]) == 0
    assert ' 200 frames/s\n' in capsys.readouterr().out
    assert main(['xplane12', '--for', 'px4', '--frame-rate', '50', '--physics-rate', '400',
                 *ports]) == 0
    assert ' 50 frames/s\n' in capsys.readouterr().out
    with pytest.raises(SystemExit):
        main(['xplane12', '--physics-rate', '50'])
    assert 'not steps per second, 60..1200' in capsys.readouterr().err
