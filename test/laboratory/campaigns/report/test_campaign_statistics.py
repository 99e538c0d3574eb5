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

"""Intervals of campaigns against published values, and what they say where little is known."""

import math

import numpy as np
import pytest

pytest.importorskip('scipy', reason='the statistics of a campaign need scipy')

from xplane_bridge.laboratory.campaigns.report.statistics import (
    paired_means,
    paired_rates,
    rank_correlation,
    UNKNOWN,
    wilson,
)
from xplane_bridge.laboratory.campaigns.table.criteria import CriterionLimits


# R. G. Newcombe, Statistics in Medicine 17 (1998), 857-872, table I, method 3.
@pytest.mark.parametrize(('passed', 'flights', 'low', 'high'), [
    (81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0, 0.1611),
    (1, 29, 0.0061, 0.1718)])
def test_wilson_interval_is_the_published_one(passed, flights, low, high):
    interval = wilson(passed, flights)
    assert interval.value == passed / flights
    assert interval[1:] == pytest.approx((low, high), abs=6e-5)


# The same, 2635-2650, method 10: both passed, only the second, only the first, neither.
@pytest.mark.parametrize(('counts', 'low', 'high'), [
    ((36, 12, 2, 0), 0.0569, 0.3404), ((20, 12, 2, 16), 0.0562, 0.3292)])
def test_paired_rates_interval_is_the_published_one(counts, low, high):
    first = np.repeat([True, False, True, False], counts)
    second = np.repeat([True, True, False, False], counts)
    assert paired_rates(first, second) == pytest.approx((0.2, low, high), abs=6e-5)
    assert paired_rates(second, first) == pytest.approx((-0.2, -high, -low), abs=6e-5)


def test_equal_flights_differ_by_nothing_but_not_for_certain():
    passed = np.ones(100, dtype=bool)
    difference = paired_rates(passed, passed)
    assert difference.value == 0.0
    assert difference.low < -0.02
    assert difference.high > 0.02
    assert difference.sign == 0


def test_paired_means_covers_the_truth_as_often_as_it_says():
    random = np.random.default_rng(1)
    covered = 0
    for _ in range(400):
        common = random.normal(10.0, 5.0, 30)
        interval = paired_means(common, common + random.normal(0.5, 1.0, 30))
        covered += interval.low <= 0.5 <= interval.high
    # 380 +- 4.4.
    assert 363 <= covered <= 397


def test_of_one_pair_nothing_can_be_told_and_of_equal_differences_everything():
    assert paired_means(np.array([1.0]), np.array([3.0])).sign == 0
    assert paired_means(np.array([1.0, 2.0]), np.array([3.0, 4.0])) == (2.0, 2.0, 2.0)
    assert paired_means(np.array([]), np.array([])) is UNKNOWN
    assert wilson(0, 0) is UNKNOWN


def test_rank_correlation_sees_any_monotonic_relation_and_flights_that_were_lost():
    cause = np.linspace(-3.0, 3.0, 40)
    assert rank_correlation(cause, np.exp(cause)).value == pytest.approx(1.0)
    effect = -cause**3
    # Not flown: worse than any other.
    effect[-1] = -math.inf
    assert rank_correlation(cause, effect).value == pytest.approx(-1.0)
    noise = rank_correlation(cause, np.random.default_rng(1).normal(size=40))
    assert noise.low < 0.0 < noise.high
    assert rank_correlation(cause, np.zeros(40)) is UNKNOWN


@pytest.mark.parametrize(('criterion', 'limits', 'better'), [
    ('rms of altitude_error from 20 s at most 8', (math.nan, 8.0), -1),
    ('std of roll_deg from 20 s at least 0.3', (0.3, math.nan), 1),
    ('last of airspeed at least -1.5 and at most 2e-05', (-1.5, 2e-5), 0),
    ('15 s: heading +30 deg: settles to +-2 deg within 20 s', (math.nan, 20.0), -1),
    ('15 s: altitude +50 m: overshoots by at most 5%', (math.nan, 0.05), -1),
    ('15 s: altitude +50 m: is flown', (math.nan, math.nan), 0)])
def test_limits_are_those_of_the_criterion(criterion, limits, better):
    found = CriterionLimits.of(criterion)
    assert (found.at_least, found.at_most) == pytest.approx(limits, nan_ok=True)
    assert found.better == better


def test_margin_is_a_part_of_the_nearest_limit():
    margin = CriterionLimits(at_least=2.0, at_most=4.0).margin(
        np.array([1.0, 2.0, 3.5, 6.0, math.nan]))
    assert margin == pytest.approx([-0.5, 0.0, 0.125, -0.5, math.nan], nan_ok=True)
