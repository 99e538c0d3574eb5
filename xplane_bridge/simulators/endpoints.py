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
Where datagrams reach a simulator: a UDP port, behind a network with faults.

What has arrived waits here, as it does in the kernel, until the simulator takes it; an endpoint
that is closed or reset loses it.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
import math
import os
import select
import socket
import time
from typing import NamedTuple, TypeAlias

from xplane_bridge.links.udp import Counters, resolve, UdpSocket
from xplane_bridge.simulators.faults import Faults, Path

# IPv4 address and port.
Address: TypeAlias = tuple[str, int]

# Linux's default buffer, which it doubles for its overhead.
_RECEIVE_BUFFER = 106_496


class Outgoing(NamedTuple):
    """A datagram on its way out; ``interface`` is the address of the one to multicast on."""

    data: bytes
    to: Address
    interface: str | None


class Endpoint(ABC):
    """Takes datagrams from peers to a simulator, and back, through a network with faults."""

    def __init__(self, faults: Faults | None = None) -> None:
        self.counters = Counters()
        # While set, what is sent either way is lost; to be set from outside.
        self.cut = False
        # Asked before each datagram: what must not be read yet waits.
        self.may_read: Callable[[], bool] | None = None
        self._faults = faults if faults is not None else Faults()
        self._inbound: Path[tuple[bytes, Address]] = Path(self._faults, 'in')
        self._outbound: Path[Outgoing] = Path(self._faults, 'out')

    @property
    @abstractmethod
    def address(self) -> Address:
        """Return where peers send to; known once it has been open."""

    @abstractmethod
    def pause(self, seconds: float) -> None:
        """Let real time pass, where there is any, at most until something arrives."""

    @abstractmethod
    def _listen(self) -> None:
        """Begin to listen. Raises LinkError if that is not possible."""

    @abstractmethod
    def _stop_listening(self) -> None:
        """Lose what waits, and stop to listen, also if that is so already."""

    @abstractmethod
    def _arrivals(self, now: float) -> Iterable[tuple[float, bytes, Address]]:
        """Take what has been sent here: when, what, and from where."""

    @abstractmethod
    def _transmit(self, outgoing: Outgoing) -> None:
        """Give one datagram to its addressee."""

    def open(self) -> None:
        """Begin to listen. Raises LinkError if that is not possible."""
        self._listen()

    def close(self) -> None:
        """Stop to listen; what waits or is under way is lost. Closing twice is fine."""
        self._stop_listening()
        self._inbound.clear()
        self._outbound.clear()

    def receive(self, now: float) -> tuple[bytes, Address] | None:
        """Return the next datagram and its sender, or None when none waits."""
        for sent, data, sender in self._arrivals(now):
            if self.cut:
                continue
            self.counters.received += 1
            self._inbound.put((data, sender), sent)
        if self.may_read is not None and not self.may_read():
            return None
        return self._inbound.take(now)

    def send(self, data: bytes, to: Address, now: float, interface: str | None = None) -> None:
        """Send a datagram; to a multicast group on the interface that has this address."""
        if self.cut:
            return
        self._outbound.put(Outgoing(data, to, interface), now)
        self.flush(now)

    def flush(self, now: float) -> None:
        """Let what has been under way for long enough arrive."""
        while (outgoing := self._outbound.take(now)) is not None:
            self._transmit(outgoing)

    def next_due(self) -> float | None:
        """Return when flush() is to be called next, or None if nothing is under way."""
        return self._outbound.next_arrival()

    def reset(self, now: float) -> None:
        """Close and reopen: what waits is lost, what is still under way is not."""
        while self.receive(now) is not None:
            pass
        self._stop_listening()
        self._listen()


class UdpEndpoint(Endpoint):
    """A UDP port of this machine; ``port`` 0 chooses a free one at the first opening."""

    def __init__(self, host: str = '127.0.0.1', port: int = 0,
                 faults: Faults | None = None) -> None:
        """Raise LinkError if the host's address is not known; an empty host is any address."""
        super().__init__(faults)
        self._address = (resolve(host) if host else '0.0.0.0', port)
        self._socket: UdpSocket | None = None
        self._latest = -math.inf
        # Of the counts of this socket, what was taken over.
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
            # The kernel keeps their order; the difference of two clocks must not change it.
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
        """Multicast on an interface from now on; tell whether there is such a one."""
        assert self._socket is not None
        if interface is None:
            return True
        # Options belong to the socket, not to the descriptor, so a copy of that will do.
        with socket.socket(fileno=os.dup(self._socket.fileno())) as same:
            same.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_TTL, 1)
            try:
                same.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF,
                                socket.inet_aton(interface))
            except OSError:
                return False
        return True
