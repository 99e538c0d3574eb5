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

"""What makes an estimate impossible: each is a sentence with the signal and the time."""

from __future__ import annotations

from collections.abc import Sequence
import math
from typing import NamedTuple

import numpy as np

from xplane_bridge.common.text import counted
from xplane_bridge.laboratory.identification.estimation.equation_error import FOLLOWS, Regression
from xplane_bridge.laboratory.identification.estimation.output_error import Fit
from xplane_bridge.laboratory.identification.manoeuvres import TEST_INPUT
from xplane_bridge.laboratory.identification.motion.equations import (
    CheckedManoeuvre,
    GRAVITY,
    ModelStructure,
    RATES,
)
from xplane_bridge.laboratory.identification.motion.signals import (
    Array,
    CONTROLS,
    DEFLECTIONS,
    FlightSignals,
    IdentificationError,
    OPTIONAL,
    SIGNALS,
)

# How well a model foretells a flight that it was not made of.

class Agreement(NamedTuple):
    """
    How well an output agrees: the part of its variance explained, and Theil's coefficient.

    ``r_squared`` is 1 for a perfect model, ``theil`` 0; below 0.3 it is usually good enough
    (Jategaonkar, FlightSignals Vehicle System Identification, section 11.3.4).
    """

    r_squared: float
    theil: float


def agreement(measured: Sequence[Array], estimated: Sequence[Array]) -> Agreement:
    """Return the agreement of an output over all manoeuvres; NaN where nothing was measured."""
    y, z = np.concatenate(estimated), np.concatenate(measured)
    known = np.isfinite(z)
    spread = np.concatenate([
        one - np.nanmean(one) if np.isfinite(one).any() else one for one in measured])[known]
    y, z = y[known], z[known]
    if not len(z):
        return Agreement(np.nan, np.nan)
    error = float(np.sqrt(np.mean((y - z) ** 2)))
    size = float(np.sqrt(np.mean(y * y)) + np.sqrt(np.mean(z * z)))
    total = float(np.mean(spread ** 2))
    return Agreement(
        1.0 - error ** 2 / total if total else np.nan, error / size if size else np.nan)


# Of the specific force in the middle of a flight, in g.
_LIGHTEST, _HEAVIEST = 0.3, 2.5
# A gap is so many times as long as usual, and at least so long (s).
_GAP, _SHORTEST_GAP = 5.0, 0.25
# Seconds without a sample of a signal that others have.
_SILENT = 1.0
FEWEST_SAMPLES, _SLOWEST = 50, 8.0
_MOST_SAMPLES = 2_000_000
# Of all manoeuvres together; each takes memory for each parameter.
_MOST_MANOEUVRES, _MOST_AT_ONCE = 30, 60_000
# A control is at its limit from here on, for so many samples.
_LIMIT, _CLIPPED = 0.999, 3
# Of the variance of an angular rate.
_DESCRIBED = 0.5
# By how much angular rates and attitude may differ, and from which change (rad) on that is seen.
_SAME, _SEEN = 0.35, 0.02
# How much faster at most: dynamic pressure, and with it all moments, is 1.7 times as large then.
_FASTER = 1.3


def check(flight: FlightSignals) -> None:
    """Raise IdentificationError for a flight without a signal, or whose times are none."""
    times = flight.times
    missing = [name for name in SIGNALS if name not in OPTIONAL and not flight.has(name)]
    if missing:
        raise IdentificationError(
            f'{flight.source}: nothing was measured of {", ".join(missing)}')
    if not FEWEST_SAMPLES <= len(times) <= _MOST_SAMPLES:
        raise IdentificationError(
            f'{flight.source}: expected {FEWEST_SAMPLES} to {_MOST_SAMPLES} samples, got '
            f'{len(times)}')
    steps = np.diff(times)
    if not np.isfinite(times).all() or (steps <= 0.0).any():
        at = int(np.argmax(~(steps > 0.0)))
        raise IdentificationError(
            f'{flight.source}: the clock goes from {times[at]:.3f} s to {times[at + 1]:.3f} s: '
            'expected times that increase')
    usual = float(np.median(steps))
    if usual > 1.0 / _SLOWEST:
        raise IdentificationError(
            f'{flight.source}: {1.0 / usual:.2g} samples per second, expected at least '
            f'{_SLOWEST:g}: is time in s?')


def check_magnitudes(part: FlightSignals) -> None:
    """
    Raise IdentificationError for a manoeuvre whose signals are not in the units they should be.

    What an aircraft did before or after, and if it broke, is none of the manoeuvre's.
    """
    for name in SIGNALS:
        if part.has(name):
            _check_magnitude(part, name)
    _check_gravity(part)


