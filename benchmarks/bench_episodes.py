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

"""
Episodes: how many times real time one core flies FlightEnv, and two workers; how long a reset is.

Everything is measured in the same run, in turns. The limit is JSBSim alone at the same steps;
other environments of JSBSim are measured too if they are installed. One core by processor time,
workers by the clock.
"""

from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from importlib import import_module
from importlib.metadata import version
from importlib.util import find_spec
from multiprocessing import get_context
from time import perf_counter, process_time
from typing import Any

from bench_core import jsbsim, microseconds
from gymnasium.vector import AsyncVectorEnv
import numpy as np
from tables import Goals, show

from xplane_bridge.common.timing import FRAME
from xplane_bridge.episodes.environment import FlightEnv

ROUNDS = 5
STEPS = 1200
RESETS = 4
WORKERS = 2
GOAL = 100.0
GOAL_RESET_MS = 15.0
ACTIONS = {'controls': (0.0, 0.0, 0.0, 0.63), 'attitude': (0.0, 0.03, 0.63),
           'target': (1500.0, 1.57, 51.0)}
# Distributions with an environment of the class NoFGJsbSimEnv in <package>.environment. They
# integrate at 60 Hz and do not trim.
OTHERS = ('jsbgym', 'gymnasium_jsbsim')


def endless(_: Any) -> str:
    """Never terminate."""
    return ''


def stepping(env: Any, action: Any) -> Callable[[], Any]:
    """Return a function that flies a step, and resets at the end of an episode."""
    env.reset(seed=1)

    def step() -> None:
        *_, terminated, truncated, _ = env.step(action)
        if terminated or truncated:
            env.reset()

    return step


def other(package: str, rate: int) -> Any:
    """Return the environment of another package, with ``rate`` steps per second."""
    return import_module(f'{package}.environment').NoFGJsbSimEnv(
        task_type=import_module(f'{package}.tasks').HeadingControlTask,
        agent_interaction_freq=rate)


def one_core(goals: Goals) -> None:
    """Measure steps, from JSBSim's own to those of environments."""
    at_60, at_120 = jsbsim(60), jsbsim(120)
    works: dict[str, tuple[Callable[[], Any], float]] = {
        'JSBSim alone, 60 steps/s': (at_60, FRAME),
        'JSBSim alone, 120 steps/s as flown': (at_120, FRAME / 2.0)}
    ours = []
    for name, given in (
            *((f'level {level}', {'level': level}) for level in ACTIONS),
            ('controls, sensors consumer', {'sensors': 'consumer'}),
            ("controls, rounding='xpc'", {'rounding': 'xpc'}),
            ('controls, frames_per_step=12', {'frames_per_step': 12})):
        env = FlightEnv(termination=endless, **given)
        action = np.array(ACTIONS[given.get('level', 'controls')])
        ours.append(f'FlightEnv, {name}')
        works[ours[-1]] = stepping(env, action), FRAME * given.get('frames_per_step', 1)
    for package in OTHERS:
        if find_spec(package) is None:
            continue
        for rate in (60, 5):
            env = other(package, rate)
            works[f'{package} {version(package)}, {rate} steps/s'] = (
                stepping(env, np.zeros(env.action_space.shape)), 1.0 / rate)
    best = dict.fromkeys(works, float('inf'))
    for _ in range(ROUNDS):
        for name, (work, lasts) in works.items():
            times = max(round(STEPS * FRAME / lasts), 100)
            best[name] = min(best[name], microseconds(work, times))
    limit = best['JSBSim alone, 120 steps/s as flown'] * 2.0 / FRAME
    rows = []
    for name, value in best.items():
        lasts = works[name][1]
        factor = lasts * 1e6 / value
        rows.append((
            name, f'{value:.1f} us', f'{value / lasts / limit:.2f}', f'{factor:.0f}',
            goals.at_least(factor, GOAL) if name in ours and 'xpc' not in name else ''))
    show(f'one core, c172p, turbulence, best of {ROUNDS}',
         ('work', 'a step', 'of JSBSim', 'times real time', f'goal {GOAL:.0f}'), rows)


def fly(steps: int) -> float:
    """Fly in a process of its own; return the seconds by the clock, without its start."""
    step = stepping(FlightEnv(termination=endless), np.array(ACTIONS['controls']))
    begin = perf_counter()
    for _ in range(steps):
        step()
    return perf_counter() - begin


def workers() -> None:
    """Measure two workers against one."""
    action = np.array(ACTIONS['controls'])
    rows = []
    context = get_context('spawn')
    for count in (1, WORKERS):
        with ProcessPoolExecutor(count, mp_context=context) as pool:
            # The first flights start the processes.
            list(pool.map(fly, [100] * count))
            seconds = min(
                max(pool.map(fly, [STEPS * 3] * count)) for _ in range(ROUNDS))
        rows.append((f'processes, each its own environment: {count}',
                     count * STEPS * 3 * FRAME / seconds))
    for count in (1, WORKERS):
        for frames in (1, 6):
            envs = AsyncVectorEnv(
                [partial(FlightEnv, frames_per_step=frames, termination=endless)] * count,
                context='spawn')
            try:
                envs.reset(seed=1)
                actions, fastest = np.array([action] * count), float('inf')
                for _ in range(ROUNDS):
                    begin = perf_counter()
                    for _ in range(STEPS // frames):
                        envs.step(actions)
                    fastest = min(fastest, perf_counter() - begin)
            finally:
                envs.close()
            rows.append((f'AsyncVectorEnv of {count}, frames_per_step={frames}',
                         count * STEPS // frames * frames * FRAME / fastest))
    show(f'workers by the clock, c172p, turbulence, best of {ROUNDS}',
         ('work', 'times real time, together'),
         [(name, f'{factor:.0f}') for name, factor in rows])


def reset(goals: Goals) -> None:
    """Measure a reset: a new model, trimmed, flown to the first frame that waits."""
    rows = []
    works = {
        'FlightEnv, turbulence: 0.5 s until it engages': (FlightEnv(), True),
        'FlightEnv, sensors consumer': (FlightEnv(sensors='consumer'), True)}
    for package in OTHERS:
        if find_spec(package) is not None:
            works[f'{package} {version(package)}: not trimmed'] = other(package, 60), False
    for name, (env, is_ours) in works.items():
        env.reset()
        begin = []
        for _ in range(ROUNDS * RESETS):
            start = process_time()
            env.reset()
            begin.append((process_time() - start) * 1e3)
        median = sorted(begin)[len(begin) // 2]
        rows.append((name, f'{median:.1f} ms',
                     goals.at_most(median, GOAL_RESET_MS) if is_ours else ''))
    show(f'a reset, one core, c172p, median of {ROUNDS * RESETS}',
         ('work', 'a reset', f'goal {GOAL_RESET_MS:.0f} ms'), rows)


def main() -> int:
    """Print the tables; return 1 if a goal was missed."""
    goals = Goals()
    one_core(goals)
    reset(goals)
    workers()
    return int(goals.missed > 0)
