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

"""Grids as text: what they have, and what is refused."""

from __future__ import annotations

import pytest

from xplane_bridge.laboratory.envelope.grid import MOST_POINTS, parse


def test_a_range_has_its_last_value_and_the_last_axis_varies_fastest() -> None:
    grid = parse(['airspeed=40:41:0.1', 'flaps=0,0.5'])
    assert grid.axes['airspeed'] == pytest.approx([40.0 + 0.1 * n for n in range(11)])
    assert len(grid) == 22
    points = [*grid]
    assert points[0] == {'airspeed': 40.0, 'flaps': 0.0}
    assert points[1] == {'airspeed': 40.0, 'flaps': 0.5}
    assert points[-1]['airspeed'] == pytest.approx(41.0)


def test_a_range_ends_below_what_its_steps_do_not_reach() -> None:
    assert parse(['altitude_msl=-100:900:300']).axes['altitude_msl'] == (
        -100.0, 200.0, 500.0, 800.0)


@pytest.mark.parametrize(('texts', 'sentence'), [
    (['airspeed'], "'airspeed' is not like airspeed=40:70:5"),
    (['speed=40'], "no axis 'speed': expected airspeed, altitude_msl, mass, cg, flaps"),
    (['airspeed='], 'airspeed has no values'),
    (['airspeed=40,,50'], "airspeed: expected a number, got ''"),
    (['airspeed=40,fast'], "airspeed: expected a number, got 'fast'"),
    (['airspeed=nan'], 'expected a number'),
    (['airspeed=40:inf:1'], 'expected a number'),
    (['airspeed=40:50'], 'is not a range: expected first:last:step'),
    (['airspeed=40:50:0'], 'has no values: expected first:last:step'),
    (['airspeed=50:40:1'], 'the last not below the first'),
    (['airspeed=40,40'], 'has a value twice'),
    (['airspeed=40', 'airspeed=50'], 'airspeed is given twice'),
    (['airspeed=0:1:1e-9'], 'airspeed has more than 1000 values'),
    (['airspeed=' + ','.join(map(str, range(2000)))], 'airspeed has more than 1000 values'),
    (['airspeed=1:500:1', 'flaps=0:1:0.01'], f'50500 points, at most {MOST_POINTS}'),
])
def test_what_is_no_grid_is_refused_with_a_sentence(texts: list[str], sentence: str) -> None:
    with pytest.raises(ValueError, match='^grid: ') as refused:
        parse(texts)
    assert sentence in str(refused.value)
