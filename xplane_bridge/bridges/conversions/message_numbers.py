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
The numbers of the common topics' messages, in the order of ``control.observation.FIELDS``.

Works with messages of rclpy and of rosbags: both have the fields of the definitions. What is not
known (NaN, marked by -1 in a covariance of Imu, or left out of a mask) is 0.

    observation[SLICES['imu/data']] = NUMBERS['imu/data'](message)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from operator import attrgetter
from typing import Any

from xplane_bridge.common.quantities import AIR_DATA, fields_of

Numbers = tuple[float, ...]

TARGET_BITS: Mapping[str, int] = {
    'altitude': 1, 'true_heading': 2, 'airspeed': 4, 'course': 8, 'climb_rate': 16}
"""The fields of AutopilotTarget, in their order, and the bits of those that are set."""


def _xyz(vector: Any) -> Numbers:
    return vector.x, vector.y, vector.z


def _xyzw(quaternion: Any) -> Numbers:
    return quaternion.x, quaternion.y, quaternion.z, quaternion.w


def _known(numbers: Numbers) -> Numbers:
    return tuple(0.0 if number != number else number for number in numbers)


def _read_imu(message: Any) -> Numbers:
    return _known((
        *_or_zeros(_xyzw(message.orientation), message.orientation_covariance),
        *_or_zeros(_xyz(message.angular_velocity), message.angular_velocity_covariance),
        *_or_zeros(_xyz(message.linear_acceleration), message.linear_acceleration_covariance)))


def _or_zeros(numbers: Numbers, covariance: Any) -> Numbers:
    """Return numbers of an Imu, 0 if its covariance says that it has none."""
    return (0.0,) * len(numbers) if covariance[0] == -1.0 else numbers


def _read_fix(message: Any) -> Numbers:
    return _known((message.latitude, message.longitude, message.altitude))


def _read_odom(message: Any) -> Numbers:
    pose, twist = message.pose.pose, message.twist.twist
    return _known((
        *_xyz(pose.position), *_xyzw(pose.orientation), *_xyz(twist.linear),
        *_xyz(twist.angular)))


_air_data = attrgetter(*(one.field for one in fields_of(AIR_DATA)))


def _read_air_data(message: Any) -> Numbers:
    return _known(_air_data(message))


def _read_target(message: Any) -> Numbers:
    fields = message.fields
    return _known((float(fields), *(
        getattr(message, name) if fields & getattr(message, name.upper()) else 0.0
        for name in TARGET_BITS)))


NUMBERS: Mapping[str, Callable[[Any], Numbers]] = {
    'imu/data': _read_imu,
    'fix': _read_fix,
    'odom': _read_odom,
    'air_data': _read_air_data,
    'target': _read_target,
}
"""By topic: the numbers of a message."""
