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
The simulators' own geometry on the WGS-84 ellipsoid: small, in plain floats.

The bridge has its own (conversions/). The two are kept apart on purpose: a simulator that shared
the bridge's formulas would share its bugs, and no test would see them. Vectors are tuples of
three floats, matrices are tuples of three rows; ``matrix_a_b`` transforms from b to a.
"""

import math
from typing import TypeAlias

Vector: TypeAlias = tuple[float, float, float]
Matrix: TypeAlias = tuple[Vector, Vector, Vector]
Quaternion: TypeAlias = tuple[float, float, float, float]

SEMI_MAJOR_AXIS = 6_378_137.0
FLATTENING = 1.0 / 298.257223563
_E2 = FLATTENING * (2.0 - FLATTENING)


def multiply(a: Matrix, b: Matrix) -> Matrix:
    """Return the matrix product a b."""
    (a00, a01, a02), (a10, a11, a12), (a20, a21, a22) = a
    (b00, b01, b02), (b10, b11, b12), (b20, b21, b22) = b
    return (
        (a00 * b00 + a01 * b10 + a02 * b20, a00 * b01 + a01 * b11 + a02 * b21,
         a00 * b02 + a01 * b12 + a02 * b22),
        (a10 * b00 + a11 * b10 + a12 * b20, a10 * b01 + a11 * b11 + a12 * b21,
         a10 * b02 + a11 * b12 + a12 * b22),
        (a20 * b00 + a21 * b10 + a22 * b20, a20 * b01 + a21 * b11 + a22 * b21,
         a20 * b02 + a21 * b12 + a22 * b22))


def transform(a: Matrix, v: Vector) -> Vector:
    """Return the product a v."""
    x, y, z = v
    r0, r1, r2 = a
    return (r0[0] * x + r0[1] * y + r0[2] * z,
            r1[0] * x + r1[1] * y + r1[2] * z,
            r2[0] * x + r2[1] * y + r2[2] * z)


def transpose(a: Matrix) -> Matrix:
    """Return the transpose, the inverse of a rotation."""
    (a00, a01, a02), (a10, a11, a12), (a20, a21, a22) = a
    return ((a00, a10, a20), (a01, a11, a21), (a02, a12, a22))


def matrix_ned_body(phi: float, theta: float, psi: float) -> Matrix:
    """
    Return the rotation from body axes (forward, right, down) to north, east, down.

    phi, theta, psi are roll, pitch and heading in rad, aerospace sequence psi, theta, phi.
    """
    sf, cf = math.sin(phi), math.cos(phi)
    st, ct = math.sin(theta), math.cos(theta)
    sp, cp = math.sin(psi), math.cos(psi)
    return ((ct * cp, sf * st * cp - cf * sp, cf * st * cp + sf * sp),
            (ct * sp, sf * st * sp + cf * cp, cf * st * sp - sf * cp),
            (-st, sf * ct, cf * ct))


def euler_angles(ned_body: Matrix) -> Vector:
    """Return (phi, theta, psi) in rad of a body-to-NED rotation, psi in 0..2 pi."""
    phi = math.atan2(ned_body[2][1], ned_body[2][2])
    theta = math.asin(min(max(-ned_body[2][0], -1.0), 1.0))
    psi = math.atan2(ned_body[1][0], ned_body[0][0]) % math.tau
    return (phi, theta, psi)


def quaternion(phi: float, theta: float, psi: float) -> Quaternion:
    """Return (w, x, y, z) of the rotation from body axes to NED, angles in rad."""
    sf, cf = math.sin(phi / 2.0), math.cos(phi / 2.0)
    st, ct = math.sin(theta / 2.0), math.cos(theta / 2.0)
    sp, cp = math.sin(psi / 2.0), math.cos(psi / 2.0)
    return (cf * ct * cp + sf * st * sp,
            sf * ct * cp - cf * st * sp,
            cf * st * cp + sf * ct * sp,
            cf * ct * sp - sf * st * cp)


def quaternion_to_matrix(q: Quaternion) -> Matrix:
    """Return the rotation matrix of a nonzero (w, x, y, z), normalised or not."""
    w, x, y, z = q
    n = w * w + x * x + y * y + z * z
    s = 2.0 / n
    return ((1.0 - s * (y * y + z * z), s * (x * y - w * z), s * (x * z + w * y)),
            (s * (x * y + w * z), 1.0 - s * (x * x + z * z), s * (y * z - w * x)),
            (s * (x * z - w * y), s * (y * z + w * x), 1.0 - s * (x * x + y * y)))


def geodetic_to_ecef(lat_deg: float, lon_deg: float, height: float) -> Vector:
    """Return earth-centred, earth-fixed coordinates in m; height is above the ellipsoid."""
    lat, lon = math.radians(lat_deg), math.radians(lon_deg)
    n = SEMI_MAJOR_AXIS / math.sqrt(1.0 - _E2 * math.sin(lat) ** 2)
    across = (n + height) * math.cos(lat)
    return (across * math.cos(lon), across * math.sin(lon),
            (n * (1.0 - _E2) + height) * math.sin(lat))


def ecef_to_geodetic(position: Vector) -> Vector:
    """Return (latitude in deg, longitude in deg, height above the ellipsoid in m)."""
    x, y, z = position
    across = math.hypot(x, y)
    lat = math.atan2(z, across * (1.0 - _E2))
    for _ in range(4):      # each iteration gains a factor of about 300 near the ground
        s = math.sin(lat)
        n = SEMI_MAJOR_AXIS / math.sqrt(1.0 - _E2 * s * s)
        lat = math.atan2(z + _E2 * n * s, across)
    s, c = math.sin(lat), math.cos(lat)
    # This form, unlike across / cos(lat) - n, also holds at the poles.
    height = across * c + z * s - SEMI_MAJOR_AXIS * math.sqrt(1.0 - _E2 * s * s)
    return (math.degrees(lat), math.degrees(math.atan2(y, x)), height)


def matrix_ned_ecef(lat_deg: float, lon_deg: float) -> Matrix:
    """Return the rotation from ECEF to north, east, down at a place."""
    lat, lon = math.radians(lat_deg), math.radians(lon_deg)
    sf, cf = math.sin(lat), math.cos(lat)
    sl, cl = math.sin(lon), math.cos(lon)
    return ((-sf * cl, -sf * sl, cf),
            (-sl, cl, 0.0),
            (-cf * cl, -cf * sl, -sf))


def radii_of_curvature(lat_deg: float) -> tuple[float, float]:
    """Return the ellipsoid's radii of curvature in m: meridian and prime vertical."""
    w2 = 1.0 - _E2 * math.sin(math.radians(lat_deg)) ** 2
    across = SEMI_MAJOR_AXIS / math.sqrt(w2)
    return (across * (1.0 - _E2) / w2, across)


