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

"""Published derivatives beside the estimates."""

import math

import pytest
import synthetic

pytest.importorskip('scipy', reason='identification needs scipy')

from xplane_bridge.common.fields import FieldError
from xplane_bridge.laboratory.identification.identify import identify
from xplane_bridge.laboratory.identification.reading.published import load, PublishedDerivative
from xplane_bridge.laboratory.identification.report import as_mapping, lines


def file_of(text, tmp_path):
    path = tmp_path / 'published.yaml'
    path.write_text(text)
    return str(path)


def test_an_estimate_is_off_by_deviations_of_both(tmp_path):
    flight = synthetic.longitudinal()
    found = identify([flight.measured], flight.airframe)
    one = {str(name): estimate for name, estimate in
           found.forms['longitudinal'].fit.derivatives.items()}['C_m_q']
    sigma = 3.0 * one.deviation
    value = one.value + 2.0 * math.hypot(sigma, one.deviation)
    theirs = load(file_of(f'C_m_q: {{value: {value!r}, sigma: {sigma!r}}}\nC_L_alpha: 4.0\n',
                          tmp_path))
    assert theirs == {'C_m_q': PublishedDerivative(value, sigma),
                      'C_L_alpha': PublishedDerivative(4.0)}
    told = lines(found, None, theirs)
    row = next(line for line in told if line.split()[:1] == ['C_m_q'])
    assert row.endswith(f'{value:.4g} +- {sigma:.2g}  -2.0 sigma')
    head = next(line for line in told if line.split()[:1] == ['derivative'])
    assert head.split()[-3:] == ['published', 'off', 'by']
    kept = as_mapping(found, None, theirs)['forms']['longitudinal']['derivatives']
    assert kept['C_m_q']['published'] == {'value': value, 'sigma': sigma}
    assert 'published' not in kept['C_m_alpha']


@pytest.mark.parametrize(('text', 'said'), [
    ('C_m_Q: 1.0', "unknown name 'C_m_Q', expected .*; did you mean C_m_q"),
    ('C_m_q: {sigma: 1.0}', 'C_m_q: value is missing'),
    ('C_m_q: {value: 1.0, sigma: -1.0}', 'C_m_q.sigma: expected at least 0, got -1'),
    ('C_m_q: many', "C_m_q: expected a number, got 'many'"), ('[1]', 'expected names')])
def test_what_is_no_such_file_is_refused(text, said, tmp_path):
    with pytest.raises(FieldError, match=said):
        load(file_of(text, tmp_path))
