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

"""Waypoint guidance: heading, current leg, cross-track distance. No ROS."""

from __future__ import annotations

from collections.abc import Sequence
import math

from xplane_bridge.experiments.scenario import Route


class Guidance:
    """
    Follow a route, leg by leg, from its start.

    ``passed`` lists (time, cross-track distance in m, + is right of the leg) of the legs
    flown; after the last one its heading is kept.
    """

    def __init__(self, route: Route, east: float, north: float) -> None:
        """Set the route's origin to ``east``, ``north`` (m)."""
        self._route = route
        self.corners = [(east, north)] + [
            (east + e, north + n) for e, n in route.waypoints]
        self.passed: list[tuple[float, float]] = []

    @property
    def done(self) -> bool:
        """Return whether the last waypoint has been reached."""
        return len(self.passed) == len(self.corners) - 1

    def heading(self, time: float, east: float, north: float) -> float:
        """Return the heading to fly (rad, 0..2 pi), with the aircraft at ``east``, ``north``."""
        leg = min(len(self.passed), len(self.corners) - 2)
        course, along, across, length = _on_leg(self.corners, leg, east, north)
        # The last leg is flown to its end.
        lead = self._route.lead if leg < len(self.corners) - 2 else 0.0
        if not self.done and along >= length - lead:
            self.passed.append((time, across))
            if not self.done:
                return self.heading(time, east, north)
        return (course - math.atan2(across, self._route.lookahead)) % math.tau


def _on_leg(
    corners: Sequence[tuple[float, float]], leg: int, east: float, north: float
) -> tuple[float, float, float, float]:
    """Return a leg's course (rad), the distances along and right of it, and its length (m)."""
    (east0, north0), (east1, north1) = corners[leg], corners[leg + 1]
    length = math.hypot(east1 - east0, north1 - north0)
    unit_east, unit_north = (east1 - east0) / length, (north1 - north0) / length
    d_east, d_north = east - east0, north - north0
    return (
        math.atan2(unit_east, unit_north),
        d_east * unit_east + d_north * unit_north,
        d_east * unit_north - d_north * unit_east,
        length,
    )
