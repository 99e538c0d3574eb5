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
How flights are spread over processes: each worker has one flight at a time.

An engine is anything with ``run`` and ``workers`` as Engine has them: Local here, and that of a
cluster in cluster.py. What flies is a function of a module, ``fly(task) -> row``, which never
raises: flights.py. Rows may be in any order; what is made of them does not depend on it.
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

from xplane_bridge.campaigns.plan.task import Task
from xplane_bridge.campaigns.table.rows import CRASHED, FAILED, HUNG, Row
from xplane_bridge.common.supervised import end_with_parent

MOST_DEATHS = 2
"""A flight whose worker dies is flown again; if that one dies as well, it is a row 'crashed'."""

Fly = Callable[[Task], Row]

# How often time limits are looked at (s).
_LOOK = 0.2
# More processes in a row that die before they begin are no accident.
_FAILED_STARTS = 3


class EngineError(Exception):
    """The flights cannot go on; the text says why."""


class Engine(Protocol):
    """What flies tasks."""

    def run(self, tasks: Iterable[Task], on_row: Callable[[Row], None]) -> None:
        """
        Fly all tasks; call ``on_row`` in this thread with the row of each as it ends.

        Tasks are taken as workers become free, so that they need not be in memory all at once.
        Raises EngineError. Whatever is raised, nothing is left flying.
        """

    @property
    def workers(self) -> int:
        """Return how many flights are flown at a time."""


class Local:
    """Processes on this machine."""

    def __init__(self, workers: int, fly: Fly) -> None:
        self._workers = workers
        self._fly = fly
        self._failed_starts = 0

    @property
    def workers(self) -> int:
        """Return the number of processes."""
        return self._workers

    def run(self, tasks: Iterable[Task], on_row: Callable[[Row], None]) -> None:
        """Fly all tasks: see Engine. Ctrl-C ends all processes at once."""
        waiting = _Waiting(tasks)
        slots = [_Slot() for _ in range(self._workers)]
        try:
            while True:
                for slot in slots:
                    if slot.task is None and (task := waiting.next()) is not None:
                        slot.start(self._fly, task)
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
            task, ready, hung, elapsed = slot.task, slot.is_ready, slot.is_hung, slot.elapsed
            assert task is not None
            slot.kill()
            if not ready:
                self._failed_starts += 1
                if self._failed_starts > _FAILED_STARTS:
                    raise EngineError('processes die before they begin; see above why') from None
                waiting.again(task)
                return
            if hung:
                row = task.row(
                    HUNG, f'it took longer than its time limit, {task.time_limit:g} s',
                    seconds=elapsed)
            elif waiting.died(task) < MOST_DEATHS:
                return
            else:
                row = task.row(
                    CRASHED, f'its process died {MOST_DEATHS} times', seconds=elapsed)
        on_row(row)


class _Waiting:
    """Tasks that wait for a worker; those whose worker died come first."""

    def __init__(self, tasks: Iterable[Task]) -> None:
        self._tasks = iter(tasks)
        self._again: deque[Task] = deque()
        self._deaths: dict[int, int] = {}

    def next(self) -> Task | None:
        """Return the next task, None if there is none."""
        return self._again.popleft() if self._again else next(self._tasks, None)

    def again(self, task: Task) -> None:
        """Let a task wait once more."""
        self._again.append(task)

    def died(self, task: Task) -> int:
        """Return how often the worker of a task has died; unless it is too often, it waits."""
        deaths = self._deaths[task.flight] = self._deaths.get(task.flight, 0) + 1
        if deaths < MOST_DEATHS:
            self.again(task)
        return deaths


class _Slot:
    """
    A worker with at most one flight: a pool of one process, so that it is known who died.

    ``task`` is what it flies; the process is started with the first.
    """

    def __init__(self) -> None:
        self.task: Task | None = None
        self.future: Future[Any] | None = None
        self.is_hung = False
        self._pool: ProcessPoolExecutor | None = None
        self._pid = 0
        self._begin = 0.0
        self._fly: Fly | None = None

    @property
    def is_ready(self) -> bool:
        """Return whether the process has started."""
        return self._pid != 0

    @property
    def elapsed(self) -> float:
        """Return the seconds since its flight began."""
        return time.monotonic() - self._begin

    def start(self, fly: Fly, task: Task) -> None:
        """Fly a task; in a new process if there is none."""
        self.task, self._fly = task, fly
        if self._pool is not None:
            try:
                self._submit()
                return
            except BrokenProcessPool:
                # It died between two flights.
                self.kill()
                self.task = task
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
            # That of a flight which is not as it should be: no reason to end all others.
            assert self.task is not None
            found = self.task.row(FAILED, f'{type(error).__name__}: {error}')
        if isinstance(found, int):
            self._pid = found
            self._submit()
            return None
        self.task = self.future = None
        if self.is_hung:
            # It ended just before it was killed.
            self.kill()
        return found

    def check_time(self) -> None:
        """Kill the process if its flight takes too long."""
        if (self.task is not None and self.is_ready and not self.is_hung
                and self.elapsed > self.task.time_limit):
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
        self.task = self.future = self._pool = None
        self.is_hung, self._pid = False, 0

    def _submit(self) -> None:
        assert self._pool is not None
        assert self._fly is not None
        assert self.task is not None
        self._begin = time.monotonic()
        self.future = self._pool.submit(self._fly, self.task)


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
