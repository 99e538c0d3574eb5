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

"""What came out of a flight: its figures, its steps and test inputs, its judged criteria."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
import math
import os
from typing import Any, NamedTuple

from xplane_bridge.bridges.conversions.airframe_events import EnvelopeLimits
from xplane_bridge.laboratory.flights.analysis import history as analysis
from xplane_bridge.laboratory.flights.analysis import verdict
from xplane_bridge.laboratory.flights.analysis.broken_loop import compute_joint_disk
from xplane_bridge.laboratory.flights.analysis.linear import linear_figures
from xplane_bridge.laboratory.flights.analysis.runway import figures as runway_figures
from xplane_bridge.laboratory.flights.analysis.series import History
from xplane_bridge.laboratory.flights.analysis.verdict import FlownStep, Judgement
from xplane_bridge.laboratory.flights.analysis.windows import Window, windows
from xplane_bridge.laboratory.flights.laws import make_autopilot
from xplane_bridge.laboratory.flights.scenario.events import ScenarioEvent
from xplane_bridge.laboratory.flights.script import Script


@dataclass(frozen=True, slots=True)
class Meeting:
    """A mid-air: two aircraft, ``distance`` apart (m) in the frame ``at`` (s)."""

    at: float
    first: str
    second: str
    distance: float

    def __str__(self) -> str:
        return (f'{self.at:5.1f} s  mid-air: {self.first} and {self.second} are '
                f'{self.distance:.1f} m apart')


class FlightResult(NamedTuple):
    """What came out of a flight: flown steps, test inputs, figures by name, judged criteria."""

    steps: list[FlownStep]
    windows: list[Window]
    figures: dict[str, Any]
    judgements: list[Judgement]


def evaluate(script: Script, history: History) -> FlightResult:
    """Return what came out of a flight. Raises KeyError for a criterion of an unknown figure."""
    steps = _flown_steps(script, history)
    flown = [step for _, step in steps]
    inputs = windows(script.scenario, script.occurrences, history, script.flown)
    figures = _figures(script, history, flown)
    figures['windows'] = {window.name: window.figures() for window in inputs}
    loops = [window.loop for window in inputs if window.loop is not None]
    if loops:
        figures['loops'] = {'disk': compute_joint_disk(loops)}
    judgements = verdict.judge(
        script.scenario, history, figures, script.flown, steps, script.crash, script.is_cut)
    if script.account is not None:
        judgements += script.account.judgements(script.begin)
    return FlightResult(flown, inputs, figures, judgements)


def _flown_steps(script: Script, history: History) -> list[tuple[ScenarioEvent, FlownStep]]:
    """Return the steps that were expected to be flown, and how they were."""
    steps = []
    for occurrence in script.occurrences:
        if occurrence.event.expect is not None:
            with suppress(ValueError):
                steps.append((occurrence.event, verdict.flown_step(history.series, occurrence)))
    return steps


def _figures(
    script: Script, history: History, steps: Sequence[FlownStep]
) -> dict[str, Any]:
    figures = analysis.figures(history, script.flown)
    if script.scenario.route is not None:
        across = [abs(value) for value in script.route.across] if script.route is not None else []
        figures['route'] = {
            'reached': len(script.route.passed) if script.route is not None else 0,
            'cross_track': max(across, default=math.nan),
            'cross_track_rms': math.hypot(*across) / math.sqrt(len(across) or math.nan),
        }
    if script.scenario.runway is not None:
        figures['runway'] = runway_figures(history, script.scenario.runway, script.flown)
    exceeded = script.exceedances
    figures['airframe'] = {
        'physics_rate': script.physics_rate,
        'crashes': int(script.crash is not None), 'exceedances': math.nan if exceeded is None
        else len(exceeded),
        **dict.fromkeys(EnvelopeLimits._fields, math.nan),
        **{name: event.value for name, event in (exceeded or {}).items()}}
    figures |= linear_figures(script.scenario, make_autopilot)
    if script.account is not None:
        figures['controller'] = script.account.figures(script.begin)
    # What else runs on this machine shows in the latencies.
    figures['load'] = {'average': os.getloadavg()[0], 'cores': os.cpu_count()}
    figures['steps'] = [
        {'quantity': step.quantity, 'begin': step.begin, 'start': step.start,
         'target': step.target, 'rise': step.response.rise, 'settling': step.response.settling,
         'overshoot': step.response.overshoot, 'error': step.response.error}
        for step in steps]
    return figures
