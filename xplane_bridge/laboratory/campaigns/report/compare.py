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

"""campaign compare: which of two controllers is better, flight by flight with the same inputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
import json
import math
from pathlib import Path
import sys
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from xplane_bridge.common.command_line import CommandParser, program
from xplane_bridge.common.text import aligned, counted, known, printable
from xplane_bridge.laboratory.campaigns.plan.task import PARAMETER
from xplane_bridge.laboratory.campaigns.report.statistics import (
    CONFIDENCE,
    Interval,
    paired_means,
    paired_rates,
)
from xplane_bridge.laboratory.campaigns.table.columns import Array, Columns
from xplane_bridge.laboratory.campaigns.table.criteria import criterion_unit, CriterionLimits
from xplane_bridge.laboratory.campaigns.table.look import label
from xplane_bridge.laboratory.campaigns.table.rows import JUDGED, VALUE
from xplane_bridge.laboratory.flights.analysis.verdict import plain

Rows = NDArray[np.int64]

TOGETHER = 'all criteria'
# The inputs that both flights of a pair share; with one controller a side, that differs.
_SHARED = ('scenario', 'simulator', 'aircraft', 'seed')


class Side(NamedTuple):
    """One of two that are compared: a table, and which of its flights."""

    name: str
    columns: Columns
    rows: Rows


@dataclass(frozen=True, slots=True)
class Comparison:
    """
    One line: a rate (0 to 1) or a mean of both sides, and by how much the second is larger.

    ``better`` is 1 if more is better, -1 if less is, 0 if neither can be said. ``pairs`` is of
    those where both flights have a value.
    """

    what: str
    is_rate: bool
    first: float
    second: float
    difference: Interval
    better: int
    pairs: int

    @property
    def verdict(self) -> str:
        """Return 'A', 'B', 'different' (neither better), or '' if no difference can be told."""
        sign = self.difference.sign
        if sign and not self.better:
            return 'different'
        return ('', 'B', 'A')[sign * self.better]


class CompareError(ValueError):
    """What was given cannot be compared; says why."""


def main(argv: Sequence[str] | None = None) -> int:
    """Compare two campaigns, or two controllers of one; 2 if that is not possible."""
    parser = CommandParser(
        prog=f'{program("campaign")} compare',
        description='Which of two controllers is better, paired by seed and all other inputs?')
    parser.add_argument('folders', nargs='+', type=Path, metavar='FOLDER',
                        help='two flown campaigns, or one with --controllers')
    parser.add_argument('--controllers', nargs=2, metavar=('A', 'B'),
                        help='the controllers to compare, as the table names them')
    parser.add_argument('--label', action='append', default=[], type=label, metavar='NAME=LABEL',
                        help='what a controller or a criterion is called; once for each (as the '
                        "folder's last report called them)")
    parser.add_argument('--json', action='store_true', help='print JSON')
    given = parser.parse_args(argv)
    try:
        first, second = _sides(given.folders, given.controllers, dict(given.label))
        pairs, names = _pairs(first, second)
        found = compare(first, second, pairs)
    except (ValueError, ImportError) as error:
        print(f'campaign compare: {error}', file=sys.stderr)
        return 2
    left = (len(first.rows) - len(pairs[0]), len(second.rows) - len(pairs[1]))
    if given.json:
        print(json.dumps(plain(_as_json(first, second, found, left)), indent=2))
    else:
        print('\n'.join(_lines(first, second, found, left, names)))
    return 0


def compare(first: Side, second: Side, pairs: tuple[Rows, Rows]) -> list[Comparison]:
    """
    Return comparisons: of all criteria together, then of each criterion's rate and value.

    ``pairs`` are the numbers of the rows to compare with each other. The first has an interval by
    itself; those of all others hold together (Bonferroni), for one in twenty of many intervals
    would otherwise show a difference where there is none.
    """
    one, two = pairs
    passed = first.columns.has_passed()[one], second.columns.has_passed()[two]
    criteria = [name for name in first.columns.criteria if name in second.columns.criteria]
    confidence = 1.0 - (1.0 - CONFIDENCE) / max(2 * len(criteria), 1)
    scenarios = first.columns.labels('scenario').codes[one]
    found = [_rate(TOGETHER, passed, CONFIDENCE)]
    for criterion in criteria:
        judged = (first.columns.numbers(f'{JUDGED}{criterion}')[one],
                  second.columns.numbers(f'{JUDGED}{criterion}')[two])
        # A flight that was not judged has not met it, unless it belongs to another scenario.
        own = np.isin(scenarios, scenarios[~(np.isnan(judged[0]) & np.isnan(judged[1]))])
        found.append(_rate(criterion, (judged[0][own] == 1.0, judged[1][own] == 1.0), confidence))
    for criterion in criteria:
        values = (first.columns.numbers(f'{VALUE}{criterion}')[one],
                  second.columns.numbers(f'{VALUE}{criterion}')[two])
        found.append(_mean(criterion, values, confidence))
    return [each for each in found if each.pairs]


def _rate(
    what: str, passed: tuple[NDArray[np.bool_], NDArray[np.bool_]], confidence: float
) -> Comparison:
    one, two = passed
    return Comparison(
        what, True, float(one.mean()) if len(one) else math.nan,
        float(two.mean()) if len(two) else math.nan, paired_rates(one, two, confidence), 1,
        len(one))


def _mean(criterion: str, values: tuple[Array, Array], confidence: float) -> Comparison:
    known = np.isfinite(values[0]) & np.isfinite(values[1])
    one, two = values[0][known], values[1][known]
    return Comparison(
        criterion, False, float(one.mean()) if len(one) else math.nan,
        float(two.mean()) if len(two) else math.nan, paired_means(one, two, confidence),
        CriterionLimits.of(criterion).better, len(one))


def _sides(
    folders: Sequence[Path], controllers: Sequence[str] | None, labels: Mapping[str, str]
) -> tuple[Side, Side]:
    if len(folders) > 2:
        raise CompareError(f'expected two folders at most, got {len(folders)}')
    tables = [Columns(folder, labels) for folder in folders]
    if not controllers and len({folder.resolve() for folder in folders}) == 1:
        known = ', '.join(map(str, tables[0].labels('controller').values))
        raise CompareError('expected two different folders, or one and --controllers A B, two of '
                           f'{known}')
    if not controllers:
        first, second = (
            Side(str(folder), table, np.arange(table.flights))
            for folder, table in zip(folders, tables, strict=True))
        return first, second
    first, second = (
        _side(controller, table, f' in {folder}' if len(tables) > 1 else '')
        for controller, table, folder in zip(
            controllers, tables * (3 - len(tables)), [*folders, *folders], strict=False))
    return first, second


def _side(controller: str, columns: Columns, where: str) -> Side:
    """Return the flights of a controller, by its label, its short name, or the table's."""
    full = columns.full_name(controller)
    codes, called = columns.labels('controller')
    name = next(name for name, own in columns.controllers().items() if own == full)
    return Side(f'{name}{where}', columns, np.flatnonzero(codes == called.index(name)))


