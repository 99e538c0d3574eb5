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

"""Simulators' time at its bounds, and what the clock publishes and says of it; without a node."""

from types import SimpleNamespace

import pytest

pytest.importorskip('rclpy', reason='rclpy is not installed')
pytest.importorskip('xplane_bridge.msg', reason='the messages are not built')

from xplane_bridge.bridges.nodes.common.diagnostics import OK, STALE, WARN
from xplane_bridge.bridges.nodes.vehicle import clock as clocks
from xplane_bridge.bridges.nodes.vehicle.clock import SimulatorClock, SimulatorTime


def stamped(*updates):
    """Return the time after updates: seconds, paused, and who it is about; and the stamps (us)."""
    simulated = SimulatorTime()
    stamps = [simulated.stamp(seconds, paused, number, vehicle)
              for number, (seconds, paused, vehicle) in enumerate(updates)]
    return simulated, [stamp // 1000 for stamp in stamps]


@pytest.mark.parametrize(('back', 'jumps'), [(0.25, 1), (0.200001, 1), (0.2, 0), (0.1, 0)])
def test_a_step_back_of_more_than_a_fifth_of_a_second_is_a_restart(back, jumps):
    simulated, stamps = stamped((10.0, False, 0), (10.0 - back, False, 0))
    assert simulated.jumps == jumps
    assert simulated.jump_s == pytest.approx(-back * jumps)
    assert stamps == [10_000_000, 10_000_001]


def test_a_restart_and_the_first_reply_of_another_aircraft_is_no_restart_twice():
    simulated, stamps = stamped(
        (10.0, False, 0), (10.0, False, 1), (1.0, False, 0), (1.0, False, 1), (1.5, False, 1),
        (1.5, False, 0))
    assert simulated.jumps == 1
    assert stamps == [10_000_000, 10_000_000, 10_000_001, 10_000_001, 10_500_001, 10_500_001]


def test_a_pause_that_is_told_without_time_counts_from_then_on():
    _, stamps = stamped(
        (10.0, False, 0), (10.0, True, 0), (12.0, True, 0), (13.0, False, 0), (14.0, False, 0))
    # The last one of the pause says that it is over: until then it stood still.
    assert stamps == [10_000_000, 10_000_001, 10_000_002, 11_000_000, 12_000_000]
    _, stamps = stamped((10.0, True, 0), (10.0, False, 0), (12.0, True, 0), (12.5, True, 0))
    assert stamps == [10_000_000, 10_000_001, 12_000_000, 12_000_001]
    # An older reply about another aircraft says nothing of now.
    _, stamps = stamped((10.0, True, 0), (9.0, False, 1), (12.0, True, 0))
    assert stamps == [10_000_000, 9_000_000, 10_000_001]


def test_a_pause_is_over_also_after_a_restart():
    _, stamps = stamped((10.0, True, 0), (1.0, True, 0), (2.0, True, 0), (3.0, False, 0))
    assert stamps == [10_000_000, 10_000_001, 10_000_002, 11_000_001]


def test_a_vehicle_that_is_forgotten_begins_anew():
    simulated, _ = stamped((10.0, False, 1))
    simulated.forget(1)
    simulated.forget(7)
    # It is compared with nothing: no restart.
    assert simulated.stamp(1.0, False, 'x', 1) == 10**9
    assert simulated.jumps == 0


def test_the_last_time_of_a_message_is_the_last():
    last = (2**31 - 1) * 10**9
    simulated = SimulatorTime()
    assert simulated.stamp(2.0**31 - 1.0, False, 1) is None
    assert simulated.stamp(2.0**31 - 2.0, False, 2) == last - 10**9
    simulated._offset_ns = 5 * 10**9
    assert simulated.stamp(2.0**31 - 1.5, False, 3) == last


class Node:
    """A node with somebody who subscribes to /clock, or nobody."""

    def __init__(self, subscribers=1):
        self.active, self.told, self.published = True, [], []
        self.subscribers = subscribers

    def make_publisher(self, kind, topic):
        assert topic == '/clock'
        return SimpleNamespace(
            get_subscription_count=lambda: self.subscribers,
            publish=lambda message: self.published.append(
                (message.clock.sec, message.clock.nanosec)))

    def warn(self, kind, sentence):
        self.told.append((kind, sentence))


def test_the_newest_time_is_published_to_who_listens():
    node = Node()
    clock = SimulatorClock(node, SimulatorTime())
    assert clock.now_ns is None
    assert clock.stamp(10.25, False, 'here', 0) == 10_250_000_000
    assert clock.stamp(10.125, False, 'there', 1) == 10_125_000_000
    assert clock.now_ns == 10_250_000_000
    assert node.published == [(10, 250_000_000)] * 2
    nobody = Node(subscribers=0)
    assert SimulatorClock(nobody, SimulatorTime()).stamp(10.25, False, 'here') is not None
    assert nobody.published == []


def test_a_jump_is_warned_of_for_a_minute(monkeypatch):
    now = [1000.0]
    monkeypatch.setattr(clocks, 'time', SimpleNamespace(monotonic=lambda: now[0]))
    node, simulated = Node(), SimulatorTime()
    clock = SimulatorClock(node, simulated)
    status = clock.diagnose()
    assert (status.level, status.message) == (
        WARN, 'stamp is simulator, but the simulator has not reported its time: nothing is '
        'published')
    clock.stamp(46.9, False, 1)
    status = clock.diagnose()
    assert (status.level, status.message) == (OK, "the simulator's time is published")
    assert dict(status.values) == {'ROS time, s': '46.900', 'jumps': '0'}
    clock.stamp(0.5, False, 2)
    clock.stamp(0.75, False, 3)
    sentence = ("the simulator's time stepped back by 46.400 s, as after a restart; ROS time "
                'continues from 46.900 s')
    assert node.told == [('jump', sentence)]
    now[0] += 59.9
    assert (clock.diagnose().level, clock.diagnose().message) == (WARN, sentence)
    now[0] += 0.1
    assert clock.diagnose().level == OK
    assert dict(clock.diagnose().values) == {
        'ROS time, s': '47.150', 'jumps': '1', 'last jump, s': '-46.400',
        'last jump at ROS time, s': '46.900'}
    node.active = False
    assert (clock.diagnose().level, clock.diagnose().message) == (STALE, 'not active')
    # One that is made anew has nothing to tell of jumps before.
    again = SimulatorClock(node, simulated)
    again.stamp(1.0, False, 4)
    assert len(node.told) == 1
