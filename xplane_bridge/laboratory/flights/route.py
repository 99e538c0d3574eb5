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

"""A scenario's route as it is flown: its path, the way along it, the distance from it. No ROS."""

from __future__ import annotations

from collections.abc import Sequence
import math
from typing import Protocol

from xplane_bridge.bridges.conversions.axes import wrap_angle
from xplane_bridge.laboratory.control.path import (
    course_to_follow,
    OnPath,
    PathFollower,
    turn_radius,
)
from xplane_bridge.laboratory.flights.scenario.scenario import Route

# Course, ground speed and drift are those of this time (s).
_WINDOW = 1.0
# The way on which the aircraft rolls into a turn, as time (s).
_LEAD = 1.0
# Of a controller that subscribes to targets: turn rate per error of course or heading (1/s).
_GAIN = 0.4


class VehicleTelemetry(Protocol):
    """What is known of the vehicle, by the names of quantities.QUANTITIES."""

    def last(self, name: str) -> float:
        """Return the newest value of a quantity, NaN if there is none."""

    def since(self, name: str, start: float) -> tuple[Sequence[float], Sequence[float]]:
        """Return the times and values of a quantity from ``start`` on."""


class RouteFlight:
    """
    Watch an aircraft on a route that begins where it is, with its course and ground speed.

    ``path`` is what it should fly, ``across`` lists its distance from it (m, + is right of it) at
    each update until the path ends, and ``passed`` the greatest one of each leg flown.
    """

    def __init__(self, route: Route, telemetry: VehicleTelemetry, now: float) -> None:
        """Raise ValueError if its position or its course are not known."""
        self._telemetry = telemetry
        east, north = telemetry.last('east'), telemetry.last('north')
        course, speed, _ = self._motion(now)
        if math.isnan(east + north + course):
            raise ValueError('the route needs odom, which this simulator does not provide')
        self.waypoints = [(east + e, north + n) for e, n in route.waypoints]
        self.path = PathFollower(
            (east, north), self.waypoints, turn_radius(speed, route.bank), _LEAD * speed, course)
        self.across: list[float] = []
        self.passed: list[float] = []
        self._leg: list[float] = []

    def update(self) -> OnPath:
        """Take the newest position; return where on the path it is."""
        at = self.path.locate(self._telemetry.last('east'), self._telemetry.last('north'))
        legs = self.path.legs if self.path.done else at.leg
        while len(self.passed) < legs:
            self.passed.append(max(self._leg, default=math.nan))
            self._leg.clear()
        if not self.path.done:
            self.across.append(at.across)
            self._leg.append(abs(at.across))
        return at

    def course(self, at: OnPath, now: float) -> float:
        """Return the course (rad, 0..2 pi) for a controller that takes courses only."""
        return course_to_follow(at, self._motion(now)[1], _GAIN)

    def heading(self, at: OnPath, now: float) -> float:
        """Return the heading (rad, 0..2 pi) for a controller that takes headings only."""
        _, speed, drift = self._motion(now)
        return (course_to_follow(at, speed, _GAIN) - drift) % math.tau

    def _motion(self, now: float) -> tuple[float, float, float]:
        """Return course (rad), ground speed (m/s), and drift: course minus heading (rad)."""
        times, east = self._telemetry.since('east', now - _WINDOW)
        _, north = self._telemetry.since('north', now - _WINDOW)
        headings = self._telemetry.since('heading', now - _WINDOW)[1]
        if len(times) < 2 or len(headings) == 0:
            return math.nan, math.nan, 0.0
        d_east, d_north = east[-1] - east[0], north[-1] - north[0]
        course = math.atan2(d_east, d_north)
        # Both are means of the same time: in a turn, too, their difference is the drift.
        middle = (headings[0] + headings[-1]) / 2.0
        return (course, math.hypot(d_east, d_north) / (times[-1] - times[0]),
                wrap_angle(course - middle))
