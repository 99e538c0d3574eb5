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
"""The control laws of take-off and landing: steering, climb at a speed, flare."""

from __future__ import annotations

import math

from xplane_bridge.bridges.conversions.vehicle import Controls
from xplane_bridge.common.units import STANDARD_GRAVITY
from xplane_bridge.laboratory.control.laws import ClimbLaw, SLOWEST
from xplane_bridge.laboratory.control.loops import clamp, Integral
from xplane_bridge.laboratory.control.measurement import Measurement
from xplane_bridge.laboratory.control.runway.setting import Setting
from xplane_bridge.laboratory.control.targets import Target

# Rolling, an aircraft returns to the centreline within this time (s), and at least this way (m).
_RETURN_TIME, _RETURN_WAY = 4.0, 8.0
# The heading's error gives a yaw rate (1/s), within a limit (rad/s).
_HEADING_TO_YAW_RATE, _YAW_RATE = 0.8, 0.15
# What the yaw rate's error is multiplied with, relative to steering by kinematics alone, and how
# fast it is integrated (1/s), as propeller and wind turn the nose.
_STEERING_GAIN, _STEERING_INTEGRAL = 6.0, 6.0
# While the pitch is within this (rad) of that at rest, the steered wheel is on the ground.
_ON_WHEEL = math.radians(1.2)
# Slower (m/s), wheels are steered as if it were this fast.
_TAXI = 3.0

# The airspeed's error is removed by climbing less or more, with this bandwidth (rad/s).
_SPEED_BANDWIDTH = 0.25
_SPEED_INTEGRAL_BELOW = 5.0
# How fast the airspeed is led to the one wanted, in m/s2.
_ACCELERATION = 0.6
# Faster than wanted by so much, as a share, the throttle is closed.
_FAST, _CLOSED = 0.08, 0.25
_RESUME_CLIMB = 30.0

# A flare follows h = h0 exp(-t / T): sink in proportion to the height, above a least one (m/s),
# that share of the descent's, and this (m/s) times the square of the path's lag: who comes fast
# would float far.
_FLARE_TIME = 2.5
_TOUCH_DOWN_SINK, _OF_DESCENT, _OF_LAG = 0.5, 0.32, 0.24
# So much earlier it begins, as pitch and path answer late (s).
_FLARE_LEAD = 0.8
# The nose may be lower than it touches down with, by this per metre of height (rad/m); by less
# where the path lags, and the nose is raised more slowly.
_LOWER_PER_HEIGHT = math.radians(8.0)
_FLARE_GAIN, _FLARE_INTEGRAL = 0.8, 0.6


class Steering:
    """Roll along the centreline: with the steered wheel while it is down, then the rudder."""

    def __init__(self, setting: Setting) -> None:
        self._setting = setting
        self._integral: Integral | None = None

    def update(
        self, now: Measurement, dt: float, last: Controls,
    ) -> tuple[float, float | None]:
        """Return the wanted yaw rate (rad/s), and the rudder if the wheel is on the ground."""
        setting = self._setting
        speed = now.speed_over_ground
        _, across = setting.runway.locate(now.east, now.north)
        towards = -math.atan(across / (_RETURN_TIME * speed + _RETURN_WAY))
        rate = clamp(
            _HEADING_TO_YAW_RATE * (towards - setting.runway.turned(setting.direction(now))),
            -_YAW_RATE, _YAW_RATE)
        if (abs(now.pitch - setting.performance.rest_pitch) > _ON_WHEEL
                or setting.height(now) > setting.contact):
            self._integral = None
            return rate, None
        full = setting.performance.steering * max(speed, _TAXI)
        error = (rate - now.yaw_rate) / full
        proportional = rate / full + _STEERING_GAIN * error
        if self._integral is None:
            self._integral = Integral()
            self._integral.start(last.rudder or 0.0, proportional)
        return rate, self._integral.update(
            error, _STEERING_INTEGRAL, dt, proportional, -1.0, 1.0)


