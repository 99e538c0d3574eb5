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

"""Geodesy against hand-made geometry, PROJ's published numbers and JSBSim's own latitudes."""

from math import cos, dist, hypot, isnan, nan, radians, sin, tan

from hypothesis import given, strategies
import pytest

from xplane_bridge.bridges.conversions import geodesy
from xplane_bridge.bridges.conversions.geodesy import LocalFrame

A = 6378137.0
B = 6356752.314245

latitudes = strategies.floats(-90.0, 90.0)
longitudes = strategies.floats(-180.0, 180.0)
heights = strategies.floats(-500.0, 100e3)


def millimetre(expected):
    return pytest.approx(expected, abs=1e-3)


@pytest.mark.parametrize(('geodetic', 'ecef'), [
    # On the axes the coordinates are the radii, by definition of the frame.
    ((0.0, 0.0, 0.0), (A, 0.0, 0.0)),
    ((0.0, 90.0, 0.0), (0.0, A, 0.0)),
    ((0.0, -90.0, 1000.0), (0.0, -A - 1000.0, 0.0)),
    ((0.0, 180.0, 0.0), (-A, 0.0, 0.0)),
    ((90.0, 0.0, 0.0), (0.0, 0.0, B)),
    ((-90.0, 0.0, 2800.0), (0.0, 0.0, -B - 2800.0)),
    # cct of PROJ 9.5.1, "+proj=cart +ellps=WGS84".
    ((45.0, 0.0, 0.0), (4517590.87885, 0.0, 4487348.40887)),
    ((48.8584, 2.2945, 330.0), (4201152.75866, 168331.79452, 4780461.56065)),
    ((-33.856784, 151.215297, 12.5), (-4646978.46800, 2553082.63796, -3533272.61769)),
    ((37.5242, -122.06899, 2500.0), (-2690141.37820, -4293613.27231, 3865217.35584)),
    ((71.5, -179.9, 35786000.0), (-13384976.31805, -23361.21443, 39962924.72496)),
    ((-89.9999, 12.0, 2800.0), (10.93010, 2.32326, -6359552.31424)),
])
def test_geodetic_and_ecef_each_way(geodetic, ecef):
    assert geodesy.geodetic_to_ecef(*geodetic) == millimetre(ecef)
    latitude, longitude, height = geodesy.ecef_to_geodetic(ecef)
    # 1e-8 degrees is a millimetre on the ground.
    assert latitude == pytest.approx(geodetic[0], abs=1e-8)
    assert height == millimetre(geodetic[2])
    # The meridian shrinks to a point at the poles, and the table has a resolution of 1e-5 m.
    assert (longitude - geodetic[1]) * cos(radians(latitude)) == pytest.approx(0.0, abs=1e-8)


@given(latitudes, longitudes, strategies.floats(-1000e3, 400e6))
def test_ecef_round_trip_keeps_a_micrometre(latitude, longitude, height):
    there = geodesy.geodetic_to_ecef(latitude, longitude, height)
    back = geodesy.geodetic_to_ecef(*geodesy.ecef_to_geodetic(there))
    # Doubles are 6e-8 m apart at the distance of the moon.
    assert back == pytest.approx(there, abs=1e-6)
    assert geodesy.ecef_to_geodetic(there)[0] == pytest.approx(latitude, abs=1e-11)


# Local frame


@pytest.mark.parametrize(('point', 'enu'), [
    ((0.0, 0.0, 0.0), (0.0, 0.0, 0.0)),
    ((0.0, 0.0, 100.0), (0.0, 0.0, 100.0)),
    # East = +y, north = +z, up = +x of ECEF at this datum.
    ((0.0, 90.0, 0.0), (A, 0.0, -A)),
    ((0.0, -90.0, 0.0), (-A, 0.0, -A)),
    ((90.0, 0.0, 0.0), (0.0, B, -A)),
    ((-90.0, 0.0, 0.0), (0.0, -B, -A)),
    ((0.0, 180.0, 0.0), (0.0, 0.0, -2 * A)),
    # One arc second of the equator: 30.9221 m east, and 30.9221^2 / 2a = 0.075 mm down.
    ((0.0, 1 / 3600, 0.0), (30.92208, 0.0, -.000075)),
])
def test_local_frame_at_the_origin_of_coordinates(point, enu):
    frame = LocalFrame(0.0, 0.0, 0.0)
    assert frame.geodetic_to_enu(*point) == pytest.approx(enu, abs=1e-5)


@pytest.mark.parametrize(('point', 'enu'), [
    # cct of PROJ 9.5.1, "+proj=cart" then "+proj=topocentric +lat_0=47.2 +lon_0=8.5 +h_0=430".
    ((47.2, 8.5, 530.0), (0.0, 0.0, 100.0)),
    ((47.3, 8.7, 2000.0), (15130.55105, 11140.43288, 1542.35245)),
    ((46.0, 7.0, 10000.0), (-116363.51634, -132477.63608, 7136.01045)),
    ((-47.2, -171.5, 430.0), (0.0, 42648.75415, -12734126.55335)),
])
def test_local_frame_agrees_with_proj_each_way(point, enu):
    frame = LocalFrame(47.2, 8.5, 430.0)
    assert frame.geodetic_to_enu(*point) == pytest.approx(enu, abs=2e-5)
    latitude, longitude, height = frame.enu_to_geodetic(enu)
    assert (latitude, longitude) == pytest.approx(point[:2], abs=1e-9)
    assert height == pytest.approx(point[2], abs=2e-5)


