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

"""Logs of autopilots, written as their documentation has it: ULog and dataflash."""

import struct

SYNC = bytes.fromhex('2f731320250cbb12')
_ULOG = {'uint64_t': 'Q', 'float': 'f', 'uint8_t': 'B', 'int32_t': 'i', 'bool': '?', 'double': 'd'}


def ulog_header(start=1_000_000):
    return b'ULog\x01\x12\x35\x01' + struct.pack('<Q', start)


def ulog_record(kind, body):
    return struct.pack('<HB', len(body), ord(kind)) + body


def ulog_format(name, fields):
    return ulog_record('F', f'{name}:{fields}'.encode())


def ulog_topic(number, name, instance=0):
    return ulog_record('A', struct.pack('<BH', instance, number) + name.encode())


def ulog_data(number, layout, *values):
    return ulog_record('D', struct.pack(f'<H{layout}', number, *values))


def ulog_flags(incompatible=0, appended=0):
    return ulog_record('B', bytes(8) + bytes([incompatible]) + bytes(7) + struct.pack(
        '<QQQ', appended, 0, 0))


FMT = 0x80


def message(number, layout, *values):
    return bytes([0xa3, 0x95, number]) + struct.pack(f'<{layout}', *values)


def flash_format(number, name, letters, columns, length=None):
    sizes = {'a': 64, 'Z': 64, 'N': 16, 'n': 4, 'Q': 8, 'q': 8, 'd': 8, 'f': 4, 'i': 4, 'I': 4,
             'L': 4, 'e': 4, 'E': 4, 'h': 2, 'H': 2, 'c': 2, 'C': 2, 'g': 2}
    size = 3 + sum(sizes.get(one, 1) for one in letters)
    return message(FMT, 'BB4s16s64s', number, size if length is None else length, name.encode(),
                   letters.encode(), columns.encode())


def flash_beginning():
    """Return the formats of formats and units, and the units that ArduPilot defines."""
    units = {'s': 's', 'd': 'deg', 'k': 'deg/s', 'E': 'rad/s', 'o': 'm/s/s', 'h': 'degheading',
             'n': 'm/s', '#': 'instance', 'D': 'deglatitude', 'm': 'm', 'Y': 'us'}
    multipliers = {'F': 1e-6, 'B': 1e-2, '0': 1.0, '-': 0.0, 'G': 1e-7, 'C': 1e-3, '!': 3.6}
    return b''.join([
        flash_format(FMT, 'FMT', 'BBnNZ', 'Type,Length,Name,Format,Columns'),
        flash_format(0x81, 'UNIT', 'QbZ', 'TimeUS,Id,Label'),
        flash_format(0x82, 'MULT', 'Qbd', 'TimeUS,Id,Mult'),
        flash_format(0x83, 'FMTU', 'QBNN', 'TimeUS,FmtType,UnitIds,MultIds'),
        *(message(0x81, 'Qb64s', 1_000_000, ord(name), label.encode())
          for name, label in units.items()),
        *(message(0x82, 'Qbd', 1_000_000, ord(name), factor)
          for name, factor in multipliers.items())])


def flash_units(number, units, multipliers):
    return message(0x83, 'QB16s16s', 1_000_000, number, units.encode(), multipliers.encode())
