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

"""A packet filter in the kernel: rejected datagrams cost this process nothing."""

from __future__ import annotations

import contextlib
import ctypes
import socket
import struct

# Linux; Python has no names for these. A filter is a program for the classic Berkeley Packet
# Filter (Documentation/networking/filter.rst in the kernel's sources).
_SO_ATTACH_FILTER = 26
_SO_DETACH_FILTER = 27
_SO_MEMINFO = 55
_MEMINFO = struct.Struct('@9I')
_PROGRAM = struct.Struct('@HL')
_INSTRUCTION = struct.Struct('@HBBI')
_LOAD_WORD, _LOAD_HALF, _JUMP_IF_EQUAL, _RETURN = 0x20, 0x28, 0x15, 0x06
# For a UDP socket, a datagram starts with the UDP header, whose first field is the source port.
# The IP header, with the source address at 12, is found at this offset.
_SOURCE_PORT = 0
_SOURCE_ADDRESS = (-0x100000 + 12) % 2**32
_ALL, _NOTHING = 2**32 - 1, 0


class SocketFilter:
    """
    The filter of one socket: initially open, or shut for all but one sender.

    If the kernel does not support filters it stays open.
    """

    def __init__(self, link: socket.socket) -> None:
        self._socket = link
        # The accepted sender; None while it is open.
        self.lets_in: tuple[str, int] | None = None

    def shut(self, address: str, port: int) -> None:
        """Reject datagrams not from this address ('' for any) and this port (0 for any)."""
        tests = []
        if address:
            word, = struct.unpack('!I', socket.inet_aton(address))
            tests.append((_LOAD_WORD, _SOURCE_ADDRESS, word))
        if port:
            tests.append((_LOAD_HALF, _SOURCE_PORT, port))
        program = b''
        for place, (load, offset, value) in enumerate(tests):
            # Jump past the remaining tests, and past the return that accepts.
            away = 2 * (len(tests) - place - 1) + 1
            program += _INSTRUCTION.pack(load, 0, 0, offset)
            program += _INSTRUCTION.pack(_JUMP_IF_EQUAL, 0, away, value)
        program += _INSTRUCTION.pack(_RETURN, 0, 0, _ALL)
        program += _INSTRUCTION.pack(_RETURN, 0, 0, _NOTHING)
        text = ctypes.create_string_buffer(program)
        with contextlib.suppress(OSError):
            self._socket.setsockopt(socket.SOL_SOCKET, _SO_ATTACH_FILTER, _PROGRAM.pack(
                len(program) // _INSTRUCTION.size, ctypes.addressof(text)))
            self.lets_in = address, port

    def open(self) -> None:
        """Accept all senders again."""
        self.lets_in = None
        with contextlib.suppress(OSError):
            self._socket.setsockopt(socket.SOL_SOCKET, _SO_DETACH_FILTER, 0)

    def drops(self) -> int | None:
        """
        Return how many datagrams the kernel has dropped, modulo 2^32; None if unknown.

        Includes rejected ones and those that did not fit into the buffer.
        """
        with contextlib.suppress(OSError, struct.error):
            return int(_MEMINFO.unpack(
                self._socket.getsockopt(socket.SOL_SOCKET, _SO_MEMINFO, _MEMINFO.size))[-1])
        return None
