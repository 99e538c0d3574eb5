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

"""policy_node, through real topics: when it commands, what, and what becomes of bad actions."""

import math

import pytest

pytest.importorskip('rclpy', reason='rclpy is not installed')
pytest.importorskip('xplane_bridge.msg', reason='the messages are not built')

from nav_msgs.msg import Odometry
from sensor_msgs.msg import Imu, NavSatFix

from xplane_bridge.bridges.nodes.common.diagnostics import OK, STALE, WARN
from xplane_bridge.bridges.nodes.common.latched import LATCHED
from xplane_bridge.laboratory.nodes.policy import PolicyNode
from xplane_bridge.msg import (
    AirData,
    AttitudeCommand,
    AutopilotTarget,
    FlightControls,
    Traffic,
    TrafficTarget,
)

STEP = 20_000_000
KINDS = {'fix': NavSatFix, 'air_data': AirData, 'odom': Odometry, 'imu/data': Imu}
PROGRAM = """
class Told:
    fields = 'imu/data.angular_velocity.x', 'air_data.true_airspeed', 'target.altitude'

    def reset(self):
        self.answers = 0

    def __call__(self, observation):
        self.answers += 1
        rate, airspeed, altitude = observation
        if rate == 7.0:
            raise RuntimeError('no idea')
        return rate, 0.01 * airspeed, 1e-4 * altitude, 0.01 * self.answers

def spoilt(observation):
    return (float('nan') if observation[0] == 2.0 else 0.0), 0.0, 0.0, 0.0
spoilt.fields = 'imu/data.angular_velocity.x',

def banked(observation):
    return 0.1, observation[0], 0.5
banked.level, banked.fields = 'attitude', ['imu/data.angular_velocity.x']

def climbing(observation):
    return observation[0] + 10.0, 1.0, 50.0
climbing.level, climbing.fields = 'target', ['target.altitude']

def beside(observation):
    return 0.0, 0.0, 0.0, 1e-3 * observation[0]
beside.fields = ['traffic.0.north']
"""


