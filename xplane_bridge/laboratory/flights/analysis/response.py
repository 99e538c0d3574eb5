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

"""Step response figures: rise time, overshoot, settling time. Pure functions on time series."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
import math

import numpy as np


@dataclass(frozen=True, slots=True)
class StepResponse:
    """
    How a quantity followed one step of its target.

    Times are in seconds after the step; rise is from 10 % to 90 % of the step, overshoot a
    fraction of the step, settling the time after which the quantity stays within ``band`` of the
    target. NaN: it never happened. error is the steady-state error.
    """

    rise: float
    overshoot: float
    settling: float
    band: float
    error: float


def step_response(
    times: Sequence[float], values: Sequence[float], start: float, target: float, band: float
) -> StepResponse:
    """
    Return the figures of a step from ``start`` to ``target`` at times[0].

    times and values have one shape (n,), n >= 2; units are those of the quantity. Raises
    ValueError for fewer, and for a step of zero.
    """
    if len(times) < 2 or len(times) != len(values):
        raise ValueError(f'{len(times)} times and {len(values)} values are not a step response')
    if start == target:
        raise ValueError('a step needs a target other than its start')
    time = np.asarray(times, dtype=float) - times[0]
    progress = (np.asarray(values, dtype=float) - start) / (target - start)
    reached = [_first(time, progress >= level) for level in (0.1, 0.9)]
    outside = np.flatnonzero(np.abs(progress - 1.0) * abs(target - start) > band)
    if not len(outside):
        settling = 0.0
    elif outside[-1] == len(time) - 1:
        settling = math.nan
    else:
        settling = float(time[outside[-1] + 1])
    return StepResponse(
        rise=reached[1] - reached[0],
        overshoot=max(0.0, float(progress.max()) - 1.0),
        settling=settling,
        band=band,
        error=float(values[-1]) - target,
    )


def _first(time: np.ndarray, where: np.ndarray) -> float:
    found = np.flatnonzero(where)
    return float(time[found[0]]) if len(found) else math.nan
