"""Reading on request: replies carry no identity, so each waits alone and is never mixed up."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from xplane_bridge.protocols import xpc
from xplane_bridge.sessions.xpc.events import ReadDone, Statistics

_TIMEOUT = 0.5

# Reads take turns on as many sockets: a duplicate that the network made of a reply meets a
# socket that waits for nothing, and is known for what it is.
_CHANNELS = 4

_HEADER = 6


def batches(names: Sequence[str], sizes: Mapping[str, int]) -> Iterable[tuple[str, ...]]:
    """
    Split dataref names so that neither request nor reply of a batch exceeds 4096 bytes.

    More crashes X-Plane (XPC wire notes, section 1). ``sizes`` holds the number of values of
    those datarefs that were read before; another one may have 255.
    """
    batch: list[str] = []
    request = reply = _HEADER
    for name in names:
        name_size = 1 + len(name.encode())
        row_size = 1 + 4 * (sizes.get(name, 0) or xpc.MAX_VALUES)
        if batch and (
            request + name_size > xpc.REQUEST_LIMIT
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
    repeatable: bool
    replies: list[xpc.Reply] = field(default_factory=list)
    tries: int = 0


class Reads:
    """
    Run reads one after another: one request outstanding, one retry, then an error.

    After a timeout the socket is given up, so that the late answer is nobody's.
    """

    def __init__(self, statistics: Statistics) -> None:
        self._statistics = statistics
        self._queue: deque[_Read] = deque()
        self._sent_at: float | None = None
        self._turn = 0
        self._serials = [0] * _CHANNELS
        self._given_up: list[str] = []

    @property
    def idle(self) -> bool:
        """Tell whether nothing is to be sent: no read, or one that waits for its reply."""
        return not self._queue or self._sent_at is not None

    @property
    def deadline(self) -> float | None:
        """Return when the outstanding reply is to be given up."""
        return None if self._sent_at is None else self._sent_at + _TIMEOUT

    def add(self, ticket: int, requests: Sequence[xpc.Request], *, repeatable: bool) -> None:
        """Queue the requests of one read; one that is not repeatable is never sent twice."""
        self._queue.append(_Read(ticket, tuple(requests), repeatable))

    def start(self, now: float) -> list[tuple[str, bytes | None]]:
        """Return what to send: the next request, after closing the sockets given up."""
        outgoing: list[tuple[str, bytes | None]] = [(name, None) for name in self._given_up]
        self._given_up.clear()
        read = self._queue[0]
        read.tries += 1
        self._turn = (self._turn + 1) % _CHANNELS
        self._sent_at = now
        self._statistics.requests += 1
        outgoing.append((self._channel, xpc.encode(read.requests[len(read.replies)])))
        return outgoing

    def give_up(self) -> ReadDone | None:
        """Take the outstanding reply as lost; return the read's end if it was the last try."""
        self._statistics.lost += 1
        self._given_up.append(self._channel)
        self._serials[self._turn] += 1
        self._sent_at = None
        read = self._queue[0]
        if read.repeatable and read.tries < 2:
            return None
        self._queue.popleft()
        return ReadDone(read.ticket, (), f'no answer from X-Plane within {_TIMEOUT} s')

    def abandon(self, reason: str) -> list[ReadDone]:
        """End all reads with ``reason``."""
        if self._sent_at is not None:
            self._given_up.append(self._channel)
            self._serials[self._turn] += 1
            self._sent_at = None
        ended = [ReadDone(read.ticket, (), reason) for read in self._queue]
        self._queue.clear()
        return ended

    def receive(self, channel: str, reply: xpc.Reply) -> ReadDone | None:
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
        read.tries = 0
        read.replies.append(reply)
        if len(read.replies) < len(read.requests):
            return None
        self._queue.popleft()
        return ReadDone(read.ticket, tuple(read.replies))

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
