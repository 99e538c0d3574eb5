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
The parameters that a plan varies: their values, and how a scenario takes them.

A parameter has one of these forms:

| in the plan | values |
|---|---|
| ``45.0`` | that one |
| ``[40.0, 50.0]`` | each of them |
| ``{from: 40.0, to: 60.0, steps: 5}`` | each of 5, evenly spaced, both ends included |
| ``{from: 40.0, to: 60.0}`` | sampled, evenly distributed |
| ``{from: 0, to: 7, whole: true}`` | sampled, whole numbers, both ends included |
| ``{any_of: [none, consumer]}`` | sampled, each as often |
| ``normal: {mean: 0.0, sigma: 1.0}`` | sampled, normally distributed, within 5 sigma |
| ``truncated_normal: {mean, sigma, low, high}`` | the same, of what is in ``low``..``high`` |

What has values is crossed, each with each; what is sampled is drawn together, by the method of
``sampling``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
import math
import re
from typing import Any

from xplane_bridge.common import optional
from xplane_bridge.common.fields import (
    as_it_is,
    Declaration,
    FieldError,
    items,
    mapping,
    number,
    read_table,
    REQUIRED,
    Table,
    table_of,
)
from xplane_bridge.common.text import abbreviated
from xplane_bridge.laboratory.campaigns.plan import normal
from xplane_bridge.laboratory.campaigns.plan.normal import Normal
from xplane_bridge.laboratory.flights.scenario import quantities
from xplane_bridge.laboratory.flights.scenario.events import Expectation, FAILURES
from xplane_bridge.laboratory.flights.scenario.excitation import INPUT, OWN
from xplane_bridge.laboratory.flights.scenario.fleet import BESIDE, FORMATION_SLOT
from xplane_bridge.laboratory.flights.scenario.runway import RUNWAY
from xplane_bridge.laboratory.flights.scenario.scenario import INITIAL, Route
from xplane_bridge.simulation.aircraft.weather_settings import GUST, SHEAR

Value = float | str
METHODS = ('random', 'latin_hypercube', 'sobol')

_MOST_STEPS = 100_000
# Of a range, a fraction that makes no number of it whole.
_BETWEEN = math.pi / 10.0
_WIND = ('east', 'north', 'up')
_TURBULENCE = ('wind', 'severity')
_OF_SCENARIO = re.compile(
    r'(duration|sensors|plant\.[\w./\-\[\]]+|(initial|runway)\.\w+|(events|vehicles)\.\d+(\.\w+)+)\Z')
_EXPECTED = (
    'expected initial.NAME, plant.NAME, runway.NAME, '
    f'{", ".join(f"wind.{name}" for name in _WIND)}, '
    f'{", ".join(f"turbulence.{name}" for name in _TURBULENCE)}, '
    f'{", ".join(f"{name}.at" for name in FAILURES)}, sensors, duration, or a value of an event '
    'or a vehicle such as events.1.change.altitude, vehicles.1.initial.airspeed')


RANGE: Table = {
    'low': Declaration(REQUIRED, 'its lower end', name='from'),
    'high': Declaration(REQUIRED, 'its upper end, above the lower', name='to'),
    'steps': Declaration(
        None, 'so many values, evenly spaced, both ends included; without, it is sampled', int,
        low=2, high=_MOST_STEPS),
    'whole': Declaration(
        False, 'whether whole numbers are sampled, both ends included; otherwise they are evenly '
        'distributed', bool)}
"""Of a range."""

_FORMS: Table = {
    **{name: replace(one, default=None) for name, one in RANGE.items()},
    'any_of': Declaration(None, 'sampled, each as often', form='a list', reader=items),
    **{kind: Declaration(None, 'sampled, normally distributed', reader=as_it_is)
       for kind in normal.KINDS}}


