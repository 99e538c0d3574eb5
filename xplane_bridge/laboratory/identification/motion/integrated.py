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
Whether a simulator made a flight, and in which steps: seen by how its attitude follows the rates.

JSBSim integrates the attitude by Euler's method: over each step with the rate at its beginning. So
it is half a step late, of exact data to the last digits. No sensor is so exact. What else a step
does to the motion is larger than the bounds of exact data: at 240 steps per second a roll mode is
1.5 per cent faster, and forces, rates and attitude in one row are of different times.
"""

from __future__ import annotations

import numpy as np

from xplane_bridge.laboratory.identification.motion.equations import middles
from xplane_bridge.laboratory.identification.motion.signals import Array, FlightSignals

# By the right step so little may be left of what a trapezoid leaves, in so many samples at least.
_EXACT, _FEWEST = 0.2, 100
# The quantiles of the rates' changes from sample to sample that are looked at.
_CHANGING = (0.8, 0.98)
# A step is this part near to a whole part of a sample's time.
_WHOLE = 0.1
# More steps between two samples can hardly be told.
_MOST_STEPS = 20


def integrated_step(flight: FlightSignals) -> float:
    """Return the step of the simulator that a flight is of (s), 0 if it is of none."""
    known = np.ones(len(flight.times), dtype=bool)
    for name in ('roll', 'pitch', 'roll_rate', 'pitch_rate', 'yaw_rate'):
        if not flight.has(name):
            return 0.0
        known &= np.isfinite(flight.values[name])
    if not known.all() or len(known) < _FEWEST:
        return 0.0
    roll, pitch = np.unwrap(flight.values['roll']), flight.values['pitch']
    p, q, r = (flight.values[name] for name in ('roll_rate', 'pitch_rate', 'yaw_rate'))
    steps, usual = np.diff(flight.times), float(np.median(np.diff(flight.times)))
    both = [_left(steps, angle, rate) for angle, rate in (
        (roll, p + np.tan(pitch) * (q * np.sin(roll) + r * np.cos(roll))),
        (pitch, q * np.cos(roll) - r * np.sin(roll)))]
    left, changes = (np.concatenate(one) for one in zip(*both, strict=True))
    # Where rates change much, and not where they jump in the middle of a sample, or samples lack.
    size = np.abs(changes)
    low, high = np.quantile(size, _CHANGING)
    kept = (size >= low) & (size <= high) & (np.tile(steps, 2) < 1.5 * usual)
    left, changes = left[kept], changes[kept]
    late = float(np.median(-left / changes)) if len(changes) and low else 0.0
    if not late > 0.0 or np.median(np.abs(left + late * changes)) > _EXACT * np.median(
            np.abs(left)):
        return 0.0
    count = usual / (2.0 * late)
    whole = round(count)
    if not 1 <= whole <= _MOST_STEPS or abs(count / whole - 1.0) > _WHOLE:
        return 0.0
    return usual / whole


def _left(steps: Array, angle: Array, rate: Array) -> tuple[Array, Array]:
    """Return what an angle changes beside a trapezoid of its rate, and the rate's changes."""
    left: Array = np.diff(angle) - steps * middles(rate)
    # The Earth is round: a level flight turns slowly.
    return left - np.median(left), np.diff(rate)
