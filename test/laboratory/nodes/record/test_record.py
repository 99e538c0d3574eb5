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

"""The recorder: what was published is in the file, however the recording ended."""

import json
import os
import resource
import signal
import threading
import time
from types import SimpleNamespace

import pytest
import yaml

pytest.importorskip('rclpy', reason='rclpy is not installed')
pytest.importorskip('xplane_bridge.msg', reason='the messages are not built')
mcap_reader = pytest.importorskip('mcap.reader', reason='reading back needs mcap')

from ament_index_python.packages import get_package_share_directory  # noqa: E402
from masked import masked  # noqa: E402
from rclpy.duration import Duration  # noqa: E402
from rclpy.executors import SingleThreadedExecutor  # noqa: E402
from rclpy.node import Node  # noqa: E402
from rclpy.qos import (  # noqa: E402
    DurabilityPolicy,
    HistoryPolicy,
    LivelinessPolicy,
    QoSProfile,
    ReliabilityPolicy,
)
from rclpy.serialization import deserialize_message  # noqa: E402
from sensor_msgs.msg import NavSatFix  # noqa: E402

from harness import process  # noqa: E402
from xplane_bridge.bridges.nodes.common.base import BaseParameters, BridgeNode  # noqa: E402
from xplane_bridge.laboratory.flights.recordings import rosbag2  # noqa: E402
from xplane_bridge.laboratory.flights.recordings.completed import complete  # noqa: E402
from xplane_bridge.laboratory.nodes.record import draining  # noqa: E402
from xplane_bridge.laboratory.nodes.record import node as record_node  # noqa: E402
from xplane_bridge.laboratory.nodes.record import recorder as record  # noqa: E402
from xplane_bridge.laboratory.nodes.record.recorder import (  # noqa: E402
    definition,
    Recorder,
    SubscribedTopic,
    summary,
)
from xplane_bridge.msg import Datarefs, FlightControls  # noqa: E402

LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
LOOSE = QoSProfile(depth=10, reliability=ReliabilityPolicy.BEST_EFFORT)


def recording(path, *arguments):
    return process('record', '--output', str(path), *arguments)


def publish_until_recorded(ros, publisher, messages):
    """Publish once the recorder is subscribed."""
    ros.wait_for(lambda: publisher.get_subscription_count() > 0, 'the recorder')
    for message in messages:
        publisher.publish(message)
    assert publisher.wait_for_all_acked()


def finish(child):
    child.send_signal(signal.SIGTERM)
    output, _ = child.communicate(timeout=90)
    assert child.returncode == 0
    return output


def controls(number):
    return masked(FlightControls, elevator=number / 100.0, throttle=1.0 - number / 100.0)


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


def test_a_namespace_in_which_nothing_publishes_is_told(ros, tmp_path, monkeypatch):
    monkeypatch.setattr(record, '_EXPECTED_WITHIN', 0.0)
    ros.observer.create_publisher(FlightControls, '/uav/controls', 10)
    ros.wait_for(lambda: ros.observer.count_publishers('/uav/controls'), 'its own publisher')
    node = Node('record', context=ros.context)
    said = []
    monkeypatch.setattr(node, 'get_logger', lambda: SimpleNamespace(warning=said.append))
    executor = SingleThreadedExecutor(context=ros.context)
    executor.add_node(node)
    with Recorder(node, str(tmp_path / 'flight.mcap'), 'uav2'):
        ros.wait_for(lambda: executor.spin_once(0.1) or said, 'a warning')
    assert said[0].startswith('nothing publishes in /uav2 yet')


