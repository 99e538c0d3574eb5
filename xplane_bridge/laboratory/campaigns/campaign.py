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

"""A campaign from its plan to its report."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
import sys
from typing import Protocol

from xplane_bridge.common.text import counted, printable
from xplane_bridge.laboratory.campaigns.engines.local import Engine, EngineError
from xplane_bridge.laboratory.campaigns.plan import plan as plans
from xplane_bridge.laboratory.campaigns.plan.plan import Plan, PlanError
from xplane_bridge.laboratory.campaigns.progress import CampaignProgress
from xplane_bridge.laboratory.campaigns.refly import draw
from xplane_bridge.laboratory.campaigns.report.options import PLAIN, ReportOptions
from xplane_bridge.laboratory.campaigns.table import folder as files
from xplane_bridge.laboratory.campaigns.table import table
from xplane_bridge.laboratory.campaigns.table.folder import Folder
from xplane_bridge.laboratory.campaigns.table.lost import LostFlights
from xplane_bridge.laboratory.campaigns.table.rows import LOST, NOT_FLOWN, Row
from xplane_bridge.laboratory.campaigns.table.table import Summary
from xplane_bridge.laboratory.flights.order import remarks as remarks_on

_LONGEST = 400
# If so many flights in a row are lost, and more than are flown at a time, the rest would be too.
_LOST_IN_A_ROW = 10


class OfRow(Protocol):
    """What has the row of a flight, such as one of a report's worst flights."""

    @property
    def row(self) -> Row:
        """Return the row."""


def remarks(plan: Plan) -> list[str]:
    """Return what to say of aircraft of one's own before a plan is flown, a line each."""
    return [*dict.fromkeys(
        line for order in plans.first_orders(plan) for line in remarks_on(order))]


def run(plan: Plan, folder: Folder, engine: Callable[[], Engine]) -> Summary:
    """
    Fly what has no row yet, and write the table; return what it says.

    What the machine keeps from being flown gets no row: it is flown when this is called again.
    ``engine`` makes what flies, if anything is left. Raises EngineError, also if more and more
    flights are lost.
    """
    lost = LostFlights()
    if folder.done < len(plan):
        flown_by = engine()
        most = max(_LOST_IN_A_ROW, flown_by.workers)
        with CampaignProgress(len(plan), folder.outcomes) as progress:
            in_a_row = 0

            def ended(row: Row) -> None:
                nonlocal in_a_row
                progress.ended(row)
                if row['outcome'] != LOST:
                    folder.add(row)
                    in_a_row = 0
                    return
                lost.add(row['reason'])
                in_a_row += 1
                if in_a_row > most:
                    raise EngineError(f'{counted(in_a_row, "flight")} in a row could not be '
                                      f'flown, the last because {row["reason"]}')

            flown_by.run(
                (plan.task(flight, str(folder.path)) for flight in range(len(plan))
                 if not folder.is_done(flight)), ended)
    folder.flush()
    return table.write(folder.parts(), folder.path / files.TABLE, lost)


def report(
    folder: Path, draw: Callable[[OfRow, Path], None] | None = None, options: ReportOptions = PLAIN
) -> bool:
    """
    Write the report of a folder; return whether it could be, having said why not.

    ``draw`` draws those of the worst flights that have no picture; see drawn_by.
    """
    try:
        from xplane_bridge.laboratory.campaigns.report import report as reports
        print(f'report: {reports.write(folder, draw, options)}', flush=True)
        return True
    except (ImportError, OSError, ValueError) as error:
        why = str(error)
    except Exception as error:
        # Whatever comes of a table with values of other types.
        why = f'{folder}: its table is damaged: {error!r}'
    print(f'campaign: no report: {printable(why, _LONGEST)}', file=sys.stderr, flush=True)
    return False


def report_again(folder: Path, trust: bool, options: ReportOptions) -> bool:
    """
    Write the report of somebody's folder: nothing of it is run, unless ``trust`` asks for it.

    Then the plan that it was flown by is looked for, to draw flights with.
    """
    draw, missing = None, 0

    def untrusted(worst: OfRow, path: Path) -> None:
        nonlocal missing
        if worst.row['outcome'] in NOT_FLOWN:
            raise ValueError('it was not flown to its end')
        missing += 1
        raise ValueError('campaign report --trust flies it again')

    try:
        if trust:
            plan = plans.load(files.read_origin(folder))
            plan.load_policies()
            draw = drawn_by(plan)
    except PlanError as error:
        print(f'no flight is drawn: {error}', flush=True)
    done = report(folder, draw if trust else untrusted, options)
    if missing:
        print(f'worst flights without a picture: {missing}; --trust flies them again, which runs '
              'the code of their controllers', flush=True)
    return done


def drawn_by(plan: Plan) -> Callable[[OfRow, Path], None]:
    """Return what flies a flight of a plan again, to draw it."""
    def drawn(worst: OfRow, path: Path) -> None:
        task = plan.task(worst.row['flight'])
        if task.key != worst.row['key']:
            raise ValueError(f'{plan.origin} is another plan by now')
        print(f'flight {worst.row["flight"]} is among the worst: it is flown again, to be drawn',
              flush=True)
        draw(task, path)

    return drawn
