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

"""The processes of an experiment: started together, ended together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
import os
import signal
import subprocess
import threading
import time
from typing import TextIO

from ament_index_python.packages import get_package_prefix

from xplane_bridge.common.supervised import Supervised

_PACKAGE = 'xplane_bridge'
# For all of them together: a real simulator that loads may need 3 s to show what is given back.
_PATIENCE = 4.0
# A recorder's last lines are copied after its end.
_COPYING = 1.0
# What has been published must be in its file before the publishers end. On a busy machine that
# takes longer than the 0.3 s in which nothing more comes: record allows itself some 19 s, and has
# to complete the file then.
RECORDER_PATIENCE = 40.0


def executable_path(name: str) -> str:
    """
    Return the path of an executable of this package, as ``ros2 run`` finds it.

    PATH is not used: in a sourced workspace the executables are not on it. Raises
    FileNotFoundError if the package is not sourced, or has no such executable.
    """
    try:
        prefix = get_package_prefix(_PACKAGE)
    except (LookupError, OSError) as error:
        raise FileNotFoundError(
            f'{name} is not found: build {_PACKAGE} and source its install space') from error
    path = os.path.join(prefix, 'lib', _PACKAGE, name)
    if not os.access(path, os.X_OK) or os.path.isdir(path):
        raise FileNotFoundError(
            f'{name} is not found in {os.path.dirname(path)}: build {_PACKAGE} again')
    return path


class Processes:
    """
    Run executables of this package, their output in a log file.

    Use as a context manager: leaving it ends all of them, the newest first. They also end if this
    process is killed.
    """

    def __init__(self, log: str) -> None:
        self._log_path = log
        self._log: TextIO | None = None
        self._running: list[tuple[str, Supervised]] = []
        self._patience: dict[Supervised, float] = {}
        self._copiers: list[threading.Thread] = []
        self._groups: list[Supervised] = []

    def __enter__(self) -> Processes:
        self._log = open(self._log_path, 'w', encoding='utf-8')
        return self

    def __exit__(self, *_: object) -> None:
        # Whatever else comes, each gets its time to end.
        with _without_interrupts():
            self._end()

    def _end(self) -> None:
        """
        Interrupt one after the other; kill what is left when the time for all of them is over.

        One that takes long delays the others by its share of that time; one with a patience of its
        own, by that.
        """
        deadline = time.monotonic() + _PATIENCE
        waiting = [*self._groups, *(process for _, process in self._running)]
        left = len(waiting)
        for process in reversed(waiting):
            if patience := self._patience.get(process, 0.0):
                began = time.monotonic()
                process.end(patience)
                process.wait(patience)
                deadline += time.monotonic() - began
                left -= 1
                continue
            remaining = max(deadline - time.monotonic(), 0.0)
            process.end(remaining)
            process.wait(remaining / left)
            left -= 1
        for process in waiting:
            process.wait()
        for copier in self._copiers:
            copier.join(_COPYING)
        if self._log is not None:
            self._log.close()

    def start(
        self, executable: str, arguments: Sequence[str], patience: float = 0.0
    ) -> Supervised:
        """
        Start an executable of this package, or any by its absolute path.

        It gets its own process group: Ctrl-C reaches it only through __exit__, in order. With
        ``patience`` (s) it has that long to end, and nothing else is ended before it has. Raises
        FileNotFoundError if it is not found.
        """
        assert self._log is not None
        return self._start(executable, arguments, self._log, patience)

    def start_and_wait(
        self, executable: str, arguments: Sequence[str], patience: float = 0.0,
        timeout: float = 20.0,
    ) -> str:
        """Start an executable and return its first line; RuntimeError if it ends without one."""
        process = self._start(executable, arguments, subprocess.PIPE, patience)
        assert process.stdout is not None
        # A process that hangs at startup must not hang this one.
        watchdog = threading.Timer(timeout, process.end, [0.0])
        watchdog.start()
        try:
            line = process.stdout.readline().strip()
        finally:
            watchdog.cancel()
        if not line or process.poll() not in (None, 0):
            raise RuntimeError(f'{executable} did not start: {line or "it printed nothing"}')
        copier = threading.Thread(target=self._copy, args=(process.stdout,), daemon=True)
        copier.start()
        self._copiers.append(copier)
        return line

    def _start(
        self, executable: str, arguments: Sequence[str], output: TextIO | int, patience: float
    ) -> Supervised:
        path = executable if os.path.isabs(executable) else executable_path(executable)
        process = Supervised([path, *arguments], output)
        self._running.append((executable, process))
        self._patience[process] = patience
        return process

    def start_group(self, command: Sequence[str], log: str) -> Supervised:
        """
        Start a foreign program, with its own log file; it may start others.

        All in its process group end with it, at the latest when this context is left. Whether it
        has failed is not said by failed().
        """
        with open(log, 'w', encoding='utf-8') as output:
            process = Supervised(command, output)
        self._groups.append(process)
        return process

    def failed(self) -> str | None:
        """Return a sentence about a process that has ended although it should be running."""
        for name, process in self._running:
            if (code := process.poll()) is not None:
                reason = self.said(name)[-1:] or [f'see {self._log_path}']
                return f'{name} ended with code {code}: {reason[0]}'
        return None

    def runs(self, executable: str) -> bool:
        """Return whether an executable was started here."""
        return any(name == executable for name, _ in self._running)

    def said(self, name: str) -> list[str]:
        """Return the log messages of a node so far."""
        with open(self._log_path, encoding='utf-8') as log:
            return [line.split(f'{name}]: ', 1)[1].strip() for line in log if f'{name}]: ' in line]

    def _copy(self, stream: TextIO) -> None:
        for line in stream:
            if self._log is None or self._log.closed:
                return
            self._log.write(line)
            self._log.flush()


@contextmanager
def _without_interrupts() -> Iterator[None]:
    """Ignore SIGINT while inside; threads other than the main one handle no signals at all."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
