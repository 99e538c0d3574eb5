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

They are simulated by this package, or those of a real X-Plane at host. Optionally sensors, RViz
and a recorder. It runs until Ctrl-C.
"""

from launch.actions import Shutdown
from launch.logging import launch_config
from launch_ros.actions import Node

from xplane_bridge.bridges.nodes.vehicle.namespaces import default_namespaces
from xplane_bridge.common.data import folder
from xplane_bridge.laboratory.nodes.fleet import fleet, FleetArguments, seen_in_rviz
from xplane_bridge.laboratory.nodes.launch_arguments import NodeArguments, SensorArguments
from xplane_bridge.laboratory.nodes.launching import checked_description, make_node, recorder


def make(given):
    """Return the nodes to start."""
    nodes = []
    for wanted in fleet(given):
        options = {}
        if wanted.executable == 'simulator_node' and not given.get('respawn'):
            options['on_exit'] = Shutdown(reason='simulator_node ended')
        nodes.append(make_node(
            wanted.executable, {
                name: value for name, value in given.items() if name != 'use_sim_time'
            } | {'namespace': namespace_of(given, wanted.namespace)},
            wanted.parameters, defaults=wanted.defaults,
            remappings=list(wanted.remappings.items()), **options))
    above = f"/{given.get('namespace', '').strip('/')}".rstrip('/')
    if given.get('rviz'):
        nodes.append(Node(
            package='rviz2', executable='rviz2', parameters=[{'use_sim_time': True}],
            arguments=['-d', configuration(above, given.get('count', FleetArguments.count))]))
    if given.get('record'):
        nodes.append(recorder(given, above, True, 'fleet'))
    return nodes


def namespace_of(given, name):
    """Return the namespace of a vehicle, or of a node of all."""
    outer = given.get('namespace', '').rstrip('/')
    return '/'.join(filter(None, (outer, name)))


def configuration(above, count):
    """Return the file of RViz's configuration, which is kept with the log of this launch."""
    path = launch_config.get_log_file_path('fleet.rviz')
    with open(path, 'w', encoding='utf-8') as stream:
        stream.write(seen_in_rviz(
            (folder('view') / 'experiment.rviz').read_text(encoding='utf-8'),
            {f'{above}/{name}': name for name in default_namespaces(count)}))
    return path


def generate_launch_description():
    """Return the launch description."""
    return checked_description(
        'fleet.launch.py', make, FleetArguments, SensorArguments, NodeArguments,
        flown=lambda given: {
            namespace_of(given, name) for wanted in fleet(given)
            for name in wanted.parameters.get('namespaces', ())})
