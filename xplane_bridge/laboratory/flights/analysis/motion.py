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
What follows from how an aircraft moved: velocity over ground, path, load factor, energy.

The quantities are those of common/quantities.py that have a formula.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
import math
from typing import Any

import numpy as np

from xplane_bridge.bridges.conversions import axes
from xplane_bridge.bridges.conversions.expressions.expression import Expression
from xplane_bridge.common.quantities import QUANTITY
from xplane_bridge.common.timing import ROUNDED_TIME
from xplane_bridge.common.units import STANDARD_GRAVITY
from xplane_bridge.laboratory.flights.analysis.quantities import MOVED
from xplane_bridge.laboratory.flights.analysis.series import Array, Series

_AXES = ('north', 'east', 'down')
_BODY = ('forward', 'left', 'up')
LEAST_MOVEMENT = 0.02
"""The least movement of a command that counts as one, 1 being its full deflection."""
_NOTHING = Series(np.empty(0), np.empty(0))


def derived(series: Mapping[str, Series], name: str) -> Series:
    """Return a quantity of quantities.DERIVED, empty where what it needs was not measured."""
    if name in _COMPUTED:
        return _COMPUTED[name](series)
    formula = _formula(name)
    times = series.get(formula.names[0], _NOTHING).times
    return Series(times, formula({
        one: at(series.get(one, _NOTHING), times) for one in formula.names}))


@cache
def _formula(name: str) -> Expression:
    return Expression(QUANTITY[name].formula)


def over_ground(series: Mapping[str, Series]) -> dict[str, Series]:
    """Return the velocity over ground of what odom said in body axes, at its times."""
    times = series[MOVED[0]].times
    turned = _orientation(series, times)
    if turned is None:
        return {}
    east, north, up = _rotated(turned, [series[name].values for name in MOVED])
    return {f'velocity_{axis}': Series(times, values) for axis, values in zip(
        _AXES, (north, east, -up), strict=True)}


def at(series: Series, times: Array) -> Array:
    """Return values at times, between two of them in proportion; NaN before and after all."""
    if not len(series.times):
        return np.full(len(times), np.nan)
    if len(times) == len(series.times) and (times == series.times).all():
        return series.values
    return np.interp(times, series.times, series.values, np.nan, np.nan)


def held(series: Series, times: Array) -> Array:
    """Return the last values at or before times; NaN before the first one."""
    if not len(series.times):
        return np.full(len(times), np.nan)
    since = np.searchsorted(series.times, times + ROUNDED_TIME, 'right') - 1
    return np.where(since < 0, np.nan, series.values[since])


def reversals(values: Array, least: float = LEAST_MOVEMENT) -> int:
    """Return how often a command of shape (n,) turns round; less than ``least`` is no movement."""
    turning = np.flatnonzero(np.diff(np.sign(np.diff(values))) != 0.0) + 1
    count, direction, extreme = 0, 0.0, float(values[0])
    for value in (*values[turning].tolist(), float(values[-1])):
        moved = value - extreme
        if direction * moved > 0.0:
            extreme = value
        elif abs(moved) >= least:
            count += bool(direction)
            direction, extreme = math.copysign(1.0, moved), value
    return count


def _orientation(series: Mapping[str, Series], times: Array) -> Any:
    """Return the quaternion from body axes FLU to ENU at times, None where it is unknown."""
    angles: Any = [at(series.get(name, _NOTHING), times) for name in ('roll', 'pitch', 'heading')]
    if np.isnan(angles).all():
        return None
    numpy: Any = np.cos, np.sin
    return axes.ned_frd_to_enu_flu(axes.euler_to_quaternion(*angles, *numpy))


def _velocity(series: Mapping[str, Series]) -> tuple[Array, list[Array]]:
    """Return times, and the velocity to north, east and down."""
    first = series.get('velocity_north', _NOTHING)
    return first.times, [at(series.get(f'velocity_{axis}', _NOTHING), first.times)
                         for axis in _AXES]


def _specific_excess_power(series: Mapping[str, Series]) -> Series:
    times, (north, east, down) = _velocity(series)
    turned = _orientation(series, times)
    if turned is None:
        return _NOTHING
    force = [at(series.get(f'specific_force_{axis}', _NOTHING), times) for axis in _BODY]
    # Weight does work too: in the energy it is the altitude.
    to_east, to_north, up = _rotated(turned, force)
    return Series(times, (to_east * east + to_north * north - up * down) / STANDARD_GRAVITY)


def _rotated(turned: Any, vector: Any) -> tuple[Array, Array, Array]:
    one, two, three = axes.rotate(turned, tuple(vector))
    return np.asarray(one), np.asarray(two), np.asarray(three)


_COMPUTED: Mapping[str, Callable[[Mapping[str, Series]], Series]] = {
    'specific_excess_power': _specific_excess_power}
