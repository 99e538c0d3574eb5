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
Output error: the maximum likelihood estimate of the derivatives, with its bounds.

The equations of motion are flown through with trial derivatives, and the outputs compared with
those measured, weighted by the variance of the residuals, which is estimated as well. Klein and
Morelli, Aircraft System Identification, AIAA 2006, chapter 6; Jategaonkar, Flight Vehicle System
Identification, 2nd ed., AIAA 2015, chapter 4.

The controls may act later than they are reported: that delay is a parameter. Where it is certain,
so is a time constant with which surfaces follow their commands, if that explains the motion
better. Each manoeuvre has constants (C_L_0 ...) and an initial state of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from xplane_bridge.common.controls import FLOWN
from xplane_bridge.laboratory.identification.estimation.bounds import corrected_covariance
from xplane_bridge.laboratory.identification.estimation.equation_error import (
    NO_COLLINEARITY,
    Regression,
)
from xplane_bridge.laboratory.identification.motion.equations import (
    as_simulated,
    CheckedManoeuvre,
    CROSS,
    Derivative,
    flowing,
    following,
    held_control,
    MAGNITUDE,
    middles,
    ModelStructure,
    propagators,
    RATES,
    system,
)
from xplane_bridge.laboratory.identification.motion.signals import Array, IdentificationError, Mask

# What a linear model with simultaneous signals leaves out, as the steady part of its bounds.
#
# Noise averages out over a flight, and so do bounds that are made of it. A slope that is not the
# same at all deflections does not, nor does a signal that is a step of a simulator older than
# another one in the same row, nor what an airspeed that changes does beside the dynamic pressure:
# they make the same error each time. They are taken as unknown, of these sizes, and what they
# would change in the estimate is added to its covariance. Maine and Iliff, Application of
# Parameter Estimation to Aircraft Stability and Control, NASA RP-1168 (1986): bounds by noise
# alone are too small, several times.

VARIES = 0.006
"""By this part a slope is another one at the largest deviation flown: a standard deviation."""

BY_SPEED: Mapping[str, float] = {'C_L': 0.03, 'C_m': 0.02}
"""By so much a coefficient changes by the logarithm of the airspeed: a standard deviation."""

KINDS = 3
"""Terms of each slope: one that is the same both ways, one that is not, and a lag."""


def unsteady(
    slopes: Array, regressors: Sequence[Array], times: Sequence[Array], late: float | Array,
    varies: float = VARIES,
) -> list[Array]:
    """
    Return what each slope may make otherwise, in each manoeuvre (n, c, KINDS * r).

    slopes (c, r) are those of c coefficients by r regressors, these are (n, r) in each manoeuvre
    at ``times`` (n,). Regressors may be so ``late`` (s) against one another, in all manoeuvres or
    in each, and slopes vary by the part ``varies``.
    """
    deviations = [one - one[0] for one in regressors]
    most = np.maximum(np.max([np.abs(one).max(axis=0) for one in deviations], axis=0), 1e-12)
    found = []
    for one, at, lag in zip(
            deviations, times, np.broadcast_to(late, len(times)), strict=True):
        terms = np.concatenate((
            varies * one * np.abs(one) / most, varies * one ** 2 / most,
            lag * np.gradient(one, at, axis=0)), axis=1)
        found.append(terms[:, None] * np.tile(slopes, KINDS))
    return found


_MOST_STEPS = 30
_CONVERGED = 1e-4
# Of a parameter's size, or of what is usual where it is zero: the step of the sensitivities.
_STEP = 1e-4
_DAMPING, _MOST_DAMPING = 1e-4, 1e8
# Steps in which the constants and initial states of other manoeuvres are found.
_OWN_STEPS = 4
# No sensor is better than that: a millionth of the unit, squared.
_EXACT = 1e-12
# Seconds that controls may be late by, and the time constant of what moves them.
_LATEST = 0.3
# Surfaces follow their commands if the delay, and then the time constant, are so many standard
# deviations, and if that is more likely by so much (the logarithm). Coloured residuals count as
# more samples than they are.
_LATE, _LIKELIER = 4.0, 20.0


class Estimate(NamedTuple):
    """A value and the standard deviation of it."""

    value: float
    deviation: float

    @property
    def bound(self) -> float:
        """Return the standard deviation as a part of the value."""
        return self.deviation / abs(self.value) if self.value else np.inf


@dataclass(frozen=True)
class Fit:
    """
    What was estimated of a form: its derivatives and the ``delay`` of its controls (s).

    ``lag`` is the time constant with which surfaces follow their commands (s), 0 if none is seen.
    ``constants`` (c,) and ``initial`` (s,) are those of each manoeuvre; ``outputs`` (n, outputs)
    what the estimate gives, ``residuals`` measured minus that, NaN where nothing was measured.
    ``covariance`` is that of the derivatives, in their order. ``whiteness`` is the correction of
    the bounds: corrected over uncorrected, of each derivative. ``beside`` are derivatives by other
    forms' surfaces: they are accounted for, and so much of them is seen, but not told.
    """

    form: ModelStructure
    derivatives: Mapping[Derivative, Estimate]
    covariance: Array
    delay: Estimate
    constants: Sequence[Array]
    initial: Sequence[Array]
    outputs: Sequence[Array]
    residuals: Sequence[Array]
    whiteness: Mapping[Derivative, float]
    beside: Mapping[Derivative, Estimate] = field(default_factory=dict)
    lag: Estimate = Estimate(0.0, 0.0)


class _Window:
    """One manoeuvre: its equations between the samples, and what was measured."""

    def __init__(self, form: ModelStructure, motion: CheckedManoeuvre, step: float) -> None:
        at = system(form, motion)
        self.form, self.times, self.step = form, motion.times, step
        self.steps = np.diff(motion.times)
        self.n, self.k, self.e = middles(at.n), middles(at.k), middles(at.e)
        self.substeps = round(float(np.median(self.steps)) / step) if step else 0
        self.f = at.f
        self.has_flow = form.states[0] not in RATES
        self.acts = [name in FLOWN or name.endswith(MAGNITUDE) for name in form.controls]
        self.scales = np.stack([motion.scale(name) for name in form.states], axis=1)
        self.controls = [motion[name] for name in form.controls]
        self.held = [motion.held(name) for name in form.controls]
        self.measured = np.stack([motion.output(form, name) for name in form.outputs], axis=1)
        self.starts = np.array([motion[name][0] for name in form.states])
        self.regressors = np.stack([motion[name] for name in (
            *form.states, *form.controls)], axis=1)
        self.regressors[:, :len(form.states)] *= self.scales
        speed = np.log(motion['true_airspeed'])
        self.by_speed = (speed - speed[0])[:, None] * [
            BY_SPEED.get(coefficient, 0.0) for coefficient in form.coefficients]

    def outputs(self, slopes: Array, constants: Array, initial: Array, timing: Array,
                more: Array | None = None) -> Array:
        """
        Return the outputs (n, batch, outputs) of a batch of parameters.

        slopes (batch, c, s + controls), constants (batch, c), initial (batch, s), timing
        (batch, 2): delay and time constant of the controls. ``more`` (n, batch, c) is added to the
        coefficients.
        """
        states = len(self.form.states)
        of_states, of_controls = slopes[..., :states], slopes[..., states:]
        # A simulator's motion follows its forces one step later; all of its steps, in order.
        parts = max(self.substeps, 1)
        held = self._controls(
            self.held, timing,
            lambda one, delay, lag: held_control(
                self.times, one, delay + self.step, parts, lag),
            lambda one: flowing(self.times, one, self.step, parts))
        a = np.einsum('tsc,pcj,tj->tpsj', self.k, of_states, middles(self.scales), optimize=True)
        c = constants + np.einsum('pcu,tpu->tpc', of_controls, held)
        if more is not None:
            c = c + np.repeat(middles(more), parts, axis=0)
        driven = np.einsum('tsc,tipc->tips', self.k, c.reshape(
            len(self.steps), parts, *c.shape[1:]), optimize=True)
        if self.substeps:
            across, pushed = as_simulated(
                a, driven, self.n, self.e, self.steps, self.has_flow)
            if self.has_flow:
                initial = np.concatenate((initial, np.einsum(
                    'pj,pj->p', a[0, :, 0], initial)[:, None] + driven[0, 0, :, :1]), axis=1)
        else:
            across, integral = propagators(a + self.n[:, None], self.steps[:, None, None, None])
            pushed = (integral @ (driven[:, 0] + self.e[:, None])[..., None])[..., 0]
        x = np.empty((len(self.times), *initial.shape, 1))
        x[0] = initial[..., None]
        for at, push in enumerate(pushed[..., None]):
            np.matmul(across[at], x[at], out=x[at + 1])
            x[at + 1] += push
        found = x[..., :states, 0]
        acting = self._controls(
            self.controls, timing, self._acting,
            lambda one: one)
        force = self.f[:, None] * (
            constants[:, 0] + np.einsum('pj,tj,tpj->tp', of_states[:, 0], self.scales, found)
            + np.einsum('pu,tpu->tp', of_controls[:, 0], acting)
            + (0.0 if more is None else more[..., 0]))
        return np.concatenate((found, force[..., None]), axis=-1)

    def _acting(self, control: Array, delay: float, lag: float) -> Array:
        """Return a control at the times, as it acts."""
        at = self.times - delay
        if lag > 0.0:
            # What follows in steps is on the mean half a step behind.
            return following(self.times, control, at - 0.5 * self.step, lag)
        found: Array = np.interp(at, self.times, control)
        return found

    def _controls(self, controls: Sequence[Array], timing: Array,
                  of: Callable[[Array, float, float], Array],
                  of_flow: Callable[[Array], Array]) -> Array:
        """Return the controls for each timing (n, batch, controls); the flow is never late."""
        each = [(delay, lag) for delay, lag in timing.tolist()]
        late = {one: [of(control, *one) if acts else of_flow(control)
                      for control, acts in zip(controls, self.acts, strict=True)]
                for one in set(each)}
        return np.array([late[one] for one in each]).transpose(2, 0, 1)


