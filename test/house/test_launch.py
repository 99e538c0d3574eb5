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

"""The launch files, run by the real launch: each argument does what it says."""

from contextlib import contextmanager
import json
import os
from pathlib import Path
import signal
import sys

import pytest

pytest.importorskip('rclpy', reason='rclpy is not installed')
pytest.importorskip('xplane_bridge.msg', reason='the messages are not built')

from ament_index_python.packages import get_package_share_directory
from docs_blocks import blocks, ROOT
from lifecycle_msgs.srv import GetState
from masked import masked
from rcl_interfaces.srv import GetParameters
from sensor_msgs.msg import NavSatFix

from harness import DEADLINE, process
from xplane_bridge.bridges.links.unused_ports import free_ports

pytestmark = pytest.mark.ros_tools

RUNNER = str(Path(__file__).resolve().parents[2] / 'tools' / 'ros2' / 'run_launch_file.py')


@pytest.fixture(autouse=True)
def launch_is_installed():
    pytest.importorskip('launch_ros', reason='launch_ros is not installed (it has no wheel)')


@contextmanager
def launched(name, *arguments, cwd=None):
    """Run a launch file of the installed package, and stop it as Ctrl-C does."""
    path = os.path.join(
        get_package_share_directory('xplane_bridge'), 'launch', f'{name}.launch.py')
    with process(
            sys.executable, '-P', RUNNER, path, *arguments, cwd=cwd, own_group=True) as launch:
        try:
            yield launch
        finally:
            # A launch that is terminated leaves its nodes behind.
            if launch.poll() is None:
                press_ctrl_c(launch)
                launch.wait(DEADLINE)


def press_ctrl_c(launch):
    """Interrupt launch and what it has started: it leaves that to the terminal."""
    os.killpg(launch.pid, signal.SIGINT)


def parameters(ros, node, *names):
    """Return the values of a node's parameters."""
    response = ros.call(
        GetParameters, f'{node}/get_parameters', GetParameters.Request(names=names), DEADLINE)
    return response.values


def test_xpc_node_flies_in_its_namespace(ros, simulator):
    port = simulator('xpc')
    ros.subscribe(NavSatFix, '/uav1/fix')
    with launched('xpc', 'namespace:=uav1', f'port:={port}', 'host:=127.0.0.1') as launch:
        assert ros.next('/uav1/fix', 5).latitude != 0.0
        press_ctrl_c(launch)
        assert launch.wait(DEADLINE) == 0


@pytest.mark.parametrize('name', ['xpc', 'bringup'])
def test_a_launch_test_of_a_user_passes(request, tmp_path, name):
    """It includes a launch file, waits for what a node says, and looks at the exit codes."""
    pytest.importorskip('launch_testing', reason='launch_testing is not installed')
    pytest.importorskip('jsbsim', reason='the simulators need jsbsim')
    arguments, said = {'engage': 'true'}, 'autopilot_node]: engaged'
    if name == 'xpc':
        arguments, said = {'port': str(request.getfixturevalue('simulator')('xpc'))}, (
            'X-Plane Connect answers')
    else:
        arguments['port'] = str(free_ports(1))
    path = os.path.join(
        get_package_share_directory('xplane_bridge'), 'launch', f'{name}.launch.py')
    file = tmp_path / 'mine.test.py'
    file.write_text(
        'import unittest\n'
        'from launch import LaunchDescription\n'
        'from launch.actions import IncludeLaunchDescription\n'
        'from launch_testing import asserts, post_shutdown_test\n'
        'from launch_testing.actions import ReadyToTest\n'
        'def generate_test_description():\n'
        '    return LaunchDescription([IncludeLaunchDescription(\n'
        f'        {path!r}, launch_arguments={[*arguments.items()]!r}), ReadyToTest()])\n'
        'class Flies(unittest.TestCase):\n'
        '    def test_the_simulator_answers(self, proc_output):\n'
        f'        proc_output.assertWaitFor({said!r}, timeout={DEADLINE})\n'
        '@post_shutdown_test()\n'
        'class Ended(unittest.TestCase):\n'
        '    def test_with_success(self, proc_info):\n'
        '        asserts.assertExitCodes(proc_info)\n')
    with process(sys.executable, '-P', '-m', 'launch_testing.launch_test', str(file)) as tests:
        output, _ = tests.communicate(timeout=DEADLINE * 2)
    assert tests.returncode == 0, output
    assert output.count('\nOK\n') == 2, output


