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
Discrete gusts and wind shear, as the aircraft flies through them.

MIL-F-8785C, 3.7.2.3 and 3.7.3.
"""

from __future__ import annotations

from dataclasses import dataclass
import math

from xplane_bridge.aircraft.limits import check_finite, check_wind

TWENTY_FEET = 20.0 * 0.3048
# Shear is what it is between these heights (m), and beyond them constant: 3 ft and 1000 ft.
_LOWEST = 3.0 * 0.3048
_HIGHEST = 1000.0 * 0.3048
_LONGEST = 1e5
_ROUGHNESS = (1e-4, 5.0)
_EXPONENTS = (0.0, 1.0)


@dataclass(frozen=True, slots=True)
class Gust:
    """
    A gust of the shape (1 - cosine), which an aircraft meets on its way through the air.

    Its amplitudes in m/s are the velocity of the air ``forward`` and to the ``right``, level by
    the heading at which it begins, and ``up``. It builds up over ``length`` m of flight, from
    ``distance`` m on; after ``hold`` m more it falls off over the same length. It is held for
    good where that is infinite.
    """

    forward: float
    right: float
    up: float
    length: float
    distance: float = 0.0
    hold: float = math.inf

    def check(self) -> None:
        """Raise ValueError for one that is not simulated."""
        check_finite(forward=self.forward, right=self.right, up=self.up)
        check_wind(self.forward, self.right, self.up)
        if not 0.0 < self.length <= _LONGEST:
            raise ValueError(f'a length of {self.length:g} m, expected above 0, to {_LONGEST:g}')
        if not 0.0 <= self.distance <= _LONGEST:
            raise ValueError(f'a distance of {self.distance:g} m, expected 0..{_LONGEST:g}')
        if not self.hold >= 0.0:
            raise ValueError(f'a hold of {self.hold:g} m, expected at least 0')

    def share(self, flown: float) -> float:
        """Return the share of its amplitudes after so many m of flight."""
        x, whole = flown - self.distance, 2.0 * self.length + self.hold
        if not 0.0 < x < whole:
            return 0.0
        along = min(x, self.length, whole - x)
        return 0.5 * (1.0 - math.cos(math.pi * along / self.length))

    def is_over(self, flown: float) -> bool:
        """Return whether it was flown through."""
        return flown >= self.distance + 2.0 * self.length + self.hold


@dataclass(frozen=True, slots=True)
class Shear:
    """
    A horizontal wind that grows with the height above the ground.

    ``north`` and ``east`` are its velocity at 20 ft, in m/s. The profile is logarithmic with a
    ``roughness`` (m; MIL-F-8785C: 0.15 ft for approach, take-off and landing, otherwise 2 ft), or
    where that is 0, the power of the height with this ``exponent``. Below 3 ft and above 1000 ft
    the wind is that of these heights.
    """

    north: float
    east: float
    roughness: float = 0.0
    exponent: float = 0.0

    def check(self) -> None:
        """Raise ValueError for one that is not simulated."""
        check_finite(north=self.north, east=self.east)
        check_wind(self.north, self.east)
        low, high = _ROUGHNESS
        if self.roughness and not low <= self.roughness <= high:
            raise ValueError(f'a roughness of {self.roughness:g} m, expected {low:g}..{high:g}')
        low, high = _EXPONENTS
        if not low <= self.exponent <= high:
            raise ValueError(f'an exponent of {self.exponent:g}, expected {low:g}..{high:g}')

    def share(self, height: float) -> float:
        """Return the share of the wind at 20 ft at a height above the ground, in m."""
        height = min(max(height, _LOWEST), _HIGHEST)
        if not self.roughness:
            return float((height / TWENTY_FEET) ** self.exponent)
        # Within the roughness there is no wind.
        return max(math.log(height / self.roughness), 0.0) / math.log(
            TWENTY_FEET / self.roughness)
