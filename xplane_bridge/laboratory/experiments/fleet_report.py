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

"""The report on a flown experiment of several aircraft: of each, and over two."""

from __future__ import annotations

import os
import sys
from typing import Any

from xplane_bridge.common.text import aligned
from xplane_bridge.laboratory.experiments.report import (
    code_if_whole,
    criteria_found,
    gains_flown,
    list_events,
    list_warnings,
    summary_lines,
    tell_judgements,
    write_plain,
)
from xplane_bridge.laboratory.experiments.settings import Experiment, MISSED, NOT_FLOWN, PASSED
from xplane_bridge.laboratory.flights.fleet.multi_flight import MultiFlight
from xplane_bridge.laboratory.flights.flight import Flight
from xplane_bridge.laboratory.flights.result import FlightResult

# Of more aircraft only what is over two is printed; all is in the file.
_MOST_PRINTED = 10
_HEAD = ('aircraft', 'nearest', 'least distance, m', 'at, s', 'slot error, rms, m', 'most, m')


def report_fleet(experiment: Experiment, flown: Flight, code: int) -> int:
    """Print and write the results of a fleet; return the experiment's exit code."""
    assert isinstance(flown, MultiFlight)
    try:
        result, results = flown.result(), flown.results()
    except KeyError as error:
        print(f'experiment: scenario {flown.order.scenario.name}: {error.args[0]}',
              file=sys.stderr)
        return NOT_FLOWN
    except (ImportError, OSError, ValueError) as error:
        print(f'experiment: no report: {error}', file=sys.stderr, flush=True)
        return NOT_FLOWN if code == PASSED else code
    code = code_if_whole(flown, code)
    if code == NOT_FLOWN:
        print(f'\nno summary: it was not flown to its end, but to {flown.flown:.1f} s')
    else:
        _summarise(flown, result, results)
    files = experiment.files
    if os.path.exists(files.recording):
        print(f'  recording: {files.recording}, all of {", ".join(flown.flights)}')
    if files.figures:
        _write(experiment, flown, result, code == PASSED and not flown.crash_verdict)
        print(f'  figures: {files.figures}')
    if files.picture:
        _draw(flown, files.picture, experiment.title)
    if code not in (PASSED, MISSED):
        return code
    return max(code, tell_judgements(
        result.judgements, flown.crash_verdict,
        [f'vehicle {name}: {warning}' for name, one in flown.flights.items()
         for warning in list_warnings(one.script)]))


def _summarise(
    flown: MultiFlight[Any], result: FlightResult, results: dict[str, FlightResult]
) -> None:
    print('\nSummary')
    for name, one in list(results.items())[:_MOST_PRINTED]:
        flight = flown.flights[name]
        print(f'  {name} ({flight.order.model})')
        for line in summary_lines(
                one.figures, one.steps, flight.history(), gains_flown(flight.order)):
            print(f'    {line}')
        for window in one.windows:
            print(*(f'    {line}' for line in window.lines()), sep='\n')
    if len(results) > _MOST_PRINTED:
        print(f'  and {len(results) - _MOST_PRINTED} others')
    for line in _over_two(result.figures):
        print(f'  {line}')
    for meeting in flown.meetings:
        print(f'  {meeting}')


def _over_two(figures: dict[str, Any]) -> list[str]:
    """Return a table of who came near whom, and how slots were held."""
    rows = []
    for name, one in list(figures['separation'].items())[:_MOST_PRINTED]:
        held = figures['formation'].get(name)
        rows.append((
            name, one['nearest'], f'{one["distance"]:.1f}', f'{one["at"]:.1f}',
            *((f'{held["rms"]:.1f}', f'{held["max"]:.1f}') if held else ('', ''))))
    return aligned([_HEAD, *rows]) if rows else []


def _write(
    experiment: Experiment, flown: MultiFlight[Any], result: FlightResult, complete: bool
) -> None:
    write_plain(experiment.files.figures, {
        'scenario': flown.order.scenario.name, 'settings': experiment.order.figures(),
        'flown': flown.flown, 'complete': complete,
        'passed': complete and all(one.passed for one in result.judgements),
        'crash': None if flown.crash is None else {
            'vehicle': flown.crashed, **flown.crash.plain()},
        'criteria': criteria_found(result.judgements),
        'midairs': [{'at': one.at, 'vehicles': [one.first, one.second],
                     'distance': one.distance} for one in flown.meetings],
        'vehicles': {name: {
            'model': one.order.model, 'seed': one.order.seed, 'gains': gains_flown(one.order),
            'events': list_events(one.script)} for name, one in flown.flights.items()},
        'figures': result.figures})


def _draw(flown: MultiFlight[Any], path: str, title: str) -> None:
    try:
        from xplane_bridge.laboratory.experiments.fleet_picture import draw_fleet
        draw_fleet(flown, path, '\n'.join(filter(None, (title, flown.crash_verdict))))
        print(f'  picture: {path}')
    except Exception as error:
        # The results are there: no picture is worth losing them.
        reason = str(error) if isinstance(error, ImportError | OSError) else repr(error)
        print(f'  no picture: {reason}')
