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

"""MCAP files with messages of ROS 1, in JSON and in protobuf: as their own libraries read them."""

import csv
import json

import pytest

pytest.importorskip('mcap', reason='mcap is not installed')
pytest.importorskip('rosbags', reason='rosbags is not installed')

from mcap.writer import Writer
from rosbags.typesys import get_types_from_msg, get_typestore, Stores

from xplane_bridge.commands.export import main

ROS1 = f"""\
Header header
time at
duration age
float64 data  # m/s
geometry_msgs/Vector3[] points
string[2] names
{'=' * 80}
MSG: std_msgs/Header
uint32 seq
time stamp
string frame_id
{'=' * 80}
MSG: geometry_msgs/Vector3
float64 x
float64 y
float64 z
"""
SCHEMA = {'type': 'object', 'properties': {
    't': {'type': 'number'}, 'count': {'type': 'integer'}, 'mode': {'type': 'string'},
    'acc': {'type': 'array', 'items': {'type': 'number'}}, 'later': {'type': 'boolean'},
    'at': {'type': 'object', 'properties': {'x': {'type': 'number'}}}}}
SECOND = 10**9


def written(path, encoding, messages, schema=None):
    """Write messages of a topic a second apart; ``schema`` is name, encoding and definition."""
    with path.open('wb') as stream:
        writer = Writer(stream)
        writer.start()
        number = 0 if schema is None else writer.register_schema(*schema)
        channel = writer.register_channel('/air', encoding, number)
        for at, data in enumerate(messages):
            writer.add_message(channel, (10 + at) * SECOND, data, (10 + at) * SECOND)
        writer.finish()
    return path


def exported(path, tmp_path, code=0):
    out = tmp_path / 'out'
    assert main([str(path), '--to', 'csv', '--force', '--output', str(out)]) == code
    tables = {}
    for one in out.glob('*.csv'):
        with one.open() as stream:
            names, units, *rows = csv.reader(stream)
        tables[one.stem] = {'': dict(zip(names, units, strict=True)), **{
            name: list(values) for name, values in zip(names, zip(*rows, strict=True),
                                                       strict=True)}}
    return tables


def test_ros_1(tmp_path):
    store = get_typestore(Stores.ROS1_NOETIC)
    store.register(get_types_from_msg(ROS1, 'nobodys/Thing'))
    types = store.types
    time, vector = types['builtin_interfaces/msg/Time'], types['geometry_msgs/msg/Vector3']
    messages = [bytes(store.serialize_ros1(types['nobodys/msg/Thing'](
        types['std_msgs/msg/Header'](at, time(10 + at, 500), 'base'), time(20, at), time(0, 5),
        0.5 * at, [vector(1.0 * at, 2.0, 3.0)] * at, ['a', 'b']), 'nobodys/msg/Thing'))
        for at in range(3)]
    path = written(tmp_path / 'f.mcap', 'ros1', messages,
                   ('nobodys/Thing', 'ros1msg', ROS1.encode()))
    table = exported(path, tmp_path)['air']
    assert table['data'] == ['0.0', '0.5', '1.0']
    assert table['']['data'] == 'm/s'
    assert [float(one) for one in table['time']] == [0.0, 1.0, 2.0]
    assert float(table['stamp'][1]) == 11.0000005
    assert table['header.seq'] == ['0', '1', '2']
    assert table['points[].x'] == ['[]', '[1.0]', '[2.0, 2.0]']
    assert table['names[1]'] == ['b'] * 3
    assert float(table['at'][2]) == 20.000000002


@pytest.mark.parametrize('has_schema', [True, False])
def test_json(tmp_path, has_schema):
    rows = [{'t': at, 'count': 2**60 + at, 'mode': 'AUTO', 'acc': [-9.8, at], 'at': {'x': 0.5}}
            for at in range(3)]
    path = written(
        tmp_path / 'f.mcap', 'json', [json.dumps(one).encode() for one in rows],
        ('Air', 'jsonschema', json.dumps(SCHEMA).encode()) if has_schema else None)
    table = exported(path, tmp_path)['air']
    assert [float(one) for one in table['t']] == [0.0, 1.0, 2.0]
    assert [int(one) for one in table['count']] == [one['count'] for one in rows]
    assert table['mode'] == ['AUTO'] * 3
    assert [json.loads(one) for one in table['acc']] == [one['acc'] for one in rows]
    assert table['at.x'] == ['0.5'] * 3
    assert [float(one) for one in table['log_time']] == [10.0, 11.0, 12.0]
    assert table.get('later') == (['', '', ''] if has_schema else None)


def test_json_that_changes_continues_in_another_table(tmp_path):
    rows = [{'imu': 1, 'x': 1}] + [{'x': 2}] * 10_000 + [
        {'x': None}, {'x': 3, 'y': [1, 'a', {}]}, {'x': 'three'}, {'x': {}, 'y': []}]
    path = written(tmp_path / 'f.mcap', 'json', [json.dumps(one).encode() for one in rows])
    found = exported(path, tmp_path)
    assert len(found['air']['x']) == 10_002
    assert found['air']['x'][-1] == ''
    assert found['air']['imu'][:2] == ['1.0', '']
    assert (found['air.2']['x'], found['air.2']['y']) == (['3.0'], ['[1, "a", {}]'])
    assert found['air.3']['x'] == ['three', '{}']


