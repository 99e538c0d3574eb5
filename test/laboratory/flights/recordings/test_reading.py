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


"""What readers of recordings take, and where they stop: at each bound itself, and one beyond."""

import sqlite3
import struct
from types import SimpleNamespace

import pytest

pytest.importorskip('mcap', reason='mcap is not installed')
pytest.importorskip('rosbags', reason='rosbags is not installed')
pytest.importorskip('zstandard', reason='zstandard is not installed')

from records import (
    channel,
    chunk,
    database,
    GOOD,
    good,
    MAGIC,
    mcap,
    message,
    record,
    schema,
    text,
    topic,
)
import yaml
import zstandard

from xplane_bridge.laboratory.flights.recordings import (
    bounds,
    files,
    mcap_file,
    message_types,
    rosbag2,
    sqlite_file,
)
from xplane_bridge.laboratory.flights.recordings.files import Recording
from xplane_bridge.laboratory.flights.recordings.message_types import MessageTypes
from xplane_bridge.laboratory.flights.recordings.rosbag2 import SequenceNumbers
from xplane_bridge.laboratory.flights.recordings.topics import RecordingError, Topic, Topics

TIME = 10**18
METADATA = record(12, text('rosbag2') + (lambda body: struct.pack('<I', len(body)) + body)(
    text('other') + text('x') + text('serialized_metadata') + text(
        f'custom_data: {{{rosbag2.LOG_TIME}: {rosbag2.HANDLED}}}')))


def read(path, data=None):
    """Return name, time and data of each message."""
    if data is not None:
        path.write_bytes(data)
    return [(one.topic.name, one.log_ns, one.data) for one in Recording(path).messages()]


def refused(path, data=None):
    """Return why it is not read."""
    with pytest.raises(RecordingError) as caught:
        read(path, data)
    return str(caught.value).partition('is not read as a recording: ')[2]


ONE = [('/good', TIME, GOOD[2])]


# MCAP

@pytest.mark.parametrize('data', [
    mcap(good()), mcap(chunk(good(), len(good()), '')),
    mcap(chunk(zstandard.compress(good()), len(good()))),
    # What comes again has to be of the same, and what is not known is passed over.
    mcap(good()[:-len(message(1, GOOD[2]))], schema(1, 'other', b'x'), channel(1, 1, '/other'),
         record(0x90, b'abc'), message(1, GOOD[2])),
    mcap(chunk(record(0x80, b'abc') + good(), len(good()) + 12, '')),
    mcap(good(), end=good()), zstandard.compress(mcap(record(11, bytes(3)), good()))])
def test_a_message_is_read_within_chunks_and_without(tmp_path, data):
    assert read(tmp_path / 'a.mcap', data) == ONE


@pytest.mark.parametrize(('data', 'fault'), [
    (b'\x89MCAP1\r\n' + good(), 'it does not begin as an MCAP file'),
    (MAGIC + good(), 'record of type 3 at offset 8: expected a header, type 1'),
    (mcap(message(1, GOOD[2])), 'record of type 5 at offset 33 is damaged: 1'),
    (mcap(chunk(message(1, GOOD[2]), len(message(1, GOOD[2])), '')),
     'record of type 6 at offset 33: a message is of channel 1, which is none'),
    (mcap(chunk(good() + b'12345678', len(good()) + 8, '')),
     'record of type 6 at offset 33: 8 bytes behind its last record'),
    (mcap(chunk(record(5, b'')[:-1] + b'\x01', 9, '')),
     'record of type 6 at offset 33: a record in it says 72057594037927936 bytes, 0 are left of '
     'the chunk'),
    (mcap(chunk(good(), len(good()), 'rar')), 'record of type 6 at offset 33: its compression '
     "is 'rar', expected one of zstd, lz4 or none"),
    (mcap(chunk(good(), len(good()) + 1, '')), 'record of type 6 at offset 33: : says '
     f'{len(good()) + 1} bytes of records, has {len(good())}'),
    (mcap(chunk(record(1, b''), 9, '')), 'record of type 6 at offset 33 is damaged: a record of '
     'type 1 is within it'),
    (mcap(chunk(record(0x7f, b''), 9, '')), 'record of type 6 at offset 33 is damaged: a record '
     'of type 127 is within it'),
    (mcap(record(3, struct.pack('<HI', 1, 9) + b'12')),
     'record of type 3 at offset 33 is damaged: a text says 9 bytes, 2 are left')])
