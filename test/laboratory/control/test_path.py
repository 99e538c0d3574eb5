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

"""Paths: legs, arcs, and where an aircraft is on them. Pure geometry."""

import math

import pytest

from xplane_bridge.laboratory.control.path import (
    bank_to_follow,
    course_to_follow,
    PathFollower,
    turn_radius,
)

SQUARE = [(1000.0, 0.0), (1000.0, 1000.0), (0.0, 1000.0), (0.0, 0.0)]
EAST = math.pi / 2.0


def flown(follower, speed=50.0, gain=0.4, start=(0.0, 0.0), course=EAST, seconds=400.0, lag=0.0):
    """Return (OnPath, east, north) of a point that turns at the rate of the law's bank."""
    east, north = start
    rate = 0.0
    log = []
    for _ in range(round(seconds * 20)):
        at = follower.locate(east, north)
        log.append((at, east, north))
        if follower.done:
            break
        bank = bank_to_follow(at, course, speed, gain)
        wanted = math.tan(max(min(bank, 0.9), -0.9)) * 9.80665 / speed
        rate += (wanted - rate) * (1.0 if lag == 0.0 else 0.05 / lag)
        course += rate * 0.05
        east, north = east + speed * 0.05 * math.sin(course), north + (
            speed * 0.05 * math.cos(course))
    return log


def worst(log):
    return max(abs(at.across) for at, _, _ in log)


def test_a_corner_is_cut_by_an_arc_of_the_radius():
    path = PathFollower((0.0, 0.0), SQUARE[:2], 200.0)
    # On the leg, in the middle of the arc around (800, 200), and on the next leg.
    assert path.locate(400.0, 3.0).across == pytest.approx(-3.0)
    middle = path.locate(800.0 + 200.0 * math.sin(math.pi / 4), 200.0 - 200.0 * math.sqrt(0.5))
    assert middle.across == pytest.approx(0.0, abs=1e-9)
    assert middle.course == pytest.approx(math.pi / 4)
    assert middle.curvature == pytest.approx(-1.0 / 200.0)
    after = path.locate(1004.0, 500.0)
    assert (after.leg, after.across, after.left) == (1, pytest.approx(4.0), pytest.approx(500.0))
    assert not path.done
    path.locate(1000.0, 1001.0)
    assert path.done


def test_distances_are_those_along_the_path():
    path = PathFollower((0.0, 0.0), SQUARE[:2], 200.0)
    arc = 200.0 * math.pi / 2.0
    at = path.locate(0.0, 0.0)
    # A leg ends with its arc.
    assert at.left == pytest.approx(800.0 + arc)
    assert at.left_of_path == pytest.approx(1600.0 + arc)
    assert path.legs == 2


def test_the_curvature_of_the_next_piece_is_fed_forward():
    path = PathFollower((0.0, 0.0), SQUARE[:2], 200.0, lead=50.0)
    assert path.locate(740.0, 0.0).curvature == 0.0
    assert path.locate(760.0, 0.0).curvature == pytest.approx(-1.0 / 200.0)


@pytest.mark.parametrize('course', [EAST, 0.0, -2.0, math.pi])
def test_it_begins_with_the_course_of_the_aircraft(course):
    path = PathFollower((0.0, 0.0), [(3000.0, 0.0), (3000.0, 3000.0)], 300.0, 30.0, course)
    at = path.locate(0.0, 0.0)
    assert math.remainder(at.course - course, math.tau) == pytest.approx(0.0, abs=1e-3)
    assert worst(flown(path, course=course, lag=0.6)) < 5.0


def test_a_first_waypoint_within_the_turn_is_reached_the_other_way_round():
    path = PathFollower((0.0, 0.0), [(0.0, 200.0), (0.0, 3000.0)], 300.0, 0.0, 2.0)
    # The circle to the left would have it inside.
    assert path.locate(1.0, -1.0).curvature == pytest.approx(1.0 / 300.0)
    assert worst(flown(path, course=2.0)) < 12.0
    assert path.done


@pytest.mark.parametrize('waypoints', [
    SQUARE,
    [(2000.0, 0.0), (2000.0, 1000.0), (0.0, 1500.0)],
    # Back where it came from; nearly; and a hairpin with legs that are too short for its arc.
    [(3000.0, 0.0), (0.0, 0.0)],
    [(3000.0, 0.0), (0.0, 300.0), (3000.0, 600.0)],
    [(3000.0, 0.0), (2600.0, 300.0), (-1000.0, 300.0)],
])
def test_every_route_is_flown_along_its_path_and_over_its_last_waypoint(waypoints):
    path = PathFollower((0.0, 0.0), waypoints, 350.0, 0.6 * 50.0)
    log = flown(path, lag=0.6)
    assert path.done
    assert worst(log) < 5.0
    at, east, north = log[-1]
    assert math.dist((east, north), waypoints[-1]) < 6.0
    # Legs come in order.
    legs = [one.leg for one, _, _ in log]
    assert legs == sorted(legs)
    assert set(legs) == set(range(len(waypoints)))


