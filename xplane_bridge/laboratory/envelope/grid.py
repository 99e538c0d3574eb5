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
The points of a grid over an aircraft's envelope, by the names and values of its axes.

An axis is given as text: ``airspeed=40:70:5`` (from 40 to 70 in steps of 5), or a list of values,
``flaps=0,0.5``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
import itertools
import math

AXES = {'airspeed': 'm/s', 'altitude_msl': 'm', 'mass': 'kg', 'cg': 'm', 'flaps': 'ratio'}
"""The axes that there may be, with their units: calibrated airspeed, the others as of Plant."""

MOST_VALUES, MOST_POINTS = 1000, 10_000
"""How many values an axis may have, and how many points a grid."""

# A last value that rounding has made larger still belongs to its range.
_ROUNDING = 1e-9
_RANGE = 3


@dataclass(frozen=True, slots=True)
class Grid:
    """The values of each axis, in the order in which they were given."""

    axes: Mapping[str, tuple[float, ...]]

    def __len__(self) -> int:
        """Return the number of points."""
        return math.prod(map(len, self.axes.values()))

    def __iter__(self) -> Iterator[dict[str, float]]:
        """Yield each point, the values of its axes by name; the last axis varies fastest."""
        for values in itertools.product(*self.axes.values()):
            yield dict(zip(self.axes, values, strict=True))


def parse(texts: Sequence[str]) -> Grid:
    """Return the grid of axes given as text; ValueError says what is wrong with which."""
    axes: dict[str, tuple[float, ...]] = {}
    for text in texts:
        name, equals, given = text.partition('=')
        name = name.strip()
        if not equals:
            raise ValueError(f'grid: {text!r} is not like airspeed=40:70:5 or flaps=0,0.5')
        if name not in AXES:
            raise ValueError(f'grid: there is no axis {name!r}: expected {", ".join(AXES)}')
        if name in axes:
            raise ValueError(f'grid: {name} is given twice')
        axes[name] = _values(name, given)
    grid = Grid(axes)
    if len(grid) > MOST_POINTS:
        raise ValueError(f'grid: it has {len(grid)} points, at most {MOST_POINTS} are possible')
    return grid


def _values(name: str, given: str) -> tuple[float, ...]:
    if not given.strip():
        raise ValueError(f'grid: {name} has no values: expected some, as in {name}=1,2 or '
                         f'{name}=1:5:2')
    parts = given.split(':')
    if len(parts) == 1:
        # Of too many, only so many as show that.
        texts = given.split(',', MOST_VALUES + 1)[:MOST_VALUES + 1]
        found = [_number(name, text) for text in texts]
    elif len(parts) == _RANGE:
        found = _range(name, *(_number(name, part) for part in parts))
    else:
        raise ValueError(
            f'grid: {name}={given} is not a range: expected first:last:step, as in {name}=40:70:5')
    if len(found) > MOST_VALUES:
        raise ValueError(f'grid: {name} has more than {MOST_VALUES} values')
    if len({*found}) < len(found):
        raise ValueError(f'grid: {name} has a value twice')
    return tuple(found)


def _range(name: str, first: float, last: float, step: float) -> list[float]:
    if not step > 0.0 or last < first:
        raise ValueError(
            f'grid: {name}={first:g}:{last:g}:{step:g} has no values: expected first:last:step, '
            'the last not below the first and the step above 0')
    steps = (last - first) / step
    # More are too many anyway; what has this many is refused by the caller.
    return [first + n * step
            for n in range(int(min(steps * (1.0 + _ROUNDING) + _ROUNDING, MOST_VALUES)) + 1)]


def _number(name: str, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise ValueError(f'grid: {name}: expected a number, got {text.strip()[:20]!r}')
    return value
