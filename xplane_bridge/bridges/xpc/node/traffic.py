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

"""The aircraft of xpc_node as the traffic of one another."""

from __future__ import annotations

from typing import Any

from xplane_bridge.bridges.conversions.geoid import Undulation
from xplane_bridge.bridges.conversions.vehicle import TrafficTarget, VehicleState
from xplane_bridge.bridges.conversions.xplane.traffic import Ages
from xplane_bridge.bridges.nodes.common.stamps import write_stamp
from xplane_bridge.bridges.nodes.vehicle.bridge import Bridge
from xplane_bridge.bridges.nodes.vehicle.traffic import TrafficTopic
from xplane_bridge.bridges.xpc.node.parameters import XpcParameters
from xplane_bridge.common.timing import SECOND_NS

_ALONE = 1


class OthersTraffic:
    """
    Publish ``traffic`` of each bridged aircraft: all others that are bridged.

    Where only one is, nothing is known of others, and there is no topic.
    """

    def __init__(self, node: Bridge[XpcParameters, Any], undulation: Undulation) -> None:
        self._node = node
        given = node.parameters
        self._names = {
            number: given.prefix_of(number).rstrip('/') or f'aircraft_{number}'
            for number in given.aircraft}
        self._topics = {} if len(given.aircraft) == _ALONE else {
            number: TrafficTopic(node, given, undulation, given.prefix_of(number))
            for number in given.aircraft}
        self._ages = Ages()

    def end(self, stamp_ns: int) -> None:
        """Say that nothing is known of others any more: X-Plane has stopped responding."""
        self._ages = Ages()
        for topic in self._topics.values():
            if topic.has_subscribers:
                message = topic.message(())
                if self._node.stamp(message, stamp_ns):
                    topic.publish(message)

    def publish(self, number: int, state: VehicleState, stamp_ns: int) -> None:
        """Take the state of one; publish what is around it, if that is due."""
        topic = self._topics.get(number)
        if topic is None or state.time is None:
            return
        self._ages.update({number: TrafficTarget(
            self._names[number], state.latitude_deg, state.longitude_deg, state.altitude_msl,
            state.velocity)}, state.time)
        if not topic.is_due(stamp_ns / SECOND_NS, self._node.parameters.traffic_rate):
            return
        message = topic.message(
            report for other, report in self._ages.reports().items() if other != number)
        write_stamp(message, stamp_ns)
        topic.publish(message)
