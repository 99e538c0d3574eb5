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
linearize: the linear model of an aircraft in steady flight, as JSON; or those of a grid of points.

    linearize --model f16 --altitude-msl 3000 --airspeed 150 > f16.json
    linearize --model c172p --grid airspeed=40:60:5 --grid flaps=0,0.5 -o c172p.mat
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Iterable, Sequence
import math
import os
from pathlib import Path
import sys
import time

from xplane_bridge.common import optional
from xplane_bridge.common.command_line import (
    add_force_option,
    CommandParser,
    count,
    program,
    refuse_existing,
    refuse_old_option,
    subject,
    Tenths,
    without_ros_arguments,
)
from xplane_bridge.common.drawing import FORMATS
from xplane_bridge.common.machine import MachineError
from xplane_bridge.common.text import counted, printable
from xplane_bridge.laboratory.campaigns.engines.local import Engine, EngineError, Local
from xplane_bridge.laboratory.control import gains
from xplane_bridge.laboratory.control.tuning.tune import LoopRequirements
from xplane_bridge.laboratory.envelope import envelope_table
from xplane_bridge.laboratory.envelope.envelope import PointJob, Row, studied, Study
from xplane_bridge.laboratory.envelope.envelope_picture import draw
from xplane_bridge.laboratory.envelope.envelope_table import EnvelopeTable, where
from xplane_bridge.laboratory.envelope.grid import AXES, Grid, parse
from xplane_bridge.laboratory.experiments.settings import INTERRUPTED
from xplane_bridge.simulation.aircraft.initial import Initial
from xplane_bridge.simulation.aircraft.linear_model import LinearModel
from xplane_bridge.simulation.aircraft.loading import parameter_file
from xplane_bridge.simulation.aircraft.loading.control_effects import Effect, own_effects
from xplane_bridge.simulation.aircraft.model import Model
from xplane_bridge.simulation.aircraft.state import KNOT
from xplane_bridge.simulation.aircraft.studies.linearize import linearize, METHODS
from xplane_bridge.simulation.aircraft.studies.modes import CATEGORIES, CLASSES
from xplane_bridge.simulation.aircraft.studies.physics_rate import remarks
from xplane_bridge.simulation.aircraft.studies.spare import Spare
from xplane_bridge.simulation.aircraft.studies.steady_flight import in_steady_flight

# Of the holes, so many are said; all are in the table.
_SAID = 5
# Seconds between two lines that say how far it is, at least.
_PERIOD = 10.0


def add_flight_options(parser: ArgumentParser, required: bool) -> None:
    """Add the options that say which aircraft flies how."""
    aircraft = subject(parser, 'aircraft')
    aircraft.add_argument('--model', required=required, help='a JSBSim aircraft, such as c172p')
    aircraft.add_argument('--aircraft-path', default='', metavar='FOLDER',
                          help="folder of your own aircraft, laid out as JSBSim's")
    aircraft.add_argument('--controls', default='', metavar='FILE',
                          help='file that says what moves it (.yaml), if its commands have names '
                          'of their own (default: controls.yaml beside its file)')
    aircraft.add_argument('--altitude-msl', type=float, default=1500.0, metavar='M',
                          help='altitude in metres above mean sea level (%(default)s)')
    refuse_old_option(aircraft, '--altitude', '--altitude-msl')
    aircraft.add_argument('--airspeed', type=float, metavar='M/S',
                          help='calibrated airspeed, in m/s')


def remarks_on(given: Namespace) -> list[str]:
    """Return what to say of the aircraft of these options, a line each."""
    return remarks(given.model, Initial(
        altitude_msl=given.altitude_msl, airspeed_kt=given.airspeed / KNOT,
        controls=given.controls), given.aircraft_path)


def add_grid_options(parser: ArgumentParser, axes: Iterable[str]) -> None:
    """Add the options of a grid over these axes, and of who computes it."""
    grid = subject(parser, 'grid')
    grid.add_argument(
        '--grid', action='append', default=[], metavar='AXIS=VALUES',
        help='an axis of a grid, once for each: airspeed=40:60:5 (first:last:step) or a list, of '
        + ', '.join(f'{axis} ({AXES[axis]})' for axis in axes))
    grid.add_argument('--workers', type=count, default=0, metavar='N',
                      help='with --grid: processes of this machine (one per core)')
    grid.add_argument('--cluster', default='', metavar='ADDRESS',
                      help='with --grid: scheduler of a Dask cluster, such as tcp://host:8786')