def test_what_is_wrong_with_a_file_is_said(tmp_path, data, fault):
    assert refused(tmp_path / 'a.mcap', data) == fault


def test_a_compressed_file_that_is_damaged_is_said(tmp_path):
    packed = bytearray(zstandard.compress(mcap(good())))
    packed[-3:] = b'xyz'
    assert refused(tmp_path / 'a.mcap.zstd', bytes(packed)).startswith('zstd: ')


def test_what_the_times_are_is_in_the_metadata_of_a_file(tmp_path):
    path = tmp_path / 'a.mcap'
    for before in (b'', record(12, text('other') + bytes(4)), record(12, text('rosbag2')[:-1])):
        path.write_bytes(mcap(before, METADATA, good()))
        recording = Recording(path)
        assert recording.log_time == ''
        assert len([*recording.messages()]) == 1
        assert recording.log_time == rosbag2.HANDLED
    assert [one.name for one in recording.topics] == ['/good']
    path.write_bytes(mcap(good()))
    recording = Recording(path)
    assert len([*recording.messages()]) == 1
    assert recording.log_time == ''


# Bags

def bag(folder, names, **contents):
    folder.mkdir(exist_ok=True)
    for name in contents.get('present', names):
        (folder / name).write_bytes(mcap(topic(1, f'/{name[:-5]}')))
    if contents.get('metadata', True):
        (folder / 'metadata.yaml').write_text(yaml.safe_dump({
            'rosbag2_bagfile_information': {'relative_file_paths': names}}))
    return folder


def test_files_of_a_bag_are_read_in_their_order(tmp_path):
    numbered = ['a_2.mcap', 'a_10.mcap', 'a_1.mcap']
    with_metadata = bag(tmp_path / 'with', [*numbered, '../a_2.mcap'], present=numbered)
    assert [name for name, *_ in read(with_metadata)] == ['/a_2', '/a_10', '/a_1']
    without = bag(tmp_path / 'without', [*numbered, 'b.mcap'], metadata=False)
    assert [name for name, *_ in read(without)] == ['/b', '/a_1', '/a_2', '/a_10']
    recording = Recording(without)
    [*_] = recording.messages()
    assert recording.log_time == rosbag2.RECEIVED


def test_a_fault_of_one_file_of_a_bag_is_told_and_the_others_are_read(tmp_path):
    folder = bag(tmp_path / 'bag', ['a.mcap', 'b.mcap'])
    (folder / 'a.mcap').write_bytes(b'none')
    assert refused(folder) == 'a.mcap: it does not begin as an MCAP file'
    told = []
    found = [one.topic.name for one in Recording(folder).messages(
        lambda path, fault: told.append((path.name, fault)))]
    assert (found, told) == (['/b'], [('a.mcap', 'it does not begin as an MCAP file')])


def test_a_bag_has_its_files_and_not_too_many(tmp_path, monkeypatch):
    monkeypatch.setattr(files, 'MAX_FILES', 2)
    folder = bag(tmp_path / 'bag', ['a.mcap', 'b.mcap'])
    assert len(read(folder)) == 2
    assert refused(bag(folder, ['a.mcap', 'b.mcap', 'c.mcap'])) == (
        'it has 3 files, expected at most 2')
    assert refused(bag(folder, ['a.mcap', 'd.mcap'], present=[])) == (
        "there is no file 'd.mcap' in it")
    for content, fault in (('[]', 'TypeError'), ('{}', 'KeyError'), (
            'rosbag2_bagfile_information: {relative_file_paths: [[1]]}', 'TypeError')):
        (folder / 'metadata.yaml').write_text(content)
        assert refused(folder) == (
            f'metadata.yaml: expected relative_file_paths in it ({fault})')


# Databases

