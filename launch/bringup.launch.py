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

from dataclasses import dataclass
import os

from ament_index_python.packages import get_package_prefix, PackageNotFoundError
from launch.actions import ExecuteProcess, Shutdown
from launch_ros.actions import Node

from xplane_bridge.common import optional
from xplane_bridge.common.command_line import dated, refuse_existing
from xplane_bridge.common.data import folder
from xplane_bridge.nodes.flight import recorders
from xplane_bridge.nodes.flight.bridges import bridge_parameters
from xplane_bridge.nodes.launch_arguments import (
    AircraftArguments,
    gains_for,
    NodeArguments,
    SensorArguments,
)
from xplane_bridge.nodes.launching import (
    checked_description,
    make_node,
    simulated_gains,
    with_sensors,
)
from xplane_bridge.nodes.managed.parameters import parameter
from xplane_bridge.protocols.registry import DATA_PORT
from xplane_bridge.simulators.registry import NO_SIMULATORS, SIMULATORS

LOOPBACK = '127.0.0.1'
# What must be the same in several nodes, so that params_file does not change it.
FIRM = ('host', 'port', 'data_port', 'controls_port', 'version', 'stamp', 'use_sim_time')
OPTIONAL = {'rviz': 'rviz2', 'foxglove': 'foxglove_bridge'}


# What experiment.rviz shows.
SHOWN = ('robot_description', 'view/path', 'view/target', 'autopilot/active_path')


@dataclass(frozen=True)
class Arguments:
    """Arguments of this file."""

    sim: str = parameter(
        'xpc', 'Simulator, which determines the bridge.', choices=tuple(SIMULATORS),
        refused=NO_SIMULATORS)
    host: str = parameter(
        '', 'Address of a real simulator. Empty: start one of this package.')
    port: int = parameter(
        0, "The simulator's UDP port; 0 is the default one.", minimum=0, maximum=65534)
    speed: float = parameter(
        1.0, 'Real-time factor of a simulator of this package; if not 1, use_sim_time is implied.',
        minimum=0.01, maximum=100.0)
    lockstep: bool = parameter(
        False, 'A simulator of this package advances a frame when the autopilot has commanded '
        'it, as fast as possible; implies use_sim_time and engage.')
    autopilot: bool = parameter(True, 'Start autopilot_node.')
    engage: bool = parameter(False, 'The autopilot engages as soon as telemetry arrives.')
    rviz: bool = parameter(False, 'Start RViz, and view_node.')
    foxglove: bool = parameter(
        False, 'Start foxglove_bridge (WebSocket, port 8765), and view_node.')
    record: bool = parameter(
        False, "Record the vehicle's topics: by rosbag2 if installed, otherwise by record.")
    bag: str = parameter(
        '', 'File (of rosbag2: folder) to record to, which must not exist. Empty: the namespace, '
        'or flight, with date and time.')


def make(given):
    """Return the nodes to start."""
    value = {name: item.default for name, item in Arguments.__dataclass_fields__.items()} | given
    host, speed, lockstep = (value[name] for name in ('host', 'speed', 'lockstep'))
    aircraft = value.get('aircraft', '')
    simulator = SIMULATORS[value['sim']]
    simulated = value.get('use_sim_time', False) or speed != 1.0 or lockstep
    check(value, simulator, simulated)
    # One decision about time for all nodes, so that a parameter file cannot divide them.
    given = {**given, 'use_sim_time': simulated}
    port = value['port'] or simulator.port
    data_port = simulator.data_port if host else DATA_PORT
    nodes = []
    if not host:
        nodes.append(make_node('simulator_node', given, {
            'sim': simulator.name, 'port': port, 'data_port': data_port, 'lockstep': lockstep,
            # If the protocol carries the time, the bridge publishes it with its own stamps.
            'publish_clock': simulated and not simulator.has_time,
            **({'speed': speed} if 'speed' in given else {}),
            **({'model': aircraft} if aircraft and not aircraft.endswith('.yaml') else {}),
        }, on_exit=None if given.get('respawn') else Shutdown(reason='simulator_node ended')))
    bridge = bridge_parameters(
        simulator, host or LOOPBACK, port, speed, simulated, lockstep, data_port)
    firm = bridge if lockstep else {
        name: bridge[name] for name in FIRM if name in bridge}
    sensors = given.get('sensors', '')
    nodes += with_sensors(
        simulator.protocol.node, given, firm, sensors, lockstep, defaults=bridge)
    if value['autopilot']:
        defaults = gains_for(given)
        if not (aircraft or host):
            defaults = simulated_gains(given)
        nodes.append(make_node('autopilot_node', given, {
            'lockstep': lockstep, **({'behind_sensors': True} if sensors else {}),
            **({'engage': value['engage'] or lockstep} if 'engage' in given or lockstep else {}),
            # So that the recorder misses no frame: it and the bridge.
            **({'subscribers': 2} if lockstep and value['record'] else {}),
        }, defaults=defaults))
    namespace = f"/{value.get('namespace', '').strip('/')}".rstrip('/')
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
    if value['record']:
        nodes.append(recorder(value, namespace, simulated))
    return nodes


def recorder(value, namespace, simulated):
    """Return the recorder of a namespace."""
    bag = value['bag'] or f"{dated(namespace.strip('/').replace('/', '_') or 'flight')}.mcap"
    refuse_existing([bag], by='', elsewhere='bag:=')
    command, *arguments = recorders.command(bag, namespace)
    patience = dict.fromkeys(('sigterm_timeout', 'sigkill_timeout'), str(recorders.PATIENCE))
    if command != recorders.RECORD:
        return ExecuteProcess(cmd=[command, *arguments], output='screen', **patience)
    return Node(
        package='xplane_bridge', executable=command, output='screen', arguments=arguments,
        parameters=[{'use_sim_time': simulated}], **patience)


def check(value, simulator, simulated):
    """Raise ValueError with a reason for combinations that are not possible."""
    for name, package in OPTIONAL.items():
        if value[name]:
            try:
                get_package_prefix(package)
            except PackageNotFoundError:
                raise ValueError(
                    f'launch argument {name}: the package {package} is not installed; install '
                    f"it with: apt install ros-{os.environ.get('ROS_DISTRO', '<distro>')}-"
                    f"{package.replace('_', '-')}") from None
    if value['record']:
        try:
            optional.require('launch argument record', *recorders.needed(), extra='export')
        except ImportError as error:
            raise ValueError(str(error)) from None
    if value['host'] and (value['speed'] != 1.0 or value['lockstep']):
        raise ValueError(
            'launch arguments speed and lockstep need a simulator of this package: omit host')
    if not simulator.has_time and (value['lockstep'] or (value['host'] and simulated)):
        name = 'lockstep' if value['lockstep'] else 'use_sim_time'
        raise ValueError(f'launch argument {name}: {simulator.name} has no time in its protocol')
    if value['lockstep'] and not value['autopilot']:
        raise ValueError(
            'launch argument lockstep: the autopilot must be started, as it commands each frame')


def generate_launch_description():
    """Return the launch description."""
    return checked_description(
        'bringup.launch.py', make, Arguments, AircraftArguments, SensorArguments, NodeArguments)
