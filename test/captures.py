"""Capture files for tests, written with struct alone."""

import socket
import struct


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
