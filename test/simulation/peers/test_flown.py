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

"""Other aircraft with a flight model: X-Plane's numbers 1, 2, ..., flown by JSBSim."""

import math
import struct

import pytest

pytest.importorskip('jsbsim', reason='needs JSBSim (pip install jsbsim)')

from memory_endpoint import MemoryEndpoint

from xplane_bridge.simulation.aircraft.aircraft import Aircraft
from xplane_bridge.simulation.aircraft.initial import Initial
from xplane_bridge.simulation.peers.flown import beside, fly_beside
from xplane_bridge.simulation.peers.lockstep import Lockstep
from xplane_bridge.simulation.peers.server import SimulatedComputer
from xplane_bridge.simulation.peers.standard.entities import Entities, EntityMotion, ROBOT
from xplane_bridge.simulation.peers.world import World
from xplane_bridge.simulation.peers.xpc import XpcFrontend
from xplane_bridge.simulation.peers.xplane.datarefs import DatarefStore

CLIENT = ('127.0.0.1', 50000)
PERIOD = 1.0 / 60.0
START = Initial(heading_deg=0.0)
PLANE = 'sim/multiplayer/position/plane1_'


def world_of(*models):
    return World(Aircraft(initial=START), fleet=fly_beside(
        models, beside(START, len(models)), seed=0))


def ctrl(number, elevator, aileron, rudder, throttle):
    """Return a CTRL of aircraft ``number``."""
    return b'CTRL\0' + struct.pack(
        '<4fbfBf', elevator, aileron, rudder, throttle, -1, -998.0, number, -998.0)


class Run:
    """A simulation in lockstep, in simulated time."""

    def __init__(self, *models):
        self.endpoint = MemoryEndpoint()
        self.simulation = SimulatedComputer(
            [XpcFrontend(self.endpoint)], lambda: world_of(*models),
            lockstep=Lockstep(self.endpoint))
        self.simulation.open(0.0)
        self.simulation.reading = True

    def send(self, *datagrams):
        """Deliver datagrams, and run the frames that they complete; return how many."""
        before = self.simulation.frames
        for datagram in datagrams:
            self.endpoint.deliver(datagram, CLIENT, 0.0)
        self.simulation.listen(0.0)
        while self.simulation.ready:
            self.simulation.frame(0.0)
        self.endpoint.collect()
        return self.simulation.frames - before


def test_it_flies_as_it_does_alone_to_the_last_bit():
    world = world_of('T37', 'c172p')
    alone, = fly_beside(['T37'], beside(START, 1), seed=0)
    store = DatarefStore(world)
    for frame in range(180):
        elevator, throttle = 0.1 * math.sin(frame / 20.0), 0.8
        store.write(PLANE + 'yolk_pitch', [elevator], checked=False)
        store.write(PLANE + 'throttle', [throttle] * 8, checked=False)
        alone.set_controls(elevator=elevator, throttle=throttle)
        world.advance(PERIOD)
        alone.advance(PERIOD)
    assert world.flown[1].state == alone.state
    assert abs(alone.state.theta) > 0.01
    # What X-Plane shows of it.
    assert store.read(PLANE + 'lat').values[0] == alone.state.lat_deg
    assert store.read(PLANE + 'el').values[0] == alone.state.altitude_msl
    assert store.read(PLANE + 'the').values[0] == pytest.approx(
        math.degrees(alone.state.theta), abs=0.1)
    assert store.read(PLANE + 'throttle').values[0] == pytest.approx(0.8, abs=1e-6)
    assert store.read('sim/multiplayer/controls/yoke_pitch_ratio').values[1] == pytest.approx(
        alone.state.elevator, abs=1e-6)


