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

"""Subscribed datarefs (RREF): each is a lease, requested while it is missing."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Sequence
import math

from xplane_bridge.bridges.sessions.leases import Leases
from xplane_bridge.bridges.xplane_udp.protocol import encode, RrefReply, RrefRequest
from xplane_bridge.bridges.xplane_udp.session.events import Statistics

# Seconds, and periods of a slow rate, without a value after which it is missing.
_PATIENCE = 1.0
_PERIODS = 2.5

# The same for a frame: it is not delayed any longer by a value that has stopped.
_FRAME_PATIENCE = 0.25

# An unknown path is silently ignored, like a lost request: both are requested again after at most
# this pause, as a plugin's dataref may appear at any time.
_LONGEST_PAUSE = 10.0


class Subscription:
    """
    Datarefs at one frequency (Hz), numbered from ``first_index`` on.

    ``pacing`` is the interval between requests. ``receive`` collects the values of one frame:
    X-Plane puts up to 183 into a datagram and never one twice, so a repeated number starts the
    next frame. A frame is complete with all values; once X-Plane had time to send all, with those
    that still arrive. That time starts with its first reply, and again with the first after a
    silence, so a slow X-Plane never causes incomplete frames.
    """

    def __init__(
        self, names: Sequence[str], frequency: int, first_index: int, pacing: float,
        statistics: Statistics,
    ) -> None:
        self.names = tuple(names)
        self._tune(frequency)
        self.indices = range(first_index, first_index + len(self.names))
        # Raises ValueError for a name that cannot be sent.
        self._requests = self._make_requests()
        for request in self._requests.values():
            encode(request)
        self._all = frozenset(self.indices)
        self._asking_takes = len(self.names) * pacing
        first = _PATIENCE + self._asking_takes
        self._leases = Leases[int](
            max(_PATIENCE, _PERIODS / frequency) + self._asking_takes,
            first=first, longest=max(first, _LONGEST_PAUSE))
        self.datagrams = 0
        self._statistics = statistics
        self._asked: set[int] = set()
        self._group: dict[int, float] = {}
        self._settled_at = math.inf
        self._heard_at = -math.inf
        self._listening = False
        self._asks_all = False

    @property
    def deadline(self) -> float | None:
        """Return when due() must be called, None if there is nothing to request."""
        if not self._listening:
            return None
        return 0.0 if self._asks_all else self._leases.deadline

    def _tune(self, frequency: int) -> None:
        """Note a frequency, and how long a frame then waits for values that may have stopped."""
        self.frequency = frequency
        self.frame_patience = max(_FRAME_PATIENCE, _PERIODS / frequency)

    def begin(self, at: float) -> None:
        """Request everything that has not arrived by time ``at``."""
        self._listening = True
        self._asked.clear()
        self._leases.want(self.indices, at)
        self._leases.renew(at)
        self._settled_at = math.inf

    def end(self) -> None:
        """Request nothing, as X-Plane is silent; what has arrived no longer counts."""
        self._listening = False
        self._asks_all = False
        self._group = {}
        self.datagrams = 0

    def answered(self, now: float) -> None:
        """Record that X-Plane sends: what is still missing has some time from now on."""
        if self._settled_at == math.inf:
            self._settled_at = now + self._asking_takes + _PATIENCE
        elif now - self._heard_at > self.frame_patience:
            self._settled_at = max(self._settled_at, now + self.frame_patience)
        self._heard_at = now

    def settled(self, now: float) -> bool:
        """Return whether all have arrived, or had time to."""
        return now >= self._settled_at or all(map(self._leases.has_come, self.indices))

    def retune(self, frequency: int) -> None:
        """Request everything again, at this frequency; what arrives meanwhile still counts."""
        self._tune(frequency)
        self._requests = self._make_requests()
        self._asks_all = True

    def first(self) -> bytes:
        """Return the request for only the first dataref, to probe a silent peer."""
        return encode(self._requests[self.indices[0]])

    def due(self, now: float) -> list[bytes]:
        """Return the requests to send now."""
        if not self._listening:
            return []
        due = self._leases.due(now)
        if self._asks_all:
            self._asks_all = False
            return [encode(request) for request in self._requests.values()]
        if not due:
            return []
        self._statistics.asked_again += len(self._asked.intersection(due))
        self._asked.update(due)
        return [encode(self._requests[index]) for index in due]

    def cancel(self, indices: Collection[Hashable]) -> list[bytes]:
        """Return the requests that end those of these numbers."""
        return [encode(RrefRequest(0, index, request.dataref))
                for index, request in self._requests.items() if index in indices]

    def missing(self, now: float) -> dict[str, float]:
        """Return the names of missing values, and since when each is missing."""
        if not self._listening:
            return {}
        return {self._requests[index].dataref: since
                for index, since in self._leases.missing(now).items()}

    def receive(self, reply: RrefReply, now: float) -> bool:
        """Handle one datagram; return whether all values of one frame have arrived."""
        values = dict(reply.values)
        if not values.keys() <= self._all:
            # From an earlier subscription, or from nobody's: unrequested values are not kept.
            values = {index: value for index, value in values.items() if index in self._all}
        if not self._group.keys().isdisjoint(values):
            self._group = {}
            self.datagrams = 0
        if values:
            self.answered(now)
        group = self._group
        group.update(values)
        self.datagrams += 1
        self._leases.heard(values, now)
        if group.keys() >= self._all:
            return True
        if now < self._settled_at or self._all.isdisjoint(group):
            return False
        patience = self.frame_patience
        return not any(
            self._leases.has_come_since(index, now - patience)
            for index in self._all - group.keys())

    def take(self) -> dict[str, float]:
        """Return the values that arrived, by name, and start the next frame."""
        group, self._group = self._group, {}
        self.datagrams = 0
        return {name: group[index]
                for index, name in zip(self.indices, self.names, strict=True) if index in group}

    def _make_requests(self) -> dict[int, RrefRequest]:
        return {index: RrefRequest(self.frequency, index, name)
                for index, name in zip(self.indices, self.names, strict=True)}
