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

"""Tables of figures: whether they meet their goals, and what the last release had."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
import sys

from released import is_worse, judged_cells, Released


@dataclass(frozen=True)
class Table:
    """A table as it was shown; ``figure`` is the function that measured it."""

    figure: str
    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


_shown: list[Table] = []
# The benchmark that runs, and what it is compared with; and what is much worse than there.
_compared: tuple[str, Released] | None = None
_worse: list[str] = []


class Goals:
    """Judges values against goals and counts the misses."""

    def __init__(self) -> None:
        self.missed = 0

    def at_most(self, value: float, limit: float) -> str:
        """Judge a value that must not exceed a limit."""
        return self._judge(value <= limit)

    def at_least(self, value: float, limit: float) -> str:
        """Judge a value that must reach a limit."""
        return self._judge(value >= limit)

    def _judge(self, met: bool) -> str:
        self.missed += not met
        return 'met' if met else 'missed'


def compare(benchmark: str, released: Released) -> None:
    """Show the ratios of a release beside those of a benchmark from now on."""
    global _compared
    _compared = benchmark, released


def take_worse() -> list[str]:
    """Return what was much worse than in the release, since the last call."""
    worse = _worse[:]
    _worse.clear()
    return worse


def show(title: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """
    Print a table below its title: the first column left-aligned, the others right-aligned.

    A column whose name begins with 'goal' judges the column before it: 'goal <= 1.25', or 'goal'
    where each cell begins with a goal of its own, '<= 0.5 met'. Next to it comes what the last
    release had, if that is known.
    """
    figure = sys._getframe(1).f_code.co_name
    cells = [tuple(str(cell) for cell in row) for row in (columns, *rows)]
    cells = _beside_release(figure, cells)
    _shown.append(Table(figure, ' '.join(title.split()), cells[0], tuple(cells[1:])))
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    print(f'\n{title}')
    for first, *others in cells:
        line = [first.ljust(widths[0])]
        line += [cell.rjust(width) for cell, width in zip(others, widths[1:], strict=True)]
        print('  '.join(line), flush=True)


def _beside_release(figure: str, cells: list[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """Return the cells of a table with a column of the release's ratios next to each goal."""
    if _compared is None:
        return cells
    benchmark, released = _compared
    then = {(judged.row, judged.column): (judged, ratio)
            for judged in judged_cells(cells[0], cells[1:])
            if (ratio := released.of(benchmark, figure, judged)) is not None}
    _worse.extend(
        f'{benchmark}: {figure}: {judged.label}: {judged.name} {judged.number:g}, in '
        f'{released.release} {ratio:g}'
        for judged, ratio in then.values() if is_worse(judged, ratio))
    found = [list(row) for row in cells]
    for column in sorted({column for _, column in then}, reverse=True):
        found[0].insert(column + 2, released.release)
        for number, row in enumerate(found[1:]):
            if (number, column) not in then:
                row.insert(column + 2, '')
                continue
            judged, ratio = then[number, column]
            row.insert(column + 2, f'{ratio:g}{" worse" if is_worse(judged, ratio) else ""}')
    return [tuple(row) for row in found]


def take_tables() -> list[Table]:
    """Return the tables shown since the last call."""
    tables = _shown[:]
    _shown.clear()
    return tables
