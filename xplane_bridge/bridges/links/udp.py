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

"""UDP sockets with kernel time stamps, a large buffer, and a single accepted sender."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
import errno
import fcntl
import ipaddress
import math
from queue import Empty, SimpleQueue
import socket
import struct
import threading
import time
from typing import NamedTuple

from xplane_bridge.bridges.links.gate import SocketFilter
from xplane_bridge.bridges.links.peer import ANY_PORT, FixedPort, SenderPort
from xplane_bridge.common.timing import SECOND_NS

# What the kernel of this machine refuses, because nothing listens where it was sent.

# Linux: what comes back by ICMP is kept for the socket, with the address it was sent to (ip(7)).
# Python has no name for it. A sock_extended_err begins with the error and who reports it.
_IP_RECVERR = 11
_ERROR = struct.Struct('=IB')
_BY_ICMP = 2
_SPACE = socket.CMSG_SPACE(64)


class Refusals:
    """The refusals of what ``socket`` sends to ``peer``, a port of this machine."""

    def __init__(self, own: socket.socket, peer: tuple[str, int]) -> None:
        self._socket = own
        self._peer = peer
        own.setsockopt(socket.IPPROTO_IP, _IP_RECVERR, 1)

    def take(self) -> int:
        """Return how many there are since the last call; with none taken, epoll never sleeps."""
        count = 0
        while True:
            try:
                _, ancillary, _, sent_to = self._socket.recvmsg(
                    0, _SPACE, socket.MSG_ERRQUEUE)
            except OSError:
                return count
            count += sent_to == self._peer and any(
                level == socket.IPPROTO_IP and kind == _IP_RECVERR
                and _ERROR.unpack_from(value) == (errno.ECONNREFUSED, _BY_ICMP)
                for level, kind, value in ancillary)

    def close(self) -> None:
        """Keep none any more."""
        self._socket.setsockopt(socket.IPPROTO_IP, _IP_RECVERR, 0)


# Linux: deliver the kernel's receive time as a struct timespec, and how many datagrams the socket
# has dropped because its receive buffer was full. Python has no names for these.
_SO_TIMESTAMPNS = 35
_TIMESPEC = struct.Struct('@ll')
_SO_RXQ_OVFL = 40
_DROPS = struct.Struct('@I')
_ANCILLARY_SPACE = socket.CMSG_SPACE(_TIMESPEC.size) + socket.CMSG_SPACE(_DROPS.size)
# IP can carry slightly less in one datagram.
_LARGEST_DATAGRAM = 65536
# Consecutive datagrams of strangers to read before others get their turn.
_BURST = 64
# How long to wait for the address of a name, in seconds.
_RESOLVED_WITHIN = 5.0
# How long the kernel rejects strangers after such a burst, in seconds.
_SHUT = 1.0
# Number of addresses for which to cache whether they are this machine's own.
_MOST_KNOWN = 256

_ADVICE = {
    errno.EADDRINUSE: '; is another program using it?',
    errno.EADDRNOTAVAIL: '; this machine has no such address',
    errno.ENODEV: '; no network interface supports multicast',
    errno.EACCES: '; ports below 1024 need administrator rights',
    errno.EMFILE: '; this process has too many files open',
}

# Linux: ask for the address of an interface (netdevice(7)).
_SIOCGIFADDR, _INTERFACE_REQUEST, _LONGEST_INTERFACE = 0x8915, 40, 15
_INTERFACE_ADDRESS = slice(20, 24)

# A stock kernel buffers three datagrams of 60 kB; a busy moment needs more.
RECEIVE_BUFFER = 4 * 1024 * 1024


class LinkError(OSError):
    """A link could not be opened; the text says which, and what to do about it."""


class Received(NamedTuple):
    """One datagram: its bytes, the kernel's receive time (ns since the epoch), its sender."""

    data: bytes
    stamp_ns: int
    sender: tuple[str, int]