@dataclass(frozen=True, slots=True)
class PlanParameter:
    """
    A parameter: its ``values``, or what it is sampled from.

    Sampled is either one of ``choices``, or a number in ``low``..``high``, ``whole`` or not, or
    as ``normal`` has it.
    """

    name: str
    values: tuple[Value, ...] = ()
    choices: tuple[Value, ...] = ()
    low: float = math.nan
    high: float = math.nan
    whole: bool = False
    normal: Normal | None = None

    @property
    def is_sampled(self) -> bool:
        """Return whether it is sampled."""
        return not self.values

    def sample(self, drawn: float) -> Value:
        """Return the value for a number in 0..1 (exclusive)."""
        if self.choices:
            return self.choices[int(drawn * len(self.choices))]
        if self.normal is not None:
            return self.normal.at(drawn)
        if self.whole:
            return float(self.low + math.floor(drawn * (self.high - self.low + 1.0)))
        return float(self.low + drawn * (self.high - self.low))

    def extremes(self) -> tuple[Value, ...]:
        """
        Return values that are refused if any is.

        They are the ends of numbers, one in between that is not whole if there is one, and all
        texts.
        """
        known = self.values or self.choices or (
            self.low, self.high, *(() if self.whole else (self.sample(_BETWEEN),)))
        numbers = [value for value in known if not isinstance(value, str)]
        texts = [value for value in known if isinstance(value, str)]
        broken = [value for value in numbers if not value.is_integer()][:1]
        return (*({min(numbers), max(numbers), *broken} if numbers else ()), *texts)


def parse(name: Any, item: Any) -> PlanParameter:
    """Return a parameter of a plan; FieldError says what is wrong with it."""
    where = f'parameters.{name}'
    if not isinstance(name, str) or not (_OF_SCENARIO.match(name) or name in _shorthands()):
        raise FieldError(f'parameters: there is no parameter {abbreviated(name)}; {_EXPECTED}')
    if isinstance(item, list):
        return PlanParameter(name, _values(item, where))
    if not isinstance(item, Mapping):
        return PlanParameter(name, _values([item], where))
    given = read_table(_FORMS, item, where)
    if kind := next((kind for kind in normal.KINDS if kind in given), ''):
        mapping(item, where, required=(kind,))
        found = normal.parse(kind, given[kind], f'{where}.{kind}')
        return PlanParameter(name, low=found.low, high=found.high, normal=found)
    if 'any_of' in given:
        mapping(item, where, required=('any_of',))
        return PlanParameter(name, choices=_values(given['any_of'], f'{where}.any_of'))
    given = read_table(RANGE, item, where)
    low, high, whole = given['low'], given['high'], given.get('whole', False)
    number(high, f'{where}.to', above=low)
    if whole and not (low.is_integer() and high.is_integer()):
        raise FieldError(f'{where}: expected whole numbers, got {low:g} to {high:g}')
    if 'steps' not in given:
        return PlanParameter(name, low=low, high=high, whole=whole)
    if whole:
        raise FieldError(f'{where}: "whole" belongs to what is sampled; omit it or "steps"')
    steps = given['steps']
    return PlanParameter(name, tuple(
        high if n == steps - 1 else low + (high - low) * n / (steps - 1) for n in range(steps)))


# What is declared in the sections of a scenario's file.
_SECTIONS: Mapping[str, Table] = {
    'gust': GUST, 'wind_shear': SHEAR, 'initial': {**INITIAL, **BESIDE},
    'formation': FORMATION_SLOT, 'runway': RUNWAY,
    'expect': table_of(Expectation), 'route': table_of(Route), **{
        kind: {**INPUT, **OWN[kind]} for kind in OWN}}


def parameter_unit(name: str) -> str:
    """Return the unit of a parameter; '' where it has none, or none is known."""
    kind, last = name.partition('.')[0], name.rpartition('.')[2]
    if kind == 'plant':
        return quantities.unit_of(name)
    if last in ('at', 'duration'):
        return 's'
    if kind == 'wind' or name == 'turbulence.wind':
        return 'm/s'
    section = name.split('.')[-2] if '.' in name else ''
    for attribute, one in _SECTIONS.get(section, {}).items():
        if last == (one.name or attribute):
            return one.unit
    return quantities.unit_of(last)


def _with_plant(initial: Mapping[str, Any], name: str, value: Value) -> dict[str, Any]:
    return {**initial, 'plant': {**initial.get('plant', {}), name: value}}


def _shorthands() -> list[str]:
    return [*(f'wind.{name}' for name in _WIND), *(f'turbulence.{name}' for name in _TURBULENCE),
            *(f'{name}.at' for name in FAILURES)]


