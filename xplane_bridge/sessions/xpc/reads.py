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

"""Reading on request: replies carry no identity, so each waits alone and is never mixed up."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
import math

from xplane_bridge.protocols import xpc
from xplane_bridge.sessions.xpc.events import ReadDone, Statistics
from xplane_bridge.sessions.xpc.flow import FRAME_GAP

_TIMEOUT = 0.5

# Reads take turns on as many sockets, one a frame: a duplicate that the network made of a reply
# meets a socket that waits for nothing, and is known for what it is.
_CHANNELS = 16

_LARGEST_QUEUE = 64
_HEADER = 6
_OF_X_PLANE = 'sim/'


def batches(
    names: Sequence[str], sizes: Mapping[str, int], alone: Collection[str] = ()
) -> Iterable[tuple[str, ...]]:
    """
    Split dataref names so that neither request nor reply of a batch exceeds 4096 bytes.

    More crashes X-Plane (docs/wire/xpc.md, section 1). ``sizes`` holds the number of values of
    those datarefs that were read before. It counts for X-Plane's own only, whose sizes are fixed:
    those of other plugins may grow between two polls. What may not be relied on counts as 255
    values, the most that the plugin sends: four to a request. Those of ``alone`` share none.
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
    after: int
    expires_at: float
    replies: list[xpc.Reply] = field(default_factory=list)
    tries: int = 0

    @property
    def repeatable(self) -> bool:
        """Tell whether it changes nothing, so that it may be sent again, and late."""
        return self.expires_at == math.inf


class Reads:
    """
    Run reads one after another: one request outstanding, one retry, then an error.

    After a timeout the socket is given up, so that the late answer is nobody's.
    """

    def __init__(self, statistics: Statistics) -> None:
        self._statistics = statistics
        self._queue: deque[_Read] = deque()
        self._sent_at: float | None = None
        self._due = 0.0
        self._turn = 0
        self._serials = [0] * _CHANNELS
        self._given_up: list[str] = []

    @property
    def waiting(self) -> bool:
        """Tell whether a reply is outstanding."""
        return self._sent_at is not None

    def is_due(self, now: float, commands: int) -> bool:
        """Tell whether a request is to be sent, when so many commands have been sent."""
        return (
            bool(self._queue) and self._sent_at is None and now >= self._due
            and commands >= self._queue[0].after)

    @property
    def deadline(self) -> float | None:
        """Return when the outstanding reply is to be given up, or the next request is due."""
        if self._sent_at is not None:
            return self._sent_at + _TIMEOUT
        return self._due if self._queue else None

    def add(
        self, ticket: int, requests: Sequence[xpc.Request], after: int,
        expires_at: float = math.inf,
    ) -> None:
        """
        Queue the requests of one read.

        One that expires is a command too: it is not sent later, and never twice. ``after`` so
        many commands: it may check what the last of them has written.
        Raises ValueError if too many wait already.
        """
        if len(self._queue) >= _LARGEST_QUEUE:
            raise ValueError(f'{_LARGEST_QUEUE} reads wait already; ask less often')
        self._queue.append(_Read(ticket, tuple(requests), after, expires_at))

    def expire(self, now: float, reason: str) -> list[ReadDone]:
        """End those that must not be sent any more."""
        old = [
            read for read in self._queue
            if now >= read.expires_at and not (read.tries and self.waiting)]
        for read in old:
            self._queue.remove(read)
        return [ReadDone(read.ticket, (), f'not sent: {reason}') for read in old]

    @property
    def next_is_command(self) -> bool:
        """Tell whether the next request changes something."""
        return bool(self._queue) and not self._queue[0].repeatable

    def start(self, now: float) -> tuple[str, bytes]:
        """Return the next request, and the channel to send it on."""
        read = self._queue[0]
        read.tries += 1
        self._turn = (self._turn + 1) % _CHANNELS
        self._sent_at = now
        self._statistics.requests += 1
        return self._channel, xpc.encode(read.requests[len(read.replies)])

    def close_given_up(self) -> list[str]:
        """Return the channels that were given up since the last call."""
        channels, self._given_up = self._given_up, []
        return channels

    def give_up(self) -> ReadDone | None:
        """Take the outstanding reply as lost; return the read's end if it was the last try."""
        self._statistics.lost += 1
        self._give_up_channel()
        read = self._queue[0]
        if read.repeatable and read.tries < 2:
            return None
        self._queue.popleft()
        reason = f'no answer from X-Plane within {_TIMEOUT} s'
        if not isinstance(read.requests[len(read.replies)], xpc.GetDatarefs):
            reason += '; it gives none where there is no terrain'
        return ReadDone(read.ticket, (), reason)

    def abandon(self, reason: str) -> list[ReadDone]:
        """End all reads with ``reason``."""
        if self._sent_at is not None:
            self._give_up_channel()
        ended = [ReadDone(read.ticket, (), reason) for read in self._queue]
        self._queue.clear()
        return ended

    def receive(self, channel: str, reply: xpc.Reply, now: float) -> ReadDone | None:
        """Take a reply on one of these channels; return the read's end if it was the last."""
        if self._sent_at is None or channel != self._channel:
            self._statistics.unexpected += 1
            return None
        read = self._queue[0]
        if not _answers(read.requests[len(read.replies)], reply):
            self._statistics.unexpected += 1
            return None
        self._statistics.replies += 1
        self._sent_at = None
        self._due = now + FRAME_GAP
        read.tries = 0
        read.replies.append(reply)
        if len(read.replies) < len(read.requests):
            return None
        self._queue.popleft()
        return ReadDone(read.ticket, tuple(read.replies))

    def _give_up_channel(self) -> None:
        self._given_up.append(self._channel)
        self._serials[self._turn] += 1
        self._sent_at = None

    @property
    def _channel(self) -> str:
        return f'read {self._turn}.{self._serials[self._turn]}'


def _answers(request: xpc.Request, reply: xpc.Reply) -> bool:
    """Tell whether a reply has the form that a request asks for."""
    if isinstance(request, xpc.GetDatarefs):
        return isinstance(reply, xpc.Datarefs) and len(reply.rows) == len(request.names)
    if isinstance(request, xpc.GetTerrain | xpc.PlaceAndProbe):
        return isinstance(reply, xpc.Terrain) and reply.aircraft == request.aircraft
    return False
