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

"""The levels of the cascade: which is flown, what is kept, what is refused. Pure."""

from dataclasses import replace
import math

import pytest

from xplane_bridge.bridges.conversions.vehicle import Controls
from xplane_bridge.laboratory.control.cascade import Cascade
from xplane_bridge.laboratory.control.gains import Gains, load
from xplane_bridge.laboratory.control.measurement import Measurement
from xplane_bridge.laboratory.control.targets import AttitudeTarget, Level, RateTarget, Target

LEVEL = Measurement(
    roll=0.0, pitch=0.02, heading=1.0, roll_rate=0.0, pitch_rate=0.0, yaw_rate=0.0,
    altitude=1000.0, airspeed=50.0, course=1.1, ground_speed=52.0, east=0.0, north=0.0)
TRIMMED = Controls(elevator=-0.12, aileron=0.03, rudder=0.05, throttle=0.6)
GLIDER = Gains(
    airspeed_to_throttle=0.0, airspeed_to_throttle_integral=0.0, airspeed_to_pitch=0.02,
    airspeed_to_pitch_integral=0.004)


def engaged(gains=None):
    cascade = Cascade(gains)
    cascade.engage(LEVEL, TRIMMED)
    cascade.update(LEVEL, 0.02)
    return cascade


def same(first, second, within=0.005):
    return all(getattr(first, name) == pytest.approx(getattr(second, name), abs=within)
               for name in ('elevator', 'aileron', 'rudder', 'throttle'))


COMMANDS = {
    Level.TARGET: lambda one: one.change_target({'altitude': 1010.0}),
    Level.PATH: lambda one: one.follow([(2000.0, 1000.0), (4000.0, 0.0)]),
    Level.ATTITUDE: lambda one: one.hold_attitude(AttitudeTarget(roll=0.1)),
    Level.RATES: lambda one: one.hold_rates(RateTarget(roll=0.1)),
}


@pytest.mark.parametrize('first', COMMANDS)
@pytest.mark.parametrize('second', [Level.PATH, Level.ATTITUDE, Level.RATES])
def test_the_last_level_commanded_wins(first, second):
    cascade = engaged()
    for level in (first, second):
        COMMANDS[level](cascade)
        cascade.update(LEVEL, 0.02)
        assert cascade.level is level


@pytest.mark.parametrize('command', [
    lambda one: one.hold_attitude(AttitudeTarget(roll=0.0)),
    lambda one: one.hold_rates(RateTarget(roll=0.0)),
    lambda one: one.hold(),
    lambda one: (one.hold_rates(RateTarget()), one.hold_attitude(AttitudeTarget())),
    lambda one: (one.hold_attitude(AttitudeTarget(throttle=0.6)), one.hold()),
])
def test_another_level_begins_where_the_controls_are(command):
    cascade = engaged()
    before = cascade.update(LEVEL, 0.02)
    command(cascade)
    assert same(cascade.update(LEVEL, 0.02), before)


def test_targets_that_are_not_given_keep_their_value():
    cascade = engaged()
    cascade.change_target({'airspeed': 45.0})
    assert cascade.target == Target(1000.0, 1.0, 45.0)
    cascade.change_target({'course': 2.0})
    assert cascade.target.course == 2.0
    assert math.isnan(cascade.target.heading)
    cascade.change_target({'climb_rate': 2.0})
    assert math.isnan(cascade.target.altitude)
    cascade.change_target({'altitude': 1200.0, 'climb_rate': 1.0})
    assert (cascade.target.altitude, cascade.target.climb_rate) == (1200.0, 1.0)
    assert cascade._climb_law.wanted(LEVEL, cascade.target) == 1.0


def test_a_path_goes_on_at_another_altitude_but_not_with_another_course():
    cascade = engaged()
    cascade.follow([(2000.0, 1000.0)], [1300.0])
    cascade.update(LEVEL, 0.02)
    cascade.change_target({'altitude': 1100.0, 'airspeed': 45.0})
    cascade.update(LEVEL, 0.02)
    assert (cascade.level, cascade.target.altitude) == (Level.PATH, 1100.0)
    cascade.change_target({'heading': 2.0})
    assert (cascade.level, cascade.follower) == (Level.TARGET, None)
    assert (cascade.target.altitude, cascade.target.airspeed) == (1100.0, 45.0)


def test_from_a_lower_level_the_present_state_is_kept():
    cascade = engaged()
    cascade.hold_attitude(AttitudeTarget(roll=0.3, airspeed=48.0))
    there = LEVEL._replace(altitude=900.0, course=2.5)
    cascade.update(there, 0.02)
    cascade.change_target({'climb_rate': 1.0})
    assert (cascade.target.course, cascade.target.airspeed) == (2.5, 48.0)


