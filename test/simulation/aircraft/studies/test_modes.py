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

"""Modes of linear models whose eigenvalues are known, and the levels of MIL-F-8785C."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
import pytest

from xplane_bridge.common.units import STANDARD_GRAVITY
from xplane_bridge.simulation.aircraft.linear_model import LinearModel, ModelVariable
from xplane_bridge.simulation.aircraft.studies.modes import compute_modes, levels, Mode, Modes

LONGITUDINAL = ('true_airspeed', 'angle_of_attack', 'pitch', 'pitch_rate')
LATERAL = ('sideslip', 'roll', 'roll_rate', 'yaw_rate')


def block(*values: complex) -> NDArray[np.float64]:
    """Return a full matrix with these eigenvalues; of a complex one its conjugate as well."""
    parts = [np.array([[v.real, v.imag], [-v.imag, v.real]]) if v.imag else np.array([[v.real]])
             for v in map(complex, values)]
    size = sum(map(len, parts))
    made, at = np.zeros((size, size)), 0
    for part in parts:
        made[at:at + len(part), at:at + len(part)] = part
        at += len(part)
    turn = np.random.default_rng(1).normal(size=(size, size))
    return turn @ made @ np.linalg.inv(turn)


def model(longitudinal: tuple[complex, ...], lateral: tuple[complex, ...],
          per_alpha: float = 10.0) -> LinearModel:
    """Return a model with these modes, and a load factor per angle of attack, 1/rad."""
    names = (*LONGITUDINAL, *LATERAL)
    a = np.zeros((8, 8))
    a[:4, :4], a[4:, 4:] = block(*longitudinal), block(*lateral)
    c = np.zeros((1, 8))
    c[0, 1] = -per_alpha * STANDARD_GRAVITY
    return LinearModel(
        'simple', 'by hand', 1000.0, 50.0, tuple(ModelVariable(name, 'SI', 0.0) for name in names),
        (), (ModelVariable('specific_force_z', 'm/s2', -STANDARD_GRAVITY),), a, np.zeros((8, 0)),
        c, np.zeros((1, 0)))


def test_the_modes_of_a_usual_aircraft() -> None:
    found = compute_modes(model((-0.02 + 0.2j, -3.0 + 4.0j), (-0.4 + 2.0j, -5.0, 0.01)))
    assert found['short_period'].frequency == pytest.approx(5.0)
    assert found['short_period'].damping == pytest.approx(0.6)
    assert found['phugoid'].frequency == pytest.approx(math.hypot(0.02, 0.2))
    assert found['dutch_roll'].damping == pytest.approx(0.4 / math.hypot(0.4, 2.0))
    assert found['roll'].time_constant == pytest.approx(0.2)
    assert math.isnan(found['roll'].frequency)
    assert found['spiral'].time_constant == pytest.approx(-100.0)
    assert found['spiral'].time_to_double == pytest.approx(100.0 * math.log(2.0))
    # omega^2 / (n/alpha).
    assert found.anticipation == pytest.approx(2.5)
    assert levels(found) == {
        'short_period': 1, 'phugoid': 1, 'dutch_roll': 1, 'roll': 1, 'spiral': 1}


def test_real_short_period_values_are_an_overdamped_mode() -> None:
    found = compute_modes(model((-1.0, -4.0, -0.02 + 0.2j), (-0.4 + 2.0j, -5.0, 0.01)))
    assert found['short_period'].frequency == pytest.approx(2.0)
    assert found['short_period'].damping == pytest.approx(1.25)


def test_an_unstable_aircraft_has_no_frequency_but_a_time_to_double() -> None:
    found = compute_modes(model((0.5, -4.0, -0.02 + 0.2j), (-0.4 + 2.0j, -5.0, 0.01)))
    assert math.isnan(found['short_period'].frequency)
    assert math.isnan(found['short_period'].damping)
    assert found['short_period'].time_to_double == pytest.approx(2.0 * math.log(2.0))
    assert levels(found)['short_period'] == 4


def test_roll_and_spiral_may_have_become_one_oscillation() -> None:
    found = compute_modes(model((-0.02 + 0.2j, -3.0 + 4.0j), (-0.4 + 2.0j, -0.4 + 0.1j)))
    assert [*found.modes] == ['short_period', 'phugoid', 'dutch_roll', 'roll_spiral']
    assert found['dutch_roll'].frequency > 2.0
    assert [levels(found, 'IV', category)['roll_spiral'] for category in 'ABC'] == [4, 2, 2]


def test_four_real_lateral_values_still_have_a_fastest_and_a_slowest() -> None:
    found = compute_modes(model((-0.02 + 0.2j, -3.0 + 4.0j), (-6.0, -1.0, -2.0, 0.02)))
    assert found['roll'].time_constant == pytest.approx(1.0 / 6.0)
    assert found['spiral'].growth == pytest.approx(0.02)
    assert found['dutch_roll'].frequency == pytest.approx(math.sqrt(2.0))


def modes(short: complex = -3.0 + 4.0j, phugoid: complex = -0.02 + 0.2j,
          dutch: complex = -0.5 + 2.0j, roll: float = -5.0, spiral: float = -0.01,
          per_alpha: float = 10.0) -> Modes:
    pairs = {'short_period': short, 'phugoid': phugoid, 'dutch_roll': dutch}
    return Modes({
        **{name: Mode(name, (value, value.conjugate())) for name, value in pairs.items()},
        'roll': Mode('roll', (complex(roll),)), 'spiral': Mode('spiral', (complex(spiral),))},
        per_alpha)


def oscillation(frequency: float, damping: float) -> complex:
    return complex(-damping * frequency, frequency * math.sqrt(1.0 - damping ** 2))


@pytest.mark.parametrize(('name', 'given', 'aircraft_class', 'category', 'level'), [
    # Table IV, damping of the short period.
    ('short_period', {'short': oscillation(5.0, 0.31)}, 'I', 'B', 1),
    ('short_period', {'short': oscillation(5.0, 0.31)}, 'I', 'A', 2),
    ('short_period', {'short': oscillation(5.0, 0.16)}, 'I', 'A', 3),
    ('short_period', {'short': oscillation(5.0, 0.14)}, 'I', 'A', 4),
    # Figures 1 to 3: frequency against n/alpha, and the least frequency.
    ('short_period', {'short': oscillation(2.0, 0.6), 'per_alpha': 20.0}, 'I', 'A', 2),
    ('short_period', {'short': oscillation(2.0, 0.6), 'per_alpha': 20.0}, 'I', 'B', 1),
    ('short_period', {'short': oscillation(0.8, 0.6), 'per_alpha': 3.0}, 'I', 'C', 2),
    ('short_period', {'short': oscillation(0.8, 0.6), 'per_alpha': 3.0}, 'III', 'C', 1),
    # Section 3.2.1.2.
    ('phugoid', {'phugoid': oscillation(0.2, 0.041)}, 'I', 'B', 1),
    ('phugoid', {'phugoid': oscillation(0.2, 0.039)}, 'I', 'B', 2),
    ('phugoid', {'phugoid': 0.0125 + 0.2j}, 'I', 'B', 3),
    ('phugoid', {'phugoid': 0.0127 + 0.2j}, 'I', 'B', 4),
    # Table VI.
    ('dutch_roll', {'dutch': oscillation(2.0, 0.20)}, 'IV', 'A', 1),
    ('dutch_roll', {'dutch': oscillation(2.0, 0.17)}, 'IV', 'A', 2),
    ('dutch_roll', {'dutch': oscillation(0.9, 0.40)}, 'IV', 'A', 2),
    ('dutch_roll', {'dutch': oscillation(0.9, 0.40)}, 'III', 'A', 1),
    ('dutch_roll', {'dutch': oscillation(1.3, 0.10)}, 'II', 'C', 1),
    ('dutch_roll', {'dutch': oscillation(1.3, 0.10)}, 'I', 'C', 2),
    ('dutch_roll', {'dutch': oscillation(2.0, 0.01)}, 'I', 'B', 3),
    ('dutch_roll', {'dutch': oscillation(2.0, -0.01)}, 'I', 'B', 4),
    # Table VII.
    ('roll', {'roll': -1.0 / 1.2}, 'I', 'B', 1),
    ('roll', {'roll': -1.0 / 1.2}, 'I', 'C', 2),
    ('roll', {'roll': -1.0 / 9.0}, 'II', 'A', 3),
    ('roll', {'roll': 0.1}, 'II', 'A', 4),
    # Table VIII.
    ('spiral', {'spiral': math.log(2.0) / 15.0}, 'I', 'A', 1),
    ('spiral', {'spiral': math.log(2.0) / 15.0}, 'I', 'B', 2),
    ('spiral', {'spiral': math.log(2.0) / 5.0}, 'I', 'C', 3),
    ('spiral', {'spiral': math.log(2.0) / 3.0}, 'I', 'C', 4),
])
def test_levels_are_those_of_the_specification(
        name: str, given: dict[str, complex], aircraft_class: str, category: str,
        level: int) -> None:
    assert levels(modes(**given), aircraft_class, category)[name] == level  # type: ignore[arg-type]


@pytest.mark.parametrize('wrong', [('V', 'A'), ('I', 'D')])
def test_an_unknown_class_or_category_is_refused(wrong: tuple[str, str]) -> None:
    with pytest.raises(ValueError, match='expected one of'):
        levels(modes(), *wrong)
