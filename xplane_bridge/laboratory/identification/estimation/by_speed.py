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
What airspeed and throttle do: to drag less thrust along the path, to lift, and to the pitch.

    C_D = C_D_0 + C_D_alpha alpha + C_D_delta_e elevator + C_D_u ln V + C_D_delta_t throttle

by the pitch rate, and by how far the elevator is deflected either way; these and C_D_delta_e are
not told. C_L and C_m likewise, but for that either way; of these only the last two slopes are
told, as the output error finds the others better. C_D is the net coefficient, -m f_V over dynamic
pressure and wing area: an accelerometer feels drag and thrust together. C_D_u is by the logarithm
of the airspeed: at constant throttle it is mostly the thrust, which falls as a propeller gets
faster. By its wash it pitches and lifts as well, which makes the phugoid another one.

Thrust follows the throttle with two lags of first order, one after the other, as an engine and a
propeller have, or a spool and its fuel control. Their time constant, the same of both, is a
parameter.

What is regressed on comes from the compatibility check, without the noise of vane and pitot
tube: so least squares are hardly biased, and nothing need be flown through.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from xplane_bridge.common import optional
from xplane_bridge.laboratory.identification.estimation.bounds import corrected_covariance
from xplane_bridge.laboratory.identification.estimation.equation_error import (
    coefficients,
    collinearity,
    Regression,
    smoothed,
)
from xplane_bridge.laboratory.identification.estimation.output_error import (
    Estimate,
    Fit,
    unsteady,
    VARIES,
)
from xplane_bridge.laboratory.identification.motion.equations import (
    CheckedManoeuvre,
    Derivative,
    LONGITUDINAL,
    MAGNITUDE,
    ModelStructure,
    SPEED,
)
from xplane_bridge.laboratory.identification.motion.signals import Array, IdentificationError

THROTTLE = 'throttle'
# The longest time constant (s), and a step of it for its effect.
_SLOWEST, _LAG_STEP = 5.0, 1e-3
_LAGS = 2
_EXACT = 1e-12
# Drag is a parabola, thrust is nearly the square of the throttle.
_VARIES_ALONG = 0.05
# What coefficients depend on besides, which is not told. Drag is alike whichever way an elevator
# is deflected.
_OTHERS = ('pitch_rate',)
_EITHER_WAY = f'elevator{MAGNITUDE}'


class _Solved(NamedTuple):
    """
    Least squares of one coefficient: slopes by regressor, the constants of each manoeuvre.

    ``tables`` are the regressors of each, without their means, and ``residuals`` what is left.
    """

    slopes: Array
    constants: Array
    tables: list[Array]
    residuals: list[Array]

    @property
    def cost(self) -> float:
        """Return the sum of the squares of the residuals."""
        return float(sum((one ** 2).sum() for one in self.residuals))


class _Part(NamedTuple):
    """The slopes of one coefficient: those told, with their covariance, ``beside``, the lag's."""

    estimates: dict[Derivative, Estimate]
    beside: dict[Derivative, Estimate]
    covariance: Array
    whiteness: dict[Derivative, float]
    lag: float
    solved: _Solved


def speed_form(motions: Sequence[CheckedManoeuvre]) -> ModelStructure:
    """Return the form of some manoeuvres: without controls that none moves."""
    return SPEED._replace(controls=tuple(
        name for name in SPEED.controls if name not in ('elevator', THROTTLE) or any(
            np.ptp(motion[name]) for motion in motions if name in motion.flight.values)))


