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
The headers of the pages of a Parquet file: what a column unpacks to, before it is unpacked.

Its footer may say less. A page never unpacks to more than its own header says. Parquet format,
"Data Pages" and parquet.thrift; Thrift's compact protocol, "Structs".
"""

from __future__ import annotations

from typing import Any, BinaryIO, NamedTuple

from xplane_bridge.common.tables.bounds import LONGEST_PAGE_HEADER, TableError

# Types of a field.
_BOOLEANS, _BYTE, _INTEGERS, _DOUBLE, _BINARY, _STRUCT = (1, 2), 3, (4, 5, 6), 7, 8, 12
_I32 = 5
_DEEPEST = 8
# Fields of PageHeader, each with its type: of another type they are passed over.
_UNPACKED, _PACKED = (2, _I32), (3, _I32)
# The headers of data pages, of both versions, and their fields with the encoding.
_ENCODING = {(5, _STRUCT): (2, _I32), (8, _STRUCT): (4, _I32)}
_DICTIONARY = 7, _STRUCT
_VALUES = 1, _I32
# Bytes: a value of a dictionary has at least so many.
_LEAST = 4
# DELTA_BYTE_ARRAY: each text may repeat the one before, so that their lengths add up.
_GROWS = 7
# Bytes, which mostly hold a header.
_USUAL = 256
_NO_HEADER = 'a page has no header'


class Pages(NamedTuple):
    """What the pages of a column are: their number, and the bytes that they unpack to."""

    number: int
    unpacked: int


def measure(
    stream: BinaryIO, begin: int, size: int, values: int, most: int, most_pages: int
) -> Pages:
    """
    Return what the pages at ``begin`` have, of ``size`` bytes with so many ``values``.

    Raises TableError for what are no pages, and for more than ``most`` bytes or ``most_pages``.
    """
    end, count, unpacked = begin + size, 0, 0
    while begin < end and values > 0:
        found, length = _header(stream, begin)
        packed, own = found.get(_PACKED, -1), found.get(_UNPACKED, -1)
        if packed < 0 or own < 0:
            raise TableError(_NO_HEADER)
        count += 1
        unpacked += own
        for kind, encoding in _ENCODING.items():
            page = found.get(kind, {})
            values -= page.get(_VALUES, 0)
            if page.get(encoding) == _GROWS:
                raise TableError('its texts repeat one another (DELTA_BYTE_ARRAY), which is not '
                                 'read')
        if found.get(_DICTIONARY, {}).get(_VALUES, 0) * _LEAST > own:
            raise TableError('a dictionary says that it has more than it has')
        if unpacked > most or size > most:
            raise TableError(f'it unpacks to more than {most} bytes')
        if count > most_pages:
            raise TableError('the columns have too many pages')
        begin += length + packed
    return Pages(count, unpacked)


def _header(stream: BinaryIO, begin: int) -> tuple[dict[tuple[int, int], Any], int]:
    """Return the fields of a page's header, and its length."""
    for length in (_USUAL, LONGEST_PAGE_HEADER):
        stream.seek(begin)
        data = stream.read(length)
        try:
            return _struct(data, 0, 0)
        except IndexError:
            continue
    raise TableError(_NO_HEADER)


def _struct(data: bytes, at: int, depth: int) -> tuple[dict[tuple[int, int], Any], int]:
    """Return the integers and structs of a struct by number and type, and where it ends."""
    found: dict[tuple[int, int], Any] = {}
    number = 0
    if depth > _DEEPEST:
        raise TableError(_NO_HEADER)
    while head := data[at]:
        at += 1
        kind = head & 15
        if head >> 4:
            number += head >> 4
        else:
            number, at = _integer(data, at)
        # It has 16 bits.
        number &= 0xffff
        if kind in _INTEGERS:
            found[number, kind], at = _integer(data, at)
        elif kind == _STRUCT:
            found[number, kind], at = _struct(data, at, depth + 1)
        elif kind == _BINARY:
            length, at = _varint(data, at)
            at += length
        elif kind in (_BYTE, _DOUBLE):
            at += 1 if kind == _BYTE else 8
        elif kind not in _BOOLEANS:
            # No page's header has a list, a set or a map.
            raise TableError(_NO_HEADER)
    return found, at + 1


def _integer(data: bytes, at: int) -> tuple[int, int]:
    found, at = _varint(data, at)
    return found >> 1 ^ -(found & 1), at


def _varint(data: bytes, at: int) -> tuple[int, int]:
    found = 0
    for shift in range(0, 70, 7):
        byte = data[at]
        at += 1
        found |= (byte & 127) << shift
        if byte < 128:
            return found, at
    raise TableError(_NO_HEADER)
