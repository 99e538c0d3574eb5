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

"""The plugin's receive buffer."""

from struct import Struct
from typing import Any

from xplane_bridge.bridges.xpc.protocol import REQUEST_LIMIT

# Counts and lengths on the wire are single bytes: the furthest that one can reach is GETD's 255
# names of 255 bytes.
_FURTHEST = REQUEST_LIMIT + 256 * 256


class ReceiveBuffer:
    """
    The bytes of a datagram and, past its end, what earlier ones have left there.

    The plugin trusts counts and offsets rather than the datagram's size, and so reads past its
    end into stale memory (docs/wire/xpc.md, section 2).
    """

    def __init__(self) -> None:
        self._bytes = bytearray(_FURTHEST)
        self.size = 0

    def fill(self, data: bytes) -> None:
        """Take a datagram; more than 4096 bytes are truncated, as by the operating system."""
        self.size = min(len(data), REQUEST_LIMIT)
        self._bytes[:self.size] = data[:self.size]

    @property
    def tag(self) -> bytes:
        """Return the first four bytes."""
        return bytes(self._bytes[:4])

    @property
    def datagram(self) -> bytes:
        """Return the newest datagram."""
        return bytes(self._bytes[:self.size])

    def __getitem__(self, offset: int) -> int:
        return self._bytes[offset]

    def unpack(self, form: Struct, offset: int) -> tuple[Any, ...]:
        """Return the values at an offset."""
        return form.unpack_from(self._bytes, offset)

    def string(self, offset: int, length: int) -> str:
        """Return the text at an offset, ended by a NUL as in C."""
        text = bytes(self._bytes[offset:offset + length]).partition(b'\0')[0]
        # The protocol defines no character set; Latin-1 maps each byte to one character.
        return text.decode('latin-1')