class Vehicle:
    """Publishes states of a vehicle, and targets; collects what is commanded."""

    def __init__(self, ros, tmp_path, attribute, topic='command/controls', kind=FlightControls,
                 **parameters):
        file = tmp_path / 'mine.py'
        file.write_text(PROGRAM)
        self.ros, self.topic = ros, f'/{topic}'
        # Latched before the node is there, as an experiment does.
        self.targets = ros.observer.create_publisher(AutopilotTarget, '/command/target', LATCHED)
        self.node = ros.start(PolicyNode, policy=f'{file}:{attribute}', **parameters)
        ros.subscribe(kind, self.topic, 100)
        self.publishers = {
            name: ros.publisher(one, f'/{name}', 50) for name, one in KINDS.items()}
        ros.wait_for(lambda: self.node.count_subscribers(self.topic)
                     and self.targets.get_subscription_count(), 'the topics')
        self.stamp = 10_000_000_000

    def state(self, rate=0.0, topics=tuple(KINDS), again=False):
        """Publish the next state, or parts of it."""
        self.stamp += 0 if again else STEP
        for topic in topics:
            message = stamped(KINDS[topic](), self.stamp)
            if topic == 'imu/data':
                message.angular_velocity.x = rate
            elif topic == 'fix':
                message.altitude = 100.0
            elif topic == 'air_data':
                message.indicated_airspeed, message.true_airspeed = math.nan, 50.0
            self.publishers[topic].publish(message)

    def target(self, stamp=0, **values):
        """Publish a target, or a release; wait until it has come."""
        message = stamped(AutopilotTarget(**values), stamp)
        message.fields = message.fields or AutopilotTarget.ALTITUDE
        self.ros.wait_for(lambda: self.node._now in (None, self.stamp), 'the state')
        waiting = len(self.node._waiting)
        self.targets.publish(message)
        if not self.node.parameters.lockstep:
            self.ros.wait_for(lambda: len(self.node._waiting) > waiting, 'the target')

    @property
    def commands(self):
        return [(at(one), one) for one in self.ros.messages[self.topic]]

    def answered(self, count):
        """Wait for so many commands; return their stamps, in states after the first."""
        self.ros.wait_for(lambda: len(self.commands) >= count, f'{count} commands')
        return [(stamp - 10_000_000_000) // STEP for stamp, _ in self.commands]


def stamped(message, stamp):
    message.header.stamp.sec, message.header.stamp.nanosec = divmod(stamp, 1_000_000_000)
    return message


def at(message):
    return message.header.stamp.sec * 1_000_000_000 + message.header.stamp.nanosec


def test_a_target_engages_and_a_release_ends_it(ros, tmp_path):
    vehicle = Vehicle(ros, tmp_path, 'Told')
    assert ros.diagnosed('policy', node=vehicle.node)[0] == STALE
    vehicle.state()
    vehicle.target(vehicle.stamp + 2 * STEP, altitude=1000.0)
    for _ in range(3):
        vehicle.state(rate=0.25)
    assert vehicle.answered(2) == [3, 4]
    command = vehicle.commands[1][1]
    assert command.fields == 15
    assert [command.elevator, command.aileron, command.rudder, command.throttle] == (
        pytest.approx([0.25, 0.5, 0.1, 0.02]))
    level, message, values = ros.diagnosed('policy', node=vehicle.node)
    assert (level, message, values['updates']) == (OK, 'engaged', '2')
    vehicle.target(vehicle.stamp + STEP, fields=AutopilotTarget.RELEASE)
    for _ in range(3):
        vehicle.state()
    vehicle.target(vehicle.stamp + STEP, altitude=500.0)
    vehicle.state()
    assert vehicle.answered(3) == [3, 4, 8]
    # It has begun anew.
    assert vehicle.commands[2][1].throttle == pytest.approx(0.01)


def test_in_lockstep_it_answers_once_when_all_of_a_state_is_there(ros, tmp_path):
    vehicle = Vehicle(ros, tmp_path, 'Told', lockstep=True)
    vehicle.state()
    # The simulation waits at this state.
    vehicle.target(altitude=1000.0)
    assert vehicle.answered(1) == [1]
    vehicle.state(topics=('imu/data', 'fix', 'air_data'))
    ros.diagnosed(
        'policy', lambda level, message, values: values['lockstep waits for'] == 'odom',
        vehicle.node)
    assert len(vehicle.commands) == 1
    vehicle.state(topics=('odom',), again=True)
    assert vehicle.answered(2) == [1, 2]
    vehicle.state(again=True)
    vehicle.state()
    assert vehicle.answered(3) == [1, 2, 3]


def test_who_sees_traffic_waits_in_lockstep_for_what_is_due(ros, tmp_path):
    vehicle = Vehicle(ros, tmp_path, 'beside', lockstep=True)
    publisher = ros.publisher(Traffic, '/traffic')

    def report(north_deg):
        one = TrafficTarget(id='uav2', latitude=north_deg, altitude=100.0)
        one.velocity.y = 10.0
        publisher.publish(stamped(Traffic(targets=[one]), vehicle.stamp))

    vehicle.state()
    vehicle.target(altitude=1000.0)
    # Nobody has been reported yet.
    assert vehicle.answered(1) == [1]
    report(1e-3)
    ros.wait_for(lambda: vehicle.node._traffic.reports, 'the report')
    for count in range(2, 11):
        vehicle.state()
        assert vehicle.answered(count)[-1] == count
    # A thousandth of a degree at the equator is 110.57 m; since then it has flown 0.18 s.
    assert vehicle.commands[-1][1].throttle == pytest.approx(0.1106 + 0.0018, abs=1e-4)
    vehicle.state()
    ros.wait_for(lambda: vehicle.node._now == vehicle.stamp, 'the state')
    assert len(vehicle.commands) == 10
    report(2e-3)
    assert vehicle.answered(11)[-1] == 11
    assert vehicle.commands[-1][1].throttle == pytest.approx(0.2211, abs=1e-4)


def test_who_sees_traffic_commands_nothing_in_real_time_while_none_arrives(ros, tmp_path):
    vehicle = Vehicle(ros, tmp_path, 'beside')
    vehicle.state()
    vehicle.target(vehicle.stamp + STEP, altitude=1000.0)
    vehicle.state()
    assert ros.diagnosed('policy', lambda level, message, values: 'traffic' in message,
                         vehicle.node)[:2] == (WARN, 'engaged; no traffic arrives')
    assert not vehicle.commands


@pytest.mark.parametrize(('attribute', 'rate', 'sentence'), [
    ('Told', 7.0, 'the policy raised RuntimeError: no idea ({}/mine.py, line 12)'),
    ('spoilt', 2.0, "the action's elevator is nan"),
])
def test_an_action_that_is_none_is_counted_and_not_commanded(
        ros, tmp_path, attribute, rate, sentence):
    vehicle = Vehicle(ros, tmp_path, attribute)
    vehicle.target(altitude=1000.0)
    vehicle.state()
    vehicle.answered(1)
    vehicle.state(rate)
    level, message, values = ros.diagnosed(
        'policy', lambda level, *_: level == WARN, vehicle.node)
    assert message == f'engaged; no command: {sentence.format(tmp_path)}'
    assert values['actions refused'] == '1'
    vehicle.state()
    assert vehicle.answered(2) == [1, 3]


def test_above_the_controls_it_commands_the_autopilot(ros, tmp_path):
    vehicle = Vehicle(ros, tmp_path, 'banked', 'command/attitude', AttitudeCommand)
    ros.subscribe(AutopilotTarget, '/policy/command/target')
    ros.wait_for(lambda: vehicle.node.count_subscribers('/policy/command/target'), 'the topic')
    vehicle.target(altitude=1000.0)
    vehicle.state(0.2)
    assert vehicle.answered(1) == [1]
    command = vehicle.commands[0][1]
    assert command.fields == (
        AttitudeCommand.ROLL | AttitudeCommand.PITCH | AttitudeCommand.THROTTLE)
    assert (command.roll, command.pitch, command.throttle) == pytest.approx((0.1, 0.2, 0.5))
    vehicle.target(fields=AutopilotTarget.RELEASE)
    vehicle.state()
    ros.wait_for(lambda: ros.messages['/policy/command/target'], 'a release')
    assert ros.messages['/policy/command/target'][0].fields == AutopilotTarget.RELEASE


def test_what_a_policy_targets_is_not_what_it_is_to_hold(ros, tmp_path):
    vehicle = Vehicle(ros, tmp_path, 'climbing', 'policy/command/target', AutopilotTarget)
    vehicle.target(altitude=1000.0)
    vehicle.state()
    vehicle.state()
    assert vehicle.answered(2) == [1, 2]
    assert [one.altitude for _, one in vehicle.commands] == [1010.0, 1010.0]


@pytest.mark.parametrize(('reference', 'sentence'), [
    ('', 'parameter policy: expected the name of a policy'),
    ('nowhere.onnx', 'policy nowhere.onnx: there is no file nowhere.onnx'),
])
def test_it_does_not_start_without_a_policy(ros, reference, sentence):
    assert sentence in ros.start(PolicyNode, policy=reference).failed
