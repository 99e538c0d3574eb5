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
"""A runway as charts have it: by latitude, longitude and height above mean sea level."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
import math

from xplane_bridge.bridges.conversions.geodesy import LocalFrame
from xplane_bridge.bridges.conversions.geoid import msl_to_ellipsoid, usual_undulation
from xplane_bridge.laboratory.control.runway.runway import Runway

USUAL_HEIGHT = 300.0
"""How high (m) above a runway is climbed if nobody says: 1000 ft."""

USUAL_GLIDE_PATH_DEG = 3.0

BOUNDS: Mapping[str, tuple[float, float]] = {
    'latitude_deg': (-89.0, 89.0), 'longitude_deg': (-180.0, 180.0),
    'elevation_msl': (-500.0, 6000.0), 'length': (100.0, 20_000.0), 'width': (5.0, 500.0),
    'glide_path_deg': (2.0, 8.0)}
"""The least and the greatest that a runway may have."""

# The aiming point's distance from the threshold (m) for runways that are at least so long (m):
# ICAO, Annex 14, volume I, table 5-1.
_AIMING_POINTS = ((2400.0, 400.0), (1200.0, 300.0), (800.0, 250.0), (0.0, 150.0))


@dataclass(frozen=True, slots=True)
class ChartedRunway:
    """
    A runway: its threshold in degrees, its true ``heading`` and ``glide_path`` in rad.

    ``elevation_msl``, ``length``, ``width`` and the aiming point beyond the threshold are in m. An
    elevation that is not known is NaN: then it is that of the ground there (``on_ground``), or
    nobody flies from it or to it.
    """

    latitude_deg: float
    longitude_deg: float
    heading: float
    elevation_msl: float
    length: float
    width: float
    glide_path: float
    aiming_point: float

    @property
    def has_elevation(self) -> bool:
        """Return whether its elevation is known."""
        return not math.isnan(self.elevation_msl)

    def on_ground(self, elevation_msl: float) -> ChartedRunway:
        """Return it with the elevation (m) of the ground, as terrain data has it."""
        return self if self.has_elevation else replace(self, elevation_msl=elevation_msl)

    @property
    def elevation(self) -> float:
        """Return its height (m) above the ellipsoid, as altitudes are measured."""
        return msl_to_ellipsoid(self.elevation_msl, usual_undulation().height_m(
            self.latitude_deg, self.longitude_deg))

    def seen_from(self, frame: LocalFrame, elevation: float = math.nan) -> Runway:
        """
        Return it in a local frame that is not far from it.

        ``elevation`` (m above the ellipsoid) is that of the surface if its own is not known.
        Raises ValueError without any.
        """
        own = self.elevation
        height = elevation if math.isnan(own) else own
        if math.isnan(height):
            raise ValueError('the elevation of the runway is not known, so no height above it is')
        east, north, _ = frame.geodetic_to_enu(self.latitude_deg, self.longitude_deg, height)
        return Runway(
            (east, north), self.heading, height, self.length, self.width, self.glide_path,
            self.aiming_point)

    def own_frame(self) -> LocalFrame:
        """Return the local frame at its threshold."""
        return LocalFrame(self.latitude_deg, self.longitude_deg, self.elevation)


def usual_aiming_point(length: float) -> float:
    """Return how far beyond the threshold (m) the aiming point of a runway of a length (m) is."""
    usual = next(point for least, point in _AIMING_POINTS if length >= least)
    return min(usual, length / 2.0)
