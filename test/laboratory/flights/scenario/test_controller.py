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

"""Which controller flies: of the command line, of the scenario; and what is started for it."""

import shutil
import sys

from orders import check, order_of
import pytest

from xplane_bridge.laboratory.flights.scenario import flown_by as controller
from xplane_bridge.laboratory.flights.scenario.errors import ScenarioError
from xplane_bridge.laboratory.flights.scenario.scenario import parse

ROS = controller.ros_arguments('/experiment', False, True)


def scenario(events=(), **given):
    return parse('flight', {
        'duration': 9.0, 'events': list(events),
        'criteria': [{'quantity': 'roll', 'statistic': 'max', 'at_most': 1.0}], **given})


def chosen(given=None, **options):
    found = order_of(
        scenario() if given is None else scenario(controller=given), **options).flown_by
    return found.command, found.launch, found.guidance, found.timeout


def test_the_autopilot_flies_unless_somebody_says_otherwise():
    assert chosen() == ('autopilot', (), 'course', 5.0)
    assert not order_of(scenario()).flown_by.external
    assert chosen('mine --fast') == ('mine --fast', (), 'course', 5.0)
    assert chosen({'launch': ['pkg', 'a.launch.py'], 'guidance': 'heading', 'timeout': 60}) == (
        '', ('pkg', 'a.launch.py'), 'heading', 60.0)
    assert order_of(scenario(controller='external')).flown_by.external


def test_the_command_line_wins_over_the_scenario():
    file = {'launch': ['pkg', 'a.launch.py'], 'guidance': 'heading', 'timeout': 60}
    assert chosen(file, controller='other') == ('other', (), 'heading', 60.0)
    assert chosen('mine', controller_launch=('pkg', 'b.launch.py')) == (
        '', ('pkg', 'b.launch.py'), 'course', 5.0)
    assert chosen('mine', controller='autopilot')[0] == 'autopilot'
    assert chosen(file, guidance='course', controller_timeout=2.0)[2:] == ('course', 2.0)


def test_a_scenario_may_name_a_policy():
    flown_by = order_of(scenario(controller={'policy': 'turbulence'})).flown_by
    assert (flown_by.policy, flown_by.guidance, flown_by.external) == (
        'turbulence', 'heading', True)
    assert not order_of(
        scenario(controller={'policy': 'turbulence'}), controller='autopilot').flown_by.policy
    assert order_of(
        scenario(controller={'policy': 'turbulence'}), policy='mine.onnx').flown_by.policy == (
        'mine.onnx')


def test_own_goals_are_those_of_the_controller_that_has_them():
    file = {'command': 'mine', 'target': False}
    assert order_of(scenario(controller='mine')).flown_by.targets
    assert not order_of(scenario(controller='mine'), no_target=True).flown_by.targets
    assert not order_of(scenario(controller=file)).flown_by.targets
    assert not order_of(scenario(controller=file), controller='a rival').flown_by.targets
    # They hold what target says, and can be compared so.
    assert order_of(scenario(controller=file), controller='autopilot').flown_by.targets
    assert order_of(scenario(controller=file), policy='turbulence').flown_by.targets


@pytest.mark.parametrize(('given', 'sentence'), [
    ({}, 'controller: expected one of command, launch and policy'),
    ({'command': 'a', 'policy': 'b'}, 'controller: expected one of command, launch and policy'),
    ({'policy': 1}, 'controller.policy: expected the name or the file of a policy, got'),
    ({'command': ' '}, 'controller.command: expected a command line'),
    ({'launch': 'b'}, r'controller.launch: expected \[package, file\], got'),
    ({'command': 'a', 'guidance': 'path'}, 'controller.guidance: expected one of course, heading'),
    ({'command': 'a', 'timeout': 0}, 'controller.timeout: expected above 0'),
    ({'command': 'a', 'target': 1}, 'controller.target: expected true or false'),
    ({'run': 'a'}, 'controller: unknown name'),
])
def test_a_mistake_in_the_scenario_is_said(given, sentence):
    with pytest.raises(ScenarioError, match=sentence):
        scenario(controller=given)


