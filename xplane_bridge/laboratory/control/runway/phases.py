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
The phases of a flight from runway to runway, each a law of its own.

    stand -> roll -> rotate -> climb        -> (pattern)
    pattern: round the rectangle            -> (approach, on its final leg)
    approach -> flare -> roll out -> stop
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
import math

from xplane_bridge.bridges.conversions.vehicle import Controls
from xplane_bridge.laboratory.control.laws import ClimbLaw
from xplane_bridge.laboratory.control.loops import clamp
from xplane_bridge.laboratory.control.measurement import Measurement
from xplane_bridge.laboratory.control.runway.laws import Ascent, flare_height, FlareLaw, Steering
from xplane_bridge.laboratory.control.runway.setting import PhaseSetpoint, Setting
from xplane_bridge.laboratory.control.targets import Target

# Standing, the throttle is opened within this time (s), then the brakes are released.
_RUN_UP = 3.0
# Faster than this (m/s) it rolls, whatever holds it.
_SLIDES = 0.5
# How fast the nose is raised, and lowered (rad/s).
_ROTATION, _LOWERING = math.radians(3.0), math.radians(2.0)
# Below the attitude that touches the ground (rad).
_CLEARANCE = math.radians(2.0)
# A wheel this high (m) above where it stands is off the ground.
_OFF_GROUND = 0.3
_CLIMB_BEGINS = 4.0
_GEAR_UP, _FLAPS_UP = 20.0, 60.0
# Nearer than this height (m) the nose is not lowered to gain speed.
_LOW = 15.0
# Of the pitch that climbs at full throttle.
_LEAST_SHARE = 0.5
# The glide path is begun so many seconds before it is met.
_CAPTURE = 3.0
# The error of the glide path is removed within about this time (s), times the path's lag.
_GLIDE_TIME = 1.7
# The path follows the pitch with about this time constant (s), times its lag.
_PATH_LAG = 0.75
# Slower than this multiple of the stall speed the pitch is limited, from so much faster on.
_SLOWEST, _NARROWS = 1.08, 0.1
# Of the wind from ahead this share is added to the approach speed, up to a share of that, down to
# this height (m); it is the mean of about so many seconds.
_WIND_SHARE, _WIND_MOST, _WIND_ENDS, _WIND_FILTER = 0.5, 0.15, 20.0, 10.0
# The throttle is closed within this time (s), from this share of the flare's height above it on;
# from far higher where the path lags: with speed to spare, and thrust that dies away, it floats.
# An approach at so much times the stall speed has none to spare, one by so much faster has all.
_THROTTLE_CLOSES, _CLOSES_AT = 2.5, 0.4
_NONE_TO_SPARE, _ALL_TO_SPARE = 1.2, 0.08
# The heading is turned to the runway's below this share of the height where the flare begins, at
# this rate per error (1/s).
_ALIGN_AT = 0.4
_DECRAB_GAIN = 1.0
_BOUNCED = 1.5
# Rolling out, brakes are applied this long (s) after the steered wheel has come down.
_BRAKES_AFTER, _BRAKES_IN = 0.5, 3.0
# By them it decelerates by this (m/s2), or by what stops it so far (m) before the runway's end;
# fully applied they give about so much (m/s2).
_DECELERATION, _KEPT, _BRAKED = 1.2, 100.0, 6.0
_SLOW = 0.6
# Slower than this share of the stall speed a tail is lowered.
_TAIL_DOWN = 0.75
# Until then the pitch (rad) is this.
_PINNED = math.radians(-3.0)
_STOPPED = 0.3
_STICK_BACK = 0.6


class Phase(ABC):
    """A part of the flight: ``name`` is shown."""

    name = ''

    def __init__(self, setting: Setting) -> None:
        self.setting = setting

    @abstractmethod
    def fly(self, now: Measurement, dt: float, last: Controls) -> PhaseSetpoint:
        """Return what is wanted now."""

    def next(self, now: Measurement, last: Controls) -> Phase | None:
        """Return the next phase if this one is over; ``last`` are the controls before it."""
        return None


