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
Frames and attitudes against hand-computed cases.

Expectations are worked out by hand from the geometry; check cases A to F are those of
docs/wire/xplane_datarefs.md, section 6, each with a sentence about the errors it can expose.
"""

from math import asin, atan2, cos, degrees, hypot, inf, isnan, nan, pi, radians, sin, sqrt

from hypothesis import given, strategies
import pytest

from xplane_bridge.bridges.conversions import axes

G = 9.80665
S = sqrt(0.5)

angles = strategies.floats(-pi, pi)
pitches = strategies.floats(-pi / 2, pi / 2)
components = strategies.floats(-1e4, 1e4)
vectors = strategies.tuples(components, components, components)
quaternions = strategies.builds(axes.euler_to_quaternion, angles, pitches, angles)


def close(expected, tolerance=1e-9):
    return pytest.approx(expected, abs=tolerance)


def dot(a, b):
    return sum(p * q for p, q in zip(a, b, strict=True))


def same_rotation(a, b):
    """Return whether two quaternions are the same attitude: equal up to the sign."""
    return abs(abs(dot(a, b)) - 1.0) < 1e-12


# Axes


@pytest.mark.parametrize(('convert', 'given_vector', 'expected'), [
    (axes.frd_to_flu, (1.0, 2.0, 3.0), (1.0, -2.0, -3.0)),
    (axes.flu_to_frd, (1.0, -2.0, -3.0), (1.0, 2.0, 3.0)),
    (axes.ned_to_enu, (1.0, 2.0, 3.0), (2.0, 1.0, -3.0)),
    (axes.enu_to_ned, (2.0, 1.0, -3.0), (1.0, 2.0, 3.0)),
    # 10 east, 2 up, 30 south is 30 m/s northward negative.
    (axes.opengl_to_enu, (10.0, 2.0, 30.0), (10.0, -30.0, 2.0)),
    (axes.enu_to_opengl, (10.0, -30.0, 2.0), (10.0, 2.0, 30.0)),
])
def test_axes_are_renamed_by_hand(convert, given_vector, expected):
    assert convert(given_vector) == expected


# Attitude


# q_ned_frd and q_enu_flu from the table of section 6, given there to five digits.
CASES = {
    # case: (psi, theta, phi in degrees, q X-Plane, q ENU<-FLU)
    'A parked level, east': ((90, 0, 0), (.70711, 0, 0, .70711), (1, 0, 0, 0)),
    'B 30 degrees right bank': (
        (90, 0, 30), (.68301, .18301, .18301, .68301), (.96593, .25882, 0, 0)),
    'C nose up 10 degrees': (
        (90, 10, 0), (.70442, -.06163, .06163, .70442), (.99619, 0, -.08716, 0)),
    'D level, braking': ((90, 0, 0), (.70711, 0, 0, .70711), (1, 0, 0, 0)),
    'E level, north': ((0, 0, 0), (1, 0, 0, 0), (.70711, 0, 0, .70711)),
    'F right wing down 10 degrees': (
        (90, 0, 10), (.70442, .06163, .06163, .70442), (.99619, .08716, 0, 0)),
}


@pytest.mark.parametrize('case', CASES)
def test_section_6_psi_theta_phi_to_xplane_q(case):
    (psi, theta, phi), q_ned_frd, _ = CASES[case]
    assert axes.euler_to_quaternion(radians(phi), radians(theta), radians(psi)) == close(
        q_ned_frd, 1e-5)


@pytest.mark.parametrize('case', CASES)
def test_section_6_xplane_q_to_ros(case):
    _, q_ned_frd, q_enu_flu = CASES[case]
    assert axes.ned_frd_to_enu_flu(q_ned_frd) == close(q_enu_flu, 2e-5)


@pytest.mark.parametrize('case', CASES)
def test_section_6_ros_to_xplane_q(case):
    _, q_ned_frd, q_enu_flu = CASES[case]
    assert axes.enu_flu_to_ned_frd(q_enu_flu) == close(q_ned_frd, 2e-5)


@pytest.mark.parametrize('case', CASES)
def test_section_6_xplane_q_to_psi_theta_phi(case):
    (psi, theta, phi), q_ned_frd, _ = CASES[case]
    assert [degrees(a) for a in axes.quaternion_to_euler(q_ned_frd)] == close(
        [phi, theta, psi], 2e-3)


def test_vendor_example_is_east_northeast():
    """{0.8, 0, 0, 0.6} is a heading of 73.7 degrees: 2 atan(0.6 / 0.8) (1.22)."""
    roll, pitch, heading = axes.quaternion_to_euler((0.8, 0.0, 0.0, 0.6))
    assert (roll, pitch) == close((0.0, 0.0))
    assert degrees(heading) == close(73.7398, 1e-4)


class TestBanked30NoseUp10HeadingEast:
    """
    30 degrees right bank, nose 10 degrees up, heading east, all by hand.

    Level and heading east: forward (1,0,0), right (0,-1,0) = south, up (0,0,1), in ENU.
    Nose up 10: forward = (cos10, 0, sin10), and the aircraft's up leans back, away from the
    direction of flight: up' = (-sin10, 0, cos10); right stays south.
    Bank right 30 about forward: right dips toward minus up', up leans toward right:
        right = cos30 right' - sin30 up' = ( .5 sin10, -.86603, -.5 cos10) = ( .086824, -.866025,
                                          -.492404) left = -right = (-.086824, .866025, .492404) up
                                          = cos30 up' + sin30 right' = (-.866025 sin10, -.5,
                                          .866025 cos10) = (-.150384, -.5, .852869) As rotations
                                          about FLU axes: yaw 0, pitch -10 (about left, nose down
                                          is positive), roll +30, so q = (cos5, 0, -sin5, 0)(cos15,
                                          sin15, 0, 0) = (cos5 cos15, cos5 sin15, -sin5 cos15, sin5
                                          sin15) = (.962250, .257834, -.084186, .022558) At rest
                                          the specific force is g straight up: its components along
                                          forward, left, up are the last components of the three
                                          axes times g: 1.70291, 4.82884, 8.36379.
    """

    q = axes.ned_frd_to_enu_flu(
        axes.euler_to_quaternion(radians(30), radians(10), radians(90)))
    forward = (.984808, 0.0, .173648)
    left = (-.086824, .866025, .492404)
    up = (-.150384, -.5, .852869)

    def test_quaternion(self):
        assert self.q == close((.962250, .257834, -.084186, .022558), 1e-6)

    def test_body_axes_in_enu(self):
        assert axes.rotate(self.q, (1, 0, 0)) == close(self.forward, 1e-6)
        assert axes.rotate(self.q, (0, 1, 0)) == close(self.left, 1e-6)
        assert axes.rotate(self.q, (0, 0, 1)) == close(self.up, 1e-6)

    def test_enu_axes_in_body(self):
        """The columns of the same table: east, north, up seen from the aircraft."""
        assert axes.rotate_inverse(self.q, (1, 0, 0)) == close(
            (.984808, -.086824, -.150384), 1e-6)
        assert axes.rotate_inverse(self.q, (0, 1, 0)) == close((0.0, .866025, -.5), 1e-6)
        assert axes.rotate_inverse(self.q, (0, 0, 1)) == close(
            (.173648, .492404, .852869), 1e-6)

    def test_roll_pitch_yaw_for_ros(self):
        roll, pitch, yaw = axes.quaternion_to_euler(self.q)
        assert (degrees(roll), degrees(pitch), degrees(yaw)) == close((30, -10, 0), 1e-9)

    def test_specific_force_at_rest(self):
        assert axes.rest_specific_force(self.q) == close((1.70291, 4.82884, 8.36379), 1e-5)

    def test_back_to_xplane(self):
        roll, pitch, heading = axes.quaternion_to_euler(axes.enu_flu_to_ned_frd(self.q))
        assert (degrees(roll), degrees(pitch), degrees(heading)) == close((30, 10, 90), 1e-9)


@pytest.mark.parametrize(('psi', 'theta', 'phi', 'forward', 'left'), [
    # Heading, pitch, roll in degrees; where the nose and the left wing point in ENU.
    (0, 0, 0, (0, 1, 0), (-1, 0, 0)),
    (180, 0, 0, (0, -1, 0), (1, 0, 0)),
    (270, 0, 0, (-1, 0, 0), (0, -1, 0)),
    (0, 90, 0, (0, 0, 1), (-1, 0, 0)),          # nose straight up, belly north
    (0, -90, 0, (0, 0, -1), (-1, 0, 0)),
    (0, 0, 90, (0, 1, 0), (0, 0, 1)),           # knife edge, left wing up
    (0, 0, 180, (0, 1, 0), (1, 0, 0)),          # inverted
    (45, 0, 0, (S, S, 0), (-S, S, 0)),
])
def test_where_nose_and_left_wing_point(psi, theta, phi, forward, left):
    q = axes.ned_frd_to_enu_flu(
        axes.euler_to_quaternion(radians(phi), radians(theta), radians(psi)))
    assert axes.rotate(q, (1.0, 0.0, 0.0)) == close(forward)
    assert axes.rotate(q, (0.0, 1.0, 0.0)) == close(left)


def euler_matrix_times(roll, pitch, yaw, vector):
    """Rotate a vector about x by roll, then y by pitch, then z by yaw, one plane at a time."""
    x, y, z = vector
    y, z = y * cos(roll) - z * sin(roll), y * sin(roll) + z * cos(roll)
    x, z = x * cos(pitch) + z * sin(pitch), z * cos(pitch) - x * sin(pitch)
    x, y = x * cos(yaw) - y * sin(yaw), x * sin(yaw) + y * cos(yaw)
    return x, y, z


@given(angles, pitches, angles, vectors)
def test_euler_quaternion_turns_as_three_plane_turns_do(roll, pitch, yaw, vector):
    q = axes.euler_to_quaternion(roll, pitch, yaw)
    assert axes.rotate(q, vector) == close(euler_matrix_times(roll, pitch, yaw, vector), 1e-9)


@given(quaternions, vectors)
def test_enu_flu_attitude_does_to_renamed_axes_what_ned_frd_does(q_ned_frd, vector_flu):
    x, y, z = vector_flu
    north, east, down = axes.rotate(q_ned_frd, (x, -y, -z))
    assert axes.rotate(axes.ned_frd_to_enu_flu(q_ned_frd), vector_flu) == close(
        (east, north, -down))


@given(quaternions)
def test_attitude_survives_ned_enu_ned(q):
    assert axes.enu_flu_to_ned_frd(axes.ned_frd_to_enu_flu(q)) == close(q, 1e-15)


@given(angles, pitches, angles)
def test_attitude_survives_quaternion_euler_quaternion(roll, pitch, yaw):
    q = axes.euler_to_quaternion(roll, pitch, yaw)
    roll_back, pitch_back, yaw_back = axes.quaternion_to_euler(q)
    assert same_rotation(axes.euler_to_quaternion(roll_back, pitch_back, yaw_back), q)
    assert pitch_back == close(pitch)
    assert -pi <= roll_back <= pi
    assert -pi <= yaw_back <= pi


@pytest.mark.parametrize('pitch_deg', [89.9, 89.9999999, -89.9999999, 90.0, -90.0])
def test_euler_keeps_the_attitude_at_the_vertical(pitch_deg):
    q = axes.euler_to_quaternion(0.3, radians(pitch_deg), -1.2)
    roll, pitch, yaw = axes.quaternion_to_euler(q)
    # asin of a matrix element would be off by 1e-8 here.
    assert degrees(pitch) == close(pitch_deg, 1e-12)
    assert same_rotation(axes.euler_to_quaternion(roll, pitch, yaw), q)


def test_euler_does_not_mind_the_sign_or_length_of_the_quaternion():
    q = axes.euler_to_quaternion(0.1, 0.2, 3.0)
    scaled = tuple(-2.5 * c for c in q)
    assert axes.quaternion_to_euler(scaled) == close((0.1, 0.2, 3.0))


# Quaternion algebra


def test_product_applies_the_right_factor_first():
    """Roll right 90 then yaw left 90: the left wing, up after the roll, stays up."""
    roll = (S, S, 0.0, 0.0)
    yaw = (S, 0.0, 0.0, S)
    assert axes.rotate(axes.multiply(yaw, roll), (0, 1, 0)) == close((0, 0, 1))
    assert axes.rotate(axes.multiply(roll, yaw), (0, 1, 0)) == close((-1, 0, 0))
    assert axes.multiply((0, 1, 0, 0), (0, 0, 1, 0)) == (0, 0, 0, 1)      # ij = k


@given(quaternions, quaternions, vectors)
def test_product_is_one_rotation_after_the_other(a, b, vector):
    assert axes.rotate(axes.multiply(a, b), vector) == close(
        axes.rotate(a, axes.rotate(b, vector)))


@given(quaternions, vectors, vectors)
def test_rotation_keeps_lengths_and_angles(q, a, b):
    ra, rb = axes.rotate(q, a), axes.rotate(q, b)
    assert hypot(*ra) == pytest.approx(hypot(*a), rel=1e-12, abs=1e-12)
    assert dot(ra, rb) == pytest.approx(dot(a, b), rel=1e-9, abs=1e-6)


@given(quaternions, vectors)
def test_inverse_rotation_undoes_the_rotation(q, vector):
    assert axes.rotate_inverse(q, axes.rotate(q, vector)) == close(vector, 1e-8)
    assert axes.rotate(axes.conjugate(q), vector) == close(axes.rotate_inverse(q, vector))


def test_normalize_gives_unit_length():
    assert axes.normalize((0.0, 3.0, 0.0, -4.0)) == close((0.0, 0.6, 0.0, -0.8))
    # X-Plane sends float32 components.
    assert hypot(*axes.normalize((.70710677, 0.0, 0.0, .70710677))) == close(1.0, 1e-15)


def test_normalize_of_no_rotation_is_nan():
    assert all(isnan(c) for c in axes.normalize((0.0, 0.0, 0.0, 0.0)))


# Headings


@pytest.mark.parametrize(('heading_deg', 'yaw_deg'), [
    (0, 90), (45, 45), (90, 0), (135, -45), (200, -110), (225, -135), (300, 150), (359, 91),
])
def test_compass_heading_and_enu_yaw(heading_deg, yaw_deg):
    assert degrees(axes.heading_to_yaw(radians(heading_deg))) == close(yaw_deg)
    assert degrees(axes.yaw_to_heading(radians(yaw_deg))) == close(heading_deg)


def test_west_is_half_a_turn_of_yaw():
    assert abs(axes.heading_to_yaw(radians(270))) == close(pi)
    assert degrees(axes.yaw_to_heading(pi)) == close(270)
    assert degrees(axes.yaw_to_heading(-pi)) == close(270)


@given(strategies.floats(-1e3, 1e3))
def test_headings_and_yaws_stay_in_range(angle):
    heading = axes.yaw_to_heading(angle)
    assert 0.0 <= heading < 2 * pi
    yaw = axes.heading_to_yaw(heading)
    assert -pi <= yaw <= pi
    assert (cos(yaw), sin(yaw)) == close((cos(angle), sin(angle)))
    wrapped = axes.wrap_angle(angle)
    assert -pi <= wrapped <= pi
    assert (cos(wrapped), sin(wrapped)) == close((cos(angle), sin(angle)))


def test_heading_a_hair_west_of_north_is_not_a_full_turn():
    just_past = pi / 2 + 2.3e-16
    assert axes.yaw_to_heading(just_past) < 2 * pi


@pytest.mark.parametrize(('angle_deg', 'wrapped_deg'), [
    (0, 0), (190, -170), (-190, 170), (359, -1), (720 + 30, 30), (-540 + 1, -179),
])
def test_angle_is_wrapped_to_half_a_turn_either_way(angle_deg, wrapped_deg):
    assert degrees(axes.wrap_angle(radians(angle_deg))) == close(wrapped_deg)


# Rates


@pytest.mark.parametrize(('prad', 'qrad', 'rrad', 'flu'), [
    (0.1, 0.0, 0.0, (0.1, 0.0, 0.0)),                       # rolling right
    (0.0, 0.1, 0.0, (0.0, -0.1, 0.0)),                      # pitching up
    (0.0, 0.0, 0.1, (0.0, 0.0, -0.1)),                      # yawing right
    (0.0, 0.04718, 0.08172, (0.0, -0.04718, -0.08172)),     # case B
])
def test_section_6_body_rates(prad, qrad, rrad, flu):
    assert axes.frd_to_flu((prad, qrad, rrad)) == close(flu)


def test_case_b_rates_are_a_right_turn_seen_in_enu():
    """A level right turn is a rate of -g tan30 / 60 = -.094365 rad/s about up, nothing else."""
    q_enu_flu = CASES['B 30 degrees right bank'][2]
    rates = axes.frd_to_flu((0.0, .0471825, .0817225))
    assert axes.rotate(q_enu_flu, rates) == close((0.0, 0.0, -.094365), 2e-6)


# Velocity


def test_velocity_climbing_southeast():
    """local_v (30 east, 5 up, 40 south) in ENU, and seen from an aircraft heading south."""
    enu = axes.opengl_to_enu((30.0, 5.0, 40.0))
    assert enu == (30.0, -40.0, 5.0)
    heading_south = axes.ned_frd_to_enu_flu(axes.euler_to_quaternion(0.0, 0.0, pi))
    # Heading south the left wing points east.
    assert axes.rotate_inverse(heading_south, enu) == close((40.0, 30.0, 5.0))


# Specific force

FORCES = {
    # case: (local_a east, up, south), FLU specific force, (g_axil, g_side, g_nrml)
    'A parked level, east': ((0, 0, 0), (0, 0, 9.80665), (0, 0, 1)),
    'B 30 degrees right bank': ((0, 0, 5.66187), (0, 0, 11.3237), (0, 0, 1.1547)),
    'C nose up 10 degrees': ((0, 0, 0), (1.7029, 0, 9.6577), (-.1736, 0, .9848)),
    'D level, braking': ((-3, 0, 0), (-3, 0, 9.80665), (.3059, 0, 1)),
    'E level, north': ((0, 0, 0), (0, 0, 9.80665), (0, 0, 1)),
    'F right wing down 10 degrees': ((0, 0, 0), (0, 1.7029, 9.6577), (0, -.1736, .9848)),
}


@pytest.mark.parametrize('case', FORCES)
def test_section_6_g_loads_to_specific_force(case):
    _, expected, g_loads = FORCES[case]
    # The loads are given to four digits: half of the last digit is 0.0005 m/s^2.
    assert axes.g_loads_to_specific_force(*g_loads) == close(expected, 1e-3)


@pytest.mark.parametrize('case', FORCES)
def test_section_6_local_acceleration_to_specific_force(case):
    local_a, expected, _ = FORCES[case]
    (psi, theta, phi), _, _ = CASES[case]
    q = axes.ned_frd_to_enu_flu(
        axes.euler_to_quaternion(radians(phi), radians(theta), radians(psi)))
    force = axes.acceleration_to_specific_force(axes.opengl_to_enu(local_a), q)
    assert force == close(expected, 1e-4)


@pytest.mark.parametrize('case', [c for c in FORCES if FORCES[c][0] == (0, 0, 0)])
def test_section_6_gravity_by_attitude(case):
    _, expected, _ = FORCES[case]
    assert axes.rest_specific_force(CASES[case][2]) == close(expected, 2e-4)


def test_free_fall_is_weightless():
    q = axes.euler_to_quaternion(0.4, -0.7, 2.0)
    assert axes.acceleration_to_specific_force((0.0, 0.0, -G), q) == close((0, 0, 0))


def test_gravity_of_the_simulator_is_used():
    level = (1.0, 0.0, 0.0, 0.0)
    assert axes.rest_specific_force(level, 9.83) == close((0, 0, 9.83))
    assert axes.acceleration_to_specific_force((0, 0, 1.0), level, 9.78) == close((0, 0, 10.78))


# From one position to another


EAST, NORTH, UP = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)
WEST, SOUTH, DOWN = (-1.0, 0.0, 0.0), (0.0, -1.0, 0.0), (0.0, 0.0, -1.0)


@pytest.mark.parametrize(('start', 'end', 'east_becomes', 'north_becomes', 'up_becomes'), [
    # ECEF axes by hand. At 0N 0E: east = +y, north = +z, up = +x.
    ((0, 0), (0, 0), EAST, NORTH, UP),
    # At 0N 90E: east = -x, north = +z, up = +y.
    ((0, 0), (0, 90), UP, NORTH, WEST),
    # At the pole on meridian 0: east = +y, north = -x, up = +z.
    ((0, 0), (90, 0), EAST, UP, SOUTH),
    # At 0N 180E: east = -y, north = +z, up = -x.
    ((0, 0), (0, 180), WEST, NORTH, DOWN),
    ((0, 90), (0, 0), DOWN, NORTH, EAST),
])
def test_axes_carried_over_the_globe(start, end, east_becomes, north_becomes, up_becomes):
    q = axes.enu_to_enu_rotation(*start, *end)
    assert axes.rotate(q, EAST) == close(east_becomes)
    assert axes.rotate(q, NORTH) == close(north_becomes)
    assert axes.rotate(q, UP) == close(up_becomes)


def test_meridian_convergence_of_a_flight_east():
    """
    40 km east of X-Plane's origin at 47N headings differ by 0.385 and the tilt is 0.359 degrees.

    N(47) cos 47 = 6389.58 km x .681998 = 4357.68 km, so 40 km are .525935 degrees of longitude;
    its sine times sin 47 (.731354) is the convergence, its cosine part (cos 47) the tilt.
    """
    q = axes.enu_to_enu_rotation(47.0, 8.0, 47.0, 8.525935)
    east, north, up = axes.rotate(q, NORTH)
    # The origin's north points east of local north: meridians converge to the left.
    assert degrees(atan2(east, north)) == close(.3846, 2e-4)
    east, north, up = axes.rotate(q, UP)
    # The origin's up leans back west there.
    assert degrees(asin(-east)) == close(.3587, 2e-4)


places = strategies.tuples(strategies.floats(-90, 90), strategies.floats(-180, 180))


@given(places, places, vectors)
def test_there_and_back_is_no_rotation(a, b, vector):
    there = axes.rotate(axes.enu_to_enu_rotation(*a, *b), vector)
    assert axes.rotate(axes.enu_to_enu_rotation(*b, *a), there) == close(vector, 1e-8)


def test_attitude_is_carried_with_its_vectors():
    """Nose east and level at 0N 0E is nose straight up as seen from 0N 90E."""
    q = axes.multiply(axes.enu_to_enu_rotation(0, 0, 0, 90), (1.0, 0.0, 0.0, 0.0))
    assert axes.rotate(q, (1, 0, 0)) == close(UP)


# NaN


def test_nan_goes_through():
    assert all(isnan(c) for c in axes.euler_to_quaternion(nan, 0.0, 0.0))
    assert all(isnan(a) for a in axes.quaternion_to_euler((nan, nan, nan, nan)))
    assert isnan(axes.wrap_angle(nan))
    assert isnan(axes.yaw_to_heading(nan))


@pytest.mark.parametrize('call', [
    lambda: axes.euler_to_quaternion(inf, 0.0, 0.0),
    lambda: axes.wrap_angle(inf),
    lambda: axes.heading_to_yaw(-inf),
])
def test_infinite_angle_is_refused(call):
    with pytest.raises(ValueError, match='math domain error'):
        call()
