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

"""Read UDP datagrams from a capture file written by tcpdump or Wireshark."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import islice
import socket
import struct
from typing import BinaryIO, TypeAlias

from xplane_bridge.bridges.links.captures.ipv4 import (
    behind_ipv6,
    describe_payload,
    Fragments,
    GRE,
    ip_offset,
    is_fragment,
    LINK_TYPES,
    offset_in_gre,
    protocol_name,
    UDP,
)
from xplane_bridge.bridges.links.captures.pcap import (
    CapturedPacket,
    CaptureError,
    is_capture,
    read_packets,
)
from xplane_bridge.common.timing import SECOND_NS

__all__ = [
    'Address', 'CaptureError', 'check_capture', 'Datagram', 'is_capture', 'read_datagrams',
    'Tally']

Address: TypeAlias = tuple[str, int]

# A capture of several networks may begin with packets of an unsupported one.
_LOOKED_AT = 100
_UDP_HEADER = struct.Struct('>HHHH')
# Tunnels within tunnels.
_MOST_TUNNELS = 4
# Kinds of packets that are counted by name.
_MOST_KINDS = 16


@dataclass(frozen=True, slots=True)
class Datagram:
    """
    The data of one UDP datagram; stamp_ns is nanoseconds since 1970-01-01 UTC.

    ``missing`` bytes of its data were not captured. ``packet`` and ``offset`` locate it, or its
    last fragment, in the file.
    """

    stamp_ns: int
    source: Address
    destination: Address
    data: bytes
    missing: int = 0
    packet: int = field(default=0, compare=False)
    offset: int = field(default=0, compare=False)

    @property
    def where(self) -> str:
        """Return its location in the file, for messages."""
        return f'packet {self.packet} at offset {self.offset}'

    @property
    def incomplete(self) -> str:
        """Return a sentence about what was not captured, empty if everything was."""
        return '' if not self.missing else (
            f'{self.where}: {len(self.data)} of {len(self.data) + self.missing} bytes captured; '
            'capture whole packets (tcpdump -s 0)')


@dataclass(slots=True)
class Tally:
    """Counts of the packets of a capture, by outcome."""

    packets: int = 0
    datagrams: int = 0
    """UDP datagrams."""
    others: int = 0
    """Other protocols; ``kinds`` has them by name."""
    kinds: dict[str, int] = field(default_factory=dict)
    unknown_links: int = 0
    """With unsupported link types."""
    malformed: int = 0
    """IPv4 or UDP with impossible sizes."""
    cut: int = 0
    """Truncated by the capture, from any program."""
    fragments: int = 0
    abandoned: int = 0
    """Datagrams that were never completed."""

    def skip(self, kind: str) -> None:
        """Count a packet of another protocol."""
        self.others += 1
        if kind not in self.kinds and len(self.kinds) >= _MOST_KINDS:
            kind = 'other'
        self.kinds[kind] = self.kinds.get(kind, 0) + 1

    @property
    def skipped(self) -> str:
        """Return which packets held no datagram that could be read; empty if none."""
        found = {
            **dict(sorted(self.kinds.items(), key=lambda item: -item[1])),
            'of unsupported link types': self.unknown_links, 'malformed': self.malformed,
            'fragments of datagrams that are not complete': self.abandoned}
        return ', '.join(f'{count} {kind}' for kind, count in found.items() if count)


def check_capture(stream: BinaryIO) -> None:
    """Raise CaptureError unless a file starts as a capture whose packets can be read."""
    packet = None
    for packet in islice(read_packets(stream), _LOOKED_AT):
        if packet.link_type in LINK_TYPES:
            return
    if packet is not None:
        raise _unknown_link(packet.link_type)


def read_datagrams(
    stream: BinaryIO, tally: Tally | None = None, stopped: Callable[[], bool] = lambda: False
) -> Iterator[Datagram]:
    """
    Yield the UDP datagrams in a capture file, in order, as they are read.

    The files are those of ``read_packets``; the link types Ethernet (VLAN tags and PPPoE too), raw
    IP, Linux SLL and SLL2, and BSD loopback. Tunnels of GRE are looked into. A datagram fragmented
    by IPv4 is reassembled and stamped when its last
    missing fragment arrived; other packets are skipped and counted in ``tally``. It ends when
    ``stopped()``, which is checked before each packet. Raises CaptureError for a file that is not
    a capture, damaged, or truncated, and at the end if all packets have other link types.
    """
    tally = Tally() if tally is None else tally
    fragments = Fragments()
    packet = None
    for packet in read_packets(stream):
        if stopped():
            return
        tally.packets += 1
        if len(packet.data) < packet.size:
            tally.cut += 1
        datagram = _datagram(packet, fragments, tally)
        if datagram is not None:
            tally.datagrams += 1
            yield datagram
    tally.abandoned += fragments.incomplete
    if packet is not None and tally.unknown_links == tally.packets:
        raise _unknown_link(packet.link_type)


def _unknown_link(link_type: int) -> CaptureError:
    expected = ', '.join(map(str, sorted(LINK_TYPES)))
    return CaptureError(f'link type {link_type}, expected one of {expected}')


def _datagram(packet: CapturedPacket, fragments: Fragments, tally: Tally) -> Datagram | None:
    """Return the UDP datagram in a packet, or the one it completes."""
    if packet.link_type not in LINK_TYPES:
        tally.unknown_links += 1
        return None
    frame = packet.data
    begin = ip_offset(packet.link_type, frame)
    if begin < 0:
        tally.skip(describe_payload(packet.link_type, frame))
        return None
    for _ in range(_MOST_TUNNELS):
        version = frame[begin] >> 4 if begin < len(frame) else 0
        protocol, behind = -1, begin
        if version == 6:
            protocol, behind = behind_ipv6(frame, begin)
        elif version == 4 and len(frame) >= begin + 20:
            protocol, behind = frame[begin + 9], begin + 4 * (frame[begin] & 0x0f)
        if protocol == UDP:
            return (_over_ipv6(packet, begin, behind, tally) if version == 6
                    else _over_ipv4(packet, begin, fragments, tally))
        if protocol != GRE or (version == 4 and is_fragment(frame, begin)):
            break
        inner = offset_in_gre(frame, behind)
        if inner < 0:
            break
        begin = inner
    tally.skip(protocol_name(protocol) if version in (4, 6) else 'no IP')
    return None


def _over_ipv6(packet: CapturedPacket, begin: int, behind: int, tally: Tally) -> Datagram | None:
    """Return the UDP datagram whose segment is ``behind`` the IPv6 packet's headers."""
    frame = packet.data
    # 0 in a packet to be segmented by the network card: then it is everything that follows.
    length = int.from_bytes(frame[begin + 4:begin + 6], 'big')
    end = begin + 40 + length if length else packet.size
    if not behind <= end <= packet.size:
        tally.malformed += 1
        return None
    segment = frame[behind:end]
    return _udp(
        packet, (socket.inet_ntop(socket.AF_INET6, frame[begin + 8:begin + 24]),
                 socket.inet_ntop(socket.AF_INET6, frame[begin + 24:begin + 40])),
        segment, end - behind - len(segment), tally)


