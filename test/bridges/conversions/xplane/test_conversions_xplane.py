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

"""X-Plane's datarefs as a state when some of them are missing."""

from dataclasses import replace
import math

import pytest

from xplane_bridge.bridges.conversions import axes
from xplane_bridge.bridges.conversions.xplane.state import (
    force_difference,
    local_attitude,
    local_orientation,
    missed,
    observed_datarefs,
    origin,
    OWN_DATAREFS,
    own_datarefs,
    own_state,
    turn_from_origin,
    Values,
)
from xplane_bridge.bridges.xplane_udp.conversion import rows_state
from xplane_bridge.bridges.xplane_udp.protocol import to_segments

POSITION = 'sim/flightmodel/position/'
PLACE = (47.0, 8.0, 1500.0)
ATTITUDE = (90.0, 0.0, 0.0)


def values_without(*absent):
    """Return 0.5 for each dataref except the missing ones."""
    assert set(absent) <= set(OWN_DATAREFS)
    return dict.fromkeys((name for name in OWN_DATAREFS if name not in absent), 0.5)


def test_one_dataref_that_does_not_come_empties_its_own_field_only():
    full = own_state(PLACE, ATTITUDE, values_without())
    assert None not in (full.angular_velocity, full.specific_force, full.velocity)
    lacking = own_state(PLACE, ATTITUDE, values_without(POSITION + 'Prad'))
    assert lacking.angular_velocity is None
    assert (lacking.specific_force, lacking.velocity, lacking.air, lacking.controls) == (
        full.specific_force, full.velocity, full.air, full.controls)
    lacking = own_state(PLACE, ATTITUDE, values_without(POSITION + 'indicated_airspeed'))
    assert (lacking.air.indicated_airspeed, lacking.air.dynamic_pressure) == (None, None)
    assert (lacking.air.true_airspeed, lacking.air.wind) == (
        full.air.true_airspeed, full.air.wind)


@pytest.mark.parametrize('value', [math.nan, math.inf, -math.inf])
def test_a_value_that_is_not_finite_is_none_and_named(value):
    name = POSITION + 'Prad'
    state = own_state(PLACE, ATTITUDE, values_without() | {name: value})
    assert state.impossible == ((name, value),)
    assert replace(state, impossible=()) == (
        own_state(PLACE, ATTITUDE, values_without(name)))


@pytest.mark.parametrize('value', [math.nan, math.inf])
@pytest.mark.parametrize('name', ['pitch', 'wind_from', 'static_pressure', 'velocity_up'])
def test_a_row_s_value_that_is_not_finite_is_none_and_named(name, value):
    given = {'pitch': 0.1, 'roll': 0.2, 'true_heading': 1.0, 'static_pressure': 9e4,
             'wind_speed': 3.0, 'wind_from': 1.0,
             'velocity_east': 1.0, 'velocity_up': 2.0, 'velocity_south': 3.0}
    state = rows_state(10, to_segments(10, given | {name: value}))
    (named, got), = state.impossible
    assert named == name
    assert math.isnan(got) or got == value
    del given[name]
    assert replace(state, impossible=()) == rows_state(10, to_segments(10, given))


def test_huge_values_whose_sum_is_infinite_are_values():
    huge = values_without() | dict.fromkeys((POSITION + 'Prad', POSITION + 'Qrad'), 1e308)
    assert own_state(PLACE, ATTITUDE, huge).angular_velocity == (1e308, -1e308, -0.5)


@pytest.mark.parametrize(('up', 'difference'), [(2.0, 0.0), (2.0 + 9.80665, 9.80665)])
def test_accelerations_that_contain_gravity_differ_by_it_from_the_loads(up, difference):
    """Level, heading north, at the origin: 1 m/s^2 forwards, 2 upwards, and gravity's load."""
    forces = 'sim/flightmodel/forces/g_'
    given = {
        POSITION + 'lat_ref': 47.0, POSITION + 'lon_ref': 8.0,
        **{POSITION + f'true_{axis}': 0.0 for axis in ('psi', 'theta', 'phi')},
        POSITION + 'local_ax': 0.0, POSITION + 'local_ay': up, POSITION + 'local_az': -1.0,
        forces + 'axil': -1.0 / 9.80665, forces + 'side': 0.0, forces + 'nrml': 1 + 2 / 9.80665}
    state = own_state(PLACE, (0.0, 0.0, 0.0), given)
    assert force_difference(PLACE, state, given) == pytest.approx(difference, abs=1e-9)
    for name in (forces + 'side', POSITION + 'local_ax'):
        less = {key: value for key, value in given.items() if key != name}
        assert force_difference(PLACE, state, less) is None
    assert force_difference(PLACE, replace(state, orientation=None), given) is None
    assert force_difference(PLACE, replace(state, specific_force=None), given) is None


