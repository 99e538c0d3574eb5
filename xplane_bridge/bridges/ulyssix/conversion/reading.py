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

"""The file of a map: what each parameter measures, in what unit, within what limits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
import math
import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from xplane_bridge.bridges.conversions.expressions import dimensions
from xplane_bridge.bridges.conversions.expressions.expression import Expression
from xplane_bridge.bridges.conversions.expressions.units import find_unit, UnitConversion
from xplane_bridge.bridges.conversions.topics import STATE, topic_names
from xplane_bridge.bridges.ulyssix.conversion.quantities import FRAMES, QUANTITIES
from xplane_bridge.common import plain_files, plain_yaml
from xplane_bridge.common.fields import (
    as_it_is,
    choice,
    Declaration,
    FieldError,
    mapping,
    number,
    REQUIRED,
    Table,
    text,
    wrong_kind,
)
from xplane_bridge.common.plain_yaml import Lines
from xplane_bridge.common.text import abbreviated, did_you_mean

FASTEST = 1000.0
"""The highest rate of a common topic in Hz."""

_ANY = (-math.inf, math.inf)
# A map of a thousand parameters, a line each.
_LARGEST_FILE = 256 * 1024


def _read_quantity(value: Any, where: str) -> str:
    name = text(value, where)
    if name and name not in QUANTITIES:
        expected = did_you_mean(name, QUANTITIES) or f'; expected one of {", ".join(QUANTITIES)}'
        raise FieldError(f'quantity {abbreviated(name)} is unknown{expected}')
    return name


def _read_scale(value: Any, where: str) -> float:
    scale = number(value, where)
    if not scale:
        raise FieldError(f'{where}: 0 makes every value the same')
    return scale


def _read_limits(value: Any, where: str) -> tuple[float, float]:
    if not isinstance(value, list) or len(value) != 2:
        raise FieldError(wrong_kind(where, '[lowest, highest], null for none', value))
    low, high = (infinite if one is None else number(one, where)
                 for one, infinite in zip(value, _ANY, strict=True))
    if not low < high:
        raise FieldError(f'{where}: {low:g} is not below {high:g}; expected [lowest, highest]')
    return low, high


def _limits(default: str, meaning: str) -> Declaration:
    return Declaration(default, meaning, form='[lowest, highest], `null` for none',
                       reader=_read_limits)


PARAMETER: Table = {
    'quantity': Declaration(
        '', 'what it measures, from [these](#quantities); it must fit the unit. Without, it is '
        'converted and watched, but in no common topic', form='a quantity',
        reader=_read_quantity),
    'unit': Declaration(
        '', 'of the value after `scale` and `offset`, as pint spells it; by default that of the '
        'quantity, else as sent', form='a unit', reader=as_it_is),
    'scale': Declaration(
        1.0, 'value = raw × `scale` + `offset`, for raw counts, or -1 for another sign',
        form='a number, not 0', reader=_read_scale),
    'offset': Declaration(0.0, 'see `scale`'),
    'limits': _limits('none', "of good values, in the parameter's own unit. Beyond: ERROR"),
    'warn': _limits('none', 'the same, within `limits`; beyond: WARN'),
    'group': Declaration('', 'status of `/diagnostics` that it belongs to; `parameters` by '
                         'default', str),
    'frame': Declaration(
        FRAMES[0], 'of angular velocities and accelerations; by default that of the file', str,
        choices=FRAMES)}
"""Of a parameter in a map."""

DERIVED: Table = {
    'expression': Declaration(
        REQUIRED, '[how it is computed](#derived-parameters) of others', str),
    **{name: one for name, one in PARAMETER.items() if name not in ('scale', 'offset')}}
"""Of a derived parameter."""

COMMON: Table = {
    'rate': Declaration('slowest', 'that of the slowest parameter in it, or', str,
                        choices=('slowest',)),
    'interpolated': Declaration(None, 'at this rate', unit='Hz', above=0.0, high=FASTEST)}
"""Of a common topic, and of all of them."""

_TOPIC = Declaration(None, 'of that topic alone', reader=as_it_is)


class MapError(FieldError):
    """A map cannot be used; the text says in which file and line, and why."""


@dataclass(frozen=True, slots=True)
class MapEntry:
    """
    One entry of a map, for the parameters whose names match ``pattern``.

    ``raw * scale + offset`` is the value in the entry's unit ``symbol``; ``unit`` converts that to
    SI. limits and warn are the lowest and highest good values in the entry's unit; beyond
    limits is an error, beyond warn a warning. frame is that of body axes, see QUANTITIES.
    ``expression`` is that of a derived parameter.
    """

    pattern: str
    quantity: str = ''
    symbol: str = ''
    unit: UnitConversion = UnitConversion(1.0, 0.0, '')
    scale: float = 1.0
    offset: float = 0.0
    limits: tuple[float, float] = _ANY
    warn: tuple[float, float] = _ANY
    group: str = ''
    frame: str = FRAMES[0]
    expression: Expression | None = None

    @property
    def factor(self) -> float:
        """Return the factor from raw values to SI."""
        return self.scale * self.unit.factor

    @property
    def addend(self) -> float:
        """Return what is added to raw values times ``factor`` for SI."""
        return self.offset * self.unit.factor + self.unit.offset

    def raw(self, low: float, high: float) -> tuple[float, float]:
        """Return the raw values, ascending, of a range in the entry's unit."""
        one, other = ((each - self.offset) / self.scale for each in (low, high))
        return min(one, other), max(one, other)

    def si(self, low: float, high: float) -> tuple[float, float]:
        """Return a range in the entry's unit, in SI, ascending."""
        one, other = (each * self.unit.factor + self.unit.offset for each in (low, high))
        return min(one, other), max(one, other)

    @property
    def guarded(self) -> bool:
        """Return whether there are limits."""
        return self.limits != _ANY or self.warn != _ANY


