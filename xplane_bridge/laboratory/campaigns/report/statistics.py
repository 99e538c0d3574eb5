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

"""How sure is a figure of many flights? Intervals for rates, differences and correlations."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from xplane_bridge.common import optional

Array = NDArray[np.float64]
Bools = NDArray[np.bool_]

CONFIDENCE = 0.95


class Interval(NamedTuple):
    """An estimate and the ends of its confidence interval; NaN where it cannot be told."""

    value: float
    low: float
    high: float

    @property
    def sign(self) -> int:
        """Return 1 or -1 if the interval is above or below zero, 0 if it may be either."""
        return int(self.low > 0.0) - int(self.high < 0.0)


UNKNOWN = Interval(math.nan, math.nan, math.nan)


def wilson(passed: int, flights: int, confidence: float = CONFIDENCE) -> Interval:
    """Return the share of flights that passed, with the Wilson score interval."""
    if not flights:
        return UNKNOWN
    low, high = _stats().binomtest(passed, flights).proportion_ci(confidence, method='wilson')
    return Interval(passed / flights, float(low), float(high))


def paired_rates(first: Bools, second: Bools, confidence: float = CONFIDENCE) -> Interval:
    """
    Return by how much more often ``second`` passed than ``first``, flight by flight.

    The interval is the one for paired proportions from score intervals: R. G. Newcombe, Improved
    confidence intervals for the difference between binomial proportions based on paired data,
    Statistics in Medicine 17 (1998), method 10. It has a width even if no pair differs.
    """
    flights = len(first)
    if not flights:
        return UNKNOWN
    both = int(np.sum(first & second))
    neither = int(np.sum(~first & ~second))
    only_first, only_second = int(np.sum(first & ~second)), int(np.sum(~first & second))
    one = wilson(both + only_first, flights, confidence)
    two = wilson(both + only_second, flights, confidence)
    product = float(both * neither - only_first * only_second)
    if product > 0.0:
        product = max(product - flights / 2, 0.0)
    scale = math.sqrt(
        (both + only_first) * (only_second + neither)
        * (both + only_second) * (only_first + neither))
    phi = product / scale if scale else 0.0
    difference = two.value - one.value

    def reach(of_two: float, of_one: float) -> float:
        return math.sqrt(max(of_two**2 - 2.0 * phi * of_two * of_one + of_one**2, 0.0))

    return Interval(
        difference, difference - reach(two.value - two.low, one.high - one.value),
        difference + reach(two.high - two.value, one.value - one.low))


def paired_means(first: Array, second: Array, confidence: float = CONFIDENCE) -> Interval:
    """Return the mean of ``second - first``, shapes (n,), with Student's interval for pairs."""
    differences = second - first
    if not len(differences):
        return UNKNOWN
    mean = float(np.mean(differences))
    if len(differences) == 1:
        return Interval(mean, -math.inf, math.inf)
    if np.ptp(differences) == 0.0:
        return Interval(mean, mean, mean)
    low, high = _stats().ttest_1samp(differences, 0.0).confidence_interval(confidence)
    return Interval(mean, float(low), float(high))


def rank_correlation(cause: Array, effect: Array) -> Interval:
    """
    Return Spearman's rank correlation, -1 to 1; unknown where one of them does not vary.

    The interval is by Fisher's transformation with the variance of D. G. Bonett and T. A. Wright,
    Sample size requirements for estimating correlations, Psychometrika 65 (2000).
    """
    known = ~(np.isnan(cause) | np.isnan(effect))
    cause, effect = cause[known], effect[known]
    if len(cause) < 4 or np.all(cause == cause[0]) or np.all(effect == effect[0]):
        return UNKNOWN
    rho = float(_stats().spearmanr(cause, effect).statistic)
    if abs(rho) >= 1.0:
        return Interval(rho, rho, rho)
    reach = float(_stats().norm.ppf(0.5 + CONFIDENCE / 2.0)) * math.sqrt(
        (1.0 + rho**2 / 2.0) / (len(cause) - 3))
    return Interval(rho, math.tanh(math.atanh(rho) - reach), math.tanh(math.atanh(rho) + reach))


def _stats() -> Any:
    """Return scipy.stats, which takes a second to import."""
    optional.require('the statistics of a campaign', 'scipy', extra='campaign')
    from scipy import stats
    return stats
