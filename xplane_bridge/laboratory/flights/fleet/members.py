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

"""What is known of an aircraft of a fleet while it flies, in this process or through ROS."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from xplane_bridge.bridges.conversions.axes import Vector
from xplane_bridge.laboratory.control.cascade import Cascade
from xplane_bridge.laboratory.control.gains import Gains
from xplane_bridge.laboratory.control.measurement import Measurement
from xplane_bridge.laboratory.flights.core import CoreFlight


class Member(Protocol):
    """One aircraft of several; places are latitude, longitude (deg), m above the ellipsoid."""

    @property
    def place(self) -> Vector:
        """Return where it is, in truth."""

    @property
    def known_place(self) -> Vector:
        """Return where it knows to be; NaN without a fix."""

    @property
    def engaged(self) -> bool:
        """Return whether its controller is engaged."""

    @property
    def held_airspeed(self) -> float:
        """Return the airspeed that it holds (m/s, indicated), NaN if that is not known."""

    @property
    def gains(self) -> Gains | None:
        """Return the gains of its autopilot; None if another law flies it, led by headings."""

    def measurement(self) -> Measurement:
        """Return what it knows of itself."""

    def set_target(self, values: Mapping[str, float]) -> None:
        """Tell it what to hold; SI."""


class CoreMember:
    """An aircraft that is flown in this process."""

    def __init__(self, flight: CoreFlight) -> None:
        self._flight = flight

    @property
    def place(self) -> Vector:
        """Return where it is, in truth."""
        return self._flight.vehicle.place

    @property
    def known_place(self) -> Vector:
        """Return where it knows to be; NaN without a fix."""
        return self._flight.vehicle.known_place

    @property
    def engaged(self) -> bool:
        """Return whether its controller is engaged."""
        return self._flight.script.engaged

    @property
    def held_airspeed(self) -> float:
        """Return the airspeed that it holds."""
        return self._flight.vehicle.law.target.airspeed

    @property
    def gains(self) -> Gains | None:
        """Return the gains of its autopilot; None if another law flies it."""
        law = self._flight.vehicle.law
        return law.gains if isinstance(law, Cascade) else None

    def measurement(self) -> Measurement:
        """Return what it knows of itself."""
        return self._flight.vehicle.measurement()

    def set_target(self, values: Mapping[str, float]) -> None:
        """Tell it what to hold; SI."""
        self._flight.vehicle.set_target(values)
