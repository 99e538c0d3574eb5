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
Fly one flight of a campaign; whatever happens to it is a row.

In core it is flown in this process; on a simulator through ROS, in lockstep: ros_flight.py.
"""

from __future__ import annotations

import hashlib
import math
import time

import numpy as np

from xplane_bridge.campaigns.plan.contents import POLICY
from xplane_bridge.campaigns.plan.task import Task
from xplane_bridge.campaigns.plan.versions import jsbsim_version, package_version
from xplane_bridge.campaigns.table import rows
from xplane_bridge.campaigns.table.rows import Row
from xplane_bridge.experiments.settings import CORE, MISSED, PASSED
from xplane_bridge.flights.analysis.series import Flight
from xplane_bridge.flights.core import CoreRun
from xplane_bridge.flights.laws import PolicyLaw
from xplane_bridge.flights.scenario import scenario
from xplane_bridge.flights.script import ExperimentError


def fly(task: Task) -> Row:
    """Fly a task wherever it is to be flown; return its row."""
    begin = time.monotonic()
    if task.simulator == CORE:
        found = _in_core(task)
    else:
        from xplane_bridge.campaigns.engines import isolated as ros_flight
        found = ros_flight.fly(task)
    return found | {'version': package_version(), 'jsbsim': jsbsim_version(),
                    'seconds': time.monotonic() - begin}


def _in_core(task: Task) -> Row:
    flight, run = None, None
    try:
        run = run_of(task)
        run.fly()
        flight = run.vehicle.flight()
        result = run.evaluate()
    except Exception as error:
        # A foreign policy may raise anything.
        if run is None:
            return task.row(rows.FAILED, _said(error))
        return task.row(
            rows.FAILED, f'{"" if flight else f"at {run.flown:.1f} s: "}{_said(error)}',
            trajectory=trajectory(flight or run.vehicle.flight()))
    missed = [one.criterion for one in result.judgements if not one.passed]
    return task.row(
        rows.MISSED if missed else rows.PASSED, '; '.join(missed), MISSED if missed else PASSED,
        **rows.judged((one.criterion, one.value, one.passed) for one in result.judgements),
        **rows.figures_of(result.figures), trajectory=trajectory(flight))


def run_of(task: Task) -> CoreRun:
    """Return a flight in this process that is about to begin; ValueError if it cannot."""
    return CoreRun(scenario.parse(task.scenario, task.content), task.seed, _law_of(task))


def _law_of(task: Task) -> PolicyLaw | None:
    """Return the policy of a task, None for the autopilot."""
    if not task.controller.startswith(POLICY):
        return None
    from xplane_bridge.control.policy.load import load
    # Anew for each flight, so that none begins with what another left.
    policy = load(task.controller.removeprefix(POLICY))
    if task.digest and policy.digest != task.digest:
        raise ValueError(
            f'{task.controller} is no more what it was when the campaign began, or it is another '
            'one on this machine: its files differ, or what they import')
    return PolicyLaw(policy)


def trajectory(flight: Flight) -> str:
    """Return the SHA-256 of all that was measured, commanded and wanted, with its times."""
    found = hashlib.sha256()
    for name, series in sorted(flight.series.items()):
        found.update(name.encode())
        for column in (series.times, series.values):
            # Zeros have a sign, NaNs a payload; neither is flown.
            plain = np.where(np.isnan(column), math.nan, column) + 0.0
            found.update(np.ascontiguousarray(plain, '<f8').tobytes())
    return found.hexdigest()


def _said(error: Exception) -> str:
    if isinstance(error, ExperimentError | ValueError | ImportError):
        return str(error)
    text = error.args[0] if isinstance(error, KeyError) and error.args else error
    return f'{type(error).__name__}: {text}'

