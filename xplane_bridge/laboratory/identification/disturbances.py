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

It is that of steady level flight at the manoeuvres' mean airspeed and density. Lift and moments
are taken as proportional to the dynamic pressure: C_L and C_m do not depend on the airspeed, as
far below the speed of sound, nor does a thrust line pitch the aircraft. Etkin and Reid, Dynamics
of Flight, chapter 4.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
import math
from typing import NamedTuple

import numpy as np

from xplane_bridge.bridges.conversions import air
from xplane_bridge.common.controls import FLOWN
from xplane_bridge.common.units import STANDARD_GRAVITY
from xplane_bridge.laboratory.identification.estimation.output_error import Estimate
from xplane_bridge.laboratory.identification.identify import IDENTIFIABLE, Identified
from xplane_bridge.laboratory.identification.motion.airframe import Airframe
from xplane_bridge.laboratory.identification.motion.equations import (
    Derivative,
    inverse_inertia,
    LATERAL,
    LONGITUDINAL,
    MAGNITUDE,
    RATES,
    SPEED,
)
from xplane_bridge.laboratory.identification.motion.signals import Array
from xplane_bridge.simulation.aircraft.linear_model import LinearModel, ModelVariable, RATIO
from xplane_bridge.simulation.aircraft.studies.linearize import OUTPUTS, STATES
from xplane_bridge.simulation.aircraft.studies.modes import (
    compute_modes,
    DUTCH_ROLL,
    levels,
    Mode,
    Modes,
    PHUGOID,
    ROLL,
    ROLL_SPIRAL,
    SHORT_PERIOD,
    SPIRAL,
)

# What is said of each mode, with its unit. A slow spiral may converge or diverge: its growth is
# finite both ways, and its time to double is not.
_FIGURES: Mapping[str, Mapping[str, str]] = {
    SHORT_PERIOD: {'frequency': 'rad/s', 'damping': ''},
    PHUGOID: {'frequency': 'rad/s', 'damping': ''},
    DUTCH_ROLL: {'frequency': 'rad/s', 'damping': ''},
    ROLL_SPIRAL: {'frequency': 'rad/s', 'damping': ''},
    ROLL: {'time_constant': 's'},
    SPIRAL: {'growth': '1/s'},
}
# Whose derivatives a mode is made of, and which are oscillations.
_FORMS: Mapping[str, str] = {
    SHORT_PERIOD: LONGITUDINAL.name, PHUGOID: SPEED.name, DUTCH_ROLL: LATERAL.name,
    ROLL_SPIRAL: LATERAL.name, ROLL: LATERAL.name, SPIRAL: LATERAL.name}
_OSCILLATIONS = (SHORT_PERIOD, PHUGOID, DUTCH_ROLL, ROLL_SPIRAL)
# What the modes are off by, as a part, beside their derivatives: the mean of the manoeuvres is not
# quite where the aircraft flies level, and derivatives vary, which damping feels most.
_SIMPLE, _SIMPLE_DAMPING = 0.005, 0.03
# A step of a derivative for the slopes of the modes' figures, as a part of its deviation.
_STEP = 0.01

Slopes = Mapping[Derivative, float]
# The slopes of something by states and controls.
_Row = dict[str, float]


class FlightCondition(NamedTuple):
    """
    Steady level flight: airframe, true airspeed (m/s), density (kg/m^3), angle of attack.

    ``controls`` are the positions of those that are known, deflections (rad) of ``surfaces``.
    """

    airframe: Airframe
    true_airspeed: float
    density: float
    angle_of_attack: float
    controls: Mapping[str, float] = {}
    surfaces: frozenset[str] = frozenset()

    @property
    def force(self) -> float:
        """Return dynamic pressure times wing area, N."""
        return air.dynamic_pressure(
            self.true_airspeed, self.density) * self.airframe.wing_area


class FigureOfMode(NamedTuple):
    """
    A figure of a mode, such as its damping: the estimate, and its unit.

    ``unseen``: why the flight does not show it, empty where it does.
    """

    estimate: Estimate
    unit: str
    unseen: str = ''


class EstimatedModes(NamedTuple):
    """
    The figures of each mode by its name, and its level by MIL-F-8785C.

    A mode has no level if the flight does not show all of its figures.
    """

    figures: Mapping[str, Mapping[str, FigureOfMode]]
    levels: Mapping[str, int]


def altitude_and_airspeed(true_airspeed: float, density: float) -> tuple[float, float]:
    """Return where the standard atmosphere is so dense (m), and the calibrated airspeed there."""
    low, high = -5000.0, 80000.0
    while high - low > 1e-3:
        middle = 0.5 * (low + high)
        thin = air.density(air.pressure_altitude_to_pressure(middle),
                           air.standard_temperature(middle)) < density
        low, high = (low, middle) if thin else (middle, high)
    return low, air.true_to_calibrated_airspeed(
        true_airspeed, air.pressure_altitude_to_pressure(low), air.standard_temperature(low))


