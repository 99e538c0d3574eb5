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
Data compatibility: accelerometers, gyros, vanes and airspeed should tell of the same motion.

Specific forces and angular rates are integrated along the kinematic equations, and what comes out
is compared with the measured airspeed, flow angles and attitude. Biases and scale factors
of accelerometers, gyros and vanes, the scale factor of the airspeed, how the sensor of attitude
is mounted, and how late the air data are, are estimated, such that both agree. Klein and Morelli,
Aircraft System Identification, AIAA 2006, chapter 10.

The air is taken as still, or as moving steadily with the aircraft. Where it does not, in gusts,
the flow is as the vanes measure it, and only the attitude is checked. Sensors are taken as at the
centre of gravity.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from xplane_bridge.identification.estimation.bounds import corrected_covariance
from xplane_bridge.identification.estimation.output_error import Estimate
from xplane_bridge.identification.gusts import has_gusts, smoothed, VANES, vanes
from xplane_bridge.identification.motion.airframe import Airframe
from xplane_bridge.identification.motion.equations import (
    GRAVITY,
    HELD,
    middles,
    Motion,
    RATES,
)
from xplane_bridge.identification.motion.signals import Array, Flight, IdentificationError, Mask
from xplane_bridge.identification.motion.surfaces import mean_before

# What is estimated: its unit, and how large it is likely to be with any sensor. That is an
# a priori standard deviation, which keeps near zero what a manoeuvre does not show.
ERRORS: Mapping[str, tuple[str, float]] = {
    'specific_force_x_bias': ('m/s^2', 0.3),
    'specific_force_y_bias': ('m/s^2', 0.3),
    'specific_force_z_bias': ('m/s^2', 0.3),
    'roll_rate_bias': ('rad/s', 0.02),
    'pitch_rate_bias': ('rad/s', 0.02),
    'yaw_rate_bias': ('rad/s', 0.02),
    'specific_force_x_scale': ('', 0.01),
    'specific_force_y_scale': ('', 0.01),
    'specific_force_z_scale': ('', 0.01),
    'roll_rate_scale': ('', 0.01),
    'pitch_rate_scale': ('', 0.01),
    'yaw_rate_scale': ('', 0.01),
    'true_airspeed_scale': ('', 0.03),
    'angle_of_attack_scale': ('', 0.1),
    'angle_of_attack_bias': ('rad', 0.05),
    'sideslip_scale': ('', 0.1),
    'sideslip_bias': ('rad', 0.05),
    'roll_bias': ('rad', 0.01),
    'pitch_bias': ('rad', 0.01),
    'air_data_delay': ('s', 0.03),
}
_AT = {name: at for at, name in enumerate(ERRORS)}
FORCES = ('specific_force_x', 'specific_force_y', 'specific_force_z')
FLOW = ('true_airspeed', 'angle_of_attack', 'sideslip')
OUTPUTS = (*FLOW, 'roll', 'pitch')

# Standard deviations of the outputs to begin with, and the smallest (m/s, rad): below that it is
# the integration that differs, and no sensor.
_FIRST = np.array([0.5, 0.01, 0.01, 0.01, 0.01])
_LEAST = np.array([0.02, 3e-4, 3e-4, 3e-4, 3e-4])
_PASSES = 5
# Of each manoeuvre: u, v, w, roll, pitch at its begin, and what roll and pitch have drifted by
# since the others (rad), and drift (rad/s), with a priori standard deviations.
_STATES = 5
_DRIFTS = (0.005, 0.005, 3e-4, 3e-4)
_OWN = _STATES + len(_DRIFTS)
# In gusts: how far the initial velocity may be from the airspeed (m/s).
_MOVED = 2.0
# A vane or a pitot tube that is so far from what the others say is in another unit, or broken.
_WRONG_SCALE = 0.4
# The same of an airspeed that differs by this part of it and so much (m/s), beside its noise.
_WRONG_SPEED, _SEEN_SPEED = 0.02, 0.5


@dataclass(frozen=True)
class Compatibility:
    """
    What was found of the sensors: ``errors`` by the names of ERRORS.

    ``raw`` are the manoeuvres as measured, ``motions`` the corrected ones; ``other_motions`` those
    with other errors that are as likely, each by a standard deviation in one of independent
    directions. ``reconstructed`` (n, 5) are the OUTPUTS of each as the sensors would have shown
    them, ``misfit`` is the rms difference of each output from that (SI).
    """

    errors: Mapping[str, Estimate]
    raw: Sequence[Flight]
    motions: Sequence[Motion]
    other_motions: Sequence[Sequence[Motion]]
    reconstructed: Sequence[Array]
    misfit: Mapping[str, float]


