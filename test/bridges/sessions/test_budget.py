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

"""The budget of datagrams per second."""

import random

import pytest

from xplane_bridge.bridges.sessions.budget import Budget


@pytest.mark.parametrize(('rate', 'burst'), [(240.0, 8.0), (10.0, 8.0), (2.0, 8.0), (16.0, 4.0)])
def test_no_second_holds_more_than_the_rate(rate, burst):
    budget = Budget(rate, burst)
    chance = random.Random(1)
    now = 100.0
    taken = []
    while now < 130.0:
        while budget.take(1, now):
            taken.append(now)
        now += chance.choice((0.001, 0.01, 0.3, 2.0))
    for first in taken:
        assert sum(first <= at < first + 1.0 for at in taken) <= rate


def test_rate_is_used_to_the_full_but_for_the_burst():
    budget = Budget(240.0, 8.0)
    count = 0
    now = 0.0
    for _ in range(10_000):
        now = budget.when(1, now)
        count += budget.take(1, now)
    assert count == 10_000
    assert now == pytest.approx((10_000 - 8) / 232.0)


def test_burst_is_what_can_be_taken_at_once():
    budget = Budget(100.0, 8.0)
    assert [budget.take(3, 5.0) for _ in range(3)] == [True, True, False]
    assert budget.take(2, 5.0)
    assert not budget.take(1, 5.0)


def test_nothing_is_taken_of_what_is_to_be_left():
    budget = Budget(100.0, 8.0)
    assert not budget.take(6, 5.0, leave=3)
    assert budget.take(6, 5.0, leave=2)
    assert not budget.take(1, 5.0, leave=2)
    assert budget.take(2, 5.0)


@pytest.mark.parametrize('start', [0.0, 0.1, 12345.678, 9.9e6])
def test_take_succeeds_at_the_time_that_when_says(start):
    budget = Budget(237.0, 7.0)
    now = start
    for number in range(2000):
        count, leave = 1 + number % 3, number % 4
        now = budget.when(count, now, leave=leave)
        assert budget.take(count, now, leave=leave)


def test_when_is_now_if_enough_is_there():
    assert Budget(100.0, 8.0).when(8, 5.0) == 5.0


def test_charge_is_paid_for_afterwards():
    budget = Budget(108.0, 8.0)
    budget.charge(18, 5.0)
    assert budget.when(1, 5.0) == pytest.approx(5.11)
    assert not budget.take(1, 5.1)
    assert budget.take(1, 5.11)


def test_time_that_steps_back_gives_nothing():
    budget = Budget(100.0, 8.0)
    assert budget.take(8, 5.0)
    assert not budget.take(1, 4.0)
    assert not budget.take(1, 5.0)


def test_lower_rate_takes_away_what_was_saved():
    budget = Budget(240.0, 8.0)
    budget.rate = 2.0
    assert budget.rate == 2.0
    assert budget.take(1, 5.0)
    assert not budget.take(1, 5.5)
    assert budget.take(1, 6.0)
    budget.rate = 240.0
    assert budget.take(8, 7.0)
