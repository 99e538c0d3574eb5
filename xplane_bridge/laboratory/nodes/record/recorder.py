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

"""Topics of a ROS domain, recorded as they are published."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
import importlib
import os
import re
import threading
import time
from typing import Any, cast

from ament_index_python.packages import get_package_share_directory
from diagnostic_msgs.msg import DiagnosticArray
from rclpy.clock import Clock, ClockType
from rclpy.event_handler import SubscriptionEventCallbacks
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy

from xplane_bridge.bridges.nodes.common.spinning import AT_ONCE, handle_waiting
from xplane_bridge.common import optional, plain_files
from xplane_bridge.common.command_line import refuse_existing
from xplane_bridge.common.plain_files import WriteError
from xplane_bridge.common.text import counted
from xplane_bridge.laboratory.flights.recordings import rosbag2
from xplane_bridge.laboratory.nodes.record import absent, draining
from xplane_bridge.laboratory.nodes.record.accounts import Accounts

# A topic that is recorded, and how much of it was.

# The topics with the most lost messages are named, the others counted.
_MOST_SHOWN = 8


@dataclass(slots=True)
class SubscribedTopic:
    """
    A subscribed topic; ``publishers`` has all that were seen, by gid.

    ``latest`` are those that were there when any was last, ``present`` is how many are now.
    ``lacking`` is how many its end lacks, as its publisher says; None if that is not told.
    """

    name: str
    kind: str
    message: type
    numbers: rosbag2.SequenceNumbers
    publishers: dict[bytes, Any] = field(default_factory=dict)
    present: int = 0
    latest: tuple[bytes, ...] = ()
    lacking: int | None = 0
    qos: QoSProfile | None = None
    subscription: Any = None
    channel: int | None = None
    profiles: list[Any] = field(default_factory=list)
    type_hash: str = ''
    messages: int = 0
    reported_lost: int = 0
    warned: bool = False

    @property
    def lost(self) -> int:
        """Return how many were lost, by sequence number or as reported by the middleware."""
        return (self.numbers.lost if self.numbers.known else self.reported_lost) + (
            self.lacking or 0)

    def nodes(self) -> list[str]:
        """Return the names of the nodes of the latest publishers."""
        return [f'{one.node_namespace.rstrip("/")}/{one.node_name}'
                for one in map(self.publishers.__getitem__, self.latest)]

    @property
    def is_numbered(self) -> bool:
        """Return whether the number of the last message says how many had been published."""
        return len(self.latest) == 1 and self.messages > 0 and self.numbers.known

    def lacks(self, accounts: Accounts) -> int:
        """
        Return how many messages of those that its publishers have said they have published.

        Unless it is_numbered, these may have been published before it was subscribed to. Of
        several publishers, such as an experiment and the autopilot of command/controls, it is
        known for all together only: before Kilted a message does not say whose it is, and each
        publisher numbers its own.
        """
        announced = sum(
            accounts.published(node, self.name) for node in dict.fromkeys(self.nodes()))
        return max(0, announced - (
            self.numbers.last(self.latest[0]) if self.is_numbered else self.messages))

    def is_strange(self, accounts: Accounts) -> bool:
        """Return whether not all of its publishers say how many messages they have published."""
        return any(accounts.said(node) is None for node in self.nodes())


def is_complete(
    topics: Collection[SubscribedTopic], accounts: Accounts, asked: int, is_quiet: bool
) -> bool:
    """
    Return whether nothing is missing that was published before ``asked`` (ns since 1970).

    Where nobody says that, nothing is if it ``is_quiet``.
    """
    lacking = [topic for topic in topics if topic.lacks(accounts)]
    if _unannounced(topics, accounts, asked) or any(topic.is_numbered for topic in lacking):
        return False
    return is_quiet or not (lacking or any(topic.is_strange(accounts) for topic in topics))


def note_lacking(topics: Collection[SubscribedTopic], accounts: Accounts, asked: int) -> None:
    """Note at the end what the topics lack of what was published before ``asked``."""
    unannounced = _unannounced(topics, accounts, asked)
    for topic in topics:
        if any(node in unannounced and accounts.counts(node, topic.name)
               for node in topic.nodes()):
            topic.lacking = None
        elif topic.is_numbered:
            topic.lacking = topic.lacks(accounts)


def _unannounced(topics: Collection[SubscribedTopic], accounts: Accounts, asked: int) -> set[str]:
    """Return the nodes that are there, and have yet to say what they had published by then."""
    return {node for topic in topics if topic.present for node in topic.nodes()
            if (said := accounts.said(node)) is not None and said <= asked}


def summary(topics: Iterable[SubscribedTopic]) -> str:
    """Return how many messages of how many topics were recorded, and how many are missing."""
    topics = [topic for topic in topics if topic.messages]
    text = (
        f'{counted(sum(topic.messages for topic in topics), "message")} of '
        f'{counted(len(topics), "topic")}, '
        f'{_missed({topic.name: topic.lost for topic in topics})} lost, '
        f'{"about " if any(topic.numbers.before for topic in topics) else ""}'
        f'{_missed({topic.name: topic.numbers.before for topic in topics})} published between '
        'the start and discovery')
    unknown = sorted(topic.name for topic in topics if not topic.numbers.known)
    if unknown:
        text += f' (not known for {", ".join(unknown)})'
    unannounced = sorted(topic.name for topic in topics if topic.lacking is None)
    return text + (f'; the end is not known of {", ".join(unannounced)}' if unannounced else '')


def _missed(counts: dict[str, int]) -> str:
    """Return a number of messages, and of which topics, the most first."""
    found = sorted(((count, name) for name, count in counts.items() if count), reverse=True)
    if not found:
        return '0'
    shown = [f'{count} of {name}' for count, name in found[:_MOST_SHOWN]]
    rest = sum(count for count, _ in found[_MOST_SHOWN:])
    if rest:
        shown.append(f'{rest} of {counted(len(found) - _MOST_SHOWN, "other topic")}')
    return f'{sum(count for count, _ in found)} ({", ".join(shown)})'


# Message definitions as embedded in recordings: the text of a type and all types it uses.

_PRIMITIVE = {
    'bool', 'byte', 'char', 'float32', 'float64', 'int8', 'uint8', 'int16', 'uint16', 'int32',
    'uint32', 'int64', 'uint64', 'string', 'wstring',
}
_FIELD = re.compile(r'^\s*(?P<type>[A-Za-z][\w/]*)\S*\s+[a-z]\w*')
_SEPARATOR = '=' * 80


def message_class(name: str) -> type:
    """Return the Python class of a type such as ``sensor_msgs/msg/Imu``; ImportError if none."""
    package, _, kind = name.split('/')
    module = importlib.import_module(f'{package}.msg')
    try:
        found = getattr(module, kind)
    except AttributeError:
        raise ImportError(f'package {package} has no message {kind}') from None
    assert isinstance(found, type)
    return found


@cache
def _own_text(package: str, kind: str) -> str:
    path = os.path.join(get_package_share_directory(package), 'msg', f'{kind}.msg')
    with open(path, encoding='utf-8') as stream:
        return stream.read()


def definition(name: str) -> str:
    """
    Return the definition of a type with all types it uses, in the format of rosbag2 and Foxglove.

    Raises OSError or LookupError if a package does not install its definitions.
    """
    package, _, kind = name.split('/')
    parts = [_own_text(package, kind)]
    seen = {(package, kind)}
    queue = _contained(package, parts[0])
    while queue:
        inner = queue.pop(0)
        if inner not in seen:
            seen.add(inner)
            text = _own_text(*inner)
            parts.append(f'{_SEPARATOR}\nMSG: {inner[0]}/{inner[1]}\n{text}')
            queue += _contained(inner[0], text)
    return '\n'.join(parts)


def _contained(package: str, text: str) -> list[tuple[str, str]]:
    """Return (package, kind) of the message types used by a definition's fields."""
    found = []
    for line in text.splitlines():
        match = _FIELD.match(line.split('#')[0])
        if match and match['type'] not in _PRIMITIVE:
            parts = match['type'].split('/')
            found.append((package if len(parts) == 1 else parts[0], parts[-1]))
    return found