class Stand(Phase):
    """Hold the brakes, and open the throttle."""

    name = 'run-up'

    def __init__(self, setting: Setting, height: float) -> None:
        super().__init__(setting)
        self._height = height
        self._time = 0.0

    def fly(self, now: Measurement, dt: float, last: Controls) -> PhaseSetpoint:
        """Return what is wanted now."""
        self._time += dt
        return PhaseSetpoint(
            0.0, now.pitch, min(self._time / _RUN_UP, 1.0), 0.0,
            _STICK_BACK if self.setting.performance.has_tail_wheel else 0.0, 0.0, 1.0,
            self.setting.performance.take_off_flaps, 1.0)

    def next(self, now: Measurement, last: Controls) -> Phase | None:
        """Return the next phase if this one is over."""
        # Brakes do not hold a light aircraft against its full thrust: it would slide.
        slides = now.speed_over_ground > _SLIDES
        return Roll(self.setting, self._height) if (
            slides or self._time > 1.3 * _RUN_UP) else None


class Roll(Phase):
    """Roll along the centreline with full throttle, up to the speed of rotation."""

    name = 'take-off roll'

    def __init__(self, setting: Setting, height: float) -> None:
        super().__init__(setting)
        self._height = height
        self._steering = Steering(setting)

    def fly(self, now: Measurement, dt: float, last: Controls) -> PhaseSetpoint:
        """Return what is wanted now."""
        yaw_rate, rudder = self._steering.update(now, dt, last)
        figures = self.setting.performance
        pitch, elevator = figures.rest_pitch, 0.0
        if figures.has_tail_wheel:
            if now.airspeed < 0.5 * figures.rotation_speed:
                elevator = _STICK_BACK
            else:
                # The tail comes up.
                return PhaseSetpoint(0.0, 0.4 * pitch, 1.0, yaw_rate, None, rudder)
        return PhaseSetpoint(0.0, pitch, 1.0, yaw_rate, elevator, rudder)

    def next(self, now: Measurement, last: Controls) -> Phase | None:
        """Return the next phase if this one is over."""
        if now.airspeed < self.setting.performance.rotation_speed:
            return None
        return Rotate(self.setting, now, self._height, self._steering)


class Rotate(Phase):
    """Raise the nose until it flies."""

    name = 'rotation'

    def __init__(
        self, setting: Setting, now: Measurement, height: float, steering: Steering,
    ) -> None:
        super().__init__(setting)
        self._height, self._steering = height, steering
        self._pitch = now.pitch

    def fly(self, now: Measurement, dt: float, last: Controls) -> PhaseSetpoint:
        """Return what is wanted now."""
        setting = self.setting
        figures = setting.performance
        self._pitch = min(
            self._pitch + _ROTATION * dt, figures.climb_pitch,
            figures.highest_pitch - _CLEARANCE)
        if setting.height(now) > _OFF_GROUND:
            return PhaseSetpoint(setting.to_centreline(now), self._pitch, 1.0)
        yaw_rate, rudder = self._steering.update(now, dt, last)
        return PhaseSetpoint(0.0, self._pitch, 1.0, yaw_rate, None, rudder)

    def next(self, now: Measurement, last: Controls) -> Phase | None:
        """Return the next phase if this one is over."""
        if self.setting.height(now) < _CLIMB_BEGINS:
            return None
        return Climb(self.setting, now, self._height, last)


