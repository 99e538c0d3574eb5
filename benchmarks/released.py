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
The ratios of the last release: benchmarks/released.json, written by ``--keep RELEASE``.

A ratio is a judged cell, the one before a goal. It is found again by the benchmark, the figure,
what the row begins with, and the name of its column. Some are judged, but not compared: what a
hundredth of the messages decides (p99) differs too much from run to run, and what is counted in
seconds, or beside a line's baud rate, from machine to machine.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
import json
from pathlib import Path
import re

FILE = Path(__file__).parent / 'released.json'
WORSE = 1.2
"""A ratio that is this many times worse than that of the release is marked."""

_NOT_COMPARED = re.compile(r'p99|baud|\bm?s$')
_NUMBER = re.compile(r'([\d.]+)(?: ?%)?')
_AT_MOST, _AT_LEAST = '<=', '>='

Ratios = dict[str, dict[str, dict[str, dict[str, float]]]]
"""By benchmark, figure, row and column."""


@dataclass(frozen=True)
class Judged:
    """A judged cell: where it is, what it is called, its number, and whether less is better."""

    row: int
    column: int
    label: str
    name: str
    number: float
    at_most: bool


@dataclass(frozen=True)
class Released:
    """The name of a release, and its ratios."""

    release: str
    ratios: Ratios

    def of(self, benchmark: str, figure: str, judged: Judged) -> float | None:
        """Return the ratio of the release in the place of one measured now, None without any."""
        rows = self.ratios.get(benchmark, {}).get(figure, {})
        return rows.get(judged.label, {}).get(judged.name)


def read(path: Path = FILE) -> Released:
    """Return what a file says. Raises ValueError with a sentence."""
    try:
        found = json.loads(path.read_text(encoding='utf-8'))
        return Released(found['release'], found['ratios'])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ValueError(f'{path}: no ratios of a release ({error})') from None


def write(released: Released, path: Path = FILE) -> None:
    """Write a file that read() reads."""
    path.write_text(json.dumps(
        {'release': released.release, 'ratios': released.ratios}, indent=1) + '\n')


def judged_cells(
    columns: Sequence[str], rows: Sequence[Sequence[str]]
) -> Iterator[Judged]:
    """Yield the numbers that have a goal in the next column, by row."""
    firsts = [row[0] for row in rows]
    together = 1 if len({*firsts}) == len(firsts) else 2
    for index, row in enumerate(rows):
        for column, title in enumerate(columns):
            goal = row[column] if title == 'goal' else title.removeprefix('goal ')
            number = _NUMBER.fullmatch(row[column - 1])
            if not title.startswith('goal') or not row[column] or number is None:
                continue
            sign = next((one for one in (_AT_MOST, _AT_LEAST) if goal.startswith(one)), '')
            if sign and not _NOT_COMPARED.search(columns[column - 1]):
                yield Judged(index, column - 1, ', '.join(row[:together]), columns[column - 1],
                             float(number[1]), sign == _AT_MOST)


def is_worse(judged: Judged, then: float) -> bool:
    """Return whether a ratio is much worse than it was."""
    if judged.at_most:
        return judged.number > WORSE * then
    return judged.number < then / WORSE


def ratios_of(
    columns: Sequence[str], rows: Sequence[Sequence[str]]
) -> dict[str, dict[str, float]]:
    """Return the ratios of a table by row and column."""
    found: dict[str, dict[str, float]] = {}
    for judged in judged_cells(columns, rows):
        found.setdefault(judged.label, {})[judged.name] = judged.number
    return found
