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
The page of figures, docs/reference/performance.md: prose, and the tables of each benchmark.

The tables of benchmark NAME stand between ``<!-- figures NAME begin -->`` and its end, with the
date and the machine, so that one benchmark can be measured again without the others. The summary
of all is made from what the page then says.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
import os
from pathlib import Path
import platform
import re

from tables import Table

SUMMARY = 'of this release'

_PAIR = re.compile(
    r'<!-- figures (.+?) begin -->\n(.*?)<!-- figures \1 end -->\n', re.DOTALL)
_CELL = re.compile(r'(?<!\\)\|')
# A judged cell, with the goal before it if it differs by row.
_VERDICT = re.compile(r'(.*?) ?(met|\*\*missed\*\*)')


@dataclass(frozen=True)
class Run:
    """When a benchmark was run, on what, and how long it took, in seconds."""

    date: str
    machine: str
    load: str
    seconds: float

    def __str__(self) -> str:
        return (f'Measured on {self.date} in {self.seconds:.0f} s, load before {self.load}: '
                f'{self.machine}.')


def processor() -> str:
    """Return the name of this machine's processor."""
    try:
        lines = Path('/proc/cpuinfo').read_text().splitlines()
    except OSError:
        lines = []
    names = [line.partition(':')[2].strip() for line in lines if line.startswith('model name')]
    return ' '.join(names[0].split()) if names else platform.machine()


def load() -> str:
    """Return the machine's load over the last minute."""
    return f'{os.getloadavg()[0]:.2f}'


def update(page: Path, name: str, tables: Sequence[Table], run: Run) -> None:
    """Replace a benchmark's figures in the page, or append them, and renew the summary."""
    text = page.read_text()
    block = f'{run}\n\n' + '\n'.join(map(_markdown, tables))
    if f'<!-- figures {name} begin -->' not in text:
        text += f'\n## {name}\n\n{_marked(name, "")}'
    text = _replaced(text, name, block)
    page.write_text(_replaced(text, SUMMARY, _summary(text)))


def _marked(name: str, block: str) -> str:
    return f'<!-- figures {name} begin -->\n{block}<!-- figures {name} end -->\n'


def _replaced(text: str, name: str, block: str) -> str:
    return _PAIR.sub(
        lambda found: _marked(name, block) if found[1] == name else found[0], text)


def _markdown(table: Table) -> str:
    cells = [[re.sub('(missed|worse)$', r'**\1**', cell.replace('|', r'\|')) for cell in row]
             for row in (table.columns, *table.rows)]
    lines = [f'| {" | ".join(row)} |' for row in cells]
    lines.insert(1, '|---' + '|---:' * (len(table.columns) - 1) + '|')
    return f'**{table.figure}**: {table.title}\n\n' + '\n'.join(lines) + '\n'


def _summary(text: str) -> str:
    """Return the table of all goals: what was judged, its extremes, and how many met the goal."""
    lines = ['| figure | judged | goal | measured | met |', '|---|---|---:|---:|---:|']
    for found in _PAIR.finditer(text):
        for figure, columns, rows in _tables(found[2]):
            for index, column in enumerate(columns):
                if not column.startswith('goal'):
                    continue
                judged = [(row[index - 1], verdict) for row in rows
                          if (verdict := _VERDICT.fullmatch(row[index]))]
                if judged:
                    goal = column.removeprefix('goal').strip() or _extremes(
                        [verdict[1] for _, verdict in judged])
                    met = sum(verdict[2] == 'met' for _, verdict in judged)
                    lines.append(
                        f'| {found[1]}: {figure} | {columns[index - 1]} | {goal} | '
                        f'{_extremes([value for value, _ in judged])} | '
                        f'{_of(met, len(judged))} |')
    return '\n'.join(lines) + '\n'


def _of(met: int, judged: int) -> str:
    return f'{met} of {judged}' if met == judged else f'**{met} of {judged}**'


def _extremes(values: list[str]) -> str:
    try:
        lowest, *_, highest = sorted([*values, *values], key=float)
    except ValueError:
        return ', '.join(dict.fromkeys(values))
    return lowest if lowest == highest else f'{lowest} to {highest}'


def _tables(block: str) -> Iterator[tuple[str, list[str], list[list[str]]]]:
    """Read the tables of a block back: the figure, the columns and the rows."""
    for part in re.split(r'^(?=\*\*)', block, flags=re.MULTILINE):
        rows = [[cell.strip() for cell in _CELL.split(line)[1:-1]]
                for line in part.splitlines() if line.startswith('|')]
        figure = re.match(r'\*\*(.+?)\*\*:', part)
        if figure and len(rows) > 1:
            yield figure[1], rows[0], rows[2:]
