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

"""Undulation: a constant, a hand-written grid file, or the packaged grid, and its label."""

from math import inf, isnan, nan
from pathlib import Path
import struct
import subprocess
import sys

from hypothesis import given
from hypothesis import strategies as st
import numpy as np
import pytest

from xplane_bridge.bridges.conversions import geoid


@pytest.fixture
def grid(tmp_path):
    """
    Write a geoid grid by hand in the GTX format and return its path.

    Big-endian: south, west, latitude and longitude step (degrees, float64), rows and columns
    (int32), then float32 heights, west to east, rows from south to north.
    """
    heights = [
        [40.0, 41.0, 42.0, 43.0],       # 40N, 10E to 16E
        [50.0, 51.0, 52.0, 53.0],       # 42N
        [-60.0, -61.0, -62.0, -63.0],   # 44N
    ]
    path = tmp_path / 'my geoid.gtx'
    path.write_bytes(
        struct.pack('>ddddii', 40.0, 10.0, 2.0, 2.0, 3, 4)
        + b''.join(struct.pack('>4f', *row) for row in heights)
    )
    return str(path)


def test_ellipsoid_is_msl_plus_undulation():
    """Zurich: 408 m above sea level with an undulation of +47 m is 455 m above the ellipsoid."""
    assert geoid.msl_to_ellipsoid(408.0, 47.0) == 455.0
    assert geoid.ellipsoid_to_msl(455.0, 47.0) == 408.0
    # Off India the sea lies a hundred metres below the ellipsoid.
    assert geoid.msl_to_ellipsoid(0.0, -106.0) == -106.0


def test_constant_is_the_same_everywhere_and_says_so():
    undulation = geoid.undulation_source(constant=-32.5)
    assert undulation.height_m(37.0, -122.0) == -32.5
    assert undulation.height_m(-80.0, 12.0) == -32.5
    assert '-32.5 m' in undulation.description


def test_constant_goes_before_a_grid():
    assert geoid.undulation_source(constant=1.0, grid='no such grid').height_m(0.0, 0.0) == 1.0


@pytest.mark.parametrize('constant', [nan, float('inf'), 201.0, -408.0])
def test_impossible_constant_is_refused(constant):
    with pytest.raises(ValueError, match='expected -200..200'):
        geoid.undulation_source(constant=constant)


def test_who_wants_sea_level_gives_0(monkeypatch):
    undulation = geoid.undulation_source(constant=0.0)
    assert undulation.height_m(47.0, 8.0) == 0.0
    assert 'above mean sea level' in undulation.description


def test_without_pyproj_the_own_grid_is_used_and_said(monkeypatch):
    monkeypatch.setitem(sys.modules, 'pyproj', None)
    undulation = geoid.undulation_source()
    # Zurich, from the full grid.
    assert undulation.height_m(47.4, 8.5) == pytest.approx(47.40, abs=0.8)
    assert 'EGM96 grid of this package' in undulation.description


def test_named_grid_without_pyproj_is_refused(monkeypatch):
    monkeypatch.setitem(sys.modules, 'pyproj', None)
    with pytest.raises(ValueError, match='needs pyproj'):
        geoid.undulation_source(grid='egm96_15.gtx')


def test_without_an_installed_grid_the_own_is_used_and_said(monkeypatch):
    pytest.importorskip('pyproj')
    monkeypatch.setattr(geoid, '_INSTALLED_GRIDS', ('not_installed_anywhere.gtx',))
    assert 'of this package' in geoid.undulation_source().description


def test_installed_grid_is_found(monkeypatch, grid):
    pytest.importorskip('pyproj')
    monkeypatch.setattr(geoid, '_INSTALLED_GRIDS', ('not_installed_anywhere.gtx', grid))
    undulation = geoid.undulation_source()
    assert undulation.height_m(40.0, 12.0) == pytest.approx(41.0)
    assert grid in undulation.description


@pytest.mark.parametrize(('latitude', 'longitude', 'height'), [
    (40.0, 10.0, 40.0),         # the south-west corner
    (42.0, 14.0, 52.0),
    (44.0, 16.0, -63.0),        # the north-east corner
    (42.0, 11.0, 50.5),         # half way along a row
    (41.0, 10.0, 45.0),         # half way up a column
    (43.0, 13.0, -5.0),         # the middle of 51, 52, -61, -62
])
def test_grid_gives_the_undulation_with_its_sign(grid, latitude, longitude, height):
    pytest.importorskip('pyproj')
    undulation = geoid.undulation_source(grid=grid)
    assert undulation.height_m(latitude, longitude) == pytest.approx(height, abs=1e-5)


def test_outside_a_regional_grid_the_undulation_is_nan(grid):
    pytest.importorskip('pyproj')
    undulation = geoid.undulation_source(grid=grid)
    assert isnan(undulation.height_m(50.0, 13.0))
    assert isnan(undulation.height_m(nan, nan))
    assert undulation.height_m(40.0, 10.0) == pytest.approx(40.0)


@pytest.mark.parametrize('name', ['no_such_grid.gtx', '@no_such_grid.gtx', 'null', '/', 'a"b'])
def test_grid_that_cannot_be_used_is_refused(name):
    pytest.importorskip('pyproj')
    with pytest.raises(ValueError, match='geoid grid'):
        geoid.undulation_source(grid=name)


def test_grid_of_nonsense_is_refused(tmp_path):
    pytest.importorskip('pyproj')
    path = tmp_path / 'nonsense.gtx'
    path.write_bytes(b'not a grid at all')
    with pytest.raises(ValueError, match='do not match its 17 bytes'):
        geoid.undulation_source(grid=str(path))
    path = path.rename(tmp_path / 'nonsense.tif')
    with pytest.raises(ValueError, match='cannot find or read'):
        geoid.undulation_source(grid=str(path))


