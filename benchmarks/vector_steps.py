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

"""Steps of many environments at a time: beside one, beside gymnasium's AsyncVectorEnv, in turn."""

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import partial
from time import perf_counter
from typing import Any

import gymnasium
from gymnasium.vector import AsyncVectorEnv
import numpy as np
from shortest import usual
from tables import Goals, show

from xplane_bridge.common.timing import FRAME, PHYSICS_RATE
from xplane_bridge.laboratory.episodes import ID
from xplane_bridge.laboratory.episodes.environment import FlightEnv

ROUNDS, TURNS = usual((8, 20), (1, 1))
# So short (s) that the cores are sometimes free for all of it.
LASTS = 0.005
ACTION = (0.0, 0.0, 0.0, 0.63)
WORKERS = usual(2, 1)
MANY, SOME = usual((64, 16), (1, 1))
IN_TURN = usual((1, 8, MANY // WORKERS), (1, 2))
GOAL_OF_ONE, GOAL_OF_ASYNC = 1.8, 4.0


def endless(_: Any) -> str:
    """Never terminate."""
    return ''


def rates(works: dict[str, tuple[Any, int]]) -> dict[str, float]:
    """Return steps per second of environments, of all together, the best of short turns."""
    best = dict.fromkeys(works, 0.0)
    for _ in range(ROUNDS):
        for name, (env, count) in works.items():
            env.reset(seed=1)
            actions = np.array(ACTION if count == 0 else [ACTION] * count)
            for _ in range(TURNS):
                best[name] = max(best[name], rate(partial(env.step, actions)) * max(count, 1))
    return best


def rate(step: Callable[[], Any]) -> float:
    """Return steps per second in one short turn."""
    steps, begin = 0, perf_counter()
    while (now := perf_counter()) - begin < LASTS:
        step()
        steps += 1
    return steps / (now - begin)


def vector(count: int) -> Any:
    """Return a vector environment of ours."""
    return gymnasium.make_vec(ID, num_envs=count, workers=WORKERS, termination=endless)


def beside_one(goals: Goals) -> None:
    """Measure what two workers gain over one environment in this process."""
    one, name = 'one environment', f'make_vec of {MANY}, {WORKERS} workers'
    with ExitStack() as stack:
        envs = vector(MANY)
        stack.callback(envs.close)
        found = rates({one: (FlightEnv(termination=endless), 0), name: (envs, MANY)})
    gain = found[name] / found[one]
    show(f'many at a time by the clock, c172p, turbulence, best turns of {LASTS * 1e3:.0f} ms',
         ('work', 'steps/s, together', 'of one', f'goal >= {GOAL_OF_ONE}'),
         [(one, f'{found[one]:.0f}', '1.00', ''),
          (name, f'{found[name]:.0f}', f'{gain:.2f}', goals.at_least(gain, GOAL_OF_ONE))])


def beside_async(goals: Goals) -> None:
    """Measure what a process with many aircraft gains over a process for each."""
    ours, theirs = f'make_vec of {SOME}, {WORKERS} workers', f'AsyncVectorEnv of {SOME}'
    with ExitStack() as stack:
        works = {
            theirs: (AsyncVectorEnv(
                [partial(FlightEnv, termination=endless)] * SOME, context='spawn'), SOME),
            ours: (vector(SOME), SOME)}
        for envs, _ in works.values():
            stack.callback(envs.close)
        found = rates(works)
    gain = found[ours] / found[theirs]
    show('a process for many or for each, by the clock, the same work',
         ('work', 'steps/s, together', 'of AsyncVectorEnv', f'goal >= {GOAL_OF_ASYNC:.0f}'),
         [(theirs, f'{found[theirs]:.0f}', '1.00', ''),
          (ours, f'{found[ours]:.0f}', f'{gain:.2f}', goals.at_least(gain, GOAL_OF_ASYNC))])


def in_turn() -> None:
    """Measure what a worker's environments cost each other: they evict each other's data."""
    envs: list[Any] = [FlightEnv(termination=endless) for _ in range(IN_TURN[-1])]
    action = np.array(ACTION)
    best: dict[tuple[str, int], float] = {}
    for _ in range(ROUNDS * TURNS):
        for env in envs:
            env.reset(seed=1)
        alone = [partial(fly_frame, env._flight.vehicle.aircraft._model._fdm.run) for env in envs]
        whole = [partial(env.step, action) for env in envs]
        for count in IN_TURN:
            for name, works in (('JSBSim alone', alone), ('Flight-v0', whole)):
                found = rate(partial(each_of, works[:count])) * count
                best[name, count] = max(best.get((name, count), 0.0), found)
    show(f'environments in turn in one process, by the clock, best turns of {LASTS * 1e3:.0f} ms',
         ('a frame of', *(f'{count} in turn' for count in IN_TURN), 'times one'),
         [(name, *(f'{1e6 / best[name, count]:.1f} us' for count in IN_TURN),
           f'{best[name, IN_TURN[0]] / best[name, IN_TURN[-1]]:.2f}')
          for name in ('JSBSim alone', 'Flight-v0')])


def fly_frame(run: Callable[[], Any]) -> None:
    """Fly a frame by JSBSim alone."""
    for _ in range(round(FRAME * PHYSICS_RATE)):
        run()


def each_of(works: Sequence[Callable[[], Any]]) -> None:
    """Do each once."""
    for work in works:
        work()
