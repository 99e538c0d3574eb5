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

"""Converts what sensors measure to the common messages, and these to the truth."""

from __future__ import annotations

from collections.abc import Callable
import math
from typing import Any

from geometry_msgs.msg import TwistWithCovarianceStamped
from nav_msgs.msg import Odometry
from sensor_msgs.msg import Imu, MagneticField, NavSatFix, NavSatStatus, Range

from xplane_bridge.bridges.conversions.covariances import diagonal, UNKNOWN_VARIANCE, variance
from xplane_bridge.bridges.conversions.topics import AIR
from xplane_bridge.bridges.conversions.vehicle import Air, air_numbers
from xplane_bridge.bridges.nodes.vehicle.publisher import IMU
from xplane_bridge.bridges.nodes.vehicle.templates import Template
from xplane_bridge.common.timing import SECOND_NS
from xplane_bridge.laboratory.sensors.gnss import Fix, NO_FIX, Velocity
from xplane_bridge.laboratory.sensors.imu import BodyMotion, ImuReading
from xplane_bridge.laboratory.sensors.magnetometer import MagneticReading
from xplane_bridge.laboratory.sensors.odometry import Pose
from xplane_bridge.laboratory.sensors.range_finder import RangeReading
from xplane_bridge.laboratory.sensors.specification import RangeFinderFigures
from xplane_bridge.msg import AirData

_ABSENT = (-1.0, *[0.0] * 8)
_ZERO = (0.0, 0.0, 0.0)
_NOT_TURNED = (1.0, 0.0, 0.0, 0.0)


# The truth out of messages.


def true_motion(message: Imu) -> BodyMotion:
    """Return what imu/data says; what it marks as absent is None."""
    q, rates, force = (
        message.orientation, message.angular_velocity, message.linear_acceleration)
    return BodyMotion(
        None if message.orientation_covariance[0] == -1.0 else (q.w, q.x, q.y, q.z),
        None if message.angular_velocity_covariance[0] == -1.0 else (rates.x, rates.y, rates.z),
        None if message.linear_acceleration_covariance[0] == -1.0
        else (force.x, force.y, force.z))


def true_fix(message: NavSatFix) -> Fix:
    """Return what fix says."""
    if message.status.status == NavSatStatus.STATUS_NO_FIX:
        return NO_FIX
    return Fix(message.latitude, message.longitude, message.altitude)


def true_air(message: AirData) -> Air:
    """Return what air_data says; NaN becomes None."""
    wind = (message.wind.x, message.wind.y, message.wind.z)
    values = {name: getattr(message, name) for name in AIR}
    return Air(
        **{name: None if math.isnan(value) else value for name, value in values.items()},
        wind=None if any(map(math.isnan, wind)) else wind)


# Messages of which only numbers change, in the frames of the truth.


