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
"""When the autopilot takes off, flies the pattern, lands and goes around; and when not."""

import math

import pytest

from xplane_bridge.bridges.conversions.vehicle import Controls
from xplane_bridge.laboratory.control.envelope import Envelope
from xplane_bridge.laboratory.control.gains import Gains
from xplane_bridge.laboratory.control.measurement import Measurement
from xplane_bridge.laboratory.control.runway.autopilot import Autopilot
from xplane_bridge.laboratory.control.runway.performance import load
from xplane_bridge.laboratory.control.runway.runway import Runway
from xplane_bridge.laboratory.control.targets import Level

EAST = math.radians(90.0)
RUNWAY = Runway((0.0, 0.0), EAST, 400.0, 1200.0, 30.0)
PERFORMANCE = load('c172p')
STANDING = Measurement(
    roll=0.0, pitch=PERFORMANCE.rest_pitch, heading=EAST, roll_rate=0.0, pitch_rate=0.0,
    yaw_rate=0.0, altitude=400.0 + PERFORMANCE.rest_height, airspeed=0.0, true_airspeed=0.0,
    climb_rate=0.0, course=EAST, ground_speed=0.0, east=30.0, north=0.0)
# 4 km before the threshold, on the glide path.
ON_APPROACH = STANDING._replace(
    pitch=0.0, airspeed=32.0, true_airspeed=32.0, ground_speed=32.0, east=-4000.0,
    altitude=400.0 + 4300.0 * math.tan(math.radians(3.0)))


def engaged(now=STANDING, performance=PERFORMANCE):
    autopilot = Autopilot(Gains(), performance=performance)
    autopilot.engage(now, Controls(0.0, 0.0, 0.0, 0.4))
    return autopilot


def flown(autopilot, now, seconds):
    for _ in range(round(seconds * 60.0)):
        controls = autopilot.update(now, 1.0 / 60.0)
    return controls


def test_a_take_off_begins_with_brakes_and_opens_the_throttle():
    autopilot = engaged()
    autopilot.take_off(RUNWAY, 100.0)
    assert autopilot.level is Level.RUNWAY
    first = flown(autopilot, STANDING, 1.0)
    assert autopilot.phase == 'run-up'
    assert first.brake_left == first.brake_right == 1.0
    assert 0.2 < first.throttle < 0.5
    rolls = flown(autopilot, STANDING, 4.0)
    assert autopilot.phase == 'take-off roll'
    assert (rolls.brake_left, rolls.throttle) == (0.0, 1.0)


@pytest.mark.parametrize(('changes', 'towards'), [
    ({'north': -4.0}, -1.0), ({'north': 4.0}, 1.0),
    ({'heading': EAST + 0.05}, -1.0), ({'heading': EAST - 0.05}, 1.0)])
def test_it_steers_back_to_the_centreline(changes, towards):
    autopilot = engaged()
    autopilot.take_off(RUNWAY, 100.0)
    flown(autopilot, STANDING, 5.0)
    rolling = STANDING._replace(airspeed=15.0, true_airspeed=15.0, ground_speed=15.0, **changes)
    assert math.copysign(1.0, flown(autopilot, rolling, 0.1).rudder) == towards


def test_the_nose_is_raised_at_the_speed_of_rotation_and_not_before():
    autopilot = engaged()
    autopilot.take_off(RUNWAY, 100.0)
    flown(autopilot, STANDING, 5.0)
    speed = PERFORMANCE.rotation_speed
    slow = STANDING._replace(airspeed=speed - 0.1, ground_speed=speed)
    assert flown(autopilot, slow, 1.0).elevator == 0.0
    fast = STANDING._replace(airspeed=speed + 0.1, ground_speed=speed)
    assert flown(autopilot, fast, 1.0).elevator > 0.05
    assert autopilot.phase == 'rotation'


@pytest.mark.parametrize(('changes', 'sentence'), [
    ({'ground_speed': 3.0}, 'take_off: it moves with 3.0 m/s, expected to stand'),
    ({'north': 20.0}, 'which is not on the runway'),
    ({'east': -40.0}, 'stands -40 m beyond the threshold'),
    ({'heading': EAST + 0.3}, 'its heading is 107 deg, expected that of the runway, 90 deg')])
