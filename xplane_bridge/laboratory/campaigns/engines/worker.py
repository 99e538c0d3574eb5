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
What a worker of a cluster does with a job: the same as the local engine does.

So one that hangs or dies takes no worker with it, and is the same row as on one machine. No folder
need be shared: a policy's files come with its flight, and what that leaves goes with its row.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
import hashlib
import multiprocessing
from pathlib import Path
from queue import SimpleQueue
import tempfile
import threading
from typing import Any

from xplane_bridge.common import plain_files
from xplane_bridge.common.machine import MachineError
from xplane_bridge.laboratory.campaigns.engines.local import Do, EngineError, Job, Local
from xplane_bridge.laboratory.campaigns.plan.contents import POLICY
from xplane_bridge.laboratory.campaigns.plan.task import Task
from xplane_bridge.laboratory.campaigns.table.rows import Row
from xplane_bridge.laboratory.control.policy.load import taken_along

Files = dict[str, bytes]
"""Contents of files by name."""

# Of a policy's files (bytes).
_LARGEST = 256 << 20

_threads = threading.local()


def packed(task: Job) -> tuple[Job, Files]:
    """
    Return a job with the files that it needs: of a flight, those below its policy's folder.

    Raises EngineError, with a sentence, if the policy needs others.
    """
    return task, take_along(task.flown_by) if isinstance(task, Task) else {}


def take_along(flown_by: str) -> Files:
    """Return what goes with whoever flies to another machine; EngineError with a sentence."""
    if not flown_by.startswith(POLICY):
        return {}
    try:
        return {name: plain_files.read(path, _LARGEST) for name, path in taken_along(
            flown_by.removeprefix(POLICY)).items()}
    except (OSError, ValueError) as error:
        raise EngineError(str(error)) from None


def done(do: Do, task: Job, files: Mapping[str, bytes]) -> tuple[Row, Files]:
    """Do it on this worker; return its row, and what a flight has left in its folder."""
    from distributed import get_worker
    if not isinstance(task, Task):
        return _doer(do).do(task), {}
    local = Path(get_worker().local_directory)
    with tempfile.TemporaryDirectory(dir=local) as scratch:
        left = Path(scratch) / 'left'
        unpacked, own = _unpacked(task, files, local)
        here = replace(unpacked, folder=str(left) if task.folder else '')
        row = _doer(do, own).do(here)
        found = {path.name: path.read_bytes() for path in left.glob('*')
                 if path.is_file() and not path.is_symlink()}
    return row, found


def _unpacked(task: Task, files: Mapping[str, bytes], folder: Path) -> tuple[Task, str]:
    """
    Return a task that finds its policy's files on this machine, and their folder, '' for none.

    That is named by their digest, so that another policy has another one.
    """
    if not files:
        return task, ''
    own = folder / hashlib.sha256(b''.join(
        hashlib.sha256(part).digest() for name, content in sorted(files.items())
        for part in (name.encode(), content))).hexdigest()
    for name, content in files.items():
        _place(own, name, content)
    _, _, attribute = task.flown_by.removeprefix(POLICY).rpartition(':')
    first = own / next(iter(files))
    return replace(task, flown_by=f'{POLICY}{first}' + (
        f':{attribute}' if first.suffix == '.py' else '')), str(own)


def _place(own: Path, name: str, content: bytes) -> None:
    """Have a file below a folder, whatever is there; MachineError where that leads out of it."""
    path, parts = own / name, Path(name).parts
    if Path(name).is_absolute() or '..' in parts:
        raise MachineError(f'{name!r} is no name of a file below a folder')
    for depth in range(len(parts)):
        folder = own.joinpath(*parts[:depth])
        if folder.is_symlink():
            raise MachineError(f'{folder} is a link')
        folder.mkdir(exist_ok=True)
    with suppress(OSError, ValueError):
        if not path.is_symlink() and plain_files.read(path, len(content)) == content:
            return
    # Another thread may do the same.
    plain_files.write(path, content)


class _Doer:
    """The local engine with one process, which it keeps from job to job."""

    def __init__(self, do: Do) -> None:
        self.does = do
        # The folder of the policy that it has flown, if it has.
        self.policy = ''
        self._jobs: SimpleQueue[Job | None] = SimpleQueue()
        self._rows: SimpleQueue[Any] = SimpleQueue()
        threading.Thread(target=self._run, daemon=True).start()

    def do(self, job: Job) -> Row:
        """Return the row of a job; EngineError if no process can be started."""
        self._jobs.put(job)
        row: Row | Exception = self._rows.get()
        if isinstance(row, Exception):
            del _threads.doer
            raise row
        return row

    def end(self) -> None:
        """End its process."""
        self._jobs.put(None)

    def _run(self) -> None:
        # A worker below a Dask nanny is a daemon, which may have no children: they could outlive
        # it. These end with it.
        multiprocessing.current_process()._config['daemon'] = False  # type: ignore[attr-defined]
        try:
            Local(1, self.does).run(iter(self._jobs.get, None), self._rows.put)
        except Exception as error:
            # Whoever waits for the row has to be told.
            self._rows.put(error)


def _doer(do: Do, policy: str = '') -> _Doer:
    """
    Return what does such jobs in this thread, with the policy of a folder if that is named.

    A process keeps the modules that a policy has imported: another one begins anew.
    """
    doer: _Doer | None = getattr(_threads, 'doer', None)
    if doer is None or doer.does is not do or policy and doer.policy not in ('', policy):
        if doer is not None:
            doer.end()
        doer = _threads.doer = _Doer(do)
    doer.policy = policy or doer.policy
    return doer
