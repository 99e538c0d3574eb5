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
Frames and attitudes: conversions between X-Plane, aircraft and ROS axes.

World frames, right-handed, in metres:
    NED      north, east, down
    ENU      east, north, up (REP-103)
    OpenGL   X-Plane's local frame: x east, y up, z south
Body frames, right-handed:
    FRD      forward, right, down
    FLU      forward, left, up (REP-103)

A vector is a tuple of three floats. A quaternion is a tuple (w, x, y, z), w first, as in X-Plane
and in textbooks; ROS messages have x, y, z, w. ``q_enu_flu`` takes a vector in FLU to the
same vector in ENU: read it right to left. Angles are radians unless the name says otherwise.

NaN propagates through every function; for an infinite angle the math module raises ValueError.
Formula numbers (6.1 ...) refer to docs/wire/xplane_datarefs.md, section 6.
"""

from collections.abc import Callable
from functools import lru_cache
import math

from xplane_bridge.common.units import STANDARD_GRAVITY

Vector = tuple[float, float, float]
"""(x, y, z) in the frame stated by the name."""

Quaternion = tuple[float, float, float, float]
"""(w, x, y, z), of unit length unless stated otherwise."""

_HALF_SQRT2 = math.sqrt(0.5)


# Axes


def frd_to_flu(vector: Vector) -> Vector:
    """
    Convert a body vector from forward-right-down to forward-left-up.

    Also converts X-Plane's and Huginn's P, Q, R to FLU rates: roll right, pitch up and yaw
    right become roll right, minus pitch up, minus yaw right (6.3).
    """
    x, y, z = vector
    return x, -y, -z


def flu_to_frd(vector: Vector) -> Vector:
    """Convert a body vector from forward-left-up to forward-right-down."""
    x, y, z = vector
    return x, -y, -z


def ned_to_enu(vector: Vector) -> Vector:
    """Convert a world vector from north-east-down to east-north-up."""
    north, east, down = vector
    return east, north, -down


def enu_to_ned(vector: Vector) -> Vector:
    """Convert a world vector from east-north-up to north-east-down."""
    east, north, up = vector
    return north, east, -up


def opengl_to_enu(vector: Vector) -> Vector:
    """
    Convert a vector in X-Plane's local OpenGL axes (east, up, south) to east-north-up (6.4).

    For local_v*, local_a* and the wind vector. The result is ENU at the origin of the local
    frame (lat_ref, lon_ref); ``enu_to_enu_rotation`` moves it to the aircraft (6.7).
    """
    x, y, z = vector
    return x, -z, y


def enu_to_opengl(vector: Vector) -> Vector:
    """Convert a vector in east-north-up to X-Plane's local OpenGL axes (east, up, south)."""
    east, north, up = vector
    return east, up, -north


# Quaternions


def normalize(quaternion: Quaternion) -> Quaternion:
    """
    Return the quaternion scaled to unit length.

    A quaternion of length zero, which is not a rotation, becomes NaN.
    """
    w, x, y, z = quaternion
    length = math.hypot(w, x, y, z)
    if length == 0.0:
        return math.nan, math.nan, math.nan, math.nan
    return w / length, x / length, y / length, z / length


def conjugate(quaternion: Quaternion) -> Quaternion:
    """Return the inverse rotation: q_flu_enu of q_enu_flu."""
    w, x, y, z = quaternion
    return w, -x, -y, -z


def multiply(left: Quaternion, right: Quaternion) -> Quaternion:
    """Return the rotation by ``right``, then by ``left``: q_ab, q_bc to q_ac."""
    aw, ax, ay, az = left
    bw, bx, by, bz = right
    return (
        aw * bw - ax * bx - ay * by - az * bz,
        aw * bx + ax * bw + ay * bz - az * by,
        aw * by - ax * bz + ay * bw + az * bx,
        aw * bz + ax * by - ay * bx + az * bw,
    )