def test_whoever_sees_it_subscribe_may_end_it(ros, tmp_path, monkeypatch):
    """What hears a signal must be there before the first subscription."""
    did = []
    monkeypatch.setattr(record_node, 'call_on_signal', lambda *_, **__: did.append('signals'))
    monkeypatch.setattr(record_node, 'spin_until', lambda *_: None)
    monkeypatch.setattr(Recorder, 'discover', lambda _: did.append('subscribes'))
    monkeypatch.setattr(Recorder, 'drain', lambda *_: None)
    monkeypatch.setattr(record_node.rclpy, 'init', lambda **_: None)
    monkeypatch.setattr(record_node.rclpy, 'try_shutdown', lambda: None)
    monkeypatch.setattr(record_node, 'Node', lambda name: Node(name, context=ros.context))
    monkeypatch.setattr(
        record_node, 'SingleThreadedExecutor', lambda: SingleThreadedExecutor(context=ros.context))
    monkeypatch.setattr(record_node.signal, 'signal', lambda *_: None)
    record_node.main(['--output', str(tmp_path / 'flight.mcap')])
    assert did == ['signals', 'subscribes']


def test_it_subscribes_while_simulated_time_waits(ros, tmp_path):
    """In lockstep the first command may wait for it, and /clock for that."""
    publisher = ros.observer.create_publisher(FlightControls, '/uav/controls', 10)
    with recording(tmp_path / 'flight.mcap', '--namespace', 'uav', '--ros-args', '-p',
                   'use_sim_time:=true') as child:
        assert child.stdout.readline().startswith('recording to')
        later = ros.observer.create_publisher(FlightControls, '/uav/command/controls', 10)
        publish_until_recorded(ros, later, [controls(1)])
        publish_until_recorded(ros, publisher, [controls(1)])
        assert '2 messages of 2 topics, 0 lost' in finish(child)


def test_topics_that_appear_later_and_other_qualities_of_service_are_recorded(ros, tmp_path):
    path = tmp_path / 'flight.mcap'
    first = ros.observer.create_publisher(FlightControls, '/uav/controls', 10)
    with recording(path, '--namespace', 'uav') as child:
        publish_until_recorded(ros, first, [controls(1)])
        latched = ros.observer.create_publisher(NavSatFix, '/uav/datum', LATCHED)
        latched.publish(NavSatFix(latitude=47.0))
        # A second publisher with weaker QoS: the existing subscription would not receive it.
        loose = ros.observer.create_publisher(FlightControls, '/uav/controls', LOOSE)
        ros.wait_for(lambda: loose.get_subscription_count() > 0, 'the recorder')
        ros.wait_for(lambda: latched.get_subscription_count() > 0, 'the recorder')
        assert latched.wait_for_all_acked()
        loose.publish(controls(2))
        first.publish(controls(3))
        output = finish(child)
    assert 'another publisher of /uav/controls offers a different quality of service' in output
    elevators, topics = [], set()
    with open(path, 'rb') as stream:
        for _, channel, message in mcap_reader.make_reader(stream).iter_messages():
            topics.add(channel.topic)
            if channel.topic == '/uav/controls':
                elevators.append(deserialize_message(message.data, FlightControls).elevator)
    assert topics == {'/uav/controls', '/uav/datum'}
    assert sorted(elevators) == [0.01, 0.02, 0.03]


@pytest.mark.parametrize('end', ['kill', 'full_disk'])
def test_what_was_recorded_reads_to_the_last_chunk(ros, tmp_path, end):
    stream_reader = pytest.importorskip('mcap.stream_reader')
    path = tmp_path / 'flight.mcap'
    publisher = ros.observer.create_publisher(Datarefs, '/uav/datarefs', 200)
    # Random enough to be incompressible, and smaller than a chunk.
    messages = [
        Datarefs(names=[os.urandom(250).hex() for _ in range(4)]) for _ in range(100)
    ]
    with recording(path, '--namespace', 'uav') as child:
        publish_until_recorded(ros, publisher, messages)
        ros.wait_for(
            lambda: path.stat().st_size > 100_000, 'the chunk that a second has ended')
        if end == 'kill':
            os.kill(child.pid, signal.SIGKILL)
            child.wait(60)
        else:
            resource.prlimit(child.pid, resource.RLIMIT_FSIZE, (path.stat().st_size + 5000,) * 2)
            publish_until_recorded(ros, publisher, messages)
            output, _ = child.communicate(timeout=90)
            assert child.returncode == 1
            assert 'Traceback' not in output
            assert output.endswith(
                f'record: {path} cannot be written: the file is as large as the system allows '
                '(ulimit -f, or the file system); what was recorded until then can be read\n')
    read = 0
    with open(path, 'rb') as stream:
        try:
            for record in stream_reader.StreamReader(stream).records:
                read += type(record).__name__ == 'Message'
        except Exception as error:  # The reader reports the missing end in its own ways.
            assert 'end' in type(error).__name__.lower() or 'EndOfFile' in repr(error), error
    assert read == 100
    # As `export --to mcap --force` does.
    assert complete(path, path)[0]['/uav/datarefs'] == 100
    assert set(channels_of(path)[0]) >= {'/uav/datarefs'}


