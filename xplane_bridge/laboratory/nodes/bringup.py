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

"""What bringup.launch.py is given, and what it refuses before anything starts."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from xplane_bridge.bridges.nodes.managed.parameters import parameter
from xplane_bridge.laboratory.nodes.launch_arguments import Given
from xplane_bridge.laboratory.nodes.launch_checks import check_vehicles
from xplane_bridge.simulation.peers.registry import NO_SIMULATORS, SIMULATORS


@dataclass(frozen=True)
class BringUpArguments:
    """Arguments of bringup.launch.py, besides those of all nodes."""

    sim: str = parameter(
        'xpc', 'Simulator, which determines the bridge.', choices=tuple(SIMULATORS),
        refused=NO_SIMULATORS)
    host: str = parameter(
        '', 'Address of a real simulator. Empty: start one of this package.')
    port: int = parameter(
        0, "The simulator's UDP port; 0 is the default one.", low=0, high=65534)
    speed: float = parameter(
        1.0, 'Real-time factor of a simulator of this package; if not 1, use_sim_time is implied.',
        low=0.01, high=100.0)
    lockstep: bool = parameter(
        False, 'A simulator of this package advances a frame when the autopilot has commanded '
        'it, or with autopilot:=false your own controller, as fast as possible; implies '
        'use_sim_time and engage.')
    autopilot: bool = parameter(True, 'Start autopilot_node; false to fly with your own.')
    engage: bool = parameter(False, 'The autopilot engages as soon as telemetry arrives.')
    rviz: bool = parameter(False, 'Start RViz, and view_node.')
    foxglove: bool = parameter(
        False, 'Start foxglove_bridge (WebSocket, port 8765), and view_node.')
    record: bool = parameter(
        False, "Record the vehicle's topics: by rosbag2 if installed, otherwise by record.")
    bag: str = parameter(
        '', 'File (of rosbag2: folder) to record to, which must not exist. Empty: the namespace, '
        'or flight, with date and time.')


def brought_up(given: Given) -> dict[str, Any]:
    """
    Return all arguments, with the defaults of those that are not given.

    ``use_sim_time`` is whether all follow the simulator's time: so it is one decision. Raises
    ValueError, naming the argument, for combinations that are not possible.
    """
    value: dict[str, Any] = {item.name: item.default for item in fields(BringUpArguments)}
    value |= given
    host, lockstep, aircraft = value['host'], value['lockstep'], value.get('aircraft', '')
    implied = lockstep or value['speed'] != 1.0
    if host and implied:
        raise ValueError(
            'launch arguments speed and lockstep need a simulator of this package: omit host')
    if implied and not value.get('use_sim_time', True):
        raise ValueError(
            'launch argument use_sim_time: with lockstep, and with a speed other than 1, the time '
            "is the simulator's; omit it")
    value['use_sim_time'] = implied or value.get('use_sim_time', False)
    simulator = SIMULATORS[value['sim']]
    if not simulator.has_time and (lockstep or (host and value['use_sim_time'])):
        name = 'lockstep' if lockstep else 'use_sim_time'
        raise ValueError(f'launch argument {name}: {simulator.name} has no time in its protocol')
    check_vehicles(
        given, value['autopilot'], lockstep,
        flies_it=not host and not aircraft.endswith('.yaml'))
    return value
