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
The force along the flight path: drag less thrust, by angle of attack, airspeed and throttle.

    C_D = C_D_0 + C_D_alpha alpha + C_D_u ln V + C_D_delta_t throttle

It is the net coefficient, -m f_V over dynamic pressure and wing area: an accelerometer feels
both. C_D_u is by the logarithm of the airspeed: at constant throttle it is mostly the thrust,
which falls as a propeller gets faster. Thrust follows the throttle with a lag of first order,
whose time constant is a parameter.

What it is regressed on comes from the compatibility check, without the noise of vane and pitot
tube: so least squares are not biased, and nothing need be flown through.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from xplane_bridge.common import optional
from xplane_bridge.identification.equations import Form, Motion, SPEED
from xplane_bridge.identification.estimation.bounds import corrected_covariance
from xplane_bridge.identification.estimation.equation_error import collinearity, Regression
from xplane_bridge.identification.estimation.output_error import Estimate, Fit
from xplane_bridge.identification.signals import Array, IdentificationError

THROTTLE = 'throttle'
# The longest time constant of an engine (s), and a step of it for its effect.
_SLOWEST, _LAG_STEP = 10.0, 1e-3
_EXACT = 1e-12


class _Solved(NamedTuple):
    """Slopes by regressor, the constants of each manoeuvre, regressors and residuals of these."""

    slopes: Array
    constants: Array
    tables: list[Array]
    residuals: list[Array]

    @property
    def cost(self) -> float:
        """Return the sum of the squares of the residuals."""
        return float(sum((one ** 2).sum() for one in self.residuals))


def speed_form(motions: Sequence[Motion]) -> Form:
    """Return the form of some manoeuvres: without the throttle, if none moves it."""
    if any(np.ptp(motion[THROTTLE]) for motion in motions if THROTTLE in motion.flight.values):
        return SPEED
    return SPEED._replace(controls=SPEED.controls[:-1])


def path_force(
    motions: Sequence[Motion], others: Sequence[Sequence[Motion]] = ()
) -> tuple[Regression, Fit]:
    """
    Return how the net force along the path depends on what its form has.

    ``others`` are the same manoeuvres if sensors err otherwise, as for output_error(). The
    ``delay`` of the fit is the time constant of the thrust (s). Raises IdentificationError where
    the throttle was moved and its effect takes longer than any engine's, and ImportError where
    SciPy is missing.
    """
    form = speed_form(motions)
    lag = _lag(form, motions) if THROTTLE in form.controls else 0.0
    found = _solved(form, motions, lag)
    slopes = found.tables
    if THROTTLE in form.controls:
        later = _solved(form, motions, lag + _LAG_STEP)
        slopes = [np.column_stack((here, found.slopes[-1] * (after - here)[:, -1] / _LAG_STEP))
                  for here, after in zip(found.tables, later.tables, strict=True)]
    every = np.concatenate(slopes)
    variance = max(found.cost / len(every), _EXACT)
    white, covariance = corrected_covariance(
        every.T @ every / variance, [one[:, None] for one in found.residuals],
        [one[:, None] for one in slopes], np.array([variance]))
    for other in others:
        change = np.zeros(len(covariance))
        change[:len(found.slopes)] = _solved(form, other, lag).slopes - found.slopes
        covariance = covariance + np.outer(change, change)
    deviations = np.sqrt(np.diag(covariance))
    names = form.derivatives
    estimates = dict(zip(names, (Estimate(*both) for both in zip(
        found.slopes.tolist(), deviations.tolist(), strict=False)), strict=True))
    outputs = [
        -motion.pressure_area / motion.airframe.mass * (constant + one @ found.slopes)
        for motion, constant, one in zip(
            motions, found.constants, _tables(form, motions, lag), strict=True)]
    fit = Fit(
        form, estimates, covariance[:len(names), :len(names)],
        Estimate(lag, float(deviations[-1]) if len(deviations) > len(names) else 0.0),
        list(found.constants[:, None]), [np.empty(0) for _ in motions],
        [one[:, None] for one in outputs],
        [motion.output(form, form.force)[:, None] - one[:, None]
         for motion, one in zip(motions, outputs, strict=True)],
        dict(zip(names, (deviations / np.sqrt(np.diag(white))).tolist(), strict=False)))
    return Regression(
        {name: one.value for name, one in estimates.items()}, fit.constants,
        collinearity(np.concatenate(found.tables), form.controls)), fit


