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
What the derivatives of an identification say of small disturbances: a linear model, and its modes.

It is that of steady level flight at the manoeuvres' mean speed and density. The airspeed is taken
as constant, since derivatives by it are not estimated: there is no phugoid.
"""

from __future__ import annotations

from collections.abc import Mapping
import math
from typing import NamedTuple

import numpy as np

from xplane_bridge.aircraft.studies.modes import (
    DUTCH_ROLL,
    levels,
    modes_of,
    ROLL,
    ROLL_SPIRAL,
    SHORT_PERIOD,
    SPIRAL,
)
from xplane_bridge.common.units import STANDARD_GRAVITY
from xplane_bridge.control.tuning.linear_model import LinearModel, Signal
from xplane_bridge.identification.airframe import Airframe
from xplane_bridge.identification.equations import (
    Derivative,
    Form,
    inverse_inertia,
    LONGITUDINAL,
    MAGNITUDE,
    RATES,
)
from xplane_bridge.identification.estimation.output_error import Estimate
from xplane_bridge.identification.identify import Identified
from xplane_bridge.identification.signals import Array

# The states beside those of the form, which follow from kinematics.
_ATTITUDE = {'longitudinal': 'pitch', 'lateral': 'roll'}
_UNITS = {'angle_of_attack': 'rad', 'sideslip': 'rad', 'pitch': 'rad', 'roll': 'rad',
          'pitch_rate': 'rad/s', 'roll_rate': 'rad/s', 'yaw_rate': 'rad/s'}

# What is said of each mode, with its unit. A slow spiral may converge or diverge: its growth is
# finite both ways, and its time to double is not.
_FIGURES: Mapping[str, Mapping[str, str]] = {
    SHORT_PERIOD: {'frequency': 'rad/s', 'damping': ''},
    DUTCH_ROLL: {'frequency': 'rad/s', 'damping': ''},
    ROLL_SPIRAL: {'frequency': 'rad/s', 'damping': ''},
    ROLL: {'time_constant': 's'},
    SPIRAL: {'growth': '1/s'},
}
# The standard atmosphere: density at sea level (kg/m^3), and how it falls with altitude (m).
_SEA_LEVEL, _LAPSE, _EXPONENT = 1.225, 2.25577e-5, 4.25588
# A step of a derivative for the slopes of the modes' figures, as a part of its deviation.
_STEP = 0.01

Slopes = Mapping[Derivative, float]


class Flown(NamedTuple):
    """Steady level flight: airframe, true airspeed (m/s), density (kg/m^3), angle of attack."""

    airframe: Airframe
    true_airspeed: float
    density: float
    angle_of_attack: float

    @property
    def force(self) -> float:
        """Return dynamic pressure times wing area, N."""
        return 0.5 * self.density * self.true_airspeed ** 2 * self.airframe.wing_area


class FigureOfMode(NamedTuple):
    """A figure of a mode, such as its damping: the estimate, and its unit."""

    estimate: Estimate
    unit: str


class EstimatedModes(NamedTuple):
    """The figures of each mode by its name, and its level by MIL-F-8785C."""

    figures: Mapping[str, Mapping[str, FigureOfMode]]
    levels: Mapping[str, int]


def altitude_and_airspeed(true_airspeed: float, density: float) -> tuple[float, float]:
    """Return the altitude (m) of a density in the standard atmosphere, and the airspeed (m/s)."""
    return ((1.0 - (density / _SEA_LEVEL) ** (1.0 / _EXPONENT)) / _LAPSE,
            true_airspeed * math.sqrt(density / _SEA_LEVEL))


def flown(found: Identified) -> Flown:
    """Return the mean flight condition of the manoeuvres of a form."""
    def mean(name: str) -> float:
        return float(np.concatenate([motion[name] for motion in found.motions]).mean())

    return Flown(found.motions[0].airframe, mean('true_airspeed'), mean('density'),
                 mean('angle_of_attack'))


def linear_model(form: Form, slopes: Slopes, at: Flown, name: str = '') -> LinearModel:
    """
    Return the linear model of a form's derivatives; of controls' magnitudes there is none.

    Its states are the form's and pitch or roll, its outputs these and the specific force z or y.
    """
    states = (*form.states[:1], _ATTITUDE[form.name], *form.states[1:])
    controls = tuple(one for one in form.controls if not one.endswith(MAGNITUDE))
    c = np.array([[slopes[Derivative(coefficient, regressor)] * (
        at.airframe.length(regressor) / (2.0 * at.true_airspeed) if regressor in RATES else 1.0)
        for regressor in (*form.states, *controls)] for coefficient in form.coefficients])
    longitudinal = form.name == LONGITUDINAL.name
    rows, force = (_longitudinal if longitudinal else _lateral)(at, c)
    # The regressors are the form's states and then the controls; the attitude is put between.
    a = np.insert(rows[:, :len(form.states)], 1, _by_attitude(longitudinal, at), axis=1)
    b = rows[:, len(form.states):]
    outputs = np.eye(len(states))
    named = tuple(
        Signal(one, _UNITS[one], at.angle_of_attack if one in ('angle_of_attack', 'pitch') else 0.0)
        for one in states)
    axis = Signal('specific_force_z', 'm/s2', -STANDARD_GRAVITY * math.cos(at.angle_of_attack)
                  ) if longitudinal else Signal('specific_force_y', 'm/s2', 0.0)
    return LinearModel(
        name, 'identified', *altitude_and_airspeed(at.true_airspeed, at.density), named,
        tuple(Signal(one, 'ratio', 0.0) for one in controls), (*named, axis), a, b,
        np.vstack((outputs, np.insert(force[:len(form.states)], 1, 0.0))),
        np.vstack((np.zeros((len(states), len(controls))), force[len(form.states):])))


def whole_model(forms: Mapping[str, Identified], name: str = '') -> LinearModel:
    """Return the linear model of all forms that were identified, at least one, side by side."""
    models = [linear_model(one.fit.form, {
        derivative: estimate.value for derivative, estimate in one.fit.derivatives.items()},
        flown(one), name) for one in forms.values()]
    first = models[0]

    def beside(matrix: str) -> Array:
        parts = [getattr(one, matrix) for one in models]
        found = np.zeros(np.sum([one.shape for one in parts], axis=0))
        row = column = 0
        for one in parts:
            found[row:row + one.shape[0], column:column + one.shape[1]] = one
            row, column = row + one.shape[0], column + one.shape[1]
        return found

    def every(kind: str) -> tuple[Signal, ...]:
        return tuple(signal for one in models for signal in getattr(one, kind))

    return LinearModel(
        name, first.method, first.altitude_msl, first.airspeed, every('states'), every('inputs'),
        every('outputs'), beside('a'), beside('b'), beside('c'), beside('d'))


def _longitudinal(at: Flown, c: Array) -> tuple[Array, Array]:
    """Return the slopes of d(alpha, pitch, q)/dt and of the specific force z by the regressors."""
    frame = at.airframe
    lift = at.force / frame.mass * c[0]
    alpha = -lift / at.true_airspeed
    alpha[1] += 1.0
    kinematic = np.zeros_like(alpha)
    kinematic[1] = 1.0
    return (np.stack((alpha, kinematic, at.force * frame.chord / frame.i_yy * c[1])),
            -lift * math.cos(at.angle_of_attack))


def _lateral(at: Flown, c: Array) -> tuple[Array, Array]:
    """Return the slopes of d(beta, roll, p, r)/dt and of the specific force y."""
    frame = at.airframe
    side = at.force / frame.mass * c[0]
    sine, cosine = math.sin(at.angle_of_attack), math.cos(at.angle_of_attack)
    beta = side / at.true_airspeed
    beta[1:3] += sine, -cosine
    kinematic = np.zeros_like(beta)
    kinematic[1:3] = 1.0, sine / cosine
    turned = at.force * frame.wing_span * inverse_inertia(frame) @ c[1:]
    return np.vstack((beta, kinematic, turned)), side


def _by_attitude(longitudinal: bool, at: Flown) -> Array:
    """Return the slopes of the states' derivatives by pitch, none in level flight, or roll."""
    if longitudinal:
        return np.zeros(3)
    return np.array((STANDARD_GRAVITY * math.cos(at.angle_of_attack) / at.true_airspeed,
                     0.0, 0.0, 0.0))