def test_hold_keeps_altitude_and_course_of_that_moment():
    cascade = engaged()
    cascade.follow([(2000.0, 1000.0)], [1300.0], airspeed=47.0)
    cascade.update(LEVEL, 0.02)
    cascade.hold()
    assert cascade.level is Level.TARGET
    assert (cascade.target.altitude, cascade.target.course, cascade.target.airspeed) == (
        1000.0, 1.1, 47.0)


def test_each_leg_has_the_altitude_of_its_waypoint_and_the_end_is_held():
    cascade = engaged()
    cascade.follow([(2000.0, 1000.0), (4000.0, 0.0)], [1300.0, 1400.0])
    cascade.update(LEVEL, 0.02)
    assert cascade.target.altitude == 1300.0
    for east, north in ((1500.0, 800.0), (3000.0, 500.0)):
        cascade.update(LEVEL._replace(east=east, north=north), 0.02)
    assert (cascade.target.altitude, cascade.at.leg) == (1400.0, 1)
    cascade.update(LEVEL._replace(east=4010.0, north=0.0), 0.02)
    assert cascade.level is Level.TARGET
    assert cascade.follower.done
    assert cascade.target.course == pytest.approx(math.atan2(2000.0, -1000.0), abs=0.02)
    assert cascade.target.altitude == 1400.0


def test_a_waypoint_that_is_reached_already_is_left_out():
    cascade = engaged()
    cascade.follow([(10.0, 10.0), (2000.0, 1000.0)], [1100.0, 1200.0])
    cascade.update(LEVEL, 0.02)
    assert cascade.follower.legs == 1
    assert cascade.target.altitude == 1200.0


def test_a_closed_route_has_its_altitudes_in_each_lap():
    cascade = engaged()
    corners = [(4000.0, 0.0), (4000.0, 4000.0), (0.0, 4000.0), (0.0, 0.0)]
    cascade.follow(corners, [1.0, 2.0, 3.0, 4.0], closed=True)
    seen = []
    for east, north in ((500.0, 0.0), (4000.0, 2000.0), (2000.0, 4000.0), (0.0, 2000.0),
                        (2000.0, 0.0), (4000.0, 2000.0)):
        cascade.update(LEVEL._replace(east=east, north=north), 0.02)
        seen.append(cascade.target.altitude)
    assert seen == [1.0, 2.0, 3.0, 4.0, 1.0, 2.0]


def test_without_a_position_a_route_is_refused():
    cascade = Cascade()
    with pytest.raises(ValueError, match='not engaged'):
        cascade.follow([(1.0, 1.0)])
    cascade.engage(LEVEL._replace(east=math.nan), TRIMMED)
    with pytest.raises(ValueError, match='position in the local frame'):
        cascade.follow([(1.0, 1.0)])


@pytest.mark.parametrize(('command', 'sentence'), [
    (lambda one: one.change_target({'airspeed': 0.0}), 'airspeed 0 m/s is not in 1'),
    (lambda one: one.change_target({'course': 1.0, 'heading': 1.0}), 'not both'),
    (lambda one: one.hold_attitude(AttitudeTarget(throttle=0.5, airspeed=50.0)), 'not both'),
    (lambda one: one.hold_attitude(AttitudeTarget(pitch=3.0)), 'pitch 3 rad is not in'),
    (lambda one: one.hold_rates(RateTarget(throttle=2.0)), 'throttle 2 is not in 0 .. 1'),
    (lambda one: one.hold_rates(RateTarget(yaw=99.0)), 'yaw_rate 99 rad/s'),
    (lambda one: one.follow([(9.0, 9.0)], [1.0, 2.0]), '1 waypoints have 2 altitudes'),
])
def test_what_cannot_be_flown_is_refused_and_nothing_changes(command, sentence):
    cascade = engaged()
    with pytest.raises(ValueError, match=sentence):
        command(cascade)
    assert (cascade.level, cascade.target) == (Level.TARGET, Target(1000.0, 1.0, 50.0))


def test_an_attitude_has_a_throttle_or_an_airspeed():
    cascade = engaged()
    cascade.hold_attitude(AttitudeTarget(throttle=0.3))
    assert cascade.update(LEVEL, 0.02).throttle == 0.3
    cascade.hold_attitude(AttitudeTarget(airspeed=45.0))
    assert cascade.update(LEVEL, 0.02).throttle == pytest.approx(0.3, abs=0.01)
    for _ in range(200):
        last = cascade.update(LEVEL, 0.02)
    assert last.throttle < 0.2


