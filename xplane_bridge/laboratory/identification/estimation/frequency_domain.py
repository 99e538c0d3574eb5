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
Derivatives in the frequency domain: least squares of the transforms, a time delay included.

The coefficients at each time and what they are regressed on are transformed, and fitted where the
controls have power: trends, biases and noise above that are left out without any filter. What
the output error finds by flying through, this finds without, so it is a second opinion. Klein and
Morelli, Aircraft System Identification, AIAA 2006, chapter 7.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from xplane_bridge.common.controls import FLOWN
from xplane_bridge.laboratory.identification.estimation.equation_error import (
    coefficients,
    regressor,
)
from xplane_bridge.laboratory.identification.estimation.output_error import Estimate
from xplane_bridge.laboratory.identification.motion.equations import (
    CheckedManoeuvre,
    Derivative,
    ModelStructure,
)
from xplane_bridge.laboratory.identification.motion.signals import Array

SWEPT = ('chirp', 'multisine')
"""How the names of manoeuvres begin that have a band of frequencies."""

# The band begins with so many cycles in a manoeuvre, and ends where so much of the controls'
# power is below.
_CYCLES, _POWER = 2.0, 0.99
_DELAYS = np.linspace(-0.05, 0.25, 31)
_FEWEST = 3


class FrequencyFit(NamedTuple):
    """The derivatives, the ``delay`` of the controls (s), and the band (Hz) that shows them."""

    derivatives: Mapping[Derivative, Estimate]
    delay: float
    band: tuple[float, float]


def frequency_domain(
    form: ModelStructure, motions: Sequence[CheckedManoeuvre]
) -> FrequencyFit | None:
    """Return the derivatives by chirps and multisines, None if there are none, or too short."""
    swept = [motion for motion in motions
             if motion.measured.manoeuvres[0].name.startswith(SWEPT)]
    bands = [_band(form, motion) for motion in swept]
    if sum(int(band.sum()) for band, _ in bands) < _FEWEST * len(form.states + form.controls):
        return None
    costs = [_fitted(form, swept, bands, delay)[2] for delay in _DELAYS.tolist()]
    at = min(max(int(np.argmin(costs)), 1), len(costs) - 2)
    # The lowest point of the parabola through the three about it.
    low, middle, high = costs[at - 1:at + 2]
    bend = low - 2.0 * middle + high
    share = float(np.clip(0.5 * (low - high) / bend, -1.0, 1.0)) if bend > 0.0 else 0.0
    delay = float(_DELAYS[at] + share * (_DELAYS[1] - _DELAYS[0]))
    slopes, deviations, _ = _fitted(form, swept, bands, delay)
    names = (*form.states, *form.controls)
    return FrequencyFit(
        {Derivative(coefficient, name): Estimate(float(slopes[i, j]), float(deviations[i, j]))
         for j, coefficient in enumerate(form.coefficients) for i, name in enumerate(names)},
        delay, (min(float(f[band][0]) for band, f in bands if band.any()),
                max(float(f[band][-1]) for band, f in bands if band.any())))


def _band(form: ModelStructure, motion: CheckedManoeuvre) -> tuple[NDArray[np.bool_], Array]:
    """Return which of the frequencies (Hz) of a manoeuvre its controls excite, and all of them."""
    seconds = float(motion.times[-1] - motion.times[0])
    frequencies = np.arange(len(motion.times) // 2 + 1) / seconds
    power = np.sum([np.abs(_transformed(motion[name])) ** 2 for name in form.controls
                    if name in FLOWN], axis=0)
    power[frequencies < _CYCLES / seconds] = 0.0
    below = np.cumsum(power) / max(float(power.sum()), 1e-300)
    return (frequencies >= _CYCLES / seconds) & (below <= _POWER), frequencies


def _transformed(values: Array) -> NDArray[np.complex128]:
    """Return the transform of values (n, ...) without a straight line, by the first axis."""
    at = np.linspace(-1.0, 1.0, len(values))
    flat = values.reshape(len(values), -1)
    left = flat - np.polynomial.polynomial.polyval(
        at, np.polynomial.polynomial.polyfit(at, flat, 1)).T
    found: NDArray[np.complex128] = np.fft.rfft(left, axis=0).reshape(-1, *values.shape[1:])
    return found


def _fitted(
    form: ModelStructure, motions: Sequence[CheckedManoeuvre],
    bands: Sequence[tuple[NDArray[np.bool_], Array]], delay: float,
) -> tuple[Array, Array, float]:
    """Return slopes (regressors, coefficients), their deviations, and the cost."""
    names = (*form.states, *form.controls)
    table = np.concatenate([_transformed(np.stack([
        regressor(motion, name, form, delay) for name in names], axis=1))[band]
        for motion, (band, _) in zip(motions, bands, strict=True)])
    side = np.concatenate([
        _transformed(coefficients(form, motion, exactly=True))[band]
        for motion, (band, _) in zip(motions, bands, strict=True)])
    information = (table.conj().T @ table).real
    slopes = np.linalg.lstsq(information, (table.conj().T @ side).real, rcond=None)[0]
    left = np.abs(side - table @ slopes) ** 2
    variances = left.sum(axis=0) / max(len(table) - 0.5 * len(names), 1.0)
    spread = 0.5 * np.diag(np.linalg.pinv(information, hermitian=True))
    size = np.abs(side) ** 2
    return (slopes, np.sqrt(np.outer(spread, variances)),
            float((left.sum(axis=0) / np.maximum(size.sum(axis=0), 1e-300)).sum()))
