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
Datagrams of ArduPilot's JSON interface: SITL sends servo outputs, the physics a line of JSON.

Sources: docs/wire/ardupilot_json.md. Servo outputs are little-endian, without padding.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
import json
import struct

from xplane_bridge.common.text import counted
from xplane_bridge.protocols.errors import ProtocolError

PORT = 9002
"""UDP port at which SITL expects the physics."""

# By the magic number.
_FRAMES = {18458: struct.Struct('<HHI16H'), 29569: struct.Struct('<HHI32H')}
_MAGIC = struct.Struct('<H')


@dataclass(frozen=True, slots=True)
class Servos:
    """
    Servo outputs of one frame.

    rate is in frames per second, 1..65535; count is the number of the frame, 0 after SITL starts;
    pwm has 16 or 32 pulse widths in microseconds, 0 for no signal.
    """

    rate: int
    count: int
    pwm: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Report:
    """
    What the physics answers with: SI, radians, body axes FRD, world axes NED.

    timestamp is the simulated time; accel_body the specific force; position is relative to the
    start's place on the ground; latitude and longitude are in degrees, altitude is above mean sea
    level; airspeed is true; wind_direction is that of the apparent wind, 0 from ahead and positive
    from the right. rng_1 is the distance to the ground along the body's down, None if unknown.
    """

    timestamp: float
    gyro: tuple[float, float, float]
    accel_body: tuple[float, float, float]
    position: tuple[float, float, float]
    attitude: tuple[float, float, float]
    velocity: tuple[float, float, float]
    latitude: float
    longitude: float
    altitude: float
    airspeed: float
    wind_direction: float
    wind_speed: float
    rng_1: float | None = None


def decode(data: bytes) -> Servos:
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


def encode(report: Report, lockstep: bool = True) -> bytes:
    """
    Encode a report as a line, with a line feed before and after it.

    Raises ValueError for a number that is not finite.
    """
    values = asdict(report)
    line = {
        'timestamp': values.pop('timestamp'),
        'imu': {'gyro': values.pop('gyro'), 'accel_body': values.pop('accel_body')},
    }
    vane = {'direction': values.pop('wind_direction'), 'speed': values.pop('wind_speed')}
    line.update({name: value for name, value in values.items() if value is not None})
    line['windvane'] = vane
    if not lockstep:
        # Older versions read a number here.
        line['no_lockstep'] = 1
    return b'\n' + json.dumps(line, separators=(',', ':'), allow_nan=False).encode() + b'\n'
