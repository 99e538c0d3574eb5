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

"""The simulated X-Plane on the network, speaking X-Plane's own UDP."""

from __future__ import annotations

from collections.abc import Sequence

from xplane_bridge.bridges.xplane_udp.protocol import BEACON_GROUP, BEACON_PORT
from xplane_bridge.bridges.xplane_udp.protocol.data import ByteOrder
from xplane_bridge.simulation.peers.base import BeaconFrontend
from xplane_bridge.simulation.peers.endpoints import Address, Endpoint
from xplane_bridge.simulation.peers.world import World
from xplane_bridge.simulation.peers.xplane_udp.web_server import WebServer
from xplane_bridge.simulation.peers.xplane_udp.xplane import COMPUTER, XPlane

# A sum of frame times may fall short of the tick by rounding.
_ROUNDING = 1e-6


class XplaneUdpFrontend(BeaconFrontend):
    """
    X-Plane of one version (6 to 12) that listens at ``endpoint`` and sends from ``sender``.

    X-Plane 7 and later send from another port than they listen on; ``sender`` None is the same.
    ``data_target`` is the destination of rows in its settings, None for none; ``data_rate`` is
    in packets per second. ``beacon_interfaces`` are as in XpcFrontend; X-Plane 10 and later send a
    beacon. ``ticked`` are the rows that its user has selected; ``web`` serves its Web API, the
    others are as in XPlane.
    """

    beacon_group = (BEACON_GROUP, BEACON_PORT)
    questions = frozenset({b'DSEL', b'RPOS', b'RREF', b'USEL'})

    def __init__(self, endpoint: Endpoint, version: int = 12, *, sender: Endpoint | None = None,
                 byte_order: ByteOrder = 'little', data_target: Address | None = None,
                 data_rate: float = 50.0, beacon_interfaces: Sequence[str] = (),
                 ticked: Sequence[int] = (), drift: float = 0.0,
                 rref_label: str | None = None, computer: str = COMPUTER,
                 web: WebServer | None = None) -> None:
        super().__init__(endpoint, sender or endpoint, interfaces=beacon_interfaces)
        self.endpoint = endpoint
        self.sender = sender or endpoint
        self.version = version
        self.byte_order: ByteOrder = byte_order
        self.data_target = data_target
        self.data_rate = data_rate
        self.ticked = tuple(ticked)
        self.drift = drift
        self.rref_label = rref_label
        self.computer = computer
        self.web = web
        self.name = f'X-Plane {version}'

    @property
    def beacon(self) -> XPlane:
        """Return X-Plane, which sends beacons from version 10 on."""
        return self.xplane

    @property
    def address(self) -> str:
        """Return its addresses for display."""
        if self.web is None:
            return super().address
        without = f' (REST only: {self.web.without_socket})' if self.web.without_socket else ''
        return f'{super().address}, Web API on TCP port {self.web.address[1]}{without}'

    def open(self, world: World, now: float) -> None:
        """Start X-Plane in a world. Raises LinkError if an address is not available."""
        try:
            super().open(world, now)
            if self.web is not None:
                self.web.open()
        except OSError:
            self.close()
            raise

    def close(self) -> None:
        """Close; closing twice is fine."""
        if self.web is not None:
            self.web.close()
        super().close()

    def _begin(self, world: World, now: float) -> None:
        """Start X-Plane in a world, without any requests of earlier runs."""
        self._world = world
        self.xplane = XPlane(
            world, self.version, self.endpoint.address[1], byte_order=self.byte_order,
            data_target=self.data_target, data_rate=self.data_rate, started=now,
            ticked=self.ticked, drift=self.drift, rref_label=self.rref_label,
            computer=self.computer)
        if self.web is not None:
            self.web.begin(world)

    def frame(self, now: float) -> None:
        """Do the work of one frame: read what has arrived, send what is due."""
        if self.web is not None:
            self.web.frame()
        self.xplane.read(lambda: self.endpoint.receive(now))
        # X-Plane's own time, which is real time unless this one has another speed.
        for data, to in self.xplane.frame(self._world.network_time + _ROUNDING):
            self.sender.send(data, to, now)
