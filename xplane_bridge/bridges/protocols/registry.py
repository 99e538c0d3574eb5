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

The nodes, ``dissect``, exports and the list of simulators (simulators.registry) read it. What a
protocol has on each floor is in the folder of its name there.
"""

from __future__ import annotations

from dataclasses import dataclass

from xplane_bridge.bridges.ardupilot_json import protocol as ardupilot_json
from xplane_bridge.bridges.fdmdata import protocol as fdmdata
from xplane_bridge.bridges.xpc import protocol as xpc
from xplane_bridge.bridges.xplane_udp import protocol as xplane_udp

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
        PeerProtocol('xpc', 'X-Plane with the plugin X-Plane Connect', xpc.PORT),
        PeerProtocol('xplane_udp', "X-Plane's own UDP, versions 6 to 12", xplane_udp.PORT),
        PeerProtocol('fdmdata', 'Huginn with FDMData', fdmdata.DATA_PORT),
        PeerProtocol('ulyssix', 'Altair or DEWESoft that publishes Ulyssix packets',
                     has_usual_place=False, example='port:=5000'),
        PeerProtocol('simpit', 'Kerbal Space Program with the plugin Kerbal Simpit',
                     example='port:=/dev/ttyUSB0'),
    )
}
UNBRIDGED = {
    'ardupilot_json': PeerProtocol(
        'ardupilot_json', "the physics that ArduPilot's SITL flies (JSON)", ardupilot_json.PORT,
        has_usual_place=False),
}
"""Protocols over which other programs fly the simulated aircraft, and no node of this package."""