class XplaneLocalFrame:
    """
    X-Plane's local ("OpenGL") frame: +x east, +y up, +z south, origin at sea level.

    Its axes are exact only at the origin (docs/wire/xplane_datarefs.md, row 1.8): elsewhere east
    and up deviate from the true ones by meridian convergence and the earth's curvature.
    """

    def __init__(self, lat_ref_deg: float, lon_ref_deg: float) -> None:
        """Set the origin, in deg."""
        self.lat_ref_deg = lat_ref_deg
        self.lon_ref_deg = lon_ref_deg
        self._origin = geodetic_to_ecef(lat_ref_deg, lon_ref_deg, 0.0)
        self._ned_ecef = matrix_ned_ecef(lat_ref_deg, lon_ref_deg)

    def to_local(self, lat_deg: float, lon_deg: float, altitude_msl: float) -> Vector:
        """Return the local (x, y, z) in m of a place; altitude_msl is in m."""
        there = geodetic_to_ecef(lat_deg, lon_deg, altitude_msl)
        north, east, down = transform(self._ned_ecef, (
            there[0] - self._origin[0], there[1] - self._origin[1], there[2] - self._origin[2]))
        return (east, -down, -north)

    def to_geodetic(self, x: float, y: float, z: float) -> Vector:
        """Return (latitude in deg, longitude in deg, altitude in m) of a local position."""
        offset = transform(transpose(self._ned_ecef), (-z, x, -y))
        return ecef_to_geodetic((self._origin[0] + offset[0], self._origin[1] + offset[1],
                                 self._origin[2] + offset[2]))

    def matrix_from_ned(self, lat_deg: float, lon_deg: float) -> Matrix:
        """Return the rotation from NED at a place to the frame's own north, east, down."""
        return multiply(self._ned_ecef, transpose(matrix_ned_ecef(lat_deg, lon_deg)))
