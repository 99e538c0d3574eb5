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

"""Datarefs that X-Plane sends by itself (RREF), asked for until they come."""

from __future__ import annotations

from collections.abc import Sequence

from xplane_bridge.protocols.xplane_udp import encode, RrefReply, RrefRequest

# An unknown path is met with silence, as is a request that was lost: so all that does not come
# is asked for again, this often, before it counts as unknown.
_ROUNDS = 3


class Subscription:
    """
    A list of datarefs at one frequency (Hz), numbered from ``first_index`` on.

    ``receive`` collects the values of one frame: X-Plane puts up to 183 into a datagram and never
    one twice, so a number that comes again begins the next frame.
    """

    def __init__(
        self, names: Sequence[str], frequency: int, first_index: int, patience: float = 1.0
    ) -> None:
        self.names = tuple(names)
        self.frequency = frequency
        self.indices = range(first_index, first_index + len(self.names))
        self.patience = patience
        # Raises ValueError for a name that cannot be sent.
        self._requests = {
            index: RrefRequest(frequency, index, name)
            for index, name in zip(self.indices, self.names, strict=True)}
        for request in self._requests.values():
            encode(request)
        self.seen: set[int] = set()
        self.datagrams = 0
        self._group: dict[int, float] = {}
        self._latest: dict[int, float] = {}
        self._rounds = 0
        self._changed = False
        self._ask_at: float | None = None

    @property
    def deadline(self) -> float | None:
        """Return when due() has to be called, None when there is nothing to ask."""
        return self._ask_at

    @property
    def settled(self) -> bool:
        """Tell whether all have come that will."""
        return len(self.seen) == len(self.names) or (
            self._ask_at is None and self._rounds >= _ROUNDS)

    def ask(self, at: float) -> None:
        """Ask for all that has not come, from time ``at`` on."""
        self._ask_at = at
        self._rounds = 0

    def forget(self) -> None:
        """Take X-Plane as restarted: nothing has come, and nothing is asked for."""
        self.seen.clear()
        self._group = {}
        self.datagrams = 0
        self._rounds = 0
        self._ask_at = None

    def change_frequency(self, frequency: int, now: float) -> None:
        """Ask for everything anew at another frequency."""
        self.frequency = frequency
        self._requests = {
            index: RrefRequest(frequency, index, request.dataref)
            for index, request in self._requests.items()}
        self.forget()
        self.ask(now)
        self._changed = True

    def first(self) -> bytes:
        """Return the request for the first dataref alone: what a silent peer is asked."""
        return encode(self._requests[self.indices[0]])

    def due(self, now: float, pacing: float) -> list[bytes]:
        """Return the requests to send now, which will leave ``pacing`` seconds apart."""
        if self._ask_at is None or now < self._ask_at:
            return []
        # What still comes at an old frequency is no answer to the new requests.
        missing = [
            index for index in self.indices if self._changed or index not in self.seen]
        self._changed = False
        if not missing or self._rounds >= _ROUNDS:
            self._ask_at = None
            return []
        self._rounds += 1
        self._ask_at = now + len(missing) * pacing + self.patience
        return [encode(self._requests[index]) for index in missing]

    def cancel(self) -> list[bytes]:
        """Return the requests that end it."""
        return [encode(RrefRequest(0, index, request.dataref))
                for index, request in self._requests.items()]

    def receive(self, reply: RrefReply) -> bool:
        """Take one datagram; tell whether all values of one frame are here now."""
        group = self._group
        before = len(group)
        group.update(reply.values)
        if len(group) < before + len(reply.values):
            group = self._group = dict(reply.values)
            self.datagrams = 0
        self.datagrams += 1
        if not self.settled:
            self.seen.update(index for index in group if index in self._requests)
            self._latest.update(reply.values)
        return self.settled and group.keys() >= self.seen

    def take(self) -> tuple[float | None, ...]:
        """Return the values in the order of the names, and begin the next frame."""
        values = tuple(map(self._group.get, self.indices))
        self._group = {}
        self.datagrams = 0
        return values

    def latest(self) -> tuple[float | None, ...]:
        """Return the values that came first, of whatever frame, in the order of the names."""
        return tuple(map(self._latest.get, self.indices))
