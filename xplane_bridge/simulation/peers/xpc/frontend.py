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

"""The simulated X-Plane on the network, speaking X-Plane Connect."""

from collections.abc import Sequence

from xplane_bridge.bridges.xpc.protocol import BEACON_GROUP, BEACON_PORT
from xplane_bridge.simulation.peers.base import BeaconFrontend
from xplane_bridge.simulation.peers.endpoints import Address, Endpoint
from xplane_bridge.simulation.peers.faults import SimulatorCrashError
from xplane_bridge.simulation.peers.world import World
from xplane_bridge.simulation.peers.xpc.plugin import XpcPlugin
from xplane_bridge.simulation.peers.xplane.datarefs import DatarefStore


class XpcFrontend(BeaconFrontend):
    """
    One version of X-Plane Connect at an endpoint.

    ``xplane_version`` is 9 to 12; ``beacon_interfaces`` are the addresses of the interfaces to
    multicast the beacon on, none for no beacon.
    """

    beacon_group = (BEACON_GROUP, BEACON_PORT)
    questions = frozenset({b'CONN', b'GETC', b'GETD', b'GETP', b'GETT'})

    def __init__(self, endpoint: Endpoint, plugin_version: str = 'rc6', xplane_version: int = 12,
                 beacon_interfaces: Sequence[str] = ()) -> None:
        super().__init__(endpoint, interfaces=beacon_interfaces)
        self.endpoint = endpoint
        self.plugin_version = plugin_version
        self.xplane_version = xplane_version
        self.name = f'X-Plane Connect ({plugin_version})'

    @property
    def beacon(self) -> XpcPlugin:
        """Return the plugin, which sends beacons."""
        return self.plugin

    def _begin(self, world: World, now: float) -> None:
        """Start X-Plane in a world, without any state of earlier runs."""
        self.store = DatarefStore(world, self.xplane_version)
        self.plugin = XpcPlugin(
            world, self.store, self.plugin_version, self.endpoint.address[1], now)

    def frame(self, now: float) -> None:
        """
        Do the work of one frame.

        Answers leave at once, so a fast client's next request may fall in the same frame, as with
        the real plugin (docs/wire/xpc.md, section 1, "random timeouts").
        """
        def receive() -> tuple[bytes, Address] | None:
            return self.endpoint.receive(now)

        def send(data: bytes, to: Address) -> None:
            self.endpoint.send(data, to, now)

        try:
            if self.plugin.frame(receive, send):
                self.endpoint.reset(now)
        except SimulatorCrashError as crash:
            for data, to in crash.replies:
                send(data, to)
            raise
