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

"""Routes as messages: geographic (Route), or in metres from the datum (nav_msgs/Path)."""

from __future__ import annotations

from dataclasses import dataclass
import math

from nav_msgs.msg import Path

from xplane_bridge.bridges.conversions.geodesy import LocalFrame
from xplane_bridge.laboratory.control.targets import check_targets
from xplane_bridge.msg import Route

# More waypoints than this are refused: they are all drawn when the route is checked.
_MOST = 1000
# Further away than this (m) a plane is no map; and a latitude may be a longitude.
_FURTHEST = 500e3


@dataclass(frozen=True, slots=True)
class Waypoints:
    """
    Where to fly: latitudes and longitudes in degrees.

    Without altitudes (m above the ellipsoid), and with a NaN airspeed (m/s), these are kept.
    """

    positions: tuple[tuple[float, float], ...]
    altitudes: tuple[float, ...]
    airspeed: float = math.nan
    closed: bool = False

    def __post_init__(self) -> None:
        count = len(self.positions)
        if not 1 <= count <= _MOST:
            raise ValueError(f'a route has 1 .. {_MOST} waypoints, got {count}')
        if self.altitudes and len(self.altitudes) != count:
            raise ValueError(
                f'{count} waypoints have {len(self.altitudes)} altitudes: give each one, or none')
        for number, (latitude, longitude) in enumerate(self.positions):
            if not (-90.0 <= latitude <= 90.0 and -180.0 <= longitude <= 360.0):
                raise ValueError(
                    f'waypoint {number} is at latitude {latitude:g}, longitude {longitude:g}: '
                    'expected degrees')
        for number, altitude in enumerate(self.altitudes):
            try:
                check_targets({'altitude': altitude})
            except ValueError as error:
                raise ValueError(f'waypoint {number}: {error}') from None
        if self.airspeed == self.airspeed:
            check_targets({'airspeed': self.airspeed})

    def east_north(self, frame: LocalFrame) -> list[tuple[float, float]]:
        """Return them in metres in a local frame. Raises ValueError for one too far away."""
        points = []
        for number, (latitude, longitude) in enumerate(self.positions):
            height = self.altitudes[number] if self.altitudes else frame.height
            east, north, _ = frame.geodetic_to_enu(latitude, longitude, height)
            if math.hypot(east, north) > _FURTHEST:
                raise ValueError(
                    f'waypoint {number} is {math.hypot(east, north) / 1000.0:.0f} km away: at '
                    f'most {_FURTHEST / 1000.0:.0f} km')
            points.append((east, north))
        return points


def read_route(message: Route) -> Waypoints:
    """Return the waypoints of a message. Raises ValueError for what cannot be flown."""
    if len(message.latitude) != len(message.longitude):
        raise ValueError(
            f'{len(message.latitude)} latitudes and {len(message.longitude)} longitudes')
    return Waypoints(
        tuple(zip(message.latitude, message.longitude, strict=True)), tuple(message.altitude),
        message.airspeed or math.nan, message.closed)


def read_path(message: Path, datum: LocalFrame | None, odom_frame: str) -> Waypoints:
    """
    Return the waypoints of a path in the frame of odom, with its heights unless all are NaN.

    Raises ValueError for another frame, without a datum, or for what cannot be flown.
    """
    if datum is None:
        raise ValueError('a path is in metres from the datum, which has not arrived: see the '
                         "vehicle's topic datum, or use route")
    if message.header.frame_id not in ('', odom_frame):
        raise ValueError(
            f'its frame is {message.header.frame_id!r}: expected {odom_frame!r}, that of odom')
    positions, altitudes = [], []
    for number, pose in enumerate(message.poses):
        point = pose.pose.position
        flat = math.isnan(point.z)
        up = 0.0 if flat else point.z
        if not math.isfinite(point.x + point.y + up) or flat != math.isnan(
                message.poses[0].pose.position.z):
            raise ValueError(f'pose {number} is not finite')
        latitude, longitude, height = datum.enu_to_geodetic((point.x, point.y, up))
        positions.append((latitude, longitude))
        if not flat:
            altitudes.append(height)
    return Waypoints(tuple(positions), tuple(altitudes))