def check_size(parts: Sequence[FlightSignals]) -> None:
    """Raise IdentificationError for more than is identified at a time, in memory."""
    count = sum(len(part.times) for part in parts)
    if len(parts) > _MOST_MANOEUVRES or count > _MOST_AT_ONCE:
        raise IdentificationError(
            f'{parts[0].source}: {counted(len(parts), "manoeuvre")} with {count} samples, '
            f'expected at most {_MOST_MANOEUVRES} with {_MOST_AT_ONCE}: choose some, or fewer '
            'samples per second')


def check_manoeuvre(part: FlightSignals) -> None:
    """Raise IdentificationError for a manoeuvre with gaps, clipped controls or wrong rates."""
    times = part.times
    steps = np.diff(times)
    if len(times) < FEWEST_SAMPLES:
        raise IdentificationError(
            f'{_of(part)}: {len(times)} samples, expected at least {FEWEST_SAMPLES}')
    longest = int(np.argmax(steps))
    if steps[longest] > max(_GAP * float(np.median(steps)), _SHORTEST_GAP):
        raise IdentificationError(
            f'{_of(part)}: a gap of {steps[longest]:.2f} s in all signals at '
            f'{times[longest]:.2f} s')
    for name in SIGNALS:
        # Deflections that are needed have the names of their controls.
        if name in DEFLECTIONS.values():
            continue
        if not part.has(name):
            if name in OPTIONAL:
                continue
            raise IdentificationError(f'{_of(part)}: nothing was measured of {name}')
        known = times[np.isfinite(part.values[name])]
        edges = np.concatenate((times[:1], known, times[-1:]))
        silent = int(np.argmax(np.diff(edges)))
        if edges[silent + 1] - edges[silent] > _SILENT:
            raise IdentificationError(
                f'{_of(part)}: {name} has a gap of {edges[silent + 1] - edges[silent]:.2f} s at '
                f'{edges[silent]:.2f} s')
    for name in CONTROLS:
        at_limit = np.flatnonzero(np.abs(part.filled(name)) >= _LIMIT)
        if len(at_limit) >= _CLIPPED:
            raise IdentificationError(
                f'{_of(part)}: {name} is at its limit at {times[at_limit[0]]:.2f} s: what was '
                'commanded is not what the surface did')
    _check_rates(part)


def check_regression(
    form: ModelStructure, motions: Sequence[CheckedManoeuvre], found: Regression
) -> None:
    """Raise IdentificationError where the regressors of a form cannot be told apart."""
    alike = found.collinearity
    first, last = motions[0].times[0], motions[-1].times[-1]
    otherwise = 'fly inputs of different shape on each control, with the controller off'
    if alike.is_too_much:
        raise IdentificationError(
            f'{form.name}: {alike.pair[0]} and {alike.pair[1]} move alike from {first:.1f} s to '
            f'{last:.1f} s (correlation {alike.correlation:.2f}, condition number '
            f'{alike.condition:.0f}): no derivative can be told from the others; {otherwise}')
    # Where a scenario says what was flown, it was an input.
    if alike.follows[1] > FOLLOWS and not any(
            TEST_INPUT.match(motion.measured.manoeuvres[0].name) for motion in motions):
        raise IdentificationError(
            f'{form.name}: {alike.follows[0]} follows states and attitude from {first:.1f} s to '
            f'{last:.1f} s, which explain {100.0 * alike.follows[1]:.0f} % of it: a controller '
            f'flies, and what it answers to cannot be told from what it does; {otherwise}')


def check_condition(form: ModelStructure, motions: Sequence[CheckedManoeuvre]) -> None:
    """Raise IdentificationError for manoeuvres at airspeeds that have not the same derivatives."""
    low, high = (min(motions, key=lambda motion: float(motion['true_airspeed'].min())),
                 max(motions, key=lambda motion: float(motion['true_airspeed'].max())))
    slowest, fastest = low['true_airspeed'].min(), high['true_airspeed'].max()
    if fastest > _FASTER * slowest:
        raise IdentificationError(
            f'{form.name}: true_airspeed is {slowest:.0f} m/s in {_of(low.measured)} and '
            f'{fastest:.0f} m/s in {_of(high.measured)}: derivatives are those of one flight '
            f'condition, expected at most {_FASTER:g} times as fast')


def check_flow(form: ModelStructure, motion: CheckedManoeuvre) -> None:
    """Raise IdentificationError where nothing measured the flow angle of a form."""
    if not motion.measured.has(form.states[0]):
        raise IdentificationError(
            f'{_of(motion.measured)}: nothing was measured of {form.states[0]}: without it no '
            f'{form.name} derivative can be told from the errors of the other sensors')


