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
from dataclasses import replace
import hashlib
import multiprocessing
from pathlib import Path
from queue import SimpleQueue
import tempfile
import threading
from typing import Any

from xplane_bridge.campaigns.engines.local import Do, Job, Local
from xplane_bridge.campaigns.plan.contents import POLICY
from xplane_bridge.campaigns.plan.task import Task
from xplane_bridge.campaigns.table.rows import Row
from xplane_bridge.common.data import folder
from xplane_bridge.control.policy.load import files_of

Files = dict[str, bytes]
"""Contents of files by name."""

_threads = threading.local()


def packed(task: Job) -> tuple[Job, Files]:
    """Return a job with the files that it needs: a flight, as far as it names them."""
    path = _policy_file(task) if isinstance(task, Task) else None
    if path is None or not isinstance(task, Task):
        return task, {}
    needed = files_of(task.flown_by.removeprefix(POLICY))
    # What lies elsewhere the worker has to have itself; its flight says if it has another one.
    return task, {
        path.name: path.read_bytes(),
        **{name: file.read_bytes() for name, file in needed.items()
           if file == path.parent / name}}


def _policy_file(task: Task) -> Path | None:
    """Return the file of a flight's policy, if it is one."""
    if not task.flown_by.startswith(POLICY):
        return None
    name, _, _ = task.flown_by.removeprefix(POLICY).partition(':')
    for path in (Path(name).expanduser(), folder('policies') / f'{name}.onnx'):
        if path.is_file():
            return path.absolute()
    return None


def done(do: Do, task: Job, files: Mapping[str, bytes]) -> tuple[Row, Files]:
    """Do it on this worker; return its row, and what a flight has left in its folder."""
    from distributed import get_worker
    if not isinstance(task, Task):
        return _doer(do).do(task), {}
    local = Path(get_worker().local_directory)
    with tempfile.TemporaryDirectory(dir=local) as scratch:
        left = Path(scratch) / 'left'
        here = replace(_unpacked(task, files, local), folder=str(left) if task.folder else '')
        row = _doer(do).do(here)
        found = {path.name: path.read_bytes() for path in left.glob('*') if path.is_file()}
    return row, found


def _unpacked(task: Task, files: Mapping[str, bytes], folder: Path) -> Task:
    """Return a task that finds its policy's files on this machine; the first is its own."""
    if not files:
        return task
    own = folder / hashlib.sha256(b''.join(
        hashlib.sha256(part).digest() for name, content in sorted(files.items())
        for part in (name.encode(), content))).hexdigest()[:16]
    for name, content in files.items():
        path = own / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists():
            # Another thread may do the same.
            part = path.with_name(f'{path.name}.{threading.get_ident()}')
            part.write_bytes(content)
            part.replace(path)
    _, _, attribute = task.flown_by.removeprefix(POLICY).partition(':')
    return replace(task, flown_by=POLICY + str(own / next(iter(files))) + (
        attribute and f':{attribute}'))


class _Doer:
    """The local engine with one process, which it keeps from job to job."""

    def __init__(self, do: Do) -> None:
        self.does = do
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


def _doer(do: Do) -> _Doer:
    """Return what does such jobs in this thread."""
    doer: _Doer | None = getattr(_threads, 'doer', None)
    if doer is None or doer.does is not do:
        if doer is not None:
            doer.end()
        doer = _threads.doer = _Doer(do)
    return doer
