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

"""What Huginn's replies mean and how its controls are signed, by hand from docs/wire."""

from dataclasses import replace
import math

import pytest

from xplane_bridge.bridges.conversions.vehicle import Controls
from xplane_bridge.bridges.fdmdata import conversion as huginn
from xplane_bridge.bridges.fdmdata.conversion import Interpretation
from xplane_bridge.bridges.fdmdata.protocol import (
    AccelerometerReply,
    Command,
    GpsReply,
    GyroscopeReply,
    InsReply,
    MagnetometerReply,
    PitotTubeReply,
    StaticPressureReply,
    ThermometerReply,
)

GPS = GpsReply(37.8, 23.9, 609.6, 46.3, 91.0)
INS = InsReply(0.0, 0.0, 0.0, 37.9, 24.0, 46.4, 609.7)


def state(*replies, **reading):
    return huginn.vehicle_state(
        {reply.command: reply for reply in replies}, Interpretation(**reading))


def test_gps_goes_before_ins_where_both_are_there():
    both = state(GPS, INS, ThermometerReply(280.0))
    assert (both.latitude_deg, both.longitude_deg, both.altitude_msl) == (37.8, 23.9, 609.6)
    assert both.air.true_airspeed == 46.3
    assert state(INS).latitude_deg == 37.9


def test_what_was_not_asked_is_not_known():
    nothing = state(MagnetometerReply(0.0, 0.0, 0.0))
    assert math.isnan(nothing.latitude_deg)
    for name in ('orientation', 'angular_velocity', 'specific_force', 'velocity', 'air',
                 'controls', 'time'):
        assert getattr(nothing, name) is None


@pytest.mark.parametrize(('heading', 'expected'), [
    # Level and facing north, forward is north: 90 degrees anticlockwise from east.
    (0.0, (math.sqrt(0.5), 0.0, 0.0, math.sqrt(0.5))),
    (90.0, (1.0, 0.0, 0.0, 0.0)),
    (180.0, (math.sqrt(0.5), 0.0, 0.0, -math.sqrt(0.5))),
])
def test_heading_becomes_yaw_from_east(heading, expected):
    orientation = state(InsReply(0.0, 0.0, heading, 0.0, 0.0, 0.0, 0.0)).orientation
    sign = math.copysign(1.0, orientation[0])
    assert [sign * part for part in orientation] == pytest.approx(expected, abs=1e-12)


def test_rates_and_force_turn_from_right_and_down_to_left_and_up():
    moving = state(GyroscopeReply(10.0, 20.0, 30.0), AccelerometerReply(1.0, 2.0, -9.8))
    assert moving.angular_velocity == pytest.approx(
        [math.radians(10.0), math.radians(-20.0), math.radians(-30.0)])
    assert moving.specific_force == (1.0, -2.0, 9.8)


@pytest.mark.parametrize('altitude', [0.0, 10_000.0])
@pytest.mark.parametrize('latitude', [-60.0, 0.0, 37.8, 90.0])
def test_geocentric_latitude_is_converted_on_demand(latitude, altitude):
    reply = GpsReply(latitude, 23.9, altitude, 46.3, 91.0)
    assert state(reply).latitude_deg == latitude
    on_ellipsoid = math.degrees(math.atan2(
        math.sin(math.radians(latitude)), 0.99330562 * math.cos(math.radians(latitude))))
    # At 10 km altitude the ellipsoid formula is off by at most 33 m.
    assert state(reply, latitude='geocentric').latitude_deg == pytest.approx(
        on_ellipsoid, abs=1e-8 + 3e-4 * altitude / 10_000.0)


def test_air_at_the_standard_sea_level():
    air = state(StaticPressureReply(101325.0), PitotTubeReply(0.5 * 1.225 * 50.0 ** 2),
                ThermometerReply(288.15)).air
    assert air.density == pytest.approx(1.225, rel=1e-5)
    # Compressibility: 0.05 % at 50 m/s.
    assert air.indicated_airspeed == pytest.approx(50.0, rel=1e-3)
    assert air.dynamic_pressure == pytest.approx(1531.25)
    assert air.true_airspeed is None


@pytest.mark.parametrize(('missing', 'unknown'), [
    (Command.THERMOMETER, {'temperature', 'density'}),
    (Command.STATIC_PRESSURE, {'static_pressure', 'density', 'indicated_airspeed'}),
    (Command.PITOT_TUBE, {'dynamic_pressure', 'indicated_airspeed'}),
])
def test_air_without_one_of_its_sensors(missing, unknown):
    replies = [reply for reply in (
        StaticPressureReply(101325.0), PitotTubeReply(1000.0), ThermometerReply(288.15))
        if reply.command != missing]
    air = state(*replies).air
    names = ('temperature', 'density', 'static_pressure', 'dynamic_pressure',
             'indicated_airspeed')
    assert {name for name in names if getattr(air, name) is None} == unknown


def passed(*replies):
    """Return what is plausible in replies, and what was withheld."""
    withheld = {}
    good = huginn.plausible({reply.command: reply for reply in replies}, withheld.__setitem__)
    return good, withheld


@pytest.mark.parametrize(('change', 'name'), [
    ({'latitude': 91.0}, 'latitude'), ({'longitude': 1e30}, 'longitude'),
    ({'altitude': 3e38}, 'altitude'), ({'altitude': math.nan}, 'altitude')])
@pytest.mark.parametrize('reply', [GPS, INS])
def test_an_impossible_position_is_missing_and_the_rest_is_good(reply, change, name):
    good, withheld = passed(replace(reply, **change))
    (value,) = change.values()
    assert list(withheld) == [f'{reply.tag} {name}']
    assert withheld[f'{reply.tag} {name}'] == pytest.approx(value, nan_ok=True)
    left = good[reply.command]
    assert all(map(math.isnan, (left.latitude, left.longitude, left.altitude)))
    assert (left.airspeed, left.heading) == (reply.airspeed, reply.heading)
    seen = huginn.vehicle_state(good, huginn.Interpretation())
    assert math.isnan(seen.latitude_deg)
    assert (seen.orientation is None) == (reply is GPS)


def test_one_impossible_angle_or_rate_is_missing_alone():
    good, withheld = passed(replace(INS, pitch=1e38), GyroscopeReply(math.inf, 0.0, 0.0), GPS)
    seen = huginn.vehicle_state(good, huginn.Interpretation())
    assert seen.orientation is seen.angular_velocity is None
    assert seen.latitude_deg == GPS.latitude
    assert set(withheld) == {'ins pitch', 'gyroscope roll_rate'}


def test_a_reply_of_which_nothing_is_left_is_missing():
    assert passed(ThermometerReply(math.inf), GPS)[0] == {Command.GPS: GPS}
    assert passed(GpsReply(*[math.nan] * 5))[0] == {}


def test_air_data_do_not_come_of_an_impossible_pressure():
    good, _ = passed(PitotTubeReply(1e38), StaticPressureReply(101325.0), ThermometerReply(288.15))
    seen = huginn.vehicle_state(good, huginn.Interpretation()).air
    assert seen.dynamic_pressure is seen.indicated_airspeed is None
    assert seen.density == pytest.approx(1.225, rel=1e-3)


def test_controls_have_huginns_signs_and_leave_what_is_none():
    assert huginn.to_huginn(Controls(
        elevator=0.5, aileron=0.25, rudder=0.125, throttle=0.75, flaps=1.0, gear=1.0)) == {
            'aileron': 0.25, 'elevator': -0.5, 'rudder': -0.125, 'throttle': 0.75}
    assert huginn.to_huginn(Controls()) == {}