class _Reconstruction:
    """All manoeuvres side by side, padded to the longest."""

    def __init__(self, parts: Sequence[Flight], step: float) -> None:
        self.lengths = [len(part.times) for part in parts]
        longest = max(self.lengths)

        def padded(of: Sequence[Array]) -> Array:
            return np.stack([np.concatenate((
                one, np.repeat(one[-1:], longest - len(one), axis=0))) for one in of], axis=1)

        self.inputs = padded([_inputs(part, step) for part in parts])
        self.steps = padded([np.append(np.diff(part.times), 0.0) for part in parts])
        self.measured = padded([
            np.stack([part.values.get(name, np.full(len(part.times), np.nan))
                      for name in OUTPUTS], axis=1) for part in parts])
        for at, length in enumerate(self.lengths):
            self.measured[length:, at] = np.nan
            # Attitudes are continuous.
            for column in (3, 4):
                known = np.isfinite(self.measured[:, at, column])
                self.measured[known, at, column] = np.unwrap(self.measured[known, at, column])
        self.starts = np.stack([
            np.concatenate((self._start(part), np.zeros(len(_DRIFTS)))) for part in parts])
        self.since = np.cumsum(self.steps, axis=0) - self.steps
        self.size = len(ERRORS) + self.starts.size

    @staticmethod
    def _own(thetas: Array) -> Array:
        """Return what is each manoeuvre's own: (batch, manoeuvres, _OWN)."""
        return thetas[:, len(ERRORS):].reshape(len(thetas), -1, _OWN)

    def rates(self, values: Array) -> Array:
        """Return the slopes by time of values (n, manoeuvres, ...) in each manoeuvre."""
        found = np.zeros_like(values)
        for at, n in enumerate(self.lengths):
            found[:n, at] = np.gradient(values[:n, at], self.since[:n, at], axis=0)
        return found

    @staticmethod
    def _start(part: Flight) -> Array:
        def first(name: str) -> float:
            if not part.has(name):
                return 0.0
            values = part.values[name]
            return float(values[np.isfinite(values)][0])

        speed, beta = first('true_airspeed'), first('sideslip')
        alpha = first('angle_of_attack') if part.has('angle_of_attack') else first('pitch')
        return np.array([
            speed * np.cos(alpha) * np.cos(beta), speed * np.sin(beta),
            speed * np.sin(alpha) * np.cos(beta), first('roll'), first('pitch')])

    def states(self, thetas: Array) -> Array:
        """Return u, v, w, roll, pitch for a batch of parameters: (n, manoeuvres, batch, 5)."""
        x = np.ascontiguousarray(self._own(thetas)[..., :_STATES].transpose(2, 1, 0))
        biases, scales = thetas[:, :6], 1.0 + thetas[:, 6:12]
        found = np.empty((len(self.inputs), *x.shape))
        for at, (inputs, steps) in enumerate(zip(self.inputs, self.steps, strict=True)):
            found[at] = x
            given = ((inputs[:, None, :] - biases) / scales).transpose(2, 0, 1)
            h = steps[:, None]
            x = x + h * _slopes(x + 0.5 * h * _slopes(x, given), given)
        return found.transpose(0, 2, 3, 1)

    def corrected(
        self, parts: Sequence[Flight], thetas: Array, airframe: Airframe, gusts: bool
    ) -> list[list[Motion]]:
        """Return the manoeuvres without the errors, for a batch of these."""
        states = self.states(thetas)
        return [[_corrected(part, dict(zip(ERRORS, theta.tolist(), strict=False)),
                            states[:n, at, trial], airframe, gusts)
                 for at, (part, n) in enumerate(zip(parts, self.lengths, strict=True))]
                for trial, theta in enumerate(thetas)]

    def outputs(self, states: Array, thetas: Array) -> Array:
        """Return the OUTPUTS as the sensors would show them (n, manoeuvres, batch, 5)."""
        late = thetas[:, _AT['air_data_delay']]
        # To first order: what a delay is in which nothing turns round.
        speed, alpha, beta = (one - late * self.rates(one) for one in flow(states))
        error = {name: thetas[:, at] for name, at in _AT.items()}
        drift = self._own(thetas)[..., _STATES:].transpose(1, 0, 2)
        drift = drift[..., :2] + drift[..., 2:] * self.since[..., None, None]
        return np.stack((
            speed * (1.0 + error['true_airspeed_scale']),
            alpha * (1.0 + error['angle_of_attack_scale']) + error['angle_of_attack_bias'],
            beta * (1.0 + error['sideslip_scale']) + error['sideslip_bias'],
            states[..., 3] + error['roll_bias'] + drift[..., 0],
            states[..., 4] + error['pitch_bias'] + drift[..., 1]), axis=-1)


