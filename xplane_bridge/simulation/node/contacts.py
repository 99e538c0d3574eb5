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
"""What of the simulated aircraft touches the ground, as a topic: landings are judged by it."""

from __future__ import annotations

from typing import Any

from xplane_bridge.bridges.conversions.topics import CONTACTS_TOPIC
from xplane_bridge.bridges.nodes.common.base import BridgeNode
from xplane_bridge.bridges.nodes.common.stamps import write_stamp
from xplane_bridge.msg import Contacts
from xplane_bridge.simulation.aircraft.studies.standing import (
    standing_compressions,
    strut_compression,
)
from xplane_bridge.simulation.peers.world import World


class ContactsTopic:
    """Publishes ``contacts`` for each new state of the first aircraft, stamped with its time."""

    def __init__(self, node: BridgeNode[Any]) -> None:
        self._publisher = node.make_publisher(Contacts, CONTACTS_TOPIC, 10)
        self._message = Contacts()
        self._standing: tuple[float, ...] | None = None
        self._told_at = -1.0

    def publish(self, world: World) -> None:
        """Publish what touches now, unless no time has passed."""
        now = world.total_running_time
        if now == self._told_at:
            return
        self._told_at = now
        if self._standing is None:
            self._standing = standing_compressions(world.aircraft)
        found, message = world.aircraft.sampler.contacts(), self._message
        write_stamp(message, round(now * 1e9))
        message.wheels, message.structure = found.wheels, found.structure
        message.strut_compression = strut_compression(found.compressions, self._standing)
        self._publisher.publish(message)
