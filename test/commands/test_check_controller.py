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

"""check_controller as a user runs it: of the autopilot, and of one that keeps nothing."""

from pathlib import Path
import sys

import pytest

pytest.importorskip('rclpy', reason='rclpy is not installed')
pytest.importorskip('xplane_bridge.msg', reason='the messages are not built')
pytest.importorskip('jsbsim', reason='the simulators need jsbsim')

from harness import process

pytestmark = pytest.mark.xdist_group('controllers')

FAULTY = Path(__file__).resolve().parents[1] / 'support' / 'ros' / 'faulty_controller.py'


def check(tmp_path, *arguments):
    with process('check_controller', *arguments, '--output', str(tmp_path / 'check')) as child:
        output, _ = child.communicate(timeout=120)
    return child.returncode, output


def test_the_autopilot_keeps_the_contract(tmp_path):
    code, output = check(tmp_path, 'ros2 run xplane_bridge autopilot_node', '--lockstep')
    assert code == 0, output
    assert '✓ lockstep   each of 540 states was answered' in output
    assert output.count('✓') == 11
    assert output.count('–') == 1


def test_one_that_does_not_is_told_line_by_line(tmp_path):
    code, output = check(
        tmp_path, f'{sys.executable} -P {FAULTY} spoils', '--sim', 'direct', '--lockstep')
    assert code == 1, output
    marks = {line.split()[1]: line.split()[0] for line in output.splitlines()
             if line.startswith(('  ✓', '  ✗'))}
    assert [name for name, mark in marks.items() if mark == '✗'] == [
        'stamps', 'airspeed', 'heading', 'altitude', 'saturates'], output


def test_one_without_target_learns_that_from_its_list(tmp_path):
    code, output = check(tmp_path, f'{sys.executable} -P {FAULTY} own')
    assert code == 1, output
    assert ('check_controller: the controller does not subscribe to /experiment/command/target; '
            'it subscribes to /experiment/controls, /experiment/imu/data, and publishes '
            '/experiment/command/controls; use relative names; one that has its own '
            'goals') in output
    assert '✗ subscribes does not subscribe to command/target: use a relative name, or' in output
    assert '– publishes  not tried: it has a publisher on command/controls' in output


def test_one_with_its_own_goals_is_judged_by_the_rest(tmp_path):
    code, output = check(
        tmp_path, f'{sys.executable} -P {FAULTY} own', '--no-target', '--sim', 'direct',
        '--lockstep')
    assert code == 0, output
    assert '✓ subscribes imu/data, controls; not fix, odom, air_data' in output
    assert '– heading    not tried: it has its own goals' in output
    assert 'it keeps the contract of one with its own goals' in output


def test_without_a_controller_it_says_what_it_wants(tmp_path):
    code, output = check(tmp_path)
    assert code == 2
    assert 'check_controller: expected a command line, external, or --controller-launch' in output
