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
The equations of motion with non-dimensional derivatives: longitudinal, and lateral-directional.

Longitudinal: the states are angle of attack and pitch rate, with

    C_L = C_L_0 + C_L_alpha alpha + C_L_q q c/2V + C_L_delta_e elevator, and C_m likewise

Lateral-directional: sideslip, roll rate and yaw rate, with C_Y, C_l and C_n of sideslip, p b/2V,
r b/2V, aileron and rudder. Gravity, airspeed, attitude and the couplings of inertia are taken as
measured, after the data compatibility check, so neither wants small disturbances but of the
coefficients. Klein and Morelli, Aircraft System Identification, AIAA 2006, chapters 3, 5 and 6.

The force coefficients include the propulsion's share: lift is what acts across the flow. Terms
with the rate of the flow angles, such as C_m_alpha_dot, cannot be told from the others in such
manoeuvres: C_m_q is the sum that flight shows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate
from typing import NamedTuple

import numpy as np

from xplane_bridge.laboratory.identification.motion.airframe import Airframe
from xplane_bridge.laboratory.identification.motion.signals import Array, FlightSignals

GRAVITY = 9.80665


class Derivative(NamedTuple):
    """A derivative: its coefficient, and the state or control that it is with respect to."""

    coefficient: str
    regressor: str

    def __str__(self) -> str:
        return f'{self.coefficient}_{SYMBOLS.get(self.regressor, "0")}'


MAGNITUDE = '_magnitude'
"""The end of the name of a control's magnitude: how far it is from where it began."""
HELD = '_held'
"""The end of the name of what a control was between two times, if it moves there."""
SYMBOLS = {
    'angle_of_attack': 'alpha', 'sideslip': 'beta', 'roll_rate': 'p', 'pitch_rate': 'q',
    'yaw_rate': 'r', 'elevator': 'delta_e', 'aileron': 'delta_a', 'rudder': 'delta_r',
    'true_airspeed': 'u', 'throttle': 'delta_t'}
SYMBOLS |= {f'{name}{MAGNITUDE}': f'abs_{symbol}' for name, symbol in SYMBOLS.items()}
RATES = ('roll_rate', 'pitch_rate', 'yaw_rate')


class ModelStructure(NamedTuple):
    """
    A model: its states, controls and coefficients. The first coefficient is the force's.

    ``omitted`` are derivatives that it does not tell: those taken as zero, or told by another
    form. Its outputs are the states and the specific force of the first coefficient.
    """

    name: str
    states: tuple[str, ...]
    controls: tuple[str, ...]
    coefficients: tuple[str, ...]
    force: str
    omitted: frozenset[Derivative] = frozenset()

    @property
    def outputs(self) -> tuple[str, ...]:
        """Return the names of its outputs."""
        return (*self.states, self.force)

    @property
    def derivatives(self) -> tuple[Derivative, ...]:
        """Return its derivatives, the omitted ones too."""
        return tuple(
            Derivative(coefficient, regressor) for coefficient in self.coefficients
            for regressor in (*self.states, *self.controls))


LONGITUDINAL = ModelStructure(
    'longitudinal', ('angle_of_attack', 'pitch_rate'), ('elevator',), ('C_L', 'C_m'),
    'lift_acceleration')
LATERAL = ModelStructure(
    'lateral', ('sideslip', 'roll_rate', 'yaw_rate'), ('aileron', 'rudder'),
    ('C_Y', 'C_l', 'C_n'), 'specific_force_y')
FORMS = (LONGITUDINAL, LATERAL)
WHOLE = {form.name: form for form in FORMS}
CROSS = {LONGITUDINAL.name: LATERAL.controls}
"""Surfaces that may act on a form though they are another one's: flaperons lift, too."""
SPEED = ModelStructure(
    'speed', (), ('angle_of_attack', 'elevator', 'true_airspeed', 'throttle'),
    ('C_D', 'C_L', 'C_m'), 'path_acceleration', frozenset(
        Derivative(coefficient, name) for coefficient in LONGITUDINAL.coefficients
        for name in ('angle_of_attack', 'elevator')) | {Derivative('C_D', 'elevator')})
