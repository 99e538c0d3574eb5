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

"""The simulated X-Plane as a peer on the network that speaks X-Plane's own UDP."""

from __future__ import annotations

from collections.abc import Sequence

from xplane_bridge.links.udp import Counters
from xplane_bridge.protocols.xplane_udp import BEACON_GROUP, BEACON_PORT
from xplane_bridge.protocols.xplane_udp.data import ByteOrder
from xplane_bridge.simulators.endpoints import Address, Endpoint
from xplane_bridge.simulators.world import World
from xplane_bridge.simulators.xplane_udp.xplane import XPlane

# A sum of frame times may fall short of the tick that it stands for.
_ROUNDING = 1e-6


class XplaneUdpFace:
    """
    X-Plane of one version (6 to 12) that listens at ``endpoint`` and sends from ``sender``.

    X-Plane 7 and later send from another port than they listen at; ``sender`` None is the same.
    ``data_target`` is where rows go as its settings say: None is nowhere. ``data_rate`` is how
    often a second. ``beacon_interfaces`` are as XpcFace's; X-Plane 10 and later beacon.
    ``ticked`` are the rows that its user has selected, in each run; ``drift`` is as XPlane's.
    """

    def __init__(self, endpoint: Endpoint, version: int = 12, *, sender: Endpoint | None = None,
                 byte_order: ByteOrder = 'little', data_target: Address | None = None,
                 data_rate: float = 50.0, beacon_interfaces: Sequence[str] = (),
                 ticked: Sequence[int] = (), drift: float = 0.0) -> None:
        self.endpoint = endpoint
        self.sender = sender or endpoint
        self.version = version
        self.byte_order: ByteOrder = byte_order
        self.data_target = data_target
        self.data_rate = data_rate
        self.beacon_interfaces = tuple(beacon_interfaces)
        self.ticked = tuple(ticked)
        self.drift = drift

    @property
    def name(self) -> str:
        """Return what it is."""
        return f'X-Plane {self.version}'

    @property
    def address(self) -> str:
        """Return where it listens."""
        host, port = self.endpoint.address
        return f'{host}:{port}'

    @property
    def endpoints(self) -> tuple[Endpoint, ...]:
        """Return its ends of the network."""
        return tuple(dict.fromkeys((self.endpoint, self.sender)))

    @property
    def counters(self) -> Counters:
        """Return what has gone in and out."""
        came, went = self.endpoint.counters, self.sender.counters
        if came is went:
            return came
        total = Counters()
        total.add(came)
        total.add(went)
        return total

    def open(self, world: World, now: float) -> None:
        """Start X-Plane in a world, with nothing known of what was asked before."""
        self.endpoint.open()
        if self.sender is not self.endpoint:
            self.sender.open()
        self._world = world
        self.xplane = XPlane(
            world, self.version, self.endpoint.address[1], byte_order=self.byte_order,
            data_target=self.data_target, data_rate=self.data_rate, started=now,
            ticked=self.ticked, drift=self.drift)

    def frame(self, now: float) -> None:
        """Do what happens once a frame: read what has come, send what is due."""
        self.xplane.read(lambda: self.endpoint.receive(now))
        # X-Plane's own time, which is real time unless this one runs faster.
        for data, to in self.xplane.frame(self._world.network_time + _ROUNDING):
            self.sender.send(data, to, now)

    def poll(self, now: float) -> None:
        """Send the beacon when it is due, and what was delayed."""
        beacon = self.xplane.beacon(now)
        if beacon is not None:
            for interface in self.beacon_interfaces:
                self.sender.send(beacon, (BEACON_GROUP, BEACON_PORT), now, interface)
        self.sender.flush(now)

    def next_due(self) -> float | None:
        """Return when poll() is to be called next, or None if frames are often enough."""
        times = [time for time in (self.xplane.next_beacon, self.sender.next_due())
                 if time is not None]
        return min(times, default=None)

    def close(self) -> None:
        """Stop X-Plane; closing twice is fine."""
        self.endpoint.close()
        self.sender.close()
