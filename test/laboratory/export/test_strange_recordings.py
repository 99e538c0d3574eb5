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

"""Recordings of strangers: each that would take gigabytes or minutes is read within bounds."""

import csv
import json
import os
import struct

from limited import limited
import pytest
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

pytest.importorskip('mcap', reason='mcap is not installed')
pytest.importorskip('rosbags', reason='rosbags is not installed')
lz4 = pytest.importorskip('lz4.frame', reason='lz4 is not installed')
zstandard = pytest.importorskip('zstandard', reason='zstandard is not installed')

EXPORT = """import contextlib, io, json, sys
from xplane_bridge.commands.export import main
for arguments in json.loads(sys.argv[1]):
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(arguments)
    print(json.dumps((code, out.getvalue(), err.getvalue())))
"""
LOAD = """import sys
from xplane_bridge.laboratory.flights.analysis import history as analysis
try:
    analysis.load(sys.argv[1])
except ValueError as error:
    print(error)
"""
ZEROS = bytes(1 << 20)


def zeros(megabytes):
    """Return a frame of Zstandard with so many MiB of zeros, and no size in it."""
    packer = zstandard.ZstdCompressor(level=1).compressobj()
    return b''.join([*(packer.compress(ZEROS) for _ in range(megabytes)), packer.flush()])


def exported_each(tmp_path, sources, *options, to='csv', seconds=60):
    """Export one after the other within the limits; return code, rows by table, and errors."""
    code, out, err = limited(EXPORT, json.dumps([
        [str(source), '--to', to, '--force', '--output', str(tmp_path / f'out{n}'), *options]
        for n, source in enumerate(sources)]), seconds=seconds)
    assert code == 0, (code, out[-500:], err[-2000:])
    assert not err
    found = []
    for line in out.splitlines():
        code, said, errors = json.loads(line)
        assert max(map(len, errors.splitlines()), default=0) < 1000
        found.append((code, dict(one.split(': ') for one in said.splitlines()[1:]), errors))
    return found


def exported(tmp_path, source, *options, to='csv', code=1):
    """Export within the limits; return the rows by table, and what was said."""
    (found, tables, errors), = exported_each(tmp_path, [source], *options, to=to)
    assert found == code, errors[-2000:]
    return tables, errors


def test_another_frame_behind_a_valid_one_is_not_unpacked(tmp_path):
    """398 kB that took 12.3 GB."""
    path = tmp_path / 'a.mcap'
    inner = good(2, '/second')
    packed = zstandard.compress(inner) + zeros(1000)
    path.write_bytes(mcap(good(), chunk(packed, len(inner))))
    tables, err = exported(tmp_path, path)
    assert tables == {'  good': '1'}
    assert 'expected one frame' in err
    packed = lz4.compress(inner) + lz4.compress(inner)
    path.write_bytes(mcap(good(), chunk(packed, len(inner), 'lz4')))
    tables, err = exported(tmp_path, path)
    assert tables == {'  good': '1'}
    assert 'expected one frame' in err


def test_one_chunk_that_is_indexed_a_hundred_times_is_read_once(tmp_path):
    """21 kB that took 16 GB."""
    path = tmp_path / 'a.mcap'
    inner = good() + record(0x80, bytes(60 << 20))
    packed = zstandard.compress(inner)
    before = mcap(chunk(packed, len(inner)))[:-len(record(2, bytes(20)) + MAGIC)]
    entry = struct.pack('<QQQQ', 0, 2**62, len(mcap()) - 58, len(packed) + 50) + text(b'') + (
        struct.pack('<Q', 0) + text('zstd') + struct.pack('<QQ', len(packed), len(inner)))
    path.write_bytes(before + record(8, entry) * 100 + record(2, bytes(20)) + MAGIC)
    assert path.stat().st_size < 30_000
    assert exported(tmp_path, path, code=0)[0] == {'  good': '1'}
    assert limited(LOAD, path)[1].endswith('found none\n')


