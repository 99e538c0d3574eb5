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


"""
What all estimators make of one flight in which everything changes, to five digits.

Nobody knows these numbers beforehand: they are kept, as a change of one of them is a change of
what users are told. Whether they are right is tested elsewhere, by known aircraft. What can be
computed in another way is compared with that.
"""

from dataclasses import replace
import math

import numpy as np
import pytest
import synthetic

pytest.importorskip('scipy', reason='the synthetic aircraft need scipy')

from xplane_bridge.laboratory.identification.estimation.bounds import corrected_covariance
from xplane_bridge.laboratory.identification.estimation.by_speed import (
    by_speed,
    foretold_path,
    speed_form,
)
from xplane_bridge.laboratory.identification.estimation.equation_error import equation_error
from xplane_bridge.laboratory.identification.estimation.frequency_domain import frequency_domain
from xplane_bridge.laboratory.identification.estimation.output_error import (
    foretold,
    output_error,
    unsteady,
)
from xplane_bridge.laboratory.identification.estimation.structure import _stepwise, needless
from xplane_bridge.laboratory.identification.motion.equations import (
    CheckedManoeuvre,
    in_gusts,
    LATERAL,
    LONGITUDINAL,
)
from xplane_bridge.laboratory.identification.motion.signals import Manoeuvre

NOISE = {
    'angle_of_attack': 2e-3, 'sideslip': 2e-3, 'roll_rate': 2e-3, 'pitch_rate': 2e-3,
    'yaw_rate': 2e-3, 'specific_force_x': 0.05, 'specific_force_y': 0.05,
    'specific_force_z': 0.05, 'true_airspeed': 0.1}