def test_a_message_of_a_database_is_unpacked_up_to_the_bound(tmp_path, monkeypatch):
    monkeypatch.setattr(sqlite_file, 'MAX_CHUNK', 64)
    assert read(database(tmp_path / 'plain.db3')) == ONE
    most = database(tmp_path / 'most.db3', data=zstandard.compress(bytes(64)))
    assert read(most) == [('/good', TIME, bytes(64))]
    assert refused(database(tmp_path / 'more.db3', data=zstandard.compress(bytes(65)))) == (
        'a compressed message has more than 64 bytes')
    assert refused(database(tmp_path / 'long.db3', data=bytes(65))) == (
        'a message of 65 bytes is of topic, time and data that are none')
    packed = tmp_path / 'packed.db3.zstd'
    packed.write_bytes(zstandard.compress(most.read_bytes()))
    assert read(packed) == [('/good', TIME, bytes(64))]


@pytest.mark.parametrize(('statement', 'fault'), [
    ('DROP TABLE topics', 'it has no table topics'),
    ('UPDATE messages SET topic_id = 2', 'a message of 12 bytes is of topic, time and data that '
     'are none'),
    ("UPDATE messages SET timestamp = 'now'", 'a message of 12 bytes is of topic, time and data '
     'that are none'),
    ('UPDATE messages SET data = NULL', 'a message of unknown bytes is of topic, time and data '
     'that are none')])
def test_what_is_wrong_with_a_database_is_said(tmp_path, statement, fault):
    path = database(tmp_path / 'a.db3')
    with sqlite3.connect(path) as file:
        file.execute(statement)
    file.close()
    assert refused(path) == fault


def test_a_database_has_the_definitions_of_its_types(tmp_path):
    path = database(tmp_path / 'a.db3')
    with sqlite3.connect(path) as file:
        file.execute('CREATE TABLE message_definitions(topic_type, encoding, '
                     'encoded_message_definition)')
        file.execute("INSERT INTO message_definitions VALUES (?, 'ros2msg', 'float64 data')",
                     GOOD[:1])
        file.execute("INSERT INTO topics VALUES (2, '/other', 'a/msg/B', 'json')")
    file.close()
    recording = Recording(path)
    [*_] = recording.messages()
    assert [*recording.topics] == [
        Topic('/good', GOOD[0], 'ros2msg', 'float64 data'), Topic('/other', 'a/msg/B', 'json', '')]


def test_a_database_that_gives_no_rows_for_long_is_left(tmp_path, monkeypatch):
    monkeypatch.setattr(sqlite_file, '_MOST_STEPS', 200)
    path = database(tmp_path / 'a.db3')
    with sqlite3.connect(path) as file:
        file.executemany('INSERT INTO messages VALUES (?, 1, 1, ?)',
                         ((number, GOOD[2]) for number in range(2, 202)))
    assert len(read(path)) == 201
    views = ''.join(f'CREATE VIEW view{number} AS SELECT 1;' for number in range(300))
    file.executescript(f'BEGIN; {views} COMMIT;')
    file.close()
    assert refused(path) == 'SQLite: interrupted'


def test_what_a_recording_unpacks_to_is_bounded_by_its_size(monkeypatch):
    monkeypatch.setattr(bounds, '_UNPACKED_AT_LEAST', 10)
    monkeypatch.setattr(bounds, '_RECORDS_AT_LEAST', 2)
    budget = bounds.UnpackBudget(4)
    budget.unpack(400)
    budget.unpack(10)
    with pytest.raises(bounds.TooMuchError, match='its content is 5 bytes larger than expected'):
        budget.unpack(5)
    budget.record(2)
    budget.record(1)
    with pytest.raises(bounds.TooMuchError, match='it has more messages than expected'):
        budget.record(1)


# Types

LINE = '=' * 80 + '\n'


def kind_of(definition, form='ros2msg', kind='a/msg/A', types=None):
    return (types or MessageTypes()).of(Topic('/a', kind, form, definition))


def fault_of(definition, form='ros2msg', kind='a/msg/A', types=None):
    with pytest.raises(ValueError, match='.') as caught:
        kind_of(definition, form, kind, types)
    return str(caught.value)


def nested(depth):
    """Return a type that has others within it, down to a number."""
    return ''.join(f'{LINE * bool(at)}{f"MSG: a/msg/A{at}" + chr(10) if at else ""}'
                   f'a/A{at + 1} inner\n' for at in range(depth - 1)) + (
        f'{LINE}MSG: a/msg/A{depth - 1}\nfloat64 data\n')


