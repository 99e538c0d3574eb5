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
The control laws of the cascade's levels, from the surfaces up: body rates, attitude, flight path.

Airspeed is held with the throttle, or, in an aircraft without one, with pitch.
"""

from __future__ import annotations

import math

from xplane_bridge.bridges.conversions.axes import wrap_angle
from xplane_bridge.bridges.conversions.vehicle import Controls
from xplane_bridge.common.units import STANDARD_GRAVITY
from xplane_bridge.laboratory.control.gains import Gains
from xplane_bridge.laboratory.control.loops import clamp, Integral
from xplane_bridge.laboratory.control.measurement import Measurement
from xplane_bridge.laboratory.control.targets import RateTarget, Target

SLOWEST = 3.0
"""Below this airspeed (m/s) gains no longer grow; also keeps divisions finite."""
# The surfaces' gains are scaled within these.
_LEAST, _MOST = 0.25, 4.0
# Faster climbs (m/s) are teleports.
_FASTEST_CLIMB = 50.0
# A turn is coordinated up to this bank (rad).
_STEEPEST = 1.2
COORDINATION = 0.5
"""How fast the rudder removes what remains of the yaw rate's error, and so of sideslip (1/s)."""
# How fast a rudder that was deflected on engaging gives way to the yaw damper (s).
_FADING = 2.0


class RateLaw:
    """Hold body rates with the surfaces."""

    def __init__(self, gains: Gains) -> None:
        self.gains = gains
        self._elevator = Integral()
        self._aileron = Integral()
        self._rudder = Integral()
        self._fading = 0.0
        self._start: Controls | None = None

    def engage(self, controls: Controls) -> None:
        """Start from where the surfaces are: the first output equals them."""
        self._start = controls

    def update(
        self, now: Measurement, roll: float, pitch: float, yaw: float, dt: float,
        on_wheels: bool = False,
    ) -> tuple[float, float, float]:
        """
        Return elevator, aileron and rudder; without a yaw rate the rudder stays.

        Where wheels hold roll and pitch (``on_wheels``), their errors are not integrated.
        """
        gains = self.gains
        scale = compute_scale(gains, now.airspeed)
        pitch_error = pitch - now.pitch_rate
        roll_error = roll - now.roll_rate
        by_pitch = gains.pitch_rate_to_elevator * scale * pitch_error
        by_roll = gains.roll_rate_to_aileron * scale * roll_error
        yaw_error = 0.0 if math.isnan(yaw) else yaw - now.yaw_rate
        to_rudder = gains.yaw_rate_to_rudder * scale
        by_yaw = to_rudder * yaw_error
        if self._start is not None:
            self._elevator.start(self._start.elevator or 0.0, by_pitch)
            self._aileron.start(self._start.aileron or 0.0, by_roll)
            self._rudder, self._fading = Integral(self._start.rudder or 0.0), by_yaw
            self._start = None
        to_integral = 0.0 if on_wheels else scale
        elevator = self._elevator.update(
            pitch_error, gains.pitch_rate_to_elevator_integral * to_integral, dt, by_pitch,
            -1.0, 1.0)
        aileron = self._aileron.update(
            roll_error, gains.roll_rate_to_aileron_integral * to_integral, dt, by_roll, -1.0, 1.0)
        rudder = self._rudder.update(
            yaw_error, to_rudder * COORDINATION, dt, by_yaw - self._fading, -1.0, 1.0)
        self._fading *= _FADING / (_FADING + dt)
        return elevator, aileron, rudder


def compute_scale(gains: Gains, airspeed: float) -> float:
    """Return by what the surfaces' gains are multiplied at an airspeed (m/s, indicated)."""
    return clamp((gains.airspeed / max(airspeed, SLOWEST)) ** 2, _LEAST, _MOST)


