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

"""The command tune: margins by another program's reckoning, and a file that flies."""

from __future__ import annotations

from dataclasses import asdict, replace
import math
from pathlib import Path

import numpy as np
from orders import flown
import pytest

pytest.importorskip('jsbsim', reason='needs JSBSim (pip install jsbsim)')

from xplane_bridge.commands import linearize as linearize_command
from xplane_bridge.commands.tune import main
from xplane_bridge.laboratory.control.cascade import Cascade
from xplane_bridge.laboratory.control.envelope import load as load_envelope
from xplane_bridge.laboratory.control.gains import load
from xplane_bridge.laboratory.control.runway import performance
from xplane_bridge.laboratory.control.tuning.tune import tune
from xplane_bridge.laboratory.flights.scenario.scenario import load as load_scenario
from xplane_bridge.simulation.aircraft.linear_model import from_json
from xplane_bridge.simulation.aircraft.studies.linearize import linearize
from xplane_bridge.simulation.aircraft.studies.steady_flight import in_steady_flight

STEPS = Path(__file__).parents[4] / 'xplane_bridge/data/scenarios/steps.yaml'


def test_a_tuned_file_flies_the_steps_and_says_its_margins(
        tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / 'c172p.yaml'
    assert main(['--model', 'c172p', '--airspeed', '51.4', '--bandwidth', 'course=0.3', '-o',
                 str(file)]) == 0
    printed = capsys.readouterr().out
    assert 'course' in printed
    assert '0.30 rad/s' in printed
    text = file.read_text()
    assert '#   tune --model c172p --airspeed 51.4 --bandwidth course=0.3\n' in text
    assert '# roll        1.60 rad/s' in text
    gains = load(file)
    assert gains.airspeed == 51.4
    flight = flown(load_scenario(str(STEPS)), law=Cascade(gains, load_envelope(file)))
    assert [str(each) for each in flight.result().judgements if not each.passed] == []


# The two whose trim a trim wheel does not hold, and a jet.
@pytest.mark.parametrize('name', ['SGS', 'f16', 'T37'])
def test_the_command_in_a_shipped_file_finds_its_gains_again(name: str, tmp_path: Path) -> None:
    shipped = STEPS.parents[1] / 'gains' / f'{name}.yaml'
    command = shipped.read_text().splitlines()[1].removeprefix('#   tune ').split()
    assert main([*command, '-o', str(tmp_path / 'again.yaml')]) == 0
    again = asdict(load(tmp_path / 'again.yaml'))
    assert again == pytest.approx(asdict(load(shipped)), rel=2e-3)
    if (known := performance.load(shipped)) is not None:
        found = performance.load(tmp_path / 'again.yaml')
        assert asdict(found) == pytest.approx(asdict(known), rel=2e-3)


def test_python_control_finds_the_same_margins(capsys: pytest.CaptureFixture[str]) -> None:
    control = pytest.importorskip('control')
    assert linearize_command.main(['--model', '737', '--altitude-msl', '5000', '--airspeed',
                                   '150']) == 0
    model = from_json(capsys.readouterr().out)
    found = tune(model)
    loop = next(each for each in found.loops if each.name == 'pitch_rate')
    plant = control.ss(model.a, model.b, model.c, model.d)[
        model.index('outputs', 'pitch_rate'), model.index('inputs', 'elevator')]
    gains = found.gains
    law = control.tf([gains.pitch_rate_to_elevator, gains.pitch_rate_to_elevator_integral], [1, 0])
    delay = control.tf(*control.pade(0.06, 4))
    margin, phase, *_, crossover = control.margin(plant * control.ss(law * delay))
    assert phase == pytest.approx(loop.phase_margin, abs=1.0)
    assert crossover == pytest.approx(loop.crossover, rel=0.02)
    assert 20.0 * math.log10(margin) == pytest.approx(loop.gain_margin, abs=0.5)


@pytest.mark.parametrize(('arguments', 'sentence'), [
    ([], 'expected --model with --airspeed'),
    (['--model', 'c172p', '--airspeed', '51', '--bandwidth', 'rolling=1'], 'no loop rolling'),
    (['--linear-model', '/nonexistent.json'], 'No such file'),
])
def test_what_tune_cannot_do_it_says(
        arguments: list[str], sentence: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 1
    assert sentence in capsys.readouterr().err


@pytest.mark.parametrize(('kind', 'names', 'sentence'), [
    ('states', {'true_airspeed', 'angle_of_attack', 'pitch', 'pitch_rate', 'altitude_msl'},
     'no true_airspeed, angle_of_attack, pitch_rate among its states'),
    ('states', {'true_airspeed'}, 'the model has no true_airspeed among its states'),
    ('inputs', {'rudder'}, 'the model has no rudder among its inputs'),
], ids=['lateral alone', 'no speed', 'no rudder'])
def test_of_a_part_of_a_model_no_gains_are_made(
        kind: str, names: set[str], sentence: str) -> None:
    spare, _ = in_steady_flight('c172p', 1500.0, 51.4)
    whole = linearize(spare, 'differences')
    kept = [at for at, one in enumerate(getattr(whole, kind)) if one.name not in names]
    part = replace(whole, **{kind: tuple(getattr(whole, kind)[at] for at in kept)}, **(
        {'a': whole.a[np.ix_(kept, kept)], 'b': whole.b[kept], 'c': whole.c[:, kept]}
        if kind == 'states' else {'b': whole.b[:, kept], 'd': whole.d[:, kept]}))
    with pytest.raises(ValueError, match=sentence):
        tune(part)


def test_of_a_model_that_does_not_pitch_by_itself_no_gains_are_made() -> None:
    # As of derivatives that no flight showed, with zeros in their place.
    spare, _ = in_steady_flight('c172p', 1500.0, 51.4)
    whole = linearize(spare, 'differences')
    a = whole.a.copy()
    row = whole.index('states', 'pitch_rate')
    a[row] = np.where(np.arange(len(a)) == whole.index('states', 'true_airspeed'), a[row], 0.0)
    with pytest.raises(ValueError, match='pitch rate follows neither itself nor the angle of att'):
        tune(replace(whole, a=a))
