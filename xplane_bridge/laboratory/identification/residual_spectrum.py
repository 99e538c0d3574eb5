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
The spectrum of what a model leaves: flat if it is noise, and not where the model lacks something.

By Welch's method, with Hann's window and parts that overlap by half, over all manoeuvres of one
rate. Bendat and Piersol, Random Data, 4th ed., Wiley 2010, section 11.5.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from xplane_bridge.common import optional
from xplane_bridge.laboratory.identification.estimation.bounds import of_one_rate
from xplane_bridge.laboratory.identification.motion.signals import Array

# Samples of a part: at most so many, and as few that a manoeuvre has some parts.
_LONGEST, _FEWEST, _PARTS = 256, 16, 3


class Spectrum(NamedTuple):
    """
    A power spectral density: ``frequencies`` (n,) in Hz, one-sided ``densities`` (n,) per Hz.

    ``white`` is what the density would be if the same variance were white noise.
    """

    frequencies: Array
    densities: Array
    white: float


def spectra(times: Sequence[Array], residuals: Sequence[Array]) -> list[Spectrum]:
    """
    Return the spectra of residuals (n,) in manoeuvres at ``times`` (n,), one for each rate.

    NaN is no sample: a sensor that is slower than the times has its own rate. Manoeuvres of fewer
    than 16 samples have none. Raises ImportError where SciPy is missing.
    """
    optional.require('the spectrum of residuals', 'scipy', extra='fly')
    from scipy import signal
    even = [one for one in map(_evenly, times, residuals) if one is not None]
    found = []
    for alike in of_one_rate([step for step, _ in even]):
        step, parts = even[alike[0]][0], [even[n][1] for n in alike]
        size = min(_LONGEST, max(_FEWEST, min(map(len, parts)) // _PARTS))
        each = [signal.welch(one, 1.0 / step, nperseg=size, detrend='constant') for one in parts]
        weights = np.array([len(one) for one in parts], dtype=np.float64)
        variance = float(np.average([one.var() for one in parts], weights=weights))
        found.append(Spectrum(
            each[0][0], np.average([density for _, density in each], axis=0, weights=weights),
            2.0 * variance * step))
    return found


def _evenly(times: Array, residuals: Array) -> tuple[float, Array] | None:
    """Return the step of a signal's own samples (s), and its values with that step."""
    known = np.isfinite(residuals)
    if known.sum() < _FEWEST:
        return None
    at = times[known]
    step = float(np.median(np.diff(at)))
    values: Array = np.interp(
        np.arange(at[0], at[-1] + 0.5 * step, step), at, residuals[known])
    return step, values