def _values(given: Sequence[Any], where: str) -> tuple[Value, ...]:
    # A dict is quick to look in, and in order.
    found: dict[Value, None] = {}
    for n, item in enumerate(given):
        if not isinstance(item, str):
            item = number(item, f'{where}[{n}]')
        if item in found:
            raise FieldError(f'{where}[{n}]: {abbreviated(item)} is there twice')
        found[item] = None
    if not found:
        raise FieldError(f'{where}: expected at least one value')
    if len({isinstance(item, str) for item in found}) > 1:
        raise FieldError(f'{where}: expected either numbers or names, got both')
    return tuple(found)


class Samples:
    """Samples of parameters: by its number each, made when it is asked for."""

    def __init__(self, parameters: Sequence[PlanParameter], points: Any) -> None:
        self._parameters = parameters
        self._points = points

    def __getitem__(self, number: int) -> tuple[Value, ...]:
        """Return a value of each parameter."""
        if not self._parameters:
            return ()
        # A scrambled Sobol point may be rounded up to 1.
        below = math.nextafter(1.0, 0.0)
        return tuple(
            parameter.sample(min(float(drawn), below))
            for parameter, drawn in zip(self._parameters, self._points[number], strict=True))


def draw(method: str, parameters: Sequence[PlanParameter], count: int, seed: int) -> Samples:
    """Return ``count`` samples of parameters; equal for equal arguments. Needs scipy."""
    if not parameters:
        return Samples((), None)
    import numpy as np
    if method == 'random':
        points = np.random.default_rng(seed).random((count, len(parameters)))
    else:
        optional.require(f'sampling by {method}', 'scipy', extra='campaign')
        from scipy.stats import qmc
        kind = qmc.Sobol if method == 'sobol' else qmc.LatinHypercube
        points = kind(len(parameters), seed=seed).random(count)
    return Samples(parameters, points)


def apply(content: Mapping[str, Any], given: Mapping[str, Value]) -> dict[str, Any]:
    """
    Return the content of a scenario's file with parameters in it.

    wind and turbulence change all such events; without one there is one from the start. A failure
    is moved to its time, or added. Raises FieldError for a parameter that the scenario has not.
    """
    changed: dict[str, Any] = deepcopy(dict(content))
    # Before the others: these may add events or remove some.
    for name, value in sorted(given.items(), key=lambda item: not item[0].startswith('events.')):
        kind, _, rest = name.partition('.')
        if name in _shorthands():
            events = changed.get('events')
            if not isinstance(events, list):
                raise FieldError(f'parameters.{name}: the scenario has no list of events')
            if kind in ('wind', 'turbulence'):
                _weather(events, kind, rest, value)
            else:
                changed['events'] = [one for one in events if not (
                    isinstance(one, Mapping) and kind in one)] + [{'at': value, kind: True}]
        elif name == 'sensors':
            changed[name] = value
        elif kind == 'plant':
            changed['initial'] = _with_plant(changed.get('initial', {}), rest, value)
        elif kind in ('initial', 'runway'):
            changed[kind] = {**changed.get(kind, {}), rest: value}
        else:
            _put(changed, name, value)
    if given.get('turbulence.severity') == 0.0:
        # Calm, and so written: a wind at 20 ft without a severity is refused.
        _weather(changed['events'], 'turbulence', 'wind', 0.0)
    return changed


def _weather(events: list[Any], kind: str, component: str, value: Value) -> None:
    names = _WIND if kind == 'wind' else _TURBULENCE
    found = [one for one in events if isinstance(one, dict) and isinstance(one.get(kind), list)]
    if not found:
        found = [{'at': 0.0, kind: [0.0] * len(names)}]
        events.insert(0, found[0])
    for one in found:
        one[kind][names.index(component)] = value


def _put(content: dict[str, Any], name: str, value: Value) -> None:
    """Change a value that is there: each part of its name is a key, or the number of an item."""
    parts = name.split('.')
    inside: Any = content
    for depth, part in enumerate(parts, start=1):
        key: Any = int(part) if isinstance(inside, list) and part.isdigit() else part
        if not isinstance(inside, list | dict) or (
                key not in inside if isinstance(inside, dict) else
                not isinstance(key, int) or key >= len(inside)):
            raise FieldError(
                f'parameters.{name}: the scenario has no {part!r} there, expected '
                + (', '.join(map(str, inside)) if isinstance(inside, dict) else
                   f'a number below {len(inside)}' if isinstance(inside, list) else 'no more'))
        if depth < len(parts):
            inside = inside[key]
        else:
            inside[key] = value
