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
Write what there is of an MCAP file as a whole one. No ROS.

Readers that go by the index at the end refuse a file without it, as a kill leaves it.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO

from xplane_bridge.common import optional, plain_files, plain_yaml
from xplane_bridge.common.text import counted
from xplane_bridge.laboratory.flights.recordings import rosbag2
from xplane_bridge.laboratory.flights.recordings.bounds import MAX_CHUNK
from xplane_bridge.laboratory.flights.recordings.files import Recording
from xplane_bridge.laboratory.flights.recordings.mcap_file import MAGIC
from xplane_bridge.laboratory.flights.recordings.topics import (
    RecordedMessage,
    RecordingError,
    Topic,
)

_FORMATS = ('ros2msg', 'ros2idl')


def is_unfinished(path: Path) -> bool:
    """Return whether it is an MCAP file whose recorder has not written an end. Raises OSError."""
    if not path.is_file():
        return False
    with plain_files.open_regular(path) as stream:
        if stream.read(len(MAGIC)) != MAGIC:
            return False
        stream.seek(-len(MAGIC), 2)
        return stream.read(len(MAGIC)) != MAGIC


def complete(
    source: Path, output: Path, wants: Callable[[str], bool] = lambda topic: True
) -> tuple[dict[str, int], list[str]]:
    """
    Write the messages of an MCAP file to another, with an index.

    It may be the same file, if nothing of it is left out but a last record that is not finished.
    ``wants`` says of a topic whether to write it. Returns the number of messages by topic, and
    sentences about what is left out. Raises ImportError, OSError, WriteError, and RecordingError
    for a file that is damaged, has nothing to write, or may not be replaced.
    """
    optional.require('writing an MCAP file', 'mcap', extra='export')
    replaces = output.exists() and output.samefile(source)
    with plain_files.open_regular(source) as found:
        if found.read(len(MAGIC)) != MAGIC:
            raise RecordingError(f'{source} is completed only if it is an MCAP file')
    if replaces and plain_files.is_growing(source):
        raise RecordingError(f'{source} is still being recorded, so it is not replaced')
    recording = Recording(source)
    with plain_files.output(output) as stream:
        copy = _Copy(stream)
        for message in recording.messages():
            if wants(message.topic.name):
                copy.add(message)
        if not copy.counts:
            raise RecordingError('; '.join((f'{source} has nothing to write', *copy.left_out)))
        if recording.passed_over:
            copy.left_out.append(
                f'{counted(recording.passed_over, "attachment or other metadata record")}')
        if replaces and recording.unread > MAX_CHUNK:
            copy.left_out.append(f'{recording.unread} bytes behind the fault')
        if replaces and copy.left_out:
            raise RecordingError(
                f'{source} is not replaced, as that would lose {"; ".join(copy.left_out)}: '
                'name another output')
        copy.finish(output.name, recording)
    return copy.counts, [
        *([recording.cut] if recording.cut else ()),
        *(f'{source}: left out: {one}' for one in copy.left_out)]


class _Copy:
    """The messages in a new file, and how many there are of each topic."""

    def __init__(self, stream: BinaryIO) -> None:
        from mcap.writer import Writer
        self._writer = Writer(stream, chunk_size=rosbag2.CHUNK_SIZE)
        self._writer.start(profile='ros2', library='xplane_bridge')
        self._schemas: dict[tuple[str, ...], int] = {}
        # None for one that cannot be written.
        self._channels: dict[Topic, int | None] = {}
        self._topics: dict[int, rosbag2.RecordedTopic] = {}
        self._first: int | None = None
        self._last: int | None = None
        self.left_out: list[str] = []

    @property
    def counts(self) -> dict[str, int]:
        """Return how many messages there are, by topic."""
        return {topic.name: topic.messages for topic in self._topics.values()}

    def add(self, message: RecordedMessage) -> None:
        """Write a message."""
        topic, log_ns, data, published_ns, sequence = message
        if topic not in self._channels:
            self._channels[topic] = self._channel(topic)
        channel = self._channels[topic]
        if channel is None:
            return
        self._writer.add_message(channel, log_ns, data, published_ns, sequence)
        self._topics[channel].messages += 1
        self._first = log_ns if self._first is None else min(self._first, log_ns)
        self._last = log_ns if self._last is None else max(self._last, log_ns)

    def _channel(self, topic: Topic) -> int | None:
        if topic.fault or topic.format not in _FORMATS:
            self.left_out.append(
                f'{topic.name}, {topic.fault or f"whose definition is {topic.format!r}"}')
            return None
        schema = topic.kind, topic.format, topic.definition
        if schema not in self._schemas:
            self._schemas[schema] = self._writer.register_schema(
                topic.kind, topic.format, topic.definition.encode())
        metadata = dict(topic.metadata)
        channel: int = self._writer.register_channel(
            topic.name, 'cdr', self._schemas[schema], metadata)
        self._topics[channel] = rosbag2.RecordedTopic(
            topic.name, topic.kind, _profiles(metadata.get('offered_qos_profiles', '')),
            metadata.get('topic_type_hash', ''))
        return channel

    def finish(self, name: str, recording: Recording) -> None:
        """Write what rosbag2 keeps besides, and the index; ``name`` is the file's."""
        custom = recording.custom
        if recording.fault:
            # What the recorder had said by then was of its start.
            custom = {rosbag2.CUT: recording.fault}
        self._writer.add_metadata(rosbag2.METADATA_RECORD, {
            'serialized_metadata': rosbag2.serialized_metadata(
                name, list(self._topics.values()), self._first, self._last,
                recording.distribution, custom)})
        self._writer.finish()


def _profiles(text: str) -> list[Any]:
    """Return the QoS that a channel says its publishers have offered, none if it cannot be."""
    try:
        found = plain_yaml.load(text)
    except ValueError:
        return []
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []
