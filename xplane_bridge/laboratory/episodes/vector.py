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
Many episodes at a time, each of a few processes flying its share of the aircraft.

    envs = gymnasium.make_vec(
        'xplane_bridge:xplane_bridge/Flight-v0', num_envs=64, workers=2)
    observations, infos = envs.reset(seed=1)
    observations, rewards, terminated, truncated, infos = envs.step(envs.action_space.sample())
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
import math
import multiprocessing
import os
from typing import Any
import weakref

from gymnasium.error import ClosedEnvironmentError
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
import numpy as np
from numpy.typing import NDArray

from xplane_bridge.laboratory.control.policy.action import LEVELS, real_numbers
from xplane_bridge.laboratory.episodes.environment import FlightEnv
from xplane_bridge.laboratory.episodes.snapshot import Snapshot
from xplane_bridge.laboratory.episodes.workers import Infos, record, SHARED, Workers

TIMEOUT = 60.0
"""How long (s) an environment may take for a step or a reset."""

# They have methods of their own here.
_NOT_CALLED = ('reset', 'step', 'restore', 'close')

Answer = tuple[NDArray[Any], dict[str, Any]]


class FlightVectorEnv(VectorEnv[NDArray[Any], NDArray[Any], NDArray[Any]]):
    """
    ``num_envs`` environments FlightEnv, flown by ``workers`` processes, one for each core if 0.

    All answers are those of gymnasium's SyncVectorEnv of the same environments, to the last bit.
    ``given`` are the arguments of FlightEnv; each environment has its own copies of them.
    ``autoreset_mode`` is gymnasium's, ``context`` is multiprocessing's way to start a process, and
    ``timeout`` (s) the time that an environment may take for a step or a reset, as its worker gets
    a processor.

    What an environment raises is raised here with its number: ValueError as ValueError, all else
    as RuntimeError; then all are to be reset. If a process ends or does not go on, WorkerError is
    raised and all are closed.
    """

    def __init__(
        self, num_envs: int = 1, workers: int = 0,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP, context: str = 'spawn',
        timeout: float = TIMEOUT, **given: Any,
    ) -> None:
        _check_whole('num_envs', num_envs, 1)
        _check_whole('workers', workers, 0)
        if workers > num_envs:
            raise ValueError(f'workers: {workers} is more than num_envs, which is {num_envs}')
        if not (isinstance(timeout, int | float) and 0.0 < timeout < math.inf):
            raise ValueError(f'timeout: expected seconds above 0, got {timeout!r}')
        if context not in (ways := multiprocessing.get_all_start_methods()):
            raise ValueError(f'context: got {context!r}, expected one of {", ".join(ways)}')
        try:
            self.mode = AutoresetMode(autoreset_mode)
        except ValueError:
            raise ValueError(
                f'autoreset_mode: got {autoreset_mode!r}, expected one of '
                f'{", ".join(mode.value for mode in AutoresetMode)}') from None
        # It has the spaces, and refuses what cannot be flown before any process is started.
        one = FlightEnv(**given)
        self.num_envs = num_envs
        self.metadata = {**one.metadata, 'autoreset_mode': self.mode}
        self.render_mode = one.render_mode
        self.single_observation_space = one.observation_space
        self.single_action_space = one.action_space
        self.observation_space = batch_space(one.observation_space, num_envs)
        self.action_space = batch_space(one.action_space, num_envs)
        self._names = LEVELS[one.level].names
        count = workers or min(num_envs, len(os.sched_getaffinity(0)))
        self._workers = Workers(
            partial(FlightEnv, **given), count, num_envs,
            record(one.observation_space, one.action_space), self.mode, context, timeout)
        self._end = weakref.finalize(self, self._workers.close)
        self._rows = self._workers.rows
        self._begun = False

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> Answer:
        """
        Begin an episode in each, or in those where ``options['reset_mask']`` is True.

        ``seed`` is that of the first, and one more for each that follows, or there is one for
        each. All other options are those of FlightEnv.reset, for all. Raises ValueError with a
        sentence.
        """
        self._check_open()
        if not (options is None or isinstance(options, Mapping)):
            raise ValueError(f'options: expected names with values, got {options!r:.80}')
        others = dict(options or {})
        chosen = self._chosen(others.pop('reset_mask', None))
        if not (self._begun or chosen.all()):
            raise ValueError('reset_mask: not every environment has begun: reset all first')
        self._begun = False
        infos = self._workers.reset(
            self._seeds(seed), None if options is None else others, chosen.tolist())
        self._begun = True
        return self._rows['observation'].copy(), self._infos(infos, chosen)

    def step(
        self, actions: NDArray[Any]
    ) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any], dict[str, Any]]:
        """
        Step each environment by its row of ``actions``; what is over is reset by the mode.

        Raises ValueError, and flies nothing, for actions of a wrong shape, with a number that is
        not finite, or, where nothing is reset, for environments that are over.
        """
        self._check_open()
        if not self._begun:
            raise ValueError('no episodes have begun, or one has failed: call reset() first')
        self._rows['action'] = self._checked(actions)
        if self.mode is AutoresetMode.DISABLED:
            self._check_none_over()
        self._begun = False
        infos = self._workers.step()
        self._begun = True
        rows = self._rows
        return (
            rows['observation'].copy(), rows['reward'].copy(), rows['terminated'].copy(),
            rows['truncated'].copy(), self._infos(infos))

    def snapshot(self) -> tuple[Snapshot, ...]:
        """Return a snapshot of each environment; see FlightEnv.snapshot."""
        return self.call('snapshot')

    def restore(self, snapshots: Snapshot | Sequence[Snapshot]) -> Answer:
        """
        Return to a snapshot in each environment: its own, or one for all.

        Raises ValueError where FlightEnv.restore does.
        """
        self._check_open()
        self._begun = False
        infos = self._workers.restore(
            [snapshots] * self.num_envs if isinstance(snapshots, Snapshot)
            else self._one_each('snapshots', snapshots))
        self._begun = True
        return self._rows['observation'].copy(), self._infos(infos)

    def call(self, name: str, *given: Any, **named: Any) -> tuple[Any, ...]:
        """Return what a method of each environment returns, or its attribute."""
        self._check_open()
        if name in _NOT_CALLED:
            raise ValueError(f'call: use {name}() of the vector environment')
        return self._workers.call(name, *given, **named)

    def get_attr(self, name: str) -> tuple[Any, ...]:
        """Return an attribute of each environment."""
        return self.call(name)

    def set_attr(self, name: str, values: Any) -> None:
        """Set an attribute of each environment: to its own of a list, or all to one value."""
        self._check_open()
        self._workers.set_attr(
            name, self._one_each('values', values) if isinstance(values, list | tuple)
            else [values] * self.num_envs)

    @property
    def np_random_seed(self) -> tuple[int, ...]:  # type: ignore[override]
        """Return the seed of each environment's generator."""
        return self.get_attr('np_random_seed')

    @property  # type: ignore[misc]
    def np_random(self) -> tuple[np.random.Generator, ...]:  # type: ignore[override]
        """Return a copy of each environment's generator."""
        return self.get_attr('np_random')

    def render(self) -> tuple[Any, ...]:
        """Return what each environment renders."""
        return self.call('render')

    def close_extras(self) -> None:
        """End the processes."""
        self._end()

    def _check_open(self) -> None:
        if not self._workers.alive:
            raise ClosedEnvironmentError('the vector environment is closed: make it anew')

    def _check_none_over(self) -> None:
        over = np.flatnonzero(self._rows['terminated'] | self._rows['truncated'])
        if over.size:
            raise ValueError(
                f'environments {", ".join(map(str, over))} are over: reset them first, by '
                "options={'reset_mask': terminated | truncated}")

    def _checked(self, actions: Any) -> NDArray[np.float64]:
        try:
            given = real_numbers(actions)
            got = '' if given.shape == self.action_space.shape else f'shape {given.shape}'
        except (TypeError, ValueError, OverflowError):
            got = f'{actions!r:.80}'
        if got:
            raise ValueError(
                f'actions: expected {len(self._names)} numbers ({", ".join(self._names)}) for '
                f'each of {self.num_envs} environments, got {got}')
        if not np.isfinite(given).all():
            number, field = np.argwhere(~np.isfinite(given))[0]
            raise ValueError(
                f"actions: environment {number}'s {self._names[field]} is {given[number, field]}")
        return given

    def _seeds(self, seed: int | Sequence[int | None] | None) -> Sequence[int | None]:
        if seed is None:
            return [None] * self.num_envs
        if isinstance(seed, int | np.integer) and not isinstance(seed, bool):
            return [int(seed) + number for number in range(self.num_envs)]
        return self._one_each('seed', seed)

    def _one_each(self, name: str, values: Any) -> Sequence[Any]:
        found: Sequence[Any] = values
        try:
            got = str(len(found))
        except TypeError:
            got = f'{values!r:.80}'
        if got != str(self.num_envs):
            raise ValueError(
                f'{name}: expected one for each of {self.num_envs} environments, got {got}')
        return found

    def _chosen(self, mask: Any) -> NDArray[np.bool_]:
        if mask is None:
            return np.ones(self.num_envs, np.bool_)
        if not isinstance(mask, np.ndarray) or mask.dtype != np.bool_ or (
                mask.shape != (self.num_envs,)) or not mask.any():
            raise ValueError(
                f'reset_mask: expected an array of {self.num_envs} bool, at least one of them '
                f'True, got {mask!r}')
        return mask

    def _infos(self, others: Infos, chosen: NDArray[np.bool_] | None = None) -> dict[str, Any]:
        infos: dict[str, Any] = {}
        for name in SHARED:
            infos[name] = self._rows[name].copy()
            if chosen is None:
                infos[f'_{name}'] = np.ones(self.num_envs, np.bool_)
            else:
                infos[name][~chosen] = 0
                infos[f'_{name}'] = chosen.copy()
        for number, info in others:
            infos = self._add_info(infos, info, number)
        return infos


def _check_whole(name: str, value: object, least: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise ValueError(f'{name}: expected a whole number from {least} on, got {value!r}')
