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


"""Training: it learns, it is reproducible, and what it has made is what is shipped."""

import hashlib
import json
import math
from pathlib import Path

import numpy as np
from orders import flown
import pytest

from xplane_bridge.commands import train
from xplane_bridge.laboratory.control.policy.load import load as load_policy
from xplane_bridge.laboratory.control.policy.observation import columns
from xplane_bridge.laboratory.episodes.training import holding
from xplane_bridge.laboratory.episodes.training.holding import Holding
from xplane_bridge.laboratory.episodes.training.search import losses, SearchPlan, Stage
from xplane_bridge.laboratory.flights.laws import PolicyLaw
from xplane_bridge.laboratory.flights.scenario.scenario import find, load

POLICY = Path(__file__).resolve().parents[4] / 'xplane_bridge/data/policies/turbulence.onnx'
RANDOM = np.random.default_rng(18)


def observation(**changed):
    """Return what the policy is told in level flight to the east, with what is changed."""
    known = {
        'altitude': 1500.0, 'indicated': 51.0, 'true': 55.0, 'wanted_altitude': 1500.0,
        'wanted_heading': math.pi / 2, 'wanted_airspeed': 51.0, 'wanted_course': 0.0, **changed}
    yaw = 0.5 * (math.pi / 2 - known.pop('heading', math.pi / 2))
    return [0.0, 0.0, math.sin(yaw), math.cos(yaw), 0.0, 0.0, 0.0, *known.values()]


def only(**values):
    """Return a policy of which only these parameters are not 0."""
    return Holding([values.get(name.replace('.', '_'), 0.0) for name in holding.PARAMETERS])


def test_without_gains_the_controls_stay_in_trim():
    assert only()(observation(altitude=1400.0, indicated=40.0)) == [
        0.0, 0.0, 0.0, holding.CRUISE_THROTTLE]


def test_its_fields_are_fields_of_an_observation():
    assert len(columns(Holding.fields)) == len(observation())


@pytest.mark.parametrize(('parameter', 'changed', 'control', 'sign'), [
    ('elevator_altitude_error', {'altitude': 1495.0}, 0, 1),
    ('elevator_altitude_integral', {'altitude': 1498.5}, 0, 1),
    ('throttle_airspeed_error', {'indicated': 48.0}, 3, 1),
    ('aileron_heading_error', {'heading': 1.3}, 1, 1),
    ('aileron_heading_error', {'heading': 1.8}, 1, -1),
    # More than half a turn away, it turns the shorter way.
    ('aileron_heading_error', {'heading': 1.6 - 3.0}, 1, 1),
    ('aileron_heading_error', {'heading': 1.6 + 3.0}, 1, -1),
    # A course is flown as a heading.
    ('aileron_heading_error', {'wanted_heading': 0.0, 'wanted_course': 1.8}, 1, 1),
    # Without an indicated airspeed the true one is held.
    ('throttle_airspeed_error', {'indicated': 0.0, 'true': 48.0}, 3, 1),
])
def test_each_error_moves_its_control_the_right_way(parameter, changed, control, sign):
    policy = only(**{parameter: 1.0})
    # What is integrated counts from the next frame on.
    policy(observation(**changed))
    action, trim = policy(observation(**changed)), only()(observation())
    assert sign * (action[control] - trim[control]) > 1e-4
    assert [value for index, value in enumerate(action) if index != control] == [
        value for index, value in enumerate(trim) if index != control]


def test_the_climb_rate_is_that_of_the_altitude():
    policy = only(elevator_climb=-1.0)
    for frame in range(120):
        elevator = policy(observation(altitude=1500.0 + 2.0 * frame / holding.RATE))[0]
    # 0.1 for 3 m/s.
    assert elevator == pytest.approx(-0.1 * 2.0 / 3.0, rel=0.01)


