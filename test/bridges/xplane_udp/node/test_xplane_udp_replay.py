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

"""A captured conversation with X-Plane, replayed into xplane_udp_node, yields the same topics."""

import struct

import pytest

pytest.importorskip('rclpy', reason='rclpy is not installed')
pytest.importorskip('xplane_bridge.msg', reason='the messages are not built')
pytest.importorskip('jsbsim', reason='the simulated aircraft needs jsbsim')

from captures import pcap
from sensor_msgs.msg import Imu, NavSatFix

from xplane_bridge.bridges.xplane_udp.node import XplaneUdpNode
from xplane_bridge.simulation.aircraft.aircraft import Aircraft
from xplane_bridge.simulation.peers.world import World
from xplane_bridge.simulation.peers.xplane_udp import XPlane

X_PLANE, SENDS_FROM = ('10.0.0.2', 49000), ('10.0.0.2', 49001)
BRIDGE = {'telemetry': ('10.0.0.1', 40001), 'reports': ('10.0.0.1', 40002)}
CHANNELS = {address: channel for channel, address in BRIDGE.items()}
EPOCH = 1_700_000_000.0
FRAME = 1.0 / 60.0


def fixes(ros, tmp_path, datagrams, expected, **parameters):
    """Replay a capture; return the messages on fix once the expected number has arrived."""
    path = tmp_path / 'flight.pcap'
    path.write_bytes(pcap(*datagrams))
    ros.subscribe(NavSatFix, '/fix', 500)
    ros.start(XplaneUdpNode, capture_file=str(path), capture_speed=0.0, host=X_PLANE[0],
              **parameters)
    ros.wait_for(lambda: len(ros.messages['/fix']) >= expected, f'{expected} positions')
    return ros.messages['/fix']


def test_datarefs_of_a_capture(ros, tmp_path):
    # The node's requests are recorded from the node itself.
    asker = ros.start(XplaneUdpNode, activate=False, version='12', host='127.0.0.1')
    session = asker.session
    world = World(Aircraft())
    xplane = XPlane(world, 12)
    datagrams, flown = [], {}
    session.start(0.0)
    for tick in range(3000):
        now = tick * 0.001
        for channel, data in session.poll(now):
            datagrams.append((EPOCH + now, BRIDGE[channel], X_PLANE, data))
            xplane.handle(data, BRIDGE[channel])
        if tick % 17 == 0:
            world.advance(0.017)
            flown[world.aircraft.state.lon_deg] = world.aircraft.state.altitude_msl
            for data, to in xplane.frame(now):
                datagrams.append((EPOCH + now, SENDS_FROM, to, data))
                session.receive(CHANNELS[to], data, None, now)
    session.stop(3.0)
    count = session.statistics.updates['telemetry']
    assert count > 100
    messages = fixes(ros, tmp_path, datagrams, 0.9 * count, version='12', undulation=0.0)
    for message in messages:
        assert message.altitude == flown[message.longitude]
    first = messages[0].header.stamp
    assert EPOCH < first.sec + first.nanosec * 1e-9 < EPOCH + 1.0


def test_rows_of_a_capture_with_one_port_both_ways(ros, tmp_path):
    def rows(sender, receiver, n):
        position = struct.pack('<i8f', 18, 47.0, 8.0 + n / 1024, 1000.0, *[0.0] * 5)
        others = b''.join(struct.pack('<i8f', row, *[0.0] * 8) for row in (
            1, 2, 8, 12, 13, 16, 17, 19, 23))
        data = b'DATA\0' + b'0' + position + others + b'0'
        return (EPOCH + n / 20, (sender, 49000), (receiver, 49000), data)

    datagrams = []
    for n in range(50):
        datagrams.append(rows('10.0.0.2', '10.0.0.1', n))
        # Our own rows, which must not be mistaken for X-Plane's.
        datagrams.append(rows('10.0.0.1', '10.0.0.2', n + 500))
    messages = fixes(ros, tmp_path, datagrams, 45, version='6', data_port=49000)
    assert {message.longitude for message in messages} <= {8.0 + n / 1024 for n in range(50)}


def test_rows_without_a_position_and_with_an_impossible_one_stop_nothing_else(ros, tmp_path):
    def frame(n):
        longitude = 1e30 if 10 <= n < 20 else 8.0 + n / 1024
        position = struct.pack('<i8f', 18, 47.0, longitude, 1000.0, *[0.0] * 5)
        others = b''.join(struct.pack('<i8f', row, *[n / 100] * 8) for row in (
            1, 2, 8, 12, 13, 16, 17, 19, 23))
        # It is waited for during a quarter of a second, and nothing is split after it.
        rows = others if 20 <= n < 25 or 30 <= n < 60 else position + others
        return EPOCH + n / 20, X_PLANE, ('10.0.0.1', 49003), b'DATA\0' + b'0' + rows + b'0'

    ros.subscribe(Imu, '/imu/data', 500)
    messages = fixes(ros, tmp_path, map(frame, range(90)), 43, version='6')
    ros.wait_for(lambda: len(ros.messages['/imu/data']) >= 55, 'attitudes of all but a second')
    assert {message.longitude for message in messages} <= {
        8.0 + n / 1024 for n in (*range(10), *range(25, 30), *range(60, 90))}
    _, sentence, _ = ros.diagnosed('plausibility', lambda level, *_: level == b'\x01')
    assert 'longitude 1e+30 (10 times' in sentence


def test_a_capture_that_is_none_stops_configuring_with_a_sentence(ros, tmp_path):
    path = tmp_path / 'flight.pcap'
    path.write_text('no capture')
    assert str(path) in ros.start(XplaneUdpNode, capture_file=str(path)).failed
    node = ros.start(XplaneUdpNode, namespace='two', capture_file=str(path), discover=True)
    assert 'set host' in node.failed
