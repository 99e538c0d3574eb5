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

"""The loop of every process: messages take a short way, all else goes through the executor."""

import pytest

pytest.importorskip('rclpy', reason='rclpy is not installed')

from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.task import Future
from rosgraph_msgs.msg import Clock

from xplane_bridge.bridges.nodes.common.spinning import spin_until


def test_spinning_keeps_nothing_of_the_callbacks_it_has_executed(ros):
    """Check a leak: spin_until_future_complete keeps something of each future while it spins."""
    added = []

    class Counted(Future):
        def add_done_callback(self, callback):
            added.append(callback)
            super().add_done_callback(callback)

    executor = SingleThreadedExecutor(context=ros.context)
    stop = Counted(executor=executor)
    turns = 0

    def turn():
        nonlocal turns
        turns += 1
        if turns < 100:
            executor.create_task(turn)
        else:
            stop.set_result(None)

    executor.create_task(turn)
    spin_until(executor, stop)
    executor.shutdown()
    assert turns == 100
    assert len(added) == 1


class Spun(SingleThreadedExecutor):
    """Counts its turns."""

    turns = 0

    def spin_once(self, timeout_sec=None):
        self.turns += 1
        super().spin_once(timeout_sec)


def spun(ros, prepare, *pause):
    """Spin a node, and publish /ball from /ball, until ``prepare(node, stop)`` stops it."""
    node = Node('spun', context=ros.context)
    executor = Spun(context=ros.context)
    executor.add_node(node)
    stop = Future(executor=executor)
    ball = node.create_publisher(Clock, '/ball', 10)
    prepare(node, stop, lambda: ball.publish(Clock()))
    executor.create_task(lambda: ball.publish(Clock()))
    try:
        spin_until(executor, stop, *pause)
    finally:
        executor.shutdown()
        node.destroy_node()
    return executor.turns


def test_messages_do_not_take_the_long_way_through_the_executor(ros):
    heard = []

    def prepare(node, stop, throw):
        def catch(message, info):
            heard.append(info)
            if len(heard) < 200:
                throw()
            else:
                stop.set_result(None)

        node.create_subscription(Clock, '/ball', catch, 10)

    # Some: what rclpy itself has to do when a node starts.
    assert spun(ros, prepare) < 100
    assert 'source_timestamp' in heard[-1]


def test_timers_have_their_turn_while_messages_never_end(ros):
    def prepare(node, stop, throw):
        ticks = []

        def tick():
            ticks.append(len(ticks))
            if len(ticks) == 3:
                stop.set_result(None)

        node.create_subscription(Clock, '/ball', lambda _: throw(), 10)
        node.create_timer(0.005, tick)

    spun(ros, prepare)


def test_a_subscription_made_while_spinning_is_heard(ros):
    def prepare(node, stop, throw):
        def catch(_):
            node.create_subscription(Clock, '/later', lambda _: stop.set_result(None), 10)
            later = node.create_publisher(Clock, '/later', 1)
            node.create_timer(0.005, lambda: later.publish(Clock()))

        node.create_subscription(Clock, '/ball', catch, 10)

    spun(ros, prepare)


def test_an_executor_built_otherwise_does_it_all_itself(ros, monkeypatch):
    monkeypatch.setattr(
        'xplane_bridge.bridges.nodes.common.spinning._PRIVATE', ('not of this rclpy',))
    heard = []

    def prepare(node, stop, throw):
        def catch(message):
            heard.append(message)
            if len(heard) < 20:
                throw()
            else:
                stop.set_result(None)

        node.create_subscription(Clock, '/ball', catch, 10)

    assert spun(ros, prepare) >= 20


def test_messages_that_arrive_in_a_pause_are_handled_after_it(ros):
    heard, pauses = [], []

    def prepare(node, stop, throw):
        def catch(_):
            heard.append(len(pauses))
            if len(heard) == 1:
                for _ in range(5):
                    throw()
            if len(heard) == 6:
                stop.set_result(None)

        node.create_subscription(Clock, '/ball', catch, 10)

    def pause():
        pauses.append(len(heard))
        return 0.001

    spun(ros, prepare, pause)
    assert len(heard) == 6
    # None between messages that were there together.
    assert len(pauses) <= len(heard)
