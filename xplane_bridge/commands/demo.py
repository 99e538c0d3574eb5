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

"""demo: fly the scenario steps through the bridge, by topics only, and evaluate it."""

from __future__ import annotations

from collections.abc import Sequence
import sys

from xplane_bridge.commands import options
from xplane_bridge.common.command_line import (
    add_force_option,
    add_launch_option,
    CommandParser,
    dated,
    program,
    refuse_existing,
    subject,
    without_ros_arguments,
)
from xplane_bridge.common.plain_files import WriteError
from xplane_bridge.laboratory.experiments.fly import fly
from xplane_bridge.laboratory.experiments.settings import (
    Experiment,
    Files,
    INTERRUPTED,
    NOT_FLOWN,
    PASSED,
)
from xplane_bridge.laboratory.flights.order import Keep, Link, Order
from xplane_bridge.laboratory.flights.scenario.scenario import find, load

_SIMULATED = 'a JSBSim c172p behind X-Plane Connect'


def main(argv: Sequence[str] | None = None) -> int:
    """Fly the demo; 0 if all criteria are met, 1 if not, 2 if it could not be flown."""
    parser = CommandParser(
        prog=program('demo'),
        description='Fly the scenario steps through the bridge, by topics only, and evaluate it.')
    output, default = subject(parser, 'output'), dated('demo')
    for option, ending, text in (
        ('--bag', 'mcap', 'recording'), ('--picture', 'png', 'plot'),
        ('--log', 'log', 'output of the processes')
    ):
        output.add_argument(option, default=f'{default}.{ending}',
                            help=f'{text} to write (default: demo_DATE-TIME.{ending})')
    add_force_option(output)
    add_launch_option(parser)
    parser.add_argument('--host', default='',
                        help='a real X-Plane with X-Plane Connect, instead of a simulated one')
    parser.add_argument('--port', type=int, default=0, help="the real X-Plane's UDP port")
    options.add_live_option(parser)
    arguments = parser.parse_args(without_ros_arguments(
        sys.argv[1:] if argv is None else argv))
    files = Files(arguments.bag, arguments.picture, '', arguments.log)
    try:
        refuse_existing(
            (files.recording, files.picture, files.log), arguments.force,
            elsewhere='--bag, --picture or --log')
    except (FileExistsError, WriteError) as error:
        print(f'demo: {error}', file=sys.stderr)
        return NOT_FLOWN
    code = fly(Experiment(
        Order(load(find('steps')), options.SIM, keep=Keep(files.recording, files.log), link=Link(
            arguments.host, arguments.port, namespace='/demo')), files,
        f'xplane_bridge: {f"X-Plane at {arguments.host}" if arguments.host else _SIMULATED}, '
        'flown by ROS topics', arguments.live))
    return PASSED if code == INTERRUPTED and arguments.by_launch else code