"""
That of estimation/by_speed.py, which omits what the longitudinal form has. The elevator's drag is
so small that a flight would show it where it errs most: it is accounted for, and not told.
"""


def in_gusts(form: ModelStructure) -> ModelStructure:
    """
    Return a form for turbulent air: its flow angle is measured, and drives it as a control does.

    The air moves as well as the aircraft, so it does not follow from the equations of motion.
    """
    flow, *rates = form.states
    return form._replace(states=tuple(rates), controls=(*form.controls, flow))


def unit_of(derivative: Derivative, surfaces: frozenset[str] = frozenset()) -> str:
    """
    Return the unit of a derivative: '' for those by reduced rates or airspeed, without one.

    ``surfaces`` are the controls that are deflections.
    """
    name = derivative.regressor.removesuffix(MAGNITUDE)
    if name in RATES or name == 'true_airspeed':
        return ''
    return '1/rad' if name in ('angle_of_attack', 'sideslip', *surfaces) else '1/full'


@dataclass(frozen=True)
class CheckedManoeuvre:
    """
    A manoeuvre after the compatibility check: what a form needs, shape (n,) each.

    ``flight`` has the corrected signals without gaps; ``measured`` the corrected ones as they
    came, NaN where a sensor gave none. ``has_gusts``: the air was so turbulent that the flow
    angles are those of the vanes.
    """

    flight: FlightSignals
    measured: FlightSignals
    airframe: Airframe
    has_gusts: bool = False

    def __getitem__(self, name: str) -> Array:
        """Return a corrected signal without gaps, or the magnitude of a control."""
        if name.endswith(MAGNITUDE):
            values = self.flight.values[name.removesuffix(MAGNITUDE)]
            found: Array = np.abs(values - values[0])
            return found
        return self.flight.values[name]

    def held(self, name: str) -> Array:
        """Return what a control was on the mean since the time before, (n,)."""
        found = self.flight.values.get(f'{name}{HELD}')
        return self[name] if found is None else found

    def without_jumps(self, part: float) -> CheckedManoeuvre:
        """Return it as if surfaces had moved by a part of what they jump, else steadily."""
        known = self.flight.values

        def steady(name: str) -> Array:
            values = known[name.removesuffix(HELD)]
            return np.append(values[:1], middles(values))

        return replace(self, flight=replace(self.flight, values={**known, **{
            name: known[name] + part * (steady(name) - known[name])
            for name in known if name.endswith(HELD)}}))

    @property
    def times(self) -> Array:
        """Return the times (s)."""
        return self.flight.times

    def before(self, end: float) -> CheckedManoeuvre:
        """Return the part of it before a time (s)."""
        part = self.measured.manoeuvres[0]._replace(end=end)
        return replace(self, flight=self.flight.part(part), measured=self.measured.part(part))

    @cached_property
    def pressure_area(self) -> Array:
        """Return dynamic pressure times wing area, N."""
        found: Array = (
            0.5 * self['density'] * self['true_airspeed'] ** 2 * self.airframe.wing_area)
        return found

    def scale(self, regressor: str) -> Array:
        """Return what a state is multiplied by to be a regressor: c/2V, b/2V or 1."""
        if regressor not in RATES:
            return np.ones(len(self.times))
        return self.airframe.length(regressor) / (2.0 * self['true_airspeed'])

    def path_force(self, flight: FlightSignals) -> Array:
        """Return the specific force along the flight path of ``flight`` or ``measured``, m/s^2."""
        alpha, beta = self['angle_of_attack'], self['sideslip']
        x, y, z = (flight.values[f'specific_force_{axis}'] for axis in 'xyz')
        found: Array = (
            (x * np.cos(alpha) + z * np.sin(alpha)) * np.cos(beta) + y * np.sin(beta))
        return found

    def output(self, form: ModelStructure, name: str) -> Array:
        """Return a measured output of a form; NaN where there was no sample."""
        if name == LONGITUDINAL.force:
            alpha = self['angle_of_attack']
            found: Array = (
                self.measured.values['specific_force_x'] * np.sin(alpha)
                - self.measured.values['specific_force_z'] * np.cos(alpha))
            return found
        if name == SPEED.force:
            return self.path_force(self.measured)
        return self.measured.values.get(name, np.full(len(self.times), np.nan))


