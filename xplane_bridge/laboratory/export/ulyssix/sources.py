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

"""Where ``ulyssix record`` gets its datagrams: a socket, or a capture."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
import select
import threading
import time
from typing import Protocol

from xplane_bridge.bridges.links.captures.capture import Address, CaptureError, read_datagrams
from xplane_bridge.bridges.links.peer import ANY_PORT
from xplane_bridge.bridges.links.udp import LinkError, resolve_sender, UdpSocket
from xplane_bridge.common import plain_files
from xplane_bridge.common.text import counted
from xplane_bridge.common.timing import SECOND_NS

# Datagrams that wait while a block is being written, in bytes.
_MOST_WAITING = 64 * 1024 * 1024
_TICK = 0.1
# Datagrams in a row before the end of the recording is noticed.
_BURST = 10_000


@dataclass(frozen=True, slots=True)
class Arrival:
    """A datagram: received when (ns since 1970, and in the session's seconds), and from whom."""

    data: bytes
    stamp_ns: int
    now: float
    sender: Address


class DatagramSource(Protocol):
    """Yields datagrams; None when there is none for a moment. ``where`` names it for people."""

    where: str

    def arrivals(self) -> Iterator[Arrival | None]:
        """Yield datagrams until there are no more."""

    def problems(self) -> list[str]:
        """Return sentences about what did not arrive, and who is to blame."""

    def close(self) -> None:
        """Close it."""


class Network:
    """
    A UDP port: a thread empties the kernel's buffer, and up to 64 MiB wait here.

    Raises LinkError if it cannot be opened.
    """

    def __init__(
        self, port: int, *, bind_address: str, group: str, sender: str, receive_buffer: int
    ) -> None:
        address, sender_port = resolve_sender(sender) if sender else (None, ANY_PORT)
        try:
            self._socket = UdpSocket(
                (group or bind_address, port), sender=address, sender_port=sender_port,
                group=group or None, interface=bind_address, receive_buffer=receive_buffer)
        except OverflowError:
            raise LinkError(f'port {port}: expected 1 to 65535') from None
        self.where = f'UDP {group or bind_address or "any address"}:{self._socket.local[1]}'
        self.destination = (group or bind_address or '127.0.0.1', port)
        # Linux doubles the requested size, and reports the actual one.
        self.granted = self._socket.receive_buffer // 2
        self._sender = sender
        self._asked = receive_buffer
        self._waiting: deque[Arrival] = deque()
        self._size = 0
        self._dropped = 0
        self._arrived = threading.Event()
        self._running = True
        self._lock = threading.Lock()
        self._closing = threading.Lock()
        self._thread = threading.Thread(target=self._receive, name='receiver', daemon=True)
        self._thread.start()

    def _receive(self) -> None:
        poller = select.poll()
        poller.register(self._socket.fileno(), select.POLLIN)
        while self._running:
            poller.poll(1000 * _TICK)
            self._socket.reopen(time.monotonic())
            self._drain()
        # What the kernel still has when it ends.
        self._drain()

    def _drain(self) -> None:
        for _ in range(_BURST):
            found = self._socket.receive()
            if found is None:
                return
            arrival = Arrival(found.data, found.stamp_ns, time.monotonic(), found.sender)
            with self._lock:
                if self._size + len(found.data) > _MOST_WAITING:
                    self._dropped += 1
                    continue
                self._size += len(found.data)
                self._waiting.append(arrival)
            self._arrived.set()

    def arrivals(self) -> Iterator[Arrival | None]:
        """Yield datagrams, and None ten times per second without any, until closed."""
        while True:
            with self._lock:
                found, self._waiting, self._size = self._waiting, deque(), 0
                self._arrived.clear()
            yield from found
            if not found:
                if not self._thread.is_alive() and not self._waiting:
                    return
                self._arrived.wait(_TICK)
                if not self._arrived.is_set():
                    yield None

    def problems(self) -> list[str]:
        """Return what was dropped on this computer."""
        counters = self._socket.counters
        found = []
        if self._dropped:
            found.append(f'dropped because writing cannot keep up: '
                         f'{counted(self._dropped, "datagram")}; '
                         'record fewer parameters, or to a faster disk')
        if counters.kernel_drops:
            found.append(
                f'the kernel dropped {counted(counters.kernel_drops, "datagram")}: its receive '
                f'buffer has {self.granted} bytes (asked for {self._asked}); allow more: '
                f'sysctl -w net.core.rmem_max={self._asked}')
        if counters.dropped:
            found.append(f'dropped {counted(counters.dropped, "datagram")} of others than the '
                         f'sender {self._sender}')
        return found

    def close(self) -> None:
        """Receive no more; what has arrived is still yielded."""
        self._running = False
        self._thread.join()
        with self._closing:
            if self._socket.fileno() >= 0:
                self._socket.close()


class Capture:
    """The datagrams of a capture that went to a port (0: all) and came from a sender."""

    def __init__(self, path: Path, port: int, sender: str) -> None:
        self.where = str(path)
        self._path = path
        self._port = port
        self._address: str | None = None
        self._sender_port = ANY_PORT
        if sender:
            self._address, self._sender_port = resolve_sender(sender)
        self._problems: list[str] = []
        self._cut = 0
        self._running = True

    def arrivals(self) -> Iterator[Arrival | None]:
        """Yield the datagrams. Raises CaptureError for a file that is none."""
        is_first = True
        with plain_files.open_regular(self._path) as stream:
            try:
                for found in read_datagrams(stream, stopped=lambda: not self._running):
                    is_first = False
                    if found.missing:
                        self._cut += 1
                    elif self._is_wanted(found.source, found.destination):
                        yield Arrival(
                            found.data, found.stamp_ns, found.stamp_ns / SECOND_NS, found.source)
            except CaptureError as error:
                if is_first:
                    raise
                self._problems.append(f'{self._path}: {error}; what is before it is read')

    def _is_wanted(self, source: Address, destination: Address) -> bool:
        return (
            self._port in (0, destination[1]) and self._address in (None, source[0])
            and self._sender_port in (ANY_PORT, source[1]))

    def problems(self) -> list[str]:
        """Return what is wrong with the file."""
        return [*self._problems, *([
            f'not whole in the capture: {counted(self._cut, "datagram")}; capture whole packets '
            '(tcpdump -s 0)'] if self._cut else [])]

    def close(self) -> None:
        """Stop reading."""
        self._running = False
