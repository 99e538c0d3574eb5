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

"""One flight of a campaign, flown again."""

from __future__ import annotations

from pathlib import Path
import sys

from xplane_bridge.common.text import known
from xplane_bridge.laboratory.campaigns.fly import fly, make_order
from xplane_bridge.laboratory.campaigns.plan.plan import Plan
from xplane_bridge.laboratory.campaigns.plan.task import Task
from xplane_bridge.laboratory.campaigns.table.folder import Folder
from xplane_bridge.laboratory.campaigns.table.rows import JUDGED, VALUE
from xplane_bridge.laboratory.experiments.settings import MISSED
from xplane_bridge.laboratory.flights.flight import FlightState
from xplane_bridge.laboratory.flights.order import CORE
from xplane_bridge.laboratory.flights.scenario.flown_by import without_folders
from xplane_bridge.laboratory.open_flight import open_flight


def refly(plan: Plan, flight: int, folder: Path) -> int:
    """
    Fly a flight, print what came of it and whether it is as in the folder; return its exit code.

    MISSED if it is not.
    """
    task = plan.task(flight, str(folder))
    kept = Folder.seen(folder, plan).row(task.key)
    given = ', '.join(f'{name} {value}' for name, value in task.parameters.items())
    print(f'flight {flight}: {task.scenario} on {task.simulator}, {task.controller}, '
          f'{task.aircraft}, seed {task.seed}{f", {given}" if given else ""}', flush=True)
    row = fly(task)
    for name, passed in row.items():
        if name.startswith(JUDGED):
            criterion = name.removeprefix(JUDGED)
            print(f'  {"met   " if passed else "MISSED"}  {criterion}: '
                  f'{known(row[f"{VALUE}{criterion}"], "{:.4g}", "never")}')
    why = f': {row["reason"]}' if row['reason'] else ''
    print(f'{row["outcome"]}{why}, in {row["seconds"]:.2f} s')
    code = int(row['exit'])
    if kept is None:
        print(f'{folder} has no row of it to compare with', flush=True)
    elif kept['trajectory'] == row['trajectory']:
        print(f'the trajectory is that of the row, to the last bit: {row["trajectory"]}',
              flush=True)
    else:
        print(f'campaign: the trajectory is {row["trajectory"] or "none"}, in the row '
              f'{kept["trajectory"] or "none"}', file=sys.stderr, flush=True)
        code = code or MISSED
    return code


def draw(task: Task, path: Path) -> None:
    """Fly a task again and draw it; ValueError if that is not possible."""
    if task.simulator != CORE:
        raise ValueError(f'it was flown on {task.simulator}; it is drawn when it is flown')
    try:
        from xplane_bridge.laboratory.experiments import picture
        flight = open_flight(make_order(task))
    except ImportError as error:
        raise ValueError(str(error)) from None
    with flight:
        if flight.fly() is FlightState.FAILED:
            raise ValueError(flight.why)
        title = f'{task.scenario}, flown by {without_folders(task.controller)}, seed {task.seed}'
        if flight.crash_verdict:
            title += f'\n{flight.crash_verdict}'
        picture.draw(flight, str(path), title, flight.result().windows)