def channels_of(path):
    with open(path, 'rb') as stream:
        reader = mcap_reader.make_reader(stream)
        found = {channel.topic: channel for channel in reader.get_summary().channels.values()}
        (last,) = list(reader.iter_metadata())[-1:]
        return found, last


# An infinite duration, as rmw represents it.
INFINITE = {'sec': 9223372036, 'nsec': 854775807}


def test_the_file_holds_what_rosbag2_keeps_of_a_topic(ros, tmp_path):
    rosbags = pytest.importorskip('rosbags.rosbag2', reason='reading back needs rosbags')
    typesys = pytest.importorskip('rosbags.typesys')
    path = tmp_path / 'flight.mcap'
    latched = ros.observer.create_publisher(NavSatFix, '/uav/datum', LATCHED)
    both = [ros.observer.create_publisher(FlightControls, '/uav/controls', qos)
            for qos in (10, LOOSE)]
    ros.observer.create_publisher(NavSatFix, '/uav/silent', 10)
    with recording(path, '--namespace', 'uav') as child:
        publish_until_recorded(ros, latched, [NavSatFix(latitude=47.0)])
        ros.wait_for(lambda: both[1].get_subscription_count() > 0, 'the recorder')
        publish_until_recorded(ros, both[0], [controls(1)])
        finish(child)
    channels, metadata = channels_of(path)
    assert set(channels) == {'/uav/datum', '/uav/controls', '/uav/silent'}
    # Where discovery does not report history and depth, rosbag2 writes this too.
    latched_qos = {
        'history': 'unknown', 'depth': 0, 'reliability': 'reliable',
        'durability': 'transient_local', 'deadline': INFINITE, 'lifespan': INFINITE,
        'liveliness': 'automatic', 'liveliness_lease_duration': INFINITE,
        'avoid_ros_namespace_conventions': False}
    offers = {
        '/uav/datum': [latched_qos],
        '/uav/controls': [{**latched_qos, 'durability': 'volatile'},
                          {**latched_qos, 'durability': 'volatile', 'reliability': 'best_effort'}],
        '/uav/silent': [{**latched_qos, 'durability': 'volatile'}]}
    for topic, offered in offers.items():
        assert yaml.safe_load(channels[topic].metadata['offered_qos_profiles']) == offered
    # The hash that rosidl wrote at build time.
    share = get_package_share_directory('xplane_bridge')
    with open(f'{share}/msg/FlightControls.json', encoding='utf-8') as stream:
        built = {item['type_name']: item['hash_string']
                 for item in json.load(stream)['type_hashes']}
    controls_hash = channels['/uav/controls'].metadata['topic_type_hash']
    assert controls_hash == built['xplane_bridge/msg/FlightControls']

    assert metadata.name == 'rosbag2'
    bag = yaml.safe_load(metadata.metadata['serialized_metadata'])
    assert [(item['topic_metadata']['name'], item['message_count'],
             item['topic_metadata']['offered_qos_profiles'])
            for item in bag['topics_with_message_count']] == [
        (topic, {'/uav/silent': 0}.get(topic, 1), offers[topic])
        for topic in [item['topic_metadata']['name'] for item in bag['topics_with_message_count']]]
    assert bag['relative_file_paths'] == ['flight.mcap']
    assert bag['custom_data']['log_time'] == 'received by the middleware'
    # As metadata.yaml beside the file, the record makes it a rosbag2 bag.
    (tmp_path / 'metadata.yaml').write_text(
        yaml.safe_dump({'rosbag2_bagfile_information': bag}), encoding='utf-8')
    with rosbags.Reader(tmp_path) as reader:
        found = {connection.topic: connection for connection in reader.connections}
        assert reader.message_count == 2
        assert found['/uav/datum'].ext.offered_qos_profiles[0].durability.name == 'TRANSIENT_LOCAL'
        # rosbags computes it from the definition in the file.
        store = typesys.get_typestore(typesys.Stores.EMPTY)
        store.register(typesys.get_types_from_msg(
            found['/uav/controls'].msgdef.data, 'xplane_bridge/msg/FlightControls'))
        assert store.hash_rihs01('xplane_bridge/msg/FlightControls') == controls_hash


