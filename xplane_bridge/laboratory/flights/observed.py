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

Of the simulated aircraft's own state, or of what a wire left of it: publisher.py of
bridges/nodes/vehicle publishes the same numbers.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from xplane_bridge.bridges.conversions import axes
from xplane_bridge.bridges.conversions.axes import Quaternion, Vector
from xplane_bridge.bridges.conversions.message_numbers import TARGET_BITS
from xplane_bridge.bridges.conversions.odom_frame import OdomFrame
from xplane_bridge.bridges.conversions.vehicle import Air, air_numbers, Controls, VehicleState
from xplane_bridge.laboratory.control.measurement import Measurement
from xplane_bridge.laboratory.control.policy.observation import known, Numbers
from xplane_bridge.laboratory.control.policy.observation import Vector as Observation
from xplane_bridge.laboratory.control.targets import Target
from xplane_bridge.laboratory.sensors.imu import BodyMotion
from xplane_bridge.simulation.aircraft.sample import SampleRow
from xplane_bridge.simulation.aircraft.state import AircraftState

_ZERO = (0.0, 0.0, 0.0)
_NOT_TURNED = (0.0, 0.0, 0.0, 0.0)
_ALTITUDE, _HEADING, _AIRSPEED, _COURSE, _CLIMB = TARGET_BITS.values()


class Observed(NamedTuple):
    """
    The numbers of imu/data, fix, odom and air_data; None is unknown.

    ``fix`` is latitude and longitude (deg) and height above the ellipsoid (m). ``position`` and
    ``turned``, the orientation there, are in the axes at the datum, ``velocity`` in body axes.
    """

    motion: BodyMotion
    fix: Vector
    position: Vector | None
    turned: Quaternion | None
    velocity: Vector | None
    air: Air | None

    @classmethod
    def of(
        cls, motion: BodyMotion, velocity_enu: Vector | None, air: Air | None, fix: Vector,
        position: Vector, frame: OdomFrame,
    ) -> Observed:
        """Return what is published of a state: without an orientation there is no odom."""
        orientation = motion.orientation
        if orientation is None:
            return cls(motion, fix, None, None, None, air)
        return cls(
            motion, fix, position, frame.turned(fix[0], fix[1], orientation),
            None if velocity_enu is None else axes.rotate_inverse(orientation, velocity_enu),
            air)

    def vector(self, target: tuple[float, ...]) -> Observation:
        """Return the observation with a target's numbers (control.observation.FIELDS)."""
        orientation, rates, force = self.motion
        w, x, y, z = orientation or _NOT_TURNED
        turned_w, *turned = self.turned or _NOT_TURNED
        rates = rates or _ZERO
        return known(np.array((
            x, y, z, w, *rates, *(force or _ZERO), *self.fix,
            *(self.position or _ZERO), *turned, turned_w, *(self.velocity or _ZERO),
            *(rates if self.turned else _ZERO), *air_numbers(self.air or Air()), *target),
            dtype=np.float64))


def target_numbers(target: Target) -> tuple[float, ...]:
    """Return the mask of what is set, and its values."""
    altitude, heading, airspeed = target.altitude, target.heading, target.airspeed
    course, climb = target.course, target.climb_rate
    return (
        _ALTITUDE * (altitude == altitude) + _HEADING * (heading == heading)
        + _AIRSPEED * (airspeed == airspeed) + _COURSE * (course == course)
        + _CLIMB * (climb == climb), altitude, heading, airspeed, course, climb)


def known_target(target: Target) -> tuple[float, ...]:
    """Return the same, 0 where there is nothing to hold."""
    return tuple(0.0 if math.isnan(value) else value for value in target_numbers(target))


# Of the simulated aircraft's own state.


