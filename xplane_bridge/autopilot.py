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
A closed-loop controller: altitude, heading and airspeed hold with cascaded loops.

Pure: measurements in, controls out, time passed in; SI units and radians throughout. Use it as
an example for your own: a class with ``engage`` and ``update`` plugs into nodes/autopilot.py.

    altitude error -> climb rate -> pitch -> elevator        heading error -> bank -> aileron
    airspeed error -> throttle                               yaw rate of the turn -> rudder
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
import math

from xplane_bridge.conversions.frames import wrap_angle
from xplane_bridge.conversions.units import STANDARD_GRAVITY
from xplane_bridge.conversions.vehicle import Controls

# Below this airspeed there is no coordinated turn; also keeps divisions finite.
_SLOWEST = 15.0
_FASTEST_CLIMB = 50.0
# Longer gaps between measurements are not integrated.
_LONGEST_STEP = 0.2


@dataclass(frozen=True, slots=True)
class Gains:
    """
    Gains and limits; the defaults are tuned for the Cessna 172P (c172p) near 50 m/s.

    Angles in rad, speeds in m/s, controls as ratios. A gain's name states input and output.
    cruise_throttle is the initial throttle if a simulator does not report it.
    """

    altitude_to_climb: float = 0.3
    climb_limit: float = 3.5
    climb_to_pitch: float = 0.025
    climb_to_pitch_integral: float = 0.008
    pitch_limit: float = 0.21
    pitch_to_elevator: float = 2.2
    pitch_to_elevator_integral: float = 0.8
    pitch_rate_to_elevator: float = 0.7
    heading_to_bank: float = 1.2
    bank_limit: float = 0.44
    bank_to_aileron: float = 0.9
    bank_to_aileron_integral: float = 0.04
    roll_rate_to_aileron: float = 0.25
    yaw_rate_to_rudder: float = 0.5
    airspeed_to_throttle: float = 0.15
    airspeed_to_throttle_integral: float = 0.01
    climb_to_throttle: float = 0.10
    airspeed_rate_limit: float = 0.6
    climb_filter: float = 0.5
    cruise_throttle: float = 0.7


@dataclass(frozen=True, slots=True)
class Measurement:
    """
    State of an aircraft as needed by the controller.

    Roll + is right wing down, pitch + is nose up, heading is clockwise from true north;
    roll_rate, pitch_rate and yaw_rate are about the body's forward, right and down axes.
    """

    roll: float
    pitch: float
    heading: float
    roll_rate: float
    pitch_rate: float
    yaw_rate: float
    altitude: float
    airspeed: float


@dataclass(frozen=True, slots=True)
class Target:
    """What to hold: altitude in m, heading in rad clockwise from true north, airspeed in m/s."""

    altitude: float
    heading: float
    airspeed: float


# Plausible targets: an airspeed of 0 is not one, and a heading beyond two turns is in degrees.
_TARGETS = {
    'altitude': (-1000.0, 30000.0, 'm'),
    'heading': (-4.0 * math.pi, 4.0 * math.pi, 'rad'),
    'airspeed': (1.0, 1000.0, 'm/s'),
}


def check_targets(targets: Mapping[str, float]) -> None:
    """Raise ValueError for an implausible target; a heading may be named true_heading."""
    for name, value in targets.items():
        low, high, unit = _TARGETS[name.removeprefix('true_')]
        if not low <= value <= high:
            raise ValueError(f'{name} {value:g} {unit} is not in {low:g} .. {high:g} {unit}')


class _Integral:
    """An integral that stops where its output is limited (anti-windup by clamping)."""

    def __init__(self, value: float = 0.0) -> None:
        self.value = value

    def update(self, error: float, gain: float, dt: float, proportional: float,
               low: float, high: float) -> float:
        """Return the limited sum of both parts; integrate unless that saturates further."""
        output = proportional + self.value
        step = gain * error * dt
        if (output < high or step < 0.0) and (output > low or step > 0.0):
            self.value += step
        return min(max(proportional + self.value, low), high)


