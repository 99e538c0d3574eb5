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

"""What a control law knows of the aircraft."""

from __future__ import annotations

import math
from typing import NamedTuple


class Measurement(NamedTuple):
    """
    State of an aircraft as needed by the cascade: SI units, angles in radians.

    Roll + is right wing down, pitch + is nose up, heading and course are clockwise from true
    north; the rates are about the body's forward, right and down axes. airspeed is the indicated
    one; east and north are of the local frame. What a vehicle does not report is NaN: then the
    heading stands for the course, the indicated for the true airspeed, the airspeed for the
    ground speed, and the climb rate is estimated from the altitude. The height above the ground
    that is below is that of a range finder: infinity if it reaches no ground, NaN without one.
    """

    roll: float
    pitch: float
    heading: float
    roll_rate: float
    pitch_rate: float
    yaw_rate: float
    altitude: float
    airspeed: float
    true_airspeed: float = math.nan
    climb_rate: float = math.nan
    course: float = math.nan
    ground_speed: float = math.nan
    east: float = math.nan
    north: float = math.nan
    height_above_ground: float = math.nan

    @property
    def wind(self) -> float:
        """Return the wind's speed (m/s), 0 if course or ground speed are not known."""
        if math.isnan(self.course) or math.isnan(self.ground_speed):
            return 0.0
        east = self.ground_speed * math.sin(self.course) - self.speed * math.sin(self.heading)
        north = self.ground_speed * math.cos(self.course) - self.speed * math.cos(self.heading)
        return math.hypot(east, north)

    @property
    def speed(self) -> float:
        """Return the true airspeed, or the indicated one, in m/s."""
        speed = self.true_airspeed
        # NaN is not equal to itself.
        return speed if speed == speed else self.airspeed

    @property
    def track(self) -> float:
        """Return the course over ground, or the heading, in rad."""
        return self.heading if math.isnan(self.course) else self.course

    @property
    def speed_over_ground(self) -> float:
        """Return the ground speed, or the airspeed, in m/s."""
        return self.speed if math.isnan(self.ground_speed) else self.ground_speed
