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
Programs as a user runs them, on tables that strangers crafted, with links, and on full disks.

``python3 test/support/strange_runs.py [MINUTES [SEED]]`` draws cases until the time is up, but
each program once. A run has 2 GB of memory. It may say what it cannot do in a sentence, with
code 1 or 2; a link leads nowhere; of a full disk, a file of 0 to 300 kB, nothing unfinished stays.
"""

from collections import namedtuple
from functools import cache
import json
import os
from pathlib import Path
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import time

import numpy as np
import pyarrow
from pyarrow import parquet
import strange_tables

from xplane_bridge.laboratory.campaigns.plan import plan
from xplane_bridge.laboratory.campaigns.table import rows
from xplane_bridge.laboratory.flights.recordings.parquet_file import FACTS
from xplane_bridge.laboratory.identification.motion.signals import SIGNALS

# Of addresses: pyarrow reserves one of them.
MEMORY = 2_000_000_000
# Of processor time: most is that of starting Python.
SECONDS = 60
LONGEST_LINE = 2000
BRIEF = """duration: 5.0
initial: {altitude: 1000.0, airspeed: 51.444}
events: [{at: 0.0, engage: true}]
criteria: [{quantity: roll_deg, statistic: max_abs, at_most: 90.0}]
"""
PLAN = 'scenarios: [brief.yaml]\nseeds: [1, 2]\nrecord: parquet\n'

# A program's options for a table; the table's name below the folder; what is in it: columns, the
# one that is crafted, and metadata.
Run = namedtuple('Run', 'options name columns last metadata', defaults=(b'',))

FLIGHT = dict.fromkeys(('time', 'heading', *SIGNALS), 1.0)
RECORDED = FACTS, b'{}'
ROW = {name: value.encode() if isinstance(value, str) else float(value)
       for name, value in next(rows.synthetic(1)).items()}
KEPT = ['--output', 'kept', '--dry-run']
RUNS = {
    'identify': Run(['identify', 'a.parquet', '--model', 'c172p'], 'a.parquet', FLIGHT, 'rudder'),
    'identify a recording': Run(
        ['identify', 'a.parquet'], 'a.parquet', FLIGHT, 'rudder', RECORDED),
    'identify a folder': Run(['identify', '.'], 'a.parquet', FLIGHT, 'rudder', RECORDED),
    'export': Run(
        ['export', 'a.parquet', '--to', 'csv', '--output', 'out'], 'a.parquet', FLIGHT, 'rudder',
        RECORDED),
    'picture': Run(['picture', 'a.parquet'], 'a.parquet', FLIGHT, 'rudder', RECORDED),
    'campaign report': Run(['campaign', 'report', '.'], 'table.parquet', ROW, 'outcome'),
    'campaign compare': Run(
        ['campaign', 'compare', '.', '--controllers', 'a', 'b'], 'table.parquet', ROW,
        'controller'),
    'campaign resumed': Run(
        ['campaign', 'plan.yaml', *KEPT], 'kept/rows/0/part-000000.parquet', ROW, 'outcome'),
}


def prepare(folder):
    """Write what programs read: a scenario, a plan and its rows, a campaign, a recording."""
    (folder / 'brief.yaml').write_text(BRIEF)
    path = folder / 'plan.yaml'
    path.write_text(PLAN)
    given = plan.load(str(path))
    (folder / 'kept' / 'rows' / '0').mkdir(parents=True)
    (folder / 'kept' / 'rows' / 'identity.json').write_text(json.dumps(
        {'identity': given.identity, 'plan': str(path), 'parts': given.parts, 'generation': 0}))
    parquet.write_table(rows.arrow(list(rows.synthetic(12))), folder / 'table.parquet')
    times = np.arange(2000.0)
    parquet.write_table(pyarrow.table(dict.fromkeys(FLIGHT, times)).replace_schema_metadata(
        dict([RECORDED])), folder / 'good.parquet')


def called(options, folder, before=()):
    """Run a program; return its code, what it told, and its memory (MB) and processor time (s)."""
    def limit():
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))

    with tempfile.TemporaryFile('w+') as told:
        child = subprocess.Popen(
            [*before, sys.executable, '-P', '-m', 'xplane_bridge', *options], cwd=folder,
            stdout=told, stderr=told, stdin=subprocess.DEVNULL, preexec_fn=limit,
            # Each thread of a numerical library reserves memory that the limit counts.
            env={**os.environ, 'OPENBLAS_NUM_THREADS': '1',
                 'PYTHONPATH': os.pathsep.join(path for path in sys.path if path)})
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        told.seek(0)
        return child.returncode, told.read(), used.ru_maxrss / 1000, used.ru_utime + used.ru_stime


@cache
def crafted(name):
    """Return the crafted tables for a program."""
    own = RUNS[name]
    return strange_tables.crafted(own.columns, own.last, own.metadata)


def told_badly(code, told):
    """Return whether an answer is no sentence."""
    return code not in (0, 1, 2) or 'Traceback' in told or max(
        map(len, told.splitlines()), default=0) > LONGEST_LINE


def shown(name, what, code, told, memory, seconds):
    """Print a run as a line."""
    lines = told.splitlines()
    print(f'{name:22}{what:32}{code:4}{memory:8.0f} MB{seconds:6.1f} s  '
          f'{lines[-1][:200] if lines else ""}', flush=True)


def table(name, what, folder):
    """Run a program on a crafted table; return what is wrong, or nothing."""
    (folder / RUNS[name].name).write_bytes(crafted(name)[what][0])
    code, told, *used = called(RUNS[name].options, folder)
    shown(name, what, code, told, *used)
    return told if told_badly(code, told) or code != 2 else ''


FLY = ['experiment', '--sim', 'core', '--scenario', 'brief.yaml', '--no-picture']
# Programs that write, with the names that are links.
LINKED = {
    'campaign report': (['campaign', 'report', '.'], [
        'report.html', 'report.new', 'pass_rate.csv', 'pass_rate.tex', 'pass_rate.png']),
    'campaign': (['campaign', 'plan.yaml', '--output', 'kept'], [
        'kept/plan.yaml', 'kept/plan.yaml.new', 'kept/rows/identity.json.new',
        'kept/rows/0/journal.jsonl', 'kept/table.parquet', 'kept/table.parquet.new']),
    'export': (['export', 'good.parquet', '--to', 'csv', '--output', 'out', '--force'],
               ['out/flight.csv', 'out/flight.csv.part']),
    'experiment': ([*FLY, '--record', 'parquet', '--output', 'flown', '--force'],
                   ['flown.json', 'flown.parquet', 'flown.parquet.part']),
}
# On a disk that is full after some kB.
FILLING = {
    'experiment': [*FLY, '--record', 'parquet', '--output', 'flown'],
    'experiment, MCAP': [*FLY, '--record', 'mcap', '--output', 'flown'],
    'export': ['export', 'good.parquet', '--to', 'csv', '--output', 'out'],
    'export to MAT': ['export', 'good.parquet', '--to', 'mat', '--output', 'out.mat'],
    'campaign': ['campaign', 'plan.yaml', '--output', 'kept', '--workers', '1'],
}


def link(name, _, folder):
    """Run a program where its outputs are links; return what is wrong, or nothing."""
    options, names = LINKED[name]
    own = folder / 'own'
    own.mkdir()
    (own / 'file').write_text('mine')
    for number, each in enumerate(names):
        (folder / each).parent.mkdir(parents=True, exist_ok=True)
        (folder / each).symlink_to(own / ('new' if number % 2 else 'file'))
    code, told, *used = called(options, folder)
    shown(name, 'links', code, told, *used)
    left = {path.name: path.read_text() for path in own.iterdir()}
    return f'{left}\n{told}' if told_badly(code, told) or left != {'file': 'mine'} else ''


def disk(name, size, folder):
    """Run a program in a folder of so many kB; return what is wrong, or nothing."""
    room = folder / 'room'
    room.mkdir()
    options = [f'../{text}' if (folder / text).is_file() else text for text in FILLING[name]]
    code, told, *used = called(options, room, before=[
        'unshare', '--user', '--map-root-user', '--mount', 'sh', '-c',
        f'mount -t tmpfs -o size={size}k tmpfs . && cd ../room && "$@"; code=$?; '
        'find . -name "*.new" -o -name "*.part" -o -name "*.tmp" | sed "s/^/LEFT: /"; exit $code',
        'sh'])
    shown(name, f'{size} kB of disk', code, told, *used)
    return told if told_badly(code, told) or 'LEFT: ' in told or (
        code and 'cannot be written' not in told) else ''


def cases(drawn):
    """Return every case in a random order: its function, a program, and on what."""
    found = [*((table, name, what) for name in RUNS for what in crafted(name)),
             *((link, name, '') for name in LINKED),
             *((disk, name, 4 * drawn.randrange(1, 75)) for name in FILLING for _ in range(3))]
    drawn.shuffle(found)
    return found


def soak(minutes, seed):
    """Run cases until the time is up, each program at least once; return how many failed."""
    drawn = random.Random(seed)
    failures, end = 0, time.monotonic() + 60.0 * minutes
    todo = [*{(kind, name): (kind, name, what) for kind, name, what in cases(drawn)}.values()]
    once = len(todo)
    with tempfile.TemporaryDirectory() as good:
        prepare(Path(good))
        while once or time.monotonic() < end:
            kind, name, what = todo.pop()
            once = max(once - 1, 0)
            todo = todo or cases(drawn)
            with tempfile.TemporaryDirectory() as above:
                folder = Path(above, 'folder')
                shutil.copytree(good, folder)
                if told := kind(name, what, folder):
                    failures += 1
                    print(f'FAILED: {name}, {what}:\n{told[-2000:]}', file=sys.stderr)
    return failures


if __name__ == '__main__':
    minutes, seed = (*sys.argv[1:], *('0', '1')[len(sys.argv) - 1:])
    sys.exit(1 if soak(float(minutes), int(seed)) else 0)
