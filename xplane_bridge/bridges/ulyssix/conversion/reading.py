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
from xplane_bridge.common.fields import choice, FieldError, mapping, number, text
from xplane_bridge.common.plain_yaml import Lines
from xplane_bridge.common.text import abbreviated, did_you_mean

FASTEST = 1000.0
"""The highest rate of a common topic in Hz."""

_PARAMETER = ('quantity', 'unit', 'scale', 'offset', 'limits', 'warn', 'group', 'frame')
_DERIVED = tuple(name for name in _PARAMETER if name not in ('scale', 'offset'))
_ANY = (-math.inf, math.inf)
# A map of a thousand parameters, a line each.
_LARGEST_FILE = 256 * 1024


class MapError(ValueError):
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
        self, path: tuple[str, str], name: str, value: Any, known: Sequence[str] = _PARAMETER,
    ) -> MapEntry:
        with self._at(*path):
            given = mapping(value, name, optional=known)
        with self._at(*path, 'quantity'):
            quantity = self._quantity(given.get('quantity', ''))
        with self._at(*path, 'unit'):
            symbol, unit = self._unit(given.get('unit'), quantity)
        with self._at(*path, 'scale'):
            scale = number(given.get('scale', 1.0), 'scale')
            if not scale:
                raise ValueError('scale: 0 makes every value the same')
        with self._at(*path, 'offset'):
            offset = number(given.get('offset', 0.0), 'offset')
        limits = self._limits(path, 'limits', given)
        warn = self._limits(path, 'warn', given)
        with self._at(*path, 'warn'):
            for one in warn:
                if math.isfinite(one) and not limits[0] <= one <= limits[1]:
                    raise ValueError(f'warn: {one:g} is beyond limits, so it would never warn')
        with self._at(*path, 'group'):
            group = text(given.get('group', ''), 'group')
        with self._at(*path, 'frame'):
            frame = choice(given.get('frame', self._frame), 'frame', FRAMES)
            if 'frame' in given and not (quantity and QUANTITIES[quantity].body):
                raise ValueError('frame: only angular velocities and accelerations have one')
        return MapEntry(
            name, quantity, symbol, unit, scale, offset, limits, warn, group, frame)

    def _derived(
        self, name: str, value: Any, parameters: Sequence[MapEntry],
        earlier: Sequence[MapEntry],
    ) -> MapEntry:
        path = 'derived', name
        with self._at(*path):
            given = mapping(value, name, required=('expression',), optional=_DERIVED)
            if any(one.pattern == name for one in parameters):
                raise ValueError('a parameter has this name too')
        one = self._parameter(
            path, name, {key: item for key, item in given.items() if key != 'expression'},
            _DERIVED)
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

    def _quantity(self, value: Any) -> str:
        name = text(value, 'quantity')
        if name and name not in QUANTITIES:
            expected = did_you_mean(name, QUANTITIES) or (
                f'; expected one of {", ".join(QUANTITIES)}')
            raise ValueError(f'quantity {abbreviated(name)} is unknown{expected}')
        return name

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

    def _limits(
        self, path: tuple[str, str], name: str, given: Mapping[str, Any],
    ) -> tuple[float, float]:
        """Return the lowest and the highest good value; null is none."""
        with self._at(*path, name):
            pair = given.get(name, [None, None])
            if not isinstance(pair, list) or len(pair) != 2:
                raise ValueError(
                    f'{name}: expected [lowest, highest], null for none, got {abbreviated(pair)}')
            low, high = (
                infinite if one is None else number(one, name)
                for one, infinite in zip(pair, _ANY, strict=True))
            if not low < high:
                raise ValueError(
                    f'{name}: {low:g} is not below {high:g}; expected [lowest, highest]')
        return low, high

    def _rates(self, common: Any) -> dict[str, float]:
        """Return the rate of each common topic, 0 for the slowest parameter's."""
        with self._at('common'):
            given = mapping(common, 'common', optional=('rate', 'interpolated', *STATE))
        rate = self._rate(('common',), given)
        return {
            topic: self._rate(('common', topic), given[topic]) if topic in given else rate
            for topic in STATE}

    def _rate(self, path: tuple[str, ...], value: Any) -> float:
        with self._at(*path):
            optional = ('rate', 'interpolated', *(STATE if len(path) == 1 else ()))
            given = mapping(value, path[-1], optional=optional)
            if 'rate' in given and 'interpolated' in given:
                raise ValueError('expected either "rate: slowest" or "interpolated" with Hz')
        with self._at(*path, 'rate'):
            choice(given.get('rate', 'slowest'), 'rate', ('slowest',))
        if 'interpolated' not in given:
            return 0.0
        with self._at(*path, 'interpolated'):
            return number(given['interpolated'], 'interpolated', above=0.0, high=FASTEST)
