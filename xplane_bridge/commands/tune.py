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
tune: gains of the cascade for an aircraft, from its linear model.

    tune --model c310 --altitude-msl 1500 --airspeed 75 -o c310.yaml
"""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Sequence
import math
from pathlib import Path
import shlex
import sys

from xplane_bridge.aircraft.studies.linearize import linearize
from xplane_bridge.aircraft.studies.runway_performance import Flaps, runway_performance
from xplane_bridge.aircraft.studies.spare import in_steady_flight
from xplane_bridge.commands.linearize import add_flight_options
from xplane_bridge.common.command_line import (
    add_force_option,
    program,
    refuse_existing,
    without_ros_arguments,
)
from xplane_bridge.control.runway.performance import Performance
from xplane_bridge.control.tuning.linear_model import from_json, LinearModel
from xplane_bridge.control.tuning.report import parameter_file, table
from xplane_bridge.control.tuning.tune import BANDWIDTHS, Limits, tune


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; return its exit status."""
    given_arguments = list(sys.argv[1:] if argv is None else argv)
    given = _parser().parse_args(without_ros_arguments(given_arguments))
    try:
        if given.output:
            refuse_existing([given.output], given.force)
        limits = Limits(
            given.sensitivity, math.radians(given.phase_margin), given.delay, given.engine_lag)
        flaps = Flaps(given.take_off_flaps, given.landing_flaps)
        model = _linear_model(given)
        found = tune(model, dict(given.bandwidth), limits)
    except (ImportError, OSError, ValueError) as error:
        print(f'tune: {error}', file=sys.stderr)
        return 1
    print(table(found))
    for loop in found.loops:
        if not loop.reached:
            print(loop.complaint())
    if given.output:
        performance = _performance(given, flaps)
        command = shlex.join(['tune', *_without_output(given_arguments)])
        try:
            Path(given.output).write_text(
                parameter_file(model, found, limits, command, performance), encoding='utf-8')
        except OSError as error:
            print(f'tune: {given.output}: {error.strerror}', file=sys.stderr)
            return 1
        print(f'written to {given.output}')
    return 0


def _linear_model(given: Namespace) -> LinearModel:
    if given.linear_model:
        return from_json(Path(given.linear_model).read_text(encoding='utf-8'))
    if not given.model or given.airspeed is None:
        raise ValueError('expected --model with --airspeed, or --linear-model')
    spare, _ = in_steady_flight(
        given.model, given.altitude_msl, given.airspeed, aircraft_path=given.aircraft_path)
    return linearize(spare, 'differences')


def _performance(given: Namespace, flaps: Flaps) -> Performance | None:
    """Return what take-offs and landings need; None, after a sentence, if it cannot be found."""
    if given.linear_model:
        print('no performance of take-off and landing: a linear model does not have it')
        return None
    try:
        return runway_performance(given.model, flaps, given.aircraft_path)
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
    default = Limits()
    parser = ArgumentParser(
        program('tune'),
        description="Find the gains of autopilot_node's cascade for an aircraft, from its "
        'linear model in steady level flight.')
    add_flight_options(parser, required=False)
    parser.add_argument('--linear-model', default='', metavar='FILE',
                        help='file that the command linearize wrote, instead of --model')
    parser.add_argument(
        '--bandwidth', type=_bandwidth, nargs='+', default=[], metavar='LOOP=RAD/S',
        help='wanted crossover frequencies ('
        + ', '.join(f'{name}={value:g}' for name, value in BANDWIDTHS.items()) + ')')
    parser.add_argument('--sensitivity', type=float, default=default.sensitivity, metavar='MS',
                        help='largest value of the sensitivity function, at most (%(default)s)')
    parser.add_argument('--phase-margin', type=float, metavar='DEG',
                        default=round(math.degrees(default.phase_margin)),
                        help='phase margin in degrees, at least (%(default)s)')
    parser.add_argument('--delay', type=float, default=default.delay, metavar='S',
                        help='delay of the whole loop, in seconds (%(default)s)')
    parser.add_argument('--engine-lag', type=float, default=default.engine_lag, metavar='S',
                        help='time constant of the thrust, in seconds (%(default)s)')
    for name, default_position in (('take-off', 0.0), ('landing', 1.0)):
        parser.add_argument(
            f'--{name}-flaps', type=float, default=default_position, metavar='RATIO',
            help=f'flaps of {name}, 0..1, for the speeds of take-off and landing (%(default)s)')
    parser.add_argument('-o', '--output', default='', metavar='FILE',
                        help='parameter file to write (default: none)')
    add_force_option(parser)
    return parser