def test_a_late_subscriber_of_a_replay_gets_what_was_latched(ros, tmp_path):
    rosbags = pytest.importorskip('rosbags.highlevel', reason='reading back needs rosbags')
    typesys = pytest.importorskip('rosbags.typesys')
    path = tmp_path / 'flight.mcap'
    recorded = ros.observer.create_publisher(NavSatFix, '/uav/datum', LATCHED)
    with recording(path, '--namespace', 'uav') as child:
        publish_until_recorded(ros, recorded, [NavSatFix(latitude=47.5)])
        finish(child)
    ros.observer.destroy_publisher(recorded)
    store = typesys.get_typestore(typesys.Stores.EMPTY)
    with rosbags.AnyReader([path], default_typestore=store) as reader:
        ((connection, _, data),) = reader.messages()
    (offered,) = connection.ext.offered_qos_profiles
    # As rosbag2 replays it: the offered QoS, with its own history.
    replayed = ros.observer.create_publisher(NavSatFix, '/replayed/datum', QoSProfile(
        depth=10, reliability=ReliabilityPolicy(offered.reliability.value),
        durability=DurabilityPolicy(offered.durability.value)))
    replayed.publish(data)
    ros.subscribe(NavSatFix, '/replayed/datum', LATCHED)
    assert ros.next('/replayed/datum').latitude == 47.5


def test_the_time_of_recording_is_that_of_reception(ros, tmp_path):
    path = tmp_path / 'flight.mcap'
    publisher = ros.observer.create_publisher(FlightControls, '/uav/controls', 10)
    # It subscribes, but handles nothing until it is spun.
    node = Node('record', context=ros.context)
    executor = SingleThreadedExecutor(context=ros.context)
    executor.add_node(node)
    with Recorder(node, str(path), '/uav') as recorder:
        def heard():
            recorder.discover()
            return publisher.get_subscription_count() > 0

        ros.wait_for(heard, 'the recorder')
        before = time.time_ns()
        publisher.publish(controls(1))
        assert publisher.wait_for_all_acked()
        after = time.time_ns()
        ros.wait_for(lambda: executor.spin_once(0.1) or recorder.summary().startswith('1 '),
                     'the message')
    node.destroy_node()
    with open(path, 'rb') as stream:
        ((_, _, message),) = mcap_reader.make_reader(stream).iter_messages()
    assert before <= message.publish_time <= message.log_time <= after