def survey(grid: Grid, study: Study, given: Namespace) -> EnvelopeTable:
    """
    Return what is found at the points of a grid, by the options of who computes it.

    ``given`` has airspeed and altitude_msl where those are no axes. Raises ValueError for options
    that are not possible, and if no point could be trimmed; EngineError if it cannot go on.
    """
    if given.workers and given.cluster:
        raise ValueError('--workers counts processes of this machine: omit it, or omit --cluster')
    if given.airspeed is not None and 'airspeed' in grid.axes:
        raise ValueError('airspeed is an axis of the grid: omit --airspeed')
    if given.airspeed is None and 'airspeed' not in grid.axes:
        raise ValueError('expected --airspeed, or airspeed among the axes of the grid')
    # What holds for all points is found before the first.
    _check_model(study)
    place = {'airspeed': given.airspeed, 'altitude_msl': given.altitude_msl}
    rows: list[Row] = []
    said, tenths = time.monotonic(), Tenths()

    def take(row: Row) -> None:
        nonlocal said
        rows.append(row)
        if time.monotonic() > said + _PERIOD and tenths.has_next(len(rows) / len(grid)):
            said = time.monotonic()
            print(f'{len(rows)} of {counted(len(grid), "point")}', file=sys.stderr, flush=True)

    _engine(given, len(grid)).run(
        (PointJob(study, number, place | point) for number, point in enumerate(grid)), take)
    found = EnvelopeTable(
        study.model, grid.axes, sorted(rows, key=lambda row: int(row['number'])))
    for line in _summary(found):
        print(line, file=sys.stderr, flush=True)
    if not found.lost and len(found.holes) == len(rows):
        raise ValueError('no point of the grid could be trimmed')
    return found


def _check_model(study: Study) -> None:
    """Raise ValueError for a model that does not exist, ImportError without JSBSim."""
    Model(study.model, 1.0 / 120.0, 0, study.aircraft_path, controls=study.controls)


def _engine(given: Namespace, points: int) -> Engine:
    if not given.cluster:
        return Local(min(given.workers or os.cpu_count() or 1, points), studied)
    from xplane_bridge.laboratory.campaigns.engines.cluster import Cluster
    return Cluster(given.cluster, studied)


