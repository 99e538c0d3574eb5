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

import math
import struct

SYNC = bytes.fromhex('2f731320250cbb12')


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


INNER = 'uint64_t timestamp;float x;uint8_t[4] _padding0;'
ATTITUDE = 'uint64_t timestamp;float[4] q;bool reset;uint8_t[3] _padding0;'
NAMED = 'uint64_t timestamp;char[8] name;inner[2] parts;float[40] many;double d;'


def definitions():
    return ulog_flags() + b''.join((
        ulog_format('inner', INNER), ulog_format('vehicle_attitude', ATTITUDE),
        ulog_format('sensor_gyro', 'uint64_t timestamp;float x;int32_t count;'),
        ulog_format('named', NAMED), ulog_record('I', b'\x0echar[4] sys_namePX4!'),
        ulog_record('P', b'\x0dint32_t SYS_Q' + struct.pack('<i', 3))))


def ulog():
    """Return a log of three topics, one of them of two sensors."""
    rows = [ulog_topic(0, 'vehicle_attitude'), ulog_topic(1, 'sensor_gyro'),
            ulog_topic(2, 'sensor_gyro', 1), ulog_topic(3, 'named')]
    for at in range(20):
        stamp = 2_000_000 + 10_000 * at
        rows += [
            ulog_data(0, 'Q4f?', stamp, 1.0, 0.1 * at, 0.0, -0.5, at % 2 == 0),
            ulog_data(1, 'Qfi', stamp + 1, 0.25 * at, at),
            ulog_data(2, 'Qfi', stamp + 2, -0.25 * at, -at),
            ulog_record('S', SYNC)]
        rows.append(ulog_data(
            3, 'Q8sQf4xQf4x40fd', stamp, b'wing', 7, 1.5, 8, at + 0.5, *range(40), math.pi * at))
    return ulog_header() + definitions() + b''.join(rows)


def flash_log():
    """Return a log with units, arrays, texts and two sensors."""
    att, imu, msg, pos, isb, old = range(1, 7)
    rows = [
        flash_beginning(), flash_format(att, 'ATT', 'Qcccf', 'TimeUS,Roll,Pitch,Yaw,AEKF'),
        flash_units(att, 'sddh?', 'FBBB-'),
        flash_format(imu, 'IMU', 'QBff', 'TimeUS,I,GyrX,AccX'), flash_units(imu, 's#Eo', 'F-00'),
        flash_format(msg, 'MSG', 'QZ', 'TimeUS,Message'),
        flash_format(pos, 'POS', 'QLLeHgM', 'TimeUS,Lat,Lng,Alt,Speed,Half,Mode'),
        flash_units(pos, 'sDDmn~-', 'FGGB!0-'),
        flash_format(isb, 'ISBD', 'Qa', 'TimeUS,x'), flash_format(old, 'OLD', 'IH', 'TimeMS,V')]
    for at in range(20):
        stamp = 5_000_000 + 20_000 * at
        rows += [
            message(att, 'Qhhhf', stamp, 100 * at, -333 * at, 18000, 0.5),
            message(imu, 'QBff', stamp + 1, 0, 0.1 * at, 9.0),
            message(imu, 'QBff', stamp + 2, 1, -0.1 * at, 9.5),
            message(pos, 'QiiiHeb', stamp, 471234567 + at, -81234567, 50_000, at, 1.5 * at, 5),
            message(isb, 'Q32h', stamp, *range(at, at + 32)),
            message(old, 'IH', stamp // 1000, at)]
    rows.append(message(msg, 'Q64s', 5_000_000, b'ArduPlane V4.6.0'))
    return b''.join(rows)


FDR = """\
A
4

COMM, by hand
ACFT, Aircraft/own.acf
TAIL, N1
DATE, 06/16/2025
DREF, sim/cockpit2/gauges/indicators/airspeed_kts_pilot\t1.0\t// comment: kt
DREF, sim/flightmodel/weight/m_fuel[0], 0.5
23:59:59.5, 8.5, 47.25, 1000.0, 350.0, 2.5, -10.0, 100.0, 8.0
00:00:00.5,  8.6,  47.26,  1010.0,  10.0,  3.5,  -9.0,  101.0,  7.0
"""
