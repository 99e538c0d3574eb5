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

"""Captured conversations with Huginn, ours and others', replayed into fdmdata_node."""

import struct

import pytest

pytest.importorskip('rclpy', reason='rclpy is not installed')
pytest.importorskip('xplane_bridge.msg', reason='the messages are not built')

from captures import pcap
from sensor_msgs.msg import Imu, NavSatFix, Temperature
from std_srvs.srv import SetBool

from xplane_bridge.bridges.fdmdata.node import FdmdataNode
from xplane_bridge.msg import AirData

HUGINN = ('10.0.0.7', 10300)
EPOCH = 1_700_000_000.0
FIGURES = {0: 5, 1: 3, 2: 3, 3: 3, 4: 1, 5: 1, 6: 1, 7: 7}
TOPICS = {'fix': NavSatFix, 'imu/data': Imu, 'air_data': AirData, 'temperature': Temperature}


def asked(at, port, commands, apart=0.0):
    """Return requests and replies of one poll; all values tell the second of the flight."""
    client, datagrams = ('10.0.0.1', port), []
    for number, command in enumerate(commands):
        datagrams.append((EPOCH + at + number * apart, client, HUGINN, bytes((command,))))
        count = FIGURES[command]
        reply = struct.pack(f'>BB{count}f', 0, command, *(float(int(at)) for _ in range(count)))
        datagrams.append((EPOCH + at + number * apart + 3e-4, HUGINN, client, reply))
    return sorted(datagrams, key=lambda datagram: datagram[0])


def played(ros, tmp_path, datagrams, topics=TOPICS, **parameters):
    """Replay a capture to its end at full speed; return the node."""
    path = tmp_path / 'flight.pcap'
    path.write_bytes(pcap(*datagrams))
    for topic in topics:
        ros.subscribe(TOPICS[topic], topic, 500)
    node = ros.start(FdmdataNode, capture_file=str(path), capture_speed=0.0, **parameters)
    ros.wait_for(lambda: node.link.finished, 'the end of the capture')
    return node


def test_our_own_polls_give_each_topic_as_often_as_its_sensors_were_asked(ros, tmp_path):
    datagrams = []
    for number in range(100):
        at = number * 0.02
        commands = {1, 2, 7} | ({0, 4, 5, 6} if number % 5 == 0 else set())
        datagrams += asked(at, 40000 + number % 16, sorted(commands))
    # Other traffic on the wire.
    datagrams.insert(0, (EPOCH, HUGINN, ('10.0.0.1', 40001), b'\xff'))
    datagrams.insert(1, (EPOCH, ('10.0.0.9', 7400), ('10.0.0.1', 7410), b'RTPS'))
    node = played(ros, tmp_path, datagrams)
    assert node.session.statistics.updates == {'gps': 20, 'ins': 100, 'imu': 100, 'air': 20}
    published = {'fix': 20, 'imu/data': 100, 'air_data': 20, 'temperature': 20}
    ros.wait_for(lambda: published == {
        topic: len(ros.messages[topic]) for topic in TOPICS}, 'all that was published')
    # The recorded times, not those of the replay.
    stamp = ros.messages['imu/data'][-1].header.stamp
    assert stamp.sec + stamp.nanosec * 1e-9 == pytest.approx(EPOCH + 99 * 0.02, abs=1e-3)


@pytest.mark.parametrize('speed', [0.0, 1.0, 10.0])
def test_a_subscriber_that_is_there_first_gets_everything(ros, tmp_path, speed):
    path = tmp_path / 'flight.pcap'
    path.write_bytes(pcap(*(
        datagram for number in range(101) for datagram in asked(number * 0.01, 40000, (0,)))))
    ros.subscribe(NavSatFix, 'fix', 200)
    ros.start(FdmdataNode, capture_file=str(path), capture_speed=speed)
    ros.wait_for(lambda: len(ros.messages['fix']) == 101, '101 positions')


def test_somebody_who_asks_one_by_one_is_understood(ros, tmp_path):
    datagrams = [
        datagram for number in range(50)
        for datagram in asked(number * 0.1, 50000, (7, 2, 1, 4), apart=0.004)]
    node = played(ros, tmp_path, datagrams, ('imu/data',))
    assert node.session.statistics.updates == {'imu': 50, 'ins': 50}


def test_replies_of_different_times_or_askers_are_not_joined(ros, tmp_path):
    datagrams = [
        *asked(1.0, 40000, (1, 2)), *asked(1.01, 40001, (7,)),
        *asked(2.0, 40000, (1, 2)), *asked(2.02, 40000, (7,)),
        *asked(4.0, 40000, (1, 2, 7))]
    played(ros, tmp_path, datagrams, ('imu/data',))
    ros.wait_for(lambda: ros.messages['imu/data'], 'the one that is whole')
    assert [message.linear_acceleration.x for message in ros.messages['imu/data']] == [4.0]


def test_nobody_is_called(ros, tmp_path):
    played(ros, tmp_path, asked(0.0, 40000, (0,)), ('fix',))
    response = ros.call(SetBool, 'pause', SetBool.Request(data=True))
    assert not response.success
    assert 'capture' in response.message


def test_a_capture_that_is_none_stops_configuring_with_a_sentence(ros, tmp_path):
    path = tmp_path / 'flight.pcap'
    path.write_text('no capture')
    assert str(path) in ros.start(FdmdataNode, capture_file=str(path)).failed
