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

"""docs/reference/performance.md keeps its prose while benchmarks replace their figures."""

from pathlib import Path
import sys

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / 'benchmarks'))

import page  # noqa: E402
from tables import Goals, show, take_tables  # noqa: E402

PROSE = """# Performance

<!-- figures of this release begin -->
<!-- figures of this release end -->

## One

What it means.

<!-- figures one begin -->
old
<!-- figures one end -->

The end.
"""


def latency(*values):
    """Show a table as a benchmark does."""
    goals = Goals()
    show('Latency,\nof a | b', ('rate', 'ratio', 'goal 1.25', 'lost'), [
        [f'{number}/s', f'{value:.2f}', goals.at_most(value, 1.25), number]
        for number, value in enumerate(values)])
    return take_tables()


@pytest.fixture
def written(tmp_path):
    """Return a function that writes a benchmark's tables to a page; it returns the page."""
    path = tmp_path / 'performance.md'
    path.write_text(PROSE)

    def write(name, tables):
        page.update(path, name, tables, page.Run('2026-11-22', '2 cores', '0.10', 12.3))
        return path.read_text()

    return write


def test_figures_are_replaced_and_the_prose_stays(written, capsys):
    written('one', latency(9.0))
    text = written('one', latency(1.0, 1.5))
    head, block = text.split('<!-- figures one begin -->\n')
    block, tail = block.split('<!-- figures one end -->\n')
    assert block == (
        'Measured on 2026-11-22 in 12 s, load before 0.10: 2 cores.\n\n'
        '**latency**: Latency, of a | b\n\n'
        '| rate | ratio | goal 1.25 | lost |\n'
        '|---|---:|---:|---:|\n'
        '| 0/s | 1.00 | met | 0 |\n'
        '| 1/s | 1.50 | **missed** | 1 |\n')
    assert (head[:13], tail) == ('# Performance', '\nThe end.\n')
    assert '1/s    1.50     missed     1' in capsys.readouterr().out


def test_the_summary_has_the_goals_of_all_benchmarks_on_the_page(written):
    written('one', latency(1.0, 1.5))
    text = written('two', [*latency(1.125), *latency(1.0, 1.25)])
    assert '\n## two\n\n<!-- figures two begin -->\n' in text
    summary = text.split('<!-- figures of this release begin -->\n')[1].split('<!--')[0]
    assert summary.splitlines() == [
        '| figure | judged | goal | measured | met |',
        '|---|---|---:|---:|---:|',
        '| one: latency | ratio | 1.25 | 1.00 to 1.50 | **1 of 2** |',
        '| two: latency | ratio | 1.25 | 1.12 | 1 of 1 |',
        '| two: latency | ratio | 1.25 | 1.00 to 1.25 | 2 of 2 |']
    # Again: nothing is appended twice.
    assert written('two', latency(1.0)).count('figures two begin') == 1


def test_a_goal_may_differ_by_row(written):
    show('Share', ('count', 'share', 'goal'), [
        [1, '0.60', '0.5 met'], [500, '0.20', '0.25 missed'], [2, '0.10', '-']])
    text = written('one', take_tables())
    assert '| 500 | 0.20 | 0.25 **missed** |' in text
    share, = (line for line in text.splitlines() if line.startswith('| one: '))
    assert share.endswith(' | share | 0.25 to 0.5 | 0.20 to 0.60 | **1 of 2** |')


def test_the_machine_is_named_without_its_host_name():
    assert page.processor()
    assert float(page.load()) >= 0.0
