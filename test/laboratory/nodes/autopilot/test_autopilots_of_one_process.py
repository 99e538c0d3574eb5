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
"""Several autopilots in one process: one for each of ``namespaces``, which depend on nobody."""

import pytest

pytest.importorskip('rclpy', reason='rclpy is not installed')
pytest.importorskip('xplane_bridge.msg', reason='the messages are not built')

from diagnostic_msgs.msg import DiagnosticArray
from rcl_interfaces.srv import GetParameters
from sensor_msgs.msg import Imu, NavSatFix
from std_srvs.srv import SetBool

from harness import process
from xplane_bridge.laboratory.control.gains import read_parameters
from xplane_bridge.laboratory.nodes.autopilot import AutopilotNode
from xplane_bridge.msg import AirData, FlightControls

NAMES = ('uav1', 'uav2', 'uav3')


class Flying:
    """The topics of vehicles that hold still, and how many commands each has got."""

    def __init__(self, ros, *names):
        self._ros = ros
        self._stamp = 0
        self._publishers = {name: [
            ros.publisher(kind, f'/{name}/{topic}') for kind, topic in (
                (NavSatFix, 'fix'), (AirData, 'air_data'), (Imu, 'imu/data'))] for name in names}
        for name in NAMES:
            ros.subscribe(FlightControls, f'/{name}/command/controls')

    def publish(self, *names):
        """Publish a state of each."""
        self._stamp += 20_000_000
        imu = Imu()
        imu.orientation.w = 1.0
        messages = (NavSatFix(altitude=1000.0), AirData(indicated_airspeed=50.0), imu)
        for message in messages:
            message.header.stamp.sec, message.header.stamp.nanosec = divmod(self._stamp, 10**9)
        for name in names:
            for publisher, message in zip(self._publishers[name], messages, strict=True):
                publisher.publish(message)

    def commands(self, name):
        """Return how many commands a vehicle has got."""
        return len(self._ros.messages[f'/{name}/command/controls'])


def status_of(ros, name):
    """Return what the newest diagnostics of an autopilot say, '' if there are none."""
    own = f'/{name}/autopilot_node: autopilot'
    return next((one.message for message in reversed(ros.messages['/diagnostics'])
                 for one in message.status if one.name == own), '')


def test_each_is_engaged_and_watched_by_itself_and_one_without_a_vehicle_is_named(ros):
    ros.subscribe(DiagnosticArray, '/diagnostics', 100)
    with process('autopilot_node', '--ros-args', '-p', f'namespaces:=[{", ".join(NAMES)}]'):
        flying = Flying(ros, 'uav1', 'uav2')
        ros.wait_for(lambda: all(status_of(ros, name) for name in NAMES), 'all of them')

        def engaged(name):
            flying.publish('uav1', 'uav2')
            return ros.call(
                SetBool, f'/{name}/autopilot/engage', SetBool.Request(data=True)).success

        ros.wait_for(lambda: engaged('uav1'), 'the first')
        ros.wait_for(lambda: flying.publish('uav1', 'uav2') or flying.commands('uav1') > 5,
                     'commands of the first')
        assert not flying.commands('uav2')
        ros.wait_for(lambda: engaged('uav2'), 'the second')

        def frozen():
            flying.publish('uav2')
            return status_of(ros, 'uav1') == 'engaged; no telemetry arrives'

        ros.wait_for(frozen, 'the first to be without telemetry')
        first, second = flying.commands('uav1'), flying.commands('uav2')
        ros.wait_for(lambda: flying.publish('uav2') or flying.commands('uav2') > second + 20,
                     'the second to fly on')
        assert flying.commands('uav1') == first
        ros.wait_for(lambda: flying.publish('uav2') or status_of(ros, 'uav2') == 'engaged',
                     'its diagnostics')
        assert status_of(ros, 'uav3') == (
            'not engaged; no telemetry arrives: nobody publishes /uav3/imu/data')


def test_one_whose_vehicle_does_not_come_says_so_in_the_log_once(ros, capfd):
    node = ros.start(AutopilotNode, namespace='uav3')
    for _ in range(9):
        ros.run_in(node, node.diagnose)
    assert capfd.readouterr().err.count(
        'nobody publishes /uav3/imu/data: there is no such aircraft') == 1


def test_gains_are_those_of_its_aircraft_where_they_are_not_given(ros, tmp_path):
    file = tmp_path / 'fleet.yaml'
    file.write_text("""
/**:
  ros__parameters: {namespaces: [uav1, uav2], gains_of: [c172p, T37]}
/team/uav2/autopilot_node:
  ros__parameters: {gains: {roll_to_roll_rate: 1.25}}
""")
    with process('autopilot_node', '--ros-args', '--params-file', str(file), '-r', '__ns:=/team'):
        names = ['gains.airspeed', 'gains.roll_to_roll_rate']
        found = [ros.call(
            GetParameters, f'/team/{name}/autopilot_node/get_parameters',
            GetParameters.Request(names=names)).values for name in ('uav1', 'uav2')]
    assert [[one.double_value for one in values] for values in found] == [
        [read_parameters('c172p')[name] for name in names], [110.0, 1.25]]


@pytest.mark.parametrize(('given', 'sentence'), [
    ('namespaces:=[uav1, uav2, uav1]', "namespaces: 'uav1' is there more than once"),
    ('namespaces:=[uav1, 2nd]', "namespaces: '2nd' is no namespace below that of the node"),
    ('gains_of:=[c172p, T37]', 'gains_of: expected one aircraft for all, got 2'),
])
def test_what_no_fleet_can_be_ends_the_process_with_a_sentence(given, sentence):
    with process('autopilot_node', '--ros-args', '-p', given) as child:
        said = child.stdout.read()
        assert child.wait() == 1
    assert f'cannot configure: parameter {sentence}' in said


def test_gains_missing_for_one_are_refused(ros):
    node = ros.start(AutopilotNode, namespaces=list(NAMES), gains_of=['c172p', 'T37'])
    assert node.failed == (
        'parameter gains_of: expected one aircraft for all or 3, one for each of namespaces, '
        'got 2')
    node = ros.start(AutopilotNode, gains_of=['c173'])
    assert node.failed.startswith('parameter gains_of: no gains are known for c173')


def test_what_makes_the_nodes_is_used_only_when_they_are_made(ros):
    node = ros.start(AutopilotNode, configure=False)
    for name, value in (('namespaces', ['uav1']), ('gains_of', ['T37'])):
        assert ros.change(node, **{name: value}).successful
        ros.run_in(node, node.trigger_configure)
        assert f'parameter {name}: it is used only when the' in node.failed
        assert ros.change(node, **{name: []}).successful
