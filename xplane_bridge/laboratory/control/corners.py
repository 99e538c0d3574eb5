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

"""What a path is made of: lines and arcs, and how a corner of a route is flown with them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
import math

from xplane_bridge.bridges.conversions.axes import wrap_angle

Point = tuple[float, float]

STRAIGHT = 1e-3
"""Corners flatter than this (rad) need no arc."""
# Sharper corners (rad) are flown over: a fly-by would leave the leg far too early.
_SHARP = math.radians(150.0)
# So are those above the second angle whose legs leave less than this share of the radius.
_TIGHT, _BENT = 0.75, math.radians(100.0)
# Flat corners are cut by up to this (m), so that a dense path is one curve and no polygon.
_CUT = 2.0


class LineSegment:
    """A straight piece of a leg."""

    __slots__ = ('_east', '_north', 'course', 'end', 'leg', 'length', 'start')
    curvature = 0.0

    def __init__(self, leg: int, start: Point, end: Point) -> None:
        self.leg, self.start, self.end = leg, start, end
        self.length = math.dist(start, end)
        self.course = course_between(start, end)
        self._east, self._north = math.sin(self.course), math.cos(self.course)

    def locate(self, east: float, north: float) -> tuple[float, float, float]:
        """Return the course, the distance right of the line, and that to its end."""
        d_east, d_north = east - self.start[0], north - self.start[1]
        return (
            self.course, d_east * self._north - d_north * self._east,
            self.length - (d_east * self._east + d_north * self._north))


@dataclass(frozen=True, slots=True)
class Arc:
    """An arc that begins with ``course`` and turns by ``turn`` (rad, + is to the right)."""

    leg: int
    centre: Point
    radius: float
    course: float
    turn: float
    length: float = field(init=False)
    curvature: float = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, 'length', abs(self.turn) * self.radius)
        object.__setattr__(self, 'curvature', math.copysign(1.0 / self.radius, self.turn))

    def locate(self, east: float, north: float) -> tuple[float, float, float]:
        """Return the course, the distance right of the arc, and that to its end."""
        side = 1.0 if self.turn > 0.0 else -1.0
        d_east, d_north = east - self.centre[0], north - self.centre[1]
        course = math.atan2(d_east, d_north) + side * math.pi / 2.0
        turned = (course - self.course) * side % math.tau
        total = abs(self.turn)
        # What lies opposite to the middle of the arc is neither before nor behind it.
        if turned > math.pi + total / 2.0:
            turned -= math.tau
        return (
            course, side * (self.radius - math.hypot(d_east, d_north)),
            (total - turned) * self.radius)

    def at(self, turned: float, distance: float) -> Point:
        """Return the point at a distance from the centre, after a turn (rad)."""
        bearing = self.course + turned - math.copysign(math.pi / 2.0, self.turn)
        return (self.centre[0] + distance * math.sin(bearing),
                self.centre[1] + distance * math.cos(bearing))


Segment = LineSegment | Arc


def course_between(start: Point, end: Point) -> float:
    """Return the course (rad) from a point to another."""
    return math.atan2(end[0] - start[0], end[1] - start[1])


def ahead(start: Point, course: float, distance: float) -> Point:
    """Return the point at a distance in the direction of a course."""
    return start[0] + distance * math.sin(course), start[1] + distance * math.cos(course)


def arc_from(
    leg: int, start: Point, course: float, turn: float, radius: float
) -> tuple[Arc, Point, float]:
    """Return an arc that begins at a point with a course, and the point and course at its end."""
    side = math.copysign(radius, turn)
    arc = Arc(leg, ahead(start, course + math.pi / 2.0, side), radius, course, turn)
    return arc, arc.at(turn, radius), course + turn


def start_segments(
    start: Point, course: float, goal: Point, radius: float, lead: float
) -> tuple[list[Segment], Point]:
    """
    Return the arc that turns an aircraft from ``course`` to ``goal``, and where it ends.

    It needs ``lead`` metres before it turns, and turns away from a goal that is within its turn.
    """
    if math.isnan(course):
        return [], start
    begin = ahead(start, course, lead)
    turns = []
    for side in (1.0, -1.0):
        centre = ahead(begin, course + math.pi / 2.0, side * radius)
        distance = math.dist(centre, goal)
        if distance >= radius:
            tangent = course_between(centre, goal) + side * math.asin(radius / distance)
            turns.append(side * ((tangent - course) * side % math.tau))
    # A goal may lie within the circle on one side only.
    turn = min(turns, key=abs)
    if abs(turn) < STRAIGHT:
        return [], start
    arc, end, _ = arc_from(0, begin, course, turn, radius)
    return [LineSegment(0, start, begin), arc] if lead else [arc], end


def corner_segments(
    leg: int, begin: Point, corner: Sequence[Point], room: float, radius: float,
) -> tuple[list[Segment], Point]:
    """
    Return the line from ``begin`` to a corner and its arcs, and where the next leg's line begins.

    ``corner`` has the points before, at and after it; an arc may take ``room`` (m) of both legs.
    """
    before, at, after = corner
    course = course_between(before, at)
    turn = wrap_angle(course_between(at, after) - course)
    bend = abs(turn)
    if bend < STRAIGHT:
        return [LineSegment(leg, begin, at)], at
    tangent = math.tan(bend / 2.0)
    if bend > _SHARP or (bend > _BENT and room < _TIGHT * radius * tangent):
        return [LineSegment(leg, begin, at), *_turn_beyond(leg, at, course, turn, radius)], at
    cut = min(max(radius * tangent, min(_CUT / math.tan(bend / 4.0), 4.0 * radius)), room)
    start = ahead(at, course, -cut)
    arc, end, _ = arc_from(leg, start, course, turn, cut / tangent)
    return [LineSegment(leg, begin, start), arc] if math.dist(begin, start) > 1e-6 else [arc], end


def _turn_beyond(
    leg: int, at: Point, course: float, turn: float, radius: float
) -> list[Segment]:
    """Return three arcs that begin and end at a corner: out, round, and in again."""
    side = math.copysign(1.0, turn)
    out = math.acos(math.sin(abs(turn) / 2.0) / 2.0) + (math.pi - abs(turn)) / 2.0
    first, point, heading = arc_from(leg, at, course, -side * out, radius)
    second, point, heading = arc_from(leg, point, heading, turn + 2.0 * side * out, radius)
    third, _, _ = arc_from(leg, point, heading, -side * out, radius)
    return [first, second, third]
