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

"""
A process that has imported what programs of this package need, and forks them.

    python3 -m xplane_bridge.common.processes.fork_server DESCRIPTOR PROCESS MODULE... ROOM

A node takes a second of a core to import what all nodes import. Forked, it is there at once, and
shares the memory. Each is a process of its own, with its supervisor (supervisor.py) as always. The
server ends when the process that started it does, or closes its end of the line.
"""

from __future__ import annotations

import atexit
from collections.abc import Mapping, Sequence
from contextlib import suppress
import ctypes
import errno
import gc
from importlib import import_module
import io
import json
import os
import runpy
import select
import signal
import socket
import subprocess
import sys
import threading
import traceback
from typing import Any, IO, NoReturn
import weakref

from xplane_bridge.common.processes import supervisor

# What is read before the first line of a program runs: with another one it is not forked.
_READ_EARLY = ('LD_', 'PYTHON', 'RMW_', 'AMENT_', 'OPENBLAS_', 'OMP_', 'MALLOC_')
# Of one program: its arguments and its environment (bytes), and its descriptors.
_LARGEST, _DESCRIPTORS = 1 << 17, 16
# For the arguments of what is forked, which lie where those of the server have lain (bytes).
_ROOM = 4096
# The first line of a program (bytes).
_LONGEST_LINE = 256
# Of <linux/prctl.h>; the name has 15 bytes.
_PR_SET_NAME, _LONGEST_NAME = 15, 15
# Fields of /proc/PID/stat behind the name: where its arguments begin and end.
_ARGUMENTS = slice(45, 47)


