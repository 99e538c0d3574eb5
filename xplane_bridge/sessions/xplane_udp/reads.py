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

"""Reading datarefs once: RREF, and its end as soon as all values are here."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from xplane_bridge.protocols.xplane_udp import encode, RrefReply, RrefRequest
from xplane_bridge.sessions.base import Tickets
from xplane_bridge.sessions.xplane_udp.events import ReadDone
from xplane_bridge.sessions.xplane_udp.outbox import Outbox

_FREQUENCY = 20
# An unknown path is met with silence, as is a request that was lost: what does not come is asked
# for this often in all, and then the read ends without it.
_ROUNDS = 3
_PATIENCE = 0.4
_LARGEST_QUEUE = 64
_FIRST_INDEX = 100_000
_LAST_INDEX = 2**30


class _Read:
    """One read: its datarefs, numbered from ``first_index`` on, and the values so far."""

    def __init__(self, ticket: int, names: Sequence[str], first_index: int) -> None:
        self.ticket = ticket
        self.channel = f'read {ticket}'
        self.names = dict(enumerate(names, first_index))
        # Raises ValueError for a name that cannot be sent.
        self.requests(_FREQUENCY)
        self.values: dict[int, float] = {}
        self.rounds = 0
        self.ask_at = 0.0

    @property
    def complete(self) -> bool:
        return self.values.keys() >= self.names.keys()

    def requests(self, frequency: int, but: Sequence[int] | dict[int, float] = ()) -> list[bytes]:
        return [encode(RrefRequest(frequency, index, name))
                for index, name in self.names.items() if index not in but]


class Reads:
    """Run reads one after another, each on a channel and with numbers of its own."""

    def __init__(self, outbox: Outbox, tickets: Tickets) -> None:
        self._outbox = outbox
        self._tickets = tickets
        self._queue: deque[_Read] = deque()
        self._next_index = _FIRST_INDEX

    @property
    def deadline(self) -> float | None:
        """Return when poll() has to be called."""
        return self._queue[0].ask_at if self._queue else None

    def add(self, names: Sequence[str]) -> int:
        """Queue a read, return its ticket; ValueError for a bad name or if too many wait."""
        if not names:
            raise ValueError('a read needs at least one dataref name')
        if len(self._queue) >= _LARGEST_QUEUE:
            raise ValueError(f'{_LARGEST_QUEUE} reads wait already; ask less often')
        read = _Read(self._tickets.draw(), names, self._next_index)
        self._queue.append(read)
        self._next_index += len(names)
        if self._next_index > _LAST_INDEX:
            self._next_index = _FIRST_INDEX
        return read.ticket

    def poll(self, now: float) -> list[ReadDone]:
        """Ask what is due; return the reads that time has ended."""
        done: list[ReadDone] = []
        while self._queue and now >= self._queue[0].ask_at:
            read = self._queue[0]
            if read.rounds >= _ROUNDS:
                done.append(self._end(read))
                continue
            read.rounds += 1
            requests = read.requests(_FREQUENCY, read.values)
            read.ask_at = now + len(requests) * self._outbox.pacing + _PATIENCE
            self._outbox.push(read.channel, requests)
        return done

    def receive(self, channel: str, reply: RrefReply) -> ReadDone | None:
        """Take a reply; return the read's end if all values are here."""
        if not self._queue or channel != self._queue[0].channel:
            return None
        read = self._queue[0]
        read.values.update(
            (index, value) for index, value in reply.values if index in read.names)
        return self._end(read) if read.complete else None

    def owns(self, channel: str) -> bool:
        """Tell whether a channel is that of the read under way."""
        return bool(self._queue) and channel == self._queue[0].channel

    def abandon(self, reason: str) -> list[ReadDone]:
        """End all reads with ``reason``."""
        if self._queue and self._queue[0].rounds:
            self._close(self._queue[0])
        ended = [ReadDone(read.ticket, (), reason) for read in self._queue]
        self._queue.clear()
        return ended

    def _end(self, read: _Read) -> ReadDone:
        self._close(read)
        self._queue.popleft()
        if not read.values:
            return ReadDone(read.ticket, (), (
                'no answer: X-Plane does not know these datarefs, or does not answer at all'))
        return ReadDone(read.ticket, tuple(map(read.values.get, read.names)))

    def _close(self, read: _Read) -> None:
        self._outbox.drop(read.channel)
        self._outbox.push(read.channel, [*read.requests(0), None])
