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
How robust the autopilot's cascade is about a point of flight, by the linear model there.

The cascade holds altitude (a glider: airspeed by pitch), airspeed and course; each control acts
after a delay, the thrust with a lag. A margin of a control is that of its loop while all others
are closed. Disk margins: Seiler, Packard and Gahinet, An Introduction to Disk Margins, IEEE
Control Systems Magazine 40 (2020), of the balanced kind (S - T) / 2.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
import math

import numpy as np

from xplane_bridge.common.controls import FLOWN, SURFACES
from xplane_bridge.common.units import STANDARD_GRAVITY
from xplane_bridge.laboratory.control.gains import Gains
from xplane_bridge.laboratory.control.laws import compute_scale, COORDINATION
from xplane_bridge.simulation.aircraft.linear_model import Array, LinearModel, Responses

_FREQUENCIES = np.logspace(-3.0, 2.5, 2200)
# What the cascade measures.
_MEASURED = ('pitch_rate', 'roll_rate', 'yaw_rate', 'pitch', 'roll', 'true_airspeed',
             'flight_path_angle', 'altitude_msl', 'course')
# Integrals: of elevator, aileron, rudder, pitch and throttle.
_INTEGRALS = 5
# A divergence slower than this (1/s) is none that anybody would see: it takes minutes.
_SLOWEST_DIVERGENCE = 2e-3
_FAST_DIVERGENCE = math.log(2.0) / 20.0
# So often rows and columns are balanced, by half a step, which does not swing.
_BALANCINGS = 40
_TINY = 1e-12


@dataclass(frozen=True, slots=True)
class Margins:
    """
    Margins of one loop.

    ``gain`` (dB) is the smallest change either way that makes it unstable, ``phase`` in degrees,
    ``delay`` (s) what it may have in addition; infinite where there is no limit. ``disk`` is the
    disk margin: gains may change by (1 + disk/2) / (1 - disk/2) together with phases.
    """

    gain: float
    phase: float
    delay: float
    disk: float


@dataclass(frozen=True, slots=True)
class Robustness:
    """
    How the closed loop decays, and the margins of each control by its name.

    ``growth`` (1/s) is the largest real part of its eigenvalues. ``disk`` is the disk margin of
    all controls at once: at least this. If it diverges faster than a pilot would need to notice,
    doubling within 20 s (MIL-F-8785C, of a spiral at level 1), all margins are 0.
    """

    growth: float
    loops: Mapping[str, Margins]
    disk: float

    @property
    def is_stable(self) -> bool:
        """Return whether nothing diverges; what takes more than minutes to is not counted."""
        return self.growth < _SLOWEST_DIVERGENCE

    @property
    def time_to_double(self) -> float:
        """Return how long a divergence takes to double, in s; infinite without one."""
        return math.inf if self.is_stable else math.log(2.0) / self.growth


@dataclass(frozen=True, slots=True)
class StateSpace:
    """dx/dt = A x + B u, y = C x + D u."""

    a: Array
    b: Array
    c: Array
    d: Array

    def responses(self, frequencies: Array) -> Responses:
        """Return the frequency responses (rad/s): frequency x output x input."""
        if not len(self.a):
            return np.broadcast_to(self.d, (len(frequencies), *self.d.shape)).astype(complex)
        left = 1j * frequencies[:, None, None] * np.eye(len(self.a)) - self.a
        return np.asarray(self.c @ np.linalg.solve(
            left, np.broadcast_to(self.b, (len(frequencies), *self.b.shape))) + self.d)


