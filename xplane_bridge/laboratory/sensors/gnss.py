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

"""A GNSS receiver: position and velocity, their latency, and outages."""

from __future__ import annotations

import math
from typing import NamedTuple

from xplane_bridge.bridges.conversions.axes import Vector
from xplane_bridge.bridges.conversions.geodesy import LocalFrame
from xplane_bridge.common.timing import SECOND_NS
from xplane_bridge.laboratory.sensors.errors import Axes, Errors
from xplane_bridge.laboratory.sensors.faults import SensorFaults
from xplane_bridge.laboratory.sensors.imu import Generators
from xplane_bridge.laboratory.sensors.specification import GnssFigures
from xplane_bridge.laboratory.sensors.timing import Delivery, Device


class Fix(NamedTuple):
    """
    A position: degrees, metres above the ellipsoid; the variances of both are in m^2.

    All are NaN where the receiver has no fix.
    """

    latitude_deg: float
    longitude_deg: float
    altitude: float
    horizontal: float = math.nan
    vertical: float = math.nan

    @property
    def is_valid(self) -> bool:
        """Return whether there is a position."""
        return math.isfinite(self.latitude_deg + self.longitude_deg + self.altitude)


NO_FIX = Fix(math.nan, math.nan, math.nan)


class Velocity(NamedTuple):
    """A velocity over ground: ENU, m/s; the variances per axis are in (m/s)^2."""

    enu: Vector
    horizontal: float = math.nan
    vertical: float = math.nan


class Gnss:
    """
    Both outputs of a receiver, which sample and lose the same states.

    In an outage, and until the receiver has a fix again, it goes on to deliver positions, without
    a fix, and no velocity: as drivers do with the sentences of NMEA 0183 (GGA has a field for the
    quality, RMC is marked as void).
    """

    def __init__(self, figures: GnssFigures, generators: Generators, faults: SensorFaults) -> None:
        def axes(name: str, errors: Errors | None, count: int) -> Axes | None:
            return None if errors is None else Axes(errors, count, generators(f'gnss.{name}'))

        # Two of the same numbers: what loses one sample loses both.
        self._positions: Device[Fix] = Device(figures.timing, generators('gnss'))
        self._velocities: Device[Velocity] = Device(figures.timing, generators('gnss'))
        self._horizontal = axes('horizontal', figures.horizontal, 2)
        self._vertical = axes('vertical', figures.vertical, 1)
        self._over_ground = axes('horizontal_velocity', figures.horizontal_velocity, 2)
        self._climb = axes('vertical_velocity', figures.vertical_velocity, 1)
        self._faults = faults
        self._reacquisition = round(figures.reacquisition * SECOND_NS)
        self._lost_at: int | None = None

    def show_position(self, stamp: int, true: Fix) -> list[Delivery[Fix]]:
        """Show the true position at a stamp (ns); return what is delivered now."""
        return self._positions.show(stamp, lambda interval: self._locate(stamp, true, interval))

    def show_velocity(self, stamp: int, true: Vector) -> list[Delivery[Velocity]]:
        """Show the true velocity (ENU) at a stamp (ns); return what is delivered now."""
        return self._velocities.show(stamp, lambda interval: self._move(stamp, true, interval))

    def _is_lost(self, stamp: int) -> bool:
        if self._faults.has_no_gnss(stamp):
            self._lost_at = stamp
            return True
        return (self._lost_at is not None
                and 0 < stamp - self._lost_at < self._reacquisition)

    def _locate(self, stamp: int, true: Fix, interval: float) -> Fix | None:
        if self._horizontal is None or self._vertical is None:
            return None
        # The errors go on in an outage: another flight with one is the same but for it.
        east, north = self._horizontal.measure((0.0, 0.0), interval)
        up, = self._vertical.measure((0.0,), interval)
        if not true.is_valid or self._is_lost(stamp):
            return NO_FIX
        position = true[:3]
        if east or north or up:
            position = LocalFrame(*position).enu_to_geodetic((east, north, up))
        return Fix(*position, self._horizontal.variance, self._vertical.variance)

    def _move(self, stamp: int, true: Vector, interval: float) -> Velocity | None:
        if self._over_ground is None or self._climb is None:
            return None
        east, north = self._over_ground.measure(true[:2], interval)
        up, = self._climb.measure(true[2:], interval)
        if self._is_lost(stamp):
            return None
        return Velocity((east, north, up), self._over_ground.variance, self._climb.variance)