def test_types_within_each_other_are_bounded(monkeypatch):
    monkeypatch.setattr(message_types, 'MAX_DEPTH', 3)
    assert not kind_of(nested(3)).has_objects
    assert fault_of(nested(4)) == 'expected at most 3 types within each other'
    # Beginning with the innermost, which are known by then.
    assert fault_of('a/A3 first\n' + nested(4)) == 'expected at most 3 types within each other'
    assert fault_of(f'a/B b\n{LINE}MSG: a/msg/B\na/B b\n') == 'type a/msg/B contains itself'
    assert fault_of('a/B b\n') == 'type a/msg/B is not defined'


def test_values_fields_and_names_are_bounded(monkeypatch):
    monkeypatch.setattr(message_types, 'MAX_VALUES', 6)
    monkeypatch.setattr(message_types, 'MAX_FIELDS', 8)
    monkeypatch.setattr(message_types, 'MAX_ELEMENTS', 9)
    monkeypatch.setattr(message_types, 'MAX_NAME', 7)
    point = f'{LINE}MSG: a/msg/P\nfloat64 x\nfloat64 y\n'
    assert not kind_of(f'a/P[3] points\n{point}').has_objects
    assert fault_of(f'a/P[4] points\n{point}') == (
        'each message has 8 values, expected at most 6')
    # Numbers of an array are one value, and one field.
    assert not kind_of('float64[9] many\n').has_objects
    assert fault_of('float64[10] many\n') == 'many is an array of 10 elements, expected 1 to 9'
    assert kind_of('string[6] texts\n').has_objects is False
    assert fault_of('string[7] texts\n') == 'each message has 7 values, expected at most 6'
    assert fault_of('string[9] texts\n') == 'its definition has 9 fields, expected at most 8'
    assert fault_of('int8 ONE=1\n' + ''.join(f'int8 n{n}\n' for n in range(8))) == (
        'its definition has 9 fields, expected at most 8')
    assert not kind_of('float64 seven_7\n').has_objects
    assert fault_of('float64 eight_88\n') == (
        'a field has a name of 8 characters, expected at most 7')


def test_definitions_of_all_types_are_bounded(monkeypatch):
    monkeypatch.setattr(message_types, 'MAX_DEFINITIONS', 24)
    types = MessageTypes()
    assert kind_of('float64 one\n', types=types) is kind_of('float64 one\n', types=types)
    kind_of('float64 two\n', types=types)
    assert fault_of('x', types=types) == (
        'the definitions of all types have more than 24 characters')
    monkeypatch.setattr(message_types, 'MAX_ALL_FIELDS', 32)
    types = MessageTypes()
    kind_of('int8 a\n', types=types)
    kind_of('int8 b\n', types=types)
    assert fault_of('int8 c\n', types=types).startswith(
        'all types of the recording have more than ')


@pytest.mark.parametrize(('definition', 'has_objects'), [
    ('float64[] data', False), ('float64[3] data', False), ('string[] data', True),
    ('string data', False), (f'a/P[] points\n{LINE}MSG: a/msg/P\nfloat64 x', True),
    (f'a/P point\n{LINE}MSG: a/msg/P\nstring[] x', True)])
def test_lists_of_texts_and_types_are_objects(monkeypatch, definition, has_objects):
    found = kind_of(definition)
    assert found.has_objects is has_objects
    monkeypatch.setattr(message_types, 'MAX_OBJECTS', 11)
    if has_objects:
        with pytest.raises(ValueError, match='it has 12 bytes, expected at most 11 of a type'):
            found.decode(bytes(12))


def test_a_message_has_what_its_type_says():
    assert kind_of(GOOD[1].decode()).decode(GOOD[2]).data == 1.0
    assert kind_of('', 'ros2none', GOOD[0]).decode(GOOD[2]).data == 1.0
    idl = 'module a { module msg { struct A { double data; }; }; };'
    assert kind_of(f'{LINE}IDL: a/msg/A\n{idl}', 'ros2idl').decode(GOOD[2]).data == 1.0
    assert kind_of('# a comment (of ((no)) matter)\nfloat64 data').decode(GOOD[2]).data == 1.0


