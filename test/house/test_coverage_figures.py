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


"""What `make coverage` prints: shares of lines and branches, and what lacks some."""

import json

import coverage_figures
import pytest


def counts(covered, lines, covered_branches, branches):
    return {'covered_lines': covered, 'num_statements': lines,
            'covered_branches': covered_branches, 'num_branches': branches}


REPORT = {
    'files': {'a.py': {'summary': counts(90, 100, 5, 10)}, 'b.py': {'summary': counts(0, 0, 0, 0)},
              'c.py': {'summary': counts(100, 100, 10, 10)}},
    'totals': counts(190, 200, 15, 20)}


def test_files_below_the_least_are_listed_and_the_whole_last():
    assert coverage_figures.figures(REPORT, 95.0) == [
        ' 90.0 % of lines: a.py', 'lines     95.0 % of 200', 'branches  75.0 % of 20']


@pytest.mark.parametrize(('totals', 'code'), [
    (counts(95, 100, 19, 20), 0), (counts(94, 100, 19, 20), 1), (counts(95, 100, 18, 20), 1)])
def test_too_few_lines_or_branches_are_an_error(tmp_path, totals, code):
    path = tmp_path / 'coverage.json'
    path.write_text(json.dumps(REPORT | {'totals': totals}))
    assert coverage_figures.main(str(path), '95') == code
