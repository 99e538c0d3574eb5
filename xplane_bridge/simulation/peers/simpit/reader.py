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
How real plugins split their input into packets, bugs included.

See docs/wire/simpit.md, sections 2.1 and 4.
"""

from __future__ import annotations

from collections.abc import Callable

from xplane_bridge.bridges.simpit.protocol import CobsDecoder, Framing, Packet

_BUFFER = 255
_DEADLY_CHANNEL = 255


class PluginReader:
    """
    Splits bytes into packets as the reader thread of a plugin does.

    What a device must never send has its measured effect: ``dead`` says what ended the thread,
    and nothing is read after that. Channel number 255 does this; in aa50 framing a payload size
    of 0, which makes it swallow 255 bytes and end at the next; in cobs a frame of more than 255.
    """

    def __init__(self, framing: Framing) -> None:
        self.dead = ''
        self._framing = framing
        self._decoder = CobsDecoder(250)
        self._frame = bytearray()
        self._step: Callable[[int], Packet | None] = self._first_header_byte
        self._size = self._channel = 0

    def feed(self, data: bytes) -> list[Packet]:
        """Return the packets in these bytes, up to the one that ends the thread."""
        packets: list[Packet] = []
        for byte in data:
            packet = self._take_cobs(byte) if self._framing == 'cobs' else self._step(byte)
            if packet is not None:
                if packet.channel == _DEADLY_CHANNEL:
                    self.dead = f'a packet on channel {_DEADLY_CHANNEL}'
                else:
                    packets.append(packet)
            if self.dead:
                break
        return packets

    def _take_cobs(self, byte: int) -> Packet | None:
        if len(self._frame) == _BUFFER:
            self.dead = f'a frame of more than {_BUFFER} bytes'
            return None
        self._frame.append(byte)
        if byte:
            return None
        frame = bytes(self._frame)
        self._frame.clear()
        return next(iter(self._decoder.feed(frame)), None)

    # The five states of the older parser. None reads a byte twice: AA AA 50 loses the frame.

    def _first_header_byte(self, byte: int) -> None:
        if byte == 0xaa:
            self._step = self._second_header_byte

    def _second_header_byte(self, byte: int) -> None:
        self._step = self._size_byte if byte == 0x50 else self._first_header_byte

    def _size_byte(self, byte: int) -> None:
        self._size = byte
        self._step = self._channel_byte

    def _channel_byte(self, byte: int) -> None:
        self._channel = byte
        self._frame.clear()
        self._step = self._payload_byte
        if not self._size:
            self.dead = 'a payload size of 0'

    def _payload_byte(self, byte: int) -> Packet | None:
        self._frame.append(byte)
        if len(self._frame) != self._size:
            return None
        self._step = self._first_header_byte
        return Packet(self._channel, bytes(self._frame))
