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

"""Fly one flight of a campaign, wherever it is to be flown; whatever happens to it has a row."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
import hashlib
import math
import os
import time

import numpy as np

from xplane_bridge.common.machine import MachineError
from xplane_bridge.common.timing import FRAME_RATE
from xplane_bridge.laboratory.campaigns.engines import isolated
from xplane_bridge.laboratory.campaigns.engines.local import outcome_of
from xplane_bridge.laboratory.campaigns.plan.contents import POLICY
from xplane_bridge.laboratory.campaigns.plan.plan import make_order as planned
from xplane_bridge.laboratory.campaigns.plan.task import FLIGHT, Task
from xplane_bridge.laboratory.campaigns.plan.versions import jsbsim_version, package_version
from xplane_bridge.laboratory.campaigns.table import rows
from xplane_bridge.laboratory.campaigns.table.rows import Row
from xplane_bridge.laboratory.experiments.settings import MISSED, NOT_FLOWN, PASSED
from xplane_bridge.laboratory.flights.analysis.quantities import EACH_FRAME, MOVED
from xplane_bridge.laboratory.flights.analysis.series import History
from xplane_bridge.laboratory.flights.flight import Fault, Flight
from xplane_bridge.laboratory.flights.order import CORE, Keep, Order
from xplane_bridge.laboratory.flights.refusals import OrderError
from xplane_bridge.laboratory.flights.result import FlightResult
from xplane_bridge.laboratory.flights.scenario import scenario
from xplane_bridge.laboratory.flights.scenario.events import CONTROLS
from xplane_bridge.laboratory.flights.scenario.quantities import needs_more
from xplane_bridge.laboratory.flights.script import ExperimentError
from xplane_bridge.laboratory.open_flight import open_flight

_COMMAND = 'command/controls'


def fly(task: Task) -> Row:
    """Fly a task wherever it is to be flown; return its row."""
    begin = time.monotonic()
    # Through ROS a flight has processes, which must end with it, and a domain of its own.
    try:
        found = _in_core(task) if task.simulator == CORE else isolated.fly(task)
    except (OSError, MemoryError) as error:
        found = task.row(rows.LOST, said(error))
    found['reason'] = _without_folder(found['reason'], task)
    return found | {'version': package_version(), 'jsbsim': jsbsim_version(),
                    'seconds': time.monotonic() - begin}


def _without_folder(reason: str, task: Task) -> str:
    """Return a reason without the folders of a policy and of the flight: tables travel."""
    file, _, attribute = task.flown_by.removeprefix(POLICY).rpartition(':')
    folder = os.path.dirname(file or attribute) if task.flown_by.startswith(POLICY) else ''
    for each in (task.folder, folder):
        reason = reason.replace(f'{each}/', '') if each else reason
    return reason


def _in_core(task: Task) -> Row:
    recording = os.path.join(task.folder, f'{FLIGHT}.{task.record}') if task.record else ''
    begin = time.process_time()
    try:
        flight = open_flight(make_order(task, Keep(recording, facts={'flown_by_plan': {
            'flight': task.flight, 'key': task.key, 'controller': task.controller,
            'parameters': dict(task.parameters)}})))
    except Exception as error:
        # A foreign policy may raise anything.
        return task.row(outcome_of(error), said(error))
    with flight:
        flight.fly()
        row = make_row(task, flight)
        row['jsbsim_seconds'] = flight.jsbsim_time
    if recording and os.path.isfile(recording):
        if task.record_missed and row['outcome'] == rows.PASSED:
            os.remove(recording)
            with suppress(OSError):
                # Unless somebody else has left something there.
                os.rmdir(task.folder)
        else:
            row['recording'] = task.recorded(task.record)
    row['processor_seconds'] = time.process_time() - begin
    return row


def make_row(task: Task, flight: Flight) -> Row:
    """Return the row of a flight that is over, or has failed."""
    error = flight.error
    if flight.fault is Fault.MACHINE:
        return task.row(rows.LOST, said(error))
    if not flight.began:
        return task.row(rows.FAILED, said(error))
    try:
        history = flight.history()
    except Exception as raised:
        # What was flown is not there to be judged.
        return task.row(rows.LOST, said(raised))
    result: FlightResult | None = None
    try:
        if error is None or flight.fault is Fault.CONTROLLER:
            result = flight.result()
    except Exception as raised:
        error = raised
    flown = trajectory(history, flight)
    if result is None:
        at = f'at {flight.flown:.1f} s: ' if error is flight.error else ''
        return task.row(
            outcome_of(error), f'{at}{said(error)}', NOT_FLOWN, trajectory=flown)
    missed = [one.criterion for one in result.judgements if not one.passed]
    passed = error is None and not missed
    outcome, reason = rows.PASSED if passed else rows.MISSED, '; '.join(missed)
    if error is not None:
        reason = said(error)
    elif flight.crash_verdict:
        outcome, reason = rows.CRASHED, flight.crash_verdict
    return task.row(
        outcome, reason, PASSED if outcome == rows.PASSED else MISSED,
        **rows.judged(
            (one.criterion, one.value if one.reached else math.nan, one.passed)
            for one in result.judgements),
        **rows.flatten_figures(result.figures), trajectory=flown)


def make_order(task: Task, keep: Keep | None = None) -> Order:
    """Return the order of a task: through ROS in lockstep. ScenarioError for its scenario."""
    flown = scenario.parse(task.scenario, task.content)
    order = planned(flown, task.simulator, task.flown_by)
    return replace(
        order, flown_by=replace(order.flown_by, digest=task.digest),
        seed=task.seed, keep=keep or Keep(),
        link=replace(order.link, namespace=f'/flight_{task.key[:8]}'))


def is_complete(flight: Flight) -> bool:
    """Return whether the figures are made of all frames that were flown, through ROS."""
    if flight.lacking():
        return False
    frames = round(flight.flown * FRAME_RATE)
    figures, states = flight.result().figures, {frames + 1}
    if flight.crash is not None:
        # It ends between two frames.
        frames = int(flight.flown * FRAME_RATE)
        states = {frames, frames + 1, frames + 2}
    return all(
        all(rates[topic]['messages'] in states for topic in EACH_FRAME if topic in rates)
        and rates.get(_COMMAND, {'messages': 0})['messages'] >= frames
        for rates in (one['rates'] for one in figures.get('vehicles', {'': figures}).values()))


def trajectory(history: History, flight: Flight | None = None) -> str:
    """
    Return the SHA-256 of all that was measured, commanded and wanted, with its times.

    What is kept only of a flight that is recorded is left out: it is the same flight.
    """
    found = hashlib.sha256()
    if flight is not None and flight.order.sim != CORE:
        history = _flown_part(history, flight.flown)
    for name, series in sorted(history.series.items()):
        # Of several aircraft each name begins with that of the aircraft.
        plain = name.rpartition('.')[2]
        if needs_more(plain) or plain in MOVED:
            continue
        found.update(name.encode())
        for column in (series.times, series.values):
            # Zeros have a sign, NaNs a payload; neither is flown.
            values = np.where(np.isnan(column), math.nan, column) + 0.0
            found.update(np.ascontiguousarray(values, '<f8').tobytes())
    return found.hexdigest()


def _flown_part(history: History, flown: float) -> History:
    """
    Return what was measured and commanded until ``flown`` (s): the same in every equal flight.

    Not so the recording as a whole: its messages have the times at which they happened to arrive,
    a state may be repeated, and for the last one no command is awaited. The controls as reported
    are left out: X-Plane's native interface sends them apart from the state, sooner or later.
    """
    end = flown - 0.5 / FRAME_RATE
    return replace(history, series={
        name: series.between(0.0, end) for name, series in history.series.items()
        if (plain := name.rpartition('.')[2]) not in CONTROLS and not plain.startswith('target_')})


def said(error: Exception | None) -> str:
    """Return the sentence of an error, without the log lines that may follow it."""
    if isinstance(error, OrderError):
        return '; '.join(error.sentences)
    if error is None or isinstance(
            error, ExperimentError | MachineError | ValueError | ImportError):
        return str(error or '').partition('\n')[0]
    text = error.args[0] if isinstance(error, KeyError) and error.args else error
    return f'{type(error).__name__}: {text}'
