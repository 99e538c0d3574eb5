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
Read an MCAP file from its beginning to its end, within bounds. No ROS.

Each chunk is decompressed once, when it is reached. The index at the end of the file is not used:
it may say anything. Based on the MCAP specification, https://mcap.dev/spec.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
import struct
import sys
from typing import Any

from xplane_bridge.common.text import counted
from xplane_bridge.laboratory.flights.recordings.bounds import (
    MAX_CHUNK,
    MAX_METADATA,
    MAX_NAME,
    TooMuchError,
    UnpackBudget,
)
from xplane_bridge.laboratory.flights.recordings.topics import (
    RecordedMessage,
    Topic,
    Topics,
    UnfinishedError,
)

MAGIC = b'\x89MCAP0\r\n'

_HEADER = 0x01
_FOOTER = 0x02
_SCHEMA = 0x03
_CHANNEL = 0x04
_MESSAGE = 0x05
_CHUNK = 0x06
_ATTACHMENT = 0x09
_METADATA = 0x0C
_DATA_END = 0x0F
_READ = (_SCHEMA, _CHANNEL, _MESSAGE, _CHUNK, _METADATA)

_RECORD = struct.Struct('<BQ')
_MESSAGE_START = struct.Struct('<HIQQ')
_CHUNK_START = struct.Struct('<QQQII')
PROTOBUF, JSON_SCHEMA, JSON, ROS1 = 'protobuf', 'jsonschema', 'json', 'ros1msg'
"""Encodings of definitions, beside those of ROS 2; json of messages without one."""

BINARY = 'latin-1'
"""What makes a text of a definition in protobuf, and bytes of that again."""

# Encodings of messages, by those of their definitions: others are of ROS 2.
_MESSAGES = {PROTOBUF: 'protobuf', JSON_SCHEMA: 'json', ROS1: 'ros1'}
# Encodings of definitions and messages have names of a few letters.
_LONGEST_ENCODING = 40
# What a channel says besides: rosbag2 writes two texts.
_MOST_METADATA = 10
_BLOCK = 1024 * 1024


