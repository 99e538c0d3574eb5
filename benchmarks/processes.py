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

"""The processes of a benchmark: started, queried, measured and stopped from here."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
import json
import os
from pathlib import Path
import subprocess
import sys
import time
from types import TracebackType
from typing import Any

from shortest import usual

from xplane_bridge.laboratory.nodes.flight.processes import executable_path

_PEERS = Path(__file__).parent / 'peers.py'
_PATIENCE = usual(5.0, 30.0)
_PAGE = os.sysconf('SC_PAGE_SIZE')


class Peer:
    """One role of peers.py, or another script, in a process; a context manager that stops it."""

    def __init__(self, role: str, script: Path = _PEERS) -> None:
        self._role = role
        self.process = subprocess.Popen(
            [sys.executable, str(script), role], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            text=True, bufsize=1)

    def __enter__(self) -> 'Peer':
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        # It exits when its standard input is closed.
        assert self.process.stdin
        assert self.process.stdout
        with suppress(BrokenPipeError):
            # It may have been interrupted together with us.
            self.process.stdin.close()
        end(self.process)
        self.process.stdout.close()

    def ask(self, what: str, **arguments: Any) -> Any:
        """Send a request and return the answer."""
        self.tell(what, **arguments)
        return self.answer()

    def tell(self, what: str, **arguments: Any) -> None:
        """Send a request; call ``answer`` for the result later."""
        assert self.process.stdin
        print(json.dumps([what, arguments]), file=self.process.stdin, flush=True)

    def answer(self) -> Any:
        """Wait for the answer to the oldest ``tell``."""
        assert self.process.stdout
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f'{self._role} ended with code {self.process.wait()}')
        return json.loads(line)


@contextmanager
def executable(
    name: str, *arguments: str, output: int | None = None
) -> Iterator[subprocess.Popen[str]]:
    """Run an executable of this package for as long as the context lasts."""
    process = subprocess.Popen(
        [executable_path(name), *arguments], stdin=subprocess.DEVNULL, stdout=output, text=True)
    try:
        yield process
    finally:
        process.terminate()
        end(process)
        if process.stdout is not None:
            process.stdout.close()


def parameters(namespace: str, values: dict[str, Any]) -> list[str]:
    """Return the arguments that give a node its namespace and parameters."""
    arguments = ['--ros-args', '--log-level', 'warn', '-r', f'__ns:={namespace}']
    for name, value in values.items():
        # YAML's flow style accepts JSON.
        arguments += ['-p', f'{name}:={json.dumps(value)}']
    return arguments


def cpu_seconds(pid: int) -> float:
    """Return the CPU time of a process's threads in s, as the scheduler counts it."""
    return sum(int(path.read_text().split()[0])
               for path in Path(f'/proc/{pid}/task').glob('*/schedstat')) / 1e9


def cpu_percent(pid: int, work: Callable[[], Any]) -> float:
    """Return the CPU time of a process while ``work`` runs here, in percent of a core."""
    before, begin = cpu_seconds(pid), time.monotonic()
    work()
    return 100.0 * (cpu_seconds(pid) - before) / (time.monotonic() - begin)


def memory_mb(pid: int) -> float:
    """Return the resident memory of a process, shared libraries included, in 10^6 bytes."""
    return int(Path(f'/proc/{pid}/statm').read_text().split()[1]) * _PAGE / 1e6


def end(process: subprocess.Popen[Any]) -> None:
    """Wait for a process that was told to end; kill it if it does not."""
    try:
        process.wait(_PATIENCE)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
