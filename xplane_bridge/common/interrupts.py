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

"""SIGINT and SIGTERM for a command that has something left to do once it is interrupted."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
import signal
import threading

# After SIGTERM the process ends within 5 s: launch, which sends it, kills after that time. On a
# machine that is six times overloaded Python itself needs more than a second for its end.
_LIMIT = 3.2


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
            signal.signal(number, self._hear)

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

    def _hear(self, number: int, _: object) -> None:
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
