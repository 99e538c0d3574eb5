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

"""Whether a landing may be flown on: who is not stable below 60 m goes around."""

from __future__ import annotations

import math

from xplane_bridge.laboratory.control.measurement import Measurement
from xplane_bridge.laboratory.control.runway.setting import Setting

# Below this height (m) above the runway an approach has to be stable.
_BELOW = 60.0
# Off the glide path by this angle, and by at least so far (m), it is not.
_OFF_PATH, _OFF_HEIGHT = math.radians(1.0), 5.0
# Nor beside the centreline by half of the width, and this share of the way to the threshold.
_BESIDE = 0.05
# Nor slower than this multiple of the stall speed, nor faster than that of the approach speed.
_SLOWEST, _FASTEST = 1.03, 1.35
# Wheels that brake by this (m/s2) have to stop it on the runway.
_BRAKES = 3.0


def why_unstable(setting: Setting, now: Measurement) -> str:
    """Return why an approach must not be flown on, '' if it may."""
    runway, figures = setting.runway, setting.performance
    height = setting.height(now)
    if height > _BELOW:
        return ''
    along, across = runway.locate(now.east, now.north)
    before = runway.aiming_point - along
    off = height - before * math.tan(runway.glide_path)
    if abs(off) > max(before * math.tan(_OFF_PATH), _OFF_HEIGHT):
        return f'{abs(off):.0f} m {"above" if off > 0.0 else "below"} the glide path'
    if abs(across) > 0.5 * runway.width + _BESIDE * max(-along, 0.0):
        return f'{abs(across):.0f} m beside the centreline'
    slowest = _SLOWEST * figures.landing_stall_speed
    fastest = _FASTEST * figures.approach_speed
    if not slowest <= now.airspeed <= fastest:
        return (f'{now.airspeed:.1f} m/s fast, expected {slowest:.1f} to {fastest:.1f} m/s')
    return why_too_long(setting, now)


def why_too_long(setting: Setting, now: Measurement) -> str:
    """Return why what is left of the runway is too short to stop on, '' if it is not."""
    runway = setting.runway
    along, _ = runway.locate(now.east, now.north)
    left = runway.length - max(along, 0.0)
    needed = now.speed_over_ground ** 2 / (2.0 * _BRAKES)
    return f'{left:.0f} m of the runway are left, {needed:.0f} m are needed' * (needed > left)
