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

"""The report on a flown experiment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
import hashlib
import json
import math
import os
from pathlib import Path
import shutil
import sys
from typing import Any

from xplane_bridge.common import plain_files
from xplane_bridge.common.text import aligned, counted, known
from xplane_bridge.laboratory.experiments.settings import (
    Experiment,
    Files,
    MISSED,
    NOT_FLOWN,
    PASSED,
)
from xplane_bridge.laboratory.flights.analysis import verdict
from xplane_bridge.laboratory.flights.analysis.series import History
from xplane_bridge.laboratory.flights.analysis.verdict import FlownStep, Judgement
from xplane_bridge.laboratory.flights.analysis.windows import Window
from xplane_bridge.laboratory.flights.flight import Flight
from xplane_bridge.laboratory.flights.order import CORE, Order
from xplane_bridge.laboratory.flights.recordings import rosbag2, written
from xplane_bridge.laboratory.flights.recordings.completed import complete, is_unfinished
from xplane_bridge.laboratory.flights.result import FlightResult
from xplane_bridge.laboratory.flights.scenario.flown_by import described
from xplane_bridge.laboratory.flights.script import Script

# Aircraft of which there is a summary, and what is said of two.
_MOST_PRINTED = 10
_OVER_TWO = (
    'aircraft', 'nearest', 'least distance, m', 'at, s', 'slot error, rms, m', 'most, m')


def report(experiment: Experiment, flown: Flight, code: int) -> int:
    """
    Print and write the results of a flight; return the experiment's exit code.

    Of several aircraft they are of each, and over two.
    """
    try:
        results = flown.results()
        result = flown.result(results)
    except KeyError as error:
        print(f'experiment: scenario {flown.order.scenario.name}: {error.args[0]}',
              file=sys.stderr)
        return NOT_FLOWN
    except (ImportError, OSError, ValueError) as error:
        print(f'experiment: no report: {error}', file=sys.stderr, flush=True)
        return NOT_FLOWN if code == PASSED else code
    code = code_if_whole(flown, code)
    # In one process nothing but the flight itself ends it early: half of one has no figures that
    # say anything. Through ROS those of the link tell why.
    if code == NOT_FLOWN and experiment.order.sim == CORE:
        print(f'\nno summary: it was not flown to its end, but to {flown.flown:.1f} s')
    else:
        _summarise(flown, results, result)
    files, names = experiment.files, [name for name in results if name]
    # In core it may not have been written, which was said.
    for path, vehicle in written.files(files.recording, flown.vehicles).items():
        if os.path.exists(path):
            print(f'  recording: {path}, {_recorded(path, files, flown.history())}' + (
                f', of {vehicle}' if vehicle else
                f', all of {", ".join(names)}' if names else ''))
    if files.figures:
        _write(experiment, flown, result, code == PASSED and not flown.crash_verdict)
        print(f'  figures: {files.figures}')
    if files.picture:
        _draw(experiment, flown, result.windows)
    if code not in (PASSED, MISSED):
        return code
    return max(code, tell_judgements(result.judgements, flown.crash_verdict, [
        f'vehicle {name}: {warning}' if name else warning
        for name, one in flown.vehicles.items() for warning in list_warnings(one.script)]))


def code_if_whole(flown: Flight, code: int) -> int:
    """
    Return the exit code, NOT_FLOWN if the recording lacks the end, which is said then.

    One that its recorder has not finished is completed, for readers that go by its index.
    """
    if not (lacking := flown.lacking()):
        return code
    said = [f'{lacking}: the figures are of what was recorded, and there is no verdict']
    recording = Path(flown.order.keep.recording)
    try:
        if is_unfinished(recording):
            complete(recording, recording)
            said.append(f'{recording} is completed up to there, with an index')
    except (ImportError, OSError, ValueError) as error:
        said.append(str(error))
    print(*(f'experiment: {one}' for one in said), sep='\n', file=sys.stderr, flush=True)
    return NOT_FLOWN if code in (PASSED, MISSED) else code


def clear(files: Files) -> None:
    """
    Remove the files of an earlier experiment with the same names.

    Its figures would be mistaken for this one's, and rosbag2 refuses an existing name. Raises
    OSError.
    """
    for path in files.results():
        if os.path.isfile(path) or os.path.islink(path):
            os.remove(path)
        elif os.path.isfile(os.path.join(path, 'metadata.yaml')):
            shutil.rmtree(path)


def _summarise(
    flown: Flight, results: Mapping[str, FlightResult], result: FlightResult
) -> None:
    print('\nSummary')
    for name, one in [*results.items()][:_MOST_PRINTED]:
        flight, margin = flown.vehicles[name], '  '
        if name:
            print(f'  {name} ({flight.order.model})')
            margin = '    '
        lines = summary_lines(
            one.figures, one.steps, flight.history(), gains_flown(flight.order))
        if flight.script.account is not None:
            lines.append(flight.script.account.line(flight.script.begin))
        print(*(f'{margin}{line}' for line in lines), sep='\n')
        for window in one.windows:
            print(*(f'{margin}{line}' for line in window.lines()), sep='\n')
    if len(results) > _MOST_PRINTED:
        print(f'  and {len(results) - _MOST_PRINTED} others')
    for line in [*_over_two(result.figures), *flown.meetings]:
        print(f'  {line}')


def _over_two(figures: Mapping[str, Any]) -> list[str]:
    """Return a table of who came near whom, and how slots were held; nothing of one alone."""
    rows = []
    for name, one in list(figures.get('separation', {}).items())[:_MOST_PRINTED]:
        held = figures['formation'].get(name)
        rows.append((
            name, one['nearest'], f'{one["distance"]:.1f}', f'{one["at"]:.1f}',
            *((f'{held["rms"]:.1f}', f'{held["max"]:.1f}') if held else ('', ''))))
    return aligned([_OVER_TWO, *rows]) if rows else []


def list_warnings(run: Script) -> list[str]:
    """Return what was beyond the envelope of the airframe, a sentence each."""
    return [event.outcome for event in (run.exceedances or {}).values()]


def tell_judgements(
    judgements: Sequence[Judgement], crash: str = '', warnings: Sequence[str] = (),
) -> int:
    """
    Print the judgements, last what was missed; return the exit code that follows.

    A ``crash`` that nobody expected is the verdict, whatever else was met until then.
    """
    for warning in warnings:
        print(f'  warning: {warning}')
    for judgement in judgements:
        print(f'  {"met   " if judgement.passed else "MISSED" if judgement.reached else "------"}'
              f'  {judgement}')
    missed = [str(one) for one in judgements if one.reached and not one.passed]
    if missed:
        print(f'  missed {len(missed)} of {len(judgements)} criteria: {"; ".join(missed)}',
              flush=True)
    if crash:
        print(f'  {crash}', flush=True)
    if crash or not all(one.passed for one in judgements):
        return MISSED
    print('  all criteria are met' if judgements else '  it has no criteria', flush=True)
    return PASSED


def summary_lines(
    figures: dict[str, Any], steps: Sequence[FlownStep], flight: History,
    flown_with: dict[str, str] | None,
) -> list[str]:
    """Return the summary of the flight, line by line."""
    lines = [] if flown_with is None else [
        'gains: {file} (sha256 {sha256:.12})'.format(**flown_with)]
    lines += aligned([verdict.STEP_HEAD, *(step.cells() for step in steps)]) if steps else []
    tracking = []
    for name, found in figures['tracking'].items():
        unit, factor = verdict.UNITS[name]
        tracking.append(f'{name} {known(found["rms"] / factor, f"{{:.2f}} {unit}")}')
    if tracking:
        lines.append(f'tracking error, rms: {", ".join(tracking)}')
    if travels := [f'{name} {found["travel"]:.3f}/s' for name, found in figures['activity'].items()
                   if math.isfinite(found['travel'])]:
        lines.append(f'command travel: {", ".join(travels)}')
    lines.append('rates: ' + ', '.join(
        f'{topic} {found["rate"]:.1f}/s' for topic, found in figures['rates'].items()
        if math.isfinite(found['rate'])))
    until = {rosbag2.RECEIVED: 'receipt', rosbag2.HANDLED: 'callback'}.get(
        flight.log_time, 'recording')
    for name, what in (('telemetry', 'in another process'), ('loop', 'of the command made of it')):
        if name in figures['latency']:
            found = figures['latency'][name]
            lines.append(
                f'latency, datagram in the kernel to {until} {what}: median '
                f'{found["median"] * 1e3:.2f} ms, p99 {found["p99"] * 1e3:.2f} ms, '
                f'p99.9 {found["p999"] * 1e3:.2f} ms ({counted(found["samples"], "sample")}, '
                f'load average {figures["load"]["average"]:.1f} on {figures["load"]["cores"]} '
                'cores)')
    if (route := figures.get('route')) is not None:
        lines.append(
            f'route: {counted(route["reached"], "waypoint")} reached, cross-track '
            + known(route['cross_track'],
                    f'at most {{:.1f}} m, rms {route["cross_track_rms"]:.1f} m', 'not measured'))
    link = [f'{key} {figures["link"][key]}' for key in ('requests', 'replies', 'lost')
            if key in figures['link']]
    return lines + ([f'link: {", ".join(link)}'] if link else [])


def gains_flown(order: Order) -> dict[str, str] | None:
    """Return name and hash of the file whose gains flew; None where no autopilot did."""
    if not (order.scenario.engages() and order.flown_by.needs_autopilot()):
        return None
    file = order.gains()
    return {'file': file.name, 'sha256': hashlib.sha256(file.read_bytes()).hexdigest()}


def _recorded(path: str, files: Files, flight: History) -> str:
    """Return how much was recorded, and how much was lost if the recorder reports it."""
    if not files.log:
        return f'{os.path.getsize(path) / 1e6:.1f} MB'
    with open(files.log, encoding='utf-8') as log:
        for line in log:
            if line.startswith(f'{files.recording}: '):
                return line.split(': ', 1)[1].strip()
    return (f'{counted(sum(flight.counts.values()), "message")} of '
            f'{counted(len(flight.counts), "topic")}')


def _draw(experiment: Experiment, flown: Flight, inputs: Sequence[Window]) -> None:
    path, title = experiment.files.picture, experiment.title
    for name, one in flown.vehicles.items():
        run = one.script
        if run.account is not None and (wrong := run.account.wrong(run.begin)):
            title += f'\n{f"{name}: " if name else ""}controller: {wrong}'
    if flown.crash_outcome:
        title += f'\n{flown.crash_outcome}'
    try:
        from xplane_bridge.laboratory.experiments import picture
        picture.draw(flown, path, title, inputs)
        print(f'  picture: {path}')
    except Exception as error:
        # The results are there: no picture is worth losing them.
        reason = str(error) if isinstance(error, ImportError | OSError) else repr(error)
        print(f'  no picture: {reason}')


def _write(
    experiment: Experiment, flown: Flight, result: FlightResult, complete: bool
) -> None:
    scenario, run, crash = flown.order.scenario, flown.script, flown.crash
    is_one = not scenario.vehicles
    of_one = {'gains': gains_flown(flown.order), 'begin': run.begin} if is_one else {}
    happened = {'events': list_events(run)} if is_one else {
        'midairs': [{'at': one.at, 'vehicles': [one.first, one.second],
                     'distance': one.distance} for one in flown.meetings],
        'vehicles': {name: {
            'model': one.order.model, 'seed': one.order.seed, 'gains': gains_flown(one.order),
            **({} if one.order.flown_by == flown.order.flown_by else {
                'controller': described(one.order.figures())}),
            'events': list_events(one.script)} for name, one in flown.vehicles.items()}}
    write_plain(experiment.files.figures, {
        'scenario': scenario.name, 'settings': experiment.order.figures(), **of_one,
        'flown': flown.flown, 'complete': complete,
        'passed': complete and all(judgement.passed for judgement in result.judgements),
        'crash': None if crash is None else {
            **({} if is_one else {'vehicle': flown.crashed}), **crash.plain()},
        'criteria': criteria_found(result.judgements), **happened, 'figures': result.figures})


def criteria_found(judgements: Sequence[Judgement]) -> list[dict[str, Any]]:
    """Return judgements as plain data."""
    return [{'criterion': one.criterion, 'value': one.value, 'passed': one.passed,
             'reached': one.reached} for one in judgements]


def list_events(run: Script) -> list[dict[str, Any]]:
    """Return what has happened, and when, as plain data."""
    return [
        *({'at': one.at, 'event': str(one.event)} for one in run.occurrences),
        *({'at': one.at, 'event': str(one.event), 'values': dict(one.values)}
          for one in run.notices)]


def write_plain(path: str, content: Mapping[str, Any]) -> None:
    """Write plain data as JSON. Raises OSError."""
    plain_files.write(
        path, json.dumps(verdict.plain(content), indent=2, allow_nan=False) + '\n')
