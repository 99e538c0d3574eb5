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

"""The vector environment: as the same environments one by one, and what it says when it fails."""

from functools import partial
import os
import signal
import subprocess
import sys
from time import monotonic, process_time

import pytest

pytest.importorskip('gymnasium', reason='episodes need gymnasium')
pytest.importorskip('jsbsim', reason='the simulators need jsbsim')

import gymnasium
from gymnasium.error import ClosedEnvironmentError
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from gymnasium.wrappers.vector import RescaleAction
import numpy as np

from xplane_bridge.laboratory.episodes import ID
from xplane_bridge.laboratory.episodes.environment import FlightEnv
from xplane_bridge.laboratory.episodes.vector import FlightVectorEnv
from xplane_bridge.laboratory.episodes.workers import WorkerError
from xplane_bridge.laboratory.flights.scenario import scenario

SHORT = scenario.parse('short', {
    'duration': 2.0,
    'initial': {'altitude': 1200.0, 'heading_deg': 200.0, 'airspeed': 48.0},
    'events': [
        {'at': 0.1, 'engage': True}, {'at': 0.3, 'turbulence': [15.0, 4]},
        {'at': 0.5, 'change': {'heading_deg': 30.0}}],
    'criteria': [{'quantity': 'altitude_error', 'statistic': 'rms', 'at_most': 4.0}]})
GIVEN = {'scenario': SHORT, 'frames_per_step': 10}
LEVEL_FLIGHT = np.array((0.0, 0.0, 0.0, 0.65))


def early(step):
    """End some episodes before the others: where the turbulence has it so."""
    return 'low' if step.time > 0.6 and step.seen.altitude_error < -0.05 else ''


def number_five(step):
    """Fail where the wind is that of the test, in a way that no environment does by itself."""
    if step.after[34] > 5.0:
        raise ZeroDivisionError('the reward of five')
    return 1.0


@pytest.fixture
def vector():
    """Make a vector environment of workers that are forked: a new Python takes a second."""
    made = []

    def make(num_envs=5, workers=2, context='fork', **given):
        made.append(FlightVectorEnv(
            num_envs, workers=workers, context=context, **{**GIVEN, **given}))
        return made[-1]

    yield make
    for envs in made:
        envs.close()


def same(one, other):
    """Return whether two answers are equal in type and to the last bit."""
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, tuple):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, np.ndarray):
        if one.dtype == object:
            return one.shape == other.shape and all(map(same, one, other))
        return (one.dtype, one.shape, one.tobytes()) == (
            other.dtype, other.shape, other.tobytes())
    return type(one) is type(other) and one == other


@pytest.mark.parametrize(('mode', 'sensors'), [
    (AutoresetMode.NEXT_STEP, None), (AutoresetMode.SAME_STEP, 'consumer'),
    (AutoresetMode.DISABLED, None)])
def test_all_answers_are_those_of_the_environments_one_by_one(vector, mode, sensors):
    given = {**GIVEN, 'sensors': sensors, 'termination': early}
    ours = vector(autoreset_mode=mode, **given)
    theirs = SyncVectorEnv([partial(FlightEnv, **given)] * 5, autoreset_mode=mode)
    assert ours.observation_space == theirs.observation_space
    assert ours.action_space == theirs.action_space
    assert ours.single_observation_space == theirs.single_observation_space
    assert ours.metadata == theirs.metadata
    random = np.random.default_rng(1)
    ends = set()
    for seed in (7, [3, 1, None, 5, 9]):
        if seed != 7:
            # Without a seed it is drawn by what the episode before has left.
            seed[2] = None
        assert same(ours.reset(seed=seed, options={'wind': [2.0, 0.0, 0.0]}),
                    theirs.reset(seed=seed, options={'wind': [2.0, 0.0, 0.0]}))
        for _ in range(26):
            actions = LEVEL_FLIGHT + random.uniform(-0.1, 0.1, (5, 4))
            expected = theirs.step(actions)
            assert same(ours.step(actions), expected)
            ends.update(zip(expected[2].tolist(), expected[3].tolist(), strict=True))
            over = expected[2] | expected[3]
            if mode is AutoresetMode.DISABLED and over.any():
                with pytest.raises(ValueError, match=f'environments {over.argmax()}.* are over'):
                    ours.step(actions)
                seeds = random.integers(1000, size=5).tolist()
                assert same(ours.reset(seed=seeds, options={'reset_mask': over}),
                            theirs.reset(seed=seeds, options={'reset_mask': over}))
    assert ends == {(False, False), (True, False), (False, True)}
    assert ours.np_random_seed == theirs.np_random_seed


