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
from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase
import threading
import time
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from xplane_bridge.bridges.conversions.topics import topic_names
from xplane_bridge.bridges.nodes.common.base import BridgeNode
from xplane_bridge.bridges.nodes.common.diagnostics import OK, Status, WARN
from xplane_bridge.bridges.nodes.common.stamps import write_stamp
from xplane_bridge.bridges.ulyssix.session import PacketReceived, Placed
from xplane_bridge.common.text import counted
from xplane_bridge.msg import UlyssixPacket, UlyssixSamples

DEPTH = 200
"""Two seconds of Altair's packets, so that a subscriber may stall for a moment."""

# Names that keep changing create and destroy publishers at most this often, in seconds; a replay
# waits for its own.
_PAUSE = 1.0

NO_FLOATS = array('f')
NO_INTEGERS = array('q')


class SampleTopic:
    """The topic of one parameter."""

    def __init__(self, publisher: Any, name: str) -> None:
        self._publisher = publisher
        self._message = UlyssixSamples(name=name)
        # Samples to be skipped before the next one.
        self._phase = 0

    def publish(
        self, values: NDArray[Any], times: NDArray[np.int64] | int, step: int, shift_ns: int
    ) -> None:
        """Publish every ``step``-th sample; ``times`` in ns, or one for all of a packet."""
        # The step may have become smaller than the remainder of the last one.
        phase = self._phase % step
        self._phase = (phase - len(values)) % step
        if phase >= len(values) or not self._publisher.get_subscription_count():
            return
        values = values[phase::step]
        message = self._message
        if isinstance(times, int):
            first_ns, message.times = times, NO_INTEGERS
        else:
            times = times[phase::step]
            first_ns, message.times = int(times[0]), to_array('q', times)
        # Not 0 or less, even if samples are older than the start of ROS time.
        write_stamp(message, max(first_ns + shift_ns, 1))
        fill_values(message, values)
        self._publisher.publish(message)


class _SampleTopic(NamedTuple):
    """A topic, and the number of its parameter in the packet."""

    number: int
    topic: SampleTopic


class SampleTopics:
    """
    The publishers of parameters whose names match ``patterns``, at most ``limit``.

    The sender determines the names: a publisher is removed as soon as its name disappears. They
    are created and destroyed in the executor, and used in the link's thread. ``taken`` are
    names of topics that are others'. ``convert(number, values)`` returns what is published for
    the values of a parameter, by its number in the packet.
    """

    def __init__(
        self, node: BridgeNode[Any], patterns: Sequence[str], limit: int,
        taken: Sequence[str] = (), convert: Callable[[int, Any], Any] = lambda _, values: values,
    ) -> None:
        self._taken = tuple(taken)
        self._convert = convert
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
        subscribers = self._node.subscribers
        if subscribers is not None:
            subscribers.expect(True)
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
                end = int(ends[topic.number])
                part = slice(end - int(event.packet.counts[topic.number]), end)
                times = placed.first_ns if placed.times is None else placed.times[part]
                values = self._convert(topic.number, event.packet.values[part])
                topic.topic.publish(values, times, decimation, shift_ns)

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
            if self._node.subscribers is not None:
                self._node.subscribers.expect(False)

    def _replace(self, names: tuple[str, ...]) -> None:
        """Destroy what is gone, then create what is new."""
        fitting = [
            (index, name, topic)
            for index, (name, topic) in enumerate(zip(names, topic_names(
                (*self._taken, *names))[len(self._taken):], strict=True))
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
            _SampleTopic(index, SampleTopic(self._publisher(topic), name))
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
            self._publishers[topic] = publisher
        return publisher

    def diagnose(self) -> tuple[Status, ...]:
        """Return the status of the topics, if any are requested."""
        if not self._patterns:
            return ()
        made = len(self._publishers)
        level, text = OK, f'topics of {counted(made, "parameter")}'
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


def fill_values(message: UlyssixPacket | UlyssixSamples, values: NDArray[Any]) -> None:
    """Copy the values into the field of their type."""
    if values.dtype.kind == 'i':
        message.values, message.integers = NO_FLOATS, to_array('q', values)
    else:
        message.values = to_array('f', values.astype(np.float32, copy=False))
        message.integers = NO_INTEGERS


def to_array(code: str, values: NDArray[Any]) -> array[Any]:
    """Return the values in a type that a message accepts without checking each of them."""
    result: array[Any] = array(code)
    result.frombytes(np.ascontiguousarray(values).view(np.uint8).data)
    return result
