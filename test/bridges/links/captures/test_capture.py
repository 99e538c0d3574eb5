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

"""Capture files: every common format is read; damage yields a sentence at little cost."""

import contextlib
import gzip
import io
import random
import struct
import tracemalloc

from captures import (
    CAPTURES,
    CLIENT,
    ETHERNET,
    FRAGMENTS,
    IPV6,
    OTHERS,
    packet,
    pcapng,
    PLUGIN,
)
import pytest

from xplane_bridge.bridges.links.captures.capture import (
    CaptureError,
    check_capture,
    Datagram,
    read_datagrams,
    Tally,
)
from xplane_bridge.bridges.links.captures.ipv4 import Fragments
from xplane_bridge.bridges.links.captures.pcap import read_packets

GETC = Datagram(1_700_000_000_500_000_000, CLIENT, PLUGIN, b'GETC\0\0')
PCAPNG = bytes.fromhex(CAPTURES['pcapng of scapy'])
FORMS = {
    **{name: bytes.fromhex(text) for name, text in CAPTURES.items()},
    'fragments': FRAGMENTS, 'others': OTHERS, 'IPv6': IPV6,
    'gzip': gzip.compress(ETHERNET, mtime=0),
    'pcapng in gzip': gzip.compress(PCAPNG, mtime=0)}
INTERFACE = (1, struct.pack('<HHI', 101, 0, 0))


class Watched(io.BytesIO):
    """A file that records the largest read requested."""

    most = 0

    def read(self, size=-1):
        self.most = max(self.most, len(self.getbuffer()) if size < 0 else size)
        return super().read(size)


def read(data, tally=None):
    return list(read_datagrams(io.BytesIO(data), tally))


def raw_pcap(*packets):
    """Return a pcap file of raw IP packets, given as bytes or with their original size."""
    parts = [ETHERNET[:20] + b'\x65\0\0\0']
    for number, item in enumerate(packets):
        data, size = item if isinstance(item, tuple) else (item, len(item))
        parts.append(struct.pack('<IIII', number, 0, len(data), size) + data)
    return b''.join(parts)


def enhanced(data, interface=0, ticks=0, size=None):
    """Return an Enhanced Packet Block."""
    return (6, struct.pack('<IIIII', interface, *divmod(ticks, 2**32), len(data),
                           len(data) if size is None else size) + data)


# What tools write.

@pytest.mark.parametrize('name', list(CAPTURES))
def test_capture_of_each_form_is_read(name):
    data = bytes.fromhex(CAPTURES[name])
    assert read(data) == [GETC]
    assert read(gzip.compress(data)) == [GETC]
    # gzip may come in several members, and a pipe in small pieces.
    assert read(gzip.compress(data[:50]) + gzip.compress(data[50:])) == [GETC]


@pytest.mark.parametrize(('resolution', 'ticks'), [
    (3, 1_500), (6, 1_500_000), (9, 1_500_000_000), (0x80 | 10, 1536), (0, 1)])
@pytest.mark.parametrize('offset', [0, 1_700_000_000])
def test_times_of_pcapng_are_of_the_interfaces_resolution_and_offset(resolution, ticks, offset):
    options = struct.pack('<HHBxxxHHqHH', 9, 1, resolution, 14, 8, offset, 0, 0)
    datagram, = read(pcapng(
        (1, struct.pack('<HHI', 101, 0, 0) + options), enhanced(packet(b'data'), 0, ticks)))
    assert datagram.stamp_ns == offset * 10**9 + (1_500_000_000 if resolution else 10**9)


def test_sections_have_their_own_byte_order_and_interfaces():
    assert read(PCAPNG + bytes.fromhex(CAPTURES[list(CAPTURES)[-1]]) + PCAPNG) == [GETC] * 3
    with pytest.raises(CaptureError, match='of interface 0, and 0 are described'):
        read(PCAPNG + pcapng(enhanced(packet(b'data'))))


