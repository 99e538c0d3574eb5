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

"""A fleet as fleet.launch.py brings it up: what is started, and what flies."""

from contextlib import ExitStack
from dataclasses import replace
from itertools import combinations
import math
import signal
import sys
from types import SimpleNamespace

import pytest
import yaml

pytest.importorskip('rclpy', reason='rclpy is not installed')
pytest.importorskip('xplane_bridge.msg', reason='the messages are not built')
pytest.importorskip('jsbsim', reason='the simulators need jsbsim')

from nav_msgs.msg import Odometry
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import Imu

from harness import free_port, process
from xplane_bridge.bridges.conversions import axes
from xplane_bridge.bridges.nodes.common.diagnostics import WARN
from xplane_bridge.bridges.xpc.node import XpcNode
from xplane_bridge.common.data import folder
from xplane_bridge.laboratory.nodes.autopilot import AutopilotNode
from xplane_bridge.laboratory.nodes.fleet import fleet, FleetArguments, grid, seen_in_rviz
from xplane_bridge.laboratory.nodes.flight.bridges import ros_arguments
from xplane_bridge.laboratory.nodes.flight.processes import executable_path
from xplane_bridge.laboratory.nodes.launch_arguments import (
    checked_arguments,
    NodeArguments,
    SensorArguments,
)
from xplane_bridge.laboratory.sensors.topics import moved_truth
from xplane_bridge.simulation.node import SimulatorNode

FRAME = 1.0 / 60.0
MAKERS = {'simulator_node': SimulatorNode, 'xpc_node': XpcNode, 'autopilot_node': AutopilotNode}


def wanted(**texts):
    """Return what the launch file starts with these arguments."""
    return fleet(checked_arguments(
        'fleet.launch.py', texts, (FleetArguments, SensorArguments, NodeArguments)))


def starts(ros, one):
    """Start a wanted node in this process."""
    parameters = {
        name.replace('.', '__'): list(value) if isinstance(value, tuple) else value
        for name, value in {**one.defaults, **one.parameters}.items() if value != ()}
    # Its own /clock is not heard in this process any faster.
    return ros.start(MAKERS[one.executable], namespace=one.namespace or None,
                     **{**parameters, 'use_sim_time': False})


def seconds(stamp):
    return stamp.sec + stamp.nanosec * 1e-9


# What is started.

def test_five_with_topics_of_their_own_and_one_clock():
    simulator, autopilots = wanted(count='5', engage='true')
    names = ('uav1', 'uav2', 'uav3', 'uav4', 'uav5')
    assert simulator.executable == 'simulator_node'
    assert simulator.parameters['namespaces'] == names
    assert len(simulator.parameters['fleet']) == 4
    assert (simulator.parameters['telemetry'], simulator.parameters['publish_clock']) == (
        'direct', True)
    assert (autopilots.executable, autopilots.namespace) == ('autopilot_node', '')
    assert autopilots.parameters['namespaces'] == names
    assert autopilots.parameters['gains_of'] == ('c172p',) * 5
    assert autopilots.parameters['engage']
    assert autopilots.parameters['use_sim_time']


def test_each_has_a_process_of_its_own_if_that_is_wanted():
    _, *autopilots = wanted(count='3', processes='each', aircraft='[c172p, T37, c310]')
    assert [(one.namespace, one.parameters['gains_of']) for one in autopilots] == [
        ('uav1', ('c172p',)), ('uav2', ('T37',)), ('uav3', ('c310',))]
    assert not any('namespaces' in one.parameters for one in autopilots)


def test_one_bridge_for_the_aircraft_of_one_x_plane():
    simulator, bridge, autopilots = wanted(
        count='3', sim='xpc', port='50000', lockstep='true', aircraft='[c172p, T37, c310]')
    assert (simulator.parameters['model'], simulator.parameters['fleet']) == (
        'c172p', ('T37', 'c310'))
    assert bridge.executable == 'xpc_node'
    assert bridge.parameters['aircraft'] == (0, 1, 2)
    assert bridge.parameters['namespaces'] == ('uav1', 'uav2', 'uav3')
    assert simulator.parameters['port'] == bridge.parameters['port'] == 50000
    assert not simulator.parameters['publish_clock']
    assert bridge.parameters['stamp'] == 'simulator'
    assert all(one.parameters['lockstep'] for one in (simulator, bridge, autopilots))
    assert autopilots.parameters['gains_of'] == ('c172p', 'T37', 'c310')


