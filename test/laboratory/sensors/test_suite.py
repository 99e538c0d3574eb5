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

"""A set of sensors: rates, latency, dropouts, outages, blocked ports, and the same bytes again."""

from dataclasses import replace
import math

import numpy as np
import pytest

from xplane_bridge.bridges.conversions import air as physics
from xplane_bridge.bridges.conversions import axes
from xplane_bridge.bridges.conversions.geodesy import LocalFrame
from xplane_bridge.bridges.conversions.vehicle import Air
from xplane_bridge.common.fields import FieldError
from xplane_bridge.laboratory.sensors.gnss import Fix
from xplane_bridge.laboratory.sensors.imu import BodyMotion
from xplane_bridge.laboratory.sensors.specification import (
    Figures,
    load,
    parse,
    presets,
)
from xplane_bridge.laboratory.sensors.suite import Suite

STEP = 20_000_000
PLACE = Fix(47.4, 8.5, 1500.0)
MOTION = BodyMotion(
    axes.euler_to_quaternion(0.3, -0.1, 1.2), (0.1, -0.2, 0.3), (0.5, 0.2, 9.8))
VELOCITY = (30.0, 40.0, 1.0)


def air_at(pressure_altitude, airspeed):
    """Return the air of the standard atmosphere."""
    static = physics.pressure_altitude_to_pressure(pressure_altitude)
    temperature = physics.standard_temperature(pressure_altitude)
    return Air(
        indicated_airspeed=airspeed,
        true_airspeed=physics.calibrated_to_true_airspeed(airspeed, static, temperature),
        angle_of_attack=0.05, sideslip=0.01, static_pressure=static,
        dynamic_pressure=physics.calibrated_airspeed_to_impact_pressure(airspeed),
        temperature=temperature, density=physics.density(static, temperature),
        wind=(1.0, 2.0, 0.0))


AIR = air_at(1500.0, 50.0)


def stamps(seconds, step=STEP):
    return range(5_000_000_000, 5_000_000_000 + round(seconds * 1e9), step)


def everything(suite, seconds=2.0, step=STEP):
    """Return all that is delivered, as bytes."""
    found = []
    for stamp in stamps(seconds, step):
        for show, truth in (
            (suite.show_motion, MOTION), (suite.show_position, PLACE),
            (suite.show_velocity, VELOCITY), (suite.show_air, AIR),
        ):
            found += [repr(delivery) for delivery in show(stamp, truth)]
    return '\n'.join(found).encode()


def figures(**sections):
    return parse(sections)


# Files.


def test_the_presets_are_read():
    assert presets() == ['ardupilot', 'consumer', 'perfect', 'px4', 'tactical']
    consumer, tactical = load('consumer'), load('tactical')
    assert consumer.imu.gyroscope.noise_density > 3.0 * tactical.imu.gyroscope.noise_density
    assert consumer.air_data.flow_angles is None


@pytest.mark.parametrize(('content', 'sentence'), [
    ({'imu': {'gyro': {}}}, "imu: unknown name 'gyro', expected rate, latency"),
    ({'imu': {'rate': -1}}, 'imu.rate: expected at least 0 1/s, got -1'),
    ({'imu': {'gyroscope': {'noise': 'x'}}}, "imu.gyroscope.noise: expected a number, got 'x'"),
    ({'imu': {'dropout': {'probability': 2}}}, 'imu.dropout.probability: expected 0 to 1, got 2'),
    ({'gnss': {'outages': [[5, 2]]}}, 'gnss.outages[0]: the end, 2 s, is not after the begin'),
    ({'air_data': {'wind': 3}}, 'air_data.wind: expected true or false, got 3'),
    ({'gps': {}}, "the file: unknown name 'gps', expected imu, gnss, air_data"),
    ([], 'the file: expected names with values'),
])
def test_a_mistake_in_a_file_is_named(content, sentence):
    with pytest.raises(FieldError) as caught:
        parse(content)
    assert sentence in str(caught.value)


def test_a_name_that_is_no_preset_is_told_what_there_is(tmp_path):
    with pytest.raises(FieldError, match='one of ardupilot, consumer, perfect, px4, tactical'):
        load('best')
    with pytest.raises(FieldError, match='No such file'):
        load(str(tmp_path / 'mine.yaml'))
    file = tmp_path / 'mine.yaml'
    file.write_text('imu:\n  gyroscope:\n')
    assert load(str(file)).imu.gyroscope == load('perfect').imu.gyroscope


