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

"""From network frames to IP packets and UDP: link layers, tunnels, and IPv4 fragments."""

from __future__ import annotations

from dataclasses import dataclass, field

# https://www.tcpdump.org/linktypes.html
_NULL = 0
_ETHERNET = 1
_LOOP = 108
_LINUX_SLL = 113
_LINUX_SLL2 = 276
# Without a link layer: 12 and 14 are BSD's numbers for 101; 228 is IPv4 only, 229 IPv6 only.
_RAW = (12, 14, 101, 228, 229)
LINK_TYPES = frozenset((_NULL, _ETHERNET, _LOOP, _LINUX_SLL, _LINUX_SLL2, *_RAW))

_ETHERTYPES = (b'\x08\x00', b'\x86\xdd')
# RFC 2516: version and type, code, session and length; then the protocol of PPP.
_PPPOE = b'\x88\x64'
_PPP_OF_IP = (b'\x00\x21', b'\x00\x57')
# RFC 2784 and 2890: a routing field or another version than 0 is not read; checksum, key and
# sequence number have four bytes each. NVGRE's and switches' mirrors carry Ethernet.
_GRE_OTHER = 0x4007
_GRE_FIELDS = (0x8000, 0x2000, 0x1000)
_ETHERNET_IN_GRE = b'\x65\x58'

UDP = 17
GRE = 47
_IPV6_HEADER = 40
# Hop-by-hop options, routing and destination options: the length is in units of 8 bytes.
_EXTENSIONS = (0, 43, 60)
_MOST_EXTENSIONS = 8
_NAMES = {
    b'\x08\x06': 'ARP', b'\x88\x63': 'PPPoE discovery', _PPPOE: 'PPPoE', b'\x88\xcc': 'LLDP',
    1: 'ICMP', 2: 'IGMP', 6: 'TCP', GRE: 'GRE', 44: 'fragment of IPv6', 50: 'ESP', 58: 'ICMPv6'}
# IEEE 802.1Q and 802.1ad, and tags that switches used before the latter was standardised.
_VLANS = (b'\x81\x00', b'\x88\xa8', b'\x91\x00', b'\x92\x00')
# AF_INET everywhere, AF_INET6 of Linux, NetBSD, FreeBSD and macOS.
_FAMILIES = frozenset((2, 10, 24, 28, 30))

# How long Linux waits for the rest of a datagram (net.ipv4.ipfrag_time, s), and how much it keeps
# meanwhile (net.ipv4.ipfrag_high_thresh, bytes). Python's overhead per fragment counts, too.
_FRAGMENT_SECONDS = 30
_MAX_BYTES = 4 * 1024 * 1024
_FRAGMENT_COST = 128
_MAX_INCOMPLETE = 256
_MAX_DATAGRAM = 65535


def ip_offset(link_type: int, frame: bytes) -> int:
    """Return where the IP packet starts in a frame of one of LINK_TYPES, -1 if there is none."""
    kind, begin = _frame(link_type, frame)
    return begin if kind is None else _behind(kind, frame, begin)


def _frame(link_type: int, frame: bytes) -> tuple[bytes | None, int]:
    """Return the type of what a frame carries, None if that is IP or nothing, and where it is."""
    if link_type in _RAW:
        return None, 0
    if link_type in (_NULL, _LOOP):
        # The address family, in the capturing machine's or in network byte order.
        known = not _FAMILIES.isdisjoint((
            int.from_bytes(frame[:4], 'little'), int.from_bytes(frame[:4], 'big')))
        return None, 4 if known else -1
    if link_type == _LINUX_SLL2:
        return frame[:2], 20
    begin = 16 if link_type == _LINUX_SLL else 14
    return frame[begin - 2:begin], begin


def _behind(kind: bytes, frame: bytes, begin: int) -> int:
    """Return where the IP packet is in what has this EtherType, -1 if there is none."""
    kind, begin = _untagged(kind, frame, begin)
    if kind == _PPPOE:
        return begin + 8 if frame[begin + 6:begin + 8] in _PPP_OF_IP else -1
    return begin if kind in _ETHERTYPES else -1


def _untagged(kind: bytes, frame: bytes, begin: int) -> tuple[bytes, int]:
    while kind in _VLANS:
        kind, begin = frame[begin + 2:begin + 4], begin + 4
    return kind, begin


