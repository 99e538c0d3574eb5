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
One flight of a campaign through ROS, in lockstep, in a process of its own: ``fly-task``.

It gets a ROS domain of its own; its processes end with it, however it ends: see
common/processes/supervisor.py. It writes its row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
import json
import os
from pathlib import Path
import shutil
import sys
import tempfile
from typing import Any

from xplane_bridge.common import plain_files
from xplane_bridge.common.processes import supervised
from xplane_bridge.laboratory.campaigns.engines import domain
from xplane_bridge.laboratory.campaigns.plan.task import FLIGHT, Task
from xplane_bridge.laboratory.campaigns.table import rows
from xplane_bridge.laboratory.campaigns.table.rows import LOST, Row

_COMMAND = (sys.executable, '-P', '-m', 'xplane_bridge', 'fly-task')
# A starved recorder loses messages, and with them figures: then the flight is flown again.
_TRIES = 3
# Of the time limit; the rest is for reading the recording, and for ending hung processes.
_FLYING = 0.9
_KEPT = ('.log', '.controller.log', '.out', '.png', '.json')


def fly(task: Task, keep_recording: bool = True) -> Row:
    """
    Fly it and return its row; whatever goes wrong is a row as well.

    Unless it passes, its log and picture are left in the task's folder, and its recording if that
    or its task wants it.
    """
    with tempfile.TemporaryDirectory(prefix='xplane_bridge_') as scratch:
        for _ in range(_TRIES):
            row = _once(task, Path(scratch))
            if row is not None:
                break
        else:
            row = task.row(
                LOST, f'its recording was not complete, {_TRIES} times: '
                'this machine is too busy for so many flights at once')
        passed = row['outcome'] == rows.PASSED
        recorded = bool(task.record) and not task.record_missed if passed else keep_recording
        if task.folder:
            suffixes = (() if passed else _KEPT) + (('.mcap',) if recorded else ())
            kept = _keep(Path(scratch), Path(task.folder), suffixes)
            # That of one that was killed is cut short.
            if '.mcap' in kept and row['outcome'] != LOST:
                row['recording'] = task.recorded('mcap')
    return row


def _once(task: Task, scratch: Path) -> Row | None:
    """Fly it once; None if it has to be flown again because its recording is not complete."""
    written, output = scratch / 'row.json', scratch / f'{FLIGHT}.out'
    order = scratch / 'task.json'
    written.unlink(missing_ok=True)
    plain_files.write(order, json.dumps(asdict(task)))
    try:
        code = _run([*_COMMAND, str(order), str(written)], output,
                    task.time_limit * _FLYING)
    except OSError as error:
        return task.row(LOST, str(error))
    if code == supervised.HUNG:
        return task.row(LOST, f'it took longer than its time limit, {task.time_limit:g} s')
    try:
        found: dict[str, Any] = json.loads(written.read_text(encoding='utf-8'))
    except (OSError, ValueError):
        return task.row(
            LOST, f'the flight ended with code {code}: {_last_line(output, scratch)}', code)
    row: Row | None = found['row']
    return None if row is None else row | {
        'reason': str(row['reason']).replace(f'{scratch}{os.sep}', '')}


def _run(command: list[str], output: Path, limit: float) -> int:
    """Run a command with a ROS domain of its own for at most ``limit`` (s); return its code."""
    with domain.claim() as claimed, plain_files.growing(output) as stream:
        # The domain stays claimed while anything of the flight may still run.
        process = supervised.Supervised(
            command, stream, limit, (claimed.lock.fileno(),), {
                **os.environ, 'ROS_DOMAIN_ID': str(claimed.number),
                'ROS_AUTOMATIC_DISCOVERY_RANGE': 'LOCALHOST'})
        try:
            code = process.wait()
        finally:
            process.end(0.0)
            process.wait()
        assert code is not None
        return code


def _last_line(output: Path, scratch: Path) -> str:
    """Return the last that a flight said, without where its files are."""
    said = output.read_text(encoding='utf-8', errors='replace').splitlines()
    last = ([line for line in said if line.strip()] or ['it said nothing'])[-1]
    return last.replace(f'{scratch}{os.sep}', '').strip()


def _keep(scratch: Path, folder: Path, suffixes: Sequence[str]) -> list[str]:
    """Copy those files that there are, each as a whole or not at all; return their suffixes."""
    kept = [suffix for suffix in suffixes if (scratch / f'{FLIGHT}{suffix}').exists()]
    if kept:
        folder.mkdir(parents=True, exist_ok=True)
    for suffix in kept:
        found = scratch / f'{FLIGHT}{suffix}'
        with found.open('rb') as source, plain_files.output(folder / found.name) as stream:
            shutil.copyfileobj(source, stream)
    return kept
