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

"""What an environment is given: refused with a sentence where it is not what is expected."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
import math
from typing import Any

import numpy as np

from xplane_bridge.common.fields import LARGEST_SEED, text, whole
from xplane_bridge.laboratory.control.policy.observation import INDEX, NAMES
from xplane_bridge.laboratory.episodes.snapshot import Snapshot
from xplane_bridge.laboratory.flights.scenario.scenario import Scenario

# Arguments of 0.2 and 0.3.
_RENAMED = {
    'aircraft': 'model',
    'room': "sim: 'core' (the default), or the name of a simulator, then through ROS",
    'wire': 'rounding'}


def refuse_names(given: Mapping[str, object], parameters: Iterable[str]) -> None:
    """Refuse arguments of FlightEnv that it has not, or has no more."""
    for old, new in _RENAMED.items():
        if old in given:
            raise ValueError(f'{old}: this is now {new}')
    if given:
        known = ', '.join(name for name in parameters if name != 'given')
        raise TypeError(f'FlightEnv has no argument {", ".join(given)}; it has {known}')


def check_arguments(
    scenario: object, frames_per_step: object, reward: object, termination: object,
    render_mode: object, **names: object,
) -> None:
    """Refuse arguments of FlightEnv that are of another kind than expected."""
    for name, value in names.items():
        text(value, name)
    if not isinstance(scenario, str | Scenario):
        raise ValueError(f'scenario: expected a name, a file or a Scenario, got {scenario!r:.80}')
    for name, function in (('reward', reward), ('termination', termination)):
        if not (function is None or callable(function)):
            raise ValueError(f'{name}: expected a function of a Step, got {function!r:.80}')
    if render_mode not in (None, 'ansi'):
        raise ValueError(f'render_mode: got {render_mode!r}, expected None or ansi')
    whole(_plain(frames_per_step), 'frames_per_step', 1)


def refuse_fleet(scenario: Scenario) -> None:
    """Refuse a scenario for several aircraft."""
    if scenario.vehicles:
        raise ValueError(
            f'scenario {scenario.name} has {len(scenario.vehicles)} aircraft, and FlightEnv flies '
            'one: use FleetEnv')


def in_aircraft(scenario: Scenario, model: str | None, aircraft_path: str | None) -> Scenario:
    """Return a scenario with this model, of this folder, as far as they are given."""
    given = {'model': model, 'aircraft_path': aircraft_path}
    return scenario.with_initial({name: value for name, value in given.items() if value})


def checked_fields(fields: object) -> tuple[str, ...]:
    """Return the names of the fields to observe."""
    if isinstance(fields, str) or not isinstance(fields, Sequence) or not fields or not all(
            isinstance(name, str) for name in fields):
        raise ValueError(f'fields: expected names of fields, got {fields!r:.80}')
    if unknown := [name for name in fields if name not in INDEX]:
        raise ValueError(
            f'fields: an observation has no {", ".join(unknown):.200}; '
            f'it has {", ".join(NAMES)}')
    if len(set(fields)) < len(fields):
        twice = next(name for name in fields if fields.count(name) > 1)
        raise ValueError(f'fields: {twice} is named twice')
    return tuple(fields)


def checked_seed(seed: object) -> int | None:
    """Return the seed of a reset, None where it is to be drawn."""
    if seed is None:
        return None
    return whole(_plain(seed), 'seed', 0, LARGEST_SEED)


def _plain(value: object) -> object:
    """Return a whole number of NumPy's as one of Python's."""
    return int(value) if isinstance(value, np.integer) else value


def drawn_seed(random: np.random.Generator) -> int:
    """Return a seed that is drawn."""
    return int(random.integers(2**31)) % (LARGEST_SEED + 1)


def checked_reason(reason: object) -> str:
    """Return what a termination has returned."""
    if not isinstance(reason, str):
        raise ValueError(
            f"termination: expected why the episode ends, or '', got {reason!r:.80}")
    return reason


def checked_reward(reward: Any) -> float:
    """Return what a reward has returned, as a number."""
    try:
        value = math.nan if isinstance(reward, str | bytes) else float(reward)
    except (TypeError, ValueError):
        value = math.nan
    if not math.isfinite(value):
        raise ValueError(f'reward: expected a finite number, got {reward!r:.80}')
    return value


def checked_snapshot(snapshot: object) -> Snapshot:
    """Return what an environment is to restore."""
    if not isinstance(snapshot, Snapshot):
        raise ValueError(f'restore: expected a Snapshot, got {snapshot!r:.80}')
    return snapshot
