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
A set of sensors between the truth and a controller.

    from xplane_bridge.laboratory.sensors.specification import load
    from xplane_bridge.laboratory.sensors.suite import Suite

    suite = Suite(load('consumer'), seed=1)
    for delivery in suite.show_position(stamp, Fix(latitude_deg, longitude_deg, altitude)):
        ...

Pure: stamps in nanoseconds are passed in, and equal stamps, states and seeds give equal readings.
Each sensor has its own random numbers: another rate or figure of one leaves the others
as they are.
"""

from __future__ import annotations

import zlib

import numpy as np

from xplane_bridge.bridges.conversions.axes import Quaternion, Vector
from xplane_bridge.bridges.conversions.vehicle import Air
from xplane_bridge.laboratory.sensors.air_data import AirDataComputer
from xplane_bridge.laboratory.sensors.faults import SensorFaults
from xplane_bridge.laboratory.sensors.gnss import Fix, Gnss, Velocity
from xplane_bridge.laboratory.sensors.imu import BodyMotion, Imu, ImuReading
from xplane_bridge.laboratory.sensors.magnetometer import (
    FieldFunction,
    MagneticReading,
    Magnetometer,
)
from xplane_bridge.laboratory.sensors.odometry import Odometry, Pose
from xplane_bridge.laboratory.sensors.range_finder import RangeFinder, RangeReading
from xplane_bridge.laboratory.sensors.specification import (
    AirDataFigures,
    Figures,
    GnssFigures,
    ImuFigures,
    RangeFinderFigures,
)
from xplane_bridge.laboratory.sensors.timing import Delivery


class Suite:
    """
    The sensors of a vehicle: each ``show_...`` returns what that sensor delivers then.

    ``faults`` may be set at any time; ``odometry`` is made of what was delivered.
    """

    def __init__(
        self, figures: Figures, seed: int = 0, magnetic_field: FieldFunction | None = None,
    ) -> None:
        """Build them; without a ``magnetic_field`` there is no magnetometer."""
        def generator(name: str) -> np.random.Generator:
            return np.random.Generator(np.random.PCG64(np.random.SeedSequence(
                seed, spawn_key=(zlib.crc32(name.encode()),))))

        self.faults = SensorFaults.of(figures)
        self.odometry = Odometry()
        self._imu = Imu(figures.imu or ImuFigures(), generator)
        self._gnss = Gnss(figures.gnss or GnssFigures(), generator, self.faults)
        self._air = AirDataComputer(
            figures.air_data or AirDataFigures(), generator, self.faults)
        self._range_finder = RangeFinder(
            figures.range_finder or RangeFinderFigures(), generator, self.faults)
        self._magnetometer = None if figures.magnetometer is None or magnetic_field is None else (
            Magnetometer(figures.magnetometer, generator, magnetic_field))

    def show_motion(self, stamp: int, motion: BodyMotion) -> list[Delivery[ImuReading]]:
        """Show the true motion at a stamp (ns)."""
        return self._imu.show(stamp, motion)

    def show_position(self, stamp: int, fix: Fix) -> list[Delivery[Fix]]:
        """Show the true position at a stamp (ns)."""
        delivered = self._gnss.show_position(stamp, fix)
        for one in delivered:
            self.odometry.take_fix(one)
        return delivered

    def show_velocity(self, stamp: int, velocity: Vector) -> list[Delivery[Velocity]]:
        """Show the true velocity over ground (ENU, m/s) at a stamp (ns)."""
        delivered = self._gnss.show_velocity(stamp, velocity)
        for one in delivered:
            self.odometry.take_velocity(one)
        return delivered

    def show_air(self, stamp: int, air: Air) -> list[Delivery[Air]]:
        """Show the true air data at a stamp (ns)."""
        return self._air.show(stamp, air)

    def show_ground(
        self, stamp: int, height: float, orientation: Quaternion | None
    ) -> list[Delivery[RangeReading]]:
        """Show the true height above ground (m, NaN: unknown) at a stamp (ns)."""
        return self._range_finder.show(stamp, height, orientation)

    def show_magnetic_field(
        self, stamp: int, place: Fix, orientation: Quaternion | None
    ) -> list[Delivery[MagneticReading]]:
        """Show the true position and orientation at a stamp (ns)."""
        if self._magnetometer is None:
            return []
        return self._magnetometer.show(stamp, place, orientation)

    def pose(self, stamp: int, motion: BodyMotion) -> Pose | None:
        """Return where the vehicle is at a stamp (ns) by its sensors, with this attitude."""
        return self.odometry.at(stamp, motion.orientation)
