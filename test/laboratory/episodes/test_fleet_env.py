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

"""Scenarios for several as a PettingZoo environment: its own api test, seeds, ends, refusals."""

import warnings

import numpy as np
import pytest
import yaml

pytest.importorskip('jsbsim', reason='the simulators need jsbsim')
pytest.importorskip('gymnasium', reason='environments need gymnasium')
pytest.importorskip('pettingzoo', reason='environments of several aircraft need pettingzoo')

from pettingzoo.test import parallel_api_test

from xplane_bridge.laboratory.control.policy.observation import FIELDS, OTHERS
from xplane_bridge.laboratory.episodes.environment import FlightEnv
from xplane_bridge.laboratory.episodes.fleet import FleetEnv
from xplane_bridge.laboratory.flights.flight import FlightState
from xplane_bridge.laboratory.flights.order import Order
from xplane_bridge.laboratory.flights.scenario.scenario import find, load, parse
from xplane_bridge.laboratory.open_flight import open_flight

TWO = """
duration: 4.0
initial: {altitude: 1200.0, airspeed: 48.0, heading_deg: 0.0}
events: [{at: 0.5, engage: true}, {at: 1.0, turbulence: [15.0, 4]}]
vehicles:
  - name: low
    criteria: [{quantity: roll_deg, statistic: max_abs, at_most: 60.0}]
  - {name: high, initial: {forward: 100.0, right: 20.0, up: 60.0}}
criteria: [{separation: all, at_least: 30.0}]
"""
HOLD = np.array([1200.0, 0.0, 48.0])


def two(text=TWO):
    return parse('two', yaml.safe_load(text))


def holding(env, **more):
    """Fly an episode by holding; return the observations, and the last answer."""
    seen, infos = env.reset(**more)
    kept, last = [seen], None
    while env.agents:
        last = env.step(dict.fromkeys(env.agents, HOLD))
        kept.append(last[0])
    return kept, last


@pytest.mark.parametrize('level', ['controls', 'target'])
def test_pettingzoo_accepts_it(level):
    env = FleetEnv(two(), level=level)
    with warnings.catch_warnings():
        warnings.simplefilter('error')
        # It gives an option of its own.
        warnings.filterwarnings('ignore', message='reset: options is ignored')
        parallel_api_test(env, num_cycles=60)


def test_equal_seeds_give_equal_episodes():
    env, other = FleetEnv(two()), FleetEnv(two())
    first, again, another = (
        np.array([[*seen.values()] for seen in holding(one, seed=seed)[0]])
        for one, seed in ((env, 3), (other, 3), (env, 4)))
    assert first.shape == (36, 2, len(FIELDS) + len(OTHERS))
    assert first.tobytes() == again.tobytes()
    assert first.tobytes() != another.tobytes()
    # Without a seed the next follows from the last, and is another one.
    following = [one.reset()[1]['low']['seed'] for one in (env, other) for _ in range(2)]
    assert len({*following}) == 4
    env.reset(seed=3)
    assert env.reset()[1]['low']['seed'] == following[2]


def test_the_end_is_judged():
    _, (_, rewards, terminations, truncations, infos) = holding(FleetEnv(two()), seed=1)
    assert not any(terminations.values())
    assert all(truncations.values())
    assert all(0.0 < reward <= 1.0 for reward in rewards.values())
    low, high = infos['low'], infos['high']
    assert low['reason'] == high['reason'] == 'the scenario is flown to its end'
    assert [one['criterion'] for one in low['judgements']] == [
        'low: max_abs of roll_deg at most 60', 'min of separation of any two at least 30',
        'min of separation of any two at least 10']
    assert len(high['judgements']) == 2
    assert low['passed']
    assert high['passed']


def test_others_are_where_they_are():
    seen, infos = FleetEnv(two()).reset(seed=1)
    assert infos['low'] == {'seed': 1, 'time': pytest.approx(0.5), 'engaged': True}
    from_low, from_high = (seen[name][len(FIELDS):] for name in ('low', 'high'))
    assert from_low[:3] == pytest.approx([20.0, 100.0, 60.0], abs=0.5)
    assert from_low == pytest.approx(-from_high, abs=0.01)
    assert from_low[3:] == pytest.approx([0.0, 0.0, 0.0], abs=0.5)


