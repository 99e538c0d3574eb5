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

"""Drag less thrust, and derivatives in the frequency domain, of synthetic aircraft."""

from dataclasses import replace
import math

import numpy as np
import pytest
import synthetic

pytest.importorskip('scipy', reason='the synthetic aircraft need scipy')

from xplane_bridge.laboratory.identification.estimation.by_speed import by_speed, foretold_path
from xplane_bridge.laboratory.identification.estimation.equation_error import collinearity
from xplane_bridge.laboratory.identification.estimation.frequency_domain import frequency_domain
from xplane_bridge.laboratory.identification.estimation.structure import needless
from xplane_bridge.laboratory.identification.motion.equations import (
    Derivative,
    LATERAL,
    LONGITUDINAL,
)
from xplane_bridge.laboratory.identification.motion.signals import IdentificationError, Manoeuvre

KNOWN = {'C_D_alpha': 0.3, 'C_D_u': 0.12, 'C_D_delta_t': -0.08}
NOT_THERE = ('C_L_u', 'C_L_delta_t', 'C_m_u', 'C_m_delta_t')
STEP = 0.02


def flown(noise=0.0, lag=0.8, seed=1, throttle=True):
    """Return a motion in which angle of attack, airspeed and throttle change."""
    times = np.arange(0.0, 25.0, STEP)
    alpha = 0.03 + 0.02 * np.sin(2.1 * times)
    speed = synthetic.SPEED * (1.0 + 0.06 * np.sin(0.3 * times))
    lever = 0.6 - 0.2 * ((times > 4.0) & (times < 11.0)) + 0.15 * (times > 16.0)
    late, half, acting = [lever[0]], lever[0], lever[0]
    for now in lever[1:]:
        half += (1.0 - math.exp(-STEP / lag)) * (now - half)
        acting += (1.0 - math.exp(-STEP / lag)) * (half - acting)
        late.append(acting)
    coefficient = (0.05 + KNOWN['C_D_alpha'] * alpha + KNOWN['C_D_u'] * np.log(speed)
                   + KNOWN['C_D_delta_t'] * np.array(late) * throttle)
    zero = np.zeros(len(times))
    along = -0.5 * synthetic.DENSITY * speed ** 2 * synthetic.AIRFRAME.wing_area * (
        coefficient / synthetic.AIRFRAME.mass)
    along = along + noise * np.random.default_rng(seed).standard_normal(len(times))
    values = {
        'roll': zero, 'pitch': zero, 'roll_rate': zero, 'pitch_rate': zero, 'yaw_rate': zero,
        'specific_force_x': along * np.cos(alpha), 'specific_force_y': zero,
        'specific_force_z': along * np.sin(alpha), 'true_airspeed': speed,
        'angle_of_attack': alpha, 'sideslip': zero, 'density': zero + synthetic.DENSITY,
        'elevator': zero, 'aileron': zero, 'rudder': zero}
    return synthetic.motion(times, values | ({'throttle': lever} if throttle else {}))


def told(fit):
    """Return what is told of the drag."""
    return {name: one for name, one in fit.derivatives.items() if name.coefficient == 'C_D'}


def test_drag_and_thrust_are_found_with_the_engines_lag():
    motion = flown(noise=0.02)
    _, fit = by_speed([motion])
    assert {str(name) for name in fit.derivatives} == {*KNOWN, *NOT_THERE}
    for name, one in told(fit).items():
        assert abs(one.value - KNOWN[str(name)]) < 3.0 * one.deviation, name
        assert one.bound < 0.05, name
    assert fit.delay.value == pytest.approx(0.8, abs=0.1)
    assert np.std(fit.residuals[0]) == pytest.approx(0.02, rel=0.1)
    np.testing.assert_allclose(
        fit.outputs[0] + fit.residuals[0],
        motion.output(fit.form, fit.form.force)[:, None], atol=1e-12)
    measured, said = foretold_path(fit, [flown()])
    assert np.abs(measured[0] - said[0]).max() < 0.02


def test_two_sigma_of_drag_contain_the_truth():
    inside = [
        abs(one.value - KNOWN[str(name)]) < 2.0 * one.deviation
        for seed in range(40) for name, one in told(
            by_speed([flown(noise=0.05, seed=seed)])[1]).items()]
    assert 0.90 <= np.mean(inside) <= 0.99


