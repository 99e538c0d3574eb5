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

"""An aircraft's motion along the axes of X-Plane's local frame."""

from functools import cached_property
import math

from xplane_bridge.simulation.aircraft.geometry import (
    euler_angles,
    LocalFrame,
    matrix_ned_body,
    multiply,
    Quaternion,
    quaternion,
    transform,
    Vector,
)


class LocalMotion:
    """
    An aircraft in X-Plane's local frame: +x east, +y up, +z south at the frame's origin.

    position in m; psi, theta, phi in deg, psi 0..360; q is (w, x, y, z), body FRD to the frame's
    north, east, down; velocity and wind in m/s along x, y, z. What is asked
    for rarely is computed when asked for.
    """

    def __init__(self, frame: LocalFrame, place: Vector, attitude: Vector, velocity: Vector,
                 wind: Vector) -> None:
        """Take what is true at ``place`` (deg, m): roll, pitch, heading; vectors in NED."""
        self._frame, self._place, self._attitude = frame, place, attitude
        self._turn = frame.matrix_from_ned(place[0], place[1])
        self.velocity, self.wind = self.axes(velocity), self.axes(wind)

    @cached_property
    def position(self) -> Vector:
        """Return where it is."""
        return self._frame.to_local(*self._place)

    @property
    def phi(self) -> float:
        """Return the roll."""
        return math.degrees(self._angles[0])

    @property
    def theta(self) -> float:
        """Return the pitch."""
        return math.degrees(self._angles[1])

    @property
    def psi(self) -> float:
        """Return the heading."""
        return math.degrees(self._angles[2])

    @cached_property
    def q(self) -> Quaternion:
        """Return the attitude."""
        phi, theta, psi = self._angles
        # Of its two quaternions, the one that changes sign at south, not north.
        return quaternion(phi, theta, math.remainder(psi, math.tau))

    @cached_property
    def _angles(self) -> Vector:
        return euler_angles(multiply(self._turn, matrix_ned_body(*self._attitude)))

    def axes(self, ned: Vector) -> Vector:
        """Return a vector, which is north, east, down at the aircraft, along x, y, z."""
        north, east, down = transform(self._turn, ned)
        return (east, -down, -north)
