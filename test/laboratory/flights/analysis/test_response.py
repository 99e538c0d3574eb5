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

"""Figures of a step response, against responses known in closed form."""

import math

import pytest

from xplane_bridge.laboratory.flights.analysis.verdict import step_response

TIMES = [n * 0.001 for n in range(20001)]


def test_first_order_response():
    # 1 - exp(-t/T): rise time T ln 9, settling to 5 % after T ln 20.
    values = [100.0 + 10.0 * (1.0 - math.exp(-t / 2.0)) for t in TIMES]
    response = step_response(TIMES, values, 100.0, 110.0, 0.5)
    assert response.rise == pytest.approx(2.0 * math.log(9.0), abs=2e-3)
    assert response.settling == pytest.approx(2.0 * math.log(20.0), abs=2e-3)
    assert response.overshoot == 0.0


def test_overshoot_of_a_second_order_response_in_a_step_down():
    # Damping ratio 0.5: overshoot exp(-pi z / sqrt(1 - z^2)) = 16.3 %.
    damping, root = 0.5, math.sqrt(0.75)
    values = [
        -4.0 * (1.0 - math.exp(-damping * t) * (
            math.cos(root * t) + damping / root * math.sin(root * t)))
        for t in TIMES
    ]
    response = step_response(TIMES, values, 0.0, -4.0, 0.2)
    assert response.overshoot == pytest.approx(math.exp(-math.pi * damping / root), abs=1e-4)
    assert response.error == pytest.approx(0.0, abs=1e-3)


def test_what_never_happens_is_nan():
    response = step_response([0.0, 1.0, 2.0], [0.0, 0.3, 0.5], 0.0, 1.0, 0.1)
    assert math.isnan(response.rise)
    assert math.isnan(response.settling)
    assert response.error == -0.5


@pytest.mark.parametrize(('times', 'values', 'target'), [
    ([0.0], [1.0], 2.0), ([0.0, 1.0], [1.0], 2.0), ([0.0, 1.0], [1.0, 1.0], 0.0),
])
def test_what_is_no_step_is_refused(times, values, target):
    with pytest.raises(ValueError, match='step'):
        step_response(times, values, 0.0, target, 0.1)
