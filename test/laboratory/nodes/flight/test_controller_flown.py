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

"""What is reported of controllers that do not keep their contract, and of one that does."""

import json
from pathlib import Path
import sys

import pytest

pytest.importorskip('rclpy', reason='rclpy is not installed')
pytest.importorskip('xplane_bridge.msg', reason='the messages are not built')
pytest.importorskip('jsbsim', reason='the simulators need jsbsim')
pytest.importorskip('rosbags', reason='reading back needs rosbags')

from harness import process
from xplane_bridge.laboratory.flights.analysis import history as analysis

pytestmark = pytest.mark.xdist_group('controllers')

FAULTY = Path(__file__).resolve().parents[3] / 'support' / 'ros' / 'faulty_controller.py'
SCENARIO = """
duration: {duration}
initial: {{altitude: 1200.0, heading_deg: 200.0, airspeed: 48.0}}
controller: no_such_controller
events:
  - {{at: 0.0, controls: {{elevator: 0.08, throttle: 0.7}}, for: 0.3}}
  - {{at: 0.5, engage: true}}
  - {{at: 1.0, change: {{heading_deg: 10.0}}}}
  - {{at: {until}, engage: false}}
criteria:
  - {{quantity: target_heading_deg, statistic: change, at_least: 9.99, at_most: 10.01}}
"""


OWN = """
duration: 2.0
initial: {altitude: 1200.0, airspeed: 48.0}
events:
  - {at: 0.5, engage: true}
  - {at: 1.0, change: {heading_deg: 10.0}}
criteria:
  - {quantity: altitude_error, statistic: rms, at_most: 0.0}
  - {quantity: roll_deg, statistic: max_abs, at_most: 60.0}
"""


# On top of what the controller commands, and after its release alone.
INPUTS = """  - {at: 1.5, doublet: {axis: rudder, amplitude: 0.1, closed_loop: true}, for: 0.5}
  - {at: 2.6, doublet: {axis: rudder, amplitude: 0.2}, for: 0.2}
criteria:"""


def fly(tmp_path, controller, *arguments, duration=3.0, until=2.5, inputs='criteria:'):
    """Fly a controller, engaged until then (s); return exit code, output and the figures."""
    file = tmp_path / 'flight.yaml'
    file.write_text(
        SCENARIO.format(duration=duration, until=until).replace('criteria:', inputs))
    with process('experiment', '--scenario', str(file), '--output', str(tmp_path / 'flight'),
                 '--controller', controller, '--no-picture', *arguments) as child:
        output, _ = child.communicate(timeout=120)
    figures = tmp_path / 'flight.json'
    return child.returncode, output, json.loads(figures.read_text()) if figures.exists() else {}


def faulty(mode):
    return f'{sys.executable} -P {FAULTY} {mode}'


def test_one_that_dies_is_reported_with_code_time_and_last_words(tmp_path):
    code, output, found = fly(
        tmp_path, faulty('dies'), '--sim', 'direct', '--lockstep', '--no-record')
    assert code == 1, output
    assert 'ended with exit code 3; the end of its log:\n    cannot go on: no solution' in output
    assert 'MISSED  controller: runs until the flight ends: ended with exit code 3 at' in output
    assert not found['complete']
    assert not found['passed']
    controller = found['figures']['controller']
    assert controller['ended'] == {'code': 3, 'at': pytest.approx(1.0, abs=0.02)}
    assert controller['last_lines'] == ['cannot go on: no solution']
    assert controller['answered'] == 29
    assert (tmp_path / 'flight.controller.log').read_text() == 'cannot go on: no solution\n'


def test_one_that_hangs_ends_a_flight_in_lockstep_with_a_sentence(tmp_path):
    # Its first answer takes more than a second on a busy machine.
    code, output, found = fly(
        tmp_path, faulty('hangs'), '--sim', 'direct', '--lockstep', '--no-record',
        '--controller-timeout', '6')
    assert code == 1, output
    assert 'experiment: the controller has not answered the state with stamp 1.0' in output
    assert 'MISSED  controller: commands until it is released: hung at 1.0 s: given up' in output
    assert found['figures']['controller']['hung']['at'] == pytest.approx(1.0, abs=0.02)


def test_each_wrong_command_is_counted_and_the_flight_goes_on(tmp_path):
    code, output, found = fly(tmp_path, faulty('spoils'), '--lockstep', inputs=INPUTS)
    assert code == 1, output
    assert found['complete'], output
    controller = found['figures']['controller']
    # 120 states in two seconds: the 30th, 40th, ... 120th command.
    assert controller['states'] == controller['answered'] == 120
    assert [controller[name] for name in ('not_finite', 'unknown', 'duplicate')] == [4, 3, 3]
    assert output.count('MISSED  controller: ') == 3
    # The scenario's own commands, before it is engaged, are in the recording too.
    flight = analysis.load(tmp_path / 'flight.mcap')
    times, elevator = flight.series['command_elevator']
    assert elevator[:10] == pytest.approx(0.08)
    assert len(times) == pytest.approx(180, abs=2)
    assert found['criteria'][0]['passed'], output
    rudder = flight.series['command_rudder']
    for begin, end, expected in ((1.0, 1.49, 0.0), (1.51, 1.74, 0.1), (1.76, 1.99, -0.1),
                                 (2.01, 2.59, 0.0), (2.61, 2.69, 0.2), (2.71, 2.79, -0.2)):
        assert rudder.between(begin, end).values == pytest.approx(expected, abs=1e-3), begin


def test_one_that_runs_elsewhere_and_is_late_is_reported(tmp_path):
    with process(sys.executable, '-P', str(FAULTY), 'late', '--ros-args', '-r',
                 '__ns:=/experiment'):
        # Longer than the others: without processor time there are fewer states to be late for.
        code, output, found = fly(
            tmp_path, 'external', '--sim', 'direct', '--no-record', duration=6.0, until=5.5)
    assert code == 1, output
    assert 'waiting for a controller that subscribes to /experiment/command/target' in output
    assert found['figures']['controller']['late'] > 10
    assert 'MISSED  controller: late commands at most 5% of all: ' in output


def test_one_with_its_own_goals_is_flown_from_the_start_and_judged_by_what_it_does(tmp_path):
    file = tmp_path / 'own.yaml'
    file.write_text(OWN)
    with process('experiment', '--scenario', str(file), '--output', str(tmp_path / 'flight'),
                 '--controller', faulty('own'), '--no-target', '--no-picture', '--sim', 'direct',
                 '--lockstep') as child:
        output, _ = child.communicate(timeout=120)
    assert child.returncode == 0, output
    assert 'without target: heading by +10 deg at 1 s is not sent\n' in output
    assert 'without target: rms of altitude_error is not judged\n' in output
    assert 'met     max_abs of roll_deg at most 60' in output
    assert 'met     controller keeps its contract: yes' in output
    found = json.loads((tmp_path / 'flight.json').read_text())
    assert found['figures']['controller']['commands'] >= 100
    assert len(found['criteria']) > 1
    assert not len(analysis.load(tmp_path / 'flight.mcap').series['target_heading'].times)


def test_a_controller_that_cannot_be_started_is_said_at_once(tmp_path):
    code, output, _ = fly(tmp_path, 'no_such_program')
    assert code == 2
    assert "experiment: controller: there is no program 'no_such_program'" in output
    code, output, _ = fly(tmp_path, 'sh -c "echo no licence; exit 4"')
    assert code == 2
    assert 'the controller has ended with code 4; the end of its log:\n    no licence' in output
