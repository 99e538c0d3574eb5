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

"""What was measured, commanded and wanted in a flight, as numpy arrays over its time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from xplane_bridge.common.timing import ROUNDED_TIME
from xplane_bridge.laboratory.flights.scenario.quantities import QUANTITIES

Array = NDArray[np.float64]

# Between two messages no aircraft turns this far (rad): it has been placed.
_PLACED = 0.5


class Series(NamedTuple):
    """A quantity: times (s, shape (n,), increasing) and values (SI, radians, shape (n,))."""

    times: Array
    values: Array

    def between(self, begin: float, end: float) -> Series:
        """
        Return the part from ``begin`` to ``end``, both inclusive; NaN means no limit.

        A frame whose time is rounded to just before ``begin`` is part of it.
        """
        low = 0 if math.isnan(begin) else int(
            np.searchsorted(self.times, begin - ROUNDED_TIME, 'left'))
        high = len(self.times) if math.isnan(end) else int(
            np.searchsorted(self.times, end, 'right'))
        return Series(self.times[low:high], self.values[low:high])

    def where(self, wanted: NDArray[np.bool_]) -> Series:
        """Return the part of which a mask of shape (n,) is true."""
        return Series(self.times[wanted], self.values[wanted])


class Arrivals(NamedTuple):
    """A topic: stamps and times of recording, seconds since the epoch of each, shape (n,)."""

    stamps: Array
    recorded: Array


@dataclass(frozen=True, slots=True)
class History:
    """
    The recorded data of one vehicle.

    ``series`` has each of quantities.QUANTITIES, empty where nothing was recorded, at seconds
    after ``begin``, a stamp; heading and target_heading are continuous. ``topics`` is by name
    below ``namespace``, ``counts`` by full name. ``diagnostics`` has the last value of each
    "node: status: key". ``log_time`` says what the recording time is: rosbag2.RECEIVED,
    rosbag2.HANDLED, or empty if unknown. ``cut`` is a sentence if the recording was not finished,
    as after a kill: the flight may have gone on.
    """

    namespace: str
    begin: float
    series: Mapping[str, Series]
    topics: Mapping[str, Arrivals]
    counts: Mapping[str, int]
    diagnostics: Mapping[str, str] = field(default_factory=dict)
    log_time: str = ''
    cut: str = ''

    def until(self, time: float) -> History:
        """Return what it has of all series until a time (s)."""
        return replace(self, series={
            name: series.between(-math.inf, time) for name, series in self.series.items()})


def make_flight(
    namespace: str, begin: float, series: Mapping[str, Series], topics: Mapping[str, Arrivals],
    counts: Mapping[str, int] | None = None, diagnostics: Mapping[str, str] | None = None,
    log_time: str = '',
) -> History:
    """Return a flight; headings, which may have jumps of a turn, are made continuous."""
    full = {**dict.fromkeys(QUANTITIES, Series(np.empty(0), np.empty(0))), **series}
    _join_headings(full)
    return History(namespace, begin, full, topics, counts or {}, diagnostics or {}, log_time)


def _join_headings(series: dict[str, Series]) -> None:
    """Make the heading continuous, and the target the nearest equivalent angle."""
    times, values = series['heading']
    if len(times):
        series['heading'] = Series(times, _continuous(times, values))
        target = series['target_heading']
        if len(target.times):
            flown = np.interp(target.times, times, series['heading'].values)
            turns = np.round((flown - target.values) / math.tau)
            series['target_heading'] = Series(target.times, target.values + math.tau * turns)


def _continuous(times: Array, values: Array) -> Array:
    """Return a heading (rad) without jumps of a turn; it starts anew if placed before time 0."""
    turned = np.abs(np.remainder(np.diff(values) + math.pi, math.tau) - math.pi)
    placed = np.flatnonzero((turned > _PLACED) & (times[1:] <= 0.0))
    first = placed[-1] + 1 if placed.size else 0
    return np.concatenate((np.unwrap(values[:first]), np.unwrap(values[first:])))
