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
The modes of an aircraft in its linear model, and their levels by MIL-F-8785C.

Longitudinal and lateral motion are taken apart, as they are in straight flight: the eigenvalues
of (airspeed, angle of attack, pitch, pitch rate) are short period and phugoid, those of (sideslip,
roll, roll rate, yaw rate) Dutch roll, roll and spiral. Etkin and Reid, Dynamics of Flight,
chapter 6; levels: MIL-F-8785C, 5 November 1980, sections 3.2.1.2, 3.2.2.1 and 3.3.1.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
import math

import numpy as np

from xplane_bridge.common.units import STANDARD_GRAVITY
from xplane_bridge.simulation.aircraft.linear_model import LinearModel

SHORT_PERIOD, PHUGOID, DUTCH_ROLL, ROLL, SPIRAL, ROLL_SPIRAL = NAMES = (
    'short_period', 'phugoid', 'dutch_roll', 'roll', 'spiral', 'roll_spiral')
"""roll_spiral is the oscillation that roll and spiral have become where they are no longer two."""

CLASSES = ('I', 'II', 'III', 'IV')
"""Light; medium weight, low to medium manoeuvrability (from land); large; highly manoeuvrable."""

CATEGORIES = ('A', 'B', 'C')
"""Phases of flight: rapid manoeuvring or tracking; cruise, climb, descent; take-off, landing."""

UNCONTROLLED = 4
"""What is worse than level 3."""

_LONGITUDINAL = ('true_airspeed', 'angle_of_attack', 'pitch', 'pitch_rate')
_SHORT = ('angle_of_attack', 'pitch_rate')
_LATERAL = ('sideslip', 'roll', 'roll_rate', 'yaw_rate')

# The rows of the specification, one for each level: bounds of the damping ratio, of the control
# anticipation parameter, and the least frequency (rad/s) of the short period.
_SHORT_DAMPING = {
    'A': ((0.35, 1.3), (0.25, 2.0), (0.15, math.inf)),
    'B': ((0.30, 2.0), (0.20, 2.0), (0.15, math.inf)),
    'C': ((0.35, 1.3), (0.25, 2.0), (0.15, math.inf))}
_ANTICIPATION = {
    'A': ((0.28, 3.6), (0.16, 10.0), (0.16, math.inf)),
    'B': ((0.085, 3.6), (0.038, 10.0), (0.038, math.inf)),
    'C': ((0.16, 3.6), (0.096, 10.0), (0.096, math.inf))}
_SHORT_FREQUENCY = {'A': (1.0, 0.6, 0.0), 'B': (0.0, 0.0, 0.0)}
_SHORT_FREQUENCY_C = {'I': (0.87, 0.6, 0.0), 'II': (0.7, 0.4, 0.0), 'III': (0.7, 0.4, 0.0),
                      'IV': (0.87, 0.6, 0.0)}
_PHUGOID_DAMPING = (0.04, 0.0)
_PHUGOID_DOUBLES = 55.0
# Least damping ratio, its product with the frequency (rad/s), and frequency: of level 1.
_DUTCH = {'A': (0.19, 0.35), 'B': (0.08, 0.15)}
_DUTCH_C = {'I': (0.08, 0.15), 'II': (0.08, 0.10), 'III': (0.08, 0.10), 'IV': (0.08, 0.15)}
_DUTCH_LOWER = ((0.02, 0.05), (0.0, -math.inf))
_DUTCH_SLOWEST = 0.4
_DUTCH_SLOWEST_AGILE = 1.0
_AGILE = ('I', 'IV')
_ROLL_AGILE, _ROLL_OTHER = (1.0, 1.4, 10.0), (1.4, 3.0, 10.0)
_SPIRAL = {'A': (12.0, 8.0, 4.0), 'B': (20.0, 8.0, 4.0), 'C': (12.0, 8.0, 4.0)}
_ROLL_SPIRAL = (0.5, 0.3, 0.15)