@pytest.mark.parametrize(('options', 'sentence'), [
    ({'sim': 'core', 'controller': 'mine'}, 'core flies without ROS'),
    ({'controller': 'mine', 'controller_launch': ('a', 'b')}, 'exclude each other'),
    ({'controller': 'mine', 'controller_timeout': -1.0}, 'controller-timeout: -1.0 is not above'),
    ({'controller': 'external'}, 'an external one is not for the experiment to stop'),
])
def test_what_cannot_be_flown_is_refused(options, sentence):
    with pytest.raises(ScenarioError, match=sentence):
        check(order_of(scenario([{'at': 1.0, 'autopilot_frozen': True}]), **options))


def test_ros_arguments_are_at_the_end_or_where_the_command_wants_them():
    python = shutil.which('python3')
    assert controller.split_command("python3 'my file.py' -v", ROS) == [
        python, 'my file.py', '-v', '--ros-args', '-r', '__ns:=/experiment', '-p',
        'lockstep:=true']
    assert controller.split_command('python3 a.py {ros_arguments} -- x', ROS) == [
        python, 'a.py', *ROS, '--', 'x']
    assert controller.split_command("sh -c 'cd a && ./b {ros_arguments}'", ROS)[1:] == [
        '-c', 'cd a && ./b --ros-args -r __ns:=/experiment -p lockstep:=true']
    assert controller.ros_arguments('/a', True, False)[3:] == ['-p', 'use_sim_time:=true']


@pytest.mark.parametrize(('command', 'sentence'), [
    ('no_such_program a', "there is no program 'no_such_program'"),
    ("python3 'a", 'No closing quotation'),
    ('ros2 run only', 'expected ros2 run PACKAGE EXECUTABLE'),
    ('ros2 run no_such_package a', "there is no package 'no_such_package'"),
    ('ros2 run xplane_bridge no_such', "package xplane_bridge has no executable 'no_such': "
     'expected one of .*autopilot_node'),
])
def test_a_command_that_cannot_be_started_is_said_before_anything_is(command, sentence):
    pytest.importorskip('xplane_bridge.msg', reason='the messages are not built')
    with pytest.raises(ScenarioError, match=sentence):
        controller.split_command(command, ROS)


@pytest.mark.parametrize('command', ['ros2 run xplane_bridge autopilot_node', 'autopilot_node'])
def test_an_executable_of_a_package_needs_no_ros2(command):
    pytest.importorskip('xplane_bridge.msg', reason='the messages are not built')
    path, *rest = controller.split_command(command + ' -v', ROS)
    assert path.endswith('lib/xplane_bridge/autopilot_node')
    assert rest == ['-v', *ROS]


def test_without_ros2_launch_a_launch_file_is_refused_with_a_way_out(monkeypatch):
    monkeypatch.setattr(shutil, 'which', lambda name: None)
    with pytest.raises(ScenarioError, match='needs ros2 launch .* --controller external'):
        controller.launch_arguments(('pkg', 'a.launch.py'), '/experiment', False, True)
    monkeypatch.setattr(shutil, 'which', lambda name: f'/opt/{name}')
    monkeypatch.setitem(sys.modules, 'launch_ros', sys)
    assert controller.launch_arguments(('pkg', 'a.launch.py'), '/experiment', False, True) == [
        '/opt/ros2', 'launch', 'xplane_bridge', 'controller.launch.py', 'package:=pkg',
        'file:=a.launch.py', 'namespace:=/experiment', 'use_sim_time:=false', 'lockstep:=true']


def test_titles_have_files_by_their_names():
    assert controller.without_folders('policy:/a:b/c=d/law.py:law') == 'policy:law.py:law'
    assert controller.without_folders('python3 /a/fly.py ../k.txt') == 'python3 fly.py k.txt'
    assert controller.without_folders('policy:turbulence') == 'policy:turbulence'
    # Of a stranger's table; it took minutes.
    assert controller.without_folders('x' * 100_000) == 'x' * 100_000


@pytest.mark.parametrize(('given', 'name'), [
    ({'controller': 'python3 examples/controllers/minimal.py --gain 2'}, 'minimal'),
    ({'controller': 'ros2 run my_pkg my_controller'}, 'my_controller'),
    ({'controller': './build/fly-by-wire'}, 'fly_by_wire'),
    ({'controller': 'external'}, 'external'),
    ({'controller_launch': ('my_pkg', 'my.launch.py')}, 'my'),
    ({'policy': '/a/b/turbulence.onnx'}, 'turbulence'),
    ({'policy': 'file.py:attribute'}, 'file'),
    ({}, 'autopilot'),
])
def test_a_controller_has_a_short_name_for_files(given, name):
    assert controller.short_name(given) == name
