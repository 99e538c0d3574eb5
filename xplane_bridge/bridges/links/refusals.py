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

"""What the kernel of this machine refuses, because nothing listens where it was sent."""

from __future__ import annotations

import errno
import socket
import struct

# Linux: what comes back by ICMP is kept for the socket, with the address it was sent to (ip(7)).
# Python has no name for it. A sock_extended_err begins with the error and who reports it.
_IP_RECVERR = 11
_ERROR = struct.Struct('=IB')
_BY_ICMP = 2
_SPACE = socket.CMSG_SPACE(64)


class Refusals:
    """The refusals of what ``socket`` sends to ``peer``, a port of this machine."""

    def __init__(self, own: socket.socket, peer: tuple[str, int]) -> None:
        self._socket = own
        self._peer = peer
        own.setsockopt(socket.IPPROTO_IP, _IP_RECVERR, 1)

    def take(self) -> int:
        """Return how many there are since the last call; with none taken, epoll never sleeps."""
        count = 0
        while True:
            try:
                _, ancillary, _, sent_to = self._socket.recvmsg(
                    0, _SPACE, socket.MSG_ERRQUEUE)
            except OSError:
                return count
            count += sent_to == self._peer and any(
                level == socket.IPPROTO_IP and kind == _IP_RECVERR
                and _ERROR.unpack_from(value) == (errno.ECONNREFUSED, _BY_ICMP)
                for level, kind, value in ancillary)

    def close(self) -> None:
        """Keep none any more."""
        self._socket.setsockopt(socket.IPPROTO_IP, _IP_RECVERR, 0)
