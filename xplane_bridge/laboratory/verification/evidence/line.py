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

"""
What carries a session's datagrams while it is verified, and what is asked beside it.

The steps of a verification are written once, as they follow one another in time. Over sockets
that is real time; tests carry the same datagrams in memory, in simulated time.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from queue import Empty, SimpleQueue
import select
import time
from typing import Any, NamedTuple

from xplane_bridge.bridges.links.loop import SessionLoop, Tap, UdpLoop
from xplane_bridge.bridges.links.udp import (
    address_towards,
    own_addresses,
    SocketCounters,
    UdpSocket,
)
from xplane_bridge.bridges.sessions.base import Address, PeerState, Session
from xplane_bridge.common.timing import SECOND_NS

# How often a condition is looked at, in seconds; how long a single answer is awaited.
_LOOK = 0.02
# Events that wait to be taken.
_MOST_WAITING = 4000
_PATIENCE = 0.5
# What is kept of what arrives: so many datagrams, so many bytes.
_MOST_ANSWERS, _MOST_BYTES = 20_000, 64 * 1024 * 1024


class PeerLostError(Exception):
    """The peer has stopped responding in the middle of a step."""


class Heard(NamedTuple):
    """An event of the session, and when the datagram that completed it came, in seconds."""

    at: float
    event: Any


class Line(ABC):
    """Runs a session while the steps of a verification go on."""

    def __init__(self, session: Session) -> None:
        self.session = session

    @abstractmethod
    def now(self) -> float:
        """Return the session's time, in seconds."""

    @abstractmethod
    def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Call the session: ``function`` gets ``arguments`` and then the time."""

    @abstractmethod
    def listen(self, seconds: float, until: Callable[[], bool] | None = None) -> list[Heard]:
        """Let time pass, at most until a condition holds; return what has happened."""

    @abstractmethod
    def counters(self) -> SocketCounters:
        """Return the counters of all sockets."""

    @abstractmethod
    def close(self) -> None:
        """Close all sockets; closing twice is fine."""

    def skip(self) -> None:  # noqa: B027 -- nothing waits where time passes in listen() only
        """Forget what has happened while nobody listened."""

    def attend(self, seconds: float, until: Callable[[], bool] | None = None) -> list[Heard]:
        """Listen as listen() does. Raises PeerLostError if the peer falls silent."""
        heard = self.listen(
            seconds, lambda: self._is_lost() or (until is not None and until()))
        if self._is_lost():
            raise PeerLostError(self.session.explained())
        return heard

    def wait_for(self, condition: Callable[[], bool], seconds: float) -> bool:
        """Listen until a condition holds; return whether it does."""
        self.listen(seconds, condition)
        return condition()

    def _is_lost(self) -> bool:
        return self.session.peer_state in (
            PeerState.AWAY, PeerState.SILENT, PeerState.CLOSED, PeerState.LOADING)


class LiveLine(Line):
    """
    A session on the loop of its link, in real time; ``make_loop`` opens its sockets.

    ``tap`` is told of each datagram, if they are datagrams.
    """

    def __init__(
        self, session: Session,
        make_loop: Callable[[Callable[[Any, int], None], Callable[[Exception], None]],
                            SessionLoop],
        tap: Tap | None = None,
    ) -> None:
        super().__init__(session)
        self._heard: SimpleQueue[Heard | Exception] = SimpleQueue()
        self._loop = make_loop(self._on_event, self._heard.put)
        if isinstance(self._loop, UdpLoop):
            self._loop.tap = tap
        self._loop.start()

    def now(self) -> float:
        return time.monotonic()

    def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        return self._loop.call(function, *arguments)

    def listen(self, seconds: float, until: Callable[[], bool] | None = None) -> list[Heard]:
        end = time.monotonic() + seconds
        heard: list[Heard] = []
        while (left := end - time.monotonic()) > 0.0:
            try:
                found = self._heard.get(timeout=min(left, _LOOK))
            except Empty:
                pass
            else:
                if isinstance(found, Exception):
                    raise found
                heard.append(found)
            if until is not None:
                with self._loop.lock:
                    if until():
                        break
        return heard

    def skip(self) -> None:
        while not self._heard.empty():
            self._heard.get()

    def counters(self) -> SocketCounters:
        counters: SocketCounters = self._loop.counters()
        return counters

    def close(self) -> None:
        self._loop.close()

    def _on_event(self, event: Any, stamp_ns: int) -> None:
        # While a person is asked nobody takes them.
        if self._heard.qsize() < _MOST_WAITING:
            self._heard.put(Heard(stamp_ns / SECOND_NS, event))


class Answer(NamedTuple):
    """A datagram that came back: from where, and how many seconds after the question."""

    data: bytes
    sender: Address
    after: float


class Exchange(NamedTuple):
    """
    Questions that were sent, and what came back.

    ``own`` is the address and port they were sent from, '' if that is not known. ``round_trips``
    has one number for each question that was answered. ``buffer`` is what the kernel grants to
    receive, in bytes, 0 if that is not known.
    """

    sent: int
    own: Address
    answers: tuple[Answer, ...]
    round_trips: tuple[float, ...]
    buffer: int = 0

    @property
    def lost(self) -> int:
        """Return how many questions were not answered."""
        return self.sent - len(self.round_trips)


class PeerNetwork(ABC):
    """How a verification reaches its peer."""

    @abstractmethod
    def ask(self, question: bytes, to: Address, times: int, closing: bytes = b'') -> Exchange:
        """
        Send a question, one after the other is answered; return all that came back.

        From a socket of its own, whoever answers. A question that is not answered within half a
        second is lost, and if the first three are, no more are sent. ``closing`` ends what the
        question has begun.
        """

    @abstractmethod
    def stream(
        self, question: bytes, to: Address, seconds: float, closing: bytes = b''
    ) -> Exchange:
        """Send a question until it is answered, and return all that comes in so many seconds."""

    @abstractmethod
    def overhear(
        self, port: int, seconds: float, group: str = '', towards: str = ''
    ) -> list[Answer]:
        """
        Return what arrives at a port, or at a multicast group, from anybody.

        The group is joined on the network that leads ``towards`` an address, if one is given.
        """

    @abstractmethod
    def networks(self, host: str) -> tuple[Mapping[str, str], str]:
        """Return the addresses of this computer by interface, and that from which it sends."""

    @abstractmethod
    def line(
        self, session: Session,
        make_loop: Callable[[Callable[[Any, int], None], Callable[[Exception], None]],
                            SessionLoop],
    ) -> Line:
        """Return what runs a session."""


_TRIED = 3


class UdpPeerNetwork(PeerNetwork):
    """The network of this computer; ``tap`` is told of each datagram of a conversation."""

    def __init__(self, bind_address: str = '', tap: Tap | None = None) -> None:
        self._bind_address = bind_address
        self._tap = tap

    def ask(self, question: bytes, to: Address, times: int, closing: bytes = b'') -> Exchange:
        link = UdpSocket((self._bind_address, 0), peer=to)
        answers: list[Answer] = []
        trips: list[float] = []
        sent = 0
        try:
            for place in range(times):
                if place == _TRIED and not trips:
                    break
                begun = time.monotonic()
                if not link.send(question):
                    sent += 1
                    continue
                sent += 1
                got = _collect(link, begun, _PATIENCE, first=True)
                if got:
                    trips.append(got[0].after)
                answers += got
            own, buffer = link.local, link.receive_buffer
            if closing:
                link.send(closing)
        finally:
            link.close()
        return Exchange(sent, own, tuple(answers), tuple(trips), buffer)

    def stream(
        self, question: bytes, to: Address, seconds: float, closing: bytes = b''
    ) -> Exchange:
        link = UdpSocket((self._bind_address, 0), peer=to)
        try:
            begun, sent = time.monotonic(), 0
            answers: list[Answer] = []
            while not answers and sent < _TRIED:
                sent += 1
                link.send(question)
                answers = _collect(link, begun, _PATIENCE, first=True)
            answers += _collect(link, begun, seconds, first=False)
            own, buffer = link.local, link.receive_buffer
            if closing:
                link.send(closing)
        finally:
            link.close()
        return Exchange(
            sent, own, tuple(answers), tuple(one.after for one in answers[:1]), buffer)

    def overhear(
        self, port: int, seconds: float, group: str = '', towards: str = ''
    ) -> list[Answer]:
        interface = self._bind_address or (address_towards(towards) if towards else '')
        link = UdpSocket(
            ('' if group else self._bind_address, port), group=group or None,
            interface=interface if group else '')
        try:
            return _collect(link, time.monotonic(), seconds, first=False)
        finally:
            link.close()

    def networks(self, host: str) -> tuple[Mapping[str, str], str]:
        return own_addresses(), self._bind_address or address_towards(host)

    def line(
        self, session: Session,
        make_loop: Callable[[Callable[[Any, int], None], Callable[[Exception], None]],
                            SessionLoop],
    ) -> Line:
        return LiveLine(session, make_loop, self._tap)


def _collect(link: UdpSocket, begun: float, seconds: float, *, first: bool) -> list[Answer]:
    """Return what a socket gets in so many seconds, or the first, and when since ``begun``."""
    found: list[Answer] = []
    end, size = time.monotonic() + seconds, 0
    while (left := end - time.monotonic()) > 0.0 and (
            len(found) < _MOST_ANSWERS and size < _MOST_BYTES):
        if not select.select([link], [], [], left)[0]:
            break
        while len(found) < _MOST_ANSWERS and (received := link.receive()) is not None:
            size += len(received.data)
            found.append(Answer(
                received.data, received.sender, time.monotonic() - begun))
        if first and found:
            break
    return found
