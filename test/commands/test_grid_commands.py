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

"""linearize and tune over a grid: what they write, what they say, and what they refuse."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import asdict
import json
from pathlib import Path

from orders import flown
import pytest

pytest.importorskip('jsbsim', reason='needs JSBSim (pip install jsbsim)')

from xplane_bridge.commands import linearize as linearize_command
from xplane_bridge.commands import tune as tune_command
from xplane_bridge.laboratory.campaigns.engines.local import Do, Job
from xplane_bridge.laboratory.campaigns.table.rows import LOST, Row
from xplane_bridge.laboratory.control.cascade import Cascade
from xplane_bridge.laboratory.control.envelope import load as load_envelope
from xplane_bridge.laboratory.control.gains import Gains, load
from xplane_bridge.laboratory.control.tuning.robustness import robustness
from xplane_bridge.laboratory.control.tuning.tune import tune
from xplane_bridge.laboratory.envelope.envelope import studied
from xplane_bridge.laboratory.flights.scenario import scenario
from xplane_bridge.simulation.aircraft.linear_model import LinearModel
from xplane_bridge.simulation.aircraft.studies.linearize import linearize
from xplane_bridge.simulation.aircraft.studies.steady_flight import in_steady_flight

AT = ['--model', 'T37', '--altitude-msl', '3000']


class Here:
    """An engine that is this process: starting others takes seconds."""

    def __init__(self, workers: int, do: Do) -> None:
        self.workers, self._do = workers, do

    def run(self, jobs: Iterable[Job], on_row: Callable[[Row], None]) -> None:
        for job in jobs:
            on_row(self._do(job))


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(linearize_command, 'Local', Here)


def point(airspeed: float, altitude_msl: float = 3000.0) -> LinearModel:
    return linearize(in_steady_flight('T37', altitude_msl, airspeed)[0], 'differences')


def test_a_grid_is_written_on_all_cores_and_its_holes_are_told(
        tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip('matplotlib')
    files = [str(tmp_path / name) for name in ('e.json', 'e.csv', 'e.svg')]
    assert linearize_command.main([
        *AT, '--grid', 'airspeed=30:110:40', '--grid', 'flaps=0,0.2', '--gains', 'T37',
        '--workers', '2', '-o', *files[:2], '--picture', files[2]]) == 0
    said = capsys.readouterr().err
    assert '6 points, 2 holes\n' in said
    assert 'hole at airspeed 30, flaps 0.2: T37 cannot be trimmed at 30 m/s and 3000 m: ' in said
    assert 'least disk margin: ' in said
    # As the flight does: in some minutes the sideslip grows, and with it the rudder.
    assert 'unstable at airspeed 110, flaps 0: it doubles in ' in said
    content = json.loads((tmp_path / 'e.json').read_text())
    assert [row['number'] for row in content['points']] == [*range(6)]
    model = point(110.0)
    assert content['points'][4]['A'] == model.a.tolist()
    assert content['points'][4]['margin.elevator.phase'] == robustness(
        model, load('T37')).loops['elevator'].phase
    drawn = Path(files[2]).read_text()
    for words in ('Dutch roll: damping', 'no steady flight', 'disk margin', 'flaps 0.2'):
        assert words in drawn
    # Nothing of it is overwritten.
    assert linearize_command.main([*AT, '--grid', 'airspeed=90', '-o', files[0]]) == 1
    assert 'exists; --force overwrites it' in capsys.readouterr().err


@pytest.mark.usefixtures('here')
def test_without_a_file_it_is_json_on_standard_output(capsys: pytest.CaptureFixture[str]) -> None:
    assert linearize_command.main([
        '--model', 'T37', '--airspeed', '110', '--grid', 'altitude_msl=3000', '--workers',
        '1']) == 0
    printed, said = capsys.readouterr()
    assert said == '1 point, 0 holes: all could be trimmed\n'
    assert json.loads(printed)['points'][0]['B'] == point(110.0).b.tolist()


@pytest.mark.usefixtures('here')
def test_a_grid_of_holes_only_is_an_error_that_says_why(
        capsys: pytest.CaptureFixture[str]) -> None:
    assert linearize_command.main([*AT, '--grid', 'airspeed=20,21', '--workers', '1']) == 1
    printed, said = capsys.readouterr()
    assert not printed
    assert 'hole at airspeed 21: T37 cannot be trimmed' in said
    assert 'linearize: no point of the grid could be trimmed' in said


@pytest.mark.usefixtures('here')
def test_a_point_that_the_machine_has_lost_is_no_hole_and_no_result(
        monkeypatch: pytest.MonkeyPatch, tmp_path: Path,
        capsys: pytest.CaptureFixture[str]) -> None:
    def lost(job: Job) -> Row:
        return job.row(LOST, 'its process died 2 times') if job.number else studied(job)

    monkeypatch.setattr(linearize_command, 'studied', lost)
    file = tmp_path / 'e.json'
    assert linearize_command.main([
        *AT, '--grid', 'airspeed=20,110', '--workers', '1', '-o', str(file)]) == 1
    said = capsys.readouterr().err
    assert '2 points, 1 hole, 1 lost\nlost at airspeed 110: its process died 2 times\n' in said
    assert 'hole at airspeed 20: ' in said
    assert 'linearize: 1 of 2 points lost: this machine kept them from being studied; ' in said
    assert json.loads(file.read_text())['points'][1]['outcome'] == LOST
    assert tune_command.main([*AT, '--grid', 'airspeed=110,120', '-o', 'g.yaml']) == 1
    assert 'nothing is known of airspeed 120: its process died' in capsys.readouterr().err


@pytest.mark.parametrize(('arguments', 'sentence'), [
    ([], 'expected --airspeed, or --grid with airspeed as an axis'),
    (['--airspeed', '90', '-o', 'a.json'], '--output needs a grid: --grid airspeed=40:60:5'),
    (['--grid', 'flaps=0,1'], 'expected --airspeed, or airspeed among the axes of the grid'),
    (['--grid', 'airspeed=90', '--airspeed', '90'], 'airspeed is an axis of the grid'),
    (['--grid', 'airspeed=fast'], "grid: airspeed: expected a number, got 'fast'"),
    (['--grid', 'airspeed=90', '--bank', '20'], '--bank: a grid is of level flight'),
    (['--grid', 'airspeed=90', '--method', 'jsbsim'], 'a grid is of central differences'),
    (['--grid', 'airspeed=90', '-o', 'a.xls'], 'a.xls: expected a name that ends with one of'),
    (['--grid', 'airspeed=90', '-o', '/nowhere/a.csv'], 'a.csv: there is no folder /nowhere'),
    (['--grid', 'airspeed=90', '--picture', 'a.gif'], '--picture: expected a name that ends in'),
    (['--grid', 'airspeed=90', '--gains', 'nobody'], 'there are no gains nobody'),
    (['--grid', 'airspeed=90', '--delay', '-1', '--gains', 'T37'], 'delay is -1 s, must be'),
    (['--grid', 'airspeed=90', '--workers', '1', '--cluster', 'tcp://127.0.0.1:9'],
     '--workers counts processes of this machine'),
    (['--grid', 'airspeed=90', '--model', 'nobody'], "JSBSim has no aircraft 'nobody'"),
])
def test_what_is_not_possible_is_said_in_a_sentence(
        arguments: list[str], sentence: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert linearize_command.main([*AT, *arguments]) == 1
    printed, said = capsys.readouterr()
    assert not printed
    assert sentence in said
    assert said.startswith('linearize: ')


@pytest.mark.usefixtures('here')
def test_gains_over_a_grid_are_those_of_its_points_and_fly(
        tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / 'T37.yaml'
    assert tune_command.main([
        '--model', 'T37', '--grid', 'altitude_msl=4000,2000', '--grid', 'airspeed=80:140:30',
        '--workers', '2', '-o', str(file)]) == 0
    assert 'scheduled over 3 airspeeds and 2 altitudes; at 110 m/s and 4000 m:' in (
        capsys.readouterr().out)
    gains = load(file)
    for airspeed, altitude in ((80.0, 2000.0), (140.0, 4000.0)):
        alone = tune(point(airspeed, altitude)).gains
        assert asdict(gains.at(airspeed, altitude)) == pytest.approx(asdict(alone), rel=1e-3)
    # One set has to be slow where the aircraft is fast.
    model, one = point(80.0, 2000.0), Gains(**{
        name: value for name, value in asdict(gains).items() if name != 'schedule'})
    by_schedule, by_one = robustness(model, gains), robustness(model, one)
    assert by_schedule.loops['aileron'].disk != by_one.loops['aileron'].disk
    assert by_schedule.disk > 0.8
    limits = load_envelope(file)
    assert (limits.airspeed_low, limits.airspeed_high) == (48.0, 196.0)
    found = flown(scenario.parse('fast', {
        'duration': 25.0, 'initial': {'model': 'T37', 'altitude': 3000.0, 'airspeed': 100.0},
        'events': [{'at': 0.1, 'engage': True}, {'at': 1.0, 'change': {'airspeed': 5.0}}],
        'criteria': [
            {'quantity': 'altitude_error', 'statistic': 'max_abs', 'at_most': 5.0}]}),
        law=Cascade(gains, limits))
    assert [str(each) for each in found.result().judgements if not each.passed] == []


@pytest.mark.usefixtures('here')
@pytest.mark.parametrize(('arguments', 'sentence'), [
    (['--grid', 'airspeed=20,110'], 'a schedule may have no holes, and at airspeed 20 there is'),
    (['--grid', 'flaps=0,1'], 'scheduled over airspeed and altitude_msl, not over flaps'),
    (['--grid', 'airspeed=1:100:1'], 'airspeed has 100 values, a schedule at most 64'),
    (['--grid', 'altitude_msl=1000'], 'expected --airspeed, or airspeed among the axes'),
    (['--grid', 'airspeed=110', '--phase-margin', '89'], 'there is one: no gains: '),
    (['--grid', 'airspeed=110', '--linear-model', 'a.json'], '--linear-model is of one point'),
])
def test_what_is_no_schedule_is_said_in_a_sentence(
        arguments: list[str], sentence: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert tune_command.main([*AT, '--workers', '1', *arguments]) == 1
    assert sentence in capsys.readouterr().err
