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
What the noise of gyros and accelerometers does to a reconstructed motion, by trials.

They are integrated, so their noise becomes a slow error of attitude and flow angles, which the
residuals of the outputs hardly show: the model follows it. So the same flight is reconstructed
again with more noise of the same size, some times.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from xplane_bridge.laboratory.identification.motion.signals import Array, FlightSignals

TRIALS = 12
# Third differences of white noise have 20 times its variance; of a normal distribution half is
# within that many standard deviations. Motion hardly has any from sample to sample.
_SQUARES, _HALF = 20.0, 0.6745
_FEWEST = 20
# Samples of a sensor are at most so many times apart.
_SLOWEST = 12


def noise_trials(
    parts: Sequence[FlightSignals], names: Sequence[str]
) -> list[list[FlightSignals]]:
    """
    Return the manoeuvres with more noise in the signals ``names``, TRIALS times.

    All trials together have the variance of that noise: each has its share. It is the same noise
    each time that this is called.
    """
    generator = np.random.default_rng(0)
    sizes = [{name: noise(part.values[name]) / np.sqrt(TRIALS) for name in names
              if part.has(name)} for part in parts]
    return [[replace(part, values={**part.values, **{
        name: part.values[name] + size * generator.standard_normal(len(part.times))
        for name, size in each.items()}}) for part, each in zip(parts, sizes, strict=True)]
        for _ in range(TRIALS)]


def noise(values: Array) -> float:
    """Return the standard deviation of a signal's white noise, 0 if unknown; NaN is no sample."""
    # A sensor may be slower than the times are.
    for every in range(1, _SLOWEST + 1):
        jumps = values
        for _ in range(3):
            jumps = jumps[every:] - jumps[:-every]
        jumps = jumps[np.isfinite(jumps)]
        if len(jumps) >= _FEWEST:
            return float(np.median(np.abs(jumps)) / (_HALF * np.sqrt(_SQUARES)))
    return 0.0
