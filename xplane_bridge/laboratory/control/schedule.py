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
Numbers that are scheduled over airspeed and altitude, such as gains where one set does not do.

Between the points of the schedule they are interpolated bilinearly; outside they are those of the
nearest edge.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
import math

from xplane_bridge.common.text import counted

AIRSPEED, ALTITUDE = AXES = ('airspeed', 'altitude')
"""Indicated airspeed in m/s, and altitude in m; a schedule without altitudes has none."""

MOST_VALUES = 64
"""How many values an axis may have."""


@dataclass(frozen=True, slots=True)
class Schedule:
    """
    ``names`` have values at each airspeed and altitude: values[airspeed][altitude][name].

    Its axes rise; each has at least one value.
    """

    airspeeds: tuple[float, ...]
    altitudes: tuple[float, ...]
    names: tuple[str, ...]
    values: tuple[tuple[tuple[float, ...], ...], ...]

    @classmethod
    def of(cls, given: Mapping[str, Sequence[float]]) -> Schedule:
        """
        Return the schedule of lists by name: those of AXES, and values for each point.

        In those the altitude varies fastest. Without altitudes there is one value for each
        airspeed. Raises ValueError with a sentence for axes that do not rise, for lists of another
        length, and for a hole: a value that is not finite.
        """
        airspeeds = _axis(AIRSPEED, given.get(AIRSPEED, ()))
        altitudes = _axis(ALTITUDE, given.get(ALTITUDE, ()) or (0.0,))
        names = tuple(name for name in given if name not in AXES)
        count = len(airspeeds) * len(altitudes)
        if not names:
            raise ValueError('it has no values beside its airspeeds and altitudes')
        for name in names:
            if len(given[name]) != count:
                raise ValueError(
                    f'{name} has {counted(len(given[name]), "value")}, expected {count}: one for '
                    f'each of {counted(len(airspeeds), "airspeed")} and '
                    f'{counted(len(altitudes), "altitude")}')
            for n, value in enumerate(given[name]):
                if not math.isfinite(value):
                    raise ValueError(
                        f'{name} has no value at {airspeeds[n // len(altitudes)]:g} m/s and '
                        f'{altitudes[n % len(altitudes)]:g} m: a schedule may have no holes')
        return cls(airspeeds, altitudes, names, tuple(
            tuple(tuple(float(given[name][row * len(altitudes) + column]) for name in names)
                  for column in range(len(altitudes)))
            for row in range(len(airspeeds))))

    def at(self, airspeed: float, altitude: float) -> dict[str, float]:
        """Return the values by name; an altitude that is not known (NaN) is the lowest."""
        row, up = _place(self.airspeeds, airspeed)
        column, across = _place(self.altitudes, altitude)
        near = self._between(row, column, across)
        far = self._between(row + 1, column, across) if up else near
        return {name: low + up * (high - low)
                for name, low, high in zip(self.names, near, far, strict=True)}

    def scaled(self, name: str, factor: float) -> Schedule:
        """Return the schedule with the values of a name multiplied; the same without that name."""
        if name not in self.names:
            return self
        n = self.names.index(name)
        return replace(self, values=tuple(tuple(
            (*point[:n], factor * point[n], *point[n + 1:]) for point in row)
            for row in self.values))

    def lists(self) -> dict[str, list[float]]:
        """Return the lists by name, as of() takes them."""
        points = [point for row in self.values for point in row]
        return {AIRSPEED: [*self.airspeeds], ALTITUDE: [*self.altitudes],
                **{name: [point[n] for point in points] for n, name in enumerate(self.names)}}

    def _between(self, row: int, column: int, across: float) -> Sequence[float]:
        values = self.values[row]
        if not across:
            return values[column]
        return [low + across * (high - low)
                for low, high in zip(values[column], values[column + 1], strict=True)]


def _place(axis: Sequence[float], value: float) -> tuple[int, float]:
    """Return the point of an axis below a value, and how far it is to the next one, 0..1."""
    if not value > axis[0]:
        return 0, 0.0
    if value >= axis[-1]:
        return len(axis) - 1, 0.0
    below = bisect_right(axis, value) - 1
    return below, (value - axis[below]) / (axis[below + 1] - axis[below])


def _axis(name: str, values: Sequence[float]) -> tuple[float, ...]:
    if not 0 < len(values) <= MOST_VALUES:
        raise ValueError(
            f'{name} has {counted(len(values), "value")}, expected 1 to {MOST_VALUES}')
    found = tuple(map(float, values))
    if not all(map(math.isfinite, found)) or any(
            right <= left for left, right in zip(found, found[1:], strict=False)):
        raise ValueError(f'{name}: expected numbers that rise, got '
                         + ', '.join(f'{value:g}' for value in found[:8]))
    return found