def test_a_large_error_counts_as_its_limit_and_winds_no_integral_up():
    usual = dict(holding.LIMITS)['altitude_error']
    scale = 0.1 / 5.0
    for limit in (0.0, 0.5):
        policy = only(elevator_altitude_error=1.0, limit_altitude_error=limit)
        assert policy(observation(altitude=1400.0))[0] == pytest.approx(
            scale * usual * math.exp(limit))
    policy, near = only(elevator_altitude_integral=1.0), 1.5
    for altitude, held in ((1400.0, 0.0), (1500.0 - near, near)):
        for _ in range(61):
            elevator = policy(observation(altitude=altitude))[0]
        assert elevator == pytest.approx(0.1 / 10.0 * held)


def test_at_its_stop_the_throttle_winds_no_integral_up():
    # Full throttle by the altitude's error for a second, then only what is integrated.
    policy = only(throttle_altitude_error=10.0, throttle_airspeed_integral=1.0)
    for altitude, seconds, wound in ((1450.0, 1, 0.0), (1500.0, 1, 0.02)):
        for _ in range(60 * seconds):
            policy(observation(altitude=altitude, indicated=50.0))
        throttle = policy(observation(indicated=50.0))[3]
        assert throttle == pytest.approx(holding.CRUISE_THROTTLE + wound, abs=1e-3)


def test_a_wrong_number_of_parameters_is_refused():
    with pytest.raises(ValueError, match='37 parameters, got 2'):
        Holding([0.0, 0.0])


def test_the_graph_is_the_policy():
    pytest.importorskip('onnx', reason='needs onnx')
    onnxruntime = pytest.importorskip('onnxruntime', reason='needs onnxruntime')
    from xplane_bridge.laboratory.episodes.training.graph import to_model
    policy = Holding(RANDOM.normal(0.0, 0.5, len(holding.PARAMETERS)))
    session = onnxruntime.InferenceSession(to_model(policy).SerializeToString())
    state = np.zeros((1, len(holding.STATE)), np.float32)
    for frame in range(300):
        turned = RANDOM.normal(size=4)
        given = np.array([
            *turned / np.linalg.norm(turned), *RANDOM.normal(0.0, 0.1, 3),
            1500.0 + 5.0 * math.sin(frame / 50.0), max(0.0, 55.0 * math.cos(frame / 60.0)), 52.0,
            1500.0, RANDOM.uniform(-6.0, 6.0), 51.4, 0.0])
        action, state = session.run(None, {
            'observation': given[None].astype(np.float32), 'state': state})
        # The altitude's rate has the noise of single precision.
        assert action[0] == pytest.approx(policy(given), abs=2e-3)


def test_training_learns_and_is_the_same_again_in_other_processes():
    pytest.importorskip('jsbsim', reason='the simulators need jsbsim')
    pytest.importorskip('cma', reason='training needs cma')
    from xplane_bridge.laboratory.episodes.training.candidate import fly
    from xplane_bridge.laboratory.episodes.training.search import train as learn
    history, again = [], []
    stages = Stage(5, 1, 14.0), Stage(1, 1, 14.0, 1)
    parameters = learn(SearchPlan(stages, 8, seed=1, spread=0.1), 1, history.append)
    autopilot = [fly(None, 3, 24.0)]
    before, after = (losses([fly(flown, 3, 24.0)], autopilot)
                     for flown in ([0.0] * len(parameters), parameters))
    assert after['longitudinal'] < 0.5 * before['longitudinal']
    assert after['lateral'] < 0.8 * before['lateral']
    learn(SearchPlan((Stage(1, 1, 14.0),), 8, seed=1, spread=0.1), 2, again.append)
    assert again[0].median == history[0].median


def test_train_writes_a_policy_that_can_be_tested(tmp_path, capsys):
    pytest.importorskip('jsbsim', reason='the simulators need jsbsim')
    for name in ('cma', 'onnx', 'onnxruntime', 'matplotlib'):
        pytest.importorskip(name, reason=f'training needs {name}')
    file, picture = tmp_path / 'mine.onnx', tmp_path / 'mine.png'
    assert train.main(['--output', str(file), '--generations', '1', '--seconds', '12',
                       '--workers', '1', '--picture', str(picture)]) == 0
    account = json.loads(file.with_suffix('.json').read_text())
    assert account['sha256'] == hashlib.sha256(file.read_bytes()).hexdigest()
    assert account['flights'] == 13 + 12
    assert picture.stat().st_size > 10_000
    assert 'generation   1' in capsys.readouterr().out