# What is the same, and what is not.


# What PX4's EKF2 needs: docs/reference/sensors.md, "What PX4 and ArduPilot expect".
@pytest.mark.parametrize('name', presets())
def test_presets_have_what_ekf2_needs(name):
    figures = load(name)
    assert (figures.imu.rate or math.inf) >= 100.0 or name == 'consumer'
    for device in (figures.magnetometer, figures.air_data):
        assert (device.rate or math.inf) >= 5.0
    gnss = figures.gnss
    for errors, accuracy, drift in (
            (gnss.horizontal, 3.0, 0.1), (gnss.vertical, 5.0, 0.2),
            (gnss.horizontal_velocity, 0.5, math.inf), (gnss.vertical_velocity, 0.5, math.inf)):
        interval = 1.0 / (gnss.rate or 50.0)
        assert math.sqrt(errors.variance(interval, 0.0)) < accuracy
        moved = 2.0 * errors.gauss_markov ** 2 * (1.0 - math.exp(-10.0 / errors.time_constant))
        assert math.sqrt(moved) / 10.0 < drift


@pytest.mark.parametrize(('name', 'rates'), [
    ('px4', {'imu': 250, 'gnss': 8, 'air': 20, 'range': 50, 'magnetometer': 50}),
    ('ardupilot', {'imu': 500, 'gnss': 5, 'air': 100, 'range': 500, 'magnetometer': 100})])
def test_sensors_of_flight_controllers_come_at_their_rates(name, rates):
    suite = Suite(load(name), 3, lambda _: (2.1e-5, 1.2e-6, -4.3e-5))
    came = dict.fromkeys(rates, 0)
    for stamp in stamps(2.0, 2_000_000):
        for sensor, delivered in (
                ('imu', suite.show_motion(stamp, MOTION)),
                ('gnss', suite.show_position(stamp, PLACE)),
                ('air', suite.show_air(stamp, AIR)),
                ('range', suite.show_ground(stamp, 50.0, MOTION.orientation)),
                ('magnetometer', suite.show_magnetic_field(stamp, PLACE, MOTION.orientation))):
            came[sensor] += len(delivered)
    assert came == {sensor: pytest.approx(2 * rate, abs=1) for sensor, rate in rates.items()}


def test_the_gnss_error_of_px4_is_correlated_as_its_own():
    suite, east, north = Suite(load('px4'), 3), [], []
    frame = LocalFrame(*PLACE[:3])
    for stamp in stamps(1000.0, 125_000_000):
        for one in suite.show_position(stamp, PLACE):
            x, y, _ = frame.geodetic_to_enu(*one.reading[:3])
            east.append(x)
            north.append(y)
    for errors in (east, north):
        assert np.std(errors) == pytest.approx(0.016 / math.sqrt(1.0 - 0.76 ** 2), rel=0.06)
        assert np.corrcoef(errors[1:], errors[:-1])[0, 1] == pytest.approx(0.76, abs=0.03)


def test_equal_seeds_give_equal_bytes_and_others_do_not():
    first = everything(Suite(load('consumer'), 7))
    assert first == everything(Suite(load('consumer'), 7))
    assert first != everything(Suite(load('consumer'), 8))


def test_the_rate_of_one_sensor_changes_nothing_of_the_others():
    consumer = load('consumer')
    slower = replace(consumer, gnss=replace(consumer.gnss, rate=1.0))
    first, second = Suite(consumer, 7), Suite(slower, 7)
    for stamp in stamps(3.0):
        for suite in (first, second):
            suite.show_position(stamp, PLACE)
        assert first.show_motion(stamp, MOTION) == second.show_motion(stamp, MOTION)
        assert first.show_air(stamp, AIR) == second.show_air(stamp, AIR)


def test_perfect_sensors_give_the_truth_to_the_last_bit():
    suite = Suite(load('perfect'), 3)
    suite.odometry.datum = LocalFrame(*PLACE[:3])
    for stamp in stamps(0.1):
        (motion,), (fix,), (velocity,), (air,) = (
            suite.show_motion(stamp, MOTION), suite.show_position(stamp, PLACE),
            suite.show_velocity(stamp, VELOCITY), suite.show_air(stamp, AIR))
        assert motion.reading.motion == MOTION
        assert (fix.stamp, fix.reading[:3], velocity.reading.enu, air.reading) == (
            stamp, PLACE[:3], VELOCITY, AIR)
        pose = suite.pose(stamp, motion.reading.motion)
        assert pose.position == pytest.approx((0.0, 0.0, 0.0), abs=1e-9)
        assert axes.rotate(pose.orientation, pose.velocity) == pytest.approx(VELOCITY)


