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

"""The Allan deviation: measured from a recording, and expected from a sensor's figures."""

from __future__ import annotations

from collections.abc import Sequence
import math

import numpy as np
from numpy.typing import NDArray

from xplane_bridge.laboratory.sensors.errors import Errors

Array = NDArray[np.float64]


def allan_deviation(values: Array, interval: float, taus: Sequence[float]) -> Array:
    """
    Return the overlapping Allan deviation of a sensor at rest, for each averaging time (s).

    ``values`` (shape (n,)) are ``interval`` seconds apart; less than a third of them is averaged.
    Source: IEEE Std 952-2020, annex C; NIST Special Publication 1065, section 5.2.
    """
    integral = np.concatenate(([0.0], np.cumsum(values))) * interval
    found = []
    for tau in taus:
        size = round(tau / interval)
        if not 0 < size < len(values) / 3:
            raise ValueError(
                f'an averaging time of {tau:g} s is not in {interval:g} .. '
                f'{len(values) / 3 * interval:g} s')
        second = integral[2 * size:] - 2.0 * integral[size:-size] + integral[:-2 * size]
        found.append(math.sqrt(float(np.mean(second ** 2)) / 2.0) / (size * interval))
    return np.array(found)


def expected_deviation(errors: Errors, interval: float, taus: Sequence[float]) -> Array:
    """
    Return the Allan deviation that a sensor's figures stand for, for each averaging time (s).

    The root of the sum of the variances of white noise (N^2/tau), of the Gauss-Markov process, of
    the rate random walk (K^2 tau/3) and of quantisation, taken as white, of samples that are
    ``interval`` seconds apart (IEEE Std 952-2020, annex C).
    """
    tau = np.asarray(taus, dtype=np.float64)
    sample = errors.noise ** 2 + errors.quantisation ** 2 / 12.0
    ratio = tau / errors.time_constant
    # By a series where the differences would be lost to rounding: of short averaging times.
    markov = np.where(
        ratio < 1e-3, ratio / 1.5,
        2.0 / ratio * (1.0 - (3.0 - 4.0 * np.exp(-ratio) + np.exp(-2.0 * ratio)) / (2.0 * ratio)))
    return np.sqrt(
        (errors.noise_density ** 2 + sample * interval) / tau
        + errors.gauss_markov ** 2 * markov + errors.bias_random_walk ** 2 * tau / 3.0)
