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
Programs on tables that strangers crafted, as a user runs them: each with a sentence, and code 2.

``python3 test/support/strange_runs.py [MINUTES [SEED]]`` draws programs and tables until the time
is up, but runs each program once. A run has 1.5 GB of memory.
"""

from collections import namedtuple
import json
import os
from pathlib import Path
import random
import resource
import subprocess
import sys
import tempfile
import time

import strange_tables

from xplane_bridge.campaigns.plan import plan
from xplane_bridge.campaigns.table import rows
from xplane_bridge.flights.recordings.parquet_file import FACTS
from xplane_bridge.identification.motion.signals import SIGNALS

MEMORY = 1_500_000_000
# Of processor time: most is that of starting Python.
SECONDS = 60
LONGEST_LINE = 2000
PLAN = 'scenarios: [steps]\nseeds: [1, 2]\n'

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
    """Write what is beside the tables."""
    path = folder / 'plan.yaml'
    path.write_text(PLAN)
    given = plan.load(str(path))
    (folder / 'kept' / 'rows' / '0').mkdir(parents=True)
    (folder / 'kept' / 'rows' / 'identity.json').write_text(json.dumps(
        {'identity': given.identity, 'plan': str(path), 'parts': given.parts, 'generation': 0}))


def called(options, folder):
    """Run a program; return its code, what it told, and its memory (MB) and processor time (s)."""
    def limit():
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))

    with tempfile.TemporaryFile('w+') as told:
        child = subprocess.Popen(
            [sys.executable, '-P', '-m', 'xplane_bridge', *options], cwd=folder, stdout=told,
            stderr=told, stdin=subprocess.DEVNULL, preexec_fn=limit,
            # Each thread of a numerical library reserves memory that the limit counts.
            env={**os.environ, 'OPENBLAS_NUM_THREADS': '1',
                 'PYTHONPATH': os.pathsep.join(path for path in sys.path if path)})
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        told.seek(0)
        return child.returncode, told.read(), used.ru_maxrss / 1000, used.ru_utime + used.ru_stime


def run(name, what):
    """Run a program on a crafted table; return what is wrong, or nothing."""
    own = RUNS[name]
    content, _ = strange_tables.crafted(own.columns, own.last, own.metadata)[what]
    with tempfile.TemporaryDirectory() as above:
        folder = Path(above)
        prepare(folder)
        (folder / own.name).write_bytes(content)
        code, told, memory, seconds = called(own.options, folder)
    lines = told.splitlines()
    print(f'{name:22}{what:32}{code:4}{memory:8.0f} MB{seconds:6.1f} s  '
          f'{lines[-1][:200] if lines else ""}', flush=True)
    wrong = code != 2 or 'Traceback' in told or max(map(len, lines), default=0) > LONGEST_LINE
    return told if wrong else ''


def soak(minutes, seed):
    """Run programs until the time is up, each of them at least once; return how many failed."""
    drawn = random.Random(seed)
    tables = [*strange_tables.crafted({'a': 1.0}, 'a')]
    failures, end = 0, time.monotonic() + 60.0 * minutes
    every = [(name, what) for what in tables for name in RUNS]
    todo = [(name, drawn.choice(tables)) for name in RUNS]
    once = len(todo)
    while once or time.monotonic() < end:
        name, what = todo.pop()
        once = max(once - 1, 0)
        todo = todo or drawn.sample(every, len(every))
        if told := run(name, what):
            failures += 1
            print(f'FAILED: {name}, {what}:\n{told[-2000:]}', file=sys.stderr)
    return failures


if __name__ == '__main__':
    minutes, seed = (*sys.argv[1:], *('0', '1')[len(sys.argv) - 1:])
    sys.exit(1 if soak(float(minutes), int(seed)) else 0)
