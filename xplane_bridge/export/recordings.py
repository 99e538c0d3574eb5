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


"""Recordings to tables: MCAP files and rosbag2 folders, also damaged ones. No ROS."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
import io
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO

from xplane_bridge import optional
from xplane_bridge.experiments import mcap_file, recording
from xplane_bridge.experiments.mcap_file import RecordingError
from xplane_bridge.export.fields import Layout, layout
from xplane_bridge.export.parameters import NAMES, PACKET, Parameters, SAMPLES
from xplane_bridge.export.tables import Batch, is_named, Rows, Warn
from xplane_bridge.protocols.foreign import printable

# The start is looked for in so many messages.
_LOOKED_AT = 10_000
_IMU = 'imu/data'
# Stamps further than this from each other are of different clocks (ns).
_SAME_CLOCK = 3_600_000_000_000
_SECOND = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Topic:
    """A recorded topic: its type, and the type's definition as stored."""

    name: str
    kind: str
    format: str
    definition: str


@dataclass(frozen=True, slots=True)
class Recorded:
    """A message as recorded; ``log_ns`` is when."""

    topic: Topic
    log_ns: int
    data: bytes


def read(path: Path, topics: Collection[str], warn: Warn) -> Iterator[Batch]:
    """
    Yield the tables of a recording, one per topic, in batches.

    ``topics`` limits them: full names, or without the namespace. Of a damaged or truncated file
    everything before the fault is read, and ``warn`` gets a sentence; so does it for topics that
    cannot be read. Raises RecordingError if nothing can be read, and ImportError.
    """
    optional.require('reading a recording', 'rosbags', 'mcap')
    yield from _Reading(topics, warn, recording.beginning(path.with_suffix('.json'))).tables(
        _Source(path, warn))


class _Source:
    """The messages of a recording, as often as they are wanted."""

    def __init__(self, path: Path, warn: Warn) -> None:
        self._path = path
        self._warn = warn
        self._files: list[tuple[Path, int]] = []
        self._bags: list[Path] = []
        parts = sorted(path.glob('*.mcap'), key=_natural) if path.is_dir() else [path]
        if path.suffix == '.db3' or (path.is_dir() and not parts):
            self._bags.append(path.parent if path.suffix == '.db3' else path)
            parts = []
        for part in parts:
            end, fault = mcap_file.intact(part)
            self._files.append((part, end))
            if not any(whole for _, whole in self._files) and part == parts[-1]:
                raise RecordingError(f'{path} is not read as a recording: {fault}')
            if fault:
                warn(f'{part}: {fault}; what is before it is exported')

    def messages(self) -> Iterator[Recorded]:
        """Yield the messages, in the order of the file."""
        for path, end in self._files:
            yield from self._of_mcap(path, end)
        for path in self._bags:
            yield from self._of_bag(path)

    def _of_mcap(self, path: Path, end: int) -> Iterator[Recorded]:
        from mcap.exceptions import EndOfFile
        from mcap.records import Channel, Message, Schema
        from mcap.stream_reader import StreamReader
        schemas: dict[int, Any] = {}
        topics: dict[int, Topic] = {}
        with path.open('rb') as stream:
            try:
                for record in StreamReader(io.BufferedReader(_Until(stream, end))).records:
                    if isinstance(record, Message):
                        if record.channel_id in topics:
                            yield Recorded(
                                topics[record.channel_id], record.log_time, record.data)
                    elif isinstance(record, Channel):
                        topics[record.id] = _topic(record, schemas.get(record.schema_id))
                    elif isinstance(record, Schema):
                        schemas[record.id] = record
            except EndOfFile:
                return
            except Exception as error:
                self._broken(path, error)

    def _of_bag(self, path: Path) -> Iterator[Recorded]:
        from rosbags.rosbag2 import Reader
        recording.check(path)
        topics: dict[int, Topic] = {}
        begun = False
        try:
            with Reader(path) as reader:
                for connection in reader.connections:
                    name = connection.msgdef.format.name
                    topics[connection.id] = Topic(
                        connection.topic, connection.msgtype, f'ros2{name.lower()}',
                        connection.msgdef.data)
                for connection, log_ns, data in reader.messages():
                    begun = True
                    yield Recorded(topics[connection.id], log_ns, data)
        except Exception as error:
            # With a damaged file the reader, and the libraries below, may raise anything.
            if not begun:
                raise RecordingError(
                    f'{path} is not read as a recording: {type(error).__name__}: '
                    f'{printable(str(error))}') from error
            self._broken(path, error)

    def _broken(self, path: Path, error: Exception) -> None:
        self._warn(f'{path}: {type(error).__name__}: {printable(str(error))}; '
                   'what is before it is exported')


def _topic(channel: Any, schema: Any) -> Topic:
    if schema is None or channel.message_encoding != 'cdr':
        return Topic(channel.topic, schema.name if schema else 'unknown',
                     channel.message_encoding, '')
    return Topic(channel.topic, schema.name, schema.encoding,
                 schema.data.decode(errors='replace'))


