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
One flight of a campaign through ROS, in lockstep: the package's own `experiment`, supervised.

It gets a ROS domain of its own; its processes end with it, however it ends: see
common/supervisor.py. The row is read from the files that it writes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
import json
import math
import os
from pathlib import Path
import shutil
import tempfile
import time
from typing import Any

from xplane_bridge.campaigns.engines import domain
from xplane_bridge.campaigns.fly import trajectory
from xplane_bridge.campaigns.plan.contents import POLICY
from xplane_bridge.campaigns.plan.task import Task
from xplane_bridge.campaigns.table import rows
from xplane_bridge.campaigns.table.rows import CRASHED, FAILED, figures_of, HUNG, judged, Row
from xplane_bridge.common import supervised
from xplane_bridge.experiments.settings import MISSED, NOT_FLOWN, PASSED
from xplane_bridge.flights.analysis import history as analysis
from xplane_bridge.flights.analysis.series import Flight
from xplane_bridge.flights.scenario.events import CONTROLS
from xplane_bridge.flights.scenario.flown_by import AUTOPILOT
from xplane_bridge.nodes.flight.processes import executable_path

FRAMES_PER_SECOND = 60.0

# A starved recorder loses messages, and with them figures: then the flight is flown again.
_ATTEMPTS = 3
# Of the time limit; the rest is for reading the recording, and for ending hung processes.
_FLYING = 0.9
_NAME = 'flight'
_KEPT = ('.log', '.controller.log', '.out', '.png', '.json')
_OUTCOMES = {PASSED: rows.PASSED, MISSED: rows.MISSED}
# Topics that each frame has, as far as a simulator publishes them.
_STATES = ('fix', 'imu/data', 'odom', 'air_data', 'controls')
_COMMAND = 'command/controls'


def fly(task: Task, keep_recording: bool = True) -> Row:
    """
    Fly it and return its row; whatever goes wrong is a row as well.

    Unless it passes, its log and picture are left in the task's folder, and if wanted its
    recording.
    """
    begin = time.monotonic()
    with tempfile.TemporaryDirectory(prefix='xplane_bridge_') as scratch:
        for _ in range(_ATTEMPTS):
            row = _attempt(task, Path(scratch))
            if row is not None:
                break
        else:
            row = task.row(
                FAILED, f'its recording was not complete, {_ATTEMPTS} times: '
                'this machine is too busy for so many flights at once')
        if row['outcome'] != rows.PASSED and task.folder:
            _keep(Path(scratch), Path(task.folder), keep_recording)
    return row | {'seconds': time.monotonic() - begin}


def _attempt(task: Task, scratch: Path) -> Row | None:
    """Fly it once; None if it has to be flown again because its recording is not complete."""
    prefix = scratch / _NAME
    try:
        command = command_of(task, scratch)
        code = _run(command, Path(f'{prefix}.out'), task.time_limit * _FLYING)
    except OSError as error:
        return task.row(FAILED, str(error))
    if code == supervised.HUNG:
        return task.row(HUNG, f'it took longer than its time limit, {task.time_limit:g} s')
    sentence = _sentence(prefix)
    try:
        result = json.loads(Path(f'{prefix}.json').read_text(encoding='utf-8'))
    except (OSError, ValueError):
        # Python ends with 1 after an exception as well.
        return (task.row(FAILED, sentence, NOT_FLOWN) if code == NOT_FLOWN else
                task.row(CRASHED, f'experiment ended with code {code}: {sentence}', code))
    if code not in _OUTCOMES:
        return task.row(FAILED, sentence, code)
    if result['complete'] and not is_complete(result):
        return None
    missed = [one['criterion'] for one in result['criteria'] if not one['passed']]
    row = task.row(
        _OUTCOMES[code], '; '.join(missed) if result['complete'] else sentence, code,
        **judged((one['criterion'], math.nan if one['value'] is None else one['value'],
                  one['passed']) for one in result['criteria']),
        **figures_of(result['figures']))
    try:
        flight = analysis.load(f'{prefix}.mcap')
    except (ImportError, OSError, ValueError) as error:
        return row | {'outcome': FAILED, 'reason': str(error).replace(str(scratch), '')}
    _draw(task, row, flight, prefix)
    return row | {'trajectory': trajectory(flown_part(flight, result['flown']))}


def command_of(task: Task, scratch: Path) -> list[str]:
    """
    Return the command line of a flight; its scenario is written to ``scratch``.

    Raises FileNotFoundError if the package is not built or sourced.
    """
    scenario = scratch / f'{task.scenario}.yaml'
    # JSON is YAML.
    scenario.write_text(json.dumps(task.content), encoding='utf-8')
    if task.controller.startswith(POLICY):
        controller = ['--policy', task.controller.removeprefix(POLICY)]
    elif task.controller == AUTOPILOT:
        controller = []
    else:
        controller = ['--controller', task.controller]
    return [executable_path('experiment'), '--sim', task.simulator, '--scenario', str(scenario),
            '--lockstep', '--seed', str(task.seed), '--namespace', f'/flight_{task.key[:8]}',
            '--no-picture', '--force', '--output', str(scratch / _NAME), *controller]


def _run(command: list[str], output: Path, limit: float) -> int:
    """Run a command with a ROS domain of its own for at most ``limit`` (s); return its code."""
    with domain.claim() as claimed, output.open('w', encoding='utf-8') as stream:
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


def is_complete(result: Mapping[str, Any]) -> bool:
    """Return whether an experiment's figures are made of all frames that were flown."""
    frames = round(result['flown'] * FRAMES_PER_SECOND)
    rates = result['figures']['rates']
    return all(
        rates[topic]['messages'] == frames + 1 for topic in _STATES if topic in rates
    ) and rates.get(_COMMAND, {'messages': 0})['messages'] >= frames


def flown_part(flight: Flight, flown: float) -> Flight:
    """
    Return what was measured and commanded until ``flown`` (s): the same in every equal flight.

    Not so the recording as a whole: its messages have the times at which they happened to arrive,
    a state may be repeated, and for the last one no command is awaited. The controls as reported
    are left out: X-Plane's native interface sends them apart from the state, sooner or later.
    """
    end = flown - 0.5 / FRAMES_PER_SECOND
    return replace(flight, series={
        name: series.between(0.0, end) for name, series in flight.series.items()
        if name not in CONTROLS and not name.startswith('target_')})


def _sentence(prefix: Path) -> str:
    """Return what an experiment said of its failure, without where its files are."""
    said = Path(f'{prefix}.out').read_text(encoding='utf-8', errors='replace').splitlines()
    told = [line.removeprefix('experiment: ') for line in said if line.startswith('experiment: ')]
    last = (told or [line for line in said if line.strip()] or ['it said nothing'])[-1]
    return last.replace(f'{prefix.parent}{os.sep}', '').strip()


def _draw(task: Task, row: Row, flight: Flight, prefix: Path) -> None:
    """Draw a flight that somebody will want to look at."""
    if row['outcome'] == rows.PASSED or not task.folder:
        return
    try:
        from xplane_bridge.experiments.picture import draw_flight
    except ImportError:
        return
    draw_flight(flight, f'{prefix}.png', f'{task.scenario} on {task.simulator}, seed {task.seed}')


def _keep(scratch: Path, folder: Path, recording: bool) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for suffix in (*_KEPT, *(('.mcap',) if recording else ())):
        found = scratch / f'{_NAME}{suffix}'
        if found.exists():
            shutil.copy(found, folder / found.name)
