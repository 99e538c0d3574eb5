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

"""SIGINT and SIGTERM: where the main thread blocks in C code, or something is left to do."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
import signal
import socket
import threading
import time

# After SIGTERM the process ends within 5 s: launch, which sends it, kills after that time. On a
# machine that is six times overloaded Python itself needs more than a second for its end.
_LIMIT = 3.2
# Signals within that time (s) are of the same Ctrl-C, or of the same kill of a process group.
_SAME = 1.0


@contextmanager
def calling_on_signal(
    callback: Callable[[], None], finish: bool = False, again: Callable[[], None] | None = None,
    asked: Callable[[], None] | None = None,
) -> Iterator[None]:
    """
    Call ``callback`` once, in a separate thread, at the first SIGINT or SIGTERM while inside.

    Python's own handlers run only when the main thread is back in Python, which may never happen
    if the signal came just before it started to wait; and a blocked signal may still reach a
    thread that a library started before. The wake-up descriptor is notified immediately in any
    case. A second SIGINT is ignored: a terminal and launch both send one for the same Ctrl-C, and
    the reaction to the first must not be interrupted. SIGTERM after the first signal ends the
    process at once; with ``finish`` it is ignored too, for a process that ends on its own but only
    when it is done. ``again`` is called if somebody insists more than a second after the first, by
    two more SIGINT (launch sends one when another process has ended) or, with ``finish``, by
    SIGTERM. Afterwards the previous handlers are restored, unless a signal came: then the process
    is about to end. ``asked``, if given, is called in that thread for each SIGUSR1 before that.
    Call from the main thread.
    """
    reader, writer = socket.socketpair()
    writer.setblocking(False)

    noticed = False

    def noted(number: int, _: object) -> None:
        nonlocal noticed
        noticed = True
        # With ``finish`` this stays: Python reports an error if a signal that is pending is set to
        # be ignored.
        if not finish:
            signal.signal(signal.SIGINT, signal.SIG_IGN if again is None else noted)
            signal.signal(signal.SIGTERM, signal.SIG_DFL)

    descriptor = signal.set_wakeup_fd(writer.fileno(), warn_on_full_buffer=False)
    handlers = {
        number: signal.signal(number, noted) for number in (signal.SIGINT, signal.SIGTERM)}
    if asked is not None:
        # Only the descriptor is needed; it does not become the default again, which is to die.
        signal.signal(signal.SIGUSR1, lambda *_: None)
    threading.Thread(target=_listen, args=(reader, callback, again, asked), name='signals',
                     daemon=True).start()
    try:
        yield
    finally:
        signal.set_wakeup_fd(descriptor)
        if not noticed:
            for number, handler in handlers.items():
                signal.signal(number, handler)
        writer.close()


def _listen(
    reader: socket.socket, callback: Callable[[], None], again: Callable[[], None] | None,
    asked: Callable[[], None] | None,
) -> None:
    """React to the numbers of signals that are written to the other end of a socket."""
    with reader:
        while (number := reader.recv(1)) and number[0] == signal.SIGUSR1:
            assert asked is not None
            asked()
        if not number:
            return
        insists_from = time.monotonic() + _SAME
        callback()
        # Further signals are written here as well, and need a reader.
        interrupts = 0
        while number := reader.recv(1):
            if again is not None and time.monotonic() > insists_from:
                interrupts += number[0] == signal.SIGINT
                if number[0] == signal.SIGTERM or interrupts > 1:
                    again()


def call_on_signal(
    callback: Callable[[], None], finish: bool = False, again: Callable[[], None] | None = None,
    asked: Callable[[], None] | None = None,
) -> None:
    """Apply calling_on_signal() for the rest of the process."""
    context = calling_on_signal(callback, finish, again, asked)
    context.__enter__()
    # Ending it would restore the previous handlers.
    _KEPT.append(context)


_KEPT: list[object] = []


class Interrupts:
    """
    Turn SIGINT and SIGTERM into KeyboardInterrupt where that is allowed, and only one of them.

    One Ctrl-C may be several signals, from a terminal and from launch, and the reaction to the
    first must be completed. SIGTERM besides limits what is still to be done: after some seconds it
    interrupts that too. Create it in the main thread, shortly before the process ends.
    """

    def __init__(self) -> None:
        self._allowed: frozenset[int] = frozenset()
        self._limit: threading.Timer | None = None
        self._over = False
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._on_signal)

    @contextmanager
    def allowed(self, by_sigterm: bool = True) -> Iterator[None]:
        """Let the next signal raise KeyboardInterrupt inside; SIGTERM possibly at the limit."""
        if self._over:
            raise KeyboardInterrupt
        self._allowed = frozenset(
            (signal.SIGINT, signal.SIGTERM) if by_sigterm else (signal.SIGINT,))
        try:
            yield
        finally:
            self._allowed = frozenset()

    def _on_signal(self, number: int, _: object) -> None:
        if number == signal.SIGTERM and self._limit is None:
            self._limit = threading.Timer(_LIMIT, self._end)
            self._limit.daemon = True
            self._limit.start()
        if number in self._allowed or (self._allowed and self._over):
            self._allowed = frozenset()
            raise KeyboardInterrupt

    def _end(self) -> None:
        self._over = True
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGTERM)
