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

"""record: write topics to an MCAP file as they come, without deserialising them."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Sequence
import sys
import threading
import time
from typing import Any

import rclpy
from rclpy.event_handler import SubscriptionEventCallbacks
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from rclpy.signals import SignalHandlerOptions
from rclpy.task import Future

from xplane_bridge.experiments.definitions import definition, message_class
from xplane_bridge.links.signals import call_on_signal

# A kill loses what is in the chunk at hand and no more.
_CHUNK_SIZE = 32 * 1024
_FLUSH_PERIOD = 0.5
_DEPTH = 200
_DRAIN_TIME = 0.3
# Topics of the machinery, not of the vehicle.
_LEFT_OUT = ('/rosout', '/parameter_events')


class Recorder:
    """
    Subscribe to the topics of a namespace, also to those that appear later, and write them.

    ``topics`` limits it to names; relative ones are in the namespace. Use as a context manager:
    leaving it makes the file complete.
    """

    def __init__(
        self, node: Node, path: str, namespace: str = '/', topics: Sequence[str] = ()
    ) -> None:
        try:
            from mcap.writer import Writer
        except ImportError as error:
            raise ImportError(
                'recording needs the Python package mcap: pip install mcap') from error
        self._node = node
        self._namespace = '/' + namespace.strip('/')
        base = self._namespace.rstrip('/')
        self._wanted = {
            topic if topic.startswith('/') else f'{base}/{topic}' for topic in topics
        }
        self.messages: Counter[str] = Counter()
        self.lost: Counter[str] = Counter()
        self._subscriptions: dict[str, Any] = {}
        self._refused: set[str] = set()
        self._schemas: dict[str, int] = {}
        self._lock = threading.Lock()
        self._stream = open(path, 'wb')  # noqa: SIM115
        self._writer = Writer(self._stream, chunk_size=_CHUNK_SIZE)
        self._writer.start(profile='ros2', library='xplane_bridge')
        self._timer = node.create_timer(_FLUSH_PERIOD, self._tick)
        self.discover()

    def __enter__(self) -> Recorder:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop recording and complete the file; closing twice is fine."""
        if self._stream.closed:
            return
        self._node.destroy_timer(self._timer)
        for subscription in self._subscriptions.values():
            self._node.destroy_subscription(subscription)
        with self._lock:
            self._writer.finish()
            self._stream.close()

    def discover(self) -> None:
        """Subscribe to what has appeared since the last time."""
        for topic, types in self._node.get_topic_names_and_types():
            if topic in self._subscriptions or topic in self._refused or not self._wants(topic):
                continue
            if len(types) != 1 or '/msg/' not in types[0]:
                self._refuse(topic, f'it has the types {types}')
                continue
            publishers = self._node.get_publishers_info_by_topic(topic)
            if publishers:
                self._subscribe(topic, types[0], publishers)

    def summary(self) -> str:
        """Return one line: how many messages of how many topics, and how many were lost."""
        lost = sum(self.lost.values())
        return (
            f'{sum(self.messages.values())} messages of {len(self.messages)} topics, {lost} lost')

    def _wants(self, topic: str) -> bool:
        if self._wanted:
            return topic in self._wanted
        base = self._namespace.rstrip('/') + '/'
        return (
            topic.startswith(base) or topic in ('/diagnostics', '/clock', '/tf', '/tf_static')
        ) and topic not in _LEFT_OUT

    def _refuse(self, topic: str, reason: str) -> None:
        self._refused.add(topic)
        self._node.get_logger().warning(f'{topic} is not recorded: {reason}')

    def _subscribe(self, topic: str, kind: str, publishers: Sequence[Any]) -> None:
        try:
            schema = self._schema(kind)
            message = message_class(kind)
        except (ImportError, OSError, LookupError) as error:
            self._refuse(topic, f'type {kind}: {error}')
            return
        # As strong as all publishers offer, so that each is heard.
        profiles = [publisher.qos_profile for publisher in publishers]
        reliable = all(p.reliability == ReliabilityPolicy.RELIABLE for p in profiles)
        latched = all(p.durability == DurabilityPolicy.TRANSIENT_LOCAL for p in profiles)
        qos = QoSProfile(
            depth=_DEPTH,
            reliability=ReliabilityPolicy.RELIABLE if reliable else ReliabilityPolicy.BEST_EFFORT,
            durability=(
                DurabilityPolicy.TRANSIENT_LOCAL if latched else DurabilityPolicy.VOLATILE))
        channel = self._writer.register_channel(
            topic=topic, message_encoding='cdr', schema_id=schema)

        def write(data: bytes, info: dict[str, Any]) -> None:
            if not self.messages[topic]:
                self._node.get_logger().info(f'recording {topic}')
            with self._lock:
                if self._stream.closed:
                    return
                count = self.messages[topic]
                self.messages[topic] += 1
                self._writer.add_message(
                    channel_id=channel, log_time=time.time_ns(), data=data,
                    publish_time=info['source_timestamp'], sequence=count % 2**32)

        def lose(event: Any) -> None:
            self.lost[topic] += event.total_count_change

        self._subscriptions[topic] = self._node.create_subscription(
            message, topic, write, qos, raw=True,
            event_callbacks=SubscriptionEventCallbacks(message_lost=lose))

    def _schema(self, kind: str) -> int:
        if kind not in self._schemas:
            self._schemas[kind] = self._writer.register_schema(
                name=kind, encoding='ros2msg', data=definition(kind).encode())
        return self._schemas[kind]

    def _tick(self) -> None:
        self.discover()
        with self._lock:
            if not self._stream.closed:
                self._stream.flush()


def main(argv: Sequence[str] | None = None) -> int:
    """Record until SIGINT or SIGTERM; return the process's exit code."""
    parser = argparse.ArgumentParser(
        prog='record', description='Record ROS topics to an MCAP file.')
    parser.add_argument('-o', '--output', required=True, help='file to write, such as flight.mcap')
    parser.add_argument('-n', '--namespace', default='/', help='namespace whose topics to record')
    parser.add_argument('topics', nargs='*', help='topics to record; all of the namespace if none')
    arguments, ros_arguments = parser.parse_known_args(argv)
    rclpy.init(args=ros_arguments, signal_handler_options=SignalHandlerOptions.NO)
    node = Node('record')
    try:
        executor = SingleThreadedExecutor()
        executor.add_node(node)
        stop = Future(executor=executor)
        call_on_signal(lambda: stop.set_result(None))
        with Recorder(
            node, arguments.output, arguments.namespace, arguments.topics
        ) as recorder:
            print(f'recording to {arguments.output}', flush=True)
            executor.spin_until_future_complete(stop)
            # What has arrived by now, but was not handled yet, is recorded too.
            deadline = time.monotonic() + _DRAIN_TIME
            while (left := deadline - time.monotonic()) > 0.0:
                executor.spin_once(timeout_sec=left)
        print(f'{arguments.output}: {recorder.summary()}', flush=True)
    except (ImportError, OSError) as error:
        print(f'record: {error}', file=sys.stderr)
        return 1
    finally:
        node.destroy_node()
        rclpy.try_shutdown()
    return 0


if __name__ == '__main__':
    sys.exit(main())
