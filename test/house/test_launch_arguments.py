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

"""The launch files' arguments, through the real launch: accepted, rejected, and kept apart."""

import importlib.util
from itertools import permutations
import math
import os
from pathlib import Path
import re

import pytest

pytest.importorskip('rclpy', reason='rclpy is not installed')
pytest.importorskip('xplane_bridge.msg', reason='the messages are not built')

from ament_index_python.packages import get_package_share_directory, get_packages_with_prefixes

from xplane_bridge.bridges.links.claim import claim
from xplane_bridge.bridges.nodes.managed.parameters import describe
from xplane_bridge.bridges.nodes.managed.registry import nodes, parameter_table
from xplane_bridge.laboratory.nodes.launch_arguments import checked_arguments, tables_of

pytestmark = pytest.mark.ros_tools

LAUNCH = os.path.join(get_package_share_directory('xplane_bridge'), 'launch')


@pytest.fixture
def launch(monkeypatch, capsys):
    """Return a function that reports what a launch file would start and what it rejects."""
    pytest.importorskip('launch_ros', reason='launch_ros is not installed (it has no wheel)')
    from launch_commands import launched_commands
    return lambda path, *arguments: launched_commands(monkeypatch, capsys, path, *arguments)


@pytest.fixture
def enclosing(launch, tmp_path):
    """Return the same for a larger launch file with these actions, given as Python."""
    def run(actions, *arguments):
        file = tmp_path / 'larger.launch.py'
        file.write_text(
            'from launch import LaunchDescription\n'
            'from launch.actions import *\n'
            'from launch.launch_description_sources import PythonLaunchDescriptionSource\n'
            'from launch.substitutions import LaunchConfiguration\n'
            'from launch_ros.actions import *\n'
            'def include(name, **given):\n'
            '    return IncludeLaunchDescription(PythonLaunchDescriptionSource(\n'
            f'        {LAUNCH!r} + "/" + name + ".launch.py"), launch_arguments=given.items())\n'
            'def generate_launch_description():\n'
            f'    return LaunchDescription([{actions}])\n')
        return launch(file, *arguments)
    return run


def ours(name):
    return os.path.join(LAUNCH, f'{name}.launch.py')


@pytest.mark.parametrize('executable', nodes())
def test_every_parameter_is_an_argument_that_is_described(launch, executable):
    from launch.launch_description_sources import PythonLaunchDescriptionSource
    description = PythonLaunchDescriptionSource(
        ours(executable.removesuffix('_node'))).try_get_launch_description_without_context()
    arguments = {argument.name: argument for argument in description.get_launch_arguments()}
    for one in describe(parameter_table(executable)):
        argument = arguments[one.name]
        assert argument.description.startswith(one.text)
        assert one.allowed.lower() in argument.description.lower()
        assert not argument._conditionally_included
    assert {'namespace', 'params_file', 'use_sim_time', 'log_level', 'respawn'} < set(arguments)


def test_arguments_become_parameters_of_their_type(launch):
    (command,), _, _ = launch(
        ours('xpc'), 'rate:=200', 'host:=127', 'plugin:=1.2.1', 'aircraft:=[0, 1]',
        'datarefs:=["sim/a[0]", sim/b]', 'publish_tf:=TRUE', 'undulation:=.nan', 'datum:=[]',
        'autostart:=false', 'use_sim_time:=true', 'namespace:=uav1', 'log_level:=warn')
    assert (command.executable, command.namespace) == ('xpc_node', '/uav1')
    assert command.others == ['--log-level', 'warn']
    assert math.isnan(command.parameters.pop('undulation'))
    assert command.parameters == {
        'rate': 200.0, 'host': '127', 'plugin': '1.2.1', 'aircraft': [0, 1],
        'datarefs': ['sim/a[0]', 'sim/b'], 'publish_tf': True, 'datum': [], 'autostart': False,
        'use_sim_time': True}
    assert isinstance(command.parameters['rate'], float)


