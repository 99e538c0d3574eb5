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

"""Nodes keep to their budgets: from a datagram to messages in the middleware, and back."""

from contextlib import contextmanager
from functools import partial

import budgets
from budgets import check, measured, NODE, skip_elsewhere, table
import pytest

pytest.importorskip('rclpy', reason='rclpy is not installed')
pytest.importorskip('xplane_bridge.msg', reason='the messages are not built')

from mould_simpit import CHANNEL as SERIAL
from mould_simpit import Kerbal
from nav_msgs.msg import Odometry
from rclpy.parameter import Parameter
from rclpy.serialization import serialize_message
from sensor_msgs.msg import Imu, NavSatFix
from steady_peers import HEIGHT, huginn_reply, LAT, LON, SteadyPlugin, SteadyXPlane, XPLANE

from xplane_bridge.bridges.fdmdata.node.node import FdmdataNode
from xplane_bridge.bridges.links.loop import SessionLoop
from xplane_bridge.bridges.links.udp import SocketCounters
from xplane_bridge.bridges.sessions.base import PeerState
from xplane_bridge.bridges.simpit import protocol as simpit
from xplane_bridge.bridges.simpit.node.node import SimpitNode
from xplane_bridge.bridges.xpc.node.node import XpcNode
from xplane_bridge.bridges.xplane_udp.node.node import XplaneUdpNode
from xplane_bridge.common.timing import FRAME, SECOND_NS
from xplane_bridge.laboratory.nodes.autopilot.node import AutopilotNode
from xplane_bridge.msg import AirData, FlightControls

PERIOD = 0.02
TRIP = 0.004
# How long after a poll is due it is asked for: no rounding puts that off until replies come.
AFTER = 0.001
RATES = dict.fromkeys(
    ('gps_rate', 'ins_rate', 'imu_rate', 'air_data_rate', 'magnetometer_rate'), 1.0 / PERIOD)


class StillLoop(SessionLoop):
    """A link without a thread, a socket or a clock; what is sent is kept."""

    now = 10.0

    def __init__(self, *given):
        super().__init__(*given, name='still')
        self.sent = []

    def start(self):
        """Start nothing."""

    def wait_for(self, condition, timeout):
        """Wait for nothing: nobody answers."""
        return True

    def counters(self):
        """Return that nothing was counted."""
        return SocketCounters()

    def turn(self):
        """Do what the thread of a link does, but wait."""
        failures = events = ()
        with self.lock:
            if not self._is_at_rest(self.now):
                failures = self._transmit(self.now)
                events = self._take_events()
            self._next_deadline()
        if events or failures:
            self._hand_out(events, round(self.now * 1e9), failures)

    def deliver(self, channel, data, sender=None):
        """Do what the thread does with a datagram."""
        failures = []
        with self.lock:
            events = self._receive(channel, data, sender, failures)
        if events or failures:
            self._hand_out(events, round(self.now * 1e9), failures)
        assert not failures

    def take_sent(self):
        """Return what was sent since the last call."""
        sent, self.sent = self.sent, []
        return sent

    def _now(self):
        return self.now

    def _run(self):
        """Never run."""

    def _transmit(self, now):
        failures = []
        self.sent += [
            (channel, data) for channel, data in self._poll(now, failures) if data]
        return failures

    def _disconnect(self):
        """Nothing is connected."""


@contextmanager
def active(ros, kind, topics, **parameters):
    """Yield an active node that nobody spins, each of its topics heard by a subscriber."""
    class StillNode(kind):
        def make_link(self):
            return StillLoop(self.session, self.on_event, self.on_failure)

    node = StillNode(context=ros.context, parameter_overrides=[
        Parameter(name, value=value) for name, value in parameters.items()])
    try:
        node.trigger_configure()
        node.trigger_activate()
        made = {one.topic_name.lstrip('/'): one for one in node.publishers}
        for topic in topics:
            ros.subscribe(made[topic].msg_type, topic)
        for topic in topics:
            ros.wait_for(made[topic].get_subscription_count, f'a subscriber of {topic}')
        yield node
    finally:
        node.shut_down()
        node.destroy_node()


def subscription(node, topic):
    """Return a node's subscription to a topic."""
    return next(one for one in node.subscriptions if one.topic_name == f'/{topic}')


def callback(node, topic):
    """Return what a node does with a message of a topic."""
    return subscription(node, topic).callback


def command():
    """Return a command of the four controls that every simulator has."""
    return FlightControls(
        fields=FlightControls.ELEVATOR | FlightControls.AILERON | FlightControls.RUDDER
        | FlightControls.THROTTLE, aileron=0.0, rudder=0.0, throttle=0.6)


VEHICLE = ('fix', 'fix_velocity', 'imu/data', 'odom', 'air_data', 'controls', 'engines')
LAW = ('fix', 'air_data', 'controls', 'imu/data', 'odom')


def xpc(ros, meter, commands=False, lockstep=False):
    """Update all topics of an aircraft, or command it; in lockstep both."""
    with active(ros, XpcNode, LAW if lockstep else VEHICLE, rate=1.0 / PERIOD, undulation=0.0,
                plugin='rc6', lockstep=lockstep) as node:
        plugin, link, going = SteadyPlugin(), node.link, True
        message, take = command(), callback(node, 'command/controls')
        update = meter if lockstep or not commands else budgets.Meter()
        while going:
            plugin.now = link.now
            with update:
                link.turn()
            replies = [
                (channel, reply) for channel, data in link.take_sent()
                if (reply := plugin.answer(data))]
            link.now += TRIP
            for channel, reply in replies:
                with update:
                    link.deliver(channel, reply)
            with update:
                link.turn()
            if lockstep or commands:
                message.elevator = 0.01 + link.now * 1e-3
                with meter:
                    take(message)
            link.now += PERIOD - TRIP
            going = link.now < 12.0 or meter.lap()
        assert (plugin.commands > budgets.LAPS) is (lockstep or commands)
        assert node.session.statistics.updates[0] > budgets.LAPS


