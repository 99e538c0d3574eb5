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
The other aircraft, X-Plane's numbers 1 to 19, by simple kinematics; flown.py has flight models.

Each flies along its heading at a speed that follows its throttle, in level coordinated flight
until its yoke is moved: roll commands a bank (60 degrees at full deflection) and so a coordinated
turn; pitch commands a climb (15 degrees at full deflection); yaw turns it flat at 3 degrees per
second. There is no wind, stall, fuel or landing; it stops descending at the ground.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
import math

from xplane_bridge.simulation.aircraft import terrain
from xplane_bridge.simulation.aircraft.geometry import radii_of_curvature
from xplane_bridge.simulation.aircraft.limits import (
    check_finite,
    clamp,
    MAX_ALTITUDE,
    MAX_LAT_DEG,
    MAX_PITCH_DEG,
)
from xplane_bridge.simulation.aircraft.state import AircraftState

SLOWEST = 20.0
FASTEST = 80.0

# Between two aircraft that fly abreast, m.
_SPACING = 150.0
_MAX_BANK = math.radians(60.0)
_MAX_CLIMB = math.radians(15.0)
_YAW_RATE = math.radians(3.0)
# First-order responses: attitude within a second, speed within ten.
_ATTITUDE_TIME = 0.5
_SPEED_TIME = 5.0
_GRAVITY = 9.80665
_HEIGHT_ABOVE_GROUND = 2.0
# Where the user's aircraft is parked, the others are this far above it.
_HEIGHT_OVER_PARKED = 500.0
_SPEED_OVER_PARKED = 50.0