def test_only_what_is_given_is_set(launch, tmp_path):
    (command,), _, _ = launch(ours('autopilot'))
    assert (command.parameters, command.namespace, command.others) == ({}, '', [])
    file = tmp_path / 'mine.yaml'
    file.write_text('/**:\n  ros__parameters: {engage: true, altitude: 1500.0}\n')
    (command,), _, _ = launch(
        ours('autopilot'), f'params_file:={file}', 'altitude:=1600', 'envelope.bank_limit:=2')
    assert command.parameters == {
        'engage': True, 'altitude': 1600.0, 'envelope.bank_limit': 2.0}


def test_an_aircraft_brings_its_gains_which_a_file_and_arguments_override(launch, tmp_path):
    file = tmp_path / 'mine.yaml'
    file.write_text('/**:\n  ros__parameters: {gains.altitude_to_climb: 0.25}\n')
    (command,), _, _ = launch(
        ours('autopilot'), 'aircraft:=c172p', f'params_file:={file}', 'envelope.bank_limit:=0.4')
    assert command.parameters['gains.airspeed'] == 51.4
    assert command.parameters['gains.altitude_to_climb'] == 0.25
    assert command.parameters['envelope.bank_limit'] == 0.4
    commands, output, _ = launch(ours('autopilot'), 'aircraft:=c173')
    assert not commands
    assert 'launch argument aircraft: no gains are known for c173' in output
    simulator, _, autopilot = launch(ours('bringup'), 'aircraft:=c172p')[0]
    assert simulator.parameters['model'] == 'c172p'
    assert autopilot.parameters['gains.airspeed'] == 51.4


def test_the_aircraft_of_a_parameter_file_brings_its_gains_or_ends_the_launch(launch, tmp_path):
    file = tmp_path / 'mine.yaml'
    file.write_text('simulator_node: {ros__parameters: {model: T37}}\n')
    *_, autopilot = launch(ours('bringup'), f'params_file:={file}')[0]
    assert autopilot.parameters['gains.airspeed'] == 110.0
    file.write_text('simulator_node: {ros__parameters: {model: f15}}\n')
    commands, output, _ = launch(ours('bringup'), f'params_file:={file}')
    assert not commands
    assert 'launch argument params_file: no gains are known for f15: find its own' in output
    assert len(launch(ours('bringup'), f'params_file:={file}', 'aircraft:=c172p')[0]) == 3
    assert len(launch(ours('bringup'), f'params_file:={file}', 'autopilot:=false')[0]) == 2


@pytest.mark.parametrize(('argument', 'sentence'), [
    ('rat:=200', 'rat: xpc.launch.py has no argument of that name; did you mean rate?'),
    ('port:=abc', "port: expected a whole number, got 'abc'"),
    ('port:=70000', 'port: expected 1 to 65535, got 70000'),
    ('params_file:=/no/such.yaml', "params_file: there is no file '/no/such.yaml'"),
    ('respawn:=maybe', "respawn: expected true or false, got 'maybe'"),
    ('stamp:=mine', "stamp: expected one of receive, simulator, got 'mine'"),
])
def test_an_argument_that_cannot_be_ends_the_launch_with_a_sentence(launch, argument, sentence):
    commands, output, _ = launch(ours('xpc'), argument)
    assert not commands
    assert f'launch argument {sentence}' in output


def test_the_prefix_of_ros2_launch_is_no_mistake(launch):
    (command,), _, _ = launch(ours('xpc'), 'launch-prefix:=nice', 'launch-prefix-filter:=xpc')
    assert command.executable in ('nice', 'xpc_node')


def test_two_files_in_a_larger_one_do_not_see_each_other(enclosing):
    (first, second), _, left = enclosing(
        'include("xpc", namespace="a", rate="30", params_file=""), include("xplane_udp")')
    assert (first.executable, first.namespace, first.parameters) == (
        'xpc_node', '/a', {'rate': 30.0})
    assert (second.executable, second.namespace, second.parameters) == (
        'xplane_udp_node', '', {})
    # Declared arguments stay local; passed ones do not, as with all launch files.
    assert set(left) == {'namespace', 'rate', 'params_file'}