@pytest.mark.parametrize('compression', ['zstd', 'lz4'])
def test_many_chunks_of_nothing_end_where_the_recording_is_too_large(tmp_path, compression):
    path = tmp_path / 'a.mcap'
    inner = record(0x80, bytes(63 << 20))
    packed = (zstandard.compress if compression == 'zstd' else lz4.compress)(inner)
    path.write_bytes(mcap(good(), chunk(packed, len(inner), compression) * 30))
    tables, err = exported(tmp_path, path)
    assert tables == {'  good': '1'}
    assert 'larger than expected of a recording of its size' in err


def test_as_many_messages_as_a_file_of_its_size_has(tmp_path):
    """Empty messages are compressed to nothing."""
    path = tmp_path / 'a.mcap'
    inner = topic(2, '/empty', 'std_msgs/msg/Empty', b'', b'\0\1\0\0\0') + message(
        2, b'') * 1_200_000
    path.write_bytes(mcap(good(), chunk(zstandard.compress(inner), len(inner))))
    tables, err = exported(tmp_path, path, '--topics', 'good')
    assert tables == {'  good': '1'}
    assert 'it has more messages than expected' in err


def test_a_window_of_gigabytes_is_not_made(tmp_path):
    path = tmp_path / 'a.mcap'
    inner = good(2, '/second')
    # Magic, a descriptor without size, a window of 2 GB, one raw block.
    packed = b'\x28\xb5\x2f\xfd\0\xa8' + struct.pack('<I', len(inner) << 3 | 1)[:3] + inner
    path.write_bytes(mcap(good(), chunk(packed, len(inner))))
    tables, err = exported(tmp_path, path)
    assert tables == {'  good': '1'}
    assert 'zstd: ' in err


LIES = (
    chunk(zstandard.compress(chunk(b'', 0)), len(chunk(b'', 0))),
    chunk(zstandard.compress(b'\5' + b'\xff' * 8), 9),
    chunk(b'x', 2**40, ''), chunk(b'x' * 100, 7, ''), chunk(b'', 5, 'brotli'),
    record(6, b'\0' * 31), record(6, b'\xff' * 40), struct.pack('<BQ', 9, 2**63),
    message(77, b''), record(4, b'\1\0\1\0\xff\xff\xff\xff'),
    record(3, struct.pack('<H', 5) + text('a/msg/B') + text('ros2msg') + b'\xff\xff\xff\x7f'),
)


def test_sizes_that_lie_end_what_is_read(tmp_path):
    paths = [tmp_path / f'{n}.mcap' for n in range(len(LIES))]
    for path, records in zip(paths, LIES, strict=True):
        path.write_bytes(mcap(good(), records))
    for code, tables, err in exported_each(tmp_path, paths):
        assert (code, tables) == (1, {'  good': '1'})
        assert 'what is before it is exported' in err


def test_attachments_metadata_and_the_summary_are_passed_over(tmp_path):
    path = tmp_path / 'a.mcap'
    lies = record(3, b'\xff' * 50) + record(11, b'\xff' * 50) + chunk(zeros(100), 1)
    path.write_bytes(mcap(
        record(9, bytes(5 << 20)), record(12, text('rosbag2') + struct.pack('<I', 2**31) + text(
            'serialized_metadata') + text(b'a: &a [' + b'*a, ' * 10_000)),
        record(12, bytes(2 << 20)), good(), end=lies))
    assert exported(tmp_path, path, code=0)[0] == {'  good': '1'}


def folder(tmp_path, names, mode=''):
    bag = tmp_path / 'bag'
    bag.mkdir()
    (bag / 'metadata.yaml').write_text(json.dumps({'rosbag2_bagfile_information': {
        'version': 5, 'storage_identifier': 'mcap', 'compression_mode': mode,
        'compression_format': 'zstd' if mode else '', 'relative_file_paths': names,
        'duration': {'nanoseconds': 0}, 'starting_time': {'nanoseconds_since_epoch': 0},
        'message_count': 0, 'topics_with_message_count': []}}))
    return bag


