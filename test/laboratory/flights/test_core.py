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

"""A scenario flown in one process, without ROS."""

import hashlib
import json
import math
from pathlib import Path
import subprocess
import sys

import numpy as np
from orders import flown
import pytest

pytest.importorskip('jsbsim', reason='the simulators need jsbsim')

from xplane_bridge.bridges.conversions.vehicle import Controls
from xplane_bridge.commands import experiment as main
from xplane_bridge.common.data import folder
from xplane_bridge.common.timing import FRAME
from xplane_bridge.laboratory.control.cascade import Cascade
from xplane_bridge.laboratory.control.targets import Target
from xplane_bridge.laboratory.experiments.settings import INTERRUPTED, MISSED, NOT_FLOWN, PASSED
from xplane_bridge.laboratory.flights import script as execution
from xplane_bridge.laboratory.flights.core import CoreFlight
from xplane_bridge.laboratory.flights.flight import Silent
from xplane_bridge.laboratory.flights.scenario import scenario

ROOT = Path(__file__).resolve().parents[3]
SHORT = """
duration: 3.0
initial: {altitude: 1200.0, heading_deg: 200.0, airspeed: 48.0}
events:
  - {at: 0.0, controls: {elevator: 0.08, throttle: 0.7}, for: 0.5}
  - {at: 0.6, engage: true}
  - {at: 0.8, turbulence: [15.0, 4]}
  - {at: 1.0, change: {heading_deg: 30.0}}
criteria:
  - {quantity: pitch_deg, statistic: rise, to: 0.8, at_least: 0.3}
  - {quantity: altitude, statistic: first, at_least: 1199.9, at_most: 1200.1}
  - {figure: rates.imu/data.rate, at_least: 59.9, at_most: 60.1}
"""


def packaged(name):
    return scenario.load(str(ROOT / 'xplane_bridge/data/scenarios' / f'{name}.yaml'))


def short(tmp_path, text=SHORT):
    path = tmp_path / 'short.yaml'
    path.write_text(text)
    return path


def experiment(tmp_path, *arguments, text=SHORT):
    return main.main(['--sim', 'core', '--scenario', str(short(tmp_path, text)), '--output',
                      str(tmp_path / 'out'), *arguments])


@pytest.mark.parametrize('name', [
    'steps', 'racetrack', 'turbulence', 'engine_out', 'identification', 'frequency_response'])
def test_the_scenarios_meet_their_criteria(name):
    if name == 'frequency_response':
        pytest.importorskip('scipy', reason='its criteria need scipy')
    flight = flown(packaged(name))
    missed = [str(one) for one in flight.result().judgements if not one.passed]
    assert flight.flown == flight.order.scenario.duration
    assert not missed


def test_one_engine_of_an_airliner_fails():
    state = flown(scenario.parse('asymmetric', {
        'duration': 4.0, 'initial': {'model': '737'},
        'criteria': [{'figure': 'duration', 'at_least': 0.0}],
        'events': [{'at': 0.5, 'engine_failed': [1]}]})).vehicle.state
    assert [engine.running for engine in state.engines] == [True, False]
    assert state.psi > math.radians(90.5)


def test_the_same_seed_gives_the_same_flight(tmp_path):
    flights = []
    for seed in (7, 7, 8):
        flight = flown(scenario.load(str(short(tmp_path))), seed)
        flights.append([
            series.values.tobytes() for series in flight.history().series.values()])
    assert flights[0] == flights[1]
    assert flights[0] != flights[2]


def sensed(text, sensors, tmp_path, seed=7):
    """Return what was flown, and what the law last believed."""
    flight = flown(scenario.load(str(short(tmp_path, text))), seed, sensors=sensors)
    return flight.history().series, flight.vehicle.measurement()


def test_perfect_sensors_fly_as_the_truth_does_and_others_do_not(tmp_path):
    truth, perfect, consumer, again = (
        sensed(SHORT, name, tmp_path)[0] for name in ('none', 'perfect', 'consumer', 'consumer'))
    for name in ('roll', 'command_elevator', 'altitude'):
        assert truth[name].values == pytest.approx(perfect[name].values, abs=1e-6)
        assert consumer[name].values.tobytes() == again[name].values.tobytes()
    assert not np.allclose(truth['command_elevator'].values, consumer['command_elevator'].values)


