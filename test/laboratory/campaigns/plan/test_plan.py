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

"""Plans: which flights they have, what is wrong with one, and the values of their parameters."""

import pytest

from xplane_bridge.common.data import folder
from xplane_bridge.laboratory.campaigns.plan import parameters
from xplane_bridge.laboratory.campaigns.plan.plan import load, PlanError
from xplane_bridge.laboratory.flights.scenario.errors import ScenarioError

STEPS = 'scenarios: [steps]'


def written(tmp_path, text):
    path = tmp_path / 'plan.yaml'
    path.write_text(text)
    return str(path)


@pytest.mark.parametrize(('text', 'expected'), [
    ('scenarios: [steps', "expected ',' or ']', but got '<stream end>' in line 1"),
    ('{}', 'the file: scenarios is missing'),
    ('scenarios: []', 'scenarios: expected at least one'),
    ('scenarios: [calm]', r"scenarios\[0\]: there is no scenario 'calm': expected a file, or one"),
    (f'{STEPS}\nspeed: 2', "the file: unknown name 'speed', expected scenarios, description"),
    (f'{STEPS}\nsimulators: [xplane_udp]',
     r'simulators\[0\]: xplane_udp is a protocol, not a version of X-Plane: choose one'),
    (f'{STEPS}\nsimulators: [x]', r'simulators\[0\]: expected one of core, xpc, .* got .x.'),
    (f'{STEPS}\nsimulators: [fdmdata]', 'fdmdata has no time in its protocol'),
    (f'{STEPS}\ncontrollers: [python3 own.py]',
     r"choose another simulators:, or fly a policy: controllers: \['policy:NAME'\]"),
    (f'{STEPS}\ncontrollers: ["mine.py:law"]', r'is no command line: write policy:mine.py'),
    (f'{STEPS}\nseeds: 40', r'seeds: expected a list, or \{first: 1, count: 40\}, got 40'),
    (f'{STEPS}\ncontrollers: [external]', r'controllers\[0\]: expected autopilot, policy:REF'),
    (f'{STEPS}\ncontrollers: ["policy:nobody"]', r'controllers\[0\]: policy nobody: expected the'),
    (f'{STEPS}\naircraft: [c172p, c172p]', r"aircraft\[1\]: 'c172p' is there twice"),
    (f'{STEPS}\naircraft: [{{model: c172p, aircraft_path: /no}}]', 'there is no folder /no'),
    (f'{STEPS}\nseeds: {{count: 0}}', 'seeds.count: expected 1 to 10000000, got 0'),
    (f'{STEPS}\nseeds: [1.5]', r'seeds\[0\]: expected a whole number, got 1.5'),
    (f'{STEPS}\nrequire: 95', 'require: expected 0 to 1, got 95'),
    (f'{STEPS}\nparameters: 3', 'parameters: expected names with values, got 3'),
    (f'{STEPS}\nparameters: {{gust: 1}}', "there is no parameter 'gust'; expected initial.NAME"),
    (f'{STEPS}\nparameters: {{wind.north: []}}', 'wind.north: expected at least one value'),
    (f'{STEPS}\nparameters: {{wind.north: [1, a]}}', 'expected either numbers or names, got both'),
    (f'{STEPS}\nparameters: {{wind.north: {{from: 1, to: 0}}}}', 'to: expected above 1, got 0'),
    (f'{STEPS}\nparameters: {{wind.north: {{from: 0, to: 1}}}}', 'sampling is missing: wind'),
    (f'{STEPS}\nparameters: {{initial.parked: 1}}', 'initial.parked 1.0: initial.parked: exp'),
    (f'{STEPS}\nparameters: {{events.99.at: 1}}', r"has no '99' there, expected a number below"),
    # Not the ends of a range: what is between them.
    (f'{STEPS}\nparameters: {{turbulence.severity: {{from: 1, to: 7}}}}\nsampling: {{}}',
     r'severity 2\.88.*: events\[0\]\.turbulence: severity 2\.88\d+, expected a whole number'),
    (f'{STEPS}\nparameters: {{turbulence.severity: [1, 2.5, 3]}}', 'severity 2.5, expected a wh'),
    (f'{STEPS}\nparameters: {{turbulence.wind: [0, 15]}}', 'severity 0 is calm at all heights'),
    (f'{STEPS}\nparameters: {{wind.north: [0, 120]}}', '120 m/s is no wind, expected -100'),
    (f'{STEPS}\nparameters: {{sensors: [none, best]}}', "there are no sensors 'best'"),
    (f'{STEPS}\nsampling: {{method: random}}', 'sampling: no parameter is sampled'),
    (f'{STEPS}\nparameters: {{wind.north: {{from: 0, to: 1}}}}\nsampling: {{method: sobol, '
     'count: 6}', 'sampling.count: expected a power of 2'),
])
def test_a_mistake_is_said_in_a_sentence(tmp_path, text, expected):
    if 'sobol' in text:
        pytest.importorskip('scipy', reason='Sobol needs scipy')
    with pytest.raises(PlanError, match=expected) as error:
        load(written(tmp_path, text))
    assert '\n' not in str(error.value)
    assert not isinstance(error.value, ScenarioError)


