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

"""Hand-written expectations from JSBSim's properties, for tests of what nodes publish."""

import math

import numpy as np

FOOT = 0.3048


def array(vector):
    """Return a message's vector as an array."""
    return np.array([vector.x, vector.y, vector.z])


def turned(quaternion, vector):
    """Return a vector rotated by a message's quaternion."""
    w, axis = quaternion.w, np.array([quaternion.x, quaternion.y, quaternion.z])
    return vector + 2.0 * np.cross(axis, np.cross(axis, vector) + w * np.asarray(vector))


def axes_of(quaternion):
    """Return the three unit vectors, rotated by a message's quaternion."""
    return [turned(quaternion, axis) for axis in np.eye(3)]


def body_axes(jsbsim):
    """Return the aircraft's forward, left and up axes in ENU, from JSBSim's angles."""
    phi, theta, psi = (jsbsim(f'attitude/{name}-rad') for name in ('phi', 'theta', 'psi'))
    sin_phi, cos_phi = math.sin(phi), math.cos(phi)
    sin_theta, cos_theta = math.sin(theta), math.cos(theta)
    sin_psi, cos_psi = math.sin(psi), math.cos(psi)
    forward = np.array([cos_theta * sin_psi, cos_theta * cos_psi, sin_theta])
    # Both for level wings; the bank angle rotates them about the forward axis.
    level_left = np.array([-cos_psi, sin_psi, 0.0])
    level_up = np.array([-sin_theta * sin_psi, -sin_theta * cos_psi, cos_theta])
    left = cos_phi * level_left + sin_phi * level_up
    up = cos_phi * level_up - sin_phi * level_left
    return forward, left, up


def velocity_enu(jsbsim):
    """Return the ground velocity in ENU, m/s."""
    north, east, down = (
        jsbsim(f'velocities/v-{name}-fps') * FOOT for name in ('north', 'east', 'down'))
    return np.array([east, north, -down])


def specific_force(jsbsim):
    """Return the specific force (all forces except weight, by mass) in FLU, m/s^2."""
    x, y, z = (jsbsim(f'forces/fb{axis}-total-lbs') for axis in 'xyz')
    return np.array([x, -y, -z]) / jsbsim('inertia/mass-slugs') * FOOT


def east_north_up(lat_deg, lon_deg):
    """Return the ENU unit vectors at a position, as rows, in ECEF axes."""
    lat, lon = math.radians(lat_deg), math.radians(lon_deg)
    return np.array([
        [-math.sin(lon), math.cos(lon), 0.0],
        [-math.sin(lat) * math.cos(lon), -math.sin(lat) * math.sin(lon), math.cos(lat)],
        [math.cos(lat) * math.cos(lon), math.cos(lat) * math.sin(lon), math.sin(lat)]])


def earth_centred(lat_deg, lon_deg, height):
    """Return a position on the WGS-84 ellipsoid in ECEF, metres."""
    a, f = 6378137.0, 1.0 / 298.257223563
    squared = f * (2.0 - f)
    _, _, up = east_north_up(lat_deg, lon_deg)
    normal = a / math.sqrt(1.0 - squared * up[2] ** 2)
    return np.array([
        (normal + height) * up[0], (normal + height) * up[1],
        (normal * (1.0 - squared) + height) * up[2]])
