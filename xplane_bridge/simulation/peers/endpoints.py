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
Where datagrams reach a simulator: a UDP port behind a network with faults.

Arrived datagrams wait here, as in the kernel, until the simulator takes them; closing or resetting
an endpoint drops them.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
import math
import os
import select
import socket
import time
from typing import NamedTuple, TypeAlias

from xplane_bridge.bridges.links.udp import resolve, SocketCounters, UdpSocket
from xplane_bridge.simulation.peers.faults import Faults, Path

# IPv4 address and port.
Address: TypeAlias = tuple[str, int]

# Linux's default buffer, which the kernel doubles for its overhead.
_RECEIVE_BUFFER = 106_496


class Outgoing(NamedTuple):
    """An outgoing datagram; ``interface`` is the address of the one to multicast on."""

    data: bytes
    to: Address
    interface: str | None


class Endpoint(ABC):
    """Carries datagrams between peers and a simulator through a network with faults."""

    def __init__(self, faults: Faults | None = None) -> None:
        self.counters = SocketCounters()
        # When the last datagram was sent here, and who is told of each from now on.
        self.heard_at = -math.inf
        self.listener: Callable[[bytes, float], None] | None = None
        # Set from outside: while true, datagrams in both directions are lost.
        self.cut = False
        # Called before each datagram is read: while true, it waits.
        self.may_read: Callable[[], bool] | None = None
        self._faults = faults if faults is not None else Faults()
        self._keeps_order = self._faults.delay == self._faults.jitter == 0.0
        self._inbound: Path[tuple[bytes, Address]] = Path(self._faults, 'in')
        self._outbound: Path[Outgoing] = Path(self._faults, 'out')

    @property
    @abstractmethod
    def address(self) -> Address:
        """Return where peers send to; known once it has been open."""

    @abstractmethod
    def pause(self, seconds: float) -> None:
        """Wait in real time, if the endpoint has any, at most until something arrives."""

    @abstractmethod
    def _listen(self) -> None:
        """Begin to listen. Raises LinkError if that is not possible."""

    @abstractmethod
    def _stop_listening(self) -> None:
        """Stop listening and drop what waits; twice is fine."""

    @abstractmethod
    def _arrivals(self, now: float) -> Iterable[tuple[float, bytes, Address]]:
        """Return what has been sent here: time, datagram and sender."""

    @abstractmethod
    def _transmit(self, outgoing: Outgoing) -> None:
        """Deliver one datagram to its destination."""

    def open(self) -> None:
        """Begin to listen. Raises LinkError if that is not possible."""
        self._listen()

    def close(self) -> None:
        """Stop listening; what waits or is in transit is lost. Closing twice is fine."""
        self._stop_listening()
        self._inbound.clear()
        self._outbound.clear()

    def receive(self, now: float) -> tuple[bytes, Address] | None:
        """Return the next datagram and its sender, or None when none waits."""
        if self.may_read is not None and not self.may_read():
            return None
        # What has arrived since comes behind it, and is read then: the kernel is asked once.
        if self._keeps_order and (taken := self._inbound.take(now)) is not None:
            return taken
        for sent, data, sender in self._arrivals(now):
            if self.cut:
                continue
            self.counters.received += 1
            self.heard_at = sent
            if self.listener is not None:
                self.listener(data, sent)
            self._inbound.put((data, sender), sent)
        return self._inbound.take(now)

    def send(self, data: bytes, to: Address, now: float, interface: str | None = None) -> None:
        """Send a datagram; to a multicast group on the interface with this address."""
        if self.cut:
            return
        self._outbound.put(Outgoing(data, to, interface), now)
        self.flush(now)

    def flush(self, now: float) -> None:
        """Deliver what has been in transit for long enough."""
        while (outgoing := self._outbound.take(now)) is not None:
            self._transmit(outgoing)

    def next_due(self) -> float | None:
        """Return when to call flush() next, or None if nothing is in transit."""
        return self._outbound.next_arrival()

    def reset(self, now: float) -> None:
        """Close and reopen: what waits is lost, what is in transit is not."""
        while self.receive(now) is not None:
            pass
        self._stop_listening()
        self._listen()


class UdpEndpoint(Endpoint):
    """A UDP port of this machine; ``port`` 0 chooses a free one at the first opening."""

    def __init__(self, host: str = '127.0.0.1', port: int = 0,
                 faults: Faults | None = None) -> None:
        """Raise LinkError if the host cannot be resolved; an empty host is any address."""
        super().__init__(faults)
        self._address = (resolve(host) if host else '0.0.0.0', port)
        self._socket: UdpSocket | None = None
        self._latest = -math.inf
        # This socket's counts as of the last update.
        self._drops = 0

    @property
    def address(self) -> Address:
        """Return where peers send to; known once it has been open."""
        return self._address

    def pause(self, seconds: float) -> None:
        """Wait for some seconds, or until a datagram comes."""
        assert self._socket is not None
        select.select([self._socket], [], [], seconds)

    def _listen(self) -> None:
        self._socket = UdpSocket(self._address, receive_buffer=_RECEIVE_BUFFER)
        self._drops = 0
        self._address = self._socket.local

    def _stop_listening(self) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def _arrivals(self, now: float) -> Iterable[tuple[float, bytes, Address]]:
        assert self._socket is not None
        while (received := self._socket.receive()) is not None:
            waited = (time.time_ns() - received.stamp_ns) * 1e-9
            # The kernel keeps their order; the difference between two clocks must not change it.
            self._latest = max(self._latest, now - max(waited, 0.0))
            self.counters.kernel_drops += self._socket.counters.kernel_drops - self._drops
            self._drops = self._socket.counters.kernel_drops
            yield self._latest, received.data, received.sender

    def _transmit(self, outgoing: Outgoing) -> None:
        assert self._socket is not None
        if self._choose_interface(outgoing.interface) and self._socket.send(
                outgoing.data, outgoing.to):
            self.counters.sent += 1
        else:
            self.counters.send_errors += 1

    def _choose_interface(self, interface: str | None) -> bool:
        """Multicast on this interface from now on; return whether it exists."""
        assert self._socket is not None
        if interface is None:
            return True
        # Options belong to the socket, not to the descriptor, so a copy of it will do.
        with socket.socket(fileno=os.dup(self._socket.fileno())) as same:
            same.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_TTL, 1)
            try:
                same.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF,
                                socket.inet_aton(interface))
            except OSError:
                return False
        return True
