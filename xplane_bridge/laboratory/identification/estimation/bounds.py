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
The Cramér-Rao bounds of an estimate, corrected for residuals that are not white.

Residuals of a flight are coloured: by what the model leaves out, turbulence, and slow drifts of
sensors. As if they were white, bounds are too small, often by a factor of five. Morelli and
Klein, Accuracy of Aerodynamic Model Parameters Estimated from Flight Test Data, Journal of
Guidance, Control, and Dynamics 20 (1997), pages 74 to 80.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from xplane_bridge.laboratory.identification.motion.signals import Array

# Lags of the autocorrelation, as a part of a manoeuvre (Morelli and Klein).
_LAGS = 0.2
# Steps of one rate differ by less than this part, as those of a clock that is read.
_SAME_RATE = 0.1


def corrected_covariance(
    information: Array, residuals: Sequence[Array], slopes: Sequence[Array], variances: Array,
    prior: Array | None = None, steps: Sequence[float] = (),
) -> tuple[Array, Array]:
    """
    Return the covariance of an estimate for white residuals, and that for those that there are.

    ``information`` (p, p) is the sum of S' R^-1 S; ``residuals`` (n, outputs) and ``slopes`` S
    (n, outputs, p) are those of each manoeuvre, NaN where nothing was measured; ``variances``
    (outputs,) is the diagonal of R; ``prior`` (p, p) is what of the information is none of the
    residuals'. ``steps`` are the times between two samples (s) of each manoeuvre, if they may
    differ: a lag of one sample is another time then. The correction never makes a bound smaller:
    the autocorrelation of residuals that were fitted is underestimated.
    """
    scale = 1.0 / np.sqrt(np.maximum(np.diag(information), 1e-300))
    inverse = np.linalg.pinv(information * np.outer(scale, scale), hermitian=True)
    white = inverse * np.outer(scale, scale)
    middle = np.zeros_like(information) if prior is None else prior.copy()
    for alike in of_one_rate(steps or [1.0] * len(residuals)):
        correlations = _correlations([residuals[n] for n in alike])
        for n in alike:
            residual = residuals[n]
            weighted = np.where(
                np.isfinite(residual), 1.0 / variances, 0.0)[..., None] * slopes[n]
            spread = _spread(correlations, weighted, len(residual))
            middle += np.einsum('top,toq->pq', weighted, spread, optimize=True)
    coloured = white @ middle @ white
    larger = np.maximum(np.diag(coloured), np.diag(white))
    grown = np.sqrt(larger / np.maximum(np.diag(coloured), 1e-300))
    return white, coloured * np.outer(grown, grown)


def of_one_rate(steps: Sequence[float]) -> list[list[int]]:
    """Return the numbers of the manoeuvres whose steps are the same."""
    found: list[list[int]] = []
    for n, step in enumerate(steps):
        for alike in found:
            if abs(step / steps[alike[0]] - 1.0) < _SAME_RATE:
                alike.append(n)
                break
        else:
            found.append([n])
    return found


def _correlations(residuals: Sequence[Array]) -> Array:
    """
    Return the correlations of outputs at lags 0, 1 ... (lags, outputs, outputs).

    Of output i at a time with output j that many samples later, tapered to zero (Bartlett): so
    they are those of some process.
    """
    outputs = residuals[0].shape[1]
    lags = max(1, round(_LAGS * min(map(len, residuals))))
    sums, counts = np.zeros((lags, outputs, outputs)), np.zeros((lags, outputs, outputs))
    for residual in residuals:
        known = np.isfinite(residual)
        sums += _lagged(np.where(known, residual, 0.0), lags)
        counts += _lagged(known.astype(np.float64), lags)
    taper = 1.0 - np.arange(lags) / lags
    found: Array = sums / np.maximum(np.round(counts), 1.0) * taper[:, None, None]
    return found


def _lagged(values: Array, lags: int) -> Array:
    """Return the sums of products at each lag (lags, outputs, outputs), by Fourier transform."""
    length = 1 << (len(values) + lags - 1).bit_length()
    spectra = np.fft.rfft(values, length, axis=0)
    products = np.conj(spectra)[:, :, None] * spectra[:, None, :]
    found: Array = np.fft.irfft(products, length, axis=0)[:lags]
    return found


def _spread(correlations: Array, weighted: Array, length: int) -> Array:
    """Return the sum over j of R(i - j) times the weighted slopes at j: (n, outputs, p)."""
    lags = min(len(correlations), length)
    size = 1 << (2 * length - 1).bit_length()
    # R(-k) is the transpose of R(k). Entry k of the kernel is E[v(i) v(j)'] at i - j = k.
    kernel = np.zeros((size, *correlations.shape[1:]))
    kernel[:lags] = correlations[:lags].transpose(0, 2, 1)
    if lags > 1:
        kernel[-(lags - 1):] = correlations[1:lags][::-1]
    product = np.einsum(
        'fab,fbp->fap', np.fft.rfft(kernel, axis=0), np.fft.rfft(weighted, size, axis=0))
    found: Array = np.fft.irfft(product, size, axis=0)[:length]
    return found