def test_other_blocks_are_passed_over_and_packets_without_a_time_have_the_last_one():
    simple = (3, struct.pack('<I', 32) + packet(b'data'))
    obsolete = (2, struct.pack('<HHIIII', 0, 0, 0, 5, 32, 32) + packet(b'data'))
    data = pcapng((4, bytes(20)), INTERFACE, obsolete, (5, bytes(8)), simple, (0x0bad, b'own'))
    assert [datagram.stamp_ns for datagram in read(data)] == [5000, 5000]


def test_fragments_are_put_together_in_any_order():
    assert read(FRAGMENTS) == [
        Datagram(1_700_000_001_500_000_000, CLIENT, PLUGIN, bytes(range(40)))]


def test_what_is_none_of_ours_is_passed_over_and_counted():
    tally = Tally()
    datagram, = read(OTHERS, tally)
    assert (datagram.stamp_ns, datagram.data) == (1_700_000_002_500_000_000, b'GETC\0\0')
    assert (tally.packets, tally.datagrams, tally.others) == (3, 1, 2)
    assert tally.skipped == '1 TCP, 1 ARP'
    tally = Tally()
    assert read(bytes.fromhex(CAPTURES[list(CAPTURES)[-1]]), tally) == [GETC]
    assert (tally.packets, tally.unknown_links) == (2, 1)


SIX = b'\x60\0\0\0'
BOTH = b'\x20\x01' + bytes(13) + b'\1' + b'\x20\x01' + bytes(13) + b'\2'
SEGMENT = struct.pack('>HHHH', 49000, 5000, 12, 0) + b'data'


def six(protocol, content):
    """Return an IPv6 packet."""
    return SIX + struct.pack('>HBB', len(content), protocol, 64) + BOTH + content


def ethernet(kind, content):
    return bytes(12) + bytes.fromhex(kind) + content


def gre(content, header):
    """Return an IPv4 packet that is a tunnel; the header is hexadecimal."""
    content = bytes.fromhex(header) + content
    return (b'\x45\0' + struct.pack('>H', 20 + len(content)) + b'\0\0\0\0\x40\x2f\0\0'
            + bytes((10, 0, 0, 1, 10, 0, 0, 2)) + content)


def pcap(link_type, *frames):
    parts = [ETHERNET[:20] + struct.pack('<I', link_type)]
    for frame in frames:
        parts.append(struct.pack('<IIII', 0, 0, len(frame), len(frame)) + frame)
    return b''.join(parts)


FOUR = packet(b'data')


@pytest.mark.parametrize('frame', [
    ethernet('8864', bytes.fromhex('11000001001e0021') + FOUR),
    # With a VLAN's tag, and padded to the shortest frame.
    ethernet('8100', b'\0\1\x88\x64' + bytes.fromhex('11000001001e0021') + FOUR + bytes(9)),
    ethernet('0800', gre(FOUR, '00000800')),
    # Checksum, key and sequence number; a mirrored frame; and a tunnel in a tunnel.
    ethernet('0800', gre(FOUR, 'b0000800' + 12 * '00')),
    ethernet('0800', gre(ethernet('0800', FOUR), '00006558')),
    ethernet('0800', gre(gre(FOUR, '00000800'), '00000800')),
    ethernet('86dd', six(47, bytes.fromhex('00000800') + FOUR)),
], ids=range(7))
def test_datagrams_in_tunnels_are_read(frame):
    datagram, = read(pcap(1, frame))
    assert (datagram.source, datagram.destination, datagram.data) == (CLIENT, PLUGIN, b'data')


@pytest.mark.parametrize('data', [
    pcap(1, ethernet('86dd', six(17, SEGMENT) + bytes(3))), pcap(101, six(17, SEGMENT)),
    # Hop-by-hop options, then those for the destination.
    pcap(101, six(0, b'\x3c\0' + bytes(6) + b'\x11\1' + bytes(14) + SEGMENT)),
    pcap(1, ethernet('8864', bytes.fromhex('1100000100360057') + six(17, SEGMENT)))],
    ids=range(4))
