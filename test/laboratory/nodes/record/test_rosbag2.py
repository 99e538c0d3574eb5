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

"""The genuine rosbag2 reads and plays our recordings: each message of each topic, by its bytes."""

import shutil
import signal

import pytest

pytest.importorskip('rclpy', reason='rclpy is not installed')
pytest.importorskip('xplane_bridge.msg', reason='the messages are not built')
pytest.importorskip('rosbag2_py', reason='rosbag2 is not installed (it has no wheel)')
pytest.importorskip('mcap.reader', reason='recording needs mcap')

from masked import masked
from mcap.reader import make_reader
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from rosbag2_interfaces.srv import Resume
import rosbag2_py
from sensor_msgs.msg import Imu, NavSatFix

from harness import DEADLINE, process
from xplane_bridge.msg import FlightControls

TOPICS = {
    '/uav/controls': (FlightControls, QoSProfile(depth=100)),
    '/uav/imu/data': (Imu, QoSProfile(depth=100, reliability=ReliabilityPolicy.BEST_EFFORT)),
    '/uav/datum': (NavSatFix, QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)),
}


@pytest.fixture
def recording(ros, tmp_path):
    """Return a recording of the topics, whose publishers are gone."""
    path = tmp_path / 'flight.mcap'
    publishers = [ros.observer.create_publisher(kind, topic, qos)
                  for topic, (kind, qos) in TOPICS.items()]
    with process('record', '--output', str(path), '--namespace', 'uav') as recorder:
        for publisher in publishers:
            ros.wait_for(publisher.get_subscription_count, 'the recorder')
        controls, imu, datum = publishers
        datum.publish(NavSatFix(latitude=47.4))
        for number in range(50):
            controls.publish(masked(FlightControls, elevator=number / 50))
            message = Imu()
            message.linear_acceleration.z = float(number)
            imu.publish(message)
        end(recorder)
    for publisher in publishers:
        ros.observer.destroy_publisher(publisher)
    ros.wait_for(lambda: not any(map(ros.observer.count_publishers, TOPICS)), 'no publisher')
    found = messages_of(path)
    assert {topic: kind for topic, (kind, _) in found.items()} == {
        topic: f'{kind.__module__.partition(".")[0]}/msg/{kind.__name__}'
        for topic, (kind, _) in TOPICS.items()}
    return path


def end(recorder):
    recorder.send_signal(signal.SIGTERM)
    output, _ = recorder.communicate(timeout=DEADLINE)
    assert recorder.returncode == 0, output


def messages_of(path):
    """Return the type and the messages of each topic of a recording, without rosbag2."""
    found = {}
    with open(path, 'rb') as stream:
        for schema, channel, message in make_reader(stream).iter_messages():
            found.setdefault(channel.topic, (schema.name, []))[1].append(message.data)
    return found


def test_rosbag2_reads_what_was_recorded(recording):
    reader = rosbag2_py.SequentialReader()
    reader.open(rosbag2_py.StorageOptions(uri=str(recording), storage_id='mcap'),
                rosbag2_py.ConverterOptions('', ''))
    found = {topic.name: (topic.type, []) for topic in reader.get_all_topics_and_types()}
    while reader.has_next():
        topic, data, _ = reader.read_next()
        found[topic][1].append(bytes(data))
    assert found == messages_of(recording)


def test_what_rosbag2_plays_is_recorded_as_it_was(ros, recording, tmp_path):
    again = tmp_path / 'again.mcap'
    with process(shutil.which('ros2'), 'bag', 'play', str(recording), '--start-paused',
                 '--disable-keyboard-controls', '--wait-for-all-acked', '0') as player, \
            process('record', '--output', str(again), '--namespace', 'uav') as recorder:
        ros.wait_for(lambda: all(map(ros.observer.count_subscribers, TOPICS)), 'the recorder')
        ros.call(Resume, '/rosbag2_player/resume', Resume.Request())
        output, _ = player.communicate(timeout=DEADLINE)
        assert player.returncode == 0, output
        end(recorder)
    assert messages_of(again) == messages_of(recording)