def _pairs(first: Side, second: Side) -> tuple[tuple[Rows, Rows], tuple[str, ...]]:
    """Return the rows with the same inputs, and the names of the inputs that pair them."""
    parameters = [tuple(f'{PARAMETER}{name}' for name in side.columns.parameters)
                  for side in (first, second)]
    if set(parameters[0]) != set(parameters[1]):
        odd = sorted(set(parameters[0]) ^ set(parameters[1]))[0]
        raise CompareError(
            f'only one of the two varies {odd.removeprefix(PARAMETER)}: expected the same '
            'parameters in both')
    flown = [{str(side.columns.labels('controller').values[code])
              for code in np.unique(side.columns.labels('controller').codes[side.rows])}
             for side in (first, second)]
    alone = len(flown[0]) == len(flown[1]) == 1
    names = (*_SHARED, *parameters[0], *(() if alone else ('controller',)))
    keys = _keys((first, second), names)
    for side, own in zip((first, second), keys, strict=True):
        if len(np.unique(own)) < len(own):
            raise CompareError(
                f'{side.name}: several flights have the same inputs: choose two of its '
                'controllers with --controllers')
    _, one, two = np.intersect1d(keys[0], keys[1], assume_unique=True, return_indices=True)
    if not len(one):
        raise CompareError(
            f'no two flights have the same {_phrase(names)}: expected campaigns of the same plan, '
            'but for the controller')
    order = np.argsort(one)
    return (first.rows[one[order]], second.rows[two[order]]), names


def _keys(sides: Sequence[Side], names: Sequence[str]) -> list[Rows]:
    """Return a number for each row of each side, equal for rows with the same inputs."""
    found = np.zeros(sum(len(side.rows) for side in sides), dtype=np.int64)
    for name in names:
        codes = np.unique(_values(sides, name), return_inverse=True)[1]
        found = np.unique(
            found * (codes.max(initial=0) + 1) + codes, return_inverse=True)[1]
    return np.split(found, [len(sides[0].rows)])


def _values(sides: Sequence[Side], name: str) -> NDArray[Any]:
    """Return an input of the rows of all sides, a text by a number."""
    if all(side.columns.is_number(name) for side in sides):
        return np.concatenate([side.columns.numbers(name)[side.rows] for side in sides])
    known: dict[Any, int] = {}
    found = []
    for side in sides:
        codes, values = side.columns.labels(name, labelled=False)
        numbers = [known.setdefault(value, len(known)) for value in values]
        found.append(np.array(numbers, dtype=np.int64)[codes[side.rows]])
    return np.concatenate(found)