def test_a_real_x_plane_needs_the_bridge_and_the_autopilots_only():
    bridge, autopilot = wanted(count='1', sim='xpc', host='192.0.2.1')
    assert (bridge.parameters['host'], bridge.parameters['port']) == ('192.0.2.1', 49009)
    assert 'engage' not in autopilot.parameters
    (bridge,) = wanted(count='20', sim='xpc', host='192.0.2.1', autopilot='false')
    # Thirty times a second: 2 datagrams for the first aircraft, 5 for the others, 20 commands.
    assert bridge.defaults['max_datagrams_per_second'] == pytest.approx(1.25 * 30.0 * 27)


@pytest.mark.parametrize('sim', ['direct', 'xpc'])
def test_sensors_of_different_seeds_stand_before_each_autopilot(sim):
    given = {'count': '2', 'sim': sim, 'sensors': 'tactical', 'lockstep': 'true',
             'record': 'true'}
    started = wanted(**given)
    (moves,) = (one for one in started if one.remappings)
    assert moves.executable == ('simulator_node' if sim == 'direct' else 'xpc_node')
    assert moves.remappings['uav1/fix'] == 'uav1/truth/fix'
    assert len(moves.remappings) == 2 * len(moved_truth('tactical'))
    sensors, autopilots = started[-2:]
    # Of one process each has the next seed.
    assert (sensors.executable, sensors.parameters['namespaces'], sensors.defaults) == (
        'sensors_node', ('uav1', 'uav2'), {})
    assert sensors.parameters['lockstep']
    assert autopilots.parameters['behind_sensors']
    assert autopilots.parameters['wait_for_recorder']
    apart = [one for one in wanted(**given, processes='each') if one.executable == 'sensors_node']
    assert [(one.namespace, one.defaults) for one in apart] == [
        ('uav1', {'seed': 0}), ('uav2', {'seed': 1})]


def test_rviz_draws_each_of_several_in_the_map():
    shipped = (folder('view') / 'experiment.rviz').read_text()
    manager = yaml.safe_load(seen_in_rviz(
        shipped, {'/uav1': 'uav1', '/uav2': 'uav2'}))['Visualization Manager']
    names = [one['Name'] for one in manager['Displays']]
    assert names == ['Grid', *(f'{what}, {name}' for name in ('uav1', 'uav2') for what in (
        'Aircraft', 'Path flown', 'Path to follow', 'Target'))]
    assert manager['Displays'][5]['Description Topic']['Value'] == '/uav2/robot_description'
    assert '/experiment/' not in str(manager)
    assert manager['Global Options']['Fixed Frame'] == 'map'
    assert manager['Views']['Current']['Target Frame'] == 'uav1/base_link'


def test_no_two_of_a_grid_have_one_track_at_one_height():
    places = grid(20, 80.0)
    assert places[0] == (0.0, 0.0, 0.0)
    for one, other in combinations(places, 2):
        assert math.dist(one[1:], other[1:]) > 25.0
        assert math.dist(one, other) >= 80.0