def test_a_grid_is_as_large_as_it_says(grid):
    """PROJ allocates whatever a damaged file claims: 5 GB were seen."""
    pytest.importorskip('pyproj')
    assert geoid.read_gtx(grid)[2, 3] == -63.0
    path = Path(grid)
    data = path.read_bytes()
    for damaged in (data[:-1], data + b'x', data[:20], data[:32] + b'\x7f' * 8 + data[40:]):
        path.write_bytes(damaged)
        for use in (geoid.read_gtx, lambda grid: geoid.undulation_source(grid=grid)):
            with pytest.raises(ValueError, match='geoid grid .* rows and .* columns do not'):
                use(grid)


def test_grid_is_asked_again_only_after_moving():
    asked = []

    def lookup(latitude, longitude):
        asked.append((latitude, longitude))
        return latitude

    undulation = geoid.Undulation(lookup, 'a test')
    assert undulation.height_m(47.0, 8.0) == 47.0
    assert undulation.height_m(47.00004, 8.00004) == 47.0      # 4 m on
    assert undulation.height_m(47.001, 8.0) == 47.001          # 100 m on
    assert undulation.height_m(47.001, 8.001) == 47.001
    assert asked == [(47.0, 8.0), (47.001, 8.0), (47.001, 8.001)]


def test_the_undulation_of_a_place_does_not_depend_on_the_way_there():
    """Else two flights in lockstep differ by micrometres, and so in all that follows."""
    one, two = (geoid.Undulation(geoid.packaged_grid().height_m, 'a test') for _ in range(2))
    one.height_m(47.4, 8.49994)
    assert one.height_m(47.4, 8.50002) == two.height_m(47.4, 8.50002)


# The packaged grid.

FULL = Path('/usr/share/proj/egm96_15.gtx')


# The six points, with expected values, that NGA ships with its EGM96 program; the lowest and
# highest places of the geoid, and the poles.
@pytest.mark.parametrize(('latitude', 'longitude', 'undulation'), [
    (38.6281550, 269.7791550, -31.628),
    (-14.6212170, 305.0211140, -2.969),
    (46.8743190, 102.4487290, -43.575),
    (-23.6174460, 133.8747120, 15.871),
    (38.6254730, 359.9995000, 50.066),
    (-0.4667440, 0.0023000, 17.329),
    (4.75, 78.75, -106.99),
    (-8.25, 147.25, 85.39),
    (90.0, 0.0, 13.61),
    (-90.0, 0.0, -29.53),
])
def test_the_packaged_grid_says_what_is_known_of_egm96(latitude, longitude, undulation):
    grid = geoid.packaged_grid()
    assert grid.height_m(latitude, longitude) == pytest.approx(undulation, abs=0.15)
    for turn in (-360.0, 360.0):
        assert grid.height_m(latitude, longitude + turn) == pytest.approx(
            grid.height_m(latitude, longitude), abs=1e-6)


def test_the_packaged_grid_is_within_its_greatest_error_of_the_full_one():
    if not FULL.exists():
        pytest.skip(f'{FULL} is not there (Debian: proj-data)')
    full = geoid.read_gtx(FULL)
    grid = geoid.packaged_grid()
    greatest, rms = geoid.errors(grid, full)
    assert greatest < 0.725
    assert rms < 0.046
    # The values looked up are the values compared.
    samples = grid.samples(2)
    for row, column in ((0, 0), (1, 1439), (361, 719), (517, 3), (720, 700)):
        assert grid.height_m(-90.0 + row / 4, -180.0 + column / 4) == pytest.approx(
            samples[row, column], abs=1e-9)


def test_the_packaged_grid_is_smooth_over_the_poles_and_the_date_line():
    grid = geoid.packaged_grid()
    for latitude in (-90.0, 90.0):
        around = [grid.height_m(latitude, longitude) for longitude in range(0, 360, 7)]
        assert np.ptp(around) < 1e-9
        # Over the pole and down the other side: 100 m, over which it rises by a few millimetres.
        near = latitude * (1.0 - 5e-6)
        assert grid.height_m(near, 30.0) == pytest.approx(grid.height_m(near, -150.0), abs=0.01)
    for latitude in (-60.3, 0.0, 47.1):
        assert grid.height_m(latitude, 179.99999) == pytest.approx(
            grid.height_m(latitude, -179.99999), abs=1e-3)
    # And across cell boundaries.
    assert grid.height_m(47.0 - 1e-9, 8.5 - 1e-9) == pytest.approx(
        grid.height_m(47.0, 8.5), abs=1e-6)


@given(st.floats(-90.0, 90.0), st.floats(-720.0, 720.0))
def test_the_packaged_grid_has_a_value_everywhere_on_earth(latitude, longitude):
    assert -107.5 < geoid.packaged_grid().height_m(latitude, longitude) < 86.0


@pytest.mark.parametrize('place', [
    (nan, 0.0), (0.0, nan), (0.0, inf), (90.1, 0.0), (-90.1, 0.0), (-inf, 0.0)])
def test_there_is_no_geoid_beyond_the_earth(place):
    assert isnan(geoid.packaged_grid().height_m(*place))


def test_a_plain_checkout_has_the_grid():
    found = subprocess.run(
        [sys.executable, '-c', 'from xplane_bridge.bridges.conversions import geoid; '
         'print(geoid.packaged_grid().height_m(47.4, 8.5))'],
        cwd=Path(__file__).parents[3], capture_output=True, text=True, check=True)
    assert float(found.stdout) == pytest.approx(47.4, abs=0.8)