KEPT = {
    'longitudinal regressed': '5.031 9.504 0.1642 -0.921 -13.88 0.5658',
    'longitudinal constants': '0.4451 -2.679e-05 0.4458 4.885e-06',
    'longitudinal alike': '4.793 0.8949 0.8025',
    'longitudinal swept deviations': '0.08611 3.236 0.07863 0.008253 0.3101 0.007536',
    'longitudinal swept values': '60.54 2.755 2.146 -107.7 -47.16 78.38',
    'longitudinal band': '0.1002 1.052',
    'longitudinal delay': '0.9987',
    'longitudinal 0 deviations': '0.3417 7.835 0.07742 0.09147 1.933 0.05539 0.01525',
    'longitudinal 0 values': '15.3 0.8439 2.691 -9.864 -7.579 10.4 0.0009957',
    'longitudinal 0 whiteness': '3.581 1.72 1.647 1.942 1.917 2.194',
    'longitudinal 0 constants': '0.4449 0.0001091 0.4452 -1.207e-05',
    'longitudinal 0 initial': '0.0003649 -0.002578 0.0001366 -0.00249',
    'longitudinal 0 correlation': '1 -0.7503 0.307 -0.1015 0.02402 -0.1317',
    'longitudinal 0 foretold': '0.2072 0.218 5.763',
    'longitudinal 0.01 deviations': '0.2376 2.263 0.04541 0.01996 0.7078 0.02291 0.002773',
    'longitudinal 0.01 values': '22 4.002 4.25 -43.97 -21.36 24.92 -3.195',
    'longitudinal 0.01 whiteness': '3.657 1.664 1.612 1.727 1.965 2.485',
    'longitudinal 0.01 constants': '0.4449 0.000111 0.4452 -1.105e-05',
    'longitudinal 0.01 initial': '0.0003809 -0.002568 0.0001438 -0.002473',
    'longitudinal 0.01 correlation': '1 -0.5763 0.481 -0.4423 0.2789 -0.6344',
    'longitudinal 0.01 foretold': '0.2078 0.2184 5.813',
    'lateral regressed': (
        '-0.4455 -0.02955 0.2432 0.005865 -0.09948 -0.08974 -0.4765 0.1089 0.1181 '
        '-0.009943 0.08028 -0.03761 -0.1177 -0.007728 0.05853'),
    'lateral constants': '4.948e-05 4.008e-07 3.665e-06 1.084e-05 9.583e-07 1.065e-05',
    'lateral alike': '12.35 -0.9028 0.8323',
    'lateral swept deviations': (
        '0.00295 0.01565 0.002474 0.003618 0.0007617 0.0001978 0.001049 0.0001658 '
        '0.0002426 5.106e-05 0.0004358 0.002311 0.0003654 0.0005345 0.0001125'),
    'lateral swept values': (
        '-149.4 -2.402 94.41 2.204 -124.6 -468.7 -471.8 662.7 512.1 -197.6 184.2 -15.99 '
        '-328.9 -16.37 531.9'),
    'lateral band': '0.1002 1.128',
    'lateral delay': '1.004',
    'lateral 0 deviations': (
        '0.01676 0.07151 0.1064 0.0153 0.01216 0.03054 0.1631 0.02869 0.03714 0.003342 '
        '0.002901 0.01362 0.01566 0.003106 0.002059 0.01231'),
    'lateral 0 values': (
        '-26.03 0.3138 2.263 -0.4108 -8.033 -2.94 -2.927 3.829 3.207 -2.949 27.61 -2.894 '
        '-7.62 -2.626 29.07 -0.01821'),
    'lateral 0 whiteness': (
        '1.573 1.581 10.42 1.595 3.381 7.47 3.61 2.499 3.087 3.398 3.931 2.73 3.745 1.962 '
        '20.32'),
    'lateral 0 constants': '-3.829e-05 -1.053e-05 -3.736e-06 2.641e-05 1.716e-05 -6.885e-06',
    'lateral 0 initial': '0.0001628 0.002033 0.001374 0.0004266 -0.0005634 0.0008342',
    'lateral 0 correlation': (
        '1 0.7185 -0.07348 -0.6599 -0.1777 0.3847 0.3671 -0.04923 -0.3366 0.3159 -0.06782 '
        '-0.1935 -0.1013 0.1222 0.3093'),
    'lateral 0 foretold': '0.2057 0.2072 0.2077 5.094',
    'lateral 0.01 deviations': (
        '0.01048 0.0597 0.06119 0.01383 0.005215 0.002705 0.006788 0.0008961 0.001244 '
        '0.0002322 0.0008719 0.003162 0.0005514 0.0005829 0.0008633 0.000907'),
    'lateral 0.01 values': (
        '-41.19 0.8553 4.144 -0.9243 -18.78 -31.39 -66.83 124.1 90.89 -39.13 91.93 -11.39 '
        '-229.3 -15.24 68.96 -11.24'),
    'lateral 0.01 whiteness': (
        '1.492 1.602 9.936 1.645 3.471 6.911 3.269 2.691 2.778 3.027 3.727 2.549 3.477 '
        '1.909 18.49'),
    'lateral 0.01 constants': '-6.535e-05 -2.752e-05 1.343e-05 2.973e-05 1.424e-06 7.67e-06',
    'lateral 0.01 initial': '-4.312e-05 0.002078 0.001227 0.0002691 -0.0005177 0.0007305',
    'lateral 0.01 correlation': (
        '1 0.7347 -0.2966 -0.6017 -0.0458 0.2393 0.2028 -0.2103 -0.1779 -0.2293 -0.2168 '
        '-0.171 -0.2442 0.1425 0.2546'),
    'lateral 0.01 foretold': '0.2005 0.2069 0.2147 5.279',
    'longitudinal blown 0 deviations': '2.332 0.04817 0.1023 0.6795 0.01532 0.01909 0.00271',
    'longitudinal blown 0 values': '3.643 3.871 49.19 -21.9 37.88 -45.94 -0.001188',
    'longitudinal blown 0 whiteness': '1.78 1.753 2.334 1.735 1.575 1.626',
    'longitudinal blown 0 initial': '-0.0008134 -0.001875',
    'longitudinal blown 0 foretold': '0.2105 7.337',
    'longitudinal blown 0.01 deviations': '2.335 0.04973 0.1037 0.7051 0.01651 0.01927 0.002897',
    'longitudinal blown 0.01 values': '3.801 3.588 48.61 -21.59 34.71 -43.86 -3.096',
    'longitudinal blown 0.01 whiteness': '1.802 1.823 2.356 1.725 1.571 1.565',
    'longitudinal blown 0.01 initial': '-0.0008286 -0.001867',
    'longitudinal blown 0.01 foretold': '0.2106 7.384',
    'lateral blown 0 deviations': (
        '0.0556 0.00992 0.01157 0.00229 0.01049 0.003371 0.0005356 0.0007231 0.00013 '
        '0.0006381 0.002936 0.0003563 0.0007106 9.535e-05 0.0005508 0.0002738'),
    'lateral blown 0 values': (
        '0.2968 24.15 -0.5181 -42.78 -41.71 -142 207.7 165.1 -76.86 -141.1 -13.56 -335.6 '
        '-11.45 629.1 145.5 -0.6724'),
    'lateral blown 0 whiteness': (
        '1.491 1.712 1.425 1.58 1.492 1.534 1.725 1.481 1.647 1.547 1.669 1.736 1.676 '
        '1.675 1.668'),
    'lateral blown 0 initial': '0.002202 0.0003095 -0.001175 0.003009',
    'lateral blown 0 foretold': '0.2097 0.2136 5.067',
    'lateral blown 0.01 deviations': (
        '0.05591 0.01002 0.01209 0.002388 0.01055 0.003644 0.0005351 0.0007949 0.0001281 '
        '0.0006869 0.003132 0.0004091 0.0007475 0.0001124 0.0005916 0.0003895'),
    'lateral blown 0.01 values': (
        '0.7487 23.37 -0.9903 -40.74 -40.9 -126 209.7 143.9 -72.51 -125.1 -10.89 -310.7 '
        '-12.73 531.4 136.2 -23.82'),
    'lateral blown 0.01 whiteness': (
        '1.481 1.623 1.446 1.54 1.481 1.631 1.766 1.577 1.688 1.641 1.761 1.852 1.744 '
        '1.815 1.762'),
    'lateral blown 0.01 initial': '0.002504 -0.0002796 -0.0009095 0.002449',
    'lateral blown 0.01 foretold': '0.2074 0.2306 5.214',
    'speed deviations': '0.03934 0.0006854 0.0004423 0.06743 0.0384 0.01344 0.007354 0.8199',
    'speed beside deviations': '0.1211 0.002367 0.002276',
    'speed beside values': '0.5877 0.8765 -0.6367',
    'speed values': '-0.04301 -0.2513 1.29 -12.59 -0.9404 0.4805 0.1848 2.27',
    'speed whiteness': '11.44 1.075 1.093 5.4 5.643 3.568 3.626',
    'speed constants': '0.0003103 3.776 -0.02602 0.0003777 3.778 -0.02599',
    'speed correlation': '1 0.01595 -0.03001',
    'speed alike': '2.911 -0.7416',
    'speed foretold': '0.05705 0.0004963 0.05712 -0.0002027',
    'speed alone deviations': '0.004876 0.0006847 0.0004405 0.06707 0.03796 0.0134 0.00734 0.8196',
    'speed alone values': '-0.3469 -0.2516 1.295 -12.66 -0.9512 0.482 0.1851 2.271',
}