@pytest.mark.parametrize(('arguments', 'sentence'), [
    ({'count': '21'}, 'launch argument count: expected 1 to 20, got 21'),
    ({'count': '3', 'aircraft': '[c172p, T37]'},
     'launch argument aircraft: expected one for all or 3, one for each, got 2'),
    ({'aircraft': 'c173'}, 'launch argument aircraft: no gains are known for c173'),
    ({'host': '192.0.2.1'}, 'launch argument host: a real X-Plane is flown with sim:=xpc'),
    ({'host': '192.0.2.1', 'sim': 'xpc', 'speed': '2'}, 'speed and lockstep need a simulator'),
    ({'port': '50000'}, 'launch argument port: with sim:=direct there is no wire'),
    ({'host': '192.0.2.1', 'sim': 'xpc', 'spacing': '50'},
     'launch argument spacing: a real X-Plane places its own aircraft'),
    ({'rviz': 'true', 'publish_tf': 'false'}, 'launch argument rviz: it draws in the frame map'),
    ({'engage': 'true', 'autopilot': 'false'}, 'launch argument engage: with autopilot:=false'),
    ({'lockstep': 'true', 'engage': 'false'}, 'launch argument engage: in lockstep each frame'),
    ({'lockstep': 'true', 'speed': '2'}, 'launch argument speed: lockstep runs as fast'),
    ({'host': '192.0.2.1', 'sim': 'xpc', 'autopilot': 'false', 'aircraft': 'T37'},
     'launch argument aircraft: with autopilot:=false nobody needs its gains'),
    ({'bag': 'mine.mcap'}, 'launch argument bag: nothing is recorded; add record:=true'),
    ({'sensors': 'good'}, "launch argument sensors: there are no sensors 'good'"),
    ({'use_sim_time': 'false'}, 'launch argument use_sim_time: a fleet has one clock'),
    ({'cuont': '5'}, 'cuont: fleet.launch.py has no argument of that name; did you mean count?'),
])
def test_a_fleet_that_cannot_be_says_why(arguments, sentence):
    with pytest.raises(ValueError, match='launch argument') as error:
        wanted(**arguments)
    assert sentence in str(error.value)


# What flies.

def test_of_one_process_each_flies_to_the_last_bit_as_in_its_own(ros):
    def states(processes):
        simulator, *autopilots = wanted(
            count='2', lockstep='true', aircraft='[c172p, T37]', processes=processes)
        with ExitStack() as stack:
            for one in autopilots:
                stack.enter_context(process(executable_path(one.executable), *ros_arguments(
                    f'/{processes}/{one.namespace}'.rstrip('/'), one.parameters)))
            node = starts(ros, replace(simulator, namespace=processes, parameters={
                **simulator.parameters, 'pause_at': 2.0}))
            ros.wait_for(lambda: node.server.call(
                lambda world: world.total_running_time) > 2.0 - FRAME / 2.0, 'two seconds')
            # Not the controls: the answer to this state may have come, or not.
            found = node.server.call(lambda world: [(
                one.state.cas, one.state.lat_deg, one.state.lon_deg, one.state.altitude_msl,
                one.state.phi, one.state.theta, one.state.psi) for one in world.flown])
            ros.run_in(node, node.shut_down)
            return found

    together, apart = states('one'), states('each')
    assert together == apart
    # Each with the gains of its aircraft.
    assert together[0][0] < 60.0 < together[1][0]


def test_an_autopilot_that_is_killed_in_lockstep_is_named_and_the_others_wait(ros):
    simulator, *autopilots = wanted(count='3', lockstep='true', processes='each')
    ros.subscribe(Clock, '/clock', 1000)
    with ExitStack() as stack:
        def in_a_process(one):
            return stack.enter_context(process(executable_path(one.executable), *ros_arguments(
                f'/{one.namespace}', {**one.defaults, **one.parameters})))

        node = starts(ros, simulator)
        for one in autopilots[:2]:
            starts(ros, one)
        third = in_a_process(autopilots[2])

        def time():
            return seconds(ros.messages['/clock'][-1].clock) if ros.messages['/clock'] else 0.0

        ros.wait_for(lambda: time() > 0.5, 'half a second')
        third.send_signal(signal.SIGKILL)
        third.wait()
        ros.diagnosed('simulation', lambda level, message, _: level == WARN and message == (
            'in lockstep; waiting for aileron of uav3, elevator of uav3, rudder of uav3, throttle '
            'of uav3'), node)
        stood_at = time()
        in_a_process(autopilots[2])
        ros.wait_for(lambda: time() > stood_at + 0.5, 'all to go on')


