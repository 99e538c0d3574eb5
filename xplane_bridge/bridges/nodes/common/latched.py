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

"""Topics whose last message is heard by those who subscribe later (durability transient local)."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

from rclpy.qos import DurabilityPolicy, QoSProfile

LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
# Messages that are recognised when they arrive a second time.
_REMEMBERED = 20
# How often (s) to look for publishers that latch.
_PERIOD = 1.0


def once(
    handler: Callable[[Any], None], is_active: Callable[[], bool]
) -> Callable[[Any, Any], None]:
    """
    Return a handler for two subscriptions that both receive some of the messages.

    While not active it ignores them; a latched one counts when it comes again.
    """
    handled: deque[int] = deque(maxlen=_REMEMBERED)

    def handle(message: Any, info: Any) -> None:
        stamp = info['source_timestamp']
        if is_active() and stamp not in handled:
            handled.append(stamp)
            handler(message)

    return handle


class LateHearing:
    """
    Hear what was latched on a topic before its subscription was there.

    A subscription that receives it matches no other publishers, and each of these would warn of
    that; so there is a second one, once there is a publisher that latches.
    """

    def __init__(
        self, node: Any, kind: type, topic: str, handler: Callable[[Any, Any], None]
    ) -> None:
        self._node = node
        self._arguments = (kind, topic, handler, LATCHED)
        self._topic = topic
        self._subscription: Any = None
        self._timer = node.create_timer(_PERIOD, self.look, clock=node.steady_clock)

    def look(self) -> None:
        """Subscribe once the node is active, if a publisher latches the topic."""
        if self._subscription is None and self._node.active and any(
                info.qos_profile.durability == DurabilityPolicy.TRANSIENT_LOCAL
                for info in self._node.get_publishers_info_by_topic(self._topic)):
            self._timer.cancel()
            self._subscription = self._node.create_subscription(*self._arguments)

    def close(self) -> None:
        """Hear nothing any more."""
        self._node.destroy_timer(self._timer)
        if self._subscription is not None:
            self._node.destroy_subscription(self._subscription)
