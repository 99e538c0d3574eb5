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

"""How many messages a node has published: who records them knows by that what is missing."""

from __future__ import annotations

import threading
import time
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray
from rclpy.clock import Clock, ClockType
from rclpy.duration import Duration
from rclpy.publisher import Publisher

from xplane_bridge.common.text import counted
from xplane_bridge.nodes.common.diagnostics import diagnostic_array, OK, Status

# The line of /diagnostics that says it.
NAME = 'published'
# How often a node says it, and its other diagnostics, in seconds.
DIAGNOSTICS_PERIOD = 1.0
# At its end a node waits so long (s) for acknowledgements: launch's patience is 5 s, of which a
# bridge that gives back may need 3.6.
ACKNOWLEDGED_WITHIN = 0.5


class _Count:
    __slots__ = ('messages',)

    def __init__(self) -> None:
        self.messages = 0


class Published:
    """
    The messages of a node's publishers, counted as the middleware numbers them: from 1.

    A lifecycle publisher's count only while it is active.
    """

    def __init__(self) -> None:
        self._counts: dict[Any, _Count] = {}

    def add(self, publisher: Any) -> None:
        """Count what this publisher publishes, which is new."""
        count = self._counts[publisher] = _Count()
        # The link's thread and the executor may both publish.
        lock = threading.Lock()

        def publish(message: Any) -> None:
            with lock:
                if getattr(publisher, 'is_activated', True):
                    Publisher.publish(publisher, message)
                    count.messages += 1

        publisher.publish = publish

    def remove(self, publisher: Any) -> None:
        """Forget a publisher that is being destroyed; no-op for anything else."""
        self._counts.pop(publisher, None)

    def status(self) -> Status:
        """Return the line of /diagnostics: by topic how many messages."""
        counts: dict[str, int] = {}
        for publisher, count in list(self._counts.items()):
            topic = publisher.topic_name
            counts[topic] = counts.get(topic, 0) + count.messages
        return Status(
            NAME, OK, f'{counted(sum(counts.values()), "message")} on '
            f'{counted(len(counts), "topic")}',
            tuple((topic, str(number)) for topic, number in counts.items()))

    def tell_the_end(
        self, node: Any, diagnostics: Any, now_ns: int, deadline: float | None = None
    ) -> None:
        """
        Say it for the last time, and wait for whoever hears it and the messages.

        That is until the ``deadline`` (s, monotonic), by default of ACKNOWLEDGED_WITHIN, and only
        if anybody hears the diagnostics, as who records does.
        """
        if not (node.context.ok() and diagnostics.get_subscription_count()):
            return
        if deadline is None:
            deadline = time.monotonic() + ACKNOWLEDGED_WITHIN
        diagnostics.publish(diagnostic_array(
            node.get_fully_qualified_name(), [self.status()], now_ns))
        for publisher in (*self._counts, diagnostics):
            publisher.wait_for_all_acked(
                Duration(seconds=max(0.0, deadline - time.monotonic())))


def tell_regularly(node: Any, published: Published) -> None:
    """Let a node that has no other diagnostics say in them what it has published."""
    diagnostics = node.create_publisher(DiagnosticArray, '/diagnostics', 10)
    name = node.get_fully_qualified_name()
    node.create_timer(
        DIAGNOSTICS_PERIOD, lambda: diagnostics.publish(diagnostic_array(
            name, [published.status()], node.get_clock().now().nanoseconds)),
        clock=Clock(clock_type=ClockType.STEADY_TIME))
