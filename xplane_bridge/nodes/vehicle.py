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

"""The topics that every vehicle has, whatever simulator it flies in."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
import math
from typing import Any

from geometry_msgs.msg import TransformStamped, TwistWithCovarianceStamped
from nav_msgs.msg import Odometry
from rclpy.qos import DurabilityPolicy, QoSProfile
from sensor_msgs.msg import Imu, NavSatFix, NavSatStatus
from std_msgs.msg import Header

from xplane_bridge.conversions import frames
from xplane_bridge.conversions.geodesy import LocalFrame
from xplane_bridge.conversions.geoid import msl_to_ellipsoid, Undulation, undulation_source
from xplane_bridge.conversions.masks import Mask
from xplane_bridge.conversions.vehicle import Controls, VehicleState
from xplane_bridge.msg import AircraftPose, AirData, FlightControls
from xplane_bridge.nodes.base import BaseParameters, BridgeNode, CaptureParameters
from xplane_bridge.nodes.parameters import parameter
from xplane_bridge.nodes.plausibility import make_gate
from xplane_bridge.nodes.watchdog import CommandWatchdog

# As tf2's own broadcaster has it.
_TRANSFORM_DEPTH = 100

LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)

TOPICS = ('fix', 'fix_velocity', 'imu/data', 'odom', 'datum', 'air_data', 'controls')
ALL_BUT_FIX = TOPICS[1:]

# Variance of what is not known, in m^2, (m/s)^2, rad^2 or (rad/s)^2. Odometry and
# TwistWithCovariance have no way to say "unknown": robot_localization takes 0 for 1e-9, near
# certainty, and -1 for 1. With this one a filter's gain is as good as nothing.
UNKNOWN_VARIANCE = 1e6

CONTROLS = ('elevator', 'aileron', 'rudder', 'throttle', 'flaps', 'gear', 'speedbrake')
CONTROLS_MASK = Mask(FlightControls)
POSE_MASK = Mask(AircraftPose)
_SURFACES = ('elevator', 'aileron', 'rudder')
_LIMITS = {
    'elevator': (-1.0, 1.0),
    'aileron': (-1.0, 1.0),
    'rudder': (-1.0, 1.0),
    'throttle': (0.0, 1.0),
    'flaps': (0.0, 1.0),
    'gear': (0.0, 1.0),
    'speedbrake': (-0.5, 1.5),
}
_AIR = (
    'indicated_airspeed', 'true_airspeed', 'angle_of_attack', 'sideslip', 'static_pressure',
    'dynamic_pressure', 'temperature', 'density',
)


@dataclass(frozen=True)
class CommandParameters(BaseParameters):
    """Parameters of every node that takes command/controls."""

    command_timeout: float = parameter(
        1.0, 'Seconds without command/controls, once some came, until on_command_timeout; 0 '
        'switches that off.', minimum=0.0, maximum=3600.0, live=True)
    on_command_timeout: str = parameter(
        'neutral', 'What to do when commands stop: centre elevator, aileron and rudder; nothing; '
        'or give the controls back to the simulator.', choices=('neutral', 'hold', 'release'),
        live=True)
    command_lifetime: float = parameter(
        0.5, 'Seconds that a command may wait to be sent; then it is dropped and reported.',
        minimum=0.01, maximum=60.0)


@dataclass(frozen=True)
class VehicleParameters(CommandParameters, CaptureParameters):
    """Parameters of every node that bridges a vehicle."""

    frame_prefix: str = parameter('', 'Put before every frame name, for example "uav1/".')
    base_frame: str = parameter('base_link', 'Frame of the aircraft body: forward, left, up.')
    imu_frame: str = parameter('base_link', 'Frame of imu/data.')
    gps_frame: str = parameter('base_link', 'Frame of fix.')
    odom_frame: str = parameter('odom', 'Frame of odom: east, north, up at the datum.')
    enu_frame: str = parameter(
        'base_link_enu', 'Frame of fix_velocity and air_data: origin as base_frame, axes east, '
        'north, up where the aircraft is.')
    publish_tf: bool = parameter(
        False, 'Publish odom_frame to base_frame on /tf, where tf2 is installed.')
    publish_enu_tf: bool = parameter(
        False, 'Publish base_frame to enu_frame on /tf, where tf2 is installed: '
        'robot_localization needs it to fuse fix_velocity.')
    datum: tuple[float, ...] = parameter(
        (), 'Origin of odom: latitude and longitude in degrees, height above the WGS-84 '
        'ellipsoid in metres. Empty: the first fix.')
    undulation: float = parameter(
        math.nan, 'Height of mean sea level above the WGS-84 ellipsoid in metres, added to the '
        'altitude in fix. NaN: from geoid_grid, a grid that pyproj finds, or else the own EGM96 '
        'grid. 0: altitudes are above mean sea level.')
    geoid_grid: str = parameter('', 'File of a geoid grid that pyproj reads, for the undulation.')
    position_stddev: float = parameter(
        0.0, 'Standard deviation of the horizontal position in metres; 0 for unknown. Of this and '
        'altitude_stddev both make the covariance in fix "diagonal known", one "approximated".',
        minimum=0.0)
    altitude_stddev: float = parameter(
        0.0, 'Standard deviation of the altitude in metres; 0 for unknown.', minimum=0.0)
    velocity_stddev: float = parameter(
        0.0, 'Standard deviation of the velocity in m/s; 0 for unknown.', minimum=0.0)
    orientation_stddev: float = parameter(
        0.0, 'Standard deviation of the orientation in radians; 0 for unknown.', minimum=0.0)
    angular_velocity_stddev: float = parameter(
        0.0, 'Standard deviation of the angular velocity in rad/s; 0 for unknown.', minimum=0.0)
    linear_acceleration_stddev: float = parameter(
        0.0, 'Standard deviation of the specific force in m/s^2; 0 for unknown.', minimum=0.0)

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


class VehiclePublisher:
    """
    Publish the common topics of one vehicle below ``prefix`` ('' or 'aircraft_1/').

    ``topics`` are those of TOPICS that this simulator has anything for. What cannot be does not
    pass ``gate``. One message object a topic is reused: publishing serialises before it returns.
    """

    def __init__(
        self, node: BridgeNode, parameters: VehicleParameters, prefix: str = '',
        undulation: Undulation | None = None, topics: Collection[str] = TOPICS,
    ) -> None:
        self.plausibility = make_gate(node, prefix)
        self._topics = topics
        self._publishers: dict[str, Any] = {}
        self._undulation = undulation or make_undulation(parameters)
        self._local: LocalFrame | None = None
        self._datum_sent = False
        self._datum_given = bool(parameters.datum)
        self._rotation = (1.0, 0.0, 0.0, 0.0)
        self._rotation_at = (math.nan, math.nan)

        def frame(name: str) -> str:
            return parameters.frame_prefix + prefix + name

        def publisher(kind: type, topic: str, qos: QoSProfile | int = 10) -> Any:
            if topic not in topics:
                return None
            self._publishers[topic] = node.make_publisher(kind, prefix + topic, qos)
            return self._publishers[topic]

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

        position = parameters.position_stddev ** 2
        altitude = parameters.altitude_stddev ** 2
        self._fix = NavSatFix()
        self._fix.header.frame_id = frame(parameters.gps_frame)
        self._fix.status.status = NavSatStatus.STATUS_FIX
        if position or altitude:
            # One of the two alone does not make the other known: "approximated" says so.
            self._fix.position_covariance_type = (
                NavSatFix.COVARIANCE_TYPE_DIAGONAL_KNOWN if position and altitude
                else NavSatFix.COVARIANCE_TYPE_APPROXIMATED)
            self._fix.position_covariance = _diagonal(
                *map(_variance, (position, position, altitude)))

        velocity = parameters.velocity_stddev ** 2
        self._velocity = TwistWithCovarianceStamped()
        self._velocity.header.frame_id = frame(parameters.enu_frame)
        self._velocity.twist.covariance = _diagonal(
            *[_variance(velocity)] * 3, *[UNKNOWN_VARIANCE] * 3)

        # Imu.msg: all zero is unknown, for each of the three by itself.
        orientation = parameters.orientation_stddev ** 2
        rates = parameters.angular_velocity_stddev ** 2
        force = parameters.linear_acceleration_stddev ** 2
        self._orientation_covariance = _diagonal(orientation, orientation, orientation)
        self._rate_covariance = _diagonal(rates, rates, rates)
        self._force_covariance = _diagonal(force, force, force)
        self._imu = Imu()
        self._imu.header.frame_id = frame(parameters.imu_frame)

        self._velocity_variance = _variance(velocity)
        self._rate_variance = _variance(rates)
        self._odom = Odometry()
        self._odom.header.frame_id = frame(parameters.odom_frame)
        self._odom.child_frame_id = frame(parameters.base_frame)
        self._odom.pose.covariance = _diagonal(*map(_variance, (
            position, position, altitude, orientation, orientation, orientation)))
        self._enu_header = Header(frame_id=frame(parameters.base_frame))
        self._enu_frame = frame(parameters.enu_frame)

        self._air = AirData()
        self._air.header.frame_id = frame(parameters.enu_frame)
        self._controls = FlightControls()
        self._controls.header.frame_id = frame(parameters.base_frame)
        if parameters.datum:
            self._local = LocalFrame(*map(float, parameters.datum))

    def subscribed(self) -> set[str]:
        """Return those of the topics that somebody subscribes to."""
        return {
            topic for topic, publisher in self._publishers.items()
            if publisher.get_subscription_count()
        }

    def publish_fix(
        self, latitude_deg: float, longitude_deg: float, altitude_msl: float, stamp_ns: int
    ) -> None:
        """
        Publish fix alone: it needs a position only, not what else is computed of a state.

        The position has passed ``plausibility``; NOWHERE is not published.
        """
        if math.isnan(latitude_deg):
            return
        fix = self._fix
        fix.header.stamp.sec, fix.header.stamp.nanosec = divmod(stamp_ns, 1_000_000_000)
        fix.latitude = latitude_deg
        fix.longitude = longitude_deg
        fix.altitude = msl_to_ellipsoid(
            altitude_msl, self._undulation.height_m(latitude_deg, longitude_deg))
        self._fix_publisher.publish(fix)

    def publish(
        self, state: VehicleState, stamp_ns: int, topics: Collection[str] | None = None
    ) -> None:
        """
        Publish those of ``topics``, by default all, that ``state`` has something for.

        Except for fix, the first, what nobody subscribes to is left out. What is impossible in
        the state counts as not known: without a position there is no fix and no odom.
        """
        if topics is None:
            topics = self._topics
        state = self.plausibility.state(state)
        if 'fix' in topics:
            self.publish_fix(
                state.latitude_deg, state.longitude_deg, state.altitude_msl, stamp_ns)
        seconds, nanoseconds = divmod(stamp_ns, 1_000_000_000)
        for message in (self._velocity, self._imu, self._odom, self._air, self._controls):
            stamp = message.header.stamp
            stamp.sec = seconds
            stamp.nanosec = nanoseconds
        if self._enu_transforms is not None and state.orientation is not None:
            # Before the messages that need it.
            self._enu_header.stamp = self._odom.header.stamp
            self._enu_transforms.publish(
                self._enu_header, self._enu_frame, (0.0, 0.0, 0.0),
                frames.conjugate(state.orientation))
        if (
            'fix_velocity' in topics and state.velocity is not None
            and _is_heard(self._velocity_publisher)
        ):
            _fill(self._velocity.twist.twist.linear, state.velocity)
            self._velocity_publisher.publish(self._velocity)
        if 'imu/data' in topics and _is_heard(self._imu_publisher):
            self._publish_imu(state)
        if 'odom' in topics:
            self._publish_odom(state)
        if (
            'air_data' in topics and state.air is not None and _is_heard(self._air_publisher)
        ):
            self._publish_air(state)
        if (
            'controls' in topics and state.controls is not None
            and _is_heard(self._controls_publisher)
        ):
            fill_controls(self._controls, state.controls)
            self._controls_publisher.publish(self._controls)

    def _publish_imu(self, state: VehicleState) -> None:
        """Publish imu/data; what is not known now is marked by -1 (Imu.msg), and no old value."""
        if state.orientation is state.angular_velocity is state.specific_force is None:
            return
        imu = self._imu
        if state.orientation is None:
            _fill_quaternion(imu.orientation, _NOT_TURNED)
            imu.orientation_covariance = _NONE
        else:
            _fill_quaternion(imu.orientation, state.orientation)
            imu.orientation_covariance = self._orientation_covariance
        if state.angular_velocity is None:
            _fill(imu.angular_velocity, _ZERO)
            imu.angular_velocity_covariance = _NONE
        else:
            _fill(imu.angular_velocity, state.angular_velocity)
            imu.angular_velocity_covariance = self._rate_covariance
        if state.specific_force is None:
            _fill(imu.linear_acceleration, _ZERO)
            imu.linear_acceleration_covariance = _NONE
        else:
            _fill(imu.linear_acceleration, state.specific_force)
            imu.linear_acceleration_covariance = self._force_covariance
        self._imu_publisher.publish(imu)

    def _publish_odom(self, state: VehicleState) -> None:
        """
        Publish odom: the pose in the axes at the datum, the velocity in body axes.

        Velocities that this simulator does not say are 0, with the variance of the unknown.
        """
        if state.orientation is None or math.isnan(state.latitude_deg):
            return
        height = msl_to_ellipsoid(
            state.altitude_msl,
            self._undulation.height_m(state.latitude_deg, state.longitude_deg))
        if not math.isfinite(height):
            return
        if self._local is None:
            self._local = LocalFrame(state.latitude_deg, state.longitude_deg, height)
        if not self._datum_sent:
            self._publish_datum(self._local)
        if self._odom_transforms is None and not _is_heard(self._odom_publisher):
            return
        pose, twist = self._odom.pose.pose, self._odom.twist.twist
        position = self._local.geodetic_to_enu(state.latitude_deg, state.longitude_deg, height)
        _fill(pose.position, position)
        # East, north and up where the aircraft is are not those at the datum.
        here = (round(state.latitude_deg, 3), round(state.longitude_deg, 3))
        if here != self._rotation_at:
            self._rotation_at = here
            self._rotation = frames.enu_to_enu_rotation(
                *here, self._local.latitude_deg, self._local.longitude_deg)
        orientation = frames.multiply(self._rotation, state.orientation)
        _fill_quaternion(pose.orientation, orientation)
        covariance = self._odom.twist.covariance
        if state.velocity is None:
            covariance[0] = covariance[7] = covariance[14] = UNKNOWN_VARIANCE
            _fill(twist.linear, (0.0, 0.0, 0.0))
        else:
            covariance[0] = covariance[7] = covariance[14] = self._velocity_variance
            _fill(twist.linear, frames.rotate_inverse(state.orientation, state.velocity))
        if state.angular_velocity is None:
            covariance[21] = covariance[28] = covariance[35] = UNKNOWN_VARIANCE
            _fill(twist.angular, (0.0, 0.0, 0.0))
        else:
            covariance[21] = covariance[28] = covariance[35] = self._rate_variance
            _fill(twist.angular, state.angular_velocity)
        self._odom_publisher.publish(self._odom)
        if self._odom_transforms is not None:
            self._odom_transforms.publish(
                self._odom.header, self._odom.child_frame_id, position, orientation)

    def _publish_datum(self, datum: LocalFrame) -> None:
        message = NavSatFix()
        message.header.stamp = self._odom.header.stamp
        message.header.frame_id = self._odom.header.frame_id
        message.status.status = NavSatStatus.STATUS_FIX
        message.latitude = datum.latitude_deg
        message.longitude = datum.longitude_deg
        message.altitude = datum.height
        if not self._datum_given:
            # It is a fix, and as good as that.
            message.position_covariance_type = self._fix.position_covariance_type
            message.position_covariance = self._fix.position_covariance
        self._datum_publisher.publish(message)
        self._datum_sent = True

    def _publish_air(self, state: VehicleState) -> None:
        for name in _AIR:
            value = getattr(state.air, name)
            setattr(self._air, name, math.nan if value is None else value)
        _fill(self._air.wind, state.air.wind or (math.nan, math.nan, math.nan))
        self._air_publisher.publish(self._air)


class TransformPublisher:
    """Publish transforms on /tf, if tf2 is installed; a sentence says if it is not."""

    def __init__(self, node: BridgeNode) -> None:
        self._publisher = None
        try:
            from tf2_msgs.msg import TFMessage
        except ImportError:
            node.get_logger().warning(
                'publish_tf or publish_enu_tf is set but tf2_msgs is not installed, so /tf is not '
                'published (on a ROS installation: apt install ros-$ROS_DISTRO-tf2-msgs)')
            return
        self._publisher = node.make_publisher(TFMessage, '/tf', _TRANSFORM_DEPTH)
        self._transform = TransformStamped()
        self._message = TFMessage(transforms=[self._transform])
        self._last: dict[str, tuple[int, int]] = {}

    def publish(
        self, header: Header, child: str, translation: frames.Vector,
        rotation: frames.Quaternion,
    ) -> None:
        """Publish one transform, from the frame of the header to ``child``, once a stamp."""
        if self._publisher is None:
            return
        # tf2 complains of a transform that it has already, and a simulator may stand still.
        stamp = header.stamp.sec, header.stamp.nanosec
        if self._last.get(child) == stamp:
            return
        self._last[child] = stamp
        self._transform.header = header
        self._transform.child_frame_id = child
        _fill(self._transform.transform.translation, translation)
        _fill_quaternion(self._transform.transform.rotation, rotation)
        self._publisher.publish(self._message)


def make_undulation(parameters: VehicleParameters) -> Undulation:
    """Return the source of the undulation that the parameters ask for; ValueError if unusable."""
    constant = None if math.isnan(parameters.undulation) else parameters.undulation
    return undulation_source(constant, parameters.geoid_grid)


def checked_controls(message: FlightControls, *, clamp: bool = False) -> Controls:
    """
    Return a command as values, None where none is set.

    Raises ValueError for a value out of its range, or clamps it, and for a mask that is none.
    """
    values = CONTROLS_MASK.given(message)
    for name, value in values.items():
        if clamp:
            low, high = _LIMITS[name]
            values[name] = min(max(value, low), high)
        else:
            check_control(name, value)
    return Controls(**values)


def check_control(name: str, value: float) -> None:
    """Raise ValueError for a control that is out of its range."""
    low, high = _LIMITS[name]
    if not low <= value <= high:
        raise ValueError(f'{name} {value:g} is not in {low:g} .. {high:g}')


def fill_controls(message: FlightControls, controls: Controls) -> None:
    """Put controls into a message, those that are not None."""
    CONTROLS_MASK.fill(message, {name: getattr(controls, name) for name in CONTROLS})


class CommandGate:
    """
    The way of command/controls to a simulator: checked, watched, and stopped when it falters.

    ``send(controls)`` sends them on; ``release()`` gives the controls back to the simulator.
    ``clamp``: values out of range are clamped, not refused, as this simulator does it. ``takes``
    are the controls that it has: what sets others alone is refused. ``neutral()`` centres the
    surfaces that commands have moved; without it a command that sets these to 0 does.
    """

    def __init__(
        self, node: BridgeNode, send: Callable[[Controls], None], release: Callable[[], None],
        prefix: str = '', *, clamp: bool = False, takes: Collection[str] = CONTROLS,
        neutral: Callable[[], None] | None = None,
    ) -> None:
        self._node = node
        self._clamp = clamp
        self._neutral = neutral or self._centre
        self._send = send
        self._release = release
        self._topic = prefix + 'command/controls'
        self._takes = takes
        self._taken_bits = CONTROLS_MASK.sum_of(takes)
        self._moved: set[str] = set()
        self.commands = 0
        self.watchdog = CommandWatchdog(node, node.parameters.command_timeout, self._expired)
        node.make_command(FlightControls, self._topic, self._take)

    def _take(self, message: FlightControls) -> None:
        controls = checked_controls(message, clamp=self._clamp)
        if not message.fields & self._taken_bits:
            raise ValueError(
                f'this simulator takes {", ".join(self._takes)}; nothing else is set')
        self._send(controls)
        # Who sets only the flaps has left the surfaces to whom they belong.
        self._moved.update(
            name for name in _SURFACES if getattr(controls, name) is not None)
        self.commands += 1
        self.watchdog.feed()

    def _expired(self) -> None:
        what = self._node.parameters.on_command_timeout
        self._node.warn(
            f'timeout {self._topic}',
            f'{self._topic}: no command for {self._node.parameters.command_timeout:g} s: {what}')
        try:
            if what == 'neutral':
                self._neutral()
            elif what == 'release':
                self._release()
        except ValueError as error:
            # The simulator went away, perhaps together with the commander.
            self._node.refuse(self._topic, error)

    def _centre(self) -> None:
        if self._moved:
            self._send(Controls(**dict.fromkeys(self._moved, 0.0)))
            self._moved.clear()


def _diagonal(*values: float) -> list[float]:
    """Return a square matrix, row by row."""
    size = len(values)
    matrix = [0.0] * (size * size)
    matrix[::size + 1] = values
    return matrix


def _variance(given: float) -> float:
    """Return a variance as Odometry and Twist have it, whose 0 would mean certainty."""
    return given or UNKNOWN_VARIANCE


_NONE = [-1.0] + [0.0] * 8
_ZERO = (0.0, 0.0, 0.0)
_NOT_TURNED = (1.0, 0.0, 0.0, 0.0)


def _is_heard(publisher: Any) -> bool:
    """Tell whether somebody subscribes: to ask costs far less than to publish to nobody."""
    return bool(publisher.get_subscription_count())


def _fill(target: Any, vector: frames.Vector) -> None:
    target.x, target.y, target.z = vector


def _fill_quaternion(target: Any, quaternion: frames.Quaternion) -> None:
    target.w, target.x, target.y, target.z = quaternion