def test_a_take_off_from_elsewhere_is_refused_and_all_stays_as_it_was(changes, sentence):
    autopilot = engaged(STANDING._replace(**changes))
    with pytest.raises(ValueError, match=sentence):
        autopilot.take_off(RUNWAY, 100.0)
    assert (autopilot.level, autopilot.phase) == (Level.TARGET, '')


def test_standing_nothing_can_land():
    with pytest.raises(ValueError, match='it is 0 m above the runway, expected above 30 m; '):
        engaged().land(RUNWAY)


def climbing(height, climb_rate=4.0, **changes):
    """Return a measurement at that height above the runway."""
    return ON_APPROACH._replace(
        east=2000.0, altitude=STANDING.altitude + height, climb_rate=climb_rate, **changes)


def levels_off(pattern=0.0, envelope=None):
    """Return an autopilot that has climbed nearly to 100 m, and levels off."""
    autopilot = engaged(ON_APPROACH)
    if envelope is not None:
        autopilot.envelope = envelope
    autopilot.land(RUNWAY)
    autopilot.go_around(100.0)
    if pattern:
        autopilot.pattern(RUNWAY, pattern)
    flown(autopilot, climbing(40.0), 2.0)
    assert (autopilot.phase, autopilot.is_at_height) == ('climb', False)
    flown(autopilot, climbing(92.0), 0.1)
    return autopilot


def seen(autopilot, *heights, climb_rate=0.5):
    """Return at which of these heights it is at that of the take-off."""
    found = []
    for height in heights:
        flown(autopilot, climbing(height, climb_rate), 0.1)
        assert autopilot.height == pytest.approx(height, abs=0.2)
        found.append(autopilot.is_at_height)
    return found


def test_a_height_is_reached_where_it_is_seen_and_not_where_it_levels_off():
    autopilot = levels_off()
    assert (autopilot.level, autopilot.phase) == (Level.TARGET, '')
    assert autopilot.takes_off
    assert seen(autopilot, 86.0, 94.0, 96.0, 100.0, 106.0) == [False, False, True, True, False]
    assert seen(autopilot, 98.0, climb_rate=2.0) == [False]
    assert autopilot.place[0] == pytest.approx(2000.0)
    autopilot.change_target({'altitude': 700.0})
    assert (autopilot.takes_off, autopilot.is_at_height) == (False, False)
    assert math.isnan(autopilot.height)


@pytest.mark.parametrize(('pattern', 'climb_rate', 'expected'), [
    (100.0, 0.5, [False, True, True, False]), (200.0, 3.0, [False, True, True, True]),
    (90.0, 0.5, [True, False, False, False])])
def test_a_pattern_that_follows_is_flown_on_through_the_height_or_at_its_own(
        pattern, climb_rate, expected):
    autopilot = levels_off(pattern)
    assert autopilot.phase == 'pattern'
    assert seen(autopilot, 88.0, 97.0, 103.0, 110.0, climb_rate=climb_rate) == expected
    assert autopilot.break_off_take_off() == 'the pattern is flown on'


def test_a_pattern_that_is_commanded_while_it_levels_off_does_not_end_a_take_off():
    autopilot = levels_off()
    autopilot.pattern(RUNWAY, 100.0)
    assert autopilot.takes_off
    assert seen(autopilot, 90.0, 100.0) == [False, True]


def test_a_height_below_the_floor_of_the_envelope_is_not_reached():
    autopilot = levels_off(envelope=Envelope(altitude_floor=600.0))
    assert (autopilot.takes_off, autopilot.is_at_height) == (False, False)
    assert 'altitude' in autopilot.limits[0]


def test_without_its_own_performance_no_aircraft_flies_from_a_runway():
    for command in ('take_off', 'pattern'):
        with pytest.raises(ValueError, match='no take-off and landing performance is known'):
            getattr(engaged(performance=None), command)(RUNWAY, 100.0)
    with pytest.raises(ValueError, match='no take-off and landing performance is known'):
        engaged(performance=None).land(RUNWAY)


