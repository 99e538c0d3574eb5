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

"""The simulators available to experiments: what is started for each, and how."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
import json
from typing import Any

from rclpy.exceptions import InvalidNamespaceException
from rclpy.validate_namespace import validate_namespace

from xplane_bridge.bridges.conversions.topics import AIR_TOPICS, VEHICLE
from xplane_bridge.bridges.protocols.xplane_versions import FIRST_WITH_DATAREFS
from xplane_bridge.laboratory.flights.order import Link
from xplane_bridge.laboratory.flights.scenario.scenario import ScenarioError
from xplane_bridge.laboratory.nodes.flight.alone import CLOCK
from xplane_bridge.simulation.peers.registry import Simulator

# Updates per simulated second.
RATE = 50.0
_BUDGET = 240.0
# In s: from this machine to itself no datagram comes later than that, unless the link is to delay
# or to lose some.
_RELEASED_WITHIN = 0.5
# Messages that a publisher keeps for a recorder that is starved on a busy machine: with the
# default of 10, a fifth of a second would leave a gap in the recording.
KEPT = 1000
# Those of a vehicle that a bridge does not publish.
_ABSENT = {'fdmdata': ('fix_velocity', 'controls', 'engines', 'wind')}
TELEMETRY = (*VEHICLE, *AIR_TOPICS)
"""Topics of a vehicle that are recorded."""
AUTOPILOT = (
    'command/controls', 'autopilot/active_target', 'autopilot/level', 'autopilot/active_path')


def bridge_parameters(
    simulator: Simulator, host: str, port: int, speed: float, simulated_time: bool, lockstep: bool,
    data_port: int, updates: float = RATE,
) -> dict[str, Any]:
    """
    Return the parameters of the bridge's node; ``data_port`` is where rows arrive.

    In real time it is to publish ``updates`` per simulated second.
    """
    given: dict[str, Any] = {'host': host}
    if lockstep:
        # The simulation waits for commands; the watchdog does not, and would command instead.
        given['command_timeout'] = 0.0
    rate = 0.0 if lockstep else updates * speed
    if simulator.protocol.name == 'fdmdata':
        return given | {
            **dict.fromkeys(('gps_rate', 'ins_rate', 'imu_rate', 'air_data_rate'), updates),
            'data_port': port, 'controls_port': port + 1}
    given['port'] = port
    if simulated_time:
        # In lockstep nothing here depends on ROS time, and each frame would wait for /clock.
        given |= {'stamp': 'simulator', 'use_sim_time': not lockstep}
    if simulator.protocol.name == 'xpc':
        given |= {
            'rate': rate, 'lockstep': lockstep,
            'max_datagrams_per_second': 100000.0 if lockstep else max(_BUDGET, _BUDGET * speed)}
        return given
    assert simulator.version is not None
    given['version'] = str(simulator.version)
    if simulator.version < FIRST_WITH_DATAREFS:
        # The trims, which the rows move by default, have too little authority.
        given['command_rows'] = 'joystick'
    if lockstep:
        # Ours reads all that it is sent, and a flight begins when all is requested.
        given['pacing'] = 0.001
    return given | {'rate': 1000.0 if lockstep else rate, 'data_port': data_port}


def release_parameters(link: Link) -> dict[str, float]:
    """
    Return how long a bridge gives back at its end, by what its parameter is then.

    A simulator of this package ends with the flight: nobody uses what is left of it.
    """
    is_perfect = not (link.host or link.loss or link.delay or link.jitter)
    return {'release_timeout': _RELEASED_WITHIN} if is_perfect else {}


def telemetry_of(simulator: Simulator) -> list[str]:
    """Return the recorded topics that a simulator's bridge publishes."""
    return [topic for topic in TELEMETRY if topic not in _ABSENT.get(simulator.protocol.name, ())]


def kept_by_bridge(
    simulator: Simulator, namespace: str, moved: Mapping[str, str], simulated_time: bool
) -> dict[str, int]:
    """Return kept_messages() of a bridge, which has topics that are ``moved`` elsewhere."""
    return kept_messages(namespace, [
        *(moved.get(topic, topic) for topic in telemetry_of(simulator)),
        # The time of others is published by simulator_node.
        *((CLOCK,) if simulated_time and simulator.has_time else ())])


def kept_messages(namespace: str, topics: Iterable[str]) -> dict[str, int]:
    """Return the parameters that make a node's publishers keep enough for the recorder."""
    return {
        f'qos_overrides.{topic if topic.startswith("/") else f"{namespace}/{topic}"}'
        '.publisher.depth': KEPT for topic in topics}


def check_namespace(namespace: str) -> None:
    """
    Check a namespace that was given as ``--namespace``, with its slash.

    Raises ScenarioError if ROS does not accept it, or if it is the root.
    """
    try:
        validate_namespace(namespace)
    except InvalidNamespaceException as error:
        raise ScenarioError(f'--namespace: {str(error).splitlines()[0]}') from None
    if namespace == '/':
        raise ScenarioError('--namespace: expected a name, such as uav1')


def ros_arguments(
    namespace: str, parameters: Mapping[str, Any], remappings: Mapping[str, str] | None = None
) -> list[str]:
    """Return the command-line arguments of a node's executable."""
    arguments = ['--ros-args', '-r', f'__ns:={namespace}']
    for name, other in (remappings or {}).items():
        arguments += ['-r', f'{name}:={other}']
    for name, value in parameters.items():
        # JSON is YAML: a string stays a string, a float keeps its decimal point.
        arguments += ['-p', f'{name}:={json.dumps(value)}']
    return arguments