def xplane12(ros, meter, commands=False):
    """Update all topics of an aircraft, or command it."""
    with active(ros, XplaneUdpNode, VEHICLE, rate=1.0 / PERIOD, undulation=0.0, version='12',
                discover=False) as node:
        peer, link, going = SteadyXPlane(), node.link, True
        message, take = command(), callback(node, 'command/controls')
        update = budgets.Meter() if commands else meter
        while going:
            with update:
                link.turn()
            for channel, data in link.take_sent():
                peer.take(channel, data)
            if link.now < 12.0:
                link.now += 0.01
                continue
            for channel, data in peer.frame(link.now):
                with update:
                    link.deliver(channel, data, XPLANE)
            if commands:
                message.elevator = 0.01 + link.now * 1e-3
                with meter:
                    take(message)
            link.now += PERIOD
            going = link.now < 16.0 or meter.lap()
        assert (peer.commands > budgets.LAPS) is commands
        assert node.session.statistics.updates['telemetry'] > budgets.LAPS


def huginn(ros, meter, commands=False):
    """Poll everything and publish it, or command."""
    with active(ros, FdmdataNode, ('fix', 'imu/data', 'odom', 'air_data', 'gps', 'ins',
                'temperature', 'static_pressure', 'dynamic_pressure', 'magnetic_field'),
                undulation=0.0, **RATES) as node:
        node._follow_subscribers()
        link, going, sent = node.link, True, 0
        link.now += AFTER
        message, take = command(), callback(node, 'command/controls')
        update = budgets.Meter() if commands else meter
        while going:
            with update:
                link.turn()
            replies = [(channel, huginn_reply(data, link.now))
                       for channel, data in link.take_sent()]
            link.now += TRIP
            for channel, reply in replies:
                with update:
                    link.deliver(channel, reply)
            with update:
                link.turn()
            if commands:
                message.elevator = 0.01 + link.now * 1e-3
                with meter:
                    take(message)
            sent += sum(channel == 'controls' for channel, _ in link.take_sent())
            link.now += PERIOD - TRIP
            going = link.now < 11.0 or meter.lap()
        assert (sent > budgets.LAPS) is commands
        assert node.session.statistics.updates['imu'] > budgets.LAPS


def autopilot(ros, meter):
    """Take the messages of one update, and command."""
    with active(ros, AutopilotNode, ('command/controls',), lockstep=True, engage=True) as node:
        heard = [subscription(node, topic) for topic in LAW]
        callback(node, 'datum')(NavSatFix(latitude=LAT, longitude=LON, altitude=HEIGHT))
        going, frame = True, 0
        while going:
            frame += 1
            stamp = divmod(round(frame * FRAME * SECOND_NS), SECOND_NS)
            imu = Imu()
            imu.orientation.w = 1.0
            odom = Odometry()
            odom.pose.pose.orientation.w = 1.0
            odom.twist.twist.linear.x = 50.0
            messages = [
                NavSatFix(latitude=LAT, longitude=LON + frame * 1e-5, altitude=HEIGHT),
                AirData(indicated_airspeed=50.0, true_airspeed=52.0, static_pressure=95e3),
                command(), imu, odom]
            for message in messages:
                message.header.stamp.sec, message.header.stamp.nanosec = stamp
            for one, message in zip(heard, messages, strict=True):
                given = serialize_message(message) if one.raw else message
                with meter:
                    one.callback(given)
            going = meter.lap()
        assert node._updates > budgets.LAPS


def kerbal(ros, meter):
    """Publish a packet as itself and as its meaning."""
    with active(ros, SimpitNode, ('altitude', 'packets'), profile='v2', port='pty:',
                channels=['altitude']) as node:
        link, game = node.link, Kerbal('v2', 10.0)
        node.session.opened(link.now)
        while node.session.peer_state is not PeerState.STREAMING:
            link.turn()
            for channel, data in link.take_sent():
                game.receive(channel, data, link.now)
            for channel, data in game.frame(link.now):
                link.deliver(channel, data)
            link.now += PERIOD
        going = True
        while going:
            data = simpit.encode(simpit.Altitude(link.now, 67.25), 'peer', simpit.PROFILES['v2'])
            link.now += 0.001
            with meter:
                link.deliver(SERIAL, data)
                link.turn()
            going = meter.lap()
        assert node.session.statistics.updates['altitude'] > budgets.LAPS


PATHS = {
    'XPC: an update published on seven topics': (xpc, {}),
    'XPC: a command': (xpc, {'commands': True}),
    'X-Plane 12: an update published on seven topics': (xplane12, {}),
    'X-Plane 12: a command': (xplane12, {'commands': True}),
    'Huginn: all eight sensors published on ten topics': (huginn, {}),
    'Huginn: a command': (huginn, {'commands': True}),
    'Simpit: a packet published on two topics': (kerbal, {}),
    'lockstep: a frame of the bridge, XPC': (xpc, {'lockstep': True}),
    'lockstep: a frame of the autopilot': (autopilot, {}),
}


@pytest.mark.parametrize('name', PATHS)
def test_a_node_keeps_to_its_budget(ros, name):
    skip_elsewhere('numpy', 'ros-rclpy')
    path, given = PATHS[name]
    check(name, NODE, measured(partial(path, ros, **given)))


def test_the_table_has_each_node_and_no_other():
    assert {name for name, (where, *_) in table().items() if where == NODE} == {*PATHS}
