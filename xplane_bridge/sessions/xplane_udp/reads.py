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

from xplane_bridge.protocols.xplane_udp import RrefReply
from xplane_bridge.sessions.xplane_udp.events import ReadDone
from xplane_bridge.sessions.xplane_udp.outbox import Outbox
from xplane_bridge.sessions.xplane_udp.subscription import Subscription

_FREQUENCY = 20
_PATIENCE = 0.4
_LARGEST_QUEUE = 64
_FIRST_INDEX = 100_000
_LAST_INDEX = 2**30


class Reads:
    """Run reads one after another, each on a channel and with numbers of its own."""

    def __init__(self, outbox: Outbox) -> None:
        self._outbox = outbox
        self._queue: deque[tuple[int, Subscription]] = deque()
        self._next_index = _FIRST_INDEX
        self._channel = ''

    @property
    def deadline(self) -> float | None:
        """Return when poll() has to be called."""
        if not self._queue:
            return None
        return self._queue[0][1].deadline or 0.0

    def add(self, ticket: int, names: Sequence[str]) -> None:
        """Queue a read; raise ValueError for a bad name or if too many wait already."""
        if not names:
            raise ValueError('a read needs at least one dataref name')
        if len(self._queue) >= _LARGEST_QUEUE:
            raise ValueError(f'{_LARGEST_QUEUE} reads wait already; ask less often')
        self._queue.append((ticket, Subscription(names, _FREQUENCY, self._next_index, _PATIENCE)))
        self._next_index += len(names)
        if self._next_index > _LAST_INDEX:
            self._next_index = _FIRST_INDEX

    def poll(self, now: float) -> list[ReadDone]:
        """Ask what is due; return the reads that time has ended."""
        done: list[ReadDone] = []
        while self._queue:
            ticket, read = self._queue[0]
            if not self._channel:
                self._channel = f'read {ticket}'
                read.ask(now)
            self._outbox.push(self._channel, read.due(now, self._outbox.pacing))
            if not read.settled:
                break
            done.append(self._end(ticket, read))
        return done

    def receive(self, channel: str, reply: RrefReply) -> ReadDone | None:
        """Take a reply; return the read's end if all values are here."""
        if channel != self._channel or not self._queue:
            return None
        ticket, read = self._queue[0]
        read.receive(reply)
        if len(read.seen) < len(read.names):
            return None
        return self._end(ticket, read)

    def abandon(self, reason: str) -> list[ReadDone]:
        """End all reads with ``reason``."""
        if self._channel:
            self._close(self._queue[0][1])
        ended = [ReadDone(ticket, (), reason) for ticket, _ in self._queue]
        self._queue.clear()
        return ended

    def _end(self, ticket: int, read: Subscription) -> ReadDone:
        self._close(read)
        self._queue.popleft()
        if not read.seen:
            return ReadDone(ticket, (), (
                'no answer: X-Plane does not know these datarefs, or does not answer at all'))
        return ReadDone(ticket, read.latest())

    def _close(self, read: Subscription) -> None:
        self._outbox.drop(self._channel)
        self._outbox.push(self._channel, [*read.cancel(), None])
        self._channel = ''