def flown(forms: Mapping[str, Identified]) -> FlightCondition:
    """Return the mean flight condition of all manoeuvres of some forms."""
    motions = [motion for one in forms.values() for motion in one.motions]

    def mean(name: str) -> float:
        return float(np.concatenate([motion[name] for motion in motions]).mean())

    known = [name for name in FLOWN if all(name in motion.flight.values for motion in motions)]
    return FlightCondition(motions[0].airframe, mean('true_airspeed'), mean('density'),
                           mean('angle_of_attack'), {name: mean(name) for name in known},
                           motions[0].measured.surfaces)


def collect_slopes(forms: Mapping[str, Identified]) -> dict[Derivative, float]:
    """Return the estimated derivatives of all forms."""
    return {derivative: one.value for found in forms.values()
            for derivative, one in found.fit.derivatives.items()}


def linear_model(
    slopes: Slopes, at: FlightCondition, forms: Collection[str], name: str = ''
) -> LinearModel:
    """
    Return the linear model of derivatives; of controls' magnitudes there is nothing in it.

    It has what the ``forms`` that were identified tell of: pitching, with it the speed, and roll
    and yaw. Of another form ``slopes`` may have single derivatives, which make no model. Its
    states and outputs are named as those of linearize.
    """
    states: dict[str, _Row] = {}
    outputs: dict[str, _Row] = {}
    if LONGITUDINAL.name in forms:
        _pitching(slopes, at, states, outputs)
        if SPEED.name in forms:
            _speed(slopes, at, states, outputs)
    if LATERAL.name in forms:
        _rolling(slopes, at, states, outputs)
    columns = [one for one in STATES if one in states]
    inputs = [one for one in FLOWN if any(one in row for row in states.values())]
    outputs |= {one: {one: 1.0} for one in columns}
    rows = [one for one in OUTPUTS if one in outputs]
    altitude, airspeed = altitude_and_airspeed(at.true_airspeed, at.density)
    values = {
        'true_airspeed': at.true_airspeed, 'angle_of_attack': at.angle_of_attack,
        'pitch': at.angle_of_attack, 'altitude_msl': altitude,
        'specific_force_z': -STANDARD_GRAVITY * math.cos(at.angle_of_attack)}

    def matrix(of: Mapping[str, _Row], names: list[str], by: list[str]) -> Array:
        return np.array([[of[one].get(other, 0.0) for other in by] for one in names]).reshape(
            len(names), len(by))

    return LinearModel(
        name, 'identified', altitude, airspeed,
        tuple(ModelVariable(one, STATES[one], values.get(one, 0.0)) for one in columns),
        tuple(ModelVariable(one, 'rad' if one in at.surfaces else RATIO, at.controls.get(one, 0.0))
              for one in inputs),
        tuple(ModelVariable(one, OUTPUTS[one], values.get(one, 0.0)) for one in rows),
        matrix(states, columns, columns), matrix(states, columns, inputs),
        matrix(outputs, rows, columns), matrix(outputs, rows, inputs))


def _of(coefficient: str, slopes: Slopes, at: FlightCondition, factor: float) -> _Row:
    """Return the slopes of ``factor`` times a coefficient by states and controls."""
    def per(regressor: str) -> float:
        if regressor in RATES:
            return at.airframe.length(regressor) / (2.0 * at.true_airspeed)
        # It is by the logarithm.
        return 1.0 / at.true_airspeed if regressor == 'true_airspeed' else 1.0

    return {
        one.regressor: factor * value * per(one.regressor) for one, value in slopes.items()
        if one.coefficient == coefficient and not one.regressor.endswith(MAGNITUDE)}


def _with(row: _Row, **more: float) -> _Row:
    return row | {name: row.get(name, 0.0) + value for name, value in more.items()}


def _pitching(
    slopes: Slopes, at: FlightCondition, states: dict[str, _Row], outputs: dict[str, _Row]
) -> None:
    frame, speed = at.airframe, at.true_airspeed
    lift = _of('C_L', slopes, at, at.force / frame.mass)
    states['angle_of_attack'] = _with(
        {name: -value / speed for name, value in lift.items()}, pitch_rate=1.0)
    states['pitch'] = {'pitch_rate': 1.0}
    states['pitch_rate'] = _of('C_m', slopes, at, at.force * frame.chord / frame.i_yy)
    states['altitude_msl'] = {'pitch': speed, 'angle_of_attack': -speed}
    outputs['flight_path_angle'] = {'pitch': 1.0, 'angle_of_attack': -1.0}
    outputs['climb_rate'] = states['altitude_msl']
    outputs['specific_force_z'] = {
        name: -value * math.cos(at.angle_of_attack) for name, value in lift.items()}


