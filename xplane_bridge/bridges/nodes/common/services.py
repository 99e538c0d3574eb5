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

"""Services and actions whose calls may wait for a peer, with a bound on pending calls."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from typing import Any, Protocol

from rclpy.action import ActionServer, CancelResponse
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.executors import Executor
from rclpy.qos import QoSProfile

# Queue depth of one service's requests and responses: with ROS's default depth of 10, the rest of
# many simultaneous calls would be lost silently. The same as that of the parameter services.
_QOS = QoSProfile(depth=1000)
# Maximum number of pending calls of a service, or goals of an action; more are refused.
_MOST_CALLS = 100


class NotActiveError(ValueError):
    """The node is not active; the text says so."""


class Owner(Protocol):
    """What the node that offers something is asked for: it is active or not, and logs refusals."""

    @property
    def active(self) -> bool:
        """Return whether the node is active."""

    @property
    def executor(self) -> Executor | None:
        """Return the executor that runs the node."""

    def get_name(self) -> str:
        """Return the name of the node."""

    def refuse(self, what: str, error: Exception) -> None:
        """Count and log a call that was refused."""

    def create_service(self, *arguments: Any, **options: Any) -> Any:
        """Create a service, as Node does."""

    def destroy_service(self, service: Any) -> bool:
        """Destroy a service, as Node does."""


class _Offer(ABC):
    """
    A server that clients may call; a call is a coroutine, and others run meanwhile.

    A response from a destroyed server would end the executor: one that is retired while calls
    are pending is destroyed after the last of them.
    """

    def __init__(self, node: Owner, name: str) -> None:
        self._node = node
        self._name = name
        self._under_way = 0
        self._retired = False
        # The default group runs one callback at a time, including a waiting one.
        self._group = ReentrantCallbackGroup()

    def retire(self) -> None:
        """Destroy the server, now or once it has responded."""
        self._retired = True
        if not self._under_way:
            self._destroy()

    @abstractmethod
    def _destroy(self) -> None:
        """Destroy the server."""

    def _destroy_later(self) -> None:
        """Destroy the server in a separate task."""
        executor = self._node.executor
        assert executor is not None
        executor.create_task(self._destroy)

    def _enter(self, while_inactive: bool = False) -> None:
        """Count a call that starts. Raises ValueError if it is not allowed."""
        self._under_way += 1
        if not (self._node.active or while_inactive):
            raise NotActiveError(f'{self._node.get_name()} is not active')
        if self._under_way > _MOST_CALLS:
            raise ValueError(f'{_MOST_CALLS} calls are pending; try again later')

    def _leave(self) -> bool:
        """Count a call that ends; return whether to destroy the server after its response."""
        self._under_way -= 1
        return self._retired and not self._under_way


class Service(_Offer):
    """A service of BridgeNode.make_service()."""

    def __init__(
        self, node: Owner, kind: type, name: str, handler: Callable[[Any, Any], Any],
        refused: Callable[[Any, Any], None], while_inactive: bool,
    ) -> None:
        super().__init__(node, name)
        self._handler = handler
        self._refused = refused
        self._while_inactive = while_inactive
        self._service = node.create_service(
            kind, name, self._answer, qos_profile=_QOS, callback_group=self._group)

    async def _answer(self, request: Any, response: Any) -> Any:
        try:
            self._enter(self._while_inactive)
            result = self._handler(request, response)
            if hasattr(result, '__await__'):
                await result
        except (ValueError, TypeError) as error:
            self._refused(response, error)
            self._node.refuse(self._name, error)
        finally:
            is_last = self._leave()
        if is_last:
            # After the response, which the executor sends as soon as this returns.
            self._destroy_later()
        return response

    def _destroy(self) -> None:
        self._node.destroy_service(self._service)


class AsyncActionServer(_Offer):
    """An action of BridgeNode.make_action()."""

    def __init__(
        self, node: Owner, kind: Any, name: str,
        handler: Callable[[Any, Any], Awaitable[None]],
        refused: Callable[[Any, ValueError], None],
    ) -> None:
        super().__init__(node, name)
        self._kind = kind
        self._handler = handler
        self._refused = refused
        self._server = ActionServer(
            node, kind, name, self._pursue, cancel_callback=lambda _: CancelResponse.ACCEPT,
            goal_service_qos_profile=_QOS, result_service_qos_profile=_QOS,
            cancel_service_qos_profile=_QOS, callback_group=self._group)

    async def _pursue(self, goal: Any) -> Any:
        result = self._kind.Result()
        try:
            self._enter()
            await self._handler(goal, result)
            goal.succeed()
        except ValueError as error:
            self._refused(result, error)
            if goal.is_cancel_requested:
                goal.canceled()
            else:
                self._node.refuse(self._name, error)
                goal.abort()
        finally:
            is_last = self._leave()
        if is_last:
            # The result is sent by a task that is created once this goal has returned; so it is
            # older than the second task created here.
            executor = self._node.executor
            assert executor is not None
            executor.create_task(self._destroy_later)
        return result

    def _destroy(self) -> None:
        self._server.destroy()