class System(NamedTuple):
    """
    dx/dt = N x + K c + e, with the coefficients c of the regressors; the force is F c[0].

    N (n, s, s), K (n, s, c), e (n, s), F (n,) over n times, s states, c coefficients.
    """

    n: Array
    k: Array
    e: Array
    f: Array


def system(form: ModelStructure, motion: CheckedManoeuvre) -> System:
    """Return the equations of a form along a motion."""
    frame, pressure = motion.airframe, motion.pressure_area
    whole = WHOLE[form.name]
    count, states = len(motion.times), len(whole.states)
    speed, alpha, beta = (
        motion[name] for name in ('true_airspeed', 'angle_of_attack', 'sideslip'))
    roll, pitch = motion['roll'], motion['pitch']
    p, q, r = (motion[name] for name in RATES)
    sin_a, cos_a, sin_b, cos_b = np.sin(alpha), np.cos(alpha), np.sin(beta), np.cos(beta)
    n = np.zeros((count, states, states))
    k = np.zeros((count, states, len(form.coefficients)))
    e = np.zeros((count, states))
    if form.name == LONGITUDINAL.name:
        n[:, 0, 1] = 1.0
        k[:, 0, 0] = -pressure / (frame.mass * speed * cos_b)
        e[:, 0] = GRAVITY * (np.cos(roll) * np.cos(pitch) * cos_a + np.sin(pitch) * sin_a) / (
            speed * cos_b) - np.tan(beta) * (p * cos_a + r * sin_a)
        k[:, 1, 1] = pressure * frame.chord / frame.i_yy
        e[:, 1] = ((frame.i_zz - frame.i_xx) * p * r - frame.i_xz * (p * p - r * r)
                   - frame.angular_momentum * r) / frame.i_yy
    else:
        n[:, 0, 1], n[:, 0, 2] = sin_a, -cos_a
        k[:, 0, 0] = pressure * cos_b / (frame.mass * speed)
        along = motion['specific_force_x'] - GRAVITY * np.sin(pitch)
        down = motion['specific_force_z'] + GRAVITY * np.cos(roll) * np.cos(pitch)
        e[:, 0] = (GRAVITY * np.sin(roll) * np.cos(pitch) * cos_b
                   - sin_b * (along * cos_a + down * sin_a)) / speed
        inverse = inverse_inertia(frame)
        k[:, 1:, 1:] = (pressure * frame.wing_span)[:, None, None] * inverse
        e[:, 1:] = np.stack((
            frame.i_xz * p * q - (frame.i_zz - frame.i_yy) * q * r,
            -frame.i_xz * q * r - (frame.i_yy - frame.i_xx) * p * q
            + frame.angular_momentum * q), axis=1) @ inverse.T
    kept = [whole.states.index(name) for name in form.states]
    return System(n[:, kept][:, :, kept], k[:, kept], e[:, kept], pressure / frame.mass)


def inverse_inertia(frame: Airframe) -> Array:
    """Return the inverse of the inertia matrix of roll and yaw."""
    found: Array = np.linalg.inv(np.array(
        [[frame.i_xx, -frame.i_xz], [-frame.i_xz, frame.i_zz]]))
    return found


def propagators(a: Array, steps: Array) -> tuple[Array, Array]:
    """
    Return exp(A h) and its integral over h: (..., s, s), by Taylor's series to the fifth order.

    ``a``: (..., s, s); ``steps`` h are broadcast against it. |A| h is small: many samples per
    time constant.
    """
    ah = a * steps
    one = np.eye(a.shape[-1])
    # Horner, of the integral first: exp(Ah) is 1 + A times it.
    integral = one + ah / 5.0
    for order in (4.0, 3.0, 2.0):
        integral = one + ah @ integral / order
    return one + ah @ integral, integral * steps


