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
from collections.abc import Sequence
from dataclasses import dataclass, replace
from glob import escape
import os
from pathlib import Path
import sys
import time

import yaml

from xplane_bridge.common import optional, plain_files
from xplane_bridge.common.command_line import (
    add_force_option,
    number,
    program,
    refuse_existing,
    subject,
    without_ros_arguments,
)
from xplane_bridge.common.drawing import FORMATS
from xplane_bridge.common.machine import LOST
from xplane_bridge.common.text import counted
from xplane_bridge.laboratory.campaigns.engines.local import EngineError, Local
from xplane_bridge.laboratory.flights.logs.files import ending
from xplane_bridge.laboratory.flights.recordings import parquet_file
from xplane_bridge.laboratory.identification import pooled
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
from xplane_bridge.laboratory.identification.report import as_mapping, lines
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
        refuse_existing([f'{prefix}.yaml', f'{prefix}_linear.json',
                         *_pictures(prefix, given.format),
                         *([aircraft] if aircraft else ())], given.force)
        if not given.no_pictures:
            optional.require('drawing', 'matplotlib', extra='fly')
        theirs = published.load(given.published) if given.published else None
        found, truth = _identified(given)
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
        written = [f'{prefix}.yaml', f'{prefix}_linear.json', *([] if given.no_pictures else _draw(
            found, prefix, given.format))]
    except (ImportError, OSError, ValueError) as error:
        print(f'identify: {error}', file=sys.stderr, flush=True)
        return NOT_IDENTIFIED
    print(f'\nwritten: {", ".join(written[:2])}' + (
        f' and {counted(len(written) - 2, "picture")}' if len(written) > 2 else ''))
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
        for option in ('columns', 'published', 'validate', 'write_aircraft', 'stepwise'):
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


def _identified(given: Namespace) -> tuple[Identification, Truth | None]:
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
        flights.flights, airframe, flights.step, flights.unseen, given.stepwise)
    if known is not None:
        truth = known.truth(reached(found), found.surfaces)
    return found, truth


def _flights(given: Namespace) -> _Given:
    entries = tables.load_map(given.columns) if given.columns else None
    steps: list[float] = []

    def read(path: Path) -> FlightSignals:
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

    flights = [read(path) for path in given.recording]
    unseen = [read(path) for path in given.validate]
    step = given.simulation_step
    return _Given(flights, unseen, max(steps, default=0.0) if step is None else step)


def _pictures(prefix: str, form: str) -> list[Path]:
    """Return the pictures of that name that are there: how many there will be is not known yet."""
    name = Path(prefix)
    return sorted(name.parent.glob(f'{escape(name.name)}_*.{form}'))


def _draw(found: Identification, prefix: str, form: str) -> list[str]:
    from xplane_bridge.laboratory.identification.picture import draw_compatibility, draw_manoeuvre
    manoeuvres = [
        (one, at, f'{prefix}_{name}_{at + 1}.{form}') for name, one in found.forms.items()
        for at in range(len(one.motions))]
    sensors = [(one, f'{prefix}_sensors_{at + 1}.{form}')
               for at, one in enumerate(found.compatibility)]
    for each, path in sensors:
        draw_compatibility(each, path)
    for one, at, path in manoeuvres:
        draw_manoeuvre(one, at, path)
    return [*(path for _, path in sensors), *(path for _, _, path in manoeuvres)]


def _parser() -> ArgumentParser:
    parser = ArgumentParser(
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
    recordings.add_argument('--columns', default='', metavar='FILE',
                            help='YAML file that says which column of a table is which signal '
                            "(of a log: its autopilot's map)")
    recordings.add_argument('--validate', type=Path, nargs='+', default=[], metavar='RECORDING',
                            help='flights that the model is to foretell')
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
                        help='folder to write a JSBSim aircraft of its name to, which flies so')
    output.add_argument('--format', choices=FORMATS, default=FORMATS[0],
                        help='format of the pictures (%(default)s)')
    output.add_argument('--no-pictures', action='store_true', help='draw no pictures')
    add_force_option(output)
    return parser
