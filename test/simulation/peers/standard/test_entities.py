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

"""The aircraft as entities: hand-computed poses, filters and rejections."""

from dataclasses import replace
import math

import pytest

pytest.importorskip('jsbsim', reason='needs JSBSim (pip install jsbsim)')

from xplane_bridge.simulation.aircraft.aircraft import Aircraft
from xplane_bridge.simulation.aircraft.initial import Initial
from xplane_bridge.simulation.peers.standard.entities import (
    BadPoseError,
    DYNAMIC_OBJECT,
    Entities,
    EntityMotion,
    ROBOT,
    UnknownNameError,
)
from xplane_bridge.simulation.peers.standard.filters import Box, Filters, posix_pattern, Sphere
from xplane_bridge.simulation.peers.world import World

DATUM = (47.0, 8.0, 500.0)
LEVEL_EAST = (1.0, 0.0, 0.0, 0.0)
# Half a turn's sine and cosine: nose to the north.
NORTH = (math.sqrt(0.5), 0.0, 0.0, math.sqrt(0.5))


@pytest.fixture
def world():
    return World(Aircraft(initial=Initial(lat_deg=47.0, lon_deg=8.0, heading_deg=90.0)))


@pytest.fixture
def entities(world):
    return Entities(world, DATUM, 'world')


def is_state(world, tolerance=1e-6, **expected):
    state = world.aircraft.state
    for name, value in expected.items():
        assert getattr(state, name) == pytest.approx(value, abs=tolerance), name


def mean(first, second, name):
    return [(a + b) / 2 for a, b in zip(
        getattr(first, name), getattr(second, name), strict=True)]


def snapshot(world):
    return world.aircraft.state, [
        (o.lat_deg, o.lon_deg, o.altitude_msl, o.phi, o.theta, o.psi, o.speed, tuple(o.throttle))
        for o in world.others]


# Reading


def test_over_the_datum_it_is_up_and_its_nose_is_where_it_flies(entities, world):
    motion = entities.motion('aircraft_0')
    assert motion.position == pytest.approx((0.0, 0.0, 1000.0), abs=0.01)
    # Heading east, forward is x; pitch up is a rotation about -y.
    pitch = world.aircraft.state.theta
    assert motion.orientation == pytest.approx(
        (math.cos(pitch / 2), 0.0, -math.sin(pitch / 2), 0.0), abs=1e-5)
    assert motion.velocity == pytest.approx(
        (world.aircraft.state.ground_speed, 0.0, 0.0), abs=0.01)


def test_bank_pitch_and_heading_by_hand(entities, world):
    # 30 degrees right bank, nose 10 degrees up, heading south-east (135 degrees).
    world.teleport(0, pitch_deg=10.0, roll_deg=30.0, heading_deg=135.0)
    w, x, y, z = entities.motion('aircraft_0').orientation
    s = 1.0 / (w * w + x * x + y * y + z * z)
    forward = (1 - 2 * s * (y * y + z * z), 2 * s * (x * y + w * z), 2 * s * (x * z - w * y))
    left = (2 * s * (x * y - w * z), 1 - 2 * s * (x * x + z * z), 2 * s * (y * z + w * x))
    across = math.cos(math.radians(10.0)) * math.sqrt(0.5)
    assert forward == pytest.approx((across, -across, math.sin(math.radians(10.0))), abs=1e-6)
    # Banked to the right the left wing is up.
    assert left[2] == pytest.approx(
        math.sin(math.radians(30.0)) * math.cos(math.radians(10.0)), abs=1e-6)


def test_the_earth_falls_away_below_the_frame(entities, world):
    world.teleport(0, lon_deg=9.0, altitude_msl=1500.0)
    east, north, up = entities.motion('aircraft_0').position
    radius = 6_388_800.0 * math.cos(math.radians(47.0))
    assert east == pytest.approx(radius * math.sin(math.radians(1.0)), rel=1e-3)
    # A parallel bends towards the pole, and the ground falls by d^2 / 2 R.
    assert north == pytest.approx(
        radius * math.sin(math.radians(47.0)) * (1 - math.cos(math.radians(1.0))), rel=0.01)
    assert up == pytest.approx(1000.0 - east ** 2 / (2 * 6_388_800.0), abs=5.0)