@pytest.mark.parametrize(('arguments', 'group'), [
    ('bringup sim:=xpc', True), ('bringup sim:=xplane12', True), ('bringup sim:=xplane6', True),
    ('bringup sim:=fdmdata', True), ('bringup sim:=xpc lockstep:=true', True),
    ('fleet sim:=direct count:=2', True), ('fleet sim:=xpc count:=2 lockstep:=true', True),
    ('bringup sim:=xpc', False),
])
def test_an_interrupt_in_flight_ends_each_process_with_success(arguments, group):
    """By Ctrl-C in a terminal, or sent to launch alone, which has none and sends it on."""
    pytest.importorskip('jsbsim', reason='the simulators need jsbsim')
    name, *given = arguments.split()
    if 'direct' not in arguments:
        given.append(f'port:={free_ports(3)}')
    with launched(name, 'engage:=true', *given) as launch:
        for line in launch.stdout:
            if 'autopilot_node]: engaged' in line:
                break
        if group:
            press_ctrl_c(launch)
        else:
            launch.send_signal(signal.SIGINT)
        output, _ = launch.communicate(timeout=DEADLINE)
    assert launch.returncode == 0
    cleanly = 3 + ('fleet sim:=xpc' in arguments)
    assert output.count('process has finished cleanly') == cleanly, output
    for wrong in ('process has died', 'may stay as it was left', 'Traceback', 'escalating'):
        assert wrong not in output


@pytest.mark.parametrize('how', ['lockstep:=true', 'engage:=true'])
def test_a_recorded_bring_up_ends_with_success_and_in_lockstep_has_each_frame(ros, tmp_path, how):
    pytest.importorskip('jsbsim', reason='the simulators need jsbsim')
    pytest.importorskip('mcap', reason='recordings need mcap')
    from xplane_bridge.laboratory.flights.analysis.history import load
    from xplane_bridge.msg import FlightControls
    ros.subscribe(FlightControls, '/uav7/command/controls')
    bag = tmp_path / 'flight.mcap'
    with launched('bringup', 'namespace:=uav7', f'port:={free_ports(1)}', 'record:=true',
                  f'bag:={bag}', how) as launch:
        ros.next('/uav7/command/controls', 60)
        press_ctrl_c(launch)
        output, _ = launch.communicate(timeout=DEADLINE * 2)
    assert launch.returncode == 0
    for wrong in ('process has died', 'Traceback', 'may stay as it was left'):
        assert wrong not in output
    topics = load(bag).topics
    if how == 'lockstep:=true':
        frames = {*topics['command/controls'].stamps}
        for topic in ('imu/data', 'fix', 'odom', 'air_data', 'controls'):
            assert frames <= {*topics[topic].stamps}, topic


def test_arguments_that_are_not_given_leave_the_parameter_file_alone(ros, tmp_path):
    file = tmp_path / 'mine.yaml'
    file.write_text('/**:\n  ros__parameters:\n    port: 49010\n    rate: 20\n')
    with launched('xpc', f'params_file:={file}', 'port:=49011', 'use_sim_time:=true'):
        rate, port, sim_time = parameters(ros, '/xpc_node', 'rate', 'port', 'use_sim_time')
        assert (rate.integer_value or rate.double_value) == 20
        assert port.integer_value == 49011
        assert sim_time.bool_value


def test_a_bad_parameter_ends_the_launch_with_the_reason(ros, tmp_path):
    file = tmp_path / 'mine.yaml'
    file.write_text('/**:\n  ros__parameters:\n    rats: 20.0\n')
    with launched('xpc', f'params_file:={file}') as launch:
        output, _ = launch.communicate(timeout=DEADLINE)
        assert 'parameter rats: xpc_node has no parameter of that name; did you mean rate?' in (
            output)
        assert 'exit code 1' in output


def test_a_bring_up_flies_on_simulated_time(ros):
    pytest.importorskip('jsbsim', reason='the simulators need jsbsim')
    from rosgraph_msgs.msg import Clock

    from xplane_bridge.msg import FlightControls
    port = free_ports(1)
    ros.subscribe(Clock, '/clock')
    ros.subscribe(NavSatFix, '/uav5/fix')
    ros.subscribe(FlightControls, '/uav5/command/controls')
    with launched('bringup', 'sim:=xpc', 'namespace:=uav5', f'port:={port}', 'speed:=2.0',
                  'engage:=true') as launch:
        command = ros.next('/uav5/command/controls', 5)
        assert command.throttle > 0.0
        # Simulated time begins at 0, and all stamps are in it.
        for stamp in (command.header.stamp, ros.next('/clock').clock,
                      ros.next('/uav5/fix').header.stamp):
            assert stamp.sec < 1000
        assert ros.observer.count_publishers('/clock') == 1
        press_ctrl_c(launch)
        output, _ = launch.communicate(timeout=DEADLINE)
        assert launch.returncode == 0
        assert 'Traceback' not in output