def estimated_modes(found: Identified) -> EstimatedModes:
    """
    Return the modes of a form with their bounds: those of the derivatives, to first order.

    Levels are of class I, category B.
    """
    form, fit, at = found.fit.form, found.fit, flown(found)
    values = {one: estimate.value for one, estimate in fit.derivatives.items()}
    modes = modes_of(linear_model(form, values, at))
    nominal = _figures(form, values, at)
    steps = [_STEP * one.deviation for one in fit.derivatives.values()]
    rows = {key: np.zeros(len(steps)) for key in nominal}
    for number, (derivative, step) in enumerate(zip(values, steps, strict=True)):
        if step > 0.0:
            moved = _figures(form, {**values, derivative: values[derivative] + step}, at)
            for key, value in nominal.items():
                # Where it has become another mode, nothing is known of it.
                rows[key][number] = (moved.get(key, math.inf) - value) / step
    figures: dict[str, dict[str, FigureOfMode]] = {}
    for (name, figure), value in nominal.items():
        row = rows[name, figure]
        deviation = math.sqrt(max(float(row @ fit.covariance @ row), 0.0)) if (
            np.isfinite(row).all()) else math.inf
        figures.setdefault(name, {})[figure] = FigureOfMode(
            Estimate(value, deviation), _FIGURES[name][figure])
    return EstimatedModes(figures, levels(modes))


def known_modes(found: Identified, truth: Slopes) -> Mapping[tuple[str, str], float]:
    """Return the figures of an aircraft whose derivatives are known, by mode and figure."""
    form = found.fit.form
    return _figures(form, {**dict.fromkeys(form.derivatives, 0.0), **truth}, flown(found))


def _figures(form: Form, slopes: Slopes, at: Flown) -> dict[tuple[str, str], float]:
    modes = modes_of(linear_model(form, slopes, at)).modes
    return {(name, figure): getattr(mode, figure) for name, mode in modes.items()
            for figure in _FIGURES[name]}
