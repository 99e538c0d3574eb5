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

"""The statistics by which the soak test judges: see soak.py."""

import pytest
from trends import Figure, grew, percentile, slope_per_hour


def figure(*values, step=10.0):
    return Figure([(number * step, value) for number, value in enumerate(values)])


@pytest.mark.parametrize(('part', 'expected'), [(50, 2), (75, 3), (95, 9), (100, 9), (0, 1)])
def test_a_percentile_is_one_of_the_values(part, expected):
    assert percentile([3, 9, 1, 2], part) == expected


def test_a_slope_is_that_of_the_second_half():
    assert slope_per_hour(figure(0, 500, 10, 20, 30, 40)) == pytest.approx(3600.0)
    assert slope_per_hour(figure(5)) == 0.0


def test_what_rises_in_every_quarter_grows():
    assert grew(figure(*range(40)), 4.0)
    assert grew(figure(*range(0, 400, 10)), 199.0)


@pytest.mark.parametrize('values', [
    [0] * 10 + [50] * 30,                   # start-up growth
    [50] * 39 + [500],                      # a peak
    [50] * 20 + [60] * 20,                  # a step
    [50, 51] * 20,
    [1, 2],
    []])
def test_what_settles_does_not_grow(values):
    assert not grew(figure(*values), 4.0)