def test_an_agent_that_is_lost_leaves_and_the_others_fly_on():
    env = FleetEnv(two(), termination=lambda scenario: lambda step: (
        'enough' if scenario.name == 'low' and step.time > 1.0 else ''))
    env.reset(seed=1)
    ended = {}
    while env.agents:
        *_, terminations, truncations, infos = env.step(dict.fromkeys(env.agents, HOLD))
        for name in terminations:
            if terminations[name] or truncations[name]:
                ended[name] = terminations[name], infos[name]['reason'], infos[name]['time']
    assert ended['low'][:2] == (True, 'enough')
    assert 1.0 < ended['low'][2] < 1.2
    assert ended['high'] == (
        False, 'the scenario is flown to its end', pytest.approx(4.0))


def test_a_mid_air_terminates_those_who_met_and_truncates_the_others():
    text = TWO.replace('up: 60.0}}', 'up: 60.0}}\n  - {name: meets, initial: '
                       '{forward: 300.0, right: 0.0, up: 0.0, heading_deg: 180.0}}')
    env = FleetEnv(two(text))
    env.reset(seed=1)
    while env.agents:
        _, _, terminations, truncations, infos = env.step(
            {name: HOLD if name != 'meets' else np.array([1200.0, np.pi, 48.0])
             for name in env.agents})
    assert terminations == {'low': True, 'high': False, 'meets': True}
    assert truncations == {'low': False, 'high': True, 'meets': False}
    assert [one['reason'] for one in infos.values()] == [
        'mid-air', 'others have met in the air', 'mid-air']
    assert not any(one['passed'] for one in infos.values())


def test_it_flies_what_the_flight_by_actions_flies():
    env = FleetEnv(two(), frames_per_step=4)
    seen = holding(env, seed=5)[0][-1]
    flight = env._flight
    alone = open_flight(Order(two(), flown_by=flight.order.flown_by, seed=5))
    alone.start()
    while alone.state is FlightState.READY:
        alone.step([*HOLD, *HOLD], 4)
    assert alone.vehicles['high'].observation().tobytes() == seen['high'][:len(FIELDS)].tobytes()


def test_options_are_of_each():
    env = FleetEnv(two())
    seen, _ = env.reset(seed=1, options={'wind': [0.0, 5.0, 0.0], 'sensors': 'consumer'})
    assert all(np.isfinite(one).all() for one in seen.values())
    assert {one.order.sensed_by for one in env._flight.vehicles.values()} == {'consumer'}
    assert env._flight.vehicles['high'].state.wind_north == pytest.approx(5.0)
    with pytest.raises(ValueError, match='wind'):
        env.reset(options={'wind': [1.0]})
    with pytest.raises(ValueError, match=r'call reset\(\) first'):
        FleetEnv(two()).step({})
    with pytest.warns(UserWarning, match='reset: initial is ignored: options are wind, turb'):
        env.reset(options={'initial': {}})


def test_what_cannot_be_flown_is_refused():
    with pytest.raises(ValueError, match='scenario steps has one aircraft: use FlightEnv'):
        FleetEnv('steps')
    with pytest.raises(ValueError, match='scenario formation has 3 aircraft, and FlightEnv flies'):
        FlightEnv('formation')
    with pytest.raises(ValueError, match='level: got'):
        FleetEnv(two(), level='surfaces')
    env = FleetEnv(two())
    env.reset()
    for actions, sentence in (
            ({'low': HOLD}, 'actions: expected one of each of low, high, got low'),
            (HOLD, 'actions: expected one of each'),
            ({'low': HOLD, 'high': HOLD[:2]}, 'action'),
            ({'low': HOLD, 'high': HOLD * np.nan}, "the action's altitude is nan")):
        with pytest.raises(ValueError, match=sentence):
            env.step(actions)
    assert env.agents == ['low', 'high']
    env.close()


def test_a_policy_that_sees_the_other_solves_the_crossing():
    env = FleetEnv(load(find('crossing')))
    seen, _ = env.reset(seed=1)
    heading = np.pi / 2.0
    while env.agents:
        east, north, *_ = seen['own'][len(FIELDS):]
        gives_way = north < 0.0 or np.hypot(east, north) < 400.0
        seen, *_, infos = env.step({
            'own': np.array([1500.0, heading + 0.6 * gives_way, 51.444]),
            'intruder': np.array([1500.0, 0.0, 51.444])})
    assert infos['own']['passed'], infos['own']
