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

"""Datagrams of ArduPilot's JSON interface to messages and back (docs/wire/ardupilot_json.md)."""

from __future__ import annotations

from collections.abc import Mapping
import json
import math
import struct
from typing import Any

from xplane_bridge.bridges.ardupilot_json.protocol.messages import Report, Servos
from xplane_bridge.bridges.protocols.base import checked_int, Message, Sender
from xplane_bridge.bridges.protocols.errors import ProtocolError
from xplane_bridge.common.text import counted

# By the magic number; little-endian, without padding.
_FRAMES = {18458: struct.Struct('<HHI16H'), 29569: struct.Struct('<HHI32H')}
_MAGIC = struct.Struct('<H')
_MAGIC_OF = {16: 18458, 32: 29569}
# SITL's own buffer; no datagram is longer.
_LONGEST = 65_000
_NUMBERS = ('latitude', 'longitude', 'altitude', 'airspeed', 'rng_1')
_FLAGS = ('no_time_sync', 'no_lockstep')
_VECTORS = {'velocity': 3, 'position': 3, 'attitude': 3, 'quaternion': 4, 'velocity_wind': 3}


def decode(data: bytes, sender: Sender) -> Message:
    """Decode one datagram of SITL (the bridge's side) or of the physics. Raises ProtocolError."""
    return _decode_report(data) if sender == 'peer' else decode_servos(data)


def decode_servos(data: bytes) -> Servos:
    """Decode one datagram of SITL. Raises ProtocolError for anything else."""
    if len(data) < _MAGIC.size:
        raise ProtocolError(f'servos: {counted(len(data), "byte")}, expected 40 or 72')
    magic, = _MAGIC.unpack_from(data)
    layout = _FRAMES.get(magic)
    if layout is None:
        raise ProtocolError(f'servos: magic {magic} at offset 0, expected 18458 or 29569')
    if len(data) != layout.size:
        raise ProtocolError(
            f'servos of magic {magic}: {counted(len(data), "byte")}, expected {layout.size}')
    _, rate, count, *pwm = layout.unpack(data)
    if rate == 0:
        raise ProtocolError('servos: frame rate 0 at offset 2, expected 1 to 65535')
    return Servos(rate, count, tuple(pwm))


def encode(message: Message) -> bytes:
    """
    Encode a frame of servos, or a report as a line with a line feed before and after it.

    Raises TypeError or ValueError for what is no number, not finite or out of range.
    """
    if isinstance(message, Report):
        return _encode_report(message)
    if not isinstance(message, Servos):
        raise TypeError(f'got a {type(message).__name__}, expected Servos or a Report')
    magic = _MAGIC_OF.get(len(message.pwm))
    if magic is None:
        raise ValueError(f'servos pwm: {counted(len(message.pwm), "value")}, expected 16 or 32')
    return _FRAMES[magic].pack(
        magic, checked_int('servos rate', message.rate, 1, 65_535),
        checked_int('servos count', message.count, 0, 2**32 - 1),
        *(checked_int('servos pwm', one, 0, 65_535) for one in message.pwm))


def _encode_report(report: Report) -> bytes:
    line: dict[str, Any] = {
        'timestamp': report.timestamp,
        'imu': {'gyro': report.gyro, 'accel_body': report.accel_body}}
    # Older versions search for keys as text: no other key may contain one before it.
    for name in ('position', 'attitude', 'quaternion', 'velocity', 'velocity_wind', *_NUMBERS):
        if (value := getattr(report, name)) is not None:
            line[name] = value
    vane = {'direction': report.wind_direction, 'speed': report.wind_speed}
    if given := {name: value for name, value in vane.items() if value is not None}:
        line['windvane'] = given
    # Older versions read a number here.
    line |= {name: 1 for name in _FLAGS if getattr(report, name)}
    return b'\n' + json.dumps(line, separators=(',', ':'), allow_nan=False).encode() + b'\n'


def _decode_report(data: bytes) -> Report:
    """Decode the last line of a datagram of the physics; what it does not know is skipped."""
    if len(data) > _LONGEST:
        raise ProtocolError(f'report: {len(data)} bytes, expected {_LONGEST} at most')
    text = data.strip(b'\0\r\n ').rpartition(b'\n')[2]
    try:
        line = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ProtocolError(f'report: expected a line of JSON: {error}') from None
    _section(line, 'report')
    found: dict[str, Any] = {'timestamp': _number(line, 'timestamp', True)}
    imu = _section(line.get('imu'), 'report imu')
    found |= {name: _vector(imu, name, 3, True) for name in ('gyro', 'accel_body')}
    found |= {name: _vector(line, name, size, name == 'velocity')
              for name, size in _VECTORS.items()}
    found |= {name: _number(line, name) for name in _NUMBERS}
    vane = _section(line.get('windvane', {}), 'report windvane')
    found |= {'wind_direction': _number(vane, 'direction'), 'wind_speed': _number(vane, 'speed'),
              **{name: line.get(name) in (True, 1) for name in _FLAGS}}
    report = Report(**found)
    if report.attitude is None and report.quaternion is None:
        raise ProtocolError('report: no attitude and no quaternion, expected one of them')
    if report.position is None and None in (report.latitude, report.longitude, report.altitude):
        raise ProtocolError(
            'report: no position, expected that, or latitude, longitude and altitude')
    return report


def _section(value: Any, what: str) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise ProtocolError(f'{what}: expected an object')
    return value


def _number(values: Mapping[str, Any], name: str, is_needed: bool = False) -> float | None:
    value = values.get(name)
    if value is None and not is_needed:
        return None
    return _finite(value, f'report {name}')


def _vector(values: Mapping[str, Any], name: str, size: int, is_needed: bool = False
            ) -> tuple[float, ...] | None:
    value = values.get(name)
    if value is None and not is_needed:
        return None
    if not isinstance(value, list) or len(value) != size:
        raise ProtocolError(f'report {name}: expected a list of {size} numbers')
    return tuple(_finite(one, f'report {name}') for one in value)


def _finite(value: Any, what: str) -> float:
    if isinstance(value, int | float) and not isinstance(value, bool):
        try:
            number = float(value)
        except OverflowError:
            number = math.inf
        if math.isfinite(number):
            return number
    raise ProtocolError(f'{what}: expected a finite number')