@pytest.mark.parametrize(('longitude', 'enu'), [
    # At the pole, meridian 0, "east" is along 90E and "north" along 180E.
    (90.0, (1.0, 0.0)), (180.0, (0.0, 1.0)), (0.0, (0.0, -1.0)), (-90.0, (-1.0, 0.0)),
])
def test_local_frame_at_the_pole(longitude, enu):
    frame = LocalFrame(90.0, 0.0, 0.0)
    east, north, up = frame.geodetic_to_enu(89.9, longitude, 0.0)
    # A tenth of a degree of meridian there: radius of curvature a^2/b = 6399593.6 m.
    distance = 6399593.6 * radians(0.1)
    assert (east, north) == pytest.approx((enu[0] * distance, enu[1] * distance), abs=0.05)
    assert up == pytest.approx(-distance * radians(0.1) / 2, abs=1e-3)


@given(latitudes, longitudes, heights, latitudes, longitudes, heights)
def test_local_frame_round_trip_keeps_a_micrometre(lat0, lon0, h0, latitude, longitude, height):
    frame = LocalFrame(lat0, lon0, h0)
    enu = frame.geodetic_to_enu(latitude, longitude, height)
    back = frame.geodetic_to_enu(*frame.enu_to_geodetic(enu))
    assert back == pytest.approx(enu, abs=1e-6)


@given(latitudes, longitudes, heights, latitudes, longitudes, heights)
def test_local_frame_keeps_distances(lat0, lon0, h0, latitude, longitude, height):
    enu = LocalFrame(lat0, lon0, h0).geodetic_to_enu(latitude, longitude, height)
    there = geodesy.geodetic_to_ecef(latitude, longitude, height)
    here = geodesy.geodetic_to_ecef(lat0, lon0, h0)
    assert hypot(*enu) == pytest.approx(dist(there, here), abs=1e-6)


@pytest.mark.parametrize('datum', [
    (90.1, 0.0, 0.0), (nan, 0.0, 0.0), (0.0, nan, 0.0), (0.0, 0.0, float('inf')),
])
def test_datum_that_is_no_place_is_refused(datum):
    with pytest.raises(ValueError, match='datum'):
        LocalFrame(*datum)


# Geocentric latitude


@pytest.mark.parametrize(('geodetic', 'geocentric', 'height'), [
    # JSBSim 1.3.3, position/lat-geod-deg, lat-gc-deg and geod-alt-ft x 0.3048.
    (38.0, 37.81346195689345, 609.5967665),
    (60.0, 59.83331571633186, 9143.9612500),
    (-45.0, -44.80785271352007, 9143.9485169),
    (89.0, 88.99326191797229, 30.4799998),
    (0.0, 0.0, 0.0),
    (90.0, 90.0, 1000.0),
    (-90.0, -90.0, 1000.0),
])
def test_geocentric_latitude_of_jsbsim(geodetic, geocentric, height):
    assert geodesy.geocentric_to_geodetic_latitude(geocentric, height) == pytest.approx(
        geodetic, abs=1e-9)
    assert geodesy.geodetic_to_geocentric_latitude(geodetic, height) == pytest.approx(
        geocentric, abs=1e-9)


@given(strategies.floats(-89.9, 89.9))
def test_on_the_ellipsoid_the_tangents_differ_by_one_less_e_squared(geocentric):
    geodetic = geodesy.geocentric_to_geodetic_latitude(geocentric)
    # 1 - e^2 = (b / a)^2
    assert tan(radians(geodetic)) * (B / A)**2 == pytest.approx(
        tan(radians(geocentric)), rel=1e-9, abs=1e-12)
    assert geodesy.geodetic_to_geocentric_latitude(geodetic) == pytest.approx(
        geocentric, abs=1e-11)


def test_geodetic_latitude_of_38_degrees_geocentric_is_0_187_more():
    """docs/wire/fdmdata.md, section 2: 20.7 km."""
    assert geodesy.geocentric_to_geodetic_latitude(38.0) - 38.0 == pytest.approx(.187, abs=5e-4)


# Longitude


@pytest.mark.parametrize(('longitude', 'normal'), [
    (0.0, 0.0), (180.0, -180.0), (-180.0, -180.0), (181.0, -179.0), (-181.0, 179.0),
    (360.0, 0.0), (540.0, -180.0), (-359.5, 0.5), (720.25, 0.25),
])
def test_longitude_is_wrapped_to_half_a_turn(longitude, normal):
    assert geodesy.normalize_longitude(longitude) == normal


@given(strategies.floats(-1e4, 1e4))
def test_normal_longitude_is_the_same_meridian(longitude):
    normal = geodesy.normalize_longitude(longitude)
    assert -180.0 <= normal < 180.0
    assert (cos(radians(normal)), sin(radians(normal))) == pytest.approx(
        (cos(radians(longitude)), sin(radians(longitude))), abs=1e-9)


def test_nan_goes_through():
    assert all(isnan(c) for c in geodesy.geodetic_to_ecef(nan, nan, nan))
    assert all(isnan(c) for c in geodesy.ecef_to_geodetic((nan, nan, nan)))
    assert isnan(geodesy.normalize_longitude(nan))
    assert isnan(geodesy.geocentric_to_geodetic_latitude(nan))
