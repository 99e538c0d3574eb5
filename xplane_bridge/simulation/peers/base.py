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

"""What all protocols that serve the simulated aircraft have in common."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import ClassVar, Protocol

from xplane_bridge.bridges.links.udp import SocketCounters
from xplane_bridge.simulation.peers.endpoints import Address, Endpoint
from xplane_bridge.simulation.peers.world import World


class Frontend(ABC):
    """
    One protocol that serves the simulated aircraft, at its address.

    ``endpoints`` are its ends of the network, the one that receives commands first. ``name`` is
    for display. ``questions`` are the first four bytes of what only asks. ``report`` takes lines
    for people about what happens; the owner may replace it. ``frame_rate`` is how many frames per
    second its clients need, None if any will do.
    """

    name: str
    frame_rate: float | None = None
    questions: ClassVar[frozenset[bytes]] = frozenset()
    report: Callable[[str], None] = staticmethod(lambda _: None)

    def __init__(self, *endpoints: Endpoint) -> None:
        self.endpoints = tuple(dict.fromkeys(endpoints))

    @property
    def address(self) -> str:
        """Return its address for display; known once it has been open."""
        host, port = self.endpoints[0].address
        return f'{host}:{port}'

    @property
    def commanded(self) -> Sequence[Endpoint]:
        """Return the endpoints that may receive commands."""
        return self.endpoints

    @property
    def counters(self) -> SocketCounters:
        """Return the counts of datagrams received and sent."""
        total = SocketCounters()
        for endpoint in self.endpoints:
            total.add(endpoint.counters)
        return total

    @property
    def sent(self) -> int:
        """Return how many datagrams were sent."""
        return sum([endpoint.counters.sent for endpoint in self.endpoints])

    def open(self, world: World, now: float) -> None:
        """Start with this world. Raises LinkError if its address is not available."""
        for endpoint in self.endpoints:
            endpoint.open()
        self._begin(world, now)

    @abstractmethod
    def _begin(self, world: World, now: float) -> None:
        """Drop all state of earlier runs."""

    @abstractmethod
    def frame(self, now: float) -> None:
        """Process what has arrived; called after the world has advanced."""

    def poll(self, now: float) -> None:
        """Do what is due with or without frames."""
        for endpoint in self.endpoints:
            endpoint.flush(now)

    @property
    def awaited(self) -> Endpoint | None:
        """Return the endpoint that is to be answered at once, not with the next frame, if any."""
        return None

    def next_due(self) -> float | None:
        """Return when to call poll() next, or None if frames are often enough."""
        times = [due for endpoint in self.endpoints if (due := endpoint.next_due()) is not None]
        return min(times, default=None)

    def close(self) -> None:
        """Close; closing twice is fine."""
        for endpoint in self.endpoints:
            endpoint.close()


class BeaconSender(Protocol):
    """Sends beacons that announce its address."""

    @property
    def next_beacon(self) -> float | None:
        """Return when the next one is due, None for never."""

    def beacon(self, now: float) -> bytes | None:
        """Return the datagram if one is due."""


class BeaconFrontend(Frontend):
    """
    A frontend with a beacon, sent from its last endpoint.

    ``interfaces`` are the addresses of the interfaces to multicast it on, none for no beacon.
    """

    beacon_group: ClassVar[Address]

    def __init__(self, *endpoints: Endpoint, interfaces: Sequence[str] = ()) -> None:
        super().__init__(*endpoints)
        self.beacon_interfaces = tuple(interfaces)

    @property
    @abstractmethod
    def beacon(self) -> BeaconSender:
        """Return the source of beacons; known once it has been open."""

    def poll(self, now: float) -> None:
        """Send the beacon if it is due, and delayed datagrams."""
        data = self.beacon.beacon(now)
        if data is not None:
            for interface in self.beacon_interfaces:
                self.endpoints[-1].send(data, self.beacon_group, now, interface)
        super().poll(now)

    def next_due(self) -> float | None:
        """Return when to call poll() next, or None if frames are often enough."""
        times = [time for time in (self.beacon.next_beacon, super().next_due())
                 if time is not None]
        return min(times, default=None)