def rotate(quaternion: Quaternion, vector: Vector) -> Vector:
    """Rotate a vector: with q_enu_flu, from body FLU to ENU."""
    w, x, y, z = quaternion
    vx, vy, vz = vector
    # v + 2w(u x v) + 2u x (u x v), u the vector part: half the work of two products.
    tx = 2.0 * (y * vz - z * vy)
    ty = 2.0 * (z * vx - x * vz)
    tz = 2.0 * (x * vy - y * vx)
    return (
        vx + w * tx + y * tz - z * ty,
        vy + w * ty + z * tx - x * tz,
        vz + w * tz + x * ty - y * tx,
    )


def rotate_inverse(quaternion: Quaternion, vector: Vector) -> Vector:
    """Rotate a vector by the inverse rotation: with q_enu_flu, from ENU to body FLU."""
    w, x, y, z = quaternion
    return rotate((w, -x, -y, -z), vector)


def euler_to_quaternion(
    roll: float, pitch: float, yaw: float, cos: Callable[[float], float] = math.cos,
    sin: Callable[[float], float] = math.sin,
) -> Quaternion:
    """
    Return the attitude Rz(yaw) Ry(pitch) Rx(roll), body to world, angles in radians.

    With X-Plane's phi, theta, psi (roll right, nose up, clockwise from north) the result is
    q_ned_frd, the same as its dataref q (1.20, 1.21). With ROS's roll, pitch (nose down) and
    yaw (anticlockwise from east) it is q_enu_flu. Arrays need ``cos`` and ``sin`` of arrays.
    """
    cr, sr = cos(0.5 * roll), sin(0.5 * roll)
    cp, sp = cos(0.5 * pitch), sin(0.5 * pitch)
    cy, sy = cos(0.5 * yaw), sin(0.5 * yaw)
    return (
        cr * cp * cy + sr * sp * sy,
        sr * cp * cy - cr * sp * sy,
        cr * sp * cy + sr * cp * sy,
        cr * cp * sy - sr * sp * cy,
    )


def quaternion_to_euler(quaternion: Quaternion) -> Vector:
    """
    Return (roll, pitch, yaw) in radians, the inverse of ``euler_to_quaternion``.

    Roll and yaw are in -pi..pi, pitch in -pi/2..pi/2. With the nose straight up or down only
    the sum or the difference of roll and yaw means anything; the result still describes the
    attitude. The quaternion need not be of unit length.
    """
    w, x, y, z = quaternion
    # Half-angle identities of the product Rz Ry Rx: w-y and x+z are cos and sin of
    # (roll+yaw)/2, w+y and x-z of (roll-yaw)/2, each pair times a factor that depends on
    # pitch alone. Unlike asin of one element this keeps its precision up to 90 degrees of pitch.
    half_sum = math.atan2(x + z, w - y)
    half_difference = math.atan2(x - z, w + y)
    pitch = 2.0 * math.atan2(math.hypot(w + y, x - z), math.hypot(w - y, x + z)) - 0.5 * math.pi
    return (
        math.remainder(half_sum + half_difference, math.tau),
        pitch,
        math.remainder(half_sum - half_difference, math.tau),
    )


def ned_frd_to_enu_flu(q_ned_frd: Quaternion) -> Quaternion:
    """Convert an attitude from FRD in NED (X-Plane's q) to FLU in ENU (ROS) (6.1)."""
    w, x, y, z = q_ned_frd
    s = _HALF_SQRT2
    return s * (w + z), s * (x + y), s * (x - y), s * (w - z)


def enu_flu_to_ned_frd(q_enu_flu: Quaternion) -> Quaternion:
    """Convert an attitude from FLU in ENU (ROS) to FRD in NED (X-Plane's q)."""
    # Both changes of axes are half turns, so each is its own inverse.
    return ned_frd_to_enu_flu(q_enu_flu)


