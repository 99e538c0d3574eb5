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
What autopilot_node needs of large messages, read from their bytes.

rclpy would convert all of them, covariances too, which takes ten times as long. The encoding is
that of all middlewares of ROS 2, OMG CDR.
"""

from __future__ import annotations

import struct

from nav_msgs.msg import Odometry
from rclpy.serialization import deserialize_message
from sensor_msgs.msg import Imu

from xplane_bridge.common.timing import SECOND_NS
from xplane_bridge.conversions.frames import Quaternion, Vector

# A message's fields follow four bytes, and are aligned as from there.
_BEGIN = 4
_LITTLE, _BIG = 1, 0
_STAMP = _DOUBLE = 8
# Numbers of the pose and its covariance.
_POSE = 7 + 36
_Formats = tuple[struct.Struct, struct.Struct, struct.Struct, struct.Struct]


def _formats(order: str) -> _Formats:
    """Return the formats of a stamp, a text's length, a vector, and the first half of an Imu."""
    return (
        struct.Struct(order + 'iI'), struct.Struct(order + 'I'), struct.Struct(order + '3d'),
        # Orientation and angular velocity, each with the first number of its covariance.
        struct.Struct(order + '4dd64x3dd'))


_FORMATS = {_LITTLE: _formats('<'), _BIG: _formats('>')}


def stamp_of(data: bytes) -> int:
    """Return the stamp (ns) of a serialised message that begins with a header."""
    seconds, rest = _FORMATS[data[1] & 1][0].unpack_from(data, _BEGIN)
    return int(seconds * SECOND_NS + rest)


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
        _, text, _, numbers = formats
        at = _BEGIN + _STAMP
        length, = text.unpack_from(data, at)
        x, y, z, w, first, p, q, r, second = numbers.unpack_from(
            data, _aligned(at + text.size + length, _DOUBLE))
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
    _, text, vector, _ = formats
    at = _BEGIN + _STAMP
    length, = text.unpack_from(data, at)
    frame = bytes(data[at + text.size:at + text.size + length - 1]).decode()
    at = _aligned(at + text.size + length, text.size)
    length, = text.unpack_from(data, at)
    at = _aligned(at + text.size + length, _DOUBLE)
    return vector.unpack_from(data, at + _DOUBLE * _POSE), frame


def _aligned(at: int, size: int) -> int:
    return at + -(at - _BEGIN) % size