def test_datagrams_over_ipv6_are_read(data):
    datagram, = read(data)
    assert (datagram.source, datagram.destination, datagram.data) == (
        ('2001::1', 49000), ('2001::2', 5000), b'data')


def test_what_cannot_be_looked_into_is_counted_by_its_kind():
    tunnel = gre(FOUR, '00000800')
    for _ in range(5):
        tunnel = gre(tunnel, '00000800')
    tally = Tally()
    assert not read(pcap(
        1, ethernet('0806', bytes(28)), ethernet('8864', bytes.fromhex('110000010004c021') + FOUR),
        ethernet('0800', gre(FOUR, '000088be')), ethernet('0800', gre(FOUR, '40000800')),
        ethernet('0800', tunnel), ethernet('0800', gre(b'', '0000')),
        ethernet('86dd', six(44, bytes(8) + SEGMENT)), ethernet('86dd', six(58, bytes(8))),
        ethernet('86dd', SIX), ethernet('0842', b'')), tally)
    assert tally.skipped == (
        '4 GRE, 1 ARP, 1 PPPoE, 1 fragment of IPv6, 1 ICMPv6, 1 cut short, 1 EtherType 0842')
    assert not read(pcap(101, *(
        b'\x45\0\0\x14' + bytes(5) + bytes((number,)) + bytes(10) for number in range(100, 140))),
        tally)
    assert len(tally.kinds) == 17
    assert sum(tally.kinds.values()) == tally.others == 50


def test_a_packet_captured_in_part_ends_nothing_and_tells_whose_it_was():
    whole = packet(b'data')
    tally = Tally()
    got = read(raw_pcap((packet(b'ab', 40), 68), (whole[:9], 40), (whole[:22], 32), whole), tally)
    assert [(datagram.data, datagram.missing) for datagram in got] == [(b'ab', 38), (b'data', 0)]
    assert got[0].destination == PLUGIN
    assert got[0].incomplete == (
        'packet 1 at offset 24: 2 of 40 bytes captured; capture whole packets (tcpdump -s 0)')
    assert (tally.cut, tally.malformed) == (3, 0)
    # The truncated part may lie outside the datagram.
    datagram, = read(raw_pcap((whole, 60)))
    assert not datagram.missing


@pytest.mark.parametrize('damaged', [
    packet(b'data')[:-1], b'\x44' + packet(b'data')[1:], packet(b'data', 90),
    packet(b'data')[:24] + b'\0\x07' + packet(b'data')[26:],
    packet(b'data')[:24] + b'\0\x0d' + packet(b'data')[26:]], ids=range(5))
def test_sizes_that_cannot_be_are_counted_and_end_nothing(damaged):
    tally = Tally()
    assert [datagram.data for datagram in read(raw_pcap(damaged, packet(b'next')), tally)] == [
        b'next']
    assert tally.malformed == 1


# Damaged files.

