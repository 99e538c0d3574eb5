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

"""Policies in flight: the example in one process and as a controller, one above the autopilot."""

import json
from pathlib import Path

from orders import order_of
import pytest

pytest.importorskip('jsbsim', reason='the simulators need jsbsim')

from xplane_bridge.commands import experiment as main
from xplane_bridge.laboratory.experiments.settings import NOT_FLOWN, PASSED
from xplane_bridge.laboratory.flights.scenario import scenario

pytestmark = pytest.mark.xdist_group('controllers')

ROOT = Path(__file__).resolve().parents[3]
EXAMPLE = f'{ROOT / "examples" / "policies" / "level_flight.py"}:policy'
BANKED = """
def policy(observation):
    indicated, wanted = observation
    return 0.2, 0.03, 0.7 + 0.1 * (wanted - indicated)

policy.level = 'attitude'
policy.fields = 'air_data.indicated_airspeed', 'target.airspeed'
"""
SCENARIO = """
duration: 5.0
initial: {altitude: 1200.0, heading_deg: 200.0, airspeed: 48.0}
controller: no_such_controller
events:
  - {at: 0.5, engage: true}
  - {at: 1.5, change: {airspeed: 4.0}}
criteria:
  - {quantity: roll_deg, statistic: max, at_least: 10.0, at_most: 13.0}
  - {quantity: airspeed, statistic: change, from: 1.5, to: 4.9, at_least: 1.0}
"""

# By the shipped policy.
STEPS = """
duration: 4.5
initial: {altitude: 1500.0, heading_deg: 90.0, airspeed: 51.444}
controller: no_such_controller
events:
  - {at: 0.5, engage: true}
  - at: 0.5
    change: {heading_deg: 20.0, altitude: 10.0}
criteria:
  - {quantity: heading_deg, statistic: change, at_least: 2.0}
  - {quantity: altitude, statistic: change, at_least: 1.0}
"""


def in_core(tmp_path, name, reference):
    """Fly a scenario in this process; return exit code and figures."""
    code = main.main([
        '--sim', 'core', '--scenario', str(name), '--policy', reference, '--no-picture',
        '--output', str(tmp_path / 'core')])
    return code, json.loads((tmp_path / 'core.json').read_text())


def test_the_example_meets_the_criteria_of_steps(tmp_path):
    code, found = in_core(tmp_path, 'steps', EXAMPLE)
    assert code == PASSED
    assert found['settings']['policy'] == EXAMPLE


@pytest.mark.parametrize(('arguments', 'sentence'), [
    (['--policy', 'nowhere.onnx'], 'policy nowhere.onnx: there is no file nowhere.onnx'),
    (['--policy', f'{EXAMPLE[:-6]}nothing'], 'level_flight.py has no nothing'),
])
def test_a_policy_that_there_is_not_is_refused_before_the_flight(arguments, sentence, capsys):
    assert main.main(['--sim', 'core', '--scenario', 'steps', *arguments]) == NOT_FLOWN
    assert sentence in capsys.readouterr().err


def test_a_policy_that_raises_has_no_summary(tmp_path, capsys):
    (tmp_path / 'law.py').write_text('def law(observation):\n    return nonsense\n')
    assert in_core(tmp_path, 'steps', f'{tmp_path}/law.py:law')[0] == NOT_FLOWN
    said = capsys.readouterr()
    assert "NameError: name 'nonsense' is not defined" in said.err
    assert 'no summary: it was not flown to its end' in said.out
    assert 'Summary' not in said.out


def test_a_policy_flies_instead_of_the_scenario_s_controller():
    given = scenario.parse('flight', {
        'duration': 9.0, 'events': [],
        'controller': {'command': 'mine', 'guidance': 'course', 'timeout': 9},
        'criteria': [{'quantity': 'roll', 'statistic': 'max', 'at_most': 1.0}]})
    found = order_of(given, policy=EXAMPLE).flown_by
    assert (found.command, found.guidance, found.timeout) == (
        'autopilot', 'heading', 9)
    assert found.external


@pytest.fixture
def processes():
    """Return a function that runs an executable of the package."""
    pytest.importorskip('rclpy', reason='rclpy is not installed')
    pytest.importorskip('xplane_bridge.msg', reason='the messages are not built')
    pytest.importorskip('rosbags', reason='reading back needs rosbags')
    from harness import process

    def run(*arguments):
        with process(*arguments) as child:
            output, _ = child.communicate(timeout=120)
        return child.returncode, output

    return run


def test_a_policy_keeps_the_contract_of_a_controller(tmp_path, processes):
    code, output = processes(
        'check_controller', f'ros2 run xplane_bridge policy_node --ros-args -p policy:={EXAMPLE}',
        '--sim', 'direct', '--lockstep', '--output', str(tmp_path / 'check'))
    assert code == 0, output
    assert '✓ lockstep   each of 540 states was answered' in output
    assert output.count('✓') == 11


@pytest.mark.parametrize(('sim', 'flight', 'policy', 'states'), [
    pytest.param('direct', SCENARIO, '', 270, id='above the autopilot'),
    pytest.param('xpc', STEPS, 'turbulence', 240, id='the shipped one')])
def test_a_policy_flies_through_ros_as_in_one_process(
        tmp_path, processes, sim, flight, policy, states):
    file, banked = tmp_path / 'flight.yaml', tmp_path / 'banked.py'
    file.write_text(flight)
    banked.write_text(BANKED)
    policy = policy or f'{banked}:policy'
    code, output = processes(
        'experiment', '--sim', sim, '--scenario', str(file), '--policy', policy, '--lockstep',
        '--no-record', '--no-picture', '--output', str(tmp_path / 'ros'))
    assert code == PASSED, output
    through_ros = json.loads((tmp_path / 'ros.json').read_text())
    code, here = in_core(tmp_path, file, policy)
    assert code == PASSED
    controller = through_ros['figures']['controller']
    assert controller['states'] == controller['answered'] == states
    # Through ROS it is engaged one frame later, and X-Plane Connect rounds to float32.
    for quantity, found in here['figures']['tracking'].items():
        assert through_ros['figures']['tracking'][quantity]['rms'] == pytest.approx(
            found['rms'], rel=0.02), quantity
