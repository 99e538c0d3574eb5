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

"""
Take the report of a verification into the page of what was seen real.

tools/take_report.py REPORT.json --aircraft NAME. The report is a stranger's: it is read within
bounds, and only printable text of it gets into the page.
"""

from __future__ import annotations

import argparse
from pathlib import Path
import re
import sys

from xplane_bridge.common import plain_files
from xplane_bridge.common.text import printable
from xplane_bridge.laboratory.verification.evidence.findings import Outcome
from xplane_bridge.laboratory.verification.report import read, VerificationReport

PAGE = Path(__file__).resolve().parents[1] / 'docs' / 'reference' / 'seen.md'
_MARKED = re.compile(r'(<!-- seen begin -->\n).*?(<!-- seen end -->)', re.DOTALL)
_HEAD = ('| program | aircraft | machine | package | date | seen | differs |\n'
         '|---|---|---|---|---|---|---|\n')
_LONGEST = 80


def cell(text: str) -> str:
    """Return a stranger's text as the cell of a table: no markup of his takes effect."""
    return re.sub(r'([\\`*_{}\[\]<>|#!])', r'\\\1', printable(text, _LONGEST))


def row(report: VerificationReport, aircraft: str) -> str:
    """Return the row of a report."""
    def numbers(outcome: Outcome) -> str:
        found = sorted({one.requirement for one in report.findings
                        if one.outcome is outcome and one.requirement})
        return ', '.join(map(cell, found)) or 'none'

    return '| ' + ' | '.join((
        *map(cell, (report.program, aircraft, report.machine, report.package, report.date)),
        numbers(Outcome.SEEN), numbers(Outcome.DIFFERS))) + ' |\n'


def taken(page: str, new: str) -> str:
    """Return the page with one more row. Raises ValueError if it has it, or no such part."""
    marked = _MARKED.search(page)
    if marked is None:
        raise ValueError('the page has no part for reports')
    rows = [line + '\n' for line in marked[0].splitlines()
            if line.startswith('| ') and line + '\n' not in _HEAD.splitlines(keepends=True)]
    if new in rows:
        raise ValueError('the page has this report')
    rows.append(new)
    return page.replace(marked[0], marked[1] + _HEAD + ''.join(rows) + marked[2])


def main() -> int:
    """Add a row to the page; 2 for what is no report."""
    parser = argparse.ArgumentParser(description='Take a report into docs/reference/seen.md.')
    parser.add_argument('report', type=Path)
    parser.add_argument('--aircraft', default='not said')
    parser.add_argument('--page', type=Path, default=PAGE)
    given = parser.parse_args()
    try:
        report = read(given.report)
        page = taken(given.page.read_text(encoding='utf-8'), row(report, given.aircraft))
    except (OSError, ValueError) as error:
        print(f'take_report: {error}', file=sys.stderr)
        return 2
    plain_files.write(given.page, page)
    return 0


if __name__ == '__main__':
    sys.exit(main())