def test_without_any_dataref_the_attitude_of_the_position_is_left():
    state = own_state(PLACE, ATTITUDE, {})
    assert state.orientation is not None
    assert (state.angular_velocity, state.specific_force, state.velocity) == (None, None, None)


@pytest.mark.parametrize(('absent', 'expected'), [
    ((), []),
    # X-Plane 9 has no true attitude, and nothing before 12 has the new weather names.
    (tuple(POSITION + f'true_{axis}' for axis in ('psi', 'theta', 'phi')), []),
    (tuple(name for name in OWN_DATAREFS if 'weather/aircraft/' in name), []),
    # Each of the two ways of giving the attitude lacks one of its three datarefs.
    ((POSITION + 'true_psi', POSITION + 'phi'), [POSITION + 'true_psi', POSITION + 'phi']),
    ((POSITION + 'Prad', POSITION + 'true_psi'), [POSITION + 'Prad']),
])
def test_missed_is_what_no_other_dataref_says(absent, expected):
    assert missed(absent) == expected


WEATHER = 'sim/weather/'


def flying(**changes):
    """Return the datarefs of an aircraft that flies north, nose up, at the origin."""
    return {
        POSITION + 'lat_ref': 47.0, POSITION + 'lon_ref': 8.0, POSITION + 'true_psi': 0.0,
        POSITION + 'true_theta': 10.0, POSITION + 'true_phi': 0.0, POSITION + 'Prad': 0.1,
        POSITION + 'Qrad': 0.2, POSITION + 'Rrad': 0.3, POSITION + 'local_vx': 1.0,
        POSITION + 'local_vy': 2.0, POSITION + 'local_vz': -50.0, POSITION + 'alpha': 4.0,
        POSITION + 'indicated_airspeed': 100.0, POSITION + 'true_airspeed': 55.0,
        POSITION + 'groundspeed': 50.0,
        **{f'sim/flightmodel/forces/g_{axis}': value
           for axis, value in (('axil', 0.1), ('side', 0.2), ('nrml', 1.3))},
        WEATHER + 'temperature_ambient_c': 10.0, WEATHER + 'barometer_current_inhg': 29.0,
        **{WEATHER + f'wind_now_{axis}_msc': value
           for axis, value in (('x', 3.0), ('y', 0.5), ('z', 4.0))},
        'sim/time/total_running_time_sec': 77.0, **changes}


def test_all_of_a_state_by_hand():
    state = own_state(PLACE, None, flying())
    assert (state.latitude_deg, state.longitude_deg, state.altitude_msl) == PLACE
    half = math.radians(5.0)
    # Facing north is half a right angle from east; nose up turns about the left wing.
    root = math.sqrt(0.5)
    assert state.orientation == pytest.approx((
        root * math.cos(half), root * math.sin(half), -root * math.sin(half),
        root * math.cos(half)))
    assert state.angular_velocity == pytest.approx((0.1, -0.2, -0.3))
    assert state.velocity == pytest.approx((1.0, 50.0, 2.0))
    g = 9.80665
    assert state.specific_force == pytest.approx((-0.1 * g, -0.2 * g, 1.3 * g))
    air = state.air
    knots = 1852.0 / 3600.0
    assert air.indicated_airspeed == pytest.approx(100.0 * knots)
    assert air.dynamic_pressure == pytest.approx(0.5 * 1.225 * (100.0 * knots) ** 2)
    assert (air.true_airspeed, air.angle_of_attack) == (55.0, pytest.approx(math.radians(4.0)))
    assert air.static_pressure == pytest.approx(29.0 * 3386.389, rel=1e-6)
    assert air.temperature == pytest.approx(283.15)
    assert air.density == pytest.approx(29.0 * 3386.389 / (287.053 * 283.15), rel=1e-5)
    assert air.wind == pytest.approx((3.0, -4.0, 0.5))
    # The air comes from the left: its sideways part by the whole.
    relative = (1.0 - 3.0, 50.0 + 4.0, 2.0 - 0.5)
    assert air.sideslip == pytest.approx(math.asin(relative[0] / math.hypot(*relative)))
    assert (state.time, state.paused, state.crashed) == (77.0, False, False)


