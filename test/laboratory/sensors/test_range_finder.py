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

"""A range finder: its geometry, its limits, its failures."""

import math

from hypothesis import given
from hypothesis import strategies as st
import pytest

from xplane_bridge.bridges.conversions import axes
from xplane_bridge.common.fields import FieldError
from xplane_bridge.laboratory.sensors.range_finder import along_down, below, tilt_cosine
from xplane_bridge.laboratory.sensors.specification import parse
from xplane_bridge.laboratory.sensors.suite import Suite

STEP = 20_000_000
LEVEL = (1.0, 0.0, 0.0, 0.0)


def turned(roll, pitch, heading):
    """Return the orientation, body FLU to ENU: pitch + is nose down about the left axis."""
    return axes.euler_to_quaternion(roll, pitch, heading)


@given(st.floats(0.1, 500.0), st.floats(-math.pi, math.pi), st.floats(-1.5, 1.5),
       st.floats(-math.pi, math.pi))
def test_the_beam_along_the_body_ends_on_the_ground_or_leads_to_the_sky(
        height, roll, pitch, heading):
    orientation = turned(roll, pitch, heading)
    assert tilt_cosine(orientation) == pytest.approx(
        math.cos(roll) * math.cos(pitch), abs=1e-12)
    distance = along_down(height, orientation)
    _, _, up = axes.rotate(orientation, (0.0, 0.0, -1.0))
    if math.isinf(distance):
        assert up > -1e-9
        assert math.isinf(below(5.0, orientation))
    else:
        assert distance >= height * (1.0 - 1e-12)
        assert height + distance * up == pytest.approx(0.0, abs=1e-6 * distance)
        assert below(distance, orientation) == pytest.approx(height)


def finder(**values):
    return Suite(parse({'range_finder': values}), 3)


@pytest.mark.parametrize(('height', 'expected'), [
    (0.1, -math.inf), (0.3, 0.3), (99.0, 99.0), (100.5, math.inf)])
def test_too_near_and_too_far_are_told_as_in_rep_117(height, expected):
    suite = finder(distance={}, minimum=0.2, maximum=100.0)
    (one,) = suite.show_ground(0, height, LEVEL)
    assert one.reading.distance == expected
    # Banked by 60 deg the ground is twice as far; upside down there is none.
    (banked,) = suite.show_ground(STEP, height, turned(math.radians(60.0), 0.0, 1.0))
    assert banked.reading.distance == pytest.approx(
        2.0 * height if 0.1 <= height <= 50.0 else math.inf)
    (inverted,) = suite.show_ground(2 * STEP, height, turned(math.pi, 0.0, 0.0))
    assert inverted.reading.distance == math.inf


def test_the_errors_are_those_of_the_figures():
    suite = finder(distance={'noise': 0.05, 'quantisation': 0.01}, maximum=100.0)
    found = [one.reading for number in range(4000)
             for one in suite.show_ground(number * STEP, 20.0, LEVEL)]
    distances = [one.distance for one in found]
    assert sum(distances) / 4000 == pytest.approx(20.0, abs=0.005)
    spread = math.sqrt(sum((one - 20.0) ** 2 for one in distances) / 4000)
    assert spread == pytest.approx(0.05, rel=0.05)
    assert found[-1].variance == pytest.approx(0.05 ** 2 + 0.01 ** 2 / 12.0)
    assert all(one * 100.0 == pytest.approx(round(one * 100.0)) for one in distances)


def test_it_says_nothing_while_it_has_failed_or_the_ground_is_not_known():
    suite = finder(distance={}, failed=[[0.1, 0.2]])
    heard = [number for number in range(20) if suite.show_ground(number * STEP, 5.0, LEVEL)]
    assert heard == [*range(5), *range(10, 20)]
    suite.faults.range_finder_failed = True
    assert not suite.show_ground(20 * STEP, 5.0, LEVEL)
    suite.faults.range_finder_failed = False
    assert not suite.show_ground(21 * STEP, math.nan, LEVEL)
    assert not suite.show_ground(22 * STEP, 5.0, None)
    assert suite.show_ground(23 * STEP, 5.0, LEVEL)


@pytest.mark.parametrize(('content', 'sentence'), [
    ({'range_finder': {'minimum': 5.0, 'maximum': 5.0}},
     'range_finder: the maximum, 5 m, is not above the minimum, 5 m'),
    ({'range_finder': {'field_of_view': 4.0}},
     'range_finder.field_of_view: expected 0 to 3.1415'),
    ({'magnetometer': {'year': 2024.5}}, 'magnetometer.year: expected 2025 to 2030, got 2024.5'),
    ({'magnetometer': {'soft_iron': 2}}, 'magnetometer.soft_iron: expected 0 to 1, got 2')])
def test_figures_that_cannot_be_are_refused(content, sentence):
    with pytest.raises(FieldError) as caught:
        parse(content)
    assert sentence in str(caught.value)