@dataclass(frozen=True, slots=True)
class Mode:
    """
    A mode: its one real eigenvalue, or two that belong together, in 1/s.

    ``frequency`` (undamped, rad/s) and ``damping`` are those of the factor s^2 + 2 damping
    frequency s + frequency^2, also of two real eigenvalues (damping above 1); NaN where there is
    none, as of one eigenvalue, or of two of which one diverges.
    """

    name: str
    eigenvalues: tuple[complex, ...]

    @property
    def frequency(self) -> float:
        """Return the undamped natural frequency, in rad/s."""
        product = math.prod(self.eigenvalues).real if len(self.eigenvalues) > 1 else math.nan
        return math.sqrt(product) if product > 0.0 else math.nan

    @property
    def damping(self) -> float:
        """Return the damping ratio."""
        return -sum(value.real for value in self.eigenvalues) / (2.0 * self.frequency)

    @property
    def growth(self) -> float:
        """Return the largest real part, in 1/s; above 0 it diverges."""
        return max(value.real for value in self.eigenvalues)

    @property
    def time_constant(self) -> float:
        """Return the time constant (s) of its decay; below 0 it is that of a divergence."""
        return -1.0 / self.growth if self.growth else math.inf

    @property
    def time_to_double(self) -> float:
        """Return how long its amplitude takes to double, in s; infinite if it does not grow."""
        return math.log(2.0) / self.growth if self.growth > 0.0 else math.inf


@dataclass(frozen=True, slots=True)
class Modes:
    """
    The modes of an aircraft by their names (NAMES), and n/alpha: load factor per rad.

    There are either roll and spiral, or roll_spiral.
    """

    modes: Mapping[str, Mode]
    load_factor_per_alpha: float

    def __getitem__(self, name: str) -> Mode:
        """Return a mode; KeyError if this aircraft has it not."""
        return self.modes[name]

    @property
    def anticipation(self) -> float:
        """Return the control anticipation parameter, in rad/s^2 per g; NaN if there is none."""
        if not self.load_factor_per_alpha > 0.0:
            return math.nan
        return self.modes[SHORT_PERIOD].frequency ** 2 / self.load_factor_per_alpha


def compute_modes(model: LinearModel) -> Modes:
    """
    Return the modes of an aircraft in straight flight, by its linear model.

    Without the airspeed among its states there is no phugoid, and the short period is that of
    constant speed; without the lateral states there are none of theirs. Raises ValueError for a
    model that lacks more than that.
    """
    names = {signal.name for signal in model.states}
    found: dict[str, tuple[complex, ...]] = {}
    if names.isdisjoint(_LATERAL) or not names.isdisjoint(_SHORT):
        found |= _longitudinal(model, names)
    if not names.isdisjoint(_LATERAL):
        found |= _lateral(model)
    slope = 0.0
    if SHORT_PERIOD in found:
        slope = -float(model.c[model.index('outputs', 'specific_force_z'),
                               model.index('states', 'angle_of_attack')]) / STANDARD_GRAVITY
    return Modes({name: Mode(name, found[name]) for name in NAMES if name in found}, slope)


def _longitudinal(model: LinearModel, names: Collection[str]) -> dict[str, tuple[complex, ...]]:
    if 'true_airspeed' not in names:
        return {SHORT_PERIOD: _in_pairs(_eigenvalues(model, _SHORT))[0]}
    short, phugoid = _in_pairs(_eigenvalues(model, _LONGITUDINAL))
    return {SHORT_PERIOD: short, PHUGOID: phugoid}


def _lateral(model: LinearModel) -> dict[str, tuple[complex, ...]]:
    lateral = _eigenvalues(model, _LATERAL)
    real = sorted((value for value in lateral if not value.imag), key=abs)
    pairs = _in_pairs([value for value in lateral if value.imag])
    if len(pairs) > 1:
        return {DUTCH_ROLL: pairs[0], ROLL_SPIRAL: pairs[1]}
    return {DUTCH_ROLL: pairs[0] if pairs else tuple(real[1:3]),
            ROLL: (real[-1],), SPIRAL: (real[0],)}