@dataclass(slots=True)
class OtherAircraft:
    """
    One other aircraft: where it is, how it moves, and its controls.

    lat_deg and lon_deg are geodetic, altitude_msl in m; phi, theta, psi are roll, pitch and true
    heading in rad; speed is true and over ground, in m/s. The yoke is -1..1 with X-Plane's signs
    (+ nose up, right, right); throttle and the rest are 0..1, speedbrake up to 1.5. gear,
    flaps and speedbrake are shown but change nothing. The ground is flat around ``airfield``.
    """

    lat_deg: float
    lon_deg: float
    altitude_msl: float
    psi: float
    speed: float
    phi: float = 0.0
    theta: float = 0.0
    yoke_pitch: float = 0.0
    yoke_roll: float = 0.0
    yoke_yaw: float = 0.0
    throttle: list[float] = field(default_factory=list)
    gear: list[float] = field(default_factory=lambda: [1.0] * 10)
    flaps: float = 0.0
    speedbrake: float = 0.0
    lights: dict[str, int] = field(default_factory=dict)
    airfield: terrain.Airfield = terrain.HOME
    _clear: float = field(init=False, repr=False, default=0.0)

    def __post_init__(self) -> None:
        """Set the throttle to hold the speed; find the height that is above all ground."""
        self._clear = max(terrain.HIGHEST, self.airfield.elevation) + _HEIGHT_ABOVE_GROUND
        if not self.throttle:
            self.throttle = [(self.speed - SLOWEST) / (FASTEST - SLOWEST)] * 16

    @property
    def velocity_ned(self) -> tuple[float, float, float]:
        """Return the velocity over ground in m/s."""
        across = self.speed * math.cos(self.theta)
        return (across * math.cos(self.psi), across * math.sin(self.psi),
                -self.speed * math.sin(self.theta))

    @property
    def wind_ned(self) -> tuple[float, float, float]:
        """Return that it flies in calm air."""
        return (0.0, 0.0, 0.0)

    @property
    def euler_rates(self) -> tuple[float, float, float]:
        """Return the rates of roll, pitch and heading in rad/s."""
        return ((_full(self.yoke_roll) * _MAX_BANK - self.phi) / _ATTITUDE_TIME,
                (_full(self.yoke_pitch) * _MAX_CLIMB - self.theta) / _ATTITUDE_TIME,
                self._turn())

    @property
    def speed_rate(self) -> float:
        """Return the rate of change of the speed in m/s2."""
        return (self._target_speed() - self.speed) / _SPEED_TIME

    def advance(self, seconds: float, frames: int = 1) -> None:
        """Fly so many frames, each of some seconds."""
        if seconds <= 0.0:
            return
        quick, slow = _responses(seconds)
        if not (self.phi or self.theta or self.yoke_roll or self.yoke_pitch or self.yoke_yaw):
            self._fly_straight(seconds, slow, frames)
            return
        for _ in range(frames):
            self._fly(seconds, quick, slow)

    def _fly(self, seconds: float, quick: float, slow: float) -> None:
        self.phi += (_full(self.yoke_roll) * _MAX_BANK - self.phi) * quick
        self.theta += (_full(self.yoke_pitch) * _MAX_CLIMB - self.theta) * quick
        self.speed += (self._target_speed() - self.speed) * slow
        self.psi = (self.psi + self._turn() * seconds) % math.tau
        north, east, down = self.velocity_ned
        self._move(north, east, seconds)
        self.altitude_msl -= down * seconds
        self._limit_altitude()

    def _fly_straight(self, seconds: float, slow: float, frames: int) -> None:
        """Do the same with less work: nearly always all 19 fly so."""
        target = self._target_speed()
        self.psi = psi = self.psi % math.tau
        north, east = math.cos(psi), math.sin(psi)
        lat_deg, lon_deg, speed = self.lat_deg, self.lon_deg, self.speed
        for _ in range(frames):
            speed += (target - speed) * slow
            altitude = self.altitude_msl
            meridian, across = radii_of_curvature(lat_deg)
            there = lat_deg + math.degrees(speed * north * seconds / (meridian + altitude))
            lon_deg = math.remainder(
                lon_deg + math.degrees(speed * east * seconds / (
                    (across + altitude) * math.cos(math.radians(lat_deg)))), 360.0)
            lat_deg = there if -MAX_LAT_DEG <= there <= MAX_LAT_DEG else clamp(
                there, -MAX_LAT_DEG, MAX_LAT_DEG)
            if not self._clear <= altitude <= MAX_ALTITUDE:
                self.lat_deg, self.lon_deg = lat_deg, lon_deg
                self._limit_altitude()
        self.lat_deg, self.lon_deg, self.speed = lat_deg, lon_deg, speed

    def _move(self, north: float, east: float, seconds: float) -> None:
        """Move over ground at this velocity, in m/s."""
        lat_deg = self.lat_deg
        meridian, across = radii_of_curvature(lat_deg)
        self.lat_deg = clamp(
            lat_deg + math.degrees(north * seconds / (meridian + self.altitude_msl)),
            -MAX_LAT_DEG, MAX_LAT_DEG)
        self.lon_deg = math.remainder(
            self.lon_deg + math.degrees(east * seconds / (
                (across + self.altitude_msl) * math.cos(math.radians(lat_deg)))), 360.0)

    def set_throttle(self, values: Sequence[float]) -> None:
        """Move the first throttles, one value each."""
        self.throttle[:len(values)] = values

    def set_gear(self, values: Sequence[float]) -> None:
        """Move the gear, one value for each of 10 legs."""
        self.gear[:] = values

    def hold(self) -> None:
        """Fly straight and level at this speed (clamped to 20..80 m/s), controls centred."""
        self.phi = self.theta = 0.0
        self.yoke_pitch = self.yoke_roll = self.yoke_yaw = 0.0
        self.throttle = [(self.speed - SLOWEST) / (FASTEST - SLOWEST)] * len(self.throttle)

    def place(self, lat_deg: float | None = None, lon_deg: float | None = None,
              altitude_msl: float | None = None, pitch_deg: float | None = None,
              roll_deg: float | None = None, heading_deg: float | None = None,
              speed: float | None = None) -> None:
        """
        Move the aircraft; None keeps a value.

        Latitude beyond 89.9, heights below the ground or above 25 km, and pitch beyond 89.9 are
        clamped. Raises ValueError for NaN and infinities.
        """
        check_finite(
            latitude=lat_deg, longitude=lon_deg, altitude_msl=altitude_msl, pitch=pitch_deg,
            roll=roll_deg, heading=heading_deg, speed=speed)
        if lat_deg is not None:
            self.lat_deg = clamp(lat_deg, -MAX_LAT_DEG, MAX_LAT_DEG)
        if lon_deg is not None:
            self.lon_deg = math.remainder(lon_deg, 360.0)
        if altitude_msl is not None:
            self.altitude_msl = altitude_msl
        self._limit_altitude()
        if pitch_deg is not None:
            self.theta = math.radians(clamp(pitch_deg, -MAX_PITCH_DEG, MAX_PITCH_DEG))
        if roll_deg is not None:
            self.phi = math.radians(math.remainder(roll_deg, 360.0))
        if heading_deg is not None:
            self.psi = math.radians(heading_deg % 360.0)
        if speed is not None:
            self.speed = clamp(speed, 0.0, FASTEST)

    def _limit_altitude(self) -> None:
        """Stay above the ground, which is looked up near it only: 19 aircraft fly each frame."""
        if self.altitude_msl < self._clear:
            lowest = _HEIGHT_ABOVE_GROUND + terrain.elevation_around(
                self.airfield, self.lat_deg, self.lon_deg)
            self.altitude_msl = max(self.altitude_msl, lowest)
        self.altitude_msl = min(self.altitude_msl, MAX_ALTITUDE)

    def _target_speed(self) -> float:
        return SLOWEST + (FASTEST - SLOWEST) * clamp(self.throttle[0], 0.0, 1.0)

    def _turn(self) -> float:
        # A teleport may leave any bank; beyond the vertical there is no coordinated turn.
        bank = clamp(self.phi, -_MAX_BANK, _MAX_BANK)
        return (_GRAVITY * math.tan(bank) / max(self.speed, SLOWEST)
                + _full(self.yoke_yaw) * _YAW_RATE)