def test_arguments_of_the_larger_file_are_its_own(enclosing):
    declared = 'DeclareLaunchArgument("rate", default_value="1"), DeclareLaunchArgument("rat"), '
    commands, _, left = enclosing(
        declared + 'include("xpc", host=LaunchConfiguration("rat"), namespace="a"), '
        'include("autopilot", namespace="a"), '
        'GroupAction([include("xplane_udp", rate=LaunchConfiguration("rate"))])',
        'rat:=x', 'camera:=front')
    assert [command.parameters for command in commands] == [{'host': 'x'}, {}, {'rate': 1.0}]
    assert [command.namespace for command in commands] == ['/a', '/a', '']
    assert (left['rate'], left['rat'], left['camera']) == ('1', 'x', 'front')


def test_an_include_that_passes_what_is_none_is_refused(enclosing):
    _, output, _ = enclosing('include("xpc", hots="x")')
    assert 'hots: xpc.launch.py has no argument of that name; did you mean host?' in output


def test_remappings_parameters_and_namespaces_of_a_group_hold(enclosing):
    (command,), _, _ = enclosing(
        'GroupAction([PushRosNamespace("fleet"), SetRemap("fix", "gps"), '
        'SetParameter("use_sim_time", True), SetParameter("rate", 10.0), '
        'include("xpc", namespace="uav1", rate="30")])')
    assert command.namespace == '/fleet/uav1'
    assert command.remappings == ['fix:=gps']
    # Arguments passed to the file take precedence over parameters set for all nodes.
    assert command.parameters == {'use_sim_time': True, 'rate': 30.0}


@pytest.mark.parametrize(('kind', 'text'), [
    ('xml', '<launch><include file="{file}"><arg name="rate" value="5"/></include></launch>'),
    ('yaml', 'launch:\n- include:\n    file: {file}\n    arg: [{{name: rate, value: "5"}}]\n'),
])
def test_files_in_xml_and_yaml_include_ours(launch, tmp_path, kind, text):
    pytest.importorskip(f'launch_{kind}')
    if 'launch' not in get_packages_with_prefixes():
        pytest.skip('launch is not installed as a package: it does not find its grammar')
    file = tmp_path / f'larger.launch.{kind}'
    file.write_text(text.format(file=ours('xpc')))
    (command,), _, _ = launch(file)
    assert command.parameters == {'rate': 5.0}


def test_a_file_within_a_file_within_a_file(enclosing, tmp_path):
    inner = tmp_path / 'inner.launch.py'
    inner.write_text(
        'from launch import LaunchDescription\n'
        'from launch.actions import IncludeLaunchDescription, TimerAction\n'
        'def generate_launch_description():\n'
        f'    return LaunchDescription([TimerAction(period=0.0, actions=[\n'
        f'        IncludeLaunchDescription({ours("xpc")!r}, launch_arguments=[("rate", "7")])])])')
    (command,), _, _ = enclosing(
        f'IncludeLaunchDescription({str(inner)!r}, launch_arguments=[("rate", "1")])')
    assert command.parameters == {'rate': 7.0}


def test_a_description_that_is_made_by_hand_takes_the_configurations(enclosing):
    (command,), _, _ = enclosing(
        'SetLaunchConfiguration("rate", "4"), SetLaunchConfiguration("camera", "front"), '
        f'*PythonLaunchDescriptionSource({ours("xpc")!r})'
        '.try_get_launch_description_without_context().entities')
    assert command.parameters == {'rate': 4.0}


# The bring-up.

