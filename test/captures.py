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

"""Capture files for tests, written with struct alone."""

import socket
import struct


def pcap(*datagrams):
    """Return a pcap file of (seconds since 1970, source, destination, data), as raw IP."""
    parts = [struct.pack('<IHHiIII', 0xa1b23c4d, 2, 4, 0, 0, 262144, 101)]
    for seconds, source, destination, data in datagrams:
        udp = struct.pack('>HHHH', source[1], destination[1], 8 + len(data), 0) + data
        ip = struct.pack(
            '>BBHHHBBH4s4s', 0x45, 0, 20 + len(udp), 0, 0, 64, 17, 0,
            socket.inet_aton(source[0]), socket.inet_aton(destination[0])) + udp
        nanoseconds = round(seconds * 1e6) * 1000
        parts.append(struct.pack(
            '<IIII', *divmod(nanoseconds, 10**9), len(ip), len(ip)) + ip)
    return b''.join(parts)