def test_gymnasium_makes_it_of_new_processes():
    """As a user does, from a program that imports nothing of ours, with functions of its own."""
    program = """
import gymnasium, numpy as np
if __name__ == '__main__':
    limit = 0.9
    envs = gymnasium.make_vec(
        'xplane_bridge:xplane_bridge/Flight-v0', num_envs=3, workers=2,
        termination=lambda step: 'late' if step.time > limit else '')
    print(envs, envs.reset(seed=7)[0].shape)
    while not (answer := envs.step(np.tile([0.0, 0.0, 0.0, 0.6], (3, 1))))[2].any():
        pass
    print(answer[-1]['reason'].tolist(), answer[-1]['time'].round(2).tolist())
"""
    done = subprocess.run(
        [sys.executable, '-c', program], capture_output=True, text=True, timeout=120, check=False)
    assert done.stdout == (
        f'FlightVectorEnv({ID}, num_envs=3) (3, 43)\n'
        "['late', 'late', 'late'] [0.9, 0.9, 0.9]\n"), done.stderr
    assert not done.stderr


def test_a_program_that_makes_itself_again_is_told(tmp_path):
    program = tmp_path / 'unguarded.py'
    program.write_text('from xplane_bridge.laboratory.episodes.vector import FlightVectorEnv\n'
                       'FlightVectorEnv(1)\n')
    done = subprocess.run(
        [sys.executable, program], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].endswith(
        'worker 0 (environment 0) has ended with exit code 1: all are closed. It imported your '
        "program, as a new process does: what is to run once stands below if __name__ == "
        "'__main__'")