def as_simulated(
    a: Array, driven: Array, n: Array, e: Array, steps: Array, has_flow: bool = True
) -> tuple[Array, Array]:
    """
    Return what takes a state over an interval as JSBSim integrates: matrix and push.

    a (t, p, s, s) is that of the coefficients and driven (t, i, p, s) what they push in each of
    the i steps of the simulator in an interval; n (t, s, s) and e (t, s) are those of the
    kinematics. The intervals are ``steps`` (t,) long.
    The last of the s + 1 states is the force's part of the first one's slope, a step before:
    FGPropagate integrates angular velocity and attitude by Euler's method, and velocity by that
    of Adams and Bashforth. At 120 steps per second that makes a fast roll mode 4 % faster.
    Without a flow angle (``has_flow``) there is no such state.
    """
    times, substeps, batch, states = driven.shape
    h = (steps / substeps)[:, None]
    size = states + has_flow
    one = np.zeros((times, batch, size, size))
    push = np.zeros((times, substeps, batch, size))
    one[..., :states, :states] = h[..., None, None] * (a + n[:, None])
    push[..., :states] = h[..., None, None] * (driven + e[:, None, None])
    if has_flow:
        one[..., 0, :states] += 0.5 * h[..., None] * a[..., 0, :]
        push[..., 0] += 0.5 * h[..., None] * driven[..., 0]
        one[..., 0, states] = -0.5 * h
        one[..., states, :states] = a[..., 0, :]
        push[..., states] = driven[..., 0]
    one[..., range(states), range(states)] += 1.0
    across, pushed = one, push[:, 0]
    for step in range(1, substeps):
        across, pushed = one @ across, (one @ pushed[..., None])[..., 0] + push[:, step]
    return across, pushed


def middles(values: Array) -> Array:
    """Return the mean of each value and the next."""
    found: Array = 0.5 * (values[1:] + values[:-1])
    return found


def flowing(times: Array, values: Array, delay: float, parts: int = 1) -> Array:
    """Return what was measured at times in the middle of each part of each interval, so late."""
    steps = np.diff(times)
    at = times[:-1, None] + steps[:, None] * (np.arange(parts) + 0.5) / parts
    found: Array = np.interp(at.ravel() - delay, times, values)
    return found


def held_control(
    times: Array, control: Array, delay: float, parts: int = 1, lag: float = 0.0
) -> Array:
    """
    Return the mean of a control in each part of each interval, ``delay`` (s) after its report.

    What is reported at a time was in force since the one before. With a ``lag`` it is what follows
    that with such a time constant (s).
    """
    steps = np.diff(times)
    area = np.concatenate(((0.0,), np.cumsum(control[1:] * steps)))
    at = np.append((times[:-1, None] + steps[:, None] * np.arange(parts) / parts), times[-1])
    # Before the first time it was as there.
    late = np.interp(at - delay, times, area) + control[0] * np.minimum(
        at - delay - times[0], 0.0)
    if lag > 0.0:
        # The integral of y' = (u - y) / lag.
        late -= lag * following(times, control, at - delay, lag)
    found: Array = np.diff(late) / np.diff(at)
    return found


def following(times: Array, control: Array, at: Array, lag: float) -> Array:
    """
    Return what follows a control with a time constant ``lag`` (s), at other times.

    It begins as the control, and is where that was reported last after the last time.
    """
    steps = np.diff(times)
    kept = np.exp(-steps / lag)
    reached = np.array([*accumulate(
        zip(kept.tolist(), control[1:].tolist(), strict=True),
        lambda y, step: step[1] + (y - step[1]) * step[0], initial=float(control[0]))])
    before = np.clip(np.searchsorted(times, at) - 1, 0, len(steps) - 1)
    since = np.maximum(at - times[before], 0.0)
    found: Array = control[before + 1] + (reached[before] - control[before + 1]) * np.exp(
        -since / lag)
    return found


