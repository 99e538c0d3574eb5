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

"""With use_sim_time every node stamps in ROS time: never in wall time, and never with 0."""

from bisect import bisect_left
from contextlib import contextmanager
from itertools import count
import socket
import time

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='rclpy is not installed')
pytest.importorskip('xplane_bridge.msg', reason='the messages are not built')
pytest.importorskip('jsbsim', reason='the simulators need jsbsim')

from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import TransformStamped
from nav_msgs.msg import Odometry
from rcl_interfaces.msg import Log
from rclpy.duration import Duration
from rclpy.time import Time
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import Imu, NavSatFix
from simpit_peer import Plugin
from ulyssix_packets import bcd, NAMES, TAGGED, tagged
from xpc_peer import flying

from harness import free_port
from xplane_bridge.bridges.fdmdata.node import FdmdataNode
from xplane_bridge.bridges.nodes.common.diagnostics import OK, WARN
from xplane_bridge.bridges.simpit import protocol as simpit
from xplane_bridge.bridges.simpit.node import SimpitNode
from xplane_bridge.bridges.ulyssix.node import UlyssixNode
from xplane_bridge.bridges.xpc.node import XpcNode
from xplane_bridge.bridges.xplane_udp.node import XplaneUdpNode
from xplane_bridge.msg import SimpitAltitude, UlyssixPacket, UlyssixSamples
from xplane_bridge.simulation.node import SimulatorNode
from xplane_bridge.simulation.peers.endpoints import UdpEndpoint
from xplane_bridge.simulation.peers.fdmdata import FdmdataFrontend
from xplane_bridge.simulation.peers.server import running
from xplane_bridge.simulation.peers.xplane_udp.frontend import XplaneUdpFrontend

try:
    import tf2_ros
except ImportError:
    tf2_ros = None


def seconds(stamp):
    return stamp.sec + stamp.nanosec * 1e-9


# Each yields the node, its parameters, one of its topics, and a trigger for data.

@contextmanager
def _xpc(_):
    with flying() as peer:
        yield XpcNode, {'port': peer.port}, NavSatFix, 'fix', lambda: None


@contextmanager
def _xplane_udp(_):
    frontend = XplaneUdpFrontend(UdpEndpoint(), 12, sender=UdpEndpoint())
    with running(frontend):
        given = {'port': frontend.endpoint.address[1], 'data_port': free_port(), 'version': '12'}
        yield XplaneUdpNode, given, Imu, 'imu/data', lambda: None


@contextmanager
def _fdmdata(_):
    frontend = FdmdataFrontend(UdpEndpoint(), UdpEndpoint())
    with running(frontend):
        given = {'data_port': frontend.data.address[1],
                 'controls_port': frontend.controls.address[1]}
        yield FdmdataNode, given, Odometry, 'odom', lambda: None


@contextmanager
def _simpit(tmp_path):
    plugin = Plugin(tmp_path / 'ksp', 'v2')
    try:
        given = {'port': plugin.path, 'profile': 'v2', 'channels': ['altitude']}
        yield (SimpitNode, given, SimpitAltitude, 'altitude',
               lambda: plugin.say(simpit.Altitude(1234.5, 67.25)))
    finally:
        plugin.loop.close()


@contextmanager
def _ulyssix(_):
    port, counter = free_port(), count()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        yield (UlyssixNode, {'port': port, 'sample_topics': ['*']}, UlyssixPacket, 'packets',
               lambda: sender.sendto(_packet(next(counter)), ('127.0.0.1', port)))


def _packet(counter):
    """Return a packet of now whose only sample was taken half a second later."""
    date = time.gmtime()
    raw = bcd(date.tm_yday, date.tm_hour, date.tm_min, date.tm_sec)
    since = (date.tm_yday - 1) * 86400 + date.tm_hour * 3600 + date.tm_min * 60 + date.tm_sec
    return tagged((1.5, since + 0.5), time=raw, counter=counter, total=counter + 1,
                  control=TAGGED | NAMES, names=b'speed')


@pytest.mark.parametrize('make', [_xpc, _xplane_udp, _fdmdata, _simpit, _ulyssix])
def test_stamps_follow_use_sim_time_in_every_node(ros, tmp_path, make):
    ros.subscribe(Log, '/rosout', 1000)
    ros.subscribe(DiagnosticArray, '/diagnostics')
    with make(tmp_path) as (kind, given, message, topic, poke):
        ros.subscribe(message, topic)
        node = ros.start(kind, use_sim_time=True, **given)

        def poked(predicate, what):
            def asked():
                poke()
                return predicate()

            return ros.wait_for(asked, what)

        def next_stamp():
            with ros.changed:
                start = len(ros.messages[topic])
            poked(lambda: ros.messages[topic][start:], f'a message on {topic}')
            return seconds(ros.messages[topic][-1].header.stamp)

        # Data arrive before there is any time: that is reported, and nothing is published.
        poked(lambda: node.stamps.withheld > 2, 'data without a time')
        level, sentence, _ = ros.diagnosed('ROS time', node=node)
        assert level == WARN
        assert 'no /clock has arrived' in sentence
        assert not ros.messages[topic]
        ros.wait_for(lambda: any('no /clock has arrived' in log.msg
                                 for log in ros.messages['/rosout']), 'the sentence')

        ros.tell_time(node, 100.25)
        # What was withheld is not published late with the old stamp.
        assert next_stamp() == 100.25
        assert ros.diagnosed('ROS time', lambda level, *_: level == OK, node=node)
        assert seconds(ros.messages['/diagnostics'][-1].header.stamp) == 100.25
        ros.tell_time(node, 101.5)
        ros.wait_for(lambda: next_stamp() == 101.5, 'the new time')
        # As it does while the peer is away.
        assert ros.change(node, use_sim_time=False).successful
        ros.wait_for(lambda: abs(next_stamp() - time.time()) < 60.0, 'wall time')
        with ros.changed:
            ros.messages[topic].clear()
        assert ros.change(node, use_sim_time=True).successful
        ros.tell_time(node, 102.0)
        ros.wait_for(lambda: next_stamp() == 102.0, 'ROS time again')
        sentences = [log.msg for log in ros.messages['/rosout'] if 'no /clock' in log.msg]
        assert len(sentences) == 1