@pytest.mark.parametrize(('data', 'text'), [
    (b'', 'not a capture: it begins with nothing, expected pcap or pcapng, or either in gzip'),
    (b'GETC', 'not a capture: it begins with 47 45 54 43, expected pcap or pcapng, or either in '
              'gzip'),
    (ETHERNET[:20],
     'the file header at offset 0: the file is truncated at offset 20, expected 4 more bytes'),
    (ETHERNET[:20] + b'\x69' + ETHERNET[21:],
     'link type 105, expected one of 0, 1, 12, 14, 101, 108, 113, 228, 229, 276'),
    (ETHERNET[:30],
     'packet 1 at offset 24: the file is truncated at offset 30, expected 10 more bytes'),
    (ETHERNET[:-1],
     'packet 1 at offset 24: the file is truncated at offset 87, expected 1 more bytes'),
    (ETHERNET[:32] + b'\x00\x00\x10\x00' + ETHERNET[36:],
     'packet 1 at offset 24: says 1048576 bytes, expected at most 262144'),
    (b'\x1f\x8b\7' + bytes(20), 'not a capture: it begins with nothing, expected pcap or pcapng, '
     'or either in gzip (gzip: Unknown compression method)'),
    (PCAPNG[:40], 'block of type 1 at offset 28: the file is truncated at offset 40, '
     'expected 8 more bytes'),
    (PCAPNG[:8] + b'\1\2\3\4' + PCAPNG[12:],
     'the section header at offset 0: expected the byte order 1a 2b 3c 4d or 4d 3c 2b 1a, '
     'got 01 02 03 04'),
    (PCAPNG[:12] + b'\2' + PCAPNG[13:],
     'the section header at offset 0: expected version 1, got 2.0'),
    (PCAPNG[:52] + b'\xfc\xff\xff\xff' + PCAPNG[56:],
     'packet 1 at offset 48: says a length of 4294967292 bytes, expected a multiple of 4 in '
     '12..16777216'),
    (PCAPNG[:-4] + b'\0\0\0\0',
     'packet 1 at offset 48: its length is 80 at its beginning and 0 at its end'),
    (pcapng(INTERFACE, enhanced(b'', 1)),
     'packet 1 at offset 48: it is of interface 1, and 1 are described before it'),
    (pcapng(INTERFACE, (6, struct.pack('<IIIII', 0, 0, 0, 8, 8))),
     'packet 1 at offset 48: says 8 bytes, its block has room for 0'),
    (pcapng(INTERFACE, (6, b'')), 'packet 1 at offset 48: expected 20 bytes, got 0'),
    (pcapng((1, b'')), 'block of type 1 at offset 28: expected 8 bytes, got 0'),
    (pcapng((1, bytes(8) + struct.pack('<HH', 2, 9))),
     'block of type 1 at offset 28: option 2 has 0 bytes, expected 9'),
    (pcapng(*[INTERFACE] * 4097), 'block of type 1 at offset 81948: expected at most 4096 '
     'interfaces in a section'),
], ids=lambda value: repr(value)[:40])
def test_capture_that_cannot_be_read_says_why(data, text):
    with pytest.raises(CaptureError) as caught:
        read(data)
    assert str(caught.value) == text


def test_what_comes_before_the_damage_is_read():
    many = gzip.compress(ETHERNET + ETHERNET[24:] * 1000)[:-60]
    for data, text in (
            (ETHERNET + ETHERNET[24:-1], 'packet 2 at offset 88: the file is truncated'),
            (PCAPNG + PCAPNG[28:-1], 'packet 2 at offset 148: the file is truncated'),
            (many, r'the file is truncated .*\(gzip: the compressed data are truncated\)')):
        got = []
        with pytest.raises(CaptureError, match=text):
            for datagram in read_datagrams(io.BytesIO(data)):
                got.append(datagram.data)
        assert b'GETC\0\0' in got


def test_a_file_is_judged_by_its_beginning():
    check_capture(io.BytesIO(ETHERNET + b'damaged'))
    check_capture(io.BytesIO(ETHERNET[:24]))
    with pytest.raises(CaptureError, match='link type 105'):
        check_capture(io.BytesIO(ETHERNET[:20] + b'\x69' + ETHERNET[21:]))


def test_reading_can_be_stopped_between_packets():
    asked = []
    data = raw_pcap(*[b''] * 10, packet(b'data'))
    assert list(read_datagrams(io.BytesIO(data), None, lambda: asked.append(1) or len(asked) > 5)
                ) == []
    assert len(asked) == 6


@pytest.mark.parametrize('name', list(FORMS))
def test_mutants_give_nothing_but_capture_errors_within_bounds(name):
    """Bytes changed, dropped, inserted, repeated and truncated, with a fixed random seed."""
    chance = random.Random(name)
    for _ in range(150):
        mutant = bytearray(FORMS[name])
        for _ in range(chance.randint(1, 4)):
            at = chance.randrange(len(mutant))
            length = chance.choice((1, 1, 2, 4, 8))
            change = chance.choice((
                b'', bytes(length), b'\xff' * length, chance.randbytes(length),
                bytes(mutant[at:at + length]) * 2))
            mutant[at:at + chance.choice((0, length))] = change
        if chance.random() < 0.2:
            del mutant[chance.randrange(len(mutant)):]
        stream, tally = Watched(mutant), Tally()
        with contextlib.suppress(CaptureError):
            for datagram in read_datagrams(stream, tally):
                assert len(datagram.data) <= 65_535
        assert stream.most <= 16 * 1024 * 1024
        assert tally.packets >= tally.datagrams