def test_what_was_received_before_the_end_is_recorded_however_busy_the_machine(
        ros, tmp_path, monkeypatch):
    publisher = ros.observer.create_publisher(FlightControls, '/uav/controls', 200)
    node = Node('record', context=ros.context)
    executor = SingleThreadedExecutor(context=ros.context)
    executor.add_node(node)
    with Recorder(node, str(tmp_path / 'flight.mcap'), '/uav') as recorder:
        def heard():
            recorder.discover()
            return publisher.get_subscription_count() > 0

        ros.wait_for(heard, 'the recorder')
        for number in range(100):
            publisher.publish(controls(number))
        assert publisher.wait_for_all_acked()
        # Each message takes 0.1 s.
        slow = SimpleNamespace(
            monotonic=lambda: time.monotonic() + 0.1 * int(recorder.summary().split()[0]),
            time_ns=time.time_ns)
        monkeypatch.setattr(record, 'time', slow)
        monkeypatch.setattr(draining, 'time', slow)
        recorder.drain(executor)
        assert recorder.summary().startswith('100 messages')
    node.destroy_node()


def test_what_was_received_is_recorded_although_another_topic_never_pauses(
        ros, tmp_path, monkeypatch):
    """An executor that is asked for one message at a time gives that of its first topic."""
    first = ros.observer.create_publisher(FlightControls, '/uav/controls', 200)
    other = ros.observer.create_publisher(NavSatFix, '/uav/fix', 200)
    node = Node('record', context=ros.context)
    executor = SingleThreadedExecutor(context=ros.context)
    executor.add_node(node)
    ended = threading.Event()

    def go_on():
        while not ended.wait(0.001):
            first.publish(controls(1))

    def write(*arguments):
        time.sleep(0.002)
        Recorder._write(recorder, *arguments)

    with Recorder(node, str(tmp_path / 'flight.mcap'), '/uav', sent_again=0.2) as recorder:
        def heard():
            recorder.discover()
            return first.get_subscription_count() and other.get_subscription_count()

        ros.wait_for(heard, 'the recorder')
        going = threading.Thread(target=go_on)
        going.start()
        for _ in range(100):
            other.publish(NavSatFix())
        assert other.wait_for_all_acked()
        monkeypatch.setattr(draining.Quiet, 'longest', lambda _: 0.2)
        monkeypatch.setattr(recorder, '_write', write)
        recorder.drain(executor)
        ended.set()
        going.join()
        assert recorder._topics['/uav/fix'].messages == 100
    node.destroy_node()


class Told(BridgeNode):
    """A node that publishes when a test says so."""

    def __init__(self, **options):
        super().__init__('told', BaseParameters, **options)

    def open(self):
        self.out = self.make_publisher(FlightControls, '/uav/controls', 200)
        self.other = self.make_publisher(NavSatFix, '/uav/fix', 200)

    def begin(self):
        """Begin nothing."""

    end = close = begin

    def diagnose(self):
        return []


@pytest.fixture
def told(ros, tmp_path, monkeypatch):
    """Yield a node, its recorder, what spins that, and the arrivals that wait in it."""
    # It shall not be what it waits for.
    monkeypatch.setattr(draining, '_QUIET', 60.0)
    monkeypatch.setattr(draining, '_BUSY_QUIET', 60.0)
    publishing = ros.start(Told)
    node = Node('record', context=ros.context)
    executor = SingleThreadedExecutor(context=ros.context)
    executor.add_node(node)
    with Recorder(node, str(tmp_path / 'flight.mcap'), '/uav', ['controls', 'fix']) as recorder:
        def heard():
            recorder.discover()
            executor.spin_once(0.05)
            return publishing.out.get_subscription_count() and recorder._accounts.said('/told')

        ros.wait_for(heard, 'the recorder and the account')
        yield SimpleNamespace(node=publishing, recorder=recorder, executor=executor)
    node.destroy_node()


def test_the_end_is_told_while_the_node_goes_on(told):
    """What it has published is in its next diagnostics."""
    for number in range(100):
        told.node.out.publish(controls(number))
    told.recorder.drain(told.executor)
    assert told.recorder.summary().startswith('100 messages of 1 topic, 0 lost, ')
    assert 'not known' not in told.recorder.summary()


