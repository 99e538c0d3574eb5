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


"""Units of message fields: from the comments of their definitions, and of common types."""

from __future__ import annotations

import re

_UNIT = re.compile(
    r'(m/s\^2|kg/m\^3|rad/s\^2|kg/s|rad/s|deg/s|m/s|rad|deg|Pa|Hz|kg|ns|K|m|s|N|W)(?=$|[ ,;.:)])')
_FIELD = re.compile(r'\s*[A-Za-z][\w/]*(?:<=\d+)?(?:\[[^\]]*\])?\s+(\w+)\s*(?:#\s*(.*))?$')
_TYPE = re.compile(r'MSG: (\w+)/(?:msg/)?(\w+)\s*$')

_TWIST = {'linear': 'm/s', 'angular': 'rad/s'}
_COMMON = {
    'geometry_msgs/msg/Accel': {'linear': 'm/s^2', 'angular': 'rad/s^2'},
    'geometry_msgs/msg/Pose': {'position': 'm'},
    'geometry_msgs/msg/PointStamped': {'point': 'm'},
    'geometry_msgs/msg/Transform': {'translation': 'm'},
    'geometry_msgs/msg/Twist': _TWIST,
    'geometry_msgs/msg/Wrench': {'force': 'N', 'torque': 'N m'},
    'sensor_msgs/msg/FluidPressure': {'fluid_pressure': 'Pa', 'variance': 'Pa^2'},
    'sensor_msgs/msg/Imu': {
        'orientation_covariance': 'rad^2',
        'angular_velocity': 'rad/s', 'angular_velocity_covariance': 'rad^2/s^2',
        'linear_acceleration': 'm/s^2', 'linear_acceleration_covariance': 'm^2/s^4'},
    'sensor_msgs/msg/MagneticField': {
        'magnetic_field': 'T', 'magnetic_field_covariance': 'T^2'},
    'sensor_msgs/msg/NavSatFix': {
        'latitude': 'deg', 'longitude': 'deg', 'altitude': 'm', 'position_covariance': 'm^2'},
    'sensor_msgs/msg/Range': {
        'field_of_view': 'rad', 'min_range': 'm', 'max_range': 'm', 'range': 'm'},
    'sensor_msgs/msg/Temperature': {'temperature': 'degC', 'variance': 'degC^2'},
}


def units(kind: str, definition: str) -> dict[tuple[str, str], str]:
    """
    Return the units by type and field of a type, and of those that its definition contains.

    ``definition`` is as stored in recordings. The unit is the first word of a field's comment
    (``float64 roll  # rad, + is right wing down``), if it is one that is known; a field of another
    type gives its unit to all fields within, as ``geometry_msgs/Vector3 wind  # m/s``.
    """
    found: dict[tuple[str, str], str] = {
        (name, key): unit for name, fields in _COMMON.items() for key, unit in fields.items()}
    for line in definition.splitlines():
        if inner := _TYPE.match(line):
            kind = f'{inner[1]}/msg/{inner[2]}'
        elif (match := _FIELD.match(line)) and (unit := _UNIT.match(match[2] or '')):
            found.setdefault((kind, match[1]), unit[1])
    return found
