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


"""A recording whose recorder was killed is read up to there, and completed for other readers."""

from io import BytesIO
import os
import random
import struct

import pytest

pytest.importorskip('mcap', reason='mcap is not installed')
pytest.importorskip('rosbags', reason='rosbags is not installed')

from mcap.reader import make_reader
from mcap.writer import Writer
from records import database, good, mcap, record, text

from xplane_bridge.commands import export, picture
from xplane_bridge.common import plain_files, plain_yaml
from xplane_bridge.laboratory.flights.analysis.history import load
from xplane_bridge.laboratory.flights.recordings import rosbag2
from xplane_bridge.laboratory.flights.recordings.cdr import definition
from xplane_bridge.laboratory.flights.recordings.completed import complete
from xplane_bridge.laboratory.flights.recordings.files import Recording
from xplane_bridge.laboratory.flights.recordings.topics import RecordingError

SECOND = 10**9
IMU = 'sensor_msgs/msg/Imu'
METADATA = {
    'offered_qos_profiles': '- history: keep_last\n  depth: 10\n  durability: volatile\n',
    'topic_type_hash': 'RIHS01_'}
OF_RECORDER = {'serialized_metadata': (
    f'ros_distro: jazzy\ncustom_data:\n  {rosbag2.LOG_TIME}: {rosbag2.HANDLED}\n'
    '  summary: 0 messages\n')}


def imu(second):
    return struct.pack('<4sIII4s37d', b'\0\1\0\0', second, 0, 1, b'\0\0\0\0', *(
        float(second + number) for number in range(37)))


@pytest.fixture(scope='module')
def recorded():
    """Return what record writes in five seconds: a chunk for each second, with three messages."""
    stream = BytesIO()
    writer = Writer(stream, chunk_size=10**6)
    writer.start('ros2', 'test')
    writer.add_metadata(rosbag2.METADATA_RECORD, OF_RECORDER)
    kind = writer.register_schema(IMU, 'ros2msg', definition(IMU)[0].encode())
    channel = writer.register_channel('/uav/imu/data', 'cdr', kind, METADATA)
    for at in range(15):
        writer.add_message(channel, at * SECOND + 2, imu(at), at * SECOND + 1, at + 7)
        if at % 3 == 2:
            writer.flush()
    writer.finish()
    return stream.getvalue()


@pytest.fixture(scope='module')
def ends(recorded):
    """Return where each chunk ends, as another reader says."""
    indexes = make_reader(BytesIO(recorded)).get_summary().chunk_indexes
    return sorted(one.chunk_start_offset + one.chunk_length for one in indexes)


@pytest.fixture
def killed(recorded, ends, tmp_path):
    """Return the file as a kill leaves it in the middle of the fifth chunk."""
    path = tmp_path / 'flight.mcap'
    path.write_bytes(recorded[:ends[4] - 10])
    return path


def counted(path):
    """Return how many messages are read, and the recording."""
    recording = Recording(path)
    return sum(1 for _ in recording.messages()), recording


def messages(path):
    """Return what a reader that goes by the index finds, and the summary."""
    with open(path, 'rb') as stream:
        reader = make_reader(stream)
        found = [(kind.name, channel.topic, channel.metadata, one.log_time, one.publish_time,
                  one.sequence, one.data) for kind, channel, one in reader.iter_messages()]
        return found, reader.get_summary(), [*reader.iter_metadata()]


def test_a_file_cut_anywhere_is_read_up_to_its_last_whole_chunk(recorded, ends, tmp_path):
    path = tmp_path / 'flight.mcap'
    path.write_bytes(recorded)
    assert counted(path)[0] == 15
    assert not counted(path)[1].cut
    behind = range(len(recorded) - 1, ends[-1], -7)
    for size in (*behind, *range(ends[-1], -1, -1)):
        os.truncate(path, size)
        chunks = sum(end <= size for end in ends)
        if not chunks:
            with pytest.raises(RecordingError, match='is not read as a recording: '):
                counted(path)
            continue
        count, recording = counted(path)
        assert count == 3 * chunks, size
        assert recording.cut.startswith(f'{path} was not finished by its recorder, ')
        # As long as nobody has said more.
        assert not recording.log_time
        assert recording.unread <= size - ends[chunks - 1]


@pytest.mark.parametrize('tail', [b'', bytes(5000), b'\x06' + bytes(3)])
def test_what_a_power_failure_leaves_is_read_up_to_there(recorded, ends, tmp_path, tail):
    path = tmp_path / 'flight.mcap'
    path.write_bytes(recorded[:ends[2]] + tail)
    assert counted(path)[0] == 9


def test_what_is_damaged_and_cut_is_read_or_refused_in_a_sentence(recorded, ends, tmp_path):
    path = tmp_path / 'flight.mcap'
    chance = random.Random(52)
    counts = set()
    for _ in range(200):
        mutant = bytearray(recorded[:chance.randrange(ends[0], len(recorded))])
        for _ in range(chance.randint(1, 3)):
            mutant[chance.randrange(len(mutant))] ^= 1 << chance.randrange(8)
        path.write_bytes(mutant)
        try:
            found, _ = counted(path)
        except RecordingError as error:
            assert len(str(error).splitlines()) == 1
            found = None
        counts.add(found)
    assert {None, 3, 6, 9, 12, 15} <= counts