def flown(form, seed, seconds=12.0, shape=synthetic.pulses, part=0.004):
    """Return a rough flight in which airspeed, by that part, and throttle change as well."""
    exact = (synthetic.longitudinal if form is LONGITUDINAL else synthetic.lateral)(
        seconds=seconds, shape=shape)
    times = exact.times
    faster = 1.0 + part * np.sin(0.5 * times + seed)
    lever = 0.5 + 0.2 * (times > 3.0) - 0.3 * (times > 7.0)
    values = {
        **exact.measured.values, 'true_airspeed': synthetic.SPEED * faster,
        'density': synthetic.DENSITY * (1.0 + 0.1 * part * times), 'throttle': lever,
        'elevator': exact['elevator'] + 0.1 * part * np.sin(1.7 * times)}
    rng = np.random.default_rng(seed)
    small = synthetic.noisy(synthetic.motion(times, values), {
        name: 0.1 * one for name, one in NOISE.items()}, rng, colour=0.5)
    return synthetic.noisy(
        synthetic.motion(times, small.measured.values), NOISE, rng, colour=0.5)


def otherwise(motion):
    """Return the same motion as a vane and a rate gyro with errors of scale show it."""
    factors = {'angle_of_attack': 1.1, 'sideslip': 0.9, 'pitch_rate': 1.02}
    flights = (replace(one, values={
        name: factors.get(name, 1.0) * values for name, values in one.values.items()})
        for one in (motion.flight, motion.measured))
    return CheckedManoeuvre(*flights, motion.airframe)