@pytest.mark.parametrize(('data', 'said'), [
    (b'[' * 100_000, 'within each other'), (b'nothing', 'Expecting value'), (b'[1]', 'list'),
    (b'{"a": 1' + b'0' * 5000 + b'}', '4300 digits'),
    (json.dumps(dict.fromkeys(map(str, range(3000)), 1)).encode(), 'more than 2000 columns'),
    (b'"' + b'a' * 5_000_000 + b'"', 'expected at most 4194304 of JSON')])
def test_what_is_no_json_is_told(tmp_path, capsys, data, said):
    path = written(tmp_path / 'f.mcap', 'json', [b'{"x": 1}', data, b'{"x": 2}'])
    assert exported(path, tmp_path, code=1)['air']['x'] == ['1.0', '2.0']
    assert said in capsys.readouterr().err


def protobuf_type():
    """Return a class of messages of a new file of protobuf."""
    from google.protobuf import (
        descriptor_pb2,
        descriptor_pool,
        duration_pb2,
        message_factory,
        timestamp_pb2,
    )
    pool = descriptor_pool.DescriptorPool()
    for known in (timestamp_pb2, duration_pb2):
        pool.AddSerializedFile(known.DESCRIPTOR.serialized_pb)
    file = descriptor_pb2.FileDescriptorProto(
        name='air.proto', package='nobodys', syntax='proto3',
        dependency=['google/protobuf/timestamp.proto'])
    kind = descriptor_pb2.FieldDescriptorProto
    part, air = file.message_type.add(name='Part'), file.message_type.add(name='Air')
    part.field.add(name='weight', number=1, type=kind.TYPE_DOUBLE, label=1)
    part.field.add(name='ids', number=2, type=kind.TYPE_INT32, label=3)
    part.field.add(name='part', number=3, type=kind.TYPE_MESSAGE, label=1,
                   type_name='.nobodys.Part')
    air.oneof_decl.add(name='_limit')
    for number, (name, of, label, more) in enumerate([
            ('at', kind.TYPE_MESSAGE, 1, {'type_name': '.google.protobuf.Timestamp'}),
            ('speed', kind.TYPE_FLOAT, 1, {}), ('count', kind.TYPE_UINT64, 1, {}),
            ('name', kind.TYPE_STRING, 1, {}), ('data', kind.TYPE_BYTES, 1, {}),
            ('force', kind.TYPE_DOUBLE, 3, {}),
            ('limit', kind.TYPE_INT32, 1, {'proto3_optional': True, 'oneof_index': 0}),
            ('main', kind.TYPE_MESSAGE, 1, {'type_name': '.nobodys.Part'}),
            ('parts', kind.TYPE_MESSAGE, 3, {'type_name': '.nobodys.Part'})], 1):
        air.field.add(name=name, number=number, type=of, label=label, **more)
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName('nobodys.Air'))


def test_protobuf(tmp_path):
    pytest.importorskip('mcap_protobuf', reason='mcap-protobuf-support is not installed')
    from mcap_protobuf.schema import build_file_descriptor_set
    kind = protobuf_type()
    messages = []
    for at in range(3):
        one = kind(speed=0.1 * at, count=2**63 + at, name='wing', data=b'\1\2', force=[1.0, at])
        one.at.seconds, one.at.nanos = 5, 250_000_000
        if at:
            one.limit = at
            one.main.weight = 0.5
            for weight in range(at):
                one.parts.add(weight=weight, ids=[1, 2])
        messages.append(one)
    path = written(
        tmp_path / 'f.mcap', 'protobuf', [one.SerializeToString() for one in messages],
        ('nobodys.Air', 'protobuf', build_file_descriptor_set(kind).SerializeToString()))
    table = exported(path, tmp_path)['air']
    assert table['at'] == ['5.25'] * 3
    assert table['']['at'] == 's'
    assert [float(one) for one in table['speed']] == [one.speed for one in messages]
    assert [int(one) for one in table['count']] == [one.count for one in messages]
    assert table['name'] == ['wing'] * 3
    assert table['data'] == ['[1, 2]'] * 3
    assert [json.loads(one) for one in table['force']] == [[*one.force] for one in messages]
    assert table['limit'] == ['', '1', '2']
    assert table['main.weight'] == ['', '0.5', '0.5']
    assert table['parts[].weight'] == ['[]', '[0.0]', '[0.0, 1.0]']
    assert table['parts[].ids'][1] == '["[1, 2]"]'
    # It is within itself.
    assert table['main.part'] == ['', 'null', 'null']


@pytest.mark.parametrize(('encoding', 'schema', 'said'), [
    ('protobuf', ('a.B', 'protobuf', b'\xff\xfe'), 'its definition is none'),
    ('protobuf', ('a.B', 'protobuf', b''), 'its definition is none'),
    ('cdr', ('a.B', 'protobuf', b''), 'its messages are cdr, its definition is protobuf'),
    ('ros1', ('a/B', 'ros2msg', b'float64 x'), 'its messages are ros1, its definition is ros2msg'),
    ('ros1', ('a/B', 'ros1msg', b'B x'), 'contains itself'),
    ('cbor', None, 'its definition is cbor')])
def test_definitions_that_are_none(tmp_path, capsys, encoding, schema, said):
    if encoding == 'protobuf':
        pytest.importorskip('mcap_protobuf', reason='mcap-protobuf-support is not installed')
    exported(written(tmp_path / 'f.mcap', encoding, [b'1234'], schema), tmp_path, code=2)
    assert said in capsys.readouterr().err
