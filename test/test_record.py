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

"""The recorder: what was published is in the file, whatever ended it."""

import os
import signal

import pytest

pytest.importorskip('rclpy', reason='rclpy is not installed')
pytest.importorskip('xplane_bridge.msg', reason='the messages are not built')
mcap_reader = pytest.importorskip('mcap.reader', reason='reading back needs mcap')

from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy  # noqa: E402
from sensor_msgs.msg import NavSatFix  # noqa: E402

from harness import process  # noqa: E402
from xplane_bridge.experiments.definitions import definition  # noqa: E402
from xplane_bridge.msg import Datarefs, FlightControls  # noqa: E402


def recording(path, *arguments):
    return process('record', '--output', str(path), *arguments)


def publish_until_recorded(ros, publisher, messages):
    """Publish once the recorder listens."""
    ros.wait_for(lambda: publisher.get_subscription_count() > 0, 'the recorder')
    for message in messages:
        publisher.publish(message)
    assert publisher.wait_for_all_acked()


def finish(child):
    child.send_signal(signal.SIGTERM)
    output, _ = child.communicate(timeout=15)
    assert child.returncode == 0
    return output


def controls(number):
    return FlightControls(elevator=number / 100.0, throttle=1.0 - number / 100.0)


def test_own_types_are_read_back_by_rosbags(ros, tmp_path):
    rosbags = pytest.importorskip('rosbags.highlevel', reason='reading back needs rosbags')
    typesys = pytest.importorskip('rosbags.typesys')
    path = tmp_path / 'flight.mcap'
    publisher = ros.observer.create_publisher(FlightControls, '/uav/controls', 200)
    arrays = ros.observer.create_publisher(Datarefs, '/uav/datarefs', 10)
    with recording(path, '--namespace', 'uav') as child:
        publish_until_recorded(ros, publisher, [controls(n) for n in range(100)])
        publish_until_recorded(ros, arrays, [
            Datarefs(names=['sim/a', 'sim/b'], sizes=[1, 2], values=[0.5, 1.5, -2.0])])
        assert '101 messages of 2 topics, 0 lost' in finish(child)
    store = typesys.get_typestore(typesys.Stores.EMPTY)
    with rosbags.AnyReader([path], default_typestore=store) as reader:
        read = {connection.topic: [] for connection in reader.connections}
        for connection, _, data in reader.messages():
            read[connection.topic].append(reader.deserialize(data, connection.msgtype))
    assert [message.elevator for message in read['/uav/controls']] == [
        n / 100.0 for n in range(100)]
    (datarefs,) = read['/uav/datarefs']
    assert datarefs.names == ['sim/a', 'sim/b']
    assert list(datarefs.values) == [0.5, 1.5, -2.0]


def test_the_namespace_and_the_list_of_topics_choose(ros, tmp_path):
    path = tmp_path / 'flight.mcap'
    publishers = {
        topic: ros.observer.create_publisher(FlightControls, topic, 10)
        for topic in ('/uav/controls', '/uav/command/controls', '/other/controls')
    }
    with recording(path, '--namespace', 'uav', 'controls') as child:
        publish_until_recorded(ros, publishers['/uav/controls'], [controls(1)])
        for publisher in publishers.values():
            publisher.publish(controls(2))
        assert publishers['/uav/controls'].wait_for_all_acked()
        finish(child)
    with open(path, 'rb') as stream:
        summary = mcap_reader.make_reader(stream).get_summary()
    assert [channel.topic for channel in summary.channels.values()] == ['/uav/controls']


def test_topics_that_appear_later_and_other_qualities_of_service_are_recorded(ros, tmp_path):
    path = tmp_path / 'flight.mcap'
    first = ros.observer.create_publisher(FlightControls, '/uav/controls', 10)
    with recording(path, '--namespace', 'uav') as child:
        publish_until_recorded(ros, first, [controls(1)])
        latched = ros.observer.create_publisher(NavSatFix, '/uav/datum', QoSProfile(
            depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL))
        latched.publish(NavSatFix(latitude=47.0))
        loose = ros.observer.create_publisher(NavSatFix, '/uav/fix', QoSProfile(
            depth=10, reliability=ReliabilityPolicy.BEST_EFFORT))
        ros.wait_for(lambda: loose.get_subscription_count() > 0, 'the recorder')
        ros.wait_for(lambda: latched.get_subscription_count() > 0, 'the recorder')
        assert latched.wait_for_all_acked()
        finish(child)
    with open(path, 'rb') as stream:
        topics = {channel.topic for _, channel, _ in
                  mcap_reader.make_reader(stream).iter_messages()}
    assert {'/uav/controls', '/uav/datum'} <= topics


def test_a_kill_leaves_a_file_that_reads_to_the_last_chunk(ros, tmp_path):
    stream_reader = pytest.importorskip('mcap.stream_reader')
    path = tmp_path / 'flight.mcap'
    publisher = ros.observer.create_publisher(Datarefs, '/uav/datarefs', 200)
    # Random enough not to be compressed away: a chunk is 32 kB.
    messages = [
        Datarefs(names=[os.urandom(250).hex() for _ in range(4)]) for _ in range(100)
    ]
    with recording(path, '--namespace', 'uav') as child:
        publish_until_recorded(ros, publisher, messages)
        ros.wait_for(
            lambda: path.stat().st_size > 60_000, 'chunks in the file')
        os.kill(child.pid, signal.SIGKILL)
        child.wait(10)
    read = 0
    with open(path, 'rb') as stream:
        try:
            for record in stream_reader.StreamReader(stream).records:
                read += type(record).__name__ == 'Message'
        except Exception as error:  # The reader says that the end is missing, in its own ways.
            assert 'end' in type(error).__name__.lower() or 'EndOfFile' in repr(error), error
    assert read >= 40


def test_definitions_hold_all_that_a_type_contains():
    text = definition('nav_msgs/msg/Odometry')
    for inner in ('std_msgs/Header', 'geometry_msgs/PoseWithCovariance', 'geometry_msgs/Pose',
                  'geometry_msgs/Point', 'geometry_msgs/Quaternion', 'geometry_msgs/Vector3',
                  'geometry_msgs/TwistWithCovariance', 'builtin_interfaces/Time'):
        assert text.count(f'MSG: {inner}\n') == 1
    assert 'float64[36] covariance' in text
