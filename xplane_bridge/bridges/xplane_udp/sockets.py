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

"""The sockets between this computer and one X-Plane that speaks its own UDP."""

from __future__ import annotations

from collections.abc import Callable
import socket
from typing import NamedTuple

from xplane_bridge.bridges.links.peer import ANY_PORT, FixedPort, LearntPort, SenderPort
from xplane_bridge.bridges.links.udp import LinkError, resolve, UdpSocket
from xplane_bridge.bridges.xplane_udp import protocol as xplane_udp
from xplane_bridge.bridges.xplane_udp.session import (
    BEACON_CHANNEL,
    DATA_CHANNEL,
    XplaneUdpSession,
)

# Values of Places.peer_port.
_LEARNT, _ALL_PORTS = 0, -1


class Places(NamedTuple):
    """
    Where this computer listens, and the port that X-Plane sends from: 0 learns it, -1 is any.

    An empty ``bind_address`` lets the routing decide.
    """

    bind_address: str
    data_port: int
    peer_port: int = _LEARNT


class Sockets:
    """
    Open the sockets of a session, each accepting what X-Plane may send there.

    ``peer_port`` learns which port X-Plane sends from. ``on_deaf`` is told why no beacon can be
    heard, where that is no error.
    """

    def __init__(
        self, session: XplaneUdpSession, places: Places, *, needs_rows: bool,
        on_deaf: Callable[[LinkError], None],
    ) -> None:
        self.peer_port = LearntPort(session)
        self._session = session
        self._places = places
        self._needs_rows = needs_rows
        self._on_deaf = on_deaf

    def open_all(self) -> dict[str, UdpSocket]:
        """Open the sockets needed from the start; raise LinkError if that fails."""
        # A bad bind address or a port in use should fail now, not with the first datagram.
        UdpSocket((self._places.bind_address, 0)).close()
        host = None if self._session.peer is None else self._session.peer[0]
        channels: dict[str, UdpSocket] = {}
        if self._needs_rows:
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
            (self._places.bind_address, 0), peer=(host, port), sender=host,
            sender_port=self._sends_from(self.peer_port))

    def _open_data(self, host: str | None) -> UdpSocket:
        try:
            return UdpSocket(
                (self._places.bind_address, self._places.data_port), peer=self._session.peer,
                sender=host, sender_port=self._sends_from(self.peer_port.unasked))
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
            self._on_deaf(error)
            return None

    def _sends_from(self, learnt: SenderPort) -> SenderPort:
        """Return which ports of X-Plane's computer are X-Plane's."""
        given = self._places.peer_port
        if given == _LEARNT:
            return learnt
        return FixedPort(ANY_PORT if given == _ALL_PORTS else given)


def data_target(
    peer: str, port: int, places: Places, on_no_route: Callable[[str], None]
) -> tuple[str, int]:
    """Return where X-Plane at ``peer`` reaches us: our address on the route to it."""
    address = places.bind_address
    if not address:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            try:
                probe.connect((peer, port))
            except OSError as error:
                on_no_route(f'no route to {peer}: {error.strerror}')
            address = probe.getsockname()[0]
    return resolve(address), places.data_port
