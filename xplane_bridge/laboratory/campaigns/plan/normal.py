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

"""Normal distributions from which parameters of a plan are drawn, whole or truncated."""

from __future__ import annotations

from dataclasses import dataclass
import math
from statistics import NormalDist
from typing import Any

from xplane_bridge.common.fields import (
    Declaration,
    FieldError,
    number,
    read_table,
    REQUIRED,
    Table,
)

KINDS = ('normal', 'truncated_normal')

# Beyond so many standard deviations, of 3.5 million one on either side, it is this.
_MOST_SIGMAS = 5.0
# Bounds between which less than this of the distribution lies are a mistake.
_LEAST_SHARE = 1e-6
_STANDARD = NormalDist()

NORMAL: Table = {
    'mean': Declaration(REQUIRED, 'its mean'),
    'sigma': Declaration(
        REQUIRED, f'its standard deviation; beyond {_MOST_SIGMAS:g} of it a value is that',
        above=0.0)}
"""Of ``normal``."""

TRUNCATED: Table = {
    **NORMAL,
    'low': Declaration(REQUIRED, 'the lowest value'),
    'high': Declaration(REQUIRED, 'the highest value, above the lowest')}
"""Of ``truncated_normal``: nothing is outside."""


@dataclass(frozen=True, slots=True)
class Normal:
    """
    A normal distribution of ``mean`` and ``sigma``, between ``low`` and ``high``.

    ``truncated``: it has no more outside of these, and so more within; else what is outside
    counts as the nearest of them.
    """

    mean: float
    sigma: float
    low: float
    high: float
    truncated: bool

    def at(self, drawn: float) -> float:
        """Return the value for an evenly distributed number in 0..1 (exclusive)."""
        if self.truncated:
            first, last = ((bound - self.mean) / self.sigma for bound in (self.low, self.high))
            # In the lower tail no digits are lost.
            mirrored = first > 0.0
            if mirrored:
                first, last, drawn = -last, -first, 1.0 - drawn
            start, end = _STANDARD.cdf(first), _STANDARD.cdf(last)
            found = _inverse(start + drawn * (end - start))
            found = -found if mirrored else found
        else:
            found = _inverse(drawn)
        return min(max(self.mean + self.sigma * found, self.low), self.high)


def parse(kind: str, item: Any, where: str) -> Normal:
    """Return one of KINDS; FieldError says what is wrong with it."""
    truncated = kind == 'truncated_normal'
    given = read_table(TRUNCATED if truncated else NORMAL, item, where)
    mean, sigma = given['mean'], given['sigma']
    if not truncated:
        return Normal(mean, sigma, mean - _MOST_SIGMAS * sigma, mean + _MOST_SIGMAS * sigma, False)
    low, high = given['low'], number(given['high'], f'{where}.high', above=given['low'])
    near = sorted(abs(bound - mean) / sigma for bound in (low, high))
    outside = low > mean or high < mean
    share = (_STANDARD.cdf(-near[0]) - _STANDARD.cdf(-near[1]) if outside
             else 1.0 - _STANDARD.cdf(-near[0]) - _STANDARD.cdf(-near[1]))
    if share < _LEAST_SHARE:
        raise FieldError(
            f'{where}: hardly anything of it lies in {low:g}..{high:g}, expected bounds nearer to '
            f'the mean, {mean:g}, than {_MOST_SIGMAS:g} times sigma, or wider ones')
    return Normal(mean, sigma, low, high, True)


def _inverse(share: float) -> float:
    if share <= 0.0:
        return -math.inf
    return math.inf if share >= 1.0 else _STANDARD.inv_cdf(share)
