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

"""Ending a process on SIGINT and SIGTERM while its main thread blocks in C code."""

from __future__ import annotations

from collections.abc import Callable
import signal
import socket
import threading


def call_on_signal(callback: Callable[[], None], finish: bool = False) -> None:
    """
    Call ``callback`` once, in a thread of its own, at the first SIGINT or SIGTERM.

    Python's own handlers run only when the main thread is back in Python, and a blocked signal
    may still reach a thread that a library started before; the wake-up descriptor hears of it at
    once in any case. A second signal has its default effect; with ``finish`` it has none, for a
    process that ends by itself but must not before it is done. Call from the main thread.
    """
    reader, writer = socket.socketpair()
    writer.setblocking(False)

    def noted(number: int, _: object) -> None:
        if not finish:
            signal.signal(signal.SIGINT, signal.default_int_handler)
            signal.signal(signal.SIGTERM, signal.SIG_DFL)

    signal.set_wakeup_fd(writer.fileno(), warn_on_full_buffer=False)
    signal.signal(signal.SIGINT, noted)
    signal.signal(signal.SIGTERM, noted)

    def wait() -> None:
        # The socket must outlive this function: the wake-up descriptor is its other end.
        with reader, writer:
            reader.recv(1)
            callback()
            threading.Event().wait()

    threading.Thread(target=wait, name='signals', daemon=True).start()
