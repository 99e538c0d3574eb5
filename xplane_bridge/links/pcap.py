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

"""Read the UDP datagrams out of a capture file, as tcpdump and Wireshark write them."""

from collections.abc import Iterator
from dataclasses import dataclass, field
import socket
import struct
from typing import BinaryIO, TypeAlias

Address: TypeAlias = tuple[str, int]

# The first four bytes tell the byte order and how many nanoseconds a fraction counts
# (draft-ietf-opsawg-pcap, section 4).
_FORMATS = {
    b'\xd4\xc3\xb2\xa1': ('<', 1000),
    b'\xa1\xb2\xc3\xd4': ('>', 1000),
    b'\x4d\x3c\xb2\xa1': ('<', 1),
    b'\xa1\xb2\x3c\x4d': ('>', 1),
}
MAGICS = frozenset(_FORMATS)
PCAPNG_MAGIC = b'\x0a\x0d\x0d\x0a'
# No tool captures more of one packet than this (libpcap, MAXIMUM_SNAPLEN).
_MAX_PACKET = 262144

# https://www.tcpdump.org/linktypes.html
_NULL = 0
_ETHERNET = 1
_RAW = 101
_LOOP = 108
_LINUX_SLL = 113
_LINUX_SLL2 = 276
_LINK_TYPES = (_NULL, _ETHERNET, _RAW, _LOOP, _LINUX_SLL, _LINUX_SLL2)

_IPV4 = b'\x08\x00'
_VLANS = (b'\x81\x00', b'\x88\xa8')
_UDP = 17
# How long Linux waits for the rest of a datagram (net.ipv4.ipfrag_time).
_FRAGMENT_SECONDS = 30


class CaptureError(ValueError):
    """A file is not a capture that can be read; the text says why."""


@dataclass(frozen=True, slots=True)
class Datagram:
    """The data of one UDP datagram; stamp_ns is nanoseconds since 1970-01-01 UTC."""

    stamp_ns: int
    source: Address
    destination: Address
    data: bytes


def read_pcap(stream: BinaryIO) -> Iterator[Datagram]:
    """
    Yield the UDP datagrams over IPv4 in a classic pcap file, in order, as they are read.

    Both byte orders, micro- and nanoseconds, link types Ethernet (VLAN tags too), raw IP, Linux
    SLL and SLL2, and BSD loopback. A fragmented datagram is put together and stamped when its
    last missing fragment came; other packets are passed over. Raises CaptureError for anything
    else, pcapng included, for a file that ends inside a packet, and for a datagram of which
    only the beginning was captured.
    """
    header = stream.read(24)
    magic = header[:4]
    if magic == PCAPNG_MAGIC:
        raise CaptureError(
            'this is a pcapng file; convert it to pcap: editcap -F pcap in.pcapng out.pcap')
    if magic not in _FORMATS:
        raise CaptureError(f'not a pcap file: it begins with {magic.hex(" ") or "nothing"}')
    if len(header) < 24:
        raise CaptureError(f'file header: {len(header)} bytes, need 24')
    order, fraction_ns = _FORMATS[magic]
    # The upper bits of the link type tell of a frame check sequence.
    link_type = struct.unpack_from(f'{order}I', header, 20)[0] & 0xffff
    if link_type not in _LINK_TYPES:
        raise CaptureError(
            f'link type {link_type}, expected one of {", ".join(map(str, _LINK_TYPES))}')
    record = struct.Struct(f'{order}IIII')
    fragments = _Fragments()
    number = 0
    while head := stream.read(record.size):
        number += 1
        if len(head) < record.size:
            raise CaptureError(f'packet {number}: the file ends inside its header')
        seconds, fraction, size, whole_size = record.unpack(head)
        if size > _MAX_PACKET:
            raise CaptureError(
                f'packet {number}: says {size} bytes, expected at most {_MAX_PACKET}')
        frame = stream.read(size)
        if len(frame) < size:
            raise CaptureError(
                f'packet {number}: the file ends after {len(frame)} of {size} bytes')
        packet = _ip_packet(link_type, frame)
        if not _is_udp(packet):
            continue
        if size < whole_size:
            raise CaptureError(
                f'packet {number}: {size} of {whole_size} bytes captured; '
                'capture whole packets (tcpdump -s 0)')
        segment = fragments.add(packet, seconds)
        if len(segment) < 8:
            continue
        source_port, destination_port, length = struct.unpack_from('>HHH', segment)
        yield Datagram(
            seconds * 1_000_000_000 + fraction * fraction_ns,
            (socket.inet_ntoa(packet[12:16]), source_port),
            (socket.inet_ntoa(packet[16:20]), destination_port),
            segment[8:length])


def _ip_packet(link_type: int, frame: bytes) -> bytes:
    """Return the IPv4 packet in a frame, empty if there is none."""
    if link_type == _RAW:
        return frame
    if link_type in (_NULL, _LOOP):
        # The address family, AF_INET = 2, in the capturing machine's or in network byte order.
        return frame[4:] if frame[:4] in (b'\2\0\0\0', b'\0\0\0\2') else b''
    if link_type == _LINUX_SLL:
        return frame[16:] if frame[14:16] == _IPV4 else b''
    if link_type == _LINUX_SLL2:
        return frame[20:] if frame[:2] == _IPV4 else b''
    start = 12
    while frame[start:start + 2] in _VLANS:
        start += 4
    return frame[start + 2:] if frame[start:start + 2] == _IPV4 else b''


def _is_udp(packet: bytes) -> bool:
    return len(packet) >= 20 and packet[0] >> 4 == 4 and packet[9] == _UDP


class _Fragments:
    """Puts fragmented IPv4 packets together (RFC 791, section 3.2)."""

    def __init__(self) -> None:
        self._incomplete: dict[bytes, _Incomplete] = {}

    def add(self, packet: bytes, seconds: int) -> bytes:
        """Return the payload that this packet is or completes, empty if it does neither."""
        header_size = 4 * (packet[0] & 0x0f)
        total, identification, flags_offset = struct.unpack_from('>H2sH', packet, 2)
        payload = packet[header_size:total]
        more = flags_offset & 0x2000
        offset = 8 * (flags_offset & 0x1fff)
        if not more and not offset:
            return payload
        key = packet[12:20] + identification
        # What is old was never whole, and its identification, of 16 bits, comes again.
        while self._incomplete:
            oldest, incomplete = next(iter(self._incomplete.items()))
            if seconds - incomplete.begun <= _FRAGMENT_SECONDS:
                break
            del self._incomplete[oldest]
        incomplete = self._incomplete.setdefault(key, _Incomplete(seconds))
        incomplete.parts[offset] = payload
        if not more:
            incomplete.size = offset + len(payload)
        if sum(map(len, incomplete.parts.values())) != incomplete.size:
            return b''
        del self._incomplete[key]
        return b''.join(part for _, part in sorted(incomplete.parts.items()))


@dataclass(slots=True)
class _Incomplete:
    begun: int
    size: int = -1
    parts: dict[int, bytes] = field(default_factory=dict)