def by_speed(
    motions: Sequence[CheckedManoeuvre], others: Sequence[Sequence[CheckedManoeuvre]] = (),
    late: float | Array | None = None,
) -> tuple[Regression, Fit]:
    """
    Return what airspeed and throttle do.

    ``others`` are the same manoeuvres if sensors err otherwise, and ``late`` is how late signals
    may be (s), both as for output_error(). The ``delay`` of the fit is the time constant of the
    thrust (s). Raises IdentificationError where the throttle was moved and its effect takes longer
    than any engine's, and ImportError where SciPy is missing.
    """
    form = speed_form(motions)
    lag = _lag(form, motions) if THROTTLE in form.controls else 0.0
    parts = [_part(form, motions, coefficient, lag, others, late)
             for coefficient in form.coefficients]
    along = parts[0].solved
    outputs = [
        -motion.pressure_area / motion.airframe.mass * (constant + one @ along.slopes)
        for motion, constant, one in zip(
            motions, along.constants, _tables(form, motions, 'C_D', lag), strict=True)]
    names = [name for part in parts for name in part.estimates]
    covariance = np.zeros((len(names), len(names)))
    at = 0
    for part in parts:
        end = at + len(part.estimates)
        covariance[at:end, at:end] = part.covariance
        at = end
    fit = Fit(
        form, {name: one for part in parts for name, one in part.estimates.items()}, covariance,
        Estimate(lag, parts[0].lag),
        list(np.stack([part.solved.constants for part in parts], axis=1)),
        [np.empty(0) for _ in motions], [one[:, None] for one in outputs],
        [motion.output(form, form.force)[:, None] - one[:, None]
         for motion, one in zip(motions, outputs, strict=True)],
        {name: one for part in parts for name, one in part.whiteness.items()}, parts[0].beside)
    return Regression(
        {name: one.value for name, one in fit.derivatives.items()}, fit.constants,
        collinearity(np.concatenate(along.tables)[:, -len(form.controls):], form.controls)), fit


def foretold_path(
    fit: Fit, motions: Sequence[CheckedManoeuvre]
) -> tuple[list[Array], list[Array]]:
    """Return the force along the path in other manoeuvres, and that of the model, (n, 1) each."""
    slopes = np.array([{**fit.derivatives, **fit.beside}[Derivative('C_D', name)].value
                       for name in _names(fit.form, 'C_D')])
    measured, estimated = [], []
    for motion, table in zip(
            motions, _tables(fit.form, motions, 'C_D', fit.delay.value), strict=True):
        constant = float((_coefficient(motion, 'C_D') - table @ slopes).mean())
        estimated.append(
            (-motion.pressure_area / motion.airframe.mass * (constant + table @ slopes))[:, None])
        measured.append(motion.output(fit.form, fit.form.force)[:, None])
    return measured, estimated


def refitted(fit: Fit, before: Fit, motions: Sequence[CheckedManoeuvre]) -> Fit:
    """Return a fit whose derivatives were others ``before``, with constants and path to them."""
    form, constants = fit.form, [one.copy() for one in fit.constants]
    outputs = list(fit.outputs)
    for at, coefficient in enumerate(form.coefficients):
        changes = np.array([
            fit.derivatives[one].value - before.derivatives[one].value
            if (one := Derivative(coefficient, name)) in fit.derivatives else 0.0
            for name in _names(form, coefficient)])
        for n, (motion, table) in enumerate(zip(motions, _tables(
                form, motions, coefficient, fit.delay.value), strict=True)):
            mean = table.mean(axis=0)
            constants[n][at] -= mean @ changes
            if coefficient == 'C_D':
                outputs[n] = outputs[n] - (motion.pressure_area / motion.airframe.mass * (
                    (table - mean) @ changes))[:, None]
    return replace(fit, constants=constants, outputs=outputs, residuals=[
        old + was - now for old, was, now in zip(
            fit.residuals, fit.outputs, outputs, strict=True)])


def _lag(form: ModelStructure, motions: Sequence[CheckedManoeuvre]) -> float:
    optional.require('the lag of the thrust', 'scipy', extra='fly')
    from scipy import optimize
    found = optimize.minimize_scalar(
        lambda root: _solved(form, motions, 'C_D', float(root) ** 2).cost,
        bounds=(0.0, _SLOWEST ** 0.5), method='bounded', options={'xatol': 1e-3})
    lag = float(found.x) ** 2
    if lag > 0.9 * _SLOWEST:
        raise IdentificationError(
            f'{form.name}: thrust follows the throttle with two time constants of {lag:.1f} s or '
            f'more from {motions[0].times[0]:.1f} s on: expected at most {_SLOWEST:g} s')
    return lag