def _inputs(part: Flight, step: float) -> Array:
    """
    Return the mean specific forces and angular rates from each time to the next (n, 6).

    A simulator integrates the attitude by Euler's method: by the rates where each step begins.
    """
    values = np.stack([part.filled(name) for name in (*FORCES, *RATES)], axis=1)
    found = middles(values)
    if step:
        parts = max(1, round(float(np.median(np.diff(part.times))) / step))
        found[:, 3:] = values[:-1, 3:] + (parts - 1) / (2 * parts) * np.diff(values[:, 3:], axis=0)
    return np.concatenate((found, values[-1:]))


def flow(states: Array) -> tuple[Array, Array, Array]:
    """Return airspeed, angle of attack and sideslip of u, v, w in the last axis."""
    u, v, w = states[..., 0], states[..., 1], states[..., 2]
    speed = np.sqrt(u * u + v * v + w * w)
    alpha: Array = np.arctan2(w, u)
    beta: Array = np.arcsin(np.clip(v / np.maximum(speed, 1e-3), -1.0, 1.0))
    return speed, alpha, beta


def _slopes(x: Array, given: Array) -> Array:
    """Return the derivatives of u, v, w, roll, pitch: kinematics of a rigid body."""
    u, v, w, roll, pitch = x
    f_x, f_y, f_z, p, q, r = given
    sin_r, cos_r, sin_p, cos_p = np.sin(roll), np.cos(roll), np.sin(pitch), np.cos(pitch)
    found = np.empty_like(x)
    found[0] = r * v - q * w + f_x - GRAVITY * sin_p
    found[1] = p * w - r * u + f_y + GRAVITY * sin_r * cos_p
    found[2] = q * u - p * v + f_z + GRAVITY * cos_r * cos_p
    found[3] = p + sin_p / cos_p * (q * sin_r + r * cos_r)
    found[4] = q * cos_r - r * sin_r
    return found


def check_compatibility(
    parts: Sequence[Flight], airframe: Airframe, step: float = 0.0
) -> Compatibility:
    """
    Return the errors of the sensors and the corrected manoeuvres of a flight.

    ``step``: of the simulator whose flight it was (s), 0 for a real aircraft. Raises
    IdentificationError where a sensor contradicts the others by far.
    """
    every = _Reconstruction(parts, step)
    known = np.isfinite(every.measured)
    found = _fitted(every, known, np.inf)
    gusts = has_gusts([found.left[:n, at, 1:3] for at, n in enumerate(every.lengths)])
    if gusts:
        known[..., :len(FLOW)] = False
        found = _with_vanes(every, parts, _fitted(every, known, _MOVED))
    errors = {
        name: Estimate(float(found.theta[at]), float(np.sqrt(found.covariance[at, at])))
        for at, name in enumerate(ERRORS)}
    _refuse_wrong_scales(parts, errors)
    if not gusts:
        _refuse_wrong_speed(every, parts, found.left[..., 0])
    motions, *others = every.corrected(
        parts, np.vstack((found.theta, found.theta + _directions(found.covariance))), airframe,
        gusts)
    if parts[0].surfaces:
        # What surfaces did between two times is not known either.
        others.append([motion.without_jumps() for motion in motions])
    return Compatibility(
        errors, parts, motions, others,
        [found.outputs[:n, at] for at, n in enumerate(every.lengths)],
        {name: float(np.sqrt(np.nanmean(found.left[..., at] ** 2)))
         for at, name in enumerate(OUTPUTS) if known[..., at].any()})


def _with_vanes(
    every: _Reconstruction, parts: Sequence[Flight], found: _Fitted
) -> _Fitted:
    """Return what was fitted, with the errors of vanes that show although there are gusts."""
    states = every.states(found.theta[None])[:, :, 0]
    values, own = vanes(
        parts, [np.stack(flow(states[:n, at])[1:], axis=1) for at, n in enumerate(every.lengths)],
        np.array([ERRORS[name][1] for name in VANES]))
    theta, covariance = found.theta.copy(), found.covariance.copy()
    at = [_AT[name] for name in VANES]
    theta[at] = values
    covariance[at] = covariance[:, at] = 0.0
    covariance[np.ix_(at, at)] = own
    return found._replace(theta=theta, covariance=covariance)


class _Fitted(NamedTuple):
    """The parameters and their covariance; outputs (n, manoeuvres, 5), and what is left."""

    theta: Array
    covariance: Array
    outputs: Array
    left: Array


