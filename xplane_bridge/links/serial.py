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

"""Serial ports as a session uses them: real ones, pyserial's URLs, pseudo-terminals."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
import contextlib
from dataclasses import dataclass, replace
import errno
import math
import os
import select
import termios
import threading
import time
import tty
from typing import Any, Protocol

import serial

from xplane_bridge.links.loop import Session, SessionLoop
from xplane_bridge.links.udp import LinkError

_CHANNEL = 'serial'
# Bytes that are read before the session has its turn.
_READ_SIZE = 4096

# Seconds between attempts to open a port that is not there.
_FIRST_RETRY = 0.5
_LONGEST_RETRY = 5.0
# A port that has taken nothing for this long is stuck, and is opened anew; so is one for which
# this many bytes wait, for it takes them more slowly than they come: 6 s of 115,200 baud.
_WRITE_TIMEOUT = 1.0
_MOST_PENDING = 65536
# What close() waits for the last bytes to leave, and for a thread that waits for a peer.
_LAST_WRITE = 0.2
_LAST_WAIT = 0.5
_LONGEST_SLEEP = 60.0
# Ports without a file descriptor cannot be woken up: they are asked this often.
_POLL_PERIOD = 0.02
_PART = 1024
# Nothing tells when the last byte has left: the kernel is asked this often.
_DRAIN_STEP = 0.005

_PTY = 'pty:'


class SerialSession(Session, Protocol):
    """A conversation over one serial port, channel 'serial', that comes and goes."""

    def opened(self, now: float) -> None:
        """Take note that the port has been opened, or opened again: all before is lost."""

    def lost(self, now: float) -> None:
        """Take note that the port is gone."""


@dataclass(frozen=True, slots=True)
class PortChanged:
    """The port has been opened or lost, or the reason why it cannot be opened is another."""

    is_open: bool
    text: str


@dataclass(slots=True)
class SerialCounters:
    """
    What a link has seen: bytes received and sent, and how often its port was opened and lost.

    stuck counts the times that it was given up because it took no bytes, or too few.
    """

    received: int = 0
    sent: int = 0
    opened: int = 0
    lost: int = 0
    stuck: int = 0


class Port(ABC):
    """An open port. What goes wrong with it is an OSError."""

    # Where the other end finds it, or what it was opened as.
    path: str

    @property
    @abstractmethod
    def descriptor(self) -> int | None:
        """Return what tells poll() that bytes wait; None if there is nothing of the kind."""

    @abstractmethod
    def read(self) -> bytes:
        """Return bytes that wait; without a descriptor, wait for them a short while."""

    @abstractmethod
    def write(self, data: bytes) -> int:
        """Return how many bytes were taken; with a descriptor, never wait."""

    @abstractmethod
    def close(self, *, discard: bool) -> None:
        """Close the port; ``discard`` what it has not sent yet instead of waiting for it."""


class _DescriptorPort(Port):
    """A port of pyserial with a file descriptor: a real one, or socket://."""

    def __init__(self, device: Any) -> None:
        self.path = str(device.port)
        self._device = device
        self._descriptor = int(device.fileno())

    @property
    def descriptor(self) -> int | None:
        """Return the file descriptor."""
        return self._descriptor

    # pyserial's own write() spins while a full port is in non-blocking mode.

    def read(self) -> bytes:
        """Return bytes that wait."""
        data = os.read(self._descriptor, _READ_SIZE)
        if not data:
            raise OSError(errno.EIO, 'the other end hung up')
        return data

    def write(self, data: bytes) -> int:
        """Return how many bytes were taken."""
        try:
            return os.write(self._descriptor, data)
        except BlockingIOError:
            return 0

    def close(self, *, discard: bool) -> None:
        """
        Close the port.

        The kernel would wait up to 30 s for a device that takes nothing: what has not left
        after 0.2 s is dropped.
        """
        with contextlib.suppress(OSError, AttributeError, termios.error):
            end = time.monotonic() + (0.0 if discard else _LAST_WRITE)
            while self._device.out_waiting and time.monotonic() < end:
                time.sleep(_DRAIN_STEP)
        with contextlib.suppress(OSError, termios.error):
            if discard or self._is_full():
                self._device.reset_output_buffer()
        with contextlib.suppress(OSError):
            self._device.close()


    def _is_full(self) -> bool:
        """Tell whether bytes wait in the kernel; where that is not known, none does."""
        return bool(getattr(self._device, 'out_waiting', 0))


