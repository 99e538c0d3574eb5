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


"""The report of an identification as a paper has it: tables, matrices, spectra, and a PDF."""

import math
import re

import numpy as np
import pytest
import synthetic

pytest.importorskip('scipy', reason='identification needs scipy')

from xplane_bridge.common.latex import escaped, with_interval
from xplane_bridge.laboratory.identification.identify import identify
from xplane_bridge.laboratory.identification.motion.equations import Derivative
from xplane_bridge.laboratory.identification.paper import correlations, formula, tables
from xplane_bridge.laboratory.identification.reading.published import PublishedDerivative
from xplane_bridge.laboratory.identification.report import as_mapping
from xplane_bridge.laboratory.identification.residual_spectrum import spectra

NOISE = {'angle_of_attack': 8e-4, 'pitch_rate': 8e-4, 'specific_force_z': 0.02}


@pytest.fixture(scope='module')
def found():
    flight = synthetic.noisy(synthetic.longitudinal(), NOISE, np.random.default_rng(5)).measured
    prior = {'C_m_q': PublishedDerivative(-15.0, 1.0), 'C_m_alpha': PublishedDerivative(5.0, 0.1)}
    return identify([flight], synthetic.AIRFRAME, prior=prior)


def rows(table):
    """Return the rows of a table without its head; all have the same number of cells."""
    lines = table.splitlines()
    assert lines[1].startswith('\\begin{tabular}{')
    assert lines[-1] == '\\end{tabular}'
    assert [line for line in lines[2:-1] if not line.endswith('\\\\')] == [
        '\\toprule', *['\\midrule'] * table.count('\\midrule'), '\\bottomrule']
    cells = [line.removesuffix(' \\\\').split(' & ') for line in lines if line.endswith('\\\\')]
    columns = re.fullmatch(r'\\begin\{tabular\}\{([lr]+)\}', lines[1]).group(1)
    assert {len(row) for row in cells} == {len(columns)}
    for cell in sum(cells, []):
        balanced(cell)
    return cells[1:]


def balanced(cell):
    """Check that what a cell opens it closes, and that its formulas are some."""
    mathtext = pytest.importorskip('matplotlib.mathtext', reason='matplotlib is not installed')
    assert cell.count('{') == cell.count('}')
    assert cell.count('$') % 2 == 0
    outside = re.sub(r'\$[^$]*\$', '', cell)
    assert not re.search(r'(?<!\\)[_^&#%~]', outside), cell
    for one in re.findall(r'\$[^$]*\$', cell):
        mathtext.MathTextParser('path').parse(one)


@pytest.mark.parametrize(('value', 'half', 'text'), [
    (-20.0567, 0.9912, r'$-20.06 \pm 0.99$'), (5.3061, 0.1099, r'$5.31 \pm 0.11$'),
    (123.4, 23.4, r'$123 \pm 23$'), (0.05998, 0.00095, r'$0.05998 \pm 0.00095$'),
    (1.234e-6, 5.6e-8, r'$(1.234 \pm 0.056) \times 10^{-6}$'), (1.5, 0.0, '$1.5$'),
    (1.5, math.inf, '$1.5$')])
def test_a_value_has_the_digits_of_its_interval(value, half, text):
    assert with_interval(value, half) == text


def test_texts_of_anybody_are_no_commands():
    assert escaped('50% of {a}_b \\input x') == r'50\% of \{a\}\_b \textbackslash{}input x'


@pytest.mark.parametrize(('derivative', 'text'), [
    (Derivative('C_m', 'pitch_rate'), '$C_{m_{q}}$'),
    (Derivative('C_L', 'angle_of_attack'), r'$C_{L_{\alpha}}$'),
    (Derivative('C_l', 'aileron_magnitude'), r'$C_{l_{|\delta_a|}}$'),
    (Derivative('C_n', 'rudder'), r'$C_{n_{\delta_r}}$')])
