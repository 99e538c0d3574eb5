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

"""Topics samples/<name> of ulyssix_node: one for each requested parameter that exists."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
import threading
import time
from typing import Any

import numpy as np

from xplane_bridge.conversions.topics import topic_names
from xplane_bridge.msg import UlyssixPacket, UlyssixSamples
from xplane_bridge.nodes.base import BridgeNode
from xplane_bridge.nodes.diagnostics import OK, Status, WARN
from xplane_bridge.protocols.ulyssix import DataPacket
from xplane_bridge.sessions.ulyssix import PacketReceived, Placed

DEPTH = 200
"""Two seconds of Altair's packets, so that a subscriber may stall for a moment."""

# Names that keep changing create and destroy publishers at most this often, in seconds; a replay
# waits for its own.
_PAUSE = 1.0

NO_FLOATS = array('f')
NO_INTEGERS = array('q')


@dataclass(slots=True)
class _SampleTopic:
    """A topic of one parameter; ``phase`` samples are to be skipped before the next one."""

    index: int
    publisher: Any
    message: UlyssixSamples
    phase: int = 0


class SampleTopics:
    """
    The publishers of parameters whose names match ``patterns``, at most ``limit``.

    The sender determines the names: a publisher is removed as soon as its name disappears. They
    are created and destroyed in the executor, and used in the link's thread.
    """

    def __init__(self, node: BridgeNode[Any], patterns: Sequence[str], limit: int) -> None:
        self._node = node
        self._patterns = [pattern for pattern in patterns if pattern]
        self._limit = limit
        self._lock = threading.Lock()
        self._names: tuple[str, ...] = ()
        self._topics: list[_SampleTopic] = []
        self._publishers: dict[str, Any] = {}
        self._fitting = 0
        self._made_at = -_PAUSE
        self._making = False
        self._open = True

    # In the link's thread.

    def follow(self, names: tuple[str, ...]) -> None:
        """Have the topics of these names created, if the names have changed."""
        if not self._patterns or self._making or names is self._names:
            return
        if not names or names == self._names:
            return
        audience = self._node.audience
        if audience is not None:
            audience.expect(True)
        elif time.monotonic() < self._made_at + _PAUSE:
            return
        self._making = True
        # Publishers are created where all others are.
        executor = self._node.executor
        assert executor is not None
        executor.create_task(self._make, names)

    def publish(
        self, event: PacketReceived, placed: Placed, shift_ns: int, decimation: int
    ) -> None:
        """Publish every ``decimation``-th sample of the parameters that have a topic."""
        with self._lock:
            if not self._topics or self._names != event.names:
                return
            ends = np.cumsum(event.packet.counts)
            for topic in self._topics:
                end = int(ends[topic.index])
                begin = end - int(event.packet.counts[topic.index])
                _publish(topic, begin, end, decimation, event.packet, placed, shift_ns)

    # In the executor.

    def close(self) -> None:
        """Create nothing any more; the node destroys its publishers itself."""
        self._open = False

    def _make(self, names: tuple[str, ...]) -> None:
        try:
            if self._open:
                self._replace(names)
        finally:
            self._made_at = time.monotonic()
            self._making = False
            if self._node.audience is not None:
                self._node.audience.expect(False)

    def _replace(self, names: tuple[str, ...]) -> None:
        """Destroy what is gone, then create what is new."""
        fitting = [
            (index, name, topic)
            for index, (name, topic) in enumerate(zip(names, topic_names(names), strict=True))
            if any(name == pattern or fnmatchcase(name, pattern) for pattern in self._patterns)]
        self._fitting = len(fitting)
        wanted = fitting[:self._limit]
        gone = self._publishers.keys() - {topic for _, _, topic in wanted}
        with self._lock:
            # Nothing is published on what is being destroyed.
            self._topics = []
        for topic in gone:
            self._node.drop_publisher(self._publishers.pop(topic))
        topics = [
            _SampleTopic(index, self._publisher(topic), UlyssixSamples(name=name))
            for index, name, topic in wanted]
        with self._lock:
            self._names, self._topics = names, topics
        if not topics:
            self._node.warn(
                'sample_topics',
                f'no parameter matches sample_topics: available are {", ".join(names)}')

    def _publisher(self, topic: str) -> Any:
        publisher = self._publishers.get(topic)
        if publisher is None:
            publisher = self._node.make_publisher(
                UlyssixSamples, f'samples/{topic}', DEPTH, passing=True)
            # Created while the node is active, it missed the activation.
            publisher.on_activate(None)
            self._publishers[topic] = publisher
        return publisher

    def diagnose(self) -> tuple[Status, ...]:
        """Return the status of the topics, if any are requested."""
        if not self._patterns:
            return ()
        made = len(self._publishers)
        level, text = OK, f'{made} parameters have a topic'
        if self._fitting > self._limit:
            level = WARN
            text = (f'{self._fitting} parameters match sample_topics, but only the first '
                    f'{self._limit} have a topic: select fewer, or raise max_sample_topics')
        elif self._names and not made:
            level, text = WARN, 'no parameter matches sample_topics'
        return (Status('samples', level, text, (
            ('topics samples/<name>', str(made)),
            ('parameters that match sample_topics', str(self._fitting)),
        )),)


def _publish(
    topic: _SampleTopic, begin: int, end: int, step: int, packet: DataPacket, placed: Placed,
    shift_ns: int,
) -> None:
    # The step may have become smaller than the remainder of the last one.
    phase = topic.phase % step
    chosen = slice(begin + phase, end, step)
    topic.phase = (phase - (end - begin)) % step
    values = packet.values[chosen]
    if not len(values):
        return
    message = topic.message
    first_ns, message.times = placed.first_ns, NO_INTEGERS
    if placed.times is not None:
        times = placed.times[chosen]
        first_ns, message.times = int(times[0]), to_array('q', times)
    stamp = message.header.stamp
    # Not 0 or less, even if samples are older than the start of ROS time.
    stamp.sec, stamp.nanosec = divmod(max(first_ns + shift_ns, 1), 1_000_000_000)
    fill_values(message, packet, values)
    topic.publisher.publish(message)


def fill_values(
    message: UlyssixPacket | UlyssixSamples, packet: DataPacket, values: np.ndarray[Any, Any]
) -> None:
    """Copy the values into the field of their type."""
    if packet.integer_width is None:
        message.values, message.integers = to_array('f', values), NO_INTEGERS
    else:
        message.values, message.integers = NO_FLOATS, to_array('q', values)


def to_array(code: str, values: np.ndarray[Any, Any]) -> array[Any]:
    """Return the values in a type that a message accepts without checking each of them."""
    result: array[Any] = array(code)
    result.frombytes(np.ascontiguousarray(values).view(np.uint8).data)
    return result