def offset_in_gre(frame: bytes, begin: int) -> int:
    """Return where the IP packet is that a GRE header at ``begin`` leads to, -1 if none."""
    if len(frame) < begin + 4:
        return -1
    flags, kind = int.from_bytes(frame[begin:begin + 2], 'big'), frame[begin + 2:begin + 4]
    if flags & _GRE_OTHER:
        return -1
    begin += 4 + 4 * sum(bool(flags & one) for one in _GRE_FIELDS)
    if kind == _ETHERNET_IN_GRE:
        kind, begin = frame[begin + 12:begin + 14], begin + 14
    return _behind(kind, frame, begin)


def behind_ipv6(frame: bytes, begin: int) -> tuple[int, int]:
    """Return the protocol in the IPv6 packet at ``begin``, past its options, and where it is."""
    if len(frame) < begin + _IPV6_HEADER:
        return -1, begin
    protocol, at = frame[begin + 6], begin + _IPV6_HEADER
    for _ in range(_MOST_EXTENSIONS):
        if protocol not in _EXTENSIONS or len(frame) < at + 2:
            break
        protocol, at = frame[at], at + 8 + 8 * frame[at + 1]
    return protocol, at


def describe_payload(link_type: int, frame: bytes) -> str:
    """Return what a frame carries, if that is not IP; for people."""
    kind, begin = _frame(link_type, frame)
    if kind is None:
        return 'no IP'
    kind, _ = _untagged(kind, frame, begin)
    return _NAMES.get(kind, f'EtherType {kind.hex()}')


def protocol_name(number: int) -> str:
    """Return the name of a protocol over IP, for people."""
    return _NAMES.get(number, f'IP protocol {number}' if number >= 0 else 'cut short')


def is_fragment(frame: bytes, begin: int) -> bool:
    """Return whether the IPv4 packet at this offset is a fragment."""
    # All except the "don't fragment" bit and the reserved one.
    return bool(frame[begin + 7] or frame[begin + 6] & 0x3f)


class Fragments:
    """
    Reassembles fragmented IPv4 datagrams (RFC 791, section 3.2), each in linear time.

    A datagram that is incomplete after 30 s of the capture's time, has overlapping parts, or is
    the oldest of more than 256 datagrams or 4 MiB, is dropped and counted in ``abandoned``.
    """

    def __init__(self) -> None:
        self._incomplete: dict[bytes, _Incomplete] = {}
        self._cost = 0
        self.abandoned = 0

    @property
    def incomplete(self) -> int:
        """Return the number of incomplete datagrams."""
        return len(self._incomplete)

    def add(self, header: bytes, payload: bytes, seconds: int) -> bytes:
        """
        Return the payload of the datagram that a fragment completes, otherwise nothing.

        ``header`` is the first 20 bytes of its packet, ``seconds`` the time of the capture.
        """
        # Source, destination, protocol, identification.
        key = header[12:20] + header[9:10] + header[4:6]
        flags_offset = int.from_bytes(header[6:8], 'big')
        offset = 8 * (flags_offset & 0x1fff)
        while self._incomplete:
            oldest, incomplete = next(iter(self._incomplete.items()))
            # The 16-bit identification is reused.
            if abs(seconds - incomplete.begun) <= _FRAGMENT_SECONDS:
                break
            self._abandon(oldest)
        incomplete = self._incomplete.setdefault(key, _Incomplete(seconds))
        if offset in incomplete.parts:
            return b''
        incomplete.parts[offset] = payload
        incomplete.got += len(payload)
        self._cost += len(payload) + _FRAGMENT_COST
        if not flags_offset & 0x2000:
            incomplete.size = offset + len(payload)
        if incomplete.got == incomplete.size:
            whole = incomplete.join()
            if whole:
                self._forget(key)
            else:
                self._abandon(key)
            return whole
        if offset + len(payload) > _MAX_DATAGRAM or incomplete.got > _MAX_DATAGRAM:
            self._abandon(key)
        while self._cost > _MAX_BYTES or len(self._incomplete) > _MAX_INCOMPLETE:
            self._abandon(next(iter(self._incomplete)))
        return b''

    def _abandon(self, key: bytes) -> None:
        self._forget(key)
        self.abandoned += 1

    def _forget(self, key: bytes) -> None:
        incomplete = self._incomplete.pop(key)
        self._cost -= incomplete.got + _FRAGMENT_COST * len(incomplete.parts)


@dataclass(slots=True)
class _Incomplete:
    begun: int
    size: int = -1
    got: int = 0
    parts: dict[int, bytes] = field(default_factory=dict)

    def join(self) -> bytes:
        """Return the joined parts, nothing if they overlap or leave a gap."""
        at = 0
        for offset, part in sorted(self.parts.items()):
            if offset != at:
                return b''
            at += len(part)
        return b''.join(part for _, part in sorted(self.parts.items()))
