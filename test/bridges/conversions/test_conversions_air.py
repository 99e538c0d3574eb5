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

"""Air data against the published standard atmosphere and first principles."""

from math import degrees, inf, isnan, nan, pi, radians, sqrt

from hypothesis import given, strategies
import pytest

from xplane_bridge.bridges.conversions import air, axes

# ICAO standard atmosphere: geopotential altitude m, temperature K, pressure Pa, density kg/m^3.
ICAO = [
    (-1000.0, 294.65, 113929.0, 1.34700),
    (0.0, 288.15, 101325.0, 1.22500),
    (1000.0, 281.65, 89874.6, 1.11164),
    (5000.0, 255.65, 54019.9, 0.736116),
    (11000.0, 216.65, 22632.1, 0.363918),
    (20000.0, 216.65, 5474.89, 0.0880349),
    (32000.0, 228.65, 868.019, 0.0132250),
    (47000.0, 270.65, 110.906, 0.00142753),
    (51000.0, 270.65, 66.9389, 0.000861606),
    (71000.0, 214.65, 3.95642, 0.0000642110),
]


@pytest.mark.parametrize(('altitude', 'temperature', 'pressure', 'rho'), ICAO)
def test_standard_atmosphere(altitude, temperature, pressure, rho):
    assert air.standard_temperature(altitude) == pytest.approx(temperature, abs=1e-9)
    assert air.pressure_altitude_to_pressure(altitude) == pytest.approx(pressure, rel=1e-5)
    assert air.pressure_to_pressure_altitude(pressure) == pytest.approx(altitude, abs=0.2)
    assert air.density(pressure, temperature) == pytest.approx(rho, rel=1e-5)


def test_altimeter_is_known_near_the_ground():
    """One hPa is 8.43 m at sea level: RT / g / p = 8434.5 m / 1013.25."""
    assert air.pressure_to_pressure_altitude(101225.0) == pytest.approx(8.33, abs=0.01)
    assert air.pressure_to_pressure_altitude(101325.0) == pytest.approx(0.0, abs=1e-9)


@given(strategies.floats(-5000.0, 86000.0))
def test_pressure_altitude_round_trip(altitude):
    pressure = air.pressure_altitude_to_pressure(altitude)
    assert air.pressure_to_pressure_altitude(pressure) == pytest.approx(altitude, abs=1e-5)


def test_there_is_no_air_far_above():
    assert air.pressure_altitude_to_pressure(1e6) == 0.0


@pytest.mark.parametrize(('temperature', 'speed'), [(288.15, 340.294), (216.65, 295.070)])
def test_speed_of_sound(temperature, speed):
    assert air.speed_of_sound(temperature) == pytest.approx(speed, abs=1e-3)
    assert air.mach_number(0.8 * speed, temperature) == pytest.approx(0.8, abs=1e-5)


def test_huginn_recording_at_2000_ft():
    """1238 Pa at 46.3 m/s, 94214 Pa and 284.19 K were recorded from one JSBSim state."""
    rho = air.density(94214.0, 284.19)
    assert rho == pytest.approx(1.1549, abs=1e-4)
    assert air.dynamic_pressure(46.3, rho) == pytest.approx(1238.0, abs=1.0)


def test_dynamic_pressure_of_an_indicated_airspeed():
    assert air.dynamic_pressure(100.0, air.SEA_LEVEL_DENSITY) == pytest.approx(6125.0)


@pytest.mark.parametrize(('mach', 'stagnation_ratio'), [
    # (1 + M^2/5)^3.5 as compressible-flow tables have it (as p/p0: .93947, .84302, .52828).
    (0.3, 1 / .93947), (0.5, 1 / .84302), (1.0, 1 / .52828),
])
def test_impact_pressure_of_the_flow_tables(mach, stagnation_ratio):
    static = 50000.0
    dynamic = 0.7 * static * mach**2
    expected = static * (stagnation_ratio - 1.0)
    assert air.dynamic_to_impact_pressure(dynamic, static) == pytest.approx(expected, rel=1e-4)
    impact_at_sea_level = air.calibrated_airspeed_to_impact_pressure(mach * 340.294)
    assert impact_at_sea_level == pytest.approx(101325.0 * (stagnation_ratio - 1.0), rel=1e-4)
    assert air.impact_pressure_to_calibrated_airspeed(impact_at_sea_level) == pytest.approx(
        mach * 340.294, rel=1e-6)


