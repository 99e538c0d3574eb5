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
from io import TextIOWrapper
import os
import signal
import subprocess
import threading
import time
from typing import NamedTuple, TextIO

from ament_index_python.packages import get_package_prefix

from xplane_bridge.common import plain_files
from xplane_bridge.common.machine import is_told_in, MachineError
from xplane_bridge.common.processes.fork_server import ForkServer
from xplane_bridge.common.processes.supervised import HUNG, PATIENCE, Supervised
from xplane_bridge.common.text import counted

# How long processes may take to start: by their number, and by the cores of this machine.

# What one takes to start, from its interpreter to its first message: 1.2 to 1.9 s of a core.
_CPU_SECONDS = 1.9
# Others work on the machine too: their share of it is this much.
_SHARED = 2.0
# Whatever is started (s): networks and disks take their time.
_LEAST = 30.0


class StartLimit(NamedTuple):
    """How long processes may take to start, in ``seconds``; as a text with the reason."""

    processes: int
    cores: int

    @property
    def seconds(self) -> float:
        """Return the limit in seconds."""
        return _LEAST + _SHARED * _CPU_SECONDS * self.processes / self.cores

    def __str__(self) -> str:
        """Return the limit with what it is made of."""
        return (f'{self.seconds:.0f} s, what {counted(self.processes, "process", "processes")} '
                f'may take to start on {counted(self.cores, "core")}: {_LEAST:.0f} s, and '
                f'{_SHARED:g} times the {_CPU_SECONDS:g} s of a core for each')


def start_limit(processes: int) -> StartLimit:
    """Return how long so many processes may take to start on this machine."""
    return StartLimit(processes, max(len(os.sched_getaffinity(0)), 1))


_PACKAGE = 'xplane_bridge'
FORKS = ForkServer(
    'xplane_bridge.simulation.node', 'xplane_bridge.laboratory.nodes.autopilot',
    *(f'xplane_bridge.bridges.{name}.node' for name in (
        'fdmdata', 'simpit', 'ulyssix', 'xpc', 'xplane_udp')))
"""Forks the executables of this package, which all import much of these."""
# Fields of /proc/PID/stat behind the name: the process group, and time in user and kernel mode.
_GROUP, _CPU_TIMES = 2, slice(11, 13)
_CLOCK_TICKS = os.sysconf('SC_CLK_TCK')
# For all of them together: a bridge may need 4 s until nothing late takes again what it gave back.
_PATIENCE = 4.7
# At least, for who is ended after the others.
_LEAST_PATIENCE = 1.0
# A recorder's last lines are copied after its end.
_COPYING = 1.0
# When the nodes are asked what they have published, after a recorder was told to end (s). Then
# they say it once per second, as always: they keep ten messages for one that gets no processor.
_TOLD_AFTER = (0.05, 0.2, 0.8)
# Of the log, in which a process says why it ends (bytes).
_LOG_END = 65536
# What has been published must be in its file before the publishers end. They say within a second
# how much that is; on a busy machine record waits up to 15 s for it, and has to complete the file
# then.
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


class Announced:
    """A process that was started and says in its first line that it is ready."""

    def __init__(self, name: str, process: Supervised) -> None:
        self.name, self.process = name, process
        self.line = ''
        self._is_known = threading.Event()

    def say(self, line: str) -> None:
        """Take a line of its output, '' for the end."""
        if not self._is_known.is_set():
            self.line = line.strip()
            self._is_known.set()

    def wait(self, timeout: float = 20.0) -> str:
        """Return its first line; MachineError if it ends without one, or hangs."""
        if not self._is_known.wait(timeout):
            self.process.end(0.0)
        if not self.line or self.process.poll() not in (None, 0):
            raise MachineError(f'{self.name} did not start: {self.line or "it printed nothing"}')
        return self.line