@pytest.mark.parametrize(('arguments', 'shared'), [
    # One decision about time for all nodes.
    ([], {'use_sim_time': False}),
    (['use_sim_time:=true'], {'use_sim_time': True}),
    (['speed:=2'], {'use_sim_time': True}),
    (['lockstep:=true'], {'use_sim_time': True, 'lockstep': True}),
])
@pytest.mark.parametrize('sim', ['xpc', 'xplane12', 'xplane6', 'fdmdata'])
def test_the_nodes_of_a_bring_up_agree(launch, sim, arguments, shared):
    if sim == 'fdmdata' and 'lockstep' in shared:
        _, output, _ = launch(ours('bringup'), f'sim:={sim}', *arguments)
        assert 'launch argument lockstep: fdmdata has no time in its protocol' in output
        return
    commands, _, _ = launch(
        ours('bringup'), f'sim:={sim}', 'port:=50000', 'namespace:=uav1', *arguments)
    simulator, bridge, autopilot = commands
    for command in commands:
        assert command.namespace == '/uav1'
        assert command.parameters['use_sim_time'] == shared['use_sim_time']
    for command in (simulator, autopilot):
        assert command.parameters['lockstep'] == shared.get('lockstep', False)
    assert simulator.parameters['sim'] == sim
    assert simulator.parameters['port'] == 50000
    port = 'data_port' if sim == 'fdmdata' else 'port'
    assert bridge.parameters[port] == 50000
    if sim == 'xplane6':
        assert simulator.parameters['data_port'] == bridge.parameters['data_port']
    # One of them publishes /clock, if enabled.
    clocks = [simulator.parameters['publish_clock'],
              bridge.parameters.get('stamp') == 'simulator']
    assert sum(clocks) == shared['use_sim_time']
    assert autopilot.parameters.get('engage', False) == ('lockstep' in shared)


def test_a_bring_up_in_lockstep_for_a_controller_of_ones_own(launch):
    simulator, bridge = launch(
        ours('bringup'), 'lockstep:=true', 'autopilot:=false', 'namespace:=uav1')[0]
    assert (simulator.executable, bridge.executable) == ('simulator_node', 'xpc_node')
    assert simulator.parameters['lockstep']
    assert bridge.parameters['lockstep']
    assert (bridge.parameters['command_timeout'], bridge.parameters['stamp']) == (0.0, 'simulator')


def test_a_bring_up_with_sensors(launch):
    simulator, bridge, sensors, autopilot = launch(
        ours('bringup'), 'sim:=xplane12', 'lockstep:=true', 'sensors:=tactical')[0]
    assert sensors.executable == 'sensors_node'
    assert sensors.parameters == {'sensors': 'tactical', 'lockstep': True, 'use_sim_time': True}
    assert 'imu/data:=truth/imu/data' in bridge.remappings
    assert autopilot.parameters['behind_sensors']
    assert not simulator.remappings


def test_sensors_behind_a_bridge(launch):
    bridge, sensors = launch(ours('xpc'), 'sensors:=perfect', 'namespace:=uav1')[0]
    assert bridge.remappings == [
        f'{topic}:=truth/{topic}'
        for topic in ('fix', 'fix_velocity', 'imu/data', 'odom', 'air_data', 'temperature',
                      'static_pressure', 'dynamic_pressure', 'wind')]
    assert (sensors.executable, sensors.namespace) == ('sensors_node', '/uav1')
    assert sensors.parameters == {'sensors': 'perfect', 'lockstep': False}


def test_sensors_behind_the_simulated_aircraft(launch):
    simulator, sensors = launch(
        ours('simulator'), 'telemetry:=direct', 'sensors:=perfect', 'lockstep:=true')[0]
    assert 'imu/data:=truth/imu/data' in simulator.remappings
    assert simulator.parameters == {'telemetry': 'direct', 'lockstep': True}
    assert sensors.parameters == {'sensors': 'perfect', 'lockstep': True}
    commands, output, _ = launch(ours('simulator'), 'sensors:=perfect')
    assert not commands
    assert 'sensors: with telemetry:=bridge the truth comes from the bridge' in output


@pytest.mark.parametrize(('name', 'arguments', 'sentence'), [
    ('xplane_udp', ['discover:=true', 'version:=9'],
     'launch argument discover: X-Plane 9 has no beacon; set host'),
    ('simulator', ['sim:=fdmdata', 'lockstep:=true'], 'launch argument lockstep: FDMData has no'),
    ('xpc', ['sensors:=good'], "launch argument sensors: there are no sensors 'good'"),
    ('experiment', ['lockstep:=true', 'speed:=2'], 'lockstep runs as fast as possible'),
])
def test_arguments_that_contradict_one_another_end_the_launch(launch, name, arguments, sentence):
    commands, output, _ = launch(ours(name), *arguments)
    assert not commands
    assert sentence in output


