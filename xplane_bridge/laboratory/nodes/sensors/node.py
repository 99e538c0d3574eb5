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

"""sensors_node: real sensors between the topics of a vehicle and its controller."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
import math
import time
from typing import Any

from geometry_msgs.msg import TwistWithCovarianceStamped
from nav_msgs.msg import Odometry
from rclpy.serialization import serialize_message
from sensor_msgs.msg import Imu, MagneticField, NavSatFix, Range

from xplane_bridge.bridges.conversions.axes import Quaternion
from xplane_bridge.bridges.conversions.geodesy import LocalFrame
from xplane_bridge.bridges.conversions.vehicle import Air
from xplane_bridge.bridges.nodes.common.diagnostics import OK, STALE, Status, WARN
from xplane_bridge.bridges.nodes.common.latched import LATCHED
from xplane_bridge.bridges.nodes.common.running import run
from xplane_bridge.bridges.nodes.vehicle.namespaces import make_vehicle_nodes, VehicleNode
from xplane_bridge.bridges.nodes.vehicle.templates import AirTopics
from xplane_bridge.bridges.nodes.vehicle.updates import nanoseconds
from xplane_bridge.laboratory.nodes.sensors.messages import (
    Messages,
    true_air,
    true_fix,
    true_motion,
)
from xplane_bridge.laboratory.nodes.sensors.parameters import SensorsParameters
from xplane_bridge.laboratory.sensors.faults import SENSOR_FAULTS
from xplane_bridge.laboratory.sensors.gnss import NO_FIX
from xplane_bridge.laboratory.sensors.imu import ImuReading
from xplane_bridge.laboratory.sensors.magnetometer import EarthField
from xplane_bridge.laboratory.sensors.specification import Figures, load
from xplane_bridge.laboratory.sensors.suite import Suite
from xplane_bridge.laboratory.sensors.topics import MAGNETIC_FIELD, RANGE, TRUTH
from xplane_bridge.msg import AirData

# Topics of one update that lockstep waits for; fix_velocity too, of a bridge that has it.
_UPDATE = ('fix', 'air_data', 'imu/data')
_VELOCITY = 'fix_velocity'
_INCOMPLETE = 8
_DEPTH = 10
# Without truth for this long (s) the diagnostics say so.
_OLDEST = 1.0


class SensorsNode(VehicleNode[SensorsParameters]):
    """
    Publish what sensors measure of a truth/... topic, under the topic's own name.

    Stamps are those of the states that were measured. In lockstep each update of the vehicle is
    handled as a whole, and imu/data follows for each, last: what a controller answers.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__('sensors_node', SensorsParameters, **options)

    def open(self) -> None:
        """Read the figures, create the topics."""
        given = self.parameters
        figures = load(given.sensors).later(given.added_latency)
        field = self._earth_field(figures)
        seed = given.seed + self.number
        self._suite = Suite(figures, seed, field)
        self._set_faults(given)
        self._messages = Messages(figures.range_finder)
        self._frames: dict[str, str] = {}
        self._odom_frame = ''
        self._heard_at = -_OLDEST
        self._place = NO_FIX
        # In lockstep: updates of which something is missing, the stamp of the last one, the newest
        # of the IMU, and the newest message of each topic, the last one last.
        self._incomplete: dict[int, dict[str, Any]] = {}
        self._stamp = -1
        self._held: ImuReading | None = None
        self._published: dict[str, Any] = {}
        self._handled: set[str] = set()
        kinds = {
            'fix': NavSatFix, _VELOCITY: TwistWithCovarianceStamped, 'imu/data': Imu,
            'odom': Odometry, 'air_data': AirData}
        self._outputs = {
            topic: self.make_publisher(kind, topic) for topic, kind in (kinds | {
                **({RANGE: Range} if figures.measures_height else {}),
                **({MAGNETIC_FIELD: MagneticField} if field else {})}).items()}
        self._delivered = dict.fromkeys(self._outputs, 0)
        self._air_topics = AirTopics(self)
        self._measured_air: tuple[Air, int] | None = None
        self._handlers = {
            'fix': self._on_fix, _VELOCITY: self._on_velocity, 'air_data': self._on_air,
            'imu/data': self._on_imu}
        self.make_command(NavSatFix, 'datum', self._on_datum, LATCHED, while_inactive=True)
        for topic, handler in self._handlers.items():
            self.make_command(
                kinds[topic], f'{TRUTH}/{topic}',
                partial(self._gather, topic) if given.lockstep else partial(
                    self._on_message, topic, handler), _DEPTH)
        if figures.measures_height and math.isnan(given.ground_elevation):
            self.get_logger().info(f'{RANGE} is not published: ground_elevation is not known')
        self.get_logger().info(
            f'measuring as {given.sensors}, random seed {seed}; the truth is below {TRUTH}')

    def begin(self) -> None:
        """Wait for the truth."""

    def end(self) -> None:
        """Forget what is incomplete."""
        self._incomplete.clear()

    def close(self) -> None:
        """Do nothing: only topics were opened."""

    def changed(self, given: SensorsParameters) -> None:
        """Set or end faults."""
        self._set_faults(given)

    def _earth_field(self, figures: Figures) -> EarthField | None:
        """Return the magnetic field, None without a magnetometer or what computes it."""
        if figures.magnetometer is None or figures.magnetometer.field is None:
            return None
        try:
            return EarthField(figures.magnetometer.year)
        except ImportError as error:
            self.get_logger().warning(f'{MAGNETIC_FIELD} is not published: {error}')
            return None

    def _set_faults(self, given: SensorsParameters) -> None:
        for name in SENSOR_FAULTS:
            setattr(self._suite.faults, name, getattr(given, name))

    # The truth.

    def _on_message(self, topic: str, handler: Any, message: Any) -> None:
        self._heard_at = time.monotonic()
        self._frames[topic] = message.header.frame_id
        handler(nanoseconds(message), message)

    def _gather(self, topic: str, message: Any) -> None:
        """Handle the messages of one update when the last of them has arrived."""
        stamp = nanoseconds(message)
        update = self._incomplete.setdefault(stamp, {})
        update[topic] = message
        if not all(name in update for name in _UPDATE) or (
                _VELOCITY not in update and self.count_publishers(f'{TRUTH}/{_VELOCITY}')):
            if len(self._incomplete) > _INCOMPLETE:
                del self._incomplete[next(iter(self._incomplete))]
            return
        self._incomplete = {at: one for at, one in self._incomplete.items() if at > stamp}
        if stamp == self._stamp:
            # The simulator waits for its command, and repeats the state: who is new here, or has
            # lost something, receives it now.
            for name, sent in list(self._published.items()):
                self._outputs[name].publish(sent)
            if self._measured_air is not None:
                self._air_topics.publish(*self._measured_air)
            # fix_velocity of the first state may come with its repetition only.
            update = {name: one for name, one in update.items() if name not in self._handled}
        else:
            self._stamp, self._handled = stamp, set()
        for name, handler in self._handlers.items():
            if name in update:
                self._handled.add(name)
                self._on_message(name, handler, update[name])

    def _on_datum(self, message: NavSatFix) -> None:
        self._odom_frame = message.header.frame_id
        self._suite.odometry.datum = LocalFrame(
            message.latitude, message.longitude, message.altitude)

    def _on_fix(self, stamp: int, message: NavSatFix) -> None:
        self._place = true_fix(message)
        for at, fix in self._suite.show_position(stamp, self._place):
            self._publish('fix', self._messages.fix(self._frames['fix'], at, fix))

    def _on_velocity(self, stamp: int, message: TwistWithCovarianceStamped) -> None:
        linear = message.twist.twist.linear
        for at, velocity in self._suite.show_velocity(stamp, (linear.x, linear.y, linear.z)):
            self._publish(_VELOCITY, self._messages.velocity(
                self._frames[_VELOCITY], at, velocity))

    def _on_air(self, stamp: int, message: AirData) -> None:
        frame = self._frames['air_data']
        for at, air in self._suite.show_air(stamp, true_air(message)):
            self._publish('air_data', self._messages.air(frame, at, air))
            self._air_topics.place(self.parameters.base_frame or frame, frame)
            self._air_topics.publish(air, at)
            self._measured_air = air, at

    def _on_imu(self, stamp: int, message: Imu) -> None:
        motion = true_motion(message)
        self._show_surroundings(stamp, motion.orientation)
        delivered = self._suite.show_motion(stamp, motion)
        if self.parameters.lockstep:
            if delivered:
                self._held = delivered[-1].reading
            self._publish_held()
            return
        for at, reading in delivered:
            self._publish_odom(at, reading)
            self._publish('imu/data', self._messages.imu(self._frames['imu/data'], at, reading))

    def _show_surroundings(self, stamp: int, orientation: Quaternion | None) -> None:
        """Show ground and magnetic field, by the newest position."""
        place, frame = self._place, self._frames['imu/data']
        for at, field in self._suite.show_magnetic_field(stamp, place, orientation):
            self._publish(MAGNETIC_FIELD, self._messages.magnetic_field(frame, at, field))
        below = self.parameters.range_frame or f'{frame[:frame.rfind("/") + 1]}range_finder'
        height = place.altitude - self.parameters.ground_elevation
        for at, distance in self._suite.show_ground(stamp, height, orientation):
            self._publish(RANGE, self._messages.range(below, at, distance))

    # What is measured.

    def _publish_held(self) -> None:
        """Publish the newest reading of the IMU, with the stamp of this update."""
        if self._held is not None:
            self._publish_odom(self._stamp, self._held)
            self._publish('imu/data', self._messages.imu(
                self._frames['imu/data'], self._stamp, self._held))

    def _publish_odom(self, stamp: int, reading: ImuReading) -> None:
        pose = self._suite.pose(stamp, reading.motion)
        if pose is not None:
            child = self.parameters.base_frame or self._frames['imu/data']
            self._publish('odom', self._messages.odom(
                (self._odom_frame, child), stamp, pose, reading))

    def _publish(self, topic: str, message: Any) -> None:
        self._delivered[topic] += 1
        if self.parameters.lockstep:
            self._published.pop(topic, None)
            self._published[topic] = (
                message if isinstance(message, bytes) else serialize_message(message))
        self._outputs[topic].publish(message)

    def diagnose(self) -> Sequence[Status]:
        """Return whether the truth arrives, what is delivered, and which faults are set."""
        values = tuple((f'{topic} delivered', str(count))
                       for topic, count in self._delivered.items())
        broken = [name for name in SENSOR_FAULTS if getattr(self._suite.faults, name)]
        if time.monotonic() - self._heard_at > _OLDEST:
            return (Status(
                'sensors', STALE, 'no truth arrives; start the bridge with its topics below '
                f'truth, for example by the launch argument sensors:={self.parameters.sensors}',
                values),)
        if broken:
            return (Status(
                'sensors', WARN, f'broken by parameter: {", ".join(broken)}', values),)
        return (Status('sensors', OK, f'measuring as {self.parameters.sensors}', values),)


def main(args: Sequence[str] | None = None) -> int:
    """Run sensors_node, or one for each of ``namespaces``; return the process's exit code."""
    return run(lambda: make_vehicle_nodes(SensorsNode, 'sensors_node'), SensorsParameters, args)