@pytest.mark.parametrize(('changes', 'sentence'), [
    ({'east': 1000.0}, 'land: it is 700 m beyond the aiming point, 0 m to the right'),
    ({'altitude': 900.0}, '(500|499) m above the runway; expected within 25 deg'),
    ({'altitude': 420.0}, 'land: it is 19 m above the runway, expected above 30 m; command '
                          'take_off or go_around, and pattern, before'),
    ({'east': 0.0, 'altitude': 440.0},
     'it is 300 m before .* of the extended centreline and at least 458 m before that: '),
    ({'east': -400.0, 'altitude': 460.0}, 'centreline and 30 to 46 m above it: command pattern'),
    ({'north': 2500.0}, ' m before the aiming point, 2500 m to the left of the centreline'),
    ({'altitude': math.nan}, 'position and altitude of the aircraft, which are not known')])
def test_a_landing_from_a_place_without_an_approach_is_refused(changes, sentence):
    autopilot = engaged(ON_APPROACH._replace(**changes))
    with pytest.raises(ValueError, match=sentence):
        autopilot.land(RUNWAY)
    assert autopilot.phase == ''


def test_an_approach_descends_with_gear_and_flaps():
    autopilot = engaged(ON_APPROACH)
    autopilot.land(RUNWAY)
    now = ON_APPROACH._replace(climb_rate=0.0)
    controls = flown(autopilot, now, 1.0)
    assert autopilot.phase == 'approach'
    assert (controls.flaps, controls.gear) == (PERFORMANCE.landing_flaps, 1.0)
    # It is level on the glide path: it must go down.
    assert controls.elevator < 0.0


def test_a_go_around_climbs_with_full_throttle_and_only_breaks_a_landing_off():
    autopilot = engaged(ON_APPROACH)
    with pytest.raises(ValueError, match='nothing is to be broken off'):
        autopilot.go_around(300.0)
    autopilot.land(RUNWAY)
    now = ON_APPROACH._replace(climb_rate=-1.5)
    flown(autopilot, now, 1.0)
    autopilot.go_around(300.0)
    controls = flown(autopilot, now, 1.0)
    assert (autopilot.phase, controls.throttle) == ('climb', 1.0)
    assert controls.flaps == 0.0


def test_another_command_ends_it_and_goes_on_from_the_same_controls():
    autopilot = engaged(ON_APPROACH)
    autopilot.land(RUNWAY)
    before = flown(autopilot, ON_APPROACH, 2.0)
    autopilot.change_target({'altitude': ON_APPROACH.altitude})
    assert (autopilot.level, autopilot.phase) == (Level.TARGET, '')
    assert autopilot.target.course == EAST
    after = autopilot.update(ON_APPROACH, 1.0 / 60.0)
    assert after.elevator == pytest.approx(before.elevator, abs=0.02)
    assert after.aileron == pytest.approx(before.aileron, abs=0.02)
    assert after.throttle == pytest.approx(before.throttle, abs=0.1)


def test_a_pattern_waits_for_the_height_of_the_take_off_and_a_landing_for_the_pattern():
    autopilot = engaged()
    autopilot.take_off(RUNWAY, 100.0)
    autopilot.pattern(RUNWAY, 200.0)
    autopilot.land(RUNWAY)
    flown(autopilot, STANDING, 1.0)
    assert autopilot.phase == 'run-up'
    with pytest.raises(ValueError, match="side is 'up', expected left or right"):
        autopilot.pattern(RUNWAY, 200.0, 'up')


@pytest.mark.parametrize('true_airspeed', [32.0, 0.0])
def test_a_pattern_begins_anywhere_in_the_air_whatever_speed_is_reported(true_airspeed):
    autopilot = engaged(ON_APPROACH._replace(north=800.0, true_airspeed=true_airspeed))
    autopilot.pattern(RUNWAY, 200.0)
    flown(autopilot, ON_APPROACH, 0.1)
    assert autopilot.phase == 'pattern'


def test_on_the_ground_there_is_no_pattern():
    with pytest.raises(ValueError, match='it is 0 m above the runway, expected above 30 m'):
        engaged().pattern(RUNWAY, 200.0)