def check_fit(motions: Sequence[CheckedManoeuvre], fit: Fit) -> None:
    """Raise IdentificationError for a model that does not describe what was flown."""
    for at, name in enumerate(fit.form.states):
        # A vane may show more noise than motion.
        if name not in RATES:
            continue
        found = agreement(
            [motion.output(fit.form, name) for motion in motions],
            [outputs[:, at] for outputs in fit.outputs])
        if not found.r_squared > _DESCRIBED:
            raise IdentificationError(
                f'{fit.form.name}: the model explains {100.0 * found.r_squared:.0f} % of '
                f'{name} from {motions[0].times[0]:.1f} s on, expected more than '
                f'{100.0 * _DESCRIBED:.0f} %: too little excitation, gusts, or a wrong signal')


def _of(part: FlightSignals) -> str:
    return f'{part.source}, {part.manoeuvres[0].name}' if part.manoeuvres else part.source


def _check_magnitude(flight: FlightSignals, name: str) -> None:
    values = np.abs(flight.values[name])
    at = int(np.nanargmax(values))
    signal = SIGNALS[name]
    if signal.least and (usual := float(np.nanmedian(flight.values[name]))) < signal.least:
        raise IdentificationError(
            f'{flight.source}: {name} is {usual:.4g} {signal.unit} in the middle of the flight, '
            f'expected at least {signal.least:g}: is it in {signal.small}?')
    if not values[at] <= signal.largest * (1.0 + 1e-9):
        unit = f' {signal.unit}' if signal.unit else ''
        raise IdentificationError(
            f'{flight.source}: {name} is {values[at]:.4g} at {flight.times[at]:.2f} s, expected '
            f'at most {signal.largest:.3g}{unit}'
            + (f': is it in {signal.usual}?' if signal.usual else ''))


def _check_gravity(flight: FlightSignals) -> None:
    """Raise IdentificationError where what holds the aircraft up is not gravity's opposite."""
    up = np.cos(flight.filled('roll')) * np.cos(flight.filled('pitch'))
    known = np.isfinite(flight.values['specific_force_z'])
    force = float(np.median((flight.values['specific_force_z'] * np.sign(up))[known]))
    if -_HEAVIEST * GRAVITY <= force <= -_LIGHTEST * GRAVITY:
        return
    asked = ('is it in g, or without gravity?' if abs(force) < _LIGHTEST * GRAVITY else
             'is it in ft/s^2?' if force < 0.0 else
             'is its axis up? It is down here, so turn its sign')
    raise IdentificationError(
        f'{flight.source}: specific_force_z is {force:.3g} m/s^2 in the middle of the flight, '
        f'expected about {-GRAVITY:.1f}: {asked}')


def _check_rates(part: FlightSignals) -> None:
    """Compare the angular rates with the attitude: a wrong unit, sign or clock is seen there."""
    roll, pitch = np.unwrap(part.filled('roll')), part.filled('pitch')
    p, q, r = (part.filled(name) for name in ('roll_rate', 'pitch_rate', 'yaw_rate'))
    turning = q * np.sin(roll) + r * np.cos(roll)
    for name, rate, angle in (
        ('roll_rate', p + np.tan(pitch) * turning, roll),
        ('pitch_rate', q * np.cos(roll) - r * np.sin(roll), pitch),
    ):
        turned = _bent(part.times, np.concatenate((
            (0.0,), np.cumsum(0.5 * (rate[1:] + rate[:-1]) * np.diff(part.times)))))
        seen = _bent(part.times, angle)
        if max(float(np.abs(seen).max()), float(np.abs(turned).max())) < _SEEN:
            continue
        ratio = float(turned @ seen) / max(float(seen @ seen), 1e-12)
        if abs(ratio - 1.0) > _SAME:
            scale = ratio * math.radians(1.0)
            asked = ('is it in deg/s?' if abs(scale - 1.0) < _SAME else
                     f'is {name.removesuffix("_rate")} in deg?'
                     if abs(ratio / math.radians(1.0) - 1.0) < _SAME else
                     'expected rad/s, forward, right, down')
            raise IdentificationError(
                f'{_of(part)}: {name} turns {ratio:.3g} times as far as the attitude does from '
                f'{part.times[0]:.1f} s to {part.times[-1]:.1f} s: {asked}')


def _bent(times: Array, values: Array) -> Array:
    """Return what is left of values without a straight line: a bias of a rate is none of it."""
    found: Array = values - np.polyval(np.polyfit(times, values, 1), times)
    return found