def test_in_lockstep_a_bring_up_waits_for_a_controller_of_ones_own(ros):
    pytest.importorskip('jsbsim', reason='the simulators need jsbsim')
    from sensor_msgs.msg import Imu

    from xplane_bridge.msg import FlightControls
    ros.subscribe(Imu, '/uav6/imu/data')
    with launched('bringup', 'namespace:=uav6', f'port:={free_ports(1)}', 'lockstep:=true',
                  'autopilot:=false'):
        own = ros.publisher(FlightControls, '/uav6/command/controls', 10)
        first = ros.next('/uav6/imu/data', 5).header.stamp
        states = ros.messages['/uav6/imu/data']
        assert {one.header.stamp.nanosec for one in states} == {first.nanosec}
        command = masked(
            FlightControls, elevator=0.0, aileron=0.0, rudder=0.0, throttle=0.5)
        command.header.stamp = first
        own.publish(command)
        ros.wait_for(lambda: states[-1].header.stamp.nanosec > first.nanosec, 'the next frame')


def test_respawn_starts_the_node_again(ros, simulator):
    port = simulator('xpc')
    ros.subscribe(NavSatFix, '/fix')
    with launched('xpc', f'port:={port}', 'respawn:=true') as launch:
        for line in launch.stdout:
            if 'process started with pid' in line:
                pid = int(line.split('pid [')[1].split(']')[0])
                break
        ros.next('/fix')
        os.kill(pid, signal.SIGKILL)
        for line in launch.stdout:
            if 'process started with pid' in line:
                break
        ros.next('/fix', 5)


def test_autopilot_is_engaged_by_its_argument(ros, simulator):
    from xplane_bridge.msg import FlightControls
    port = simulator('xpc')
    ros.subscribe(FlightControls, '/uav1/command/controls')
    with launched('xpc', 'namespace:=uav1', f'port:={port}'), \
            launched('autopilot', 'namespace:=uav1', 'engage:=true'):
        assert ros.next('/uav1/command/controls', 10).throttle > 0.0


def test_fdmdata_node_flies(ros, simulator):
    data = free_ports(3)
    controls, rpc = data + 1, data + 2
    simulator('fdmdata', '--port', str(data), '--controls-port', str(controls),
              '--rpc-port', str(rpc))
    ros.subscribe(NavSatFix, '/uav2/fix')
    with launched('fdmdata', 'namespace:=uav2', f'data_port:={data}',
                  f'controls_port:={controls}'):
        assert ros.next('/uav2/fix', 5).latitude != 0.0


def test_ulyssix_node_hears_its_publisher(ros, simulator):
    from xplane_bridge.msg import UlyssixPacket
    port = free_ports(1)
    ros.subscribe(UlyssixPacket, '/telemetry/packets')
    with launched('ulyssix', 'namespace:=telemetry', f'port:={port}'):
        simulator('ulyssix', '--port', str(port))
        assert len(ros.next('/telemetry/packets', 5).values)


def test_xplane_udp_node_flies(ros, simulator):
    port = free_ports(1)
    simulator('xplane12', '--port', str(port), '--no-beacon')
    ros.subscribe(NavSatFix, '/uav3/fix')
    with launched('xplane_udp', 'namespace:=uav3', f'port:={port}', 'version:=12'):
        assert ros.next('/uav3/fix', 5).latitude != 0.0


def test_simulator_node_runs_at_its_speed(ros):
    pytest.importorskip('jsbsim', reason='the simulators need jsbsim')
    from rosgraph_msgs.msg import Clock
    port = free_ports(1)
    ros.subscribe(Clock, '/clock')
    with launched('simulator', 'namespace:=uav4', f'port:={port}', 'speed:=4.0'):
        ros.next('/clock', 5)
        (speed,) = parameters(ros, '/uav4/simulator_node', 'speed')
        assert speed.double_value == 4.0