@pytest.mark.parametrize(('asked', 'flown'), [(3, [3]), (55, [50, 5]), (120, [50, 40, 30])])
def test_generations_are_those_of_the_plan(asked, flown):
    stages = train.stopped(SearchPlan().stages, asked, 20.0)
    assert [stage.generations for stage in stages] == flown
    assert {stage.seconds for stage in stages} == {20.0}
    assert [stage.flights for stage in train.stopped(SearchPlan().stages, asked, None)] == [
        stage.flights for stage in SearchPlan().stages[:len(flown)]]


@pytest.mark.parametrize(('options', 'said'), [
    (['--seconds', '20'], '--seconds belongs to --generations'),
    (['--test', '2', '--generations', '3', '--picture', 'my.png'],
     '--test trains nothing: omit --generations, --picture')])
def test_an_option_without_effect_is_refused(options, said, capsys):
    assert train.main(options) == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize('seed', ['0', '21474', '30000'])
def test_a_seed_whose_flights_would_have_none_is_refused(seed, capsys):
    with pytest.raises(SystemExit):
        train.main(['--seed', seed])
    assert f"argument --seed: '{seed}' is not a seed, 1..21473" in capsys.readouterr().err


def test_where_nothing_can_be_written_nothing_is_trained(tmp_path, capsys):
    for name in ('cma', 'onnx', 'onnxruntime'):
        pytest.importorskip(name, reason=f'training needs {name}')
    (tmp_path / 'file').touch()
    assert train.main(['--output', str(tmp_path / 'file' / 'my.onnx')]) == 2
    told = capsys.readouterr()
    assert str(tmp_path / 'file') in told.err
    assert told.out == ''


def test_what_cannot_be_tested_is_refused_with_a_sentence(tmp_path, capsys):
    pytest.importorskip('jsbsim', reason='the simulators need jsbsim')
    pytest.importorskip('onnxruntime', reason='policies need onnxruntime')
    file = tmp_path / 'other.onnx'
    assert train.main(['--test', '2', '--output', str(file)]) == 2
    assert str(file) in capsys.readouterr().err


def test_the_shipped_policy_is_its_parameters():
    pytest.importorskip('onnx', reason='needs onnx')
    from xplane_bridge.laboratory.episodes.training.graph import to_model
    account = json.loads(POLICY.with_suffix('.json').read_text())
    content = POLICY.read_bytes()
    assert hashlib.sha256(content).hexdigest() == account['sha256']
    assert tuple(account['parameters']) == holding.PARAMETERS
    made = to_model(Holding(list(account['parameters'].values())))
    assert made.SerializeToString(deterministic=True) == content


@pytest.mark.parametrize('rounding', ['', 'xplane6'])
def test_the_shipped_policy_meets_all_criteria_of_steps(rounding):
    """X-Plane 6 tells no indicated airspeed."""
    pytest.importorskip('jsbsim', reason='the simulators need jsbsim')
    pytest.importorskip('onnxruntime', reason='policies need onnxruntime')
    flight = flown(load(find('steps')), law=PolicyLaw(load_policy(str(POLICY))), rounding=rounding)
    judgements = flight.result().judgements
    assert len(judgements) == 7
    assert [one.criterion for one in judgements if not one.passed] == []


def test_the_shipped_policy_tracks_better_than_the_autopilot():
    pytest.importorskip('jsbsim', reason='the simulators need jsbsim')
    pytest.importorskip('onnxruntime', reason='policies need onnxruntime')
    from xplane_bridge.laboratory.episodes.training import unseen
    altitude, heading, _, combined = unseen.compare(str(POLICY), (3000, 3001))
    for row in (altitude, heading, combined):
        assert row.better == 2
        assert row.high < 0.0
