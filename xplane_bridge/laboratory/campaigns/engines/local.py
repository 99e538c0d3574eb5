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
How jobs are spread over processes: each worker has one at a time, such as a flight.

An engine is anything with ``run`` and ``workers`` as Engine has them: Local here, and that of a
cluster in cluster.py. What does a job is a function of a module, ``do(job) -> row``, such as that
of laboratory/campaigns/fly.py. Rows may be in any order; what is made of them does not depend
on it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
import multiprocessing
import os
import signal
import time
from typing import Any, Protocol

from xplane_bridge.common.machine import is_at_fault
from xplane_bridge.common.processes.supervised import end_with_parent
from xplane_bridge.laboratory.campaigns.table.rows import FAILED, LOST, Row

MOST_DEATHS = 2
"""A job whose worker dies is done again; if that one dies as well, it is lost."""


class Job(Protocol):
    """
    What a worker does: plain data, such as a flight (Task) or a point of an envelope.

    ``number`` is its own, ``time_limit`` is in seconds of the wall's time.
    """

    @property
    def number(self) -> int:
        """Return its number, which no other job has."""

    @property
    def time_limit(self) -> float:
        """Return how long it may take, in seconds of the wall's time."""

    def row(self, outcome: str, reason: str = '', *, seconds: float = 0.0) -> Row:
        """Return the row of what became of it."""


Do = Callable[[Any], Row]
"""What does a job, of its own kind, and returns its row."""

# How often time limits are looked at (s).
_LOOK = 0.2
# More processes in a row that die before they begin are no accident.
_FAILED_STARTS = 3


class EngineError(Exception):
    """The jobs cannot go on; the text says why."""


class Engine(Protocol):
    """What does jobs."""

    def run(self, jobs: Iterable[Job], on_row: Callable[[Row], None]) -> None:
        """
        Do all jobs; call ``on_row`` in this thread with the row of each as it ends.

        Jobs are taken as workers become free, so that they need not be in memory all at once.
        Raises EngineError. Whatever is raised, nothing is left running.
        """

    @property
    def workers(self) -> int:
        """Return how many jobs are done at a time."""


class Local:
    """Processes on this machine."""

    def __init__(self, workers: int, do: Do) -> None:
        self._workers = workers
        self._do = do
        self._failed_starts = 0

    @property
    def workers(self) -> int:
        """Return the number of processes."""
        return self._workers

    def run(self, jobs: Iterable[Job], on_row: Callable[[Row], None]) -> None:
        """Do all jobs: see Engine. Ctrl-C ends all processes at once."""
        waiting = _Waiting(jobs)
        slots = [_Slot() for _ in range(self._workers)]
        try:
            while True:
                for slot in slots:
                    if slot.job is None and (job := waiting.next()) is not None:
                        slot.start(self._do, job)
                busy = {slot.future: slot for slot in slots if slot.future is not None}
                if not busy:
                    return
                done, _ = wait(busy, _LOOK, FIRST_COMPLETED)
                for future in done:
                    self._take(busy[future], waiting, on_row)
                for slot in slots:
                    slot.check_time()
        finally:
            for slot in slots:
                slot.kill()

    def _take(self, slot: _Slot, waiting: _Waiting, on_row: Callable[[Row], None]) -> None:
        """Take the result of a worker: its row, or its death."""
        try:
            row = slot.result()
            self._failed_starts = 0
            if row is None:
                return
        except BrokenProcessPool:
            job, ready, hung, elapsed = slot.job, slot.is_ready, slot.is_hung, slot.elapsed
            assert job is not None
            slot.kill()
            if not ready:
                self._failed_starts += 1
                if self._failed_starts > _FAILED_STARTS:
                    raise EngineError('processes die before they begin; see above why') from None
                waiting.again(job)
                return
            if hung:
                row = job.row(
                    LOST, f'it took longer than its time limit, {job.time_limit:g} s',
                    seconds=elapsed)
            elif waiting.died(job) < MOST_DEATHS:
                return
            else:
                row = job.row(
                    LOST, f'its process died {MOST_DEATHS} times', seconds=elapsed)
        on_row(row)