class _PolledPort(Port):
    """A port of pyserial without a file descriptor: loop:// or rfc2217://."""

    def __init__(self, device: Any) -> None:
        self.path = str(device.port)
        self._device = device

    @property
    def descriptor(self) -> int | None:
        """Return None."""
        return None

    def read(self) -> bytes:
        """Return bytes that come within the poll period."""
        data = self._device.read(1)
        more = min(self._device.in_waiting, _READ_SIZE) if data else 0
        return bytes(data + self._device.read(more) if more else data)

    def write(self, data: bytes) -> int:
        """Write a part that fits into the 4096 bytes of loop://, which we empty ourselves."""
        part = data[:_PART]
        self._device.write(part)
        return len(part)

    def close(self, *, discard: bool) -> None:
        """Close the port."""
        with contextlib.suppress(OSError):
            self._device.close()


class _PtyPort(Port):
    """
    Our end of a new pseudo-terminal; another program opens ``path``.

    Bytes that nobody reads are dropped, oldest first, as on a cable without a peer.
    """

    def __init__(self, link: str) -> None:
        self._master, self._slave = os.openpty()
        # We keep the other end open too, so that it may be closed and opened again.
        self.path = self._name = os.ttyname(self._slave)
        self._link = link
        try:
            tty.setraw(self._slave)
            os.set_blocking(self._master, False)
            if link:
                if os.path.islink(link):
                    os.unlink(link)
                os.symlink(self._name, link)
                self.path = link
        except OSError:
            self._close()
            raise

    @property
    def descriptor(self) -> int | None:
        """Return the file descriptor of our end."""
        return self._master

    def read(self) -> bytes:
        """Return bytes that wait."""
        return os.read(self._master, _READ_SIZE)

    def write(self, data: bytes) -> int:
        """Return how many bytes were taken."""
        with contextlib.suppress(BlockingIOError):
            return os.write(self._master, data)
        termios.tcflush(self._slave, termios.TCIFLUSH)
        with contextlib.suppress(BlockingIOError):
            os.write(self._master, data)
        return len(data)

    def close(self, *, discard: bool) -> None:
        """Close both ends."""
        with contextlib.suppress(OSError):
            # Another program may have put its own link there since.
            if self._link and os.readlink(self._link) == self._name:
                os.unlink(self._link)
        self._close()

    def _close(self) -> None:
        os.close(self._slave)
        os.close(self._master)


def open_port(name: str, baud: int) -> Port:
    """
    Open a port for ourselves alone: 8 data bits, no parity, 1 stop bit, no flow control.

    ``name`` is a device (/dev/serial/by-id/... keeps its name when others come and go), a URL of
    pyserial (loop://, socket://host:port, rfc2217://host:port), or ``pty:`` for a new
    pseudo-terminal, ``pty:/some/link`` with a symbolic link to it.
    Raise LinkError with a sentence if it cannot be opened, ValueError for a name or a baud rate
    that can never be right.
    """
    try:
        if name.startswith(_PTY):
            return _PtyPort(name.removeprefix(_PTY))
        device = _device(name, baud)
        device.open()
    except (OSError, termios.error) as error:
        raise LinkError(_complaint(name, error)) from error
    try:
        device.fileno()
    except OSError:
        # io.UnsupportedOperation, which such a port raises, is one.
        return _PolledPort(device)
    return _DescriptorPort(device)


def check_port(name: str, baud: int) -> None:
    """Raise ValueError with a sentence for a name or a baud rate that can never be right."""
    if not name:
        raise ValueError('the serial port has no name: give a device such as /dev/ttyUSB0')
    if not name.startswith(_PTY):
        _device(name, baud)


def _device(name: str, baud: int) -> Any:
    """Return a port of pyserial that is not open yet."""
    if baud <= 0:
        raise ValueError(f'baud rate {baud}: must be above 0, KerbalSimpit has 115200')
    # rfc2217:// knows no write timeout; descriptors are written to without one.
    write_timeout = None if name.startswith('rfc2217:') else _WRITE_TIMEOUT
    return serial.serial_for_url(
        name, do_not_open=True, baudrate=baud, timeout=_POLL_PERIOD,
        write_timeout=write_timeout, exclusive=True)


def _complaint(name: str, error: Exception) -> str:
    """Say why a port cannot be opened, and what to do about it."""
    number = getattr(error, 'errno', None) or (error.args[0] if error.args else None)
    if number == errno.ENOENT:
        return f'{name}: no such port; is the adapter plugged in, is the name right?'
    if number in (errno.EBUSY, errno.EAGAIN):
        return f'{name}: busy, another program has it'
    if number in (errno.EACCES, errno.EPERM):
        return f"{name}: no permission; add the user to the group 'dialout' and log in again"
    if 'Could not configure port' in str(error) or number in (errno.ENOTTY, errno.EISDIR):
        return f'{name}: not a serial port ({error})'
    return f'{name}: {error}'