@dataclass(slots=True)
class SocketCounters:
    """
    Counters of one socket.

    Datagrams dropped because of their sender: ``strangers`` came from other addresses than the
    peer's, ``other_ports`` from other ports of its address. ``dropped_from`` is the last such
    address and port, ``dropped_at`` when it was seen, by time.monotonic(). ``stranger`` is the
    last of the others, not of a group, where others are normal.
    ``kernel_drops`` are datagrams, from the peer and from strangers, that the kernel dropped
    because the buffer was full; reported with the next datagram that it keeps.
    """

    received: int = 0
    sent: int = 0
    strangers: int = 0
    send_errors: int = 0
    other_ports: int = 0
    stranger: tuple[str, int] | None = None
    dropped_from: tuple[str, int] | None = None
    dropped_at: float = -math.inf
    kernel_drops: int = 0

    @property
    def dropped(self) -> int:
        """Return how many datagrams were dropped because of their sender."""
        return self.strangers + self.other_ports

    def add(self, other: SocketCounters) -> None:
        """Add the counters of another socket."""
        self.received += other.received
        self.sent += other.sent
        self.strangers += other.strangers
        self.send_errors += other.send_errors
        self.other_ports += other.other_ports
        self.kernel_drops += other.kernel_drops
        self.stranger = other.stranger or self.stranger
        if other.dropped_at > self.dropped_at:
            self.dropped_from, self.dropped_at = other.dropped_from, other.dropped_at


def resolve(host: str) -> str:
    """
    Return the IPv4 address of ``host``.

    A name is looked up for at most 5 s. Raises LinkError if it cannot be resolved.
    """
    answers: SimpleQueue[str | LinkError] = SimpleQueue()
    # The system's resolver queries each name server for seconds, and cannot be interrupted.
    threading.Thread(
        target=lambda: answers.put(_look_up(host)), name='resolver', daemon=True).start()
    try:
        answer = answers.get(timeout=_RESOLVED_WITHIN)
    except Empty:
        answer = LinkError(
            f"host '{host}': no name server answered within {_RESOLVED_WITHIN:g} s")
    if isinstance(answer, LinkError):
        raise answer
    return answer


def _look_up(host: str) -> str | LinkError:
    """Return the address, or the reason why there is none."""
    try:
        return str(socket.getaddrinfo(host, None, socket.AF_INET, socket.SOCK_DGRAM)[0][4][0])
    except OSError as error:
        return LinkError(f"host '{host}': no IPv4 address found ({error.strerror})")
    except ValueError:
        # One of its parts has more than 63 characters (UnicodeError), or it has a NUL.
        return LinkError(f"host '{host[:64]}': not the name of a computer")


def resolve_sender(sender: str) -> tuple[str, int]:
    """
    Return address and port of ``host:port``, or of ``host``, whose port is ANY_PORT.

    Raises LinkError if the name is unknown or the port is invalid.
    """
    host, colon, port = sender.partition(':')
    if colon and not (port.isascii() and port.isdigit() and 0 < int(port[:6]) < 65536):
        raise LinkError(
            f"sender '{sender[:64]}': expected host or host:port, a port from 1 to 65535")
    return resolve(host), int(port) if colon else ANY_PORT


def _sentence(where: str, error: OSError) -> str:
    return f'{where}: {error.strerror}{_ADVICE.get(error.errno or 0, "")}'


def is_own_address(address: str) -> bool:
    """Return whether ``address`` is this machine's own: the kernel would send from it."""
    return address_towards(address) == address