def robustness(model: LinearModel, gains: Gains, delay: float = 0.06,
               engine_lag: float = 1.0) -> Robustness:
    """
    Return how robust the cascade is with these gains, which may be scheduled.

    ``delay`` (s) is that from measurement to surface, ``engine_lag`` (s) the time constant of the
    thrust. Raises ValueError for a model that lacks a signal which the cascade needs.
    """
    controls = FLOWN if gains.has_engine else SURFACES
    plant = StateSpace(
        model.a, model.b[:, [model.index('inputs', name) for name in controls]],
        model.c[[model.index('outputs', name) for name in _MEASURED]],
        model.d[np.ix_([model.index('outputs', name) for name in _MEASURED],
                       [model.index('inputs', name) for name in controls])])
    law = linear_law(gains.at(model.airspeed, model.altitude_msl), model, controls)
    lags = [engine_lag if name == 'throttle' else 0.0 for name in controls]
    grows = growth(plant, law, delay, lags)
    if grows > _FAST_DIVERGENCE:
        return Robustness(grows, {name: Margins(0.0, 0.0, 0.0, 0.0) for name in controls}, 0.0)
    actuators = np.exp(-1j * _FREQUENCIES * delay)[:, None] / (
        1.0 + 1j * _FREQUENCIES[:, None] * np.array(lags))
    loop = -law.responses(_FREQUENCIES) @ (
        plant.responses(_FREQUENCIES) * actuators[:, None, :])
    sensitivity: Responses = np.linalg.inv(np.eye(len(controls)) + loop)
    # Of one control, the loops of all others being closed.
    alone: list[Responses] = [1.0 / sensitivity[:, n, n] - 1.0 for n in range(len(controls))]
    return Robustness(grows, {
        name: compute_margins(_FREQUENCIES, one_loop)
        for name, one_loop in zip(controls, alone, strict=True)}, disk_margin(sensitivity))


def linear_law(gains: Gains, model: LinearModel, controls: Sequence[str]) -> StateSpace:
    """
    Return the cascade about a point, from what it measures to these controls.

    It is what laboratory/control/laws.py computes, without its limits, for small changes of level
    flight.
    """
    speed, airspeed = model.state('true_airspeed'), model.airspeed
    sine, cosine = math.sin(model.state('pitch')), math.cos(model.state('pitch'))
    scale = compute_scale(gains, airspeed)

    def respond(x: Array, y: Array) -> Array:
        """Return the derivatives of the integrals, and the controls."""
        elevator, aileron, rudder, pitch, throttle = x
        at = dict(zip(_MEASURED, y, strict=True))
        indicated = at['true_airspeed'] * airspeed / speed
        path = -gains.altitude_to_climb * at['altitude_msl'] / speed
        if gains.has_engine:
            error = path - at['flight_path_angle']
            by_error, by_integral = gains.path_angle_to_pitch, gains.path_angle_to_pitch_integral
        else:
            error = indicated
            by_error, by_integral = gains.airspeed_to_pitch, gains.airspeed_to_pitch_integral
        pitch_rate = gains.pitch_to_pitch_rate * (by_error * error + pitch - at['pitch'])
        turn = STANDARD_GRAVITY * at['roll'] / speed
        bank = -gains.course_to_turn_rate * at['course'] * speed / STANDARD_GRAVITY
        roll_rate = gains.roll_to_roll_rate * (bank - at['roll']) - turn * sine
        pitching = scale * (pitch_rate - at['pitch_rate'])
        rolling = scale * (roll_rate - at['roll_rate'])
        yawing = scale * gains.yaw_rate_to_rudder * (turn * cosine - at['yaw_rate'])
        commanded = {
            'elevator': gains.pitch_rate_to_elevator * pitching + elevator,
            'aileron': gains.roll_rate_to_aileron * rolling + aileron,
            'rudder': yawing + rudder,
            'throttle': (gains.path_angle_to_throttle * path + throttle
                         - gains.airspeed_to_throttle * indicated)}
        return np.array([
            gains.pitch_rate_to_elevator_integral * pitching,
            gains.roll_rate_to_aileron_integral * rolling, COORDINATION * yawing,
            by_integral * error, -gains.airspeed_to_throttle_integral * indicated,
            *(commanded[name] for name in controls)])

    # It is linear: its columns are its responses to one thing each.
    size = _INTEGRALS + len(_MEASURED)
    whole = np.array([respond(unit[:_INTEGRALS], unit[_INTEGRALS:]) for unit in np.eye(size)]).T
    # Integrals that nothing feeds, as of the throttle of a glider, are not there.
    kept = [n for n in range(_INTEGRALS) if whole[n].any()]
    rows, columns = slice(_INTEGRALS, None), slice(_INTEGRALS, None)
    return StateSpace(whole[np.ix_(kept, kept)], whole[kept, columns], whole[rows, kept],
                      whole[rows, columns])


