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

"""How the newest state of a vehicle is gathered from its common topics."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from functools import partial
from typing import Any

from xplane_bridge.bridges.nodes.common.spinning import handle_waiting
from xplane_bridge.bridges.nodes.vehicle.updates import Updates
from xplane_bridge.laboratory.nodes.messages.serialized import read_stamp

STATE = 'imu/data'
"""The topic that comes last of a state."""

Handler = Callable[[bytes, int], None]
"""What takes a serialised message, and its stamp (ns)."""

Subscribe = Callable[[type, str, Callable[[bytes], None]], Any]
"""What subscribes to serialised messages of a type and topic, and returns the subscription."""


class NewestState:
    """
    Gathers the newest state of a vehicle from its common topics.

    ``handlers`` are by topic the type of its messages and what takes each. Messages of the topics
    ``awaited``, with which a simulation in lockstep waits, are taken together when one of each has
    arrived with the same stamp, that of STATE last; before them all others that have arrived by
    then. Without any each is taken as it arrives.
    """

    def __init__(
        self, subscribe: Subscribe, handlers: Mapping[str, tuple[type, Handler]],
        awaited: Collection[str] = (),
    ) -> None:
        self._handlers = {topic: handler for topic, (_, handler) in sorted(
            handlers.items(), key=lambda one: one[0] == STATE)}
        self._updates = Updates(awaited, self._take_update)
        # What arrives by itself, before what is awaited.
        self._before: list[Any] = []
        for topic, (kind, _) in handlers.items():
            if topic in awaited:
                subscribe(kind, topic, partial(self._gather, topic))
                continue
            made = subscribe(kind, topic, partial(self._take, topic))
            if awaited:
                self._before.append(made)

    @property
    def waits_for(self) -> list[str]:
        """Return what the newest update still lacks, in lockstep."""
        return self._updates.waits_for

    def _take(self, topic: str, data: bytes) -> None:
        self._handlers[topic](data, read_stamp(data))

    def _gather(self, topic: str, data: bytes) -> None:
        self._updates.add(read_stamp(data), topic, data)

    def _take_update(self, stamp: int, update: Mapping[str, bytes]) -> None:
        for subscription in self._before:
            handle_waiting(subscription)
        for topic, handle in self._handlers.items():
            if topic in update:
                handle(update[topic], stamp)
