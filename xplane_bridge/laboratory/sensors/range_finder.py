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

"""A range finder that looks down, such as a laser altimeter: the distance to the ground."""

from __future__ import annotations

import math
from typing import NamedTuple

from xplane_bridge.bridges.conversions.axes import Quaternion
from xplane_bridge.laboratory.sensors.errors import Axes
from xplane_bridge.laboratory.sensors.faults import SensorFaults
from xplane_bridge.laboratory.sensors.imu import Generators
from xplane_bridge.laboratory.sensors.specification import RangeFinderFigures
from xplane_bridge.laboratory.sensors.timing import Delivery, Device


class RangeReading(NamedTuple):
    """
    A distance (m) and its variance (m^2).

    As in REP 117 infinity is nothing within the range, and minus infinity too near to measure.
    """

    distance: float
    variance: float


class RangeFinder:
    """Measures along the body's down axis to ground that is level below the vehicle."""

    def __init__(
        self, figures: RangeFinderFigures, generators: Generators, faults: SensorFaults,
    ) -> None:
        self._figures = figures
        self._device: Device[RangeReading] = Device(figures.timing, generators('range_finder'))
        self._axis = None if figures.distance is None else Axes(
            figures.distance, 1, generators('range_finder.distance'))
        self._faults = faults

    def show(
        self, stamp: int, height: float, orientation: Quaternion | None
    ) -> list[Delivery[RangeReading]]:
        """
        Show the true height above ground (m) at a stamp (ns); return what is delivered now.

        Nothing is measured while height or orientation are not known (NaN, None).
        """
        return self._device.show(
            stamp, lambda interval: self._measure(stamp, height, orientation, interval))

    def _measure(
        self, stamp: int, height: float, orientation: Quaternion | None, interval: float
    ) -> RangeReading | None:
        if self._axis is None or orientation is None or math.isnan(height):
            return None
        # The errors go on in a failure: another flight with one is the same but for it.
        distance, = self._axis.measure((along_down(height, orientation),), interval)
        if self._faults.has_no_range(stamp):
            return None
        if not distance <= self._figures.maximum:
            distance = math.inf
        elif distance < self._figures.minimum:
            distance = -math.inf
        return RangeReading(distance, self._axis.variance)


def along_down(height: float, orientation: Quaternion) -> float:
    """
    Return the distance (m) along the body's down axis to level ground ``height`` m below.

    The orientation is from body FLU to ENU. Infinity: that axis leads to the sky.
    """
    cosine = tilt_cosine(orientation)
    return height / cosine if cosine > 0.0 else math.inf


def below(distance: float, orientation: Quaternion | None) -> float:
    """
    Return the height above ground (m) by a measured distance and orientation, the inverse.

    Infinity: out of range, too near to be measured, or along an axis that does not lead down.
    """
    if distance < 0.0 or orientation is None or (cosine := tilt_cosine(orientation)) <= 0.0:
        return math.inf
    return distance * cosine


def tilt_cosine(orientation: Quaternion) -> float:
    """Return the cosine of the angle between the body's down axis and the vertical."""
    _, x, y, _ = orientation
    return 1.0 - 2.0 * (x * x + y * y)
