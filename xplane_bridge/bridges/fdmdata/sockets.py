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

"""The sockets between this computer and one Huginn."""

from __future__ import annotations

from xplane_bridge.bridges.fdmdata.protocol import CONTROLS_PORT, DATA_PORT
from xplane_bridge.bridges.fdmdata.session import CONTROLS_CHANNEL
from xplane_bridge.bridges.links.udp import UdpSocket


class HuginnSockets:
    """
    Open the sockets of a session with Huginn at ``host``, an address.

    It replies from the port that it listens on. An empty ``bind_address`` lets the routing decide.
    Raises LinkError.
    """

    def __init__(
        self, host: str, data_port: int = DATA_PORT, controls_port: int = CONTROLS_PORT,
        bind_address: str = '',
    ) -> None:
        self._host = host
        self._data_port = data_port
        self._controls_port = controls_port
        self._bind_address = bind_address

    def open(self, channel: str) -> UdpSocket:
        """Open the socket of a channel."""
        port = self._controls_port if channel == CONTROLS_CHANNEL else self._data_port
        return UdpSocket((self._bind_address, 0), peer=(self._host, port), sender=self._host,
                         sender_port=port)
