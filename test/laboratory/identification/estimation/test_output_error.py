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

"""Equation error and output error on synthetic aircraft of known derivatives."""

import math

import numpy as np
import pytest
import synthetic

pytest.importorskip('scipy', reason='the synthetic aircraft need scipy')

from xplane_bridge.laboratory.identification.checks import agreement
from xplane_bridge.laboratory.identification.estimation.bounds import corrected_covariance
from xplane_bridge.laboratory.identification.estimation.equation_error import equation_error
from xplane_bridge.laboratory.identification.estimation.output_error import foretold, output_error
from xplane_bridge.laboratory.identification.motion.equations import (
    Derivative,
    LATERAL,
    LONGITUDINAL,
)

NOISE = {'angle_of_attack': 8e-4, 'pitch_rate': 8e-4, 'specific_force_z': 0.02}


def estimated(form, motions, **given):
    return output_error(form, motions, equation_error(form, motions), **given)


@pytest.mark.parametrize(('form', 'exact', 'known'), [
    (LONGITUDINAL, synthetic.longitudinal, synthetic.LONGITUDINAL),
    (LATERAL, synthetic.lateral, synthetic.LATERAL)], ids=['longitudinal', 'lateral'])
def test_the_derivatives_of_a_known_aircraft_are_found(form, exact, known):
    fit = estimated(form, [exact()])
    assert {str(name) for name in fit.derivatives} == known.keys()
    for name, found in fit.derivatives.items():
        assert found.value == pytest.approx(known[str(name)], rel=0.01, abs=1e-4), name
    assert abs(fit.delay.value) < 2e-3


def test_the_start_by_equation_error_is_near():
    found = equation_error(LONGITUDINAL, [synthetic.longitudinal()])
    for name, value in found.derivatives.items():
        if name.coefficient == 'C_m':
            assert value == pytest.approx(synthetic.LONGITUDINAL[str(name)], rel=0.5), name
    assert not found.collinearity.is_too_much


def test_a_late_control_is_found():
    fit = estimated(LONGITUDINAL, [synthetic.longitudinal(late=1)])
    assert fit.delay.value == pytest.approx(synthetic.STEP, abs=2e-3)
    assert fit.lag.value == 0.0
    for name, found in fit.derivatives.items():
        assert found.value == pytest.approx(synthetic.LONGITUDINAL[str(name)], rel=0.03), name


@pytest.mark.parametrize('late', [0, 1], ids=['at once', 'late'])
def test_a_surface_that_follows_its_command_is_found(late):
    fit = estimated(LONGITUDINAL, [synthetic.longitudinal(lag=0.1, late=late)])
    assert fit.lag.value == pytest.approx(0.1, rel=0.02)
    assert fit.delay.value == pytest.approx(late * synthetic.STEP, abs=2e-3)
    for name, found in fit.derivatives.items():
        assert found.value == pytest.approx(synthetic.LONGITUDINAL[str(name)], rel=0.02), name
    other = synthetic.longitudinal(lag=0.1, late=late, shape=synthetic.sweep)
    measured, expected = foretold(fit, [other])
    assert agreement(measured, expected).r_squared > 0.999


@pytest.mark.parametrize('colour', [0.0, 0.7], ids=['white', 'coloured'])
def test_two_sigma_contain_the_truth_as_often_as_they_say(colour):
    exact = synthetic.longitudinal(seconds=10.0)
    rng = np.random.default_rng(7)
    inside = []
    for _ in range(60):
        fit = estimated(LONGITUDINAL, [synthetic.noisy(exact, NOISE, rng, colour)])
        inside += [
            abs(found.value - synthetic.LONGITUDINAL[str(name)]) < 2.0 * found.deviation
            for name, found in fit.derivatives.items()]
    assert 0.90 <= np.mean(inside) <= 0.99


def test_bounds_that_ignore_the_colour_would_be_too_small():
    fit = estimated(LONGITUDINAL, [synthetic.noisy(
        synthetic.longitudinal(), NOISE, np.random.default_rng(3), colour=0.9)])
    assert min(fit.whiteness.values()) > 1.3


def test_samples_that_are_missing_are_not_needed():
    motion = synthetic.noisy(synthetic.longitudinal(), NOISE, np.random.default_rng(1))
    vane = motion.measured.values['angle_of_attack']
    vane[np.arange(len(vane)) % 3 > 0] = np.nan
    fit = estimated(LONGITUDINAL, [motion])
    for name, found in fit.derivatives.items():
        assert abs(found.value - synthetic.LONGITUDINAL[str(name)]) < 4.0 * found.deviation, name


def test_what_the_sensors_leave_uncertain_is_in_the_bounds():
    exact = synthetic.longitudinal()
    motion = synthetic.noisy(exact, NOISE, np.random.default_rng(1))
    # As if the vane's scale were known to 20 %.
    other = synthetic.noisy(exact, NOISE, np.random.default_rng(1))
    other.measured.values['angle_of_attack'] = 1.2 * motion.measured.values['angle_of_attack']
    alone = estimated(LONGITUDINAL, [motion])
    both = estimated(LONGITUDINAL, [motion], others=[[other]])
    name = next(name for name in alone.derivatives if str(name) == 'C_m_alpha')
    assert both.derivatives[name].value == alone.derivatives[name].value
    assert both.derivatives[name].bound > 1.3 * alone.derivatives[name].bound


