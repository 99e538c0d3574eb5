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
Equation error: the coefficients at each time, regressed on states and controls.

Least squares of C_L, C_m and so on, which follow from specific forces and angular accelerations.
Noise in the regressors biases it, so it is only the start of the output error; but it shows
whether the data can tell the derivatives from each other. Klein and Morelli, Aircraft System
Identification, AIAA 2006, chapter 5 and section 5.6 on collinearity.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from xplane_bridge.common.controls import FLOWN
from xplane_bridge.laboratory.identification.motion.equations import (
    CheckedManoeuvre,
    Derivative,
    held_control,
    inverse_inertia,
    LATERAL,
    LONGITUDINAL,
    MAGNITUDE,
    middles,
    ModelStructure,
    system,
    WHOLE,
)
from xplane_bridge.laboratory.identification.motion.signals import Array

CORRELATED = 0.95
"""Two regressors that are so much alike cannot be told apart in practice (the book's 0.9)."""
CONDITION = 50.0
"""The condition number of the regressors, each of unit length, above which they are collinear."""
FOLLOWS = 0.965
"""A control of whose variance states and attitude explain more is a controller's."""

# What a controller answers to beside the states.
_ATTITUDES = {LONGITUDINAL.name: 'pitch', LATERAL.name: 'roll'}
# An angular acceleration is the slope of a straight line through so many seconds of a rate.
_SMOOTHED = 0.15
# Regressors at so few times show nothing.
_LEAST_SAMPLES = 30


class Collinearity(NamedTuple):
    """
    The condition number of the regressors, and the two most alike with their correlation.

    ``follows`` is the control that follows the states most, and the part of it that they explain.
    """

    condition: float
    pair: tuple[str, str]
    correlation: float
    follows: tuple[str, float] = ('', 0.0)

    @property
    def is_too_much(self) -> bool:
        """Return whether derivatives cannot be told apart."""
        return self.condition > CONDITION or abs(self.correlation) > CORRELATED


NO_COLLINEARITY = Collinearity(1.0, ('', ''), 0.0)


class Regression(NamedTuple):
    """The derivatives by least squares, and how much alike their regressors are."""

    derivatives: Mapping[Derivative, float]
    constants: Sequence[Array]
    collinearity: Collinearity


def equation_error(
    form: ModelStructure, motions: Sequence[CheckedManoeuvre], delay: float = 0.0
) -> Regression:
    """Return the derivatives that fit all manoeuvres; each has constants of its own (c,)."""
    names = (*form.states, *form.controls)
    tables, sides = [], []
    for motion in motions:
        tables.append(np.stack([regressor(motion, name, form, delay) for name in names], axis=1))
        sides.append(coefficients(form, motion))
    means = [table.mean(axis=0) for table in tables]
    table = np.concatenate([one - mean for one, mean in zip(tables, means, strict=True)])
    side = np.concatenate([one - one.mean(axis=0) for one in sides])
    slopes = np.linalg.lstsq(table, side, rcond=None)[0]
    found = {
        Derivative(coefficient, name): float(slopes[i, j])
        for j, coefficient in enumerate(form.coefficients) for i, name in enumerate(names)}
    constants = [
        one.mean(axis=0) - mean @ slopes for one, mean in zip(sides, means, strict=True)]
    return Regression(found, constants, collinearity(table, names)._replace(
        follows=_follows(form, motions)))


def regressor(motion: CheckedManoeuvre, name: str, form: ModelStructure, delay: float) -> Array:
    """Return what a coefficient is by: a state, reduced, or a control that acts late (s)."""
    if name not in form.controls or name not in (*FLOWN, *(f'{one}{MAGNITUDE}' for one in FLOWN)):
        return motion[name] * motion.scale(name)
    held = held_control(motion.times, motion.held(name), delay)
    # At a time: the mean of the intervals before and after it.
    found: Array = 0.5 * (np.append(held[:1], held) + np.append(held, held[-1:]))
    return found


def coefficients(form: ModelStructure, motion: CheckedManoeuvre, exactly: bool = False) -> Array:
    """
    Return the coefficients at each time, (n, c).

    ``exactly``: with the noise of all frequencies in the angular accelerations.
    """
    pressure, frame = motion.pressure_area, motion.airframe
    form = WHOLE[form.name]
    at = system(form, motion)
    if form.name == LONGITUDINAL.name:
        alpha = motion['angle_of_attack']
        lift = motion['specific_force_x'] * np.sin(alpha) - (
            motion['specific_force_z'] * np.cos(alpha))
        moment = (_slope(motion, 'pitch_rate', exactly) - at.e[:, 1]) / at.k[:, 1, 1]
        return np.stack((lift / at.f, moment), axis=1)
    accelerations = np.stack([_slope(motion, name, exactly) for name in form.states[1:]], axis=1)
    moments = (accelerations - at.e[:, 1:]) @ np.linalg.inv(inverse_inertia(frame)).T
    return np.concatenate((
        (motion['specific_force_y'] / at.f)[:, None],
        moments / (pressure * frame.wing_span)[:, None]), axis=1)


def _slope(motion: CheckedManoeuvre, name: str, exactly: bool) -> Array:
    """
    Return the derivative of a signal by time: the slopes of straight lines through parts.

    ``exactly``: of fourth order, through five samples.
    """
    times = motion.times
    step, half = _step_and_half(times)
    half = 2 if exactly else half
    even = np.interp(times[0] + step * np.arange(len(times)), times, motion[name])
    kernel = (np.array([-1.0, 8.0, 0.0, -8.0, 1.0]) / (12.0 * step) if exactly else
              np.arange(half, -half - 1, -1) / (step * np.sum(np.arange(-half, half + 1) ** 2)))
    found: Array = np.convolve(
        np.pad(even, half, mode='reflect', reflect_type='odd'), kernel, mode='valid')
    return found


def smoothed(motion: CheckedManoeuvre, table: Array) -> Array:
    """
    Return regressors (n, r) as smooth as an angular acceleration is that was not taken exactly.

    The slope of a straight line through samples is a mean of the slopes between them, weighted
    by a parabola. Without the same of the regressors all slopes would be too small.
    """
    _, half = _step_and_half(motion.times)
    far = np.arange(-half, half) + 0.5
    kernel = half * (half + 1.0) - (far ** 2 - 0.25)
    padded = np.pad(middles(table), ((half, half), (0, 0)), mode='reflect', reflect_type='odd')
    found: Array = np.stack([
        np.convolve(one, kernel / kernel.sum(), mode='valid') for one in padded.T], axis=1)
    return found


def _step_and_half(times: Array) -> tuple[float, int]:
    """Return the mean step, and how many samples are on each side of a slope."""
    step = float(times[-1] - times[0]) / (len(times) - 1)
    return step, max(2, round(_SMOOTHED / step / 2.0))


def _follows(form: ModelStructure, motions: Sequence[CheckedManoeuvre]) -> tuple[str, float]:
    """Return the control that follows states and attitude most, and the part that these are."""
    def centred(name: str) -> Array:
        return np.concatenate([motion[name] - motion[name].mean() for motion in motions])

    every = WHOLE[form.name]
    states = np.stack([centred(name) for name in (*every.states, _ATTITUDES[form.name])], axis=1)
    found = {'': 0.0}
    for name in every.controls:
        control = centred(name)
        left = control - states @ np.linalg.lstsq(states, control, rcond=None)[0]
        if (whole := float(control @ control)) > 0.0:
            found[name] = 1.0 - float(left @ left) / whole
    most = max(found, key=lambda one: found[one])
    return most, found[most]


def collinearity(table: Array, names: Sequence[str]) -> Collinearity:
    """Return how much alike regressors are: the columns of a table, each without its mean."""
    lengths = np.linalg.norm(table, axis=0)
    if len(table) < _LEAST_SAMPLES or not lengths.all():
        still = names[int(np.argmin(lengths))]
        return Collinearity(np.inf, (still, still), 1.0)
    unit = table / lengths
    alike = unit.T @ unit
    np.fill_diagonal(alike, 0.0)
    i, j = divmod(int(np.argmax(np.abs(alike))), len(names))
    return Collinearity(
        float(np.linalg.cond(unit)), (names[i], names[j]), float(alike[i, j]))