class McapFile:
    """
    The records of one file, which ``stream`` reads from its beginning.

    ``size`` is the file's, None if unknown: then it is read only, without seeking. ``metadata``
    has the text that rosbag2 kept in it, after all of it was read; with several, the last.
    ``passed_over`` is how many attachments and other metadata there were.
    """

    def __init__(
        self, stream: Any, size: int | None, topics: Topics, budget: UnpackBudget
    ) -> None:
        self._stream = stream
        self._size = size
        self._topics = topics
        self._budget = budget
        # Behind what is read, and where the record begins that is read now.
        self._at = self._begun = 0
        self._schemas: dict[int, tuple[str, str, str, str]] = {}
        self._channels: dict[int, Topic] = {}
        self.metadata = b''
        self.passed_over = 0

    def messages(self) -> Iterator[RecordedMessage]:
        """
        Yield the messages, in the order of the file.

        Raises ValueError, with the offset, at the first record that is wrong, and if the end is
        missing: UnfinishedError if nobody has written an end, and there are topics before it.
        """
        try:
            yield from self._in_order()
        except TooMuchError:
            raise
        except ValueError as error:
            if self._size is None or not self._channels or self._has_end(self._size):
                raise
            raise UnfinishedError(str(error), self._size - self._begun) from None

    def _has_end(self, size: int) -> bool:
        self._stream.seek(max(0, size - len(MAGIC)))
        return bool(self._stream.read(len(MAGIC)) == MAGIC)

    def _in_order(self) -> Iterator[RecordedMessage]:
        if self._read(len(MAGIC)) != MAGIC:
            raise ValueError('it does not begin as an MCAP file')
        for kind, length, what in self._heads():
            _bound(length, MAX_CHUNK, what)
            body = self._read(length)
            if len(body) < length:
                raise ValueError(
                    f'{what}: says {length} bytes, {len(body)} are left of the file')
            if kind == _CHUNK:
                yield from self._in_chunk(self._unpacked(body, what), what)
            elif kind == _METADATA:
                self._take_metadata(body)
            elif (message := self._take(kind, body, 0, length, what)) is not None:
                yield message
        if self._read(len(MAGIC) + 1) != MAGIC:
            raise ValueError('it does not end as an MCAP file')

    def _heads(self) -> Iterator[tuple[int, int, str]]:
        """Yield kind, length and place of each record that is to be read; pass over the others."""
        kind, in_data = -1, True
        while kind != _FOOTER:
            before, offset = kind, self._at
            self._begun = offset
            head = self._read(_RECORD.size)
            if len(head) < _RECORD.size:
                raise ValueError(
                    f'it is cut short at offset {offset + len(head)}: expected a record or the '
                    'end, which its recorder writes last')
            kind, length = _RECORD.unpack(head)
            what = f'record of type {kind} at offset {offset}'
            if not kind:
                raise ValueError(f'there is no record at offset {offset}, but a zero')
            if before == -1 and kind != _HEADER:
                raise ValueError(f'{what}: expected a header, type {_HEADER}')
            if self._size is not None and length > self._size - self._at:
                raise ValueError(
                    f'{what}: says {length} bytes, {self._size - self._at} are left of the file')
            self._budget.record(1)
            in_data = in_data and kind != _DATA_END
            if in_data and kind in _READ and not (kind == _METADATA and length > MAX_METADATA):
                yield kind, length, what
            else:
                self.passed_over += in_data and kind in (_ATTACHMENT, _METADATA)
                self._skip(length, what)

    def _read(self, count: int) -> bytes:
        found: bytes = self._stream.read(count)
        self._at += len(found)
        return found

    def _skip(self, length: int, what: str) -> None:
        if self._size is not None:
            self._stream.seek(length, 1)
            self._at += length
            return
        while length:
            found = len(self._read(min(length, _BLOCK)))
            if not found:
                raise ValueError(f'{what}: it lacks {counted(length, "byte")}')
            length -= found

    def _unpacked(self, body: bytes, what: str) -> bytes:
        """Return the records of a chunk."""
        try:
            _, _, size, _, name_length = _CHUNK_START.unpack_from(body)
            compression = body[32:32 + name_length].decode('ascii')
            compressed, = struct.unpack_from('<Q', body, 32 + name_length)
        except (struct.error, UnicodeDecodeError) as error:
            raise ValueError(f'{what}: the beginning of a chunk is damaged ({error})') from None
        records = body[40 + name_length:]
        if len(records) != compressed:
            raise ValueError(f'{what}: says {compressed} bytes of records, has {len(records)}')
        _bound(size, MAX_CHUNK, what)
        self._budget.unpack(size)
        if compression not in _DECOMPRESSORS:
            raise ValueError(
                f'{what}: its compression is {compression[:20]!r}, expected one of '
                f'{", ".join(filter(None, _DECOMPRESSORS))} or none')
        try:
            return _DECOMPRESSORS[compression](records, size)
        except Exception as error:
            # Each library has its own exceptions.
            raise ValueError(f'{what}: {compression}: {error}') from None

    def _in_chunk(self, records: bytes, what: str) -> Iterator[RecordedMessage]:
        at, end, channels = 0, len(records), self._channels
        head, start = _RECORD.unpack_from, _MESSAGE_START.unpack_from
        record = self._budget.record
        while at < end:
            record(1)
            if end - at < 9:
                raise ValueError(f'{what}: {counted(end - at, "byte")} behind its last record')
            kind, length = head(records, at)
            at += 9
            if length > end - at:
                raise ValueError(f'{what}: a record in it says {length} bytes, {end - at} are '
                                 'left of the chunk')
            if kind == _MESSAGE and length >= 22:
                channel, sequence, log_ns, published_ns = start(records, at)
                topic = channels.get(channel)
                if topic is None:
                    raise ValueError(f'{what}: a message is of channel {channel}, which is none')
                yield RecordedMessage(
                    topic, log_ns, records[at + 22:at + length], published_ns, sequence)
            else:
                self._take(kind, records, at, length, what)
            at += length

    def _take(
        self, kind: int, data: bytes, at: int, length: int, what: str
    ) -> RecordedMessage | None:
        """Take a schema, a channel or a message."""
        end = at + length
        try:
            if kind == _MESSAGE:
                channel, sequence, log_ns, published_ns = _MESSAGE_START.unpack_from(data[at:end])
                return RecordedMessage(
                    self._channels[channel], log_ns, data[at + 22:end], published_ns, sequence)
            if kind == _SCHEMA:
                number, = struct.unpack_from('<H', data, at)
                name, at = _text(data, at + 2, end)
                encoding, at = _text(data, at, end)
                count, = struct.unpack_from('<I', data, at)
                if count > end - at - 4:
                    raise ValueError(f'a definition says {count} bytes')
                # A number that is there again has to be of the same.
                if number not in self._schemas:
                    self._schemas[number] = (
                        name, encoding[:_LONGEST_ENCODING],
                        *self._topics.definition(
                            data[at + 4:at + 4 + count],
                            BINARY if encoding == PROTOBUF else 'utf-8'))
            elif kind == _CHANNEL:
                number, schema = struct.unpack_from('<HH', data, at)
                name, at = _text(data, at + 4, end)
                encoding, at = _text(data, at, end)
                if number not in self._channels:
                    self._channels[number] = self._topics.add(
                        name, *self._type(schema, encoding[:_LONGEST_ENCODING]),
                        self._more(data, at, end))
            elif kind < 0x80:
                raise ValueError(f'a record of type {kind} is within it')
        except (struct.error, KeyError, ValueError) as error:
            raise ValueError(f'{what} is damaged: {error}') from None
        return None

    def _more(self, data: bytes, at: int, end: int) -> tuple[tuple[str, str], ...]:
        """Return what a channel says besides, by name; each text is kept once, within bounds."""
        found: dict[str, str] = {}
        # The messages do not need it, so damage in it is none of theirs.
        with suppress(struct.error, ValueError):
            end = min(end, at + 4 + struct.unpack_from('<I', data, at)[0])
            at += 4
            while at < end and len(found) < _MOST_METADATA:
                key, at = _text(data, at, end)
                text, at = _text(data, at, end)
                found[key[:MAX_NAME]] = self._topics.definition(text.encode())[0]
        return tuple(found.items())

    def _type(self, schema: int, encoding: str) -> tuple[str, str, str, str]:
        """Return type, format, definition and fault of a channel's messages."""
        known = self._schemas.get(schema)
        if known is None:
            return 'unknown', encoding, '', ''
        name, form, *_ = known
        if encoding not in ('cdr', *_MESSAGES.values()):
            return name, encoding, '', ''
        if encoding == 'json' and form != JSON_SCHEMA:
            return name, JSON, '', ''
        if encoding != _MESSAGES.get(form, 'cdr'):
            return name, form, '', f'its messages are {encoding}, its definition is {form}'
        return known

    def _take_metadata(self, body: bytes) -> None:
        try:
            name, at = _text(body, 0, len(body))
            self.passed_over += name != 'rosbag2'
            end = at + 4 + struct.unpack_from('<I', body, at)[0]
            at += 4
            while name == 'rosbag2' and at < min(end, len(body)):
                key, at = _text(body, at, len(body))
                length, = struct.unpack_from('<I', body, at)
                if key == 'serialized_metadata':
                    self.metadata = body[at + 4:at + 4 + length]
                at += 4 + length
        except (struct.error, ValueError):
            # It says nothing that the messages need.
            return


