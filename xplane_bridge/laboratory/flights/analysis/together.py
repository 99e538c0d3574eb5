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

"""What two aircraft of a fleet have to do with one another: separation, and errors in a slot."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import reduce
from itertools import combinations
import math
from typing import Any, NamedTuple

import numpy as np

from xplane_bridge.bridges.conversions.geodesy import geodetic_to_ecef, LocalFrame
from xplane_bridge.common.timing import ROUNDED_TIME
from xplane_bridge.laboratory.control.formation import Slot
from xplane_bridge.laboratory.flights.analysis.history import statistic
from xplane_bridge.laboratory.flights.analysis.series import Array, History, Series
from xplane_bridge.laboratory.flights.scenario.criteria import Criterion
from xplane_bridge.laboratory.flights.scenario.fleet import (
    ANY_TWO,
    Fleet,
    FORMATION,
    SEPARATION,
    Station,
)


class Closest(NamedTuple):
    """How near two aircraft came: m, and s of the scenario; NaN if there are no two."""

    first: str
    second: str
    distance: float
    at: float


class Tracks:
    """
    Where the aircraft of a fleet were, all at the same times.

    ``histories`` are by the aircraft's names. Distances are straight lines in space.
    """

    def __init__(self, histories: Mapping[str, History], fleet: Fleet) -> None:
        self._fleet = fleet
        # One that failed in a frame ends before the others; by ROS a state may be heard twice.
        times = [one.series['latitude'].times for one in histories.values()]
        self.times: Array = reduce(np.intersect1d, times[1:], np.unique(times[0]))
        self._geodetic = {
            name: np.array([one.series[quantity].values[
                np.searchsorted(one.series[quantity].times, self.times)] for quantity in (
                    'latitude', 'longitude', 'altitude')]).T for name, one in histories.items()}
        self._known: dict[str, Array] = {}

    def positions(self, name: str) -> Array:
        """Return east, north and up (m) from where the first aircraft began, shape (n, 3)."""
        begin = next(iter(self._geodetic.values()))
        if not len(begin):
            return np.empty((0, 3))
        frame = LocalFrame(*begin[0].tolist())
        return np.array([
            frame.geodetic_to_enu(*place) for place in self._geodetic[name].tolist()])

    def separation(self, first: str, second: str) -> Series:
        """Return the distance between two, in m."""
        return Series(self.times, _lengths(self._places(first) - self._places(second)))

    def separation_of_any(self) -> Series:
        """Return the least distance between any two, in m."""
        least = np.full(len(self.times), math.inf)
        for pair in combinations(self._geodetic, 2):
            least = np.minimum(least, self.separation(*pair).values)
        return Series(self.times, least)

    def formation_error(self, name: str) -> Series:
        """Return the distance of an aircraft from its slot, in m, from when it is to hold one."""
        stations = self._fleet.stations[name]
        ends = [*(one.begin - ROUNDED_TIME for one in stations[1:]), math.inf]
        parts = []
        for station, end in zip(stations, ends, strict=True):
            found = self._error_in(station, name).between(station.begin, math.nan)
            parts.append(found.where(found.times < end))
        return Series(np.concatenate([one.times for one in parts]),
                      np.concatenate([one.values for one in parts]))

    def _error_in(self, station: Station, name: str) -> Series:
        """Return the distance of an aircraft from a slot, in m, all the time."""
        leader = self._places(station.leader)
        if len(leader) < 2:
            return Series(self.times[:0], self.times[:0])
        lat, lon = np.radians(self._geodetic[station.leader][:, :2]).T
        east = np.array([-np.sin(lon), np.cos(lon), np.zeros(len(lon))]).T
        north = np.array([-np.sin(lat) * np.cos(lon), -np.sin(lat) * np.sin(lon), np.cos(lat)]).T
        up = np.array([np.cos(lat) * np.cos(lon), np.cos(lat) * np.sin(lon), np.sin(lat)]).T
        moved = np.gradient(leader, axis=0)
        course = np.arctan2(_dot(moved, east), _dot(moved, north))
        to_leader = leader - self._places(name)
        errors = [
            math.hypot(*Slot(*station.slot).error((float(e), float(n), float(u)), float(c)))
            for e, n, u, c in zip(
                _dot(to_leader, east), _dot(to_leader, north), _dot(to_leader, up), course,
                strict=True)]
        return Series(self.times, np.array(errors))

    def series(self, criteria: Iterable[Criterion]) -> dict[str, Series]:
        """Return the quantities that criteria over two are about, by their names."""
        found: dict[str, Series] = {}
        for name in {criterion.name: None for criterion in criteria}:
            kind, _, of = name.partition(' of ')
            if kind == f'{FORMATION}_error':
                found[name] = self.formation_error(of)
            elif kind == SEPARATION:
                found[name] = self.separation_of_any() if of == ANY_TWO else self.separation(
                    *of.split(' and '))
        return found

    def closest(self, end: float = math.nan) -> list[Closest]:
        """Return each aircraft with whom it came nearest until ``end`` (s), and when."""
        nearest: dict[str, Closest] = {}
        for first, second in combinations(self._geodetic, 2):
            times, values = self.separation(first, second).between(0.0, end)
            if not len(values):
                continue
            at = int(np.argmin(values))
            distance = float(values[at])
            for name, other in ((first, second), (second, first)):
                if name not in nearest or distance < nearest[name].distance:
                    nearest[name] = Closest(name, other, distance, float(times[at]))
        return [nearest[name] for name in self._geodetic if name in nearest]

    def figures(self, end: float) -> dict[str, Any]:
        """Return the figures over two until ``end`` (s), as plain numbers by name."""
        return {
            SEPARATION: {one.first: {
                'nearest': one.second, 'distance': one.distance, 'at': one.at}
                for one in self.closest(end)},
            FORMATION: {
                name: {kind: statistic(self.formation_error(name).between(0.0, end), kind)
                       for kind in ('rms', 'max', 'last')}
                for name in self._fleet.stations}}

    def _places(self, name: str) -> Array:
        """Return earth-centred positions, shape (frames, 3)."""
        if name not in self._known:
            self._known[name] = np.array([
                geodetic_to_ecef(*place) for place in self._geodetic[name].tolist()]
            ).reshape(-1, 3)
        return self._known[name]


def _dot(vectors: Array, axes: Array) -> Array:
    found: Array = np.einsum('ij,ij->i', vectors, axes)
    return found


def _lengths(vectors: Array) -> Array:
    return np.sqrt(_dot(vectors, vectors))
