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

"""The topics that every vehicle has, whatever the simulator."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
import math
from typing import Any, TypeAlias

from geometry_msgs.msg import TwistWithCovarianceStamped
from nav_msgs.msg import Odometry
from rclpy.qos import QoSProfile
from sensor_msgs.msg import Imu, NavSatFix, NavSatStatus
from std_msgs.msg import Header

from xplane_bridge.bridges.conversions import axes
from xplane_bridge.bridges.conversions.covariances import diagonal, UNKNOWN_VARIANCE, variance
from xplane_bridge.bridges.conversions.geodesy import LocalFrame
from xplane_bridge.bridges.conversions.geoid import msl_to_ellipsoid, Undulation, undulation_source
from xplane_bridge.bridges.conversions.odom_frame import OdomFrame
from xplane_bridge.bridges.conversions.topics import AIR, AIR_TOPICS, VEHICLE
from xplane_bridge.bridges.conversions.vehicle import air_numbers, VehicleState
from xplane_bridge.bridges.nodes.common.base import BaseParameters, BridgeNode, CaptureParameters
from xplane_bridge.bridges.nodes.common.latched import LATCHED
from xplane_bridge.bridges.nodes.common.subscribers import subscription_count
from xplane_bridge.bridges.nodes.managed.parameters import parameter
from xplane_bridge.bridges.nodes.vehicle.controls import CommandParameters, control_numbers
from xplane_bridge.bridges.nodes.vehicle.engines import EngineReport
from xplane_bridge.bridges.nodes.vehicle.plausibility import make_gate
from xplane_bridge.bridges.nodes.vehicle.templates import AirTopics, Template
from xplane_bridge.bridges.nodes.vehicle.transforms import (
    make_map_frame,
    MapFrame,
    TransformPublisher,
)
from xplane_bridge.common.controls import CONTROLS
from xplane_bridge.common.timing import SECOND_NS
from xplane_bridge.msg import AirData, EngineControls, FlightControls

TOPICS = (*VEHICLE, *AIR_TOPICS, 'datum')
ALL_BUT_FIX = TOPICS[1:]

IMU = (
    'orientation', 'orientation_covariance', 'angular_velocity', 'angular_velocity_covariance',
    'linear_acceleration', 'linear_acceleration_covariance',
)

# Seconds and nanoseconds.
_Stamp: TypeAlias = tuple[int, int]


@dataclass(frozen=True)
class TopicParameters(BaseParameters):
    """Parameters of every node that publishes the common topics of a vehicle."""

    frame_prefix: str = parameter('', 'Prefix of every frame name, for example "uav1/".')
    base_frame: str = parameter('base_link', 'Frame of the aircraft body: forward, left, up.')
    imu_frame: str = parameter('base_link', 'Frame of imu/data.')
    gps_frame: str = parameter('base_link', 'Frame of fix.')
    odom_frame: str = parameter('odom', 'Frame of odom: east, north, up at the datum.')
    enu_frame: str = parameter(
        'base_link_enu', 'Frame of fix_velocity and air_data: origin as base_frame, axes east, '
        'north, up where the aircraft is.')
    publish_tf: bool = parameter(
        False, 'Publish odom_frame to base_frame on /tf, if tf2 is installed.')
    map_frame: str = parameter(
        '', 'Frame above odom_frame of each aircraft, without frame_prefix: with publish_tf it is '
        'on /tf_static, which makes one tree of several. Its origin is datum, else that of the '
        'first odom. Empty: none.')
    publish_enu_tf: bool = parameter(
        False, 'Publish base_frame to enu_frame on /tf, if tf2 is installed: '
        'robot_localization needs it to fuse fix_velocity.')
    datum: tuple[float, ...] = parameter(
        (), 'Origin of odom: latitude and longitude in degrees, height above the WGS-84 '
        'ellipsoid in metres. Empty: the first fix.')
    undulation: float = parameter(
        math.nan, 'Height of mean sea level above the WGS-84 ellipsoid in metres, added to the '
        'altitude in fix. NaN: from geoid_grid, a grid that pyproj finds, or the built-in EGM96 '
        'grid. 0: altitudes are above mean sea level.')
    geoid_grid: str = parameter('', 'File of a geoid grid that pyproj reads, for the undulation.')
    position_stddev: float = parameter(
        0.0, 'Standard deviation of the horizontal position in metres; 0 for unknown. With both '
        'this and altitude_stddev the covariance of fix is "diagonal known", else "approximated".',
        low=0.0)
    altitude_stddev: float = parameter(
        0.0, 'Standard deviation of the altitude in metres; 0 for unknown.', low=0.0)
    velocity_stddev: float = parameter(
        0.0, 'Standard deviation of the velocity in m/s; 0 for unknown.', low=0.0)
    orientation_stddev: float = parameter(
        0.0, 'Standard deviation of the orientation in radians; 0 for unknown.', low=0.0)
    angular_velocity_stddev: float = parameter(
        0.0, 'Standard deviation of the angular velocity in rad/s; 0 for unknown.', low=0.0)
    linear_acceleration_stddev: float = parameter(
        0.0, 'Standard deviation of the specific force in m/s^2; 0 for unknown.', low=0.0)

    def __post_init__(self) -> None:
        """Check the datum."""
        if self.datum:
            if len(self.datum) != 3 or not all(
                isinstance(value, int | float) for value in self.datum
            ):
                raise ValueError(
                    'parameter datum: expected latitude, longitude and height or an empty list, '
                    f'got {list(self.datum)}'
                )
            LocalFrame(*map(float, self.datum))


@dataclass(frozen=True)
class VehicleParameters(TopicParameters, CommandParameters, CaptureParameters):
    """Parameters of every node that bridges a vehicle."""


class VehiclePublisher:
    """
    Publish the common topics of one vehicle below ``prefix`` ('', 'aircraft_1/', '/fleet/uav1/').

    ``topics`` are those of TOPICS that this simulator supports. The aircraft of one node share a
    ``map_frame``, if there is one. Impossible values do not pass ``gate``. Each topic has one
    message, serialised once, of which only numbers change.
    """

    def __init__(
        self, node: BridgeNode[Any], parameters: TopicParameters, prefix: str = '',
        undulation: Undulation | None = None, topics: Collection[str] = TOPICS,
        map_frame: MapFrame | None = None,
    ) -> None:
        self.plausibility = make_gate(node, prefix)
        self._topics = topics
        # How many subscribers each has, asked for before each message.
        self._counts: dict[str, Callable[[], int]] = {}
        self._undulation = undulation or make_undulation(parameters)
        self._odom_frame = OdomFrame(
            LocalFrame(*map(float, parameters.datum)) if parameters.datum else None)
        self._datum_sent = False
        self._map_frame = map_frame or make_map_frame(node, parameters)
        self._datum_given = bool(parameters.datum)

        def frame(name: str) -> str:
            # A frame's name has no slash before it.
            return parameters.frame_prefix + prefix.lstrip('/') + name

        def publisher(kind: type, topic: str, qos: QoSProfile | int = 10) -> Any:
            if topic not in topics:
                return None
            made = node.make_publisher(kind, prefix + topic, qos)
            self._counts[topic] = subscription_count(made)
            return made

        self._fix_publisher = publisher(NavSatFix, 'fix')
        self._velocity_publisher = publisher(TwistWithCovarianceStamped, 'fix_velocity')
        self._imu_publisher = publisher(Imu, 'imu/data')
        self._odom_publisher = publisher(Odometry, 'odom')
        self._datum_publisher = publisher(NavSatFix, 'datum', LATCHED)
        transforms = (
            TransformPublisher(node) if parameters.publish_tf or parameters.publish_enu_tf
            else None)
        self._odom_transforms = transforms if parameters.publish_tf else None
        self._enu_transforms = transforms if parameters.publish_enu_tf else None
        self._air_publisher = publisher(AirData, 'air_data')
        self._controls_publisher = publisher(FlightControls, 'controls')
        self._engines_publisher = publisher(EngineControls, 'engines')
        self._air_topics = AirTopics(node, prefix, topics)
        self._counts |= self._air_topics.counts
        self._air_topics.place(frame(parameters.base_frame), frame(parameters.enu_frame))

        self._make_messages(parameters, frame)
        self._make_odom(parameters, frame)
        if not all(template.is_packed for template in (
                self._fix, self._velocity, self._imu, self._odom, self._air, self._controls)):
            node.get_logger().info(
                'this middleware does not serialise messages as expected: publishing costs more '
                'CPU time than it could')

    def _make_messages(
        self, parameters: TopicParameters, frame: Callable[[str], str]
    ) -> None:
        """Create the messages, with the frames and covariances that do not change."""
        position = parameters.position_stddev ** 2
        altitude = parameters.altitude_stddev ** 2
        self._fix_message = fix = NavSatFix()
        fix.header.frame_id = frame(parameters.gps_frame)
        fix.status.status = NavSatStatus.STATUS_FIX
        if position or altitude:
            # One of the two does not make the other known: hence "approximated".
            fix.position_covariance_type = (
                NavSatFix.COVARIANCE_TYPE_DIAGONAL_KNOWN if position and altitude
                else NavSatFix.COVARIANCE_TYPE_APPROXIMATED)
            fix.position_covariance = diagonal(*map(variance, (position, position, altitude)))
        self._fix = Template(fix, 'header.stamp', 'latitude', 'longitude', 'altitude')

        velocity = TwistWithCovarianceStamped()
        velocity.header.frame_id = frame(parameters.enu_frame)
        velocity.twist.covariance = diagonal(
            *[variance(parameters.velocity_stddev ** 2)] * 3, *[UNKNOWN_VARIANCE] * 3)
        self._velocity = Template(velocity, 'header.stamp', 'twist.twist.linear')

        # Imu.msg: all zero is unknown, for each of the three separately.
        self._imu_covariances = [diagonal(*[stddev ** 2] * 3) for stddev in (
            parameters.orientation_stddev, parameters.angular_velocity_stddev,
            parameters.linear_acceleration_stddev)]
        imu = Imu()
        imu.header.frame_id = frame(parameters.imu_frame)
        self._imu = Template(imu, 'header.stamp', *IMU)

        air = AirData()
        air.header.frame_id = frame(parameters.enu_frame)
        self._air = Template(air, 'header.stamp', *AIR, 'wind')
        controls = FlightControls()
        controls.header.frame_id = frame(parameters.base_frame)
        self._controls = Template(controls, 'header.stamp', 'fields', *CONTROLS)
        self._engines = EngineReport(controls.header.frame_id)

    def _make_odom(self, parameters: TopicParameters, frame: Callable[[str], str]) -> None:
        """Create odom, and the headers of the transforms."""
        position = parameters.position_stddev ** 2
        altitude = parameters.altitude_stddev ** 2
        orientation = parameters.orientation_stddev ** 2
        velocity = variance(parameters.velocity_stddev ** 2)
        rate = variance(parameters.angular_velocity_stddev ** 2)
        odom = Odometry()
        odom.header.frame_id = frame(parameters.odom_frame)
        odom.child_frame_id = frame(parameters.base_frame)
        odom.pose.covariance = diagonal(*map(variance, (
            position, position, altitude, orientation, orientation, orientation)))
        self._odom = Template(odom, 'header.stamp', 'pose.pose', 'twist')
        # By whether the velocity and the rates are known.
        self._twist_covariances = {
            (moving, turning): diagonal(
                *[velocity if moving else UNKNOWN_VARIANCE] * 3,
                *[rate if turning else UNKNOWN_VARIANCE] * 3)
            for moving in (False, True) for turning in (False, True)}
        self._odom_header = odom.header
        self._child_frame = odom.child_frame_id
        self._enu_header = Header(frame_id=frame(parameters.base_frame))
        self._enu_frame = frame(parameters.enu_frame)

    def subscribed(self) -> set[str]:
        """Return those of the topics that have subscribers."""
        return {topic for topic, count in self._counts.items() if count()}

    def publish_fix(
        self, latitude_deg: float, longitude_deg: float, altitude_msl: float, stamp_ns: int
    ) -> None:
        """
        Publish only fix: it needs just a position, not the rest of the state.

        The position has passed ``plausibility``; NOWHERE is not published.
        """
        if math.isnan(latitude_deg):
            return
        height = msl_to_ellipsoid(
            altitude_msl, self._undulation.height_m(latitude_deg, longitude_deg))
        self._fix_publisher.publish(self._fix.filled(
            *divmod(stamp_ns, SECOND_NS), latitude_deg, longitude_deg, height))

    def publish(  # noqa: C901 -- a branch for each topic
        self, state: VehicleState, stamp_ns: int, topics: Collection[str] | None = None
    ) -> None:
        """
        Publish those of ``topics``, by default all, for which ``state`` has data.

        Except for fix, the first, topics without subscribers are skipped. Impossible values in
        the state count as unknown: without a position there is no fix and no odom.
        """
        if topics is None:
            topics = self._topics
        state = self.plausibility.state(state)
        if 'fix' in topics:
            self.publish_fix(
                state.latitude_deg, state.longitude_deg, state.altitude_msl, stamp_ns)
        counts, stamp = self._counts, divmod(stamp_ns, SECOND_NS)
        if self._enu_transforms is not None and state.orientation is not None:
            # Before the messages that need it.
            _write_stamp(self._enu_header, stamp)
            self._enu_transforms.publish(
                self._enu_header, self._enu_frame, (0.0, 0.0, 0.0),
                axes.conjugate(state.orientation))
        if 'imu/data' in topics and counts['imu/data']():
            self._publish_imu(state, stamp)
        if 'air_data' in topics and state.air is not None:
            if counts['air_data']():
                self._air_publisher.publish(self._air.filled(*stamp, *air_numbers(state.air)))
            self._air_topics.publish(state.air, stamp_ns)
        if (
            'controls' in topics and state.controls is not None
            and counts['controls']()
        ):
            self._controls_publisher.publish(
                self._controls.filled(*stamp, *control_numbers(state.controls)))
        # Last: the largest.
        if (
            'engines' in topics and state.engines is not None
            and counts['engines']()
        ):
            self._engines_publisher.publish(self._engines.filled(stamp, state.engines))
        if (
            'fix_velocity' in topics and state.velocity is not None
            and counts['fix_velocity']()
        ):
            self._velocity_publisher.publish(self._velocity.filled(*stamp, *state.velocity))
        if 'odom' in topics:
            self._publish_odom(state, stamp)

    def _publish_imu(self, state: VehicleState, stamp: _Stamp) -> None:
        """Publish imu/data; values unknown now are marked by -1 (Imu.msg), not by old values."""
        orientation, rates, force = (
            state.orientation, state.angular_velocity, state.specific_force)
        if not (orientation or rates or force):
            return
        w, x, y, z = orientation or _NOT_TURNED
        of_orientation, of_rates, of_force = self._imu_covariances
        if state.derived_stddev is not None:
            of_rates, of_force = (
                diagonal(*[known[0] + stddev ** 2] * 3) for known, stddev in zip(
                    (of_rates, of_force), state.derived_stddev, strict=True))
        self._imu_publisher.publish(self._imu.filled(
            *stamp,
            x, y, z, w, *(of_orientation if orientation else _NONE),
            *(rates or _ZERO), *(of_rates if rates else _NONE),
            *(force or _ZERO), *(of_force if force else _NONE)))

    def _publish_odom(self, state: VehicleState, stamp: _Stamp) -> None:
        """
        Publish odom: the pose in the axes at the datum, the velocity in body axes.

        Velocities that this simulator does not report are 0, with the variance of unknown values.
        """
        if state.orientation is None or math.isnan(state.latitude_deg):
            return
        height = msl_to_ellipsoid(
            state.altitude_msl,
            self._undulation.height_m(state.latitude_deg, state.longitude_deg))
        if not math.isfinite(height):
            return
        place = state.latitude_deg, state.longitude_deg, height
        datum = self._odom_frame.start(*place)
        if not self._datum_sent:
            self._publish_datum(datum, stamp)
        if self._odom_transforms is None and not self._counts['odom']():
            return
        position, orientation = self._odom_frame.pose(*place, state.orientation)
        velocity, rates = state.velocity, state.angular_velocity
        w, x, y, z = orientation
        covariances = self._twist_covariances[velocity is not None, rates is not None]
        if state.derived_stddev is not None:
            covariances = diagonal(*covariances[:21:7], *[
                self._imu_covariances[1][0] + state.derived_stddev[0] ** 2] * 3)
        self._odom_publisher.publish(self._odom.filled(
            *stamp, *position, x, y, z, w,
            *(axes.rotate_inverse(state.orientation, velocity) if velocity else _ZERO),
            *(rates or _ZERO), *covariances))
        if self._odom_transforms is not None:
            _write_stamp(self._odom_header, stamp)
            self._odom_transforms.publish(
                self._odom_header, self._child_frame, position, orientation)

    def _publish_datum(self, datum: LocalFrame, stamp: _Stamp) -> None:
        message = NavSatFix()
        message.header.frame_id = self._odom_header.frame_id
        _write_stamp(message.header, stamp)
        message.status.status = NavSatStatus.STATUS_FIX
        message.latitude = datum.latitude_deg
        message.longitude = datum.longitude_deg
        message.altitude = datum.height
        if not self._datum_given:
            # It is a fix, and as accurate.
            message.position_covariance_type = self._fix_message.position_covariance_type
            message.position_covariance = self._fix_message.position_covariance
        self._datum_publisher.publish(message)
        if self._map_frame is not None:
            self._map_frame.add(message.header.frame_id, datum, message.header.stamp)
        self._datum_sent = True


def make_undulation(parameters: TopicParameters) -> Undulation:
    """Return the source of the undulation set by the parameters; ValueError if unusable."""
    constant = None if math.isnan(parameters.undulation) else parameters.undulation
    return undulation_source(constant, parameters.geoid_grid)


def _write_stamp(header: Header, stamp: _Stamp) -> None:
    header.stamp.sec, header.stamp.nanosec = stamp


_NONE = [-1.0] + [0.0] * 8
_ZERO = (0.0, 0.0, 0.0)
_NOT_TURNED = (1.0, 0.0, 0.0, 0.0)
