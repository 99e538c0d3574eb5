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

"""Ulyssix packets packed with struct alone, as an independent check of the decoder."""

from datetime import datetime, UTC
import struct

SECOND = 1_000_000_000
DAY = 86_400 * SECOND
START = bytes(range(8))
DAY_45 = bytes.fromhex('3412450012907856')  # day 45, 12:34:56.789012, date first
SINCE_JAN1 = 3846896.789012  # the same with 1 January as day 0
INTEGER, TAGGED, NAMES = 4, 1, 2


def utc(*date, ns=0):
    return int(datetime(*date, tzinfo=UTC).timestamp()) * SECOND + ns


def bcd(day, hour, minute, second, micros=0, order='first_word_high'):
    date = bytes.fromhex(f'{day:04d}{hour:02d}{minute:02d}')[::-1]
    clock = bytes.fromhex(f'{second:02d}{micros:06d}')[::-1]
    return date + clock if order == 'first_word_high' else clock + date


def datagram(
    counter=0, total=1, data=None, samples=1, control=0, names=None, time=DAY_45, kind=0,
):
    """Return a packet; by default one parameter with one sample, 1.5."""
    data = struct.pack('<If', 1, 1.5) if data is None else data
    head = struct.pack('<IB', counter, control)
    if names is not None:
        head += struct.pack('<H', len(names)) + names
    size = struct.pack('<IIIQ', 28 + len(data), kind, samples, total)
    return head + START + size + time + data + START[::-1]


def tagged(*samples, time, layout='<fd', control=TAGGED, **options):
    """Return a packet of one parameter with (value, time) samples."""
    data = struct.pack('<I', len(samples)) + b''.join(struct.pack(layout, *s) for s in samples)
    return datagram(data=data, samples=len(samples), control=control, time=time, **options)
