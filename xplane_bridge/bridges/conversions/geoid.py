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

The simulators give heights above mean sea level, sensor_msgs/NavSatFix requires them above the
ellipsoid. The difference is -107 m to +86 m, and comes from a constant, from a geoid grid that
pyproj (optional) can read, or from the coarse EGM96 grid of this package.
"""

from collections.abc import Callable
from functools import cache
from importlib import import_module
import math
from pathlib import Path
import struct
from typing import Any

import numpy as np
from numpy.typing import NDArray

from xplane_bridge.common.data import folder

HeightFunction = Callable[[float, float], float]
"""Undulation in metres at (latitude_deg, longitude_deg)."""

# Names in PROJ-data and in older distribution packages, finest first.
_INSTALLED_GRIDS = (
    'us_nga_egm08_25.tif',
    'egm08_25.gtx',
    'us_nga_egm96_15.tif',
    'egm96_15.gtx',
)

PACKAGED = folder('geoid') / 'egm96.npz'
"""EGM96, fitted by tools/make_geoid.py: within 0.721 m, rms 0.045 m, of the full grid."""

# About 11 m, over which the geoid changes by a few millimetres at most: a parked aircraft looks
# the grid up once, and one in flight shows no steps.
_CACHE_DIGITS = 4
# What is nearer than this to a rounded value is rounded to it.
_ROUNDED_ALIKE = 0.0000499


def msl_to_ellipsoid(height_msl: float, undulation: float) -> float:
    """Return the height above the ellipsoid of a height above mean sea level, metres."""
    return height_msl + undulation


def ellipsoid_to_msl(height: float, undulation: float) -> float:
    """Return the height above mean sea level of a height above the ellipsoid, metres."""
    return height - undulation


class Undulation:
    """
    The undulation at any position, from a constant or a grid.

    ``description`` is a sentence for the log about the altitudes computed with it.
    """

    __slots__ = ('_cached', '_cached_latitude', '_cached_longitude', '_lookup', 'description')

    def __init__(self, source: float | HeightFunction, description: str) -> None:
        """Use a constant in metres, or a function of (latitude_deg, longitude_deg)."""
        self.description = description
        if callable(source):
            self._lookup: HeightFunction | None = source
            self._cached = self._cached_latitude = self._cached_longitude = math.nan
        else:
            self._lookup = None
            self._cached = source

    def height_m(self, latitude_deg: float, longitude_deg: float) -> float:
        """
        Return the undulation in metres; NaN where a grid has no value.

        A grid is looked up for squares of about 10 m, the same ones whatever was asked before: in
        lockstep two flights must not differ by that.
        """
        if self._lookup is None:
            return self._cached
        # NaN, at first, compares as having moved.
        if abs(latitude_deg - self._cached_latitude) < _ROUNDED_ALIKE and (
                abs(longitude_deg - self._cached_longitude) < _ROUNDED_ALIKE):
            return self._cached
        latitude_deg = round(latitude_deg, _CACHE_DIGITS)
        longitude_deg = round(longitude_deg, _CACHE_DIGITS)
        if latitude_deg != self._cached_latitude or longitude_deg != self._cached_longitude:
            self._cached = self._lookup(latitude_deg, longitude_deg)
            self._cached_latitude = latitude_deg
            self._cached_longitude = longitude_deg
        return self._cached


def undulation_source(constant: float | None = None, grid: str = '') -> Undulation:
    """
    Return the undulation from a constant (metres), a grid file, or an installed grid.

    A constant has precedence over a grid. With neither, the first EGM2008 or EGM96 grid that PROJ
    finds is used, otherwise this package's own. Nothing is ever downloaded.

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
            f'{constant:g} m.' if constant else
            'Altitudes are above mean sea level, not above the WGS-84 ellipsoid: the undulation '
            'is set to 0.',
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
        packaged_grid().height_m,
        'Altitudes are above the WGS-84 ellipsoid, by the EGM96 grid of this package (within '
        '0.8 m).',
    )


@cache
def usual_undulation() -> Undulation:
    """Return undulation_source() of no arguments, looked for once: to find a grid takes 1 ms."""
    return undulation_source()


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
    # PROJ takes one for "zero if missing" and the other for "zero": both would be wrong.
    if grid.startswith('@') or grid == 'null':
        raise ValueError(f'geoid grid {grid}: expected a file, or a name that PROJ finds')
    # By name: pyproj is optional, and part of it is untyped.
    pyproj = import_module('pyproj')
    network = import_module('pyproj.network')

    if grid.lower().endswith('.gtx') and Path(grid).is_file():
        check_gtx(grid)
    # A lookup happens between a datagram and its message: it must not wait for a download.
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


