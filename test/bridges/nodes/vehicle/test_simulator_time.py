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

"""ROS time from a simulator's own clock: close to it, monotonic, and restarts are reported."""

from contextlib import contextmanager
import math
import re
from types import SimpleNamespace

from hypothesis import given
from hypothesis import strategies as st
import pytest

pytest.importorskip('rclpy', reason='rclpy is not installed')
pytest.importorskip('xplane_bridge.msg', reason='the messages are not built')

from kept_ports import kept_endpoint
from nav_msgs.msg import Odometry
from rcl_interfaces.msg import Log
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import NavSatFix

from harness import free_port, process
from xplane_bridge.bridges.nodes.common.diagnostics import OK, WARN
from xplane_bridge.bridges.nodes.vehicle.clock import SimulatorClock, SimulatorTime
from xplane_bridge.bridges.xpc.node import XpcNode
from xplane_bridge.bridges.xplane_udp.node import XplaneUdpNode
from xplane_bridge.simulation.peers.server import running
from xplane_bridge.simulation.peers.xplane_udp.frontend import XplaneUdpFrontend

MICROSECOND = 1_000


def seconds(stamp):
    return stamp.sec + stamp.nanosec * 1e-9


def stamps(*updates, simulated=None):
    """Return the stamps in seconds for (simulator time, paused) pairs, each a new state."""
    simulated = simulated or SimulatorTime()
    return [
        simulated.stamp(time, paused, number) * 1e-9
        for number, (time, paused) in enumerate(updates)]


# The arithmetic.

def test_it_begins_with_the_simulators_own_time_and_counts_long_gaps():
    assert stamps((46.9, False), (47.0, False), (58.5, False)) == pytest.approx([46.9, 47.0, 58.5])


def test_it_stands_still_in_a_pause_also_if_the_simulators_time_does_not():
    assert stamps(
        (100.0, False), (100.5, False), (101.0, True), (103.0, True), (103.5, False)
    ) == pytest.approx([100.0, 100.5, 101.0, 101.0, 101.5], abs=1e-5)


def test_a_restart_is_a_jump_after_which_time_goes_on():
    simulated = SimulatorTime()
    assert stamps((46.9, False), (0.0, False), (1.0, False), simulated=simulated) == (
        pytest.approx([46.9, 46.9, 47.9], abs=1e-5))
    assert (simulated.jumps, simulated.jumped_ns) == (1, 46_900_000_000)
    assert simulated.jump_s == pytest.approx(-46.9)
    # The bridge's next process does not start at 0 either.
    assert stamps((1.0, False)) == [1.0]


def test_another_state_of_the_same_time_is_a_microsecond_later_and_the_same_is_not():
    simulated = SimulatorTime()
    first = simulated.stamp(10.0, True, 'here')
    assert simulated.stamp(10.0, True, 'here') == first
    moved = simulated.stamp(10.0, True, 'there')
    assert moved == first + MICROSECOND
    assert simulated.stamp(10.0, True, 'there') == moved
    # float32 at ten seconds: the next representable value is later than that.
    assert simulated.stamp(10.000001, False, 'on') == moved + MICROSECOND
    assert simulated.stamp(10.02, False, 'further') == 10_020_000_000
    assert simulated.jumps == 0


def test_a_reply_that_was_overtaken_is_no_restart():
    simulated = SimulatorTime()
    own = simulated.stamp(10.02, False, 'own', 0)
    # From the previous frame, about another aircraft.
    assert simulated.stamp(10.0, False, 'other', 1) == 10_000_000_000
    assert simulated.stamp(10.0, False, 'late', 0) == own + MICROSECOND
    assert simulated.now_ns == own + MICROSECOND
    assert simulated.jumps == 0


def test_old_replies_about_another_aircraft_are_no_restart_and_a_restart_is_one_jump():
    simulated = SimulatorTime()
    simulated.stamp(10.0, False, 'own', 0)
    simulated.stamp(9.4, False, 'other', 1)
    simulated.stamp(10.02, False, 'own on', 0)
    simulated.stamp(9.5, False, 'other on', 1)
    assert (simulated.jumps, simulated.now_ns) == (0, 10_020_000_000)
    # Both are received after it.
    assert simulated.stamp(0.5, False, 'other anew', 1) == 10_020_000_000 + MICROSECOND
    assert simulated.stamp(0.5, False, 'own anew', 0) == 10_020_000_000 + MICROSECOND
    assert simulated.stamp(1.5, False, 'own later', 0) == 11_020_000_000 + MICROSECOND
    assert simulated.jumps == 1


@pytest.mark.parametrize('bad', [None, math.nan, math.inf, -1.0, 1e30])
def test_a_time_that_is_none_is_not_believed(bad):
    simulated = SimulatorTime()
    assert simulated.stamp(bad, False, 1) is None
    assert simulated.stamp(5.0, False, 2) == 5_000_000_000
    assert simulated.stamp(bad, False, 3) == 5_000_000_000 + MICROSECOND
    assert simulated.stamp(5.5, False, 4) == 5_500_000_000


def test_a_stamp_is_never_0():
    assert SimulatorTime().stamp(0.0, False, 1) > 0


@given(st.lists(st.tuples(
    st.one_of(st.none(), st.floats(), st.floats(0.0, 100.0)), st.booleans(), st.integers(0, 2),
    st.integers(0, 2))))
