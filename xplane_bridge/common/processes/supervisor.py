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
Run a command and end all that it has started, whatever happens: on its end, or on ours.

    python3 supervisor.py LIMIT PATIENCE COMMAND...

It is a process of its own, between whoever starts a command (supervised.py) and the command, and
adopts all of the command's descendants that lose their parent (PR_SET_CHILD_SUBREAPER), also those
with sessions of their own. When the command ends, when LIMIT (s) is over, on a signal, or at the
end of standard input, which comes if whoever started this dies, it interrupts the command and its
process group, waits PATIENCE (s) for the command's end, and kills all that is left. Another
patience can be written to standard input, whose other direction tells the command's process id.
The exit code is the command's, 128 + N if signal N ended it, and HUNG or ABANDONED if it was ended
from here.

Only the standard library is imported, and run as a file it starts in a few hundredths of a second.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
import ctypes
import math
import os
import select
import signal
import sys
import time
from typing import NoReturn

HUNG, ABANDONED = 124, 125
"""Exit codes: the limit was over; nobody waits for the result any more."""

# A bridge gives back what it took, and watches that nothing late takes it again, for up to 4 s;
# what it ends is ended within 5 s in all.
PATIENCE = 4.7

# Of <linux/prctl.h>.
_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_TICK = 0.02
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def main(
    arguments: Sequence[str], run: Callable[[list[str]], NoReturn] | None = None
) -> int:
    """
    Run the command; return its exit code, HUNG or ABANDONED.

    With ``run`` that is what the command's process does, instead of becoming the program.
    """
    limit, patience, command = float(arguments[0]), float(arguments[1]), list(arguments[2:])
    watched = [0]
    # A process that was forked may hold the other end of standard input, and outlive its parent.
    with suppress(OSError):
        watched.append(os.pidfd_open(os.getppid()))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), 'prctl(PR_SET_CHILD_SUBREAPER)')
    woken, wake = os.pipe()
    watched.append(woken)
    os.set_blocking(wake, False)
    for number in (*_SIGNALS, signal.SIGCHLD):
        signal.signal(number, lambda *_: None)
    # Whoever started this may have blocked some, and so would the command.
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    child = _started(command, libc, run, (*watched[1:], wake))
    with suppress(OSError):
        os.write(0, f'{child}\n'.encode())
    reason = _wait(child, watched, limit)
    if reason is not None:
        _interrupt(child, _asked(patience))
    # Its group is not there if it had only just begun.
    for group_or_command in (-child, child):
        _send(group_or_command, signal.SIGKILL)
    code = _ended(child)
    _kill_the_rest()
    return code if reason is None else reason


def _started(
    command: list[str], libc: ctypes.CDLL, run: Callable[[list[str]], NoReturn] | None,
    own: Sequence[int]
) -> int:
    """Start the command in a session of its own, without ``own``; return its process id."""
    parent = os.getpid()
    child = os.fork()
    if child:
        return child
    try:
        os.setsid()
        # If this process is killed itself, the command is interrupted, and ends its own.
        libc.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
        # Python ignores SIGPIPE.
        for number in (*_SIGNALS, signal.SIGCHLD, signal.SIGPIPE):
            signal.signal(number, signal.SIG_DFL)
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        if os.getppid() == parent:
            if run is not None:
                signal.set_wakeup_fd(-1)
                for descriptor in own:
                    os.close(descriptor)
                run(command)
            os.execvp(command[0], command)
    except OSError as error:
        print(f'{command[0]}: {error.strerror}', file=sys.stderr, flush=True)
    os._exit(127)


def _wait(child: int, watched: Sequence[int], limit: float) -> int | None:
    """Wait for the command's end; return None, or why it is waited for no longer."""
    deadline = time.monotonic() + limit
    while _runs(child):
        left = deadline - time.monotonic()
        if left <= 0.0:
            return HUNG
        ready, _, _ = select.select(watched, [], [], None if left == math.inf else left)
        if ready and (
            ready[0] != watched[-1] or set(os.read(watched[-1], 4096)) & set(_SIGNALS)
        ):
            return ABANDONED
    return None


def _asked(patience: float) -> float:
    """Return the patience that was written to standard input, or else the one given."""
    try:
        return float(os.read(0, 64)) if select.select([0], [], [], 0.0)[0] else patience
    except (OSError, ValueError):
        return patience


def _ended(child: int) -> int:
    """Return the exit code of the command, which has ended."""
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return code if code >= 0 else 128 - code


def _interrupt(child: int, patience: float) -> None:
    """Interrupt the command, and wait for its end."""
    deadline = time.monotonic() + patience
    # It may be stopped. A shell is interrupted with what it runs, as by a terminal.
    for number in (signal.SIGCONT, signal.SIGINT):
        _send(-child, number)
    while _runs(child) and time.monotonic() <= deadline:
        time.sleep(_TICK)


def _runs(child: int) -> bool:
    """Return whether the command has not ended; if it has, its number stays its own."""
    return os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None


def _kill_the_rest() -> None:
    while left := _descendants():
        for pid in left:
            _send(pid, signal.SIGKILL)
        time.sleep(_TICK)
        _reap()


def _send(pid: int, number: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, number)


def _reap() -> None:
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def _descendants() -> list[int]:
    """
    Return the ids of all processes below this one; who has lost a parent is our child.

    There are none to be found where /proc is that of other processes, as below ``unshare --pid``.
    """
    if os.readlink('/proc/self') != str(os.getpid()):
        return []
    children: dict[int, list[int]] = {}
    for name in os.listdir('/proc'):
        if name.isdigit():
            try:
                with open(f'/proc/{name}/stat', encoding='utf-8', errors='replace') as stream:
                    # The command's name, in brackets, may contain anything.
                    parent = int(stream.read().rpartition(')')[2].split()[1])
            except OSError:
                continue
            children.setdefault(parent, []).append(int(name))
    found: list[int] = []
    waiting = [os.getpid()]
    while waiting:
        below = children.get(waiting.pop(), [])
        found += below
        waiting += below
    return found


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
