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

"""A magnetometer: the earth's field by NOAA's test values, and what iron makes of it."""

import math
import sys

import pytest

from xplane_bridge.bridges.conversions import axes
from xplane_bridge.laboratory.sensors.gnss import Fix, NO_FIX
from xplane_bridge.laboratory.sensors.magnetometer import EarthField
from xplane_bridge.laboratory.sensors.specification import load, parse
from xplane_bridge.laboratory.sensors.suite import Suite

PLACE = Fix(47.4, 8.5, 500.0)
# About that of central Europe: east, north, up, in T.
FIELD = (1.3e-6, 21.5e-6, -43.2e-6)
NOSE_EAST, NOSE_NORTH = (1.0, 0.0, 0.0, 0.0), axes.euler_to_quaternion(0.0, 0.0, math.pi / 2.0)


def field_of(place):
    return FIELD


# Year, height above the ellipsoid (m), latitude and longitude (deg); north, east and down (nT):
# "Test Values for WMM2025", NOAA NCEI, WMM2025_TEST_VALUES.txt.
@pytest.mark.parametrize(('year', 'height', 'lat', 'lon', 'north', 'east', 'down'), [
    (2025.0, 0.0, 80.0, 0.0, 6521.6, 145.9, 54791.5),
    (2025.0, 0.0, 0.0, 120.0, 39677.8, -109.6, -10580.2),
    (2025.0, 0.0, -80.0, -120.0, 6117.5, 15751.9, -52022.5),
    (2025.0, 100e3, 80.0, 0.0, 6216.0, 92.4, 52598.8)])
def test_the_field_is_that_of_the_published_test_values(
        year, height, lat, lon, north, east, down):
    pytest.importorskip('pygeomag', reason='pygeomag is not installed')
    field = EarthField(year)(Fix(lat, lon, height))
    assert [one * 1e9 for one in field] == pytest.approx([east, north, -down], abs=0.1)


def test_the_field_is_the_same_for_a_place_whatever_was_asked_before():
    pytest.importorskip('pygeomag', reason='pygeomag is not installed')
    field = EarthField(2026.0)
    first = field(PLACE)
    far = field(PLACE._replace(latitude_deg=48.0))
    assert far != first
    assert field(PLACE._replace(latitude_deg=47.4001, altitude=510.0)) == first
    # 3.4 deg to the east: where a compass needle points near Zurich.
    assert math.degrees(math.atan2(first[0], first[1])) == pytest.approx(3.5, abs=0.2)


def test_without_the_library_the_sentence_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, 'pygeomag', None)
    monkeypatch.setattr('importlib.util.find_spec', lambda name: None)
    with pytest.raises(ImportError, match='a magnetometer needs the Python package pygeomag: '):
        EarthField(2025.0)


def measured(figures, orientation, place=PLACE, seed=1):
    delivered = Suite(
        parse({'magnetometer': figures}), seed, field_of).show_magnetic_field(
            0, place, orientation)
    return delivered[0].reading if delivered else None


def test_the_field_is_in_body_axes():
    east, north, up = FIELD
    assert measured({'field': {}}, NOSE_EAST).field == pytest.approx((east, north, up))
    assert measured({'field': {}}, NOSE_NORTH).field == pytest.approx((north, -east, up))
    assert measured({'field': {}}, None) is None
    assert measured({'field': {}}, NOSE_EAST, NO_FIX) is None


def test_hard_iron_turns_with_the_body_and_soft_iron_with_the_field():
    hard = {'field': {'bias_turn_on': 1e-6}}
    offsets = [
        [one - true for one, true in zip(
            measured(hard, way).field, measured({'field': {}}, way).field, strict=True)]
        for way in (NOSE_EAST, NOSE_NORTH)]
    assert offsets[0] == pytest.approx(offsets[1])
    assert 1e-8 < max(map(abs, offsets[0])) < 5e-6
    # Twice the field is distorted twice as much.
    soft = {'field': {}, 'soft_iron': 0.02}
    east = measured(soft, NOSE_EAST).field
    assert 0.0 < max(abs(one - true) for one, true in zip(east, FIELD, strict=True)) < 5e-6
    twice = Suite(
        parse({'magnetometer': soft}), 1,
        lambda place: tuple(2.0 * one for one in FIELD)).show_magnetic_field(0, PLACE, NOSE_EAST)
    assert twice[0].reading.field == pytest.approx([2.0 * one for one in east])


def test_the_variance_is_that_of_noise_hard_iron_and_steps():
    figures = load('consumer').magnetometer
    suite = Suite(load('consumer'), 2, field_of)
    (one,) = suite.show_magnetic_field(0, PLACE, NOSE_EAST)
    assert one.reading.variance == pytest.approx(
        figures.field.noise ** 2 + figures.field.bias_turn_on ** 2
        + figures.field.quantisation ** 2 / 12.0)
