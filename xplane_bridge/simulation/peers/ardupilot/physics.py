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

"""The physics that SITL flies, without sockets: servo outputs in, reports out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
import math
from typing import NamedTuple, Protocol, runtime_checkable

from xplane_bridge.bridges.ardupilot_json.protocol import encode, Report, Servos
from xplane_bridge.simulation.aircraft.geometry import Vector, XplaneLocalFrame
from xplane_bridge.simulation.peers.world import World

CHANNELS = {'aileron': 1, 'elevator': 2, 'throttle': 3, 'rudder': 4}
"""ArduPlane's outputs by default; it has none for flaps."""
CONTROLS = (*CHANNELS, 'flaps')
_CENTRE, _REACH = 1500.0, 500.0
_LOWEST, _RANGE = 1000.0, 1000.0
_FROM_LOWEST = ('throttle', 'flaps')
# A gap in the frame count is flown at once, but not more of it.
_LONGEST_GAP = 1.0
# Frames are counted in 32 bits.
_WRAP = 2**32
_HALF = 2**31
# Steeper, a range finder that looks along the body's down sees no ground.
_LEAST_COSINE = 0.1


class SensorReadings(NamedTuple):
    """
    What sensors deliver, of what SITL takes from them: FRD, rad/s, m/s^2, m/s (equivalent), m.

    ``range`` is along the body's down, None without a range finder.
    """

    gyro: Vector
    accel_body: Vector
    airspeed: float
    range: float | None


@runtime_checkable
class Instrumented(Protocol):
    """An aircraft that may have sensors."""

    def measured(self) -> SensorReadings | None:
        """Return what they deliver now, None without any."""


@dataclass(frozen=True)
class ServoChannels:
    """
    Which channel (1..32) moves which control, and the names of those that are reversed.

    1000 to 2000 microseconds are -1..1, for throttle and flaps 0..1; more is the right wing down,
    nose up, nose right.
    """

    numbers: Mapping[str, int] = field(default_factory=lambda: dict(CHANNELS))
    reversed: frozenset[str] = frozenset()

    def controls(self, pwm: tuple[int, ...]) -> dict[str, float]:
        """Return the controls that these pulse widths set: those with a signal."""
        return {
            name: self._value(name, float(pwm[number - 1]))
            for name, number in self.numbers.items()
            if number <= len(pwm) and pwm[number - 1] != 0}

    def _value(self, name: str, pulse: float) -> float:
        if name in self.reversed:
            pulse = 2.0 * _CENTRE - pulse
        if name in _FROM_LOWEST:
            return min(max((pulse - _LOWEST) / _RANGE, 0.0), 1.0)
        return min(max((pulse - _CENTRE) / _REACH, -1.0), 1.0)


class Physics:
    """
    A world that advances with the frames of SITL, or with real time without ``lockstep``.

    In lockstep the world is paused, so that its owner's frames do not move it. ``count`` is the
    number of the newest frame that was flown, None before any. Which frames are flown, and what is
    answered, Exchange decides.
    """

    def __init__(self, world: World, channels: ServoChannels, lockstep: bool = True,
                 time_sync: bool = True) -> None:
        self.world, self.channels, self.lockstep = world, channels, lockstep
        self.restarts = 0
        self.count: int | None = None
        self._time_sync = time_sync
        world.paused = lockstep
        self._instruments = world.aircraft if isinstance(world.aircraft, Instrumented) else None
        state = world.aircraft.state
        self._home = XplaneLocalFrame(state.lat_deg, state.lon_deg)
        self._ground = state.terrain_msl
        self._opening: Servos | None = None
        self._opening_line = b''

    def ahead(self, count: int) -> int:
        """Return by how many frames a count is ahead of the newest; they wrap at 2^32."""
        return 0 if self.count is None else (count - self.count + _HALF) % _WRAP - _HALF

    def fly(self, servos: Servos) -> bytes:
        """
        Move the controls as a frame says; in lockstep, fly on to it, and return the state then.

        Frames that were missed are flown at once, but not more than a second of them.
        """
        missed = 1 if self.count is None else max(self.ahead(servos.count), 1)
        begins = self.count is None and servos.count == 0
        self.count = servos.count
        self.world.aircraft.set_controls(**self.channels.controls(servos.pwm))
        if self.lockstep:
            self.world.paused = False
            self.world.advance(min(missed / servos.rate, max(_LONGEST_GAP, 1.0 / servos.rate)))
            self.world.paused = True
        line = self.line() if self.lockstep or begins else b''
        if begins:
            self._opening, self._opening_line = servos, line
        return line

    def opening(self, servos: Servos) -> bytes | None:
        """Return the answer to the first frame of a flight, None if it would have to be flown."""
        return self._opening_line if servos == self._opening else None

    def restart(self) -> None:
        """Put the aircraft back to its start; time begins again, and any frame may be next."""
        self.restarts += 1
        self.world.reset_flight()
        self.count = None

    def line(self) -> bytes:
        """Return the report of the state now, as a line."""
        s = self.world.aircraft.state
        east, up, south = self._home.to_local(s.lat_deg, s.lon_deg, s.altitude_msl)
        cosine = math.cos(s.phi) * math.cos(s.theta)
        read = SensorReadings(
            (s.p, s.q, s.r), (s.f_x, s.f_y, s.f_z), s.eas,
            s.altitude_agl / cosine if cosine > _LEAST_COSINE else None)
        if self._instruments is not None:
            read = self._instruments.measured() or read
        return encode(Report(
            timestamp=self.world.flight_time,
            gyro=read.gyro,
            accel_body=read.accel_body,
            position=(-south, east, self._ground - up),
            attitude=(s.phi, s.theta, s.psi),
            velocity=(s.v_north, s.v_east, s.v_down),
            latitude=s.lat_deg, longitude=s.lon_deg, altitude=s.altitude_msl,
            airspeed=read.airspeed, rng_1=read.range,
            velocity_wind=(s.wind_north, s.wind_east, s.wind_down),
            wind_direction=s.beta, wind_speed=s.tas,
            no_time_sync=not self._time_sync,
            no_lockstep=not self.lockstep))
