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

"""Positions in X-Plane's local axes, by the definition of the earth, worked out here."""

import math
import struct

import pytest

from xplane_bridge.bridges.conversions.xplane import others
from xplane_bridge.bridges.xpc.conversion import LocalAxes
from xplane_bridge.bridges.xpc.protocol import PositionReply

# WGS-84, and sim/physics/earth_radius_m.
A, B = 6378137.0, 6356752.314245
RADIUS = 6378145.0


def single(value):
    return struct.unpack('<f', struct.pack('<f', value))[0]


def singles(*values):
    return tuple(map(single, values))


def north_of_null_island(latitude_deg, altitude, a, b):
    """Return the local position of a place at longitude 0; the origin is latitude 0 there."""
    latitude = math.radians(latitude_deg)
    n = a * a / math.hypot(a * math.cos(latitude), b * math.sin(latitude))
    outward = (n + altitude) * math.cos(latitude)
    polar = (n * (b / a) ** 2 + altitude) * math.sin(latitude)
    # Local axes: x east, y up, z south.
    return (0.0, outward - a, -polar)


@pytest.mark.parametrize(('a', 'b'), [(A, B), (RADIUS, RADIUS)], ids=['ellipsoid', 'sphere'])
def test_a_place_north_of_the_origin_on_either_earth(a, b):
    local = north_of_null_island(0.4, 1200.0, a, b)
    assert local[2] == pytest.approx(-44238.0 if a == A else -44536.0, abs=1.0)
    place = LocalAxes().place(singles(*local), (0.0, 0.0), singles(0.4, 0.0, 1200.0))
    assert place == pytest.approx((0.4, 0.0, 1200.0), abs=2e-3)
    assert place[:2] == pytest.approx((0.4, 0.0), abs=2e-8)


def test_a_place_east_of_the_origin_across_the_date_line():
    """The equator is a circle: 0.3 degrees east of 179.9 is -179.8."""
    angle = math.radians(0.3)
    local = ((A + 500.0) * math.sin(angle), (A + 500.0) * math.cos(angle) - A, 0.0)
    place = LocalAxes().place(
        singles(*local), (0.0, single(179.9)), singles(0.0, -179.8, 500.0))
    # The origin itself is a float32.
    assert place == pytest.approx((0.0, single(179.9) + 0.3 - 360.0, 500.0), abs=2e-3)
    assert place[1] == pytest.approx(single(179.9) + 0.3 - 360.0, abs=2e-8)


@pytest.mark.parametrize(('error', 'agrees'), [(1.2e-5, True), (2e-5, False)])
def test_positions_agree_within_a_step_of_the_larger_longitude(error, agrees):
    """From 128 degrees on a float32 has steps of 1.5e-5."""
    angle = math.radians(-0.002)
    local = ((A + 500.0) * math.sin(angle), (A + 500.0) * math.cos(angle) - A, 0.0)
    place = LocalAxes().place(local, (0.0, 128.001), (0.0, 127.999 + error, 500.0))
    assert (place is not None) is agrees


def test_directly_above_the_origin():
    place = LocalAxes().place((0.0, 2500.0, 0.0), (47.5, 8.5), (47.5, 8.5, 2500.0))
    assert place == pytest.approx((47.5, 8.5, 2500.0), abs=1e-8)


@pytest.mark.parametrize('reported', [
    (0.4 + 2e-6, 0.0, 1200.0), (0.4, 2e-6, 1200.0), (0.4, 0.0, 1200.2), (0.0, 0.0, 0.0)])
def test_a_position_that_contradicts_the_reported_one_is_none(reported):
    local = north_of_null_island(0.4, 1200.0, A, B)
    assert LocalAxes().place(local, (0.0, 0.0), reported) is None


def test_the_earth_that_agreed_last_is_tried_first():
    """Close to the origin both agree; there must be no jump between them."""
    axes = LocalAxes()
    near = north_of_null_island(1e-4, 0.0, RADIUS, RADIUS)
    far = north_of_null_island(0.4, 1200.0, RADIUS, RADIUS)
    assert axes.place(near, (0.0, 0.0), (1e-4, 0.0, 0.0))[0] != pytest.approx(1e-4, abs=1e-9)
    assert axes.place(far, (0.0, 0.0), (0.4, 0.0, 1200.0)) is not None
    assert axes.place(near, (0.0, 0.0), (1e-4, 0.0, 0.0))[0] == pytest.approx(1e-4, abs=1e-9)


def given(**changes):
    """Return the datarefs of aircraft 7 straight above the origin."""
    plane = 'sim/multiplayer/position/plane7_'
    values = {
        'lat': 47.5, 'lon': 8.5, 'el': 2500.0, 'x': 0.0, 'y': 2500.0, 'z': 0.0,
        'the': 1.0, 'phi': 2.0, 'psi': 3.0, 'gear_deploy': 0.5, **changes}
    return {
        'sim/flightmodel/position/lat_ref': 47.5, 'sim/flightmodel/position/lon_ref': 8.5,
        **{plane + name: value for name, value in values.items() if value is not None}}


def test_the_pose_is_that_of_getp():
    pose = LocalAxes().make_pose_reader(7)(given())
    assert isinstance(pose, PositionReply)
    assert (pose.lat, pose.lon, pose.alt) == pytest.approx((47.5, 8.5, 2500.0), abs=1e-8)
    assert (pose.pitch, pose.roll, pose.heading, pose.gear) == (1.0, 2.0, 3.0, 0.5)


@pytest.mark.parametrize('name', ['lat', 'lon', 'el', 'x', 'y', 'z', 'the', 'phi', 'psi'])
def test_without_a_dataref_of_the_pose_there_is_none(name):
    assert LocalAxes().make_pose_reader(7)(given(**{name: None})) is None
    assert LocalAxes().make_pose_reader(7)(given(**{name: math.nan})) is None


def test_without_the_origin_there_is_none():
    values = given()
    del values['sim/flightmodel/position/lon_ref']
    assert LocalAxes().make_pose_reader(7)(values) is None


def test_everything_that_a_pose_needs_is_polled():
    assert given().keys() <= set(others.other_datarefs(7))


def test_the_users_aircraft_has_a_pose_by_its_datarefs():
    """Straight above the origin."""
    names = {
        'local_x': 0.0, 'local_y': 1000.0, 'local_z': 0.0, 'latitude': 47.0, 'longitude': 8.0,
        'elevation': 1000.0, 'theta': 2.0, 'phi': 3.0, 'psi': 90.0, 'lat_ref': 47.0,
        'lon_ref': 8.0}
    values = {f'sim/flightmodel/position/{name}': value for name, value in names.items()}
    pose = LocalAxes().make_pose_reader(0)
    got = pose(values)
    assert (got.lat, got.lon, got.alt) == pytest.approx((47.0, 8.0, 1000.0))
    assert (got.pitch, got.roll, got.heading) == (2.0, 3.0, 90.0)
    # A bit that flipped on the way.
    assert pose({**values, 'sim/flightmodel/position/local_x': 5000.0}) is None
    del values['sim/flightmodel/position/local_x']
    assert pose(values) is None
