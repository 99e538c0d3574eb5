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


"""A policy beside the shipped autopilot in scenario turbulence, on seeds that training has not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from xplane_bridge.common.data import folder
from xplane_bridge.laboratory.control.policy.load import load
from xplane_bridge.laboratory.episodes.training.candidate import ERRORS
from xplane_bridge.laboratory.episodes.training.parallel import mapping
from xplane_bridge.laboratory.flights.flight import Flight
from xplane_bridge.laboratory.flights.order import FlownBy, Order
from xplane_bridge.laboratory.flights.scenario.quantities import unit_of
from xplane_bridge.laboratory.flights.scenario.scenario import load as load_scenario
from xplane_bridge.laboratory.open_flight import open_flight

FIRST_SEED = 3000
SCENARIO = 'turbulence'
_RESAMPLED = 10_000
_COMBINED = 'combined'


@dataclass(frozen=True, slots=True)
class Compared:
    """
    One quantity over all seeds, the policy's beside the autopilot's.

    ``low`` and ``high`` hold the mean of the paired differences (policy - autopilot) with 95 %
    confidence; ``better`` is the number of seeds in which the policy's is less.
    """

    name: str
    policy: float
    autopilot: float
    low: float
    high: float
    better: int
    of: int


def compare(path: str, seeds: Sequence[int], workers: int = 1) -> list[Compared]:
    """
    Fly a policy's file and the autopilot with these seeds; return each error, and the combined.

    Errors are the root mean squares in the windows of the scenario's criteria; the combined is
    the mean of their shares of what the criteria allow. Raises ValueError for a file that is none.
    """
    load(path)
    with mapping(workers) as each:
        found = [np.array(list(each(partial(errors, flyer), seeds)))
                 for flyer in (path, '')]
    return [_compared(name, *(rows[:, column] for rows in found))
            for column, name in enumerate((*ERRORS, _COMBINED))]


def flown(path: str, seed: int) -> Flight:
    """Return a flight of the scenario with the policy's file, or with the autopilot if ''."""
    scenario = load_scenario(str(folder('scenarios') / f'{SCENARIO}.yaml'))
    flight = open_flight(Order(scenario, flown_by=FlownBy(policy=path), seed=seed))
    flight.fly()
    if flight.error is not None:
        raise flight.error
    return flight


def errors(path: str, seed: int) -> list[float]:
    """Return the errors of a flight, and the combined one."""
    flight = flown(path, seed)
    judged = {criterion.name: (judgement.value, criterion.at_most)
              for criterion, judgement in zip(
                  flight.order.scenario.criteria, flight.result().judgements, strict=True)}
    found = [judged[name] for name in ERRORS]
    return [*(value for value, _ in found),
            float(np.mean([value / most for value, most in found]))]


def table(rows: Sequence[Compared]) -> str:
    """Return the comparison as lines of text."""
    lines = [f'{"rms over " + str(rows[0].of) + " seeds":24} {"policy":>8} {"autopilot":>10} '
             f'{"difference, 95 %":>20} {"better in":>10}']
    for row in rows:
        name = row.name.removesuffix('_deg').replace('_', ' ')
        unit = unit_of(row.name)
        lines.append(
            f'{name + (f" ({unit})" if unit else ""):24} {row.policy:8.2f} {row.autopilot:10.2f} '
            f'{f"{row.low:+.2f} .. {row.high:+.2f}":>20} {f"{row.better} of {row.of}":>10}')
    return '\n'.join(lines)


def _compared(name: str, policy: NDArray[np.float64],
              autopilot: NDArray[np.float64]) -> Compared:
    """Compare by seed; the interval is that of the bootstrap, the same each time."""
    differences = policy - autopilot
    picked = np.random.default_rng(1).integers(0, len(differences), (_RESAMPLED, len(differences)))
    low, high = np.percentile(differences[picked].mean(axis=1), [2.5, 97.5])
    return Compared(
        name, float(policy.mean()), float(autopilot.mean()), float(low), float(high),
        int(np.sum(differences < 0.0)), len(differences))