def test_workers_end_with_who_started_them():
    program = (
        'import os, signal; from xplane_bridge.laboratory.episodes.vector import FlightVectorEnv\n'
        'envs = FlightVectorEnv(2, workers=2, context="fork"); envs.reset()\n'
        'print(*(one.pid for one in envs._workers._processes), flush=True)\n'
        'os.kill(os.getpid(), signal.SIGKILL)')
    # Its output ends when the last of them does.
    done = subprocess.run(
        [sys.executable, '-c', program], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == -signal.SIGKILL
    assert len(done.stdout.split()) == 2


def test_a_planner_tries_many_ways_from_one_state(vector):
    envs = vector(num_envs=3)
    envs.reset(seed=1)
    envs.step(np.tile(LEVEL_FLIGHT, (3, 1)))
    each = envs.snapshot()
    ways = LEVEL_FLIGHT + np.array([[-0.1], [0.0], [0.1]]) * [1.0, 0.0, 0.0, 0.0]
    expected = envs.step(ways)
    envs.step(ways)
    observations, infos = envs.restore(each)
    assert [one.tobytes() for one in observations] == [one.observation for one in each]
    assert infos['seed'].tolist() == [1, 2, 3]
    assert same(envs.step(ways), expected)
    # One for all: the first environment's way is as before, the others' is another.
    observations, _ = envs.restore(each[0])
    assert {one.tobytes() for one in observations} == {each[0].observation}
    found = envs.step(ways)
    assert found[0][0].tobytes() == expected[0][0].tobytes()
    assert found[0][1].tobytes() != expected[0][1].tobytes()
    with pytest.raises(ValueError, match='snapshots: expected one for each of 3 .* got 2'):
        envs.restore(each[:2])
    other = FlightEnv(**{**GIVEN, 'level': 'attitude'})
    other.reset()
    with pytest.raises(ValueError, match=r'environment 0 \(worker 0\): restore: level of this'):
        envs.restore(other.snapshot())


def test_attributes_of_each(vector):
    envs = vector(num_envs=3, render_mode='ansi')
    envs.reset(seed=1)
    assert envs.get_attr('level') == ('controls',) * 3
    assert all('altitude  1200' in line for line in envs.render())
    envs.set_attr('level', ['a', 'b', 'c'])
    assert envs.get_attr('level') == ('a', 'b', 'c')
    envs.set_attr('level', 'x')
    assert envs.call('level') == ('x', 'x', 'x')
    with pytest.raises(ValueError, match='values: expected one for each of 3 .* got 2'):
        envs.set_attr('level', ['a', 'b'])
    with pytest.raises(ValueError, match=r'call: use step\(\) of the vector environment'):
        envs.call('step', LEVEL_FLIGHT)
    with pytest.raises(RuntimeError, match=r'environment 0 \(worker 0\): AttributeError: .*wings'):
        envs.get_attr('wings')


def test_wrappers_of_gymnasium_take_it(vector):
    envs = RescaleAction(vector(), -1.0, 1.0)
    envs.reset(seed=1)
    assert envs.action_space.low.min() == -1.0
    assert envs.step(np.zeros((5, 4)))[1].all()


def test_what_an_environment_raises_names_it(vector):
    envs = vector(reward=number_five)
    envs.reset(seed=1)
    actions = np.tile(LEVEL_FLIGHT, (5, 1))
    envs.step(actions)
    windy = np.arange(5) == 3
    envs.reset(options={'reset_mask': windy, 'wind': [9.0, 0.0, 0.0]})
    said = r'^environment 3 \(worker 1\): ZeroDivisionError: the reward'
    with pytest.raises(RuntimeError, match=said) as raised:
        envs.step(actions)
    assert 'in number_five' in raised.value.__notes__[0]
    with pytest.raises(ValueError, match='one has failed: call reset'):
        envs.step(actions)
    with pytest.raises(ValueError, match='reset_mask: not every environment has begun'):
        envs.reset(options={'reset_mask': windy})
    with pytest.raises(ValueError, match=r'^environment 0 \(worker 0\): options.wind: expected'):
        envs.reset(options={'wind': [9.0]})
    # The mistakes have cost nothing but the episodes.
    envs.reset(seed=1)
    envs.step(actions)


@pytest.mark.parametrize(('number', 'code'), [(signal.SIGKILL, '-9'), (signal.SIGTERM, '-15')])
def test_a_worker_that_has_ended_is_named(vector, number, code):
    envs = vector()
    envs.reset(seed=1)
    process = envs._workers._processes[1]
    os.kill(process.pid, number)
    process.join()
    said = rf'^worker 1 \(environments 2 to 4\) has ended with exit code {code}'
    with pytest.raises(WorkerError, match=said):
        envs.step(np.tile(LEVEL_FLIGHT, (5, 1)))
    with pytest.raises(ClosedEnvironmentError, match='make it anew'):
        envs.reset()


def test_a_worker_that_ends_in_flight_names_the_environment(vector):
    envs = vector(reward=lambda step: os._exit(3) if step.after[34] > 5.0 else 1.0)
    envs.reset(seed=1)
    envs.reset(options={'reset_mask': np.arange(5) == 1, 'wind': [9.0, 0.0, 0.0]})
    with pytest.raises(WorkerError, match=r'^worker 0 .* exit code 3, at environment 1: all'):
        envs.step(np.tile(LEVEL_FLIGHT, (5, 1)))


@pytest.mark.parametrize('do', [
    lambda envs: envs.step(np.tile(LEVEL_FLIGHT, (5, 1))),
    # More than a pipe takes before it is read.
    lambda envs: envs.set_attr('level', 'x' * 10**6)], ids=['a step', 'a long message'])
def test_a_worker_that_hangs_is_named(vector, do):
    envs = vector(timeout=1.5)
    envs.reset(seed=1)
    processes = envs._workers._processes
    os.kill(processes[0].pid, signal.SIGSTOP)
    with pytest.raises(WorkerError, match=r'^worker 0 \(.*0 to 1\) has not answered for 1.5 s'):
        do(envs)
    assert not any(process.is_alive() for process in processes)


def busy(_):
    """Take 0.8 s of a processor."""
    end = process_time() + 0.8
    while process_time() < end:
        pass
    return 1.0


def test_waiting_for_a_processor_is_no_fault_of_an_environment(vector):
    envs = vector(num_envs=3, workers=3, timeout=1.2, reward=busy)
    envs.reset(seed=1)
    core = {min(os.sched_getaffinity(0))}
    for process in envs._workers._processes:
        os.sched_setaffinity(process.pid, core)
    begin = monotonic()
    envs.step(np.tile(LEVEL_FLIGHT, (3, 1)))
    assert monotonic() - begin > 2.0


def test_what_cannot_be_flown_starts_no_process():
    with pytest.raises(ValueError, match="level: got 'rates'"):
        FlightVectorEnv(2, level='rates')


def test_what_only_a_worker_cannot_make_is_said(vector):
    with pytest.raises(RuntimeError, match=r'environment 0 \(worker 0\): AttributeError'):
        vector(num_envs=2, reward=Unreadable())
    envs = vector()
    processes = envs._workers._processes
    envs.close()
    envs.close()
    assert not any(process.is_alive() for process in processes)
    with pytest.raises(ClosedEnvironmentError):
        envs.step(np.tile(LEVEL_FLIGHT, (5, 1)))


class Unreadable:
    """A reward that can be sent to a process, and not be read there."""

    def __call__(self, step):
        return 0.0

    def __reduce__(self):
        return getattr, (os, 'no_such_thing')


@pytest.mark.parametrize(('given', 'said'), [
    ({'num_envs': 0}, 'num_envs: expected a whole number from 1 on, got 0'),
    ({'num_envs': 2.0}, 'num_envs: .* got 2.0'),
    ({'num_envs': 2, 'workers': 3}, 'workers: 3 is more than num_envs, which is 2'),
    ({'workers': -1}, 'workers: expected a whole number from 0 on, got -1'),
    ({'timeout': 0.0}, 'timeout: expected seconds above 0, got 0.0'),
    ({'timeout': '9'}, "timeout: expected seconds above 0, got '9'"),
    ({'context': 'thread'}, "context: got 'thread', expected one of fork, spawn, forkserver"),
    ({'autoreset_mode': 'Later'},
     "autoreset_mode: got 'Later', expected one of NextStep, SameStep, Disabled"),
])
def test_mistakes_are_said_when_it_is_made(given, said):
    with pytest.raises(ValueError, match=said):
        FlightVectorEnv(**given)


def test_mistakes_are_said_in_flight(vector):
    envs = vector()
    actions = np.tile(LEVEL_FLIGHT, (5, 1))
    with pytest.raises(ValueError, match=r'no episodes have begun, .*: call reset\(\) first'):
        envs.step(actions)
    for seed, said in (([1, 2], 'seed: expected one for each of 5 environments, got 2'),
                       (1.5, 'seed: expected one for each of 5 environments, got 1.5'),
                       (True, 'seed: expected one for each of 5 environments, got True'),
                       (2 ** 32, r'environment 0 \(worker 0\): seed: expected 0 to 2147483645')):
        with pytest.raises(ValueError, match=said):
            envs.reset(seed=seed)
    with pytest.raises(ValueError, match=r"options: expected names with values, got \['wind'\]"):
        envs.reset(options=['wind'])
    for mask in ([True] * 5, np.ones(5), np.ones(4, np.bool_), np.zeros(5, np.bool_)):
        with pytest.raises(ValueError, match='reset_mask: expected an array of 5 bool'):
            envs.reset(options={'reset_mask': mask})
    before, _ = envs.reset(seed=1)
    bad = actions.copy()
    bad[3, 2] = np.nan
    for wrong, said in (
            (actions[:, :3], r'actions: expected 4 numbers \(elevator, .*got shape \(5, 3\)'),
            (LEVEL_FLIGHT, r'got shape \(4,\)'), ({}, 'got {}'), ('up', "got 'up'"),
            (actions.astype(str), 'expected 4 numbers'), (actions + 1j, 'expected 4 numbers'),
            (bad, "actions: environment 3's rudder is nan")):
        with pytest.raises(ValueError, match=said):
            envs.step(wrong)
    # Nothing has been flown by them.
    again = FlightVectorEnv(5, workers=1, context='fork', **GIVEN)
    assert again.reset(seed=1)[0].tobytes() == before.tobytes()
    assert same(again.step(actions), envs.step(actions))
    again.close()


def test_make_vec_without_a_vector_is_gymnasiums():
    envs = gymnasium.make_vec(ID, num_envs=2, vectorization_mode='sync')
    assert type(envs) is SyncVectorEnv
