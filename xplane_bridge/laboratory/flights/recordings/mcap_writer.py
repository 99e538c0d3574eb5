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
Write an MCAP file of messages that are all there: chunk by chunk, without a step for each. No ROS.

It is what rosbag2 and ``record`` write: definitions, offered QoS, type hashes, indexes, rosbag2's
metadata. Based on the MCAP specification, https://mcap.dev/spec.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
import struct
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from xplane_bridge.laboratory.flights.recordings import rosbag2
from xplane_bridge.laboratory.flights.recordings.cdr import definition
from xplane_bridge.laboratory.flights.recordings.mcap_file import MAGIC, zstd
from xplane_bridge.laboratory.flights.recordings.vehicle_topics import TopicMessages

# Of a message record: its type and length, channel, sequence, log and publish time.
_HEAD = struct.Struct('<BQHIQQ')
_HEAD_SLOTS = {'sequence': (11, '<u4'), 'log': (15, '<u8'), 'publish': (23, '<u8')}
_MESSAGE = 0x05
_INDEX = struct.Struct('<BQHI')
_MESSAGE_INDEX = 0x07
# Below 0 it is faster: a fifth of a flight's recording takes a twentieth of the flight's time.
_COMPRESSION, _LEVEL = 'zstd', -5
FACTS = 'xplane_bridge'
"""The metadata record with the facts of the flight, as JSON below ``flight``."""


class _Segment(NamedTuple):
    """The records of a channel within a row of a group: at which byte, and how many before."""

    channel: int
    offset: int
    before: int


@dataclass(slots=True)
class _Group:
    """Records that were recorded together, time after time: a row of bytes for each."""

    times: NDArray[np.int64]
    row: bytearray = field(default_factory=bytearray)
    segments: list[_Segment] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    formats: list[str] = field(default_factory=list)
    offsets: list[int] = field(default_factory=list)
    values: list[Any] = field(default_factory=list)

    def add(self, channel: int, messages: TopicMessages, begin: int, end: int) -> None:
        """Add the messages of a channel, from one on to another."""
        layout, offset = messages.layout, len(self.row)
        self.segments.append(_Segment(channel, offset, begin))
        self.row += _HEAD.pack(
            _MESSAGE, _HEAD.size - 9 + len(layout.bytes), channel, 0, 0, 0) + layout.bytes
        sequence = np.arange(begin, end)
        for name, value in (('sequence', sequence), ('log', self.times), ('publish', self.times)):
            self._slot(offset, *_HEAD_SLOTS[name], value)
        for name, value in messages.numbers.items():
            self._slot(offset + _HEAD.size, *layout.slots[name],
                       value[begin:end] if np.ndim(value) else value)

    def _slot(self, base: int, offset: int, code: str, value: Any) -> None:
        self.names.append(str(len(self.names)))
        self.formats.append(code)
        self.offsets.append(base + offset)
        self.values.append(value)

    def records(self, begin: int, end: int) -> bytearray:
        """Return some of the rows."""
        kind = np.dtype({'names': self.names, 'formats': self.formats, 'offsets': self.offsets,
                         'itemsize': len(self.row)})
        content = bytearray(bytes(self.row) * (end - begin))
        rows = np.frombuffer(content, kind)
        for name, value in zip(self.names, self.values, strict=True):
            rows[name] = value[begin:end] if np.ndim(value) else value
        return content


def write(
    stream: BinaryIO, name: str, topics: Sequence[TopicMessages], facts: str
) -> None:
    """
    Write the messages of all topics, and the facts of their flight, to an empty file.

    ``name`` is the file's.
    """
    file = _File(stream)
    channels = [*enumerate(topics, 1)]
    file.begin(channels)
    for begin, end, groups in _chunks(_groups(channels)):
        file.chunk(begin, end, groups)
    first = min(int(one.times[0]) for one in topics)
    last = max(int(one.times[-1]) for one in topics)
    metadata = rosbag2.serialized_metadata(name, [
        rosbag2.RecordedTopic(
            one.topic, one.kind, [rosbag2.offered(one.latched)], definition(one.kind)[1],
            len(one.times)) for one in topics],
        first, last, '', {rosbag2.LOG_TIME: rosbag2.SIMULATED})
    file.end({rosbag2.METADATA_RECORD: {'serialized_metadata': metadata},
              FACTS: {'flight': facts}}, first, last)


@cache
def _offered(latched: bool) -> str:
    return rosbag2.offered_qos_profiles([rosbag2.offered(latched)])


def _groups(channels: Sequence[tuple[int, TopicMessages]]) -> list[_Group]:
    """Return the messages by the times that they have in common; that of the most first."""
    frames = max((one.times for _, one in channels), key=len)
    found: dict[bytes, _Group] = {}
    for channel, messages in channels:
        times, count = messages.times, len(messages.times)
        # The last frame has no command: it is a group of its own.
        common = len(frames) - 1
        ends = [common, count] if count >= common > 0 and np.array_equal(
            times[:common], frames[:common]) else [count]
        begin = 0
        for end in ends:
            if end > begin:
                part = times[begin:end]
                group = found.setdefault(part.tobytes(), _Group(part))
                group.add(channel, messages, begin, end)
            begin = end
    return sorted(found.values(), key=lambda group: -len(group.times))