def test_a_blocked_pitot_tube_and_an_outage_are_flown_on_with(tmp_path):
    text = """
duration: 10.0
initial: {altitude: 1200.0, airspeed: 48.0}
sensors: perfect
events:
  - {at: 0.0, engage: true}
  - {at: 0.5, pitot_blocked: true}
  - {at: 0.6, gnss_outage: true}
  - {at: 1.0, change: {altitude: 30.0}}
criteria:
  - {quantity: airspeed, statistic: max, at_most: 80.0}
"""
    series, believed = sensed(text, '', tmp_path)
    altitude, airspeed = series['altitude'].values, series['airspeed'].values
    # By the barometer: the standard atmosphere's metres are those of the day.
    assert altitude[-1] > 1215.0
    assert believed.altitude == pytest.approx(altitude[-1], abs=1.0)
    # The static pressure falls by 10.5 Pa a metre, and 59 Pa are 1 m/s.
    assert believed.airspeed - 48.0 > 0.12 * (altitude[-1] - 1200.0)
    # The law throttles back.
    assert airspeed[-1] < 47.0


def test_events_happen_at_their_frame_however_time_is_rounded(tmp_path):
    """A sum of sixtieths, or X-Plane's single precision, may be just below an event's time."""
    class Vehicle:
        def set_target(self, values):
            pass

        def engage(self, on, now):
            pass

        def disturb(self, name, value):
            pass

        def last(self, name):
            return 0.0

        def since(self, name, start):
            return (), ()

    vehicle = Vehicle()
    wanted = {60: 'target', 600: 'wind', 54_000: 'turbulence'}
    flight = scenario.parse('day', {
        'duration': 1000.0, 'criteria': [{'figure': 'duration', 'at_least': 0.0}],
        'events': [{'at': 0.0, 'engage': True}, {'at': 1.0, 'target': {'altitude': 1000.0}},
                   {'at': 10.0, 'wind': [1.0, 0.0, 0.0]},
                   {'at': 900.0, 'turbulence': [1.0, 1.0]}]})
    for rounded in (float, np.float32):
        run = execution.Script(flight, vehicle, vehicle, Silent())
        # The first stamp of a bridge is 1 us.
        run.begin = 1e-6
        seconds = 0.0
        for frame in range(60_001):
            before = len(run.occurrences)
            run.act(max(float(rounded(seconds)), 1e-6))
            if frame and len(run.occurrences) > before:
                assert run.occurrences[-1].event.action == wanted[frame]
            seconds += FRAME
        assert len(run.occurrences) == 4
        assert run.is_over


def elevator(flight):
    """Return what was commanded of the elevator, frame by frame."""
    return flight.history().series['command_elevator'].values.tolist()


def test_another_law_flies(tmp_path):
    class Counting(Cascade):
        updates = 0

        def update(self, now, dt):
            self.updates += 1
            assert dt == pytest.approx(0.0 if self.updates == 1 else FRAME)
            return super().update(now, dt)

    law = Counting()
    commands = elevator(flown(scenario.load(str(short(tmp_path))), law=law))
    assert len(commands) == 3 * 60
    assert commands[0] == 0.08
    # Engaged at 0.6 s, it commands in that frame; the last state needs no command.
    assert law.updates == 180 - 36
    assert law.target.heading == pytest.approx(math.radians(230.0), abs=0.05)


@pytest.mark.parametrize(('bad', 'what'), [
    (5.0, 'out of range'), (math.nan, 'not finite')])
def test_a_law_is_held_to_the_contract_of_a_controller_through_ros(tmp_path, bad, what):
    class Mine:
        def engage(self, now, controls, target=None):
            self.target, self.count = Target(now.altitude, now.heading, now.airspeed), 0

        def update(self, now, dt):
            self.count += 1
            return Controls(0.1 if self.count < 50 else bad, 0.0, 0.0, 0.7)

    flight = flown(scenario.load(str(short(tmp_path))), law=Mine())
    assert set(elevator(flight)[36:]) == {0.1}
    missed = [one for one in flight.result().judgements if not one.passed]
    assert [one.criterion for one in missed] == [f'controller: commands {what} at most 0']
    assert missed[0].value == 144 - 49
    assert 'first at 1.4 s' in str(missed[0])
    found = flight.result().figures['controller']
    assert (found['commands'], found['answered'], found['states']) == (144, 144, 144)


