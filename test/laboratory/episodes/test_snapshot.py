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

"""Snapshots of an episode: restored, the same actions give the same bits."""

from dataclasses import replace
import pickle

import pytest

pytest.importorskip('gymnasium', reason='episodes need gymnasium')
pytest.importorskip('jsbsim', reason='the simulators need jsbsim')

from hypothesis import given, settings
from hypothesis import strategies as some
import numpy as np

from xplane_bridge.common.fields import LARGEST_SEED
from xplane_bridge.laboratory.episodes.environment import FlightEnv
from xplane_bridge.laboratory.flights.scenario import scenario

SHORT = scenario.parse('short', {
    'duration': 2.0,
    'initial': {'altitude': 1200.0, 'heading_deg': 200.0, 'airspeed': 48.0},
    'events': [
        {'at': 0.1, 'engage': True},
        {'at': 0.6, 'change': {'heading_deg': 30.0}},
        {'at': 0.9, 'wind': [2.0, -3.0, 0.5]}],
    'criteria': [{'figure': 'duration', 'at_least': 1.9}]})
LEVEL = {'controls': (0.0, 0.0, 0.0, 0.65), 'attitude': (0.0, 0.03, 0.65),
         'target': (1200.0, -2.7, 49.0)}
WEATHER = {'wind': [4.0, -6.0, 1.0], 'turbulence': [18.0, 5]}
FAILURE = [{'at': 0.7, 'engine_failed': True}]


def actions(level, count, seed):
    """Return actions about level flight."""
    random = np.random.default_rng(seed)
    return np.array(LEVEL[level]) + random.uniform(-0.1, 0.1, (count, len(LEVEL[level])))


def flown(env, given):
    """Return all that the steps with these actions answer, as far as the episode goes."""
    answers = []
    for action in given:
        observation, reward, terminated, truncated, info = env.step(action)
        answers.append((observation.tobytes(), reward, terminated, truncated, info))
        if terminated or truncated:
            break
    return answers


@settings(max_examples=12, deadline=None, derandomize=True)
@given(
    level=some.sampled_from(sorted(LEVEL)), frames=some.integers(1, 7),
    rounding=some.sampled_from(['', 'xpc', 'fdmdata']),
    options=some.fixed_dictionaries({}, optional={
        'wind': some.just(WEATHER['wind']), 'turbulence': some.just(WEATHER['turbulence']),
        'failures': some.just(FAILURE), 'sensors': some.just('consumer'),
        'initial': some.just({'heading_deg': 30.0})}),
    before=some.integers(0, 40), between=some.integers(0, 20), seed=some.integers(0, LARGEST_SEED))
def test_the_same_actions_give_the_same_bits(
        level, frames, rounding, options, before, between, seed):
    make = {'scenario': SHORT, 'level': level, 'rounding': rounding, 'frames_per_step': frames,
            'termination': lambda _: ''}
    env = FlightEnv(**make)
    env.reset(seed=seed, options=options)
    before = min(before, 100 // frames)
    flown(env, actions(level, before, 1))
    snapshot = env.snapshot()
    ahead = actions(level, 200, 2)
    expected = flown(env, ahead)
    next_seed = env.reset()[1]['seed']
    flown(env, actions(level, between, 3))
    for restored in (env, FlightEnv(**make)):
        observation, info = restored.restore(pickle.loads(pickle.dumps(snapshot)))
        assert observation.tobytes() == snapshot.observation
        assert info['seed'] == seed
        assert flown(restored, ahead) == expected
        assert restored.reset()[1]['seed'] == next_seed


def test_a_snapshot_is_of_its_moment():
    """Neither flying on nor restoring changes it: a planner tries many ways from one."""
    env = FlightEnv(SHORT)
    env.reset(seed=1, options=WEATHER)
    snapshot = env.snapshot()
    ways = [actions('controls', 10, way) for way in range(3)]
    found = []
    for way in ways * 2:
        env.restore(snapshot)
        found.append(flown(env, way))
    assert found[:3] == found[3:]
    assert found[0] != found[1]
    # A snapshot of what was restored and flown on.
    later = env.snapshot()
    expected = flown(env, ways[0])
    env.restore(later)
    assert flown(env, ways[0]) == expected
    assert len(later.actions) == 10 * 4 * 8


@pytest.mark.parametrize(('given', 'said'), [
    ({'level': 'attitude'}, "level of this environment is 'attitude', that of .* 'controls'"),
    ({'frames_per_step': 6}, 'frames_per_step of this environment is 6, .* snapshot 1'),
    ({'rounding': 'xpc'}, "rounding of this environment is 'xpc'"),
    ({'sensors': 'consumer'}, "sensors of this environment is 'consumer', .* snapshot ''"),
    ({'model': 'pa28'}, "model of this environment is 'pa28'"),
    ({'scenario': 'steps'}, "scenario of this environment is 'steps', .* snapshot 'short'"),
    ({'scenario': replace(SHORT, duration=3.0)}, 'scenarios short: they differ in duration$'),
])
def test_an_environment_that_differs_is_refused(given, said):
    env = FlightEnv(SHORT)
    env.reset(seed=1)
    snapshot = env.snapshot()
    other = FlightEnv(**{'scenario': SHORT, **given})
    with pytest.raises(ValueError, match=f'^restore: .*{said}'):
        other.restore(snapshot)


def test_a_state_that_does_not_come_again_is_refused():
    env = FlightEnv(SHORT)
    env.reset(seed=1)
    flown(env, actions('controls', 5, 1))
    snapshot = env.snapshot()
    elsewhere = replace(snapshot, start=replace(snapshot.start, initial={'airspeed': 50.0}))
    with pytest.raises(ValueError, match=r'flown again, imu/data.orientation.x is -?0\.\d+, it'):
        env.restore(elsewhere)
    with pytest.raises(ValueError, match=r'call reset\(\) first'):
        env.step(LEVEL['controls'])


def test_without_an_episode_there_is_no_snapshot():
    env = FlightEnv(SHORT)
    with pytest.raises(ValueError, match=r'call reset\(\) first'):
        env.snapshot()
    with pytest.raises(ValueError, match='restore: expected a Snapshot, got None'):
        env.restore(None)
    env.reset(seed=1)
    flown(env, actions('controls', 200, 1))
    with pytest.raises(ValueError, match=r'call reset\(\) first'):
        env.snapshot()


def test_what_flies_in_real_time_has_no_snapshot():
    env = FlightEnv(SHORT)
    env.reset(seed=1)
    env._flight.order = replace(env._flight.order, sim='fdmdata')
    with pytest.raises(ValueError, match='fdmdata flies in real time'):
        env.snapshot()
