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

What is integrated has noise too. Its effect on the motion is in the bounds by trials
(noise_trials.py).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from xplane_bridge.laboratory.identification.estimation.bounds import corrected_covariance
from xplane_bridge.laboratory.identification.estimation.output_error import Estimate
from xplane_bridge.laboratory.identification.gusts import has_gusts, VANES, vanes
from xplane_bridge.laboratory.identification.motion.airframe import Airframe
from xplane_bridge.laboratory.identification.motion.equations import CheckedManoeuvre, RATES
from xplane_bridge.laboratory.identification.motion.signals import (
    Array,
    FlightSignals,
    IdentificationError,
    Mask,
)
from xplane_bridge.laboratory.identification.noise_trials import noise_trials
from xplane_bridge.laboratory.identification.reconstruction import (
    AT,
    DRIFTS,
    ERRORS,
    FLOW,
    flow,
    FORCES,
    OUTPUTS,
    OWN,
    Reconstruction,
)

# Standard deviations of the outputs to begin with, and the smallest (m/s, rad): below that it is
# the integration that differs, and no sensor.
_FIRST = np.array([0.5, 0.01, 0.01, 0.01, 0.01])
_LEAST = np.array([0.02, 3e-4, 3e-4, 3e-4, 3e-4])
_PASSES = 5
# In gusts: how far the initial velocity may be from the airspeed (m/s).
_MOVED = 2.0
# A vane or a pitot tube that is so far from what the others say is in another unit, or broken.
_WRONG_SCALE = 0.4
# Slow errors are no straight lines, and residuals are coloured more than the correction sees:
# counted by benchmarks/identification_coverage.py, variances are so many times as large. No
# heading is compared, and attitudes wander: what only these show is known worse.
_WIDER, _WIDEST = 1.7, 2.6
_BY_ATTITUDE = frozenset((
    'specific_force_x_bias', 'specific_force_y_bias', 'pitch_rate_bias', 'yaw_rate_bias',
    'specific_force_z_scale', 'pitch_rate_scale', 'yaw_rate_scale'))
_EARTH = 6.37e6
# The standard deviation of what is anywhere between nothing and all of it.
_UNIFORM = 3.0 ** -0.5
# An error that is so many times what sensors have, and so many standard deviations, is none.
_IMPOSSIBLE, _CERTAIN = 4.0, 4.0
# A specific force in g wants another 8.8 times itself; a simplified flight may want 3 times.
_IN_G = 5.0
# Of what is likely a priori the flight has to add so much, to say anything by itself.
_LEAST_SEEN = 1e-6
# The same of an airspeed that differs by this part of it and so much (m/s), beside its noise.
_WRONG_SPEED, _SEEN_SPEED = 0.02, 0.5


@dataclass(frozen=True)
class Compatibility:
    """
    What was found of the sensors: ``errors`` by the names of ERRORS.

    ``raw`` are the manoeuvres as measured, ``motions`` the corrected ones; ``other_motions`` those
    with other errors that are as likely: each by a standard deviation in one of independent
    directions, and by more noise of what is integrated. ``reconstructed`` (n, 5) are the OUTPUTS
    of each as the sensors would have shown them, ``misfit`` is the rms difference of each output
    from that (SI). ``left_out`` is why manoeuvres are not among them, by their names.
    """

    errors: Mapping[str, Estimate]
    raw: Sequence[FlightSignals]
    motions: Sequence[CheckedManoeuvre]
    other_motions: Sequence[Sequence[CheckedManoeuvre]]
    reconstructed: Sequence[Array]
    misfit: Mapping[str, float]
    left_out: Mapping[str, str] = field(default_factory=dict)


