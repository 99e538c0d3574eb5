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


"""
Who records a vehicle's topics: rosbag2 where all of it is installed, otherwise record.

In lockstep the first command waits for it.
"""

from __future__ import annotations

from collections.abc import Iterable
import shutil
from typing import Any

from ament_index_python.packages import get_packages_with_prefixes

RECORD = 'record'
"""Name of this package's own."""

NODES = (RECORD, 'rosbag2_recorder')
"""The names of the nodes that record."""

PATIENCE = 30
"""After Ctrl-C it waits for what the others have published, and completes the file, in s."""

# A subscription that is known here counts when it has been there so long (s): the publisher, in
# another process, learns of it at about the same time.
_SETTLING = 0.5
# How often to say what is waited for, in seconds.
_TOLD_EVERY = 10.0


def command(path: str, namespace: str, sent_again: float | None = None) -> list[str]:
    """
    Return the command that records all below a namespace: RECORD, or a program by its path.

    ``sent_again`` is within how many s the middleware sends again what was lost, None if unknown.
    rosbag2 makes a folder of that name, with MCAP storage.
    """
    if ros2 := _ros2():
        return [ros2, 'bag', 'record', '--storage', 'mcap', '--output', path, '--regex',
                f'^({namespace}/.*|/diagnostics|/clock|/tf|/tf_static)$']
    return [RECORD, '--output', path, '--namespace', namespace or '/',
            *([] if sent_again is None else ['--sent-again', f'{sent_again:g}'])]


def find_missing_packages() -> list[str]:
    """Return the missing packages for recording with rosbag2."""
    packages = get_packages_with_prefixes()
    return [name for name in ('ros2bag', 'rosbag2_storage_mcap') if name not in packages]


def needed() -> tuple[str, ...]:
    """Return the Python packages without which nobody can record."""
    return () if _ros2() else ('mcap',)


def _ros2() -> str | None:
    """Return the path of ros2, if it has all of rosbag2."""
    return None if find_missing_packages() else shutil.which('ros2')


def is_recorded(node: Any, topic: str) -> bool:
    """Return whether a recorder has subscribed to a topic, by its full name."""
    return any(one.node_name in NODES for one in node.get_subscriptions_info_by_topic(topic))


class RecorderWait:
    """Waits until a recorder hears those of the topics that are published; ``node`` warns."""

    def __init__(self, node: Any, topics: Iterable[str]) -> None:
        self._node = node
        self._topics = list(map(node.resolve_topic_name, topics))
        self._heard_since: float | None = None
        self._tells_at: float | None = None

    def is_over(self, now: float) -> bool:
        """Return whether it is over at this time, s, which is monotonic."""
        missing = [topic for topic in self._topics
                   if self._node.count_publishers(topic) and not is_recorded(self._node, topic)]
        if missing:
            self._heard_since = None
            if self._tells_at is None:
                self._tells_at = now + _TOLD_EVERY
            if now >= self._tells_at:
                self._tells_at = now + _TOLD_EVERY
                self._node.warn('recorder', 'the simulation waits, as wait_for_recorder is set: '
                                f'no recorder has subscribed to {", ".join(missing)}')
            return False
        if self._heard_since is None:
            self._heard_since = now
        return now >= self._heard_since + _SETTLING
