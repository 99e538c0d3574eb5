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

"""picture: draw the flight of a recording, for a paper or a page."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
import sys

from xplane_bridge.common.command_line import (
    add_force_option,
    CommandParser,
    program,
    refuse_existing,
    without_ros_arguments,
)
from xplane_bridge.common.drawing import add_width_option, FORMATS
from xplane_bridge.laboratory.experiments.settings import NOT_FLOWN, PASSED
from xplane_bridge.laboratory.flights.analysis.history import load


def main(argv: Sequence[str] | None = None) -> int:
    """Draw; 0 if that was possible, 2 if not."""
    parser = CommandParser(
        prog=program('picture'),
        description='Draw the flight of a recording: path, responses, attitude, '
        'commands, and latencies where they are known.')
    parser.add_argument('recording', type=Path, metavar='RECORDING',
                        help='.mcap or .parquet file, or folder of rosbag2')
    parser.add_argument('--format', choices=FORMATS, default=FORMATS[0],
                        help='format of the picture (%(default)s)')
    parser.add_argument('--output', type=Path, metavar='FILE',
                        help="file to write (default: the recording's name with the ending of "
                        '--format)')
    parser.add_argument('--title', default='', help='title above it (none)')
    add_width_option(parser, 'the picture', '6.5 for each column of panels')
    parser.add_argument('--namespace', default=None, metavar='NS',
                        help='namespace of the vehicle, if the recording has several')
    add_force_option(parser)
    given = parser.parse_args(without_ros_arguments(sys.argv[1:] if argv is None else argv))
    path = given.output or given.recording.with_suffix(f'.{given.format}')
    try:
        if path.suffix.removeprefix('.') not in FORMATS:
            raise ValueError(f'--output: expected a name that ends in .{", .".join(FORMATS)}, got '
                             f'{path.name}')
        refuse_existing([path], given.force)
        from xplane_bridge.laboratory.experiments.picture import draw_flight
        flight = load(str(given.recording), given.namespace)
        if flight.cut:
            print(f'picture: {flight.cut}', file=sys.stderr, flush=True)
        draw_flight(flight, str(path), given.title, width=given.width)
    except (ImportError, OSError, ValueError) as error:
        print(f'picture: {error}', file=sys.stderr, flush=True)
        return NOT_FLOWN
    print(f'picture: {path}', flush=True)
    return PASSED