def _fitted(every: _Reconstruction, known: Mask, velocity: float) -> _Fitted:
    """
    Return the parameters that fit what is ``known``.

    ``velocity`` is the a priori standard deviation of the initial velocity about what is measured
    (m/s).
    """
    first = np.concatenate((np.zeros(len(ERRORS)), every.starts.ravel()))
    count = len(every.lengths)
    likely = np.concatenate((
        [size for _, size in ERRORS.values()],
        np.tile((velocity, velocity, velocity, np.inf, np.inf, *_DRIFTS), count)))
    steps = np.concatenate((
        1e-3 * likely[:len(ERRORS)],
        np.tile((1e-3, 1e-3, 1e-3, *(1e-5,) * (_OWN - 3)), count)))
    theta, deviations = first, _FIRST
    for step in range(_PASSES):
        outputs = every.outputs(every.states(moved := np.vstack((
            theta, theta + np.diag(steps)))), moved)
        slopes = (outputs[:, :, 1:] - outputs[:, :, :1]).transpose(0, 1, 3, 2) / steps
        left = np.where(known, every.measured - outputs[:, :, 0], np.nan)
        deviations = _rms(left, known, deviations) if step else _FIRST
        table = (slopes / deviations[:, None])[known]
        information = table.T @ table + np.diag(1.0 / likely ** 2)
        theta = theta + _solved(
            information, table.T @ (left / deviations)[known] - (theta - first) / likely ** 2)
    outputs = every.outputs(every.states(theta[None]), theta[None])[:, :, 0]
    left = np.where(known, every.measured - outputs, np.nan)
    _, covariance = corrected_covariance(
        information, [left[:n, at] for at, n in enumerate(every.lengths)],
        [slopes[:n, at] for at, n in enumerate(every.lengths)], deviations ** 2,
        np.diag(1.0 / likely ** 2))
    return _Fitted(theta, covariance, outputs, left)


def _solved(information: Array, gradient: Array) -> Array:
    scale = np.sqrt(np.diag(information))
    found: Array = np.linalg.solve(
        information / np.outer(scale, scale) + 1e-12 * np.eye(len(scale)), gradient / scale)
    return found / scale


def _directions(covariance: Array) -> Array:
    """
    Return changes of all parameters by which the errors' covariance is the sum of the squares.

    The initial states change with the errors as they are correlated with them.
    """
    count = len(ERRORS)
    scale = np.sqrt(np.diag(covariance)[:count])
    sizes, axes = np.linalg.eigh(covariance[:count, :count] / np.outer(scale, scale))
    found: Array = (covariance[:, :count] / scale @ axes / np.sqrt(np.maximum(sizes, 1e-9))).T
    return found


def _rms(left: Array, known: Mask, before: Array) -> Array:
    found = before.copy()
    for at in range(len(OUTPUTS)):
        if known[..., at].any():
            found[at] = max(float(np.sqrt(np.nanmean(left[..., at] ** 2))), _LEAST[at])
    return found


def _refuse_wrong_scales(parts: Sequence[Flight], errors: Mapping[str, Estimate]) -> None:
    for name in FLOW:
        scale = errors[f'{name}_scale'].value
        if abs(scale) > _WRONG_SCALE:
            raise IdentificationError(
                f'{parts[0].source}: {name} is {1.0 + scale:.2g} times what specific forces and '
                f'angular rates say from {parts[0].times[0]:.1f} s on: expected SI units and '
                'radians, from a sensor that works')


def _refuse_wrong_speed(
    every: _Reconstruction, parts: Sequence[Flight], left: Array
) -> None:
    usual = float(np.nanmedian(every.measured[..., 0]))
    for at, part in enumerate(parts):
        known = left[np.isfinite(left[:, at]), at]
        off = float(np.sqrt(max(np.mean(known ** 2) - 0.5 * np.mean(np.diff(known) ** 2), 0.0)))
        if off > max(_WRONG_SPEED * usual, _SEEN_SPEED):
            raise IdentificationError(
                f'{part.source}: true_airspeed is {off:.2g} m/s (rms) off what specific forces '
                f'and angular rates say from {part.times[0]:.1f} s to {part.times[-1]:.1f} s: is '
                'the pitot tube blocked, or at its limit?')


def _corrected(
    part: Flight, errors: Mapping[str, float], states: Array, airframe: Airframe, gusts: bool
) -> Motion:
    def right(name: str, values: Array) -> Array:
        bias, scale = errors.get(f'{name}_bias', 0.0), errors.get(f'{name}_scale', 0.0)
        return (values - bias) / (1.0 + scale)

    filled = {name: right(name, part.filled(name)) for name in part.values if part.has(name)}
    measured = {name: right(name, values) for name, values in part.values.items()}
    delay = errors['air_data_delay']
    found = dict(zip(FLOW, flow(states), strict=True))
    if gusts:
        found |= {name: np.interp(part.times + delay, part.times, right(
            name, smoothed(part, name))) for name in FLOW if part.has(name)}
    for name, values in found.items():
        if name in measured:
            measured[name] = measured[name] + delay * np.gradient(values, part.times)
    filled |= {**found, 'roll': states[:, 3], 'pitch': states[:, 4]}
    filled |= {f'{name}{HELD}': mean_before(filled[name]) for name in part.surfaces}
    return Motion(
        replace(part, values=filled), replace(part, values=measured), airframe, gusts)
