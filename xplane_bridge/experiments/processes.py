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

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
import os
import signal
import subprocess
import threading
from typing import Any, TextIO

from ament_index_python.packages import get_package_prefix

_PACKAGE = 'xplane_bridge'
_PATIENCE = 5.0


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

    Use as a context manager: leaving it ends all of them, the newest first.
    """

    def __init__(self, log: str) -> None:
        self._log_path = log
        self._log: TextIO | None = None
        self._running: list[tuple[str, subprocess.Popen[str]]] = []
        self._copiers: list[threading.Thread] = []
        self._groups: list[subprocess.Popen[str]] = []

    def __enter__(self) -> Processes:
        self._log = open(self._log_path, 'w', encoding='utf-8')
        return self

    def __exit__(self, *_: object) -> None:
        # A second signal must not leave some of them running; each gets its time to end.
        with _signals(signal.SIG_IGN):
            self._end()

    def _end(self) -> None:
        for _name, process in reversed(self._running):
            if process.poll() is None:
                # A stopped process would not handle the signal.
                process.send_signal(signal.SIGCONT)
                process.send_signal(signal.SIGINT)
                try:
                    process.wait(_PATIENCE)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()
        for process in self._groups:
            _end_group(process)
        for copier in self._copiers:
            copier.join(_PATIENCE)
        if self._log is not None:
            self._log.close()

    def start(self, executable: str, arguments: Sequence[str]) -> subprocess.Popen[str]:
        """
        Start an executable of this package, or any by its absolute path.

        It gets its own process group: Ctrl-C reaches it only through __exit__, in order. Raises
        FileNotFoundError if it is not found.
        """
        return self._start(executable, arguments, self._log)

    def start_and_wait(
        self, executable: str, arguments: Sequence[str], timeout: float = 20.0
    ) -> str:
        """Start an executable and return its first line; RuntimeError if it ends without one."""
        process = self._start(executable, arguments, subprocess.PIPE)
        assert process.stdout is not None
        # A process that hangs at startup must not hang this one.
        watchdog = threading.Timer(timeout, process.kill)
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
        self, executable: str, arguments: Sequence[str], output: TextIO | int | None
    ) -> subprocess.Popen[str]:
        path = executable if os.path.isabs(executable) else executable_path(executable)
        noted: list[int] = []
        # A signal between starting and registering it would leave it running.
        with _signals(lambda number, _: noted.append(number)):
            process = subprocess.Popen(
                [path, *arguments], stdin=subprocess.DEVNULL, stdout=output,
                stderr=subprocess.STDOUT, text=True, start_new_session=True)
            self._running.append((executable, process))
        for number in noted:
            signal.raise_signal(number)
        return process

    def start_group(self, command: Sequence[str], log: str) -> subprocess.Popen[str]:
        """
        Start a foreign program, with its own log file; it may start others.

        All in its process group end with it, at the latest when this context is left. Whether it
        has failed is not said by failed().
        """
        noted: list[int] = []
        with open(log, 'w', encoding='utf-8') as output, _signals(
                lambda number, _: noted.append(number)):
            process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
                text=True, start_new_session=True)
            self._groups.append(process)
        for number in noted:
            signal.raise_signal(number)
        return process

    def failed(self) -> str | None:
        """Return a sentence about a process that has ended although it should be running."""
        for name, process in self._running:
            if process.poll() is not None:
                reason = self.said(name)[-1:] or [f'see {self._log_path}']
                return f'{name} ended with code {process.returncode}: {reason[0]}'
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


def _end_group(process: subprocess.Popen[str]) -> None:
    """End a process and all in its group, also those that it has left behind."""
    for number in (signal.SIGCONT, signal.SIGINT, signal.SIGKILL):
        with suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        if number == signal.SIGINT:
            with suppress(subprocess.TimeoutExpired):
                process.wait(_PATIENCE)
    process.wait()


@contextmanager
def _signals(handler: Callable[[int, Any], object] | signal.Handlers) -> Iterator[None]:
    """Handle SIGINT and SIGTERM this way while inside; other threads handle no signals at all."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.signal(number, handler)
              for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, old in before.items():
            signal.signal(number, old)
