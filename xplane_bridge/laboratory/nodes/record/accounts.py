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

"""What nodes say they have published: once per second, and at their end."""

from __future__ import annotations

from diagnostic_msgs.msg import DiagnosticArray

from xplane_bridge.bridges.nodes.common.subscribers import PUBLISHED

# Anybody in the ROS domain may say anything of any node.
_MOST_TOPICS = 10_000
_MOST_DIGITS = 18


class Accounts:
    """How many messages each node has published on which topic, and when it has said so."""

    def __init__(self) -> None:
        self._said: dict[str, int] = {}
        self._counts: dict[tuple[str, str], int] = {}

    def on_diagnostics(self, message: DiagnosticArray, published: int) -> None:
        """Take what a node says in its diagnostics, which it ``published`` then (ns)."""
        for status in message.status:
            node, name = status.hardware_id, status.name
            if name != f'{node}: {PUBLISHED}':
                continue
            for item in status.values:
                key = node, item.key
                # Who is known goes on to be heard, whatever strangers say.
                if (key in self._counts or len(self._counts) < _MOST_TOPICS) and (
                        len(item.value) <= _MOST_DIGITS and item.value.isascii()
                        and item.value.isdecimal()):
                    self._counts[key] = int(item.value)
                    self._said[node] = published

    def said(self, node: str) -> int | None:
        """Return when a node has last said so, ns since 1970; None for one that does not."""
        return self._said.get(node)

    def counts(self, node: str, topic: str) -> bool:
        """Return whether a node says how many messages of a topic it has published."""
        return (node, topic) in self._counts

    def published(self, node: str, topic: str) -> int:
        """Return how many messages of a topic a node has said it has published."""
        return self._counts.get((node, topic), 0)