def test_the_end_is_told_by_a_node_that_is_asked(told):
    told.node._diagnostics_timer.cancel()
    told.node.out.publish(controls(1))
    # Who asks does not know when the recorder is ready to hear it, and asks again.
    asking = threading.Event()

    def ask():
        while not asking.wait(0.05):
            told.node.tell_published()

    thread = threading.Thread(target=ask)
    thread.start()
    told.recorder.drain(told.executor)
    asking.set()
    thread.join()
    assert told.recorder.summary().startswith('1 message of 1 topic, 0 lost, ')
    assert 'not known' not in told.recorder.summary()


def test_the_end_is_told_by_a_node_that_ends(told):
    for number in range(100):
        told.node.out.publish(controls(number))
    told.node.shut_down()
    told.recorder.drain(told.executor)
    assert told.recorder.summary().startswith('100 messages of 1 topic, 0 lost, ')


def test_what_is_missing_at_the_end_is_waited_for_and_then_lost(told, monkeypatch):
    monkeypatch.setattr(draining.Quiet, 'longest', lambda _: 3.0)
    for number in range(3):
        told.node.out.publish(controls(number))
    # As if the middleware had not delivered them.
    told.node.published._counts[told.node.out].messages += 7
    began = time.monotonic()
    told.recorder.drain(told.executor)
    assert time.monotonic() > began + 3.0
    assert '3 messages of 1 topic, 7 (7 of /uav/controls) lost' in told.recorder.summary()


def test_one_that_is_told_again_ends_at_once(told):
    told.node.out.publish(controls(1))
    told.node._diagnostics_timer.cancel()
    told.recorder.hurry()
    told.recorder.drain(told.executor)
    assert told.recorder.summary().endswith('; the end is not known of /uav/controls')


def test_a_recorder_without_processor_time_still_completes_its_file(ros, tmp_path):
    """What Fast DDS dropped meanwhile comes with its next heartbeat, within 3 s."""
    publisher = ros.observer.create_publisher(FlightControls, '/uav/controls', 1000)
    with recording(tmp_path / 'flight.mcap', '--namespace', 'uav') as child:
        publish_until_recorded(ros, publisher, [controls(0)])
        child.send_signal(signal.SIGSTOP)
        for number in range(900):
            publisher.publish(controls(number))
        # It hears of the end first.
        child.send_signal(signal.SIGTERM)
        assert not publisher.wait_for_all_acked(Duration(seconds=0.4))
        child.send_signal(signal.SIGCONT)
        output, _ = child.communicate(timeout=90)
    assert '901 messages of 1 topic, 0 lost' in output


def test_what_was_published_before_the_start_is_no_loss(ros, tmp_path):
    path = tmp_path / 'flight.mcap'
    publisher = ros.observer.create_publisher(FlightControls, '/uav/controls', 10)
    for number in range(7):
        publisher.publish(controls(number))
    with recording(path, '--namespace', 'uav') as child:
        publish_until_recorded(ros, publisher, [controls(8)])
        assert ('1 message of 1 topic, 0 lost, 0 published between the start and discovery'
                in finish(child))


def test_the_summary_names_the_topics_that_lack_messages():
    topics = [
        SubscribedTopic(
            f'/uav/{name}', '', object, rosbag2.SequenceNumbers(0, before, lost), messages=10)
        for name, before, lost in (('a', 0, 2), ('b', 3, 7), ('c', 0, 0))]
    topics.append(
        SubscribedTopic('/uav/d', '', object, rosbag2.SequenceNumbers(known=False), messages=1))
    assert summary(topics) == (
        '31 messages of 4 topics, 9 (7 of /uav/b, 2 of /uav/a) lost, about 3 (3 of /uav/b) '
        'published between the start and discovery (not known for /uav/d)')
    many = [
        SubscribedTopic(
            f'/{number}', '', object, rosbag2.SequenceNumbers(0, 0, number), messages=1)
        for number in range(12)]
    assert '5 of /5, 4 of /4, 6 of 3 other topics) lost' in summary(many)


