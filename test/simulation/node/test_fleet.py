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

"""simulator_node with a fleet: several aircraft on one clock, each below its own namespace."""

import math

import pytest

pytest.importorskip('rclpy', reason='rclpy is not installed')
pytest.importorskip('xplane_bridge.msg', reason='the messages are not built')
pytest.importorskip('jsbsim', reason='the simulators need jsbsim')

from masked import masked
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import NavSatFix

from harness import free_port
from xplane_bridge.bridges.nodes.common.diagnostics import OK, WARN
from xplane_bridge.bridges.xpc.node import XpcNode
from xplane_bridge.msg import FlightControls
from xplane_bridge.simulation.aircraft.aircraft import Aircraft
from xplane_bridge.simulation.aircraft.initial import Initial
from xplane_bridge.simulation.node import SimulatorNode
from xplane_bridge.simulation.node.node import fail
from xplane_bridge.simulation.peers.flown import beside, fly_beside
from xplane_bridge.simulation.peers.world import World

FRAME = 1.0 / 60.0
MODELS = ('c172p', 'T37', 'c172p')
FLEET = list(MODELS[1:])


def stamp(message):
    return round((message.header.stamp.sec + message.header.stamp.nanosec * 1e-9) / FRAME)


def command_of(vehicle, frame):
    return {'elevator': 0.02 * math.sin(frame / 10.0), 'aileron': 0.05 * vehicle,
            'rudder': 0.0, 'throttle': 0.7}


def alone():
    """Return the aircraft of the fleet, each flown by itself."""
    fleet = [Aircraft(), *fly_beside(FLEET, beside(Initial(), len(FLEET)), seed=0)]
    for aircraft in fleet:
        aircraft.set_wind(5.0, 0.0)
        aircraft.set_turbulence(7.6, 3)
    return fleet


def test_in_lockstep_each_flies_as_it_does_alone_whatever_the_order(ros):
    names = ('lead', 'wing/left', 'right')
    for name in names:
        ros.subscribe(NavSatFix, f'/{name}/fix', 1000)
    ros.subscribe(Clock, '/clock', 1000)
    node = ros.start(SimulatorNode, telemetry='direct', lockstep=True, undulation=0.0,
                     command_timeout=0.0, fleet=FLEET, namespaces=list(names),
                     wind=[0.0, 5.0, 0.0], turbulence=[7.6, 3.0])
    publishers = [ros.publisher(FlightControls, f'/{name}/command/controls') for name in names]
    fleet = alone()
    for frame in range(46):
        def newest(name, at=frame):
            found = [m for m in ros.messages[f'/{name}/fix'][-5:] if stamp(m) == at]
            return found[-1] if found else None

        ros.wait_for(lambda newest=newest: all(map(newest, names)), f'frame {frame}')
        for name, aircraft in zip(names, fleet, strict=True):
            state = aircraft.state
            assert (newest(name).latitude, newest(name).longitude, newest(name).altitude) == (
                state.lat_deg, state.lon_deg, state.altitude_msl), (frame, name)
        if frame == 45:
            break
        order = (0, 1, 2) if frame % 2 else (2, 0, 1)
        for vehicle in order:
            publishers[vehicle].publish(masked(FlightControls, **command_of(vehicle, frame)))
        for vehicle, aircraft in enumerate(fleet):
            aircraft.set_controls(**command_of(vehicle, frame))
            aircraft.advance(FRAME)
    # Nobody commands for the second one: the frame waits, and the node says for whom.
    for vehicle in (0, 2):
        publishers[vehicle].publish(masked(FlightControls, **command_of(vehicle, 0)))
    ros.diagnosed('simulation', lambda level, message, _: level == WARN and message == (
        'in lockstep; waiting for aileron of wing/left, elevator of wing/left, rudder of '
        'wing/left, throttle of wing/left'), node)
    assert {stamp_of_clock(m) for m in ros.messages['/clock']} == set(range(46))
    values = ros.diagnosed('commands', lambda level, _, __: level == OK, node)[2]
    assert (values['lead: commands'], values['wing/left: commands']) == ('46', '45')


def stamp_of_clock(message):
    return round((message.clock.sec + message.clock.nanosec * 1e-9) / FRAME)


def test_for_xpc_each_is_one_of_x_planes_aircraft(ros):
    port = free_port()
    for prefix in ('', 'aircraft_1/', 'aircraft_2/'):
        ros.subscribe(NavSatFix, f'/{prefix}fix')
    simulator = ros.start(SimulatorNode, sim='xpc', port=port, fleet=FLEET)
    ros.start(XpcNode, port=port, aircraft=[0, 1, 2], command_timeout=0.0)
    ros.next('/aircraft_2/fix')
    ros.publisher(FlightControls, '/aircraft_1/command/controls').publish(
        masked(FlightControls, aileron=0.5))

    def banks():
        return simulator.server.call(
            lambda world: [aircraft.state.phi for aircraft in world.flown])

    # A jet rolls as one: beyond what the kinematic traffic does, and without moving the others.
    ros.wait_for(lambda: ros.messages['/aircraft_1/fix'] and banks()[1] > math.radians(65.0),
                 'a steep bank')
    assert max(map(abs, (banks()[0], banks()[2]))) < math.radians(30.0)


