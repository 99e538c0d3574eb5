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

"""The simulated publisher of Ulyssix packets on the network."""

from collections.abc import Callable
import time

from xplane_bridge.simulation.peers.base import Frontend
from xplane_bridge.simulation.peers.endpoints import Address, Endpoint
from xplane_bridge.simulation.peers.ulyssix.publisher import (
    DEFAULT_STREAM,
    Stream,
    UlyssixPublisher,
)
from xplane_bridge.simulation.peers.world import World


def utc_ns(moment: float) -> int:
    """Return the clock's time at a moment of time.monotonic(), in ns since 1970."""
    return time.time_ns() - round((time.monotonic() - moment) * 1e9)


class UlyssixFrontend(Frontend):
    """
    A publisher of an aircraft's quantities to one destination (address, port).

    interface is the address of the one to multicast on. clock converts the start time to ns since
    1970-01-01 UTC.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        destination: Address,
        stream: Stream = DEFAULT_STREAM,
        *,
        interface: str | None = None,
        clock: Callable[[float], int] = utc_ns,
    ) -> None:
        super().__init__(endpoint)
        self.destination = destination
        self.stream = stream
        self.interface = interface
        self._clock = clock
        self.name = f'Ulyssix publisher ({stream.program})'

    @property
    def address(self) -> str:
        """Return its destination for display."""
        host, port = self.destination
        return f'this host, sending to {host}:{port}'

    def _begin(self, world: World, now: float) -> None:
        """Start a measurement: counter and total start at 0."""
        self._opened = now
        self.publisher = UlyssixPublisher(world, self.stream, self._clock(now))

    def frame(self, now: float) -> None:
        """Send the packets that the frame completes."""
        for packet in self.publisher.frame(now - self._opened):
            self.endpoints[0].send(packet, self.destination, now, self.interface)
