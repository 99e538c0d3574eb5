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

"""Budgets count what they say they count, and their table is compared and rewritten."""

import math

import budgets
from budgets import Budget, CONVERSATION, measured
import pytest

PAGE = f'before\n<!-- budgets begin -->\n{budgets._HEAD}<!-- budgets end -->\nafter\n'


@pytest.fixture
def page(tmp_path, monkeypatch):
    """Return a page of its own with a path of 100 calls and 20 kB, and compare with it."""
    path = tmp_path / 'page.md'
    path.write_text(PAGE)
    monkeypatch.setattr(budgets, 'PAGE', path)
    monkeypatch.delenv('BUDGETS', raising=False)
    budgets.write('one', CONVERSATION, Budget(100, 20))
    budgets.write('other', CONVERSATION, Budget(7))
    return path


def path_of(work, kept=0):
    """Return a path whose laps call ``work`` and need ``kept`` bytes."""
    def path(meter):
        going = True
        while going:
            with meter:
                work()
                bytearray(kept)
            going = meter.lap()

    return path


def test_functions_of_python_and_of_c_count_and_what_is_beside_does_not():
    def work():
        math.sqrt(2.0)
        [abs(value) for value in (1, 2, 3)]

    # work, sqrt, the comprehension and three times abs.
    assert measured(path_of(work)) == Budget(6)
    found = measured(path_of(work, 50_000), memory=True)
    assert found.calls == 6
    assert 50 <= found.kilobytes <= 52


def test_the_table_states_limits_a_tenth_above_and_is_rewritten_in_place(page):
    budgets.write('one', CONVERSATION, Budget(90, 20))
    assert page.read_text() == (
        f'before\n<!-- budgets begin -->\n{budgets._HEAD}'
        '| one | conversation | 90 | 99 | 20 | 22 |\n| other | conversation | 7 | 8 |  |  |\n'
        '<!-- budgets end -->\nafter\n')


@pytest.mark.parametrize(('budget', 'said'), [
    (Budget(111, 20), 'one: 111 calls, 100 before, at most 110; shorten it again'),
    (Budget(100, 23), 'one: 23 kB, 20 before, at most 22'),
    (Budget(89, 20), 'one: 89 calls instead of 100: shorter, so make budgets lowers the limit'),
    (Budget(100), 'one: the table and the test differ in kB')])
def test_a_path_that_grew_or_shrank_is_named_with_its_numbers(page, budget, said):
    with pytest.raises(AssertionError, match=said):
        budgets.check('one', CONVERSATION, budget)


def test_small_differences_pass_and_unknown_paths_do_not(page):
    budgets.check('one', CONVERSATION, Budget(110, 19))
    with pytest.raises(AssertionError, match='no budget of "third": make budgets writes it'):
        budgets.check('third', CONVERSATION, Budget(1))


def test_the_table_is_written_where_that_is_asked_for(page, monkeypatch):
    monkeypatch.setenv('BUDGETS', 'rewrite')
    budgets.check('third', CONVERSATION, Budget(10))
    assert page.read_text().count('| third | conversation | 10 | 11 |  |  |\n') == 1


def test_elsewhere_the_reason_is_said(monkeypatch):
    monkeypatch.setattr(budgets, 'PYTHON', '2.7')
    with pytest.raises(pytest.skip.Exception, match='counted under Python 2.7'):
        budgets.skip_elsewhere()
    monkeypatch.setattr(budgets, 'PYTHON', '{}.{}'.format(*budgets.sys.version_info))
    monkeypatch.setattr(budgets, 'pinned', lambda: {'numpy': '0.1'})
    with pytest.raises(pytest.skip.Exception, match='counted with numpy 0.1, as pinned'):
        budgets.skip_elsewhere('numpy')
