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
"""An action of autopilot_node: one goal at a time, which ends with the flight that it asks for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from rclpy.action import ActionServer, CancelResponse

from xplane_bridge.bridges.nodes.common.base import BridgeNode

# Seconds of flight between two messages of feedback.
_PERIOD = 0.5


Ask = Callable[[], Sequence[str]]
"""Commands the autopilot; returns what the envelope has limited, or raises ValueError."""


class Asker(NamedTuple):
    """
    How commands reach the autopilot.

    ``ask(topic, ask)`` commands it, ``wait(topic, message, do)`` does something at the first
    state that a message is meant for, perhaps at once, and ``hold()`` holds what is flown.
    """

    ask: Callable[[str, Ask], None]
    wait: Callable[[str, Any, Callable[[], None]], None]
    hold: Callable[[], None]


class SingleGoalServer:
    """
    An action server with at most one ``goal``.

    ``begin(request)`` pursues its flight, and sets ``began`` when that begins; ``cancel()``
    leaves it, and returns what is flown then. A coroutine that waits for the end would keep the
    executors of Jazzy and Kilted busy; so a goal is executed when it has ended: until then its
    status is "accepted".
    """

    def __init__(
        self, node: BridgeNode[Any], asker: Asker, kind: Any, name: str,
        begin: Callable[[Any], None], cancel: Callable[[], str],
    ) -> None:
        self._node = node
        self._asker = asker
        self._kind = kind
        self.name = name
        self._begin = begin
        self._cancel = cancel
        self.goal: Any = None
        self.began = False
        self.result = kind.Result()
        self.feedback = kind.Feedback()
        self._told_at = 0.0
        self._ending = 0
        self._retired = False
        self._server = ActionServer(
            node, kind, name, self._never, cancel_callback=self._on_cancel,
            handle_accepted_callback=self._on_accepted)

    def pursue(self, message: Any, ask: Ask) -> None:
        """Ask for the flight of the goal; it ends with the sentence if that is refused."""
        goal = self.goal

        def begin() -> None:
            if self.goal is not goal:
                return
            try:
                self._asker.ask(self.name, ask)
            except ValueError as error:
                self.end(str(error))
                raise

        self._asker.wait(self.name, message, begin)

    def is_due(self, now: float) -> bool:
        """Return whether feedback is due at a time (s) of the flight, and note that."""
        if 0.0 <= now - self._told_at < _PERIOD:
            return False
        self._told_at = now
        return True

    def end(self, sentence: str, success: bool = False) -> None:
        """End the goal, if there is one, and tell the client why."""
        goal, self.goal, self.began = self.goal, None, False
        if goal is None:
            return
        result, self.result = self.result, self._kind.Result()
        result.success, result.message = success, sentence
        self._ending += 1

        def tell(goal: Any) -> Any:
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
            self._begin(goal.request)
        except ValueError as error:
            self._node.refuse(self.name, error)
            self.end(str(error))

    def _on_cancel(self, goal: Any) -> CancelResponse:
        # It is cancelled only after this has returned.
        self._later(lambda: self._cancelled(goal))
        return CancelResponse.ACCEPT

    def _cancelled(self, goal: Any) -> None:
        if self.goal is goal:
            what = self._cancel() if self.began else 'it had not begun'
            self.end(f'cancelled: {what}')

    def _later(self, do: Callable[[], None]) -> None:
        executor = self._node.executor
        assert executor is not None
        executor.create_task(do)

    def _never(self, goal: Any) -> None:
        """Do nothing: each goal is executed with a callback of its own."""