def levels(modes: Modes, aircraft_class: str = 'I', category: str = 'B') -> dict[str, int]:
    """
    Return the level of each mode by its name: 1, 2, 3, or UNCONTROLLED.

    ``aircraft_class`` is one of CLASSES, ``category`` one of CATEGORIES; ValueError if not. What
    demands on several figures of a mode, such as frequency and damping, is met by the worst.
    """
    if aircraft_class not in CLASSES:
        raise ValueError(
            f'class is {aircraft_class!r}, expected one of {", ".join(CLASSES)}')
    if category not in CATEGORIES:
        raise ValueError(f'category is {category!r}, expected one of {", ".join(CATEGORIES)}')
    rules: dict[str, Callable[[], int]] = {
        SHORT_PERIOD: lambda: _short_period(modes, aircraft_class, category),
        PHUGOID: lambda: _phugoid(modes[PHUGOID]),
        DUTCH_ROLL: lambda: _dutch_roll(modes[DUTCH_ROLL], aircraft_class, category),
        ROLL: lambda: _roll(modes[ROLL], aircraft_class, category),
        SPIRAL: lambda: _level([
            modes[SPIRAL].time_to_double >= least for least in _SPIRAL[category]]),
        ROLL_SPIRAL: lambda: _roll_spiral(modes[ROLL_SPIRAL], category)}
    return {name: rules[name]() for name in modes.modes}


def _short_period(modes: Modes, aircraft_class: str, category: str) -> int:
    mode, anticipation = modes[SHORT_PERIOD], modes.anticipation
    slowest = (
        _SHORT_FREQUENCY_C[aircraft_class] if category == 'C' else _SHORT_FREQUENCY[category])
    return _level([
        low <= mode.damping <= high and least <= anticipation <= most
        and mode.frequency >= frequency
        for (low, high), (least, most), frequency in zip(
            _SHORT_DAMPING[category], _ANTICIPATION[category], slowest, strict=True)])


def _phugoid(mode: Mode) -> int:
    return _level([
        *(mode.damping >= least for least in _PHUGOID_DAMPING),
        mode.time_to_double >= _PHUGOID_DOUBLES])


def _dutch_roll(mode: Mode, aircraft_class: str, category: str) -> int:
    first = _DUTCH_C[aircraft_class] if category == 'C' else _DUTCH[category]
    slowest = (_DUTCH_SLOWEST_AGILE if category != 'B' and aircraft_class in _AGILE
               else _DUTCH_SLOWEST)
    return _level([
        mode.damping >= damping and mode.damping * mode.frequency >= product
        and mode.frequency >= frequency
        for (damping, product), frequency in zip(
            (first, *_DUTCH_LOWER), (slowest, _DUTCH_SLOWEST, _DUTCH_SLOWEST), strict=True)])


def _roll(mode: Mode, aircraft_class: str, category: str) -> int:
    slowest = (
        _ROLL_AGILE if category != 'B' and aircraft_class in _AGILE else _ROLL_OTHER)
    return _level([0.0 < mode.time_constant <= most for most in slowest])


def _roll_spiral(mode: Mode, category: str) -> int:
    # Section 3.3.1.4: in category A there is to be none.
    if category == 'A':
        return UNCONTROLLED
    return _level([mode.damping * mode.frequency >= least for least in _ROLL_SPIRAL])


def _level(met: Sequence[bool]) -> int:
    """Return the best level whose demands are met."""
    return next((level for level, is_met in enumerate(met, 1) if is_met), UNCONTROLLED)


def _eigenvalues(model: LinearModel, names: Sequence[str]) -> list[complex]:
    rows = [model.index('states', name) for name in names]
    return [complex(value) for value in np.linalg.eigvals(model.a[np.ix_(rows, rows)])]


def _in_pairs(values: Sequence[complex]) -> list[tuple[complex, ...]]:
    """Return the values two by two, conjugates together, the fastest pair first."""
    real = sorted((value for value in values if not value.imag), key=abs, reverse=True)
    pairs: list[tuple[complex, ...]] = [
        (value, value.conjugate()) for value in values if value.imag > 0.0]
    pairs += [tuple(real[n:n + 2]) for n in range(0, len(real), 2)]
    return sorted(pairs, key=lambda pair: abs(math.prod(pair)), reverse=True)