def test_slopes_that_change_are_in_the_bounds_however_little_noise_there_is():
    exact = synthetic.longitudinal()
    known = estimated(LONGITUDINAL, [exact], late=0.0).derivatives
    # Its lift slope is 0.6 % smaller at the largest angle of attack.
    alpha = exact['angle_of_attack']
    less = 0.006 * synthetic.LONGITUDINAL['C_L_alpha'] * alpha * np.abs(alpha) / np.abs(
        alpha).max()
    assert 0.002 < known[Derivative('C_L', 'angle_of_attack')].bound < 0.02
    acceleration = exact.measured.values['specific_force_z'] + (
        synthetic.PRESSURE / synthetic.AIRFRAME.mass * less * np.cos(alpha))
    bent = synthetic.motion(exact.times, {
        **exact.measured.values, 'specific_force_z': acceleration})
    found = estimated(LONGITUDINAL, [bent], late=0.0)
    for name, one in found.derivatives.items():
        assert abs(one.value - synthetic.LONGITUDINAL[str(name)]) < 2.0 * one.deviation, name


def test_signals_that_are_late_are_in_the_bounds():
    exact = synthetic.longitudinal()
    late = dict(exact.measured.values)
    late['pitch_rate'] = np.interp(exact.times - 0.004, exact.times, late['pitch_rate'])
    motion = synthetic.motion(exact.times, late)
    alone, told = (estimated(LONGITUDINAL, [motion], late=one) for one in (None, 0.004))
    name = Derivative('C_m', 'pitch_rate')
    off = abs(alone.derivatives[name].value - synthetic.LONGITUDINAL['C_m_q'])
    assert off > 2.0 * alone.derivatives[name].deviation
    assert off < 2.0 * told.derivatives[name].deviation


def test_what_an_airspeed_that_changes_may_do_besides_is_in_the_bounds():
    """A thrust line, or a Mach number, pitches more than the dynamic pressure says."""
    exact = synthetic.longitudinal()
    faster = 1.0 + 0.008 * exact.times
    # As the dynamic pressure is the same, so is the motion, nearly.
    flown = synthetic.motion(exact.times, {
        **exact.measured.values, 'true_airspeed': faster * synthetic.SPEED,
        'density': synthetic.DENSITY / faster ** 2})
    name = Derivative('C_m', 'pitch_rate')

    def steady_part(motion):
        alone, told = (estimated(LONGITUDINAL, [motion], late=one).derivatives[name].deviation
                       for one in (None, 0.0))
        return np.sqrt(told ** 2 - alone ** 2)

    assert steady_part(flown) > 1.5 * steady_part(exact)


def test_a_model_foretells_a_flight_that_it_was_not_made_of():
    fit = estimated(LONGITUDINAL, [synthetic.longitudinal()])
    unseen = synthetic.longitudinal(seconds=8.0)
    measured, told = foretold(fit, [unseen])
    for at in range(len(LONGITUDINAL.outputs)):
        found = agreement([measured[0][:, at]], [told[0][:, at]])
        assert found.r_squared > 0.999
        assert found.theil < 0.01


def test_theil_and_r_squared_by_hand():
    found = agreement([np.array([1.0, 3.0, np.nan])], [np.array([2.0, 2.0, 5.0])])
    # Errors -1 and 1; the mean is 2, the variance 1; rms of both 2 and the root of 5.
    assert found.r_squared == pytest.approx(0.0)
    assert found.theil == pytest.approx(1.0 / (2.0 + 5.0 ** 0.5))

def coloured(step, rng, deviation=1.0, time_constant=0.4):
    """Return 12 s of a signal whose correlation falls with time, sampled with a step (s)."""
    kept = math.exp(-step / time_constant)
    values = rng.standard_normal(round(12.0 / step)) * math.sqrt(1.0 - kept ** 2)
    for n in range(1, len(values)):
        values[n] += kept * values[n - 1]
    return deviation * values[:, None]


def test_residuals_of_flights_with_other_rates_are_not_mixed():
    """A lag of one sample is another time in each: bounds of one would be those of the other."""
    rng = np.random.default_rng(4)
    steps = (0.1, 0.01)
    slopes = [np.sin(2.0 * np.arange(round(12.0 / step)) * step)[:, None, None] for step in steps]
    # A sensor of 10 Hz that shows ten times as much is worth as much as one of 100 Hz.
    slopes[0] = 3.0 * slopes[0]
    information = sum(float((one ** 2).sum()) for one in slopes)
    off, said = [], []
    for _ in range(200):
        residuals = [coloured(step, rng) for step in steps]
        off.append(sum(float((slope[:, 0] * left).sum()) for slope, left in zip(
            slopes, residuals, strict=True)) / information)
        _, covariance = corrected_covariance(
            np.array([[information]]), residuals, slopes, np.array([1.0]), steps=steps)
        said.append(float(covariance[0, 0]))
    assert np.mean(said) == pytest.approx(np.var(off), rel=0.3)
