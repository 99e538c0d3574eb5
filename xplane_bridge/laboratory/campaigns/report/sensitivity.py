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

"""Which of the varied parameters matters: rank correlations with margins."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from xplane_bridge.laboratory.campaigns.plan.task import PARAMETER
from xplane_bridge.laboratory.campaigns.report.statistics import Interval, rank_correlation
from xplane_bridge.laboratory.campaigns.table.columns import Array, Columns
from xplane_bridge.laboratory.campaigns.table.criteria import CriterionLimits
from xplane_bridge.laboratory.campaigns.table.rows import VALUE

# So many different values are a grid's.
_FEW = 12


@dataclass(frozen=True, slots=True)
class Sensitivity:
    """
    How a parameter moves the margins of one controller's flights; see rank_correlation.

    1: the larger the parameter, the further within the limits; -1: the further beyond. ``overall``
    is of each flight's smallest margin, ``criteria`` of each criterion.
    """

    controller: str
    parameter: str
    overall: Interval
    criteria: dict[str, Interval]


def over_which(columns: Columns, strongest: Sequence[str]) -> tuple[str, str]:
    """
    Return which two parameters a map is over: the strongest, in their order.

    Where the plan crosses two or more with few values each, it is two of those.
    """
    few = [name for name in strongest if columns.is_number(f'{PARAMETER}{name}') and (
        2 <= len(np.unique(columns.numbers(f'{PARAMETER}{name}'))) <= _FEW)]
    first, second = (few if len(few) > 1 else strongest)[:2]
    return first, second


def sensitivities(columns: Columns) -> list[Sensitivity]:
    """Return those of each parameter that is a number and varies, the strongest first."""
    controllers = columns.labels('controller')
    parameters = {name: columns.numbers(f'{PARAMETER}{name}') for name in columns.parameters
                  if columns.is_number(f'{PARAMETER}{name}')}
    if not parameters:
        return []
    smallest = columns.margins()
    of = {criterion: CriterionLimits.of(criterion).margin(columns.numbers(f'{VALUE}{criterion}'))
          for criterion in columns.criteria}

    def correlation(name: str, effect: Array, code: int) -> Interval:
        own = controllers.codes == code
        return rank_correlation(parameters[name][own], effect[own])

    found = [
        Sensitivity(
            str(controller), name, correlation(name, smallest, code),
            {criterion: correlation(name, margin, code) for criterion, margin in of.items()})
        for code, controller in enumerate(controllers.values) for name in parameters]
    strength = {name: max((abs(each.overall.value) for each in found if each.parameter == name
                           and each.overall.value == each.overall.value), default=0.0)
                for name in parameters}
    return sorted(found, key=lambda each: -strength[each.parameter])
