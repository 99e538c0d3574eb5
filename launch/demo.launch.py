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
Fly the demo: a simulator, bridge, autopilot and recorder, and a flight that evaluates them.

ros2 launch xplane_bridge demo.launch.py bag:=demo.mcap picture:=demo.png
ros2 launch xplane_bridge demo.launch.py host:=192.168.1.20   # a real X-Plane with the plugin

To bring up the same nodes without that flight, use bringup.launch.py.
"""

from dataclasses import dataclass

from launch.actions import Shutdown
from launch_ros.actions import Node

from xplane_bridge.bridges.nodes.managed.parameters import parameter
from xplane_bridge.common.command_line import refuse_existing
from xplane_bridge.laboratory.nodes.launching import checked_description


@dataclass(frozen=True)
class Arguments:
    """Arguments of this file."""

    bag: str = parameter('', 'Recording to write. Empty: demo, with date and time.')
    picture: str = parameter('', 'Plot to write. Empty: demo, with date and time.')
    log: str = parameter('', 'Output of the processes. Empty: demo, with date and time.')
    force: bool = parameter(False, 'Overwrite these files.')
    host: str = parameter(
        '', 'Address of a real X-Plane with X-Plane Connect. Empty: start a simulated one.')
    port: int = parameter(
        0, "The real X-Plane's UDP port; 0 is the default one.", low=0, high=65535)


def make(given):
    """Return the process that flies it."""
    if 'port' in given and 'host' not in given:
        raise ValueError(
            'launch argument port: it is that of a real X-Plane; give its host, or omit it')
    files = {name: given[name] for name in ('bag', 'picture', 'log') if name in given}
    force = given.get('force', False)
    refuse_existing(
        files.values(), force, 'force:=true', ' or '.join(f'{name}:=' for name in files))
    arguments = [text for name, value in given.items() if name != 'force'
                 for text in (f'--{name}', str(value))]
    arguments += ['--by-launch', *(['--force'] if force else ())]
    return [Node(
        # No terminal: launch prefixes each line with a name, which would break a live view.
        package='xplane_bridge', executable='demo', output='screen', arguments=arguments,
        # After Ctrl-C it plots what was flown, which takes longer than launch waits by default.
        sigterm_timeout='30', sigkill_timeout='30', on_exit=Shutdown(reason='the demo ended'))]


def generate_launch_description():
    """Return the launch description."""
    return checked_description('demo.launch.py', make, Arguments)
