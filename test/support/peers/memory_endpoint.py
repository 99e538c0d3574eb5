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

"""A simulator endpoint without a socket, in simulated time."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from xplane_bridge.simulation.peers.endpoints import Address, Endpoint, Outgoing
from xplane_bridge.simulation.peers.faults import Faults

# How many small datagrams fit in Linux's default receive buffer.
_QUEUE_LENGTH = 277


class MemoryEndpoint(Endpoint):
    """An endpoint without a socket: a test delivers datagrams and collects the replies."""

    def __init__(self, faults: Faults | None = None) -> None:
        super().__init__(faults)
        self.outbox: list[tuple[bytes, Address]] = []
        self._open = False
        self._inbox: deque[tuple[float, bytes, Address]] = deque(maxlen=_QUEUE_LENGTH)

    @property
    def address(self) -> Address:
        """Return the address of the real plugin."""
        return ('127.0.0.1', 49009)

    def deliver(self, data: bytes, sender: Address, now: float) -> None:
        """Deliver a datagram; it is lost while the endpoint is closed or full."""
        if self._open and len(self._inbox) < _QUEUE_LENGTH:
            self._inbox.append((now, data, sender))

    def collect(self) -> list[tuple[bytes, Address]]:
        """Return what has been sent since the last call, each with its destination."""
        collected, self.outbox = self.outbox, []
        return collected

    def pause(self, seconds: float) -> None:
        """Do nothing: no time passes here."""

    def _listen(self) -> None:
        self._open = True

    def _stop_listening(self) -> None:
        self._open = False
        self._inbox.clear()

    def _arrivals(self, now: float) -> Iterable[tuple[float, bytes, Address]]:
        while self._inbox:
            yield self._inbox.popleft()

    def _transmit(self, outgoing: Outgoing) -> None:
        self.counters.sent += 1
        self.outbox.append((outgoing.data, outgoing.to))