class Messages:
    """Fills messages, each with the frame that the truth's has (``frame_of``)."""

    def __init__(self, range_finder: RangeFinderFigures | None) -> None:
        self._templates: dict[tuple[str, ...], Template] = {}
        self._range_finder = range_finder or RangeFinderFigures()

    def imu(self, frame: str, stamp: int, reading: ImuReading) -> Any:
        """Return imu/data."""
        orientation, rates, force = reading.motion
        w, x, y, z = orientation or _NOT_TURNED
        return self._filled(
            _make_imu, (frame,), stamp, x, y, z, w,
            *(diagonal(reading.tilt, reading.tilt, reading.heading) if orientation else _ABSENT),
            *(rates or _ZERO),
            *(diagonal(*[reading.angular_velocity] * 3) if rates else _ABSENT),
            *(force or _ZERO),
            *(diagonal(*[reading.specific_force] * 3) if force else _ABSENT))

    def fix(self, frame: str, stamp: int, fix: Fix) -> Any:
        """Return fix; without a position if there is none."""
        known = fix.is_valid and fix.horizontal > 0.0
        return self._filled(
            _make_fix, (frame,), stamp,
            NavSatStatus.STATUS_FIX if fix.is_valid else NavSatStatus.STATUS_NO_FIX,
            fix.latitude_deg, fix.longitude_deg, fix.altitude,
            *(diagonal(fix.horizontal, fix.horizontal, fix.vertical) if known else [0.0] * 9),
            NavSatFix.COVARIANCE_TYPE_DIAGONAL_KNOWN if known
            else NavSatFix.COVARIANCE_TYPE_UNKNOWN)

    def velocity(self, frame: str, stamp: int, velocity: Velocity) -> Any:
        """Return fix_velocity."""
        horizontal, vertical = map(variance, (velocity.horizontal, velocity.vertical))
        return self._filled(
            _make_velocity, (frame,), stamp, *velocity.enu,
            *diagonal(horizontal, horizontal, vertical, *[UNKNOWN_VARIANCE] * 3))

    def air(self, frame: str, stamp: int, air: Air) -> Any:
        """Return air_data."""
        return self._filled(
            _make_air, (frame,), stamp, *air_numbers(air))

    def range(self, frame: str, stamp: int, reading: RangeReading) -> Any:
        """Return range."""
        return self._filled(self._make_range, (frame,), stamp, *reading)

    def magnetic_field(self, frame: str, stamp: int, reading: MagneticReading) -> Any:
        """Return imu/mag."""
        return self._filled(
            _make_magnetic_field, (frame,), stamp, *reading.field,
            *diagonal(*[reading.variance] * 3))

    def odom(self, frames: tuple[str, str], stamp: int, pose: Pose, reading: ImuReading) -> Any:
        """Return odom, in the frames of datum and body."""
        horizontal, vertical, tilt, heading, rate, moving, climbing = map(variance, (
            pose.horizontal, pose.vertical, reading.tilt, reading.heading,
            reading.angular_velocity, pose.horizontal_velocity, pose.vertical_velocity))
        w, x, y, z = pose.orientation
        return self._filled(
            _make_odom, frames, stamp, *pose.position, x, y, z, w,
            *diagonal(horizontal, horizontal, vertical, tilt, tilt, heading), *pose.velocity,
            *(reading.motion.angular_velocity or _ZERO),
            # In body axes, which the climb is hardly along.
            *diagonal(moving, moving, climbing, rate, rate, rate))

    def _make_range(self, frame: str) -> Template:
        figures = self._range_finder
        message = Range(
            radiation_type=Range.INFRARED, field_of_view=figures.field_of_view,
            min_range=figures.minimum, max_range=figures.maximum)
        message.header.frame_id = frame
        return Template(message, 'header.stamp', 'range', 'variance')

    def _filled(
        self, make: Callable[..., Template], frames: tuple[str, ...], stamp: int, *numbers: float
    ) -> Any:
        key = (make.__name__, *frames)
        template = self._templates.get(key)
        if template is None:
            template = self._templates[key] = make(*frames)
        return template.filled(*divmod(stamp, SECOND_NS), *numbers)


def _make_imu(frame: str) -> Template:
    message = Imu()
    message.header.frame_id = frame
    return Template(message, 'header.stamp', *IMU)


def _make_fix(frame: str) -> Template:
    message = NavSatFix()
    message.header.frame_id = frame
    message.status.service = NavSatStatus.SERVICE_GPS
    return Template(
        message, 'header.stamp', 'status.status', 'latitude', 'longitude', 'altitude',
        'position_covariance', 'position_covariance_type')


def _make_velocity(frame: str) -> Template:
    message = TwistWithCovarianceStamped()
    message.header.frame_id = frame
    return Template(message, 'header.stamp', 'twist.twist.linear', 'twist.covariance')


def _make_air(frame: str) -> Template:
    message = AirData()
    message.header.frame_id = frame
    return Template(message, 'header.stamp', *AIR, 'wind')


def _make_magnetic_field(frame: str) -> Template:
    message = MagneticField()
    message.header.frame_id = frame
    return Template(
        message, 'header.stamp', 'magnetic_field', 'magnetic_field_covariance')


def _make_odom(frame: str, child: str) -> Template:
    message = Odometry()
    message.header.frame_id = frame
    message.child_frame_id = child
    return Template(message, 'header.stamp', 'pose', 'twist')
