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
"""A runway as a pilot sees it: where an aircraft is, seen from its threshold."""

from __future__ import annotations

from dataclasses import dataclass
import math

from xplane_bridge.bridges.conversions.axes import wrap_angle
from xplane_bridge.laboratory.control.corners import Point


@dataclass(frozen=True, slots=True)
class Runway:
    """
    A runway in the local frame: metres, radians, directions clockwise from true north.

    ``threshold`` is the middle of the end that is flown over first (m east and north),
    ``direction`` that from there along the runway, ``elevation`` of its surface as altitudes are
    measured. The glide path meets the surface at ``glide_path`` (rad), ``aiming_point`` (m) beyond
    the threshold. Raises ValueError for a runway that cannot be one: nobody lands on a surface
    whose height is not known.
    """

    threshold: Point
    direction: float
    elevation: float
    length: float
    width: float
    glide_path: float = math.radians(3.0)
    aiming_point: float = 300.0

    def __post_init__(self) -> None:
        if math.isnan(self.elevation):
            raise ValueError('the elevation of the runway is not known, so no height above it is')
        if not all(map(math.isfinite, (*self.threshold, self.direction, self.elevation))):
            raise ValueError('threshold, direction and elevation of a runway must be finite')
        for name, low, high in (
                ('length', 0.0, math.inf), ('width', 0.0, math.inf),
                ('glide_path', 0.0, math.pi / 4.0), ('aiming_point', 0.0, self.length)):
            if not low < getattr(self, name) < high:
                raise ValueError(
                    f'{name} of the runway is {getattr(self, name):g}, expected {low:g} .. '
                    f'{high:g}')

    def locate(self, east: float, north: float) -> Point:
        """Return m beyond the threshold, and m to the right of the centreline."""
        east, north = east - self.threshold[0], north - self.threshold[1]
        sine, cosine = math.sin(self.direction), math.cos(self.direction)
        return east * sine + north * cosine, east * cosine - north * sine

    def point(self, along: float, across: float) -> Point:
        """Return the point (m east and north) that locate() says this of."""
        sine, cosine = math.sin(self.direction), math.cos(self.direction)
        return (self.threshold[0] + along * sine + across * cosine,
                self.threshold[1] + along * cosine - across * sine)

    def turned(self, direction: float) -> float:
        """Return how far a direction (rad) is to the right of the runway's, -pi .. pi."""
        return wrap_angle(direction - self.direction)

    def is_on(self, along: float, across: float) -> bool:
        """Return whether a place, by locate(), is on its surface."""
        return 0.0 <= along <= self.length and abs(across) <= self.width / 2.0