def test_rates_and_accelerations_are_those_that_the_motion_has(entities, world):
    world.others[2].yoke_roll, world.others[2].yoke_pitch = 0.5, 0.3
    world.aircraft.set_controls(elevator=0.3, aileron=0.4)
    for _ in range(40):
        world.advance(1 / 120)
    for name, tolerance in (('aircraft_0', 0.03), ('aircraft_3', 0.03)):
        first = entities.motion(name)
        world.advance(1 / 120)
        second = entities.motion(name)
        for value, rate in (('position', 'velocity'), ('velocity', 'acceleration')):
            changes = [(b - a) * 120 for a, b in zip(
                getattr(first, value), getattr(second, value), strict=True)]
            assert changes == pytest.approx(mean(first, second, rate), abs=tolerance), value
        # For a small rotation the quaternion's vector is half of it.
        w, x, y, z = first.orientation
        v, i, j, k = second.orientation
        turn = (w * i - v * x + (z * j - y * k), w * j - v * y + (x * k - z * i),
                w * k - v * z + (y * i - x * j))
        sign = math.copysign(1.0, w * v + x * i + y * j + z * k)
        assert [2 * 120 * sign * c for c in turn] == pytest.approx(
            mean(first, second, 'angular_velocity'), abs=tolerance)


# Placement


def test_what_was_read_may_be_written_back(entities, world):
    world.teleport(0, pitch_deg=12.0, roll_deg=-40.0, heading_deg=200.0)
    world.others[4].yoke_roll = 0.4
    for _ in range(30):
        world.advance(1 / 60)
    for name in ('aircraft_0', 'aircraft_5'):
        before = entities.motion(name)
        entities.place(name, before)
        after = entities.motion(name)
        for part in ('position', 'orientation', 'velocity', 'angular_velocity'):
            assert getattr(after, part) == pytest.approx(getattr(before, part), abs=1e-6), part


def test_it_is_put_where_it_is_told_and_nothing_else_changes(entities, world):
    before, others = snapshot(world)
    entities.place('aircraft_0', EntityMotion(
        (0.0, 0.0, 700.0), NORTH, (-5.0, 40.0, 2.0), (0.0, 0.0, 0.1)))
    is_state(world, lat_deg=47.0, lon_deg=8.0, altitude_msl=1200.0, phi=0.0, theta=0.0, psi=0.0,
             v_north=40.0, v_east=-5.0, v_down=-2.0, p=0.0, q=0.0, r=-0.1)
    assert snapshot(world)[1] == others
    now = world.aircraft.state
    assert (now.time, now.fuel, now.engines[0].throttle, now.elevator_trim) == (
        before.time, before.fuel, before.engines[0].throttle, before.elevator_trim)


def test_a_pose_alone_takes_the_velocity_along(entities, world):
    speed = world.aircraft.state.ground_speed
    entities.place('aircraft_0', EntityMotion((0.0, 0.0, 700.0), NORTH), with_velocity=False)
    assert world.aircraft.state.v_north == pytest.approx(speed, abs=0.3)
    entities.place('aircraft_0', EntityMotion(
        (9e9, 0.0, 0.0), LEVEL_EAST, (0.0, 30.0, 0.0)), with_pose=False)
    is_state(world, altitude_msl=1200.0, psi=0.0, v_north=30.0, v_east=0.0)


def test_a_frame_is_another_aircraft(entities, world):
    world.teleport(0, pitch_deg=0.0, roll_deg=0.0, heading_deg=0.0)
    # 200 m ahead of a northbound aircraft, 100 m left, 50 m above, and faster.
    entities.place('aircraft_4', EntityMotion(
        (200.0, 100.0, 50.0), LEVEL_EAST, (60.0, 0.0, 0.0)), frame='aircraft_0')
    motion = entities.motion('aircraft_4')
    assert motion.position == pytest.approx((-100.0, 200.0, 1050.0), abs=0.05)
    assert motion.velocity == pytest.approx((0.0, 60.0, 0.0), abs=0.01)


