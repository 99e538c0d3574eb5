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

"""Serial ports: real ones, pyserial URLs, pseudo-terminals; failures are OSErrors."""

from __future__ import annotations

from abc import ABC, abstractmethod
import contextlib
import errno
import os
from pathlib import Path
import socket
import stat
import termios
import time
import tty
from typing import Any
from urllib.parse import urlsplit

from xplane_bridge.bridges.links.udp import LinkError
from xplane_bridge.common.optional import missing

try:
    import serial
except ImportError as _error:
    raise missing('a serial port', 'pyserial', extra='fly') from _error

# Bytes to read before the session gets its turn.
_READ_SIZE = 4096
# A port that has accepted nothing for this long is stuck.
WRITE_TIMEOUT = 1.0
# How long close() waits for the last bytes to be sent.
LAST_WRITE = 0.2
# Ports without a file descriptor cannot be woken up: they are polled this often.
_POLL_PERIOD = 0.02
_PART = 1024
# Nothing signals that the last byte has been sent: the kernel is polled this often.
_DRAIN_STEP = 0.005

_PTY = 'pty:'
_NETWORK = ('socket', 'rfc2217')
# If the computer at the other end is switched off, TCP by default times out after 15 minutes:
# seconds of silence until it is asked, between questions, and until the connection is given up.
_IDLE = 3
_INTERVAL = 2
_GIVEN_UP = 10


class OtherEndClosedError(OSError):
    """No program has our pseudo-terminal open any more; it stays there for the next one."""


class Port(ABC):
    """An open port. Its failures are OSErrors."""

    # Where the other end finds it, or the name it was opened with.
    path: str

    @property
    @abstractmethod
    def descriptor(self) -> int | None:
        """Return a descriptor for poll() to wait for bytes; None if there is none."""

    @abstractmethod
    def read(self) -> bytes:
        """Return pending bytes; without a descriptor, wait for them briefly."""

    @abstractmethod
    def write(self, data: bytes) -> int:
        """Return how many bytes were accepted; with a descriptor, never wait."""

    @abstractmethod
    def close(self, *, discard: bool) -> None:
        """Close the port; ``discard`` unsent bytes instead of waiting for them."""


