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
Bring up a vehicle: simulator (ours, or a real one at host), its bridge, and the autopilot.

ros2 launch xplane_bridge bringup.launch.py sim:=xplane12 aircraft:=c172p engage:=true
ros2 launch xplane_bridge bringup.launch.py sim:=xpc host:=192.168.1.20 namespace:=uav1

Optionally RViz, foxglove_bridge and a recorder. It runs until Ctrl-C.
"""

from launch.actions import Shutdown
from launch_ros.actions import Node

from xplane_bridge.bridges.protocols.registry import DATA_PORT
from xplane_bridge.common.data import folder
from xplane_bridge.laboratory.flights.analysis.quantities import AIRFRAME_TOPIC
from xplane_bridge.laboratory.nodes.bringup import BringUpArguments, brought_up
from xplane_bridge.laboratory.nodes.flight.alone import CLOCK
from xplane_bridge.laboratory.nodes.flight.bridges import (
    AUTOPILOT,
    bridge_parameters,
    kept_by_bridge,
    kept_messages,
)
from xplane_bridge.laboratory.nodes.launch_arguments import (
    AircraftArguments,
    gains_for,
    NodeArguments,
    SensorArguments,
)
from xplane_bridge.laboratory.nodes.launching import (
    checked_description,
    make_node,
    recorder,
    simulated_gains,
    with_sensors,
)
from xplane_bridge.laboratory.sensors.topics import moved_truth, SENSED
from xplane_bridge.simulation.peers.registry import SIMULATORS

LOOPBACK = '127.0.0.1'
# What must be the same in several nodes, so that params_file does not change it.
FIRM = ('host', 'port', 'data_port', 'controls_port', 'version', 'stamp', 'use_sim_time')
# What experiment.rviz shows.
SHOWN = ('robot_description', 'view/path', 'view/target', 'autopilot/active_path')


def make(given):
    """Return the nodes to start."""
    value = brought_up(given)
    host, speed, lockstep, simulated = (
        value[name] for name in ('host', 'speed', 'lockstep', 'use_sim_time'))
    aircraft = value.get('aircraft', '')
    simulator = SIMULATORS[value['sim']]
    # One decision about time for all nodes, so that a parameter file cannot divide them.
    given = {**given, 'use_sim_time': simulated}
    namespace = f"/{value.get('namespace', '').strip('/')}".rstrip('/')

    def kept(*topics):
        """Return what a recorder that gets no processor time for a while needs of a node."""
        return kept_messages(namespace, topics) if value['record'] else {}

    port = value['port'] or simulator.port
    data_port = simulator.data_port if host else DATA_PORT
    nodes = []
    # If the protocol carries the time, the bridge publishes it with its own stamps.
    publishes_clock = simulated and not simulator.has_time
    if not host:
        nodes.append(make_node('simulator_node', given, {
            'sim': simulator.name, 'port': port, 'data_port': data_port, 'lockstep': lockstep,
            'publish_clock': publishes_clock,
            **({'speed': speed} if 'speed' in given else {}),
            **({'model': aircraft} if aircraft and not aircraft.endswith('.yaml') else {}),
        }, defaults=kept(AIRFRAME_TOPIC, *([CLOCK] if publishes_clock else [])),
            on_exit=None if given.get('respawn') else Shutdown(reason='simulator_node ended')))
    bridge = bridge_parameters(
        simulator, host or LOOPBACK, port, speed, simulated, lockstep, data_port)
    firm = bridge if lockstep else {
        name: bridge[name] for name in FIRM if name in bridge}
    sensors = given.get('sensors', '')
    nodes += with_sensors(
        simulator.protocol.node, given, firm, sensors, lockstep, kept(*SENSED),
        defaults=bridge | (kept_by_bridge(
            simulator, namespace, moved_truth(sensors), simulated) if value['record'] else {}))
    if value['autopilot']:
        defaults = gains_for(given)
        if not (aircraft or host):
            defaults = simulated_gains(given)
        nodes.append(make_node('autopilot_node', given, {
            'lockstep': lockstep, **({'behind_sensors': True} if sensors else {}),
            **({'engage': value['engage'] or lockstep} if 'engage' in given or lockstep else {}),
            # So that the recorder misses no frame.
            **({'wait_for_recorder': True} if lockstep and value['record'] else {}),
        }, defaults={**defaults, **kept(*AUTOPILOT)}))
    nodes += viewers(value, given, namespace, simulator, simulated)
    if value['record']:
        nodes.append(recorder(value, namespace, simulated, 'flight'))
    return nodes


def viewers(value, given, namespace, simulator, simulated):
    """Return RViz and foxglove_bridge, and what they show."""
    nodes = []
    if value['rviz']:
        config = str(folder('view') / 'experiment.rviz')
        nodes.append(Node(
            package='rviz2', executable='rviz2', arguments=['-d', config],
            parameters=[{'use_sim_time': simulated}],
            remappings=[(f'/experiment/{topic}', f'{namespace}/{topic}') for topic in SHOWN]))
    if value['rviz'] or value['foxglove']:
        nodes.append(make_node(
            'view_node', given, {}, defaults={'from_commands': not simulator.reports_controls}))
    if value['foxglove']:
        nodes.append(Node(
            package='foxglove_bridge', executable='foxglove_bridge', output='screen',
            parameters=[{'use_sim_time': simulated}]))
    return nodes


def generate_launch_description():
    """Return the launch description."""
    return checked_description(
        'bringup.launch.py', make, BringUpArguments, AircraftArguments, SensorArguments,
        NodeArguments, flown=lambda given: [given.get('namespace', '')])
