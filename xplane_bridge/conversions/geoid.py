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
Undulation: the height of mean sea level (the geoid) above the WGS-84 ellipsoid.

The simulators give heights above mean sea level, sensor_msgs/NavSatFix wants them above the
ellipsoid. The difference is -107 m to +86 m, and comes from a constant or from a geoid grid that
pyproj (optional) can read.
"""

from collections.abc import Callable
from importlib import import_module
import math

HeightFunction = Callable[[float, float], float]
"""Undulation in metres at (latitude_deg, longitude_deg)."""

# As PROJ-data and the older distribution packages name them, finest first.
_INSTALLED_GRIDS = (
    'us_nga_egm08_25.tif',
    'egm08_25.gtx',
    'us_nga_egm96_15.tif',
    'egm96_15.gtx',
)

# About 11 m, in which the geoid nowhere rises by more than a few millimetres: a parked aircraft
# asks the grid once, and one in flight shows no steps.
_CACHE_STEP_DEG = 0.0001


def msl_to_ellipsoid(height_msl: float, undulation: float) -> float:
    """Return the height above the ellipsoid of a height above mean sea level, metres."""
    return height_msl + undulation


def ellipsoid_to_msl(height: float, undulation: float) -> float:
    """Return the height above mean sea level of a height above the ellipsoid, metres."""
    return height - undulation


class Undulation:
    """
    Where the undulation comes from, and what it is at a place.

    ``description`` is a sentence for the log that says what altitudes made with it are.
    ``known`` is False when there is no source: ``height_m`` is then 0 everywhere, and altitudes
    stay above mean sea level.
    """

    __slots__ = ('_cached', '_cached_latitude', '_cached_longitude', '_lookup', 'description',
                 'known')

    def __init__(
        self, source: float | HeightFunction, description: str, known: bool = True
    ) -> None:
        """Take a constant in metres, or a function of (latitude_deg, longitude_deg)."""
        self.description = description
        self.known = known
        if callable(source):
            self._lookup: HeightFunction | None = source
            self._cached = self._cached_latitude = self._cached_longitude = math.nan
        else:
            self._lookup = None
            self._cached = source

    def height_m(self, latitude_deg: float, longitude_deg: float) -> float:
        """
        Return the undulation in metres; NaN where a grid has no value.

        A grid is asked again only after about 10 m of movement.
        """
        if self._lookup is None:
            return self._cached
        # NaN, at first, compares as having moved.
        if not (
            abs(latitude_deg - self._cached_latitude) < _CACHE_STEP_DEG
            and abs(longitude_deg - self._cached_longitude) < _CACHE_STEP_DEG
        ):
            self._cached = self._lookup(latitude_deg, longitude_deg)
            self._cached_latitude = latitude_deg
            self._cached_longitude = longitude_deg
        return self._cached


def undulation_source(constant: float | None = None, grid: str = '') -> Undulation:
    """
    Return the undulation by a constant (metres), by a grid file, or by what is installed.

    A constant goes before a grid. With neither, the first EGM2008 or EGM96 grid that PROJ finds
    is used; with none found the result is not ``known``. Nothing is ever downloaded.

    Raises ValueError if the constant is not a possible undulation, or the named grid (a file, or
    a name that PROJ finds in its folders) cannot be used.
    """
    if constant is not None:
        if not -200.0 <= constant <= 200.0:
            raise ValueError(f'undulation {constant} m: expected -200..200 (the earth has '
                             '-107..86)')
        return Undulation(
            constant,
            f'Altitudes are above the WGS-84 ellipsoid, by a constant undulation of '
            f'{constant:g} m.',
        )
    if grid:
        try:
            lookup = _open_grid(grid)
        except ImportError as error:
            raise ValueError(
                f'geoid grid {grid}: reading it needs pyproj (apt: python3-pyproj)'
            ) from error
        return Undulation(lookup, _grid_description(grid))
    return _installed_grid() or Undulation(
        0.0,
        'Altitudes are above mean sea level, not above the WGS-84 ellipsoid: no undulation is '
        'given and no geoid grid is installed.',
        known=False,
    )


def _installed_grid() -> Undulation | None:
    for name in _INSTALLED_GRIDS:
        try:
            return Undulation(_open_grid(name), _grid_description(name))
        except ImportError:
            return None
        except ValueError:
            continue
    return None


def _grid_description(grid: str) -> str:
    return f'Altitudes are above the WGS-84 ellipsoid, by the geoid grid {grid}.'


def _open_grid(grid: str) -> HeightFunction:
    # PROJ means "zero if it is missing" by the one and "zero" by the other: both would be lies.
    if grid.startswith('@') or grid == 'null':
        raise ValueError(f'geoid grid {grid}: expected a file, or a name that PROJ finds')
    # By name: pyproj is optional, and part of it is untyped.
    pyproj = import_module('pyproj')
    network = import_module('pyproj.network')

    # A look-up happens between a datagram and its message: it must not wait for a download.
    network.set_network_enabled(active=False)
    try:
        transformer = pyproj.Transformer.from_pipeline(
            f'+proj=vgridshift +grids="{grid}" +multiplier=1'
        )
    except pyproj.ProjError as error:
        raise ValueError(f'geoid grid {grid}: PROJ cannot find or read it ({error})') from error

    def lookup(latitude_deg: float, longitude_deg: float) -> float:
        _, _, height = transformer.transform(longitude_deg, latitude_deg, 0.0)
        return float(height) if math.isfinite(height) else math.nan

    return lookup