def enu_to_enu_rotation(
    from_latitude_deg: float,
    from_longitude_deg: float,
    to_latitude_deg: float,
    to_longitude_deg: float,
) -> Quaternion:
    """
    Return the rotation from ENU axes at one place to ENU axes at another (6.7).

    ``rotate(q, v)`` converts a vector, ``multiply(q, q_enu_flu)`` an attitude: from X-Plane's
    local frame at (lat_ref, lon_ref) to the aircraft, or from the aircraft to a datum. Geodetic
    degrees.
    """
    q_ecef_from = _ecef_enu(from_latitude_deg, from_longitude_deg)
    q_ecef_to = _ecef_enu(to_latitude_deg, to_longitude_deg)
    return multiply(conjugate(q_ecef_to), q_ecef_from)


# Most rotations are from an origin, or to a datum, that stays for long.
@lru_cache(maxsize=64)
def _ecef_enu(latitude_deg: float, longitude_deg: float) -> Quaternion:
    # ENU is ECEF rotated by longitude + 90 degrees about z, then by 90 degrees - latitude about x.
    half_z = 0.5 * math.radians(longitude_deg + 90.0)
    half_x = 0.5 * math.radians(90.0 - latitude_deg)
    cz, sz = math.cos(half_z), math.sin(half_z)
    cx, sx = math.cos(half_x), math.sin(half_x)
    return cz * cx, cz * sx, sz * sx, sz * cx


# Headings


def wrap_angle(angle: float) -> float:
    """Return the equivalent angle in -pi..pi."""
    return math.remainder(angle, math.tau)


def heading_to_yaw(heading: float) -> float:
    """Return the ENU yaw (anticlockwise from east, -pi..pi) of a compass heading in radians."""
    return math.remainder(0.5 * math.pi - heading, math.tau)


def yaw_to_heading(yaw: float) -> float:
    """Return the compass heading (clockwise from north, 0 <= h < 2 pi) of an ENU yaw."""
    heading = (0.5 * math.pi - yaw) % math.tau
    # The remainder of a tiny negative angle rounds up to the full turn itself.
    return 0.0 if heading == math.tau else heading


# Specific force: what an accelerometer reads, acceleration minus gravity


def g_loads_to_specific_force(axial: float, side: float, normal: float) -> Vector:
    """
    Return the specific force in body FLU, m/s^2, of X-Plane's g_axil, g_side, g_nrml (6.5).

    The loads are in g along X-Plane's aircraft axes: axial + to the tail, side + to the right,
    normal + up. They include the reaction to gravity: 0, 0, 1 when parked level. Do not use
    row 4 of the DATA output, where the axial load has the opposite sign (5.10).
    """
    return -axial * STANDARD_GRAVITY, -side * STANDARD_GRAVITY, normal * STANDARD_GRAVITY


def acceleration_to_specific_force(
    acceleration_enu: Vector, q_enu_flu: Quaternion, gravity: float = STANDARD_GRAVITY
) -> Vector:
    """
    Return the specific force in body FLU, m/s^2, of an acceleration over ground in ENU (6.6).

    For X-Plane's local_ax, ay, az after ``opengl_to_enu``, which do not contain gravity. The
    attitude must be in the same frame: from the dataref q (or psi, theta, phi), not true_*.
    With zero acceleration this is the specific force at rest (see ``rest_specific_force``).
    """
    east, north, up = acceleration_enu
    return rotate_inverse(q_enu_flu, (east, north, up + gravity))


def rest_specific_force(q_enu_flu: Quaternion, gravity: float = STANDARD_GRAVITY) -> Vector:
    """
    Return the specific force in body FLU, m/s^2, of an aircraft at rest, from its attitude.

    Replaces the g loads while parked, when X-Plane's contact forces can be wrong
    (1.45, 1.46).
    """
    return rotate_inverse(q_enu_flu, (0.0, 0.0, gravity))
