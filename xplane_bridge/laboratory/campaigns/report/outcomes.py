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

"""What a campaign's table says: how often flights passed, by what flew where."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from xplane_bridge.laboratory.campaigns.report.statistics import Interval, wilson
from xplane_bridge.laboratory.campaigns.table.columns import Columns
from xplane_bridge.laboratory.campaigns.table.rows import JUDGED

INPUTS = ('scenario', 'controller', 'simulator', 'aircraft')


class Rate(NamedTuple):
    """How many of how many flights passed."""

    passed: int
    flights: int

    @property
    def interval(self) -> Interval:
        """Return the share that passed, with its Wilson interval."""
        return wilson(self.passed, self.flights)


@dataclass(frozen=True, slots=True)
class FlightGroup:
    """
    The flights of one scenario, controller, simulator and aircraft.

    ``rows`` are their numbers in the table. ``outcomes`` counts them by outcome. ``criteria`` has
    the criteria of the scenario; a flight that was not judged has not met them.
    """

    inputs: Mapping[str, Any]
    rows: NDArray[np.int64]
    outcomes: Mapping[str, int]
    together: Rate
    criteria: Mapping[str, Rate]

    def label(self, names: Sequence[str]) -> str:
        """Return those inputs as a phrase."""
        return ', '.join(str(self.inputs[name] or 'default') for name in names)


def groups(columns: Columns) -> list[FlightGroup]:
    """Return the groups of a table, in the order of its flights."""
    labels = {name: columns.labels(name) for name in INPUTS}
    keys = np.stack([labels[name].codes for name in INPUTS], axis=1)
    found, first, member = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    member = member.reshape(-1)
    outcome = columns.labels('outcome')
    order = np.argsort(first)
    rows = {int(index): np.flatnonzero(member == index) for index in order}
    passed = columns.has_passed()
    criteria = _criteria(columns, rows, found[:, 0])
    return [
        FlightGroup(
            {name: labels[name].values[code]
             for name, code in zip(INPUTS, found[index], strict=True)},
            own,
            {str(value): count for value, count in zip(
                outcome.values,
                np.bincount(outcome.codes[own], minlength=len(outcome.values)).tolist(),
                strict=True) if count},
            Rate(int(passed[own].sum()), len(own)), criteria[index])
        for index, own in rows.items()]


def varying(found: Sequence[FlightGroup]) -> tuple[str, ...]:
    """Return the names of the inputs in which groups differ; the controller if in none."""
    return tuple(
        name for name in INPUTS if len({group.inputs[name] for group in found}) > 1
    ) or ('controller',)


def _criteria(
    columns: Columns, rows: Mapping[int, NDArray[np.int64]], scenarios: NDArray[np.int64]
) -> dict[int, dict[str, Rate]]:
    """Return the rates of each group, by its index; ``scenarios`` is by index, too."""
    rates: dict[int, dict[str, Rate]] = {index: {} for index in rows}
    for criterion in columns.criteria:
        judged = columns.numbers(f'{JUDGED}{criterion}')
        own = {int(scenarios[index]) for index, members in rows.items()
               if not np.all(np.isnan(judged[members]))}
        for index, members in rows.items():
            if int(scenarios[index]) in own:
                rates[index][criterion] = Rate(
                    int(np.sum(judged[members] == 1.0)), len(members))
    return rates