# A chunk ends at rosbag2's size or at this age (s): a kill loses no more than that.
_CHUNK_AGE = 1.0
# As many as the publishers of a flight in lockstep keep.
_DEPTH = 1000
# Anybody in the ROS domain may create topics, under any name.
_MOST_TOPICS = 1000
# Infrastructure topics, not the vehicle's.
_LEFT_OUT = ('/rosout', '/parameter_events')
# Recorded beside those of any namespace.
_BESIDE = ('/diagnostics', '/clock', '/tf', '/tf_static')
# What nobody has published by then is named: a bridge takes a second or two to start.
_EXPECTED_WITHIN = 5.0


class Recorder:
    """
    Subscribe to the topics of a namespace, also to those that appear later, and write them.

    ``topics`` limits it to these names; relative ones are in the namespace. log_time is when the
    middleware received a message, publish_time when it was published. Use as a context manager:
    entering it subscribes, leaving it completes the file; after a WriteError it ends behind the
    last whole chunk. ``sent_again`` is within how many s the middleware sends again what was lost.
    Raises FileExistsError if there is one, unless ``force`` is set.
    """

    def __init__(
        self, node: Node, path: str, namespace: str = '/', topics: Sequence[str] = (),
        force: bool = False, sent_again: float = draining.SENT_AGAIN,
    ) -> None:
        try:
            from mcap.writer import Writer
        except ImportError as error:
            raise optional.missing('recording', 'mcap', extra='export') from error
        if not hasattr(Writer, 'flush'):
            raise optional.missing('recording', 'mcap', extra='export')
        self._node = node
        self._namespace = '/' + namespace.strip('/')
        base = self._namespace.rstrip('/')
        self._wanted = {
            topic if topic.startswith('/') else f'{base}/{topic}' for topic in topics
        }
        self._topics: dict[str, SubscribedTopic] = {}
        self._refused: set[str] = set()
        self._is_full = False
        self._schemas: dict[str, int] = {}
        self._first: int | None = None
        self._last: int | None = None
        self._accounts = Accounts()
        # While it drains: since when, and until when nothing from before may come.
        self._asked, self._quiet_until, self._is_hurried = 0, 0.0, False
        self._log_time = rosbag2.RECEIVED
        self._lock = threading.Lock()
        self._path = path
        refuse_existing([path], force)
        self._stream = plain_files.growing(path)
        self._writer = Writer(self._stream, chunk_size=rosbag2.CHUNK_SIZE)
        self._writer.start(profile='ros2', library='xplane_bridge')
        # Like rosbag2 at the start: a reader of a file truncated by a kill then knows its version.
        self._add_metadata()
        # Bytes up to the last chunk that is whole.
        self._whole = 0
        try:
            self._whole = plain_files.flushed(self._stream)
        except WriteError:
            plain_files.cut(self._stream, 0)
            raise
        self._flushed = self._began = time.monotonic()
        self._is_told = False
        self._sent_again = sent_again
        self._quiet = draining.Quiet(sent_again)
        self._started = time.time_ns()
        # In lockstep simulated time may wait until it has subscribed.
        self._timer = node.create_timer(
            draining.TICK_PERIOD, self._tick, clock=Clock(clock_type=ClockType.STEADY_TIME))

        def on_diagnostics(message: DiagnosticArray, info: dict[str, Any]) -> None:
            self._accounts.on_diagnostics(message, rosbag2.times(info, time.time_ns())[1])

        self._heard = node.create_subscription(
            DiagnosticArray, '/diagnostics', cast(Any, on_diagnostics), _DEPTH)

    def __enter__(self) -> Recorder:
        self.discover()
        return self

    def __exit__(self, kind: object, error: object, _: object) -> None:
        self.close(not isinstance(error, WriteError))

    def close(self, completes: bool = True) -> None:
        """Stop recording, and complete the file; closing twice is fine. Raises WriteError."""
        if self._stream.closed:
            return
        self._node.destroy_timer(self._timer)
        self._node.destroy_subscription(self._heard)
        for topic in self._topics.values():
            self._node.destroy_subscription(topic.subscription)
        with self._lock:
            try:
                if completes:
                    for topic in self._topics.values():
                        self._channel(topic)
                    self._writer.flush()
                    self._add_metadata()
                    self._writer.finish()
                    self._whole = plain_files.flushed(self._stream)
            finally:
                plain_files.cut(self._stream, self._whole)

    def drain(self, executor: SingleThreadedExecutor) -> None:
        """
        Record what was published before this call, however long that takes on a busy machine.

        What a node has said it has published is waited for; of nodes that do not say that nothing
        may come for a while. What is published for a moment after the call is recorded too.
        """
        began = time.monotonic()
        self._asked = time.time_ns()
        self._quiet_until = self._quiet.until()
        while True:
            self._handle_waiting()
            now = time.monotonic()
            if self._is_hurried or now > began + self._quiet.longest() or is_complete(
                    self._topics.values(), self._accounts, self._asked,
                    now >= self._quiet_until):
                break
            executor.spin_once(timeout_sec=draining.TICK_PERIOD)
        note_lacking(self._topics.values(), self._accounts, self._asked)

    def hurry(self) -> None:
        """Let drain() end at once."""
        self._is_hurried = True

    def _handle_waiting(self) -> None:
        """
        Handle all that has arrived.

        An executor that is asked for one at a time prefers the first topics, and is slow.
        """
        waiting = [self._heard, *(topic.subscription for topic in self._topics.values())]
        for _ in range(_DEPTH // AT_ONCE):
            if not (waiting := [one for one in waiting if handle_waiting(one)]):
                return

    def discover(self) -> None:
        """Subscribe to topics that have appeared since the last time."""
        for name, types in self._node.get_topic_names_and_types():
            if name in self._refused or not self._wants(name):
                continue
            if name not in self._topics and self._has_no_room():
                continue
            if reason := absent.no_message(types):
                self._refuse(name, reason)
                continue
            publishers = self._node.get_publishers_info_by_topic(name)
            if name not in self._topics and (
                not publishers or not self._prepare(name, types[0])
            ):
                continue
            self._adapt(self._topics[name], publishers)

    def summary(self) -> str:
        """Return one line: how many messages of how many topics, how many are missing."""
        return summary(self._topics.values()) + (
            f'; topics beyond {_MOST_TOPICS} are not recorded' if self._is_full else '')

    @property
    def nothing(self) -> str:
        """Return why no message was recorded; empty if any was."""
        topics = self._topics.values()
        if any(topic.messages for topic in topics):
            return ''
        return self._missing() or (
            f'nobody has published on {counted(len(topics), "topic")} that '
            f'{"has a publisher" if len(topics) == 1 else "have publishers"}')

    def _missing(self) -> str:
        """Return what was to be recorded and has no publisher, '' if nothing."""
        published: dict[str, set[str]] = {}
        for name, _ in self._node.get_topic_names_and_types():
            if name not in (*_LEFT_OUT, *_BESIDE) and (
                    spaces := {one.node_namespace for one
                               in self._node.get_publishers_info_by_topic(name)}):
                published[name] = spaces
        return absent.sentence(self._namespace, self._wanted, published)

    def _has_no_room(self) -> bool:
        """Return whether the maximum number of topics is reached, and log that once."""
        if len(self._topics) + len(self._refused) < _MOST_TOPICS:
            return False
        if not self._is_full:
            self._is_full = True
            self._node.get_logger().warning(
                f'there are more than {_MOST_TOPICS} topics; new ones are not recorded')
        return True

    def _wants(self, topic: str) -> bool:
        if self._wanted:
            return topic in self._wanted
        base = self._namespace.rstrip('/') + '/'
        return (topic.startswith(base) or topic in _BESIDE) and topic not in _LEFT_OUT

    def _refuse(self, topic: str, reason: str) -> None:
        self._refused.add(topic)
        self._node.get_logger().warning(f'{topic} is not recorded: {reason}')

    def _prepare(self, name: str, kind: str) -> bool:
        try:
            if kind not in self._schemas:
                self._schemas[kind] = self._writer.register_schema(
                    name=kind, encoding='ros2msg', data=definition(kind).encode())
            self._topics[name] = SubscribedTopic(
                name, kind, message_class(kind), rosbag2.SequenceNumbers(self._started))
        except (ImportError, OSError, LookupError) as error:
            self._refuse(name, f'type {kind}: {error}')
            return False
        return True

    def _adapt(self, topic: SubscribedTopic, publishers: Sequence[Any]) -> None:
        """Subscribe so that all publishers match; subscribe anew if a new one offers less."""
        topic.present = len(publishers)
        if publishers:
            topic.latest = tuple(bytes(one.endpoint_gid) for one in publishers)
        new = [one for one in publishers if bytes(one.endpoint_gid) not in topic.publishers]
        # The name of a node may come after its topics.
        topic.publishers.update((bytes(one.endpoint_gid), one) for one in publishers)
        if not new:
            return
        if topic.channel is not None and not topic.warned and not all(
            rosbag2.effectively_same(one.qos_profile, recorded)
            for one in new for recorded in topic.profiles
        ):
            topic.warned = True
            self._node.get_logger().warning(
                f'another publisher of {topic.name} offers a different quality of service; the '
                'recording keeps that of the first, and is replayed with it')
        profiles = [one.qos_profile for one in topic.publishers.values()]
        reliable, latched = rosbag2.as_strong_as_all(profiles)
        qos = QoSProfile(
            depth=_DEPTH,
            reliability=ReliabilityPolicy.RELIABLE if reliable else ReliabilityPolicy.BEST_EFFORT,
            durability=(
                DurabilityPolicy.TRANSIENT_LOCAL if latched else DurabilityPolicy.VOLATILE))
        if qos == topic.qos:
            return
        if topic.subscription is not None:
            self._node.destroy_subscription(topic.subscription)
        topic.qos = qos

        # With a second parameter rclpy passes the message's metadata, which its type hints do
        # not cover.
        def write(data: bytes, info: dict[str, Any]) -> None:
            self._write(topic, data, info)

        def lose(event: Any) -> None:
            topic.reported_lost += event.total_count_change

        topic.subscription = self._node.create_subscription(
            topic.message, topic.name, cast(Any, write), qos, raw=True,
            event_callbacks=SubscriptionEventCallbacks(message_lost=lose))

    def _write(self, topic: SubscribedTopic, data: bytes, info: dict[str, Any]) -> None:
        if not topic.messages:
            self._node.get_logger().info(f'recording {topic.name}')
        with self._lock:
            if self._stream.closed:
                return
            # Since Kilted the metadata say who published a message.
            publisher = info.get('publisher_gid')
            received, published, by_middleware = rosbag2.times(info, time.time_ns())
            if not topic.numbers.heard(
                info.get('publication_sequence_number'),
                None if publisher is None else bytes(publisher['data']), topic.present, published
            ):
                # After subscribing again, transient-local messages are delivered again.
                return
            if published <= self._asked and (
                    not topic.is_numbered or topic.is_strange(self._accounts)):
                self._quiet_until = self._quiet.until()
            if not by_middleware:
                self._log_time = rosbag2.HANDLED
            channel = self._channel(topic)
            self._first = received if self._first is None else min(self._first, received)
            self._last = received if self._last is None else max(self._last, received)
            self._writer.add_message(
                channel_id=channel, log_time=received, data=data,
                publish_time=published,
                sequence=topic.messages % 2**32)
            topic.messages += 1

    def _channel(self, topic: SubscribedTopic) -> int:
        """Return the channel, created on first use with the publishers' offers so far."""
        if topic.channel is not None:
            return topic.channel
        publishers = topic.publishers.values()
        topic.profiles = [one.qos_profile for one in publishers]
        topic.type_hash = rosbag2.type_hash(one.topic_type_hash for one in publishers)
        topic.channel = self._writer.register_channel(
            topic=topic.name, message_encoding='cdr', schema_id=self._schemas[topic.kind],
            metadata={
                'offered_qos_profiles': rosbag2.offered_qos_profiles(topic.profiles),
                'topic_type_hash': topic.type_hash})
        return topic.channel

    def _add_metadata(self) -> None:
        topics = self._topics.values()
        self._writer.add_metadata(rosbag2.METADATA_RECORD, {
            'serialized_metadata': rosbag2.serialized_metadata(
                os.path.basename(self._path),
                [rosbag2.RecordedTopic(
                    topic.name, topic.kind, topic.profiles, topic.type_hash, topic.messages)
                 for topic in topics],
                self._first, self._last, os.environ.get('ROS_DISTRO', ''),
                {rosbag2.LOG_TIME: self._log_time, 'summary': self.summary()})})

    def _tick(self) -> None:
        self.discover()
        now = time.monotonic()
        self._quiet.tick()
        if not self._is_told and now - self._began >= _EXPECTED_WITHIN:
            self._is_told = True
            if missing := self._missing():
                self._node.get_logger().warning(missing)
        if now - self._flushed >= _CHUNK_AGE:
            with self._lock:
                self._flushed = now
                if not self._stream.closed:
                    self._writer.flush()
                    self._whole = plain_files.flushed(self._stream)
