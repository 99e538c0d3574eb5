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
Another program on the same computer that forges what a simulator would send.

The datagrams are valid and packed by hand; they put the aircraft at 66.6 degrees north.
"""

import socket
import struct

LATITUDE = 66.6

_XPC = (
    # GETP is answered by POSI: gear, position in doubles, then pitch, roll, heading, gear.
    b'POSI\0' + struct.pack('<B3d4f', 0, LATITUDE, 8.0, 5000.0, 1.0, 2.0, 3.0, 1.0),
    # GETD is answered by RESP: here with 30 datarefs, each the latitude.
    b'RESP\0' + bytes((30,)) + 30 * struct.pack('<Bf', 1, LATITUDE),
    b'RESP\0' + bytes((1,)) + struct.pack('<Bf', 1, LATITUDE),
)
_XPLANE_UDP = (
    b'RPOS4' + struct.pack('<3d10f', 8.0, LATITUDE, 5000.0, *(10 * (1.0,))),
    b'RREF,' + b''.join(struct.pack('<if', index, LATITUDE) for index in range(40)),
    b'RREF,' + b''.join(struct.pack('<if', index, LATITUDE) for index in range(500, 520)),
)
_FDMDATA = tuple(
    struct.pack(f'>BB{count}f', 0, command, *(count * (LATITUDE,)))
    for command, count in enumerate((5, 3, 3, 3, 1, 1, 1, 7)))


def _rows(version):
    """Return DATA with the position rows: row 18 in version 6, row 20 in later ones."""
    segments = b''.join(
        struct.pack('<i8f', row, LATITUDE, 8.0, 5000.0, 10.0, 0.0, 5000.0, 66.0, 8.0)
        for row in range(32))
    if version == 6:
        return (b'DATA\0' + b'0' + segments + b'0',)
    if version == 7:
        return (b'DATA\0' + segments + b'\0',)
    return (b'DATA@' + segments,)


def forged(protocol, version=None):
    """Return the datagrams that a forger of this protocol sends."""
    if protocol == 'xplane_udp':
        return _rows(version) if version < 10 else _XPLANE_UDP + _rows(version)
    return {'xpc': _XPC, 'fdmdata': _FDMDATA}[protocol]


class Forger:
    """
    Send forged datagrams to all sockets of a node's link, ``times`` each per shoot().

    They come from ``port`` of loopback, 0 for an ephemeral one.
    """

    def __init__(self, datagrams, port=0, times=1):
        self.datagrams = datagrams
        self.times = times
        self.sent = 0
        self.node = None
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.bind(('127.0.0.1', port))
        self.address = self._socket.getsockname()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.node = None
        self._socket.close()

    def shoot(self, *_):
        """Send to all sockets of ``node``, if there is one, except the beacon's."""
        # The test may remove the node while the simulator's thread is in here.
        node = self.node
        if node is None:
            return
        with node.link.lock:
            ports = [link.local[1] for name, link in node.link._links.items()
                     if name != 'beacon']
        for port in ports:
            for datagram in self.datagrams * self.times:
                self._socket.sendto(datagram, ('127.0.0.1', port))
                self.sent += 1