class Processes:
    """
    Run executables of this package, their output in a log file.

    Use as a context manager: leaving it ends all of them, in the order that ``start`` says. They
    also end if this process is killed.
    """

    def __init__(self, log: str) -> None:
        self._log_path = log
        self._log: TextIO | None = None
        self._running: list[tuple[str, Supervised]] = []
        self._patience: dict[Supervised, float] = {}
        self._last: set[Supervised] = set()
        self._announced: dict[str, Announced] = {}
        self._copiers: list[threading.Thread] = []
        self._groups: list[Supervised] = []

    def __enter__(self) -> Processes:
        self._log = TextIOWrapper(plain_files.growing(self._log_path), encoding='utf-8')
        return self

    def __exit__(self, *_: object) -> None:
        # Whatever else comes, each gets its time to end.
        with _without_interrupts():
            self._end()

    def end_recorders(self, tell: Callable[[], None] | None = None) -> None:
        """
        End those with a patience of their own; nothing else is ended before they have.

        With ``tell`` all others say meanwhile how many messages they have published: this process
        by ``tell()``, the nodes by SIGUSR1, for which they have to be up (running.py). Who records
        waits for that, and else until they say so by themselves, once per second.
        """
        with _without_interrupts():
            for process, patience in reversed(self._patience.items()):
                if patience:
                    process.end(patience)
                    self._wait_telling(process, patience, tell)

    def _wait_telling(
        self, process: Supervised, patience: float, tell: Callable[[], None] | None
    ) -> None:
        if tell is None:
            process.wait(patience)
            return
        # The first time may have been too soon for who records.
        deadline = time.monotonic() + patience
        for pause in _TOLD_AFTER:
            if process.wait(pause) is not None:
                return
            tell()
            for other, its_patience in self._patience.items():
                if not its_patience:
                    other.send(signal.SIGUSR1)
        process.wait(deadline - time.monotonic())

    def _end(self) -> None:
        """
        Interrupt them in three turns, all of a turn at once, and kill what is left of each.

        Who records comes first: it must have what was published. Then all others, and last those
        to whom the others give back what they have taken.
        """
        self.end_recorders()
        waiting = [*self._groups, *(process for _, process in self._running)]
        deadline = time.monotonic() + _PATIENCE
        for turn in ([one for one in waiting if one not in self._last], self._last):
            left = max(deadline - time.monotonic(), _LEAST_PATIENCE)
            for process in turn:
                process.end(left)
            for process in turn:
                process.wait()
        for copier in self._copiers:
            copier.join(_COPYING)
        if self._log is not None:
            self._log.close()

    def start(
        self, executable: str, arguments: Sequence[str], patience: float = 0.0,
        is_last: bool = False, name: str = '',
    ) -> Supervised:
        """
        Start an executable of this package, or any by its absolute path.

        ``name`` tells it from others of the same executable, whose name it has otherwise.

        It gets its own process group: Ctrl-C reaches it only through __exit__, in order. With
        ``patience`` (s) it has that long to end, and nothing else is ended before it has; one that
        ``is_last`` is ended after all others. Raises FileNotFoundError if it is not found.
        """
        assert self._log is not None
        process = self._start(executable, arguments, self._log, patience, name)
        if is_last:
            self._last.add(process)
        return process

    def announce(
        self, executable: str, arguments: Sequence[str], patience: float = 0.0
    ) -> Announced:
        """Start an executable that says in its first line that it is ready."""
        process = self._start(executable, arguments, subprocess.PIPE, patience)
        announced = self._announced[executable] = Announced(executable, process)
        copier = threading.Thread(target=self._copy, args=(announced,), daemon=True)
        copier.start()
        self._copiers.append(copier)
        return announced

    def _start(
        self, executable: str, arguments: Sequence[str], output: TextIO | int, patience: float,
        name: str = '',
    ) -> Supervised:
        path = executable if os.path.isabs(executable) else executable_path(executable)
        process = Supervised(
            [path, *arguments], output, patience=patience or PATIENCE,
            forks=None if os.path.isabs(executable) else FORKS)
        self._running.append((name or executable, process))
        self._patience[process] = patience
        return process

    def start_group(self, command: Sequence[str], log: str) -> Supervised:
        """
        Start an external program, with its own log file; it may start others.

        All in its process group end with it, at the latest when this context is left. Whether it
        has failed is not said by failed().
        """
        with plain_files.growing(log) as stream:
            process = Supervised(command, stream)
        self._groups.append(process)
        return process

    @property
    def start_limit(self) -> StartLimit:
        """Return how long all that were started so far may take until they are ready."""
        return start_limit(len(self._running) + len(self._groups))

    def failed(self) -> str | None:
        """Return a sentence about a process that has ended although it should be running."""
        for name, process in self._running:
            if (code := process.poll()) is not None:
                line = self._announced[name].line if name in self._announced else ''
                reason = self.said(name)[-1:] or [line or f'see {self._log_path}']
                return f'{name} ended with code {code}: {reason[0]}'
        return None

    def has_given_up(self) -> bool:
        """
        Return whether one that should be running has ended by itself, for a reason of its own.

        So simulator_node does if its aircraft cannot be trimmed. Not so one that was killed, one
        whose log tells of a fault of this machine, and a recorder.
        """
        for _, process in self._running:
            if (code := process.poll()) is not None:
                return 0 <= code < HUNG and not self._patience[process] and (
                    not is_told_in(self._log_end()))
        return False

    def _log_end(self) -> str:
        with open(self._log_path, 'rb') as log:
            log.seek(max(0, log.seek(0, os.SEEK_END) - _LOG_END))
            return log.read().decode(errors='replace')

    def cpu_seconds(self) -> dict[str, float]:
        """
        Return the CPU time (s) used so far, by executable; 'controller' is an external one's.

        What /proc does not show is left out: it may be that of other processes.
        """
        groups = {process.pid: name for name, process in self._running} | {
            process.pid: 'controller' for process in self._groups}
        found: dict[str, float] = {}
        for entry in filter(str.isdigit, os.listdir('/proc')):
            # It may just have ended.
            with suppress(OSError), open(
                    f'/proc/{entry}/stat', encoding='utf-8', errors='replace') as stream:
                # The command's name, in brackets, may contain anything.
                fields = stream.read().rpartition(')')[2].split()
                if (name := groups.get(int(fields[_GROUP]))) is not None:
                    used = sum(map(int, fields[_CPU_TIMES])) / _CLOCK_TICKS
                    found[name] = found.get(name, 0.0) + used
        return found

    def runs(self, executable: str) -> bool:
        """Return whether an executable was started here."""
        return any(name == executable for name, _ in self._running)

    def said(self, name: str) -> list[str]:
        """Return the log messages of a node so far."""
        with open(self._log_path, encoding='utf-8') as log:
            return [line.split(f'{name}]: ', 1)[1].strip() for line in log if f'{name}]: ' in line]

    def _copy(self, announced: Announced) -> None:
        assert announced.process.stdout is not None
        for line in announced.process.stdout:
            announced.say(line)
            if self._log is None or self._log.closed:
                return
            # On a full disk whoever is flown by these says so; they go on.
            with suppress(OSError):
                self._log.write(line)
                self._log.flush()
        announced.say('')


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
