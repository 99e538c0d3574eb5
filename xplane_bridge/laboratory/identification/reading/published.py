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
Derivatives that somebody has published: a YAML file of them by name.

They are compared with, or are a prior, of which each has its standard deviation.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
import math
from typing import NamedTuple

from xplane_bridge.bridges.conversions.expressions.units import find_unit
from xplane_bridge.common import plain_yaml
from xplane_bridge.common.controls import FLOWN
from xplane_bridge.common.fields import (
    Declaration,
    FieldError,
    in_file,
    mapping,
    number,
    read_table,
    REQUIRED,
    Table,
    wrong_kind,
)
from xplane_bridge.laboratory.identification.motion.equations import (
    FORMS,
    SPEED,
    unit_of,
)

_DERIVATIVES = {str(one): one for form in (*FORMS, SPEED) for one in form.derivatives
                if one not in form.omitted}
NAMES = tuple(_DERIVATIVES)
"""The derivatives that there may be."""

_BY_DEFLECTION, _BY_COMMAND = '1/rad', '1/full'

PUBLISHED: Table = {
    'value': Declaration(REQUIRED, "the derivative, in the report's unit"),
    'sigma': Declaration(0.0, 'its standard deviation, if one is published; a prior needs it',
                         low=0.0),
    'unit': Declaration('', "of both, as pint spells it, if it is not the report's; `1/full` is "
                        'by full deflection', str)}
"""Of a derivative."""


class PublishedDerivative(NamedTuple):
    """
    A value, and its standard deviation, 0 where none is published.

    ``unit`` is 1/rad or 1/full where the file says so, else that of the report.
    """

    value: float
    sigma: float = 0.0
    unit: str = ''

    def away(self, value: float, deviation: float) -> float:
        """Return how far an estimate is from it, in standard deviations of both; NaN without."""
        both = math.hypot(self.sigma, deviation)
        return (value - self.value) / both if both else math.nan


def load(path: str) -> dict[str, PublishedDerivative]:
    """Return the derivatives of a file by their names. Raises OSError and ValueError."""
    content = plain_yaml.load_file(path)
    with in_file(path):
        given: Mapping[str, object] = mapping(content, 'the file', (), NAMES)
        return {name: _read(name, item) for name, item in given.items()}


def load_prior(path: str) -> dict[str, PublishedDerivative]:
    """Return a prior, as load() does: each derivative has its standard deviation."""
    found = load(path)
    with in_file(path):
        if not found:
            raise FieldError('expected a derivative, got none')
        for name, one in found.items():
            if not one.sigma:
                raise FieldError(
                    f'{name}.sigma: expected above 0: a prior needs its standard deviation')
    return found


def _read(name: str, item: object) -> PublishedDerivative:
    if not isinstance(item, Mapping):
        return PublishedDerivative(number(item, name))
    given = read_table(PUBLISHED, item, name)
    one = PublishedDerivative(**given)
    if 'unit' not in given:
        return one
    factor, unit = _converted(given['unit'], name)
    return PublishedDerivative(factor * one.value, factor * one.sigma, unit)


def _converted(unit: str, name: str) -> tuple[float, str]:
    """Return the factor to the report's unit, and that."""
    by = _DERIVATIVES[name]
    where, is_control = f'{name}.unit', by.regressor in FLOWN
    if not unit_of(by):
        raise FieldError(wrong_kind(
            where, 'none, as it is by a reduced rate or airspeed', unit))
    if is_control and unit == _BY_COMMAND:
        return 1.0, _BY_COMMAND
    try:
        found = None if by.regressor == 'throttle' else find_unit(unit, _BY_DEFLECTION)
    except ValueError:
        found = None
    if found is None:
        expected = (_BY_COMMAND if by.regressor == 'throttle' else
                    f'one like {_BY_DEFLECTION}' + f', or {_BY_COMMAND}' * is_control)
        raise FieldError(wrong_kind(where, expected, unit))
    return found.factor, _BY_DEFLECTION


def check_units(
    given: Mapping[str, PublishedDerivative], surfaces: Collection[str]
) -> None:
    """
    Raise FieldError for derivatives by commands where the flights have deflections, or vice versa.

    ``surfaces`` are the controls whose values are deflections in the flights.
    """
    for name, one in given.items():
        control = _DERIVATIVES[name].regressor
        if one.unit and one.unit != unit_of(_DERIVATIVES[name], frozenset(surfaces)):
            known, other = (('deflections', 'rad') if control in surfaces else
                            ('commands', 'full deflection'))
            raise FieldError(
                f'{name} is given per {one.unit.removeprefix("1/")}, but the flights have {known} '
                f'of the {control}, so it is by {other}')
