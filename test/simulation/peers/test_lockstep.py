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

"""Lockstep: first in simulated time, then over real sockets as fast as possible."""

import random
import socket
import struct

import pytest

pytest.importorskip('jsbsim', reason='needs JSBSim (pip install jsbsim)')

from memory_endpoint import MemoryEndpoint

from xplane_bridge.simulation.aircraft.aircraft import Aircraft
from xplane_bridge.simulation.peers.endpoints import UdpEndpoint
from xplane_bridge.simulation.peers.lockstep import Lockstep
from xplane_bridge.simulation.peers.server import Server, SimulatedComputer
from xplane_bridge.simulation.peers.world import World
from xplane_bridge.simulation.peers.xpc import XpcFrontend
from xplane_bridge.simulation.peers.xplane_udp.frontend import XplaneUdpFrontend

CLIENT = ('127.0.0.1', 50000)
PERIOD = 1.0 / 60.0
DEADLINE = 60.0

# Requests, byte by byte.
GETP = b'GETP\0\0'


def ctrl(elevator=0.0, aileron=0.0, rudder=0.0, throttle=0.6):
    """Return a CTRL."""
    return b'CTRL\0' + struct.pack(
        '<4fbfBf', elevator, aileron, rudder, throttle, -1, -998.0, 0, -998.0)


def dref(name, value):
    """Return a DREF of X-Plane's own UDP."""
    return b'DREF\0' + struct.pack('<f', value) + name.encode().ljust(500, b'\0')


class Run:
    """A simulation in lockstep, in simulated time."""

    def __init__(self, make_frontend=XpcFrontend, model='c172p'):
        self.endpoint = MemoryEndpoint()
        self.simulation = SimulatedComputer(
            [make_frontend(self.endpoint)], lambda: World(Aircraft(model)),
            lockstep=Lockstep(self.endpoint))
        self.now = 0.0
        self.simulation.open(self.now)

    def send(self, *datagrams):
        """Deliver datagrams, and run frames as Server does; return the replies' tags."""
        for datagram in datagrams:
            self.endpoint.deliver(datagram, CLIENT, self.now)
        self.simulation.listen(self.now)
        while self.simulation.ready:
            self.simulation.frame(self.now)
        return [data[:4] for data, _ in self.endpoint.collect()]

    def hold(self):
        """Let a frame's time pass."""
        self.now += PERIOD
        self.simulation.frame(self.now)
        return [data[:4] for data, _ in self.endpoint.collect()]

    @property
    def frames(self):
        """Return how many frames the world has advanced."""
        return round(self.simulation.world.total_running_time / PERIOD)


def test_time_stands_until_commanded_and_requests_are_answered_meanwhile():
    run = Run()
    for _ in range(3):
        run.hold()
        assert run.send(GETP) == [b'POSI']
    assert run.frames == 0
    run.send(ctrl())
    assert run.frames == 1
    run.hold()
    assert run.frames == 1


def test_a_glider_waits_for_no_throttle():
    run = Run(model='SGS')
    for frame in range(3):
        run.send(GETP)
        run.send(ctrl())
        assert run.frames == frame + 1


def test_a_command_to_a_state_that_nobody_knows_yet_does_not_count():
    run = Run()
    run.send(ctrl())
    assert run.frames == 0
    run.send(GETP)
    run.send(ctrl(), ctrl())
    assert run.frames == 1
    run.send(GETP)
    run.send(ctrl())
    assert run.frames == 2


def test_what_is_asked_behind_a_command_is_answered_by_the_next_frame():
    run = Run()
    run.send(GETP)
    longitudes = []
    for _ in range(3):
        run.endpoint.deliver(ctrl(), CLIENT, run.now)
        run.endpoint.deliver(GETP, CLIENT, run.now)
        run.simulation.listen(run.now)
        assert run.endpoint.collect() == []
        run.simulation.frame(run.now)
        (reply, _), = run.endpoint.collect()
        longitudes.append(struct.unpack_from('<d', reply, 14)[0])
        assert longitudes[-1] == run.simulation.world.aircraft.state.lon_deg
    assert longitudes == sorted(set(longitudes))
    assert run.frames == 3


def test_surfaces_alone_are_no_whole_command():
    run = Run()
    run.send(GETP)
    run.send(ctrl(throttle=-998.0))
    assert run.frames == 0
    assert run.simulation.lockstep.missing(run.simulation.world) == {'throttle'}
    run.send(ctrl())
    assert run.frames == 1


