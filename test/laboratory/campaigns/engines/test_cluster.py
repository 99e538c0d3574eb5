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
import json
import os
from pathlib import Path
import shutil
import signal
import subprocess
import sys
import time

import pytest

pytest.importorskip('jsbsim', reason='the simulators need jsbsim')
pytest.importorskip('pyarrow', reason='a campaign needs pyarrow')
pytest.importorskip('distributed', reason='a cluster needs distributed')

import campaign_flights
from campaign_flights import digest, fly, task
import distributed

from xplane_bridge.laboratory.campaigns.engines import cluster as cluster_module
from xplane_bridge.laboratory.campaigns.engines import inspection
from xplane_bridge.laboratory.campaigns.engines.cluster import Cluster
from xplane_bridge.laboratory.campaigns.engines.local import EngineError, Local
from xplane_bridge.laboratory.campaigns.plan.versions import installed
from xplane_bridge.laboratory.control.gains import load
from xplane_bridge.laboratory.envelope.envelope import NO_FLIGHT, PointJob, studied, Study, TRIMMED

pytestmark = pytest.mark.xdist_group('cluster')

ROOT = Path(__file__).resolve().parents[4]
DEADLINE = 60.0
FLIGHTS = 18
# Of an envelope; the slowest cannot be flown.
POINTS = [
    PointJob(Study('T37', gains=load('T37')), number, {
             'airspeed': 20.0 + 6.0 * number, 'altitude_msl': 3000.0, 'mass': 2700.0})
    for number in range(18)]
ENVIRONMENT = {**os.environ, 'PYTHONPATH': os.pathsep.join(
    (str(ROOT), str(Path(__file__).parent), os.environ.get('PYTHONPATH', '')))}