def test_what_a_group_or_a_file_sets_may_be_what_fits(launch, enclosing, tmp_path):
    (command,), _, _ = enclosing(
        'GroupAction([SetParameter("web_port", 8086), '
        'include("xplane_udp", web_datarefs="sim/a")])')
    assert command.parameters == {'web_port': 8086, 'web_datarefs': ['sim/a']}
    file = tmp_path / 'mine.yaml'
    file.write_text('/**:\n  ros__parameters: {telemetry: direct}\n')
    (command,), _, _ = launch(
        ours('simulator'), f'params_file:={file}', 'sim:=fdmdata', 'lockstep:=true')
    assert command.parameters == {'telemetry': 'direct', 'sim': 'fdmdata', 'lockstep': True}


@pytest.mark.parametrize(('argument', 'sentence'), [
    ('face:=xplane12', 'launch argument face: it is now called sim'),
    ('altitude:=1500.0', 'launch argument altitude: it is now called altitude_msl'),
    ('telemetry:=wire', "launch argument telemetry: 'wire' is now called bridge"),
])
def test_a_name_of_an_earlier_release_is_refused_with_the_present_one(launch, argument, sentence):
    commands, output, _ = launch(ours('simulator'), argument)
    assert not commands
    assert sentence in output


def test_a_bring_up_with_a_real_simulator(launch, tmp_path):
    file = tmp_path / 'mine.yaml'
    file.write_text('/**:\n  ros__parameters: {rate: 20.0, altitude: 1500.0, host: nowhere}\n')
    bridge, autopilot = launch(
        ours('bringup'), 'host:=192.0.2.1', 'engage:=true', f'params_file:={file}')[0]
    assert bridge.executable == 'xpc_node'
    assert (bridge.parameters['host'], bridge.parameters['port']) == ('192.0.2.1', 49009)
    assert bridge.parameters['rate'] == 20.0
    assert autopilot.parameters['engage']
    assert autopilot.parameters['altitude'] == 1500.0
    (bridge,), _, _ = launch(
        ours('bringup'), 'host:=192.0.2.1', 'autopilot:=false', 'use_sim_time:=true')
    assert bridge.parameters['stamp'] == 'simulator'


@pytest.mark.parametrize(('name', 'arguments', 'namespace'), [
    ('bringup', ('namespace:=claimed',), '/claimed'),
    ('fleet', ('namespace:=claimed', 'count:=2', 'autopilot:=false'), '/claimed/uav2')])
def test_where_another_flies_a_launch_ends_before_it_starts_anything(
    launch, name, arguments, namespace
):
    with claim(namespace):
        commands, said, _ = launch(ours(name), *arguments)
        assert f'{namespace} in ROS domain ' in said
        assert 'is taken by another flight of this process' in said
        assert not commands
    # What it has claimed is free when it ends, also here, where its process goes on.
    for _ in range(2):
        commands, said, _ = launch(ours(name), *arguments)
        assert commands, said


def test_what_is_claimed_is_the_namespace_of_the_group(enclosing):
    grouped = ', '.join(
        f'GroupAction([PushRosNamespace("{name}"), include("bringup", **{given})])'
        for name, given in (('one', {}), ('two', {}), ('two', {'namespace': '/alone'})))
    commands, said, _ = enclosing(grouped)
    assert len(commands) == 9, said
    with claim('/two'):
        _, said, _ = enclosing(grouped)
    assert '/two in ROS domain ' in said


