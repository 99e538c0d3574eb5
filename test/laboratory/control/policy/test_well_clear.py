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

"""The policy that remains well clear: to which side it turns, when, and for whom not."""

import math

import numpy as np
import pytest

from xplane_bridge.laboratory.control.policy.load import load, taken_along
from xplane_bridge.laboratory.control.policy.observation import INDEX, SIZE, TRAFFIC

SPEED, ALTITUDE, INDICATED = 55.0, 1500.0, 51.0


def told(*others, wanted=0.0):
    """Return what it is told, flying north: of others place and velocity as seen from there."""
    found = np.zeros(SIZE + len(TRAFFIC))
    found[[INDEX[f'imu/data.orientation.{axis}'] for axis in 'wz']] = math.sqrt(0.5)
    found[INDEX['air_data.true_airspeed']] = SPEED
    for name, value in (('fields', 7), ('altitude', ALTITUDE), ('true_heading', wanted),
                        ('airspeed', INDICATED)):
        found[INDEX[f'target.{name}']] = value
    found[SIZE] = len(others)
    for number, other in enumerate(others):
        found[SIZE + 1 + 6 * number:SIZE + 7 + 6 * number] = other
    return found


def coming(seconds, course_deg, up=0.0):
    """Return another one that flies a course, and is here after so many seconds."""
    course = math.radians(course_deg)
    relative = SPEED * math.sin(course), SPEED * math.cos(course) - SPEED
    return (-seconds * relative[0], -seconds * relative[1], up, *relative, 0.0)


def turned(*others, wanted=0.0):
    """Return how far it turns (deg)."""
    altitude, heading, airspeed = load('well_clear').act(told(*others, wanted=wanted))
    assert (altitude, airspeed) == (ALTITUDE, INDICATED)
    return math.degrees(math.remainder(heading - wanted, math.tau))


def test_alone_it_holds_what_it_is_told():
    assert turned() == turned(wanted=2.0) == 0.0


@pytest.mark.parametrize('course', [180.0, -90.0])
def test_it_gives_way_to_the_right(course):
    # Head-on, and to one that comes from the right.
    assert 5.0 <= turned(coming(30.0, course)) <= 90.0


def test_who_comes_from_the_left_is_avoided_late():
    assert turned(coming(40.0, 90.0)) == 0.0
    assert turned(coming(15.0, 90.0)) != 0.0


@pytest.mark.parametrize('other', [
    coming(30.0, 180.0, up=120.0), coming(90.0, 180.0),
    (0.0, -600.0, 0.0, 0.0, -5.0, 0.0)])
def test_who_is_above_far_away_or_falls_behind_is_no_reason_to_turn(other):
    assert turned(other) == 0.0


def test_it_turns_back_when_that_is_clear_again():
    beside = (-300.0, -500.0, 0.0, -40.0, -55.0, 0.0)
    assert turned(beside, wanted=-0.6) == 0.0


def test_it_keeps_to_the_side_to_which_it_turns():
    left = load('well_clear')
    left.act(told((200.0, 900.0, 0.0, 0.0, -2.0 * SPEED, 0.0)))
    _, heading, _ = left.act(told((0.0, 2000.0, 0.0, 0.0, -2.0 * SPEED, 0.0)))
    assert heading < 0.0 < turned((0.0, 2000.0, 0.0, 0.0, -2.0 * SPEED, 0.0))
    left.reset()
    _, heading, _ = left.act(told((0.0, 2000.0, 0.0, 0.0, -2.0 * SPEED, 0.0)))
    assert heading > 0.0


def test_between_two_it_turns_as_is_clear_of_both():
    ahead = coming(30.0, 180.0)
    right = (600.0, -100.0, 0.0, 0.0, 0.0, 0.0)
    assert turned(ahead) > 0.0 > turned(ahead, right)


def test_what_it_is_not_told_it_holds_as_it_was():
    found = told(wanted=1.0)
    found[INDEX['target.fields']] = 2
    found[[INDEX['fix.altitude'], INDEX['air_data.indicated_airspeed']]] = 900.0, 45.0
    policy = load('well_clear')
    policy.act(found)
    found[INDEX['fix.altitude']] = 800.0
    assert policy.act(found) == (900.0, 1.0, 45.0)


def test_it_does_not_go_along_with_one_that_is_as_fast():
    # Beside it, 45 deg to the right, there would be no end of it.
    course = math.radians(45.0)
    relative = SPEED * math.sin(course), SPEED * (math.cos(course) - 1.0)
    other = (-20.0 * relative[0], -20.0 * relative[1], 0.0, *relative, 0.0)
    assert abs(turned(other) - 45.0) > 20.0


def test_it_goes_with_a_campaign_by_its_name():
    assert [*taken_along('well_clear')] == ['well_clear.py']
    assert load('well_clear').name == 'well_clear'
