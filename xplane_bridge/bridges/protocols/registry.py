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
The one list of protocols: their names, peers and ports.

The nodes, ``dissect``, exports and the list of simulators (simulation.peers.registry) read it.
What a protocol has is in the folder of its name in bridges/.
"""

from __future__ import annotations

from dataclasses import dataclass

PORTS = {'xpc': 49009, 'xplane_udp': 49000, 'fdmdata': 10300, 'ardupilot_json': 9002}
"""UDP ports by protocol, where its peer listens by default; for SITL, where it expects physics."""

DATA_PORT = 49003
"""UDP port that X-Plane 7 and later send rows to by default."""


@dataclass(frozen=True, slots=True)
class PeerProtocol:
    """
    One protocol: its name in the package, the peer it emulates, and its default UDP port.

    ``has_usual_place``: it works with default addresses, so ``simulator all`` may start it.
    ``example`` is an example of the node's parameter that tells where the peer is.
    """

    name: str
    peer: str
    port: int | None = None
    has_usual_place: bool = True
    example: str = 'host:=192.168.1.20'

    @property
    def node(self) -> str:
        """Return the executable that bridges it."""
        return f'{self.name}_node'


PROTOCOLS = {
    protocol.name: protocol for protocol in (
        PeerProtocol('xpc', 'X-Plane with the plugin X-Plane Connect', PORTS['xpc']),
        PeerProtocol('xplane_udp', "X-Plane's own UDP, versions 6 to 12", PORTS['xplane_udp']),
        PeerProtocol('fdmdata', 'Huginn with FDMData', PORTS['fdmdata']),
        PeerProtocol('ulyssix', 'Altair or DEWESoft that publishes Ulyssix packets',
                     has_usual_place=False, example='port:=5000'),
        PeerProtocol('simpit', 'Kerbal Space Program with the plugin Kerbal Simpit',
                     example='port:=/dev/ttyUSB0'),
    )
}
UNBRIDGED = {
    'ardupilot_json': PeerProtocol(
        'ardupilot_json', "the physics that ArduPilot's SITL flies (JSON)",
        PORTS['ardupilot_json'], has_usual_place=False),
}
"""Protocols over which other programs fly the simulated aircraft, and no node of this package."""
