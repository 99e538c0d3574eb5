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

"""Single reads of datarefs: RREF, cancelled as soon as all values have arrived."""

from __future__ import annotations

from collections.abc import Collection, Container, Mapping, Sequence
from functools import partial

from xplane_bridge.bridges.sessions.base import (
    check_read,
    LONGEST_READ,
    READ_TOO_LONG,
    ReadDone,
    Tickets,
)
from xplane_bridge.bridges.xplane_udp.protocol import encode, RrefReply, RrefRequest
from xplane_bridge.bridges.xplane_udp.session.requests.queue import RequestQueue
from xplane_bridge.bridges.xplane_udp.session.requests.unsubscribes import Ending, Key

# Requesting many takes long, and X-Plane keeps sending those that it knows.
_FREQUENCY = 20
_MANY = 100
_FREQUENCY_OF_MANY = 2
# An unknown path is silently ignored, like a lost request: missing values are requested this often
# in all, and then the read ends without them. X-Plane gets one period plus this long.
_ROUNDS = 3
_PATIENCE = 0.35
# Each has its own socket.
_LARGEST_QUEUE = 64
_FIRST_INDEX = 100_000
_LAST_INDEX = 2**30


class _Read:
    """One read: its datarefs, numbered from ``first_index`` on, and the values so far."""

    def __init__(
        self, ticket: int, names: Sequence[str], first_index: int, ends_at: float
    ) -> None:
        self.ticket = ticket
        self.channel = f'read {ticket}'
        self.names = dict(enumerate(names, first_index))
        self.frequency = _FREQUENCY_OF_MANY if len(names) > _MANY else _FREQUENCY
        # Raises ValueError for a name that cannot be sent.
        self.requests(self.frequency)
        self.values: dict[int, float] = {}
        self.rounds = 0
        # When to retry, None while requests still wait to be sent.
        self.ask_at: float | None = 0.0
        self.ends_at = ends_at

    @property
    def complete(self) -> bool:
        return len(self.values) == len(self.names)

    def requests(self, frequency: int, but: Container[int] = ()) -> list[bytes]:
        return [encode(RrefRequest(frequency, index, name))
                for index, name in self.names.items() if index not in but]


class Reads:
    """
    Run reads concurrently, each on its own channel and with its own numbers.

    Their requests take turns in the queue, which is lent for each call. No read takes longer than
    LONGEST_READ.
    """

    def __init__(self, tickets: Tickets) -> None:
        self._tickets = tickets
        self._reads: dict[str, _Read] = {}
        self._next_index = _FIRST_INDEX
        self._endings: list[Ending] = []

    def __bool__(self) -> bool:
        """Return whether a read goes on, or has to be ended."""
        return bool(self._reads or self._endings)

    def deadline(self, queue: RequestQueue) -> float | None:
        """Return when poll() must be called; known after the queue was emptied."""
        deadlines = [read.ends_at for read in self._reads.values()]
        # What waits in the queue is sent when its turn comes.
        deadlines += [read.ask_at or 0.0 for read in self._reads.values()
                      if read.channel not in queue]
        return min(deadlines, default=None)

    def add(self, names: Sequence[str], now: float) -> int:
        """Start a read, return its ticket; ValueError for a bad name or if too many wait."""
        check_read(len(names), sum(len(read.names) for read in self._reads.values()))
        if len(self._reads) >= _LARGEST_QUEUE:
            raise ValueError(f'{_LARGEST_QUEUE} reads are already waiting; read less often')
        read = _Read(self._tickets.draw(), names, self._next_index, now + LONGEST_READ)
        self._reads[read.channel] = read
        self._next_index += len(names)
        if self._next_index > _LAST_INDEX:
            self._next_index = _FIRST_INDEX
        return read.ticket

    def poll(self, now: float, queue: RequestQueue) -> list[ReadDone]:
        """Request what is due; return the reads that have timed out."""
        done: list[ReadDone] = []
        for read in list(self._reads.values()):
            if now >= read.ends_at:
                self._close(read)
                done.append(ReadDone(read.ticket, (), READ_TOO_LONG))
            elif read.channel not in queue:
                if read.ask_at is None:
                    read.ask_at = now + _PATIENCE + 1.0 / read.frequency
                if now >= read.ask_at and read.rounds >= _ROUNDS:
                    done.append(self._end(read))
                elif now >= read.ask_at:
                    read.rounds += 1
                    read.ask_at = None
                    queue.push(read.channel, read.requests(read.frequency, read.values))
        return done

    def receive(self, channel: str, reply: RrefReply) -> ReadDone | None:
        """Handle a reply; return the read's end if all values have arrived."""
        read = self._reads.get(channel)
        if read is None:
            return None
        read.values.update(
            (index, value) for index, value in reply.values if index in read.names)
        return self._end(read) if read.complete else None

    def owns(self, channel: str) -> bool:
        """Return whether a channel belongs to a read."""
        return channel in self._reads

    def abandon(self, reason: str) -> list[ReadDone]:
        """End all reads with ``reason``."""
        ended = [ReadDone(read.ticket, (), reason) for read in self._reads.values()]
        for read in list(self._reads.values()):
            self._close(read)
        return ended

    def ended(self) -> list[Ending]:
        """Return what to end on the channels of reads that ended since the last call."""
        endings, self._endings = self._endings, []
        return endings

    def _end(self, read: _Read) -> ReadDone:
        self._close(read)
        if not read.values:
            return ReadDone(read.ticket, (), (
                'no reply: X-Plane does not know these datarefs, or does not reply at all'))
        return ReadDone(read.ticket, tuple(map(read.values.get, read.names)))

    def _close(self, read: _Read) -> None:
        del self._reads[read.channel]
        names = read.names if read.rounds else {}
        self._endings.append(
            Ending(read.channel, names, partial(_cancel, names), 1.0 / read.frequency))


def _cancel(names: Mapping[int, str], keys: Collection[Key]) -> list[bytes]:
    """Return the requests that end those of these numbers."""
    return [encode(RrefRequest(0, index, name)) for index, name in names.items() if index in keys]
