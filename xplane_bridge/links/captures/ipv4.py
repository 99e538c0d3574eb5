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

"""From network frames to IPv4 payloads: link layers and fragments."""

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
    if link_type in _RAW:
        return 0
    if link_type in (_NULL, _LOOP):
        # The address family, in the capturing machine's or in network byte order.
        known = not _FAMILIES.isdisjoint((
            int.from_bytes(frame[:4], 'little'), int.from_bytes(frame[:4], 'big')))
        return 4 if known else -1
    if link_type == _LINUX_SLL2:
        kind, begin = frame[:2], 20
    else:
        begin = 16 if link_type == _LINUX_SLL else 14
        kind = frame[begin - 2:begin]
    while kind in _VLANS:
        kind, begin = frame[begin + 2:begin + 4], begin + 4
    return begin if kind in _ETHERTYPES else -1


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
