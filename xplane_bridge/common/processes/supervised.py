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

"""Processes that never outlive this one, however it ends: each has a supervisor."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
import math
import multiprocessing
import multiprocessing.connection
import os
import signal
import socket
import subprocess
import sys
import threading
from typing import Any, IO

from xplane_bridge.common.processes import supervisor
from xplane_bridge.common.processes.fork_server import Forked, ForkServer
from xplane_bridge.common.processes.supervisor import ABANDONED, HUNG, PATIENCE

__all__ = ['ABANDONED', 'end_with_parent', 'HUNG', 'PATIENCE', 'Supervised']

# Exit codes of a command that a signal has ended: 128 + its number.
_BY_SIGNAL = 128


class Supervised:
    """
    A command with a supervisor, which ends it and all that it has started.

    That happens when the command ends, after ``limit`` (s), with end(), or when this process dies.
    Interrupted, it has ``patience`` (s) to end, or what end() says. The output, which includes the
    errors, goes to ``output``: a file or subprocess.PIPE. ``descriptors`` are kept open as long as
    anything of it may run. A Python program is forked by ``forks`` if that serves it. OSError if
    there is no room for another process.
    """

    def __init__(
        self, command: Sequence[str], output: IO[Any] | int, limit: float = math.inf,
        descriptors: Sequence[int] = (), environment: Mapping[str, str] | None = None,
        patience: float = PATIENCE, forks: ForkServer | None = None,
    ) -> None:
        self._line, other = socket.socketpair()
        arguments = [str(limit), str(patience), *command]
        self._supervisor: subprocess.Popen[str] | Forked
        with other:
            if forks is not None and forks.serves(command[0], environment or os.environ):
                self._supervisor = forks.start(
                    arguments, other.fileno(), output, descriptors, environment)
            else:
                self._supervisor = subprocess.Popen(
                    [sys.executable, '-I', '-S', supervisor.__file__, *arguments],
                    stdin=other.fileno(), stdout=output, stderr=subprocess.STDOUT, text=True,
                    pass_fds=descriptors, env=environment, start_new_session=True)
        self.stdout = self._supervisor.stdout
        self._pid = 0

    @property
    def pid(self) -> int:
        """Return the command's process id, which is that of its process group too."""
        if not self._pid:
            self._pid = int(self._line.recv(64) or 0)
        return self._pid

    def poll(self) -> int | None:
        """Return the exit code once all of it has ended, negative for a signal; otherwise None."""
        code = self._supervisor.poll()
        if code is not None and _BY_SIGNAL < code <= _BY_SIGNAL + signal.NSIG:
            return _BY_SIGNAL - code
        return code

    def wait(self, timeout: float | None = None) -> int | None:
        """Wait until all of it has ended; return the exit code, None after ``timeout`` (s)."""
        with suppress(subprocess.TimeoutExpired):
            self._supervisor.wait(timeout)
        return self.poll()

    def freeze(self, on: bool) -> None:
        """Stop the command and its process group, or resume them."""
        if self.poll() is None and self.pid:
            with suppress(ProcessLookupError):
                os.killpg(self.pid, signal.SIGSTOP if on else signal.SIGCONT)

    def send(self, number: int) -> None:
        """Send a signal to the command, and to nothing that it has started."""
        if self.poll() is None and self.pid:
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def end(self, patience: float) -> None:
        """Interrupt it, and kill what is left after ``patience`` (s), without waiting for that."""
        with self._line, suppress(OSError):
            self._line.send(f'{patience:.3f}'.encode())


def end_with_parent() -> None:
    """Let this worker of multiprocessing end with the process that started it, however it ends."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    sentinel = parent.sentinel

    def follow() -> None:
        multiprocessing.connection.wait([sentinel])
        os._exit(1)

    threading.Thread(target=follow, daemon=True).start()
