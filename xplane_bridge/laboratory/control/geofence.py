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

"""A polygon that an aircraft does not leave."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
import math
from typing import NamedTuple

from xplane_bridge.common.units import STANDARD_GRAVITY
from xplane_bridge.laboratory.control.corners import ahead, course_between, Point
from xplane_bridge.laboratory.control.laws import SLOWEST
from xplane_bridge.laboratory.control.measurement import Measurement
from xplane_bridge.laboratory.control.path import PathFollower

# From the corner where an edge begins, and east and north along it.
_Edge = tuple[float, float, float, float]

# A circle is this far from the fence (m): it is flown with an error.
_MARGIN = 20.0
# An aircraft so near (m) to the circle that it flew before flies that one again,
_NEAR = 50.0
# unless another fits with so much room (m): then it has turned away from the fence.
_AGAIN = 40.0


class Fence:
    """A polygon that is not to be left."""

    def __init__(self, corners: Sequence[Point]) -> None:
        self._edges = [
            (*first, second[0] - first[0], second[1] - first[1])
            for first, second in zip(corners, (*corners[1:], corners[0]), strict=True)]

    def margin(self, point: Point) -> float:
        """Return the distance to the nearest edge (m), negative outside."""
        east, north = point
        inside = False
        for east0, north0, d_east, d_north in self._edges:
            if (north0 > north) != (north0 + d_north > north) and (
                    east - east0 < d_east * (north - north0) / d_north):
                inside = not inside
        nearest = math.dist(point, self.nearest(point))
        return nearest if inside else -nearest

    def check(self, path: Sequence[Point]) -> None:
        """Raise ValueError if a path leaves the polygon."""
        for point in path:
            if self.margin(point) < 0.0:
                raise ValueError(
                    f'the path leaves the geofence at {point[0]:.0f} m east, {point[1]:.0f} m '
                    'north; move its waypoints inside, further from the edges by the radius of a '
                    'turn')
        for first, second in zip(path, path[1:], strict=False):
            if any(_cross(first, second, edge) for edge in self._edges):
                raise ValueError(
                    f'the path crosses the geofence between {first[0]:.0f} m east, '
                    f'{first[1]:.0f} m north and {second[0]:.0f} m east, {second[1]:.0f} m north')

    def nearest(self, point: Point) -> Point:
        """Return the nearest point of the edges."""
        return min((_on_edge(point, edge) for edge in self._edges),
                   key=lambda one: math.dist(one, point))


class Lead(NamedTuple):
    """The way (m) until an aircraft has rolled into a turn, and how it turns on it (rad)."""

    way: float
    turn: float


def lead_into(
    now: Measurement, side: float, bank: float, roll_rate: float, delay: float
) -> Lead:
    """Return what an aircraft does until it has rolled into a turn to the right (``side`` 1.0)."""
    roll = side * now.roll
    speed = max(now.speed_over_ground, SLOWEST)
    # Until it is level it goes on turning to the other side.
    level = max(-roll, 0.0) / roll_rate
    turn = STANDARD_GRAVITY * math.tan(min(max(-roll, 0.0), 1.0)) / speed * level / 2.0
    seconds = delay + level + max(bank - max(roll, 0.0), 0.0) / roll_rate / 2.0
    return Lead(seconds * speed, -side * turn)


class Guard:
    """
    Keeps an aircraft inside a fence: as long as it can still turn back, it may fly anywhere.

    Each time, a full circle to the right or to the left must fit inside. When none does any more,
    the one that fitted last is flown. An aircraft outside flies to the nearest point of the fence,
    and on until a circle fits.
    """

    def __init__(self, corners: Sequence[Point]) -> None:
        self.fence = Fence(corners)
        self._outside = False
        self._circle: tuple[Point, float, float] | None = None
        # Far from the fence, within that of a point, nothing has to be computed.
        self._far: tuple[Point, float] = ((0.0, 0.0), 0.0)

    def is_far(self, position: Point) -> bool:
        """Return whether an aircraft is so far inside that it need not be watched yet."""
        return math.dist(position, self._far[0]) < self._far[1]

    def watch(
        self, position: Point, course: float, radius: float, leads: Mapping[float, Lead]
    ) -> PathFollower | float | None:
        """
        Return None if the aircraft may fly on, else a circle, or a course, to be flown now.

        ``radius`` (m) is that of its turns, and ``leads`` has, for a turn to the right (1.0) and
        to the left (-1.0), what it does until it has rolled into it.
        """
        margin = self.fence.margin(position)
        spare = margin - 2.0 * (radius + _AGAIN) - max(lead.way for lead in leads.values())
        if spare > 0.0:
            self._outside, self._circle = False, None
            # Half of it, should it become faster.
            self._far = position, spare / 2.0
            return None
        best, circle = -math.inf, (position, radius, 1.0)
        for turn, lead in leads.items():
            begin = ahead(position, course + lead.turn / 2.0, lead.way)
            centre = ahead(begin, course + lead.turn + math.pi / 2.0, turn * radius)
            if (room := self.fence.margin(centre) - radius - _MARGIN) > best:
                best, circle = room, (centre, radius, turn)
        if self._outside or margin < 0.0:
            self._outside = best < 0.0
            if self._outside:
                return course if margin >= 0.0 else course_between(
                    position, self.fence.nearest(position))
        old = self._circle
        if old is not None and abs(math.dist(position, old[0]) - old[1]) > _NEAR:
            old = None
        if best >= (0.0 if old is None else _AGAIN):
            self._circle = None
            return None
        self._circle = centre, radius, turn = old or circle
        return PathFollower.circle(centre, radius, turn)


def _cross(first: Point, second: Point, edge: _Edge) -> bool:
    """Return whether a line and an edge cross."""
    east0, north0, d_east, d_north = edge
    east, north = second[0] - first[0], second[1] - first[1]
    turn = east * d_north - north * d_east
    if turn == 0.0:
        return False
    e, n = east0 - first[0], north0 - first[1]
    along, beside = (e * d_north - n * d_east) / turn, (e * north - n * east) / turn
    return 0.0 <= along <= 1.0 and 0.0 <= beside <= 1.0


def _on_edge(point: Point, edge: _Edge) -> Point:
    """Return the nearest point of an edge."""
    east0, north0, d_east, d_north = edge
    squared = d_east * d_east + d_north * d_north
    share = ((point[0] - east0) * d_east + (point[1] - north0) * d_north) / (squared or 1.0)
    share = min(max(share, 0.0), 1.0)
    return east0 + share * d_east, north0 + share * d_north
