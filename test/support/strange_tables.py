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


"""
Parquet files of strangers: small ones that unpack to gigabytes, and others that are no table.

They are made byte by byte, as no library writes them: parquet.thrift, and Thrift's compact
protocol.
"""

import struct

I32, I64, BINARY, LIST, STRUCT = 5, 6, 8, 9, 12
MAGIC = b'PAR1'
# Of parquet.thrift.
INT32, DOUBLE, BYTE_ARRAY, FIXED = 1, 5, 6, 7
PLAIN, DELTA_BYTE_ARRAY, RLE_DICTIONARY, RLE = 0, 7, 8, 3
UTF8, DECIMAL = 0, 5
DATA, DICTIONARY = 0, 2
UNCOMPRESSED, ZSTD = 0, 6
REQUIRED, REPEATED = 0, 2


def varint(value):
    """Return an unsigned integer of the compact protocol."""
    found = b''
    while value > 127:
        found += bytes([value & 127 | 128])
        value >>= 7
    return found + bytes([value])


def integer(value):
    """Return an integer of the compact protocol."""
    return varint(value << 1)


def binary(data):
    """Return bytes of the compact protocol."""
    return varint(len(data)) + data


def many(kind, values):
    """Return a list of the compact protocol."""
    return bytes([0xf0 | kind]) + varint(len(values)) + b''.join(values)


def fields(*given):
    """Return a struct of the compact protocol: a number, type and value for each field."""
    found, last = [], 0
    for number, kind, value in given:
        found += [bytes([number - last << 4 | kind]) if number - last < 16 else
                  bytes([kind]) + integer(number),
                  integer(value) if isinstance(value, int) else value]
        last = number
    return b''.join(found) + b'\0'


def page(data, values, encoding=PLAIN, kind=DATA, unpacked=None):
    """Return a page; of ``unpacked`` bytes, its header says."""
    of = [(1, I32, values), (2, I32, encoding)]
    return fields(
        (1, I32, kind), (2, I32, len(data) if unpacked is None else unpacked),
        (3, I32, len(data)),
        (7, STRUCT, fields(*of)) if kind == DICTIONARY else
        (5, STRUCT, fields(*of, (3, I32, RLE), (4, I32, RLE)))) + data


def constant(value, rows):
    """Return the pages of a column that has a value in each row, a few bytes."""
    data = struct.pack('<d', value) if isinstance(value, float) else struct.pack(
        '<I', len(value)) + value
    return [page(data, 1, kind=DICTIONARY), page(
        b'\1' + varint(rows << 1) + b'\0', rows, RLE_DICTIONARY)]


class Chunk:
    """A column of a file: its pages, and what the footer says of them."""

    def __init__(
        self, pages, type=DOUBLE, codec=UNCOMPRESSED, converted=None, repetition=REQUIRED
    ):
        self.pages = pages
        self.type = type
        self.codec = codec
        self.schema = [(1, I32, type), (3, I32, repetition)]
        self.converted = [] if converted is None else [(6, I32, converted)]
        if converted == DECIMAL:
            self.schema.insert(1, (2, I32, 60_000))
            self.converted += [(7, I32, 2), (8, I32, 9)]

    def element(self, name):
        """Return its element of the schema."""
        return fields(*self.schema, (4, BINARY, binary(name)), *self.converted)

    def described(self, name, at, rows):
        """Return its part of the footer, for pages at that place."""
        size = sum(map(len, self.pages))
        behind = len(self.pages[0]) if len(self.pages) > 1 else 0
        return fields((2, I64, at), (3, STRUCT, fields(
            (1, I32, self.type), (2, LIST, many(I32, [integer(PLAIN)])),
            (3, LIST, many(BINARY, [binary(name)])), (4, I32, self.codec), (5, I64, rows),
            (6, I64, 10), (7, I64, size), (9, I64, at + behind),
            *([(11, I64, at)] if behind else []))))


def with_footer(footer, body=b''):
    """Return a file."""
    return MAGIC + body + footer + struct.pack('<I', len(footer)) + MAGIC