@pytest.mark.parametrize(('form', 'kind', 'definition', 'fault'), [
    ('ros2none', 'a/msg/A', '', 'its definition is missing'),
    ('', 'a/msg/A', '', 'its definition is missing, expected ros2msg, ros2idl or ros1msg'),
    ('protobuf', 'a/msg/A', '',
     'its definition is protobuf, expected ros2msg, ros2idl or ros1msg'),
    ('ros2msg', 'A', 'float64 data', 'its type is not a name such as package/msg/Type'),
    ('ros2idl', 'a/msg/A', 'const long A = ((1));',
     'its definition has parentheses within parentheses')])
def test_what_is_wrong_with_a_type_is_said(form, kind, definition, fault):
    assert fault_of(definition, form, kind) == fault


def test_parentheses_in_texts_and_comments_of_idl_do_not_count():
    idl = ('module a { module msg { // ((\n/* (( */ const string T = "((\\"(";\n'
           'const long N = (1) + (2);\nstruct A { double data; }; }; };')
    kind_of(idl, 'ros2idl')


# What a middleware says of messages

def test_lost_messages_are_counted_by_the_numbers_of_each_publisher():
    numbers = SequenceNumbers(started=1000)
    # One in 100 ns: ten since the start, but the first one received was only the fifth.
    assert numbers.heard(5, b'a', 2, 2000)
    assert numbers.heard(7, b'a', 2, 2200)
    assert (numbers.lost, numbers.before) == (1, 4)
    assert not numbers.heard(7, b'a', 2, 2200)
    assert not numbers.heard(6, b'a', 2, 2100)
    # Since the start there were but two.
    assert numbers.heard(9, b'b', 2, 1200)
    assert numbers.heard(10, b'b', 2, 1300)
    assert (numbers.lost, numbers.before) == (1, 6)
    # Published before the start, or the first of all: nothing is missing before them.
    for publisher, number, at in ((b'c', 9, 1000), (b'd', 1, 2000)):
        assert numbers.heard(number, publisher, 2, at)
        assert numbers.heard(number + 1, publisher, 2, at + 100)
    assert (numbers.lost, numbers.before, numbers.known) == (1, 6, True)


def test_numbers_of_a_publisher_that_is_not_named_begin_again():
    numbers = SequenceNumbers()
    for number in (1, 2, 1, 2, 4):
        assert numbers.heard(number, None, 1, 0)
    assert (numbers.lost, numbers.known) == (1, True)
    assert numbers.heard(5, None, 2, 0)
    assert not numbers.known
    assert numbers.heard(5, b'a', 1, 0)
    unnumbered = SequenceNumbers()
    assert unnumbered.heard(None, b'a', 1, 0)
    assert not unnumbered.known


def test_times_are_the_middlewares_where_it_has_them():
    assert rosbag2.times({'received_timestamp': 5, 'source_timestamp': 3}, 9) == (5, 3, True)
    assert rosbag2.times({'received_timestamp': 5}, 9) == (5, 5, True)
    assert rosbag2.times({'received_timestamp': 0, 'source_timestamp': 0}, 9) == (9, 9, False)
    assert rosbag2.times({}, 9) == (9, 9, False)


def test_a_subscription_asks_for_what_all_publishers_offer():
    reliable, latched = rosbag2.offered(False), rosbag2.offered(True)
    loose = SimpleNamespace(**{
        **vars(reliable), 'reliability': SimpleNamespace(name='BEST_EFFORT')})
    assert rosbag2.as_strong_as_all([latched, latched]) == (True, True)
    assert rosbag2.as_strong_as_all([latched, reliable]) == (True, False)
    assert rosbag2.as_strong_as_all([loose, reliable]) == (False, False)
    assert rosbag2.effectively_same(
        reliable, SimpleNamespace(**{**vars(reliable), 'depth': 3, 'history': 'KEEP_ALL'}))
    assert not rosbag2.effectively_same(reliable, loose)
    assert rosbag2.type_hash(['RIHS01_a', 'RIHS01_a', 'INVALID']) == 'RIHS01_a'
    assert rosbag2.type_hash(['RIHS01_a', 'RIHS01_b']) == rosbag2.type_hash([]) == ''


