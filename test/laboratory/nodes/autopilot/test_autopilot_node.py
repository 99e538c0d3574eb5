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

"""The autopilot node, through real topics against the simulated X-Plane."""

import math
from types import SimpleNamespace

import pytest

pytest.importorskip('rclpy', reason='rclpy is not installed')
pytest.importorskip('xplane_bridge.msg', reason='the messages are not built')
pytest.importorskip('jsbsim', reason='the simulators need jsbsim')

from masked import masked
from nav_msgs.msg import Odometry
import rclpy
from sensor_msgs.msg import Imu, NavSatFix
from std_srvs.srv import SetBool

from xplane_bridge.bridges.nodes.common.latched import LATCHED
from xplane_bridge.bridges.xpc.node import XpcNode
from xplane_bridge.laboratory.nodes.autopilot import AutopilotNode
from xplane_bridge.laboratory.nodes.autopilot import node as autopilot
from xplane_bridge.laboratory.nodes.flight.recorders import is_recorded, RecorderWait
from xplane_bridge.msg import AirData, AutopilotTarget, FlightControls


@pytest.fixture
def flight(ros, simulator):
    """Bring up simulator, bridge and autopilot."""
    port = simulator('xpc')
    ros.subscribe(FlightControls, '/command/controls')
    ros.subscribe(Imu, '/imu/data')
    ros.subscribe(NavSatFix, '/fix')
    ros.subscribe(AutopilotTarget, '/autopilot/active_target', LATCHED)
    ros.start(XpcNode, port=port, rate=50.0)
    ros.next('/fix')
    return ros


def engage(ros, on=True):
    return ros.call(SetBool, '/autopilot/engage', SetBool.Request(data=on))


def active_target(ros, number=0):
    """Return one of the targets, by its number, also if it came before somebody asks."""
    topic = '/autopilot/active_target'
    return ros.wait_for(lambda: ros.messages[topic][number:], f'target {number}')[0]


def test_it_commands_nothing_until_engaged_and_nothing_after(flight):
    flight.start(AutopilotNode)
    flight.wait_for(lambda: engage(flight).success, 'telemetry at the autopilot')
    first = flight.next('/command/controls')
    assert first.elevator == pytest.approx(0.0, abs=0.05)
    assert 0.3 < first.throttle < 1.0
    assert math.isnan(first.gear)
    assert math.isnan(first.flaps)
    released = engage(flight, False)
    assert released.success
    # What then becomes of the controls is the bridge's part.
    for what in ('no more commands are sent', 'command_timeout', 'on_command_timeout',
                 'neutral centres the surfaces', 'hold leaves', 'release gives'):
        assert what in released.message
    count = len(flight.messages['/command/controls'])
    flight.next('/imu/data', 20)
    assert len(flight.messages['/command/controls']) - count <= 1
    assert engage(flight, False).message == 'not engaged'


def test_a_new_heading_on_the_topic_banks_the_aircraft(flight):
    flight.start(AutopilotNode, engage=True)
    held = active_target(flight)
    targets = flight.publisher(AutopilotTarget, '/command/target')
    targets.publish(masked(AutopilotTarget, true_heading=held.true_heading + 1.0))
    target = active_target(flight, 1)
    assert target.altitude == held.altitude
    assert target.true_heading == pytest.approx(held.true_heading + 1.0)

    def bank(message):
        # Body FLU to ENU: the left axis points up by sin(bank) when the right wing is down.
        q = message.orientation
        return 2.0 * (q.y * q.z + q.w * q.x)

    flight.next('/imu/data', where=lambda message: bank(message) > math.sin(math.radians(15.0)))


def test_targets_may_come_as_parameters(flight):
    flight.start(AutopilotNode, engage=True, altitude=1600.0, true_heading_deg=45.0, airspeed=48.0)
    target = active_target(flight)
    assert target.altitude == 1600.0
    assert target.true_heading == pytest.approx(math.radians(45.0))
    assert target.airspeed == 48.0


def test_engaging_without_telemetry_is_refused_with_a_sentence(ros):
    ros.start(AutopilotNode)
    response = engage(ros)
    assert not response.success
    assert 'telemetry' in response.message


def test_old_telemetry_is_not_flown_by(ros):
    ros.subscribe(FlightControls, '/command/controls')
    ros.start(AutopilotNode, engage=True)
    imu, fix, air = (
        ros.publisher(kind, topic) for kind, topic in
        ((Imu, '/imu/data'), (NavSatFix, '/fix'), (AirData, '/air_data')))
    level = Imu()
    level.orientation.w = 1.0

    def publish(all_of_it):
        level.header.stamp.nanosec += 20_000_000
        if all_of_it:
            fix.publish(NavSatFix(altitude=1000.0))
            air.publish(AirData(indicated_airspeed=50.0))
        imu.publish(level)

    def commanded(count):
        publish(True)
        return len(ros.messages['/command/controls']) > count

    ros.wait_for(lambda: commanded(3), 'commands')

    def silent():
        # Attitude keeps arriving, altitude and airspeed do not.
        publish(False)
        silent.calls += 1
        before, silent.count = silent.count, len(ros.messages['/command/controls'])
        silent.quiet = silent.quiet + 1 if before == silent.count else 0
        level.header.stamp.nanosec %= 900_000_000
        return silent.quiet >= 10

    silent.calls = silent.quiet = silent.count = 0
    ros.wait_for(silent, 'the autopilot to stop')


