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
Campaigns: how much more two workers fly than one, and the memory of what collects the rows.

A flight is `turbulence` in core, 60 s. What a worker takes to start is left out: the time is from
the first rows to the last. A campaign of 1,000 short flights on Dask loses one of its workers in
the middle: its rows must be those that are flown here.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
import os
from pathlib import Path
import re
import signal
import subprocess
import sys
from tempfile import TemporaryDirectory
from time import monotonic

from shortest import is_shortest, usual
from tables import Goals, show

from xplane_bridge.laboratory.campaigns.engines.cluster import Cluster
from xplane_bridge.laboratory.campaigns.engines.local import Engine, Local
from xplane_bridge.laboratory.campaigns.fly import fly
from xplane_bridge.laboratory.campaigns.plan.plan import load, Plan
from xplane_bridge.laboratory.campaigns.table import table
from xplane_bridge.laboratory.campaigns.table.folder import Folder, TABLE
from xplane_bridge.laboratory.campaigns.table.rows import canonical, Row, synthetic

FLIGHTS = usual(14, 3)
# Of each worker, before the time begins.
WARM = usual(3, 0)
EFFICIENCY = 0.85
ROWS = usual((10_000, 100_000), (10,))
KILLED = usual(1000, 8)
# Of the largest to the smallest number of rows.
GROWTH = 1.25
_PLAN = """
scenarios: [%s]
simulators: [core]
controllers: [autopilot]
seeds: {first: 1, count: %d}
"""

_SHORT = """
duration: 2.0
events: [{at: 0.0, engage: true}]
criteria: [{figure: duration, at_least: 1.0}]
"""


def plan_of(count: int, folder: str, *, short: bool = False) -> Plan:
    """Return a plan of so many flights, of `turbulence` or of ``short`` ones."""
    path = Path(folder) / 'plan.yaml'
    scenario = Path(folder) / 'scenario.yaml'
    scenario.write_text(_SHORT)
    path.write_text(_PLAN % (scenario if short else usual('turbulence', scenario), count))
    return load(str(path))


@contextmanager
def local(workers: int) -> Iterator[Engine]:
    """Provide the local engine."""
    yield Local(workers, fly)


@contextmanager
def dask(workers: int) -> Iterator[Engine]:
    """Provide a scheduler and workers on this machine."""
    from distributed import LocalCluster
    with LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=None) as cluster:
        yield Cluster(cluster.scheduler_address, fly)


def rate(engine: AbstractContextManager[Engine], plan: Plan, workers: int) -> float:
    """Return the flights per second of an engine."""
    times: list[float] = []
    with engine as flown_by:
        flown_by.run((plan.task(flight) for flight in range(len(plan))),
                     lambda row: times.append(monotonic()))
    first = WARM * workers
    return (len(times) - 1 - first) / (times[-1] - times[first])


def scaling(goals: Goals) -> None:
    """Measure one worker and two, of each engine."""
    engines: dict[str, Callable[[int], AbstractContextManager[Engine]]] = {
        'processes of this machine': local}
    if not is_shortest():
        engines['Dask, scheduler and workers on this machine'] = dask
    rows = []
    with TemporaryDirectory() as folder:
        plan = plan_of(FLIGHTS, folder)
        for name, engine in engines.items():
            one, two = (rate(engine(workers), plan, workers) for workers in (1, 2))
            efficiency = two / (2.0 * one)
            rows.append((name, f'{one:.2f}', f'{two:.2f}', f'{efficiency:.2f}',
                         goals.at_least(efficiency, EFFICIENCY), f'{60.0 * two:.0f}'))
    show(f'{FLIGHTS} flights of 60 s in core, by one worker and by two',
         ('engine', 'flights/s of one', 'of two', 'efficiency', f'goal >= {EFFICIENCY:g}',
          'times real time'), rows)


def killed(goals: Goals) -> None:
    """Fly a campaign here, and on Dask, where one of two workers is killed in the middle."""
    from distributed import Client, LocalCluster
    with TemporaryDirectory() as folder, LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster, Client(
            cluster) as client:
        plan = plan_of(KILLED, folder, short=True)
        worker = next(iter(client.run(os.getpid).values()))
        here, here_took = collected(Local(2, fly), plan, lambda row: None)
        there, there_took = collected(
            Cluster(cluster.scheduler_address, fly), plan,
            lambda row: os.kill(worker, signal.SIGKILL) if row == len(plan) // 2 else None)
    equal = sum(
        canonical(one) == canonical(other)
        for one, other in zip(here, there, strict=True)) / len(plan)
    show(f'{KILLED} flights of 2 s in core, by two workers',
         ('engine', 'flights/s', "JSBSim's share of the processor time", 'rows as here',
          'goal >= 1'),
         [('processes of this machine', *speeds(here, here_took), '', ''),
          ('Dask, a worker killed in the middle', *speeds(there, there_took), f'{equal:.3f}',
           goals.at_least(equal, 1.0))])


def collected(
    engine: Engine, plan: Plan, at_row: Callable[[int], None]
) -> tuple[list[Row], float]:
    """Fly a plan; return its rows, and the seconds it took; ``at_row`` is told how many came."""
    found: list[Row] = []

    def take(row: Row) -> None:
        found.append(row)
        at_row(len(found))

    begin = monotonic()
    engine.run((plan.task(flight) for flight in range(len(plan))), take)
    return sorted(found, key=lambda row: row['flight']), monotonic() - begin


def speeds(rows: Sequence[Row], took: float) -> tuple[str, str]:
    """Return the flights per second of rows, and JSBSim's share of their processor time."""
    processor, jsbsim = (sum(row[f'{column}_seconds'] for row in rows)
                         for column in ('processor', 'jsbsim'))
    return f'{len(rows) / took:.1f}', f'{jsbsim / processor:.0%}'


def memory(goals: Goals) -> None:
    """Measure the largest memory of a process that collects synthetic rows into a table."""
    rows, least = [], 0.0
    for count in ROWS:
        begin = monotonic()
        said = subprocess.run(
            [sys.executable, __file__, str(count)], check=True, capture_output=True, text=True)
        most = float(said.stdout) / 1024.0
        least = least or most
        rows.append((f'{count}', f'{most:.0f} MB', f'{most / least:.2f}',
                     goals.at_most(most / least, GROWTH), f'{monotonic() - begin:.0f} s'))
    show('rows collected, journaled, and written to the table', (
        'rows', 'largest memory', 'of the first', f'goal <= {GROWTH}', 'took'), rows)


def collect(count: int) -> None:
    """Collect so many rows as a campaign does; print the largest memory so far, in KiB."""
    with TemporaryDirectory() as folder, Folder(
            Path(folder) / 'campaign', plan_of(count, folder)) as kept:
        for row in synthetic(count):
            kept.add(row)
        kept.flush()
        summary = table.write(kept.parts(), kept.path / TABLE)
    assert summary.flights == count
    status = Path('/proc/self/status').read_text()
    found = re.search(r'VmHWM:\s+(\d+) kB', status)
    assert found is not None
    print(found[1])


def main() -> int:
    """Print the tables; return 1 if a goal was missed."""
    goals = Goals()
    scaling(goals)
    killed(goals)
    memory(goals)
    return int(goals.missed > 0)


if __name__ == '__main__':
    collect(int(sys.argv[1]))
