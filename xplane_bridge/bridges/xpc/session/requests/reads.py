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

"""Reads on request: replies carry no identity, so each is requested separately."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
import math
from typing import Any

from xplane_bridge.bridges.sessions.base import LONGEST_READ, READ_TOO_LONG, ReadDone
from xplane_bridge.bridges.sessions.round_trip import RoundTrip
from xplane_bridge.bridges.xpc import protocol as xpc
from xplane_bridge.bridges.xpc.session.events import Statistics
from xplane_bridge.bridges.xpc.session.flow import FRAME_GAP

# How long a reply may take near the plugin, whose frames may pause; elsewhere it is the round
# trip that counts.
_SHORTEST_TIMEOUT = 0.5
# A request that is not answered for this long does not block the others.
_PATIENCE = 0.1

# Reads take turns on this many sockets, one per frame: a reply duplicated by the network arrives
# on a socket that waits for nothing, and is recognised as such.
_CHANNELS = 16
_PREFIX = 'read '

_LARGEST_QUEUE = 64
_HEADER = 6
_OF_X_PLANE = 'sim/'


def batches(
    names: Sequence[str], sizes: Mapping[str, int], alone: Collection[str] = ()
) -> Iterable[tuple[str, ...]]:
    """
    Split dataref names so that neither request nor reply of a batch exceeds 4096 bytes.

    More crashes X-Plane (docs/wire/xpc.md, section 1). ``sizes`` has the number of values of
    datarefs read before. It is used only for X-Plane's own, whose sizes are fixed: those of other
    plugins may grow between two polls. Unreliable ones count as 255 values, the most that the
    plugin sends: four to a request. Those in ``alone`` share none.
    """
    batch: list[str] = []
    request = reply = _HEADER
    for name in names:
        name_size = 1 + len(name.encode())
        known = sizes.get(name, 0) if name.startswith(_OF_X_PLANE) else 0
        row_size = 1 + 4 * (known or xpc.MAX_VALUES)
        if batch and (
            name in alone
            or batch[-1] in alone
            or request + name_size > xpc.REQUEST_LIMIT
            or reply + row_size > xpc.RESP_LIMIT
            or len(batch) == 255
        ):
            yield tuple(batch)
            batch = []
            request = reply = _HEADER
        batch.append(name)
        request += name_size
        reply += row_size
    if batch:
        yield tuple(batch)


@dataclass(slots=True)
class _Read:
    ticket: int
    requests: tuple[xpc.Request, ...]
    datagrams: tuple[bytes, ...]
    after: int
    expires_at: float
    ends_at: float
    replies: list[Any] = field(default_factory=list)
    tries: int = 0
    sent_at: float = 0.0

    @property
    def repeatable(self) -> bool:
        """Return whether it changes nothing, so that it may be repeated, and sent late."""
        return self.expires_at == math.inf

    @property
    def request(self) -> xpc.Request:
        """Return the request whose reply is next."""
        return self.requests[len(self.replies)]

    @property
    def values(self) -> tuple[Any, ...]:
        """Return what has arrived: the values of each dataref, or the terrain."""
        return tuple(
            value for reply in self.replies
            for value in (reply.rows if isinstance(reply, xpc.Datarefs) else (reply,)))

    @property
    def names(self) -> int:
        """Return how many datarefs have not arrived yet."""
        return sum(
            len(request.names) for request in self.requests[len(self.replies):]
            if isinstance(request, xpc.GetDatarefs))


class Reads:
    """
    Run reads in turns, one request each: one retry, then an error.

    One request is outstanding, at most one per read; a request that is not answered for long
    blocks only its own read. After a timeout the socket is closed, so that the late reply belongs
    to nobody. No read takes longer than LONGEST_READ.
    """

    def __init__(self, statistics: Statistics, round_trip: RoundTrip) -> None:
        self._statistics = statistics
        self._round_trip = round_trip
        # Those that wait for their turn, the next one first, and those that wait for a reply.
        self._queue: deque[_Read] = deque()
        self._asked: dict[str, _Read] = {}
        self._due = 0.0
        self._turn = 0
        self._serials = [0] * _CHANNELS
        self._given_up: list[str] = []

    def __bool__(self) -> bool:
        return bool(self._queue or self._asked)

    def __contains__(self, channel: str) -> bool:
        """Return whether a reply is expected on this channel."""
        return channel in self._asked

    @property
    def names(self) -> int:
        """Return how many datarefs wait to be read."""
        return sum(read.names for read in self._all)

    @property
    def _all(self) -> list[_Read]:
        return [*self._asked.values(), *self._queue]

    def is_due(self, now: float, commands: int, *, held: bool) -> bool:
        """
        Return whether to send a request, given how many commands have been sent.

        While commands are ``held``, requests that change something wait too.
        """
        return bool(
            self._queue and now >= self._due and len(self._asked) < _CHANNELS
            and self._next(commands, held))

    def _next(self, commands: int, held: bool) -> _Read | None:
        return next((
            read for read in self._queue
            if commands >= read.after and (read.repeatable or not held)), None)

    def deadline(self, now: float) -> float | None:
        """Return when there is something to end, to retry, or to send."""
        if not self:
            return None
        deadlines = [read.ends_at for read in self._all]
        deadlines += [read.sent_at + self._timeout for read in self._asked.values()]
        deadlines += [read.expires_at for read in self._queue]
        if self._queue and now < self._due:
            deadlines.append(self._due)
        return min(deadlines, default=None)

    def add(
        self, ticket: int, requests: Sequence[xpc.Request], after: int, now: float,
        expires_at: float = math.inf,
    ) -> None:
        """
        Queue the requests of one read.

        One that expires is a command too: it is not sent later, and never twice. ``after`` is a
        number of commands: the read may verify what the last of them has written.
        Raises ValueError if too many are already waiting, or for what must not be sent.
        """
        datagrams = tuple(map(xpc.encode, requests))
        if len(self._queue) + len(self._asked) >= _LARGEST_QUEUE:
            raise ValueError(f'{_LARGEST_QUEUE} reads are already waiting; read less often')
        self._queue.append(_Read(
            ticket, tuple(requests), datagrams, after, expires_at, now + LONGEST_READ))

    def expire(self, now: float, reason: str) -> list[ReadDone]:
        """End those that take too long, and those that must no longer be sent."""
        ended = []
        for channel, read in list(self._asked.items()):
            if now >= read.ends_at:
                self._close(channel)
                ended.append(ReadDone(read.ticket, (), READ_TOO_LONG))
        for read in list(self._queue):
            if now >= min(read.expires_at, read.ends_at):
                self._queue.remove(read)
                ended.append(ReadDone(
                    read.ticket, (), READ_TOO_LONG if read.repeatable else f'not sent: {reason}'))
        return ended

    def start(self, now: float, commands: int, *, held: bool) -> tuple[str, bytes]:
        """Return the request that is_due(), and the channel to send it on."""
        read = self._next(commands, held)
        assert read is not None
        self._queue.remove(read)
        read.tries += 1
        read.sent_at = now
        self._due = now + _PATIENCE
        self._turn = (self._turn + 1) % _CHANNELS
        while self._channel in self._asked:
            self._turn = (self._turn + 1) % _CHANNELS
        self._asked[self._channel] = read
        self._statistics.requests += 1
        return self._channel, read.datagrams[len(read.replies)]

    def close_given_up(self) -> list[str]:
        """Return the channels that were closed since the last call."""
        channels, self._given_up = self._given_up, []
        return channels

    def give_up(self, now: float) -> list[ReadDone]:
        """Count overdue replies as lost; return the reads that this ends."""
        ended = []
        for channel, read in list(self._asked.items()):
            if now < read.sent_at + self._timeout:
                continue
            self._statistics.lost += 1
            self._close(channel)
            if read.repeatable and read.tries < 2:
                self._queue.appendleft(read)
                continue
            reason = f'no reply from X-Plane within {self._timeout:.2g} s'
            if not isinstance(read.request, xpc.GetDatarefs):
                reason += '; it does not reply where there is no terrain'
            ended.append(ReadDone(read.ticket, (), reason))
        return ended

    def end(self, reason: str) -> list[ReadDone]:
        """End all reads with ``reason``."""
        ended = [ReadDone(read.ticket, (), reason) for read in self._all]
        for channel in list(self._asked):
            self._close(channel)
        self._queue.clear()
        return ended

    def receive(self, channel: str, reply: xpc.Reply, now: float) -> ReadDone | None:
        """Handle a reply on one of these channels; return the read's end if it was the last."""
        read = self._asked.get(channel)
        if read is None or not _answers(read.request, reply):
            self._statistics.unexpected += 1
            return None
        del self._asked[channel]
        self._statistics.replies += 1
        self._due = now + FRAME_GAP
        read.tries = 0
        read.replies.append(reply)
        if len(read.replies) == len(read.requests):
            return ReadDone(read.ticket, read.values)
        self._queue.append(read)
        return None

    def _close(self, channel: str) -> None:
        """Stop waiting for a reply, which would belong to nobody."""
        del self._asked[channel]
        self._given_up.append(channel)
        self._serials[int(channel.removeprefix(_PREFIX).partition('.')[0])] += 1

    @property
    def _timeout(self) -> float:
        return max(_SHORTEST_TIMEOUT, self._round_trip.usual_timeout)

    @property
    def _channel(self) -> str:
        return f'{_PREFIX}{self._turn}.{self._serials[self._turn]}'


def _answers(request: xpc.Request, reply: xpc.Reply) -> bool:
    """Return whether a reply has the form required by a request."""
    if isinstance(request, xpc.GetDatarefs):
        return isinstance(reply, xpc.Datarefs) and len(reply.rows) == len(request.names)
    if isinstance(request, xpc.GetTerrain | xpc.PlaceAndProbe):
        return isinstance(reply, xpc.Terrain) and reply.aircraft == request.aircraft
    return False