def test_each_starts_where_it_is_placed(ros):
    node = ros.start(
        SimulatorNode, telemetry='direct', fleet=['c172p', 'c172p'], activate=False,
        heading_deg=90.0, fleet_places=[-100.0, 50.0, 20.0, 300.0, 0.0, 0.0],
        fleet_headings_deg=[90.0, 270.0], fleet_airspeeds=[45.0, 55.0], plant=['mass=900'],
        fleet_plants=['uav3:mass=1000'])
    lead, behind, ahead = node.server.call(
        lambda world: [aircraft.state for aircraft in world.flown])
    # Heading east, right is south.
    metres = 111_200.0
    assert (behind.lat_deg - lead.lat_deg) * metres == pytest.approx(-50.0, abs=0.5)
    east = metres * math.cos(math.radians(lead.lat_deg))
    assert (behind.lon_deg - lead.lon_deg) * east == pytest.approx(-100.0, abs=1.0)
    assert (ahead.lon_deg - lead.lon_deg) * east == pytest.approx(300.0, abs=2.0)
    assert behind.altitude_msl - lead.altitude_msl == pytest.approx(20.0, abs=0.01)
    assert [math.degrees(one.psi) for one in (lead, behind, ahead)] == pytest.approx(
        [90.0, 90.0, 270.0], abs=0.5)
    assert [one.cas for one in (behind, ahead)] == pytest.approx([45.0, 55.0], abs=0.1)
    # What the first one differs in is its own.
    masses = node.server.call(
        lambda world: [aircraft.state.mass for aircraft in world.flown])
    assert masses[::2] == pytest.approx([900.0, 1000.0], abs=1.0)
    assert masses[1] not in (pytest.approx(900.0, abs=1.0), pytest.approx(1000.0, abs=1.0))


@pytest.mark.parametrize(('parameters', 'sentence'), [
    ({'fleet': ['c172p'] * 20}, 'parameter fleet: 21 aircraft with the first one are too many'),
    ({'fleet': ['nosuch'], 'telemetry': 'direct'}, 'nosuch'),
    ({'fleet': ['c172p'], 'sim': 'fdmdata'}, 'parameter fleet: fdmdata shows one aircraft only'),
    ({'fleet': ['c172p'], 'fleet_places': [0.0, 50.0], 'telemetry': 'direct'},
     'fleet_places: expected 3 numbers, three for each of fleet, got 2'),
    ({'fleet': ['c172p'], 'fleet_plants': ['uav3:mass=1000'], 'telemetry': 'direct'},
     'fleet_plants: got uav3:mass=1000, expected NAME:name=value, with a name of uav2'),
    ({'fleet': ['c172p'], 'fleet_plants': ['uav2:mess=1000'], 'telemetry': 'direct'},
     "parameter fleet_plants: plant: there is no 'mess'; did you mean mass?"),
    ({'fleet': ['c172p'], 'namespaces': ['a', 'a'], 'telemetry': 'direct'},
     "namespaces: 'a' is there more than once"),
    ({'fleet': ['c172p'], 'namespaces': ['a', '2b'], 'telemetry': 'direct'},
     "namespaces: '2b' is no namespace below that of the node"),
    ({'fleet': ['c172p'], 'namespaces': ['a', '/b'], 'telemetry': 'direct'},
     "namespaces: '/b' is no namespace below that of the node"),
    ({'fleet': ['c172p'], 'namespaces': ['a', 'a/command'], 'telemetry': 'direct'},
     "namespaces: 'a/command' is not possible: below command others take their commands"),
    ({'fleet': ['c172p'], 'namespaces': ['a'], 'telemetry': 'direct'},
     'namespaces: expected 2, one for each aircraft, got 1'),
])
def test_a_fleet_that_cannot_be_stops_configure_with_a_sentence(ros, parameters, sentence):
    assert sentence in ros.start(SimulatorNode, port=free_port(), **parameters).failed


def test_engines_fail_by_the_names_of_the_aircraft():
    world = World(Aircraft('T37'), fleet=fly_beside(['T37', 'T37'], beside(
        Initial(), 2), seed=0))
    names = ('uav1', 'uav2', 'uav3')

    def failed():
        return [sorted(aircraft.failed_engines) for aircraft in world.flown]

    fail(world, names, (1,), ('uav1:0', 'uav3', 'uav3:1'))
    assert failed() == [[0, 1], [], [0, 1]]
    for wrong, sentence in (
            ('uav4', 'got uav4, expected NAME or NAME:ENGINE, with a name of uav1, uav2, uav3'),
            ('uav2:', 'got uav2:'), ('uav2:-1', 'got uav2:-1'), ('', 'expected NAME'),
            ('uav2:2', 'there is no engine 2: this aircraft has 2')):
        with pytest.raises(ValueError, match='engine') as error:
            fail(world, names, False, ('uav1', wrong))
        assert sentence in str(error.value)
        assert failed() == [[0, 1], [], [0, 1]]
    fail(world, names, False, ())
    assert failed() == [[], [], []]
