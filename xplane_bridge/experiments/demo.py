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

"""The demo: fly the scenario steps through the bridge, by topics only, and evaluate it."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
import sys

from ament_index_python.packages import get_package_share_directory

from xplane_bridge.command_line import run_command, without_ros_arguments
from xplane_bridge.experiments import options
from xplane_bridge.experiments.experiment import fly
from xplane_bridge.experiments.scenario import find, load
from xplane_bridge.experiments.settings import Experiment, Files, Settings

_SIMULATED = 'a JSBSim c172p behind X-Plane Connect'


def main(argv: Sequence[str] | None = None) -> int:
    """Fly the demo; 0 if all criteria are met, 1 if not, 2 if it could not be flown."""
    parser = argparse.ArgumentParser(prog='demo', description=__doc__)
    parser.add_argument('--bag', default='demo.mcap', help='recording to write (%(default)s)')
    parser.add_argument('--picture', default='demo.png', help='plot to write (%(default)s)')
    parser.add_argument('--log', default='demo.log', help='output of the processes (%(default)s)')
    parser.add_argument('--host', default='',
                        help='a real X-Plane with X-Plane Connect, instead of a simulated one')
    parser.add_argument('--port', type=int, default=0, help="the real X-Plane's UDP port")
    options.add_live_option(parser)
    arguments = parser.parse_args(without_ros_arguments(
        sys.argv[1:] if argv is None else argv))
    return fly(Experiment(
        load(find('steps', get_package_share_directory('xplane_bridge'))),
        Settings(host=arguments.host, port=arguments.port),
        Files(arguments.bag, arguments.picture, '', arguments.log), '/demo',
        f'xplane_bridge: {f"X-Plane at {arguments.host}" if arguments.host else _SIMULATED}, '
        'flown by ROS topics', arguments.live))


if __name__ == '__main__':
    sys.exit(run_command(main))