def _over_ipv4(
    packet: CapturedPacket, begin: int, fragments: Fragments, tally: Tally
) -> Datagram | None:
    """Return the UDP datagram in the IPv4 packet at ``begin``, or the one it completes."""
    frame = packet.data
    header_size = 4 * (frame[begin] & 0x0f)
    # 0 in a packet to be segmented by the network card: then it is everything that follows.
    size = int.from_bytes(frame[begin + 2:begin + 4], 'big') or packet.size - begin
    if header_size < 20 or size < header_size or size > packet.size - begin:
        tally.malformed += 1
        return None
    segment = frame[begin + header_size:begin + size]
    cut = size - header_size - len(segment)
    if is_fragment(frame, begin):
        tally.fragments += 1
        # With a part missing it can never be completed.
        segment = b'' if cut else fragments.add(
            frame[begin:begin + 20], segment, packet.stamp_ns // SECOND_NS)
        tally.abandoned = fragments.abandoned
        if not segment:
            return None
        cut = 0
    return _udp(
        packet, (socket.inet_ntoa(frame[begin + 12:begin + 16]),
                 socket.inet_ntoa(frame[begin + 16:begin + 20])), segment, cut, tally)


def _udp(
    packet: CapturedPacket, hosts: tuple[str, str], segment: bytes, cut: int, tally: Tally
) -> Datagram | None:
    """Return the datagram in a UDP segment of which ``cut`` bytes were not captured."""
    if len(segment) < _UDP_HEADER.size:
        if not cut:
            tally.malformed += 1
        return None
    source_port, destination_port, length, _ = _UDP_HEADER.unpack_from(segment)
    if not 8 <= length <= len(segment) + cut:
        tally.malformed += 1
        return None
    data = segment[8:length]
    return Datagram(
        packet.stamp_ns, (hosts[0], source_port), (hosts[1], destination_port), data,
        length - 8 - len(data), packet.number, packet.offset)
