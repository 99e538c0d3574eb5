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
Write the tables of quantities into the pages that have one.

tools/quantity_table.py (make quantity-table). test/house/test_quantities.py compares the pages.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
import re

from xplane_bridge.common.controls import FLOWN
from xplane_bridge.common.quantities import AIR_DATA, COMPUTED, Quantity, TABLE
from xplane_bridge.laboratory.control.policy.observation import FIELDS
from xplane_bridge.laboratory.flights.scenario.quantities import AIRFRAME, known, TARGETS

PAGES = Path(__file__).resolve().parents[1] / 'docs' / 'reference'
BEGIN, END = '<!-- quantities begin -->\n', '<!-- quantities end -->'
_TARGET = 'while there is a target'


def where(one: Quantity) -> str:
    """Return when a quantity is known."""
    if one.name in AIRFRAME:
        return 'on simulators of this package'
    return 'where the simulator says it' if one.topic == AIR_DATA and not one.is_kept else 'always'


def row(one: Quantity) -> tuple[str, ...]:
    """Return the cells of a quantity: name, symbol, unit, what it is, where it is, when known."""
    unit = one.unit.replace('^2', '²').replace('^3', '³') or 'ratio'
    what = f'`{one.formula}`' if one.formula not in ('', COMPUTED) else ''
    field = f'`{"-" if one.sign < 0.0 else ""}{one.field}` of ' if one.field else ''
    return (
        f'`{one.name}`', one.symbol and f'`{one.symbol}`', unit,
        ': '.join(filter(None, (one.meaning, what))), one.topic and f'{field}`{one.topic}`',
        where(one))


def _names(form: str, names: tuple[str, ...]) -> str:
    return ', '.join(f'`{form.format(name)}`' for name in names)


def quantities() -> Iterator[tuple[str, ...]]:
    """Yield the rows of all quantities that a criterion may be about."""
    yield 'quantity', 'symbol', 'unit', 'what it is', 'in messages', 'known'
    yield '---', '---', '---', '---', '---', '---'
    named = [one for one in TABLE if one.name in known()]
    yield from (row(one) for one in named if one.is_kept)
    yield _names('command_{}', FLOWN), '', 'ratio', 'as commanded', '`command/controls`', 'always'
    yield (_names('target_{}', TARGETS), '', 'as above', 'in force', '`autopilot/active_target`',
           _TARGET)
    yield (_names('{}_error', TARGETS), '', 'as above', 'relative to the target in force', '',
           _TARGET)
    yield from (row(one) for one in named if not one.is_kept)


def observations() -> Iterator[tuple[str, ...]]:
    """Yield the rows of the fields of an observation."""
    yield '', 'field', 'unit', 'lowest', 'highest'
    yield '---:', '---', '---', '---:', '---:'
    for number, field in enumerate(FIELDS):
        yield (str(number), f'`{field.name}`', field.unit or '-', f'{field.low:g}',
               f'{field.high:g}')


def put(text: str, rows: Iterator[tuple[str, ...]]) -> str:
    """Return a page with its table made anew; ValueError if it has no place for one."""
    pattern = re.compile(f'{re.escape(BEGIN)}.*?{re.escape(END)}', re.DOTALL)
    if not pattern.search(text):
        raise ValueError(f'there is no {BEGIN.strip()} with {END} behind it')
    lines = ''.join(re.sub(' +', ' ', f'| {" | ".join(cells)} |\n') for cells in rows)
    return pattern.sub(lambda _: BEGIN + lines + END, text)


def pages() -> Iterator[tuple[Path, str]]:
    """Yield each page, with the text that it should have."""
    for name, rows in (('scenarios', quantities()), ('episodes', observations())):
        path = PAGES / f'{name}.md'
        yield path, put(path.read_text(encoding='utf-8'), rows)


if __name__ == '__main__':
    for path, text in pages():
        path.write_text(text, encoding='utf-8')
