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

"""fly-task: fly one flight of a campaign through ROS, and write its row. For campaigns only."""

from __future__ import annotations

from collections.abc import Sequence
import json
from pathlib import Path
import sys

from xplane_bridge.common import plain_files
from xplane_bridge.common.machine import is_at_fault
from xplane_bridge.laboratory.campaigns.fly import is_complete, make_order, make_row, said
from xplane_bridge.laboratory.campaigns.plan.task import FLIGHT, Task
from xplane_bridge.laboratory.campaigns.table import rows
from xplane_bridge.laboratory.campaigns.table.rows import Row
from xplane_bridge.laboratory.experiments.display import LiveView
from xplane_bridge.laboratory.experiments.fly import find_exit_code
from xplane_bridge.laboratory.experiments.report import report
from xplane_bridge.laboratory.experiments.settings import Experiment, Files, PASSED
from xplane_bridge.laboratory.flights.order import Keep
from xplane_bridge.laboratory.open_flight import open_flight


def main(argv: Sequence[str] | None = None) -> int:
    """Fly the task in a file (JSON), and write its row to another; 0 if that could be done."""
    given, written = map(Path, sys.argv[1:] if argv is None else argv)
    task = Task(**json.loads(given.read_text(encoding='utf-8')))
    row = fly(task, given.parent)
    plain_files.write(written, json.dumps({'row': row}))
    return 0


def fly(task: Task, folder: Path) -> Row | None:
    """Fly a task with its files in a folder; return its row, None if not all was recorded."""
    keep = Keep(str(folder / f'{FLIGHT}.mcap'), str(folder / f'{FLIGHT}.log'))
    try:
        with LiveView() as view:
            flight = open_flight(make_order(task, keep), view)
            with flight:
                flight.fly()
    except (ImportError, OSError, ValueError) as error:
        # Nothing of a stranger is run here: what a flight needs is not there.
        lost = not isinstance(error, ValueError) or is_at_fault(error)
        return task.row(rows.LOST if lost else rows.FAILED, said(error))
    code = find_exit_code(flight)
    row = make_row(task, flight)
    if flight.flown:
        if code == PASSED and not is_complete(flight):
            return None
        # Somebody will want to look at it, unless it has passed.
        picture = '' if row['outcome'] == rows.PASSED or not task.folder else f'{FLIGHT}.png'
        report(Experiment(
            flight.order,
            Files(keep.recording, picture and str(folder / picture),
                  str(folder / f'{FLIGHT}.json'), keep.log),
            f'{task.scenario} on {task.simulator}, seed {task.seed}'), flight, code)
    return row