def _summary(found: EnvelopeTable) -> Iterable[str]:
    """Yield what there is to say about an envelope, a line each."""
    holes, lost = found.holes, found.lost
    yield (f'{counted(len(found.rows), "point")}, {counted(len(holes), "hole")}'
           + (f', {len(lost)} lost' if lost else '' if holes else ': all could be trimmed'))
    for row in lost[:_SAID]:
        yield f'lost at {where(row, [*found.axes])}: {printable(row["reason"])}'
    for row in holes[:_SAID]:
        yield f'hole at {where(row, [*found.axes])}: {printable(row["reason"])}'
    if len(holes) > _SAID:
        yield f'and {len(holes) - _SAID} more, with their reasons in the table'
    known = [row for row in found.rows if 'margin.disk' in row]
    if known:
        least = min(known, key=lambda row: float(row['margin.disk']))
        yield (f'least disk margin: {least["margin.disk"]:.2f}, at '
               f'{where(least, [*found.axes])}')
    for row in [row for row in known if row['margin.time_to_double'] < math.inf][:_SAID]:
        yield (f'unstable at {where(row, [*found.axes])}: it doubles in '
               f'{row["margin.time_to_double"]:.3g} s')


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; return its exit status."""
    given = _parser().parse_args(without_ros_arguments(sys.argv[1:] if argv is None else argv))
    try:
        if given.grid:
            _over_grid(given)
        else:
            _at_one_point(given)
    except (ImportError, OSError, ValueError, EngineError) as error:
        print(f'linearize: {error}', file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print('linearize: interrupted', file=sys.stderr)
        return INTERRUPTED
    return 0


def _parser() -> ArgumentParser:
    limits = LoopRequirements()
    parser = CommandParser(
        program('linearize'),
        description='Trim an aircraft and print its linear model as JSON: A, B, C and D with '
        'names and units, in SI. With --grid: at each point of a grid, with its modes.')
    add_flight_options(parser, required=True)
    aircraft = subject(parser, 'aircraft')
    aircraft.add_argument('--flight-path-angle', type=float, default=0.0, metavar='DEG',
                          help='angle of the path, + is up; a glider finds its own (0)')
    aircraft.add_argument('--bank', type=float, default=0.0, metavar='DEG',
                          help='bank angle of a steady turn, + is right wing down (0)')
    parser.add_argument('--method', choices=METHODS, default='',
                        help="JSBSim's own linearization, for straight and level flight, or "
                        "central differences (default: JSBSim's where it can)")
    add_grid_options(parser, AXES)
    margins, handling, output = (
        subject(parser, title) for title in ('margins', 'handling qualities', 'output'))
    output.add_argument('-o', '--output', nargs='+', default=[], metavar='FILE',
                        help='with --grid: tables to write, as their names end: '
                        + ', '.join(envelope_table.FORMATS) + ' (JSON to stdout)')
    output.add_argument('--picture', default='', metavar='FILE',
                        help='with --grid: picture of the modes, and margins, to write: '
                        + ', '.join(f'.{name}' for name in FORMATS))
    margins.add_argument('--gains', default='', metavar='FILE',
                         help='with --grid: margins of the autopilot with these gains, a '
                         'parameter file or the name of an aircraft of this package')
    margins.add_argument('--delay', type=float, default=limits.delay, metavar='S',
                         help='with --gains: delay of the whole loop, in seconds (%(default)s)')
    margins.add_argument('--engine-lag', type=float, default=limits.engine_lag, metavar='S',
                         help='with --gains: time constant of the thrust, in seconds '
                         '(%(default)s)')
    handling.add_argument('--aircraft-class', choices=CLASSES, default=CLASSES[0],
                          help='class of MIL-F-8785C, for the levels of the modes (%(default)s)')
    handling.add_argument('--category', choices=CATEGORIES, default='B',
                          help='category of the phase of flight, for the same (%(default)s)')
    add_force_option(output)
    return parser


def _at_one_point(given: Namespace) -> None:
    """Print the linear model of one point."""
    for name in ('output', 'picture', 'gains', 'workers', 'cluster'):
        if getattr(given, name):
            raise ValueError(f'--{name} needs a grid: --grid airspeed=40:60:5')
    if given.airspeed is None:
        raise ValueError('expected --airspeed, or --grid with airspeed as an axis')
    spare, _ = in_steady_flight(
        given.model, given.altitude_msl, given.airspeed, math.radians(given.flight_path_angle),
        math.radians(given.bank), given.aircraft_path, controls=given.controls)
    found = linearize(spare, given.method, patient=True)
    if given.aircraft_path:
        for line in [*remarks_on(given), *_what_moves(spare, found)]:
            print(line, file=sys.stderr, flush=True)
    sys.stdout.write(found.to_json())


def _what_moves(spare: Spare, found: LinearModel) -> Iterable[str]:
    """Yield what each control of an aircraft does, and each command of its own, a line each."""
    model = spare.model()
    rows = [found.index('states', name) for name in (
        'true_airspeed', 'roll_rate', 'pitch_rate', 'yaw_rate')]
    for column, control in enumerate(found.inputs):
        commands = ', '.join(f'{name} {share:+g}' for name, share in model.controls.get(
            control.name, {}).items())
        yield (f'{control.name} moves {Effect(*found.b[rows, column])}'
               + (f', by {commands}' if commands else ''))
    for name, effect in own_effects(model).items():
        if effect.moves_something:
            yield f'{name} moves {effect}; no control does: controls.yaml'


def _over_grid(given: Namespace) -> None:
    """Write the tables and the picture of a grid."""
    grid = parse(given.grid)
    for name in ('bank', 'flight_path_angle'):
        if getattr(given, name):
            raise ValueError(f'--{name.replace("_", "-")}: a grid is of level flight')
    if given.method == 'jsbsim':
        raise ValueError('--method jsbsim: a grid is of central differences')
    writers = [envelope_table.writer(file) for file in given.output]
    if given.picture:
        _check_picture(given.picture)
    files = [*given.output, *filter(None, [given.picture])]
    for file in files:
        if not (folder := Path(file).absolute().parent).is_dir():
            raise ValueError(f'{file}: there is no folder {folder}')
    refuse_existing(files, given.force)
    found = survey(grid, Study(
        given.model, given.aircraft_path, given.aircraft_class, given.category,
        gains.load(parameter_file.chosen(given.model, given.aircraft_path, given.gains))
        if given.gains else None,
        limits=LoopRequirements(delay=given.delay, engine_lag=given.engine_lag),
        controls=given.controls), given)
    if not given.output:
        sys.stdout.write(envelope_table.FORMATS['.json'](found).decode())
    for write, file in zip(writers, given.output, strict=True):
        write(found)
        print(f'written to {file}', file=sys.stderr)
    if given.picture:
        draw(found, given.picture)
        print(f'picture: {given.picture}', file=sys.stderr)
    _check_lost(found)


def _check_lost(found: EnvelopeTable) -> None:
    """Raise MachineError if this machine has kept points from being studied."""
    if found.lost:
        raise MachineError(
            f'{len(found.lost)} of {counted(len(found.rows), "point")} lost: this machine kept '
            'them from being studied; the same command with --force studies all again')


def _check_picture(file: str) -> None:
    """Raise ValueError for a name that is no picture's, ImportError if none can be drawn."""
    if Path(file).suffix.removeprefix('.') not in FORMATS:
        raise ValueError(f'--picture: expected a name that ends in .{", .".join(FORMATS)}, '
                         f'got {Path(file).name}')
    optional.require('the picture', 'matplotlib', extra='fly')