class _Until(io.RawIOBase):
    """The first bytes of a file."""

    def __init__(self, stream: BinaryIO, end: int) -> None:
        self._stream = stream
        self._left = end

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill a buffer with what comes next, at most to the end."""
        data = self._stream.read(min(len(buffer), self._left))
        self._left -= len(data)
        buffer[:len(data)] = data
        return len(data)


def _natural(path: Path) -> tuple[int, str]:
    # rosbag2 numbers the files of a recording: flight_2.mcap is before flight_10.mcap.
    number = path.stem.rpartition('_')[2]
    return int(number) if number.isdecimal() else 0, path.name


class _Reading:
    """One pass through a recording: its types, its clock, and its rows."""

    def __init__(self, topics: Collection[str], warn: Warn, begin: float | None) -> None:
        self._wanted = tuple(topics)
        self._warn = warn
        self._given_start = None if begin is None else round(begin * 1e9)
        self._start_ns = 0
        self._newest_ns = 0
        self._rows = Rows()
        self._parameters = Parameters()
        # By topic; None if it cannot be read.
        self._types: dict[Topic, tuple[Any, Layout] | None] = {}
        self._faults: dict[str, tuple[int, str]] = {}

    def tables(self, source: _Source) -> Iterator[Batch]:
        """Yield the tables, in batches."""
        self._find_start(source)
        seen: set[str] = set()
        for message in source.messages():
            seen.add(message.topic.name)
            if self._wants(message.topic) or message.topic.kind == NAMES:
                yield from self._take(message)
        yield from self._rows.rest()
        for topic, (count, text) in self._faults.items():
            self._warn(f'{topic}: {count} messages do not fit their type, the first: {text}')
        for name in self._wanted:
            if not any(is_named(topic, name) for topic in seen):
                self._warn(f'{name}: there is no such topic; recorded are '
                           f'{", ".join(sorted(seen)) or "none"}')

    def _find_start(self, source: _Source) -> None:
        """Find the time that times are relative to, and the names of parameters."""
        stamps: dict[str, int] = {}
        first_log = 0
        wants_names = False
        for number, message in enumerate(source.messages()):
            first_log = first_log or message.log_ns
            if message.topic.kind == NAMES:
                self._decoded(message)
                wants_names = False
            elif message.topic.kind == PACKET:
                wants_names = wants_names or not self._parameters.has_names(message.topic.name)
            if message.topic.name not in stamps and (found := self._decoded(message)):
                stamps[message.topic.name] = found[1] or 0
            if number >= _LOOKED_AT or (not wants_names and any(
                    topic.endswith(f'/{_IMU}') and stamp for topic, stamp in stamps.items())):
                break
        self._faults.clear()
        imu = [stamp for topic, stamp in stamps.items() if topic.endswith(f'/{_IMU}') and stamp]
        first = next(chain(imu, filter(None, stamps.values())), first_log)
        self._newest_ns = first
        self._start_ns = first if self._given_start is None else self._given_start

    def _wants(self, topic: Topic) -> bool:
        return not self._wanted or any(is_named(topic.name, name) for name in self._wanted)

    def _take(self, message: Recorded) -> Iterator[Batch]:
        found = self._decoded(message)
        if found is None:
            return
        decoded, stamp_ns, shape = found
        name, kind = message.topic.name, message.topic.kind
        time_ns = self._time(stamp_ns, message.log_ns)
        times = ((time_ns - self._start_ns) / _SECOND,
                 None if stamp_ns is None else stamp_ns / _SECOND, message.log_ns / _SECOND)
        if kind == PACKET:
            columns, rows = self._parameters.of_packet(name, decoded, self._start_ns, times)
        elif kind == SAMPLES:
            columns, rows = self._parameters.of_samples(decoded, self._start_ns, times)
        elif self._wants(message.topic):
            columns, rows = shape.columns, [(*times, *shape.values(decoded))]
        else:
            return
        for row in rows:
            yield from self._rows.add(
                name.strip('/'), kind, columns, row, len(message.data) // len(rows))

    def _time(self, stamp_ns: int | None, log_ns: int) -> int:
        """Return a message's time on the clock of the start."""
        if stamp_ns is not None and abs(stamp_ns - self._newest_ns) < _SAME_CLOCK:
            self._newest_ns = max(self._newest_ns, stamp_ns)
            return stamp_ns
        if abs(log_ns - self._newest_ns) < _SAME_CLOCK:
            return log_ns
        return self._newest_ns

    def _decoded(self, message: Recorded) -> tuple[Any, int | None, Layout] | None:
        """Return a message, its stamp and its layout; None if it cannot be read."""
        topic = message.topic
        if topic not in self._types:
            self._types[topic] = self._type(topic)
        known = self._types[topic]
        if known is None:
            return None
        store, shape = known
        try:
            decoded = store.deserialize_cdr(message.data, topic.kind)
            stamp_ns = shape.stamp_ns(decoded)
        except Exception as error:
            # rosbags leaves some damage to struct and NumPy.
            count, text = self._faults.get(topic.name, (0, printable(str(error))))
            self._faults[topic.name] = count + 1, text
            return None
        if topic.kind == NAMES:
            self._parameters.learn(topic.name, decoded.names)
        return decoded, stamp_ns, shape

    def _type(self, topic: Topic) -> tuple[Any, Layout] | None:
        from rosbags.typesys import get_types_from_idl, get_types_from_msg, get_typestore, Stores
        store = get_typestore(Stores.EMPTY)
        common = get_typestore(Stores.LATEST)
        try:
            if topic.format == 'ros2none' and topic.kind in common.types:
                # Before Iron rosbag2 stored no definitions in its databases.
                store = common
            elif topic.format == 'ros2msg':
                store.register(get_types_from_msg(topic.definition, topic.kind))
            elif topic.format == 'ros2idl':
                for part in topic.definition.split('=' * 80 + '\n'):
                    text = part.partition('\n')[2] if part.startswith('IDL: ') else part
                    if text.strip():
                        store.register(get_types_from_idl(text))
            else:
                raise ValueError(
                    f'its definition is {topic.format or "missing"}, expected ros2msg or ros2idl')
            return store, layout(store, topic.kind, topic.definition)
        except Exception as error:
            # Of rosbags' parser, for anything that is not a definition.
            if self._wants(topic):
                self._warn(f'{topic.name} is skipped, type {topic.kind}: '
                           f'{printable(str(error))}')
            return None
