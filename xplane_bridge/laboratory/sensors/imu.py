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

"""An inertial measurement unit with an attitude filter."""

from __future__ import annotations

from collections.abc import Callable
import math
from typing import NamedTuple

import numpy as np

from xplane_bridge.bridges.conversions import axes
from xplane_bridge.bridges.conversions.axes import Quaternion, Vector
from xplane_bridge.laboratory.sensors.errors import Axes, Errors
from xplane_bridge.laboratory.sensors.specification import ImuFigures
from xplane_bridge.laboratory.sensors.timing import Delivery, Device

Generators = Callable[[str], np.random.Generator]
"""Returns the random generator of a sensor by its name."""

_LEVEL = (0.0, 0.0, 0.0)


class BodyMotion(NamedTuple):
    """
    Orientation (body FLU to ENU), angular velocity (rad/s) and specific force (m/s^2), body FLU.

    None is unknown.
    """

    orientation: Quaternion | None
    angular_velocity: Vector | None
    specific_force: Vector | None


class ImuReading(NamedTuple):
    """A measured motion, and the variances of tilt, heading, and each axis of the other two."""

    motion: BodyMotion
    tilt: float
    heading: float
    angular_velocity: float
    specific_force: float


class Imu:
    """Gyroscopes, accelerometers, and the attitude that a filter makes of them."""

    def __init__(self, figures: ImuFigures, generators: Generators) -> None:
        def axes(name: str, errors: Errors | None, count: int) -> Axes | None:
            return None if errors is None else Axes(errors, count, generators(f'imu.{name}'))

        self._device: Device[ImuReading] = Device(figures.timing, generators('imu'))
        self._gyroscope = axes('gyroscope', figures.gyroscope, 3)
        self._accelerometer = axes('accelerometer', figures.accelerometer, 3)
        self._tilt = axes('tilt', figures.tilt, 2)
        self._heading = axes('heading', figures.heading, 1)

    def show(self, stamp: int, motion: BodyMotion) -> list[Delivery[ImuReading]]:
        """Show the true motion at a stamp (ns); return what is delivered now."""
        return self._device.show(stamp, lambda interval: self._measure(motion, interval))

    def _measure(self, true: BodyMotion, interval: float) -> ImuReading:
        return ImuReading(
            BodyMotion(
                self._attitude(true.orientation, interval),
                _measured(self._gyroscope, true.angular_velocity, interval),
                _measured(self._accelerometer, true.specific_force, interval)),
            *(0.0 if axes is None else axes.variance for axes in (
                self._tilt, self._heading, self._gyroscope, self._accelerometer)))

    def _attitude(self, true: Quaternion | None, interval: float) -> Quaternion | None:
        """Return the orientation, turned by the errors about body forward and left, and up."""
        if self._tilt is None or self._heading is None or true is None:
            return None
        roll, pitch = self._tilt.measure(_LEVEL[:2], interval)
        heading, = self._heading.measure(_LEVEL[:1], interval)
        if roll == pitch == heading == 0.0:
            return true
        about_up = (math.cos(heading / 2.0), 0.0, 0.0, math.sin(heading / 2.0))
        turned = axes.multiply(about_up, true)
        return axes.normalize(
            axes.multiply(turned, (1.0, roll / 2.0, pitch / 2.0, 0.0)))


def _measured(axes: Axes | None, true: Vector | None, interval: float) -> Vector | None:
    if axes is None or true is None:
        return None
    x, y, z = axes.measure(true, interval)
    return x, y, z