def test_a_u_turn_returns_over_its_waypoint_and_stays_near():
    path = PathFollower((0.0, 0.0), [(3000.0, 0.0), (0.0, 0.0)], 350.0)
    drawn = path.drawn()
    assert any(math.dist(point, (3000.0, 0.0)) < 1.0 for point in drawn)
    assert max(east for east, _ in drawn) < 3000.0 + 2.8 * 350.0
    assert max(abs(north) for _, north in drawn) < 1.6 * 350.0


def test_corners_too_close_for_the_radius_are_flown_tighter():
    path = PathFollower((0.0, 0.0), [(1000.0, 0.0), (1000.0, 300.0), (3000.0, 300.0)], 350.0)
    # Of the leg of 300 m each arc has half.
    path.locate(900.0, 0.0)
    assert path._segments[1].radius == pytest.approx(150.0)


def test_a_closed_route_goes_round_again_and_again():
    path = PathFollower((-500.0, 0.0), SQUARE, 150.0, 18.0, closed=True)
    log = flown(path, 30.0, start=(-500.0, 0.0), lag=0.6, seconds=350.0)
    assert not path.done
    assert path.laps == 2
    assert worst(log) < 6.0
    legs = [at.leg for at, _, _ in log]
    assert set(legs) == {0, 1, 2, 3, 4}
    assert legs.index(0) == 0
    assert 0 not in legs[legs.index(1):]


def test_two_waypoints_may_be_closed():
    path = PathFollower((0.0, 0.0), [(2000.0, 0.0), (0.0, 0.0)], 300.0, 30.0, closed=True)
    assert worst(flown(path, lag=0.6)) < 10.0
    assert path.laps


def test_a_dense_path_is_flown_as_a_curve():
    radius, spacing = 600.0, 20.0
    count = round(math.pi * radius / spacing)
    points = [(radius * math.sin(angle), radius * (1.0 - math.cos(angle)))
              for angle in (math.pi * n / count for n in range(1, count + 1))]
    path = PathFollower((0.0, 0.0), points, 400.0, 30.0)
    log = flown(path, lag=0.6)
    assert path.done
    assert max(abs(math.dist((e, n), (0.0, radius)) - radius) for _, e, n in log[100:]) < 3.0
    bends = {round(at.curvature, 6) for at, _, _ in log[20:-40]}
    assert max(bends) < 0.0
    assert min(bends) > -1.2 / radius


def test_its_corners_give_the_same_path_again():
    waypoints = [(3000.0, 0.0), (3000.0, 2000.0), (0.0, 2000.0), (3000.0, 1950.0)]
    path = PathFollower((0.0, 0.0), waypoints, 400.0)
    first, *others = path.corners()
    again = PathFollower(first, others, 400.0)
    assert len(others) < 60
    for _, east, north in flown(path):
        assert abs(again.locate(east, north).across) < 4.0


def test_a_circle_has_no_end():
    path = PathFollower.circle((0.0, 0.0), 300.0, -1.0)
    log = flown(path, start=(300.0, 0.0), course=0.0, seconds=120.0)
    assert worst(log) < 2.0
    assert log[-1][0].left > 1e6


def test_far_from_the_path_it_is_approached_at_an_angle():
    path = PathFollower((0.0, 0.0), [(9000.0, 0.0)], 300.0)
    at = path.locate(0.0, -5000.0)
    assert course_to_follow(at, 50.0, 0.4) == pytest.approx(math.radians(30.0), abs=0.05)
    log = flown(path, start=(0.0, -1500.0))
    assert abs(log[-1][0].across) < 1.0


def test_a_controller_that_hears_courses_is_led_through_a_turn():
    path = PathFollower((0.0, 0.0), SQUARE, 300.0)
    east, north, course, speed, gain, log = 0.0, 0.0, EAST, 40.0, 0.5, []
    while not path.done:
        at = path.locate(east, north)
        log.append(abs(at.across))
        wanted = course_to_follow(at, speed, gain)
        course += gain * math.remainder(wanted - course, math.tau) * 0.05
        east, north = east + speed * 0.05 * math.sin(course), north + (
            speed * 0.05 * math.cos(course))
    assert max(log) < 12.0


@pytest.mark.parametrize(('waypoints', 'closed', 'sentence'), [
    ([], False, 'at least 1 waypoint, got 0'),
    ([(1.0, 0.0)], True, 'at least 2 waypoints, got 1'),
    ([(1.0, 0.0), (1.0, 0.0)], False, 'waypoints 0 and 1 of the route are the same'),
    ([(0.0, 0.0)], False, 'is where it starts'),
    ([(1.0, 0.0), (2.0, 0.0), (1.0, 0.0)], True, 'the first one again'),
    ([(math.nan, 0.0)], False, 'not finite'),
])
def test_impossible_routes_are_refused(waypoints, closed, sentence):
    with pytest.raises(ValueError, match=sentence):
        PathFollower((0.0, 0.0), waypoints, 100.0, closed=closed)


def test_the_radius_of_a_turn():
    # By hand: 50 m/s at 45 deg of bank: 50^2 / 9.80665 = 254.9 m.
    assert turn_radius(50.0, math.pi / 4.0) == pytest.approx(254.93, abs=0.01)