def test_simpit_node_reaches_its_plugin(ros, simulator, tmp_path):
    from xplane_bridge.msg import SimpitAltitude
    port = tmp_path / 'ksp'
    simulator('simpit', '--port', f'pty:{port}', '--profile', 'v0')
    ros.subscribe(SimpitAltitude, '/kerbal/altitude')
    with launched('simpit', 'namespace:=kerbal', f'port:={port}', 'profile:=v0'):
        assert ros.next('/kerbal/altitude', 3)


@pytest.mark.parametrize(('given', 'record'), [
    ({'sim': 'xplane12', 'seed': 3, 'speed': 2.0}, True),
    ({'sim': 'xpc', 'seed': 4, 'lockstep': True}, False),
])
def test_an_experiment_is_flown_with_its_arguments(tmp_path, given, record):
    pytest.importorskip('jsbsim', reason='the simulators need jsbsim')
    pytest.importorskip('mcap', reason='recordings need mcap')
    scenario = tmp_path / 'short.yaml'
    scenario.write_text(
        'duration: 2.0\nevents: [{at: 0.2, engage: true}]\n'
        'criteria: [{quantity: roll_deg, statistic: max_abs, at_most: 5.0}]\n')
    prefix = tmp_path / 'flown'
    with launched(
        'experiment', f'scenario:={scenario}', f'output:={prefix}', 'namespace:=uav9',
        f'record:={record}', *(f'{name}:={value}' for name, value in given.items()),
    ) as launch:
        output, _ = launch.communicate(timeout=180)
    assert 'all criteria are met' in output
    settings = json.loads(prefix.with_suffix('.json').read_text())['settings']
    assert {name: settings[name] for name in given} == given
    assert 'uav9.autopilot_node' in prefix.with_suffix('.log').read_text()
    assert prefix.with_suffix('.mcap').exists() == record


def test_an_experiment_joins_a_simulator_elsewhere(tmp_path, simulator):
    pytest.importorskip('jsbsim', reason='the simulators need jsbsim')
    pytest.importorskip('mcap', reason='recordings need mcap')
    port = simulator('xpc')
    scenario = tmp_path / 'short.yaml'
    scenario.write_text(
        'duration: 1.0\nevents: [{at: 0.2, engage: true}]\n'
        'criteria: [{quantity: roll_deg, statistic: max_abs, at_most: 5.0}]\n')
    with launched('experiment', f'scenario:={scenario}', f'output:={tmp_path / "flown"}',
                  'host:=127.0.0.1', f'port:={port}') as launch:
        output, _ = launch.communicate(timeout=180)
    assert f'127.0.0.1, port {port}; xpc_node' in output
    assert 'all criteria are met' in output


def test_an_interrupted_demo_leaves_its_files(tmp_path):
    pytest.importorskip('jsbsim', reason='the simulators need jsbsim')
    pytest.importorskip('mcap', reason='recordings need mcap')
    bag, picture = tmp_path / 'mine.mcap', tmp_path / 'mine.png'
    with launched('demo', f'bag:={bag}', f'picture:={picture}', cwd=tmp_path) as launch:
        for line in launch.stdout:
            if 'pitched the aircraft by' in line:
                break
        press_ctrl_c(launch)
        output, _ = launch.communicate(timeout=180)
    assert 'interrupted; the results so far follow' in output
    assert f'picture: {picture}' in output
    assert picture.exists()
    assert bag.exists()
    # For launch that was no error.
    assert 'process has died' not in output
    assert 'process has finished cleanly' in output


@pytest.mark.parametrize('autostart', [False, True])
def test_launch_manages_a_node(ros, tmp_path, autostart):
    """As docs/how-to/launch.md has it, and a node that activates itself when it is configured."""
    name = 'managed.launch.py'
    (block,) = (block for block in blocks(ROOT / 'docs' / 'how-to' / 'launch.md')
                if block.options.get('file') == name)
    text = '\n'.join(block.lines) + '\n'
    assert "'autostart': False" in text
    (tmp_path / name).write_text(text.replace("'autostart': False", f"'autostart': {autostart}"))
    with launched(tmp_path / 'managed') as launch:
        if autostart:
            refused = 'change_state refused: transition configure (1) is not possible in the state'
            assert any(refused in line for line in launch.stdout)
        ros.wait_for(lambda: ros.call(
            GetState, '/uav1/xpc_node/get_state', GetState.Request()
        ).current_state.label == 'active', 'the active node')
        press_ctrl_c(launch)
        output, _ = launch.communicate(timeout=DEADLINE)
        assert launch.returncode == 0
        assert 'Traceback' not in output
