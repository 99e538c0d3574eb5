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

"""Publishing of a publisher's packets by ulyssix_node."""

from __future__ import annotations

from typing import Any

import numpy as np

from xplane_bridge import msg
from xplane_bridge.bridges.nodes.common.base import BridgeNode
from xplane_bridge.bridges.nodes.common.latched import LATCHED
from xplane_bridge.bridges.nodes.common.stamps import write_stamp
from xplane_bridge.bridges.ulyssix.node.mapped import converter, MappedTopics
from xplane_bridge.bridges.ulyssix.node.parameters import UlyssixParameters
from xplane_bridge.bridges.ulyssix.node.samples import (
    DEPTH,
    fill_values,
    NO_INTEGERS,
    SampleTopics,
    to_array,
)
from xplane_bridge.bridges.ulyssix.session import PacketReceived, Placed


class Publisher:
    """Publish packets, the names of their parameters, and requested single parameters."""

    def __init__(
        self, node: BridgeNode[Any], given: UlyssixParameters, mapped: MappedTopics | None
    ) -> None:
        self.samples = SampleTopics(
            node, given.sample_topics, given.max_sample_topics,
            mapped.derived if mapped else (), converter(mapped))
        self._packet = msg.UlyssixPacket()
        self._packets = node.make_publisher(msg.UlyssixPacket, 'packets', DEPTH)
        self._parameters = node.make_publisher(msg.UlyssixParameters, 'parameters', LATCHED)
        self._unannounced: tuple[str, ...] = ()

    def announce(self, names: tuple[str, ...]) -> None:
        """Publish these names with the next packet, and have their topics created."""
        self._unannounced = names
        # A replay waits for the topics before it continues with the packet.
        self.samples.follow(names)

    def publish(
        self, event: PacketReceived, placed: Placed, shift_ns: int, decimation: int
    ) -> None:
        """
        Publish a packet, and every ``decimation``-th sample of the parameters that have a topic.

        Stamps are the packet's times plus ``shift_ns``, which is due to use_sim_time.
        """
        packet, message = event.packet, self._packet
        write_stamp(message, placed.first_ns + shift_ns)
        if self._unannounced:
            announcement = msg.UlyssixParameters(names=list(self._unannounced))
            announcement.header.stamp = message.header.stamp
            self._parameters.publish(announcement)
            self._unannounced = ()
        message.counter = packet.counter
        message.total_samples = packet.total_samples
        message.counts = to_array('I', packet.counts.astype(np.uint32))
        fill_values(message, packet.values)
        message.times = NO_INTEGERS if placed.times is None else to_array('q', placed.times)
        self._packets.publish(message)
        self.samples.publish(event, placed, shift_ns, decimation)
