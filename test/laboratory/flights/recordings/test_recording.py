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

"""Damaged recordings yield one sentence, and take no more memory than allowed."""

import random
import struct

import pytest

pytest.importorskip('mcap', reason='mcap is not installed')
pytest.importorskip('rosbags', reason='rosbags is not installed')
pytest.importorskip('rclpy', reason='rclpy is not installed')

from mcap.writer import CompressionType, Writer
import numpy as np
from rosbags.typesys import get_typestore, Stores

from xplane_bridge.laboratory.flights.analysis import history as analysis
from xplane_bridge.laboratory.flights.recordings import mcap_file, rosbag2, topics
from xplane_bridge.laboratory.flights.recordings.topics import RecordingError

KINDS = {name: CompressionType[name] for name in ('NONE', 'LZ4', 'ZSTD')}
IMU = 'sensor_msgs/msg/Imu'


def write(path, kind, messages=20):
    """Write a recording of one vehicle's imu/data, as record does."""
    types = get_typestore(Stores.ROS2_JAZZY)
    definition, _ = types.generate_msgdef(IMU, ros_version=2)
    vector = types.types['geometry_msgs/msg/Vector3'](1.0, 2.0, 3.0)
    covariance = np.zeros(9)
    with path.open('wb') as stream:
        writer = Writer(stream, chunk_size=2048, compression=KINDS[kind])
        writer.start('ros2', 'test')
        schema = writer.register_schema(IMU, 'ros2msg', definition.encode())
        channel = writer.register_channel('/uav/imu/data', 'cdr', schema)
        for number in range(messages):
            stamp = types.types['builtin_interfaces/msg/Time'](1_700_000_000 + number, 0)
            message = types.types[IMU](
                types.types['std_msgs/msg/Header'](stamp, 'imu_link'),
                types.types['geometry_msgs/msg/Quaternion'](0.0, 0.0, 0.0, 1.0),
                covariance, vector, covariance, vector, covariance)
            time = (1_700_000_000 + number) * 10**9
            writer.add_message(channel, time, types.serialize_cdr(message, IMU), time)
        writer.add_metadata(rosbag2.METADATA_RECORD, {
            'serialized_metadata': f'custom_data: {{{rosbag2.LOG_TIME}: {rosbag2.HANDLED}}}'})
        writer.finish()
    return path.read_bytes()


@pytest.fixture(scope='module', params=sorted(KINDS))
def recording(request, tmp_path_factory):
    path = tmp_path_factory.mktemp('recordings') / 'flight.mcap'
    return path, write(path, request.param)


def record_at(data, kind):
    """Return the offset of the first record of a kind."""
    at = 8
    while data[at] != kind:
        at += 9 + struct.unpack_from('<Q', data, at + 1)[0]
    return at


def refused(path, data):
    path.write_bytes(data)
    with pytest.raises(RecordingError) as caught:
        analysis.load(path)
    text = str(caught.value)
    assert text.startswith(f'{path} is not read as a recording: ')
    assert '\n' not in text
    return text.partition('recording: ')[2]


def test_a_whole_one_is_read(recording):
    path, data = recording
    path.write_bytes(data)
    flight = analysis.load(path)
    assert flight.namespace == '/uav'
    assert len(flight.topics['imu/data'].stamps) == 20
    assert flight.log_time == rosbag2.HANDLED


def test_mutants_give_nothing_but_sentences(recording):
    path, data = recording
    chance = random.Random(path.name)
    refusals = 0
    for _ in range(100):
        mutant = bytearray(data)
        for _ in range(chance.randint(1, 4)):
            at = chance.randrange(len(mutant))
            length = chance.choice((1, 1, 4, 8))
            mutant[at:at + chance.choice((0, length, length))] = chance.choice((
                b'', b'\xff' * length, bytes(length), chance.randbytes(length)))
        if chance.random() < 0.2:
            del mutant[chance.randrange(len(mutant)):]
        path.write_bytes(mutant)
        try:
            analysis.load(path)
        except RecordingError as error:
            assert '\n' not in str(error)
            assert len(str(error)) < 500
            refusals += 1
    assert refusals > 50


def test_a_file_that_is_cut_before_its_first_topic_says_where(recording):
    path, data = recording
    chunk = record_at(data, 6)
    assert refused(path, data[:chunk + 4]) == (
        f'it is cut short at offset {chunk + 4}: expected a record or the end, which its recorder '
        'writes last')
    length, = struct.unpack_from('<Q', data, chunk + 1)
    assert refused(path, data[:chunk + 20]) == (
        f'record of type 6 at offset {chunk}: says {length} bytes, 11 are left of the file')
    assert refused(path, b'') == 'it does not begin as an MCAP file'


