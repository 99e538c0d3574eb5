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

"""Who meets in the air."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
import math

import numpy as np
from numpy.typing import NDArray

from xplane_bridge.bridges.conversions.geodesy import geodetic_to_ecef
from xplane_bridge.common.timing import FRAME
from xplane_bridge.laboratory.flights.fleet.members import Member
from xplane_bridge.laboratory.flights.scenario.fleet import Midair

# By this (m/s) an aircraft gets faster within a second, at 10 g: until two can be near, nobody
# looks, a second at most.
_FASTER = 100.0
_LONGEST = 1.0


@dataclass(frozen=True, slots=True)
class Meeting:
    """A mid-air: two aircraft, ``distance`` apart (m) in the frame ``at`` (s)."""

    at: float
    first: str
    second: str
    distance: float

    def __str__(self) -> str:
        return (f'{self.at:5.1f} s  mid-air: {self.first} and {self.second} are '
                f'{self.distance:.1f} m apart')


class Watch:
    """Watch aircraft, by their names, for two that are too near one another."""

    def __init__(self, vehicles: Mapping[str, Member], midair: Midair) -> None:
        self._vehicles, self._radius = vehicles, midair.radius
        self.ends = midair.ends
        self._names = tuple(vehicles)
        self._pairs = np.triu_indices(len(self._names), 1)
        # When to look next (s).
        self.due = 0.0 if len(self._names) > 1 else math.inf
        self._last: tuple[float, NDArray[np.float64]] | None = None
        # Those who are near one another: they have met once, until they part.
        self._near: set[int] = set()

    def look(self, now: float) -> Iterator[Meeting]:
        """Yield who has met since the last look, at a time (s) at which all are observed."""
        if now < self.due:
            return
        places = np.array([geodetic_to_ecef(*one.place) for one in self._vehicles.values()])
        rows, columns = self._pairs
        distances = _lengths(places[rows] - places[columns])
        # Whose position is not a number meets nobody.
        least = float(np.fmin.reduce(distances))
        if self._last is not None:
            moved = _lengths(places - self._last[1]) / (now - self._last[0])
            closing = 2.0 * (float(np.fmax.reduce(moved)) + _FASTER)
            self.due = now + min((least - self._radius) / closing, _LONGEST) - FRAME
        self._last = now, places
        near = {*np.flatnonzero(distances < self._radius).tolist()}
        for pair in sorted(near - self._near):
            yield Meeting(now, self._names[rows[pair]], self._names[columns[pair]],
                          float(distances[pair]))
        self._near = near


def _lengths(vectors: NDArray[np.float64]) -> NDArray[np.float64]:
    found: NDArray[np.float64] = np.sqrt((vectors * vectors).sum(axis=1))
    return found