class Vehicle:
    """The topics of a stationary vehicle, and the commands it receives."""

    def __init__(self, ros):
        self.ros = ros
        ros.subscribe(FlightControls, '/command/controls')
        kinds = {'fix': NavSatFix, 'air_data': AirData, 'controls': FlightControls,
                 'imu/data': Imu, 'odom': Odometry}
        self.publishers = {
            topic: ros.publisher(kind, f'/{topic}', 10) for topic, kind in kinds.items()}
        self.messages = {
            'fix': NavSatFix(altitude=1000.0), 'air_data': AirData(indicated_airspeed=50.0),
            'controls': masked(FlightControls, elevator=0.125, throttle=0.5),
            'imu/data': Imu(), 'odom': Odometry()}
        self.messages['imu/data'].orientation.w = 1.0

    def publish(self, milliseconds, *topics):
        """Publish some topics, by default all, with a stamp."""
        for topic in topics or self.publishers:
            message = self.messages[topic]
            message.header.stamp.nanosec = milliseconds * 1_000_000
            self.publishers[topic].publish(message)

    def commanded(self):
        """Return the stamps of all commands, in ms."""
        return [message.header.stamp.nanosec // 1_000_000
                for message in self.ros.messages['/command/controls']]


def test_in_lockstep_each_update_is_commanded_for_once(ros):
    node = ros.start(AutopilotNode, engage=True, lockstep=True)
    vehicle = Vehicle(ros)
    ros.wait_for(lambda: node.count_subscribers('/command/controls'), 'who hears commands')
    # Whatever order the topics arrive in.
    vehicle.publish(0, 'imu/data', 'fix')
    vehicle.publish(0, 'controls', 'odom', 'air_data')
    ros.wait_for(lambda: vehicle.commanded() == [0], 'the first command')
    first = ros.messages['/command/controls'][0]
    assert (first.elevator, first.throttle) == pytest.approx((0.125, 0.5))
    # The first update is incomplete, the second a repeat, the third complete.
    vehicle.publish(17, 'imu/data', 'air_data', 'controls', 'odom')
    vehicle.publish(0)
    vehicle.publish(33)
    ros.wait_for(lambda: vehicle.commanded() == [0, 33], 'the second command')


def test_in_lockstep_a_command_is_repeated_when_its_state_keeps_coming(ros):
    node = ros.start(AutopilotNode, engage=True, lockstep=True)
    vehicle = Vehicle(ros)
    ros.wait_for(lambda: node.count_subscribers('/command/controls'), 'who hears commands')

    published = 0

    def commands(count):
        nonlocal published
        vehicle.publish(0)
        published += 1
        return len(ros.messages['/command/controls']) >= count

    ros.wait_for(lambda: commands(1), 'the first command')
    begin = node._commanded_at
    ros.wait_for(lambda: commands(2), 'the command again')
    assert node._commanded_at - begin >= 1.0
    # Elapsed time alone, as on a stalled machine, is no sign of a lost command.
    published = 0
    node._commanded_at -= 10.0
    ros.wait_for(lambda: commands(3), 'the command once more')
    # Ten may have been waiting in the subscription.
    assert published > 10
    first, second = ros.messages['/command/controls'][:2]
    assert all(getattr(first, name) == getattr(second, name)
               for name in ('header', 'elevator', 'aileron', 'rudder', 'throttle'))


def test_in_lockstep_no_command_is_repeated_for_what_a_stopped_bridge_had_waiting(
        ros, monkeypatch):
    now = 100.0
    monkeypatch.setattr(autopilot, 'time', SimpleNamespace(monotonic=lambda: now))
    node = ros.start(AutopilotNode, engage=True, lockstep=True)
    vehicle = Vehicle(ros)
    ros.wait_for(lambda: node.count_subscribers('/command/controls'), 'who hears commands')
    ros.wait_for(lambda: vehicle.publish(0) or vehicle.commanded(), 'the command')

    def repeated(times):
        ros.wait_for(lambda: vehicle.publish(0) or node._repeated >= times, 'the state again')

    # Stopped for five seconds, it then hands on one state after the other.
    now += 5.0
    repeated(50)
    assert vehicle.commanded() == [0]
    # The state keeps coming, so the command was lost.
    for _ in range(3):
        now += 0.4
        repeated(node._repeated + 1)
    ros.wait_for(lambda: vehicle.commanded() == [0, 0], 'the command again')