class Ascent:
    """
    Climb to a height with full throttle, holding the airspeed with pitch; then hold both.

    What is above the height, or near it, is left to the cascade's own law.
    """

    def __init__(self, setting: Setting, now: Measurement, last: Controls) -> None:
        self._setting = setting
        self._law = ClimbLaw(setting.gains)
        self._law.engage(now)
        self._throttle = last.throttle or 0.0
        self.climbs = False
        self._start(now)

    def _start(self, now: Measurement) -> None:
        self._law.start_pitch(now)
        self._law.start_throttle(now, self._throttle)
        self._speed = now.airspeed
        self._pitch = Integral(now.pitch)

    def update(
        self, now: Measurement, dt: float, height: float, airspeed: float, lowest: float,
    ) -> tuple[float, float]:
        """
        Return pitch (rad) and throttle that lead to a height (m) and an airspeed (m/s).

        In the climb that airspeed is the aircraft's own; ``lowest`` is the lowest pitch.
        """
        setting, law = self._setting, self._law
        law.observe(now, dt)
        gap = height - setting.height(now)
        capture = max(law.climb, 1.0) / setting.gains.altitude_to_climb
        climbs = gap > capture if self.climbs else gap > capture + _RESUME_CLIMB
        if climbs != self.climbs:
            self.climbs = climbs
            self._start(now)
        if climbs:
            pitch = self._by_airspeed(now, dt, lowest)
            fast = now.airspeed / setting.performance.climb_speed - 1.0
            self._throttle = 1.0 - clamp((fast - _FAST) / (_CLOSED - _FAST), 0.0, 1.0)
        else:
            altitude = now.altitude + gap
            climb = law.wanted(now, Target(altitude))
            pitch = law.pitch(now, climb, dt, setting.pitch_down, setting.pitch_up)
            self._throttle = law.throttle(now, climb, airspeed, dt)
        return pitch, self._throttle

    def _by_airspeed(self, now: Measurement, dt: float, lowest: float) -> float:
        wanted, step = self._setting.performance.climb_speed, _ACCELERATION * dt
        self._speed += clamp(wanted - self._speed, -step, step)
        error = now.airspeed - self._speed
        gain = _SPEED_BANDWIDTH / STANDARD_GRAVITY
        return self._pitch.update(
            error, gain * _SPEED_BANDWIDTH / _SPEED_INTEGRAL_BELOW, dt, gain * error, lowest,
            self._setting.pitch_up)


class FlareLaw:
    """Round out: the sink rate falls with the height, and the nose rises by as much."""

    def __init__(self, setting: Setting, now: Measurement, climb: float) -> None:
        self._setting = setting
        self._pitch = Integral(now.pitch)
        self._path = climb / max(now.speed, SLOWEST)
        self._sink = touch_down_sink(setting, -climb)

    def update(self, now: Measurement, climb: float, dt: float) -> float:
        """Return the pitch (rad); ``climb`` is the present climb rate."""
        setting = self._setting
        speed = max(now.speed, SLOWEST)
        ahead = max(setting.height(now) + _FLARE_LEAD * climb, 0.0)
        sink = ahead / _FLARE_TIME + self._sink
        wanted = -sink / speed
        error = wanted - climb / speed
        lag = setting.path_lag
        return self._pitch.update(
            error, _FLARE_INTEGRAL, dt, wanted - self._path + _FLARE_GAIN * lag * error,
            setting.touch_down_pitch
            - _LOWER_PER_HEIGHT / lag ** 2 * max(setting.height(now), 0.0),
            setting.performance.highest_pitch)


def flare_height(setting: Setting, sink: float) -> float:
    """Return the height (m) at which the flare of a descent (m/s) begins."""
    taken = max(sink - touch_down_sink(setting, sink), 0.0)
    return _FLARE_TIME * taken + _FLARE_LEAD * sink


def touch_down_sink(setting: Setting, sink: float) -> float:
    """Return the sink rate (m/s) that the flare of a descent (m/s) ends with."""
    return max(_TOUCH_DOWN_SINK, _OF_DESCENT * sink, _OF_LAG * setting.path_lag ** 2)
