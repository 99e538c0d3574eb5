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
The packets of a capture file from tcpdump, Wireshark or dumpcap: pcap, pcapng, gzip.

Whatever a file claims, memory never holds more than one packet (256 KiB), one block (16 MiB) and
the interfaces of a section (4096).
"""

from __future__ import annotations

from collections.abc import Iterator
import gzip
import io
import struct
from typing import Any, BinaryIO, NamedTuple
import zlib

from xplane_bridge.common.timing import SECOND_NS

# The first four bytes give the byte order and the nanoseconds per unit of the time's fraction
# (draft-ietf-opsawg-pcap, section 4).
_PCAP = {
    b'\xd4\xc3\xb2\xa1': ('<', 1000),
    b'\xa1\xb2\xc3\xd4': ('>', 1000),
    b'\x4d\x3c\xb2\xa1': ('<', 1),
    b'\xa1\xb2\x3c\x4d': ('>', 1),
}
_GZIP = b'\x1f\x8b'

# Blocks of pcapng (draft-ietf-opsawg-pcapng, section 4). A section header reads the same in both
# byte orders, and states the byte order of the section.
_SECTION_HEADER = b'\x0a\x0d\x0d\x0a'
_INTERFACE = 1
_OBSOLETE_PACKET = 2
_SIMPLE_PACKET = 3
_ENHANCED_PACKET = 6
_READ = (_INTERFACE, _OBSOLETE_PACKET, _SIMPLE_PACKET, _ENHANCED_PACKET)
_BYTE_ORDERS = {b'\x4d\x3c\x2b\x1a': '<', b'\x1a\x2b\x3c\x4d': '>'}
_TIME_RESOLUTION = 9
_TIME_OFFSET = 14

# No tool captures more of one packet than this (libpcap, MAXIMUM_SNAPLEN).
_MAX_PACKET = 262144
# Wireshark reads no block above this (wiretap, MAX_BLOCK_SIZE). Most of it would be comments.
_MAX_BLOCK = 16 * 1024 * 1024
_MAX_INTERFACES = 4096
_PIECE = 65536


class CaptureError(ValueError):
    """A file cannot be read as a capture, or not to its end; the text says where and why."""


class CapturedPacket(NamedTuple):
    """
    One packet of a capture: ``data`` is what was captured of its ``size`` bytes.

    ``number`` counts from 1, ``offset`` is where the packet starts in the file (for gzip, in the
    uncompressed data), ``stamp_ns`` is nanoseconds since 1970-01-01 UTC, ``link_type`` one of
    https://www.tcpdump.org/linktypes.html.
    """

    number: int
    offset: int
    stamp_ns: int
    link_type: int
    data: bytes
    size: int


def is_capture(beginning: bytes) -> bool:
    """Return whether data starting like this, at least four bytes, may be a capture file."""
    return (beginning[:4] in _PCAP or beginning[:4] == _SECTION_HEADER
            or beginning[:2] == _GZIP)


def read_packets(stream: BinaryIO) -> Iterator[CapturedPacket]:
    """
    Yield the packets of a capture file, in order, as they are read.

    Classic pcap in both byte orders, with micro- and nanoseconds; pcapng with any number of
    sections, interfaces and time resolutions; either of them gzipped. A packet without a time
    (pcapng's Simple Packet Block) gets that of the previous one. Raises CaptureError with the
    offset of damaged or truncated data, after yielding everything before it.
    """
    source = _Source(stream)
    beginning = source.read(4)
    if beginning[:2] == _GZIP:
        source = _Source(io.BufferedReader(_Inflated(_Rest(beginning, stream)), _PIECE))
        beginning = source.read(4)
    if beginning in _PCAP:
        return _pcap(source, *_PCAP[beginning])
    if beginning == _SECTION_HEADER:
        return _pcapng(source)
    raise CaptureError(
        f'not a capture: it begins with {beginning.hex(" ") or "nothing"}, expected pcap or '
        'pcapng, or either in gzip' + (f' ({source.fault})' if source.fault else ''))


class _Source:
    """A stream that tracks its offset, and reports it when it ends too early."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self.offset = 0

    @property
    def fault(self) -> str:
        """Return why nothing more could be read, empty at the end of the file."""
        raw = getattr(self._stream, 'raw', None)
        return raw.fault if isinstance(raw, _Inflated) else ''

    def read(self, size: int) -> bytes:
        """Return this number of bytes, or what is left."""
        data = self._stream.read(size)
        self.offset += len(data)
        return data

    def take(self, size: int, what: str, begin: int) -> bytes:
        """Return this many bytes of ``what``, starting at an offset; CaptureError if fewer."""
        data = self.read(size)
        if len(data) < size:
            raise self._cut_short(what, begin, size - len(data))
        return data

    def skip(self, size: int, what: str, begin: int) -> None:
        """Read this many bytes of ``what`` and discard them."""
        while size:
            size -= len(self.take(min(size, _PIECE), what, begin))

    def next_head(self, size: int, what: str) -> bytes:
        """Return the first bytes of the next ``what``, or nothing at the end of the file."""
        begin = self.offset
        head = self.read(size)
        if len(head) < size and (head or self.fault):
            raise self._cut_short(what, begin, size - len(head))
        return head

    def _cut_short(self, what: str, begin: int, missing: int) -> CaptureError:
        return CaptureError(
            f'{what} at offset {begin}: the file is truncated at offset {self.offset}, '
            f'expected {missing} more bytes' + (f' ({self.fault})' if self.fault else ''))


class _Rest(io.RawIOBase):
    """A stream of which the first bytes have already been read."""

    def __init__(self, beginning: bytes, stream: BinaryIO) -> None:
        self._beginning = beginning
        self._stream = stream

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        """Return at most this many bytes."""
        if self._beginning:
            data, self._beginning = self._beginning[:size], self._beginning[size:]
            return data
        return self._stream.read(size)


class _Inflated(io.RawIOBase):
    """Uncompressed gzip data; if damaged or truncated, it ends early and ``fault`` says why."""

    def __init__(self, stream: io.RawIOBase) -> None:
        self._file = gzip.GzipFile(fileobj=stream, mode='rb')
        self.fault = ''

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill a buffer with the output of one decompression step."""
        if self.fault:
            return 0
        try:
            data = self._file.read1(len(buffer))
        except EOFError:
            self.fault = 'gzip: the compressed data are truncated'
            return 0
        except (OSError, zlib.error) as error:
            self.fault = f'gzip: {error}'
            return 0
        buffer[:len(data)] = data
        return len(data)


def _pcap(source: _Source, order: str, fraction_ns: int) -> Iterator[CapturedPacket]:
    header = source.take(20, 'the file header', 0)
    # The upper bits of the link type describe a frame check sequence.
    link_type = struct.unpack_from(f'{order}I', header, 16)[0] & 0xffff
    head_struct = struct.Struct(f'{order}IIII')
    number, offset = 1, source.offset
    while head := source.next_head(16, f'packet {number}'):
        seconds, fraction, captured, size = head_struct.unpack(head)
        what = f'packet {number}'
        _check_size(captured, what, offset)
        data = source.take(captured, what, offset)
        yield CapturedPacket(
            number, offset, seconds * SECOND_NS + fraction * fraction_ns, link_type, data,
            max(size, captured))
        number, offset = number + 1, source.offset


class _Interface(NamedTuple):
    """Description of one interface in a pcapng section."""

    link_type: int
    snap_length: int
    ticks_per_second: int
    offset_ns: int


def _pcapng(source: _Source) -> Iterator[CapturedPacket]:
    order = '<'
    interfaces: list[_Interface] = []
    number, stamp_ns = 1, 0
    offset, head = 0, _SECTION_HEADER + source.take(4, 'the section header', 0)
    while head:
        if head[:4] == _SECTION_HEADER:
            # A section has its own byte order and its own interfaces.
            order = _section(source, head, offset)
            interfaces.clear()
        else:
            kind, length = struct.unpack(f'{order}II', head)
            what = f'packet {number}' if kind in _READ[1:] else f'block of type {kind}'
            _check_length(length, 12, what, offset)
            if kind not in _READ:
                source.skip(length - 12, what, offset)
                _check_trailer(source.take(4, what, offset), order, length, what, offset)
            else:
                body = source.take(length - 8, what, offset)
                _check_trailer(body[-4:], order, length, what, offset)
                if kind == _INTERFACE:
                    if len(interfaces) == _MAX_INTERFACES:
                        raise CaptureError(
                            f'{what} at offset {offset}: expected at most {_MAX_INTERFACES} '
                            'interfaces in a section')
                    interfaces.append(_interface(body[:-4], order, what, offset))
                else:
                    packet = _packet(
                        kind, body[:-4], order, interfaces, number, offset, stamp_ns)
                    stamp_ns = packet.stamp_ns
                    number += 1
                    yield packet
        offset = source.offset
        head = source.next_head(8, 'block')


def _section(source: _Source, head: bytes, offset: int) -> str:
    """Read a section header; return its byte order."""
    what = 'the section header'
    mark = source.take(4, what, offset)
    order = _BYTE_ORDERS.get(mark)
    if order is None:
        raise CaptureError(
            f'{what} at offset {offset}: expected the byte order 1a 2b 3c 4d or 4d 3c 2b 1a, '
            f'got {mark.hex(" ")}')
    length, = struct.unpack(f'{order}I', head[4:])
    _check_length(length, 28, what, offset)
    version = struct.unpack(f'{order}HH', source.take(4, what, offset))
    if version[0] != 1:
        raise CaptureError(
            f'{what} at offset {offset}: expected version 1, got {version[0]}.{version[1]}')
    source.skip(length - 20, what, offset)
    _check_trailer(source.take(4, what, offset), order, length, what, offset)
    return order


def _interface(body: bytes, order: str, what: str, offset: int) -> _Interface:
    """Return the contents of an Interface Description Block."""
    if len(body) < 8:
        raise CaptureError(f'{what} at offset {offset}: expected 8 bytes, got {len(body)}')
    link_type, _, snap_length = struct.unpack_from(f'{order}HHI', body)
    ticks_per_second, offset_ns = 1_000_000, 0
    at = 8
    while at + 4 <= len(body):
        code, length = struct.unpack_from(f'{order}HH', body, at)
        value = body[at + 4:at + 4 + length]
        if not code:
            break
        if len(value) < length:
            raise CaptureError(
                f'{what} at offset {offset}: option {code} has {len(value)} bytes, '
                f'expected {length}')
        if code == _TIME_RESOLUTION and length == 1:
            ticks_per_second = (2 if value[0] & 0x80 else 10) ** (value[0] & 0x7f)
        elif code == _TIME_OFFSET and length == 8:
            offset_ns = struct.unpack(f'{order}q', value)[0] * SECOND_NS
        at += 4 + length + -length % 4
    return _Interface(link_type, snap_length, ticks_per_second, offset_ns)


def _packet(
    kind: int, body: bytes, order: str, interfaces: list[_Interface], number: int, offset: int,
    previous_ns: int,
) -> CapturedPacket:
    """Return the packet in a block; ``previous_ns`` is used if it has no time."""
    what = f'packet {number}'
    begin = 4 if kind == _SIMPLE_PACKET else 20
    if len(body) < begin:
        raise CaptureError(f'{what} at offset {offset}: expected {begin} bytes, got {len(body)}')
    index = 0
    if kind == _SIMPLE_PACKET:
        size = captured = struct.unpack_from(f'{order}I', body)[0]
    elif kind == _OBSOLETE_PACKET:
        index, _, high, low, captured, size = struct.unpack_from(f'{order}HHIIII', body)
    else:
        index, high, low, captured, size = struct.unpack_from(f'{order}IIIII', body)
    if index >= len(interfaces):
        raise CaptureError(
            f'{what} at offset {offset}: it is of interface {index}, and {len(interfaces)} are '
            'described before it')
    interface = interfaces[index]
    if kind == _SIMPLE_PACKET:
        captured = min(size, interface.snap_length or size)
        stamp_ns = previous_ns
    else:
        stamp_ns = interface.offset_ns + (
            (high << 32 | low) * SECOND_NS // interface.ticks_per_second)
    _check_size(captured, what, offset)
    if captured > len(body) - begin:
        raise CaptureError(
            f'{what} at offset {offset}: says {captured} bytes, its block has room for '
            f'{len(body) - begin}')
    return CapturedPacket(
        number, offset, stamp_ns, interface.link_type, body[begin:begin + captured],
        max(size, captured))


def _check_size(size: int, what: str, offset: int) -> None:
    if size > _MAX_PACKET:
        raise CaptureError(
            f'{what} at offset {offset}: says {size} bytes, expected at most {_MAX_PACKET}')


def _check_length(length: int, least: int, what: str, offset: int) -> None:
    if length % 4 or not least <= length <= _MAX_BLOCK:
        raise CaptureError(
            f'{what} at offset {offset}: says a length of {length} bytes, expected a multiple of '
            f'4 in {least}..{_MAX_BLOCK}')


def _check_trailer(trailer: bytes, order: str, length: int, what: str, offset: int) -> None:
    again, = struct.unpack(f'{order}I', trailer)
    if again != length:
        raise CaptureError(
            f'{what} at offset {offset}: its length is {length} at its beginning and {again} at '
            'its end')
