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
Following a route: straight legs, joined by arcs, and a vector field that leads onto them.

Corners are cut by an arc that the aircraft can fly ("fly-by"). Where that is not possible, as in
a U-turn, it flies over the waypoint and turns beyond it in three arcs that end at the waypoint on
the next leg, the shortest such way (Dubins, American Journal of Mathematics 79, 1957). Of such a
path the cross-track error is measured. The law is the vector field of Nelson, Barber, McLain and
Beard, "Vector field path following for miniature air vehicles", IEEE Transactions on Robotics 23
(2007), with the path's curvature fed forward.

Pure geometry, in metres east and north; courses in radians clockwise from north.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
import math

from xplane_bridge.bridges.conversions.axes import wrap_angle
from xplane_bridge.common.units import STANDARD_GRAVITY
from xplane_bridge.laboratory.control import corners
from xplane_bridge.laboratory.control.corners import Arc, LineSegment, Point, Segment

# Far from the path the course leads towards it at this angle (rad).
_APPROACH = math.radians(60.0)
# The turn of a circle without an end (rad).
_FOR_EVER = 1e6
# Arcs are drawn in pieces of at most this (rad).
_PIECE = math.radians(15.0)


@dataclass(frozen=True, slots=True)
class OnPath:
    """
    Where an aircraft is, seen from the path.

    ``course`` of the path (rad), ``across``: distance from it (m, + is right of it),
    ``curvature`` to be flown now (1/m, + is a right turn), ``left``: m to the end of the leg, and
    ``left_of_path`` to that of the path. ``leg`` is the one flown now, from 0.
    """

    course: float
    across: float
    curvature: float
    left: float
    left_of_path: float
    leg: int


class PathFollower:
    """
    Follow a path from ``start`` through waypoints, leg by leg; leg 0 leads to the first one.

    It begins with ``course`` (NaN: straight to the first waypoint). Turns are flown with
    ``radius`` (m), tighter where two flat corners are too close for it. ``lead`` (m) is the way
    on which the aircraft rolls into a turn: the curvature is fed forward so much earlier. If
    ``closed``, the last waypoint is followed by the first, for ever. Raises ValueError for no
    waypoints, or two equal ones in a row.
    """

    def __init__(
        self, start: Point, waypoints: Sequence[Point], radius: float, lead: float = 0.0,
        course: float = math.nan, closed: bool = False,
    ) -> None:
        _check(start, waypoints, closed)
        self.waypoints = tuple(waypoints)
        points = [start, *waypoints]
        if closed:
            points += waypoints[:2]
        segments, points[0] = corners.start_segments(start, course, waypoints[0], radius, lead)
        begin = points[0]
        again = None
        last = len(points) - 2
        for leg in range(last):
            corner = points[leg:leg + 3]
            # An arc takes at most what its legs have, shared with that at their other end.
            room = min(
                math.dist(corner[0], corner[1]) / (2.0 if leg else 1.0),
                math.dist(corner[1], corner[2]) / (2.0 if leg + 1 < last or closed else 1.0))
            if leg == 1:
                again = len(segments)
            added, begin = corners.corner_segments(leg, begin, corner, room, radius)
            segments += added
        if not closed and (not segments or math.dist(begin, points[-1]) > 1e-6):
            segments.append(LineSegment(last, begin, points[-1]))
        self._take(segments, lead, again if closed else None)

    def _take(self, segments: Sequence[Segment], lead: float, again: int | None) -> None:
        self._segments = segments
        self._again = again
        self._lead = lead
        ends, total = [], 0.0
        for segment in segments:
            total += segment.length
            ends.append(total)
        self._ends = ends
        leg_ends = {segment.leg: end for segment, end in zip(segments, ends, strict=True)}
        self._leg_ends = [leg_ends[segment.leg] for segment in segments]
        self._index = self._ahead = 0
        self.legs = max(leg_ends) + 1
        self.laps = 0
        self.done = False

    @classmethod
    def circle(cls, centre: Point, radius: float, turn: float) -> PathFollower:
        """Follow a circle, to the right if ``turn`` is positive, for ever."""
        follower = cls.__new__(cls)
        follower.waypoints = ()
        follower._take(
            [Arc(0, centre, radius, 0.0, math.copysign(_FOR_EVER, turn))], 0.0, None)
        return follower

    @property
    def leg(self) -> int:
        """Return the number of the leg that is flown now."""
        return self._segments[self._index].leg

    def locate(self, east: float, north: float) -> OnPath:
        """Return where the aircraft is, seen from the path; goes on to the next segment."""
        while True:
            segment = self._segments[self._index]
            course, across, left = segment.locate(east, north)
            if left > 0.0:
                break
            if self._index < len(self._segments) - 1:
                self._index += 1
            elif self._again is None:
                self.done = True
                break
            else:
                self._index = self._ahead = self._again
                self.laps += 1
        index, ends = self._index, self._ends
        along = ends[index] - left
        ahead = max(self._ahead, index)
        while along + self._lead >= ends[ahead] and ahead + 1 < len(ends):
            ahead += 1
        self._ahead = ahead
        return OnPath(
            course, across, self._segments[ahead].curvature, self._leg_ends[index] - along,
            ends[-1] - along, segment.leg)

    def corners(self) -> list[Point]:
        """
        Return points whose straight connections have this path's lines and arcs as tangents.

        Fewer points than of a drawing: who follows them with the same radius follows this path.
        """
        found = [_begin(self._segments[0])]
        for segment in self._segments:
            if isinstance(segment, LineSegment):
                continue
            pieces = max(1, math.ceil(abs(segment.turn) / (2.0 * _PIECE)))
            half = segment.turn / pieces / 2.0
            out = segment.radius / math.cos(half)
            found += [segment.at((2 * number + 1) * half, out) for number in range(pieces)]
        found.append(_end(self._segments[-1]))
        return [one for number, one in enumerate(found)
                if not number or math.dist(one, found[number - 1]) > 0.1]

    def drawn(self) -> list[Point]:
        """Return points on the path, close enough to draw it."""
        found = [_begin(self._segments[0])]
        for segment in self._segments:
            found += _points(segment)
        return found


