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

"""The tables of fields in docs/reference say what is declared."""

from dataclasses import replace
import math

import pytest

pytest.importorskip('jsbsim', reason='aircraft need jsbsim')

import field_table

from xplane_bridge.common.fields import Declaration
from xplane_bridge.laboratory.campaigns.plan.plan import PLAN
from xplane_bridge.laboratory.flights.scenario.scenario import ALONE, INITIAL

DECLARED = [
    pytest.param(one, id=f'{page} {of} {name}') for page, tables in field_table.TABLES.items()
    for of, table in tables.items() for name, one in table.items()]


def test_the_pages_have_the_tables():
    for path, text in field_table.pages():
        assert path.read_text(encoding='utf-8') == text, f'{path.name}: make field-table'


@pytest.mark.parametrize('one', DECLARED)
def test_a_field_says_what_it_is_and_what_it_may_be(one):
    assert one.meaning
    assert not one.meaning.endswith('.')
    assert '|' not in one.meaning + one.form
    assert field_table.row('name', one)[3]
    if one.kind is float and one.reader is None and isinstance(one.default, float) and (
            math.isfinite(one.default) and not one.name.endswith('_deg')):
        assert one.check(one.default, 'default') == one.default


def test_a_new_field_is_one_row(monkeypatch):
    """It is read, refused in the words of all, and in the table of its page."""
    from xplane_bridge.laboratory.flights.scenario.scenario import parse, ScenarioError
    new = Declaration(0.0, 'of the cloud base', unit='m', low=0.0, high=9000.0)
    monkeypatch.setitem(INITIAL, 'cloud_base', new)
    content = {'duration': 1.0, 'events': [], 'criteria': [], 'expect_crash': True,
               'initial': {'cloud_base': 600}}
    assert parse('clouds', content).initial == {'cloud_base': 600.0}
    content['initial']['cloud_base'] = -1.0
    with pytest.raises(ScenarioError, match='^initial.cloud_base: expected 0 to 9000 m, got -1$'):
        parse('clouds', content)
    (page,) = (text for path, text in field_table.pages() if path.name == 'scenarios.md')
    assert '| `cloud_base` | of the cloud base | m | a number, 0 to 9000 | `0` |' in page


def test_what_is_shared_is_said_alike():
    assert replace(PLAN['physics_rate'], meaning='') == replace(ALONE['physics_rate'], meaning='')