def abreast(n: int) -> float:
    """Return how far right of aircraft 0 aircraft n is: 150 m apart, odd ones to the right."""
    return _SPACING * ((n + 1) // 2) * (1 if n % 2 else -1)


def moved(
    lat_deg: float, lon_deg: float, heading: float, forward: float, right: float
) -> tuple[float, float]:
    """Return latitude and longitude (deg) of a place metres away, along a heading (rad)."""
    north = forward * math.cos(heading) - right * math.sin(heading)
    east = forward * math.sin(heading) + right * math.cos(heading)
    meridian, across = radii_of_curvature(lat_deg)
    return (lat_deg + math.degrees(north / meridian),
            lon_deg + math.degrees(east / (across * math.cos(math.radians(lat_deg)))))


def formation(
    count: int, state: AircraftState, airfield: terrain.Airfield
) -> list[OtherAircraft]:
    """Return aircraft flying abreast, alternately right and left, with the user's heading."""
    airborne = not any(state.wheels_on_ground)
    altitude = state.altitude_msl + (0.0 if airborne else _HEIGHT_OVER_PARKED)
    speed = min(max(state.ground_speed, SLOWEST), FASTEST) if airborne else _SPEED_OVER_PARKED
    others = []
    for n in range(1, count + 1):
        lat, lon = moved(state.lat_deg, state.lon_deg, state.psi, 0.0, abreast(n))
        lowest = terrain.elevation_around(airfield, lat, lon) + _HEIGHT_ABOVE_GROUND
        others.append(OtherAircraft(
            lat, lon, max(altitude, lowest), state.psi, speed, airfield=airfield))
    return others


def offset(
    origin: tuple[float, float], heading: float, place: tuple[float, float]
) -> tuple[float, float]:
    """Return how many metres forward and right of an origin a place is, as moved() has it."""
    (lat_deg, lon_deg), (lat, lon) = origin, place
    meridian, across = radii_of_curvature(lat_deg)
    north = math.radians(lat - lat_deg) * meridian
    east = math.radians(math.remainder(lon - lon_deg, 360.0)) * across * math.cos(
        math.radians(lat_deg))
    return (north * math.cos(heading) + east * math.sin(heading),
            east * math.cos(heading) - north * math.sin(heading))


@lru_cache(maxsize=16)
def _responses(seconds: float) -> tuple[float, float]:
    """Return which part of the way to their targets attitude and speed go in a frame."""
    return 1.0 - math.exp(-seconds / _ATTITUDE_TIME), 1.0 - math.exp(-seconds / _SPEED_TIME)


def _full(value: float) -> float:
    """Return a deflection clamped to -1..1."""
    return clamp(value, -1.0, 1.0)
