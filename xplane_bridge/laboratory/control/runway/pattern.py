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
"""The traffic pattern: a rectangle beside a runway, flown round and round."""

from __future__ import annotations

import math

from xplane_bridge.bridges.conversions.vehicle import Controls
from xplane_bridge.laboratory.control.corners import Point
from xplane_bridge.laboratory.control.loops import clamp
from xplane_bridge.laboratory.control.measurement import Measurement
from xplane_bridge.laboratory.control.path import bank_to_follow, PathFollower, turn_radius
from xplane_bridge.laboratory.control.runway.laws import Ascent
from xplane_bridge.laboratory.control.runway.phases import Phase
from xplane_bridge.laboratory.control.runway.setting import PhaseSetpoint, Setting

# The final leg is level for so long (s) before it meets the glide path: time to slow down.
_LEVEL_FINAL = 20.0
# Beyond the end of the runway (s) the aircraft turns crosswind, never with less room than this.
_UPWIND = 10.0
# Downwind is so many radii of a turn beside the runway, and at least this far (m).
_RADII, _LEAST_OFFSET = 2.6, 800.0
# Turns need this share of the bank limit; the rest is for wind and errors.
_SHARE_OF_BANK = 0.75
_ROLL_DELAY = 0.35
# It is on final when it flies the last leg within these of the centreline (m, rad).
_ALIGNED, _STRAIGHT = 60.0, math.radians(15.0)
# It joins upwind if it flies along the runway, this near (m, rad); else downwind.
_UPWIND_ACROSS, _UPWIND_COURSE = 300.0, math.radians(45.0)
_FINAL_LEG = 'final'


class Pattern(Phase):
    """
    Fly the pattern at ``height`` (m), climbing to it on the way, to the left or to the right.

    It begins upwind after a take-off, else with the downwind leg; from the final leg it goes on
    above the runway.
    """

    name = 'pattern'

    def __init__(
        self, setting: Setting, now: Measurement, last: Controls, height: float, left: bool,
    ) -> None:
        super().__init__(setting)
        self.height = height
        self._ascent = Ascent(setting, now, last)
        figures, gains = setting.performance, setting.gains
        true_speed = figures.pattern_speed * now.speed / max(now.airspeed, 1.0)
        # True airspeeds are hardly ever below indicated ones; a reported 0 is no speed to turn at.
        speed = max(true_speed, now.speed, figures.pattern_speed) + now.wind
        radius = turn_radius(speed, _SHARE_OF_BANK * setting.bank)
        lead = (1.0 / gains.roll_to_roll_rate + _ROLL_DELAY) * speed
        corners, self._names = self._rectangle(now, speed, radius, left)
        self._path = PathFollower(
            (now.east, now.north), [setting.runway.point(*corner) for corner in corners], radius,
            lead, now.track, closed=True)

    def _rectangle(
        self, now: Measurement, speed: float, radius: float, left: bool,
    ) -> tuple[list[Point], list[str]]:
        """Return the corners, by Runway.locate, and the names of the legs that lead to them."""
        runway = self.setting.runway
        along, across = runway.locate(now.east, now.north)
        beside = max(_RADII * radius, _LEAST_OFFSET) * (-1.0 if left else 1.0)
        begin = (runway.aiming_point - self.height / math.tan(runway.glide_path)
                 - _LEVEL_FINAL * speed - radius)
        is_upwind = (abs(across) < _UPWIND_ACROSS
                     and abs(runway.turned(now.track)) < _UPWIND_COURSE and along > 0.0)
        end = runway.length + _UPWIND * speed
        if is_upwind:
            end = max(end, along + radius + 3.0 * speed)
        corners = [(end, 0.0), (end, beside), (begin, beside), (begin, 0.0)]
        names = [_FINAL_LEG, 'crosswind', 'downwind', 'base']
        if is_upwind:
            return corners, names
        return corners[2:] + corners[:2], names[2:] + names[:2]

    def fly(self, now: Measurement, dt: float, last: Controls) -> PhaseSetpoint:
        """Return what is wanted now."""
        setting = self.setting
        at = self._path.locate(now.east, now.north)
        roll = bank_to_follow(
            at, now.track, now.speed_over_ground, setting.gains.course_to_turn_rate)
        pitch, throttle = self._ascent.update(
            now, dt, self.height, setting.performance.pattern_speed, setting.pitch_down)
        return PhaseSetpoint(clamp(roll, -setting.bank, setting.bank), pitch, throttle, flaps=0.0)

    def is_on_final(self, now: Measurement) -> bool:
        """Return whether it is established on the final leg, before the runway."""
        runway = self.setting.runway
        along, across = runway.locate(now.east, now.north)
        leg = self._names[self._path.leg % len(self._names)]
        return (leg == _FINAL_LEG and along < 0.0 and abs(across) < _ALIGNED
                and abs(runway.turned(now.track)) < _STRAIGHT)