@dataclass(frozen=True, slots=True)
class ParameterMap:
    """
    A whole map.

    parameters are in the order of the file: for one quantity, an earlier one is preferred. rates
    are those of common topics in Hz, 0 for that of the slowest parameter that contributes.
    """

    parameters: tuple[MapEntry, ...] = ()
    derived: tuple[MapEntry, ...] = ()
    rates: Mapping[str, float] = field(default_factory=dict)

    def entry(self, name: str) -> MapEntry | None:
        """Return the entry for a parameter: of its exact name, else of the first pattern."""
        found = None
        for one in self.parameters:
            if one.pattern == name:
                return one
            if found is None and fnmatchcase(name, one.pattern):
                found = one
        return found

    def good(
        self, names: Sequence[str], derived: Sequence[str] = ()
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """
        Return the lowest and highest good value of each parameter, infinite for none.

        Those of ``names`` are raw, those of ``derived`` in SI, as they are computed.
        """
        found = [entry.raw(*entry.limits) if entry else _ANY for entry in map(self.entry, names)]
        known = {one.pattern: one for one in self.derived}
        found += [known[name].si(*known[name].limits) for name in derived]
        low, high = np.array(found).reshape(-1, 2).T
        return low, high

    @property
    def quantities(self) -> frozenset[str]:
        """Return the quantities that are measured or derived."""
        return frozenset(one.quantity for one in (*self.parameters, *self.derived)
                         if one.quantity)


def load(path: str) -> ParameterMap:
    """
    Read a map.

    Raises MapError for any mistake, also if it cannot be read, ImportError if pint is missing.
    """
    try:
        with plain_files.open_regular(path) as stream:
            data = stream.read(_LARGEST_FILE + 1)
    except FileNotFoundError:
        raise MapError(f'there is no map {path}') from None
    except OSError as error:
        raise MapError(f'{path}: {error.strerror or error}') from None
    return parse(data, os.path.basename(path))


def parse(data: str | bytes, name: str) -> ParameterMap:
    """Return the map in a text; errors as ``load``, with this name of the file."""
    try:
        content, lines = plain_yaml.load_with_lines(data, _LARGEST_FILE)
    except ValueError as error:
        raise MapError(f'{name}: {error}') from None
    return _Reader(name, lines).read(content)


def _symbol(name: str, entries: Sequence[MapEntry]) -> str:
    """Return the unit of a name in an expression, of a parameter or of its topic; '' if none."""
    found = [one for one in entries if name in (one.pattern, *topic_names([one.pattern]))] or [
        one for one in entries if fnmatchcase(name, one.pattern)]
    return found[0].symbol if found else ''


class _Reader:
    """Reads the content of one file."""

    def __init__(self, name: str, lines: Lines) -> None:
        self._name = name
        self._lines = lines
        self._frame = FRAMES[0]

    def read(self, content: Any) -> ParameterMap:
        with self._at():
            given = mapping(content, 'the map', optional=(
                'parameters', 'derived', 'common', 'frame'))
        with self._at('frame'):
            self._frame = choice(given.get('frame', FRAMES[0]), 'frame', FRAMES)
        parameters = [
            self._parameter(('parameters', name), name, value)
            for name, value in self._section(given, 'parameters')]
        derived: list[MapEntry] = []
        for name, value in self._section(given, 'derived'):
            derived.append(self._derived(name, value, parameters, derived))
        self._check_spelling(derived)
        if not parameters and not derived:
            with self._at():
                raise ValueError('there is neither "parameters" nor "derived"')
        return ParameterMap(
            tuple(parameters), tuple(derived), self._rates(given.get('common', {})))

    @contextmanager
    def _at(self, *path: Any) -> Iterator[None]:
        """Say the file and the line in an error."""
        try:
            yield
        except MapError:
            raise
        except ValueError as error:
            while path and path not in self._lines:
                path = path[:-1]
            who = f'{path[1]}: ' if len(path) > 1 else ''
            sentence = str(error).removeprefix(who)
            raise MapError(
                f'{self._name} line {self._lines.get(path, 1)}: {who}{sentence}') from None

    def _section(self, given: Mapping[str, Any], name: str) -> Iterator[tuple[str, Any]]:
        with self._at(name):
            section = given.get(name)
            if section is None:
                return
            if not isinstance(section, Mapping):
                raise ValueError(f'{name}: expected names with values, got {abbreviated(section)}')
        for key, value in section.items():
            # YAML reads 1201 as a number, and N or ON as a truth value.
            with self._at(name, key):
                if not isinstance(key, str) or not key:
                    raise ValueError(f'the name {abbreviated(key)} is no text: put it into quotes')
            yield key, value

    def _parameter(
        self, path: tuple[str, str], name: str, value: Any, known: Table = PARAMETER,
    ) -> MapEntry:
        given = self._read(path, name, value, known)
        quantity = given.get('quantity', '')
        with self._at(*path, 'unit'):
            symbol, unit = self._unit(given.get('unit'), quantity)
        limits, warn = given.get('limits', _ANY), given.get('warn', _ANY)
        with self._at(*path, 'warn'):
            for one in warn:
                if math.isfinite(one) and not limits[0] <= one <= limits[1]:
                    raise ValueError(f'warn: {one:g} is beyond limits, so it would never warn')
        with self._at(*path, 'frame'):
            if 'frame' in given and not (quantity and QUANTITIES[quantity].body):
                raise ValueError('frame: only angular velocities and accelerations have one')
        return MapEntry(
            name, quantity, symbol, unit, given.get('scale', 1.0), given.get('offset', 0.0),
            limits, warn, given.get('group', ''), given.get('frame', self._frame))

    def _read(
        self, path: tuple[str, ...], name: str, value: Any, known: Table
    ) -> dict[str, Any]:
        """Return what is given of declared fields, each checked with its own line."""
        with self._at(*path):
            given = mapping(value, name, optional=tuple(known))
        found = {}
        for field_name, one in known.items():
            if field_name in given:
                with self._at(*path, field_name):
                    found[field_name] = one.check(given[field_name], field_name)
        return found

    def _derived(
        self, name: str, value: Any, parameters: Sequence[MapEntry],
        earlier: Sequence[MapEntry],
    ) -> MapEntry:
        path = 'derived', name
        with self._at(*path):
            given = mapping(value, name, required=('expression',), optional=tuple(DERIVED))
            if any(one.pattern == name for one in parameters):
                raise ValueError('a parameter has this name too')
        one = self._parameter(
            path, name, given, DERIVED)
        with self._at(*path, 'expression'):
            try:
                expression = Expression(text(given['expression'], 'expression'))
            except FieldError:
                raise
            except ValueError as error:
                raise ValueError(f'expression: {error}') from None
            if topic_names([name])[0] in expression.names:
                raise ValueError('expression: it needs its own result')
            later = [other for other in self._names('derived')
                     if other != name and other not in [each.pattern for each in earlier]]
            for other in later:
                if topic_names([other])[0] in expression.names:
                    raise ValueError(f'expression: {other} has to be above it')
            try:
                dimensions.check(expression.tree, {
                    name: _symbol(name, (*earlier, *parameters)) for name in expression.names},
                    one.symbol)
            except ValueError as error:
                raise ValueError(f'expression: {error}') from None
        return MapEntry(
            one.pattern, one.quantity, one.symbol, one.unit, 1.0, 0.0, one.limits, one.warn,
            one.group, one.frame, expression)

    def _names(self, section: str) -> list[str]:
        return [path[1] for path in self._lines if len(path) == 2 and path[0] == section]

    def _check_spelling(self, derived: Sequence[MapEntry]) -> None:
        names = [one.pattern for one in derived]
        for name, topic in zip(names, topic_names(names), strict=True):
            if name != topic:
                with self._at('derived', name):
                    raise ValueError(
                        f'the name of a derived parameter is that of its topic: {topic}')

    def _unit(self, value: Any, quantity: str) -> tuple[str, UnitConversion]:
        """Return a unit's name and conversion: to that of the quantity, or to SI."""
        target = QUANTITIES[quantity].unit if quantity else ''
        if value is None:
            return target, UnitConversion(1.0, 0.0, target)
        # YAML reads 1 as a number.
        symbol = '' if value == 1 and value is not True else text(value, 'unit')
        unit = find_unit(symbol, target)
        if unit is None:
            raise ValueError(
                f'unit {symbol!r} is not {QUANTITIES[quantity].kind} (quantity {quantity})')
        return symbol, unit

    def _rates(self, common: Any) -> dict[str, float]:
        """Return the rate of each common topic, 0 for the slowest parameter's."""
        with self._at('common'):
            given = mapping(common, 'common', optional=(*COMMON, *STATE))
        rate = self._rate(('common',), given)
        return {
            topic: self._rate(('common', topic), given[topic]) if topic in given else rate
            for topic in STATE}

    def _rate(self, path: tuple[str, ...], value: Any) -> float:
        of_all = len(path) == 1
        given = self._read(path, path[-1], value, {
            **COMMON, **(dict.fromkeys(STATE, _TOPIC) if of_all else {})})
        if 'rate' in given and 'interpolated' in given:
            with self._at(*path):
                raise ValueError('expected either "rate: slowest" or "interpolated" with Hz')
        rate: float = given.get('interpolated', 0.0)
        return rate