def test_autopilots_hold_what_they_are_told_through_one_bridge(ros):
    simulator, bridge, *autopilots = wanted(count='3', sim='xpc', lockstep='true',
                                            processes='each', port=str(free_port()))
    told = ({}, {'altitude': 1552.0, 'true_heading_deg': 93.0}, {'airspeed': 52.5})
    ros.subscribe(Imu, '/uav2/imu/data')
    world = starts(ros, simulator).server
    starts(ros, bridge)
    for one, targets in zip(autopilots, told, strict=True):
        one.parameters.update(targets)
        starts(ros, one)

    def states():
        return world.call(lambda world: [aircraft.state for aircraft in world.flown])

    begun = states()
    ros.wait_for(lambda: world.call(lambda world: world.total_running_time) > 15.0, '15 s')
    kept, climbed, sped = states()
    for one, before in ((kept, begun[0]), (sped, begun[2])):
        assert one.altitude_msl == pytest.approx(before.altitude_msl, abs=0.5)
        assert math.degrees(one.psi) == pytest.approx(90.0, abs=0.3)
    assert kept.cas == pytest.approx(begun[0].cas, abs=0.1)
    assert sped.cas == pytest.approx(52.5, abs=0.2)
    # Its target is above the ellipsoid, which is 47 m below sea level there.
    assert climbed.altitude_msl - begun[1].altitude_msl == pytest.approx(
        1552.0 - 1547.28, abs=0.5)
    assert math.degrees(climbed.psi) == pytest.approx(93.0, abs=0.3)
    # What was derived says how well it is known.
    imu = ros.messages['/uav2/imu/data'][-1]
    assert imu.header.frame_id == 'uav2/base_link'
    assert 0.0 < imu.angular_velocity_covariance[0] < 0.01
    assert 0.0 < imu.linear_acceleration_covariance[0] < 1.0


def test_all_frames_are_in_one_tree(ros, monkeypatch):
    """Without tf2, whose messages are caught: where each is on the map is where it flies."""
    caught = []

    class TFMessage:

        def __init__(self, transforms=()):
            self.transforms = list(transforms)

    monkeypatch.setitem(sys.modules, 'tf2_msgs.msg', SimpleNamespace(TFMessage=TFMessage))
    make = SimulatorNode.make_publisher

    def make_publisher(self, kind, topic, *arguments):
        if kind is not TFMessage:
            return make(self, kind, topic, *arguments)
        return SimpleNamespace(publish=lambda message: caught.append(
            (topic, [(one.header.frame_id, one.child_frame_id, one.transform)
                     for one in message.transforms])))

    monkeypatch.setattr(SimulatorNode, 'make_publisher', make_publisher)
    simulator, *_ = wanted(count='5', spacing='100')
    for number in range(1, 6):
        ros.subscribe(Odometry, f'/uav{number}/odom')
    starts(ros, simulator)
    for number in range(1, 6):
        ros.next(f'/uav{number}/odom', 2)
    parents = {child: parent for _, found in list(caught) for parent, child, _ in found}
    assert parents == {f'uav{n}/odom': 'map' for n in range(1, 6)} | {
        f'uav{n}/base_link': f'uav{n}/odom' for n in range(1, 6)}
    # A latched message replaces the one before, so the last one has all.
    static = [found for topic, found in list(caught) if topic == '/tf_static'][-1]
    places = {child: transform for _, child, transform in static}
    for number, (_, right, up) in enumerate(grid(5, 100.0), 1):
        there = places[f'uav{number}/odom'].translation
        # Heading east, right is south.
        assert (there.x, there.y, there.z) == pytest.approx((0.0, -right, up), abs=0.5)
        turned = places[f'uav{number}/odom'].rotation
        assert axes.rotate((turned.w, turned.x, turned.y, turned.z), (1.0, 0.0, 0.0)) == (
            pytest.approx((1.0, 0.0, 0.0), abs=1e-4))
