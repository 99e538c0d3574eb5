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

"""Published derivatives as a prior: what prior, flights and both say, and when they contradict."""

import math

import numpy as np
import pytest
import synthetic

pytest.importorskip('scipy', reason='identification needs scipy')

from xplane_bridge.common.fields import FieldError
from xplane_bridge.laboratory.identification.estimation.equation_error import equation_error
from xplane_bridge.laboratory.identification.estimation.mixed import mixed
from xplane_bridge.laboratory.identification.estimation.output_error import Estimate, output_error
from xplane_bridge.laboratory.identification.identify import identify
from xplane_bridge.laboratory.identification.motion.equations import Derivative, LONGITUDINAL
from xplane_bridge.laboratory.identification.reading.published import (
    load_prior,
    PublishedDerivative,
)
from xplane_bridge.laboratory.identification.report import as_mapping, lines

NOISE = {'angle_of_attack': 8e-4, 'pitch_rate': 8e-4, 'specific_force_z': 0.02}
DAMPING = Derivative('C_m', 'pitch_rate')


@pytest.fixture(scope='module')
def flight():
    return synthetic.noisy(synthetic.longitudinal(), NOISE, np.random.default_rng(5))


@pytest.fixture(scope='module')
def fit(flight):
    return output_error(LONGITUDINAL, [flight], equation_error(LONGITUDINAL, [flight]))


def test_one_derivative_by_hand(fit):
    """Of one derivative the inverse variances are weights; others follow by their correlation."""
    alone = fit.derivatives[DAMPING]
    prior = Estimate(alone.value + 2.0 * alone.deviation, alone.deviation)
    found, told = mixed(fit, {DAMPING: prior})
    one = found.derivatives[DAMPING]
    assert one.value == pytest.approx(alone.value + alone.deviation)
    assert one.deviation == pytest.approx(alone.deviation / math.sqrt(2.0))
    assert told.apart[DAMPING] == pytest.approx(-math.sqrt(2.0))
    assert told.alone[DAMPING] == alone
    assert not told.contradicting
    names = [*fit.derivatives]
    at, other = names.index(DAMPING), names.index(Derivative('C_m', 'elevator'))
    moved = found.derivatives[names[other]].value - fit.derivatives[names[other]].value
    assert moved == pytest.approx(
        fit.covariance[other, at] / fit.covariance[at, at] * alone.deviation)
    assert np.sqrt(np.diag(found.covariance)) == pytest.approx(
        [each.deviation for each in found.derivatives.values()])


def test_a_prior_that_says_nothing_changes_nothing(fit):
    found, _ = mixed(fit, {DAMPING: Estimate(0.0, 1e9)})
    for name, one in found.derivatives.items():
        assert one == pytest.approx(fit.derivatives[name]), name


def test_a_prior_that_contradicts_the_flights_is_told_and_not_used(fit):
    alone = fit.derivatives[DAMPING]
    prior = {DAMPING: Estimate(alone.value + 5.0 * alone.deviation, alone.deviation)}
    found, told = mixed(fit, prior)
    assert told.contradicting == {DAMPING}
    assert told.apart[DAMPING] == pytest.approx(-5.0 / math.sqrt(2.0))
    assert found.derivatives == fit.derivatives


def test_priors_that_contradict_together_are_told(fit):
    """Each is 2.7 deviations away: of six that is as unlikely as one with five."""
    prior = {name: Estimate(one.value + 2.7 * math.sqrt(2.0) * one.deviation * sign, one.deviation)
             for sign, (name, one) in zip((1, -1) * 3, fit.derivatives.items(), strict=True)}
    found, told = mixed(fit, prior)
    assert told.contradicting == prior.keys()
    assert found.derivatives == fit.derivatives


def test_two_sigma_of_both_contain_the_truth_as_often_as_they_say():
    exact = synthetic.longitudinal()
    known = {name: synthetic.LONGITUDINAL[str(name)] for name in LONGITUDINAL.derivatives}
    rng = np.random.default_rng(11)
    inside, narrower = [], []
    for _ in range(16):
        motion = synthetic.noisy(exact, NOISE, rng, 0.7)
        alone = output_error(LONGITUDINAL, [motion], equation_error(LONGITUDINAL, [motion]))
        for size in (0.5, 1.0, 1.0, 2.0):
            sigmas = {name: size * one.deviation for name, one in alone.derivatives.items()}
            found, _ = mixed(alone, {
                name: Estimate(known[name] + sigma * rng.standard_normal(), sigma)
                for name, sigma in sigmas.items()})
            for name, one in found.derivatives.items():
                inside.append(abs(one.value - known[name]) < 2.0 * one.deviation)
                narrower.append(one.deviation / alone.derivatives[name].deviation)
    assert 0.90 <= np.mean(inside) <= 0.99
    assert np.median(narrower) < 0.75


@pytest.fixture(scope='module')
def alone(flight):
    return identify([flight.measured], flight.airframe)


