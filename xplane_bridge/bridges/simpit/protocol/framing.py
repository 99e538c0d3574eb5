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
Two ways of framing KerbalSimpit packets in a serial stream.

``aa50`` is the framing of every plugin before 2.2 (protocol document, "Header")::

    AA 50 | payload size 1..32 | channel | payload

It has no checksum, footer or escaping, so a truncated frame takes its missing bytes from whatever
follows, and only silence on the line reveals it. ``cobs`` is the framing from 2.2 on
(docs/wire/simpit.md, section 4)::

    COBS( channel | payload | XOR of channel and payload ) 00
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import reduce
from operator import xor
import re
from typing import ClassVar, Literal

from xplane_bridge.bridges.protocols.base import Message
from xplane_bridge.common.text import counted

Framing = Literal['aa50', 'cobs']

MAX_PAYLOAD = 32
FRAME_OVERHEAD = 4
"""Bytes of a packet on the wire besides its payload, in either framing."""
MAX_CHANNEL = 254
"""Channel 255 kills every plugin's reader thread: docs/wire/simpit.md, sections 2.1 and 4."""

_HEADER = b'\xaa\x50'
_OTHER_VERSION = re.compile(rb'\xaa[\x51-\x5f]')


@dataclass(frozen=True, slots=True)
class Packet(Message):
    """
    One packet of either framing, its payload not yet interpreted.

    channel is 0..255 when received, 0..254 when sent; payload has 1..32 bytes.
    """

    tag: ClassVar[str] = 'packet'

    channel: int
    payload: bytes


@dataclass(slots=True)
class FramingCounters:
    """
    What a decoder has counted since its creation.

    packets: packets delivered. noise_bytes: bytes that became part of no packet, for whatever
    reason, including the zero bytes after a packet of plugins 1.2.1 to 1.4. bad_version: an AA
    followed by 51..5F. bad_size: no payload. oversize: a payload above the limit, or more bytes
    without a COBS delimiter than a frame can have. bad_cobs: code bytes that do not end with the
    frame. bad_checksum: the XOR does not match. stalled: frames given up by expire().
    """

    packets: int = 0
    noise_bytes: int = 0
    bad_version: int = 0
    bad_size: int = 0
    oversize: int = 0
    bad_cobs: int = 0
    bad_checksum: int = 0
    stalled: int = 0


class Decoder(ABC):
    """
    Turns received bytes, in whatever pieces they arrive, into packets.

    The decoder has no clock. Its owner records when bytes last arrived, and calls expire() if it
    is ``waiting`` and the line has been silent for the stall time (plugins send every 80 to 125 ms
    and write a packet in one go, so 20 to 50 ms are safe; docs/wire/simpit.md, section 6).
    """

    def __init__(self, max_payload: int = MAX_PAYLOAD) -> None:
        """Accept payloads of 1..max_payload bytes (a real plugin takes 255, over COBS 250)."""
        self.counters = FramingCounters()
        self._max_payload = max_payload
        self._pending = b''

    @property
    def waiting(self) -> bool:
        """Return whether a frame has begun but not ended."""
        return bool(self._pending)

    @abstractmethod
    def feed(self, data: bytes | bytearray | memoryview) -> list[Packet]:
        """Return the packets that these bytes complete, in order; never raise for any bytes."""

    @abstractmethod
    def expire(self) -> list[Packet]:
        """Give up the pending frame, and return the packets found behind its start."""


class Aa50Decoder(Decoder):
    """
    Decoder of AA 50 frames.

    Better than the measured parsers in three ways: an AA in place of the second header byte is
    tested as a first byte (so ``AA AA 50`` loses nothing); so is the byte in place of an
    impossible size (so ``AA 50`` before a whole frame loses nothing); and an impossible size,
    including 0, is noise after which parsing resumes at the very next byte.
    """

    def __init__(self, max_payload: int = MAX_PAYLOAD) -> None:
        """Accept payloads of 1..max_payload bytes, max_payload in 1..255."""
        if not 1 <= max_payload <= 255:
            raise ValueError(f'max_payload is {max_payload}, must be 1..255')
        Decoder.__init__(self, max_payload)

    def feed(self, data: bytes | bytearray | memoryview) -> list[Packet]:
        """Return the packets that these bytes complete, in order; never raise for any bytes."""
        stream = self._pending + data
        find = stream.find
        max_payload = self._max_payload
        length = len(stream)
        packets: list[Packet] = []
        position = 0
        while True:
            start = find(_HEADER, position)
            if start < 0:
                # A trailing AA may be the first half of a header.
                start = length - stream.endswith(b'\xaa', position)
            if start > position:
                self.counters.noise_bytes += start - position
                self.counters.bad_version += len(_OTHER_VERSION.findall(stream, position, start))
            if start + 2 >= length:
                break
            size = stream[start + 2]
            if not 0 < size <= max_payload:
                if size:
                    self.counters.oversize += 1
                else:
                    self.counters.bad_size += 1
                self.counters.noise_bytes += 2
                position = start + 2
                continue
            position = start + 4 + size
            if position > length:
                break
            packets.append(Packet(stream[start + 3], stream[start + 4:position]))
        self._pending = stream[start:]
        self.counters.packets += len(packets)
        return packets

    def expire(self) -> list[Packet]:
        """
        Give up the pending frame, and return the packets found behind its start.

        What follows the abandoned header is searched again: a truncated frame may have swallowed
        whole ones, and they are all there now that the line is silent.
        """
        packets: list[Packet] = []
        if self._pending:
            self.counters.stalled += 1
        while self._pending:
            behind = self._pending[1:]
            self._pending = b''
            self.counters.noise_bytes += 1
            packets += self.feed(behind)
        return packets