class Autopilot:
    """
    Hold altitude, heading and airspeed of one aircraft.

    ``engage`` takes over from the current controls, so that the first output equals them.
    ``target`` may be changed at any time; the airspeed follows it on a ramp, the others within
    their limits.
    """

    def __init__(self, gains: Gains | None = None) -> None:
        self.gains = gains or Gains()
        self.target = Target(math.nan, math.nan, math.nan)
        self._altitude = math.nan
        self._climb = 0.0
        self._airspeed_target = math.nan
        self._climb_integral = _Integral()
        self._elevator_integral = _Integral()
        self._aileron_integral = _Integral()
        self._throttle_integral = _Integral()
        self._rudder = 0.0
        self._handover = Controls()

    def engage(self, now: Measurement, controls: Controls, target: Target | None = None) -> None:
        """Start from ``controls``; without a target, hold the current state."""
        self.target = target or Target(now.altitude, now.heading, now.airspeed)
        self._altitude = now.altitude
        self._climb = 0.0
        self._airspeed_target = now.airspeed
        self._climb_integral = _Integral(now.pitch)
        gains = self.gains
        self._elevator_integral = _Integral(
            (controls.elevator or 0.0) + gains.pitch_rate_to_elevator * now.pitch_rate)
        self._aileron_integral = _Integral(
            (controls.aileron or 0.0) + gains.roll_rate_to_aileron * now.roll_rate
            + gains.bank_to_aileron * now.roll)
        self._throttle_integral = _Integral(
            gains.cruise_throttle if controls.throttle is None else controls.throttle)
        self._rudder = (controls.rudder or 0.0) - self._turn_rudder(now)

    def update(self, now: Measurement, dt: float) -> Controls:
        """Return the controls for a measurement taken ``dt`` seconds after the last."""
        dt = min(max(dt, 0.0), _LONGEST_STEP)
        climb_command = self._follow_altitude(now, dt)
        return Controls(
            elevator=self._hold_climb(now, climb_command, dt),
            aileron=self._hold_heading(now, dt),
            rudder=min(max(self._rudder + self._turn_rudder(now), -1.0), 1.0),
            throttle=self._hold_airspeed(now, climb_command, dt),
        )

    def _follow_altitude(self, now: Measurement, dt: float) -> float:
        """Return the commanded climb rate; estimate the actual one from the altitude."""
        gains = self.gains
        if dt > 0.0:
            rate = (now.altitude - self._altitude) / dt
            # A teleport is not a climb.
            rate = min(max(rate, -_FASTEST_CLIMB), _FASTEST_CLIMB)
            self._climb += (rate - self._climb) * dt / (gains.climb_filter + dt)
            self._altitude = now.altitude
        wanted = gains.altitude_to_climb * (self.target.altitude - now.altitude)
        return min(max(wanted, -gains.climb_limit), gains.climb_limit)

    def _hold_climb(self, now: Measurement, climb_command: float, dt: float) -> float:
        """Return the elevator: climb rate to pitch, pitch to elevator, damped by pitch rate."""
        gains = self.gains
        error = climb_command - self._climb
        pitch_command = self._climb_integral.update(
            error, gains.climb_to_pitch_integral, dt, gains.climb_to_pitch * error,
            -gains.pitch_limit, gains.pitch_limit)
        pitch_error = pitch_command - now.pitch
        # A level turn has a pitch rate; only the deviation from it is damped.
        turn = self._turn_rate(now) * math.sin(now.roll)
        proportional = (
            gains.pitch_to_elevator * pitch_error
            - gains.pitch_rate_to_elevator * (now.pitch_rate - turn))
        return self._elevator_integral.update(
            pitch_error, gains.pitch_to_elevator_integral, dt, proportional, -1.0, 1.0)

    def _hold_heading(self, now: Measurement, dt: float) -> float:
        """Return the aileron: heading to bank, bank to aileron, damped by roll rate."""
        gains = self.gains
        bank_command = gains.heading_to_bank * wrap_angle(self.target.heading - now.heading)
        bank_command = min(max(bank_command, -gains.bank_limit), gains.bank_limit)
        error = bank_command - now.roll
        proportional = gains.bank_to_aileron * error - gains.roll_rate_to_aileron * now.roll_rate
        return self._aileron_integral.update(
            error, gains.bank_to_aileron_integral, dt, proportional, -1.0, 1.0)

    def _turn_rate(self, now: Measurement) -> float:
        """Return the turn rate of a coordinated turn at the current bank."""
        return STANDARD_GRAVITY * math.tan(
            min(max(now.roll, -1.2), 1.2)) / max(now.airspeed, _SLOWEST)

    def _turn_rudder(self, now: Measurement) -> float:
        """Return the rudder that coordinates the turn."""
        wanted = self._turn_rate(now) * math.cos(now.roll) * math.cos(now.pitch)
        return self.gains.yaw_rate_to_rudder * (wanted - now.yaw_rate)

    def _hold_airspeed(self, now: Measurement, climb_command: float, dt: float) -> float:
        """Return the throttle, with feedforward power for the commanded climb."""
        gains = self.gains
        step = gains.airspeed_rate_limit * dt
        difference = self.target.airspeed - self._airspeed_target
        self._airspeed_target += min(max(difference, -step), step)
        error = self._airspeed_target - now.airspeed
        proportional = (
            gains.airspeed_to_throttle * error + gains.climb_to_throttle * climb_command)
        return self._throttle_integral.update(
            error, gains.airspeed_to_throttle_integral, dt, proportional, 0.0, 1.0)
