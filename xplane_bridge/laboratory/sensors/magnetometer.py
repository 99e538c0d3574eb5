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
A magnetometer in the earth's field, which is that of the World Magnetic Model of 2025.

The model is that of NOAA and the British Geological Survey, valid from 2025.0 to 2030.0; the
Python package pygeomag computes it. Where a compass needle points is its direction in the plane;
from true north that differs by the declination.
"""

from __future__ import annotations

from collections.abc import Callable
import math
from typing import Any, NamedTuple

import numpy as np

from xplane_bridge.bridges.conversions import axes
from xplane_bridge.bridges.conversions.axes import Quaternion, Vector
from xplane_bridge.common.optional import require
from xplane_bridge.laboratory.sensors.errors import Axes
from xplane_bridge.laboratory.sensors.gnss import Fix
from xplane_bridge.laboratory.sensors.imu import Generators
from xplane_bridge.laboratory.sensors.specification import MagnetometerFigures
from xplane_bridge.laboratory.sensors.timing import Delivery, Device

# The field is that in the middle of a square of so many degrees and of a layer of so many metres:
# it differs by 10 nT at most, a tenth of what the model differs from the true field.
_SQUARE, _LAYER = 0.01, 500.0
_NANOTESLA = 1e-9

FieldFunction = Callable[[Fix], Vector]
"""The earth's magnetic field at a position: east, north, up, in T."""


class MagneticReading(NamedTuple):
    """A magnetic field in body axes (FLU, T), and the variance (T^2) of each."""

    field: Vector
    variance: float


class EarthField:
    """
    The field of the World Magnetic Model in a ``year``; it changes by 0.1 % per year.

    The same place has the same field, whatever was asked before. Raises ImportError without
    pygeomag.
    """

    def __init__(self, year: float) -> None:
        require('a magnetometer', 'pygeomag', extra='sensors')
        from pygeomag import GeoMag
        self._model: Any = GeoMag(coefficients_file='wmm/WMM_2025.COF')
        self._year = year
        self._square = (math.nan,) * 3
        self._field: Vector = (math.nan,) * 3

    def __call__(self, place: Fix) -> Vector:
        """Return the field there: east, north, up, in T."""
        square = (
            round(place.latitude_deg / _SQUARE), round(place.longitude_deg / _SQUARE),
            round(place.altitude / _LAYER))
        if square != self._square:
            lat, lon, layer = self._square = square
            found = self._model.calculate(
                glat=lat * _SQUARE, glon=lon * _SQUARE, alt=layer * _LAYER / 1000.0,
                time=self._year)
            self._field = (
                found.y * _NANOTESLA, found.x * _NANOTESLA, -found.z * _NANOTESLA)
        return self._field


class Magnetometer:
    """Measures a field that hard and soft iron of the vehicle distort."""

    def __init__(
        self, figures: MagnetometerFigures, generators: Generators,
        field: FieldFunction,
    ) -> None:
        self._device: Device[MagneticReading] = Device(
            figures.timing, generators('magnetometer'))
        self._axes = None if figures.field is None else Axes(
            figures.field, 3, generators('magnetometer.field'))
        drawn = figures.soft_iron * generators('magnetometer.soft_iron').standard_normal((3, 3))
        # Symmetric, each element with that deviation.
        self._soft_iron = np.triu(drawn) + np.triu(drawn, 1).T
        self._distorts = figures.soft_iron > 0.0
        self._field = field

    def show(
        self, stamp: int, place: Fix, orientation: Quaternion | None
    ) -> list[Delivery[MagneticReading]]:
        """Show position and orientation at a stamp (ns); return what is delivered now."""
        return self._device.show(
            stamp, lambda interval: self._measure(place, orientation, interval))

    def _measure(
        self, place: Fix, orientation: Quaternion | None, interval: float
    ) -> MagneticReading | None:
        if self._axes is None or orientation is None or not place.is_valid:
            return None
        field = axes.rotate_inverse(orientation, self._field(place))
        if self._distorts:
            x, y, z = (float(one) for one in field + self._soft_iron @ field)
            field = x, y, z
        x, y, z = self._axes.measure(field, interval)
        return MagneticReading((x, y, z), self._axes.variance)