def test_a_law_that_keeps_the_contract_is_said_to(tmp_path):
    class Mine:
        def engage(self, now, controls, target=None):
            self.target = Target(now.altitude, now.heading, now.airspeed)

        def update(self, now, dt):
            return Controls(0.0, 0.0, 0.0, 0.7)

    result = flown(scenario.load(str(short(tmp_path))), law=Mine()).result()
    judgements = {one.criterion: one.passed for one in result.judgements}
    assert judgements['controller keeps its contract'] is True


def test_it_is_a_command_that_needs_no_ros(tmp_path):
    script = tmp_path / 'blocked.py'
    script.write_text("""
import sys

class Blocked:
    def find_spec(self, name, *_):
        first = name.partition('.')[0]
        if first in ('rclpy', 'ament_index_python') or first.endswith('_msgs') or (
                name == 'xplane_bridge.msg'):
            raise ModuleNotFoundError(f'no {name}', name=name)

sys.meta_path.insert(0, Blocked())
from xplane_bridge.commands.experiment import main
sys.exit(main(sys.argv[1:]))
""")
    done = subprocess.run(
        [sys.executable, str(script), '--sim', 'core', '--scenario', 'turbulence', '--output',
         str(tmp_path / 'out')], capture_output=True, text=True, check=False, cwd=tmp_path,
        env={'PYTHONPATH': str(ROOT)}, timeout=120)
    assert done.returncode == PASSED, done.stdout + done.stderr
    assert 'all criteria are met' in done.stdout
    figures = json.loads((tmp_path / 'out.json').read_text())
    assert figures['passed']
    assert (figures['settings']['sim'], figures['begin'], figures['flown']) == ('core', 0.0, 60.0)
    assert figures['figures']['latency'] == {}
    gains = hashlib.sha256((folder('gains') / 'c172p.yaml').read_bytes()).hexdigest()
    assert figures['gains'] == {'file': 'c172p.yaml', 'sha256': gains}
    assert f'gains: c172p.yaml (sha256 {gains[:12]})' in done.stdout
    assert {path.name for path in tmp_path.iterdir()} <= {'blocked.py', 'out.json', 'out.png'}


def test_a_missed_criterion_fails(tmp_path, capsys):
    assert experiment(tmp_path, text=SHORT.replace('at_least: 0.3', 'at_least: 60')) == MISSED
    output = capsys.readouterr().out
    assert 'MISSED  rise of pitch_deg' in output
    assert output.splitlines()[-1].startswith('  missed 1 of ')
    assert not json.loads((tmp_path / 'out.json').read_text())['passed']


@pytest.mark.parametrize(('arguments', 'text', 'sentence'), [
    (('--host', '127.0.0.1'), SHORT, 'core has no link and runs as fast as possible: omit host'),
    (('--speed', '2', '--loss', '0.1'), SHORT, 'omit speed, loss'),
    (('--seed', '-1'), SHORT, '--seed: -1'),
    (('--sim', 'x'), SHORT, 'fdmdata, direct, core'),
    ((), SHORT.replace('turbulence: [15.0, 4]', 'link_down: true'), 'works in real time only'),
    ((), SHORT.replace('airspeed: 48', 'airspeed: 10'), 'cannot be trimmed'),
    ((), SHORT.replace('heading_deg: 30.0', 'airspeed: -60'), 'airspeed -12'),
    ((), SHORT.replace('rates.imu/data.rate', 'latency.loop.p99'), "no figure 'latency.loop.p99'"),
])
def test_what_cannot_be_flown_is_refused(arguments, text, sentence, tmp_path, capsys):
    assert experiment(tmp_path, *arguments, text=text) == NOT_FLOWN
    assert sentence in capsys.readouterr().err


def test_interrupted_it_reports_what_was_flown(tmp_path, monkeypatch, capsys):
    step = CoreFlight._step

    def interrupted(flight, action, frames):
        for _ in range(frames):
            if flight.flown >= 1.5 - 1e-9:
                raise KeyboardInterrupt
            state = step(flight, action, 1)
        return state

    monkeypatch.setattr(CoreFlight, '_step', interrupted)
    assert experiment(tmp_path) == INTERRUPTED
    figures = json.loads((tmp_path / 'out.json').read_text())
    assert not figures['complete']
    assert figures['flown'] == pytest.approx(1.5)
    assert 'interrupted; the results so far follow' in capsys.readouterr().out
