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

"""The sockets between xplane_udp_node and one X-Plane."""

from __future__ import annotations

import socket

from xplane_bridge.bridges.links.peer import ANY_PORT, FixedPort, LearntPort, SenderPort
from xplane_bridge.bridges.links.udp import LinkError, resolve, UdpSocket
from xplane_bridge.bridges.nodes.common.base import BridgeNode
from xplane_bridge.bridges.xplane_udp import protocol as xplane_udp
from xplane_bridge.bridges.xplane_udp.node.parameters import XplaneUdpParameters
from xplane_bridge.bridges.xplane_udp.session import BEACON_CHANNEL, DATA_CHANNEL, XplaneUdpSession

# Values of peer_port.
_LEARNT, _ALL_PORTS = 0, -1


class Sockets:
    """
    Open the sockets of a session, each accepting what X-Plane may send there.

    ``peer_port`` learns which port X-Plane sends from.
    """

    def __init__(
        self, node: BridgeNode[XplaneUdpParameters], session: XplaneUdpSession
    ) -> None:
        self.peer_port = LearntPort(session)
        self._node = node
        self._given = node.parameters
        self._session = session

    def open_all(self) -> dict[str, UdpSocket]:
        """Open the sockets needed from the start; raise LinkError if that fails."""
        given = self._given
        # A bad bind address or a port in use should fail configuration, not the first datagram.
        UdpSocket((given.bind_address, 0)).close()
        host = None if self._session.peer is None else self._session.peer[0]
        channels: dict[str, UdpSocket] = {}
        if given.needs_rows:
            data_socket = self._open_data(host)
            if host is None:
                data_socket.close()
            else:
                channels[DATA_CHANNEL] = data_socket
        beacons = self._open_beacon(host)
        if beacons is not None:
            channels[BEACON_CHANNEL] = beacons
        return channels

    def open(self, channel: str) -> UdpSocket:
        """Open the socket of a channel to X-Plane."""
        host, port = self._session.peer or ('', 0)
        if channel == DATA_CHANNEL:
            return self._open_data(host)
        return UdpSocket(
            (self._given.bind_address, 0), peer=(host, port), sender=host,
            sender_port=self._sends_from(self.peer_port))

    def _open_data(self, host: str | None) -> UdpSocket:
        given = self._given
        try:
            return UdpSocket(
                (given.bind_address, given.data_port), peer=self._session.peer, sender=host,
                sender_port=self._sends_from(self.peer_port.unasked))
        except LinkError as error:
            raise LinkError(
                f'{error} Perhaps another bridge. Rows arrive on the port data_port; set that or '
                'bind_address'
            ) from error

    def _open_beacon(self, host: str | None) -> UdpSocket | None:
        """Listen for X-Plane's beacon, if the network has multicast."""
        try:
            return UdpSocket(
                ('', xplane_udp.BEACON_PORT), sender=host, group=xplane_udp.BEACON_GROUP)
        except LinkError as error:
            if host is None:
                raise LinkError(f'discover: {error}') from error
            self._node.get_logger().info(
                f'no beacons ({error}); a loading simulator cannot be told from an absent one')
            return None

    def _sends_from(self, learnt: SenderPort) -> SenderPort:
        """Return which ports of X-Plane's computer are X-Plane's."""
        given = self._given.peer_port
        if given == _LEARNT:
            return learnt
        return FixedPort(ANY_PORT if given == _ALL_PORTS else given)


def data_target(node: BridgeNode[XplaneUdpParameters], peer: str) -> tuple[str, int]:
    """Return where X-Plane at ``peer`` reaches us: our address on the route to it."""
    given = node.parameters
    address = given.bind_address
    if not address:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            try:
                probe.connect((peer, given.port))
            except OSError as error:
                node.warn('route', f'no route to {peer}: {error.strerror}')
            address = probe.getsockname()[0]
    return resolve(address), given.data_port