@contextmanager
def dask(what, *arguments, prefix=(), environment=None):
    """Run a scheduler or a worker in a process of its own."""
    with subprocess.Popen(
        [*prefix, sys.executable, '-P', '-m', f'distributed.cli.dask_{what}', '--no-dashboard',
         *arguments], env=ENVIRONMENT | (environment or {}), stdout=subprocess.DEVNULL, text=True,
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


def worker(address, tmp_path, *arguments, **options):
    return dask('worker', address, '--no-nanny', '--nthreads', '1', '--local-directory',
                str(tmp_path), *arguments, **options)


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
        rows, third = [], None
        with ExitStack() as replaced, distributed.Client(address, set_as_default=False) as client:
            def take(row):
                nonlocal third
                rows.append(row)
                if len(rows) >= 10 and third is None and killed_in_flight(client, first):
                    third = replaced.enter_context(worker(address, tmp_path))

            cluster.run(iter(tasks), take)
            assert third is not None
            points = studied_until_killed(address, client, third)
        assert first.wait() == -signal.SIGKILL
        assert second.poll() is None
    assert (tmp_path / 'left' / 'left.txt').read_text() == '3'
    # It was flown in three processes, and in the one that died.
    assert len({row['seconds'] for row in rows}) >= 3
    assert [row['outcome'] for row in rows if row['flight'] == 5] == ['lost']
    local, points_here = [], []
    Local(2, fly).run(iter(tasks), local.append)
    Local(2, studied).run(iter(POINTS), points_here.append)
    assert told(points) == told(points_here)
    assert {row['outcome'] for row in points} == {TRIMMED, NO_FLIGHT}
    assert sorted(row['flight'] for row in rows) == list(range(FLIGHTS))
    assert digest(rows) == digest(local)


def studied_until_killed(address, client, process):
    """
    Return the rows of POINTS, for which the same workers do another job than before.

    One of them is killed with a result that nobody has fetched yet, which goes with it.
    """
    rows, is_killed = [], False

    def when_all_have_ended():
        # So that there are several results when the first of them is taken.
        for given, point in enumerate(POINTS):
            while given >= 3 and len(rows) + len(unfetched(rows, client)) < given:
                time.sleep(0.01)
            yield point

    def take(row):
        nonlocal is_killed
        rows.append(row)
        its_address = address_of(process, client) if not is_killed else None
        if its_address in unfetched(rows, client).values():
            process.kill()
            is_killed = True
            while its_address in client.scheduler_info()['workers']:
                time.sleep(0.01)

    Cluster(address, studied).run(when_all_have_ended(), take)
    assert is_killed
    return rows


def unfetched(rows, client):
    """Return the workers that hold the results which are in none of the rows, by job."""
    taken = {row['number'] for row in rows}
    return {number: address for address, keys in client.has_what().items() for key in keys
            if key.startswith('job-') and (number := int(key.split('-')[1])) not in taken}


def told(rows):
    """Return rows in their order as text, in which NaN equals NaN."""
    return [json.dumps(row) for row in sorted(rows, key=lambda row: row['number'])]


def address_of(process, client):
    """Return the address of the worker that is a process."""
    return next(address for address, pid in client.run(os.getpid).items() if pid == process.pid)


def killed_in_flight(client, process):
    """Kill a worker if it has a flight, and return whether it had."""
    address = address_of(process, client)
    # What it has while it is stopped it does not lose before it is killed.
    process.send_signal(signal.SIGSTOP)
    if not client.processing([address])[address]:
        # It is given one before the next row.
        process.send_signal(signal.SIGCONT)
        return False
    process.kill()
    return True


def test_who_may_not_fly_and_where_nobody_answers_is_said(tmp_path, monkeypatch):
    monkeypatch.setattr(cluster_module, '_PATIENCE', 0.5)
    with pytest.raises(EngineError, match='no Dask scheduler answers at tcp://127.0.0.1:9:'):
        Cluster('tcp://127.0.0.1:9', fly)
    monkeypatch.undo()
    with scheduler() as (running, address), \
            worker(address, tmp_path, environment={'PYTHONPATH': ''}):
        wait_for_workers(address, 1)
        with pytest.raises(
                EngineError, match='tcp://.* is given no jobs: xplane_bridge is not installed'):
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
    wanted = installed()
    assert len(wanted['xplane_bridge']) == 64
    assert not inspection.difference(dict(wanted), wanted)
    assert inspection.difference(wanted | {'jsbsim': '1.1'}, wanted) == (
        f'it has another jsbsim, 1.1; here it is {wanted["jsbsim"]}')
    assert inspection.difference(wanted | {'xplane_bridge': 'f' * 64}, wanted).startswith(
        'it has another xplane_bridge, ffffffffffff; here it is ')
    assert 'ImportError' in inspection.difference(ImportError('ImportError'), wanted)


@pytest.fixture
def hosts():
    """Return two hosts with a link between them: the prefix of commands there, and the address."""
    ip = shutil.which('ip')
    if ip is None:
        pytest.skip('needs the command ip (iproute2)')
    names = [f'xpc{os.getpid()}{end}' for end in 'ab']
    addresses = ('10.213.78.1', '10.213.78.2')

    def run(*arguments):
        subprocess.run([ip, *arguments], check=True, capture_output=True, text=True)

    with ExitStack() as made:
        try:
            for name in names:
                run('netns', 'add', name)
                made.callback(run, 'netns', 'delete', name)
            run('link', 'add', names[0], 'netns', names[0], 'type', 'veth',
                'peer', 'name', names[1], 'netns', names[1])
            for name, address in zip(names, addresses, strict=True):
                run('-n', name, 'address', 'add', f'{address}/24', 'dev', name)
                run('-n', name, 'link', 'set', name, 'up')
                run('-n', name, 'link', 'set', 'lo', 'up')
        except (OSError, subprocess.CalledProcessError) as error:
            pytest.skip('needs the privilege to make network namespaces: '
                        + (getattr(error, 'stderr', '') or str(error)).strip())
        yield [((ip, 'netns', 'exec', name), address)
               for name, address in zip(names, addresses, strict=True)]


def test_two_hosts_one_of_which_dies_and_comes_back(hosts, tmp_path):
    (here, near), (there, far) = hosts
    count = 18
    with scheduler('--host', near, prefix=here) as (_, address), \
            worker(address, tmp_path, '--host', near, prefix=here), \
            worker(address, tmp_path, '--host', far, prefix=there) as dies, \
            subprocess.Popen(
                [*here, sys.executable, '-P', campaign_flights.__file__, address, str(count)],
                env=ENVIRONMENT, stdout=subprocess.PIPE, text=True) as campaign:
        assert near in address
        lines = [campaign.stdout.readline() for _ in range(count // 3)]
        dies.kill()
        with worker(address, tmp_path, '--host', far, prefix=there):
            lines += campaign.stdout.read().splitlines()
    assert campaign.returncode == 0
    assert sorted(map(int, lines[:-1])) == list(range(count))
    assert lines[-1] == digest([fly(task(number)) for number in range(count)])
