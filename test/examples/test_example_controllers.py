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

"""The controllers of examples/ keep the contract of docs/reference/controllers.md, as programs."""

from functools import partial
import importlib
from importlib.util import find_spec
import math
import os
import runpy
import subprocess
import sys
from types import SimpleNamespace

from cpp_nodes import compiled, said
from example_laws import CONTROLLERS, PACKAGE
import pytest

pytest.importorskip('rclpy', reason='rclpy is not installed')
pytest.importorskip('xplane_bridge.msg', reason='the messages are not built')

from contract import check_short_life, messages, sensed, state
import rclpy

from harness import process
from xplane_bridge.laboratory.flights.scenario.flown_by import ros_arguments


@pytest.mark.parametrize('name', ['minimal', 'pid'])
def test_a_controller_answers_each_state_once_from_target_to_release(ros, name):
    if name == 'pid' and find_spec('simple_pid') is None:
        pytest.skip('needs simple-pid')
    check_short_life(ros, sys.executable, str(CONTROLLERS / f'{name}.py'))


def test_without_simple_pid_a_sentence_says_what_is_missing(tmp_path):
    (tmp_path / 'simple_pid.py').write_text('raise ImportError')
    done = subprocess.run(
        [sys.executable, str(CONTROLLERS / 'pid.py')], capture_output=True, text=True, env={
            **os.environ, 'PYTHONPATH': f'{tmp_path}:{os.environ.get("PYTHONPATH", "")}'})
    assert done.returncode == 1
    assert done.stderr == (
        'pid.py needs simple-pid, which is not installed: pip install simple-pid\n')


def take(node, topic):
    """Return what minimal.py does with a topic's message."""
    return node.on_target if topic == 'command/target' else partial(node.on_message, topic)


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
        script += [state(n // 4, n % 4 * 250_000_000, 0.1 * n, n > 24)] * (1 + n % 2)
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
                take(node, topic)(message)
        node.destroy_node()
        commands = said(program, script, **({'lockstep': 'true'} if lockstep else {}))
        assert [one.stamp for one in commands] == [
            (n // 4, n % 4 * 250_000_000) for n in range(12, 40) if not 30 < n < 34]
        assert [one.stamp for one in commands] == [
            (one.header.stamp.sec, one.header.stamp.nanosec) for one in published]
        assert not any(math.isnan(one.throttle) for one in commands)
        for one, other in zip(commands, published, strict=True):
            for name in ('fields', 'elevator', 'aileron', 'rudder', 'throttle'):
                assert getattr(one, name) == pytest.approx(
                    getattr(other, name), rel=1e-12, abs=1e-12), (one, other)


def test_behind_sensors_each_imu_is_answered_with_the_newest_of_the_others(minimal, tmp_path):
    """In lockstep the simulator waits for it; a fix comes now and then, and may be none."""
    without_fix = messages(state(4))['fix']
    without_fix.altitude = math.nan
    script = [state(1), 'target 1 500000000 7 1510 1.0 0 52', *(
        (state if n % 4 == 0 else sensed)(2 + n, 0, 0.1 * n) for n in range(12))]
    node, published = minimal.Controller(minimal.Law), []
    node.publisher = SimpleNamespace(publish=published.append)
    node.lockstep, node.of_state = True, ('imu/data', 'controls')
    node.due = SimpleNamespace(trigger=node.answer)
    for line in script:
        for topic, message in messages(line).items():
            take(node, topic)(message)
        node.on_message('fix', without_fix)
    node.destroy_node()
    assert [one.header.stamp.sec for one in published] == list(range(2, 14))
    assert all(math.isfinite(one.elevator) for one in published)
    program = compiled(PACKAGE / 'src' / 'my_controller.cpp', tmp_path, PACKAGE / 'include')
    commands = said(program, script, lockstep='true', behind_sensors='true')
    assert [one.stamp for one in commands] == [(n, 0) for n in range(2, 14)]
    for one, other in zip(commands, published, strict=True):
        for name in ('elevator', 'aileron', 'rudder', 'throttle'):
            assert getattr(one, name) == pytest.approx(getattr(other, name), rel=1e-12, abs=1e-12)


def test_behind_sensors_it_is_told_so(minimal):
    node = minimal.Controller(minimal.Law)
    assert node.of_state == ('imu/data', 'controls', 'fix', 'air_data', 'odom')
    node.destroy_node()
    rclpy.shutdown()
    rclpy.init(args=ros_arguments('/a', False, True, True))
    node = minimal.Controller(minimal.Law)
    assert (node.lockstep, node.of_state) == (True, ('imu/data', 'controls'))
    node.destroy_node()


def test_the_launch_file_takes_namespace_and_lockstep():
    pytest.importorskip('launch_ros', reason='launch has no wheel')
    from launch.actions import DeclareLaunchArgument
    found = runpy.run_path(str(PACKAGE / 'launch' / 'my_controller.launch.py'))
    description = found['generate_launch_description']()
    assert {one.name for one in description.entities if isinstance(
        one, DeclareLaunchArgument)} == {'namespace', 'lockstep', 'behind_sensors'}


def test_where_there_is_no_indicated_airspeed_the_true_one_counts(minimal):
    """As on X-Plane 6."""
    from sensor_msgs.msg import Imu, NavSatFix

    from xplane_bridge.msg import AirData
    for indicated, expected in ((math.nan, 52.0), (48.0, 48.0)):
        air = AirData(indicated_airspeed=indicated, true_airspeed=52.0)
        heard = {'imu/data': Imu(), 'fix': NavSatFix(), 'air_data': air}
        assert minimal.measured(heard).airspeed == expected


@pytest.mark.xdist_group('controllers')
def test_check_controller_finds_nothing_in_lockstep_behind_sensors(tmp_path):
    """Of the PID loops, in the node of minimal.py."""
    pytest.importorskip('jsbsim', reason='the simulators need jsbsim')
    pytest.importorskip('simple_pid', reason='needs simple-pid')
    with process('check_controller', f'{sys.executable} {CONTROLLERS / "pid.py"}', '--lockstep',
                 '--sensors', 'consumer', '--sim', 'xplane12', '--namespace', '/pid',
                 cwd=tmp_path) as child:
        said = child.stdout.read()
        assert child.wait() == 0, said
    assert 'it keeps the contract' in said
