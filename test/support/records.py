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


"""Recordings of strangers, byte by byte: the records of MCAP files, and databases of rosbag2."""

import sqlite3
import struct

MAGIC = b'\x89MCAP0\r\n'
GOOD = 'std_msgs/msg/Float64', b'float64 data\n', b'\0\1\0\0' + struct.pack('<d', 1.0)


def text(value):
    data = value if isinstance(value, bytes) else value.encode()
    return struct.pack('<I', len(data)) + data


def record(kind, body):
    return struct.pack('<BQ', kind, len(body)) + body


def schema(number, name, definition, encoding='ros2msg'):
    return record(3, struct.pack('<H', number) + text(name) + text(encoding) + text(definition))


def channel(number, of, topic, encoding='cdr'):
    return record(4, struct.pack('<HH', number, of) + text(topic) + text(encoding) + text(b''))


def message(number, data, time=10**18):
    return record(5, struct.pack('<HIQQ', number, 0, time, time) + data)


def chunk(packed, size, compression='zstd'):
    return record(6, struct.pack('<QQQI', 0, 0, size, 0) + text(compression) + struct.pack(
        '<Q', len(packed)) + packed)


def topic(number, name, kind=GOOD[0], definition=GOOD[1], data=GOOD[2]):
    """Return the records of a topic with a message."""
    return schema(number, kind, definition) + channel(number, number, name) + message(
        number, data)


def mcap(*records, end=b''):
    return b''.join((MAGIC, record(1, text('ros2') + text('test')), *records,
                     record(15, bytes(4)), end, record(2, bytes(20)), MAGIC))


def good(number=1, name='/good'):
    return topic(number, name)


def database(path, *statements, data=GOOD[2]):
    with sqlite3.connect(path) as file:
        for statement in statements or (
                'CREATE TABLE topics(id INTEGER PRIMARY KEY, name TEXT, type TEXT, '
                'serialization_format TEXT)',
                'CREATE TABLE messages(id INTEGER PRIMARY KEY, topic_id INTEGER, timestamp '
                'INTEGER, data BLOB)',
                f"INSERT INTO topics VALUES (1, '/good', '{GOOD[0]}', 'cdr')"):
            file.execute(statement)
        if not statements:
            file.execute('INSERT INTO messages VALUES (1, 1, 1000000000000000000, ?)', (data,))
    file.close()
    return path