def test_without_the_yaw_damper_the_rudder_stays():
    cascade = engaged()
    cascade.hold_attitude(AttitudeTarget(roll=0.0, yaw_damper=False))
    yawing = LEVEL._replace(yaw_rate=0.2)
    assert cascade.update(yawing, 0.02).rudder == pytest.approx(0.05)
    cascade.hold_attitude(AttitudeTarget(yaw_damper=True))
    assert cascade.update(yawing, 0.02).rudder < 0.0


@pytest.mark.parametrize(('rates', 'control'), [
    (RateTarget(roll=0.2), 'aileron'), (RateTarget(pitch=0.1), 'elevator'),
    (RateTarget(yaw=0.1), 'rudder')])
def test_each_rate_moves_its_surface(rates, control):
    cascade = engaged()
    before = cascade.update(LEVEL, 0.02)
    cascade.hold_rates(rates)
    after = cascade.update(LEVEL, 0.02)
    for name in ('aileron', 'elevator', 'rudder'):
        moved = getattr(after, name) - getattr(before, name)
        assert moved > 0.02 if name == control else abs(moved) < 0.01


def test_slower_the_surfaces_move_more():
    moves = []
    for airspeed in (50.0, 35.0):
        now = LEVEL._replace(airspeed=airspeed)
        cascade = Cascade()
        cascade.engage(now, TRIMMED)
        before = cascade.update(now, 0.0)
        cascade.hold_rates(RateTarget(roll=0.2))
        moves.append(cascade.update(now, 0.0).aileron - before.aileron)
    assert moves[1] / moves[0] == pytest.approx((50.0 / 35.0) ** 2)


def test_a_glider_holds_its_airspeed_with_pitch():
    cascade = engaged(GLIDER)
    fast = LEVEL._replace(airspeed=55.0)
    for _ in range(50):
        controls = cascade.update(fast, 0.02)
    assert cascade._pitch > LEVEL.pitch + 0.05
    assert controls.elevator > TRIMMED.elevator
    assert controls.throttle == 0.0


def test_gains_may_be_changed_in_flight():
    cascade = engaged()
    cascade.gains = replace(cascade.gains, roll_rate_to_aileron=2.0)
    assert cascade._rate_law.gains.roll_rate_to_aileron == 2.0


def test_the_rudder_of_a_gust_on_engaging_is_not_kept():
    cascade = Cascade()
    cascade.engage(LEVEL._replace(yaw_rate=0.1), TRIMMED)
    first = cascade.update(LEVEL._replace(yaw_rate=0.1), 0.02)
    assert first.rudder == pytest.approx(TRIMMED.rudder, abs=2e-3)
    for _ in range(1000):
        last = cascade.update(LEVEL, 0.02)
    assert last.rudder == pytest.approx(TRIMMED.rudder, abs=0.01)


def test_a_turn_that_is_not_coordinated_gets_ever_more_rudder():
    cascade = engaged()
    turning = LEVEL._replace(roll=0.3)
    cascade.hold_attitude(AttitudeTarget(roll=0.3))
    first = cascade.update(turning, 0.02)
    for _ in range(50):
        last = cascade.update(turning, 0.02)
    assert last.rudder > first.rudder + 0.01


def test_the_file_of_the_c172p_is_near_the_defaults():
    """It is tuned for the same flight, with the delay of a bridge; they were set by hand."""
    found, default = load('c172p'), Gains()
    assert found.airspeed == default.airspeed
    for name in ('roll_rate_to_aileron', 'pitch_rate_to_elevator', 'yaw_rate_to_rudder',
                 'course_to_turn_rate', 'altitude_to_climb', 'airspeed_to_throttle'):
        assert getattr(found, name) == pytest.approx(getattr(default, name), rel=0.35), name


def test_a_file_of_gains_is_read(tmp_path):
    path = tmp_path / 'own.yaml'
    path.write_text('/**: {ros__parameters: {gains: {airspeed: 80, climb_limit: 9.0}}}')
    assert load(path) == Gains(airspeed=80.0, climb_limit=9.0)


@pytest.mark.parametrize(('text', 'sentence'), [
    ('/**: {ros__parameters: {gains: {speed: 80}}}', 'gains.speed is unknown'),
    ('/**: {ros__parameters: {gains: {airspeed: fast}}}', 'gains.airspeed: expected a number'),
    ('/**: {ros__parameters: {gains: 3}}', 'gains: expected names with numbers'),
    ('gains: {airspeed: 80}', 'expected the parameters below'),
    ('a: [', 'own.yaml'),
])
def test_a_file_that_is_none_is_refused(text, sentence, tmp_path):
    path = tmp_path / 'own.yaml'
    path.write_text(text)
    with pytest.raises(ValueError, match=sentence):
        load(path)


def test_an_unknown_aircraft_is_refused_with_the_known_ones():
    with pytest.raises(ValueError, match='no gains are known for concorde: .*c172p'):
        load('concorde')
