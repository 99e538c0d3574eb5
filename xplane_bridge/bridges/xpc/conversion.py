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
Positions of aircraft from X-Plane's local axes, as precise as GETP's doubles are.

Latitude and longitude arrive as float32, in steps of 0.4 to 1.7 m, but the local position in
steps of at most 4 mm within 65 km of the origin (docs/wire/xplane_datarefs.md, rows 1.2 and 1.8).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
import math

from xplane_bridge.bridges.conversions import axes
from xplane_bridge.bridges.conversions.axes import Vector
from xplane_bridge.bridges.conversions.geodesy import LocalFrame
from xplane_bridge.bridges.conversions.xplane.others import other_prefix
from xplane_bridge.bridges.conversions.xplane.state import origin, OWN_PREFIX, Values
from xplane_bridge.bridges.xpc.protocol import PositionReply

_Origin = tuple[float, float]

# sim/physics/earth_radius_m.
_RADIUS = 6_378_145.0

# For the rounding of the local position, which counts where a float32 of degrees is very fine.
_SLACK_M = 0.1
_SLACK_DEG = 1e-6


# Local position, geodetic position, and attitude.
_OWN_NAMES = (
    ('local_x', 'local_y', 'local_z'), ('latitude', 'longitude', 'elevation'),
    ('theta', 'phi', 'psi'))
_OTHER_NAMES = ('x', 'y', 'z'), ('lat', 'lon', 'el'), ('the', 'phi', 'psi')


class LocalAxes:
    """
    Convert positions in X-Plane's local axes, whose origin X-Plane moves while flying.

    Nobody says whether X-Plane's earth is the WGS-84 ellipsoid or a sphere, which differ by metres
    per kilometre from the origin. Therefore a position counts only if it agrees with the reported
    latitude, longitude and altitude, and the earth on which the last one did is tried first.
    """

    def __init__(self) -> None:
        self._earths: list[Callable[[_Origin, Vector], Vector]] = [_on_ellipsoid, _on_sphere]

    def place(self, local: Vector, origin: _Origin, reported: Vector) -> Vector | None:
        """
        Return latitude and longitude (deg) and altitude (m) of a local position.

        None if it contradicts what is ``reported``, as float32, of the same frame.
        """
        enu = axes.opengl_to_enu(local)
        for earth in self._earths:
            place = earth(origin, enu)
            if _agrees(place, reported, origin):
                if earth is not self._earths[0]:
                    self._earths.reverse()
                return place
        return None

    def make_pose_reader(
        self, aircraft: int
    ) -> Callable[[Mapping[str, float]], PositionReply | None]:
        """
        Return a function that gives the pose of an aircraft from its datarefs.

        Those are OWN_DATAREFS and LOCAL_PLACE, or other_datarefs(). The pose is as in the answer
        to GETP; None if the datarefs lack it or contradict it.
        """
        plane = other_prefix(aircraft) if aircraft else OWN_PREFIX
        local_names, place_names, attitude_names = (
            tuple(plane + name for name in names)
            for names in (_OTHER_NAMES if aircraft else _OWN_NAMES))

        def pose(given: Mapping[str, float]) -> PositionReply | None:
            values = Values(given)
            local, reported = values.vector(local_names), values.vector(place_names)
            attitude, at = values.vector(attitude_names), origin(given)
            if local is None or reported is None or attitude is None or at is None:
                return None
            place = self.place(local, at, reported)
            if place is None:
                return None
            return PositionReply(0, *place, *attitude, values[plane + 'gear_deploy'] or 0.0)

        return pose


def _on_ellipsoid(origin: _Origin, enu: Vector) -> Vector:
    return _frame(*origin).enu_to_geodetic(enu)


@lru_cache(maxsize=2)
def _frame(latitude_deg: float, longitude_deg: float) -> LocalFrame:
    return LocalFrame(latitude_deg, longitude_deg, 0.0)


def _on_sphere(origin: _Origin, enu: Vector) -> Vector:
    latitude = math.radians(origin[0])
    east, north, up = enu
    up += _RADIUS
    outward = math.cos(latitude) * up - math.sin(latitude) * north
    polar = math.sin(latitude) * up + math.cos(latitude) * north
    across = math.hypot(outward, east)
    return (
        math.degrees(math.atan2(polar, across)),
        math.remainder(origin[1] + math.degrees(math.atan2(east, outward)), 360.0),
        math.hypot(across, polar) - _RADIUS)


def _agrees(place: Vector, reported: Vector, origin: _Origin) -> bool:
    """Return whether a position is the reported one, within the steps of float32."""
    latitude, longitude, altitude = reported
    # Half a step for the reported value, and half of one for the origin.
    return (
        abs(place[0] - latitude) <= _step(latitude, origin[0]) + _SLACK_DEG
        and abs(math.remainder(place[1] - longitude, 360.0))
        <= _step(longitude, origin[1]) + _SLACK_DEG / max(0.01, math.cos(math.radians(latitude)))
        and abs(place[2] - altitude) <= _SLACK_M + _step(altitude, altitude))


def _step(one: float, other: float) -> float:
    """Return the distance between neighbouring float32 at the larger of two values."""
    return 2.0 ** (math.frexp(max(abs(one), abs(other)))[1] - 24)