def test_a_fleet_begins_abreast_and_a_reset_begins_it_again():
    world = world_of('c172p', 'c172p')
    begun = [aircraft.state for aircraft in world.flown]
    east = [world.compute_local(n).position[0] - world.local.position[0] for n in (1, 2)]
    assert east == pytest.approx([150.0, -150.0], abs=0.1)
    assert len(world.others) == 19
    world.others[0].yoke_roll = 1.0
    world.freeze(2, True)
    for _ in range(60):
        world.advance(PERIOD)
    assert world.others[0].phi > 0.1
    assert world.flown[2].state == begun[2]
    world.freeze(2, False)
    world.reset_flight()
    assert [aircraft.state for aircraft in world.flown] == begun


def test_each_control_of_one_moves_it_and_nothing_else():
    world = world_of('T37')
    store = DatarefStore(world)
    for name, value in (('yolk_roll', 0.5), ('yolk_yaw', -0.25), ('flap_ratio', 0.5),
                        ('speedbrake_ratio', 1.0)):
        store.write(PLANE + name, [value], checked=False)
    store.write(PLANE + 'gear_deploy', [1.0] * 10, checked=False)
    world.advance(15.0)
    state = world.flown[1].state
    assert (state.aileron, state.rudder) == (0.5, -0.25)
    assert state.flaps == pytest.approx(0.5, abs=0.01)
    assert state.gear == pytest.approx(1.0, abs=0.01)
    assert state.speedbrake == pytest.approx(1.0, abs=0.01)
    assert store.read(PLANE + 'gear_deploy').values[0] == pytest.approx(1.0, abs=0.01)
    assert world.aircraft.state.aileron == 0.0
    assert world.others[1].yoke_roll == 0.0


def test_a_frame_waits_for_the_commands_of_each():
    run = Run('c172p', 'c172p')
    commands = [ctrl(n, 0.0, 0.1 * n, 0.0, 0.6) for n in range(3)]
    assert run.send(b'GETP\0\0', *commands[:2]) == 0
    world = run.simulation.world
    assert run.simulation.lockstep.missing(world) == {
        f'{name} of aircraft 2' for name in ('elevator', 'aileron', 'rudder', 'throttle')}
    assert run.send(commands[2]) == 1
    # Whatever their order.
    flown = []
    for order in ((0, 1, 2), (2, 0, 1)):
        run = Run('c172p', 'c172p')
        for _ in range(60):
            assert run.send(b'GETP\0\0', *(commands[n] for n in order)) == 1
        flown.append([aircraft.state for aircraft in run.simulation.world.flown])
    assert flown[0] == flown[1]
    assert flown[0][2].phi > flown[0][1].phi > 0.01


def test_each_is_an_entity_that_can_be_placed_and_trimmed():
    world = world_of('T37')
    entities = Entities(world, (world.aircraft.state.lat_deg, world.aircraft.state.lon_deg, 0.0),
                        'world')
    assert entities.info('aircraft_1').category == ROBOT
    assert entities.info('aircraft_1').tags == ('aircraft', 'flown', 'T37')
    assert 'kinematics' in entities.info('aircraft_2').description
    up = entities.motion('aircraft_1').position[2]
    north = EntityMotion((500.0, 0.0, 2000.0), (math.sqrt(0.5), 0.0, 0.0, math.sqrt(0.5)),
                         (0.0, 100.0, 0.0))
    entities.place('aircraft_1', north, trimmed=True)
    assert entities.motion('aircraft_1').position == pytest.approx((500.0, 0.0, 2000.0), abs=0.5)
    assert up == pytest.approx(1500.0, abs=1.0)
    world.advance(5.0)
    state = world.flown[1].state
    assert state.altitude_msl == pytest.approx(2000.0, abs=3.0)
    assert math.hypot(state.v_north, state.v_east) == pytest.approx(100.0, abs=1.0)


def test_more_than_x_plane_has_are_refused():
    aircraft = Aircraft()
    with pytest.raises(ValueError, match='21 aircraft are too many: X-Plane has 20'):
        World(aircraft, fleet=[aircraft] * 20)
