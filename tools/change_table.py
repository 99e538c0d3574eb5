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
Count the lines of what a change needs, and write the table of CONTRIBUTING.md.

tools/change_table.py CONTRIBUTING.md (make change-table). test/house/test_contributing.py compares
the page with what is counted, within a fifth: so few commits need to write it anew.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
import re
import sys

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / 'xplane_bridge'
BEGIN, END = '<!-- changes begin -->', '<!-- changes end -->'
LICENCE = 14


# What the tests of a folder took on two busy cores: minutes by a clock for all, and seconds
# of a processor for those of FAST=1, which hardly wait.
TAKEN = {
    'bridges/conversions': (0.2, 8),
    'bridges/nodes/managed': (0.1, 0),
    'bridges/fdmdata': (1.4, 11),
    'bridges/simpit': (1.1, 19),
    'bridges/ulyssix': (1.3, 17),
    'bridges/xpc': (2.0, 29),
    'bridges/xplane_udp': (2.6, 27),
    'laboratory/flights/analysis': (0.5, 13),
    'laboratory/flights/scenario': (0.3, 6),
}


@dataclass(frozen=True, slots=True)
class Change:
    """A kind of change: the folders to open, and those whose tests to run (tools/tests_of.py)."""

    what: str
    folders: tuple[str, ...]
    tests: tuple[str, ...]


def protocol(name: str) -> Change:
    """Return what mending a protocol needs: its folder, and its simulated peer."""
    folder = f'bridges/{name}'
    return Change(f'mend {name}', (folder, f'simulation/peers/{name}'), (folder,))


CHANGES = (
    Change('add a topic', ('bridges/xpc/node', 'bridges/conversions/xplane'),
           ('bridges/xpc', 'bridges/conversions')),
    Change('add a criterion', ('laboratory/flights/scenario', 'laboratory/flights/analysis'),
           ('laboratory/flights/scenario', 'laboratory/flights/analysis')),
    Change('add a parameter', ('bridges/xpc/node',), ('bridges/xpc', 'bridges/nodes/managed')),
    *map(protocol, ('xpc', 'xplane_udp', 'fdmdata', 'simpit', 'ulyssix')))


def lines(folder: str) -> int:
    """Return how many lines of Python a folder of the package has, without the licences."""
    return sum(max(0, len(path.read_text(encoding='utf-8').splitlines()) - LICENCE)
               for path in (PACKAGE / folder).rglob('*.py'))


def rounded(count: int) -> int:
    """Return a number to the nearest 500, and below 1000 to the nearest 100."""
    step = 500 if count >= 1000 else 100
    return round(count / step) * step


def rows() -> Iterator[tuple[str, ...]]:
    """Yield the cells of the table, a row for each change."""
    for change in CHANGES:
        yield (
            change.what, ', '.join(f'`{folder}/`' for folder in change.folders),
            f'{rounded(sum(map(lines, change.folders))):,}',
            ', '.join(f'`{folder}`' for folder in change.tests),
            f'{sum(TAKEN[folder][0] for folder in change.tests):.0f}',
            f'{sum(TAKEN[folder][1] for folder in change.tests)}')


def table() -> str:
    """Return the table."""
    head = ('you want to', 'folders of `xplane_bridge/` to open', 'lines there',
            'tests: `FOLDER=`', 'minutes', '`FAST=1`: s')
    return '\n'.join(
        f'| {" | ".join(row)} |'
        for row in (head, ('---', '---', '---:', '---', '---:', '---:'), *rows()))


def put(text: str) -> str:
    """Return a page's text with the table made anew; ValueError if it has no place for it."""
    pattern = re.compile(f'{re.escape(BEGIN)}.*?{re.escape(END)}', re.DOTALL)
    if not pattern.search(text):
        raise ValueError(f'the page has no {BEGIN} ... {END}')
    return pattern.sub(lambda _: f'{BEGIN}\n{table()}\n{END}', text, count=1)


def main(name: str) -> None:
    """Write the page."""
    path = Path(name)
    path.write_text(put(path.read_text(encoding='utf-8')), encoding='utf-8')


if __name__ == '__main__':
    main(*sys.argv[1:])
