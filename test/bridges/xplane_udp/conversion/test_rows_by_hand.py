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

"""X-Plane's rows as a state, by hand."""

import math

import pytest

from xplane_bridge.bridges.conversions.vehicle import Controls, EngineControls
from xplane_bridge.bridges.xplane_udp.conversion import rows_state
from xplane_bridge.bridges.xplane_udp.protocol import to_segments

GIVEN = {
    'total_time': 77.5, 'indicated_airspeed': 60.0, 'true_airspeed': 65.0, 'wind_speed': 5.0,
    'wind_from': math.radians(30.0), 'static_pressure': 9e4, 'static_temperature': 280.0,
    'stick_elevator': 0.1, 'stick_aileron': 0.2, 'stick_rudder': 0.3, 'elevator_trim': 0.01,
    'aileron_trim': 0.02, 'rudder_trim': 0.03, 'flaps_request': 0.4, 'speedbrake_request': 0.5,
    'gear': 1.0, 'left_toe_brake': 0.6, 'right_toe_brake': 0.7, 'roll_rate': 0.11,
    'pitch_rate': 0.12, 'yaw_rate': 0.13, 'pitch': math.radians(10.0), 'roll': 0.0,
    'true_heading': 0.0, 'angle_of_attack': 0.05, 'latitude_deg': 47.0, 'longitude_deg': 8.0,
    'altitude_msl': 1500.0, 'velocity_east': 1.0, 'velocity_up': 2.0, 'velocity_south': -50.0,
    'throttle': (0.8, 0.9)}


def state(**changes):
    """Return the state by rows of X-Plane 12."""
    given = {name: value for name, value in (GIVEN | changes).items() if value is not None}
    return rows_state(12, to_segments(12, given))


def close(value, abs=1e-6):
    return pytest.approx(value, rel=1e-6, abs=abs)


def test_all_of_a_state_by_hand():
    found = state()
    assert (found.latitude_deg, found.longitude_deg, found.altitude_msl) == close(
        (47.0, 8.0, 1500.0), 2e-4)
    root, half = math.sqrt(0.5), math.radians(5.0)
    assert found.orientation == close((
        root * math.cos(half), root * math.sin(half), -root * math.sin(half),
        root * math.cos(half)))
    assert found.angular_velocity == close((0.11, -0.12, -0.13))
    assert found.velocity == close((1.0, 50.0, 2.0))
    assert found.specific_force is None
    assert found.controls == Controls(*map(close, (
        0.1, 0.2, 0.3, 0.8, 0.4, 1.0, 0.5, 0.6, 0.7, 0.01, 0.02, 0.03)))
    assert found.engines == EngineControls(throttle=(close(0.8), close(0.9)))
    assert (found.time, found.impossible) == (77.5, ())
    air = found.air
    assert (air.indicated_airspeed, air.true_airspeed, air.angle_of_attack) == close(
        (60.0, 65.0, 0.05), 1e-4)
    assert (air.static_pressure, air.temperature) == close((9e4, 280.0), 0.1)
    assert air.dynamic_pressure == pytest.approx(0.5 * 1.225 * 60.0 ** 2, rel=1e-4)
    assert air.density == pytest.approx(9e4 / (287.053 * 280.0), rel=1e-4)
    # From 30 degrees: to the south-south-west.
    assert air.wind == close((-2.5, -5.0 * math.sqrt(0.75), 0.0))
    right = 1.0 + 2.5
    assert air.sideslip == close(math.asin(right / math.hypot(
        right, 50.0 + 5.0 * math.sqrt(0.75), 2.0)), 1e-5)


@pytest.mark.parametrize(('missing', 'fields'), [
    ('latitude_deg', {'latitude_deg', 'longitude_deg', 'altitude_msl'}),
    ('altitude_msl', {'latitude_deg', 'longitude_deg', 'altitude_msl'}),
    ('roll', {'orientation'}), ('yaw_rate', {'angular_velocity'}), ('velocity_up', {'velocity'}),
    ('total_time', {'time'}), ('throttle', {'engines'})])
def test_what_is_missing_is_missing_alone(missing, fields):
    found, whole = state(**{missing: None}), state()
    for name in ('latitude_deg', 'longitude_deg', 'altitude_msl', 'orientation',
                 'angular_velocity', 'velocity', 'time', 'engines'):
        value = getattr(found, name)
        if name in fields:
            assert value is None or math.isnan(value)
        else:
            assert value == getattr(whole, name), name


@pytest.mark.parametrize(('missing', 'fields'), [
    ('wind_speed', {'wind', 'sideslip'}), ('wind_from', {'wind', 'sideslip'}),
    ('roll', {'sideslip'}), ('velocity_up', {'sideslip'}), ('static_pressure', {
        'static_pressure', 'density'}), ('static_temperature', {'temperature', 'density'}),
    ('indicated_airspeed', {'indicated_airspeed', 'dynamic_pressure'})])
def test_air_data_that_are_missing_are_missing_with_what_follows_from_them(missing, fields):
    found, whole = state(**{missing: None}).air, state().air
    for name in whole.__slots__:
        assert getattr(found, name) == (None if name in fields else getattr(whole, name)), name


def test_an_attitude_that_cannot_be_is_named():
    found = state(pitch=50.0)
    assert found.orientation is None
    (name, value), = found.impossible
    assert (name, value) == ('attitude', close(math.degrees(50.0), 1e-3))