def test_it_never_goes_back_and_no_two_states_have_one_stamp(updates):
    simulated = SimulatorTime()
    newest, before = 0, {}
    for time, paused, state, vehicle in updates:
        stamp = simulated.stamp(time, paused, state, vehicle)
        if stamp is None:
            continue
        assert simulated.now_ns >= newest
        assert simulated.now_ns >= stamp > 0
        newest = simulated.now_ns
        if vehicle in before:
            last, last_state = before[vehicle]
            assert stamp > last or (stamp == last and state == last_state)
        before[vehicle] = stamp, state


def test_without_a_time_a_sentence_is_said_once_and_nothing_is_stamped():
    sentences = []
    node = SimpleNamespace(
        active=True, make_publisher=lambda kind, topic: None,
        warn=lambda kind, sentence: sentences.append(sentence))
    clock = SimulatorClock(node, SimulatorTime())
    assert [clock.stamp(None, False, 1), clock.stamp(None, False, 2), clock.now_ns] == [None] * 3
    assert len(sentences) == 1
    status = clock.diagnose()
    assert status.level == WARN
    assert 'has not reported its time' in status.message


# Through real nodes.

@contextmanager
def _xpc(x_plane):
    peer = x_plane()
    yield peer.server, XpcNode, {'port': peer.port}


@contextmanager
def _xplane_udp(_, version=12):
    data_port = free_port()
    frontend = XplaneUdpFrontend(kept_endpoint(), version, sender=kept_endpoint())
    with running(frontend) as server:
        yield server, XplaneUdpNode, {
            'port': frontend.endpoint.address[1], 'data_port': data_port, 'version': str(version)}


@contextmanager
def _rows(_):
    with _xplane_udp(_, 9) as made:
        yield made


def aged(world):
    """Let the simulator run for a while first."""
    world.total_running_time = 46.9


@pytest.mark.parametrize('make', [_xpc, _xplane_udp, _rows])
def test_ros_time_through_configuration_gap_new_flight_and_restart(ros, x_plane, make):
    ros.subscribe(Clock, '/clock', 1000)
    ros.subscribe(Odometry, 'odom', 1000)
    ros.subscribe(Log, '/rosout', 1000)
    with make(x_plane) as (server, kind, given):
        server.call(aged)
        node = ros.start(kind, stamp='simulator', **given)

        def newest():
            return seconds(ros.next('/clock', 3).clock)

        def transitions(*names):
            for name in names:
                ros.run_in(node, getattr(node, f'trigger_{name}'))

        first = newest()
        # It is the simulator's own time, not 0.
        assert 46.9 <= first <= server.call(lambda world: world.total_running_time) + 1e-3
        transitions('deactivate', 'cleanup', 'configure', 'activate')
        again = newest()
        assert again > first

        # Nothing is received for 11.5 s, in which 688 m are flown.
        transitions('deactivate')
        ros.wait_for(lambda: not node.active, 'the gap')
        with ros.changed:
            before = len(ros.messages['odom'])

        def fly(world):
            world.total_running_time += 11.5

        server.call(fly)
        transitions('activate')
        ros.wait_for(lambda: len(ros.messages['odom']) > before, 'odom after the gap')
        stamps = [seconds(message.header.stamp) for message in ros.messages['odom']]
        assert stamps[before] - stamps[before - 1] > 11.5

        # X-Plane's running time continues through a new flight.
        server.call(lambda _: server.simulation.reset_flight())
        flown = newest()
        level, _, values = ros.diagnosed('clock', node=node)
        assert (level, values['jumps']) == (OK, '0')

        # A restart.
        server.switch_off()
        server.switch_on()
        ros.wait_for(lambda: node._simulator_time.jumps, 'the jump')
        assert newest() > flown
        assert server.call(lambda world: world.total_running_time) < 46.0
        level, sentence, values = ros.diagnosed(
            'clock', lambda level, *_: level == WARN, node=node)
        size, at = re.search(r'back by (\S+) s.*continues from (\S+) s', sentence).groups()
        assert (values['jumps'], values['last jump, s']) == ('1', f'-{size}')
        assert values['last jump at ROS time, s'] == at
        assert float(size) > 46.9
        assert float(at) > flown - 1e-3
        ros.wait_for(lambda: any('stepped back' in log.msg for log in ros.messages['/rosout']),
                     'the sentence')

        with ros.changed:
            clock = [message.clock for message in ros.messages['/clock']]
            odom = list(ros.messages['odom'])
        times = [(stamp.sec, stamp.nanosec) for stamp in clock]
        assert times == sorted(times)
        assert sum('stepped back' in log.msg for log in ros.messages['/rosout']) == 1
        # No two positions share a stamp.
        places = {}
        for message in odom:
            stamp = message.header.stamp.sec, message.header.stamp.nanosec
            place = message.pose.pose.position
            assert places.setdefault(stamp, place) == place


def test_a_bridge_that_is_started_again_goes_on_near_the_simulators_time(ros, x_plane):
    peer = x_plane()
    peer.server.call(aged)
    ros.subscribe(NavSatFix, '/fix', 1000)

    def newest():
        with process('xpc_node', '--ros-args', '-p', f'port:={peer.port}',
                     '-p', 'stamp:=simulator'):
            return seconds(ros.next('/fix', 3).header.stamp)

    first = newest()
    assert 46.9 < first <= peer.world('total_running_time') + 1e-3
    assert first < newest() <= peer.world('total_running_time') + 1e-3


def test_x_plane_7_which_says_no_time_cannot_be_stamped_by_it(ros):
    node = ros.start(XplaneUdpNode, configure=False, version='7', stamp='simulator')
    ros.run_in(node, node.trigger_configure)
    assert 'does not send its time' in node.failed