def test_the_report_has_prior_flights_and_both(flight, alone):
    value = alone.forms['longitudinal'].fit.derivatives[DAMPING]
    prior = {'C_m_q': PublishedDerivative(value.value, value.deviation),
             'C_m_alpha': PublishedDerivative(5.0, 0.1),
             'C_n_beta': PublishedDerivative(0.1, 0.01)}
    found = identify([flight.measured], flight.airframe, prior=prior)
    form = found.forms['longitudinal']
    told = lines(found)
    head = next(line for line in told if line.split()[:1] == ['derivative'])
    assert head.split() == ['derivative', 'estimate', '2', 'sigma', 'unit', 'prior', '2', 'sigma',
                            'flights', 'alone', '2', 'sigma', 'apart']
    row = next(line for line in told if line.split()[:1] == ['C_m_q']).split()
    both = form.fit.derivatives[DAMPING]
    assert row == ['C_m_q', f'{both.value:.4g}', f'{2.0 * both.deviation:.2g}',
                   f'{value.value:.4g}', f'{2.0 * value.deviation:.2g}',
                   f'{value.value:.4g}', f'{2.0 * value.deviation:.2g}', '+0.0', 'sigma']
    assert both.deviation < 0.75 * value.deviation
    sentence = next(line for line in told if 'contradict' in line)
    assert sentence.startswith(
        '  prior and flights contradict each other: C_m_alpha is 5 +- 0.2 by the prior and -')
    assert sentence.endswith('sigma apart, expected at most 3: its prior is not used')
    assert '\nprior not used: C_n_beta, which is not among what was identified' in told
    kept = as_mapping(found)['forms']['longitudinal']
    assert kept['derivatives']['C_m_q']['prior'] == {
        'value': value.value, 'two_sigma': 2.0 * value.deviation, 'apart': pytest.approx(0.0)}
    assert kept['derivatives']['C_m_q']['alone'] == {
        'estimate': value.value, 'two_sigma': 2.0 * value.deviation}
    assert kept['derivatives']['C_m_alpha']['prior']['contradicts']
    # The model that is drawn and validated is that of both.
    assert np.std(form.fit.residuals[0]) < 1.05 * np.std(
        alone.forms['longitudinal'].fit.residuals[0])
    assert not np.array_equal(
        form.fit.outputs[0], alone.forms['longitudinal'].fit.outputs[0])


def test_a_sign_that_is_turned_is_asked_about(flight, alone):
    name = Derivative('C_m', 'elevator')
    one = alone.forms['longitudinal'].fit.derivatives[name]
    found = identify([flight.measured], flight.airframe, prior={
        'C_m_delta_e': PublishedDerivative(-one.value, one.deviation)})
    assert any('not used; is its sign turned?' in line for line in lines(found))


def file_of(text, tmp_path):
    path = tmp_path / 'prior.yaml'
    path.write_text(text)
    return str(path)


@pytest.mark.parametrize(('text', 'said'), [
    ('C_m_Q: {value: 1.0, sigma: 1.0}', "unknown name 'C_m_Q', expected .*; did you mean C_m_q"),
    ('C_m_q: 1.0', 'C_m_q.sigma: expected above 0: a prior needs its standard deviation'),
    ('C_m_q: {value: 1.0}', 'C_m_q.sigma: expected above 0: a prior needs its standard deviat'),
    ('C_m_q: {value: 1.0, sigma: 0.0}', 'C_m_q.sigma: expected above 0'),
    ('C_m_q: {value: 1.0, sigma: -1.0}', 'C_m_q.sigma: expected at least 0, got -1'),
    ('C_m_q: {value: 1.0, sigma: .nan}', 'C_m_q.sigma: expected a finite number, got nan'),
    ('C_m_q: {value: 1.0, sigma: 1.0, unit: 1/deg}',
     "C_m_q.unit: expected none, as it is by a reduced rate or airspeed, got '1/deg'"),
    ('C_m_alpha: {value: 1.0, sigma: 1.0, unit: deg}',
     "C_m_alpha.unit: expected one like 1/rad, got 'deg'"),
    ('C_m_alpha: {value: 1.0, sigma: 1.0, unit: 1/full}',
     "C_m_alpha.unit: expected one like 1/rad, got '1/full'"),
    ('C_m_delta_e: {value: 1.0, sigma: 1.0, unit: 1/foo}',
     "C_m_delta_e.unit: expected one like 1/rad, or 1/full, got '1/foo'"),
    ('{}', 'expected a derivative, got none')])
def test_what_is_no_prior_is_refused(text, said, tmp_path):
    pytest.importorskip('pint', reason='pint is not installed')
    with pytest.raises(FieldError, match=f'prior.yaml: .*{said}'):
        load_prior(file_of(text, tmp_path))


def test_a_prior_per_degree_is_one_per_radian(tmp_path):
    pytest.importorskip('pint', reason='pint is not installed')
    found = load_prior(file_of('C_L_alpha: {value: 0.1, sigma: 0.01, unit: 1/deg}', tmp_path))
    value, sigma, unit = found['C_L_alpha']
    assert (value, sigma) == pytest.approx((math.degrees(0.1), math.degrees(0.01)))
    assert unit == '1/rad'


def test_a_unit_that_the_flights_do_not_have_is_refused(flight):
    with pytest.raises(FieldError, match=(
            'C_m_delta_e is given per rad, but the flights have commands of the elevator, so it '
            'is by full deflection')):
        identify([flight.measured], flight.airframe, prior={
            'C_m_delta_e': PublishedDerivative(0.6, 0.1, '1/rad')})
