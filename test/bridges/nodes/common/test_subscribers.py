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

"""What a replay waits for, and for how long, with fake publishers and a fake graph."""

from types import SimpleNamespace

import pytest

pytest.importorskip('rclpy', reason='rclpy is not installed')

from rclpy.qos import DurabilityPolicy, HistoryPolicy, QoSProfile
from sensor_msgs.msg import NavSatFix

from xplane_bridge.bridges.nodes.common.subscribers import Subscribers

KIND = 'sensor_msgs/msg/NavSatFix'


class Publisher:
    """A publisher whose subscribers match and acknowledge when a test says so."""

    def __init__(self, topic, qos=10):
        self.topic_name = topic
        self.msg_type = NavSatFix
        self.qos_profile = QoSProfile(depth=qos) if isinstance(qos, int) else qos
        self.matched = 0
        self.acknowledged = True

    def publish(self, message):
        pass

    def get_subscription_count(self):
        return self.matched

    def wait_for_all_acked(self, timeout):
        return self.acknowledged


@pytest.fixture
def stage():
    """Return a clock, a graph, a list of warnings, and the subscribers at full speed."""
    it = SimpleNamespace(now=100.0, graph={}, warned=[])
    node = SimpleNamespace(
        get_subscriptions_info_by_topic=lambda topic: it.graph.get(topic, ()),
        warn=lambda kind, sentence: it.warned.append(sentence))
    it.make = lambda full_speed=True: Subscribers(node, full_speed, lambda: it.now)

    def held(subscribers, step=0.001):
        begin = it.now
        while subscribers.holds():
            it.now += step
            assert it.now < begin + 60.0
        return it.now - begin

    it.held = held
    return it


def subscriber(kind=KIND, qos=10):
    return SimpleNamespace(
        topic_type=kind, qos_profile=QoSProfile(depth=qos) if isinstance(qos, int) else qos)


def settled(stage, publisher, full_speed=True):
    """Return the subscribers of this publisher, matched."""
    subscribers = stage.make(full_speed)
    subscribers.add(publisher)
    stage.held(subscribers)
    return subscribers


def test_subscribers_that_are_not_known_yet_get_a_second(stage):
    subscribers = stage.make()
    subscribers.add(Publisher('/fix'))
    assert stage.held(subscribers) == pytest.approx(1.0, abs=0.03)


def test_a_node_that_was_configured_long_ago_does_not_wait(stage):
    subscribers = stage.make()
    subscribers.add(Publisher('/fix'))
    stage.now += 10.0
    assert stage.held(subscribers) == 0.0


def test_known_subscribers_are_waited_for(stage):
    subscribers, publisher = stage.make(), Publisher('/fix')
    subscribers.add(publisher)
    stage.now += 10.0
    stage.graph['/fix'] = [subscriber()]
    for _ in range(100):
        assert subscribers.holds()
        stage.now += 0.03
    publisher.matched = 1
    # The graph has changed: others may be coming.
    assert stage.held(subscribers) == pytest.approx(1.0, abs=0.03)
    assert stage.warned == []


def test_one_that_cannot_be_matched_is_waited_for_for_five_seconds_and_told(stage):
    subscribers = stage.make()
    subscribers.add(Publisher('/fix'))
    stage.graph['/fix'] = [subscriber()]
    assert stage.held(subscribers) == pytest.approx(5.0, abs=0.03)
    assert 'subscribers of /fix could not be reached within 5 s' in stage.warned[0]


@pytest.mark.parametrize('other', [
    subscriber(kind='std_msgs/msg/String'),
    subscriber(qos=QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)),
])
def test_one_that_will_never_be_matched_is_not_waited_for(stage, other):
    subscribers = stage.make()
    subscribers.add(Publisher('/fix'))
    stage.graph['/fix'] = [other]
    assert stage.held(subscribers) < 1.1


def test_a_publisher_that_is_announced_is_waited_for_and_then_its_subscribers(stage):
    subscribers = settled(stage, Publisher('/packets'))
    stage.graph['/samples/a'] = [subscriber()]
    subscribers.expect(True)
    assert subscribers.holds()
    later = Publisher('/samples/a')
    subscribers.add(later)
    subscribers.expect(False)
    stage.now += 0.03
    assert subscribers.holds()
    later.matched = 1
    # The graph is known by now: nothing else is waited for.
    assert stage.held(subscribers) < 0.03


def test_at_full_speed_each_history_is_acknowledged_before_it_goes_on(stage):
    publisher = Publisher('/fix', 5)
    subscribers = settled(stage, publisher)
    for _ in range(3):
        for number in range(5):
            publisher.publish(None)
            publisher.acknowledged = False
            assert subscribers.holds() == (number == 4)
        publisher.acknowledged = True
        assert not subscribers.holds()


def test_at_full_speed_a_subscriber_has_time_to_take_what_it_acknowledged_at_once(stage):
    publisher = Publisher('/fix', 5)
    publisher.matched = 1
    subscribers = settled(stage, publisher)
    for number in range(10):
        publisher.publish(None)
        expected = 0.005 if number % 5 == 4 else 0.0
        assert stage.held(subscribers) == pytest.approx(expected, abs=2e-3)


def test_otherwise_only_the_first_messages_are(stage):
    publisher = Publisher('/fix', 2)
    subscribers = settled(stage, publisher, full_speed=False)
    publisher.acknowledged = False
    publisher.publish(None)
    assert not subscribers.holds()
    publisher.publish(None)
    assert subscribers.holds()
    publisher.acknowledged = True
    assert not subscribers.holds()
    publisher.acknowledged = False
    for _ in range(10):
        publisher.publish(None)
        assert not subscribers.holds()


def test_a_subscriber_that_died_holds_it_for_two_seconds_once(stage):
    publisher = Publisher('/fix', 5)
    subscribers = settled(stage, publisher)
    publisher.acknowledged = False
    waited = 0.0
    for _ in range(100):
        publisher.publish(None)
        waited += stage.held(subscribers)
    assert waited == pytest.approx(2.0, abs=0.01)
    assert len(stage.warned) == 1
    assert 'a subscriber of /fix has acknowledged nothing for 2 s' in stage.warned[0]
    # Discovery has dropped it: the others are waited for again.
    publisher.acknowledged = True
    for _ in range(5):
        publisher.publish(None)
    assert not subscribers.holds()
    publisher.acknowledged = False
    for _ in range(5):
        publisher.publish(None)
    assert subscribers.holds()


def test_one_that_keeps_everything_is_not_waited_for(stage):
    publisher = Publisher('/fix', QoSProfile(history=HistoryPolicy.KEEP_ALL))
    subscribers = settled(stage, publisher)
    publisher.acknowledged = False
    for _ in range(100):
        publisher.publish(None)
        assert not subscribers.holds()


def test_histories_are_short_at_full_speed_unless_a_profile_is_given(stage):
    assert [stage.make().depth(given) for given in (10, 200, 1)] == [5, 5, 1]
    assert stage.make(full_speed=False).depth(200) == 200
    profile = QoSProfile(depth=20)
    assert stage.make().depth(profile) is profile
