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
What the common topics would have of an aircraft in this process. No ROS.

Of the simulated aircraft's own state, or of what a wire left of it: nodes/vehicle/publisher.py
publishes the same numbers.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from xplane_bridge.aircraft.state import AircraftState
from xplane_bridge.control.measurement import Measurement
from xplane_bridge.control.policy.observation import known
from xplane_bridge.control.policy.observation import Vector as Observation
from xplane_bridge.control.targets import Target
from xplane_bridge.conversions import frames, simulated
from xplane_bridge.conversions.frames import Quaternion, Vector
from xplane_bridge.conversions.message_numbers import TARGET_BITS
from xplane_bridge.conversions.odom_frame import OdomFrame
from xplane_bridge.conversions.vehicle import Air, Controls, VehicleState
from xplane_bridge.sensors.imu import Motion

_ZERO = (0.0, 0.0, 0.0)
_NOT_TURNED = (0.0, 0.0, 0.0, 0.0)
_ALTITUDE, _HEADING, _AIRSPEED, _COURSE, _CLIMB = TARGET_BITS.values()


class Observed(NamedTuple):
    """
    The numbers of imu/data, fix, odom and air_data; None is unknown.

    ``fix`` is latitude and longitude (deg) and height above the ellipsoid (m). ``position`` and
    ``turned``, the orientation there, are in the axes at the datum, ``velocity`` in body axes.
    """

    motion: Motion
    fix: Vector
    position: Vector | None
    turned: Quaternion | None
    velocity: Vector | None
    air: Air | None

    @classmethod
    def of(
        cls, motion: Motion, fix: Vector, frame: OdomFrame, velocity_enu: Vector | None,
        air: Air | None,
    ) -> Observed:
        """Return what is published of a state: without an orientation there is no odom."""
        orientation = motion.orientation
        if orientation is None:
            return cls(motion, fix, None, None, None, air)
        return cls(
            motion, fix, *frame.pose(*fix, orientation),
            None if velocity_enu is None else frames.rotate_inverse(orientation, velocity_enu),
            air)

    def vector(self, target: Target) -> Observation:
        """Return the observation with a target (control.observation.FIELDS)."""
        orientation, rates, force = self.motion
        w, x, y, z = orientation or _NOT_TURNED
        turned_w, *turned = self.turned or _NOT_TURNED
        rates = rates or _ZERO
        return known(np.array((
            x, y, z, w, *rates, *(force or _ZERO), *self.fix,
            *(self.position or _ZERO), *turned, turned_w, *(self.velocity or _ZERO),
            *(rates if self.turned else _ZERO), *_air_numbers(self.air),
            *target_numbers(target)), dtype=np.float64))


def _air_numbers(air: Air | None) -> tuple[float | None, ...]:
    if air is None:
        return (0.0,) * 11
    return (
        air.indicated_airspeed, air.true_airspeed, air.angle_of_attack, air.sideslip,
        air.static_pressure, air.dynamic_pressure, air.temperature, air.density,
        *(air.wind or _ZERO))


def target_numbers(target: Target) -> tuple[float, ...]:
    """Return the mask of what is set, and its values."""
    altitude, heading, airspeed = target.altitude, target.heading, target.airspeed
    course, climb = target.course, target.climb_rate
    return (
        _ALTITUDE * (altitude == altitude) + _HEADING * (heading == heading)
        + _AIRSPEED * (airspeed == airspeed) + _COURSE * (course == course)
        + _CLIMB * (climb == climb), altitude, heading, airspeed, course, climb)


# The parts, of either kind of state.


def motion_of(state: AircraftState | VehicleState) -> Motion:
    """Return orientation, rates and specific force."""
    if isinstance(state, VehicleState):
        return Motion(state.orientation, state.angular_velocity, state.specific_force)
    return Motion(
        simulated.orientation(state), simulated.angular_velocity(state),
        simulated.specific_force(state))


def velocity_of(state: AircraftState | VehicleState) -> Vector | None:
    """Return the velocity over ground, ENU, m/s."""
    if isinstance(state, VehicleState):
        return state.velocity
    return simulated.velocity(state)


def air_of(state: AircraftState | VehicleState) -> Air:
    """Return the air data; the dynamic pressure is that of the true airspeed."""
    if isinstance(state, VehicleState):
        return state.air or Air()
    return simulated.air(state)


def flow_and_controls(state: VehicleState) -> tuple[float, ...]:
    """Return angle of attack, sideslip, elevator, aileron, rudder and throttle; NaN: unknown."""
    air, controls = state.air or Air(), state.controls or Controls()
    return tuple(math.nan if value is None else value for value in (
        air.angle_of_attack, air.sideslip, controls.elevator, controls.aileron, controls.rudder,
        controls.throttle))


def measurement_of_truth(
    state: AircraftState, altitude: float, east: float, north: float
) -> Measurement:
    """Return what a control law knows without anything in between."""
    return Measurement(
        state.phi, state.theta, state.psi, state.p, state.q, state.r, altitude, state.cas,
        state.tas, -state.v_down, math.atan2(state.v_east, state.v_north), state.ground_speed,
        east, north)


def measurement_of(
    state: VehicleState, altitude: float, east: float, north: float
) -> Measurement:
    """Return what autopilot_node knows of what was published; NaN is unknown."""
    roll = pitch = yaw = math.nan
    orientation, velocity = state.orientation, state.velocity
    v_east = v_north = v_up = math.nan
    if orientation is not None:
        roll, pitch, yaw = frames.quaternion_to_euler(orientation)
        if velocity is not None:
            # By odom, which has it in body axes.
            v_east, v_north, v_up = frames.rotate(
                orientation, frames.rotate_inverse(orientation, velocity))
    rates = state.angular_velocity or (math.nan,) * 3
    air = state.air or Air()
    true = math.nan if air.true_airspeed is None else air.true_airspeed
    return Measurement(
        roll, -pitch, frames.yaw_to_heading(yaw), *frames.flu_to_frd(rates), altitude,
        true if air.indicated_airspeed is None else air.indicated_airspeed, true, v_up,
        math.atan2(v_east, v_north), math.hypot(v_east, v_north), east, north)