def foretold_path(fit: Fit, motions: Sequence[Motion]) -> tuple[list[Array], list[Array]]:
    """Return what is measured in other manoeuvres, and what the model says, (n, 1) each."""
    slopes = np.array([one.value for one in fit.derivatives.values()])
    measured, estimated = [], []
    for motion, table in zip(motions, _tables(fit.form, motions, fit.delay.value), strict=True):
        side = _coefficient(motion)
        constant = float((side - table @ slopes).mean())
        estimated.append(
            (-motion.pressure_area / motion.airframe.mass * (constant + table @ slopes))[:, None])
        measured.append(motion.output(fit.form, fit.form.force)[:, None])
    return measured, estimated


def _lag(form: Form, motions: Sequence[Motion]) -> float:
    optional.require('the lag of the thrust', 'scipy', extra='fly')
    from scipy import optimize
    found = optimize.minimize_scalar(
        lambda root: _solved(form, motions, float(root) ** 2).cost,
        bounds=(0.0, _SLOWEST ** 0.5), method='bounded', options={'xatol': 1e-3})
    lag = float(found.x) ** 2
    if lag > 0.9 * _SLOWEST:
        raise IdentificationError(
            f'{form.name}: thrust follows the throttle with a time constant of {lag:.1f} s or '
            f'more from {motions[0].times[0]:.1f} s on: expected at most {_SLOWEST:g} s')
    return lag


def _solved(form: Form, motions: Sequence[Motion], lag: float) -> _Solved:
    tables, sides = _tables(form, motions, lag), [_coefficient(one) for one in motions]
    means = [table.mean(axis=0) for table in tables]
    centred = [table - mean for table, mean in zip(tables, means, strict=True)]
    slopes: Array = np.linalg.lstsq(
        np.concatenate(centred), np.concatenate([one - one.mean() for one in sides]),
        rcond=None)[0]
    return _Solved(
        slopes, np.array([side.mean() - mean @ slopes
                          for side, mean in zip(sides, means, strict=True)]), centred,
        [side - side.mean() - table @ slopes
         for side, table in zip(sides, centred, strict=True)])


def _tables(form: Form, motions: Sequence[Motion], lag: float) -> list[Array]:
    return [np.stack([_regressor(motion, name, lag) for name in form.controls], axis=1)
            for motion in motions]


def _regressor(motion: Motion, name: str, lag: float) -> Array:
    if name == 'true_airspeed':
        found: Array = np.log(motion[name])
        return found
    if name != THROTTLE:
        return motion[name]
    if THROTTLE not in motion.flight.values:
        return np.zeros(len(motion.times))
    return _lagged(motion.times, motion[name], lag)


def _lagged(times: Array, values: Array, lag: float) -> Array:
    """Return values behind a lag of first order (s), which was at rest at the first time."""
    from scipy import signal
    step = float(times[-1] - times[0]) / (len(times) - 1)
    kept = float(np.exp(-step / lag)) if lag > 0.0 else 0.0
    found: Array = values[0] + signal.lfilter([1.0 - kept], [1.0, -kept], values - values[0])
    return found


def _coefficient(motion: Motion) -> Array:
    """Return drag less thrust, as a coefficient, at each time."""
    found: Array = -motion.airframe.mass * motion.path_force(motion.flight) / motion.pressure_area
    return found