def check_compatibility(
    parts: Sequence[FlightSignals], airframe: Airframe, step: float = 0.0
) -> Compatibility:
    """
    Return the errors of the sensors and the corrected manoeuvres of a flight.

    ``step``: of the simulator whose flight it was (s), 0 for a real aircraft. Raises
    IdentificationError where a sensor contradicts the others by far.
    """
    every = Reconstruction(parts, step)
    known = np.isfinite(every.measured)
    found = _fitted(every, known, np.inf)
    _refuse_forces_in_g(parts, found)
    gusts = has_gusts([found.left[:n, at, 1:3] for at, n in enumerate(every.lengths)])
    if gusts:
        known[..., :len(FLOW)] = False
        found = _with_vanes(every, parts, _fitted(every, known, _MOVED))
    trials = noise_trials(parts, (*FORCES, *RATES))
    answers = _answers(every, found, trials)
    # What is integrated has noise, which looks as an error does.
    variances = np.diag(found.covariance) + ((answers - found.theta) ** 2).sum(axis=0)
    variances[:len(ERRORS)] *= [_WIDEST if name in _BY_ATTITUDE else _WIDER for name in ERRORS]
    # The Earth is round: in level flight gyros turn with it, unlike what is integrated here.
    variances[[AT[f'{name}_bias'] for name in RATES]] += (
        float(np.nanmedian(every.measured[..., 0])) / _EARTH) ** 2
    errors = {name: Estimate(float(found.theta[at]), float(np.sqrt(variances[at])))
              for at, name in enumerate(ERRORS)}
    _refuse_wrong_scales(parts, errors)
    if not gusts:
        _refuse_wrong_speed(every, parts, found.left[..., 0])
    motions, *others = every.corrected(
        parts, np.vstack((found.theta, found.theta + _directions(found.covariance))), airframe,
        gusts)
    others += every.corrected(parts, answers, airframe, gusts, trials)
    if parts[0].surfaces:
        # What surfaces did between two times is not known either: anything up to that.
        others.append([motion.without_jumps(_UNIFORM) for motion in motions])
    return Compatibility(
        errors, parts, motions, others,
        [found.outputs[:n, at] for at, n in enumerate(every.lengths)],
        {name: float(np.sqrt(np.nanmean(found.left[..., at] ** 2)))
         for at, name in enumerate(OUTPUTS) if known[..., at].any()})


def _with_vanes(
    every: Reconstruction, parts: Sequence[FlightSignals], found: _Fitted
) -> _Fitted:
    """Return what was fitted, with the errors of vanes that show although there are gusts."""
    states = every.states(found.theta[None])[:, :, 0]
    values, own = vanes(
        parts, [np.stack(flow(states[:n, at])[1:], axis=1) for at, n in enumerate(every.lengths)],
        np.array([ERRORS[name][1] for name in VANES]))
    theta, covariance = found.theta.copy(), found.covariance.copy()
    at = [AT[name] for name in VANES]
    theta[at] = values
    covariance[at] = covariance[:, at] = 0.0
    covariance[np.ix_(at, at)] = own
    return found._replace(theta=theta, covariance=covariance)


class _Fitted(NamedTuple):
    """
    The parameters and their covariance; outputs (n, manoeuvres, 5), and what is left.

    ``information`` (p, p) and ``table`` (known outputs, p), the slopes over the ``deviations``
    (5,) of the outputs, are those of the last step.
    """

    theta: Array
    covariance: Array
    outputs: Array
    left: Array
    information: Array
    table: Array
    deviations: Array


def _fitted(every: Reconstruction, known: Mask, velocity: float) -> _Fitted:
    """
    Return the parameters that fit what is ``known``.

    ``velocity`` is the a priori standard deviation of the initial velocity about what is measured
    (m/s).
    """
    first = np.concatenate((np.zeros(len(ERRORS)), every.starts.ravel()))
    count = len(every.lengths)
    likely = np.concatenate((
        [size for _, size in ERRORS.values()],
        np.tile((velocity, velocity, velocity, np.inf, np.inf, *DRIFTS), count)))
    steps = np.concatenate((
        1e-3 * likely[:len(ERRORS)],
        np.tile((1e-3, 1e-3, 1e-3, *(1e-5,) * (OWN - 3)), count)))
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
    return _Fitted(theta, covariance, outputs, left, information, table, deviations)


