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


"""A campaign on a Dask cluster: a scheduler and workers as processes, some of which are killed."""

from contextlib import contextmanager, ExitStack
import hashlib
import os
from pathlib import Path
import signal
import subprocess
import sys
import time

import pytest

pytest.importorskip('jsbsim', reason='the simulators need jsbsim')
pytest.importorskip('pyarrow', reason='a campaign needs pyarrow')
pytest.importorskip('distributed', reason='a cluster needs distributed')

from campaign_flights import fly
import distributed

from xplane_bridge.campaigns import cluster as cluster_module
from xplane_bridge.campaigns import inspection
from xplane_bridge.campaigns.cluster import Cluster
from xplane_bridge.campaigns.engine import EngineError, Local
from xplane_bridge.campaigns.rows import canonical
from xplane_bridge.campaigns.task import Task

pytestmark = pytest.mark.xdist_group('cluster')

ROOT = Path(__file__).resolve().parents[2]
DEADLINE = 60.0
FLIGHTS = 60
CONTENT = {
    'duration': 10.0,
    'initial': {'altitude': 1000.0, 'airspeed': 51.444},
    'events': [{'at': 0.0, 'turbulence': [15.0, 4]}, {'at': 0.5, 'engage': True}],
    'criteria': [{'quantity': 'altitude_error', 'statistic': 'max_abs', 'at_most': 20.0}],
}


def task(number, **given):
    values = {
        'flight': number, 'key': hashlib.sha256(f'{number}'.encode()).hexdigest(),
        'scenario': 'rough', 'content': CONTENT, 'simulator': 'core', 'controller': 'autopilot',
        'aircraft': 'c172p', 'seed': number, 'time_limit': 60.0}
    return Task(**values | given)


def digest(rows):
    """Return the hash of the sorted table."""
    return hashlib.sha256(b''.join(
        canonical(row) for row in sorted(rows, key=lambda row: row['flight']))).hexdigest()


@contextmanager
def dask(what, *arguments, prefix=(), environment=None):
    """Run a scheduler or a worker in a process of its own."""
    paths = os.pathsep.join((str(ROOT), str(Path(__file__).parent),
                             os.environ.get('PYTHONPATH', '')))
    with subprocess.Popen(
        [*prefix, sys.executable, '-P', '-m', f'distributed.cli.dask_{what}', '--no-dashboard',
         *arguments], env={**os.environ, 'PYTHONPATH': paths, **(environment or {})},
        stdout=subprocess.DEVNULL, text=True,
        stderr=subprocess.PIPE if what == 'scheduler' else subprocess.DEVNULL,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


@contextmanager
def scheduler(*arguments, prefix=()):
    """Run a scheduler; return its process and its address."""
    with dask('scheduler', '--port', '0', *arguments, prefix=prefix) as process:
        for line in process.stderr:
            if 'Scheduler at:' in line:
                yield process, line.split('Scheduler at:')[1].strip()
                return
        raise AssertionError('the scheduler has not started')


def worker(address, tmp_path, **options):
    return dask('worker', address, '--no-nanny', '--nthreads', '1', '--local-directory',
                str(tmp_path), **options)


def wait_for_workers(address, count):
    with distributed.Client(address, set_as_default=False) as client:
        client.wait_for_workers(count, timeout=DEADLINE)


def test_a_worker_killed_in_mid_flight_and_replaced_costs_nothing_but_time(tmp_path):
    tasks = [task(number) for number in range(FLIGHTS)]
    tasks[3] = task(3, folder=str(tmp_path / 'left'))
    tasks[5] = task(5, scenario='deadly')
    with scheduler() as (_, address), worker(address, tmp_path) as first, \
            worker(address, tmp_path) as second:
        wait_for_workers(address, 2)
        cluster = Cluster(address, fly)
        assert (cluster.workers, cluster.refused) == (2, [])
        rows = []
        with ExitStack() as replaced, distributed.Client(address, set_as_default=False) as client:
            def take(row):
                rows.append(row)
                if len(rows) == 10:
                    kill_in_flight(client, first)
                    replaced.enter_context(worker(address, tmp_path))

            cluster.run(iter(tasks), take)
        assert first.wait() == -signal.SIGKILL
        assert second.poll() is None
    assert (tmp_path / 'left' / 'left.txt').read_text() == '3'
    # It was flown in three processes, and in the one that died.
    assert len({row['seconds'] for row in rows}) >= 3
    assert [row['outcome'] for row in rows if row['flight'] == 5] == ['crashed']
    local = []
    Local(2, fly).run(iter(tasks), local.append)
    assert sorted(row['flight'] for row in rows) == list(range(FLIGHTS))
    assert digest(rows) == digest(local)


def kill_in_flight(client, process):
    """Kill a worker that has a flight."""
    address = next(address for address, pid in client.run(os.getpid).items() if pid == process.pid)
    deadline = time.monotonic() + DEADLINE
    while True:
        # What it has while it is stopped it does not lose before it is killed.
        process.send_signal(signal.SIGSTOP)
        if client.processing([address])[address]:
            break
        process.send_signal(signal.SIGCONT)
        assert time.monotonic() < deadline
    process.kill()


def test_who_may_not_fly_and_where_nobody_answers_is_said(tmp_path, monkeypatch):
    monkeypatch.setattr(cluster_module, '_PATIENCE', 0.5)
    with pytest.raises(EngineError, match='no Dask scheduler answers at tcp://127.0.0.1:9:'):
        Cluster('tcp://127.0.0.1:9', fly)
    monkeypatch.undo()
    with scheduler() as (running, address), \
            worker(address, tmp_path, environment={'PYTHONPATH': ''}):
        wait_for_workers(address, 1)
        with pytest.raises(
                EngineError, match='tcp://.* is given no flights: xplane_bridge is not installed'):
            Cluster(address, fly)
        with worker(address, tmp_path):
            wait_for_workers(address, 2)
            cluster = Cluster(address, fly)
            assert (cluster.workers, len(cluster.refused)) == (1, 1)
            rows = []

            def take(row):
                rows.append(row)
                if len(rows) == 3:
                    running.kill()

            with pytest.raises(EngineError, match=f'the Dask scheduler at {address} went away'):
                cluster.run((task(number) for number in range(FLIGHTS)), take)
    assert [row['outcome'] for row in rows[:3]] == ['passed'] * 3


def test_a_worker_with_other_sources_or_another_jsbsim_differs():
    wanted = inspection.installed()
    assert len(wanted['xplane_bridge']) == 64
    assert not inspection.difference(dict(wanted), wanted)
    assert inspection.difference(wanted | {'jsbsim': '1.1'}, wanted) == (
        f'it has another jsbsim, 1.1; this campaign has {wanted["jsbsim"]}')
    assert inspection.difference(wanted | {'xplane_bridge': 'f' * 64}, wanted).startswith(
        'it has another xplane_bridge, ffffffffffff; this campaign has ')
    assert 'ImportError' in inspection.difference(ImportError('ImportError'), wanted)