def bank_to_follow(
    at: OnPath, course: float, ground_speed: float, gain: float,
) -> float:
    """
    Return the bank (rad, not limited) that leads onto the path and along it.

    ``course`` is the aircraft's, ``gain`` (1/s) turns it to that of the field.
    """
    field, slope = _field(at, ground_speed, gain)
    closing = ground_speed * math.sin(wrap_angle(course - at.course))
    rate = ground_speed * at.curvature + slope * closing + gain * wrap_angle(field - course)
    return math.atan(rate * ground_speed / STANDARD_GRAVITY)


def course_to_follow(at: OnPath, ground_speed: float, gain: float) -> float:
    """
    Return the course (rad, 0..2 pi) for a controller that turns at ``gain`` (1/s) of its error.

    In a turn it is ahead of the path's, so that such a controller keeps up.
    """
    field, _ = _field(at, ground_speed, gain)
    return (field + ground_speed * at.curvature / gain) % math.tau


def _field(at: OnPath, ground_speed: float, gain: float) -> tuple[float, float]:
    """Return the course of the field, and how it changes with the distance (rad/m)."""
    # Near the path it comes back in about 1.5 / gain seconds.
    near = gain / (1.5 * max(ground_speed, 1.0))
    share = _APPROACH * 2.0 / math.pi
    scaled = near * at.across
    return at.course - share * math.atan(scaled), -share * near / (1.0 + scaled * scaled)


def turn_radius(ground_speed: float, bank: float) -> float:
    """Return the radius (m) of a level turn at a bank (rad)."""
    return ground_speed ** 2 / (STANDARD_GRAVITY * math.tan(bank))


def _check(start: Point, waypoints: Sequence[Point], closed: bool) -> None:
    least = 2 if closed else 1
    if len(waypoints) < least:
        raise ValueError(
            f'a {"closed " if closed else ""}route needs at least {least} '
            f'waypoint{"s" * (least > 1)}, got {len(waypoints)}')
    for point in (start, *waypoints):
        if not all(math.isfinite(value) for value in point):
            raise ValueError('a waypoint of the route is not finite')
    for number, (first, second) in enumerate(zip(waypoints, waypoints[1:], strict=False)):
        if first == second:
            raise ValueError(f'waypoints {number} and {number + 1} of the route are the same')
    if closed and waypoints[0] == waypoints[-1]:
        raise ValueError('the last waypoint of a closed route is the first one again')
    if start == waypoints[0]:
        raise ValueError('waypoint 0 of the route is where it starts')


def _points(segment: Segment) -> Iterator[Point]:
    """Return the points of a segment after its first."""
    if isinstance(segment, LineSegment):
        yield segment.end
        return
    turn = math.copysign(min(abs(segment.turn), math.tau), segment.turn)
    pieces = max(1, math.ceil(abs(turn) / (_PIECE / 3.0)))
    for number in range(1, pieces + 1):
        yield segment.at(turn * number / pieces, segment.radius)


def _begin(segment: Segment) -> Point:
    return segment.start if isinstance(segment, LineSegment) else segment.at(0.0, segment.radius)


def _end(segment: Segment) -> Point:
    return segment.end if isinstance(segment, LineSegment) else segment.at(
        segment.turn, segment.radius)