def _answers(
    every: Reconstruction, found: _Fitted, trials: Sequence[Sequence[FlightSignals]]
) -> Array:
    """Return the parameters that fit the same outputs with other inputs (trials, p)."""
    thetas = np.repeat(found.theta[None], len(trials), axis=0)
    left = (found.outputs[:, :, None] - every.outputs(
        every.states(thetas, trials), thetas)) / found.deviations
    known = np.isfinite(found.left)
    return thetas + _solved(found.information, found.table.T @ np.stack(
        [left[:, :, at][known] for at in range(len(trials))], axis=1)).T


def _solved(information: Array, gradient: Array) -> Array:
    scale = np.sqrt(np.diag(information))
    found: Array = np.linalg.solve(
        information / np.outer(scale, scale) + 1e-12 * np.eye(len(scale)), (gradient.T / scale).T)
    return (found.T / scale).T


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


def _refuse_forces_in_g(parts: Sequence[FlightSignals], found: _Fitted) -> None:
    """Raise IdentificationError for a specific force that is many times too small."""
    if not all(part.has(name) for part in parts for name in FLOW):
        return
    for name in FORCES:
        # By the flight alone: what is usual of a scale hides it.
        scale, deviation = _by_itself(found, f'{name}_scale')
        if scale < -max(_IN_G, _CERTAIN * deviation):
            raise IdentificationError(
                f'{parts[0].source}: {name} is too small by far for airspeed, flow angles and '
                f'attitude from {parts[0].times[0]:.1f} s on: is it in g?')


def _refuse_wrong_scales(parts: Sequence[FlightSignals], errors: Mapping[str, Estimate]) -> None:
    since = f'from {parts[0].times[0]:.1f} s on'
    for name in FLOW:
        scale = errors[f'{name}_scale'].value
        if abs(scale) > _WRONG_SCALE:
            raise IdentificationError(
                f'{parts[0].source}: {name} is {1.0 + scale:.2g} times what specific forces and '
                f'angular rates say {since}: expected SI units and radians, from a sensor that '
                'works')
    for name, error in errors.items():
        if abs(error.value) > max(_IMPOSSIBLE * ERRORS[name][1], _CERTAIN * error.deviation):
            signal, _, kind = name.rpartition('_')
            raise IdentificationError(
                f'{parts[0].source}: by the other signals {signal} has a {kind} of '
                f'{error.value:.3g} {ERRORS[name][0]}'.rstrip() + f' {since}, which no such '
                'sensor has: is it in another unit, or of another sign?')


def _by_itself(found: _Fitted, name: str) -> Estimate:
    """Return an error as the flight alone shows it, without what is likely of any sensor."""
    at, likely = AT[name], ERRORS[name][1] ** 2
    scale = np.sqrt(np.diag(found.information))
    white = np.linalg.inv(found.information / np.outer(scale, scale))[at, at] / scale[at] ** 2
    seen = 1.0 - white / likely
    if seen < _LEAST_SEEN:
        return Estimate(0.0, np.inf)
    return Estimate(float(found.theta[at]) / seen,
                    float(np.sqrt(_WIDER * found.covariance[at, at] / seen)))


def _refuse_wrong_speed(
    every: Reconstruction, parts: Sequence[FlightSignals], left: Array
) -> None:
    usual = float(np.nanmedian(every.measured[..., 0]))
    for at, part in enumerate(parts):
        known = left[np.isfinite(left[:, at]), at]
        off = float(np.sqrt(max(np.mean(known ** 2) - 0.5 * np.mean(np.diff(known) ** 2), 0.0)))
        if off > max(_WRONG_SPEED * usual, _SEEN_SPEED):
            raise IdentificationError(
                f'{part.source}: true_airspeed is {off:.2g} m/s (rms) off what specific forces '
                f'and angular rates say from {part.times[0]:.1f} s to {part.times[-1]:.1f} s: is '
                'the pitot tube blocked, or at its limit, or specific_force_x of another sign?')
