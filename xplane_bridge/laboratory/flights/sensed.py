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

"""Sensors between an aircraft in this process and its control law. No ROS."""

from __future__ import annotations

import math

from xplane_bridge.bridges.conversions import axes
from xplane_bridge.bridges.conversions.axes import Quaternion, Vector
from xplane_bridge.bridges.conversions.geodesy import LocalFrame
from xplane_bridge.bridges.conversions.vehicle import Air
from xplane_bridge.common.fields import FieldError
from xplane_bridge.laboratory.control.measurement import Measurement
from xplane_bridge.laboratory.flights.observed import Observed
from xplane_bridge.laboratory.flights.recordings.collected import Collector
from xplane_bridge.laboratory.flights.scenario.scenario import ScenarioError
from xplane_bridge.laboratory.sensors.altimeter import Altimeter
from xplane_bridge.laboratory.sensors.gnss import Fix, NO_FIX
from xplane_bridge.laboratory.sensors.imu import BodyMotion, ImuReading
from xplane_bridge.laboratory.sensors.odometry import Pose
from xplane_bridge.laboratory.sensors.range_finder import below
from xplane_bridge.laboratory.sensors.specification import Figures, load
from xplane_bridge.laboratory.sensors.suite import Suite

# A height above ground is no longer known this long (s) after it was measured.
_OLDEST_HEIGHT = 0.5


def load_sensors(name: str) -> Figures:
    """Return the sensors of a name or file. Raises ScenarioError."""
    try:
        return load(name)
    except FieldError as error:
        raise ScenarioError(f'sensors: {error}') from None


class Sensed:
    """
    What the control law knows of an aircraft by its sensors: of each the newest delivery.

    That is what autopilot_node has in lockstep behind sensors_node. ``faults`` may be set.
    """

    def __init__(
        self, figures: Figures, seed: int, datum: LocalFrame, collector: Collector | None = None
    ) -> None:
        """Build them; a ``collector`` keeps what they deliver."""
        imu, gnss, air = figures.imu, figures.gnss, figures.air_data
        if not (imu and imu.gyroscope and imu.tilt and imu.heading and gnss and gnss.horizontal
                and gnss.vertical and air and air.pitot_pressure):
            raise ScenarioError(
                'sensors: the autopilot needs a gyroscope, tilt and heading, a horizontal and '
                'vertical position, and a pitot pressure')
        self._suite = Suite(figures, seed)
        self._suite.odometry.datum = datum
        self.faults = self._suite.faults
        self._altimeter = Altimeter()
        self._imu: ImuReading | None = None
        self._air = Air()
        self._fix = NO_FIX
        self._stamp = 0
        # The newest height above ground, infinity if none is in range, and its stamp.
        self._height, self._height_at = math.nan, 0
        # Where the vehicle is by its sensors; None: nobody has asked yet, or it is not known.
        self._pose: Pose | None = None
        self._datum = datum
        self._collector = collector
        self._range_finder = figures.range_finder if figures.measures_height else None
        self._position = (math.nan, math.nan)

    def show(
        self, time: float, place: Vector, motion: BodyMotion, velocity: Vector | None, air: Air,
        height: float,
    ) -> None:
        """
        Show the sensors the state at a time (s).

        ``place``: latitude and longitude in degrees, metres above the ellipsoid. Velocity: ENU.
        ``height``: above the ground, in m.
        """
        stamp, suite, collector = round(time * 1e9), self._suite, self._collector
        for fix in suite.show_position(stamp, Fix(*place)):
            self._take(fix.reading)
            if collector is not None:
                collector.fix(*fix)
        for moved in [] if velocity is None else suite.show_velocity(stamp, velocity):
            if collector is not None:
                collector.velocity(*moved)
        for delivered in suite.show_air(stamp, air):
            self._air = delivered.reading
            self._altimeter.take_pressure(_or_nan(delivered.reading.static_pressure))
            if collector is not None:
                collector.air(*delivered)
        for imu in suite.show_motion(stamp, motion):
            self._imu = imu.reading
        self._show_ground(stamp, height, motion.orientation)
        self._stamp, self._pose = stamp, None
        if collector is not None and self._imu is not None:
            # As in lockstep: for each state the newest.
            collector.imu(stamp, self._imu, self._known_pose())

    def _take(self, fix: Fix) -> None:
        self._fix = fix
        self._altimeter.take_fix(fix.altitude)
        self._position = (
            self._datum.geodetic_to_enu(*fix[:3])[:2] if fix.is_valid
            else (math.nan, math.nan))

    def _show_ground(
        self, stamp: int, height: float, orientation: Quaternion | None
    ) -> None:
        collector, finder = self._collector, self._range_finder
        for at, reading in self._suite.show_ground(stamp, height, orientation):
            self._height, self._height_at = below(
                reading.distance, self._motion.orientation), at
            if collector is not None and finder is not None:
                collector.range(at, reading, finder)

    def observed(self) -> Observed:
        """Return what was delivered by now, of each the newest."""
        motion, pose = self._motion, self._known_pose()
        if pose is None:
            return Observed(motion, self._fix[:3], None, None, None, self._air)
        return Observed(
            motion, self._fix[:3], pose.position, pose.orientation, pose.velocity, self._air)

    @property
    def _motion(self) -> BodyMotion:
        # The first sample comes at once.
        assert self._imu is not None
        return self._imu.motion

    def _known_pose(self) -> Pose | None:
        if self._pose is None:
            self._pose = self._suite.pose(self._stamp, self._motion)
        return self._pose

    def measurement(self) -> Measurement:
        """Return what a control law knows by that."""
        motion, pose = self._motion, self._known_pose()
        assert motion.orientation is not None
        assert motion.angular_velocity is not None
        roll, pitch, yaw = axes.quaternion_to_euler(motion.orientation)
        rates = axes.flu_to_frd(motion.angular_velocity)
        east, north, up = (
            (math.nan,) * 3 if pose is None
            else axes.rotate(motion.orientation, pose.velocity))
        return Measurement(
            roll, -pitch, axes.yaw_to_heading(yaw), *rates, self._altimeter.altitude,
            _or_nan(self._air.indicated_airspeed), _or_nan(self._air.true_airspeed), up,
            math.atan2(east, north), math.hypot(east, north), *self._position,
            self._height if self._stamp - self._height_at < _OLDEST_HEIGHT * 1e9 else math.nan)


def _or_nan(value: float | None) -> float:
    return math.nan if value is None else value