def test_whatever_the_metadata_names_is_read_within_the_same_bounds(tmp_path):
    """A file named a.bag was not checked at all: 8.7 GB."""
    bag = folder(tmp_path, ['a.bag', 'a.bag', '../bag/a.bag', 'b.mcap'])
    inner = good(2, '/second')
    (bag / 'a.bag').write_bytes(mcap(
        good(), chunk(zstandard.compress(inner) + zeros(1000), len(inner))))
    (bag / 'b.mcap').write_bytes(mcap(good(1, '/other')))
    (bag / 'unnamed.mcap').write_bytes(mcap(good(1, '/unnamed')))
    tables, err = exported(tmp_path, bag)
    assert tables == {'  good': '1', '  other': '1'}
    assert 'a.bag: record of type 6' in err
    _, out, _ = limited(LOAD, bag)
    assert out.startswith(f'{bag} is not read as a recording: a.bag: record of type 6')


def test_names_that_are_no_files_of_the_folder_are_refused(tmp_path):
    bags = []
    for n, names in enumerate((
            ['/etc/hostname'], ['..'], [''], ['a\0b'], 'a', 7, None, [None], [['a']], {'a': 1},
            ['missing.mcap'], ['fifo'], [])):
        (tmp_path / str(n)).mkdir()
        bags.append(folder(tmp_path / str(n), names))
        os.mkfifo(bags[-1] / 'fifo')
    for code, _, err in exported_each(tmp_path, bags):
        assert code == 2
        assert err.startswith('export: ')


def test_a_compressed_file_is_unpacked_as_far_as_its_size_allows(tmp_path):
    bag = folder(tmp_path, ['a.mcap.zstd'], 'file')
    whole = mcap(good())
    (bag / 'a.mcap.zstd').write_bytes(zstandard.compress(whole))
    assert exported(tmp_path, bag, code=0)[0] == {'  good': '1'}
    # Ten gigabytes of zeros behind a record that says so, and behind the beginning of a database.
    for begin in (whole[:-8 - 29 - 13] + struct.pack('<BQ', 9, 2**40), b'SQLite format 3\0'):
        (bag / 'a.mcap.zstd').write_bytes(zstandard.compress(begin) + zeros(1000) * 10)
        tables, err = exported(tmp_path, bag, code=1 if begin[:1] != b'S' else 2)
        assert 'larger than expected of a recording of its size' in err


def test_metadata_take_no_seconds(tmp_path):
    """1 MiB of it took 11 s."""
    bags = []
    for n, yaml in enumerate((
            b'- ' * 500_000, b'a: &a [x]\nb: [' + b'*a, ' * 200_000 + b']', b'[' * 1_000_000,
            b'a: b\n' * 200_000, b'"' + b'\\x41' * 250_000 + b'"', b'x' * 2_000_000,
            b'- - -\n' * 150_000, b'\xff\xfe\0')):
        (tmp_path / str(n)).mkdir()
        bags.append(folder(tmp_path / str(n), ['a.mcap']))
        (bags[-1] / 'a.mcap').write_bytes(mcap(good()))
        (bags[-1] / 'metadata.yaml').write_bytes(yaml)
    for code, _, err in exported_each(tmp_path, bags, seconds=10):
        assert code == 2
        assert 'metadata.yaml: ' in err


def test_a_database_is_read_without_metadata_and_message_by_message(tmp_path):
    path = database(tmp_path / 'a.db3')
    assert exported(tmp_path, path, code=0)[0] == {'  good': '1'}
    # compression_mode "message".
    path.unlink()
    database(path, data=zstandard.compress(GOOD[2]))
    assert exported(tmp_path, path, code=0)[0] == {'  good': '1'}
    path.unlink()
    database(path, data=zeros(1000))
    assert 'a compressed message has more than' in exported(
        tmp_path, path, code=2)[1]