def _text(data: bytes, at: int, end: int) -> tuple[str, int]:
    """Return a text, and the offset behind it."""
    length, = struct.unpack_from('<I', data, at)
    if length > end - at - 4:
        raise ValueError(f'a text says {length} bytes, {end - at - 4} are left')
    return data[at + 4:at + 4 + length].decode(errors='replace'), at + 4 + length


def _bound(length: int, most: int, what: str) -> None:
    if length > most:
        raise ValueError(f'{what}: says {length} bytes, expected at most {most}')


def _plain(data: bytes, size: int) -> bytes:
    if len(data) != size:
        raise ValueError(f'says {size} bytes of records, has {len(data)}')
    return data


def _zstd(data: bytes, size: int) -> bytes:
    return whole(zstd().ZstdDecompressor(options=window()), data, size)


def _lz4(data: bytes, size: int) -> bytes:
    from lz4.frame import LZ4FrameDecompressor
    return whole(LZ4FrameDecompressor(), data, size)


def whole(decompressor: Any, data: bytes, size: int) -> bytes:
    """Return what one frame decompresses to; ValueError unless it is ``size`` bytes and alone."""
    # One byte more than stated reveals whether there is more.
    found = bytes(decompressor.decompress(data, max_length=size + 1))
    if len(found) != size:
        raise ValueError(f'says {size} bytes of records, decompressed they are '
                         f'{"more" if len(found) > size else len(found)}')
    if decompressor.unused_data or not decompressor.eof:
        raise ValueError('expected one frame, which ends where its chunk does')
    return found


def zstd() -> Any:
    """Return the module of Zstandard, which rosbags needs too."""
    if sys.version_info >= (3, 14):
        from compression import zstd as module
    else:
        from backports import zstd as module
    return module


def window() -> Any:
    """Return the option that limits what a Zstandard frame may have the decompressor hold."""
    return {zstd().DecompressionParameter.window_log_max: MAX_CHUNK.bit_length() - 1}


_DECOMPRESSORS: dict[str, Callable[[bytes, int], bytes]] = {
    '': _plain, 'zstd': _zstd, 'lz4': _lz4}
