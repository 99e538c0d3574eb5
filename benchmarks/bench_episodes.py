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
Episodes: what a step of FlightEnv costs beside JSBSim's own, and a reset; workers by the clock.

Everything is measured in the same run, in turns; one core by processor time. The limit of each
figure stands beside it: JSBSim alone for the very steps of that flight, of the same aircraft with
the same turbulence and controls; jsbgym at its own work, and PyFlyt at as much simulated time as
it has, where they are installed.
"""

from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from importlib.metadata import version
from importlib.util import find_spec
from multiprocessing import get_context
from time import perf_counter, process_time
from typing import Any

import numpy as np
from shortest import usual
from tables import Goals, show
from vector_steps import beside_async, beside_one, in_turn

from xplane_bridge.common.timing import FRAME, FRAME_RATE, PHYSICS_RATE
from xplane_bridge.laboratory.episodes.environment import FlightEnv
from xplane_bridge.laboratory.flights.order import Order
from xplane_bridge.laboratory.flights.scenario.scenario import find, load
from xplane_bridge.laboratory.open_flight import open_flight

ROUNDS = usual(5, 1)
STEPS = usual(1200, 24)
RESETS = usual(4, 1)
WORKERS = usual(2, 1)
GOAL_FIRST_RESET_MS, GOAL_RESET_MS = 15.0, 2.0
ACTIONS = {'controls': (0.0, 0.0, 0.0, 0.63), 'attitude': (0.0, 0.03, 0.63),
           'target': (1500.0, 1.57, 51.0)}
# Frames of a decision of jsbgym, at JSBSim's 60 steps per second.
DECISION = 12
# Distributions with an environment of the class NoFGJsbSimEnv in <package>.environment. They
# integrate at 60 Hz and do not trim.
OTHERS = ('jsbgym', 'gymnasium_jsbsim')
PYFLYT = 'PyFlyt/Fixedwing-Waypoints-v3'


@dataclass
class Work:
    """
    A work, and what it is judged by.

    ``run`` flies ``frames`` frames and returns their processor time in s; ``limit`` is the name
    of the work that it is divided by, ``goal`` what that ratio must not exceed.
    """

    run: Callable[[int], float]
    limit: str = ''
    goal: float = 0.0
    best: float = field(default=float('inf'), init=False)


def endless(_: Any) -> str:
    """Never terminate."""
    return ''


def stepping(env: Any, action: Any) -> Callable[[], Any]:
    """Return a function that flies a step, and resets at the end of an episode."""
    env.reset(seed=1)

    def step() -> None:
        *_, terminated, truncated, _ = env.step(action)
        if terminated or truncated:
            env.reset(seed=1)

    return step


def timed(work: Callable[[], Any], times: int) -> float:
    """Return the processor time of so many calls in s."""
    begin = process_time()
    for _ in range(times):
        work()
    return process_time() - begin


def environment(frames: int = 1, level: str = 'controls', **given: Any) -> Callable[[int], float]:
    """Return a work: an episode from its start, at so many frames per step."""
    env = FlightEnv(termination=endless, level=level, frames_per_step=frames, **given)
    action = np.array(ACTIONS[level])

    def run(count: int) -> float:
        env.reset(seed=1)
        return timed(partial(env.step, action), count // frames)

    return run


def alone(rate: int = PHYSICS_RATE, **given: Any) -> Callable[[int], float]:
    """Return a work: the steps of the same episode, by JSBSim and nothing else."""
    env = FlightEnv(termination=endless, physics_rate=rate, **given)

    def run(count: int) -> float:
        env.reset(seed=1)
        aircraft = env._flight.vehicle.aircraft  # type: ignore[union-attr]
        aircraft.fly_by(*ACTIONS['controls'])
        return timed(aircraft._model._fdm.run, round(count * FRAME * rate))

    return run


def autopilot(scenario: str) -> Callable[[int], float]:
    """Return a work: a scenario in core with the autopilot, from its start."""
    def run(count: int) -> float:
        flight = open_flight(Order(load(find(scenario))))
        flight.start()
        return timed(partial(flight.step, frames=count), 1)

    return run


def autopilot_alone(scenario: str) -> Callable[[int], float]:
    """Return a work: as many steps from the start of a scenario, by JSBSim alone."""
    def run(count: int) -> float:
        flight: Any = open_flight(Order(load(find(scenario))))
        flight.start()
        return timed(
            flight.vehicle.aircraft._model._fdm.run, round(count * FRAME * PHYSICS_RATE))

    return run


def foreign(env: Any, rate: float) -> Callable[[int], float]:
    """Return a work: an environment of another package with so many decisions per second."""
    step = stepping(env, np.zeros(env.action_space.shape))
    return lambda count: timed(step, max(round(count * FRAME * rate), 1))


def other(package: str, rate: int) -> Any:
    """Return the environment of another package of JSBSim, with ``rate`` steps per second."""
    return import_module(f'{package}.environment').NoFGJsbSimEnv(
        task_type=import_module(f'{package}.tasks').HeadingControlTask,
        agent_interaction_freq=rate)


def works() -> dict[str, Work]:
    """Return what is measured, by name."""
    turbulence, steps = 'JSBSim alone, turbulence', 'JSBSim alone, steps'
    slow = f'JSBSim alone, turbulence, {FRAME_RATE:.0f} steps/s'
    found = {
        turbulence: Work(alone()), slow: Work(alone(round(FRAME_RATE))),
        steps: Work(autopilot_alone('steps')),
        'Flight-v0': Work(environment(), turbulence, 2.5),
        'Flight-v0, 12 frames per step': Work(environment(DECISION), turbulence, 1.5),
        'Flight-v0, sensors consumer': Work(environment(sensors='consumer'), turbulence, 5.0),
        "Flight-v0, rounding='xpc'": Work(environment(rounding='xpc'), turbulence, 8.0),
        'Flight-v0, level attitude': Work(environment(level='attitude'), turbulence),
        'Flight-v0, level target': Work(environment(level='target'), turbulence),
        'autopilot in core, steps': Work(autopilot('steps'), steps, 3.0)}
    packages = [package for package in OTHERS if find_spec(package) is not None]
    for package in packages:
        found[f'{package} {version(package)}'] = Work(
            foreign(other(package, round(FRAME_RATE / DECISION)), FRAME_RATE / DECISION), slow)
    limit = next((name for name in found if name.startswith('jsbgym')), '')
    found["Flight-v0 at jsbgym's work"] = Work(
        environment(DECISION, physics_rate=round(FRAME_RATE), scenario='steps'), limit or slow,
        1.0 if limit else 0.0)
    if find_spec('PyFlyt') is not None:
        import_module('PyFlyt.gym_envs')
        gymnasium = import_module('gymnasium')
        rate = 30.0
        found[f'PyFlyt {version("PyFlyt")}, {rate:.0f} steps/s'] = Work(
            foreign(gymnasium.make(PYFLYT, agent_hz=round(rate)), rate))
        found[f'Flight-v0, {rate:.0f} steps/s'] = Work(
            environment(2), f'PyFlyt {version("PyFlyt")}, {rate:.0f} steps/s', 1.0)
    return found


def one_core(goals: Goals) -> None:
    """Measure frames, each beside its limit."""
    found = works()
    frames = STEPS // DECISION * DECISION
    for _ in range(ROUNDS):
        for work in found.values():
            work.best = min(work.best, work.run(frames))
    rows = []
    for name, work in found.items():
        cells = [name, f'{work.best / frames * 1e6:.1f} us', f'{frames * FRAME / work.best:.0f}']
        if work.limit:
            ratio = work.best / found[work.limit].best
            cells += [work.limit, f'{ratio:.2f}',
                      f'<= {work.goal} {goals.at_most(ratio, work.goal)}' if work.goal else '']
        rows.append((*cells, *[''] * (6 - len(cells))))
    show(f'one core, c172p, best of {ROUNDS}',
         ('work', 'a frame of 1/60 s', 'times real time', 'limit', 'ratio', 'goal'), rows)


def fly(steps: int) -> float:
    """Fly in a process of its own; return the seconds by the clock, without its start."""
    step = stepping(FlightEnv(termination=endless), np.array(ACTIONS['controls']))
    begin = perf_counter()
    for _ in range(steps):
        step()
    return perf_counter() - begin


def workers() -> None:
    """Measure two workers against one."""
    rows = []
    context = get_context('spawn')
    for count in sorted({1, WORKERS}):
        with ProcessPoolExecutor(count, mp_context=context) as pool:
            # The first flights start the processes.
            list(pool.map(fly, [usual(100, 1)] * count))
            seconds = min(
                max(pool.map(fly, [STEPS * 3] * count)) for _ in range(ROUNDS))
        rows.append((f'processes, each its own environment: {count}',
                     count * STEPS * 3 * FRAME / seconds))
    show(f'workers by the clock, c172p, turbulence, best of {ROUNDS}',
         ('work', 'times real time, together'),
         [(name, f'{factor:.0f}') for name, factor in rows])


def reset(goals: Goals) -> None:
    """Measure resets: of a flight that this process has not begun yet, and again."""
    # Libraries and the geoid are loaded once.
    FlightEnv('steps').reset()
    works: dict[str, tuple[Any, float]] = {
        'FlightEnv, turbulence: 0.5 s until it engages': (FlightEnv(), GOAL_RESET_MS),
        'FlightEnv, sensors consumer': (FlightEnv(sensors='consumer'), GOAL_RESET_MS)}
    for package in OTHERS:
        if find_spec(package) is not None:
            works[f'{package} {version(package)}: not trimmed'] = other(package, 60), 0.0
    rows = []
    for name, (env, goal) in works.items():
        first = timed(env.reset, 1) * 1e3
        again = sorted(timed(env.reset, 1) * 1e3 for _ in range(ROUNDS * RESETS))
        median = again[len(again) // 2]
        rows.append((
            name, f'{first:.1f}', goals.at_most(first, GOAL_FIRST_RESET_MS) if goal else '',
            f'{median:.1f}', goals.at_most(median, goal) if goal else ''))
    show(f'a reset, one core, c172p, ms; again: median of {ROUNDS * RESETS}',
         ('work', 'the first, ms', f'goal <= {GOAL_FIRST_RESET_MS:.0f}', 'again, ms',
          f'goal <= {GOAL_RESET_MS:.0f}'), rows)


def main() -> int:
    """Print the tables; return 1 if a goal was missed."""
    goals = Goals()
    reset(goals)
    one_core(goals)
    workers()
    beside_one(goals)
    beside_async(goals)
    in_turn()
    return int(goals.missed > 0)