def growth(plant: StateSpace, law: StateSpace, delay: float, lags: Sequence[float]) -> float:
    """
    Return the largest real part (1/s) of a plant under a law, each control delayed and lagged (s).

    The delay is Pade's approximation of second order.
    """
    for n, lag in enumerate(lags):
        if delay:
            plant = _behind(plant, n, StateSpace(
                np.array([[0.0, 1.0], [-12.0 / delay ** 2, -6.0 / delay]]),
                np.array([[0.0], [1.0]]), np.array([[0.0, -12.0 / delay]]), np.array([[1.0]])))
        if lag:
            plant = _behind(plant, n, StateSpace(
                np.array([[-1.0 / lag]]), np.array([[1.0 / lag]]), np.array([[1.0]]),
                np.array([[0.0]])))
    # u = C x_law + D y, y = c x + d u.
    inner = np.linalg.inv(np.eye(len(law.d)) - law.d @ plant.d)
    by_plant, by_law = inner @ law.d @ plant.c, inner @ law.c
    measured = plant.c + plant.d @ by_plant
    closed = np.block([
        [plant.a + plant.b @ by_plant, plant.b @ by_law],
        [law.b @ measured, law.a + law.b @ plant.d @ by_law]])
    return float(np.linalg.eigvals(closed).real.max())


def _behind(plant: StateSpace, n: int, first: StateSpace) -> StateSpace:
    """Return a plant whose input ``n`` goes through ``first``, of one input and output."""
    size = len(first.a)
    column = plant.b[:, n:n + 1]
    b = np.vstack([plant.b, np.zeros((size, plant.b.shape[1]))])
    b[:len(plant.a), n] *= first.d[0, 0]
    b[len(plant.a):, n] = first.b[:, 0]
    d = plant.d.copy()
    d[:, n] *= first.d[0, 0]
    return StateSpace(
        np.block([[plant.a, column @ first.c], [np.zeros((size, len(plant.a))), first.a]]), b,
        np.hstack([plant.c, plant.d[:, n:n + 1] @ first.c]), d)


def compute_margins(frequencies: Array, loop: Responses) -> Margins:
    """
    Return the margins of a stable loop by its open frequency response, in rad/s.

    Between the frequencies what crosses is interpolated, so they must be dense.
    """
    size, angle = np.log(np.abs(loop)), np.unwrap(np.angle(loop))
    at = np.log(frequencies)
    phase = delay = gain = math.inf
    for n in np.flatnonzero((size[:-1] >= 0.0) != (size[1:] >= 0.0)):
        share = size[n] / (size[n] - size[n + 1])
        turned = angle[n] + share * (angle[n + 1] - angle[n]) + math.pi
        crossover = math.exp(at[n] + share * (at[n + 1] - at[n]))
        phase = min(phase, abs(math.remainder(turned, math.tau)))
        delay = min(delay, float(turned) % math.tau / crossover)
    imaginary = loop.imag
    for n in np.flatnonzero((imaginary[:-1] >= 0.0) != (imaginary[1:] >= 0.0)):
        share = imaginary[n] / (imaginary[n] - imaginary[n + 1])
        real = loop.real[n] + share * (loop.real[n + 1] - loop.real[n])
        if real < 0.0:
            gain = min(gain, abs(20.0 * math.log10(-real)))
    return Margins(gain, math.degrees(phase), delay,
                   disk_margin((1.0 / (1.0 + loop))[:, None, None]))


def disk_margin(sensitivity: Responses) -> float:
    """
    Return the disk margin of a sensitivity function: frequency x channel x channel.

    Of several channels, which may change independently, it is a lower bound: the inverse of the
    largest singular value, balanced by a diagonal scaling (Osborne's), in place of the structured
    one.
    """
    matrices = sensitivity - 0.5 * np.eye(sensitivity.shape[1])
    apart = 1.0 - np.eye(matrices.shape[1])
    for _ in range(_BALANCINGS if len(apart) > 1 else 0):
        squares = np.abs(matrices) ** 2 * apart
        ratio = ((squares.sum(axis=1) + _TINY) / (squares.sum(axis=2) + _TINY)) ** 0.125
        matrices = matrices * ratio[:, :, None] / ratio[:, None, :]
    return float(1.0 / np.linalg.norm(matrices, 2, axis=(1, 2)).max())
