#!/usr/bin/env python3
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
Print the shares of lines and branches that tests reached: tools/coverage_figures.py JSON LEAST.

JSON is coverage's report of that kind. Files below LEAST percent of lines are listed, and the
exit code is 1 if all together have fewer lines, or fewer branches.
"""

from collections.abc import Mapping
import json
from pathlib import Path
import sys
from typing import Any


def share(summary: Mapping[str, Any], covered: str, of: str) -> float:
    """Return how many percent are covered; 100 of nothing."""
    return 100.0 * summary[covered] / summary[of] if summary[of] else 100.0


def lines(summary: Mapping[str, Any]) -> float:
    """Return the share of lines, in percent."""
    return share(summary, 'covered_lines', 'num_statements')


def branches(summary: Mapping[str, Any]) -> float:
    """Return the share of branches, in percent."""
    return share(summary, 'covered_branches', 'num_branches')


def figures(report: Mapping[str, Any], least: float) -> list[str]:
    """Return the report in lines: the files below, and the whole."""
    below = sorted((lines(one['summary']), name) for name, one in report['files'].items()
                   if lines(one['summary']) < least)
    whole = report['totals']
    return [*(f'{percent:5.1f} % of lines: {name}' for percent, name in below),
            f'lines    {lines(whole):5.1f} % of {whole["num_statements"]}',
            f'branches {branches(whole):5.1f} % of {whole["num_branches"]}']


def main(name: str, least: str) -> int:
    """Print the figures; return 1 if there are too few lines or branches."""
    report = json.loads(Path(name).read_text(encoding='utf-8'))
    print('\n'.join(figures(report, float(least))))
    whole = report['totals']
    return int(min(lines(whole), branches(whole)) < float(least))


if __name__ == '__main__':
    sys.exit(main(*sys.argv[1:]))