def truth_to_numbers(
    sample: SampleRow, more: SampleRow, fix: Vector, position: Vector, frame: OdomFrame,
    target: tuple[float, ...],
) -> Numbers:
    """Return the observation of a state of which all is known: as Observed has it, but faster."""
    v_north, v_east, v_down, _, mass, f_x, f_y, f_z, tas, *others, east, north, down = more
    phi, theta, psi, p, q, r, cas, alpha, beta = sample[3:12]
    orientation = w, x, y, z = axes.ned_frd_to_enu_flu(
        axes.euler_to_quaternion(phi, theta, psi))
    turned_w, turned_x, turned_y, turned_z = frame.turned(fix[0], fix[1], orientation)
    values = (
        x, y, z, w, p, -q, -r, f_x / mass, -(f_y / mass), -(f_z / mass), *fix, *position,
        turned_x, turned_y, turned_z, turned_w,
        *axes.rotate((w, -x, -y, -z), (v_east, v_north, -v_down)), p, -q, -r,
        cas, tas, alpha, beta, *others, east, north, -down, *target)
    # The sum of an aircraft that has broken is NaN.
    if math.isfinite(sum(values)):
        return values
    return tuple(0.0 if math.isnan(value) else value for value in values)


def truth_to_parts(sample: SampleRow, more: SampleRow) -> tuple[BodyMotion, Vector, Air]:
    """Return motion, velocity over ground (ENU, m/s), and air data: all is known."""
    v_north, v_east, v_down, _, mass, f_x, f_y, f_z, tas, *others, east, north, down = more
    phi, theta, psi, p, q, r, cas, alpha, beta = sample[3:12]
    air: tuple[Any, ...] = cas, tas, alpha, beta, *others, (east, north, -down)
    return (
        BodyMotion(
            axes.ned_frd_to_enu_flu(axes.euler_to_quaternion(phi, theta, psi)),
            axes.frd_to_flu((p, q, r)), axes.frd_to_flu((f_x / mass, f_y / mass, f_z / mass))),
        (v_east, v_north, -v_down), Air(*air))


def truth_to_measurement(
    sample: SampleRow, more: SampleRow, altitude: float, east: float, north: float
) -> Measurement:
    """Return what a control law knows without anything in between."""
    phi, theta, psi, p, q, r, cas = sample[3:10]
    v_north, v_east, v_down, ground_speed, _, _, _, _, tas = more[:9]
    return Measurement(
        phi, theta, psi, p, q, r, altitude, cas, tas, -v_down,
        math.atan2(v_east, v_north), ground_speed, east, north)


def reported_controls(state: AircraftState) -> Controls:
    """Return the controls that a bridge reports at once."""
    return Controls(
        state.elevator, state.aileron, state.rudder,
        state.engines[0].throttle if state.engines else 0.0, state.flaps, state.gear,
        state.speedbrake)


# Of what a protocol left of it.


def to_parts(state: VehicleState) -> tuple[BodyMotion, Vector | None, Air]:
    """Return motion, velocity over ground (ENU, m/s), and air data; None is unknown."""
    return (
        BodyMotion(state.orientation, state.angular_velocity, state.specific_force),
        state.velocity, state.air or Air())


def flow_and_controls(state: VehicleState) -> tuple[float, ...]:
    """Return angle of attack, sideslip, elevator, aileron, rudder and throttle; NaN: unknown."""
    air, controls = state.air or Air(), state.controls or Controls()
    return tuple(math.nan if value is None else value for value in (
        air.angle_of_attack, air.sideslip, controls.elevator, controls.aileron, controls.rudder,
        controls.throttle))


def to_measurement(
    state: VehicleState, altitude: float, east: float, north: float
) -> Measurement:
    """Return what autopilot_node knows of what was published; NaN is unknown."""
    roll = pitch = yaw = math.nan
    orientation, velocity = state.orientation, state.velocity
    v_east = v_north = v_up = math.nan
    if orientation is not None:
        roll, pitch, yaw = axes.quaternion_to_euler(orientation)
        if velocity is not None:
            # By odom, which has it in body axes.
            v_east, v_north, v_up = axes.rotate(
                orientation, axes.rotate_inverse(orientation, velocity))
    rates = state.angular_velocity or (math.nan,) * 3
    air = state.air or Air()
    true = math.nan if air.true_airspeed is None else air.true_airspeed
    return Measurement(
        roll, -pitch, axes.yaw_to_heading(yaw), *axes.flu_to_frd(rates), altitude,
        true if air.indicated_airspeed is None else air.indicated_airspeed, true, v_up,
        math.atan2(v_east, v_north), math.hypot(v_east, v_north), east, north)
