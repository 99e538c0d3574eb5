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

"""Quantities that follow from motion, and expressions of quantities, on hand-made flights."""

import math

from hypothesis import given
from hypothesis import strategies as st
import numpy as np
import pytest
from test_verdict import flight, judged

from xplane_bridge.bridges.conversions.expressions.expression import Expression
from xplane_bridge.laboratory.campaigns.table.criteria import criterion_unit
from xplane_bridge.laboratory.flights.analysis.history import expressed, quantity
from xplane_bridge.laboratory.flights.analysis.motion import reversals
from xplane_bridge.laboratory.flights.scenario.criteria import Criterion

G = 9.80665
NAN = math.nan


def moving(**more):
    """Return a flight to the north-east at 50 m/s, climbing 5 m/s, wings level, pitched up."""
    times = [0.0, 1.0, 2.0]
    side = math.sqrt((50.0 ** 2 - 5.0 ** 2) / 2.0)
    return flight(**{
        'altitude': (times, [1000.0, 1005.0, 1010.0]), 'roll': (times, [0.0] * 3),
        'pitch': (times, [0.1] * 3), 'heading': (times, [math.pi / 4] * 3),
        'velocity_north': (times, [side] * 3), 'velocity_east': (times, [side] * 3),
        'velocity_down': (times, [-5.0] * 3), 'specific_force_forward': (times, [2.0] * 3),
        'specific_force_left': (times, [0.0] * 3), 'specific_force_up': (times, [1.5 * G] * 3),
        **more})


@pytest.mark.parametrize(('name', 'expected'), [
    ('climb_rate', 5.0), ('ground_speed', math.sqrt(50.0 ** 2 - 25.0)),
    ('flight_path_angle', math.asin(0.1)), ('flight_path_angle_deg', math.degrees(math.asin(0.1))),
    ('load_factor', 1.5), ('energy_height', 1000.0 + 50.0 ** 2 / (2.0 * G)),
    # By hand: the body's forward axis is 0.1 rad above level, the path asin(0.1).
    ('specific_excess_power', 50.0 / G * (
        2.0 * math.cos(0.1 - math.asin(0.1)) - 1.5 * G * math.sin(0.1 - math.asin(0.1)))),
])
def test_what_follows_from_motion(name, expected):
    assert quantity(moving(), name).values[0] == pytest.approx(expected, rel=1e-12)


def test_excess_power_is_the_rate_of_the_energy_height():
    """A pull-up of a point mass: force and velocity are integrated by hand."""
    times = np.linspace(0.0, 2.0, 2001)
    rate, speed = 0.1, 60.0
    path = rate * times
    found = flight(
        altitude=(times, speed * (1.0 - np.cos(path)) / rate), roll=(times, 0.0 * times),
        pitch=(times, path), heading=(times, 0.0 * times),
        velocity_north=(times, speed * np.cos(path)), velocity_east=(times, 0.0 * times),
        velocity_down=(times, -speed * np.sin(path)),
        specific_force_forward=(times, G * np.sin(path)),
        specific_force_left=(times, 0.0 * times),
        specific_force_up=(times, speed * rate + G * np.cos(path)))
    energy = quantity(found, 'energy_height').values
    power = quantity(found, 'specific_excess_power').values
    assert np.gradient(energy, times)[1:-1] == pytest.approx(power[1:-1], abs=1e-4)


def test_what_was_not_measured_is_empty_and_judged_as_never():
    found = flight(altitude=([0.0, 1.0], [1.0, 2.0]))
    for name in ('load_factor', 'specific_excess_power', 'mass', 'climb_rate'):
        assert not len(quantity(found, name).values)
    judgement, = judged(found, Criterion('mass', 'max', NAN, NAN, NAN, 5.0))
    assert not judgement.passed
    assert str(judgement) == 'max of mass at most 5: never'


@pytest.mark.parametrize(('values', 'expected'), [
    ([0.0, 0.1, 0.2, 0.1, 0.0], 1), ([0.0, 0.1, 0.2, 0.3], 0), ([0.0] * 5, 0), ([0.3], 0),
    ([0.0, 0.1, 0.09, 0.2, 0.19, 0.3], 0), ([0.0, 0.1, 0.0, 0.1, 0.0], 3),
    ([0.0, 0.019, 0.0, 0.019], 0), ([0.0, 0.1, 0.081, 0.085, 0.079, 0.2], 2),
])
def test_a_reversal_is_a_movement_and_one_back(values, expected):
    assert reversals(np.array(values)) == expected


@given(st.lists(st.integers(-50, 50), min_size=1, max_size=40))
def test_reversals_do_not_depend_on_what_way_is_up_or_how_often_it_is_sampled(steps):
    values = np.array(steps) / 100.0
    found = reversals(values)
    assert reversals(-values) == found
    assert reversals(np.repeat(values, 3)) == found
    assert 0 <= found < len(steps)


VALUES = st.floats(-1e3, 1e3)


@given(st.lists(st.tuples(VALUES, VALUES), min_size=1, max_size=20))
def test_expressions_are_what_numpy_says(rows):
    times = np.arange(float(len(rows)))
    roll, pitch = np.array(rows).T
    found = flight(roll=(times, roll), pitch=(times, pitch))
    for text, expected in (
            ('max(roll, 2 * pitch) - abs(roll)', np.maximum(roll, 2.0 * pitch) - np.abs(roll)),
            ('where(roll > pitch, sin(roll), 0.5)', np.where(roll > pitch, np.sin(roll), 0.5)),
            ('roll_deg ** 2 + hypot(roll, pitch)',
             np.degrees(roll) ** 2 + np.hypot(roll, pitch))):
        assert (expressed(found, Expression(text)).values == expected).all()


def test_an_expression_is_computed_at_the_times_of_its_first_quantity():
    found = flight(
        altitude=([0.0, 1.0, 2.0, 3.0], [0.0, 10.0, 20.0, 30.0]),
        airspeed=([0.5, 2.5], [50.0, 70.0]), target_altitude=([1.0, 2.0], [100.0, 200.0]),
        altitude_error=([], []))
    of_both = expressed(found, Expression('altitude + airspeed'))
    assert of_both.times.tolist() == [1.0, 2.0]
    assert of_both.values.tolist() == [65.0, 85.0]
    # A target holds until the next one.
    held = expressed(found, Expression('altitude - target_altitude'))
    assert list(zip(*held, strict=True)) == [(1.0, -90.0), (2.0, -180.0), (3.0, -170.0)]


def test_a_criterion_on_an_expression_says_its_unit():
    found = moving()
    fast = Criterion('ground_speed * 2', 'max', NAN, NAN, NAN, 99.0,
                     Expression('ground_speed * 2'), 'm/s')
    judgement, = judged(found, fast)
    assert not judgement.passed
    assert judgement.criterion == 'max of (ground_speed * 2) in m/s at most 99'
    assert criterion_unit(judgement.criterion) == 'm/s'
    assert criterion_unit('mean of (abs(roll_deg) > 1) from 3 s at most 0.5') == ''
    assert criterion_unit('max of climb_rate at most 5') == 'm/s'