def test_the_metadata_of_a_bag_are_as_rosbag2_writes_them():
    topics = [rosbag2.RecordedTopic('/a', 'a/msg/A', [rosbag2.offered(False)], 'RIHS01_a', 3),
              rosbag2.RecordedTopic('/b', 'b/msg/B', [rosbag2.offered(True)] * 2, '', 4)]
    found = yaml.safe_load(rosbag2.serialized_metadata(
        'f.mcap', topics, 5_000, 7_500, 'jazzy', {'x': 'y'}))
    never = {'sec': 9223372036, 'nsec': 854775807}
    profile = {
        'history': 'keep_last', 'depth': 10, 'reliability': 'reliable', 'durability': 'volatile',
        'deadline': never, 'lifespan': never, 'liveliness': 'automatic',
        'liveliness_lease_duration': never, 'avoid_ros_namespace_conventions': False}
    latched = profile | {'depth': 1, 'durability': 'transient_local'}
    of_file = {'starting_time': {'nanoseconds_since_epoch': 5000},
               'duration': {'nanoseconds': 2500}, 'message_count': 7}
    assert found == of_file | {
        'version': 9, 'storage_identifier': 'mcap', 'compression_format': '',
        'compression_mode': '', 'relative_file_paths': ['f.mcap'],
        'files': [{'path': 'f.mcap'} | of_file], 'custom_data': {'x': 'y'}, 'ros_distro': 'jazzy',
        'topics_with_message_count': [
            {'message_count': 3, 'topic_metadata': {
                'name': '/a', 'type': 'a/msg/A', 'serialization_format': 'cdr',
                'offered_qos_profiles': [profile], 'type_description_hash': 'RIHS01_a'}},
            {'message_count': 4, 'topic_metadata': {
                'name': '/b', 'type': 'b/msg/B', 'serialization_format': 'cdr',
                'offered_qos_profiles': [latched, latched], 'type_description_hash': ''}}]}
    text = rosbag2.offered_qos_profiles([rosbag2.offered(True)] * 2)
    assert yaml.safe_load(text) == [latched, latched]
    # A reader without aliases reads each of them.
    assert '&' not in text
    empty = yaml.safe_load(rosbag2.serialized_metadata('f', [], None, None, '', {}))
    assert (empty['starting_time'], empty['duration'], empty['message_count']) == (
        {'nanoseconds_since_epoch': 2**63 - 1}, {'nanoseconds': 0}, 0)


def test_bounds_are_those_that_are_told():
    """docs/explanation/untrusted_input.md, and the sentences of refusals."""
    assert (bounds.MAX_CHUNK, bounds.MAX_METADATA, bounds.MAX_FILES) == (2**26, 2**20, 1000)
    assert (bounds.MAX_NAME, bounds.MAX_CHANNELS, bounds.MAX_DEFINITION,
            bounds.MAX_DEFINITIONS) == (255, 2**16, 2**18, 2**22)
    assert (bounds.MAX_FIELDS, bounds.MAX_ALL_FIELDS, bounds.FIELDS_OF_TYPE,
            bounds.MAX_DEPTH, bounds.MAX_VALUES) == (4000, 30_000, 15, 16, 10_000)
    assert (bounds.MAX_ELEMENTS, bounds.MAX_OBJECTS) == (2**23, 2**22)
    budget = bounds.UnpackBudget(1000)
    assert (budget.unpacked, budget.records) == (2**26 + 100_000, 1_000_250)
    # A frame of Zstandard may have the reader hold a chunk, and no more.
    assert [*mcap_file.window().values()] == [26]


def test_the_budget_is_that_of_all_files_together(tmp_path):
    bag(tmp_path / 'bag', ['a.mcap', 'b.mcap'])
    sizes = [path.stat().st_size for path in (tmp_path / 'bag').glob('*.mcap')]
    assert Recording(tmp_path / 'bag')._size == sum(sizes)
    assert Recording(tmp_path / 'bag' / 'a.mcap')._size == sizes[0] == sizes[1]


def test_a_database_may_be_slow_once_between_two_rows(tmp_path):
    file = sqlite_file.SqliteFile(tmp_path / 'a.db3', Topics(), bounds.UnpackBudget(0))
    assert [file._pause(), file._pause()] == [False, True]