class _Problem:
    """All manoeuvres of a form, and the parameters as one vector."""

    def __init__(
        self, form: ModelStructure, motions: Sequence[CheckedManoeuvre], step: float,
        lags: bool = False,
    ) -> None:
        self.form, self.lags = form, lags
        self.windows = [_Window(form, motion, step) for motion in motions]
        self.slopes = len(form.derivatives)
        # After the slopes are the delay and the time constant of the controls.
        self.timing = slice(self.slopes, self.slopes + 2)
        self.fixed = [at for at, name in enumerate(form.derivatives) if name in form.omitted]
        if not lags:
            self.fixed.append(self.slopes + 1)
        c = len(form.coefficients)
        self.own: list[slice] = []
        at = self.timing.stop
        for window in self.windows:
            self.own.append(slice(at, at + c + len(window.starts)))
            at = self.own[-1].stop
        self.size = at

    def first(self, start: Regression, delay: float, lag: float = 0.0) -> Array:
        """Return the parameters of a regression."""
        theta = np.zeros(self.size)
        theta[:self.slopes] = [
            start.derivatives.get(name, 0.0) for name in self.form.derivatives]
        theta[self.fixed] = 0.0
        theta[self.timing] = delay, lag
        for window, own, constants in zip(self.windows, self.own, start.constants, strict=True):
            theta[own] = [*constants, *window.starts]
        return theta

    def moved(self, other: _Problem, theta: Array) -> Array:
        """Return the other's parameters, with the initial states as far off as these are there."""
        found, c = theta.copy(), len(self.form.coefficients)
        for mine, its, own in zip(self.windows, other.windows, self.own, strict=True):
            found[own.start + c:own.stop] += mine.starts - its.starts
        return found

    def outputs(self, at: int, thetas: Array) -> Array:
        """Return the outputs (n, batch, outputs) of a manoeuvre."""
        c, own = len(self.form.coefficients), thetas[:, self.own[at]]
        return self.windows[at].outputs(
            thetas[:, :self.slopes].reshape(len(thetas), c, -1), own[:, :c], own[:, c:],
            thetas[:, self.timing])

    def every_output(self, theta: Array) -> list[Array]:
        """Return the outputs (n, outputs) of each manoeuvre."""
        return [self.outputs(at, theta[None])[:, 0] for at in range(len(self.windows))]

    def changed(self, theta: Array, late: float | Array) -> list[Array]:
        """Return by how much the outputs of each manoeuvre (n, outputs, changes) may be others."""
        slopes = theta[:self.slopes].reshape(len(self.form.coefficients), -1)
        found = []
        for at, (window, terms) in enumerate(zip(self.windows, unsteady(
                slopes, [one.regressors for one in self.windows],
                [one.times for one in self.windows], late), strict=True)):
            c, own = len(self.form.coefficients), theta[self.own[at]]
            terms = np.concatenate((terms, window.by_speed[..., None]), axis=2)
            # In each only one coefficient is another one.
            more = np.concatenate([
                terms[:, coefficient, :, None] * np.eye(c)[coefficient]
                for coefficient in range(c)], axis=1)
            more = np.concatenate((np.zeros_like(more[:, :1]), more), axis=1)
            both = window.outputs(
                slopes[None], own[None, :c], np.repeat(own[None, c:], more.shape[1], axis=0),
                theta[self.timing][None], more)
            found.append((both[:, 1:] - both[:, :1]).transpose(0, 2, 1))
        return found

    def residuals(self, theta: Array) -> list[Array]:
        """Return measured minus estimated of each manoeuvre (n, outputs)."""
        return [window.measured - one for window, one in zip(
            self.windows, self.every_output(theta), strict=True)]

    def sensitivities(self, theta: Array) -> tuple[list[Array], list[Array]]:
        """Return residuals, and the outputs' slopes (n, outputs, parameters)."""
        residuals, found = [], []
        steps = _STEP * np.maximum(np.abs(theta), self._usual())
        for at, window in enumerate(self.windows):
            used = [*range(self.timing.stop), *range(*self.own[at].indices(self.size))]
            thetas = np.repeat(theta[None], len(used) + 1, axis=0)
            thetas[np.arange(len(used)) + 1, used] += steps[used]
            outputs = self.outputs(at, thetas)
            slopes = np.zeros((len(window.times), len(self.form.outputs), self.size))
            slopes[..., used] = (
                (outputs[:, 1:] - outputs[:, :1]) / steps[used][:, None]).transpose(0, 2, 1)
            slopes[..., self.fixed] = 0.0
            residuals.append(window.measured - outputs[:, 0])
            found.append(slopes)
        return residuals, found

    def _usual(self) -> Array:
        """Return what a parameter's size is at least, for its step."""
        usual = np.full(self.size, 0.01)
        usual[self.slopes] = 0.05
        return usual