def test_what_is_not_fitted_is_unknown():
    suite = Suite(figures(imu={'gyroscope': {}}, air_data={'static_pressure': {}}), 0)
    stamp = next(iter(stamps(1.0)))
    motion = suite.show_motion(stamp, MOTION)[0].reading.motion
    assert motion == BodyMotion(None, MOTION.angular_velocity, None)
    assert suite.show_air(stamp, AIR)[0].reading == Air(static_pressure=AIR.static_pressure)
    assert not suite.show_position(stamp, PLACE)
    assert not Suite(Figures(), 0).show_velocity(stamp, VELOCITY)


# Time.


def test_a_slow_sensor_keeps_its_rate_and_its_grid():
    suite = Suite(figures(gnss={'rate': 5.0, 'horizontal': {}, 'vertical': {}}), 0)
    # Sixty states per second, some of them missing.
    taken = [delivery.stamp for number, stamp in enumerate(stamps(4.0, 16_666_667))
             if number % 7 for delivery in suite.show_position(stamp, PLACE)]
    assert len(taken) == 20
    assert all(abs(stamp - taken[0] - number * 200_000_000) < 20_000_000
               for number, stamp in enumerate(taken))


def test_a_late_fix_has_the_stamp_of_what_it_measured():
    suite = Suite(figures(gnss={'latency': 0.1, 'horizontal': {}, 'vertical': {}}), 0)
    for number, stamp in enumerate(stamps(1.0)):
        delivered = suite.show_position(stamp, PLACE._replace(altitude=float(number)))
        if number == 0:
            # Of a receiver that has been on for a while.
            assert delivered[0].stamp == stamp
        elif number <= 5:
            assert not delivered
        else:
            (fix,) = delivered
            assert (fix.stamp, fix.reading.altitude) == (stamp - 100_000_000, number - 5.0)


def test_a_state_that_is_repeated_is_not_sampled_again():
    suite = Suite(load('consumer'), 1)
    first, *_ = stamps(1.0)
    assert suite.show_motion(first, MOTION)
    assert not suite.show_motion(first, MOTION)


def test_time_that_begins_anew_is_followed():
    suite = Suite(load('consumer'), 1)
    for stamp in stamps(1.0):
        suite.show_position(stamp, PLACE)
    early = range(1_000_000_000, 2_000_000_000, STEP)
    assert sum(len(suite.show_position(stamp, PLACE)) for stamp in early) == 5


