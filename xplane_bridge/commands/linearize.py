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
linearize: the linear model of an aircraft in steady flight, as JSON.

    linearize --model f16 --altitude-msl 3000 --airspeed 150 > f16.json
"""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Sequence
import math
import sys

from xplane_bridge.aircraft.studies.linearize import linearize, METHODS
from xplane_bridge.aircraft.studies.spare import in_steady_flight
from xplane_bridge.common.command_line import program, refuse_old_option, without_ros_arguments


def add_flight_options(parser: ArgumentParser, required: bool) -> None:
    """Add the options that say which aircraft flies how."""
    parser.add_argument('--model', required=required, help='a JSBSim aircraft, such as c172p')
    parser.add_argument('--aircraft-path', default='', metavar='FOLDER',
                        help="folder of your own aircraft, laid out as JSBSim's")
    parser.add_argument('--altitude-msl', type=float, default=1500.0, metavar='M',
                        help='altitude in metres above mean sea level (%(default)s)')
    refuse_old_option(parser, '--altitude', '--altitude-msl')
    parser.add_argument('--airspeed', type=float, required=required, metavar='M/S',
                        help='calibrated airspeed, in m/s')


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; return its exit status."""
    parser = ArgumentParser(
        program('linearize'),
        description='Trim an aircraft and print its linear model as JSON: A, B, C '
        'and D with names and units, in SI.')
    add_flight_options(parser, required=True)
    parser.add_argument('--flight-path-angle', type=float, default=0.0, metavar='DEG',
                        help='angle of the path, + is up; a glider finds its own (0)')
    parser.add_argument('--bank', type=float, default=0.0, metavar='DEG',
                        help='bank angle of a steady turn, + is right wing down (0)')
    parser.add_argument('--method', choices=METHODS, default='',
                        help="JSBSim's own linearization, for straight and level flight, or "
                        "central differences (default: JSBSim's where it can)")
    given = parser.parse_args(without_ros_arguments(sys.argv[1:] if argv is None else argv))
    try:
        spare, _ = in_steady_flight(
            given.model, given.altitude_msl, given.airspeed, math.radians(given.flight_path_angle),
            math.radians(given.bank), given.aircraft_path)
        model = linearize(spare, given.method, patient=True)
    except (ImportError, ValueError) as error:
        print(f'linearize: {error}', file=sys.stderr)
        return 1
    sys.stdout.write(model.to_json())
    return 0