def test_trimmed_it_flies_on_in_wind_and_turbulence_as_it_was_put(entities, world):
    aircraft = world.aircraft
    aircraft.set_controls(elevator=0.5, aileron=-0.3, throttle=0.1, flaps=0.3)
    aircraft.set_wind(6.0, -8.0)
    fuel = aircraft.state.fuel
    entities.place('aircraft_0', EntityMotion(
        (3000.0, 0.0, 1500.0), NORTH, (-8.0, 56.0, 0.0)), trimmed=True)
    state = aircraft.state
    # 3 km east of the datum the ground has fallen by 0.7 m, and north has turned by 0.03 degrees.
    is_state(world, 0.05, altitude_msl=2000.7, psi=0.0005, tas=50.0, v_north=56.0, v_east=-8.0,
             flaps=0.3, wind_north=6.0, wind_east=-8.0, elevator=0.0, aileron=0.0)
    assert state.fuel == fuel
    for _ in range(600):
        world.advance(1 / 60)
    state = aircraft.state
    assert state.tas == pytest.approx(50.0, abs=0.2)
    assert state.altitude_msl == pytest.approx(2000.7, abs=1.0)
    assert abs(math.degrees(state.phi)) < 1.0


def test_one_that_cannot_be_trimmed_stays_where_it_is(entities, world):
    before = snapshot(world)
    slow = EntityMotion((0.0, 0.0, 700.0), NORTH, (0.0, 10.0, 0.0))
    with pytest.raises(ValueError, match='cannot be trimmed at 10.0 m/s'):
        entities.place('aircraft_0', slow, trimmed=True)
    with pytest.raises(ValueError, match='without airspeed'):
        entities.place('aircraft_0', replace(slow, velocity=(0.0, 0.0, 0.0)), trimmed=True)
    assert snapshot(world) == before
    world.aircraft.fail_engine()
    before = snapshot(world)
    with pytest.raises(ValueError, match='engine'):
        entities.place('aircraft_0', EntityMotion((0.0, 0.0, 700.0), NORTH), with_velocity=False,
                       trimmed=True)
    assert snapshot(world) == before


def test_trimmed_traffic_holds_its_speed(entities, world):
    world.others[0].yoke_roll = 1.0
    entities.place('aircraft_1', EntityMotion((0.0, 50.0, 900.0), NORTH, (0.0, 70.0, 0.0)),
                   trimmed=True)
    for _ in range(300):
        world.advance(1 / 60)
    assert entities.motion('aircraft_1').velocity == pytest.approx((0.0, 70.0, 0.0), abs=0.1)


@pytest.mark.parametrize(('name', 'motion', 'error', 'sentence'), [
    ('aircraft_20', EntityMotion((0.0, 0.0, 700.0), NORTH), UnknownNameError,
     'are aircraft_0, air'),
    ('aircraft_0', EntityMotion((math.nan, 0.0, 700.0), NORTH), BadPoseError, 'finite'),
    ('aircraft_0', EntityMotion((0.0, 0.0, 700.0), (0.0, 0.0, 0.0, math.inf)), BadPoseError,
     'finite'),
    ('aircraft_0', EntityMotion((0.0, 0.0, 700.0), (0.0, 0.0, 0.0, 0.0)), BadPoseError, 'norm'),
    ('aircraft_0', EntityMotion((0.0, 0.0, -700.0), NORTH), BadPoseError, 'below the ground'),
    ('aircraft_0', EntityMotion((0.0, 0.0, 30e3), NORTH), BadPoseError, 'beyond 25000 m'),
    ('aircraft_0', EntityMotion((0.0, 4.9e6, -1.5e6), NORTH), BadPoseError, 'm '),
    ('aircraft_0', EntityMotion((0.0, 0.0, 700.0), NORTH, (math.nan, 0.0, 0.0)), ValueError,
     'finite'),
    ('aircraft_0', EntityMotion((0.0, 0.0, 700.0), NORTH, (500.0, 0.0, 0.0)), ValueError,
     '400 m/s'),
    ('aircraft_0', EntityMotion((0.0, 0.0, 700.0), NORTH, (0.0, 0.0, 0.0), (0.0, 30.0, 0.0)),
     ValueError, 'rad/s'),
    ('aircraft_2', EntityMotion((0.0, 0.0, 700.0), NORTH, (50.0, 0.0, 0.0)), ValueError, 'nose'),
    ('aircraft_2', EntityMotion((0.0, 0.0, 700.0), NORTH, (0.0, 90.0, 0.0)), ValueError, '80 m/s'),
])
def test_what_cannot_be_is_refused_and_changes_nothing(
        entities, world, name, motion, error, sentence):
    before = snapshot(world)
    with pytest.raises(error, match=sentence):
        entities.place(name, motion)
    assert snapshot(world) == before


