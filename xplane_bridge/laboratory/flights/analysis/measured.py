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
What was measured in a flight in this process: kept as it was read, derived when somebody asks.

A frame reads some plain numbers (aircraft.sample) or, behind a protocol, a VehicleState. East and
north, heights above the ellipsoid and Euler angles of a quaternion are worked out of that for
whoever asks for them, not in each frame of each flight.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
import math
from typing import Any, Generic, TypeVar

import numpy as np

from xplane_bridge.common.controls import FLOWN
from xplane_bridge.laboratory.flights.analysis.quantities import (
    CONTACTS,
    EACH_FRAME,
    MEASURED,
    TARGET,
)
from xplane_bridge.laboratory.flights.analysis.series import (
    Array,
    Arrivals,
    History,
    make_flight,
    Series,
)
from xplane_bridge.laboratory.flights.recordings.collected import Collected, TimedRows
from xplane_bridge.laboratory.flights.recordings.parquet_file import to_columns
from xplane_bridge.laboratory.flights.scenario.quantities import AIRFRAME, MOTION
from xplane_bridge.simulation.aircraft.studies.standing import strut_compression

COMMANDS = {f'command_{name}': column for column, name in enumerate(FLOWN)}
"""What is commanded, and its column in rows of commands."""

TARGETS = ('target_altitude', 'target_heading', 'target_airspeed')
"""What is wanted."""

_COLUMNS = {name: column for column, name in enumerate(MEASURED)}

Row = tuple[float, ...]
"""The quantities of a frame, in their order."""


Kept = TypeVar('Kept')


class Measured(Generic[Kept]):
    """
    What was measured so far, by the names of MEASURED; ``derive`` makes a row of a frame.

    ``width`` is how many plain numbers are kept of a frame in ``rows``, 0 if it is an object.
    ``add`` keeps what was read of a frame at a time.
    """

    def __init__(self, derive: Callable[[Kept], Row], width: int = 0) -> None:
        self._derive, self._width = derive, width
        self.rows = TimedRows(width)
        self._objects: list[Kept] = []
        self.add: Callable[[float, Any], None] = self.rows.add if width else self._add_object
        # The newest row, and of how many frames it is the last.
        self._newest: tuple[int, Row] = (0, ())

    def _add_object(self, time: float, kept: Kept) -> None:
        self.rows.add(time, ())
        self._objects.append(kept)

    def last(self, name: str) -> float:
        """Return the newest value, NaN if there is none."""
        count = len(self.rows)
        if not count:
            return math.nan
        frames, row = self._newest
        if frames != count:
            row = self._derive(self._kept(count - 1)[0])
            self._newest = count, row
        return row[_COLUMNS[name]]

    def since(self, name: str, start: float) -> tuple[Sequence[float], Sequence[float]]:
        """Return times and values from ``start`` on; headings are continuous."""
        times = self.rows.times
        first, column = bisect_left(times, start), _COLUMNS[name]
        values = [self._derive(kept)[column] for kept in self._kept(first)]
        if name == 'heading':
            values = np.unwrap(values).tolist()
        return times[first:], values

    def series(self) -> tuple[Array, dict[str, Series]]:
        """Return the times, and all of it."""
        times = np.array(self.rows.times)
        columns = np.array([*map(self._derive, self._kept(0))], dtype=np.float64).T
        return times, {
            name: Series(times, column)
            for name, column in zip(MEASURED, columns, strict=True)}

    def _kept(self, first: int) -> list[Any]:
        """Return what was kept of the frames from ``first`` on."""
        if not self._width:
            return self._objects[first:]
        return [tuple(row) for row in self.rows.rows(first)[:, 1:].tolist()]


class Touched:
    """
    What touched the ground, a row for each frame: time, and analysis.quantities.CONTACTS.

    ``standing`` are the compressions (m) of the struts of the standing aircraft.
    """

    def __init__(self, standing: Sequence[float]) -> None:
        self._standing = standing
        self.rows = TimedRows(3)

    def add(
        self, time: float, wheels: int, structure: int, compressions: Sequence[float],
    ) -> None:
        """Keep what touched in a frame: how many wheels and places, and the struts (m)."""
        self.rows.add(time, (
            wheels, structure, strut_compression(compressions, self._standing)))


def to_history(
    measured: Measured[Any], commanded: TimedRows, wanted: Sequence[tuple[float, ...]],
    touched: TimedRows | None, collected: Collected | None = None,
) -> History:
    """
    Return all that was measured, commanded and wanted, as a recording would have it.

    What was ``collected`` to be recorded has more quantities: see scenario.quantities.
    """
    times, series = measured.series()
    if collected is not None:
        columns: Any = to_columns(collected)
        series |= {name: Series(collected.frames['time'], columns[name])
                   for name in (*MOTION, *AIRFRAME)}
    topics = _arrivals(times, EACH_FRAME)
    for rows, names, of in (
        (commanded.rows(), tuple(COMMANDS), ('command/controls',)),
        (find_last_rows(wanted), TARGETS, (TARGET,)),
        (touched.rows() if touched else (), CONTACTS, ()),
    ):
        if len(rows):
            times, *columns = np.array(rows, dtype=np.float64).T
            series |= {
                name: Series(times, column)
                for name, column in zip(names, columns, strict=True)}
            topics |= _arrivals(times, of)
    return make_flight('core', 0.0, series, topics)


def _arrivals(times: Array, topics: Iterable[str]) -> dict[str, Arrivals]:
    """Return the messages that these topics would have had."""
    return dict.fromkeys(topics, Arrivals(times, np.full(len(times), math.nan)))


def find_last_rows(rows: Sequence[tuple[float, ...]]) -> list[tuple[float, ...]]:
    """Return the last row of each time."""
    return list({row[0]: row for row in rows}.values())