class Climb(Phase):
    """Climb along the runway's track to ``height``, with full throttle, at the climb speed."""

    name = 'climb'

    def __init__(
        self, setting: Setting, now: Measurement, height: float, last: Controls,
    ) -> None:
        super().__init__(setting)
        self.height = height
        self._ascent = Ascent(setting, now, last)
        self._began = False

    def fly(self, now: Measurement, dt: float, last: Controls) -> PhaseSetpoint:
        """Return what is wanted now."""
        setting = self.setting
        figures = setting.performance
        height = setting.height(now)
        lowest = _LEAST_SHARE * figures.climb_pitch if height < _LOW else setting.pitch_down
        pitch, throttle = self._ascent.update(
            now, dt, self.height, figures.pattern_speed, lowest)
        self._began |= self._ascent.climbs
        return PhaseSetpoint(
            setting.to_centreline(now), pitch, throttle,
            flaps=figures.take_off_flaps if height < _FLAPS_UP else 0.0,
            gear=None if height < _GEAR_UP else 0.0)

    @property
    def is_done(self) -> bool:
        """Return whether it levels off: what holds its height takes over, and leads there."""
        return self._began and not self._ascent.climbs

    def reached(self, now: Measurement) -> Target:
        """Return what holds the height that is climbed to, on the runway's track."""
        setting = self.setting
        return Target(now.altitude + self.height - setting.height(now),
                      airspeed=setting.performance.pattern_speed,
                      course=setting.runway.direction)


class Approach(Phase):
    """Descend along the glide path and the extended centreline, at the approach speed."""

    name = 'approach'

    def __init__(self, setting: Setting, now: Measurement, last: Controls) -> None:
        super().__init__(setting)
        gains, figures = setting.gains, setting.performance
        margin = figures.approach_speed / figures.landing_stall_speed - _NONE_TO_SPARE
        # Of the flare's height.
        self._closes = 1.0 + _CLOSES_AT * setting.path_lag ** 2 * clamp(
            margin / _ALL_TO_SPARE, 0.0, 1.0)
        # The zero of pitch by path angle cancels the lag of the path at this speed.
        self._law = ClimbLaw(replace(gains, path_angle_to_pitch=max(
            gains.path_angle_to_pitch,
            _PATH_LAG * setting.path_lag * gains.path_angle_to_pitch_integral)))
        self._law.engage(now)
        self._law.start_pitch(now)
        self._law.start_throttle(now, last.throttle or 0.0)
        self._held = setting.height(now)
        self._wind = setting.headwind(now)
        self._power = 1.0
        self._descends = False

    def fly(self, now: Measurement, dt: float, last: Controls) -> PhaseSetpoint:
        """Return what is wanted now."""
        setting, law = self.setting, self._law
        figures, gains, runway = setting.performance, setting.gains, setting.runway
        law.observe(now, dt)
        height = setting.height(now)
        slope = math.tan(runway.glide_path)
        along, _ = runway.locate(now.east, now.north)
        above = height - slope * (runway.aiming_point - along)
        sink = slope * now.speed_over_ground * math.cos(runway.turned(now.track))
        self._descends |= above > -_CAPTURE * sink
        if self._descends:
            climb = clamp(-sink - above / (_GLIDE_TIME * setting.path_lag), -2.0 * sink, 0.0)
        else:
            climb = gains.altitude_to_climb * (self._held - height)
        # Near the stall the nose is not raised, whatever the glide path asks for.
        margin = (now.airspeed / (_SLOWEST * figures.landing_stall_speed) - 1.0) / _NARROWS
        highest = min(figures.highest_pitch, max(
            now.pitch - law.climb / max(now.speed, 1.0) + margin * setting.pitch_up, 0.0))
        pitch = law.pitch(now, climb, dt, setting.pitch_down, highest)
        # Wind from ahead varies: some of it is added to the speed.
        self._wind += (setting.headwind(now) - self._wind) * dt / _WIND_FILTER
        airspeed = figures.approach_speed + clamp(
            _WIND_SHARE * self._wind, 0.0, _WIND_MOST * figures.approach_speed) * clamp(
            (height - _WIND_ENDS) / _WIND_ENDS, 0.0, 1.0)
        throttle = law.throttle(now, climb, airspeed, dt)
        if height < self._closes * flare_height(setting, -law.climb):
            self._power = max(self._power - dt / _THROTTLE_CLOSES, 0.0)
        return PhaseSetpoint(
            setting.to_centreline(now), pitch, self._power * throttle,
            flaps=figures.landing_flaps, gear=1.0)

    def next(self, now: Measurement, last: Controls) -> Phase | None:
        """Return the next phase if this one is over."""
        if self.setting.height(now) > flare_height(self.setting, -self._law.climb):
            return None
        return Flare(self.setting, now, last, self._law.climb)


