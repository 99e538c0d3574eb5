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

"""Write received UDP datagrams to a capture file, as tcpdump would."""

from __future__ import annotations

import os
from pathlib import Path
import socket
import struct

from xplane_bridge.bridges.links.captures.capture import Address
from xplane_bridge.common import plain_files
from xplane_bridge.common.timing import SECOND_NS

# pcap with time stamps in nanoseconds, of raw IP packets.
_FILE_HEADER = struct.pack('<IHHiIII', 0xa1b23c4d, 2, 4, 0, 0, 262144, 101)
_RECORD = struct.Struct('<IIII')
_IPV4 = struct.Struct('>BBHHHBBH4s4s')
_UDP = struct.Struct('>HHHH')
_LIVES = 64
_UDP_NUMBER = 17
_LARGEST = 65535


class CaptureFile:
    """
    A capture that is written as datagrams arrive, in packets of raw IP without checksums.

    What is not flushed is lost if the process is killed. Raises OSError, FileExistsError if there
    is such a file that it does not replace.
    """

    def __init__(self, path: Path, destination: Address, *, replaces: bool = False) -> None:
        self.path = path
        self.size = len(_FILE_HEADER)
        self._to = socket.inet_aton(destination[0]), destination[1]
        self._stream = plain_files.growing(path, replaces)
        self._stream.write(_FILE_HEADER)
        self._stream.flush()

    def write(self, data: bytes, stamp_ns: int, source: Address,
              destination: Address | None = None) -> None:
        """Append a datagram, to the file's destination unless another is given."""
        to = self._to if destination is None else (
            socket.inet_aton(destination[0]), destination[1])
        size = _IPV4.size + _UDP.size + len(data)
        self._stream.write(b''.join((
            _RECORD.pack(*divmod(stamp_ns, SECOND_NS), size, size),
            _IPV4.pack(0x45, 0, min(size, _LARGEST), 0, 0, _LIVES, _UDP_NUMBER, 0,
                       socket.inet_aton(source[0]), to[0]),
            _UDP.pack(source[1], to[1], _UDP.size + len(data), 0), data)))
        self.size += _RECORD.size + size

    def flush(self) -> None:
        """Give what is written to the system."""
        self._stream.flush()

    def close(self) -> None:
        """Close the file."""
        self._stream.close()

    def remove(self) -> None:
        """Close and delete the file."""
        try:
            self._stream.close()
        finally:
            os.unlink(self.path)
