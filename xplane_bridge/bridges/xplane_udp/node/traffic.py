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

"""X-Plane's TCAS targets as the topic traffic of xplane_udp_node."""

from __future__ import annotations

from xplane_bridge.bridges.conversions.geoid import Undulation
from xplane_bridge.bridges.conversions.xplane import traffic
from xplane_bridge.bridges.conversions.xplane.state import running_time
from xplane_bridge.bridges.nodes.vehicle.bridge import Bridge
from xplane_bridge.bridges.nodes.vehicle.traffic import TrafficTopic
from xplane_bridge.bridges.xplane_udp.node.parameters import XplaneUdpParameters
from xplane_bridge.bridges.xplane_udp.session import (
    FLIGHT_IDS,
    TRAFFIC,
    WatchedDatarefs,
    XplaneUdpSession,
)

# Per second: they are new only where a target is.
_FLIGHT_ID_RATE = 1.0


class Targets:
    """Ask for the targets that the parameters want, and publish them."""

    def __init__(
        self, node: Bridge[XplaneUdpParameters, XplaneUdpSession], undulation: Undulation
    ) -> None:
        self._node = node
        self._topic = TrafficTopic(node, node.parameters, undulation)
        self._callsigns: dict[int, str] = {}
        self._ages = traffic.Ages()

    def ask(self, given: XplaneUdpParameters, now: float) -> None:
        """Subscribe to as many targets as are wanted; call it where the session is locked."""
        session = self._node.session
        session.watch(
            traffic.target_datarefs(given.traffic), given.traffic_rate, now, TRAFFIC)
        session.watch(
            traffic.flight_id_datarefs(given.traffic), _FLIGHT_ID_RATE, now, FLIGHT_IDS)
        self._callsigns = {}
        self._ages = traffic.Ages()

    def publish(self, event: WatchedDatarefs, stamp_ns: int) -> None:
        """Take news of the targets; publish where these say how they move."""
        values = {name: value for name, value in zip(event.names, event.values, strict=True)
                  if value is not None}
        count = self._node.parameters.traffic
        if event.watch == FLIGHT_IDS:
            self._callsigns = traffic.flight_ids(count, values)
            return
        now, _ = running_time(values)
        if now is None:
            return
        self._ages.update(traffic.read_targets(count, values, self._callsigns), now)
        if self._topic.has_subscribers:
            message = self._topic.message(self._ages.reports().values())
            if self._node.stamp(message, stamp_ns):
                self._topic.publish(message)