def test_impact_exceeds_dynamic_pressure_by_a_quarter_of_mach_squared():
    """The series of (1 + M^2/5)^3.5 begins qc = q (1 + M^2/4 + ...): 0.25 % at Mach 0.1."""
    dynamic = 0.7 * 101325.0 * 0.01
    assert air.dynamic_to_impact_pressure(dynamic, 101325.0) / dynamic == pytest.approx(
        1.0025, abs=1e-5)


def test_airliner_at_mach_0_8_in_the_tropopause():
    """
    TAS .8 x 295.070 = 236.056 m/s at 22632 Pa, 216.65 K.

    qc = 22632.06 (1.128^3.5 - 1) = 22632.06 x .52434 = 11866.9 Pa; an indicator reads
    a0 sqrt(5 ((1 + 11866.9 / 101325)^(2/7) - 1)) = 340.294 x .40093 = 136.43 m/s (265 kt).
    EAS = TAS sqrt(.363918 / 1.225) = 128.66 m/s (250 kt).
    """
    cas = air.true_to_calibrated_airspeed(236.056, 22632.06, 216.65)
    assert cas == pytest.approx(136.43, abs=0.02)
    assert air.calibrated_to_true_airspeed(136.43, 22632.06, 216.65) == pytest.approx(
        236.06, abs=0.03)
    assert air.true_to_equivalent_airspeed(236.056, .363918) == pytest.approx(128.66, abs=0.01)
    assert air.equivalent_to_true_airspeed(128.66, .363918) == pytest.approx(236.056, abs=0.02)


@given(strategies.floats(0.0, 340.0))
def test_at_sea_level_the_airspeeds_are_one(speed):
    # A millimetre per second is a few nanopascals of impact pressure: below double rounding.
    close = pytest.approx(speed, abs=1e-4, rel=1e-9)
    assert air.true_to_calibrated_airspeed(speed, 101325.0, 288.15) == close
    assert air.calibrated_to_true_airspeed(speed, 101325.0, 288.15) == close
    assert air.true_to_equivalent_airspeed(speed, 1.225) == close


def test_backward_flight_has_the_pitot_pressure_of_its_speed():
    """X-Plane then indicates negative airspeeds (2.2)."""
    assert air.calibrated_airspeed_to_impact_pressure(-10.0) == pytest.approx(61.26, abs=0.01)


# Flow angles

HEADING_EAST = (1.0, 0.0, 0.0, 0.0)


def test_wind_from_the_right_is_positive_sideslip():
    """Heading and flying east at 50, wind from the south at 5: the air comes from the right."""
    velocity = air.air_relative_velocity((50.0, 0.0, 0.0), (0.0, 5.0, 0.0), HEADING_EAST)
    assert velocity == pytest.approx((50.0, -5.0, 0.0))
    # atan(5 / 50)
    assert degrees(air.sideslip(velocity)) == pytest.approx(5.7106, abs=1e-4)


def test_headwind_adds_to_the_airspeed():
    velocity = air.air_relative_velocity((50.0, 0.0, 0.0), (-10.0, 0.0, 0.0), HEADING_EAST)
    assert velocity == pytest.approx((60.0, 0.0, 0.0))
    assert air.sideslip(velocity) == 0.0
    assert air.angle_of_attack(velocity) == 0.0


