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

"""Units against published values."""

import math

import pytest

from xplane_bridge.common import units


@pytest.mark.parametrize(('value', 'expected'), [
    # 360 km/h, a round climb rate, the boiling point, standard QNH, psf from docs/wire/fdmdata.md,
    # and so on.
    (180.0 * units.DEGREE, math.pi),
    (10000.0 * units.FOOT, 3048.0),
    (1000.0 * units.FOOT_PER_MINUTE, 5.08),
    (900.0 * units.KNOT, 463.0),
    (100.0 * units.MILE_PER_HOUR, 44.704),
    (29.92126 * units.INCH_OF_MERCURY, 101325.0),
    (1.0 * units.POUND_PER_SQUARE_FOOT, 47.880259),
    (1.0 * units.POUND_FORCE, 4.4482216),
    (518.67 * units.RANKINE, 288.15),
])
def test_unit_times_value_is_si(value: float, expected: float) -> None:
    assert value == pytest.approx(expected, rel=1e-6)


def test_celsius_and_kelvin_are_273_15_apart() -> None:
    assert units.celsius_to_kelvin(15.0) == pytest.approx(288.15)
    assert units.kelvin_to_celsius(216.65) == pytest.approx(-56.5)


@pytest.mark.parametrize(('sent', 'kelvin'), [
    (284.19, 284.19),       # what Huginn really sends at 2000 ft
    (11.04, 284.19),        # what its document says
    (-56.5, 216.65),
    (216.65, 216.65),
    (0.0, 273.15),
    (-90.0, 183.15),
    (150.5, 150.5),
])
def test_huginn_temperature_is_told_by_its_value(sent: float, kelvin: float) -> None:
    assert units.celsius_or_kelvin_to_kelvin(sent) == pytest.approx(kelvin)
