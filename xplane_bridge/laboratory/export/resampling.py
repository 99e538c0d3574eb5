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


"""Tables on one time base. Pure."""

from __future__ import annotations

from collections.abc import Sequence
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from xplane_bridge.laboratory.export.tables import is_named, RowBatch, TableColumn

Array = NDArray[np.float64]

_MOST_ROWS = 50_000_000
_TURNS = {'rad': math.tau, 'deg': 360.0}


def grid(tables: Sequence[RowBatch], step: float) -> Array:
    """
    Return times every ``step`` (s), multiples of it, from the first to the last of all tables.

    Raises ValueError if there are none, or more than 50 million.
    """
    ends = [(min(table.values[0]), max(table.values[0])) for table in tables if len(table)]
    if not ends:
        raise ValueError('nothing is recorded that could be resampled')
    first = math.ceil(min(low for low, _ in ends) / step - 1e-9)
    last = math.floor(max(high for _, high in ends) / step + 1e-9)
    if last - first >= _MOST_ROWS:
        raise ValueError(
            f'--resample: {last - first} times of {step} s, expected at most {_MOST_ROWS}')
    return np.arange(first, last + 1) * step


def find_times(tables: Sequence[RowBatch], name: str) -> Array:
    """Return the times of a table, each once. Raises ValueError if there is no such table."""
    for table in tables:
        if is_named(table.table, name):
            return np.unique(np.asarray(table.values[0], float))
    raise ValueError(
        f'--resample: got {name!r}, expected seconds or one of the exported topics: '
        + ', '.join(table.table for table in tables))


def resampled(table: RowBatch, base: Array) -> RowBatch:
    """
    Return a table at the times of ``base`` (s, increasing).

    Floating point columns are linear between two neighbours, angles (units rad and deg) the
    shorter way round and in the range of their data, quaternions the shorter way and of unit
    length. All others, and lists, keep the previous value. Nothing is extrapolated: before the
    first and after the last row of the table floating point columns are NaN and others None. Of
    rows with the same time the last counts, column by column where it is not None. Next to a NaN
    there is NaN.
    """
    times = np.asarray(table.values[0], float)
    values: list[Any] = [base]
    quaternion: list[int] = []
    for index, column in enumerate(table.columns[1:], 1):
        if column.is_quaternion:
            quaternion.append(index)
            values.append(())
            if len(quaternion) == 4:
                turned = _turned(times, [table.values[at] for at in quaternion], base)
                values[quaternion[0]:] = list(turned)
                quaternion = []
        else:
            values.append(_column(column, times, table.values[index], base))
    return RowBatch(table.table, table.source, table.columns, values)


def _column(
    column: TableColumn, times: Array, values: Sequence[Any], base: Array
) -> Any:
    known = np.array([at for at, value in enumerate(values) if value is not None], int)
    if not len(known):
        return np.full(len(base), math.nan) if column.is_float else [None] * len(base)
    kept = times[known]
    order = np.argsort(kept, kind='stable')
    last = order[np.append(np.diff(kept[order]) > 0.0, True)]
    kept = kept[last]
    if column.is_float:
        found = np.array([values[at] for at in known[last]], float)
        turn = _TURNS.get(column.unit)
        return _linear(kept, found, base) if turn is None else _angle(kept, found, base, turn)
    before = np.searchsorted(kept, base, 'right') - 1
    outside = (before < 0) | (base > kept[-1])
    return [None if out else values[at]
            for at, out in zip(known[last][before], outside, strict=True)]


def _linear(times: Array, values: Array, base: Array) -> Array:
    found: Array = np.interp(base, times, values, left=math.nan, right=math.nan)
    return found


def _angle(times: Array, values: Array, base: Array, turn: float) -> Array:
    finite = np.isfinite(values)
    straight = values.copy()
    straight[finite] = np.unwrap(values[finite], period=turn)
    found = _linear(times, straight, base)
    if (straight[finite] != values[finite]).any():
        low = 0.0 if values[finite].min() >= 0.0 else -turn / 2
        found = (found - low) % turn + low
    return found


def _turned(times: Array, parts: Sequence[Sequence[Any]], base: Array) -> Array:
    """Return x, y, z and w at the times, shape (4, times)."""
    order = np.argsort(times, kind='stable')
    last = order[np.append(np.diff(times[order]) > 0.0, True)]
    found = np.array(parts, float)[:, last]
    # A quaternion and its negative are the same rotation.
    opposite = np.sum(found[:, 1:] * found[:, :-1], axis=0) < 0.0
    found *= np.concatenate(([1.0], np.cumprod(np.where(opposite, -1.0, 1.0))))
    straight = np.array([_linear(times[last], part, base) for part in found])
    with np.errstate(invalid='ignore', divide='ignore'):
        unit: Array = straight / np.linalg.norm(straight, axis=0)
    return unit
