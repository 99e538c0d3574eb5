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

"""Criteria: limits of what a flight is judged by, of one aircraft or over two. No ROS."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
import math
from typing import Any

from xplane_bridge.bridges.conversions.expressions.dimensions import check
from xplane_bridge.bridges.conversions.expressions.expression import Expression
from xplane_bridge.common.fields import (
    as_it_is,
    Declaration,
    FieldError,
    number,
    read_table,
    Table,
)
from xplane_bridge.common.text import abbreviated, did_you_mean
from xplane_bridge.laboratory.flights.scenario.fleet import (
    ANY_TWO,
    Fleet,
    FORMATION,
    read_subject,
    SEPARATION,
)
from xplane_bridge.laboratory.flights.scenario.quantities import is_known, known, unit_of

STATISTICS = ('min', 'max', 'mean', 'max_abs', 'rms', 'std', 'rise', 'first', 'last', 'change')
_RATIO = 'dimensionless'
FIGURES = (
    'duration', 'tracking', 'activity', 'rates', 'latency', 'link', 'route', 'controller', 'load',
    'steps', 'windows', 'loops', 'runway', 'margins', 'handling', 'airframe')
"""How the names of figures begin."""


_OF_EACH: Table = {
    'statistic': Declaration(None, 'of its values in the window', str, choices=STATISTICS),
    'begin': Declaration(
        None, 'when the window begins; by default with the flight', unit='s', low=0.0,
        name='from'),
    'end': Declaration(
        None, 'when it ends; by default with the flight', unit='s', low=0.0, name='to'),
    'at_least': Declaration(None, 'the lowest value that is met'),
    'at_most': Declaration(None, 'the highest value that is met')}

CRITERION: Table = {
    'quantity': Declaration(
        None, 'what it is about: one of the [quantities](#quantities), or', str),
    'expression': Declaration(None, 'an [expression](#expressions) of these, or', str),
    'figure': Declaration(
        None, 'a [figure](#figures) of the report, which has neither statistic nor window', str),
    'unit': Declaration(None, "that an expression is in, `''` for a ratio", str),
    **_OF_EACH}
"""Of a criterion; a quantity or an expression has a statistic."""

OVER_TWO: Table = {
    SEPARATION: Declaration(
        None, 'the distance of two vehicles, or', form='[name, name] or all', reader=as_it_is),
    FORMATION: Declaration(None, 'how far a vehicle is from its slot', form='a name',
                           reader=as_it_is),
    **_OF_EACH}
"""Of a criterion over two aircraft."""


@dataclass(frozen=True, slots=True)
class Criterion:
    """
    Inclusive limits of a statistic of a quantity in a window, or of a figure.

    ``name`` is a quantity of quantities.py with its unit (``_deg`` is in degrees), the text of an
    ``expression`` of them, which is in ``unit``, or, without ``statistic``, a figure's dotted
    name. An omitted end of the window is NaN; the frame at ``end`` is not in it, the one at
    ``begin`` is.
    """

    name: str
    statistic: str
    begin: float
    end: float
    at_least: float
    at_most: float
    expression: Expression | None = None
    unit: str = ''

    @property
    def quantities(self) -> tuple[str, ...]:
        """Return the names of the quantities in it; none of a figure."""
        if self.expression is not None:
            return self.expression.names
        return (self.name,) if self.statistic else ()


def parse(item: Any, where: str, duration: float) -> Criterion:
    """Return a criterion of a file; FieldError says what is wrong with it."""
    given = read_table(CRITERION, item, where)
    limits = _limits(given, where)
    if 'figure' in given:
        for key in ('quantity', 'expression', 'unit', 'statistic', 'begin', 'end'):
            if key in given:
                raise FieldError(f'{where}: "{CRITERION[key].name or key}" belongs to a '
                                 'quantity, not to a figure')
        name = given['figure']
        if name.split('.')[0] not in FIGURES:
            raise FieldError(
                f'{where}.figure: there is no figure {abbreviated(name)}: expected one that '
                f'begins with {", ".join(FIGURES)}')
        return Criterion(name, '', math.nan, math.nan, *limits)
    if ('quantity' in given) == ('expression' in given) or 'statistic' not in given:
        raise FieldError(
            f'{where}: expected a figure, or a quantity or an expression with its statistic')
    statistic = given['statistic']
    window = _window(given, where, duration)
    if 'expression' in given:
        return _read_expression(given, where, statistic, window, limits)
    if 'unit' in given:
        raise FieldError(f'{where}: "unit" belongs to an expression; a quantity has its own')
    name = given['quantity']
    if not is_known(name):
        raise FieldError(f'{where}.quantity: {_no_quantity(name)}')
    return Criterion(name, statistic, *window, *limits)


def _read_expression(
    given: Mapping[str, Any], where: str, statistic: str, window: tuple[float, float],
    limits: tuple[float, float],
) -> Criterion:
    """Return a criterion on an expression, whose unit is stated, and that of its quantities."""
    text = ' '.join(given['expression'].split())
    if 'unit' not in given:
        raise FieldError(
            f"{where}: state the unit that the expression is in; unit: '' is that of a ratio")
    unit = given['unit'].strip()
    try:
        found = Expression(text)
        for name in found.names:
            if not is_known(name):
                raise FieldError(_no_quantity(name))
        check(found.tree, {name: unit_of(name) or _RATIO for name in found.names}, unit or _RATIO)
    except (ValueError, ImportError) as error:
        raise FieldError(f'{where}.expression: {error}') from None
    return Criterion(text, statistic, *window, *limits, found, unit)


def _no_quantity(name: str) -> str:
    if is_known(name.removesuffix('_deg')):
        return f'{abbreviated(name)} is no angle, so it is never in degrees'
    names = [*known(), *(degrees for one in known() if is_known(degrees := f'{one}_deg'))]
    return (f'there is no quantity {abbreviated(name)}{did_you_mean(name, names)}; '
            'docs/reference/scenarios.md lists them')


def over_two(
    item: Any, where: str, duration: float, names: Sequence[str], fleet: Fleet
) -> Criterion:
    """Return a criterion over two aircraft of those with these names."""
    given = read_table(OVER_TWO, item, where)
    if (SEPARATION in given) == (FORMATION in given):
        raise FieldError(
            f'{where}: expected {SEPARATION} or {FORMATION}; what is about one aircraft belongs '
            'to the criteria of its vehicle')
    statistic = given.get('statistic', 'min' if SEPARATION in given else 'max')
    return Criterion(
        read_subject(given, where, names, fleet), statistic, *_window(given, where, duration),
        *_limits(given, where))


def apart(radius: float) -> Criterion:
    """Return the criterion that no two aircraft meet."""
    return Criterion(
        f'{SEPARATION} of {ANY_TWO}', 'min', math.nan, math.nan, radius, math.nan)


def _limits(given: Mapping[str, Any], where: str) -> tuple[float, float]:
    if 'at_least' not in given and 'at_most' not in given:
        raise FieldError(f'{where}: expected at_least, at_most or both')
    return given.get('at_least', math.nan), given.get('at_most', math.nan)


def _window(given: Mapping[str, Any], where: str, duration: float) -> tuple[float, float]:
    begin, end = (
        number(given[key], f'{where}.{_OF_EACH[key].name}', 0.0, duration, unit='s')
        if key in given else math.nan for key in ('begin', 'end'))
    if end <= begin:
        raise FieldError(f'{where}: it ends at {end:g} s, but begins at {begin:g} s')
    return begin, end
