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

"""The common vehicle state between simulators and messages: SI units, ROS frames."""

from __future__ import annotations

from dataclasses import dataclass
import math
from operator import attrgetter
from typing import NamedTuple

from xplane_bridge.bridges.conversions.axes import Quaternion, Vector
from xplane_bridge.bridges.conversions.topics import AIR


class Controls(NamedTuple):
    """
    Controls with the signs of this package; None means unknown.

    elevator + is nose up, aileron + is right wing down, rudder + is nose right, -1..1, and so are
    their trims; throttle (of all engines), flaps and the two wheel brakes 0..1; gear 0 up, 1
    down; speedbrake -0.5 (armed) to 1.5.
    """

    elevator: float | None = None
    aileron: float | None = None
    rudder: float | None = None
    throttle: float | None = None
    flaps: float | None = None
    gear: float | None = None
    speedbrake: float | None = None
    brake_left: float | None = None
    brake_right: float | None = None
    elevator_trim: float | None = None
    aileron_trim: float | None = None
    rudder_trim: float | None = None

    def given(self) -> dict[str, float]:
        """Return the known controls by name."""
        return {
            name: value for name, value in zip(self._fields, self, strict=True)
            if value is not None}


@dataclass(frozen=True, slots=True)
class EngineControls:
    """
    Controls of each engine from left to right, or one value for all; None means unknown.

    All 0..1: throttle; mixture, 0 is cut off, 1 is rich; propeller, 0 is coarse, 1 is fine.
    """

    throttle: tuple[float, ...] | None = None
    mixture: tuple[float, ...] | None = None
    propeller: tuple[float, ...] | None = None

    def given(self) -> dict[str, tuple[float, ...]]:
        """Return the known controls by name."""
        return {
            name: value for name in self.__slots__ if (value := getattr(self, name)) is not None}


# This and VehicleState are made for each update, and not changed: frozen, they take five times as
# long to make.
@dataclass(slots=True)
class Air:
    """
    Air data of an aircraft; None means unknown. The numbers are AIR of common/quantities.py.

    Speeds in m/s, angles in radians (angle of attack + is nose above the path, sideslip + is
    wind from the right), pressures in Pa, temperature in K, density in kg/m^3, wind as the
    velocity of the air over the ground, ENU, m/s.
    """

    indicated_airspeed: float | None = None
    true_airspeed: float | None = None
    angle_of_attack: float | None = None
    sideslip: float | None = None
    static_pressure: float | None = None
    dynamic_pressure: float | None = None
    temperature: float | None = None
    density: float | None = None
    wind: Vector | None = None


_air_values = attrgetter(*AIR)
_NO_WIND = (math.nan, math.nan, math.nan)


def air_numbers(air: Air) -> tuple[float, ...]:
    """Return the numbers of AirData in order, NaN for what is unknown."""
    known = [math.nan if value is None else value for value in _air_values(air)]
    return (*known, *(air.wind or _NO_WIND))


@dataclass(slots=True)
class VehicleState:
    """
    One vehicle at one instant; None means not reported by the simulator.

    Geodetic position in degrees and metres above mean sea level, NaN if unknown;
    orientation (w, x, y, z) from body FLU to local ENU; angular velocity (rad/s) and specific
    force (m/s^2) in body FLU; velocity over ground in ENU, m/s. ``time`` is the simulator's own,
    in seconds; it says whether it is ``paused``, and the aircraft ``crashed``. ``impossible``
    lists name and value of reported values that were left out because they are impossible.
    ``derived_stddev`` are the standard deviations of angular velocity and specific force where
    these are not reported, but derived.
    """

    latitude_deg: float
    longitude_deg: float
    altitude_msl: float
    orientation: Quaternion | None = None
    angular_velocity: Vector | None = None
    specific_force: Vector | None = None
    velocity: Vector | None = None
    air: Air | None = None
    controls: Controls | None = None
    engines: EngineControls | None = None
    time: float | None = None
    paused: bool = False
    crashed: bool = False
    impossible: tuple[tuple[str, float], ...] = ()
    derived_stddev: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True)
class TrafficTarget:
    """
    Another aircraft, as a receiver of traffic reports it; None means unknown.

    ``id`` tells it from the others. ``address`` is its 24-bit ICAO address, 0 if unknown;
    ``callsign`` its flight ID, '' if unknown. Geodetic position in degrees and metres above mean
    sea level; velocity over ground, ENU at the target, m/s.
    """

    id: str
    latitude_deg: float
    longitude_deg: float
    altitude_msl: float
    velocity: Vector | None
    on_ground: bool | None = None
    address: int = 0
    callsign: str = ''
