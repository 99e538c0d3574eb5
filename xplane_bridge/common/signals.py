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

"""End a process on SIGINT and SIGTERM while its main thread blocks in C code."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
import signal
import socket
import threading


@contextmanager
def calling_on_signal(callback: Callable[[], None], finish: bool = False) -> Iterator[None]:
    """
    Call ``callback`` once, in a separate thread, at the first SIGINT or SIGTERM while inside.

    Python's own handlers run only when the main thread is back in Python, which may never happen
    if the signal came just before it started to wait; and a blocked signal may still reach a
    thread that a library started before. The wake-up descriptor is notified immediately in any
    case. A second SIGINT is ignored: a terminal and launch both send one for the same Ctrl-C, and
    the reaction to the first must not be interrupted. SIGTERM after the first signal ends the
    process at once; with ``finish`` it is ignored too, for a process that ends on its own but only
    when it is done. Afterwards the previous handlers are restored, unless a signal came: then the
    process is about to end. Call from the main thread.
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
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            signal.signal(signal.SIGTERM, signal.SIG_DFL)

    def wait() -> None:
        with reader:
            if reader.recv(1):
                callback()
                # Further signals are written here as well, and need a reader.
                while reader.recv(1):
                    pass

    descriptor = signal.set_wakeup_fd(writer.fileno(), warn_on_full_buffer=False)
    handlers = {
        number: signal.signal(number, noted) for number in (signal.SIGINT, signal.SIGTERM)}
    threading.Thread(target=wait, name='signals', daemon=True).start()
    try:
        yield
    finally:
        signal.set_wakeup_fd(descriptor)
        if not noticed:
            for number, handler in handlers.items():
                signal.signal(number, handler)
        writer.close()


def call_on_signal(callback: Callable[[], None], finish: bool = False) -> None:
    """Apply calling_on_signal() for the rest of the process."""
    context = calling_on_signal(callback, finish)
    context.__enter__()
    # Ending it would restore the previous handlers.
    _KEPT.append(context)


_KEPT: list[object] = []