def test_dropouts_lose_as_much_as_they_say():
    suite = Suite(figures(imu={
        'gyroscope': {}, 'dropout': {'probability': 0.01, 'duration': 0.2}}), 4)
    heard = [stamp for stamp in stamps(400.0) if suite.show_motion(stamp, MOTION)]
    # Each loses ten samples, one that begins during another prolongs it.
    lost = 1.0 - len(heard) / 20_000
    assert lost == pytest.approx(1.0 - 0.99 ** 10, rel=0.2)
    gaps = {
        (later - sooner) // STEP for sooner, later in zip(heard, heard[1:], strict=False)}
    assert min(gaps - {1}) == 11


# Faults.


def test_an_outage_is_fixes_without_a_position_and_no_velocity():
    suite = Suite(figures(gnss={
        'horizontal': {}, 'vertical': {}, 'horizontal_velocity': {}, 'vertical_velocity': {},
        'reacquisition': 0.5, 'outages': [[1.0, 2.0]]}), 0)
    suite.odometry.datum = LocalFrame(*PLACE[:3])
    valid, moving, located = [], [], []
    for stamp in stamps(6.0):
        (fix,) = suite.show_position(stamp, PLACE)
        seconds = (stamp - 5_000_000_000) / 1e9
        if fix.reading.is_valid:
            valid.append(seconds)
        if suite.show_velocity(stamp, VELOCITY):
            moving.append(seconds)
        if suite.pose(stamp, MOTION) is not None:
            located.append(seconds)
        # By hand as well, from 3.5 s on for good.
        suite.faults.gnss_outage = seconds >= 3.5
    assert valid == moving
    assert [one for one in valid if 0.98 < one < 2.48] == []
    assert 2.48 in valid
    assert max(valid) == 3.5
    # Carried on for two seconds, no longer.
    assert max(located) == pytest.approx(5.5)


def test_with_a_blocked_pitot_tube_the_airspeed_follows_the_altitude():
    suite = Suite(figures(air_data={
        'static_pressure': {}, 'pitot_pressure': {}, 'temperature': {}}), 0)

    def indicated(stamp, altitude, airspeed):
        (air,) = suite.show_air(stamp, air_at(altitude, airspeed))
        return air.reading.indicated_airspeed

    assert indicated(0, 1000.0, 50.0) == pytest.approx(50.0)
    suite.faults.pitot_blocked = True
    assert indicated(STEP, 1000.0, 50.0) == pytest.approx(50.0)
    # At the same altitude no speed is felt.
    assert indicated(2 * STEP, 1000.0, 30.0) == pytest.approx(50.0)
    # 100 m higher the static pressure is about 1067 Pa less (ICAO Doc 7488): of the 1531 Pa of
    # 50 m/s they make 2598 Pa, 65 m/s.
    assert indicated(3 * STEP, 1100.0, 50.0) == pytest.approx(65.0, abs=0.3)
    # 150 m lower nothing is left.
    assert indicated(4 * STEP, 850.0, 50.0) == 0.0
    suite.faults.pitot_blocked = False
    assert indicated(5 * STEP, 850.0, 50.0) == pytest.approx(50.0)


def test_with_a_blocked_static_port_the_altitude_stays_and_the_airspeed_is_wrong():
    suite = Suite(figures(air_data={
        'static_pressure': {}, 'pitot_pressure': {}, 'static_blocked': [[0.01, 1.0]]}), 0)
    (before,) = suite.show_air(0, air_at(1000.0, 50.0))
    (same,) = suite.show_air(STEP, air_at(1000.0, 50.0))
    (above,) = suite.show_air(2 * STEP, air_at(1050.0, 50.0))
    (below,) = suite.show_air(3 * STEP, air_at(950.0, 50.0))
    (after,) = suite.show_air(1_000_000_000, air_at(1050.0, 50.0))
    static = before.reading.static_pressure
    assert same.reading.static_pressure == above.reading.static_pressure == static
    assert below.reading.static_pressure == static
    assert above.reading.indicated_airspeed < 42.0 < 57.0 < below.reading.indicated_airspeed
    assert after.reading.indicated_airspeed == pytest.approx(50.0)
    assert after.reading.static_pressure < static


def test_an_unknown_pressure_leaves_the_airspeed():
    suite = Suite(figures(air_data={'pitot_pressure': {'noise': 1e-9}, 'static_pressure': {}}), 0)
    (air,) = suite.show_air(0, Air(indicated_airspeed=40.0))
    assert air.reading.indicated_airspeed == pytest.approx(40.0)
    assert air.reading == Air(indicated_airspeed=air.reading.indicated_airspeed)


# What the errors do.


def test_tilt_and_heading_turn_the_attitude_by_their_errors():
    suite = Suite(figures(imu={
        'tilt': {'bias_turn_on': 0.01}, 'heading': {'bias_turn_on': 0.05}}), 5)
    (one,) = suite.show_motion(0, MOTION)
    measured = axes.quaternion_to_euler(one.reading.motion.orientation)
    roll, pitch, yaw = (
        found - true for found, true in zip(
            measured, axes.quaternion_to_euler(MOTION.orientation), strict=True))
    assert 0.0 < abs(yaw) < 0.2
    assert 0.0 < math.hypot(roll, pitch) < 0.04
    assert one.reading.tilt == pytest.approx(1e-4)
    assert one.reading.heading == pytest.approx(25e-4)
    assert math.hypot(*one.reading.motion.orientation) == pytest.approx(1.0, abs=1e-12)


def test_errors_of_a_position_are_metres_east_north_and_up():
    suite = Suite(figures(gnss={'horizontal': {'noise': 3.0}, 'vertical': {'noise': 5.0}}), 2)
    frame = LocalFrame(*PLACE[:3])
    found = [
        frame.geodetic_to_enu(*suite.show_position(stamp, PLACE)[0].reading[:3])
        for stamp in stamps(20.0)]
    for axis, wanted in enumerate((3.0, 3.0, 5.0)):
        values = [one[axis] for one in found]
        assert math.sqrt(sum(value ** 2 for value in values) / len(values)) == pytest.approx(
            wanted, rel=0.1)
