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

"""Limits of the simulated aircraft, and how its inputs are kept within them."""

import math

MAX_ALTITUDE = 25_000.0
MAX_SPEED = 400.0
MAX_WIND = 100.0
MAX_SEVERITY = 7
# At the poles longitude is undefined and JSBSim's own axes flip.
MAX_LAT_DEG = 89.9
MAX_PITCH_DEG = 89.9


def clamp(value: float, low: float, high: float) -> float:
    """Return the nearest number in low..high."""
    return min(max(float(value), low), high)


def clamp_pitch(pitch_deg: float) -> float:
    """Return a pitch limited to what can be set, in degrees."""
    return clamp(pitch_deg, -MAX_PITCH_DEG, MAX_PITCH_DEG)


def value_or(value: float | None, otherwise: float) -> float:
    """Return a value, or the other one if it is None."""
    return otherwise if value is None else value


def check_number(what: str, number: int, count: int) -> None:
    """Raise ValueError unless an aircraft has so many engines or tanks, counted from 0."""
    if not count:
        raise ValueError(f'{what} is {number}, but the aircraft has none')
    if not 0 <= number < count:
        raise ValueError(f'{what} is {number}, must be in 0..{count - 1}')


def check_wind(*parts: float) -> None:
    """Raise ValueError for the parts of a wind (m/s) that is not simulated."""
    for speed in parts:
        if not abs(speed) <= MAX_WIND:
            raise ValueError(f'{speed:g} m/s is no wind, expected -{MAX_WIND:g}..{MAX_WIND:g}')


def check_turbulence(wind_at_20ft: float, severity: float) -> None:
    """Raise ValueError for turbulence that is not simulated, or that would be none."""
    if not 0.0 <= wind_at_20ft <= MAX_WIND:
        raise ValueError(f'wind at 20 ft of {wind_at_20ft:g} m/s, expected 0..{MAX_WIND:g}')
    if severity not in range(MAX_SEVERITY + 1):
        raise ValueError(
            f'severity {severity:g}, expected a whole number, 0..{MAX_SEVERITY}')
    if wind_at_20ft and not severity:
        raise ValueError(
            f'severity 0 is calm at all heights, whatever the wind at 20 ft: expected '
            f'1..{MAX_SEVERITY} with it, or [0, 0]')


def check_finite(**values: float | None) -> None:
    """Raise ValueError, with the name, for a value that is not None and not finite."""
    for name, value in values.items():
        if value is not None and not math.isfinite(value):
            raise ValueError(f'{name} is {value}, must be finite')