def test_without_a_throttle_there_is_nothing_by_it():
    _, fit = by_speed([flown(throttle=False)])
    assert {str(name) for name in fit.derivatives} == {'C_D_alpha', 'C_D_u', 'C_L_u', 'C_m_u'}
    assert fit.delay.value == 0.0


def test_a_thrust_that_never_follows_is_refused():
    with pytest.raises(IdentificationError, match='thrust follows the throttle with two time'):
        by_speed([flown(lag=6.0)])


def test_the_vanes_error_is_in_the_bounds():
    motion, other = flown(noise=0.02), flown(noise=0.02)
    other.flight.values['angle_of_attack'] = 1.3 * motion['angle_of_attack']
    name = Derivative('C_D', 'angle_of_attack')
    alone, both = (by_speed([motion], others)[1] for others in ([], [[other]]))
    assert both.derivatives[name].deviation > 1.5 * alone.derivatives[name].deviation


@pytest.mark.parametrize(('form', 'exact', 'known'), [
    (LONGITUDINAL, synthetic.longitudinal, synthetic.LONGITUDINAL),
    (LATERAL, synthetic.lateral, synthetic.LATERAL)], ids=['longitudinal', 'lateral'])
def test_the_frequency_domain_finds_the_same(form, exact, known):
    motion = exact(seconds=25.0, shape=synthetic.sweep)
    assert frequency_domain(form, [motion]) is None
    swept = replace(motion, measured=replace(
        motion.measured, manoeuvres=(Manoeuvre('chirp_elevator', 0.0, math.inf),)))
    found = frequency_domain(form, [swept])
    assert found is not None
    for name, one in found.derivatives.items():
        value = known[str(name)]
        # One delay is that of the moments, which see a control held; lift sees it at once.
        within = 0.2 if str(name) in ('C_L_q', 'C_L_delta_e') else 0.06
        assert one.value == pytest.approx(
            value, rel=within, abs=max(3.0 * one.deviation, 0.004)), name
    assert found.band[0] < 0.3
    assert found.band[1] > 0.8


def test_regressors_are_alike_by_their_correlation_and_few_show_nothing():
    """Of two with a correlation of -0.6 the condition number is 2: the root of 1.6 by 0.4."""
    one, other = np.tile([1.0, -1.0], 15), np.tile([1.0, 1.0, -1.0, -1.0, 0.0], 6)
    other = other - one * (other @ one) / 30.0
    other = other / np.linalg.norm(other)
    first = 3.0 * one / 30.0 ** 0.5
    table = np.column_stack((first, 5.0 * (0.8 * other - 0.2 * first)))
    found = collinearity(table, ('p', 'aileron'))
    assert found.condition == pytest.approx(2.0)
    assert set(found.pair) == {'p', 'aileron'}
    assert found.correlation == pytest.approx(-0.6)
    for few in (table[:-1], table * [1.0, 0.0]):
        assert collinearity(few, ('p', 'aileron')).condition == math.inf
    assert collinearity(table * [1.0, 0.0], ('p', 'aileron')).pair == ('aileron', 'aileron')


def test_what_does_nothing_is_not_needed():
    values = dict(synthetic.LATERAL)
    noise = {'sideslip': 1e-3, 'roll_rate': 1e-3, 'yaw_rate': 1e-3, 'specific_force_y': 0.05}
    found = needless(LATERAL, [
        synthetic.noisy(synthetic.lateral(), noise, np.random.default_rng(2))])
    assert Derivative('C_Y', 'aileron') in found
    strong = {name for name, value in values.items() if abs(value) > 0.06}
    assert not strong & {str(name) for name in found}


def test_the_frequency_domain_finds_a_late_control():
    motion = synthetic.longitudinal(seconds=25.0, late=2, shape=synthetic.sweep)
    swept = replace(motion, measured=replace(
        motion.measured, manoeuvres=(Manoeuvre('multisine', 0.0, math.inf),)))
    found = frequency_domain(LONGITUDINAL, [swept])
    assert found is not None
    assert found.delay == pytest.approx(2.0 * synthetic.STEP, abs=0.01)
