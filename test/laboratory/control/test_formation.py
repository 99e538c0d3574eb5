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

"""The law that holds a slot beside a leader: where the slot is, and what leads into it."""

import math

import pytest

from xplane_bridge.laboratory.control.formation import Slot, target_in
from xplane_bridge.laboratory.control.gains import Gains
from xplane_bridge.laboratory.control.measurement import Measurement

GAINS = Gains()
LEVEL = Measurement(
    roll=0.0, pitch=0.0, heading=0.0, roll_rate=0.0, pitch_rate=0.0, yaw_rate=0.0,
    altitude=1000.0, airspeed=50.0, true_airspeed=55.0, climb_rate=0.0, course=0.0,
    ground_speed=55.0, east=0.0, north=0.0)


def towards(heading, **changes):
    return LEVEL._replace(heading=heading, course=heading, **changes)


@pytest.mark.parametrize(('course', 'to_leader'), [
    (0.0, (-40.0, 30.0, -5.0)), (math.pi / 2.0, (30.0, 40.0, -5.0)),
    (math.pi, (40.0, -30.0, -5.0))])
def test_in_its_slot_a_follower_flies_as_its_leader(course, to_leader):
    slot = Slot(-30.0, 40.0, 5.0)
    assert slot.error(to_leader, course) == pytest.approx((0.0, 0.0, 0.0), abs=1e-9)
    target = target_in(slot, towards(course), towards(course), to_leader, GAINS)
    assert target.altitude == pytest.approx(1000.0)
    assert target.airspeed == pytest.approx(50.0)
    assert math.remainder(target.course - course, math.tau) == pytest.approx(0.0, abs=1e-9)


def test_out_of_it_a_follower_is_led_towards_it():
    behind_left_below = (20.0, 60.0, 8.0)
    target = target_in(Slot(-10.0, -10.0, 2.0), LEVEL, LEVEL, behind_left_below, GAINS)
    assert target.airspeed > 51.0
    assert 0.0 < target.course < 0.2
    assert target.altitude == pytest.approx(1010.0)
    # However far away it is: the throttle has to stop it again.
    far = target_in(Slot(0.0, 0.0, 0.0), LEVEL, LEVEL, (0.0, 5000.0, 0.0), GAINS)
    assert far.airspeed == pytest.approx(50.0 * 59.0 / 55.0)
    ahead = target_in(Slot(0.0, 0.0, 0.0), LEVEL, LEVEL, (0.0, -5000.0, 0.0), GAINS)
    assert ahead.airspeed == pytest.approx(50.0 * 51.0 / 55.0)


def test_outside_of_a_turn_a_follower_is_faster_and_inside_slower():
    leader = LEVEL._replace(roll=0.25)
    turn = 9.80665 * math.tan(0.25) / 55.0
    for right, faster in ((-100.0, 1.0), (100.0, -1.0)):
        target = target_in(Slot(0.0, right, 0.0), leader, LEVEL, (-right, 0.0, 0.0), GAINS)
        assert target.airspeed - 50.0 == pytest.approx(
            faster * 100.0 * turn * 50.0 / 55.0, rel=1e-6)
        # Ahead by what the course loop lags behind.
        assert target.course == pytest.approx(turn / GAINS.course_to_turn_rate)


def test_a_climb_is_fed_forward():
    target = target_in(
        Slot(0.0, 0.0, 0.0), LEVEL._replace(climb_rate=2.0), LEVEL, (0.0, 0.0, 0.0), GAINS)
    assert GAINS.altitude_to_climb * (target.altitude - 1000.0) == pytest.approx(2.0)


def test_the_airspeed_is_that_which_the_leader_holds():
    # In a gust from ahead, which both are in.
    gust = LEVEL._replace(airspeed=54.0, true_airspeed=59.0)
    slot, there = Slot(0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
    assert target_in(slot, gust, gust, there, GAINS, held=50.0).airspeed == pytest.approx(50.0)
    assert target_in(slot, gust, gust, there, GAINS).airspeed == pytest.approx(54.0)
    # However slow: a target that can be flown.
    slow = LEVEL._replace(airspeed=1.0, true_airspeed=1.0, ground_speed=1.0)
    assert target_in(slot, slow, slow, there, GAINS).airspeed >= 3.0
