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

"""Undulation: a constant, a grid file written by hand, or nothing, each of them said."""

from math import isnan, nan
import struct
import sys

import pytest

from xplane_bridge.conversions import geoid


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
    """Zurich: 408 m above sea level, undulation +47, is 455 m above the ellipsoid."""
    assert geoid.msl_to_ellipsoid(408.0, 47.0) == 455.0
    assert geoid.ellipsoid_to_msl(455.0, 47.0) == 408.0
    # Off India the sea lies a hundred metres below the ellipsoid.
    assert geoid.msl_to_ellipsoid(0.0, -106.0) == -106.0


def test_constant_is_the_same_everywhere_and_says_so():
    undulation = geoid.undulation_source(constant=-32.5)
    assert undulation.known
    assert undulation.height_m(37.0, -122.0) == -32.5
    assert undulation.height_m(-80.0, 12.0) == -32.5
    assert '-32.5 m' in undulation.description


def test_constant_goes_before_a_grid():
    assert geoid.undulation_source(constant=1.0, grid='no such grid').height_m(0.0, 0.0) == 1.0


@pytest.mark.parametrize('constant', [nan, float('inf'), 201.0, -408.0])
def test_impossible_constant_is_refused(constant):
    with pytest.raises(ValueError, match='expected -200..200'):
        geoid.undulation_source(constant=constant)


def test_without_pyproj_altitude_stays_msl_and_says_so(monkeypatch):
    monkeypatch.setitem(sys.modules, 'pyproj', None)
    undulation = geoid.undulation_source()
    assert not undulation.known
    assert undulation.height_m(47.0, 8.0) == 0.0
    assert 'above mean sea level' in undulation.description


def test_named_grid_without_pyproj_is_refused(monkeypatch):
    monkeypatch.setitem(sys.modules, 'pyproj', None)
    with pytest.raises(ValueError, match='needs pyproj'):
        geoid.undulation_source(grid='egm96_15.gtx')


def test_without_an_installed_grid_altitude_stays_msl_and_says_so(monkeypatch):
    pytest.importorskip('pyproj')
    monkeypatch.setattr(geoid, '_INSTALLED_GRIDS', ('not_installed_anywhere.gtx',))
    assert not geoid.undulation_source().known


def test_installed_grid_is_found(monkeypatch, grid):
    pytest.importorskip('pyproj')
    monkeypatch.setattr(geoid, '_INSTALLED_GRIDS', ('not_installed_anywhere.gtx', grid))
    undulation = geoid.undulation_source()
    assert undulation.known
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
    with pytest.raises(ValueError, match='cannot find or read'):
        geoid.undulation_source(grid=str(path))


def test_grid_is_asked_again_only_after_moving():
    asked = []

    def lookup(latitude, longitude):
        asked.append((latitude, longitude))
        return latitude

    undulation = geoid.Undulation(lookup, 'a test')
    assert undulation.height_m(47.0, 8.0) == 47.0
    assert undulation.height_m(47.00005, 8.00005) == 47.0      # 5 m on
    assert undulation.height_m(47.001, 8.0) == 47.001          # 100 m on
    assert undulation.height_m(47.001, 8.001) == 47.001
    assert asked == [(47.0, 8.0), (47.001, 8.0), (47.001, 8.001)]