def test_an_unknown_frame_is_refused(entities):
    with pytest.raises(UnknownNameError, match="'world'"):
        entities.place('aircraft_0', EntityMotion((0.0, 0.0, 700.0), NORTH), frame='map')


# Selection


@pytest.mark.parametrize(('filters', 'count'), [
    (Filters(), 20),
    (Filters('aircraft_1'), 1),
    (Filters('aircraft_1.*'), 11),
    (Filters('aircraft_[[:digit:]]{2}'), 10),
    (Filters('(aircraft_0|.*_1[0-2])'), 4),
    (Filters('car'), 0),
    (Filters(categories=(ROBOT,)), 1),
    (Filters(categories=(DYNAMIC_OBJECT,)), 19),
    (Filters(categories=(2, 5)), 0),
    (Filters(tags=('aircraft',)), 20),
    (Filters(tags=('flown', 'traffic')), 20),
    (Filters(tags=('aircraft', 'traffic'), all_tags=True), 19),
    (Filters(tags=('flown', 'traffic'), all_tags=True), 0),
    # Abreast of it, 150 m apart, to the north and to the south.
    (Filters(bounds=Sphere((0.0, 0.0, 1000.0), 160.0)), 3),
    (Filters(bounds=Box((-10.0, 1.0, 900.0), (10.0, -400.0, 1100.0))), 3),
    (Filters('.*_[0-9]', (DYNAMIC_OBJECT,), bounds=Sphere((0.0, 0.0, 1000.0), 310.0)), 4),
])
def test_filters(entities, filters, count):
    assert len(entities.select(filters)) == count


def test_without_traffic_there_is_one(world):
    alone = Entities(world, DATUM, 'world', count=1)
    assert alone.select(Filters()) == ['aircraft_0']
    with pytest.raises(UnknownNameError, match='there is aircraft_0'):
        alone.info('aircraft_1')


@pytest.mark.parametrize(('pattern', 'text', 'matches'), [
    ('a.c', 'a\nc', True),
    ('a$', 'a\n', False),
    ('[]x]+', ']x]', True),
    ('[^]]', ']', False),
    (r'[\d]+', '\\d', True),
    ('[[:alpha:]_]+', 'ab_c', True),
    (r'a\.b', 'axb', False),
    ('a{2,3}', 'aaaa', False),
    ('(ab|c)*', 'abcab', True),
])
def test_patterns_mean_what_posix_has_them_mean(pattern, text, matches):
    assert (posix_pattern(pattern).fullmatch(text) is not None) == matches


@pytest.mark.parametrize('pattern', [
    r'a\d', 'a**', 'a+?', '(?=a)', '*a', '(', '[a', 'a{', '[z-a]', '[[:word:]]', '[[.a.]]'])
def test_patterns_without_meaning_are_refused(pattern):
    with pytest.raises(ValueError, match='regular|POSIX|collating'):
        posix_pattern(pattern)
