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
Check the records of an MCAP file before a library reads them all into memory. No ROS.

Readers trust the sizes that a file claims, and decompress a chunk whatever its size.
Based on the MCAP specification, https://mcap.dev/spec.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
import os
import struct
import sys
from typing import BinaryIO

_MAGIC = b'\x89MCAP0\r\n'

_HEADER = 0x01
_FOOTER = 0x02
_CHUNK = 0x06
_CHUNK_INDEX = 0x08
_ATTACHMENT = 0x09

# rosbag2 writes chunks of 768 KiB, other tools up to several MiB.
_MAX_CHUNK = 256 * 1024 * 1024
_MAX_RECORD = 64 * 1024 * 1024


class RecordingError(ValueError):
    """A recording cannot be used; the text says why."""


def check(path: str | os.PathLike[str]) -> None:
    """
    Raise RecordingError, with the offset, unless the file is complete and its sizes are correct.

    Each chunk is decompressed, one at a time, and may not exceed its stated size or 256 MiB; other
    records that readers load as a whole are limited to 64 MiB.
    """
    _, fault = intact(path)
    if fault:
        raise RecordingError(f'{os.fspath(path)} is not read as a recording: {fault}')


def intact(path: str | os.PathLike[str]) -> tuple[int, str]:
    """
    Return how many bytes from the beginning are correct records, and what is wrong behind them.

    The latter is empty if the file is complete. The limits are those of ``check``.
    """
    end = 0
    with open(path, 'rb') as stream:
        try:
            for after in _ends(stream):
                end = after
        except ValueError as error:
            return end, str(error)
        return stream.tell(), ''


def _ends(stream: BinaryIO) -> Iterator[int]:
    """Yield the offset behind each record; raise ValueError at the first that is wrong."""
    size = os.fstat(stream.fileno()).st_size
    if stream.read(len(_MAGIC)) != _MAGIC:
        raise ValueError('it does not begin as an MCAP file')
    chunks: dict[int, tuple[int, int]] = {}
    kind, first = -1, True
    while kind != _FOOTER:
        offset = stream.tell()
        head = stream.read(9)
        if len(head) < 9:
            raise ValueError(
                f'it is cut short at offset {offset + len(head)}: expected a record or the end, '
                'which its recorder writes last')
        kind, length = struct.unpack('<BQ', head)
        what = f'record of type {kind} at offset {offset}'
        if first and kind != _HEADER:
            raise ValueError(f'{what}: expected a header, type {_HEADER}')
        first = False
        if length > size - stream.tell():
            raise ValueError(
                f'{what}: says {length} bytes, {size - stream.tell()} are left of the file')
        if kind == _CHUNK:
            _bound(length, _MAX_CHUNK, what)
            chunks[offset] = _check_chunk(stream.read(length), what)
        elif kind == _CHUNK_INDEX:
            _bound(length, _MAX_RECORD, what)
            _check_index(stream.read(length), chunks, what)
        else:
            if kind != _ATTACHMENT:
                _bound(length, _MAX_RECORD, what)
            stream.seek(length, os.SEEK_CUR)
        yield stream.tell()
    if stream.read() != _MAGIC:
        raise ValueError('it does not end as an MCAP file')


def _check_chunk(body: bytes, what: str) -> tuple[int, int]:
    """Return the sizes of a chunk's records, compressed and not."""
    try:
        _, _, size, _, name_length = struct.unpack_from('<QQQII', body)
        compression = body[32:32 + name_length].decode('ascii')
        compressed, = struct.unpack_from('<Q', body, 32 + name_length)
    except (struct.error, UnicodeDecodeError) as error:
        raise ValueError(f'{what}: the beginning of a chunk is damaged ({error})') from None
    records = body[40 + name_length:]
    if len(records) != compressed:
        raise ValueError(f'{what}: says {compressed} bytes of records, has {len(records)}')
    _bound(size, _MAX_CHUNK, what)
    if compression not in _DECOMPRESSORS:
        raise ValueError(
            f'{what}: its compression is {compression[:20]!r}, expected one of '
            f'{", ".join(filter(None, _DECOMPRESSORS))} or none')
    try:
        # One byte more than stated reveals whether there is more.
        found = len(_DECOMPRESSORS[compression](records, size + 1))
    except Exception as error:
        # Each library has its own exceptions.
        raise ValueError(f'{what}: {compression}: {error}') from None
    if found != size:
        raise ValueError(
            f'{what}: says {size} bytes of records, decompressed they are '
            f'{"more" if found > size else found}')
    return compressed, size


def _check_index(body: bytes, chunks: dict[int, tuple[int, int]], what: str) -> None:
    """Compare an entry of the summary with its chunk."""
    try:
        offset, map_length = struct.unpack_from('<16xQ8xI', body)
        name_at = 36 + map_length + 8
        name_length, = struct.unpack_from('<I', body, name_at)
        sizes = struct.unpack_from('<QQ', body, name_at + 4 + name_length)
    except struct.error as error:
        raise ValueError(f'{what}: an entry of the index is damaged ({error})') from None
    if chunks.get(offset) != sizes:
        raise ValueError(
            f'{what}: says that a chunk of {sizes[0]} bytes begins at offset {offset}')


def _bound(length: int, most: int, what: str) -> None:
    if length > most:
        raise ValueError(f'{what}: says {length} bytes, expected at most {most}')


def _plain(data: bytes, _: int) -> bytes:
    return data


def _zstd(data: bytes, most: int) -> bytes:
    # As used by rosbags.
    if sys.version_info >= (3, 14):
        from compression.zstd import ZstdDecompressor
    else:
        from backports.zstd import ZstdDecompressor
    return bytes(ZstdDecompressor().decompress(data, max_length=most))


def _lz4(data: bytes, most: int) -> bytes:
    from lz4.frame import LZ4FrameDecompressor
    return bytes(LZ4FrameDecompressor().decompress(data, max_length=most))


_DECOMPRESSORS: dict[str, Callable[[bytes, int], bytes]] = {
    '': _plain, 'zstd': _zstd, 'lz4': _lz4}
