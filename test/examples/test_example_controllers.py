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

"""The controllers of examples/ keep the contract of docs/controllers.md, as executables."""

from functools import partial
import importlib
from importlib.util import find_spec
import math
import runpy
import sys
from types import SimpleNamespace

from cpp_nodes import compiled, said
from example_laws import CONTROLLERS, PACKAGE
import pytest

pytest.importorskip('rclpy', reason='rclpy is not installed')
pytest.importorskip('xplane_bridge.msg', reason='the messages are not built')

from nav_msgs.msg import Odometry
import rclpy
from rclpy.duration import Duration
from rclpy.qos import DurabilityPolicy, QoSProfile
from sensor_msgs.msg import Imu, NavSatFix

from harness import DEADLINE, process
from xplane_bridge.msg import AirData, AutopilotTarget, FlightControls

LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
HELD = {'altitude': 1500.0, 'true_heading': 1.0, 'airspeed': 50.0}


def target(fields, stamp, **values):
    message = AutopilotTarget(fields=fields, **values)
    message.header.stamp.sec = stamp
    return message


def state(sec, nanosec=0, wave=0.0):
    """Return the line of a script for a state; ``wave`` moves everything in it."""
    roll, pitch, yaw = 0.8 * math.sin(wave), 0.2 * math.sin(1.3 * wave + 1.0), 3.0 * wave
    cr, sr, cp, sp, cy, sy = (
        function(0.5 * angle) for angle in (roll, pitch, yaw) for function in (math.cos, math.sin))
    values = (
        cr * cp * cy + sr * sp * sy, sr * cp * cy - cr * sp * sy, cr * sp * cy + sr * cp * sy,
        cr * cp * sy - sr * sp * cy, *(0.3 * math.sin(wave + k) for k in range(3)),
        1500.0 + 20.0 * math.sin(wave), 50.0 + 5.0 * math.sin(wave), 50.0, math.sin(wave), -2.0,
        0.02, 0.7)
    return f'state {sec} {nanosec} ' + ' '.join(map(repr, values))


def messages(line):
    """Return topics and messages of a script's line, as script.cpp says them."""
    kind, sec, nanosec, *words = line.split()
    if kind == 'target':
        fields, altitude, heading, course, airspeed = words
        found = {'target': AutopilotTarget(
            fields=int(fields), altitude=float(altitude), true_heading=float(heading),
            course=float(course), airspeed=float(airspeed))}
    else:
        found = {'fix': NavSatFix(), 'imu/data': Imu(), 'air_data': AirData(),
                 'controls': FlightControls(), 'odom': Odometry()}
        imu, controls = found['imu/data'], found['controls']
        q, rates, v = imu.orientation, imu.angular_velocity, found['odom'].twist.twist.linear
        (q.w, q.x, q.y, q.z, rates.x, rates.y, rates.z, found['fix'].altitude,
         found['air_data'].indicated_airspeed, v.x, v.y, v.z, controls.elevator,
         controls.throttle) = map(float, words)
    for message in found.values():
        message.header.stamp.sec, message.header.stamp.nanosec = int(sec), int(nanosec)
    return found


@pytest.mark.parametrize('name', ['minimal', 'pid'])
def test_a_controller_answers_each_state_once_from_target_to_release(ros, name):
    if name == 'pid' and find_spec('simple_pid') is None:
        pytest.skip('needs simple-pid')
    with process(sys.executable, str(CONTROLLERS / f'{name}.py')):
        publishers = {
            topic: ros.publisher(type(message), topic, 10)
            for topic, message in messages(state(0)).items()}
        targets = ros.publisher(AutopilotTarget, 'target', LATCHED)
        ros.subscribe(FlightControls, 'command/controls')
        ros.wait_for(lambda: ros.observer.count_publishers('command/controls'), 'its publisher')

        def hold(fields, sec, **values):
            targets.publish(target(fields, sec, **values))
            assert targets.wait_for_all_acked(Duration(seconds=DEADLINE))

        def fly(sec):
            for topic, message in messages(state(sec)).items():
                publishers[topic].publish(message)

        def fly_until_answered(sec):
            before = len(ros.messages['command/controls'])

            def answered():
                fly(sec)
                return len(ros.messages['command/controls']) > before

            ros.wait_for(answered, f'a command for state {sec}')

        hold(7, 2, **HELD)
        fly(1)
        fly_until_answered(2)
        fly_until_answered(3)
        hold(AutopilotTarget.RELEASE, 4)
        fly(4)
        hold(7, 5, **HELD)
        fly_until_answered(5)
    heard = ros.messages['command/controls']
    assert [one.header.stamp.sec for one in heard] == [2, 3, 5]
    assert {one.fields for one in heard} == {15}
    assert all(abs(one.aileron) <= 1.0 and 0.0 <= one.throttle <= 1.0 for one in heard)


@pytest.fixture
def minimal(monkeypatch):
    """Return minimal.py, imported, with ROS running for its node."""
    monkeypatch.syspath_prepend(str(CONTROLLERS))
    rclpy.init()
    yield importlib.import_module('minimal')
    rclpy.shutdown()
    del sys.modules['minimal']


def test_the_controller_in_cpp_answers_as_the_one_in_python(minimal, tmp_path):
    script = [state(1), 'target 3 0 7 1510 1.0 0 52']
    for n in range(2, 40):
        script += [state(n // 4, n % 4 * 250_000_000, 0.1 * n)] * (1 + n % 2)
        if n == 20:
            script += ['target 5 250000000 8 0 0 -2.0 0']
        if n == 30:
            script += ['target 7 500000000 32 0 0 0 0', 'target 8 500000000 7 1500 3.0 0 48']
    program = compiled(PACKAGE / 'src' / 'my_controller.cpp', tmp_path, PACKAGE / 'include')
    for lockstep in (False, True):
        node, published = minimal.Controller(minimal.Law), []
        node.publisher = SimpleNamespace(publish=published.append)
        node.lockstep = lockstep
        for line in script:
            for topic, message in messages(line).items():
                (node.on_target if topic == 'target' else partial(node.hear, topic))(message)
        node.destroy_node()
        commands = said(program, script, **({'lockstep': 'true'} if lockstep else {}))
        assert [one.stamp for one in commands] == [
            (n // 4, n % 4 * 250_000_000) for n in range(12, 40) if not 30 < n < 34]
        assert [one.stamp for one in commands] == [
            (one.header.stamp.sec, one.header.stamp.nanosec) for one in published]
        for one, other in zip(commands, published, strict=True):
            for name in ('fields', 'elevator', 'aileron', 'rudder', 'throttle'):
                assert getattr(one, name) == pytest.approx(
                    getattr(other, name), rel=1e-12, abs=1e-12), (one, other)


def test_the_launch_file_takes_namespace_and_lockstep():
    pytest.importorskip('launch_ros', reason='launch has no wheel')
    from launch.actions import DeclareLaunchArgument
    found = runpy.run_path(str(PACKAGE / 'launch' / 'my_controller.launch.py'))
    description = found['generate_launch_description']()
    assert {one.name for one in description.entities if isinstance(
        one, DeclareLaunchArgument)} == {'namespace', 'lockstep'}