def test_a_command_in_four_datagrams_is_waited_for():
    run = Run(lambda endpoint: XplaneUdpFrontend(endpoint, 12))
    rref = b'RREF\0' + struct.pack('<ii', 99, 1) + b'sim/time/paused'.ljust(400, b'\0')
    run.send(rref)
    assert run.hold() == [b'RREF']
    yoke = [dref(f'sim/joystick/yoke_{axis}_ratio', 0.0) for axis in ('pitch', 'roll', 'heading')]
    for datagram in yoke:
        assert run.send(datagram) == []
    assert run.frames == 0
    # The new frame is sent at once.
    throttle = dref('sim/cockpit2/engine/actuators/throttle_ratio_all', 0.6)
    assert run.send(throttle) == [b'RREF']
    assert run.frames == 1


def test_x_plane_9_may_be_flown_by_its_trims():
    run = Run(lambda endpoint: XplaneUdpFrontend(endpoint, 9, data_target=CLIENT, data_rate=60.0))
    run.send(b'DSEL\0' + struct.pack('<i', 20))
    assert run.hold() == [b'DATA']
    data = b'DATA\0' + struct.pack('<i8f', 13, 0.0, 0.0, 0.0, *[-999.0] * 5)
    run.send(data)
    assert run.simulation.lockstep.missing(run.simulation.world) == {'throttle'}
    run.send(b'DATA\0' + struct.pack('<i8f', 25, *[0.6] * 8))
    assert run.frames == 1


def test_paused_it_answers_and_goes_on_with_the_command_that_came():
    run = Run()
    run.send(GETP)
    run.simulation.paused = True
    assert run.send(ctrl(elevator=0.5), GETP) == [b'POSI']
    assert run.hold() == []
    assert run.frames == 0
    run.simulation.paused = False
    assert run.send() == []
    assert run.frames == 1
    assert run.simulation.world.aircraft.state.elevator == 0.5


def test_it_pauses_at_a_frame():
    run = Run()
    run.simulation.pause_at = 3 * PERIOD
    for _ in range(6):
        run.send(GETP)
        run.send(ctrl())
    assert run.frames == 3
    assert run.simulation.held
    run.simulation.pause_at = 4 * PERIOD
    run.send()
    assert run.frames == 4


def test_a_step_needs_a_pause_and_no_command():
    run = Run()
    with pytest.raises(ValueError, match='not paused'):
        run.simulation.step(run.now)
    run.simulation.paused = True
    run.simulation.step(run.now)
    assert run.frames == 1


def test_a_reset_waits_for_a_new_command():
    run = Run()
    run.send(GETP)
    start = run.simulation.world.aircraft.state.lon_deg
    for _ in range(5):
        run.send(ctrl(), GETP)
    run.simulation.paused = True
    run.send(ctrl())
    run.simulation.reset_flight()
    run.simulation.paused = False
    run.send()
    assert run.frames == 5
    assert run.simulation.world.aircraft.state.lon_deg == start


def test_an_aircraft_that_is_put_elsewhere_waits_for_a_new_command():
    run = Run()
    run.send(GETP)
    run.simulation.change(lambda world: world.trim_at(47.4, 8.5, 2000.0, 0.0, 50.0))
    run.send()
    assert run.frames == 0
    # Control changes by the trim are not commands either.
    run.send(GETP)
    assert run.frames == 0
    run.send(ctrl())
    assert run.frames == 1


@pytest.mark.parametrize('speed', [0.0, -1.0, float('inf'), float('nan')])
def test_bad_speeds_are_refused(speed):
    with pytest.raises(ValueError, match='speed'):
        Server(Run().simulation, speed)


# Over real sockets


def fly(seed, frames, pauses):
    """Fly with a proportional roll controller that stalls at random; return all positions."""
    chance = random.Random(pauses)

    def make_world():
        world = World(Aircraft(seed=seed))
        world.aircraft.set_turbulence(15.0, 5)
        return world

    endpoint = UdpEndpoint()
    server = Server(
        SimulatedComputer([XpcFrontend(endpoint)], make_world, lockstep=Lockstep(endpoint)))
    server.start()
    replies = []
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
            client.settimeout(DEADLINE)
            client.connect(endpoint.address)
            client.send(GETP)
            for _ in range(frames):
                replies.append(client.recv(4096))
                roll, = struct.unpack_from('<f', replies[-1], 34)
                if chance.random() < 0.02:
                    server.wait(chance.uniform(0.0, 0.03))
                client.send(ctrl(aileron=-0.02 * roll))
                client.send(GETP)
    finally:
        server.stop()
    assert server.error is None
    return replies


def test_the_same_seed_gives_the_same_flight_whatever_the_controller_s_pace():
    first = fly(seed=7, frames=600, pauses=1)
    assert fly(seed=7, frames=600, pauses=2) == first
    assert len(set(first)) == 600
    assert fly(seed=8, frames=100, pauses=1) != first[:100]