@pytest.mark.parametrize(('value', 'crashed'), [(0.0, False), (1.0, True), (2.0, False)])
def test_a_crash_is_a_one(value, crashed):
    state = own_state(PLACE, None, flying(**{'sim/flightmodel2/misc/has_crashed': value}))
    assert state.crashed is crashed
    assert own_state(PLACE, None, flying(**{'sim/time/paused': value})).paused is bool(value)


def test_the_newest_names_of_the_weather_come_first():
    newer = {
        WEATHER + 'aircraft/temperature_ambient_deg_c': -5.0,
        WEATHER + 'aircraft/barometer_current_pas': 91e3,
        **{WEATHER + f'aircraft/wind_now_{axis}_msc': value
           for axis, value in (('x', 7.0), ('y', 0.0), ('z', -8.0))}}
    air = own_state(PLACE, None, flying(**newer)).air
    assert (air.temperature, air.static_pressure) == (pytest.approx(268.15), 91e3)
    assert air.wind == pytest.approx((7.0, 8.0, 0.0))
    # A wind of which a part does not come is that of the other names.
    newer.pop(WEATHER + 'aircraft/wind_now_y_msc')
    assert own_state(PLACE, None, flying(**newer)).air.wind == pytest.approx((3.0, -4.0, 0.5))


@pytest.mark.parametrize(('speed', 'on_ground', 'parked'), [
    (0.29, 1.0, True), (0.3, 1.0, False), (0.0, 0.0, False)])
def test_what_a_parked_aircraft_feels_is_its_weight(speed, on_ground, parked):
    state = own_state(PLACE, None, flying(**{
        POSITION + 'groundspeed': speed, 'sim/flightmodel/failures/onground_any': on_ground}))
    weight = 9.80665 * math.sin(math.radians(10.0)), 0.0, 9.80665 * math.cos(math.radians(10.0))
    assert (state.specific_force == pytest.approx(weight, abs=1e-9)) is parked


@pytest.mark.parametrize('version', [11, 12])
def test_each_version_is_asked_for_its_own_weather(version):
    names = own_datarefs(version)
    assert [name for name in names if not name.startswith(WEATHER)] == [
        name for name in OWN_DATAREFS if not name.startswith(WEATHER)]
    weather = [name for name in names if name.startswith(WEATHER)]
    assert len(weather) == 5
    assert all(name.startswith(WEATHER + 'aircraft/') is (version == 12) for name in weather)
    observed = observed_datarefs(version)
    assert {POSITION + 'true_psi', POSITION + 'lat_ref', *weather} <= {*observed}
    assert not {POSITION + 'psi', POSITION + 'latitude', POSITION + 'local_ax',
                'sim/time/paused', 'sim/flightmodel2/misc/has_crashed'} & {*observed}


def test_an_attitude_is_relative_to_the_axes_at_the_origin():
    """Two degrees east of it, at 47 degrees north, the meridian points 1.5 degrees west."""
    place, at = (47.0, 10.0), (47.0, 8.0)
    roll, pitch, heading = local_attitude((0.0, 0.0, 0.0), place, at)
    assert heading == pytest.approx(-math.radians(2.0) * math.sin(math.radians(47.0)), abs=1e-4)
    assert (roll, pitch) == pytest.approx((0.0, 0.0), abs=0.03)
    attitude = (0.3, 0.2, 0.1)
    assert local_attitude(attitude, place, place) == pytest.approx(attitude)
    # And back again.
    local = local_attitude(attitude, place, at)
    turn = turn_from_origin(Values({
        POSITION + 'lat_ref': at[0], POSITION + 'lon_ref': at[1]}), (*place, 0.0))
    back = local_orientation(tuple(math.degrees(local[n]) for n in (2, 1, 0)), turn)
    assert axes.quaternion_to_euler(axes.enu_flu_to_ned_frd(back)) == pytest.approx(attitude)


def test_the_origin_is_where_x_plane_says():
    given = {POSITION + 'lat_ref': 47.0, POSITION + 'lon_ref': 8.0}
    assert origin(given) == (47.0, 8.0)
    for name, value in ((POSITION + 'lat_ref', 91.0), (POSITION + 'lon_ref', math.nan)):
        assert origin(given | {name: value}) is None
    assert origin({POSITION + 'lat_ref': 47.0}) is None
