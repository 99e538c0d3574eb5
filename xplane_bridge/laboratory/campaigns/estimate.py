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

"""What a campaign would fly, and how long it would take."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import fmean
import time
from typing import NamedTuple

from xplane_bridge.common.text import counted
from xplane_bridge.laboratory.campaigns.fly import make_order
from xplane_bridge.laboratory.campaigns.plan.contents import POLICY
from xplane_bridge.laboratory.campaigns.plan.plan import Plan
from xplane_bridge.laboratory.campaigns.plan.task import Task
from xplane_bridge.laboratory.campaigns.progress import duration
from xplane_bridge.laboratory.campaigns.table import parts
from xplane_bridge.laboratory.campaigns.table.folder import Folder
from xplane_bridge.laboratory.flights.flight import FlightState
from xplane_bridge.laboratory.flights.order import CORE
from xplane_bridge.laboratory.flights.scenario.flown_by import AUTOPILOT
from xplane_bridge.laboratory.open_flight import open_flight

# Simulated seconds that are flown to see how fast that goes.
_MEASURED = 10.0
# Through ROS nothing is flown for an estimate: what a flight took where it was measured, to start
# its processes and to read its recording (s), and how many times faster than real time it flew.
_ROS_START, _ROS_SPEED = 12.0, 4.0
# Nor in one process, if that would run a stranger's code.
_CORE_START, _CORE_SPEED = 1.0, 50.0


class FlightKind(NamedTuple):
    """Flights that take equally long: scenario, simulator and controller."""

    scenario: str
    simulator: str
    controller: str


def dry_run(plan: Plan, folder: Folder, workers: int, trust: bool = False) -> Iterator[str]:
    """
    Yield what would be flown, and how long it would take, line by line.

    Nothing that the plan names is run, unless ``trust`` asks for it.
    """
    rest: dict[FlightKind, list[int]] = {}
    for flight in range(len(plan)):
        if not folder.is_done(flight):
            rest.setdefault(kind_of(plan, flight), []).append(flight)
    yield (f'{counted(len(plan), "flight")}: {counted(len(plan.scenarios), "scenario")} x '
           f'{counted(len(plan.simulators), "simulator")} x {len(plan.aircraft)} aircraft x '
           f'{counted(len(plan.controllers), "controller")} x {counted(plan.points, "point")} '
           'of parameters and seeds')
    if folder.done:
        yield f'{folder.done} of them have been flown: {folder.path}'
    known = remembered(folder)
    total = 0.0
    for kind, flights in rest.items():
        found = known.get(kind)
        seconds, how = (found, 'as those before') if found is not None else measured(
            plan, flights[0], trust)
        total += seconds * len(flights)
        yield (f'  {" on ".join(kind[:2])}, {kind.controller}: '
               f'{counted(len(flights), "flight")} of about {duration(seconds)} ({how})')
    if total:
        yield f'about {duration(total / workers)} with {counted(workers, "worker")}'
    else:
        yield 'nothing is left to fly'


def kind_of(plan: Plan, flight: int) -> FlightKind:
    """Return which kind a flight is of."""
    which, simulator, _, controller = plan.what(flight)
    return FlightKind(plan.scenarios[which].name, plan.simulators[simulator],
                      plan.controllers[controller].name)


def remembered(folder: Folder) -> dict[FlightKind, float]:
    """Return how long flights of each kind took (s), of the newest rows that have any."""
    found: dict[FlightKind, list[float]] = {}
    for rows in (*(parts.rows(part, *FlightKind._fields, 'seconds') for part in folder.parts()),
                 ((*(row[name] for name in FlightKind._fields), row['seconds'])
                  for row in folder.journaled())):
        times: dict[FlightKind, list[float]] = {}
        for *kind, seconds in rows:
            times.setdefault(FlightKind(*kind), []).append(seconds)
        found |= times
    return {kind: fmean(times) for kind, times in found.items()}


def measured(plan: Plan, flight: int, trust: bool) -> tuple[float, str]:
    """Return how long a flight may take (s), and how that is known."""
    task = plan.task(flight)
    lasts = float(task.content['duration'])
    if task.simulator != CORE:
        return _ROS_START + lasts / _ROS_SPEED, 'assumed'
    if not trust and not _is_own(task):
        return _CORE_START + lasts / _CORE_SPEED, 'assumed; --trust measures it'
    begin = time.perf_counter()
    try:
        flown = open_flight(make_order(task))
    except (ImportError, ValueError) as error:
        return time.perf_counter() - begin, f'it fails: {error}'
    with flown:
        state = flown.start()
        started = time.perf_counter()
        while state is FlightState.READY and flown.flown < _MEASURED:
            state = flown.step()
        flying = time.perf_counter() - started
        if state is FlightState.FAILED:
            return time.perf_counter() - begin, f'it fails: {flown.why}'
    return started - begin + flying * lasts / max(flown.flown, 1.0), 'measured'


def _is_own(task: Task) -> bool:
    """Return whether a flight has nothing that is not of this package, or of JSBSim."""
    policy = task.controller.removeprefix(POLICY)
    return (task.controller == AUTOPILOT or policy != task.controller and policy.isidentifier()
            ) and not task.content.get('initial', {}).get('aircraft_path')
