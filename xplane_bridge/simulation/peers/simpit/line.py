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

"""A serial line with faults, between a session and its port."""

from __future__ import annotations

from typing import Any

from xplane_bridge.bridges.links.serial import SerialSession
from xplane_bridge.bridges.links.session import Address
from xplane_bridge.simulation.peers.faults import Faults, Path


class FaultyLine:
    """
    Carries bytes to a session and back, in the chunks in which they arrive, through faults.

    A chunk is lost, duplicated or delayed as a datagram would be; with jitter chunks are
    reordered, which on a line is noise.
    """

    rests = False

    def __init__(self, session: SerialSession, faults: Faults) -> None:
        self._session = session
        self._inbound: Path[tuple[str, bytes]] = Path(faults, 'in')
        self._outbound: Path[tuple[str, bytes]] = Path(faults, 'out')
        self._events: list[Any] = []

    def opened(self, now: float) -> None:
        """Handle that the port has been opened."""
        self._clear()
        self._session.opened(now)

    def lost(self, now: float) -> None:
        """Handle the loss of the port and of everything in transit."""
        self._clear()
        self._session.lost(now)

    def receive(
        self, channel: str, data: bytes, sender: Address | None, now: float
    ) -> list[Any]:
        """Take bytes from the port; return the events of those that have arrived."""
        self._inbound.put((channel, data), now)
        return self._deliver(now)

    def poll(self, now: float) -> list[tuple[str, bytes]]:
        """Return what has come through and is due to be sent."""
        self._events += self._deliver(now)
        for channel, data in self._session.poll(now):
            if data is not None:
                self._outbound.put((channel, data), now)
        outgoing = []
        while (item := self._outbound.take(now)) is not None:
            outgoing.append(item)
        return outgoing

    def next_deadline(self) -> float | None:
        """Return when poll() is due; known after poll()."""
        times = (self._session.next_deadline(), self._inbound.next_arrival(),
                 self._outbound.next_arrival())
        return min((at for at in times if at is not None), default=None)

    def expired(self) -> list[Any]:
        """Return the events caused by time or by a call since the last call."""
        events, self._events = self._events, []
        return [*events, *self._session.expired()]

    def _deliver(self, now: float) -> list[Any]:
        events: list[Any] = []
        while (item := self._inbound.take(now)) is not None:
            events += self._session.receive(*item, None, now)
        return events

    def _clear(self) -> None:
        self._inbound.clear()
        self._outbound.clear()
