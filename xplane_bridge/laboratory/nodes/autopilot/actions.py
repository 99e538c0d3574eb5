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

"""The actions of autopilot_node: fly_route, take_off and land, as goals with feedback."""

from __future__ import annotations

from typing import Any

from xplane_bridge.action import FlyRoute
from xplane_bridge.bridges.nodes.common.base import BridgeNode
from xplane_bridge.laboratory.control.cascade import Cascade
from xplane_bridge.laboratory.control.path import PathFollower
from xplane_bridge.laboratory.control.runway.autopilot import Autopilot
from xplane_bridge.laboratory.nodes.autopilot.goals import Asker, SingleGoalServer
from xplane_bridge.laboratory.nodes.autopilot.levels import Levels
from xplane_bridge.laboratory.nodes.autopilot.route import read_route
from xplane_bridge.laboratory.nodes.autopilot.runways import Runways
from xplane_bridge.laboratory.nodes.autopilot.telemetry import AutopilotTelemetry


class RouteAction(SingleGoalServer):
    """The action server; ``follower`` is the path that is flown for its goal."""

    def __init__(
        self, node: BridgeNode[Any], cascade: Cascade, levels: Levels, asker: Asker
    ) -> None:
        super().__init__(node, asker, FlyRoute, 'fly_route', self._fly, self._hold)
        self._cascade = cascade
        self._levels = levels
        self.follower: PathFollower | None = None

    def _fly(self, request: Any) -> None:
        waypoints = read_route(request.route)

        def follow() -> list[str]:
            said = self._levels.follow(waypoints)
            self.follower, self.began = self._cascade.follower, True
            return said

        self.pursue(request.route, follow)

    def _hold(self) -> str:
        self._asker.hold()
        return 'altitude, course and airspeed are held'

    def advance(self, now: float) -> None:
        """Report where the aircraft is, at a time (s), or the end of the route."""
        follower = self.follower
        if not self.began or follower is None:
            return
        cascade = self._cascade
        at = cascade.at
        if follower.done:
            self.result.legs = follower.legs
            self.end('flown to its end; the last course is held', success=True)
        elif cascade.follower is not follower:
            self.end('; '.join(cascade.limits) or 'something else is flown')
        elif at is not None:
            result = self.result
            result.legs = at.leg
            result.greatest_cross_track = max(result.greatest_cross_track, abs(at.across))
            if self.is_due(now):
                feedback = self.feedback
                feedback.leg, feedback.distance = at.leg, at.left
                feedback.distance_left, feedback.cross_track = at.left_of_path, at.across
                self.goal.publish_feedback(feedback)

    def commanded(self, topic: str) -> None:
        """End the goal if a command has taken its path away."""
        if self.began and self.follower is not self._cascade.follower:
            self.end(f'{topic} has been commanded')

class Actions:
    """All action servers, and the goals that are flown."""

    def __init__(
        self, node: BridgeNode[Any], autopilot: Autopilot, telemetry: AutopilotTelemetry,
        levels: Levels, asker: Asker,
    ) -> None:
        self._all: tuple[RouteAction | Runways, ...] = (
            RouteAction(node, autopilot, levels, asker),
            Runways(node, autopilot, telemetry, asker))

    def advance(self, now: float) -> None:
        """Report how far they are, at a time (s), and end those that are reached."""
        for one in self._all:
            one.advance(now)

    def commanded(self, topic: str) -> None:
        """End the goals that a command has taken the flight from."""
        for one in self._all:
            one.commanded(topic)

    def end(self, why: str) -> None:
        """End all goals."""
        for one in self._all:
            one.end(why)

    def retire(self) -> None:
        """Destroy the servers, now or once they have responded."""
        for one in self._all:
            one.retire()
