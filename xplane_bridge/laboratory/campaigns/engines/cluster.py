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
Jobs spread over the workers of a Dask cluster; the scheduling is Dask's.

A worker is given jobs only if it has the same package and the same JSBSim as whoever gives them:
that is looked at when it arrives (inspection.py). In each of its threads it does as the local
engine does, in a process that may hang or die (worker.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import islice
from pathlib import Path
import sys
import time
from typing import Any
import uuid

from xplane_bridge.common import optional, plain_files
from xplane_bridge.laboratory.campaigns.engines import inspection, worker
from xplane_bridge.laboratory.campaigns.engines.local import Do, EngineError, Job, outcome_of
from xplane_bridge.laboratory.campaigns.plan.task import Task
from xplane_bridge.laboratory.campaigns.plan.versions import installed, question
from xplane_bridge.laboratory.campaigns.table.rows import LOST, Row

# For each thread of a worker: one job is done, one waits, so that it is never idle.
_EACH = 2
# How long a scheduler may take to answer, and how long there may be no worker (s).
_PATIENCE = 30.0
_WITHOUT_WORKERS = 60.0
# How often is looked for new workers (s).
_LOOK = 1.0


class Cluster:
    """
    An engine: the workers of a Dask scheduler, at an address such as tcp://host:8786.

    ``refused`` has a sentence for each worker that was there at the start and is given no jobs; it
    is printed as well.
    """

    def __init__(self, address: str, do: Do) -> None:
        """Connect; raise EngineError if nobody answers there, or no worker has what is needed."""
        optional.require('work on a cluster', 'distributed', extra='cluster')
        from distributed import Client

        self._address, self._do = address, do
        try:
            self._client = Client(address, timeout=_PATIENCE, set_as_default=False)
        except (OSError, ValueError) as error:
            raise EngineError(
                f'no Dask scheduler answers at {address}: {error}; expected an address such as '
                'tcp://127.0.0.1:8786, where `dask scheduler` listens') from None
        self._wanted = installed()
        self._label = inspection.label(self._wanted)
        found = self._client.run(question(), on_error='return')
        self.refused = [
            f'{worker} is given no jobs: {wrong}' for worker, has in sorted(found.items())
            if (wrong := inspection.difference(has, self._wanted))]
        self._client.register_plugin(
            inspection.admission(self._wanted, self._label), name=self._label)
        self._slots = self._count()
        self._looked = self._seen = time.monotonic()
        if self.refused and not self._slots:
            self._client.close()
            raise EngineError('; '.join(self.refused))
        for sentence in self.refused:
            print(sentence, file=sys.stderr, flush=True)

    @property
    def workers(self) -> int:
        """Return how many jobs are done at a time."""
        return self._slots

    def run(self, jobs: Iterable[Job], on_row: Callable[[Row], None]) -> None:
        """
        Do all jobs: see Engine. One whose worker dies is done by another one.

        What a flight leaves in its folder comes with its row, and is written to that folder here.
        """
        running: dict[Any, Job] = {}
        waiting = iter(jobs)
        try:
            while True:
                room = max(1, _EACH * self._slots) - len(running)
                for job in islice(waiting, max(0, room)):
                    running[self._submit(job)] = job
                if not running:
                    return
                for future in self._ended(running):
                    # What was lost with its worker, before it was fetched, Dask does once more.
                    if future.status != 'lost':
                        self._take(future, running.pop(future), on_row)
                if self._workers_are_back():
                    # What waited without any worker is not looked at again by Dask itself.
                    self._client.cancel(list(running))
                    running = {self._submit(job): job for job in running.values()}
        finally:
            if self._client.status == 'running':
                self._client.cancel(list(running))
            self._client.close()

    def _submit(self, job: Job) -> Any:
        return self._client.submit(
            worker.done, self._do, *worker.packed(job), resources={self._label: 1}, pure=False,
            key=f'job-{job.number}-{uuid.uuid4()}')

    def _ended(self, running: Iterable[Any]) -> list[Any]:
        """Wait a moment for the end of jobs; return those that have ended."""
        from distributed import CancelledError, wait
        with self._client.as_current():
            try:
                return list(wait(list(running), timeout=_LOOK, return_when='FIRST_COMPLETED').done)
            except TimeoutError:
                return []
            except CancelledError as error:
                raise self._gone() from error

    def _take(self, future: Any, job: Job, on_row: Callable[[Row], None]) -> None:
        from distributed import CancelledError, KilledWorker
        if future.status == 'cancelled':
            raise self._gone()
        error = future.exception()
        if isinstance(error, EngineError):
            raise error
        if isinstance(error, KilledWorker):
            row = job.row(LOST, 'each worker that had it died')
        elif error is not None:
            row = job.row(outcome_of(error), f'{type(error).__name__}: {error}')
        else:
            try:
                row, files = future.result()
            except (OSError, CancelledError) as lost:
                # It has ended, but the scheduler that passes it on is gone.
                raise self._gone() from lost
            if isinstance(job, Task):
                try:
                    _write(files, job.folder)
                except OSError as full:
                    row = job.row(LOST, f'what it left cannot be written: {full.strerror}')
        on_row(row)

    def _workers_are_back(self) -> bool:
        """Return whether there are workers after there were none; EngineError without."""
        if self._client.status != 'running':
            raise self._gone()
        now = time.monotonic()
        if now < self._looked + _LOOK:
            return False
        before, self._slots, self._looked = self._slots, self._count(), now
        if self._slots:
            self._seen = now
        elif now > self._seen + _WITHOUT_WORKERS:
            raise EngineError(
                f'there was no worker for {_WITHOUT_WORKERS:g} s')
        return self._slots > before == 0

    def _count(self) -> int:
        """Return how many jobs the present workers may do at a time."""
        try:
            workers = self._client.scheduler_info()['workers']
        except OSError as error:
            raise self._gone() from error
        return sum(int(one['resources'].get(self._label, 0)) for one in workers.values())

    def _gone(self) -> EngineError:
        return EngineError(
            f'the Dask scheduler at {self._address} went away: start it again, and then this')


def _write(files: dict[str, bytes], folder: str) -> None:
    """Write the files that came with a row."""
    if files:
        Path(folder).mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        # A worker has no say in where.
        plain_files.write(Path(folder) / Path(name).name, content)
