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
"""What the phases of a take-off and a landing have in common: aircraft, runway, centreline."""

from __future__ import annotations

from dataclasses import dataclass
import math
from typing import NamedTuple

from xplane_bridge.laboratory.control.gains import Gains
from xplane_bridge.laboratory.control.loops import clamp
from xplane_bridge.laboratory.control.measurement import Measurement
from xplane_bridge.laboratory.control.path import bank_to_follow, OnPath
from xplane_bridge.laboratory.control.runway.performance import Performance
from xplane_bridge.laboratory.control.runway.runway import Runway

# A nose wheel is held so far (rad) above the ground.
_MAINS_FIRST = math.radians(0.7)
# A wheel is on the ground up to this height (m): a range finder is wrong by some centimetres.
_CONTACT, _CONTACT_BY_SENSORS = 0.1, 0.2
# Fast, on its main wheels alone, an aircraft is light on its struts (m).
_LIGHT = 0.05
# Faster than this (m/s) the course over ground is known by GNSS.
_COURSE_KNOWN = 5.0
# Near the ground it banks no more than this (rad), and so much more per metre of height.
_BANK_AT_GROUND = math.radians(3.0)
_BANK_PER_HEIGHT = math.radians(1.5)
# Up to this speed of approach (m/s) the times and gains of approach and flare are as they say.
_REFERENCE_SPEED = 30.0


class PhaseSetpoint(NamedTuple):
    """
    What a phase wants to be flown: rad, and controls as in conversions.vehicle.Controls.

    Without a yaw rate (rad/s) the turn is coordinated. An elevator or a rudder that is given
    takes the place of what pitch and yaw rate would command. What else is None stays.
    """

    roll: float
    pitch: float
    throttle: float
    yaw_rate: float = math.nan
    elevator: float | None = None
    rudder: float | None = None
    brake: float = 0.0
    flaps: float | None = None
    gear: float | None = None
    speedbrake: float | None = None


@dataclass(frozen=True, slots=True)
class Setting:
    """
    An aircraft, ``bank`` (rad) being its limit, and the runway that it is flown to or from.

    Pitch is kept in ``pitch_down`` .. ``pitch_up`` (rad). What is measured is ``exact``, or it is
    by sensors, with their errors.
    """

    gains: Gains
    performance: Performance
    runway: Runway
    bank: float
    pitch_up: float
    pitch_down: float
    exact: bool = True

    @property
    def touch_down_pitch(self) -> float:
        """Return the lowest pitch (rad) to touch down with: the main wheels first."""
        figures = self.performance
        return 0.0 if figures.has_tail_wheel else figures.touch_down_pitch + _MAINS_FIRST

    @property
    def path_lag(self) -> float:
        """
        Return the lag of its path behind its pitch, as a multiple of that at 30 m/s, at least 1.

        It is about 0.2 V / g, V being its speed of approach: there lift coefficients are
        alike, and so are their slopes. Trims of shipped models give 0.6 s at 30 m/s (c172p),
        1.0 s at 47 (T37) and 2.1 s at 81 (737).
        """
        return max(self.performance.approach_speed / _REFERENCE_SPEED, 1.0)

    @property
    def contact(self) -> float:
        """Return the height (m) up to which a wheel is on the ground."""
        contact = _CONTACT if self.exact else _CONTACT_BY_SENSORS
        return contact + self.performance.has_tail_wheel * _LIGHT

    def direction(self, now: Measurement) -> float:
        """
        Return where it rolls to (rad): the heading, or by sensors the course while that is known.

        A compass is wrong by some degrees, and a receiver's course is not.
        """
        rolls = not self.exact and now.speed_over_ground > _COURSE_KNOWN
        return now.track if rolls else now.heading

    def height(self, now: Measurement) -> float:
        """Return the height (m) of its main wheels above the runway, on which they stand."""
        figures = self.performance
        return (now.altitude - self.runway.elevation - figures.rest_height
                - self._above_wheels(now.pitch) + self._above_wheels(figures.rest_pitch))

    def _above_wheels(self, pitch: float) -> float:
        """Return how far (m) the centre of gravity is above the main wheels, unloaded."""
        figures = self.performance
        return (figures.wheels_down * math.cos(pitch)
                - figures.wheels_forward * math.sin(pitch))

    def headwind(self, now: Measurement) -> float:
        """Return the wind from ahead (m/s) along the runway."""
        if math.isnan(now.true_airspeed):
            return 0.0
        return (now.speed * math.cos(self.runway.turned(now.heading))
                - now.speed_over_ground * math.cos(self.runway.turned(now.track)))

    def to_centreline(self, now: Measurement) -> float:
        """Return the bank (rad) that leads onto the centreline and along it, within limits."""
        runway = self.runway
        along, across = runway.locate(now.east, now.north)
        at = OnPath(runway.direction, across, 0.0, -along, -along, 0)
        bank = bank_to_follow(
            at, now.track, now.speed_over_ground, self.gains.course_to_turn_rate)
        most = min(self.bank, _BANK_AT_GROUND + _BANK_PER_HEIGHT * max(self.height(now), 0.0))
        return clamp(bank, -most, most)
