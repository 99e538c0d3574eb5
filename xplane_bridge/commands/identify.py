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
identify: the derivatives of an aircraft, with error bounds, from recorded flights.

    identify flight.mcap --model c172p --output c172p_flight
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from glob import escape
from itertools import chain
import os
from pathlib import Path
import sys
import time
from typing import Any

import yaml

from xplane_bridge.common import optional, plain_files
from xplane_bridge.common.command_line import (
    add_force_option,
    CommandParser,
    number,
    program,
    refuse_existing,
    subject,
    without_ros_arguments,
)
from xplane_bridge.common.drawing import add_width_option, FORMATS, save, save_pages
from xplane_bridge.common.machine import LOST
from xplane_bridge.common.text import counted
from xplane_bridge.laboratory.campaigns.engines.local import EngineError, Local
from xplane_bridge.laboratory.flights.logs.files import ending
from xplane_bridge.laboratory.flights.recordings import parquet_file
from xplane_bridge.laboratory.identification import paper, pooled
from xplane_bridge.laboratory.identification.disturbances import (
    collect_slopes,
    flown,
    linear_model,
)
from xplane_bridge.laboratory.identification.identify import Identification, identify
from xplane_bridge.laboratory.identification.jsbsim_aircraft import aircraft_files
from xplane_bridge.laboratory.identification.motion import airframe as airframes
from xplane_bridge.laboratory.identification.motion.integrated import integrated_step
from xplane_bridge.laboratory.identification.motion.signals import FlightSignals
from xplane_bridge.laboratory.identification.reading import published, tables
from xplane_bridge.laboratory.identification.reading.topics import read_recording
from xplane_bridge.laboratory.identification.report import as_mapping, lines, Published
from xplane_bridge.laboratory.identification.truth import flown_as, reached, Truth

IDENTIFIED, NOT_IDENTIFIED = 0, 2
# Longer than any flight: nothing is written for it.
_LONGEST_STEP = 0.1
# Seconds between two words of how far it has got.
_PERIOD = 10.0


