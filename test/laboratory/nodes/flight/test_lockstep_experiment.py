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

"""Flights in lockstep: when something is due, and what is looked at in between."""

from collections import Counter
import math
import threading

import pytest

pytest.importorskip('rclpy', reason='rclpy is not installed')
pytest.importorskip('xplane_bridge.msg', reason='the messages are not built')

from sensor_msgs.msg import Imu, NavSatFix

from xplane_bridge.laboratory.flights.scenario.scenario import parse
from xplane_bridge.laboratory.flights.script import Script
from xplane_bridge.laboratory.nodes.flight.monitor import is_due, Monitor


class Nothing:
    """A vehicle, its telemetry and the display of a flight of which only the times matter."""

    def __init__(self):
        self.done = []

    def __getattr__(self, name):
        return lambda *arguments: self.done.append(name) or 0.0

    def last(self, name):
        return 0.0

    def since(self, name, start):
        # Eastward at 50 m/s.
        return (0.0, 1.0), ((0.0, 50.0) if name == 'east' else (0.0, 0.0))


def execution(**scenario):
    nothing = Nothing()
    return Script(parse('flight', {
        'duration': 10.0, 'criteria': [{'quantity': 'roll', 'statistic': 'max', 'at_most': 1.0}],
        **scenario}), nothing, nothing, nothing)


def test_what_is_due_is_the_next_event_the_route_or_the_end():
    flight = execution(
        events=[{'at': 1.0, 'engage': True}, {'at': 3.0, 'target': {'altitude': 1500.0}}],
        route={'begin': 5.0, 'waypoints': [[1000, 0]]})
    flight.begin = 100.0
    found = []
    while not flight.is_over:
        found.append(round(flight.due - 100.0, 3))
        flight.act(flight.due)
    assert found[:3] == pytest.approx([0.996, 2.996, 4.996])
    # Along the route ten times per second, until the end.
    assert found[3:6] == pytest.approx([5.096, 5.196, 5.296])
    assert found[-1] == pytest.approx(9.996)
    assert len(found) == 53


def test_a_stamp_is_due_to_the_nanosecond():
    assert is_due(5.0, 5.0)
    assert is_due(4.9999999999, 5.0)
    assert not is_due(4.999999999, 5.0)
    assert is_due(0.0, -float('inf'))
    assert not is_due(1e9, float('inf'))


def test_who_waits_for_a_state_is_woken_once(ros):
    monitor = Monitor(ros.observer, '', lockstep=True)
    imu = ros.publisher(Imu, '/imu/data', 100)
    found = Counter()

    def is_there():
        found[threading.current_thread()] += 1
        return monitor.counts['imu/data'] == 20

    def publish():
        with monitor.arrived:
            for _ in range(20):
                imu.publish(Imu())

    publisher = threading.Thread(target=publish)
    with monitor.arrived:
        publisher.start()
        assert monitor.wait_for_state(is_there, 20.0)
    publisher.join()
    # Before and after; for each message the receiving thread asks.
    assert found.pop(threading.current_thread()) == 2
    assert [*found.values()] == [20]


def test_what_was_heard_after_the_end_is_not_of_the_flight(ros):
    monitor = Monitor(ros.observer, '')
    fix = ros.publisher(NavSatFix, '/fix', 100)
    for second in range(5):
        message = NavSatFix(latitude=47.0)
        message.header.stamp.sec = second
        fix.publish(message)
    ros.wait_for(lambda: monitor.counts['fix'] == 5, 'all of them')
    assert monitor.newest() == monitor.newest(4.0) == {'fix': 4.0}
    assert monitor.newest(2.5) == {'fix': 2.0}
    assert monitor.newest(-1.0) == {'fix': -math.inf}


def test_until_something_is_due_few_messages_are_looked_at(ros):
    monitor = Monitor(ros.observer, '', lockstep=True)
    fix = ros.publisher(NavSatFix, '/fix', 100)
    imu = ros.publisher(Imu, '/imu/data', 100)
    monitor.wait_only_for(2.0)
    count = 0

    def publish(begin, end):
        nonlocal count
        count += end - begin
        for tick in range(begin, end):
            for publisher, message in ((fix, NavSatFix(altitude=float(tick))), (imu, Imu())):
                message.header.stamp.sec, rest = divmod(tick, 50)
                message.header.stamp.nanosec = rest * 20_000_000
                publisher.publish(message)
        # No more than the queues hold.
        ros.wait_for(lambda: all(
            monitor.counts[topic] == count for topic in ('fix', 'imu/data')), 'all of them')

    for begin in range(0, 100, 10):
        publish(begin, begin + 10)
        # Close to what is due nothing may wait.
        assert (monitor.pause() > 0.0) == (begin <= 60)
    times = monitor.series['altitude'].times
    # Ten per second, as far as there are so many.
    assert 15 <= len(times) <= 20
    publish(100, 105)
    assert list(times[-5:]) == pytest.approx([2.0, 2.02, 2.04, 2.06, 2.08])
    assert monitor.last('altitude') == 104.0
    # While the experiment commands itself, of others than the attitude the stamps are enough.
    monitor.wait_only_for(2.0, 3.0)
    altitudes, rolls = len(times), len(monitor.series['roll'].times)
    publish(105, 110)
    assert len(times) == altitudes + 1
    assert len(monitor.series['roll'].times) == rolls + 5
    assert monitor.stamps['fix'] == pytest.approx(2.18)
    # After a restart of the simulator too.
    publish(1, 2)
    assert monitor.last('altitude') == 1.0
