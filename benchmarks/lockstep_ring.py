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
A bare ring with the hops of a frame in lockstep: ``python3 lockstep_ring.py ROLE PORT``.

The link sends a datagram, the echo (a simulator that does nothing) answers it, the link publishes
four messages from its thread, the law (an autopilot that does nothing) answers the fourth with a
message, and the next round begins. ``link`` prints the mean seconds of a round. The recorder takes
all messages as bytes.

``fleet COUNT`` is the ring of a fleet without a datagram: it publishes four messages to each of
as many laws (``member NUMBER``), and the next round begins when all have answered.
"""

from collections.abc import Callable, Sequence
from functools import partial
from queue import SimpleQueue
import socket
import sys
import threading
import time
from typing import Any

import rclpy
from rclpy.duration import Duration
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.publisher import Publisher
from rclpy.task import Future
from sensor_msgs.msg import Imu
from shortest import usual

from xplane_bridge.bridges.nodes.common.spinning import spin_until

TOPICS = ('one', 'two', 'three', 'four')
WARM_UP = usual(200, 10)
ROUNDS = usual(1500, 50)
# As much as the simulated plugin's answers.
_ANSWER = bytes(800)


def echo(port: int) -> None:
    """Answer datagrams until one is empty."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as end:
        end.bind(('127.0.0.1', port))
        while True:
            data, sender = end.recvfrom(65536)
            if not data:
                return
            end.sendto(_ANSWER, sender)


def spin(prepare: Callable[[Node, Future], Any]) -> None:
    """Spin a node as all processes of this package do, until the future is done."""
    rclpy.init(args=[])
    node = Node('ring')
    executor = SingleThreadedExecutor()
    executor.add_node(node)
    stop: Future = Future(executor=executor)
    kept = prepare(node, stop)
    spin_until(executor, stop)
    del kept
    node.destroy_node()
    rclpy.shutdown()


def await_taken(publishers: Sequence[Publisher]) -> None:
    """Wait for the others to take the message that ends them: with its node it would be gone."""
    for publisher in publishers:
        publisher.wait_for_all_acked(Duration(seconds=10.0))


def member(number: int) -> None:
    """Answer the last message of each round to one of a fleet."""
    law(number, f'member{number}/')


def law(_: int, prefix: str = '') -> None:
    """Answer the last message of each round."""
    def prepare(node: Node, stop: Future) -> None:
        publisher = node.create_publisher(Imu, f'{prefix}back', 1)
        heard: dict[int, int] = {}

        def answer(message: Imu) -> None:
            number = message.header.stamp.sec
            if number < 0:
                stop.set_result(None)
                return
            heard[number] = heard.get(number, 0) + 1
            if heard[number] == len(TOPICS):
                del heard[number]
                publisher.publish(message)

        for topic in TOPICS:
            node.create_subscription(Imu, prefix + topic, answer, 10)

    spin(prepare)


def recorder(_: int) -> None:
    """Take everything."""
    def prepare(node: Node, stop: Future) -> None:
        def take(data: bytes) -> None:
            if int.from_bytes(data[4:8], 'little', signed=True) < 0:
                stop.set_result(None)

        for topic in (*TOPICS, 'back'):
            node.create_subscription(Imu, topic, take, 200, raw=True)

    spin(prepare)


def link(port: int, subscribers: int = 1) -> None:
    """Drive the ring; print the mean time of a round."""
    end = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    end.connect(('127.0.0.1', port))

    def prepare(node: Node, stop: Future) -> Any:
        publishers = [node.create_publisher(Imu, topic, 10) for topic in TOPICS]
        message = Imu()
        times: list[float] = []

        def publish() -> None:
            for publisher in publishers:
                publisher.publish(message)

        def receive() -> None:
            while end.recv(65536):
                publish()

        def go_on(answer: Imu) -> None:
            if answer.header.stamp.sec != len(times):
                return
            times.append(time.perf_counter())
            if len(times) < WARM_UP + ROUNDS:
                message.header.stamp.sec = len(times)
                end.send(b'command')
                return
            print((times[-1] - times[WARM_UP - 1]) / ROUNDS, flush=True)
            message.header.stamp.sec = -1
            publish()
            end.send(b'')
            await_taken(publishers)
            stop.set_result(None)

        node.create_subscription(Imu, 'back', go_on, 1)
        while any(
            publisher.get_subscription_count() < subscribers for publisher in publishers
        ) or not node.count_publishers('back'):
            time.sleep(0.05)
        # The other direction is matched a moment later.
        time.sleep(1.0)
        threading.Thread(target=receive, daemon=True).start()
        end.send(b'command')
        return end

    spin(prepare)


class Fleet:
    """Drives the ring of a fleet; prints the mean time of a round."""

    def __init__(self, node: Node, stop: Future, count: int) -> None:
        self._count = count
        self._stop = stop
        self._rounds: SimpleQueue[int] = SimpleQueue()
        self._times: list[float] = []
        self._answered: set[str] = set()
        prefixes = [f'member{number}/' for number in range(count)]
        self._publishers = [
            node.create_publisher(Imu, prefix + topic, 10)
            for prefix in prefixes for topic in TOPICS]
        for prefix in prefixes:
            node.create_subscription(Imu, f'{prefix}back', partial(self._go_on, prefix), 1)
        while not (
            all(publisher.get_subscription_count() for publisher in self._publishers)
            and all(node.count_publishers(f'{prefix}back') for prefix in prefixes)
        ):
            time.sleep(0.05)
        # The other direction is matched a moment later.
        time.sleep(1.0)
        threading.Thread(target=self._publish, daemon=True).start()
        self._rounds.put(0)

    def _publish(self) -> None:
        message = Imu()
        while message.header.stamp.sec >= 0:
            message.header.stamp.sec = self._rounds.get()
            for publisher in self._publishers:
                publisher.publish(message)
        await_taken(self._publishers)
        self._stop.set_result(None)

    def _go_on(self, prefix: str, answer: Imu) -> None:
        if answer.header.stamp.sec != len(self._times):
            return
        self._answered.add(prefix)
        if len(self._answered) < self._count:
            return
        self._answered.clear()
        self._times.append(time.perf_counter())
        if len(self._times) < WARM_UP + ROUNDS:
            self._rounds.put(len(self._times))
            return
        print((self._times[-1] - self._times[WARM_UP - 1]) / ROUNDS, flush=True)
        self._rounds.put(-1)


ROLES: dict[str, Callable[[int], None]] = {
    'echo': echo, 'law': law, 'recorder': recorder, 'link': link,
    'recorded_link': partial(link, subscribers=2), 'member': member,
    'fleet': lambda count: spin(partial(Fleet, count=count))}

if __name__ == '__main__':
    ROLES[sys.argv[1]](int(sys.argv[2]))
