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
tune: gains of the cascade for an aircraft, from its linear model; or over a grid, scheduled ones.

    tune --model c310 --altitude-msl 1500 --airspeed 75 -o c310.yaml
    tune --model T37 --grid airspeed=80:140:20 --grid altitude_msl=1000,5000 -o T37.yaml
"""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Sequence
from dataclasses import replace
import math
from pathlib import Path
import shlex
import sys

from xplane_bridge.commands.linearize import (
    add_flight_options,
    add_grid_options,
    remarks_on,
    survey,
)
from xplane_bridge.common import plain_files
from xplane_bridge.common.command_line import (
    add_force_option,
    CommandParser,
    program,
    refuse_existing,
    subject,
    without_ros_arguments,
)
from xplane_bridge.common.machine import LOST, MachineError
from xplane_bridge.common.text import counted
from xplane_bridge.laboratory.campaigns.engines.local import EngineError
from xplane_bridge.laboratory.control.gains import NAMES
from xplane_bridge.laboratory.control.runway.performance import Performance
from xplane_bridge.laboratory.control.schedule import AIRSPEED, ALTITUDE, MOST_VALUES
from xplane_bridge.laboratory.control.tuning.report import parameter_file, table
from xplane_bridge.laboratory.control.tuning.tune import BANDWIDTHS, LoopRequirements, tune, Tuning
from xplane_bridge.laboratory.envelope.envelope import Study
from xplane_bridge.laboratory.envelope.envelope_table import where
from xplane_bridge.laboratory.envelope.grid import Grid, parse
from xplane_bridge.laboratory.envelope.runway_performance import Flaps, runway_performance
from xplane_bridge.laboratory.experiments.settings import INTERRUPTED
from xplane_bridge.simulation.aircraft.linear_model import from_json, LinearModel, RATIO
from xplane_bridge.simulation.aircraft.studies.linearize import linearize
from xplane_bridge.simulation.aircraft.studies.steady_flight import in_steady_flight

# Over what gains are scheduled, by the names of a grid's axes.
_SCHEDULED = ('airspeed', 'altitude_msl')


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; return its exit status."""
    given_arguments = list(sys.argv[1:] if argv is None else argv)
    given = _parser().parse_args(without_ros_arguments(given_arguments))
    try:
        if given.output:
            refuse_existing([given.output], given.force)
        limits = LoopRequirements(
            given.sensitivity, math.radians(given.phase_margin), given.delay, given.engine_lag)
        flaps = Flaps(given.take_off_flaps, given.landing_flaps)
        schedule = _schedule(given, limits) if given.grid else {}
        model = _linear_model(given)
        found = tune(model, dict(given.bandwidth), limits)
        if schedule:
            found = _within(found, schedule[AIRSPEED])
            print(f'scheduled over {counted(len(schedule[AIRSPEED]), "airspeed")} and '
                  f'{counted(len(schedule[ALTITUDE]), "altitude")}; at {model.airspeed:g} m/s and '
                  f'{model.altitude_msl:g} m:')
    except (ImportError, OSError, ValueError, EngineError) as error:
        print(f'tune: {error}', file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print('tune: interrupted', file=sys.stderr)
        return INTERRUPTED
    print(table(found))
    if not found.gains.yaw_rate_to_rudder:
        print('no yaw damper: the rudder moves nothing')
    for loop in found.loops:
        if not loop.reached:
            print(loop.complaint())
    if given.output:
        performance = _performance(given, flaps)
        command = shlex.join(['tune', *_without_output(given_arguments)])
        try:
            plain_files.write(given.output, parameter_file(
                model, found, limits, command, performance, schedule))
        except OSError as error:
            print(f'tune: {error}', file=sys.stderr)
            return 1
        print(f'written to {given.output}')
    return 0


def _linear_model(given: Namespace) -> LinearModel:
    if given.linear_model:
        return _commanded(from_json(Path(given.linear_model).read_text(encoding='utf-8')))
    if not given.model or given.airspeed is None:
        raise ValueError('expected --model with --airspeed, or --linear-model')
    spare, _ = in_steady_flight(
        given.model, given.altitude_msl, given.airspeed, aircraft_path=given.aircraft_path,
        controls=given.controls)
    for line in remarks_on(given):
        print(line)
    return linearize(spare, 'differences')


def _commanded(model: LinearModel) -> LinearModel:
    for one in model.inputs:
        if one.unit != RATIO:
            raise ValueError(
                f'the model is by the deflection of the {one.name}, in {one.unit}: what moves it '
                'when it is commanded is not in the model, so there is no gain for it')
    return model


def _schedule(given: Namespace, limits: LoopRequirements) -> dict[str, list[float]]:
    """
    Return the gains at each point of the grid, as lists by name; see Schedule.of().

    The point in its middle is put into ``given``, as if it had been asked for alone. Raises
    ValueError for a grid that is no schedule's, or has a hole.
    """
    if given.linear_model:
        raise ValueError('--linear-model is of one point: omit it, or omit --grid')
    grid = parse(given.grid)
    for name in grid.axes:
        if name not in _SCHEDULED:
            raise ValueError(f'grid: gains are scheduled over {" and ".join(_SCHEDULED)}, '
                             f'not over {name}')
    grid = Grid({name: tuple(sorted(values)) for name, values in grid.axes.items()})
    for name, axis in grid.axes.items():
        if len(axis) > MOST_VALUES:
            raise ValueError(
                f'grid: {name} has {len(axis)} values, a schedule at most {MOST_VALUES}')
    # In a schedule the altitude varies fastest.
    grid = Grid({name: grid.axes[name] for name in _SCHEDULED if name in grid.axes})
    study = Study(given.model, given.aircraft_path, tunes=True, limits=limits,
                  bandwidths=dict(given.bandwidth), controls=given.controls)
    rows = survey(grid, study, given).rows
    for row in rows:
        if row['outcome'] == LOST:
            raise MachineError(f'nothing is known of {where(row, [*grid.axes])}: {row["reason"]}')
        if row['reason']:
            raise ValueError(f'a schedule may have no holes, and at {where(row, [*grid.axes])} '
                             f'there is one: {row["reason"]}')
    axes = {name: grid.axes.get(name, (getattr(given, name),)) for name in _SCHEDULED}
    given.airspeed, given.altitude_msl = (axis[len(axis) // 2] for axis in axes.values())
    return {
        AIRSPEED: [*axes['airspeed']], ALTITUDE: [*axes['altitude_msl']],
        **{name: [float(row[f'gain.{name}']) for row in rows]
           for name in NAMES if name != AIRSPEED}}


def _within(found: Tuning, airspeeds: Sequence[float]) -> Tuning:
    """Return a tuning whose envelope is that of all airspeeds."""
    ratios = {name: value / found.gains.airspeed for name, value in found.envelope.items()}
    return replace(found, envelope={
        'airspeed_low': ratios['airspeed_low'] * airspeeds[0],
        'airspeed_high': ratios['airspeed_high'] * airspeeds[-1]})


def _performance(given: Namespace, flaps: Flaps) -> Performance | None:
    """Return what take-offs and landings need; None, after a sentence, if it cannot be found."""
    if given.linear_model:
        print('no performance of take-off and landing: a linear model does not have it')
        return None
    try:
        return runway_performance(given.model, flaps, given.aircraft_path, given.controls)
    except ValueError as error:
        print(f'no performance of take-off and landing: {error}')
        return None


def _without_output(arguments: Sequence[str]) -> list[str]:
    """Return the arguments for the file's comment: where it is need not stand in it."""
    kept: list[str] = []
    skip = False
    for argument in arguments:
        if skip:
            skip = False
        elif argument in ('-o', '--output'):
            skip = True
        elif argument != '--force' and not argument.startswith('--output='):
            kept.append(argument)
    return kept


def _bandwidth(text: str) -> tuple[str, float]:
    name, _, value = text.partition('=')
    try:
        return name, float(value)
    except ValueError:
        raise ArgumentTypeError(f'{text!r} is not like roll=1.6') from None


def _parser() -> ArgumentParser:
    default = LoopRequirements()
    parser = CommandParser(
        program('tune'),
        description="Find the gains of autopilot_node's cascade for an aircraft, from its "
        'linear model in steady level flight.')
    add_flight_options(parser, required=False)
    add_grid_options(parser, _SCHEDULED)
    aircraft, wanted, output = (
        subject(parser, title) for title in ('aircraft', 'requirements', 'output'))
    aircraft.add_argument('--linear-model', default='', metavar='FILE',
                          help='file that the command linearize wrote, instead of --model')
    wanted.add_argument(
        '--bandwidth', type=_bandwidth, nargs='+', default=[], metavar='LOOP=RAD/S',
        help='wanted crossover frequencies ('
        + ', '.join(f'{name}={value:g}' for name, value in BANDWIDTHS.items()) + ')')
    wanted.add_argument('--sensitivity', type=float, default=default.sensitivity, metavar='MS',
                        help='largest value of the sensitivity function, at most (%(default)s)')
    wanted.add_argument('--phase-margin', type=float, metavar='DEG',
                        default=round(math.degrees(default.phase_margin)),
                        help='phase margin in degrees, at least (%(default)s)')
    wanted.add_argument('--delay', type=float, default=default.delay, metavar='S',
                        help='delay of the whole loop, in seconds (%(default)s)')
    wanted.add_argument('--engine-lag', type=float, default=default.engine_lag, metavar='S',
                        help='time constant of the thrust, in seconds (%(default)s)')
    for name, default_position in (('take-off', 0.0), ('landing', 1.0)):
        aircraft.add_argument(
            f'--{name}-flaps', type=float, default=default_position, metavar='RATIO',
            help=f'flaps of {name}, 0..1, for the speeds of take-off and landing (%(default)s)')
    output.add_argument('-o', '--output', default='', metavar='FILE',
                        help='parameter file to write (default: none)')
    add_force_option(output)
    return parser