def test_a_derivative_is_a_formula(derivative, text):
    assert formula(derivative) == text


def test_the_tables_have_each_estimate_once(found):
    made = tables(found, None, {'C_L_alpha': PublishedDerivative(4.33)})
    assert made.keys() == {
        'derivatives', 'modes', 'covariance_longitudinal', 'correlation_longitudinal'}
    told = {row[0]: row[1:] for row in rows(made['derivatives'])}
    fits = [form.fit for form in found.forms.values()]
    assert len(told) == sum(len(fit.derivatives) for fit in fits)
    one = fits[0].derivatives[Derivative('C_m', 'pitch_rate')]
    assert told['$C_{m_{q}}$'][:2] == [
        with_interval(one.value, 2.0 * one.deviation), r'$-15.0 \pm 2.0$']
    assert told['$C_{m_{q}}$'][-2:] == ['--', '']
    assert told[r'$C_{L_{\alpha}}$'][-2:] == ['$4.33$', '1/rad']
    assert {row[0] for row in rows(made['modes'])} == {'short period'}


def test_the_matrices_are_those_of_the_estimates(found):
    made = tables(found)
    fit = found.forms['longitudinal'].fit
    deviations = [one.deviation for one in fit.derivatives.values()]
    shown = rows(made['correlation_longitudinal'])
    expected = correlations(fit.covariance)
    assert np.abs(expected).max() == pytest.approx(1.0)
    for n, row in enumerate(shown):
        assert [float(cell.strip('$')) for cell in row[1:n + 2]] == pytest.approx(
            expected[n, :n + 1], abs=0.0051)
        assert not any(row[n + 2:])
    last = rows(made['covariance_longitudinal'])[-1][-1]
    assert float(last.strip('$').replace('\\mathrm{e}{', 'e').strip('}')) == pytest.approx(
        deviations[-1] ** 2, rel=1e-3)
    kept = as_mapping(found)['forms']['longitudinal']
    assert np.sqrt(np.diag(kept['covariance'])) == pytest.approx(deviations)
    assert list(kept['derivatives']) == [str(name) for name in fit.derivatives]


def test_the_spectrum_of_white_residuals_is_flat_and_has_their_variance(found):
    rng = np.random.default_rng(2)
    times = np.arange(0.0, 60.0, 0.02)
    (white,) = spectra([times], [0.3 * rng.standard_normal(len(times))])
    assert white.frequencies[-1] == pytest.approx(25.0)
    area = np.trapezoid(white.densities, white.frequencies)
    assert area == pytest.approx(0.09, rel=0.1)
    assert white.white == pytest.approx(2.0 * 0.09 * 0.02, rel=0.05)
    assert np.median(white.densities) == pytest.approx(white.white, rel=0.15)
    slow = np.cumsum(rng.standard_normal(len(times)))
    (coloured,) = spectra([times], [slow])
    assert coloured.densities[1] > 100.0 * coloured.densities[-1]


def test_a_slow_sensor_has_a_spectrum_to_half_its_own_rate():
    times = np.arange(0.0, 60.0, 0.02)
    values = np.where(np.arange(len(times)) % 5 == 0, np.sin(times), np.nan)
    (found,) = spectra([times], [values])
    assert found.frequencies[-1] == pytest.approx(5.0)
    assert found.frequencies[np.argmax(found.densities)] == pytest.approx(
        1.0 / math.tau, abs=1.1 * found.frequencies[1])


def test_manoeuvres_of_one_rate_have_one_spectrum():
    first, second = np.arange(0.0, 10.0, 0.02), np.arange(0.0, 8.0, 0.1)
    found = spectra([first, first, second], [np.sin(9.0 * first)] * 2 + [np.sin(9.0 * second)])
    assert [one.frequencies[-1] for one in found] == pytest.approx([25.0, 5.0])
    assert spectra([first], [np.full(len(first), np.nan)]) == []
