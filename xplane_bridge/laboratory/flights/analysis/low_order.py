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
Low-order equivalent systems: the mode of an aircraft that a frequency response shows.

MIL-STD-1797A, section 4.2.1.2 and appendix: the response of pitch rate to the elevator as

    K (s + 1/T) exp(-d s) / (s^2 + 2 zeta omega s + omega^2)

and of roll rate to the aileron as K exp(-d s) / (s + 1/T), fitted to magnitude and phase with the
weights of Tischler and Remple, Aircraft and Rotorcraft System Identification, section 11.1.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from xplane_bridge.common import optional
from xplane_bridge.laboratory.flights.analysis.frequency_response import FrequencyResponse
from xplane_bridge.laboratory.flights.analysis.series import Array

# One degree weighs as much as 0.13 dB, that is 7.57 degrees as much as 1 dB.
_PHASE_WEIGHT = math.sqrt(0.01745)
_FEWEST_POINTS = 8
# Starting points of the search, rad/s.
_STARTS = (1.0, 3.0, 8.0)
# The largest delay that is looked for (s), and the fastest of a mode (rad/s).
_DELAY = 0.5
_FAST = 100.0


def low_order(command: str, output: str, response: FrequencyResponse) -> dict[str, float]:
    """
    Return the mode that a response shows, {} where none is defined for this pair.

    elevator to pitch_rate: the short period's natural_frequency (rad/s) and damping. aileron to
    roll_rate: the roll mode's time_constant (s). Both: delay (s), and misfit, the mean square
    error that counts 1 dB and 7.57 degrees as 1; above 10 the aircraft is not such a system.
    """
    names = {
        ('elevator', 'pitch_rate'): ('gain', 'zero', 'natural_frequency', 'damping', 'delay'),
        ('aileron', 'roll_rate'): ('gain', 'time_constant', 'delay')}.get((command, output))
    if names is None:
        return {}
    found = dict.fromkeys((*names, 'misfit'), math.nan)
    if len(response.frequencies) >= _FEWEST_POINTS:
        values, misfit = _fit(len(names) == 5, response)
        found = dict(zip(names, values, strict=True)) | {'misfit': misfit}
    return {name: value for name, value in found.items() if name not in ('gain', 'zero')}


def _short_period(p: Array, s: NDArray[np.complex128]) -> NDArray[np.complex128]:
    gain, zero, omega, zeta, delay = p
    found: NDArray[np.complex128] = gain * (s + zero) * np.exp(-delay * s) / (
        s * s + 2.0 * zeta * omega * s + omega**2)
    return found


def _roll(p: Array, s: NDArray[np.complex128]) -> NDArray[np.complex128]:
    gain, time_constant, delay = p
    found: NDArray[np.complex128] = gain * np.exp(-delay * s) / (time_constant * s + 1.0)
    return found


def _fit(is_short_period: bool, response: FrequencyResponse) -> tuple[list[float], float]:
    """Return the parameters and the misfit of the best of some searches."""
    try:
        from scipy.optimize import least_squares
    except ImportError as error:
        raise optional.missing('the fit of a mode', 'scipy', extra='fly') from error
    s = (2j * math.pi * response.frequencies).astype(np.complex128)
    # Tischler and Remple, equation 11.5: little where the coherence is low.
    weight = 1.58 * (1.0 - np.exp(-response.coherence**2))
    model = _short_period if is_short_period else _roll

    def misfits(p: Array) -> Array:
        quotient = response.ratio / model(p, s)
        decibels = 20.0 * np.log10(np.abs(quotient))
        degrees = np.degrees(np.angle(quotient))
        found: Array = np.concatenate((weight * decibels, weight * _PHASE_WEIGHT * degrees))
        return found

    size = float(np.abs(response.ratio).mean())
    best: tuple[list[float], float] = [], math.inf
    for start in _STARTS:
        first = [size * start, 1.0, start, 0.7, 0.02] if is_short_period else [
            size, 1.0 / start, 0.02]
        lowest = [1e-9, 0.0, 1e-2, 0.0, 0.0] if is_short_period else [1e-9, 1.0 / _FAST, 0.0]
        highest = [math.inf, _FAST, _FAST, 10.0, _DELAY] if is_short_period else [
            math.inf, _FAST, _DELAY]
        found = least_squares(misfits, first, bounds=(lowest, highest), x_scale=np.abs(first))
        misfit = 2.0 * float(found.cost) / len(s)
        if misfit < best[1]:
            best = found.x.tolist(), misfit
    return best
