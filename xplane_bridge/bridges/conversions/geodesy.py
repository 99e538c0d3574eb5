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
WGS-84: geodetic, geocentric, earth-centred and local coordinates.

Latitudes and longitudes are degrees (north and east positive), as in the simulators and
sensor_msgs/NavSatFix; heights are metres above the ellipsoid; ECEF is metres, x
through 0N 0E, y through 0N 90E, z through the north pole. Latitude is geodetic unless the name
says geocentric.

NaN propagates through every function; for infinities the math module raises ValueError.
Source of the constants: NIMA TR8350.2, third edition, table 3.1.
"""

import math

from xplane_bridge.bridges.conversions.axes import Vector

SEMI_MAJOR_AXIS = 6378137.0
"""Equatorial radius a, metres (defining)."""

FLATTENING = 1.0 / 298.257223563
"""Flattening f (defining)."""

SEMI_MINOR_AXIS = SEMI_MAJOR_AXIS * (1.0 - FLATTENING)
"""Polar radius b, metres."""

ECCENTRICITY_SQUARED = FLATTENING * (2.0 - FLATTENING)
"""First eccentricity squared, e^2."""

_SECOND_ECCENTRICITY_SQUARED = ECCENTRICITY_SQUARED / (1.0 - ECCENTRICITY_SQUARED)


def normalize_longitude(longitude_deg: float) -> float:
    """Return the equivalent longitude in -180 <= longitude < 180 degrees."""
    longitude = math.remainder(longitude_deg, 360.0)
    return -180.0 if longitude == 180.0 else longitude


def geodetic_to_ecef(latitude_deg: float, longitude_deg: float, height: float) -> Vector:
    """Return the ECEF position in metres."""
    latitude = math.radians(latitude_deg)
    longitude = math.radians(longitude_deg)
    sin_latitude = math.sin(latitude)
    n = _prime_vertical_radius(sin_latitude)
    p = (n + height) * math.cos(latitude)
    return (
        p * math.cos(longitude),
        p * math.sin(longitude),
        (n * (1.0 - ECCENTRICITY_SQUARED) + height) * sin_latitude,
    )


def ecef_to_geodetic(position: Vector) -> Vector:
    """
    Return (latitude_deg, longitude_deg, height) of an ECEF position in metres.

    Exact to the rounding of doubles for heights above -1000 km. Bowring's method (Survey
    Review 23, 1976), two passes: the first is accurate to less than a micrometre near the
    ground, the second in orbit as well.
    """
    x, y, z = position
    p = math.hypot(x, y)
    # The parametric latitude is kept as its cosine and sine, so that the poles are not special.
    cos_beta, sin_beta = SEMI_MINOR_AXIS * p, SEMI_MAJOR_AXIS * z
    sin_part = cos_part = 0.0
    for _ in range(2):
        norm = math.hypot(cos_beta, sin_beta) or 1.0
        cos_beta /= norm
        sin_beta /= norm
        sin_part = z + _SECOND_ECCENTRICITY_SQUARED * SEMI_MINOR_AXIS * sin_beta**3
        cos_part = p - ECCENTRICITY_SQUARED * SEMI_MAJOR_AXIS * cos_beta**3
        cos_beta, sin_beta = cos_part, (1.0 - FLATTENING) * sin_part
    latitude = math.atan2(sin_part, cos_part)
    sin_latitude = math.sin(latitude)
    # Well conditioned at every latitude, unlike p / cos(latitude) - N.
    height = (
        p * math.cos(latitude)
        + z * sin_latitude
        - SEMI_MAJOR_AXIS * math.sqrt(1.0 - ECCENTRICITY_SQUARED * sin_latitude**2)
    )
    return math.degrees(latitude), math.degrees(math.atan2(y, x)), height


def geocentric_to_geodetic_latitude(latitude_deg: float, height: float = 0.0) -> float:
    """
    Return the geodetic latitude of a point given by its geocentric one, degrees.

    Huginn sends JSBSim's geocentric latitude (docs/wire/fdmdata.md, section 2). On the ellipsoid
    this is atan(tan(geocentric) / (1 - e^2)); above it the two are closer together, by 33 m at
    10 km: hence the height in metres.
    """
    geocentric = math.radians(latitude_deg)
    sin_geocentric, cos_geocentric = math.sin(geocentric), math.cos(geocentric)
    latitude = geocentric
    # The radius N hardly depends on the latitude: each pass gains four digits or more.
    for _ in range(2):
        n = _prime_vertical_radius(math.sin(latitude))
        latitude = math.atan2(
            sin_geocentric * (n + height),
            cos_geocentric * (n * (1.0 - ECCENTRICITY_SQUARED) + height),
        )
    return math.degrees(latitude)


def geodetic_to_geocentric_latitude(latitude_deg: float, height: float = 0.0) -> float:
    """Return the geocentric latitude of a point given by its geodetic one, degrees."""
    latitude = math.radians(latitude_deg)
    sin_latitude = math.sin(latitude)
    n = _prime_vertical_radius(sin_latitude)
    return math.degrees(
        math.atan2(
            sin_latitude * (n * (1.0 - ECCENTRICITY_SQUARED) + height),
            math.cos(latitude) * (n + height),
        )
    )


def _prime_vertical_radius(sin_latitude: float) -> float:
    return SEMI_MAJOR_AXIS / math.sqrt(1.0 - ECCENTRICITY_SQUARED * sin_latitude * sin_latitude)


class LocalFrame:
    """
    East-north-up axes, tangent to the ellipsoid at a fixed datum.

    latitude_deg, longitude_deg and height are the datum's. Exact rigid geometry, no flat-earth
    approximation: round trips agree to a micrometre anywhere.
    """

    __slots__ = ('_cos_lat', '_cos_lon', '_origin', '_sin_lat', '_sin_lon', 'height',
                 'latitude_deg', 'longitude_deg')

    def __init__(self, latitude_deg: float, longitude_deg: float, height: float) -> None:
        """
        Set the datum: degrees, and metres above the ellipsoid.

        Raises ValueError for an impossible position.
        """
        if not -90.0 <= latitude_deg <= 90.0:
            raise ValueError(f'datum latitude {latitude_deg} is not in -90..90 degrees')
        if not (math.isfinite(longitude_deg) and math.isfinite(height)):
            raise ValueError(f'datum longitude {longitude_deg}, height {height} must be finite')
        self.latitude_deg = latitude_deg
        self.longitude_deg = longitude_deg
        self.height = height
        latitude, longitude = math.radians(latitude_deg), math.radians(longitude_deg)
        self._sin_lat, self._cos_lat = math.sin(latitude), math.cos(latitude)
        self._sin_lon, self._cos_lon = math.sin(longitude), math.cos(longitude)
        self._origin = geodetic_to_ecef(latitude_deg, longitude_deg, height)

    def geodetic_to_enu(self, latitude_deg: float, longitude_deg: float, height: float) -> Vector:
        """Return (east, north, up) in metres from the datum."""
        # geodetic_to_ecef, without calls: this is done in each frame.
        latitude, longitude = math.radians(latitude_deg), math.radians(longitude_deg)
        sin_latitude = math.sin(latitude)
        n = SEMI_MAJOR_AXIS / math.sqrt(1.0 - ECCENTRICITY_SQUARED * sin_latitude * sin_latitude)
        p = (n + height) * math.cos(latitude)
        x0, y0, z0 = self._origin
        x, y = p * math.cos(longitude) - x0, p * math.sin(longitude) - y0
        z = (n * (1.0 - ECCENTRICITY_SQUARED) + height) * sin_latitude - z0
        outward = self._cos_lon * x + self._sin_lon * y
        return (
            self._cos_lon * y - self._sin_lon * x,
            self._cos_lat * z - self._sin_lat * outward,
            self._sin_lat * z + self._cos_lat * outward,
        )

    def enu_to_geodetic(self, position: Vector) -> Vector:
        """Return (latitude_deg, longitude_deg, height) of (east, north, up) in metres."""
        east, north, up = position
        outward = self._cos_lat * up - self._sin_lat * north
        x0, y0, z0 = self._origin
        return ecef_to_geodetic(
            (
                x0 + self._cos_lon * outward - self._sin_lon * east,
                y0 + self._sin_lon * outward + self._cos_lon * east,
                z0 + self._sin_lat * up + self._cos_lat * north,
            )
        )