def test_samples_of_a_packet_keep_their_distance_in_ros_time(ros, tmp_path):
    with _ulyssix(tmp_path) as (kind, given, message, topic, poke):
        ros.subscribe(UlyssixSamples, 'samples/speed')
        node = ros.start(kind, use_sim_time=True, **given)
        ros.tell_time(node, 100.25)

        def poked():
            poke()
            return ros.messages['samples/speed']

        samples = ros.wait_for(poked, 'samples')[0]
        assert seconds(samples.header.stamp) == pytest.approx(100.75, abs=1e-6)
        # The publisher's own times are left unchanged.
        assert abs(samples.times[0] * 1e-9 - time.time()) < 60.0


# As for a tf2 listener: the pose at the stamp of another topic.

class Buffer:
    """Positions by stamp, interpolated in between, and an error outside: like tf2, without tf2."""

    def __init__(self, odometry):
        self.stamps = [seconds(message.header.stamp) for message in odometry]
        self.places = [np.array((p.x, p.y, p.z)) for p in (
            message.pose.pose.position for message in odometry)]

    def lookup(self, stamp):
        after = bisect_left(self.stamps, stamp)
        if after == len(self.stamps) or (after == 0 and stamp < self.stamps[0]):
            raise LookupError(f'extrapolation: {stamp} is not in {self.stamps[0]} .. '
                              f'{self.stamps[-1]}')
        if self.stamps[after] == stamp:
            return self.places[after]
        part = (stamp - self.stamps[after - 1]) / (self.stamps[after] - self.stamps[after - 1])
        return (1.0 - part) * self.places[after - 1] + part * self.places[after]


class BufferOfTf2:
    """The same by tf2."""

    def __init__(self, odometry):
        self.stamps = [seconds(message.header.stamp) for message in odometry]
        self._buffer = tf2_ros.Buffer(cache_time=Duration(seconds=600))
        for message in odometry:
            transform = TransformStamped(
                header=message.header, child_frame_id=message.child_frame_id)
            for name in 'xyz':
                setattr(transform.transform.translation, name,
                        getattr(message.pose.pose.position, name))
            transform.transform.rotation = message.pose.pose.orientation
            self._buffer.set_transform(transform, 'test')

    def lookup(self, stamp):
        place = self._buffer.lookup_transform(
            'odom', 'base_link', Time(nanoseconds=round(stamp * 1e9))).transform.translation
        return np.array((place.x, place.y, place.z))


@pytest.mark.parametrize('bridge', [
    {'use_sim_time': True}, {'stamp': 'simulator'}, {'stamp': 'simulator', 'use_sim_time': True}])
def test_the_pose_at_the_stamp_of_imu_is_found(ros, bridge):
    own_clock = bridge.get('stamp') == 'simulator'
    ros.subscribe(Clock, '/clock', 1000)
    ros.subscribe(Odometry, '/odom', 1000)
    ros.subscribe(Imu, '/imu/data', 1000)
    port = free_port()
    ros.start(SimulatorNode, port=port, speed=2.0, publish_clock=not own_clock)
    ros.start(XpcNode, port=port, rate=100.0, **bridge)
    ros.next('/imu/data', 5)
    ros.next('/odom', 40)
    with ros.changed:
        imu, odom, clock = (list(ros.messages[topic]) for topic in (
            '/imu/data', '/odom', '/clock'))
    newest = max(seconds(message.clock) for message in clock)
    buffer = (BufferOfTf2 if tf2_ros else Buffer)(odom)
    # The last updates may be incomplete.
    stamps = [seconds(message.header.stamp) for message in imu][:-5]
    inside = [stamp for stamp in stamps if stamp >= buffer.stamps[0]]
    assert len(inside) > 20
    places = [buffer.lookup(stamp) for stamp in inside]
    # Simulated time, and never ahead of it.
    assert stamps[0] > 0.0
    assert inside[-1] <= newest < 600.0
    assert all(before <= after for before, after in zip(stamps, stamps[1:], strict=False))
    if own_clock:
        # 100 knots indicated at 1500 m: such stamps have no jitter.
        for (one, at_one), (other, at_other) in zip(
                zip(inside, places, strict=True), list(zip(inside, places, strict=True))[10:],
                strict=False):
            speed = np.linalg.norm(at_other - at_one) / (other - one)
            assert speed == pytest.approx(55.3, abs=1.0)