class _Waiting:
    """Jobs that wait for a worker; those whose worker died come first."""

    def __init__(self, jobs: Iterable[Job]) -> None:
        self._jobs = iter(jobs)
        self._again: deque[Job] = deque()
        self._deaths: dict[int, int] = {}

    def next(self) -> Job | None:
        """Return the next job, None if there is none."""
        return self._again.popleft() if self._again else next(self._jobs, None)

    def again(self, job: Job) -> None:
        """Let a job wait once more."""
        self._again.append(job)

    def died(self, job: Job) -> int:
        """Return how often the worker of a job has died; unless it is too often, it waits."""
        deaths = self._deaths[job.number] = self._deaths.get(job.number, 0) + 1
        if deaths < MOST_DEATHS:
            self.again(job)
        return deaths


class _Slot:
    """
    A worker with at most one job: a pool of one process, so that it is known who died.

    ``job`` is what it does; the process is started with the first.
    """

    def __init__(self) -> None:
        self.job: Job | None = None
        self.future: Future[Any] | None = None
        self.is_hung = False
        self._pool: ProcessPoolExecutor | None = None
        self._pid = 0
        self._begin = 0.0
        self._do: Do | None = None

    @property
    def is_ready(self) -> bool:
        """Return whether the process has started."""
        return self._pid != 0

    @property
    def elapsed(self) -> float:
        """Return the seconds since its job began."""
        return time.monotonic() - self._begin

    def start(self, do: Do, job: Job) -> None:
        """Do a job; in a new process if there is none."""
        self.job, self._do = job, do
        if self._pool is not None:
            try:
                self._submit()
                return
            except BrokenProcessPool:
                # It died between two jobs.
                self.kill()
                self.job = job
        # JSBSim and threads of this process are not for a fork to copy.
        self._pool = ProcessPoolExecutor(
            1, multiprocessing.get_context('spawn'), _begin_worker)
        with _without_interrupts():
            self.future = self._pool.submit(os.getpid)

    def result(self) -> Row | None:
        """Return the row, None if the process has only just started."""
        assert self.future is not None
        try:
            found: int | Row = self.future.result()
        except BrokenProcessPool:
            raise
        except Exception as error:
            # That of a job which is not as it should be: no reason to end all others.
            assert self.job is not None
            found = self.job.row(outcome_of(error), f'{type(error).__name__}: {error}')
        if isinstance(found, int):
            self._pid = found
            self._submit()
            return None
        self.job = self.future = None
        if self.is_hung:
            # It ended just before it was killed.
            self.kill()
        return found

    def check_time(self) -> None:
        """Kill the process if its job takes too long."""
        if (self.job is not None and self.is_ready and not self.is_hung
                and self.elapsed > self.job.time_limit):
            self.is_hung = True
            with suppress(ProcessLookupError):
                os.kill(self._pid, signal.SIGKILL)

    def kill(self) -> None:
        """End the process at once, whatever it does."""
        if self._pid:
            with suppress(ProcessLookupError):
                os.kill(self._pid, signal.SIGKILL)
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)
        self.job = self.future = self._pool = None
        self.is_hung, self._pid = False, 0

    def _submit(self) -> None:
        assert self._pool is not None
        assert self._do is not None
        assert self.job is not None
        self._begin = time.monotonic()
        self.future = self._pool.submit(self._do, self.job)


def outcome_of(error: BaseException | None) -> str:
    """Return what became of a job that raised."""
    return LOST if is_at_fault(error) else FAILED


@contextmanager
def _without_interrupts() -> Iterator[None]:
    """Let processes that are started here never see Ctrl-C: this one ends them."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _begin_worker() -> None:
    """Let a worker end with the process that started it, however that ends, and by it only."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    end_with_parent()
