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
Other aircraft that have a flight model: JSBSim flies them, like the user's.

To X-Plane's datarefs they are what its kinematic traffic is (traffic.py), by the same attributes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
import math
from typing import Any

from xplane_bridge.simulation.aircraft.aircraft import Aircraft
from xplane_bridge.simulation.aircraft.initial import Initial
from xplane_bridge.simulation.peers.traffic import abreast, moved

_SLOTS = 16
_LEGS = 10


class FlownAircraft:
    """
    One other aircraft with a flight model, read and moved as X-Plane's datarefs do.

    lat_deg and lon_deg are geodetic, altitude_msl in m; phi, theta, psi are roll, pitch and true
    heading in rad; velocity_ned in m/s over ground. Writing a control commands it: the yoke -1..1
    with X-Plane's signs (+ nose up, right, right), flaps, gear and throttle 0..1, speedbrake up to
    1.5; each is clamped, and ValueError is raised for NaN and infinities.
    """

    def __init__(self, aircraft: Aircraft) -> None:
        self.aircraft = aircraft
        self.lights: dict[str, int] = {}

    # Where it is, and how it moves.

    @property
    def lat_deg(self) -> float:
        """Return the geodetic latitude."""
        return self.aircraft.state.lat_deg

    @property
    def lon_deg(self) -> float:
        """Return the longitude."""
        return self.aircraft.state.lon_deg

    @property
    def altitude_msl(self) -> float:
        """Return the altitude above mean sea level in m."""
        return self.aircraft.state.altitude_msl

    @property
    def phi(self) -> float:
        """Return the roll angle in rad."""
        return self.aircraft.state.phi

    @property
    def theta(self) -> float:
        """Return the pitch angle in rad."""
        return self.aircraft.state.theta

    @property
    def psi(self) -> float:
        """Return the true heading in rad."""
        return self.aircraft.state.psi

    @property
    def velocity_ned(self) -> tuple[float, float, float]:
        """Return the velocity over ground in m/s."""
        state = self.aircraft.state
        return (state.v_north, state.v_east, state.v_down)

    @property
    def wind_ned(self) -> tuple[float, float, float]:
        """Return the velocity of the air where it flies, in m/s."""
        state = self.aircraft.state
        return (state.wind_north, state.wind_east, state.wind_down)

    # What is commanded.

    @property
    def yoke_pitch(self) -> float:
        """Return the elevator command; writing it moves the yoke."""
        return self.aircraft.state.elevator

    @yoke_pitch.setter
    def yoke_pitch(self, value: float) -> None:
        self.aircraft.set_controls(elevator=value)

    @property
    def yoke_roll(self) -> float:
        """Return the aileron command; writing it moves the yoke."""
        return self.aircraft.state.aileron

    @yoke_roll.setter
    def yoke_roll(self, value: float) -> None:
        self.aircraft.set_controls(aileron=value)

    @property
    def yoke_yaw(self) -> float:
        """Return the rudder command; writing it moves the pedals."""
        return self.aircraft.state.rudder

    @yoke_yaw.setter
    def yoke_yaw(self, value: float) -> None:
        self.aircraft.set_controls(rudder=value)

    @property
    def flaps(self) -> float:
        """Return where the flaps are; writing it moves their lever."""
        return self.aircraft.state.flaps

    @flaps.setter
    def flaps(self, value: float) -> None:
        self.aircraft.set_controls(flaps=value)

    @property
    def speedbrake(self) -> float:
        """Return where the speed brakes are; writing it moves their lever."""
        return self.aircraft.state.speedbrake

    @speedbrake.setter
    def speedbrake(self, value: float) -> None:
        self.aircraft.set_controls(speedbrake=value)

    @property
    def throttle(self) -> list[float]:
        """Return the throttles of 16 slots; those without an engine are 0."""
        known = [float(value) for value in self.aircraft.sampler.throttles()]
        return known + [0.0] * (_SLOTS - len(known))

    def set_throttle(self, values: Sequence[float]) -> None:
        """Move the throttles of the first engines, one value each."""
        self.aircraft.set_controls(throttle=list(values[:self.aircraft.engine_count]))

    @property
    def gear(self) -> list[float]:
        """Return where the gear is, for each of 10 legs."""
        return [self.aircraft.state.gear] * _LEGS

    def set_gear(self, values: Sequence[float]) -> None:
        """Move the gear's handle; its legs move together."""
        self.aircraft.set_controls(gear=float(values[0] > 0.5))

    # Time, and placing.

    def advance(self, seconds: float) -> None:
        """Fly for some seconds (one frame)."""
        self.aircraft.advance(seconds)

    def place(self, lat_deg: float | None = None, lon_deg: float | None = None,
              altitude_msl: float | None = None, pitch_deg: float | None = None,
              roll_deg: float | None = None, heading_deg: float | None = None,
              speed: float | None = None) -> None:
        """Move the aircraft as Aircraft.teleport does; None keeps a value."""
        self.aircraft.teleport(
            lat_deg, lon_deg, altitude_msl, pitch_deg, roll_deg, heading_deg, speed)


def beside(
    initial: Initial, count: int, offsets: Sequence[tuple[float, float, float]] | None = None
) -> list[Initial]:
    """
    Return initial states of ``count`` aircraft beside one with this initial state.

    ``offsets`` are metres forward, right and up of it, along its heading; None is abreast. All
    else is its own.
    """
    heading = math.radians(initial.heading_deg)
    if offsets is None:
        offsets = [(0.0, abreast(n), 0.0) for n in range(1, count + 1)]
    starts = []
    for forward, right, up in offsets:
        lat, lon = moved(initial.lat_deg, initial.lon_deg, heading, forward, right)
        starts.append(replace(
            initial, lat_deg=lat, lon_deg=lon, altitude_msl=initial.altitude_msl + up))
    return starts


def fly_beside(models: Sequence[str], starts: Sequence[Initial], seed: int,
               make: Callable[..., Aircraft] = Aircraft, **options: Any) -> list[Aircraft]:
    """
    Return aircraft of these models and initial states, number 1 and up, as ``make`` makes them.

    All fly in one weather, with the same gusts at a time. ``options`` are Aircraft's; so are the
    errors.
    """
    return [
        make(model, start, seed=seed, **options)
        for model, start in zip(models, starts, strict=True)]