def made(columns, rows, metadata=b''):
    """Return a file of chunks by name, all of so many rows; ``metadata`` is a name and a text."""
    body, described = MAGIC, []
    for name, chunk in columns:
        described.append(chunk.described(name, len(body), rows))
        body += b''.join(chunk.pages)
    schema = [fields((4, BINARY, binary(b'schema')), (5, I32, len(columns))),
              *(chunk.element(name) for name, chunk in columns)]
    return with_footer(fields(
        (1, I32, 1), (2, LIST, many(STRUCT, schema)), (3, I64, rows),
        (4, LIST, many(STRUCT, [fields(
            (1, LIST, many(STRUCT, described)), (2, I64, 10), (3, I64, rows))])),
        *([(5, LIST, many(STRUCT, [fields(
            (1, BINARY, binary(metadata[0])), (2, BINARY, binary(metadata[1])))]))]
          if metadata else [])), body[len(MAGIC):])


def described(columns, chunks):
    """Return a file that is a footer: so many equal columns, and a group of chunks."""
    return with_footer(fields(
        (1, I32, 1), (2, LIST, many(STRUCT, [
            fields((4, BINARY, binary(b's')), (5, I32, columns)),
            *[Chunk([]).element(b'c')] * columns])), (3, I64, 0), (4, LIST, many(STRUCT, [fields(
                (1, LIST, many(STRUCT, chunks)), (2, I64, 0), (3, I64, 0))]))))


def zeros(gigabytes):
    """Return a frame of Zstandard with so many gigabytes of zeros."""
    # Blocks that repeat a byte 128 KiB times.
    block = struct.pack('<I', 2 | (1 << 17) << 3)[:3] + b'\0'
    return b'\x28\xb5\x2f\xfd\0\x50' + block * (gigabytes << 13) + b'\1\0\0'


def crafted(columns, last, metadata=b''):
    """
    Return crafted files by what is wrong, each with a part of the sentence that says so.

    ``columns`` are names with a value, float or bytes; wrong is something in the column ``last``.
    A text in it is no number in the first place, where numbers are expected.
    """
    def file(chunk=None, rows=3, more=()):
        own = [(name.encode(), Chunk(constant(value, rows), *(
            () if isinstance(value, float) else (BYTE_ARRAY, UNCOMPRESSED, UTF8))))
            for name, value in columns.items() if name != last or chunk is None]
        return made([*own, *([(last.encode(), chunk)] if chunk else []), *more], rows, metadata)

    text = {'type': BYTE_ARRAY, 'converted': UTF8}
    entry = struct.pack('<I', 60_000) + b'x' * 60_000
    one = struct.pack('<d', 1.0)
    return {
        'a text in each of 100000 rows': (file(Chunk([
            page(entry, 1, kind=DICTIONARY), constant(1.0, 100_000)[1]], **text), 100_000),
            'its texts have more than'),
        '400 million rows': (file(Chunk(constant(1.0, 400_000_000)), 400_000_000),
                             'expected at most'),
        'a page of 2 GB': (file(Chunk(
            [page(zeros(2), 3, unpacked=(1 << 31) - 1)], codec=ZSTD)), 'unpacks to more than'),
        'a dictionary of 2 GB': (file(Chunk(
            [page(zeros(2), 1, kind=DICTIONARY, unpacked=(1 << 31) - 1),
             constant(1.0, 3)[1]], codec=ZSTD)), 'unpacks to more than'),
        'a dictionary that is short': (file(Chunk(
            [page(one, (1 << 31) - 1, kind=DICTIONARY), constant(1.0, 3)[1]])),
            'more than it has'),
        'empty pages': (file(Chunk([page(b'', 0)] * 60_000, **text)), 'too many pages'),
        'no pages': (file(Chunk([b'\xff' * 30])), 'a page has no header'),
        'texts that grow': (file(Chunk(
            [page(bytes(100), 3, DELTA_BYTE_ARRAY)], **text)), 'DELTA_BYTE_ARRAY'),
        'decimals of 60 kB': (file(Chunk(
            [page(bytes(60_000), 1, kind=DICTIONARY), constant(1.0, 3)[1]], type=FIXED,
            converted=DECIMAL)), 'but decimal'),
        'a list': (file(Chunk([page(one * 3, 3)], repetition=REPEATED)), 'but list'),
        'two columns of a name': (file(more=[(last.encode(), Chunk(constant(1.0, 3)))]),
                                  f"2 of its columns have the name '{last}'"),
        'a million chunks': (described(1, [fields((2, I64, 0))] * 1_100_000), 'its footer has'),
        '10001 columns': (described(10_001, []), 'more than 10000 columns'),
        'a footer of 2 GB': (MAGIC + bytes(50) + b'\xff\xff\xff\x7f' + MAGIC, 'its footer has'),
        'no footer': (MAGIC + bytes(50), 'not a Parquet file'),
    }
