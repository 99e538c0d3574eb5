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

from xplane_bridge.control.measurement import Measurement
from xplane_bridge.conversions import frames
from xplane_bridge.conversions.geodesy import LocalFrame
from xplane_bridge.conversions.vehicle import Air
from xplane_bridge.experiments.scenario import ScenarioError
from xplane_bridge.sensors.altimeter import Altimeter
from xplane_bridge.sensors.gnss import Fix
from xplane_bridge.sensors.imu import ImuReading, Motion
from xplane_bridge.sensors.specification import Figures, FiguresError, load
from xplane_bridge.sensors.suite import Suite
from xplane_bridge.simulators.aircraft_state import AircraftState


def figures_of(name: str) -> Figures:
    """Return the sensors of a name or file. Raises ScenarioError."""
    try:
        return load(name)
    except FiguresError as error:
        raise ScenarioError(f'sensors: {error}') from None


def truth_of(state: AircraftState, altitude: float, east: float, north: float) -> Measurement:
    """Return what a control law knows without sensors in between."""
    return Measurement(
        state.phi, state.theta, state.psi, state.p, state.q, state.r, altitude, state.cas,
        state.tas, -state.v_down, math.atan2(state.v_east, state.v_north), state.ground_speed,
        east, north)


class Sensed:
    """
    What the control law knows of an aircraft by its sensors: of each the newest delivery.

    That is what autopilot_node has in lockstep behind sensors_node. ``faults`` may be set.
    """

    def __init__(self, figures: Figures, seed: int, datum: LocalFrame) -> None:
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
        self._datum = datum
        self._position = (math.nan, math.nan)

    def measure(self, time: float, state: AircraftState, altitude: float) -> Measurement:
        """Return what is known at a time (s) of a state, which is this high (m, ellipsoid)."""
        stamp, suite = round(time * 1e9), self._suite
        for fix in suite.show_position(stamp, Fix(state.lat_deg, state.lon_deg, altitude)):
            self._altimeter.take_fix(fix.reading.altitude)
            self._position = (
                self._datum.geodetic_to_enu(*fix.reading[:3])[:2] if fix.reading.is_valid
                else (math.nan, math.nan))
        suite.show_velocity(stamp, (state.v_east, state.v_north, -state.v_down))
        for air in suite.show_air(stamp, _air_of(state)):
            self._air = air.reading
            self._altimeter.take_pressure(_or_nan(air.reading.static_pressure))
        for imu in suite.show_motion(stamp, _motion_of(state)):
            self._imu = imu.reading
        # The first sample comes at once.
        assert self._imu is not None
        return self._known(stamp, self._imu)

    def _known(self, stamp: int, imu: ImuReading) -> Measurement:
        motion = imu.motion
        assert motion.orientation is not None
        assert motion.angular_velocity is not None
        roll, pitch, yaw = frames.quaternion_to_euler(motion.orientation)
        rates = frames.flu_to_frd(motion.angular_velocity)
        pose = self._suite.pose(stamp, motion)
        east, north, up = (
            (math.nan,) * 3 if pose is None
            else frames.rotate(motion.orientation, pose.velocity))
        return Measurement(
            roll, -pitch, frames.yaw_to_heading(yaw), *rates, self._altimeter.altitude,
            _or_nan(self._air.indicated_airspeed), _or_nan(self._air.true_airspeed), up,
            math.atan2(east, north), math.hypot(east, north), *self._position)


def _motion_of(state: AircraftState) -> Motion:
    return Motion(
        frames.euler_to_quaternion(state.phi, -state.theta, frames.heading_to_yaw(state.psi)),
        frames.frd_to_flu((state.p, state.q, state.r)), None)


def _air_of(state: AircraftState) -> Air:
    return Air(
        indicated_airspeed=state.cas, true_airspeed=state.tas, angle_of_attack=state.alpha,
        sideslip=state.beta, static_pressure=state.static_pressure,
        temperature=state.temperature, density=state.density)


def _or_nan(value: float | None) -> float:
    return math.nan if value is None else value