def output_error(
    form: ModelStructure, motions: Sequence[CheckedManoeuvre], start: Regression,
    step: float = 0.0,
    others: Sequence[Sequence[CheckedManoeuvre]] = (), late: float | Array | None = None,
) -> Fit:
    """
    Return the maximum likelihood estimate of the derivatives of a form.

    ``step``: of the simulator whose flight it was (s), 0 for a real aircraft. ``others`` are the
    same manoeuvres if sensors err otherwise, each by a standard deviation: how the estimate would
    change is part of its bounds. So is what the model leaves out, unless ``late`` is None: slopes
    that are not constant, and signals that are so late (s) against each other, in all manoeuvres
    or in each; see above.
    Raises IdentificationError where the search does not converge.
    """
    problem = _Problem(form, motions, step)
    theta, residuals, slopes = _searched(problem, problem.first(start, 0.0))
    if _is_certain(theta, residuals, slopes, problem.timing.start):
        # To first order, delay and time constant together are that delay.
        lagging = _Problem(form, motions, step, lags=True)
        begun = theta.copy()
        begun[lagging.timing] = 0.5 * theta[problem.timing.start]
        try:
            found = _searched(lagging, begun)
        except IdentificationError:
            # A motion that such a model does not describe is described by the other one.
            found = None
        if found and _is_certain(*found, lagging.timing.start + 1) and (
                _cost(residuals) - _cost(found[1]) > _LIKELIER):
            problem, (theta, residuals, slopes) = lagging, found
    return _fit(problem, theta, residuals, slopes, [
        _Problem(form, other, step, problem.lags) for other in others], late)


