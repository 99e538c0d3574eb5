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
A motion by integration of specific forces and angular rates, and what sensors show of it.

Sensors err in the ways of ERRORS. Klein and Morelli, Aircraft System Identification, AIAA 2006,
chapter 10.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from xplane_bridge.laboratory.identification.gusts import smoothed
from xplane_bridge.laboratory.identification.motion.airframe import Airframe
from xplane_bridge.laboratory.identification.motion.equations import (
    CheckedManoeuvre,
    GRAVITY,
    HELD,
    middles,
    RATES,
)
from xplane_bridge.laboratory.identification.motion.signals import Array, FlightSignals
from xplane_bridge.laboratory.identification.motion.surfaces import mean_before

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
    # No manoeuvre shows it: a temperature that is 1.5 K off, say, or humid air.
    'density_scale': ('', 0.005),
}
AT = {name: at for at, name in enumerate(ERRORS)}
FORCES = ('specific_force_x', 'specific_force_y', 'specific_force_z')
FLOW = ('true_airspeed', 'angle_of_attack', 'sideslip')
OUTPUTS = (*FLOW, 'roll', 'pitch')

# Of each manoeuvre: u, v, w, roll, pitch at its begin, and what roll and pitch have drifted by
# since the others (rad), and drift (rad/s), with a priori standard deviations.
_STATES = 5
DRIFTS = (0.005, 0.005, 3e-4, 3e-4)
OWN = _STATES + len(DRIFTS)


class Reconstruction:
    """All manoeuvres side by side, padded to the longest."""

    def __init__(self, parts: Sequence[FlightSignals], step: float) -> None:
        self.lengths = [len(part.times) for part in parts]
        self.step = step
        self.inputs = self._inputs([parts])
        self.steps = self._padded([np.append(np.diff(part.times), 0.0) for part in parts])
        self.measured = self._padded([
            np.stack([part.values.get(name, np.full(len(part.times), np.nan))
                      for name in OUTPUTS], axis=1) for part in parts])
        for at, length in enumerate(self.lengths):
            self.measured[length:, at] = np.nan
            # Attitudes are continuous.
            for column in (3, 4):
                known = np.isfinite(self.measured[:, at, column])
                self.measured[known, at, column] = np.unwrap(self.measured[known, at, column])
        self.starts = np.stack([
            np.concatenate((self._start(part), np.zeros(len(DRIFTS)))) for part in parts])
        self.since = np.cumsum(self.steps, axis=0) - self.steps
        self.size = len(ERRORS) + self.starts.size

    def _padded(self, of: Sequence[Array]) -> Array:
        longest = max(self.lengths)
        return np.stack([np.concatenate((
            one, np.repeat(one[-1:], longest - len(one), axis=0))) for one in of], axis=1)

    def _inputs(self, trials: Sequence[Sequence[FlightSignals]]) -> Array:
        """Return what is integrated in each of some trials (n, manoeuvres, trials, 6)."""
        return np.stack([self._padded([_inputs(part, self.step) for part in parts])
                         for parts in trials], axis=2)

    @staticmethod
    def _own(thetas: Array) -> Array:
        """Return what is each manoeuvre's own: (batch, manoeuvres, OWN)."""
        return thetas[:, len(ERRORS):].reshape(len(thetas), -1, OWN)

    def rates(self, values: Array) -> Array:
        """Return the slopes by time of values (n, manoeuvres, ...) in each manoeuvre."""
        found = np.zeros_like(values)
        for at, n in enumerate(self.lengths):
            found[:n, at] = np.gradient(values[:n, at], self.since[:n, at], axis=0)
        return found

    @staticmethod
    def _start(part: FlightSignals) -> Array:
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

    def states(self, thetas: Array, trials: Sequence[Sequence[FlightSignals]] = ()) -> Array:
        """
        Return u, v, w, roll, pitch for a batch of parameters: (n, manoeuvres, batch, 5).

        ``trials`` are manoeuvres that were measured otherwise, for each of the batch.
        """
        every = self._inputs(trials) if trials else self.inputs
        x = np.ascontiguousarray(self._own(thetas)[..., :_STATES].transpose(2, 1, 0))
        biases, scales = thetas[:, :6], 1.0 + thetas[:, 6:12]
        found = np.empty((len(every), *x.shape))
        for at, (inputs, steps) in enumerate(zip(every, self.steps, strict=True)):
            found[at] = x
            given = ((inputs - biases) / scales).transpose(2, 0, 1)
            h = steps[:, None]
            x = x + h * _slopes(x + 0.5 * h * _slopes(x, given), given)
        return found.transpose(0, 2, 3, 1)

    def corrected(
        self, parts: Sequence[FlightSignals], thetas: Array, airframe: Airframe, gusts: bool,
        trials: Sequence[Sequence[FlightSignals]] = (),
    ) -> list[list[CheckedManoeuvre]]:
        """Return the manoeuvres without the errors, for a batch of these, or of ``trials``."""
        states = self.states(thetas, trials)
        return [[_corrected(part, trial[at], dict(zip(ERRORS, theta.tolist(), strict=False)),
                            states[:n, at, number], airframe, gusts)
                 for at, (part, n) in enumerate(zip(parts, self.lengths, strict=True))]
                for number, (theta, trial) in enumerate(zip(
                    thetas, trials or [parts] * len(thetas), strict=True))]

    def outputs(self, states: Array, thetas: Array) -> Array:
        """Return the OUTPUTS as the sensors would show them (n, manoeuvres, batch, 5)."""
        late = thetas[:, AT['air_data_delay']]
        # To first order: what a delay is in which nothing turns round.
        speed, alpha, beta = (one - late * self.rates(one) for one in flow(states))
        error = {name: thetas[:, at] for name, at in AT.items()}
        drift = self._own(thetas)[..., _STATES:].transpose(1, 0, 2)
        drift = drift[..., :2] + drift[..., 2:] * self.since[..., None, None]
        return np.stack((
            speed * (1.0 + error['true_airspeed_scale']),
            alpha * (1.0 + error['angle_of_attack_scale']) + error['angle_of_attack_bias'],
            beta * (1.0 + error['sideslip_scale']) + error['sideslip_bias'],
            states[..., 3] + error['roll_bias'] + drift[..., 0],
            states[..., 4] + error['pitch_bias'] + drift[..., 1]), axis=-1)


def _inputs(part: FlightSignals, step: float) -> Array:
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


def _corrected(
    part: FlightSignals, trial: FlightSignals, errors: Mapping[str, float], states: Array,
    airframe: Airframe, gusts: bool,
) -> CheckedManoeuvre:
    def right(name: str, values: Array) -> Array:
        bias, scale = errors.get(f'{name}_bias', 0.0), errors.get(f'{name}_scale', 0.0)
        return (values - bias) / (1.0 + scale)

    filled = {name: right(name, trial.filled(name)) for name in part.values if part.has(name)}
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
    return CheckedManoeuvre(
        replace(part, values=filled), replace(part, values=measured), airframe, gusts)