@dataclass(frozen=True)
class _Given:
    """Flights to identify from and to validate on, and the step of their simulator."""

    flights: list[FlightSignals]
    unseen: list[FlightSignals]
    step: float


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; 0 if a model was identified, 2 if not."""
    given = _parser().parse_args(without_ros_arguments(sys.argv[1:] if argv is None else argv))
    if len(given.recording) == 1 and _is_recordings_folder(given.recording[0]):
        return _identify_each(given)
    prefix = given.output or str(given.recording[0].with_suffix('')) + '_identified'
    try:
        aircraft = Path(given.write_aircraft) if given.write_aircraft else None
        if given.report and given.no_pictures:
            raise ValueError('--report has pictures: expected no --no-pictures')
        refuse_existing([f'{prefix}.yaml', f'{prefix}_linear.json',
                         *_there(prefix, given.format),
                         *(_there(prefix, 'tex', 'pdf') if given.report else ()),
                         *([aircraft] if aircraft else ())], given.force)
        if not given.no_pictures:
            optional.require('drawing', 'matplotlib', extra='fly')
        theirs = published.load(given.published) if given.published else None
        prior = published.load_prior(given.prior) if given.prior else None
        found, truth = _identified(given, prior)
        if theirs:
            published.check_units(theirs, found.surfaces)
        for line in lines(found, truth, theirs):
            print(line)
        plain_files.write(f'{prefix}.yaml', yaml.safe_dump(
            as_mapping(found, truth, theirs), sort_keys=False))
        plain_files.write(f'{prefix}_linear.json', linear_model(
            collect_slopes(found.forms), flown(found.forms), found.forms, given.model).to_json())
        if aircraft is not None:
            texts = aircraft_files(found, aircraft.name)
            aircraft.mkdir(parents=True, exist_ok=True)
            for name, text in texts.items():
                plain_files.write(aircraft / name, text, within=aircraft)
            print(f'\nflown by --model {aircraft.name} --aircraft-path {aircraft.parent}')
        pictures = 0 if given.no_pictures else _draw(found, prefix, given)
        if given.report:
            _report(found, truth, theirs, prefix)
    except (ImportError, OSError, ValueError) as error:
        print(f'identify: {error}', file=sys.stderr, flush=True)
        return NOT_IDENTIFIED
    written = [f'{prefix}.yaml', f'{prefix}_linear.json', *(
        [f'{prefix}_report.pdf', f'{prefix}_*.tex'] if given.report else ())]
    print(f'\nwritten: {", ".join(written)}'
          + (f' and {counted(pictures, "picture")}' if pictures else ''))
    return IDENTIFIED


def _is_recordings_folder(path: Path) -> bool:
    """Return whether it is a folder of recordings, not one of rosbag2."""
    return path.is_dir() and not (path / 'metadata.yaml').exists()


def _identify_each(given: Namespace) -> int:
    """Identify every recording below a folder, on all cores."""
    folder = given.recording[0]
    output = Path(given.output or f'{folder}_identified').with_suffix('.yaml')
    rows: list[pooled.Row] = []
    said = time.monotonic()

    def take(row: pooled.Row) -> None:
        nonlocal said
        rows.append(row)
        if time.monotonic() > said + _PERIOD:
            said = time.monotonic()
            print(f'{len(rows)} of {counted(len(paths), "flight")}', file=sys.stderr, flush=True)

    try:
        for option in ('columns', 'published', 'prior', 'validate', 'write_aircraft', 'stepwise',
                       'report', 'width'):
            if getattr(given, option):
                raise ValueError(f'--{option.replace("_", "-")} is for one model of all given '
                                 'flights: of a folder each is identified by itself')
        refuse_existing([output], given.force)
        paths = pooled.recordings(folder)
        airframe = airframes.load(given.airframe) if given.airframe else None
        Local(min(os.cpu_count() or 1, len(paths)), pooled.identified).run((
            pooled.IdentificationJob(number, str(path), given.model, given.aircraft_path, airframe,
                                     given.namespace, given.simulation_step)
            for number, path in enumerate(paths)), take)
        found = pooled.pooled(rows)
        for line in pooled.lines(rows, found):
            print(line)
        if not found:
            raise ValueError('no flight was identified')
        plain_files.write(output, yaml.safe_dump(
            pooled.as_mapping(found, rows), sort_keys=False))
    except (EngineError, ImportError, OSError, ValueError) as error:
        print(f'identify: {error}', file=sys.stderr, flush=True)
        return NOT_IDENTIFIED
    print(f'\nwritten: {output}')
    if lost := sum(row['outcome'] == LOST for row in rows):
        print(f'identify: {lost} of {counted(len(rows), "flight")} lost: this machine kept them '
              'from being identified', file=sys.stderr)
        return NOT_IDENTIFIED
    return IDENTIFIED


def _identified(
    given: Namespace, prior: Mapping[str, published.PublishedDerivative] | None
) -> tuple[Identification, Truth | None]:
    flights = _flights(given)
    model = given.model or next((one.model for one in flights.flights if one.model), '')
    truth: Truth | None = None
    if given.airframe:
        airframe = airframes.load(given.airframe)
    elif not model:
        raise ValueError('of which aircraft? Expected --model, or --airframe with its mass, '
                         'inertia and reference sizes')
    if any(one.plant != flights.flights[0].plant for one in flights.flights):
        raise ValueError('the flights are of aircraft that differ (initial.plant): identify each '
                         'by itself, or their folder')
    known = flown_as(model, flights.flights[0], given.aircraft_path) if model else None
    if not given.airframe:
        assert known is not None
        airframe = known.airframe
    found = identify(
        flights.flights, airframe, flights.step, flights.unseen, given.stepwise, prior)
    if known is not None:
        truth = known.truth(reached(found), found.surfaces)
    return found, truth


def _flights(given: Namespace) -> _Given:
    every = [*given.recording, *given.validate]
    _refuse_twice(every)
    maps: list[tables.ColumnMap | None] = [tables.load_map(path) for path in given.columns]
    if len(maps) not in (0, 1, len(every)):
        raise ValueError(f'--columns is given {len(maps)} times, expected once, or once for each '
                         f'of {counted(len(every), "recording")}, those of --validate at last')
    if len(maps) < 2:
        maps = (maps or [None]) * len(every)
    steps: list[float] = []

    def read(path: Path, entries: tables.ColumnMap | None) -> FlightSignals:
        if ending(path) or path.suffix in tables.FORMATS and (
                entries or not parquet_file.is_recording(path)):
            flight = tables.read_table(path, entries, given.model)
            if flight.cut:
                print(f'identify: {flight.cut}', file=sys.stderr, flush=True)
            if given.simulation_step is None and (step := integrated_step(flight)):
                print(f'{path}: the attitude follows the angular rates as in a simulator with '
                      f'{1.0 / step:.4g} steps per second, so it is taken as such')
                steps.append(step)
            return flight
        flight, step = read_recording(path, given.namespace)
        if flight.cut:
            print(f'identify: {flight.cut}', file=sys.stderr, flush=True)
        steps.append(step)
        return replace(flight, model=given.model or flight.model)

    flights = [read(path, one) for path, one in zip(every, maps, strict=True)]
    count, step = len(given.recording), given.simulation_step
    return _Given(
        flights[:count], flights[count:], max(steps, default=0.0) if step is None else step)


def _refuse_twice(paths: Sequence[Path]) -> None:
    """Raise ValueError for a recording given twice: it would count as two, or foretell itself."""
    known: set[Path] = set()
    for path in paths:
        if (one := path.resolve()) in known:
            raise ValueError(f'{path} is given twice: expected different recordings')
        known.add(one)


def _there(prefix: str, *forms: str) -> list[Path]:
    """Return the files of that name that are there: how many there will be is not known yet."""
    name = Path(prefix)
    return sorted(path for form in forms
                  for path in name.parent.glob(f'{escape(name.name)}_*.{form}'))


def _draw(found: Identification, prefix: str, given: Namespace) -> int:
    """Draw sensors and manoeuvres, for a report correlations and residuals; return how many."""
    pictures = 0
    for name, figure in _figures(found, given.width, given.report):
        save(figure, [f'{prefix}_{name}.{given.format}'])
        pictures += 1
    return pictures


def _figures(
    found: Identification, width: float, with_matrices: bool
) -> Iterator[tuple[str, Any]]:
    """Yield the pictures by their names, each when it is wanted."""
    from xplane_bridge.laboratory.identification import picture
    for at, each in enumerate(found.compatibility, 1):
        yield f'sensors_{at}', picture.compatibility_figure(each)
    for name, one in found.forms.items():
        for at in range(len(one.motions)):
            yield f'{name}_{at + 1}', picture.manoeuvre_figure(one, at, width)
        if with_matrices:
            yield f'{name}_correlation', picture.correlation_figure(one, width)
            yield f'{name}_spectrum', picture.spectrum_figure(one, width)


def _report(
    found: Identification, truth: Truth | None, theirs: Published | None, prefix: str
) -> None:
    """Write the report as a PDF, and its tables in LaTeX."""
    from xplane_bridge.laboratory.identification import picture
    for name, table in paper.tables(found, truth, theirs).items():
        plain_files.write(f'{prefix}_{name}.tex', table)
    save_pages(chain(picture.text_figures(lines(found, truth, theirs)), (
        figure for _, figure in _figures(found, 0.0, True))), f'{prefix}_report.pdf')


def _parser() -> ArgumentParser:
    parser = CommandParser(
        program('identify'),
        description='Identify the derivatives of an aircraft, with error bounds, from recorded '
        'flights with test inputs: a table, a YAML model, and a picture of each manoeuvre.')
    recordings, aircraft, output = (
        subject(parser, title) for title in ('recordings', 'aircraft', 'output'))
    parser.add_argument('recording', type=Path, nargs='+', metavar='RECORDING',
                        help='.mcap file, folder of rosbag2, .csv, .parquet, .ulg of PX4, .bin of '
                        'ArduPilot; or a folder of '
                        "recordings, such as a campaign's, of which each is identified by itself")
    aircraft.add_argument('--model', default='', help='a JSBSim aircraft, such as c172p: its '
                          "mass, inertia, sizes, and its own derivatives beside the estimates "
                          "(default: the experiment's)")
    aircraft.add_argument('--aircraft-path', default='', metavar='FOLDER',
                          help="folder of your own aircraft, laid out as JSBSim's")
    aircraft.add_argument('--airframe', default='', metavar='FILE',
                          help='YAML file with mass, inertia and reference sizes, in SI')
    aircraft.add_argument('--published', default='', metavar='FILE',
                          help='YAML file of published derivatives, to compare with')
    aircraft.add_argument('--prior', default='', metavar='FILE',
                          help='YAML file of derivatives with their standard deviations, which '
                          'the estimates are of as well as of the flights')
    recordings.add_argument('--columns', action='append', default=[], metavar='FILE',
                            help='YAML file that says which column of a table is which signal '
                            "(of a log: its autopilot's map); given once, or once for each "
                            'recording in their order')
    recordings.add_argument('--validate', type=Path, nargs='+', default=[], metavar='RECORDING',
                            help='flights that the model is checked against: it predicts them')
    recordings.add_argument('--simulation-step', metavar='S', default=None,
                            type=lambda text: number(
                                text, f'0 to {_LONGEST_STEP:g} s',
                                lambda step: 0.0 <= step <= _LONGEST_STEP),
                            help="step of the JSBSim that flew, 0 for a real aircraft (default: "
                            "1/120 s for experiments on this package's simulators, else 0)")
    parser.add_argument('--stepwise', action='store_true', help='leave out derivatives that a '
                        'stepwise regression does not need')
    recordings.add_argument('--namespace', default=None, metavar='NS',
                            help='namespace of the vehicle, if a recording has several')
    output.add_argument('--output', default='', metavar='PREFIX',
                        help="beginning of the names of what is written (the first recording's)")
    output.add_argument('--write-aircraft', default='', metavar='FOLDER',
                        help='folder to write, with a JSBSim aircraft of its name that flies like '
                        'this one')
    output.add_argument('--format', choices=FORMATS, default=FORMATS[0],
                        help='format of the pictures (%(default)s)')
    add_width_option(output, 'the pictures of manoeuvres, correlations and spectra', '11 and 7')
    output.add_argument('--report', action='store_true', help='write the report as a PDF, its '
                        'tables in LaTeX, and pictures of correlations and residuals')
    output.add_argument('--no-pictures', action='store_true', help='draw no pictures')
    add_force_option(output)
    return parser