@pytest.mark.parametrize(('arguments', 'sentence'), [
    (['sim:=xplane10'], 'sim: expected one of xpc, xplane12'),
    (['sim:=xplane_udp'], "sim: 'xplane_udp' is a protocol, not a version of X-Plane: choose one "
                          'of xplane12, '),
    (['host:=192.0.2.1', 'speed:=2'], 'speed and lockstep need a simulator of this package'),
    (['sim:=fdmdata', 'host:=192.0.2.1', 'use_sim_time:=true'],
     'use_sim_time: fdmdata has no time in its protocol'),
    (['bag:=mine.mcap'], 'launch argument bag: nothing is recorded; add record:=true'),
    (['hots:=x'], 'hots: bringup.launch.py has no argument of that name; did you mean host?'),
])
def test_a_bring_up_that_cannot_be_says_why(launch, arguments, sentence):
    commands, output, _ = launch(ours('bringup'), *arguments)
    assert not commands
    assert sentence in output


@pytest.fixture
def tools(tmp_path, monkeypatch):
    """Install stubs for RViz and the Foxglove bridge."""
    for package, executable in (('rviz2', 'rviz2'), ('foxglove_bridge', 'foxglove_bridge')):
        file = tmp_path / 'lib' / package / executable
        file.parent.mkdir(parents=True)
        file.touch(0o755)
        index = tmp_path / 'share' / 'ament_index' / 'resource_index' / 'packages' / package
        index.parent.mkdir(parents=True, exist_ok=True)
        index.touch()
    monkeypatch.setenv('AMENT_PREFIX_PATH', str(tmp_path), prepend=os.pathsep)


def test_a_bring_up_with_tools(launch, tools):
    commands, _, _ = launch(
        ours('bringup'), 'namespace:=uav1', 'use_sim_time:=true', 'rviz:=true', 'foxglove:=true',
        'record:=true', 'bag:=mine.mcap')
    # launch starts them in an order of its own.
    started = {command.executable: command for command in commands}
    rviz, view, record = started['rviz2'], started['view_node'], started['record']
    assert 'foxglove_bridge' in started
    assert rviz.others[0] == '-d'
    assert os.path.exists(rviz.others[1])
    assert rviz.remappings[0] == '/experiment/robot_description:=/uav1/robot_description'
    assert len(rviz.remappings) == 4
    assert view.namespace == '/uav1'
    assert not view.parameters['from_commands']
    assert record.others == ['--output', 'mine.mcap', '--namespace', '/uav1']
    assert all(command.parameters['use_sim_time'] for command in commands)


def test_rosbag2_records_a_bring_up_where_all_of_it_is(launch, tmp_path, monkeypatch):
    index = tmp_path / 'share' / 'ament_index' / 'resource_index' / 'packages'
    index.mkdir(parents=True)
    ros2 = tmp_path / 'ros2'
    ros2.touch(0o755)
    monkeypatch.setenv('PATH', str(tmp_path), prepend=os.pathsep)
    monkeypatch.setenv('AMENT_PREFIX_PATH', str(tmp_path), prepend=os.pathsep)
    # It needs no package of Python.
    monkeypatch.setattr(importlib.util, 'find_spec', lambda name: None)
    for package in ('ros2bag', 'rosbag2_storage_mcap'):
        (index / package).touch()
    commands, output, _ = launch(
        ours('bringup'), 'namespace:=uav1', 'record:=true', 'bag:=mine')
    bag, = [command for command in commands if command.executable == 'ros2']
    assert bag.others == [
        'bag', 'record', '--storage', 'mcap', '--output', 'mine', '--regex',
        '^(/uav1/.*|/diagnostics|/clock|/tf|/tf_static)$'], output
    (index / 'rosbag2_storage_mcap').unlink()
    assert not launch(ours('bringup'), 'record:=true')[0]


@pytest.mark.parametrize(('given', 'heard'), [(['record:=true'], True), ([], False)])
def test_in_lockstep_the_first_command_waits_for_the_recorder(launch, given, heard):
    commands, output, _ = launch(
        ours('bringup'), 'lockstep:=true', 'namespace:=uav1', 'sensors:=consumer', *given)
    started = {command.executable: command.parameters for command in commands}
    assert started['autopilot_node'].get('wait_for_recorder', False) == heard, output
    # While it gets no processor time nothing is lost: of each node the topics that it publishes.
    for node, topic in (
            ('autopilot_node', '/uav1/command/controls'), ('sensors_node', '/uav1/imu/data'),
            ('xpc_node', '/uav1/truth/imu/data'), ('xpc_node', '/clock'),
            ('simulator_node', '/uav1/airframe')):
        kept = started[node].get(f'qos_overrides.{topic}.publisher.depth', 10)
        assert kept == (1000 if heard else 10), (node, topic)


