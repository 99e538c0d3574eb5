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

"""Capture files for tests, made by other programs or packed with struct alone."""

import socket
import struct

# Made by scapy 2.8 and python-pcapng 2.1: GETC 0 from 192.168.1.10:50000 to 192.168.1.20:49009,
# half a second after 1700000000.
CAPTURES = {
    'Ethernet, microseconds, little-endian':
        'd4c3b2a1020004000000000000000000ffff00000100000000f1536520a107003000000030000000'
        '020000000002020000000001080045000022000700004011f755c0a8010ac0a80114c350bf71000e'
        '5e18474554430000',
    'Ethernet with VLAN tag, nanoseconds, big-endian':
        'a1b23c4d0002000400000000000000000000ffff000000016553f1001dcd65000000003400000034'
        '02000000000202000000000181000005080045000022000700004011f755c0a8010ac0a80114c350'
        'bf71000e5e18474554430000',
    'raw IP':
        'd4c3b2a1020004000000000000000000ffff00006500000000f1536520a107002200000022000000'
        '45000022000700004011f755c0a8010ac0a80114c350bf71000e5e18474554430000',
    'Linux cooked':
        'd4c3b2a1020004000000000000000000ffff00007100000000f1536520a107003200000032000000'
        '0000020000000000000000000000080045000022000700004011f755c0a8010ac0a80114c350bf71'
        '000e5e18474554430000',
    'Linux cooked 2, nanoseconds':
        '4d3cb2a1020004000000000000000000ffff00001401000000f153650065cd1d3600000036000000'
        '080000000000000002000000000000000000000045000022000700004011f755c0a8010ac0a80114'
        'c350bf71000e5e18474554430000',
    'BSD loopback':
        'd4c3b2a1020004000000000000000000ffff00000000000000f1536520a107002600000026000000'
        '0200000045000022000700004011f755c0a8010ac0a80114c350bf71000e5e18474554430000',
    'OpenBSD loopback, big-endian':
        'a1b2c3d40002000400000000000000000000ffff0000006c6553f1000007a1200000002600000026'
        '0000000245000022000700004011f755c0a8010ac0a80114c350bf71000e5e18474554430000',
    'IPv4 only':
        'd4c3b2a1020004000000000000000000ffff0000e400000000f1536520a107002200000022000000'
        '45000022000700004011f755c0a8010ac0a80114c350bf71000e5e18474554430000',
    'two VLAN tags, the outer one 0x9100':
        'd4c3b2a1020004000000000000000000ffff00000100000000f1536520a107003800000038000000'
        '0200000000020200000000019100000581000006080045000022000700004011f755c0a8010ac0a8'
        '0114c350bf71000e5e18474554430000',
    'pcapng of scapy':
        '0a0d0d0a1c0000004d3c2b1a01000000ffffffffffffffff1c000000010000001400000001000000'
        '0000040014000000060000005000000000000000240a060020e12518300000003000000002000000'
        '0002020000000001080045000022000700004011f755c0a8010ac0a80114c350bf71000e5e184745'
        '5443000050000000',
    'pcapng of python-pcapng: big-endian, the second of two interfaces, nanoseconds':
        '0a0d0d0a0000002c1a2b3c4d00010000ffffffffffffffff0004000764756d706361700000000000'
        '0000002c000000010000002000dc0000000000000002000375736200000000000000002000000001'
        '00000028000100000004000000020004657468300009000109000000000000000000002800000006'
        '000000600000000000060a241825e120000000400000004000000000000000000000000000000000'
        '00000000000000000000000000000000000000000000000000000000000000000000000000000000'
        '00000000000000000000006000000006000000500000000117979cfe53f765000000003000000030'
        '020000000002020000000001080045000022000700004011f755c0a8010ac0a80114c350bf71000e'
        '5e1847455443000000000050',
}
ETHERNET = bytes.fromhex(CAPTURES['Ethernet, microseconds, little-endian'])
# Also by scapy: bytes 0..39 as one datagram in two fragments, the second half first.
FRAGMENTS = bytes.fromhex(
    'd4c3b2a1020004000000000000000000ffff00000100000000f1536520a107003a0000003a000000'
    '02000000000202000000000108004500002c000900034011f746c0a8010ac0a80114101112131415'
    '161718191a1b1c1d1e1f202122232425262701f1536520a107003a0000003a000000020000000002'
    '02000000000108004500002c000920004011d749c0a8010ac0a80114c350bf7100307bcb00010203'
    '0405060708090a0b0c0d0e0f')
# Also by scapy: a TCP packet, an ARP packet, then the GETC.
OTHERS = bytes.fromhex(
    'd4c3b2a1020004000000000000000000ffff00000100000000f1536520a107003600000036000000'
    '020000000002020000000001080045000028000100004006f760c0a8010ac0a801140001bf710000'
    '000000000000500220004d01000001f1536520a107002a0000002a00000002000000000202000000'
    '00010806000108000604000102fc00000001c00002020000000000000000000002f1536520a10700'
    '3000000030000000020000000002020000000001080045000022000700004011f755c0a8010ac0a8'
    '0114c350bf71000e5e18474554430000')
# Also by scapy, over IPv6.
IPV6 = bytes.fromhex(
    'd4c3b2a1020004000000000000000000ffff0000e500000000f1536520a107003300000033000000'
    '60000000000b11400000000000000000000000000000000100000000000000000000000000000001'
    '00010002000b146a736978')
# Source and destination of the packets.
CLIENT, PLUGIN = ('192.168.1.10', 50000), ('192.168.1.20', 49009)


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


def packet(data, size=None, *, offset=0, more=False, number=7):
    """Return an IPv4 packet carrying UDP data, or a fragment with its payload offset."""
    payload = data if offset or more else struct.pack(
        '>HHHH', CLIENT[1], PLUGIN[1], 8 + (size or len(data)), 0) + data
    return struct.pack(
        '>BBHHHBBH4s4s', 0x45, 0, 20 + len(payload) + (size or len(data)) - len(data), number,
        offset // 8 | more << 13, 64, 17, 0, socket.inet_aton(CLIENT[0]),
        socket.inet_aton(PLUGIN[0])) + payload


def pcapng(*blocks, order='<'):
    """Return a pcapng file of (type, body) blocks, starting with the section header."""
    section = struct.pack(f'{order}IHHq', 0x1a2b3c4d, 1, 0, -1)
    parts = []
    for kind, body in ((0x0a0d0d0a, section), *blocks):
        size = struct.pack(f'{order}I', 12 + len(body) + -len(body) % 4)
        parts.append(struct.pack(f'{order}I', kind) + size + body + bytes(-len(body) % 4) + size)
    return b''.join(parts)