def _is_certain(theta: Array, residuals: list[Array], slopes: list[Array], at: int) -> bool:
    """Return whether a parameter is certainly above 0."""
    information, _ = _normal(residuals, slopes, _variances(residuals))
    variance = np.linalg.pinv(information, hermitian=True)[at, at]
    return bool(theta[at] > _LATE * np.sqrt(variance))


def _searched(problem: _Problem, theta: Array) -> tuple[Array, list[Array], list[Array]]:
    """Return the most likely parameters, with residuals and slopes there."""
    damping = _DAMPING
    residuals, slopes = problem.sensitivities(theta)
    cost = _cost(residuals)
    lowest = np.array([-_LATEST, 0.0])
    for _ in range(_MOST_STEPS):
        variances = _variances(residuals)
        information, gradient = _normal(residuals, slopes, variances)
        scale = np.sqrt(np.maximum(np.diag(information), 1e-300))
        hessian = information / np.outer(scale, scale)
        moved = False
        while damping < _MOST_DAMPING:
            change = np.linalg.solve(
                hessian + damping * np.eye(len(theta)), gradient / scale) / scale
            trial = theta + change
            trial[problem.timing] = np.clip(trial[problem.timing], lowest, _LATEST)
            attempt = problem.residuals(trial)
            reached = _cost(attempt)
            if reached <= cost + 1e-9 * abs(cost):
                moved = True
                break
            damping *= 10.0
        if not moved:
            break
        done = cost - reached < _CONVERGED * 1e-2 * max(1.0, abs(cost)) and bool(
            np.abs(change * scale).max() < 0.05)
        theta, cost, damping = trial, reached, max(damping * 0.1, 1e-12)
        residuals, slopes = problem.sensitivities(theta)
        if done:
            break
    else:
        raise IdentificationError(
            f'{problem.form.name}: the output error does not converge: the model does not '
            f'describe what was flown from {problem.windows[0].times[0]:.1f} s on')
    return theta, residuals, slopes


def _fit(
    problem: _Problem, theta: Array, residuals: list[Array], slopes: list[Array],
    others: Sequence[_Problem], late: float | Array | None,
) -> Fit:
    form, c = problem.form, len(problem.form.coefficients)
    variances = _variances(residuals)
    information, _ = _normal(residuals, slopes, variances)
    plain, covariance = corrected_covariance(
        information, residuals, slopes, variances,
        steps=[float(np.median(window.steps)) for window in problem.windows])
    for other in others:
        _, gradient = _normal(other.residuals(other.moved(problem, theta)), slopes, variances)
        change = plain @ gradient
        covariance = covariance + np.outer(change, change)
    correction = np.sqrt(np.diag(covariance) / np.maximum(np.diag(plain), 1e-300))
    if late is not None:
        change = plain @ _gradients(problem.changed(theta, late), slopes, residuals, variances)
        covariance = covariance + change @ change.T
    deviations = np.sqrt(np.diag(covariance))
    estimates = [Estimate(float(a), float(b)) for a, b in zip(theta, deviations, strict=True)]
    every = [at for at in range(problem.slopes) if at not in problem.fixed]
    free = [at for at in every if form.derivatives[at].regressor not in CROSS.get(form.name, ())]
    names = [form.derivatives[at] for at in free]
    return Fit(
        form, {name: estimates[at] for name, at in zip(names, free, strict=True)},
        covariance[np.ix_(free, free)], estimates[problem.slopes],
        [theta[own][:c] for own in problem.own], [theta[own][c:] for own in problem.own],
        problem.every_output(theta), residuals,
        {name: float(correction[at]) for name, at in zip(names, free, strict=True)},
        {form.derivatives[at]: estimates[at] for at in every if at not in free},
        estimates[problem.slopes + 1] if problem.lags else Estimate(0.0, 0.0))


def _known(residuals: list[Array]) -> list[Mask]:
    return [np.isfinite(one) for one in residuals]