class _DescriptorPort(Port):
    """A pyserial port with a file descriptor: a real one, or socket://."""

    def __init__(self, device: Any) -> None:
        self.path = str(device.port)
        self._device = device
        self._descriptor = int(device.fileno())

    @property
    def descriptor(self) -> int | None:
        """Return the file descriptor."""
        return self._descriptor

    # pyserial's own write() busy-waits while a non-blocking port is full.

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

        The kernel would wait up to 30 s for a device that accepts nothing: bytes not sent
        after 0.2 s are dropped.
        """
        with contextlib.suppress(OSError, AttributeError, termios.error):
            end = time.monotonic() + (0.0 if discard else LAST_WRITE)
            while self._device.out_waiting and time.monotonic() < end:
                time.sleep(_DRAIN_STEP)
        with contextlib.suppress(OSError, termios.error):
            if discard or self._is_full():
                self._device.reset_output_buffer()
        with contextlib.suppress(OSError):
            self._device.close()

    def _is_full(self) -> bool:
        """Return whether bytes are pending in the kernel; False if unknown."""
        return bool(getattr(self._device, 'out_waiting', 0))


class _PolledPort(Port):
    """A pyserial port without a file descriptor: loop:// or rfc2217://."""

    def __init__(self, device: Any) -> None:
        self.path = str(device.port)
        self._device = device

    @property
    def descriptor(self) -> int | None:
        """Return None."""
        return None

    def read(self) -> bytes:
        """Return bytes that arrive within the poll period."""
        try:
            data = self._device.read(1)
        except serial.SerialException as error:
            # "reader thread died", says pyserial.
            raise OSError(errno.EIO, 'the other end hung up') from error
        more = min(self._device.in_waiting, _READ_SIZE) if data else 0
        return bytes(data + self._device.read(more) if more else data)

    def write(self, data: bytes) -> int:
        """Write at most what fits into the 4096 bytes of loop://, which we drain ourselves."""
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

    Unread bytes are dropped, oldest first, as on a cable without a peer. read() raises
    OtherEndClosedError, once, when a program that has written is gone, however it ended.
    """

    def __init__(self, link: str) -> None:
        # While nobody has the other end open we do, or each read would fail. The kernel tells that
        # it was closed only if nobody has it open: so not while another program does.
        self._master, slave = os.openpty()
        self._other: int | None = slave
        self.path = self._name = os.ttyname(slave)
        self._link = link
        try:
            tty.setraw(slave)
            os.set_blocking(self._master, False)
            if link:
                _remove_stale(link)
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
        try:
            data = os.read(self._master, _READ_SIZE)
        except OSError as error:
            if error.errno != errno.EIO:
                raise
            self._other = self._open_other()
            tty.setraw(self._other)
            # They were for the program that is gone.
            termios.tcflush(self._other, termios.TCIFLUSH)
            raise OtherEndClosedError(errno.EIO, 'the other end hung up') from error
        if self._other is not None:
            # Whoever wrote them has it open, or is gone already, which the next read tells.
            os.close(self._other)
            self._other = None
        return data

    # May be called by another thread than read().
    def write(self, data: bytes) -> int:
        """Return how many bytes were taken."""
        with contextlib.suppress(BlockingIOError):
            return os.write(self._master, data)
        with contextlib.suppress(OSError):
            other = self._open_other()
            termios.tcflush(other, termios.TCIFLUSH)
            os.close(other)
            os.write(self._master, data)
        return len(data)

    def _open_other(self) -> int:
        return os.open(self._name, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK)

    def close(self, *, discard: bool) -> None:
        """Close both ends."""
        with contextlib.suppress(OSError):
            # Another program may have put its own link there meanwhile.
            if self._link and os.readlink(self._link) == self._name:
                os.unlink(self._link)
        self._close()

    def _close(self) -> None:
        if self._other is not None:
            os.close(self._other)
        os.close(self._master)


def _remove_stale(link: str) -> None:
    """
    Remove a link that a program left behind when it was killed.

    Raises LinkError if the link is that of a pseudo-terminal which is still there.
    """
    if not os.path.islink(link):
        return
    try:
        terminal = os.stat(link)
    except OSError:
        terminal = None
    # Numbers are used again: a terminal that is younger than the link has nothing to do with it.
    if (terminal is not None and stat.S_ISCHR(terminal.st_mode)
            and terminal.st_ctime_ns <= os.lstat(link).st_mtime_ns):
        raise LinkError(f'{_PTY}{link}: busy, {_holder(os.readlink(link))} has it open; choose '
                        'another path, or end that')
    os.unlink(link)


def _holder(terminal: str) -> str:
    """Return in words which process created a pseudo-terminal, as far as that may be known."""
    index = f'tty-index:\t{os.path.basename(terminal)}\n'
    for process in Path('/proc').glob('[0-9]*'):
        with contextlib.suppress(OSError):
            for descriptor in (process / 'fd').iterdir():
                if (os.readlink(descriptor).endswith('/ptmx')
                        and index in (process / 'fdinfo' / descriptor.name).read_text()):
                    return f'process {process.name}'
    return 'another program'


def open_port(name: str, baud: int) -> Port:
    """
    Open a port exclusively: 8 data bits, no parity, 1 stop bit, no flow control.

    ``name`` is a device (/dev/serial/by-id/... keeps its name when others come and go), a pyserial
    URL (loop://, socket://host:port, rfc2217://host:port), or ``pty:`` for a new
    pseudo-terminal, ``pty:/some/link`` with a symbolic link to it.
    Raises LinkError if it cannot be opened or is in use, ValueError if the name or the baud rate
    is invalid.
    """
    try:
        if name.startswith(_PTY):
            return _PtyPort(name.removeprefix(_PTY))
        device = _device(name, baud)
        device.open()
    except LinkError:
        raise
    except (OSError, termios.error) as error:
        raise LinkError(_problem(name, error)) from error
    connection = getattr(device, '_socket', None)
    if connection is not None:
        _watch(connection)
    try:
        device.fileno()
    except OSError:
        # io.UnsupportedOperation, which such a port raises, is an OSError.
        return _PolledPort(device)
    return _DescriptorPort(device)


def check_port(name: str, baud: int) -> None:
    """Raise ValueError if the name or the baud rate is invalid."""
    if not name:
        raise ValueError('no serial port given: expected a device such as /dev/ttyUSB0')
    if not name.startswith(_PTY):
        _device(name, baud)


def _watch(connection: socket.socket) -> None:
    """Send at once, and notice within seconds that the other computer is gone."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option, value in (
        (socket.TCP_NODELAY, 1), (socket.TCP_KEEPIDLE, _IDLE), (socket.TCP_KEEPINTVL, _INTERVAL),
        (socket.TCP_USER_TIMEOUT, 1000 * _GIVEN_UP),
    ):
        connection.setsockopt(socket.IPPROTO_TCP, option, value)


def _is_network(name: str) -> bool:
    return urlsplit(name).scheme in _NETWORK


def _check_address(name: str) -> None:
    """Raise ValueError if a URL has no host or no port."""
    parts = urlsplit(name)
    try:
        valid = bool(parts.hostname and parts.port)
    except ValueError:
        valid = False
    if not valid:
        raise ValueError(
            f'serial port {name}: expected {parts.scheme}://host:port with a port of 1..65535')


def _device(name: str, baud: int) -> Any:
    """Return a pyserial port that is not open yet."""
    if baud <= 0:
        raise ValueError(f'baud rate {baud}: must be above 0, Kerbal Simpit uses 115200')
    if _is_network(name):
        _check_address(name)
    # rfc2217:// has no write timeout; descriptors are written to without one.
    write_timeout = None if name.startswith('rfc2217:') else WRITE_TIMEOUT
    return serial.serial_for_url(
        name, do_not_open=True, baudrate=baud, timeout=_POLL_PERIOD,
        write_timeout=write_timeout, exclusive=True)


def _problem(name: str, error: Exception) -> str:
    """Return why a port cannot be opened, and what to do about it."""
    number = getattr(error, 'errno', None) or (error.args[0] if error.args else None)
    if name.startswith(_PTY) and number in (
            errno.ENOENT, errno.ENOTDIR, errno.EACCES, errno.EPERM):
        why = os.strerror(number)
        return f'{name}: no link can be made there ({why}); is its folder right?'
    if number == errno.ENOENT:
        return f'{name}: no such port; is the adapter plugged in, is the name right?'
    if number in (errno.EBUSY, errno.EAGAIN):
        return f'{name}: busy, another program has it open'
    if number in (errno.EACCES, errno.EPERM):
        return f"{name}: no permission; add the user to the group 'dialout' and log in again"
    if 'Could not configure port' in str(error) or number in (errno.ENOTTY, errno.EISDIR):
        return f'{name}: not a serial port ({error})'
    if _is_network(name):
        why = str(error).removeprefix(f'Could not open port {name}: ')
        return f'{name}: {why}; is its server running, does a firewall let this computer in?'
    return f'{name}: {error}'
