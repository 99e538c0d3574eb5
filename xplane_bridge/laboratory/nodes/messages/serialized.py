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
What controllers need of a vehicle's common topics, read from the bytes of their messages.

rclpy would convert all of a message, covariances too, which takes ten times as long. The encoding
is that of all middlewares of ROS 2, OMG CDR.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

from nav_msgs.msg import Odometry
from rclpy.serialization import deserialize_message
from sensor_msgs.msg import Imu, NavSatFix, NavSatStatus

from xplane_bridge.bridges.conversions.axes import Quaternion, Vector
from xplane_bridge.bridges.conversions.vehicle import Controls
from xplane_bridge.bridges.nodes.vehicle.controls import CONTROLS_MASK
from xplane_bridge.common.controls import CONTROLS
from xplane_bridge.common.timing import SECOND_NS
from xplane_bridge.msg import AirData, FlightControls

# A message's fields follow four bytes, and are aligned as from there.
_BEGIN = 4
_LITTLE, _BIG = 1, 0
_BITS = tuple(CONTROLS_MASK.sum_of((name,)) for name in CONTROLS)
_STAMP = _DOUBLE = 8
_MASK = 4
# Numbers of the pose and its covariance.
_POSE = 7 + 36


class _Formats(NamedTuple):
    """The parts of messages in one byte order."""

    stamp: struct.Struct
    # The length of a text, and a mask.
    number: struct.Struct
    vector: struct.Struct
    # Orientation and angular velocity, each with the first number of its covariance.
    attitude: struct.Struct
    controls: struct.Struct
    # Indicated and true airspeed, and static pressure.
    air: struct.Struct


_FORMATS = {
    number: _Formats._make(struct.Struct(order + code) for code in (
        'iI', 'I', '3d', '4dd64x3dd', f'{len(CONTROLS)}d', '2d16xd'))
    for number, order in ((_LITTLE, '<'), (_BIG, '>'))}


def read_stamp(data: bytes) -> int:
    """Return the stamp (ns) of a serialised message that begins with a header."""
    seconds, rest = _FORMATS[data[1] & 1].stamp.unpack_from(data, _BEGIN)
    return int(seconds * SECOND_NS + rest)


def position(data: bytes) -> tuple[bool, Vector]:
    """Return whether a serialised NavSatFix is a fix, and latitude, longitude and altitude."""
    formats = _FORMATS.get(data[1])
    if formats is None:
        message = deserialize_message(data, NavSatFix)
        status = message.status.status
        place = message.latitude, message.longitude, message.altitude
    else:
        at = _behind_header(data, formats)
        # An int8; a uint16 follows.
        status = data[at] - 256 if data[at] > 127 else data[at]
        place = formats.vector.unpack_from(data, _aligned(_aligned(at + 1, 2) + 2, _DOUBLE))
    return status != NavSatStatus.STATUS_NO_FIX, place


def air_data(data: bytes) -> tuple[float, float, float]:
    """Return indicated and true airspeed, and static pressure, of a serialised AirData."""
    formats = _FORMATS.get(data[1])
    if formats is None:
        message = deserialize_message(data, AirData)
        return message.indicated_airspeed, message.true_airspeed, message.static_pressure
    indicated, true, pressure = formats.air.unpack_from(
        data, _aligned(_behind_header(data, formats), _DOUBLE))
    return indicated, true, pressure


def controls(data: bytes) -> Controls:
    """Return those of a serialised FlightControls that its mask says are known."""
    formats = _FORMATS.get(data[1])
    if formats is None:
        return Controls(**CONTROLS_MASK.known(deserialize_message(data, FlightControls)))
    at = _aligned(_behind_header(data, formats), _MASK)
    fields, = formats.number.unpack_from(data, at)
    return Controls._make([
        value if fields & bit else None for value, bit in zip(
            formats.controls.unpack_from(data, _aligned(at + _MASK, _DOUBLE)), _BITS,
            strict=True)])


def attitude(data: bytes) -> tuple[Quaternion, Vector] | None:
    """Return orientation and angular velocity of a serialised Imu; None if it lacks one."""
    formats = _FORMATS.get(data[1])
    if formats is None:
        message = deserialize_message(data, Imu)
        turned, rates = message.orientation, message.angular_velocity
        x, y, z, w = turned.x, turned.y, turned.z, turned.w
        p, q, r = rates.x, rates.y, rates.z
        known = message.orientation_covariance[0], message.angular_velocity_covariance[0]
    else:
        x, y, z, w, first, p, q, r, second = formats.attitude.unpack_from(
            data, _aligned(_behind_header(data, formats), _DOUBLE))
        known = first, second
    # Imu.msg: -1 says that there is none.
    return None if -1.0 in known else ((w, x, y, z), (p, q, r))


def body_velocity(data: bytes) -> tuple[Vector, str]:
    """Return the linear velocity, body FLU, and the frame of the pose of a serialised Odometry."""
    formats = _FORMATS.get(data[1])
    if formats is None:
        message = deserialize_message(data, Odometry)
        twist = message.twist.twist.linear
        return (twist.x, twist.y, twist.z), message.header.frame_id
    size = formats.number.size
    at = _BEGIN + _STAMP
    length, = formats.number.unpack_from(data, at)
    frame = bytes(data[at + size:at + size + length - 1]).decode()
    at = _aligned(at + size + length, size)
    length, = formats.number.unpack_from(data, at)
    at = _aligned(at + size + length, _DOUBLE)
    return formats.vector.unpack_from(data, at + _DOUBLE * _POSE), frame


def _behind_header(data: bytes, formats: _Formats) -> int:
    length, = formats.number.unpack_from(data, _BEGIN + _STAMP)
    return _BEGIN + _STAMP + formats.number.size + int(length)


def _aligned(at: int, size: int) -> int:
    return at + -(at - _BEGIN) % size