def kept(found, name):
    """Compare numbers with those that are kept under a name."""
    expected = np.array(KEPT[name].split(), float)
    found = np.ravel(found)
    assert found.shape == expected.shape
    # What is small beside the others is a difference of them.
    np.testing.assert_allclose(
        found, expected, rtol=1e-3, atol=2e-4 * np.abs(expected).max(), err_msg=name)


def kept_estimates(found, name):
    """Compare estimates: their deviations, and the values as multiples of these."""
    deviations = [one.deviation for one in found]
    kept(deviations, f'{name} deviations')
    kept([one.value / one.deviation for one in found], f'{name} values')


FORMS = pytest.mark.parametrize('form', [LONGITUDINAL, LATERAL], ids=lambda one: one.name)


def two(form, **given):
    """Return two flights."""
    return [flown(form, 1, **given), flown(form, 2, 10.0, **given)]


@FORMS
def test_equation_error(form):
    found = equation_error(form, two(form), 0.01)
    kept([*found.derivatives.values()], f'{form.name} regressed')
    kept(found.constants, f'{form.name} constants')
    alike = found.collinearity
    kept([alike.condition, alike.correlation, alike.follows[1]], f'{form.name} alike')
    assert (*alike.pair, alike.follows[0]) == {
        LONGITUDINAL: ('pitch_rate', 'elevator', 'elevator'),
        LATERAL: ('sideslip', 'roll_rate', 'aileron')}[form]


@FORMS
@pytest.mark.parametrize(('step', 'late'), [(0.0, 0.02), (0.01, None)], ids=['flown', 'simulated'])
def test_output_error(form, step, late):
    motions = two(form)
    fit = output_error(
        form, motions, equation_error(form, motions), step, [[*map(otherwise, motions)]], late)
    name = f'{form.name} {step:g}'
    kept_estimates([*fit.derivatives.values(), fit.delay], name)
    kept([*fit.whiteness.values()], f'{name} whiteness')
    kept(fit.constants, f'{name} constants')
    kept(fit.initial, f'{name} initial')
    deviations = np.array([one.deviation for one in fit.derivatives.values()])
    np.testing.assert_allclose(np.diag(fit.covariance), deviations ** 2)
    kept(fit.covariance[0] / deviations / deviations[0], f'{name} correlation')
    for motion, outputs, residuals in zip(motions, fit.outputs, fit.residuals, strict=True):
        np.testing.assert_allclose(outputs + residuals, np.stack([
            motion.output(form, one) for one in form.outputs], axis=1), rtol=0.0, atol=1e-9)
    measured, said = foretold(fit, [flown(form, 3, 8.0)], step)
    kept(np.mean((measured[0] - said[0]) ** 2, axis=0) ** 0.5 * 100.0, f'{name} foretold')


@FORMS
@pytest.mark.parametrize('step', [0.0, 0.01], ids=['flown', 'simulated'])
def test_output_error_in_gusts(form, step):
    """The flow angle is then measured, and drives the others as a control does."""
    motions, blown = two(form), in_gusts(form)
    fit = output_error(blown, motions, equation_error(blown, motions), step)
    name = f'{form.name} blown {step:g}'
    kept_estimates([*fit.derivatives.values(), fit.delay], name)
    kept([*fit.whiteness.values()], f'{name} whiteness')
    kept(fit.initial, f'{name} initial')
    measured, said = foretold(fit, [flown(form, 3, 8.0)], step)
    kept(np.mean((measured[0] - said[0]) ** 2, axis=0) ** 0.5 * 100.0, f'{name} foretold')


@FORMS
def test_frequency_domain(form):
    motions = [
        replace(one, measured=replace(one.measured, manoeuvres=(
            Manoeuvre('chirp', 0.0, math.inf),)))
        for one in (flown(form, seed, seconds, synthetic.sweep)
                    for seed, seconds in ((1, 20.0), (2, 16.0)))]
    found = frequency_domain(form, [*motions, flown(form, 1)])
    kept_estimates(found.derivatives.values(), f'{form.name} swept')
    kept([*found.band], f'{form.name} band')
    kept([found.delay + 1.0], f'{form.name} delay')