def test_in_lockstep_engaging_later_commands_for_the_update_that_waits(ros):
    node = ros.start(AutopilotNode, lockstep=True)
    vehicle = Vehicle(ros)
    ros.wait_for(lambda: node.count_subscribers('/command/controls'), 'who hears commands')

    def engaged():
        vehicle.publish(17)
        return engage(ros).success

    ros.wait_for(engaged, 'telemetry')
    assert vehicle.commanded() == []

    def commanded():
        vehicle.publish(17)
        return vehicle.commanded()

    assert ros.wait_for(commanded, 'the command') == [17]


def test_it_engages_at_the_stamp_it_is_told_however_far_behind_it_is(ros):
    node = ros.start(AutopilotNode, lockstep=True)
    vehicle = Vehicle(ros)
    ros.wait_for(lambda: node.count_subscribers('/command/controls'), 'who hears commands')
    assert ros.change(node, engage_at=0.033).successful
    # These are still in its queues when it is told.
    for milliseconds in (0, 17, 33):
        vehicle.publish(milliseconds)
    ros.wait_for(lambda: vehicle.commanded() == [33], 'the command')
    # Only once: disengaging it afterwards is respected.
    assert engage(ros, False).success
    vehicle.publish(50)
    assert ros.change(node, engage_at=0.067).successful
    vehicle.publish(67)
    ros.wait_for(lambda: vehicle.commanded() == [33, 67], 'the next command')


def test_in_lockstep_it_holds_at_a_stamp_until_that_moves_on(ros):
    ros.subscribe(AutopilotTarget, '/autopilot/active_target', LATCHED)
    node = ros.start(AutopilotNode, lockstep=True, hold_at=0.0)
    vehicle = Vehicle(ros)
    ros.wait_for(lambda: node.count_subscribers('/command/controls'), 'who hears commands')
    vehicle.publish(17)
    ros.wait_for(lambda: node._last, 'the update')
    assert ros.change(node, engage_at=0.017).successful
    ros.wait_for(lambda: ros.messages['/autopilot/active_target'], 'the autopilot to engage')
    assert vehicle.commanded() == []
    assert ros.change(node, hold_at=0.05).successful
    ros.wait_for(lambda: vehicle.commanded() == [17], 'the first command')
    for milliseconds in (33, 50):
        vehicle.publish(milliseconds)
    ros.wait_for(lambda: node._held, 'the update that is held')
    # However often it comes.
    vehicle.publish(50)
    ros.wait_for(lambda: node._repeated, 'the update again')
    assert vehicle.commanded() == [17, 33]
    # A target that arrives now counts for this update.
    ros.publisher(AutopilotTarget, '/command/target').publish(
        masked(AutopilotTarget, altitude=1200.0))
    ros.wait_for(lambda: ros.messages['/autopilot/active_target'][-1].altitude == 1200.0,
                 'the target')
    assert ros.change(node, hold_at=math.nan).successful
    ros.wait_for(lambda: vehicle.commanded() == [17, 33, 50], 'the command that was held')
    first, _, held = ros.messages['/command/controls']
    assert held.elevator > first.elevator


def test_in_lockstep_it_waits_for_all_who_shall_hear_its_commands(ros):
    ros.subscribe(AutopilotTarget, '/autopilot/active_target', LATCHED)
    node = ros.start(AutopilotNode, lockstep=True, subscribers=2, engage=True)
    vehicle = Vehicle(ros)
    ros.wait_for(lambda: node.count_subscribers('/command/controls') == 1, 'who hears commands')
    vehicle.publish(17)
    ros.wait_for(lambda: node._held, 'the update')
    vehicle.publish(17)
    ros.wait_for(lambda: node._repeated, 'the update again')
    assert vehicle.commanded() == []
    heard = []
    ros.observer.create_subscription(FlightControls, '/command/controls', heard.append, 10)

    def commanded():
        vehicle.publish(17)
        return vehicle.commanded()

    assert ros.wait_for(commanded, 'the command') == [17]
    ros.wait_for(lambda: heard, 'the command at the second')