def attitude_rates(gains: Gains, now: Measurement, roll: float, pitch: float) -> RateTarget:
    """Return the rates that lead to an attitude and coordinate the turn of the present one."""
    roll_dot = clamp(
        gains.roll_to_roll_rate * (roll - now.roll),
        -gains.roll_rate_limit, gains.roll_rate_limit)
    pitch_dot = clamp(
        gains.pitch_to_pitch_rate * (pitch - now.pitch),
        -gains.pitch_rate_limit, gains.pitch_rate_limit)
    bank = clamp(now.roll, -_STEEPEST, _STEEPEST)
    # Of a level turn at this bank; Euler's kinematics give the body rates.
    heading_dot = STANDARD_GRAVITY * math.tan(bank) / max(now.speed, SLOWEST)
    sine, cosine = math.sin(bank), math.cos(bank)
    along = heading_dot * math.cos(now.pitch)
    return RateTarget(
        roll_dot - heading_dot * math.sin(now.pitch),
        pitch_dot * cosine + along * sine,
        along * cosine - pitch_dot * sine)


class ClimbLaw:
    """Hold altitude, climb rate and airspeed with pitch and throttle."""

    def __init__(self, gains: Gains) -> None:
        self.gains = gains
        self.climb = self.airspeed = math.nan
        self._altitude = math.nan
        self._pitch = Integral()
        self._throttle = Integral()

    def engage(self, now: Measurement) -> None:
        """Start from the present state."""
        self.climb, self._altitude = 0.0, now.altitude

    def start_pitch(self, now: Measurement) -> None:
        """Start from the present pitch."""
        self._pitch = Integral(now.pitch)

    def start_throttle(self, now: Measurement, throttle: float) -> None:
        """Start from the present airspeed, and a throttle."""
        self.airspeed = now.airspeed
        self._throttle = Integral(throttle)

    def observe(self, now: Measurement, dt: float) -> None:
        """Take the climb rate, estimated from the altitude if it is not measured."""
        if not math.isnan(now.climb_rate):
            self.climb = now.climb_rate
        elif dt > 0.0:
            rate = clamp((now.altitude - self._altitude) / dt, -_FASTEST_CLIMB, _FASTEST_CLIMB)
            self.climb += (rate - self.climb) * dt / (self.gains.climb_filter + dt)
        self._altitude = now.altitude

    def wanted(self, now: Measurement, target: Target) -> float:
        """Return the climb rate that leads to the target, in m/s."""
        gains = self.gains
        if math.isnan(target.altitude):
            wanted = 0.0 if math.isnan(target.climb_rate) else target.climb_rate
        else:
            wanted = gains.altitude_to_climb * (target.altitude - now.altitude)
            if not math.isnan(target.climb_rate):
                limit = abs(target.climb_rate)
                wanted = clamp(wanted, -limit, limit)
        return clamp(wanted, -gains.sink_limit, gains.climb_limit)

    def pitch(self, now: Measurement, climb: float, dt: float, low: float, high: float) -> float:
        """Return the pitch that leads to a climb rate, or, without an engine, to the airspeed."""
        gains = self.gains
        if gains.has_engine:
            error = (climb - self.climb) / max(now.speed, SLOWEST)
            return self._pitch.update(
                error, gains.path_angle_to_pitch_integral, dt,
                gains.path_angle_to_pitch * error, low, high)
        error = now.airspeed - self.airspeed
        return self._pitch.update(
            error, gains.airspeed_to_pitch_integral, dt, gains.airspeed_to_pitch * error, low,
            high)

    def throttle(self, now: Measurement, climb: float, airspeed: float, dt: float) -> float:
        """Return the throttle that leads to an airspeed, with that of the climb fed forward."""
        gains = self.gains
        step = gains.airspeed_rate_limit * dt
        if not math.isnan(airspeed):
            self.airspeed += clamp(airspeed - self.airspeed, -step, step)
        if not gains.has_engine:
            return 0.0
        error = self.airspeed - now.airspeed
        return self._throttle.update(
            error, gains.airspeed_to_throttle_integral, dt,
            gains.airspeed_to_throttle * error
            + gains.path_angle_to_throttle * climb / max(now.speed, SLOWEST), 0.0, 1.0)


def bank_to_turn(gains: Gains, now: Measurement, target: Target) -> float:
    """Return the bank that leads to the target's course or heading, not limited; else 0."""
    if not math.isnan(target.course):
        error, speed = wrap_angle(target.course - now.track), now.speed_over_ground
        gain = gains.course_to_turn_rate
    elif not math.isnan(target.heading):
        error, speed = wrap_angle(target.heading - now.heading), now.speed
        gain = gains.heading_to_turn_rate
    else:
        return 0.0
    return math.atan(gain * error * speed / STANDARD_GRAVITY)
