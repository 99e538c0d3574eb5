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

"""The levels of control, and what each can be told to hold. NaN: as it was."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
import math
from typing import NamedTuple

from xplane_bridge.bridges.conversions.message_numbers import TARGET_BITS


class Level(StrEnum):
    """What is commanded; the levels above it are off."""

    RUNWAY = 'runway'
    PATH = 'path'
    TARGET = 'target'
    ATTITUDE = 'attitude'
    RATES = 'rates'


@dataclass(frozen=True, slots=True)
class Target:
    """
    What to hold; NaN where there is nothing to hold.

    Altitude (m) or climb rate (m/s, + is up); course or heading (rad clockwise from true north);
    airspeed (m/s, indicated). With an altitude, the climb rate is that of its approach.
    """

    altitude: float = math.nan
    heading: float = math.nan
    airspeed: float = math.nan
    course: float = math.nan
    climb_rate: float = math.nan

    def fields(self) -> dict[str, float]:
        """Return what is held by the names in AutopilotTarget."""
        return {name: getattr(self, name.removeprefix('true_')) for name in TARGET_BITS}


@dataclass(frozen=True, slots=True)
class AttitudeTarget:
    """
    Roll and pitch (rad) and throttle (0..1) or airspeed (m/s, indicated), the last one given.

    With the yaw damper the rudder coordinates turns and damps yaw; without, it keeps its position.
    """

    roll: float = math.nan
    pitch: float = math.nan
    throttle: float = math.nan
    airspeed: float = math.nan
    yaw_damper: bool | None = None


class RateTarget(NamedTuple):
    """
    Rates about the body's forward, right and down axes, in rad/s, and throttle (0..1).

    Without a yaw rate the rudder coordinates the turn.
    """

    roll: float = math.nan
    pitch: float = math.nan
    yaw: float = math.nan
    throttle: float = math.nan


# Plausible targets: an airspeed of 0 is not one, and a heading beyond two turns is in degrees.
_PLAUSIBLE = {
    'altitude': (-1000.0, 30000.0, 'm'),
    'heading': (-4.0 * math.pi, 4.0 * math.pi, 'rad'),
    'course': (-4.0 * math.pi, 4.0 * math.pi, 'rad'),
    'airspeed': (1.0, 1000.0, 'm/s'),
    'climb_rate': (-100.0, 100.0, 'm/s'),
    'roll': (-math.pi, math.pi, 'rad'),
    'pitch': (-math.pi / 2.0, math.pi / 2.0, 'rad'),
    'throttle': (0.0, 1.0, ''),
    'roll_rate': (-10.0, 10.0, 'rad/s'),
    'pitch_rate': (-10.0, 10.0, 'rad/s'),
    'yaw_rate': (-10.0, 10.0, 'rad/s'),
}


def check_targets(targets: Mapping[str, float]) -> None:
    """Raise ValueError for an implausible target; a heading may be named true_heading."""
    for name, value in targets.items():
        low, high, unit = _PLAUSIBLE[name.removeprefix('true_')]
        if not low <= value <= high:
            unit = f' {unit}' if unit else ''
            raise ValueError(f'{name} {value:g}{unit} is not in {low:g} .. {high:g}{unit}')


def with_changes(target: Target, changes: Mapping[str, float]) -> Target:
    """
    Return a target with some values changed; those not given, or NaN, keep theirs.

    Of course and heading, and of altitude and climb rate alone, the new one replaces the other.
    """
    given = {name: value for name, value in changes.items() if value == value}
    if 'course' in given and 'heading' in given:
        raise ValueError('a target has a course or a heading, not both')
    values = {name: getattr(target, name) for name in Target.__slots__}
    if 'course' in given:
        values['heading'] = math.nan
    if 'heading' in given:
        values['course'] = math.nan
    if 'climb_rate' in given and 'altitude' not in given:
        values['altitude'] = math.nan
    if 'altitude' in given and 'climb_rate' not in given:
        values['climb_rate'] = math.nan
    return Target(**{**values, **given})