def _phrase(names: Sequence[str]) -> str:
    return ', '.join(name.removeprefix(PARAMETER) for name in names)


def _lines(
    first: Side, second: Side, found: Sequence[Comparison], left: tuple[int, int],
    names: Sequence[str],
) -> list[str]:
    lines = [f'A: {first.name}', f'B: {second.name}',
             f'{counted(found[0].pairs, "pair")} of flights with the same {_phrase(names)}']
    lines += [f'of {which}, {lost}' for which, side in (('A', first), ('B', second))
              if (lost := _lost(side))]
    # Of whom they would have been is not known.
    lines += [f'in {table.folder}, {table.lost}'
              for table in dict.fromkeys((first.columns, second.columns)) if table.lost.flights]
    if any(left):
        lines.append(f'without a partner, and not compared: {left[0]} of A, {left[1]} of B')
    called = first.columns.called
    rates, means = ([each for each in found if each.is_rate is kind] for kind in (True, False))
    if rates:
        lines += ['', *aligned([
            ('flights that passed, %', 'A', 'B', 'B - A', 'interval', ''),
            *((called(each.what), *_cells(each, 100.0, '{:.1f}', 'is better', found[0].pairs))
              for each in rates)], (0, 5))]
    if means:
        # A criterion's limit may be no merit, such as that it was rough enough.
        lines += ['', *aligned([
            ('mean of the value', 'unit', 'A', 'B', 'B - A', 'interval', ''),
            *((called(each.what), criterion_unit(each.what),
               *_cells(each, 1.0, '{:.4g}', 'has more margin', found[0].pairs))
              for each in means)], (0, 1, 6))]
    others = 'the others hold together at 95%'
    return [*lines, '', f'Intervals: {TOGETHER} at 95%, {others}.',
            _answer(found[0], first, second)]


def _lost(side: Side) -> str:
    """Return how many flights of a side were not flown to their end, and why the first was not."""
    lost = side.rows[side.columns.not_flown()[side.rows]]
    if not len(lost):
        return ''
    reason = side.columns.rows([int(lost[0])])[0].get('reason')
    return (f'{len(lost)} of {len(side.rows)} flights were not flown to their end, and count as '
            f'not passed: {printable(str(reason))}')


def _cells(
    each: Comparison, factor: float, form: str, what: str, pairs: int
) -> tuple[str, ...]:
    """Return both numbers, their difference with its interval, and in words what it says."""
    first, second = (form.format(factor * number) for number in (each.first, each.second))
    signed = form.replace(':', ':+')
    value, low, high = (factor * number for number in each.difference)
    said = {'': 'no difference can be told', 'different': 'they differ'}.get(
        each.verdict, f'{each.verdict} {what}')
    of = f' ({counted(each.pairs, "pair")})' if each.pairs != pairs else ''
    # One pair says nothing of its interval.
    interval = known(high - low, f'{signed.format(low)} to {signed.format(high)}')
    return first, second, signed.format(value), interval, f'{said}{of}'


def _answer(together: Comparison, first: Side, second: Side) -> str:
    value, low, high = together.difference
    if together.verdict:
        is_second = together.verdict == 'B'
        better, rate = (second, together.second) if is_second else (first, together.first)
        least, most = sorted(abs(100.0 * end) for end in (low, high))
        return (f'{together.verdict} is better: {better.name} passes {rate:.1%} of the flights, '
                f'{abs(100.0 * value):.1f} percentage points more ({least:.1f} to {most:.1f}).')
    return (f'No difference in passed flights can be told: it is between {100.0 * low:+.1f} and '
            f'{100.0 * high:+.1f} percentage points.')


def _as_json(
    first: Side, second: Side, found: Sequence[Comparison], left: tuple[int, int]
) -> dict[str, Any]:
    return {
        'A': first.name, 'B': second.name, 'pairs': found[0].pairs,
        'without_partner': {'A': left[0], 'B': left[1]},
        'not_flown': {which: int(side.columns.not_flown()[side.rows].sum())
                      for which, side in (('A', first), ('B', second))},
        'lost_in_table': {which: side.columns.lost.flights
                          for which, side in (('A', first), ('B', second))},
        'better': found[0].verdict or None,
        'comparisons': [{
            'what': each.what, 'kind': 'pass rate' if each.is_rate else 'mean value',
            'A': each.first, 'B': each.second, 'difference': each.difference.value,
            'interval': [each.difference.low, each.difference.high],
            'better': each.verdict or None, 'pairs': each.pairs} for each in found]}