def test_a_database_is_data_not_a_program(tmp_path):
    paths = [database(
        tmp_path / f'{n}.db3', 'CREATE TABLE topics(id, name, type, serialization_format)',
        f"INSERT INTO topics VALUES (1, '/good', '{GOOD[0]}', 'cdr')", messages,
        *(['INSERT INTO messages(topic_id, timestamp) VALUES (1, 1)']
          if 'GENERATED' in messages else [])) for n, messages in enumerate((
              'CREATE VIEW messages AS WITH RECURSIVE n(x) AS (VALUES (1) UNION ALL SELECT x + 1 '
              'FROM n) SELECT 1 AS topic_id, x AS timestamp, zeroblob(1000000000) AS data FROM n',
              'CREATE TABLE messages(topic_id, timestamp, data GENERATED ALWAYS AS '
              '(zeroblob(900000000)) VIRTUAL)',
              'CREATE TABLE messages(a, b, c)',
              'CREATE VIRTUAL TABLE messages USING fts5(topic_id, timestamp, data)'))]
    assert [code for code, _, _ in exported_each(tmp_path, paths)] == [2, 2, 2, 2]


LINE = '=' * 80 + '\n'


def nested(levels, each):
    """Return a definition of types within types: each**levels fields."""
    parts = [''.join(f'p/L{level + 1} f{n}\n' for n in range(each)) if level < levels
             else 'bool x\n' for level in range(1, levels + 1)]
    return (LINE.join([parts[0], *(
        f'MSG: p/L{level}\n{part}' for level, part in enumerate(parts[1:], 2))])).encode()


DEFINITIONS = {
    'an array of 2000000000 elements': b'p/B[2000000000] b\n' + LINE.encode()
    + b'MSG: p/B\nbool x\n',
    'an array of 3000000000 elements': b'uint8[3000000000] b\n',
    'an array of 0 elements': b'uint8[0] b\n',
    'each message has': nested(9, 10),
    'contains itself': b'p/B[] b\n' + LINE.encode() + b'MSG: p/B\np/C c\n' + LINE.encode()
    + b'MSG: p/C\np/B[] b\n',
    'types within each other': b'p/L1 b\n' + b''.join(
        LINE.encode() + b'MSG: p/L%d\np/L%d b\n' % (n, n + 1) for n in range(1, 900)),
    'fields, expected at most 4000': b''.join(b'bool a%d\n' % n for n in range(20_000)),
    'more than 2000 columns': b''.join(b'bool[36] a%d\n' % n for n in range(60)),
    'a field has a name of': b'bool ' + b'a' * 100_000 + b'\n',
    'its definition has 300000 bytes': b'\n' * 300_000,
    'is not defined': b'p/Nothing b\n',
    'Could not parse': b'x' * 200_000,
    'arentheses': b'module p { module msg { const long X = ' + b'(' * 40 + b'1' + b')' * 40
    + b'; struct A { long x; }; }; };',
}


def test_types_beyond_the_bounds_are_left_out_one_at_a_time(tmp_path):
    """5 kB with B[2000000000], or nine levels of ten fields, did not end."""
    records = [good()]
    for n, definition in enumerate(DEFINITIONS.values(), 2):
        records += [schema(n, 'p/msg/A', definition, (
            'ros2idl' if definition.startswith(b'module') else 'ros2msg')),
            channel(n, n, f'/bad{n}'), message(n, b'\0\1\0\0' + bytes(64))]
    path = tmp_path / 'a.mcap'
    path.write_bytes(mcap(*records, good(100, '/after')))
    tables, err = exported(tmp_path, path)
    assert tables == {'  good': '1', '  after': '1'}
    for n, why in enumerate(DEFINITIONS, 2):
        line, = (line for line in err.splitlines()
                 if f'/bad{n} is skipped, type p/msg/A: ' in line)
        assert why in line


