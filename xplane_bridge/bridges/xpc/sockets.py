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

"""The sockets between this computer and one plugin."""

from __future__ import annotations

from xplane_bridge.bridges.links.udp import UdpSocket
from xplane_bridge.bridges.xpc import protocol as xpc


class PluginSockets:
    """
    Open the sockets of a session with the plugin at ``host``, an address.

    It replies from the port that it listens on. An empty ``bind_address`` lets the routing decide.
    Raises LinkError.
    """

    def __init__(self, host: str, port: int, bind_address: str = '') -> None:
        self._host = host
        self._port = port
        self._bind_address = bind_address

    def open(self, _: str) -> UdpSocket:
        """Open the socket of a channel."""
        return UdpSocket((self._bind_address, 0), peer=(self._host, self._port),
                         sender=self._host, sender_port=self._port)

    def open_beacon(self) -> UdpSocket:
        """Listen for the plugin's beacon; LinkError where the network has no multicast."""
        return UdpSocket(('', xpc.BEACON_PORT), sender=self._host, sender_port=self._port,
                         group=xpc.BEACON_GROUP)