def _variances(residuals: list[Array]) -> Array:
    """Return the variance of each output's residuals; infinite where nothing was measured."""
    every = np.concatenate(residuals)
    known = np.isfinite(every)
    counts = known.sum(axis=0)
    squares = np.where(known, every, 0.0) ** 2
    found: Array = np.where(
        counts > 0, np.maximum(squares.sum(axis=0) / np.maximum(counts, 1), _EXACT), np.inf)
    return found


def _cost(residuals: list[Array]) -> float:
    """Return the negative logarithm of the likelihood, with the variances that are best."""
    variances = _variances(residuals)
    counts = sum(known.sum(axis=0) for known in _known(residuals))
    measured = np.isfinite(variances)
    with np.errstate(over='ignore', invalid='ignore'):
        found = float(0.5 * (counts[measured] * np.log(variances[measured])).sum())
    return found if np.isfinite(found) else np.inf


def _normal(
    residuals: list[Array], slopes: list[Array], variances: Array
) -> tuple[Array, Array]:
    """Return the information matrix and the gradient."""
    size = slopes[0].shape[-1]
    information, gradient = np.zeros((size, size)), np.zeros(size)
    for residual, slope, known in zip(residuals, slopes, _known(residuals), strict=True):
        weighted = np.where(known, 1.0 / variances, 0.0)[..., None] * slope
        flat = slope.reshape(-1, size)
        information += weighted.reshape(-1, size).T @ flat
        gradient += weighted.reshape(-1, size).T @ np.where(known, residual, 0.0).ravel()
    return information, gradient


def _gradients(
    changes: list[Array], slopes: list[Array], residuals: list[Array], variances: Array
) -> Array:
    """Return the gradients (parameters, changes) by outputs that are others (n, outputs, ...)."""
    found = np.zeros((slopes[0].shape[-1], changes[0].shape[-1]))
    for change, slope, known in zip(changes, slopes, _known(residuals), strict=True):
        weighted = np.where(known, 1.0 / variances, 0.0)[..., None] * slope
        found += weighted.reshape(-1, len(found)).T @ change.reshape(-1, change.shape[-1])
    return found


def foretold(
    fit: Fit, motions: Sequence[CheckedManoeuvre], step: float = 0.0
) -> tuple[list[Array], list[Array]]:
    """
    Return what is measured in other manoeuvres, and what the model says of them (n, outputs) each.

    Only the constants and the initial states are those of these manoeuvres.
    """
    c = len(fit.form.coefficients)
    problem, theta = _adapted(
        fit, motions, step, [fit.constants[0][:c]] * len(motions))
    return [window.measured for window in problem.windows], problem.every_output(theta)


def refitted(fit: Fit, motions: Sequence[CheckedManoeuvre], step: float = 0.0) -> Fit:
    """Return a fit whose derivatives were changed, with constants and outputs that follow them."""
    problem, theta = _adapted(fit, motions, step, fit.constants)
    c, outputs = len(fit.form.coefficients), problem.every_output(theta)
    return replace(
        fit, constants=[theta[own][:c] for own in problem.own],
        initial=[theta[own][c:] for own in problem.own], outputs=outputs,
        residuals=[window.measured - one
                   for window, one in zip(problem.windows, outputs, strict=True)])


def _adapted(
    fit: Fit, motions: Sequence[CheckedManoeuvre], step: float, constants: Sequence[Array]
) -> tuple[_Problem, Array]:
    """Return parameters of which only constants and initial states are those of manoeuvres."""
    problem = _Problem(fit.form, motions, step, fit.lag.value > 0.0)
    derivatives = {name: one.value for name, one in {**fit.derivatives, **fit.beside}.items()}
    theta = problem.first(
        Regression(derivatives, constants, NO_COLLINEARITY), fit.delay.value, fit.lag.value)
    own = slice(problem.timing.stop, None)
    for _ in range(_OWN_STEPS):
        residuals, slopes = problem.sensitivities(theta)
        information, gradient = _normal(residuals, slopes, _variances(residuals))
        theta[own] += np.linalg.lstsq(information[own, own], gradient[own], rcond=None)[0]
    return problem, theta
