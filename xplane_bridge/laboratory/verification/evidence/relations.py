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

"""Two series that should be the same: one reported, one that follows from other signals."""

from __future__ import annotations

from enum import Enum
import math
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from xplane_bridge.common.units import (
    DEGREE,
    FOOT,
    FOOT_PER_MINUTE,
    INCH_OF_MERCURY,
    KNOT,
    MILE_PER_HOUR,
    POUND_PER_SQUARE_FOOT,
    STANDARD_GRAVITY,
)

Series: TypeAlias = NDArray[np.float64]


class Kind(Enum):
    """Kinds of quantities, each with the units that are taken for one another."""

    ANGLE = 'angle'
    SPEED = 'speed'
    LENGTH = 'length'
    FORCE = 'force'
    PRESSURE = 'pressure'
    RATIO = 'ratio'


_KILOMETRE_PER_HOUR = 1.0 / 3.6
_UNITS: dict[Kind, tuple[tuple[float, str, str], ...]] = {
    Kind.ANGLE: ((DEGREE, 'degrees', 'radians'),),
    Kind.SPEED: (
        (KNOT, 'knots', 'm/s'), (FOOT, 'ft/s', 'm/s'), (MILE_PER_HOUR, 'mph', 'm/s'),
        (_KILOMETRE_PER_HOUR, 'km/h', 'm/s'), (FOOT_PER_MINUTE, 'ft/min', 'm/s')),
    Kind.LENGTH: ((FOOT, 'feet', 'metres'), (1000.0, 'kilometres', 'metres')),
    Kind.FORCE: ((STANDARD_GRAVITY, 'g', 'm/s^2'), (FOOT, 'ft/s^2', 'm/s^2')),
    Kind.PRESSURE: (
        (100.0, 'hPa', 'Pa'), (INCH_OF_MERCURY, 'inches of mercury', 'Pa'),
        (POUND_PER_SQUARE_FOOT, 'psf', 'Pa'), (1000.0, 'kPa', 'Pa')),
    Kind.RATIO: ((0.01, 'percent', 'a ratio'),),
}
# A factor within so much of a unit's is that unit's; two units are never closer together.
_CLOSE = 0.12
# What belongs together follows each other at least so well.
_LEAST_CORRELATION = 0.6
# Samples, without which nothing can be said.
_FEWEST = 8
# A signal that moves less than this part of what it should does not move.
_STILL = 0.05


class Accord(Enum):
    """How a reported series stands to what it should be."""

    AGREES = 'agrees'
    SIGN = 'other sign'
    UNIT = 'other unit'
    STILL = 'does not move'
    ASTRAY = 'does not follow'
    UNFLOWN = 'too little of it was flown'
    UNKNOWN = 'not on the wire'


class Relation(NamedTuple):
    """
    A verdict, and by which factor the reported series is too large; NaN if there is none.

    ``units`` are the unit that seems to be sent, and the one that is expected.
    """

    verdict: Accord
    factor: float = math.nan
    units: tuple[str, str] = ('', '')

    @property
    def is_bad(self) -> bool:
        """Return whether the two contradict each other."""
        return self.verdict in (Accord.SIGN, Accord.UNIT, Accord.STILL, Accord.ASTRAY)

    @property
    def repair(self) -> float:
        """Return what to multiply the reported series by; NaN if that does not help."""
        return 1.0 / self.factor if self.verdict in (Accord.SIGN, Accord.UNIT) else math.nan


def relate(
    reported: Series, expected: Series, kind: Kind, least: float, tolerance: float = 0.4,
) -> Relation:
    """
    Return how a reported series stands to what it should be; NaN counts as unknown.

    ``least`` is the root mean square of ``expected`` from which something can be said.
    ``tolerance`` is how far the factor may be from 1.
    """
    known = np.isfinite(reported) & np.isfinite(expected)
    if known.sum() < _FEWEST:
        return Relation(Accord.UNKNOWN)
    got, wanted = reported[known], expected[known]
    energy, wanted_energy = float(got @ got), float(wanted @ wanted)
    if wanted_energy < least ** 2 * len(wanted):
        return Relation(Accord.UNFLOWN)
    if energy < _STILL ** 2 * wanted_energy and not _unit(
            kind, math.sqrt(energy / wanted_energy)):
        return Relation(Accord.STILL)
    together = float(got @ wanted)
    if abs(together) < _LEAST_CORRELATION * math.sqrt(energy * wanted_energy):
        return Relation(Accord.ASTRAY)
    factor = math.copysign(math.sqrt(energy / wanted_energy), together)
    if 1.0 / (1.0 + tolerance) <= factor <= 1.0 + tolerance:
        return Relation(Accord.AGREES, factor)
    if 1.0 / (1.0 + tolerance) <= -factor <= 1.0 + tolerance:
        return Relation(Accord.SIGN, -1.0)
    return named(kind, factor)


def named(kind: Kind, factor: float) -> Relation:
    """Return the relation of a reported value that is too large by a factor."""
    if found := _unit(kind, abs(factor)):
        exact, *units = found
        return Relation(
            Accord.UNIT, math.copysign(exact, factor), (units[0], units[1]))
    return Relation(Accord.ASTRAY, factor)


def _unit(kind: Kind, factor: float) -> tuple[float, str, str] | None:
    """Return the exact factor and the two units, if this is the factor between units."""
    for size, unit, proper in _UNITS[kind]:
        for exact, sent, wanted in ((1.0 / size, unit, proper), (size, proper, unit)):
            if abs(factor / exact - 1.0) < _CLOSE:
                return exact, sent, wanted
    return None
