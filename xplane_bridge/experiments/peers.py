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

"""The simulators that an experiment may be flown on: what is started for each, and how."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
import json
import socket
from typing import Any

from xplane_bridge.conversions.geoid import ellipsoid_to_msl, undulation_source
from xplane_bridge.simulators import terrain

# Updates a simulated second.
RATE = 50.0
_BUDGET = 240.0
_LOOPBACK = '127.0.0.1'
# Messages that a publisher keeps for a recorder that a busy machine does not let run: with the
# usual 10, a fifth of a second of that would be a gap in the recording.
KEPT = 1000
_RECORDED = (
    'fix', 'fix_velocity', 'imu/data', 'odom', 'air_data', 'controls', 'command/controls',
    'autopilot/controls')
_TRIES = 50


@dataclass(frozen=True, slots=True)
class Peer:
    """
    One simulator: its node's executable, parameters, usual port and what its wire carries.

    ``name`` is also the face of simulator_node. ``ports`` is how many UDP ports in a row it
    takes. ``has_time``: the simulator's own time is on the wire, so stamps can be that.
    ``reports_controls``: so is how its controls stand.
    """

    name: str
    node: str
    port: int
    ports: int
    has_time: bool
    parameters: Mapping[str, Any] = field(default_factory=dict)
    reports_controls: bool = True


PEERS = {
    peer.name: peer for peer in (
        Peer('xpc', 'xpc_node', 49009, 1, True),
        Peer('xplane12', 'xplane_udp_node', 49000, 2, True, {'version': '12'}),
        Peer('xplane11', 'xplane_udp_node', 49000, 2, True, {'version': '11'}),
        # The trims, which the rows move by default, are no match for the surfaces.
        Peer('xplane9', 'xplane_udp_node', 49000, 2, True, {
            'version': '9', 'command_rows': 'joystick'}),
        Peer('xplane6', 'xplane_udp_node', 49000, 1, True, {
            'version': '6', 'command_rows': 'joystick'}),
        Peer('fdmdata', 'fdmdata_node', 10300, 2, False, {
            'gps_rate': RATE, 'ins_rate': RATE, 'air_data_rate': RATE},
            reports_controls=False),
    )
}


def bridge_parameters(
    peer: Peer, host: str, port: int, speed: float, simulated_time: bool, lockstep: bool,
    data_port: int,
) -> dict[str, Any]:
    """Return the parameters of the bridge's node; ``data_port`` is where rows come to."""
    given: dict[str, Any] = {'host': host, **peer.parameters}
    if lockstep:
        # The world waits for commands; the watchdog, which does not, would command instead.
        given['command_timeout'] = 0.0
    rate = 0.0 if lockstep else RATE * speed
    if peer.name == 'fdmdata':
        return given | {'data_port': port, 'controls_port': port + 1}
    given['port'] = port
    if simulated_time:
        given |= {'stamp': 'simulator', 'use_sim_time': True}
    if peer.name == 'xpc':
        given['rate'] = rate
        given['max_datagrams_per_second'] = 100000.0 if lockstep else max(_BUDGET, _BUDGET * speed)
    else:
        given |= {'rate': 1000.0 if lockstep else rate, 'data_port': data_port}
    return given


def kept_messages(namespace: str) -> dict[str, int]:
    """Return the parameters by which a node's publishers keep enough for the recorder."""
    return {
        f'qos_overrides.{namespace}/{topic}.publisher.depth': KEPT for topic in _RECORDED}


def simulated_start(initial: Mapping[str, Any]) -> dict[str, Any]:
    """
    Return where a flight begins as simulator_node takes it: its altitude is above mean sea level.

    A scenario's altitudes are all above the ellipsoid, as in fix, so that a target may be that of
    the beginning.
    """
    given = dict(initial)
    if 'altitude' in given:
        given['altitude'] = ellipsoid_to_msl(given['altitude'], undulation_source().height_m(
            given.get('latitude_deg', terrain.HOME_LAT_DEG),
            given.get('longitude_deg', terrain.HOME_LON_DEG)))
    return given


def ros_arguments(
    namespace: str, parameters: Mapping[str, Any], remappings: Mapping[str, str] | None = None
) -> list[str]:
    """Return what a node's executable is given on its command line."""
    arguments = ['--ros-args', '-r', f'__ns:={namespace}']
    for source, target in (remappings or {}).items():
        arguments += ['-r', f'{source}:={target}']
    for name, value in parameters.items():
        # JSON is YAML: a text stays a text, a number keeps its point.
        arguments += ['-p', f'{name}:={json.dumps(value)}']
    return arguments


def free_ports(count: int) -> int:
    """Return the first of ``count`` UDP ports in a row that nobody on this computer uses now."""
    for _ in range(_TRIES):
        held: list[socket.socket] = []
        try:
            held.append(_bound(0))
            first = held[0].getsockname()[1]
            for port in range(first + 1, first + count):
                held.append(_bound(port))
            return int(first)
        except (OSError, OverflowError):
            continue
        finally:
            for one in held:
                one.close()
    raise OSError(f'there are no {count} free UDP ports in a row')


def _bound(port: int) -> socket.socket:
    found = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    try:
        found.bind((_LOOPBACK, port))
    except (OSError, OverflowError):
        found.close()
        raise
    return found


def unknown(name: str, known: Sequence[str]) -> str:
    """Return a sentence about a simulator that is not known."""
    return f'there is no simulator {name!r}: expected one of {", ".join(known)}'
