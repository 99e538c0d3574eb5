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

"""The messages of one update of a vehicle, handled together: what lockstep waits for."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

from xplane_bridge.common.timing import SECOND_NS

# Updates that may be incomplete at any time: messages of different topics overtake each other.
_INCOMPLETE = 8


class Updates:
    """
    Gathers messages by their stamp (ns).

    ``complete(stamp, messages)`` gets those of an update, by topic, when one of each of ``topics``
    has arrived; what is missing of older updates is then no longer waited for.
    """

    def __init__(
        self, topics: Collection[str], complete: Callable[[int, Mapping[str, Any]], None]
    ) -> None:
        self._topics = topics
        self._count = len(topics)
        self._complete = complete
        self._incomplete: dict[int, dict[str, Any]] = {}

    @property
    def waits_for(self) -> list[str]:
        """Return what is missing of the newest update that is incomplete."""
        if not self._incomplete:
            return []
        return [topic for topic in self._topics
                if topic not in self._incomplete[max(self._incomplete)]]

    def add(self, stamp: int, topic: str, message: Any) -> None:
        """Keep a message until its update is complete."""
        update = self._incomplete.setdefault(stamp, {})
        update[topic] = message
        if len(update) < self._count:
            if len(self._incomplete) > _INCOMPLETE:
                del self._incomplete[next(iter(self._incomplete))]
            return
        self._incomplete = {
            at: others for at, others in self._incomplete.items() if at > stamp}
        self._complete(stamp, update)


def nanoseconds(message: Any) -> int:
    """Return the stamp of a message."""
    stamp = message.header.stamp
    return int(stamp.sec * SECOND_NS + stamp.nanosec)