class SerialLoop(SessionLoop):
    """
    Run a session over one serial port: a thread that reads, polls and hands out events.

    ``port`` and ``baud`` are those of open_port(). A port that is missing, busy or unplugged is
    tried again after 0.5 s, then more and more seldom up to 5 s; the session is told by opened()
    and lost(). ``on_event(event, stamp_ns)`` runs in the loop's thread, outside the lock, with the
    time at which the bytes that completed the event were read, or the present time for an event
    that time has caused; PortChanged comes the same way. What is left at the end, close() hands
    out itself. ``on_failure(error)`` hears what went wrong in there or in the session's receive():
    that ends nothing.

    Others who call the session hold ``lock`` meanwhile, or use ``call``: neither waits for the
    port. Raise ValueError for a port or a baud rate that can never be right.
    """

    def __init__(
        self,
        session: SerialSession,
        port: str,
        baud: int,
        on_event: Callable[[Any, int], None],
        on_failure: Callable[[Exception], None],
        *,
        name: str = 'serial',
    ) -> None:
        check_port(port, baud)
        super().__init__(session, on_event, on_failure, name)
        self.status = PortChanged(False, f'{port}: not opened yet')
        self._session: SerialSession = session
        self._name = port
        self._baud = baud
        self._counters = SerialCounters()
        self._port: Port | None = None
        self._failed: OSError | None = None
        self._pending = bytearray()
        self._moved_at = 0.0
        self._retry = _FIRST_RETRY
        self._retry_at = 0.0
        # Whether the thread is in a call that lasts as long as a peer makes it last.
        self._is_at_peer = False

    @property
    def is_open(self) -> bool:
        """Tell whether the port is open."""
        return self.status.is_open

    @property
    def path(self) -> str:
        """Return where the other end finds the port: with 'pty:' known once it is open."""
        with self.lock:
            return self._name if self._port is None else self._port.path

    def counters(self) -> SerialCounters:
        """Return a copy of the counters."""
        with self.lock:
            return replace(self._counters)

    # The lock is held in these.

    def _transmit(self, now: float) -> Sequence[Exception]:
        """Send what the session wants sent, as far as the port takes it."""
        outgoing = b''.join(data for _, data in self._session.poll(now) if data is not None)
        if self._port is None:
            return ()
        if not self._pending:
            self._moved_at = now
        self._pending += outgoing
        if len(self._pending) > _MOST_PENDING and self._failed is None:
            self._counters.stuck += 1
            self._failed = OSError(
                errno.ENOBUFS, f'stuck: more than {_MOST_PENDING} bytes wait for it')
        if self._port.descriptor is not None:
            self._flush(self._port, now)
        # What goes wrong with the port ends it, in the loop's thread.
        return ()

    def _has_work(self) -> bool:
        return super()._has_work() or bool(self._pending) or self._failed is not None

    def _disconnect(self) -> None:
        self._send_last()
        if self._port is not None:
            self._port.close(discard=bool(self._pending))
            self._port = None
        self.status = PortChanged(False, f'{self._name}: closed')

    def _flush(self, port: Port, now: float) -> None:
        """Write what is pending to a port that never waits."""
        if not self._pending or self._failed is not None:
            return
        try:
            size = port.write(bytes(self._pending))
        except OSError as error:
            self._failed = error
            return
        self._count_sent(size, now)

    def _count_sent(self, size: int, now: float) -> None:
        if size:
            del self._pending[:size]
            self._counters.sent += size
            self._moved_at = now

    def _send_last(self) -> None:
        """Wait a short while until the last bytes have left."""
        port = self._port
        if port is None or self._thread.is_alive():
            return
        if port.descriptor is not None:
            self._write_last(port)
            return
        # Such a port may keep a write waiting, until it is closed.
        writer = threading.Thread(target=self._write_last, args=(port,), daemon=True)
        writer.start()
        writer.join(_LAST_WRITE)

    def _write_last(self, port: Port) -> None:
        end = time.monotonic() + _LAST_WRITE
        try:
            while self._pending and self._failed is None and time.monotonic() < end:
                if port.descriptor is not None:
                    poller = select.poll()
                    poller.register(port.descriptor, select.POLLOUT)
                    poller.poll(_LAST_WRITE * 1000.0)
                self._count_sent(port.write(bytes(self._pending)), end)
        except OSError as error:
            self._failed = error

    def _join(self) -> None:
        """
        Wait until the thread has ended, but not for a peer.

        One that is opening a port closes it when that has come to an end; to one that writes,
        closing the port is the end.
        """
        self._thread.join(_LAST_WAIT)
        if not self._is_at_peer:
            super()._join()

    # These run in the loop's thread.

    def _run(self) -> None:
        while self._running:
            if self._port is None and time.monotonic() >= self._retry_at:
                self._open()
            with self.lock:
                if not self._running:
                    return
                now = time.monotonic()
                self._transmit(now)
                events = self._take_events()
                until = self._session.next_deadline()
                self._sleeping_until = math.inf if until is None else until
                port = self._port
                pending = bool(self._pending)
                failed = self._failed
                if pending and failed is None and now >= self._moved_at + _WRITE_TIMEOUT:
                    self._counters.stuck += 1
                    failed = OSError(errno.ETIMEDOUT, 'stuck: it takes no more bytes')
            self._hand_out(events, time.time_ns())
            if port is not None and failed is None:
                failed = self._wait_and_read(port, pending)
            elif port is None:
                self._sleep(min(self._sleeping_until, self._retry_at))
            if failed is not None and self._running:
                self._lose(failed)

    def _open(self) -> None:
        """Try to open the port, and tell the session if that works."""
        try:
            with self._at_peer():
                port = open_port(self._name, self._baud)
        except Exception as error:
            # Beside LinkError, pyserial's URL handlers raise one thing and another.
            if not self._running:
                return
            self._retry_at = time.monotonic() + self._retry
            self._retry = min(_LONGEST_RETRY, 2.0 * self._retry)
            self._say(False, str(error))
            return
        self._retry = _FIRST_RETRY
        with self.lock:
            if not self._running:
                port.close(discard=True)
                return
            self._port = port
            self._failed = None
            self._pending.clear()
            self._counters.opened += 1
            self._session.opened(time.monotonic())
        self._say(True, f'{port.path}: open')

    @contextlib.contextmanager
    def _at_peer(self) -> Iterator[None]:
        """Mark what lasts as long as a peer makes it last."""
        self._is_at_peer = True
        try:
            yield
        finally:
            self._is_at_peer = False

    def _lose(self, error: OSError) -> None:
        """Close a port that has failed, and tell the session."""
        with self.lock:
            port, self._port = self._port, None
            self._pending.clear()
            self._failed = None
            self._counters.lost += 1
            self._session.lost(time.monotonic())
        if port is not None:
            port.close(discard=True)
        self._retry_at = time.monotonic() + self._retry
        self._say(False, f'{self._name}: lost ({error.strerror or error})')

    def _say(self, is_open: bool, text: str) -> None:
        status = PortChanged(is_open, text)
        if status != self.status:
            self.status = status
            self._hand_out([status], time.time_ns())

    def _wait_and_read(self, port: Port, pending: bool) -> OSError | None:
        """Wait for bytes or a deadline, and hand bytes to the session; return what failed."""
        until = self._sleeping_until
        descriptor = port.descriptor
        try:
            if descriptor is None:
                with self.lock:
                    outgoing = bytes(self._pending)
                if outgoing:
                    with self._at_peer():
                        size = port.write(outgoing)
                    with self.lock:
                        self._count_sent(size, time.monotonic())
            else:
                wanted = select.POLLIN | (select.POLLOUT if pending else 0)
                if pending:
                    until = min(until, self._moved_at + _WRITE_TIMEOUT)
                if not self._sleep(until, descriptor, wanted) & ~select.POLLOUT:
                    return None
            data = port.read()
        except BlockingIOError:
            return None
        except OSError as error:
            return error
        stamp_ns = time.time_ns()
        if data:
            self._take(data, stamp_ns)
        return None

    def _take(self, data: bytes, stamp_ns: int) -> None:
        failures: list[Exception] = []
        with self.lock:
            if not self._running:
                return
            self._counters.received += len(data)
            events = self._receive(_CHANNEL, data, None, failures)
        self._hand_out(events, stamp_ns, failures)

    def _sleep(self, until: float, descriptor: int | None = None, wanted: int = 0) -> int:
        """Wait until a time, a wake-up or the descriptor; return what the latter is ready for."""
        poller = select.poll()
        poller.register(self._wake, select.POLLIN)
        if descriptor is not None:
            poller.register(descriptor, wanted)
        timeout = min(max(until - time.monotonic(), 0.0), _LONGEST_SLEEP)
        # Rounded up, or the last part of a millisecond is spun away.
        ready = dict(poller.poll(math.ceil(timeout * 1000.0)))
        if self._wake in ready:
            os.eventfd_read(self._wake)
        return 0 if descriptor is None else ready.get(descriptor, 0)