class Forked:
    """A supervisor that was forked, with as much of subprocess.Popen as is needed of one."""

    def __init__(self, status: int, output: IO[str] | None) -> None:
        self._status, self.stdout = status, output
        self.returncode: int | None = None

    def poll(self) -> int | None:
        """Return the exit code once it has ended, -9 if it was killed; otherwise None."""
        with suppress(subprocess.TimeoutExpired):
            self.wait(0.0)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end; return its exit code. Raises subprocess.TimeoutExpired."""
        if self.returncode is None:
            if not select.select([self._status], [], [], timeout)[0]:
                raise subprocess.TimeoutExpired('a forked program', timeout or 0.0)
            self.returncode = int(os.read(self._status, 16) or -signal.SIGKILL)
            os.close(self._status)
        return self.returncode


class ForkServer:
    """
    The end of the line at which programs are asked for.

    ``modules`` are those that it imports at first, if it does not begin as a copy of this process.
    """

    def __init__(self, *modules: str) -> None:
        self._modules = modules
        self._lock = threading.Lock()
        self._line: socket.socket | None = None
        self._environment: dict[str, str] = {}

    def begin_as_copy(self) -> None:
        """
        Fork it from this process, if it has not begun.

        All that is imported is imported there too. Only the main thread of a process that has no
        other threads, nor nodes, may call this, and has to hold nothing open that ends with it.
        """
        with self._lock:
            if self._line is not None:
                return
            for stream in (sys.stdout, sys.stderr):
                stream.flush()
            near, far = socket.socketpair(type=socket.SOCK_SEQPACKET)
            parent = os.getpid()
            if os.fork() == 0:
                near.close()
                _serve(far, parent)
            far.close()
            self._connect(near)

    def close(self) -> None:
        """End the server; the next program that is asked for has another."""
        with self._lock:
            if self._line is not None:
                self._line.close()
                self._line = None

    def serves(self, program: str, environment: Mapping[str, str]) -> bool:
        """Return whether a program with this environment can be forked; begin if it is Python."""
        try:
            with open(program, 'rb') as file:
                if b'python' not in file.readline(_LONGEST_LINE):
                    return False
        except OSError:
            return False
        with self._lock:
            # It says nothing: what can be read is its end.
            if self._line is not None and select.select([self._line], [], [], 0.0)[0]:
                self._line.close()
                self._line = None
            if self._line is None:
                self._begin()
        return _early(environment) == _early(self._environment)

    def _begin(self) -> None:
        near, far = socket.socketpair(type=socket.SOCK_SEQPACKET)
        with far:
            # What is started here forks the server and ends: nobody has to wait for that.
            subprocess.run(
                [sys.executable, '-P', '-m', __spec__.name, str(far.fileno()), str(os.getpid()),
                 *self._modules, ' ' * _ROOM],
                pass_fds=[far.fileno()], stdin=subprocess.DEVNULL, check=True)
        self._connect(near)

    def _connect(self, line: socket.socket) -> None:
        self._line, self._environment = line, dict(os.environ)

    def start(
        self, arguments: Sequence[str], stdin: int, output: IO[Any] | int,
        descriptors: Sequence[int] = (), environment: Mapping[str, str] | None = None,
    ) -> Forked:
        """
        Fork a supervisor with these arguments, whose command is a Python program.

        Raises OSError if there is no room for it.
        """
        assert self._line is not None
        asked = json.dumps(
            [list(arguments), os.getcwd(), dict(environment or os.environ)]).encode()
        if len(asked) > _LARGEST:
            raise OSError(errno.E2BIG, os.strerror(errno.E2BIG))
        status, told = os.pipe()
        given, read = [told], None
        if output == subprocess.PIPE:
            reading, writing = os.pipe()
            given.append(writing)
            read = os.fdopen(reading, encoding='utf-8', errors='surrogateescape')
        else:
            writing = output if isinstance(output, int) else output.fileno()
        try:
            with self._lock:
                socket.send_fds(
                    self._line, [asked], [told, stdin, writing, *descriptors])
        except OSError:
            os.close(status)
            if read is not None:
                read.close()
            raise
        finally:
            for one in given:
                os.close(one)
        return Forked(status, read)


def _early(environment: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in environment.items() if name.startswith(_READ_EARLY)}


def main() -> None:
    """Fork the server, which imports its modules; this process ends."""
    descriptor, parent, *modules = sys.argv[1:]
    if os.fork():
        os._exit(0)
    for module in modules[:-1]:
        import_module(module)
    _serve(socket.socket(fileno=int(descriptor)), int(parent))


def _serve(line: socket.socket, parent: int) -> NoReturn:
    """Fork a supervisor for each request, until there can be no more."""
    try:
        os.setsid()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD):
            # Nobody waits for a child: who asked for it reads of its end.
            signal.signal(number, signal.SIG_IGN)
        # What this process, or the one that it is a copy of, would do at its end, as remove its
        # files, is not for those that are forked.
        atexit._clear()
        finalizers: Any = weakref.finalize
        finalizers._registry.clear()
        finalizers._registered_with_atexit = False
        gc.collect()
        gc.freeze()
        watched = os.pidfd_open(parent)
        either: list[Any] = [line, watched]
        while watched not in select.select(either, [], [])[0]:
            asked, descriptors, _, _ = socket.recv_fds(line, _LARGEST, _DESCRIPTORS)
            if not asked:
                break
            # Without room for another process who asked reads the end of its status; those that
            # there are go on.
            with suppress(OSError):
                if os.fork() == 0:
                    line.close()
                    os.close(watched)
                    _supervise(*json.loads(asked), *descriptors)
            for descriptor in descriptors:
                os.close(descriptor)
    finally:
        os._exit(0)


def _supervise(
    arguments: list[str], folder: str, environment: dict[str, str], status: int, stdin: int,
    output: int, *_: int
) -> NoReturn:
    """Be a supervisor (the other descriptors stay open); write its exit code to ``status``."""
    code = 1
    try:
        os.setsid()
        for descriptor, standard in ((stdin, 0), (output, 1), (output, 2)):
            os.dup2(descriptor, standard)
        os.close(stdin)
        os.close(output)
        os.environ.clear()
        os.environ.update(environment)
        os.chdir(folder)
        _open_streams()
        code = supervisor.main(arguments, lambda command: _run(command, status))
    except BaseException:
        traceback.print_exc()
    finally:
        with suppress(OSError):
            os.write(status, str(code).encode())
        os._exit(0)


def _open_streams() -> None:
    """Have standard streams as an interpreter that has just begun."""
    for number, name in enumerate(('stdin', 'stdout', 'stderr')):
        raw = io.FileIO(number, 'w' if number else 'r', closefd=False)
        stream = io.TextIOWrapper(
            io.BufferedWriter(raw) if number else io.BufferedReader(raw), encoding='utf-8',
            errors='backslashreplace' if number == 2 else 'surrogateescape',
            line_buffering=number == 2 or raw.isatty(),
            write_through=bool(os.environ.get('PYTHONUNBUFFERED')))
        setattr(sys, name, stream)
        setattr(sys, f'__{name}__', stream)


def _run(command: Sequence[str], status: int) -> NoReturn:
    """Run a Python file with its arguments, as an interpreter of its own would."""
    os.close(status)
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    _name(command)
    code = 0
    sys.argv = [*command]
    try:
        runpy.run_path(command[0], run_name='__main__')
    except SystemExit as ended:
        code = _exit_code(ended)
    except BaseException:
        traceback.print_exc()
        code = 1
    finally:
        # As an interpreter ends, except that its modules are not taken down.
        vars(threading)['_shutdown']()
        atexit._run_exitfuncs()
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError):
                stream.flush()
        os._exit(code)


def _name(command: Sequence[str]) -> None:
    """
    Have the name and the arguments that `ps` and `pgrep` show.

    They are written over those that the interpreter began with, as far as there is room.
    """
    name = os.path.basename(command[0]).encode()[:_LONGEST_NAME]
    ctypes.CDLL(None).prctl(_PR_SET_NAME, name, 0, 0, 0)
    with open('/proc/self/stat', encoding='utf-8', errors='replace') as stream:
        begin, end = map(int, stream.read().rpartition(')')[2].split()[_ARGUMENTS])
    if 0 < begin < end:
        shown = b'\0'.join(map(os.fsencode, (os.path.basename(sys.executable), *command)))
        ctypes.memmove(begin, shown[:end - begin - 1].ljust(end - begin, b'\0'), end - begin)


def _exit_code(ended: SystemExit) -> int:
    if isinstance(ended.code, str):
        print(ended.code, file=sys.stderr)
        return 1
    return ended.code or 0


if __name__ == '__main__':
    main()
