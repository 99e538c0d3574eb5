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

"""Times that several rooms share: the frame of simulated flight, and the resolution of stamps."""

from __future__ import annotations

FRAME_RATE = 60.0
"""Frames per second in which aircraft are simulated, by default."""

FRAME = 1.0 / FRAME_RATE
"""The duration of such a frame in seconds."""

PHYSICS_RATE = 120
"""Steps per second of simulated aircraft, by default: two in each frame."""

PHYSICS_RATES = range(60, 1201, 60)
"""What may be asked for instead: whole steps in each frame; more than these gain nothing."""

SECOND_NS = 1_000_000_000
"""A second in nanoseconds."""

HALF_STAMP = 0.5e-6
"""Seconds: less than what two stamps of a simulator differ by."""

ROUNDED_TIME = 0.004
"""
Seconds by which the time of a frame may be rounded.

X-Plane's is single precision: after a day it is rounded to 8 ms; and a sum of frames is not exact
either. Rounding must not decide in which frame something happens, nor which frame is judged.
"""


def one_of_physics_rates() -> str:
    """Return what PHYSICS_RATES are, as a phrase."""
    return (f'a multiple of {PHYSICS_RATES.step} in {PHYSICS_RATES.start}..'
            f'{PHYSICS_RATES.stop - 1}')


def physics_rate(frame_rate: float) -> float:
    """Return the flight model's steps per second at a frame rate: no frame is without one."""
    return max(float(PHYSICS_RATE), frame_rate)