def test_needless():
    assert {str(one) for one in needless(LONGITUDINAL, two(LONGITUDINAL))} == {'C_L_delta_e'}
    assert {str(one) for one in needless(LATERAL, two(LATERAL))} == {
        'C_Y_delta_a', 'C_Y_p', 'C_n_delta_a'}


def test_by_speed():
    motions = two(LONGITUDINAL, part=0.04)
    regression, fit = by_speed(motions, [[*map(otherwise, motions)]], 0.02)
    assert [str(one) for one in fit.derivatives] == [
        'C_D_alpha', 'C_D_u', 'C_D_delta_t', 'C_L_u', 'C_L_delta_t', 'C_m_u', 'C_m_delta_t']
    assert [str(one) for one in fit.beside] == ['C_D_q', 'C_D_abs_delta_e', 'C_D_delta_e']
    kept_estimates(fit.beside.values(), 'speed beside')
    assert regression.derivatives == {
        name: one.value for name, one in fit.derivatives.items()}
    assert regression.constants is fit.constants
    kept_estimates([*fit.derivatives.values(), fit.delay], 'speed')
    kept([*fit.whiteness.values()], 'speed whiteness')
    kept(fit.constants, 'speed constants')
    deviations = np.array([one.deviation for one in fit.derivatives.values()])
    np.testing.assert_allclose(np.diag(fit.covariance), deviations ** 2)
    correlation = fit.covariance / np.outer(deviations, deviations)
    kept(correlation[0, :3], 'speed correlation')
    # Each coefficient is estimated on its own.
    for begin, end in ((0, 3), (3, 5), (5, 7)):
        assert not correlation[begin:end, :begin].any()
    alike = regression.collinearity
    assert alike.pair == ('true_airspeed', 'throttle')
    kept([alike.condition, alike.correlation], 'speed alike')
    for outputs, residuals, initial in zip(fit.outputs, fit.residuals, fit.initial, strict=True):
        assert outputs.shape == residuals.shape == (len(outputs), 1)
        assert abs(residuals.mean()) < 0.01
        assert not len(initial)
    measured, said = foretold_path(fit, [flown(LONGITUDINAL, 3, 8.0, part=0.04)])
    kept([measured[0].std(), said[0].std(), (measured[0] - said[0]).std(), said[0].mean()],
         'speed foretold')
    alone = by_speed(motions)[1]
    kept_estimates([*alone.derivatives.values(), alone.delay], 'speed alone')


def test_a_lever_that_is_held_is_no_regressor():
    motion = flown(LONGITUDINAL, 1, part=0.04)
    assert speed_form([motion]).controls == (
        'angle_of_attack', 'elevator', 'true_airspeed', 'throttle')
    held = dict(motion.flight.values)
    for name in ('throttle', 'elevator'):
        held[name] = np.full(len(motion.times), 0.5)
    still = replace(motion, flight=replace(motion.flight, values=held))
    assert speed_form([still]).controls == ('angle_of_attack', 'true_airspeed')
    # Moved in one of them is enough; a flight without the signal has none.
    assert speed_form([still, motion]).controls == speed_form([motion]).controls
    del held['throttle']
    assert speed_form([still]).controls == ('angle_of_attack', 'true_airspeed')
    assert str(next(iter(by_speed([still])[1].derivatives))) == 'C_D_alpha'