def test_twenty_thousand_topics_and_long_names_leave_the_rest(tmp_path):
    path = tmp_path / 'a.mcap'
    path.write_bytes(mcap(
        good(), channel(2, 1, '/' + 'n' * 3000), message(2, GOOD[2]),
        schema(3, 'p/msg/' + 'T' * 3000, b'bool x'), channel(3, 3, '/long_type'),
        message(3, GOOD[2]), channel(4, 1, '/' + 'ä' * 250), message(4, GOOD[2]),
        *(channel(n, 1, f'/t{n}') + message(n, GOOD[2]) for n in range(10, 20_010))))
    tables, err = exported(tmp_path, path)
    assert len(tables) == 500
    assert {'  good', f'  {"ä" * 250}'} <= tables.keys()
    assert 'its name has 3001 characters' in err
    assert 'its type has 3006 characters' in err
    assert len(err.splitlines()) < 40
    tables, _ = exported(tmp_path, path, '--topics', 't20009', code=0)
    assert tables == {'  t20009': '1'}


def test_many_types_take_no_minutes(tmp_path):
    """Each would be within its own bounds."""
    path = tmp_path / 'a.mcap'
    fields = b''.join(b'bool a%d\n' % n for n in range(3900))
    path.write_bytes(mcap(good(), *(
        topic(n, f'/t{n}', f'p/msg/A{n}', fields) for n in range(10, 200))))
    tables, err = exported(tmp_path, path)
    assert tables == {'  good': '1'}
    assert 'all types of the recording have more than' in err


LARGE = 20_000_000
MESSAGES = (
    # Objects: a hundred bytes each.
    (b'p/B[] b\n' + LINE.encode() + b'MSG: p/B\nbool x\n',
     struct.pack('<I', LARGE) + b'\1' * LARGE, 'with lists of texts or of other'),
    (b'string[] b\n', struct.pack('<I', 2**31) + bytes(100), 'Invalid sequence length'),
    (b'string b\n', struct.pack('<I', 2**32 - 1) + bytes(100), 'Invalid string length'),
    (b'uint8[] b\n', struct.pack('<I', LARGE) + b'\x81' * LARGE, f'a list has {LARGE} elements'),
    (b'float64[8000000] b\n', bytes(100), 'buffer is smaller'),
    (b'std_msgs/Header header\n' + LINE.encode()
     + b'MSG: std_msgs/Header\np/Odd stamp\n' + LINE.encode()
     + b'MSG: p/Odd\nstring sec\nfloat64 nanosec\n',
     struct.pack('<I', 2) + b'a\0' + bytes(10), 'invalid literal'),
)


def test_messages_that_say_more_than_they_hold_are_counted(tmp_path):
    path = tmp_path / 'a.mcap'
    path.write_bytes(mcap(good(), *(
        chunk(zstandard.compress(inner), len(inner)) for inner in (
            topic(n, f'/bad{n}', 'p/msg/A', definition, b'\0\1\0\0' + data)
            for n, (definition, data, _) in enumerate(MESSAGES, 2)))))
    tables, err = exported(tmp_path, path)
    assert tables == {'  good': '1'}
    for n, (_, _, why) in enumerate(MESSAGES, 2):
        line, = (line for line in err.splitlines()
                 if f'/bad{n}: not of its type: 1 message' in line)
        assert why in line


@pytest.fixture(scope='module')
def growing(tmp_path_factory):
    """Return a recording of small negative numbers: a byte that is an object of its own."""
    records = [good()]
    for number in range(2, 8):
        inner = topic(number, f'/n{number}', 'p/msg/A', b''.join(
            b'int8 a%d\n' % n for n in range(500)), b'\0\1\0\0' + b'\x9c' * 500)
        inner += message(number, b'\0\1\0\0' + b'\x9c' * 500) * (2000 if number < 4 else 10)
        if number < 5:
            inner += topic(number + 50, f'/l{number}', 'p/msg/L', b'int8[] a\n', b'\0\1\0\0'
                           + struct.pack('<I', 4_000_000) + b'\x9c' * 4_000_000)
        records.append(chunk(zstandard.compress(inner), len(inner)))
    path = tmp_path_factory.mktemp('growing') / 'a.mcap'
    path.write_bytes(mcap(*records))
    return path


