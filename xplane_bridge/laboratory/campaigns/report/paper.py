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

"""The pass rates of a campaign as tables for a paper: CSV, and LaTeX for the package booktabs."""

from __future__ import annotations

from collections.abc import Sequence
import csv
import io
from pathlib import Path
from typing import NamedTuple

from xplane_bridge.common import plain_files
from xplane_bridge.common.latex import escaped, tabular
from xplane_bridge.laboratory.campaigns.report.outcomes import Rate

CSV, TEX = 'pass_rate.csv', 'pass_rate.tex'


class ResultLine(NamedTuple):
    """One line: what flew, which criterion, and how often it was met."""

    group: tuple[str, ...]
    criterion: str
    rate: Rate


def write(folder: Path, names: Sequence[str], lines: Sequence[ResultLine]) -> None:
    """Write both files; ``names`` are the heads of the columns of each line's group."""
    head = [*names, 'criterion', 'passed', 'flights', 'pass_rate_percent', 'low_percent',
            'high_percent']
    text = io.StringIO()
    writer = csv.writer(text, lineterminator='\n')
    writer.writerow(head)
    writer.writerows([
        [*line.group, line.criterion, line.rate.passed, line.rate.flights,
         *(f'{100.0 * number:.6g}' for number in line.rate.interval)] for line in lines])
    plain_files.write(folder / CSV, text.getvalue())
    cells = [[*line.group, line.criterion, f'{line.rate.passed}/{line.rate.flights}',
              *_share(line.rate)] for line in lines]
    plain_files.write(folder / TEX, tabular(
        'l' * (len(names) + 1) + 'rrr',
        [*map(escaped, (*names, 'criterion', 'passed', 'pass rate, %', '95% interval'))],
        [[[*map(escaped, row)] for row in cells]],
        'the intervals are 95% Wilson score intervals.'))


def _share(rate: Rate) -> tuple[str, str]:
    value, low, high = (100.0 * number for number in rate.interval)
    return f'{value:.1f}', f'{low:.1f} to {high:.1f}'