def test_a_finished_file_that_is_damaged_is_still_refused(recorded, ends, tmp_path):
    path = tmp_path / 'flight.mcap'
    damaged = bytearray(recorded)
    # The length of the third chunk: as if the file were too short for it.
    damaged[ends[1] + damaged[ends[1]:].index(b'\x06') + 7] = 1
    path.write_bytes(damaged)
    with pytest.raises(RecordingError, match='are left of the file'):
        load(path)
    with pytest.raises(RecordingError, match='are left of the file'):
        complete(path, path)
    assert path.read_bytes() == damaged


def test_how_far_a_flight_goes_is_said(killed, capsys, monkeypatch):
    flight = load(killed)
    assert flight.series['roll'].times[-1] == 11.0
    assert flight.cut.endswith('; imu/data goes to 11.00 s')
    monkeypatch.setattr(
        'xplane_bridge.laboratory.experiments.picture.draw_flight', lambda *_, **__: None)
    assert picture.main([str(killed)]) == 0
    assert f'picture: {flight.cut}\n' == capsys.readouterr().err


def test_one_that_is_completed_is_read_by_its_index(recorded, killed):
    whole = killed.parent / 'whole.mcap'
    whole.write_bytes(recorded)
    assert export.main([str(killed), '--to', 'mcap']) == 2
    assert export.main([str(killed), '--to', 'mcap', '--force']) == 1
    found, summary, metadata = messages(killed)
    assert found == messages(whole)[0][:12]
    assert summary.statistics.message_count == 12
    # What rosbag2 takes from it.
    said = plain_yaml.load(metadata[-1].metadata['serialized_metadata'])
    topic, = said['topics_with_message_count']
    assert topic['message_count'] == said['message_count'] == 12
    assert topic['topic_metadata']['offered_qos_profiles'] == [
        {'history': 'keep_last', 'depth': 10, 'durability': 'volatile'}]
    assert said['ros_distro'] == 'jazzy'
    assert said['duration'] == {'nanoseconds': 11 * SECOND}
    # That it was cut is not forgotten, nor is a second time needed.
    assert 'was completed later: ' in load(killed).cut
    assert export.main([str(killed), '--to', 'mcap', '--force']) == 1
    assert messages(killed)[::2] == (found, metadata)


def test_a_finished_one_stays_what_it_is(recorded, tmp_path):
    path, output = tmp_path / 'flight.mcap', tmp_path / 'other' / 'copy.mcap'
    path.write_bytes(recorded)
    assert export.main([str(path), '--to', 'mcap', '--output', str(output)]) == 0
    assert messages(output)[0] == messages(path)[0]
    assert load(output).log_time == load(path).log_time == rosbag2.HANDLED
    assert not load(output).cut


def test_topics_are_chosen_for_another_file(killed, capsys):
    options = [str(killed), '--to', 'mcap', '--force', '--topics', 'imu/data']
    before = killed.read_bytes()
    for more, why in ((), 'name another --output'), (('--resample', '0.1'), '--resample: '):
        assert export.main([*options, *more]) == 2
        assert why in capsys.readouterr().err
    assert killed.read_bytes() == before
    other = killed.with_name('other.mcap')
    assert export.main([*options, '--output', str(other)]) == 1
    assert len(messages(other)[0]) == 12
    capsys.readouterr()
    assert export.main([*options[:-1], 'fix', '--output', str(other)]) == 2
    assert 'has nothing to write' in capsys.readouterr().err
    assert len(messages(other)[0]) == 12


def test_nothing_that_would_be_lost_is_replaced(tmp_path):
    for name, records, why in (
            ('attachment', record(9, bytes(40)), '1 attachment or other metadata record'),
            ('metadata', record(12, text('mine') + text(b'')), '1 attachment or other metadata'),
            ('type', good(2, '/long' * 60), 'its name has 300 characters'),
            ('rest', record(5, bytes(65 << 20))[:-1], 'bytes behind the fault')):
        path = tmp_path / f'{name}.mcap'
        content = mcap(good(), records)[:-40 if name != 'rest' else -54]
        path.write_bytes(content)
        with pytest.raises(RecordingError, match='is not replaced, as that would lose .*' + why):
            complete(path, path)
        assert path.stat().st_size == len(content)
        counts, said = complete(path, tmp_path / 'other.mcap')
        assert counts == {'/good': 1}
        assert len(said) == 1 + (name != 'rest')
    assert sorted(one.suffix for one in tmp_path.iterdir()) == ['.mcap'] * 5


def test_only_mcap_is_completed(tmp_path):
    path = database(tmp_path / 'a.db3')
    with pytest.raises(RecordingError, match='completed only if it is an MCAP file'):
        complete(path, tmp_path / 'b.mcap')
    with pytest.raises(IsADirectoryError):
        complete(tmp_path, tmp_path / 'b.mcap')
    assert not (tmp_path / 'b.mcap').exists()


def test_what_is_being_recorded_is_read_and_not_replaced(recorded, ends, tmp_path):
    path = tmp_path / 'flight.mcap'
    with plain_files.growing(path) as stream:
        stream.write(recorded[:ends[1]])
        stream.flush()
        assert load(path).cut == (
            f'{path} is still being recorded, and is read as far as it goes; imu/data goes to '
            '5.00 s')
        with pytest.raises(RecordingError, match='is still being recorded, so it is not replaced'):
            complete(path, path)
        assert complete(path, tmp_path / 'copy.mcap')[0] == {'/uav/imu/data': 6}
    assert 'was not finished' in load(path).cut
