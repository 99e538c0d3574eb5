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

"""What the text of a criterion says of its limits and unit: how far from them a flight was."""

from __future__ import annotations

from dataclasses import dataclass
import math
import re

import numpy as np
from numpy.typing import NDArray

from xplane_bridge.laboratory.flights.scenario.quantities import unit_of

Array = NDArray[np.float64]

_NUMBER = r'([-+]?[\d.]+(?:e[-+]?\d+)?)(%?)'
# Of a fleet, whose it is.
_VEHICLE = re.compile(r'\A[a-z]\w*: ')
_QUANTITY = re.compile(r'\w+ of (\w+) ')
_EXPRESSION = re.compile(r'\w+ of \(.*\)(?: in (\S+))? (?:from|to|at) ')
# Of figures, by how their names end or begin; of steps, by what is expected.
_UNITS = (
    ('s', re.compile(r'.*: settles to|latency\.|controller\.latency\.|\S*longest_gap |'
                     r'\S*time_to_peak |\S*delay ')),
    ('m', re.compile(r'route\.cross_track|tracking\.altitude\.|'
                     r'runway\.(rolling_across|lift_off|touch_down|touch_down_across|stop) ')),
    ('m/s', re.compile(r'tracking\.airspeed\.|runway\.sink ')),
    ('rad', re.compile(r'tracking\.heading\.')), ('deg', re.compile(r'\S*_deg ')),
    ('1/s', re.compile(r'rates\.\S+\.rate |activity\.\S+\.travel |controller\.rate ')),
    ('Hz', re.compile(r'\S*_hz ')), ('dB', re.compile(r'\S*_db ')))
_AT_LEAST = re.compile(rf'\bat least {_NUMBER}')
_ENDS_IN_LIMIT = re.compile(rf'\bat (?:least|most) {_NUMBER}\Z')
_AT_MOST = re.compile(rf'\b(?:at most|within) {_NUMBER}')


@dataclass(frozen=True, slots=True)
class CriterionLimits:
    """Inclusive limits of a criterion; NaN where it has none."""

    at_least: float
    at_most: float

    @classmethod
    def of(cls, criterion: str) -> CriterionLimits:
        """Return the limits in a criterion's text, as verdict.py writes it."""
        return cls(_limit(_AT_LEAST, criterion), _limit(_AT_MOST, criterion))

    @property
    def better(self) -> int:
        """Return 1 if more is better, -1 if less is, 0 if it has two limits or none."""
        return int(math.isnan(self.at_most)) - int(math.isnan(self.at_least))

    @property
    def known(self) -> tuple[float, ...]:
        """Return the limits that there are."""
        return tuple(limit for limit in (self.at_least, self.at_most) if not math.isnan(limit))

    def margin(self, values: Array) -> Array:
        """
        Return how far within the nearest limit values are, as a part of that limit's size.

        Negative is beyond it; NaN where there is no value or no limit.
        """
        margins = [
            sign * (values - limit) / (abs(limit) or 1.0)
            for sign, limit in ((1.0, self.at_least), (-1.0, self.at_most))
            if not math.isnan(limit)]
        return np.minimum.reduce(margins) if margins else np.full(len(values), math.nan)


def criterion_unit(criterion: str) -> str:
    """Return the unit of a criterion's value; '' where it has none, or none is known."""
    criterion = _VEHICLE.sub('', criterion)
    if found := _QUANTITY.match(criterion):
        return unit_of(found[1])
    if found := _EXPRESSION.match(criterion):
        return found[1] or ''
    return next((unit for unit, form in _UNITS if form.match(criterion)), '')


def with_unit(criterion: str) -> str:
    """Return a criterion's text with the unit of its limit, if it ends in that."""
    return f'{criterion} {criterion_unit(criterion)}'.rstrip() if (
        _ENDS_IN_LIMIT.search(criterion)) else criterion


def _limit(pattern: re.Pattern[str], criterion: str) -> float:
    found = pattern.search(criterion)
    return float(found[1]) / (100.0 if found[2] else 1.0) if found else math.nan