def _speed(
    slopes: Slopes, at: FlightCondition, states: dict[str, _Row], outputs: dict[str, _Row]
) -> None:
    states['true_airspeed'] = _with(
        _of('C_D', slopes, at, -at.force / at.airframe.mass),
        angle_of_attack=STANDARD_GRAVITY, pitch=-STANDARD_GRAVITY)
    # Faster, there is more lift, which bends the path more, and gravity less.
    lifts = 2.0 * STANDARD_GRAVITY / at.true_airspeed
    states['angle_of_attack'] = _with(
        states['angle_of_attack'], true_airspeed=-lifts / at.true_airspeed)
    outputs['specific_force_z'] = _with(
        outputs['specific_force_z'], true_airspeed=-lifts * math.cos(at.angle_of_attack))


def _rolling(
    slopes: Slopes, at: FlightCondition, states: dict[str, _Row], outputs: dict[str, _Row]
) -> None:
    frame, speed = at.airframe, at.true_airspeed
    sine, cosine = math.sin(at.angle_of_attack), math.cos(at.angle_of_attack)
    side = _of('C_Y', slopes, at, at.force / frame.mass)
    states['sideslip'] = _with(
        {name: value / speed for name, value in side.items()},
        roll_rate=sine, yaw_rate=-cosine, roll=STANDARD_GRAVITY * cosine / speed)
    states['roll'] = {'roll_rate': 1.0, 'yaw_rate': sine / cosine}
    states['heading'] = {'yaw_rate': 1.0 / cosine}
    inverse = inverse_inertia(frame)
    moments = [_of(name, slopes, at, at.force * frame.wing_span) for name in ('C_l', 'C_n')]
    for name, (by_roll, by_yaw) in zip(('roll_rate', 'yaw_rate'), inverse.tolist(), strict=True):
        states[name] = {one: by_roll * moments[0].get(one, 0.0) + by_yaw * moments[1].get(one, 0.0)
                        for one in {**moments[0], **moments[1]}}
    outputs['course'] = {'heading': 1.0, 'sideslip': 1.0, 'roll': -sine}
    outputs['specific_force_y'] = side


def estimated_modes(forms: Mapping[str, Identified]) -> EstimatedModes:
    """
    Return the modes of all forms with their bounds.

    These are those of the derivatives, to first order, and what constant derivatives leave out.
    Of a mode that is slower than all manoeuvres nothing is seen but the derivatives, which are
    not known so well that a small difference of them could be told. Levels are of class I,
    category B.
    """
    at, slopes = flown(forms), collect_slopes(forms)
    modes = compute_modes(linear_model(slopes, at, forms))
    nominal = collect_figures(modes)
    variances = {
        (mode, figure): ((_SIMPLE_DAMPING if figure == 'damping' else _SIMPLE) * value) ** 2
        for (mode, figure), value in nominal.items()}
    for found in forms.values():
        moves = {key: np.zeros(len(found.fit.derivatives)) for key in nominal}
        for number, (derivative, one) in enumerate(found.fit.derivatives.items()):
            step = _STEP * one.deviation
            if step > 0.0:
                moved = collect_figures(compute_modes(linear_model(
                    {**slopes, derivative: slopes[derivative] + step}, at, forms)))
                for key, value in nominal.items():
                    # Where it has become another mode, nothing is known of it.
                    moves[key][number] = (moved.get(key, math.inf) - value) / step
        for key, row in moves.items():
            variances[key] += (
                max(float(row @ found.fit.covariance @ row), 0.0) if np.isfinite(row).all()
                else math.inf)
    figures: dict[str, dict[str, FigureOfMode]] = {}
    for (name, figure), value in nominal.items():
        one = Estimate(value, math.sqrt(variances[name, figure]))
        figures.setdefault(name, {})[figure] = FigureOfMode(
            one, _FIGURES[name][figure], _unseen(modes[name], forms[_FORMS[name]], one))
    known = levels(modes)
    return EstimatedModes(figures, {
        name: known[name] for name, each in figures.items()
        if not any(one.unseen for one in each.values())})


def _unseen(mode: Mode, found: Identified, one: Estimate) -> str:
    """Return why a figure of a mode is not shown by the manoeuvres, empty if it is."""
    longest = max(float(motion.times[-1] - motion.times[0]) for motion in found.motions)
    slow = max(abs(value) for value in mode.eigenvalues)
    lasts = (math.tau if mode.name in _OSCILLATIONS else 1.0) / max(slow, 1e-9)
    if lasts > longest:
        return (f'it takes {lasts:.2g} s, and the longest manoeuvre {longest:.2g} s')
    if not math.isfinite(one.value):
        return 'there is none'
    return '' if one.bound <= IDENTIFIABLE else f'{100.0 * min(one.bound, 9.99):.2g} %'


def collect_figures(modes: Modes) -> dict[tuple[str, str], float]:
    """Return what is said of modes, by mode and figure."""
    return {(name, figure): getattr(mode, figure) for name, mode in modes.modes.items()
            for figure in _FIGURES[name]}