class PackagedGrid:
    """
    The geoid as a cubic B-spline with equidistant knots in latitude and longitude.

    It is smooth over the poles and the date line: beyond a pole the knots of the opposite meridian
    continue.
    """

    def __init__(self, path: Path = PACKAGED) -> None:
        with np.load(path, allow_pickle=False) as stored:
            steps = stored['differences'].astype(np.int32).cumsum(axis=0).cumsum(axis=1)
            knots = steps * float(stored['quantum'])
        rows, columns = knots.shape
        self._per_degree = columns / 360.0
        self._columns = columns
        # The spline needs one knot beyond the south pole and two beyond the north; so the columns.
        other_side = np.roll(knots, columns // 2, axis=1)
        knots = np.vstack((other_side[1:2], knots, other_side[-2:-4:-1]))
        self._knots = np.hstack((knots[:, -1:], knots, knots[:, :2]))
        self._cell: tuple[tuple[int, int], list[list[float]]] = ((-1, -1), [])

    def height_m(self, latitude_deg: float, longitude_deg: float) -> float:
        """Return the undulation in metres; NaN for an impossible position."""
        if not (-90.0 <= latitude_deg <= 90.0 and math.isfinite(longitude_deg)):
            return math.nan
        y = (latitude_deg + 90.0) * self._per_degree
        x = (longitude_deg + 180.0) * self._per_degree % self._columns
        row, column = place = int(y), min(int(x), self._columns - 1)
        # A cell is 55 km high; within it, plain numbers are much faster than arrays of four.
        cell, square = self._cell
        if cell != place:
            square = self._knots[row:row + 4, column:column + 4].tolist()
            self._cell = place, square
        a, b, c, d = _weights(x - column)
        e, f, g, h = _weights(y - row)
        south, below, above, north = square
        return (
            e * (a * south[0] + b * south[1] + c * south[2] + d * south[3])
            + f * (a * below[0] + b * below[1] + c * below[2] + d * below[3])
            + g * (a * above[0] + b * above[1] + c * above[2] + d * above[3])
            + h * (a * north[0] + b * north[1] + c * north[2] + d * north[3]))

    def samples(self, per_knot: int) -> NDArray[np.float64]:
        """Return the undulation at ``per_knot`` points per knot each way, for comparison."""
        weights = [_weights(part / per_knot) for part in range(per_knot)]
        rows = self._knots.shape[0] - 3
        along = np.stack([
            sum(w[k] * self._knots[k:rows + k] for k in range(4)) for w in weights], axis=1)
        along = along.reshape(rows * per_knot, -1)[:(rows - 1) * per_knot + 1]
        across = np.stack([
            sum(w[k] * along[:, k:self._columns + k] for k in range(4)) for w in weights], axis=2)
        return np.asarray(across.reshape(len(along), -1), dtype=np.float64)


@cache
def packaged_grid() -> PackagedGrid:
    """Return the geoid of this package, loaded once."""
    return PackagedGrid()


def basis(distance: float) -> float:
    """Return the cubic B-spline at a distance in knots from its centre."""
    distance = abs(distance)
    if distance < 1.0:
        return 2.0 / 3.0 + distance ** 2 * (0.5 * distance - 1.0)
    return max(2.0 - distance, 0.0) ** 3 / 6.0


def _weights(part: float) -> tuple[float, float, float, float]:
    """Return the weights of four knots for a position between the second and the third."""
    if 0.0 < part < 1.0:
        # The same, in a third of the time.
        rest = 1.0 - part
        return ((2.0 - (part + 1.0)) ** 3 / 6.0, 2.0 / 3.0 + part ** 2 * (0.5 * part - 1.0),
                2.0 / 3.0 + rest ** 2 * (0.5 * rest - 1.0), (2.0 - (2.0 - part)) ** 3 / 6.0)
    return basis(part + 1.0), basis(part), basis(1.0 - part), basis(2.0 - part)


def check_gtx(path: str | Path) -> tuple[int, int]:
    """
    Return the rows and columns of a GTX grid.

    Raises ValueError if the file's size does not match them: PROJ would allocate gigabytes for
    whatever they say.
    """
    with Path(path).open('rb') as stream:
        header = stream.read(40)
    rows, columns = struct.unpack_from('>ii', header, 32) if len(header) == 40 else (0, 0)
    found = Path(path).stat().st_size
    if rows < 1 or columns < 1 or 40 + 4 * rows * columns != found:
        raise ValueError(f'geoid grid {path}: its {rows} rows and {columns} columns do not '
                         f'match its {found} bytes')
    return rows, columns


def read_gtx(path: str | Path) -> NDArray[Any]:
    """Return the heights of a global GTX grid, rows from south to north, columns from 180 W."""
    shape = check_gtx(path)
    return np.fromfile(path, '>f4', offset=40).reshape(shape).astype(np.float64)


def errors(packaged: PackagedGrid, full: NDArray[Any]) -> tuple[float, float]:
    """Return greatest and root mean square difference from a finer grid, metres."""
    samples = packaged.samples((len(full) - 1) // (len(packaged.samples(1)) - 1))
    difference = samples - full
    return float(np.abs(difference).max()), float(np.sqrt(np.mean(difference ** 2)))
