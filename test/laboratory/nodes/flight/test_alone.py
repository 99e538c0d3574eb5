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

"""Nobody else flies where a flight through ROS does: before it starts, and while it flies."""

import os
import time
from types import SimpleNamespace

import pytest

pytest.importorskip('rclpy', reason='rclpy is not installed')
pytest.importorskip('xplane_bridge.msg', reason='the messages are not built')

from rclpy.node import Node
from rclpy.parameter import Parameter
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import Imu

from xplane_bridge.bridges.links.claim import claim, domain
from xplane_bridge.bridges.nodes.vehicle.controls import EXPERIMENT
from xplane_bridge.common.machine import MachineError
from xplane_bridge.laboratory.nodes.flight.alone import Alone, check_free
from xplane_bridge.msg import AttitudeCommand, AutopilotTarget, FlightControls, RateCommand

ADVICE = 'give this one another ROS_DOMAIN_ID or namespace, or wait until that has ended'
OWN = (EXPERIMENT, 'autopilot_node')
_DEADLINE = 20.0



def publish(node, kind, topic):
    """Publish a topic, and wait until that is known."""
    before = node.count_publishers(topic)
    node.create_publisher(kind, topic, 1)
    deadline = time.monotonic() + _DEADLINE
    while sum(one.node_name[:1] != '_' for one in node.get_publishers_info_by_topic(
            topic)) == before:
        assert time.monotonic() < deadline
        time.sleep(0.001)


@pytest.fixture
def make_node(ros):
    """Return what makes nodes in the harness's context, in any namespace."""
    made = []

    def make(name, namespace, **parameters):
        node = Node(name, context=ros.observer.context, namespace=namespace, parameter_overrides=[
            Parameter(key, value=value) for key, value in parameters.items()])
        made.append(node)
        return node

    yield make
    for node in made:
        node.destroy_node()


def test_where_nobody_flies_it_says_so_after_a_moment(make_node):
    node = make_node(EXPERIMENT, '/free')
    began = time.monotonic()
    check_free(node, ['/free/one', '/free/two'], within=0.05)
    assert time.monotonic() - began >= 0.05


@pytest.mark.parametrize(('kind', 'topic', 'follows_clock'), [
    (Imu, '/there/uav/imu/data', False), (FlightControls, '/there/uav/command/controls', False),
    (AutopilotTarget, '/there/uav/command/target', False),
    (AttitudeCommand, '/there/uav/command/attitude', False),
    (RateCommand, '/there/uav/command/rates', False), (Clock, '/clock', True)])
def test_who_publishes_there_already_is_named_at_once(make_node, kind, topic, follows_clock):
    publish(make_node('stranger', '/elsewhere'), kind, topic)
    node = make_node(EXPERIMENT, '/there', use_sim_time=follows_clock)
    began = time.monotonic()
    with pytest.raises(MachineError) as refused:
        check_free(node, ['/there/uav'], within=_DEADLINE)
    assert time.monotonic() - began < _DEADLINE / 2
    assert str(refused.value) == (
        f'{topic} in ROS domain {domain()} is published by /elsewhere/stranger, expected nobody '
        f'before this flight: {ADVICE}')


def test_one_whose_name_is_not_known_yet_is_waited_for_no_longer_than_others(make_node):
    node = make_node(EXPERIMENT, '/unnamed')
    unknown = SimpleNamespace(
        node_name='_NODE_NAME_UNKNOWN_', node_namespace='_NODE_NAMESPACE_UNKNOWN_')
    node.count_publishers = lambda topic: 1
    node.get_publishers_info_by_topic = lambda topic: [unknown]
    began = time.monotonic()
    with pytest.raises(MachineError, match='by a node whose name is not known yet, expected nob'):
        check_free(node, ['/unnamed'], within=0.05)
    assert time.monotonic() - began >= 0.05
    # As long as it may be one of the flight's, it is none of another's.
    alone(node, '/unnamed').check()


def test_another_experiment_that_has_not_begun_is_one_too(make_node):
    make_node(EXPERIMENT, '/both')
    node = make_node(EXPERIMENT, '/both')
    with pytest.raises(MachineError, match='another /both/experiment in ROS domain '):
        check_free(node, ['/both'], within=_DEADLINE)


def test_a_controller_that_is_started_elsewhere_may_publish_before(make_node):
    publish(make_node('mine', '/external'), FlightControls, '/external/command/controls')
    check_free(make_node(EXPERIMENT, '/external'), ['/external'], commanded=True, within=0.05)


def alone(node, namespace, external=False):
    return Alone(node, namespace, [], OWN, external)


def test_a_stranger_is_found_whenever_it_comes(make_node):
    node, autopilot = make_node(EXPERIMENT, '/strange'), make_node('autopilot_node', '/strange')
    topic = '/strange/command/controls'
    for one in (node, autopilot):
        publish(one, FlightControls, topic)
    checked = alone(node, '/strange')
    checked.check()
    publish(make_node('teleop', '/'), FlightControls, topic)
    with pytest.raises(MachineError) as refused:
        checked.check()
    assert str(refused.value) == (
        f'{topic} in ROS domain {domain()} is published by /strange/autopilot_node, '
        '/strange/experiment, /teleop, expected only experiment and autopilot_node: ' + ADVICE)


@pytest.mark.parametrize('external', [False, True])
def test_the_autopilot_of_another_flight_is_a_stranger(make_node, external):
    node = make_node(EXPERIMENT, '/twice')
    checked = alone(node, '/twice', external)
    publish(make_node('autopilot_node', '/twice'), FlightControls, '/twice/command/controls')
    checked.check()
    publish(make_node('autopilot_node', '/twice'), FlightControls, '/twice/command/controls')
    with pytest.raises(MachineError, match='autopilot_node, /twice/autopilot_node, expected only'):
        checked.check()


def test_telemetry_has_one_publisher_and_a_foreign_controller_may_have_several(make_node):
    node = make_node(EXPERIMENT, '/foreign')
    checked = alone(node, '/foreign', external=True)
    for name in ('guidance', 'fallback'):
        publish(make_node(name, '/foreign'), FlightControls, '/foreign/command/controls')
    publish(make_node('xpc_node', '/foreign'), Imu, '/foreign/imu/data')
    checked.check()
    publish(make_node('simulator_node', '/foreign'), Imu, '/foreign/imu/data')
    with pytest.raises(MachineError, match=r'/foreign/simulator_node, /foreign/xpc_node, '
                                           'expected one: '):
        checked.check()


def test_a_refused_experiment_starts_nothing_and_leaves_the_files_of_the_other(tmp_path, capsys):
    pytest.importorskip('jsbsim', reason='the simulators need jsbsim')
    from xplane_bridge.commands.experiment import main
    files = [tmp_path / f'flight.{suffix}' for suffix in ('mcap', 'json', 'png', 'log')]
    for file in files:
        file.write_text('of the other')
    namespace = f'/refused_{os.getpid()}'
    with claim(namespace):
        assert main(['--output', str(tmp_path / 'flight'), '--namespace', namespace,
                     '--force']) == 2
    error = capsys.readouterr().err
    assert error.startswith(f'experiment: {namespace} in ROS domain {domain()} is taken by ')
    assert [file.read_text() for file in files] == ['of the other'] * 4
