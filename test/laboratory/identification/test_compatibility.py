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

"""Errors of sensors that are known, found again by kinematics."""

from dataclasses import replace

import numpy as np
import pytest
import synthetic

pytest.importorskip('scipy', reason='the synthetic aircraft need scipy')

from xplane_bridge.laboratory.identification.compatibility import check_compatibility
from xplane_bridge.laboratory.identification.motion.signals import IdentificationError
from xplane_bridge.laboratory.identification.noise_trials import noise, TRIALS

FLOW = ('true_airspeed', 'angle_of_attack', 'sideslip')


def measured(**errors):
    """Return a flight of a synthetic aircraft with errors: functions of a signal and the times."""
    exact = synthetic.longitudinal(seconds=14.0).measured
    random = np.random.default_rng(5)
    values = {name: one.copy() for name, one in exact.values.items()}
    for name, error in errors.items():
        values[name] = error(values[name], exact.times)
    for name, size in (('true_airspeed', 0.05), ('angle_of_attack', 1e-3), ('sideslip', 1e-3),
                        ('roll', 2e-4), ('pitch', 2e-4)):
        values[name] = values[name] + size * random.standard_normal(len(exact.times))
    return replace(exact, values=values)


def late(seconds):
    return lambda values, times: np.interp(times - seconds, times, values)


@pytest.fixture(scope='module')
def without():
    """Return what is found where sensors only have noise: the path of this aircraft bends less."""
    return check_compatibility([measured()], synthetic.AIRFRAME).errors


def test_air_data_that_are_late_are_said_to_be_so_and_put_right(without):
    found = check_compatibility(
        [measured(**dict.fromkeys(FLOW, late(0.08)))], synthetic.AIRFRAME)
    delay = found.errors['air_data_delay']
    assert delay.value - without['air_data_delay'].value == pytest.approx(0.08, abs=0.02)
    assert delay.deviation < 0.01
    exact = synthetic.longitudinal(seconds=14.0).measured.values['angle_of_attack']
    raw, right = (np.std(one.values['angle_of_attack'] - exact) for one in (
        found.raw[0], found.motions[0].measured))
    assert right < 0.85 * raw


def test_biases_and_scales_are_found(without):
    errors = check_compatibility([measured(
        pitch_rate=lambda values, _: values + 0.004,
        angle_of_attack=lambda values, _: 1.06 * values + 0.01)], synthetic.AIRFRAME).errors
    for name, value in (('pitch_rate_bias', 0.004), ('angle_of_attack_scale', 0.06),
                        ('air_data_delay', 0.0)):
        assert abs(errors[name].value - without[name].value - value) < 3.0 * (
            errors[name].deviation), name
    assert errors['pitch_rate_bias'].deviation < 4e-4


def test_an_airspeed_that_does_not_follow_the_motion_is_refused():
    # As of a pitot tube at its limit: the rest says that it gets faster.
    with pytest.raises(IdentificationError, match=r'true_airspeed is 2\.\d+ m/s \(rms\) off what'):
        check_compatibility([measured(
            true_airspeed=lambda values, times: values + 3.0 * np.sin(2.0 * times))],
            synthetic.AIRFRAME)