def _chunks(
    groups: Sequence[_Group]
) -> Iterator[tuple[int, int, list[tuple[_Group, int, int]]]]:
    """Yield first and last time of each chunk, and of which groups it has which rows."""
    main = groups[0]
    rows = max(1, rosbag2.CHUNK_SIZE // len(main.row))
    edges = [*main.times[rows::rows].tolist(), np.iinfo(np.int64).max]
    begins = [0] * len(groups)
    for edge in edges:
        ends = [int(np.searchsorted(group.times, edge)) for group in groups]
        parts = [(group, begin, end)
                 for group, begin, end in zip(groups, begins, ends, strict=True) if end > begin]
        begins = ends
        if parts:
            yield (min(int(group.times[begin]) for group, begin, _ in parts),
                   max(int(group.times[end - 1]) for group, _, end in parts), parts)


class _File:
    """The records of a file, in the order in which they are written."""

    def __init__(self, stream: BinaryIO) -> None:
        from mcap import records
        from mcap.data_stream import RecordBuilder
        self._stream, self._records, self._zstd = stream, records, zstd()
        self._builder: Any = RecordBuilder
        self._at = 0
        self._definitions: list[Any] = []
        self._chunks: list[Any] = []
        self._counts: dict[int, int] = {}

    def _write(self, data: bytes | bytearray) -> None:
        self._stream.write(data)
        self._at += len(data)

    def _record(self, *some: Any) -> int:
        """Write records; return how many bytes they have."""
        builder = self._builder()
        for one in some:
            one.write(builder)
        data = builder.end()
        self._write(data)
        return len(data)

    def begin(self, channels: Sequence[tuple[int, TopicMessages]]) -> None:
        """Write the header, and the definitions of types and topics."""
        records = self._records
        self._write(MAGIC)
        self._record(records.Header(profile='ros2', library='xplane_bridge'))
        schemas = {kind: number for number, kind in enumerate(
            dict.fromkeys(one.kind for _, one in channels), 1)}
        self._definitions = [
            *(records.Schema(
                id=number, name=kind, encoding='ros2msg', data=definition(kind)[0].encode())
              for kind, number in schemas.items()),
            *(records.Channel(
                id=number, topic=one.topic, message_encoding='cdr', schema_id=schemas[one.kind],
                metadata={
                    'offered_qos_profiles': _offered(one.latched),
                    'topic_type_hash': definition(one.kind)[1]})
              for number, one in channels)]
        self._counts = {number: len(one.times) for number, one in channels}
        self._record(*self._definitions)

    def chunk(
        self, begin: int, end: int, groups: Sequence[tuple[_Group, int, int]]
    ) -> None:
        """Write a chunk, and behind it where in it the messages of each channel are."""
        content, entries = bytearray(), dict[int, list[NDArray[np.uint64]]]()
        for group, first, last in groups:
            rows = len(content) + len(group.row) * np.arange(last - first, dtype=np.uint64)
            for segment in group.segments:
                entries.setdefault(segment.channel, []).append(np.stack(
                    (group.times[first:last].astype(np.uint64),
                     rows + np.uint64(segment.offset)), axis=1))
            content += group.records(first, last)
        packed = self._zstd.compress(content, _LEVEL)
        start = self._at
        length = self._record(self._records.Chunk(
            compression=_COMPRESSION, data=packed, message_start_time=begin, message_end_time=end,
            uncompressed_crc=0, uncompressed_size=len(content)))
        indexes, behind = {}, self._at
        for channel, found in entries.items():
            indexes[channel] = self._at
            pairs = np.concatenate(found).astype('<u8')
            self._write(_INDEX.pack(
                _MESSAGE_INDEX, 6 + pairs.nbytes, channel, pairs.nbytes) + pairs.tobytes())
        self._chunks.append(self._records.ChunkIndex(
            chunk_length=length, chunk_start_offset=start, compression=_COMPRESSION,
            compressed_size=len(packed), message_end_time=end, message_start_time=begin,
            message_index_length=self._at - behind, message_index_offsets=indexes,
            uncompressed_size=len(content)))

    def end(
        self, metadata: Mapping[str, Mapping[str, str]], first: int, last: int
    ) -> None:
        """Write the metadata and the summary, which readers look for at the end."""
        records = self._records
        found = []
        for name, content in metadata.items():
            offset = self._at
            length = self._record(records.Metadata(name=name, metadata=dict(content)))
            found.append(records.MetadataIndex(offset=offset, length=length, name=name))
        self._record(records.DataEnd(data_section_crc=0))
        summary = self._at
        schemas = sum(isinstance(one, records.Schema) for one in self._definitions)
        self._record(
            *self._definitions, records.Statistics(
                attachment_count=0, channel_count=len(self._counts),
                channel_message_counts=self._counts, chunk_count=len(self._chunks),
                message_count=sum(self._counts.values()), message_end_time=last,
                message_start_time=first, metadata_count=len(found), schema_count=schemas),
            *self._chunks, *found)
        self._record(records.Footer(
            summary_start=summary, summary_offset_start=0, summary_crc=0))
        self._write(MAGIC)