def test_a_gzip_bomb_is_read_in_pieces():
    """64 MiB of nothing in 64 KiB: empty packets, read one by one."""
    bomb = gzip.compress(ETHERNET[:24] + bytes(64 * 1024 * 1024), 9)
    tracemalloc.start()
    try:
        packets = read_packets(io.BytesIO(bomb))
        for _ in range(10_000):
            assert next(packets).data == b''
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 4 * 1024 * 1024


# Fragments.

def fragment(number, offset, data, more):
    """Return the header and payload of one fragment of a datagram."""
    made = packet(data, offset=offset, more=more, number=number) if offset or more else b''
    return made[:20], made[20:]


def test_fragments_of_datagrams_that_were_never_whole_are_forgotten():
    fragments = Fragments()
    for number in range(1000):
        assert fragments.add(*fragment(number, 0, bytes(8), True), number) == b''
    assert len(fragments._incomplete) < 50
    # The identification is reused by another datagram.
    assert fragments.add(*fragment(7, 8, b'second', False), 1000) == b''
    assert fragments.add(*fragment(7, 0, b'01234567', True), 1000) == b'01234567second'


def test_incomplete_datagrams_are_bounded_in_count_and_bytes():
    fragments = Fragments()
    for number in range(20_000):
        fragments.add(*fragment(number % 65536, 0, bytes(8), True), 0)
    assert len(fragments._incomplete) == 256
    assert fragments.abandoned == 20_000 - 256
    fragments = Fragments()
    for number in range(200):
        for offset in range(8, 60_000, 1480):
            fragments.add(*fragment(number, offset, bytes(1480), True), 0)
    assert sum(incomplete.got for incomplete in fragments._incomplete.values()) <= 4 * 1024 * 1024
    # The newest can still be completed.
    fragments.add(*fragment(300, 8, bytes(8), False), 0)
    assert fragments.add(*fragment(300, 0, bytes(8), True), 0) == bytes(16)


def test_a_fragment_costs_the_same_however_many_came_before():
    class Counted(dict):
        looks = 0

        def values(self):
            Counted.looks += 1
            return super().values()

        items = __iter__ = values

    fragments = Fragments()
    fragments.add(*fragment(1, 8, bytes(8), True), 0)
    incomplete, = fragments._incomplete.values()
    incomplete.parts = Counted(incomplete.parts)
    for offset in range(16, 65_000, 8):
        fragments.add(*fragment(1, offset, bytes(8), True), 0)
    assert Counted.looks == 0


def test_fragments_that_overlap_or_reach_too_far_are_given_up():
    fragments = Fragments()
    fragments.add(*fragment(1, 0, bytes(16), True), 0)
    # Duplicates are the network's doing.
    fragments.add(*fragment(1, 0, bytes(16), True), 0)
    fragments.add(*fragment(1, 8, bytes(8), True), 0)
    assert fragments.add(*fragment(1, 24, bytes(8), False), 0) == b''
    assert fragments.abandoned == 1
    fragments.add(*fragment(2, 65_528, bytes(16), False), 0)
    assert fragments.abandoned == 2
    assert not fragments._incomplete
    assert fragments._cost == 0


def test_a_fragment_captured_in_part_gives_no_datagram():
    whole = packet(bytes(100))[20:]
    parts = [packet(whole[:64], more=True), packet(whole[64:], offset=64)]
    assert len(read(raw_pcap(*parts))) == 1
    tally = Tally()
    assert read(raw_pcap((parts[0][:60], len(parts[0])), parts[1]), tally) == []
    assert (tally.cut, tally.fragments, tally.abandoned) == (1, 2, 1)