@pytest.mark.parametrize('to', ['csv', 'parquet', 'mat'])
def test_numbers_that_grow_forty_times_are_written_in_parts(tmp_path, growing, to):
    for package in ('pyarrow', 'scipy'):
        pytest.importorskip(package)
    exported(tmp_path, growing, to=to, code=0)


def test_lists_as_text_are_no_text_of_gigabytes(tmp_path, growing):
    pytest.importorskip('asammdf')
    _, err = exported(tmp_path, growing, '--topics', 'l3', to='mf4')
    assert 'a is left out: it has' in err


def test_names_with_control_characters_are_printed_as_escapes(tmp_path):
    """A terminal obeys them."""
    path = tmp_path / 'a.mcap'
    evil = '/\x1b]0;owned\x07\x1b[31m\u202e'
    path.write_bytes(mcap(good(1, evil + '1'), topic(2, evil + '2', 'p/msg/' + evil, b'x')))
    code, out, err = limited(
        'from xplane_bridge.common.command_line import run_command; import sys\n'
        'from xplane_bridge.commands.export import main\nsys.exit(run_command(main))',
        path, '--to', 'csv', '--output', tmp_path / 'out', '--topics', 'good', evil + '1')
    assert code == 1
    shown = '\\x1b]0;owned\\x07\\x1b[31m\\u202e'
    assert f'{shown[:-6]}' in out
    assert shown in err
    assert not set('\x1b\x07\u202e') & {*out, *err}


def test_what_a_spreadsheet_would_run_is_text(tmp_path):
    path = tmp_path / 'a.mcap'
    texts = ('=cmd|x', '+1', '-1', '@x', 'plain', '')
    path.write_bytes(mcap(
        schema(1, 'p/msg/A', b'string text\nfloat64 number\nint8 small\n'),
        channel(1, 1, '/texts'), *(
            message(1, b'\0\1\0\0' + (text(value + '\0') + bytes(16)[:-(
                5 + len(value)) % 8] + struct.pack('<db', -1.5, -7))) for value in texts)))
    exported(tmp_path, path, code=0)
    with open(tmp_path / 'out0' / 'texts.csv', newline='') as stream:
        rows = [*csv.reader(stream)][2:]
    assert [row[3] for row in rows] == ["'=cmd|x", "'+1", "'-1", "'@x", 'plain', '']
    assert {(row[4], row[5]) for row in rows} == {('-1.5', '-7')}


def packet(counts, values):
    """Return a UlyssixPacket, of these fields only."""
    data = b''.join(struct.pack(f'<I{len(found)}{kind}', len(found), *found)
                    for kind, found in (('I', counts), ('f', values)))
    return b'\0\1\0\0' + data + struct.pack('<I', 0) + bytes(-(len(data) + 4) % 4) + struct.pack(
        '<I', 0)


def test_packets_of_a_publisher_say_no_more_than_they_hold(tmp_path):
    fields = b'uint32[] counts\nfloat32[] values\nint64[] integers\nint64[] times\n'
    paths = []
    for n, data in enumerate((
            packet([2**31, 2**31], [1.0]), packet([0] * 100_000, []),
            packet([2000] + [0] * 1999, [1.0] * 2000))):
        paths.append(tmp_path / f'{n}.mcap')
        paths[-1].write_bytes(mcap(
            good(), topic(2, '/u/packets', 'xplane_bridge/msg/UlyssixPacket', fields, data)))
    for code, tables, err in exported_each(tmp_path, paths):
        assert (code, tables) == (1, {'  good': '1'})
        assert '/u/packets: not of its type: 1 message' in err
