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

"""The action fly_route: a route as a goal, with feedback; cancelling it holds what is flown."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rclpy.action import ActionServer, CancelResponse

from xplane_bridge.action import FlyRoute
from xplane_bridge.control.cascade import Cascade
from xplane_bridge.control.path import PathFollower
from xplane_bridge.msg import Route
from xplane_bridge.nodes.common.base import BridgeNode

# Seconds of flight between two messages of feedback.
_PERIOD = 0.5


class RouteAction:
    """
    The action server, with at most one ``goal``.

    ``begin(route)`` flies a route, and sets ``follower``, the path that is flown for the goal,
    when that begins; ``cancel()`` holds what is flown. A coroutine that waits for the end would
    keep the executors of Jazzy and Kilted busy; so a goal is executed when it has ended: until
    then its status is "accepted".
    """

    def __init__(
        self, node: BridgeNode[Any], begin: Callable[[Route], None], cancel: Callable[[], None]
    ) -> None:
        self._node = node
        self._begin = begin
        self._cancel = cancel
        self.goal: Any = None
        self.follower: PathFollower | None = None
        self._result = FlyRoute.Result()
        self._feedback = FlyRoute.Feedback()
        self._told_at = 0.0
        self._ending = 0
        self._retired = False
        self._server = ActionServer(
            node, FlyRoute, 'fly_route', self._never, cancel_callback=self._on_cancel,
            handle_accepted_callback=self._on_accepted)

    def advance(self, cascade: Cascade, now: float) -> None:
        """Report where the aircraft is, at a time (s), or the end of the route."""
        if self.follower is None:
            return
        at = cascade.at
        if self.follower.done:
            self._result.legs = self.follower.legs
            self.end('flown to its end; the last course is held', success=True)
        elif cascade.follower is not self.follower:
            self.end('; '.join(cascade.limits) or 'something else is flown')
        elif at is not None:
            result = self._result
            result.legs = at.leg
            result.greatest_cross_track = max(result.greatest_cross_track, abs(at.across))
            if not 0.0 <= now - self._told_at < _PERIOD:
                self._told_at = now
                feedback = self._feedback
                feedback.leg, feedback.distance = at.leg, at.left
                feedback.distance_left, feedback.cross_track = at.left_of_path, at.across
                self.goal.publish_feedback(feedback)

    def end(self, sentence: str, success: bool = False) -> None:
        """End the goal, if there is one, and tell the client why."""
        goal, self.goal, self.follower = self.goal, None, None
        if goal is None:
            return
        result, self._result = self._result, FlyRoute.Result()
        result.success, result.message = success, sentence
        self._ending += 1

        def tell(goal: Any) -> FlyRoute.Result:
            if goal.is_cancel_requested:
                goal.canceled()
            elif success:
                goal.succeed()
            else:
                goal.abort()
            self._ending -= 1
            if self._retired and not self._ending:
                # The result is sent by a task that is created when this has returned.
                self._later(lambda: self._later(self._server.destroy))
            return result

        goal.execute(tell)

    def retire(self) -> None:
        """Destroy the server, now or once it has responded."""
        self._retired = True
        if not self._ending:
            self._server.destroy()

    def _on_accepted(self, goal: Any) -> None:
        self.end('another goal has come')
        self.goal = goal
        self._told_at = -1.0
        try:
            if not self._node.active:
                raise ValueError(f'{self._node.get_name()} is not active')
            self._begin(goal.request.route)
        except ValueError as error:
            self._node.refuse('fly_route', error)
            self.end(str(error))

    def _on_cancel(self, goal: Any) -> CancelResponse:
        # It is cancelled only after this has returned.
        self._later(lambda: self._cancelled(goal))
        return CancelResponse.ACCEPT

    def _cancelled(self, goal: Any) -> None:
        if self.goal is goal:
            if self.follower is not None:
                self._cancel()
            self.end('cancelled: altitude, course and airspeed are held')

    def _later(self, do: Callable[[], None]) -> None:
        executor = self._node.executor
        assert executor is not None
        executor.create_task(do)

    def _never(self, goal: Any) -> None:
        """Do nothing: each goal is executed with a callback of its own."""
