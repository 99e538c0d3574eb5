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

"""The telemetry that a device has registered with the simulated plugin, and how often."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from xplane_bridge.simulation.peers.simpit.events import PluginStatistics


class SubscriptionTable:
    """
    Registered channels, and how many copies of each the device gets.

    ``old`` plugins add a copy with each registration. 2.0 introduced clearing at SYN and the
    record that stops duplicates; the record outlives the SYN until the ACK.
    """

    def __init__(self, statistics: PluginStatistics, *, old: bool) -> None:
        self._statistics = statistics
        self._old = old
        self._copies: Counter[int] = Counter()
        self._record: set[int] = set()

    def __contains__(self, channel_id: object) -> bool:
        return channel_id in self._copies

    @property
    def ids(self) -> tuple[int, ...]:
        """Return the ids that the device gets; one that it gets n times is listed n times."""
        return tuple(sorted(self._copies.elements()))

    def copies(self, channel_id: int) -> int:
        """Return how many copies of a packet on this channel are sent."""
        return self._copies.get(channel_id, 0)

    def clear(self) -> None:
        """Start like a game that has just been launched."""
        self._copies.clear()
        self._record.clear()

    def hear_syn(self) -> None:
        """Handle a SYN."""
        if not self._old:
            self._copies.clear()

    def hear_ack(self) -> None:
        """Handle an ACK."""
        if not self._old:
            self._record.clear()

    def register(self, ids: bytes) -> Iterator[int]:
        """Register channels, yielding each when it is done."""
        for channel_id in self._in_order(ids, 'register'):
            if not self._old and channel_id in self._record:
                continue
            self._record.add(channel_id)
            self._copies[channel_id] += 1
            yield channel_id

    def deregister(self, ids: bytes) -> None:
        """Remove one registration of each of these channels."""
        for channel_id in self._in_order(ids, 'deregister'):
            self._record.discard(channel_id)
            self._remove(channel_id)

    def close(self) -> None:
        """Remove what is in the record: the port is closed."""
        for channel_id in self._record:
            self._remove(channel_id)
        self._record.clear()

    def _in_order(self, ids: bytes, what: str) -> Iterator[int]:
        # Last to first; 255 throws, and those before it are never reached.
        for channel_id in reversed(ids):
            if channel_id == 255:
                self._statistics.malformed.add(what)
                return
            yield channel_id

    def _remove(self, channel_id: int) -> None:
        if self._copies[channel_id] > 1:
            self._copies[channel_id] -= 1
        else:
            del self._copies[channel_id]