def test_a_recording_without_mcap_ends_before_anything_starts(launch, monkeypatch):
    monkeypatch.setattr(importlib.util, 'find_spec', lambda name: None)
    commands, output, _ = launch(ours('bringup'), 'record:=true')
    assert not commands
    assert 'launch argument record needs the Python package mcap: ' in output


@pytest.mark.parametrize(('name', 'package'), [('rviz', 'rviz2'), ('foxglove', 'foxglove_bridge')])
def test_a_tool_that_is_not_installed_is_named(launch, name, package):
    if package in get_packages_with_prefixes():
        pytest.skip(f'{package} is installed here')
    commands, output, _ = launch(ours('bringup'), f'{name}:=true')
    assert not commands
    assert (f'{name}: the package {package} is not installed; install it with: apt install'
            in output)


def test_a_recording_is_named_by_date_and_never_written_over(launch, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for given, name in ((), 'flight'), (('namespace:=uavs/uav1',), 'uavs_uav1'):
        *_, record = launch(ours('bringup'), 'record:=true', *given)[0]
        assert re.fullmatch(
            name + r'_\d{4}(_\d\d){2}(-\d\d)(_\d\d){2}\.mcap', record.others[1])
    Path('mine.mcap').write_text('the last flight')
    commands, output, _ = launch(ours('bringup'), 'record:=true', 'bag:=mine.mcap')
    assert not commands
    assert 'mine.mcap exists; bag:= writes elsewhere' in output


def test_a_fleet_is_below_its_namespaces(launch):
    simulator, *autopilots = launch(
        ours('fleet'), 'count:=2', 'namespace:=team', 'engage:=true')[0]
    assert (simulator.namespace, simulator.parameters['namespaces']) == ('/team', ['uav1', 'uav2'])
    assert {one.namespace for one in autopilots} == {'/team/uav1', '/team/uav2'}
    assert all(one.parameters['engage'] and one.parameters['use_sim_time'] for one in autopilots)
    assert len(launch(ours('fleet'), 'count:=1')[0]) == 2


def test_a_fleet_with_sensors_and_tools(launch, tools):
    started = launch(ours('fleet'), 'count:=2', 'namespace:=team', 'lockstep:=true', 'rviz:=true',
                     'sensors:=tactical', 'record:=true', 'bag:=mine.mcap')[0]
    of = {}
    for command in started:
        of.setdefault(command.executable, []).append(command)
    assert {name: len(several) for name, several in of.items()} == {
        'simulator_node': 1, 'sensors_node': 2, 'autopilot_node': 2, 'view_node': 2, 'rviz2': 1,
        'record': 1}
    assert 'uav2/imu/data:=uav2/truth/imu/data' in of['simulator_node'][0].remappings
    for name in ('sensors_node', 'autopilot_node', 'view_node'):
        assert {one.namespace for one in of[name]} == {'/team/uav1', '/team/uav2'}
    assert {one.parameters['seed'] for one in of['sensors_node']} == {0, 1}
    assert all(one.parameters['behind_sensors'] and one.parameters['wait_for_recorder']
               for one in of['autopilot_node'])
    assert {one.parameters['frame_prefix'] for one in of['view_node']} == {'uav1/', 'uav2/'}
    assert of['record'][0].others == ['--output', 'mine.mcap', '--namespace', '/team']
    assert all(one.parameters['use_sim_time'] for one in started)
    option, file = of['rviz2'][0].others
    assert option == '-d'
    assert '/team/uav2/robot_description' in Path(file).read_text()


# The flights.

@pytest.mark.parametrize(('name', 'given', 'there', 'sentence'), [
    ('demo', 'bag:=mine.mcap', 'mine.mcap',
     'mine.mcap exists; force:=true overwrites it, bag:= writes elsewhere'),
    ('experiment', 'seed:=5', 'xpc_steps_seed5.json',
     'xpc_steps_seed5.json exists; force:=true overwrites it, output:= writes elsewhere'),
])
def test_a_flight_that_would_overwrite_ends_before_anything_starts(
        launch, tmp_path, monkeypatch, name, given, there, sentence):
    monkeypatch.chdir(tmp_path)
    Path(there).write_text('the last flight')
    commands, output, _ = launch(ours(name), given)
    assert not commands
    assert sentence in output
    (command,), _, _ = launch(ours(name), given, 'force:=true')
    assert '--force' in command.others


def test_arguments_of_the_flights_become_options(launch):
    (command,), _, _ = launch(ours('demo'), 'bag:=a.mcap', 'host:=192.0.2.1', 'port:=49010')
    assert command.others == [
        '--bag', 'a.mcap', '--host', '192.0.2.1', '--port', '49010', '--by-launch']
    (command,), _, _ = launch(ours('demo'))
    assert command.others == ['--by-launch']
    (command,), _, _ = launch(
        ours('experiment'), 'sim:=xplane12', 'speed:=2', 'lockstep:=false', 'record:=false',
        'seed:=3', 'sensors:=consumer')
    assert command.others == [
        '--sim', 'xplane12', '--speed', '2.0', '--seed', '3', '--sensors', 'consumer',
        '--no-record', '--by-launch']
    (command,), _, _ = launch(
        ours('experiment'), 'controller:=ros2 run my_pkg mine -v', 'controller_timeout:=9')
    assert command.others == [
        '--controller', 'ros2 run my_pkg mine -v', '--controller-timeout', '9.0',
        '--by-launch']
    (command,), _, _ = launch(
        ours('experiment'), 'controller_launch:=my_pkg my.launch.py', 'guidance:=heading')
    assert command.others == [
        '--controller-launch', 'my_pkg', 'my.launch.py', '--guidance', 'heading', '--by-launch']
    (command,), _, _ = launch(
        ours('experiment'), 'scenario:=turbulence', 'controller:=mine', 'target:=false')
    assert command.others == [
        '--scenario', 'turbulence', '--controller', 'mine', '--no-target', '--by-launch']


def test_arguments_are_in_the_order_of_their_declaration_whichever_launch_has():
    given = {'respawn': 'true', 'altitude': '900', 'namespace': 'uav1', 'engage': 'true'}
    tables = tables_of('autopilot_node')
    orders = {tuple(checked_arguments('autopilot.launch.py', dict(order), tables))
              for order in permutations(given.items())}
    assert orders == {('engage', 'altitude', 'namespace', 'respawn')}


def test_a_launch_file_of_a_controller_is_put_beside_the_vehicle(launch):
    (command,), _, _ = launch(
        ours('controller'), 'package:=xplane_bridge', 'file:=autopilot.launch.py',
        'namespace:=uav1', 'lockstep:=true')
    assert (command.executable, command.namespace) == ('autopilot_node', '/uav1')
    assert command.parameters == {'lockstep': True}


@pytest.mark.parametrize(('name', 'argument', 'sentence'), [
    ('experiment', 'sim:=xplane7', 'sim: expected one of xpc, xplane12'),
    ('experiment', 'scenaro:=steps', 'scenaro: experiment.launch.py has no argument of that name; '
                                     'did you mean scenario?'),
    ('demo', 'port:=x', "port: expected a whole number, got 'x'"),
    ('demo', 'port:=49010', 'port: it is that of a real X-Plane; give its host, or omit it'),
    ('controller', 'package:=no_such', "package: there is no package 'no_such'; build it"),
    ('controller', 'namespace:=uav1', 'package: it is required; for example package:='),
    ('controller', 'package:=xplane_bridge', 'file: it is required; for example package:='),
    ('controller', 'file:=autopilot.launch.py', 'package: it is required; for example package:='),
])
def test_the_flights_refuse_what_cannot_be(launch, name, argument, sentence):
    commands, output, _ = launch(ours(name), argument)
    assert not commands
    assert f'launch argument {sentence}' in output
