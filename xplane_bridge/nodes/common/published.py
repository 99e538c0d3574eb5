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

from rclpy.duration import Duration
from rclpy.publisher import Publisher

from xplane_bridge.common.text import counted
from xplane_bridge.nodes.common.diagnostics import OK, Status

# The line of /diagnostics that says it.
NAME = 'published'


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

    def wait_until_acknowledged(self, deadline: float) -> None:
        """Wait until their subscribers have acknowledged them, at most until then (monotonic)."""
        for publisher in list(self._counts):
            wait_until_acknowledged(publisher, deadline)


def wait_until_acknowledged(publisher: Any, deadline: float) -> None:
    """Wait until a publisher's subscribers have acknowledged it, at most until then."""
    publisher.wait_for_all_acked(Duration(seconds=max(0.0, deadline - time.monotonic())))