class CobsDecoder(Decoder):
    """
    Decoder of COBS frames with an XOR checksum.

    Bytes between two delimiters that do not form a frame are dropped with the delimiter behind
    them. A lone delimiter is noise (the device library takes it for 253 stale bytes).
    """

    def __init__(self, max_payload: int = MAX_PAYLOAD) -> None:
        """Accept payloads of 1..max_payload bytes, max_payload in 1..250."""
        # Up to 250 the code byte FF (254 bytes and no zero) cannot occur in a good frame.
        if not 1 <= max_payload <= 250:
            raise ValueError(f'max_payload is {max_payload}, must be 1..250')
        Decoder.__init__(self, max_payload)
        self._max_frame = max_payload + 3
        self._skipping = False

    def feed(self, data: bytes | bytearray | memoryview) -> list[Packet]:
        """Return the packets that these bytes complete, in order; never raise for any bytes."""
        *frames, rest = (self._pending + data).split(b'\0')
        packets: list[Packet] = []
        if self._skipping and frames:
            self.counters.noise_bytes += len(frames[0]) + 1
            self._skipping = False
            del frames[0]
        for frame in frames:
            packet = self._decode(frame)
            if packet is None:
                self.counters.noise_bytes += len(frame) + 1
            else:
                packets.append(packet)
        if len(rest) > self._max_frame and not self._skipping:
            self.counters.oversize += 1
            self._skipping = True
        if self._skipping:
            self.counters.noise_bytes += len(rest)
            rest = b''
        self._pending = rest
        self.counters.packets += len(packets)
        return packets

    @property
    def waiting(self) -> bool:
        """Return whether a frame has begun, or an oversize one is being dropped."""
        return bool(self._pending) or self._skipping

    def expire(self) -> list[Packet]:
        """Give up the pending frame; no packet can be behind its start."""
        if self._pending:
            self.counters.stalled += 1
            self.counters.noise_bytes += len(self._pending)
            self._pending = b''
        self._skipping = False
        return []

    def _decode(self, frame: bytes) -> Packet | None:
        """Return the packet in a frame without its delimiter; if none, count the reason."""
        length = len(frame)
        if not length:
            return None
        if length > self._max_frame:
            self.counters.oversize += 1
            return None
        # Each code byte is the distance to the next one and stands for a zero, except the first:
        # restore the zeros and drop the first.
        body = bytearray(frame)
        position = 0
        while position < length:
            step = body[position]
            body[position] = 0
            position += step
        if position != length:
            self.counters.bad_cobs += 1
            return None
        if length < 4:
            self.counters.bad_size += 1
            return None
        if reduce(xor, body):
            self.counters.bad_checksum += 1
            return None
        return Packet(body[1], bytes(body[2:-1]))


def make_decoder(framing: Framing, max_payload: int = MAX_PAYLOAD) -> Decoder:
    """Return a new decoder of this framing that accepts payloads of 1..max_payload bytes."""
    return (Aa50Decoder if framing == 'aa50' else CobsDecoder)(max_payload)


def encode_frame(framing: Framing, packet: Packet) -> bytes:
    """
    Return the bytes of one packet on the wire.

    Raises ValueError for what blocks or kills the reader of a real peer: an empty payload, one
    above 32 bytes, a channel outside 0..254 (docs/wire/simpit.md, sections 2.1, 2.1b and 4).
    """
    channel, payload = packet.channel, packet.payload
    if not 0 <= channel <= MAX_CHANNEL:
        raise ValueError(f'channel {channel}: must be 0..{MAX_CHANNEL}')
    if not 1 <= len(payload) <= MAX_PAYLOAD:
        raise ValueError(
            f'channel {channel}: '
            f'{counted(len(payload), "payload byte")}, must be 1..{MAX_PAYLOAD}')
    if framing == 'aa50':
        return bytes((0xaa, 0x50, len(payload), channel)) + payload
    body = bytes((channel,)) + payload
    body += bytes((reduce(xor, body),))
    # Each run of 0 to 33 bytes between zeros is sent after its length plus one.
    return b''.join(bytes((len(run) + 1,)) + run for run in body.split(b'\0')) + b'\0'