def address_towards(address: str) -> str:
    """Return the address from which the kernel would send to ``address``, '' without a route."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect((address, 9))
        except OSError:
            return ''
        return str(probe.getsockname()[0])


def own_addresses() -> dict[str, str]:
    """Return the IPv4 address of each network interface that has one, by its name."""
    found: dict[str, str] = {}
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        for _, name in socket.if_nameindex():
            asked = name.encode()[:_LONGEST_INTERFACE].ljust(_INTERFACE_REQUEST, b'\0')
            with suppress(OSError):
                answer = fcntl.ioctl(probe.fileno(), _SIOCGIFADDR, asked)
                found[name] = socket.inet_ntoa(answer[_INTERFACE_ADDRESS])
    return found


class UdpSocket:
    """
    A non-blocking UDP/IPv4 socket that accepts a single sender.

    ``bind`` is the local (address, port), port 0 for any. ``peer`` is where send() goes.
    ``sender`` is the only address whose datagrams are accepted, and only from ``sender_port`` (a
    number, 0 for any, or a SenderPort); others are dropped and counted; ``sender`` None accepts
    all. With a loopback ``sender`` this machine's other addresses count as the same peer (a
    multicast beacon of a local program carries one of those). ``group`` joins a multicast group,
    on the interface with the address ``interface`` (the default route's if it is empty) and on
    loopback; other senders are normal there, and all count as strangers.
    Raises LinkError if the socket cannot be opened.

    The kernel bounds the unread data: ``receive_buffer`` bytes are requested, one datagram has at
    most 65,507. One receive() reads at most 64 datagrams. If all of them are strangers', the
    kernel accepts only the peer for a second: until ``shut_until``, by time.monotonic(), when
    reopen() must be called.
    """

    def __init__(
        self,
        bind: tuple[str, int] = ('', 0),
        *,
        peer: tuple[str, int] | None = None,
        sender: str | None = None,
        sender_port: int | SenderPort = ANY_PORT,
        group: str | None = None,
        interface: str = '',
        receive_buffer: int = RECEIVE_BUFFER,
    ) -> None:
        self.peer = peer
        self.counters = SocketCounters()
        self._sender = sender
        self._sender_port = (
            FixedPort(sender_port) if isinstance(sender_port, int) else sender_port)
        self._is_group = group is not None
        self._local = sender is not None and ipaddress.ip_address(sender).is_loopback
        self._known: dict[str, bool] = {}
        self._buffer = bytearray(_LARGEST_DATAGRAM)
        # The kernel's count, modulo 2^32.
        self._drops = 0
        self.shut_until: float | None = None
        where = f'UDP {bind[0] or "any address"}:{bind[1]}'
        try:
            self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        except OSError as error:
            raise LinkError(_sentence(where, error)) from error
        self._gate = SocketFilter(self._socket)
        self._refusals: Refusals | None = None
        try:
            self._socket.setblocking(False)
            self._socket.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)
            self._socket.setsockopt(socket.SOL_SOCKET, _SO_RXQ_OVFL, 1)
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
            if group is not None:
                # Several programs on one machine may join the same group.
                self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
            self._socket.bind(bind)
            if group is not None:
                self._join(group, interface)
        except OSError as error:
            self._socket.close()
            raise LinkError(_sentence(where, error)) from error

    def _join(self, group: str, interface: str) -> None:
        """Join a multicast group on an interface, and on loopback."""
        if interface and not is_own_address(interface):
            raise OSError(errno.EADDRNOTAVAIL, f'cannot join on {interface}')
        joined = 0
        reason: OSError | None = None
        for address in (interface or '0.0.0.0', '127.0.0.1'):
            request = socket.inet_aton(group) + socket.inet_aton(address)
            try:
                self._socket.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, request)
                joined += 1
            except OSError as error:
                reason = error
        if not joined and reason is not None:
            raise reason

    def fileno(self) -> int:
        """Return the file descriptor to wait on; -1 once closed."""
        return self._socket.fileno()

    @property
    def local(self) -> tuple[str, int]:
        """Return the address and port at this end."""
        address, port = self._socket.getsockname()
        return str(address), int(port)

    @property
    def receive_buffer(self) -> int:
        """Return the buffer granted by the kernel, in bytes (including its overhead)."""
        return self._socket.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF)

    def send(self, data: bytes, to: tuple[str, int] | None = None) -> bool:
        """
        Send one datagram to ``to``, by default to the peer; return whether the kernel accepted it.

        An unreachable peer or network is not an error of the caller: it is counted.
        """
        address = to or self.peer
        if address is None:
            raise ValueError('this socket has no peer to send to')
        try:
            try:
                self._socket.sendto(data, address)
            except ConnectionRefusedError:  # Of an earlier one, said once.
                self._socket.sendto(data, address)
        except OSError:
            self.counters.send_errors += 1
            return False
        self.counters.sent += 1
        return True

    def receive(self) -> Received | None:
        """
        Return the next datagram of the peer, or None if none is pending.

        Also None after a burst of strangers' datagrams, so that a flood does not block others.
        """
        for _ in range(_BURST):
            try:
                size, ancillary, _, sender = self._socket.recvmsg_into(
                    [self._buffer], _ANCILLARY_SPACE
                )
            except BlockingIOError:
                return None
            except OSError:
                # The ICMP error of an earlier send is reported here; it carries no datagram.
                continue
            stamp_ns = self._read(ancillary)
            if self._sender is not None and not self._admits(sender):
                continue
            self.counters.received += 1
            return Received(bytes(self._buffer[:size]), stamp_ns or time.time_ns(), sender)
        self._shut()
        return None

    def watch_refusals(self, on: bool) -> None:
        """
        Count, while ``on``, what is sent to a port of this machine where nothing listens.

        Other machines may refuse too, but also to protect who listens: they do not count.
        """
        if self._refusals is not None:
            self._refusals.close()
            self._refusals = None
        if on and self.peer is not None and is_own_address(self.peer[0]):
            self._refusals = Refusals(self._socket, self.peer)

    def take_refusals(self) -> int:
        """Return how many datagrams were refused since the last call."""
        return 0 if self._refusals is None else self._refusals.take()

    def reopen(self, now: float) -> None:
        """Accept strangers again, to be counted, when it is time or the peer may have changed."""
        if self.shut_until is None:
            return
        if now >= self.shut_until or self._gate.lets_in != self._peer_alone():
            self._count_drops()
            self.shut_until = None
            self._gate.open()

    def _shut(self) -> None:
        """Accept only the peer for a while, if it is known."""
        address, port = self._peer_alone()
        if self.shut_until is None and (address or port):
            self._count_drops()
            self._gate.shut(address, port)
            if self._gate.lets_in is not None:
                self.shut_until = time.monotonic() + _SHUT

    def _peer_alone(self) -> tuple[str, int]:
        """Return the only accepted address and port, '' and 0 for any."""
        if self._sender is None:
            return '', ANY_PORT
        # A peer on this machine may send from any of its addresses.
        return '' if self._local else self._sender, self._sender_port.only

    def _count_drops(self) -> None:
        """Update the count of datagrams dropped by the kernel."""
        drops = self._gate.drops()
        if drops is not None:
            self._count(drops)

    def _count(self, drops: int) -> None:
        # Datagrams carry the count at their arrival, so it may be older than the known one.
        news = (drops - self._drops + 2**31) % 2**32 - 2**31
        if news <= 0:
            return
        self._drops = drops
        if self.shut_until is None:
            self.counters.kernel_drops += news
        elif self._is_group or not self._sender_port.only:
            self.counters.strangers += news
        else:
            self.counters.other_ports += news
            self.counters.dropped_at = time.monotonic()

    def _admits(self, sender: tuple[str, int]) -> bool:
        """Return whether a datagram is the peer's; count it if not."""
        if not self._is_peer(sender[0]):
            self.counters.strangers += 1
            if not self._is_group:
                self.counters.stranger = sender
            return False
        if self._sender_port.admits(sender[1]):
            return True
        if self._is_group:
            self.counters.strangers += 1
        else:
            self.counters.other_ports += 1
            self.counters.dropped_from = sender
            self.counters.dropped_at = time.monotonic()
        return False

    def _read(self, ancillary: list[tuple[int, int, bytes]]) -> int:
        """Update the kernel's drop count; return the receive time in ns, 0 if there is none."""
        stamp_ns = 0
        for level, kind, value in ancillary:
            if level != socket.SOL_SOCKET:
                continue
            if kind == _SO_TIMESTAMPNS:
                seconds, nanoseconds = _TIMESPEC.unpack_from(value)
                stamp_ns = seconds * SECOND_NS + nanoseconds
            elif kind == _SO_RXQ_OVFL:
                # Included only once something has been dropped.
                drops, = _DROPS.unpack_from(value)
                self._count(drops)
        return stamp_ns

    def _is_peer(self, address: str) -> bool:
        """Return whether ``address`` is the peer's."""
        if address == self._sender:
            return True
        if not self._local:
            return False
        if address not in self._known:
            if len(self._known) >= _MOST_KNOWN:
                self._known.clear()
            self._known[address] = is_own_address(address)
        return self._known[address]

    def close(self) -> None:
        """Close the socket; closing twice is fine."""
        if self.fileno() >= 0:
            self._count_drops()
        self._socket.close()
