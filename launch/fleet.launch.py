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
Bring up a fleet: several aircraft on one clock, each in its namespace with an autopilot.

ros2 launch xplane_bridge fleet.launch.py count:=5 engage:=true
ros2 launch xplane_bridge fleet.launch.py count:=3 sim:=xpc aircraft:='[c172p, T37, c310]'

They are simulated by this package, or those of a real X-Plane at host. It runs until Ctrl-C.
"""

from launch.actions import Shutdown

from xplane_bridge.nodes.fleet import fleet, FleetArguments
from xplane_bridge.nodes.launch_arguments import NodeArguments
from xplane_bridge.nodes.launching import checked_description, make_node


def make(given):
    """Return the nodes to start."""
    outer = given.get('namespace', '').rstrip('/')
    nodes = []
    for wanted in fleet(given):
        options = {}
        if wanted.executable == 'simulator_node' and not given.get('respawn'):
            options['on_exit'] = Shutdown(reason='simulator_node ended')
        nodes.append(make_node(
            wanted.executable, {
                name: value for name, value in given.items() if name != 'use_sim_time'
            } | {'namespace': '/'.join(filter(None, (outer, wanted.namespace)))},
            wanted.parameters, defaults=wanted.defaults, **options))
    return nodes


def generate_launch_description():
    """Return the launch description."""
    return checked_description('fleet.launch.py', make, FleetArguments, NodeArguments)
