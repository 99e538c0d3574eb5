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

"""Benchmarks show the last release's ratios, mark what is much worse, and say so when asked."""

from pathlib import Path
import sys

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / 'benchmarks'))

import released  # noqa: E402
import tables  # noqa: E402
from tables import Goals, show  # noqa: E402


@pytest.fixture
def beside(monkeypatch):
    """Return a function that compares a benchmark with these ratios; it returns its table."""
    monkeypatch.setattr(tables, '_compared', None)

    def compare(ratios):
        tables.compare('one', released.Released('1.0', {'one': {'latency': ratios}}))
        latency(1.3, 1.7)
        table, = tables.take_tables()
        return table

    return compare


def latency(*ratios):
    """Show a table as a benchmark does."""
    goals = Goals()
    columns = ('rate', 'ratio', 'goal', 'p99 ratio', 'goal <= 1.5', 'share', 'goal >= 0.9')
    show('Latency', columns, [
        [f'{number}/s', f'{ratio}', f'<= 1.3 {goals.at_most(ratio, 1.3)}', '9', 'missed', '1.00',
         'met'] for number, ratio in enumerate(ratios)])


def test_a_ratio_of_the_release_stands_beside_its_goal_and_much_worse_is_marked(beside, capsys):
    table = beside({
        '0/s': {'ratio': 1.25, 'p99 ratio': 1.0, 'share': 1.0},
        '1/s': {'ratio': 1.4, 'share': 1.21}})
    assert table.columns == (
        'rate', 'ratio', 'goal', '1.0', 'p99 ratio', 'goal <= 1.5', 'share', 'goal >= 0.9', '1.0')
    assert [row[3] for row in table.rows] == ['1.25', '1.4 worse']
    assert [row[8] for row in table.rows] == ['1', '1.21 worse']
    assert tables.take_worse() == [
        'one: latency: 1/s: ratio 1.7, in 1.0 1.4', 'one: latency: 1/s: share 1, in 1.0 1.21']
    assert tables.take_worse() == []
    assert '1.4 worse' in capsys.readouterr().out


def test_without_a_release_a_table_has_no_such_column(beside):
    assert len(beside({}).columns) == 7


def test_rows_that_begin_alike_are_told_apart_by_their_second_cell():
    rows = [['20', '240', '0.9', 'met'], ['20', '480', '0.8', 'missed']]
    found = released.ratios_of(('aircraft', 'allowed', 'of limit', 'goal >= 0.9'), rows)
    assert found == {'20, 240': {'of limit': 0.9}, '20, 480': {'of limit': 0.8}}


def test_what_differs_from_machine_to_machine_is_not_kept():
    rows = [['a', '7.5', 'met', '900', 'met', '2.0', 'met']]
    assert not released.ratios_of(
        ('work', 'again, ms', 'goal <= 2', 'times 115200 baud', 'goal >= 20', 'p99 ratio',
         'goal <= 1.5'), rows)


def test_what_was_written_is_read_back_and_anything_else_is_refused(tmp_path):
    path = tmp_path / 'released.json'
    kept = released.Released('1.0', {'one': {'latency': {'0/s': {'ratio': 1.2}}}})
    released.write(kept, path)
    assert released.read(path) == kept
    path.write_text('{}')
    with pytest.raises(ValueError, match=r"released.json: no ratios of a release \('release'\)"):
        released.read(path)


def test_the_committed_ratios_are_those_of_benchmarks_that_exist():
    kept = released.read()
    assert kept.ratios.keys() <= {
        path.stem.removeprefix('bench_') for path in (ROOT / 'benchmarks').glob('bench_*.py')}
    assert all(ratio > 0.0 for figures in kept.ratios.values() for rows in figures.values()
               for row in rows.values() for ratio in row.values())