@pytest.mark.parametrize(('pitch_deg', 'path_deg'), [(10, 0), (10, 4), (0, -3), (-5, 2)])
def test_pitch_is_path_plus_angle_of_attack(pitch_deg, path_deg):
    """Heading north, wings level, still air: vpath + alpha = theta (2.5)."""
    q = axes.ned_frd_to_enu_flu(axes.euler_to_quaternion(0.0, radians(pitch_deg), 0.0))
    slope = {0: 0.0, 4: .0699268, -3: -.0524078, 2: .0349208}[path_deg]
    velocity = air.air_relative_velocity((0.0, 50.0, 50.0 * slope), (0.0, 0.0, 0.0), q)
    assert degrees(air.angle_of_attack(velocity)) == pytest.approx(
        pitch_deg - path_deg, abs=1e-4)
    assert air.sideslip(velocity) == pytest.approx(0.0, abs=1e-12)


def test_nose_left_of_path_is_positive_sideslip():
    """Heading 350, track 000, still air: the air comes 10 degrees from the right."""
    q = axes.ned_frd_to_enu_flu(axes.euler_to_quaternion(0.0, 0.0, radians(350)))
    velocity = air.air_relative_velocity((0.0, 40.0, 0.0), (0.0, 0.0, 0.0), q)
    assert degrees(air.sideslip(velocity)) == pytest.approx(10.0)


def test_falling_flat_is_ninety_degrees_of_attack():
    assert air.angle_of_attack((0.0, 0.0, -10.0)) == pytest.approx(pi / 2)


@given(strategies.tuples(*[strategies.floats(-300.0, 300.0)] * 3))
def test_sideslip_is_the_arc_sine_of_the_definition(velocity):
    forward, left, up = velocity
    speed = sqrt(forward**2 + left**2 + up**2)
    if speed > 1.0:
        assert speed * float(_sin(air.sideslip(velocity))) == pytest.approx(-left, abs=1e-9)


def _sin(angle):
    return axes.rotate(axes.euler_to_quaternion(0.0, 0.0, angle), (1.0, 0.0, 0.0))[1]


# Values from a simulator without air, or without the dataref

floats32 = strategies.floats(width=32)


@pytest.mark.parametrize('absent', [0.0, -1.0, nan])
def test_absent_air_is_nan_not_an_exception(absent):
    assert isnan(air.density(101325.0, absent))
    assert isnan(air.speed_of_sound(absent))
    assert isnan(air.mach_number(100.0, absent))
    assert isnan(air.true_to_equivalent_airspeed(100.0, absent))
    assert isnan(air.equivalent_to_true_airspeed(100.0, absent))
    assert isnan(air.true_to_calibrated_airspeed(100.0, absent, 288.15))
    assert isnan(air.calibrated_to_true_airspeed(100.0, absent, 288.15))
    assert isnan(air.dynamic_to_impact_pressure(1000.0, absent))
    assert isnan(air.pressure_to_pressure_altitude(absent))


@given(floats32, floats32, floats32)
def test_no_value_from_the_wire_raises(a, b, c):
    for result in (
        air.density(a, b), air.mach_number(a, b), air.dynamic_pressure(a, b),
        air.dynamic_to_impact_pressure(a, b), air.calibrated_airspeed_to_impact_pressure(a),
        air.impact_pressure_to_calibrated_airspeed(a), air.true_to_equivalent_airspeed(a, b),
        air.equivalent_to_true_airspeed(a, b), air.true_to_calibrated_airspeed(a, b, c),
        air.calibrated_to_true_airspeed(a, b, c), air.pressure_to_pressure_altitude(a),
        air.angle_of_attack((a, b, c)), air.sideslip((a, b, c)), air.standard_temperature(a),
    ):
        assert isinstance(result, float)


def test_a_pitot_below_static_reads_no_airspeed():
    assert air.impact_pressure_to_calibrated_airspeed(-5.0) == 0.0
    assert air.impact_pressure_to_calibrated_airspeed(inf) == inf
    assert isnan(air.impact_pressure_to_calibrated_airspeed(nan))