def _part(
    form: ModelStructure, motions: Sequence[CheckedManoeuvre], coefficient: str, lag: float,
    others: Sequence[Sequence[CheckedManoeuvre]], late: float | Array | None,
) -> _Part:
    found = _solved(form, motions, coefficient, lag)
    names = _names(form, coefficient)
    slopes = found.tables
    if THROTTLE in form.controls:
        later = _solved(form, motions, coefficient, lag + _LAG_STEP)
        slopes = [np.column_stack((here, found.slopes[-1] * (after - here)[:, -1] / _LAG_STEP))
                  for here, after in zip(found.tables, later.tables, strict=True)]
    every = np.concatenate(slopes)
    variance = max(found.cost / len(every), _EXACT)
    white, covariance = corrected_covariance(
        every.T @ every / variance, [one[:, None] for one in found.residuals],
        [one[:, None] for one in slopes], np.array([variance]),
        steps=[float(np.median(np.diff(motion.times))) for motion in motions])
    for other in others:
        change = np.zeros(len(covariance))
        change[:len(names)] = _solved(form, other, coefficient, lag).slopes - found.slopes
        covariance = covariance + np.outer(change, change)
    correction = np.sqrt(np.diag(covariance) / np.maximum(np.diag(white), 1e-300))
    if late is not None:
        terms = unsteady(
            found.slopes[None], _tables(form, motions, coefficient, lag),
            [motion.times for motion in motions], late,
            _VARIES_ALONG if coefficient == 'C_D' else VARIES)
        change = white @ every.T @ np.concatenate([
            one[:, 0] - one[:, 0].mean(axis=0) for one in terms]) / variance
        covariance = covariance + change @ change.T
    deviations = np.sqrt(np.diag(covariance))
    controls = [at for at, name in enumerate(names)
            if name in form.controls and Derivative(coefficient, name) not in form.omitted]
    derivatives = [Derivative(coefficient, names[at]) for at in controls]
    estimates = {Derivative(coefficient, name): Estimate(float(slope), float(deviation))
                 for name, slope, deviation in zip(names, found.slopes, deviations, strict=False)}
    return _Part(
        {name: estimates[name] for name in derivatives},
        {name: one for name, one in estimates.items() if name not in derivatives},
        covariance[np.ix_(controls, controls)],
        {name: float(correction[at]) for name, at in zip(derivatives, controls, strict=True)},
        float(deviations[-1]) if THROTTLE in form.controls else 0.0, found)


def _solved(
    form: ModelStructure, motions: Sequence[CheckedManoeuvre], coefficient: str, lag: float
) -> _Solved:
    tables = _tables(form, motions, coefficient, lag)
    sides = [_coefficient(one, coefficient) for one in motions]
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


def _names(form: ModelStructure, coefficient: str) -> tuple[str, ...]:
    """Return what a coefficient is regressed on; the throttle, if it was moved, is the last."""
    drags = coefficient == 'C_D' and 'elevator' in form.controls
    return (*_OTHERS, *((_EITHER_WAY,) if drags else ()), *form.controls)


def _tables(
    form: ModelStructure, motions: Sequence[CheckedManoeuvre], coefficient: str, lag: float
) -> list[Array]:
    tables = [np.stack([_regressor(motion, name, lag) for name in _names(form, coefficient)],
                       axis=1) for motion in motions]
    # As what they are compared with: the slopes of straight lines through parts of the pitch rate.
    return ([smoothed(motion, table) for motion, table in zip(motions, tables, strict=True)]
            if coefficient == 'C_m' else tables)


def _regressor(motion: CheckedManoeuvre, name: str, lag: float) -> Array:
    if name == 'true_airspeed':
        found: Array = np.log(motion[name])
        return found
    if name == THROTTLE:
        if THROTTLE not in motion.flight.values:
            return np.zeros(len(motion.times))
        return _lagged(motion.times, motion[name], lag)
    if name == _EITHER_WAY:
        # From where it is neutral, and not from where it began.
        return np.abs(motion['elevator'])
    return motion[name] * motion.scale(name)


def _lagged(times: Array, values: Array, lag: float) -> Array:
    """Return values behind both lags of first order (s), which were at rest at the first time."""
    from scipy import signal
    step = float(times[-1] - times[0]) / (len(times) - 1)
    kept = float(np.exp(-step / lag)) if lag > 0.0 else 0.0
    found = values
    for _ in range(_LAGS):
        found = values[0] + signal.lfilter([1.0 - kept], [1.0, -kept], found - values[0])
    return found


def _coefficient(motion: CheckedManoeuvre, coefficient: str) -> Array:
    """Return a coefficient at each time; C_D is that of drag less thrust."""
    if coefficient == 'C_D':
        found: Array = (
            -motion.airframe.mass * motion.path_force(motion.flight) / motion.pressure_area)
        return found
    return coefficients(LONGITUDINAL, motion)[:, LONGITUDINAL.coefficients.index(coefficient)]