@pytest.mark.parametrize(('topics', 'why'), [
    ([], 'nothing publishes in /uav yet'),
    (['/uav/controls'], 'nobody has published on 1 topic that has a publisher')])
def test_a_recording_of_nothing_is_an_error(ros, tmp_path, topics, why):
    publishers = [ros.observer.create_publisher(FlightControls, topic, 10) for topic in topics]
    with recording(tmp_path / 'flight.mcap', '--namespace', 'uav') as child:
        for publisher in publishers:
            ros.wait_for(lambda one=publisher: one.get_subscription_count(), 'the recorder')
        assert child.stdout.readline().startswith('recording to')
        child.send_signal(signal.SIGTERM)
        output, _ = child.communicate(timeout=90)
    assert child.returncode == 1
    assert f'record: nothing was recorded: {why}' in output


def test_signals_while_the_file_is_completed_change_nothing(ros, tmp_path):
    path = tmp_path / 'flight.mcap'
    publisher = ros.observer.create_publisher(FlightControls, '/uav/controls', 200)
    with recording(path, '--namespace', 'uav') as child:
        publish_until_recorded(ros, publisher, [controls(n) for n in range(100)])
        ended = threading.Event()

        def insist():
            while not ended.wait(0.01):
                child.send_signal(signal.SIGINT)
                child.send_signal(signal.SIGTERM)

        insisting = threading.Thread(target=insist)
        insisting.start()
        output, _ = child.communicate(timeout=90)
        ended.set()
        insisting.join()
    assert child.returncode == 0
    assert '100 messages of 1 topic,' in output
    assert 'Traceback' not in output
    channels, _ = channels_of(path)
    assert set(channels) == {'/uav/controls'}


def test_metadata_are_as_rosbag2_writes_them():
    qos = QoSProfile(
        history=HistoryPolicy.KEEP_LAST, depth=5, reliability=ReliabilityPolicy.BEST_EFFORT,
        durability=DurabilityPolicy.VOLATILE, deadline=Duration(seconds=1, nanoseconds=5),
        lifespan=Duration(nanoseconds=2**63 - 1), liveliness=LivelinessPolicy.AUTOMATIC,
        liveliness_lease_duration=Duration(nanoseconds=2**63 - 1))
    offered = [
        '- history: keep_last',
        '  depth: 5',
        '  reliability: best_effort',
        '  durability: volatile',
        '  deadline:',
        '    sec: 1',
        '    nsec: 5',
        '  lifespan:',
        '    sec: 9223372036',
        '    nsec: 854775807',
        '  liveliness: automatic',
        '  liveliness_lease_duration:',
        '    sec: 9223372036',
        '    nsec: 854775807',
        '  avoid_ros_namespace_conventions: false']
    assert rosbag2.offered_qos_profiles([qos]).splitlines() == offered
    text = rosbag2.serialized_metadata(
        'a.mcap', [rosbag2.RecordedTopic('/a', 'std_msgs/msg/Empty', [qos], 'RIHS01_0', 3)],
        100, 350, 'jazzy', {})
    assert text.splitlines() == [
        'version: 9',
        'storage_identifier: mcap',
        'duration:',
        '  nanoseconds: 250',
        'starting_time:',
        '  nanoseconds_since_epoch: 100',
        'message_count: 3',
        'topics_with_message_count:',
        '- topic_metadata:',
        '    name: /a',
        '    type: std_msgs/msg/Empty',
        '    serialization_format: cdr',
        '    offered_qos_profiles:',
        *(f'    {line}' for line in offered),
        '    type_description_hash: RIHS01_0',
        '  message_count: 3',
        "compression_format: ''",
        "compression_mode: ''",
        'relative_file_paths:',
        '- a.mcap',
        'files:',
        '- path: a.mcap',
        '  starting_time:',
        '    nanoseconds_since_epoch: 100',
        '  duration:',
        '    nanoseconds: 250',
        '  message_count: 3',
        'custom_data: {}',
        'ros_distro: jazzy']