@pytest.mark.parametrize(('lengths', 'lags'), [((25, 40), 5), ((10, 12), 2), ((4, 6), 1)])
def test_bounds_are_those_of_the_residuals_correlations(lengths, lags):
    """Sum over all pairs of samples, each pair by the tapered correlation at its distance."""
    rng = np.random.default_rng(5)
    residuals = [rng.standard_normal((n, 2)).cumsum(axis=0) for n in lengths]
    residuals[0][3, 1] = math.nan
    slopes = [rng.standard_normal((len(one), 2, 3)) for one in residuals]
    variances = np.array([0.5, 2.0])
    information, middle = np.zeros((3, 3)), np.eye(3)
    sums, counts = np.zeros((lags, 2, 2)), np.zeros((lags, 2, 2))
    for one in residuals:
        known = np.isfinite(one)
        filled = np.where(known, one, 0.0)
        for lag in range(lags):
            late = slice(lag, None), slice(None, len(one) - lag)
            sums[lag] += filled[late[1]].T @ filled[late[0]]
            counts[lag] += known[late[1]].astype(float).T @ known[late[0]]
    found = sums / counts * (1.0 - np.arange(lags) / lags)[:, None, None]
    for residual, slope in zip(residuals, slopes, strict=True):
        weighted = np.where(np.isfinite(residual), 1.0 / variances, 0.0)[..., None] * slope
        information += np.einsum('top,toq->pq', weighted, slope)
        for i in range(len(residual)):
            for j in range(len(residual)):
                if abs(i - j) < lags:
                    correlation = found[j - i] if j >= i else found[i - j].T
                    middle += weighted[i].T @ correlation @ weighted[j]
    white, coloured = corrected_covariance(information, residuals, slopes, variances, np.eye(3))
    np.testing.assert_allclose(white, np.linalg.inv(information), rtol=1e-9)
    expected = white @ middle @ white
    grown = np.sqrt(np.maximum(np.diag(expected), np.diag(white)) / np.diag(expected))
    np.testing.assert_allclose(coloured, expected * np.outer(grown, grown), rtol=1e-9)


def test_what_is_unsteady_by_hand():
    """Of slopes 2 and 10: curved both ways, curved one way, and late."""
    regressors = [np.array([[1.0, 0.0], [3.0, -1.0], [-1.0, -2.0]]), np.zeros((3, 2))]
    times = np.array([0.0, 0.5, 1.0])
    first, second = unsteady(np.array([[2.0, 10.0]]), regressors, [times, times], 0.1, 0.3)
    assert not second.any()
    # From the first sample on: 0, 2, -2 of at most 2, and 0, -1, -2 of at most 2.
    np.testing.assert_allclose(first[:, 0], [
        [0.0, 0.0, 0.0, 0.0, 0.8, -2.0], [1.2, -1.5, 1.2, 1.5, -0.4, -2.0],
        [-1.2, -6.0, 1.2, 6.0, -1.6, -2.0]], atol=1e-12)


def test_what_was_left_out_comes_back_where_it_is_needed_again():
    """B alone does what A and C do: so it is kept until these are; A and C are both needed."""
    rng = np.random.default_rng(4)
    a, c, noise = rng.standard_normal((3, 400))
    table = np.column_stack((a, a + c, c))
    assert _stepwise(table, 2.0 * a + 3.0 * c + 0.1 * noise) in ({0, 1}, {0, 2}, {1, 2})
    assert _stepwise(table[:, [0, 2]], 3.0 * c + 0.1 * noise) == {1}
    assert _stepwise(table[:, [0, 2]], 0.1 * noise) == set()
    # At an F ratio of 11, which is one in a thousand by chance.
    unit = np.linalg.qr(np.column_stack((a, noise)))[0]
    for ratio, needed in ((10.0, set()), (12.0, {0})):
        # Residuals that alternate are as good as independent.
        left = unit[:, 1] - np.convolve(unit[:, 1], np.full(9, 1.0 / 9.0), 'same')
        left -= unit[:, 0] * (unit[:, 0] @ left)
        variance = float(left @ left) / (len(a) - 2.0)
        assert _stepwise(unit[:, :1], left + unit[:, 0] * (ratio * variance) ** 0.5) == needed


def test_residuals_that_are_alike_count_as_fewer():
    """Of noise with a correlation of 0.9 a slope has to be clearer."""
    rng = np.random.default_rng(6)
    smooth = np.zeros(2000)
    for n in range(1, len(smooth)):
        smooth[n] = 0.95 * smooth[n - 1] + rng.standard_normal()
    column = np.sin(np.arange(2000) / 300.0)[:, None]
    column -= column.mean()
    slope = 4.0 * (float(smooth @ smooth) / len(smooth) / float((column ** 2).sum())) ** 0.5
    assert _stepwise(column, smooth - column[:, 0] * float(
        smooth @ column[:, 0]) / float((column ** 2).sum()) + slope * column[:, 0]) == set()
    white = rng.permutation(smooth)
    white -= column[:, 0] * float(white @ column[:, 0]) / float((column ** 2).sum())
    assert _stepwise(column, white + slope * column[:, 0]) == {0}