class Flare(Phase):
    """Round out, close the throttle, turn the nose to the runway, and touch down."""

    name = 'flare'

    def __init__(
        self, setting: Setting, now: Measurement, last: Controls, climb: float,
    ) -> None:
        super().__init__(setting)
        self._climb_law = ClimbLaw(setting.gains)
        self._climb_law.engage(now)
        self._climb_law.climb = climb
        self._flare = FlareLaw(setting, now, climb)
        self._throttle = last.throttle or 0.0
        self._align_at = _ALIGN_AT * setting.height(now)
        self._is_aligned = False

    def fly(self, now: Measurement, dt: float, last: Controls) -> PhaseSetpoint:
        """Return what is wanted now."""
        setting = self.setting
        self._climb_law.observe(now, dt)
        climb = self._climb_law.climb
        self._throttle = max(self._throttle - dt / _THROTTLE_CLOSES, 0.0)
        pitch = self._flare.update(now, climb, dt)
        yaw_rate = math.nan
        self._is_aligned |= setting.height(now) < self._align_at
        if self._is_aligned:
            yaw_rate = -_DECRAB_GAIN * setting.runway.turned(now.heading)
        return PhaseSetpoint(setting.to_centreline(now), pitch, self._throttle, yaw_rate)

    def next(self, now: Measurement, last: Controls) -> Phase | None:
        """Return the next phase if this one is over."""
        if self.setting.height(now) > self.setting.contact:
            return None
        return RollOut(self.setting, now)


class RollOut(Phase):
    """Lower the nose, steer along the centreline, brake, and stop."""

    name = 'roll-out'

    def __init__(self, setting: Setting, now: Measurement) -> None:
        super().__init__(setting)
        self._steering = Steering(setting)
        self._pitch = now.pitch
        self._down = 0.0
        self.has_stopped = False

    def fly(self, now: Measurement, dt: float, last: Controls) -> PhaseSetpoint:
        """Return what is wanted now."""
        figures, runway = self.setting.performance, self.setting.runway
        yaw_rate, rudder = self._steering.update(now, dt, last)
        speed = now.speed_over_ground
        self.has_stopped |= speed < _STOPPED
        # On a tail wheel a gust would lift it again while it is fast: the mains are held down.
        is_fast = now.airspeed > _TAIL_DOWN * figures.landing_stall_speed
        wanted = _PINNED if figures.has_tail_wheel and is_fast else figures.rest_pitch
        step = _LOWERING * dt
        self._pitch += clamp(wanted - self._pitch, -step, step)
        if rudder is not None or (
                figures.has_tail_wheel and self.setting.height(now) < self.setting.contact):
            self._down += dt
        along, _ = runway.locate(now.east, now.north)
        left = max(runway.length - _KEPT - along, _KEPT)
        needed = max(_DECELERATION, speed ** 2 / (2.0 * left)) / _BRAKED
        brake = min(needed, 1.0) * clamp((self._down - _BRAKES_AFTER) / _BRAKES_IN, 0.0, 1.0)
        # Slow, nothing is held up any more.
        elevator = None
        if now.airspeed < _SLOW * figures.approach_speed and rudder is not None:
            elevator = _STICK_BACK if figures.has_tail_wheel else 0.0
        # What still skips is led back; without flaps, with spoilers, the wheels have the weight.
        roll = 0.0 if rudder is not None else self.setting.to_centreline(now)
        return PhaseSetpoint(
            roll, self._pitch, 0.0, yaw_rate, elevator, rudder,
            1.0 if self.has_stopped else brake, 0.0, speedbrake=1.0)

    def next(self, now: Measurement, last: Controls) -> Phase | None:
        """Return the flare again after a bounce."""
        if self.setting.height(now) < _BOUNCED or self.has_stopped:
            return None
        return Flare(self.setting, now, last, 0.0)