def all_moving():
    """Return a flight in which all components of the velocity and the attitude change."""
    times = np.arange(0.0, 14.0, synthetic.STEP)
    velocity = np.stack((50.0 - 0.75 * np.cos(0.8 * times), np.sin(3.1 * times),
                         1.0 + 0.8 * np.sin(1.7 * times)))
    roll, pitch = 0.05 * np.sin(0.9 * times), 0.05 * np.sin(0.6 * times)
    turning = np.gradient(pitch, times)
    rates = np.stack((np.gradient(roll, times), turning * np.cos(roll), -turning * np.sin(roll)))
    weight = synthetic.GRAVITY * np.stack((
        -np.sin(pitch), np.sin(roll) * np.cos(pitch), np.cos(roll) * np.cos(pitch)))
    force = np.gradient(velocity, times, axis=1) + np.cross(rates.T, velocity.T).T - weight
    speed = np.linalg.norm(velocity, axis=0)
    names = ('roll', 'pitch', 'roll_rate', 'pitch_rate', 'yaw_rate', 'specific_force_x',
             'specific_force_y', 'specific_force_z', 'true_airspeed', 'angle_of_attack',
             'sideslip', 'density')
    still = dict.fromkeys(('elevator', 'aileron', 'rudder'), np.zeros(len(times)))
    return replace(synthetic.longitudinal().measured, times=times, values=still | dict(zip(names, (
        roll, pitch, *rates, *force, speed, np.arctan2(velocity[2], velocity[0]),
        np.arcsin(velocity[1] / speed), np.full(len(times), 1.1)), strict=True)))


@pytest.mark.parametrize('name', ['', 'specific_force_x', 'specific_force_y'])
def test_a_specific_force_in_g_is_named(name):
    """What the scale of a sensor is likely to be does not hide it, where it moves the aircraft."""
    flight, random = all_moving(), np.random.default_rng(5)
    values = {one: values + 1e-3 * random.standard_normal(len(values))
              for one, values in flight.values.items()}
    if not name:
        check_compatibility([replace(flight, values=values)], synthetic.AIRFRAME)
        return
    wrong = replace(flight, values={**values, name: values[name] / synthetic.GRAVITY})
    with pytest.raises(IdentificationError, match=f'{name} is too small .*: is it in g'):
        check_compatibility([wrong], synthetic.AIRFRAME)


def test_an_attitude_that_drifts_is_not_taken_for_a_bias_of_a_gyro(without):
    drifting = check_compatibility([measured(
        pitch=lambda values, times: values + 3e-4 * times)], synthetic.AIRFRAME)
    assert abs(drifting.errors['pitch_rate_bias'].value
               - without['pitch_rate_bias'].value) < 1.5e-4


def test_the_noise_of_a_signal_is_told_from_its_motion():
    times = np.arange(0.0, 14.0, 1.0 / 60.0)
    motion = np.sin(2.0 * times) + (times > 5.0)
    random = np.random.default_rng(3)
    noisy = motion + 0.01 * random.standard_normal(len(times))
    noisy[::3] = np.nan
    assert noise(noisy) == pytest.approx(0.01, rel=0.15)
    noisy[1::3] = np.nan
    assert noise(noisy) == pytest.approx(0.01, rel=0.15)
    assert noise(motion) < 1e-4
    assert noise(noisy[:60]) == 0.0


def test_noise_that_is_integrated_is_in_the_bounds():
    """The path that comes of it, which a model is flown along, differs by as much as is said."""
    exact = synthetic.longitudinal(seconds=14.0).measured.values['angle_of_attack']
    off, errors, trials = [], [], []
    for seed in range(12):
        gyro = 3e-3 * np.random.default_rng(seed).standard_normal(len(exact))
        found = check_compatibility(
            [measured(pitch_rate=lambda values, _, gyro=gyro: values + gyro)], synthetic.AIRFRAME)
        (motion,) = found.motions
        off.append(motion['angle_of_attack'] - exact)
        each = np.array([other['angle_of_attack'] - motion['angle_of_attack']
                         for (other,) in found.other_motions])
        errors.append(each[:-TRIALS])
        trials.append(each[-TRIALS:])

    def size(changes):
        # A constant of the vane is a parameter of its own.
        return np.sqrt(np.mean(np.square(changes - changes.mean(axis=-1, keepdims=True))))

    scattered = size(off - np.mean(off, axis=0))
    by_errors, by_noise = (
        size(np.array(one)) * np.sqrt(one[0].shape[0]) for one in (errors, trials))
    # The outputs hardly show it.
    assert by_errors < 0.6 * scattered
    assert 0.6 < scattered / np.hypot(by_errors, by_noise) < 1.2