def test_a_recording_without_messages_has_the_times_that_rosbag2_gives_it():
    metadata = yaml.safe_load(rosbag2.serialized_metadata('a', [], None, None, '', {}))
    assert metadata['starting_time'] == {'nanoseconds_since_epoch': 9223372036854775807}
    assert metadata['duration'] == {'nanoseconds': 0}


@pytest.mark.parametrize(('heard', 'before', 'lost'), [
    ([(1, b'a', 200), (2, b'a', 210)], 0, 0),
    # All four since the start, at 100, or only the last two of them; or none, as it was latched.
    ([(5, b'a', 200), (6, b'a', 220), (9, b'a', 280)], 4, 2),
    ([(5, b'a', 150), (6, b'a', 170), (9, b'a', 230)], 2, 2),
    ([(5, b'a', 90), (6, b'a', 220)], 0, 0),
    # How many of them there is nothing to tell.
    ([(5, b'a', 200)], 0, 0),
    # Two publishers, each with its own sequence numbers.
    ([(3, b'a', 190), (1, b'b', 190), (4, b'a', 200), (3, b'b', 230)], 2, 1),
    # One after the other, and the middleware does not identify them.
    ([(7, None, 190), (8, None, 200), (3, None, 310), (4, None, 320)], 8, 0),
])
def test_numbers_say_what_did_not_come(heard, before, lost):
    numbers = rosbag2.SequenceNumbers(100)
    assert all(numbers.heard(number, publisher, 1, at) for number, publisher, at in heard)
    assert (numbers.known, numbers.before, numbers.lost) == (True, before, lost)


def test_what_comes_twice_is_heard_once():
    numbers = rosbag2.SequenceNumbers()
    assert [numbers.heard(number, b'a', 1, 0) for number in (4, 4, 5)] == [True, False, True]


@pytest.mark.parametrize(('number', 'publisher', 'publishers'), [
    (None, b'a', 1), (3, None, 2)])
def test_without_numbers_of_one_publisher_nothing_is_claimed(number, publisher, publishers):
    numbers = rosbag2.SequenceNumbers()
    assert numbers.heard(number, publisher, publishers, 0)
    assert not numbers.known
    assert (numbers.before, numbers.lost) == (0, 0)


@pytest.mark.parametrize(('info', 'expected'), [
    ({'received_timestamp': 7, 'source_timestamp': 5}, (7, 5, True)),
    ({'received_timestamp': 0, 'source_timestamp': 5}, (9, 5, False)),
    ({'received_timestamp': 7, 'source_timestamp': 0}, (7, 7, True)),
    ({}, (9, 9, False)),
])
def test_times_that_the_middleware_does_not_give(info, expected):
    assert rosbag2.times(info, 9) == expected


def test_definitions_hold_all_that_a_type_contains():
    text = definition('nav_msgs/msg/Odometry')
    for inner in ('std_msgs/Header', 'geometry_msgs/PoseWithCovariance', 'geometry_msgs/Pose',
                  'geometry_msgs/Point', 'geometry_msgs/Quaternion', 'geometry_msgs/Vector3',
                  'geometry_msgs/TwistWithCovariance', 'builtin_interfaces/Time'):
        assert text.count(f'MSG: {inner}\n') == 1
    assert 'float64[36] covariance' in text


def test_the_number_of_topics_has_a_limit(ros, tmp_path, monkeypatch):
    monkeypatch.setattr(record, '_MOST_TOPICS', 2)
    publishers = [
        ros.observer.create_publisher(FlightControls, f'/uav/controls{number}', 10)
        for number in range(4)]
    node = Node('record', context=ros.context)
    with Recorder(node, str(tmp_path / 'flight.mcap'), '/uav') as recorder:
        ros.wait_for(lambda: recorder.discover() or 'topics beyond 2' in recorder.summary(),
                     'all topics')
        assert sum(publisher.get_subscription_count() for publisher in publishers) <= 2
    node.destroy_node()