@pytest.mark.parametrize('size', [2**32, 2**62])
def test_a_chunk_that_claims_gigabytes_is_refused_before_it_is_decompressed(recording, size):
    path, data = recording
    at = record_at(data, 6)
    claim = data[:at + 25] + struct.pack('<Q', size) + data[at + 33:]
    assert refused(path, claim) == (
        f'record of type 6 at offset {at}: says {size} bytes, expected at most 67108864')


def test_a_chunk_that_holds_more_than_it_says_is_not_decompressed_further(tmp_path, monkeypatch):
    """64 MiB of zeros in a few kilobytes that claim to be 1000."""
    path = tmp_path / 'bomb.mcap'
    data = write(path, 'ZSTD')
    zstandard = pytest.importorskip('zstandard')
    records = zstandard.compress(bytes(64 * 1024 * 1024))
    body = struct.pack('<QQQII', 0, 0, 1000, 0, 4) + b'zstd' + struct.pack('<Q', len(records))
    bomb = struct.pack('<BQ', 6, len(body) + len(records)) + body + records
    at = record_at(data, 6)
    most = []
    real = mcap_file._DECOMPRESSORS['zstd']
    monkeypatch.setitem(mcap_file._DECOMPRESSORS, 'zstd', lambda records, size: (
        most.append(size), real(records, size))[1])
    assert refused(path, data[:at] + bomb + data[at:]) == (
        f'record of type 6 at offset {at}: zstd: says 1000 bytes of records, decompressed they '
        'are more')
    assert most == [1000]


def test_an_index_that_lies_is_not_believed(recording):
    path, data = recording
    at = record_at(data, 8)
    length, = struct.unpack_from('<Q', data, at + 1)
    end = at + 9 + length
    path.write_bytes(data[:end - 16] + struct.pack('<Q', 2**40) + data[end - 8:])
    assert len(analysis.load(path).topics['imu/data'].stamps) == 20


@pytest.mark.parametrize('text', [
    '[', '[]', '{"begin": "now"}', '{"begin": 1e300}', '[' * 100_000, '{"begin": ' + '9' * 5000],
    ids=lambda text: text[:20])
def test_figures_beside_it_that_cannot_be_are_said(recording, text):
    path, data = recording
    path.write_bytes(data)
    figures = path.with_suffix('.json')
    figures.write_text(text)
    try:
        with pytest.raises(RecordingError, match=r'flight\.json: expected the'):
            analysis.load(path)
    finally:
        figures.unlink()


def test_the_number_of_messages_is_bounded(recording, monkeypatch):
    path, data = recording
    path.write_bytes(data)
    monkeypatch.setattr(analysis, '_MAX_MESSAGES', 19)
    with pytest.raises(RecordingError, match='more than 19 messages'):
        analysis.load(path)


def test_topics_and_their_types_are_bounded_and_kept_once(monkeypatch):
    monkeypatch.setattr(topics, 'MAX_CHANNELS', 2)
    monkeypatch.setattr(topics, 'MAX_NAME', 5)
    monkeypatch.setattr(topics, 'MAX_DEFINITION', 4)
    monkeypatch.setattr(topics, 'MAX_DEFINITIONS', 6)
    known = topics.Topics()
    first = known.add('/five', 'A', 'cdr', 'text')
    second = known.add('/sixth', 'A', 'cdr', 'text')
    assert (first.fault, second.fault) == ('', 'its name has 6 characters, expected at most 5')
    assert second.definition == ''
    assert known.add('/five', 'A', 'cdr', 'text') is first
    with pytest.raises(ValueError, match='it has more than 2 topics'):
        known.add('/more', 'A', 'cdr', 'text')
    assert [*known] == [first, second]
    assert known.definition(b'four') == known.definition(b'four') == ('four', '')
    assert known.definition(b'fives') == (
        '', 'its definition has 5 bytes, expected at most 4')
    assert known.definition(b'tw') == ('tw', '')
    assert known.definition(b'o') == (
        '', 'the definitions of all types have more than 6 bytes')


def test_a_folder_that_is_no_bag_is_said(tmp_path):
    folder = tmp_path / 'bag'
    folder.mkdir()
    for text in (None, 'rosbag2_bagfile_information: {version: 9', '- ' * 1000, ' ' * 2**21):
        if text:
            (folder / 'metadata.yaml').write_text(text)
        with pytest.raises(RecordingError, match='bag is not read as a recording'):
            analysis.load(folder)
