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

"""Tables of figures, and whether they meet their goals."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
import sys


@dataclass(frozen=True)
class Table:
    """A table as it was shown; ``figure`` is the function that measured it."""

    figure: str
    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


_shown: list[Table] = []


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


def show(title: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """
    Print a table below its title: the first column left-aligned, the others right-aligned.

    A column whose name begins with 'goal' judges the column before it.
    """
    cells = [tuple(str(cell) for cell in row) for row in (columns, *rows)]
    _shown.append(Table(
        sys._getframe(1).f_code.co_name, ' '.join(title.split()), cells[0], tuple(cells[1:])))
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    print(f'\n{title}')
    for first, *others in cells:
        line = [first.ljust(widths[0])]
        line += [cell.rjust(width) for cell, width in zip(others, widths[1:], strict=True)]
        print('  '.join(line), flush=True)


def take_tables() -> list[Table]:
    """Return the tables shown since the last call."""
    tables = _shown[:]
    _shown.clear()
    return tables
