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
Turbulent air: the vanes measure a flow that accelerometers and gyros cannot know of.

In still air the kinematics give the flow angles without the vanes' noise. In gusts they do not:
the air moves too. Then the vanes, smoothed, are the flow. What a vane's scale and delay are is
seen by that part of the motion which the controls alone made: no gust has a share in it. That is
an estimate by instrumental variables (Ljung, System Identification, 2nd ed., 1999, section 7.6).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from xplane_bridge.common import optional
from xplane_bridge.laboratory.identification.estimation.bounds import corrected_covariance
from xplane_bridge.laboratory.identification.motion.signals import Array, COMMANDED, FlightSignals

# Residuals of a vane are coloured, so a gust's, if they vary so many times as much as their
# differences from sample to sample say, and by so much (rad).
_COLOURED, _SEEN = 1.3, 2.0e-3
# A polynomial of third order through so many seconds (Savitzky and Golay): what is slower than
# 3 Hz remains as it is.
_SMOOTHED, _ORDER = 0.25, 3
_FEWEST = 5
# Seconds in which the motion follows a control, about: its instruments.
_LAGS = (0.1, 0.3, 1.0)
# Gusts and drifts are slower than that (s).
_SLOW = 0.3
_PASSES = 5
_EXACT = 1e-12
_MADE_BY = (('elevator',), ('aileron', 'rudder'))
VANES = ('angle_of_attack_scale', 'sideslip_scale', 'air_data_delay')
"""What is estimated of the vanes."""


def has_gusts(residuals: Sequence[Array]) -> bool:
    """
    Return whether the vanes contradict the kinematics as only moving air can.

    ``residuals`` (n, 2) are those of angle of attack and sideslip (rad) of each manoeuvre, NaN
    where there was no sample. A wrong scale is none: it is estimated, and leaves noise only.
    """
    for column in range(2):
        known = [one[np.isfinite(one[:, column]), column] for one in residuals]
        known = [one for one in known if len(one) >= _FEWEST]
        if not known:
            continue
        whole = float(np.mean(np.concatenate(known) ** 2))
        noise = float(np.mean(np.concatenate([np.diff(one) for one in known]) ** 2)) / 2.0
        if whole > max(_COLOURED * noise, _SEEN ** 2):
            return True
    return False


def smoothed(part: FlightSignals, name: str) -> Array:
    """Return a signal without gaps and without what is faster than an aircraft."""
    optional.require('an identification in turbulent air', 'scipy', extra='fly')
    from scipy import signal
    values = part.filled(name)
    step = float(part.times[-1] - part.times[0]) / (len(part.times) - 1)
    length = 2 * round(_SMOOTHED / step / 2.0) + 1
    if not _ORDER < length <= len(values):
        return values
    found: Array = signal.savgol_filter(values, length, _ORDER)
    return found


def vanes(
    parts: Sequence[FlightSignals], flows: Sequence[Array], prior: Array
) -> tuple[Array, Array]:
    """
    Return the VANES' errors and their covariance.

    ``flows`` (n, 2) are angle of attack and sideslip by the kinematics of each manoeuvre (rad),
    ``prior`` (3,) what the errors are likely to be: standard deviations about zero.
    """
    left, exact, slopes = _regressed(parts, flows)
    found = np.zeros(len(VANES))
    for _ in range(_PASSES):
        variances = _variances(now := [a - b @ found for a, b in zip(left, exact, strict=True)])
        information = np.diag(1.0 / prior ** 2)
        gradient = -found / prior ** 2
        for residual, slope in zip(now, slopes, strict=True):
            weighted = np.where(np.isfinite(residual), 1.0 / variances, 0.0)[..., None] * slope
            information += np.einsum('top,toq->pq', weighted, slope)
            gradient += np.einsum('top,to->p', weighted, np.nan_to_num(residual))
        found = found + np.linalg.solve(information, gradient)
    _, covariance = corrected_covariance(
        information, now, slopes, variances, np.diag(1.0 / prior ** 2))
    return found, covariance


def _regressed(
    parts: Sequence[FlightSignals], flows: Sequence[Array]
) -> tuple[list[Array], list[Array], list[Array]]:
    """
    Return what vanes differ by (n, 2), and by what: (n, 2, VANES), whole and by controls alone.

    NaN: no sample.
    """
    slopes = [np.zeros((len(part.times), 2, len(VANES))) for part in parts]
    exact = [one.copy() for one in slopes]
    left = [np.full((len(part.times), 2), np.nan) for part in parts]
    for column, name in enumerate(('angle_of_attack', 'sideslip')):
        if not all(part.has(name) for part in parts):
            continue
        tables, made, sides = [], [], []
        for part, flow in zip(parts, flows, strict=True):
            one = flow[:, column]
            tables.append(_fast(part, np.stack((one, -np.gradient(one, part.times)), axis=1)))
            made.append(_fast(part, _instruments(part, _MADE_BY[column])))
            sides.append(_fast(part, (part.filled(name) - one)[:, None])[:, 0])
        table, instruments = np.concatenate(tables), np.concatenate(made)
        share = np.linalg.lstsq(instruments, table, rcond=None)[0]
        for at, part in enumerate(parts):
            known = np.isfinite(part.values[name])
            slopes[at][:, column, (column, 2)] = made[at] @ share
            exact[at][:, column, (column, 2)] = tables[at]
            left[at][known, column] = sides[at][known]
    return left, exact, slopes


def _instruments(part: FlightSignals, controls: Sequence[str]) -> Array:
    """Return the controls as motions of several time constants follow them (n, instruments)."""
    # A control system moves surfaces in gusts: then only what was commanded is no answer to them.
    names = [commanded if part.has(commanded := f'{name}{COMMANDED}') else name
             for name in controls]
    return np.stack([
        _following(part, part.filled(name)[:, None], lag)[:, 0]
        for name in names for lag in _LAGS], axis=1)


def _following(part: FlightSignals, values: Array, lag: float) -> Array:
    """Return what follows values (n, k) with a time constant (s), from rest."""
    from scipy import signal
    step = float(part.times[-1] - part.times[0]) / (len(part.times) - 1)
    kept = float(np.exp(-step / lag))
    found: Array = values[0] + signal.lfilter(
        [1.0 - kept], [1.0, -kept], values - values[0], axis=0)
    return found


def _fast(part: FlightSignals, values: Array) -> Array:
    """Return what of values (n, k) is faster than gusts and drifts mostly are."""
    found: Array = values - _following(part, values, _SLOW)
    found -= found.mean(axis=0)
    return found


def _variances(residuals: Sequence[Array]) -> Array:
    every = np.concatenate(residuals)
    known = np.isfinite(every)
    found: Array = np.maximum(
        (np.where(known, every, 0.0) ** 2).sum(axis=0) / np.maximum(known.sum(axis=0), 1), _EXACT)
    return found