def test_a_policy_is_called_as_in_the_plan_and_flown_from_anywhere(tmp_path, monkeypatch):
    (tmp_path / 'law.py').write_text('def law(observation):\n    return 0.0, 0.0, 0.0, 0.7\n')
    (tmp_path / 'plan.yaml').write_text(f'{STEPS}\ncontrollers: ["policy:law.py:law"]\n')
    monkeypatch.chdir(tmp_path)
    task = load('plan.yaml').task(0)
    assert task.row('failed')['controller'] == 'policy:law.py:law'
    assert task.flown_by == f'policy:{tmp_path}/law.py:law'


def test_everything_is_crossed_and_controllers_fly_the_same_points(tmp_path):
    (tmp_path / 'law.py').write_text('def law(observation):\n    return 0.0, 0.0, 0.0, 0.7\n')
    plan = load(written(tmp_path, f"""
        scenarios: [steps, turbulence]
        controllers: [autopilot, 'policy:{tmp_path}/law.py:law']
        aircraft: [c172p, c310]
        parameters:
          wind.north: [0.0, 4.0]
          initial.airspeed: {{from: 50.0, to: 60.0, steps: 3}}
          engine_failed.at: {{from: 10, to: 20}}
        sampling: {{count: 2, seed: 5}}
        seeds: {{first: 7, count: 2}}
        """))
    tasks = [plan.task(flight) for flight in range(len(plan))]
    assert len(plan) == 2 * 2 * 2 * 2 * 3 * 2 * 2
    assert len({task.key for task in tasks}) == len(tasks)

    def points(controller):
        return [(task.scenario, task.aircraft, task.seed, task.parameters) for task in tasks
                if task.controller == controller]

    assert points('autopilot') == points(plan.controllers[1].name)
    assert {task.seed for task in tasks} == {7, 8}
    last = tasks[-1]
    assert last.content['initial']['airspeed'] == 60.0
    assert last.content['initial']['model'] == 'c310'
    assert {'at': last.parameters['engine_failed.at'], 'engine_failed': True} in (
        last.content['events'])
    assert [one['wind'] for one in last.content['events'] if 'wind' in one] == [[0.0, 4.0, 0.0]]
    with pytest.raises(PlanError, match=r'there is no flight 192: expected one of 0 to 191'):
        plan.task(192)


@pytest.mark.parametrize('method', parameters.METHODS)
def test_samples_are_reproducible_and_within_their_limits(method):
    if method != 'random':
        pytest.importorskip('scipy', reason='it needs scipy')
    drawn = [parameters.parse('wind.north', {'from': -5, 'to': 5}),
             parameters.parse('turbulence.severity', {'from': 2, 'to': 5, 'whole': True}),
             parameters.parse('sensors', {'any_of': ['none', 'consumer']})]
    samples = [*parameters.draw(method, drawn, 64, 3)]
    assert samples == [*parameters.draw(method, drawn, 64, 3)] != [*parameters.draw(
        method, drawn, 64, 4)]
    north, severity, sensors = zip(*samples, strict=True)
    assert -5.0 <= min(north) < -4.0
    assert 4.0 < max(north) <= 5.0
    assert set(severity) == {2.0, 3.0, 4.0, 5.0}
    assert set(sensors) == {'none', 'consumer'}
    if method != 'random':
        # Each half has its share.
        assert sum(value < 0.0 for value in north) == 32


def test_without_a_count_each_seed_has_its_own_sample(tmp_path):
    plan = load(written(tmp_path, """
        scenarios: [turbulence]
        parameters: {initial.airspeed: {from: 45, to: 55}}
        sampling: {method: random}
        seeds: {count: 5}
        """))
    assert len(plan) == 5
    assert len({plan.task(flight).parameters['initial.airspeed'] for flight in range(5)}) == 5


def test_every_shipped_scenario_flies_with_sensors_and_in_calm_air(tmp_path):
    names = sorted(path.stem for path in folder('scenarios').glob('*.yaml'))
    names.remove('link_loss')       # in real time only
    # These land: the height must be known to a metre.
    names = [name for name in names if not name.startswith('circuit')]
    plan = load(written(tmp_path, f"""
        scenarios: [{', '.join(names)}]
        parameters:
          sensors: [none, consumer]
          turbulence.severity: [0, 3]
          turbulence.wind: 15
        """))
    for flight in range(0, len(plan), 4):
        calm, rough, *sensed = (plan.task(flight + n).content for n in range(4))
        assert [one['sensors'] for one in (calm, rough, *sensed)] == [
            'none', 'none', 'consumer', 'consumer']
        for content, expected in ((calm, [0.0, 0.0]), (rough, [15.0, 3.0])):
            assert [one['turbulence'] for one in content['events'] if 'turbulence' in one] == [
                expected]


def test_a_key_is_of_what_is_flown_only(tmp_path):
    def key(text):
        return load(written(tmp_path, f'{STEPS}\n{text}')).task(0).key

    assert key('seeds: [1]') == key('seeds: [1, 2]\ndescription: x\nrequire: 0.5\ntime_limit: 9')
    assert len({key(text) for text in (
        'seeds: [1]', 'seeds: [2]', 'aircraft: [c310]', 'simulators: [xpc]',
        'parameters: {initial.airspeed: 50}')}) == 5