def test_in_lockstep_it_waits_for_the_recorder_of_all_that_is_published(ros):
    node = ros.start(AutopilotNode, lockstep=True, wait_for_recorder=True, engage=True)
    vehicle = Vehicle(ros)
    vehicle.publish(17)
    ros.wait_for(lambda: node._held, 'the update')
    topics = [*(one.topic_name for one in vehicle.publishers.values()), '/command/controls']
    recorder = rclpy.create_node('record', context=ros.context)
    try:
        for publisher in vehicle.publishers.values():
            recorder.create_subscription(publisher.msg_type, publisher.topic_name, id, 10)
        ros.wait_for(lambda: all(is_recorded(node, topic) for topic in topics[:-1]), 'most')
        wait = RecorderWait(node, topics)
        assert not any(map(wait.is_over, (0.0, 100.0, 200.0)))
        assert vehicle.commanded() == []
        recorder.create_subscription(FlightControls, topics[-1], id, 10)
        ros.wait_for(lambda: is_recorded(node, topics[-1]), 'the rest')
        # Where they publish it is known a moment later.
        assert [*map(wait.is_over, (300.0, 300.4, 300.6))] == [False, False, True]

        def commanded():
            vehicle.publish(17)
            return vehicle.commanded()

        assert ros.wait_for(commanded, 'the command') == [17]
    finally:
        recorder.destroy_node()


def test_a_target_engages_at_its_stamp_and_a_release_ends_that_at_its_own(ros):
    # Latched, and published before the autopilot is there.
    early = ros.observer.create_publisher(AutopilotTarget, '/command/target', LATCHED)
    target = masked(AutopilotTarget, altitude=1000.0, true_heading=1.0, airspeed=50.0)
    target.header.stamp.nanosec = 33_000_000
    early.publish(target)
    ros.subscribe(AutopilotTarget, '/autopilot/active_target', LATCHED)
    node = ros.start(AutopilotNode, lockstep=True)
    vehicle = Vehicle(ros)
    ros.wait_for(lambda: node.count_subscribers('/command/controls'), 'who hears commands')
    ros.wait_for(lambda: node._waiting, 'the target')
    for milliseconds in (17, 33):
        vehicle.publish(milliseconds)
    ros.wait_for(lambda: vehicle.commanded() == [33], 'the first command')
    assert [message.true_heading for message in ros.messages['/autopilot/active_target']] == [1.0]
    release = AutopilotTarget(fields=AutopilotTarget.RELEASE)
    release.header.stamp.nanosec = 67_000_000
    targets = ros.publisher(AutopilotTarget, '/command/target')
    targets.publish(release)
    ros.wait_for(lambda: node._waiting, 'the release')
    for milliseconds in (50, 67):
        vehicle.publish(milliseconds)
    ros.wait_for(lambda: not node._engaged, 'the release')
    # The simulator waits at this state: it is commanded for at once.
    targets.publish(masked(AutopilotTarget, airspeed=48.0))
    ros.wait_for(lambda: vehicle.commanded() == [33, 50, 67], 'the command')
    targets.publish(AutopilotTarget(fields=AutopilotTarget.RELEASE))
    targets.publish(masked(AutopilotTarget, airspeed=49.0))
    ros.wait_for(lambda: ros.messages['/autopilot/active_target'][-1].airspeed == 49.0, 'it')
    # But once only.
    vehicle.publish(83)
    ros.wait_for(lambda: vehicle.commanded() == [33, 50, 67, 83], 'the last command')


@pytest.mark.parametrize(('fields', 'seconds', 'words'), [
    (AutopilotTarget.RELEASE | AutopilotTarget.ALTITUDE, 0, 'goes alone'),
    (AutopilotTarget.ALTITUDE, 1_800_000_000, 'another clock'),
])
def test_a_release_with_more_and_a_stamp_of_another_clock_are_refused(
        ros, fields, seconds, words):
    node = ros.start(AutopilotNode, lockstep=True)
    vehicle = Vehicle(ros)
    vehicle.publish(17)
    ros.wait_for(lambda: node._last, 'the update')
    said = []
    node.refuse = lambda what, error: said.append(str(error))
    target = AutopilotTarget(fields=fields, altitude=1000.0)
    target.header.stamp.sec = seconds
    ros.publisher(AutopilotTarget, '/command/target').publish(target)
    ros.wait_for(lambda: said, 'the refusal')
    assert words in said[0]


def test_an_airspeed_that_is_not_indicated_is_taken_as_true_airspeed(ros):
    ros.subscribe(AutopilotTarget, '/autopilot/active_target', LATCHED)
    ros.start(AutopilotNode, engage=True)
    imu, fix, air = (
        ros.publisher(kind, topic) for kind, topic in
        ((Imu, '/imu/data'), (NavSatFix, '/fix'), (AirData, '/air_data')))
    level = Imu()
    level.orientation.w = 1.0
    level.header.stamp.sec = 12

    def engaged():
        fix.publish(NavSatFix(altitude=1000.0))
        air.publish(AirData(indicated_airspeed=math.nan, true_airspeed=61.0))
        imu.publish(level)
        return ros.messages['/autopilot/active_target']

    ros.wait_for(engaged, 'the autopilot to engage')
    held = ros.messages['/autopilot/active_target'][-1]
    assert held.airspeed == 61.0
    # It holds the state in which the autopilot was engaged.
    assert held.header.stamp == level.header.stamp
