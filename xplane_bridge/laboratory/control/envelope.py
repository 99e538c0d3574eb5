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
The envelope that the cascade keeps the aircraft in, whatever it is told.

What a command asks beyond a limit is clamped to it, and said; a route that leaves the geofence is
refused. In flight the limits hold at each level: pitch and rates are bounded by what keeps bank,
pitch, load factor, airspeed and altitude. geofence.py keeps inside the geofence.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
import math
from pathlib import Path

from xplane_bridge.common.fields import declared
from xplane_bridge.common.units import STANDARD_GRAVITY
from xplane_bridge.laboratory.control.corners import Point
from xplane_bridge.laboratory.control.laws import SLOWEST
from xplane_bridge.laboratory.control.loops import clamp
from xplane_bridge.laboratory.control.measurement import Measurement
from xplane_bridge.laboratory.control.targets import AttitudeTarget, Target
from xplane_bridge.simulation.aircraft.loading import parameter_file

# Beyond a limit of the airspeed by this share of it, the whole pitch serves to regain it.
_SHARE = 0.1
# Of the bank that is allowed, in the turns of routes: the rest is for wind and errors.
_SHARE_IN_TURNS = 0.75


@dataclass(frozen=True, slots=True)
class Envelope:
    """
    Limits; NaN is none. The defaults suit the Cessna 172P (c172p).

    ``geofence``: the corners of a polygon in the local frame, m east and north.
    """

    bank_limit: float = declared(0.44, 'the bank at each level', unit='rad')
    route_bank: float = declared(
        math.nan, 'the bank for which the turns of routes are made; without one it is three '
        'quarters of what is allowed, which leaves a reserve', unit='rad')
    pitch_limit_up: float = declared(0.26, 'the pitch at each level, nose up', unit='rad')
    pitch_limit_down: float = declared(0.21, 'the same, nose down', unit='rad')
    load_factor_limit: float = declared(2.5, 'bank and pitch rate, by the load factor', unit='g')
    airspeed_low: float = declared(
        30.0, 'commanded airspeeds, indicated; below it the nose is lowered, whatever is '
        'commanded', unit='m/s')
    airspeed_high: float = declared(
        70.0, 'the same; above it the nose is raised', unit='m/s')
    altitude_floor: float = declared(
        math.nan, 'commanded altitudes, as `fix` has them; near it the nose is not lowered '
        'further', unit='m')
    geofence: tuple[Point, ...] = ()

    def __post_init__(self) -> None:
        for name in ('bank_limit', 'pitch_limit_up', 'pitch_limit_down'):
            if not 0.0 < getattr(self, name) < math.pi / 2.0:
                raise ValueError(f'{name} {getattr(self, name):g} rad is not in 0 .. pi / 2')
        if self.route_bank <= 0.0:
            raise ValueError(f'route_bank {self.route_bank:g} rad is not above 0')
        if self.load_factor_limit <= 1.0:
            raise ValueError(f'load_factor_limit {self.load_factor_limit:g} is not above 1')
        if self.airspeed_low >= self.airspeed_high:
            raise ValueError('airspeed_low is not below airspeed_high')
        if 0 < len(self.geofence) < 3:
            raise ValueError(f'geofence: expected at least 3 corners, got {len(self.geofence)}')

    @property
    def bank(self) -> float:
        """Return the bank (rad) that neither its limit nor that of the load factor forbids."""
        if math.isnan(self.load_factor_limit):
            return self.bank_limit
        return min(self.bank_limit, math.acos(1.0 / self.load_factor_limit))

    @property
    def bank_of_turns(self) -> float:
        """Return the bank (rad) for which the turns of routes are made."""
        if math.isnan(self.route_bank):
            return _SHARE_IN_TURNS * self.bank
        return min(self.route_bank, self.bank)

    # What is asked for.

    def limited_target(self, target: Target) -> tuple[Target, list[str]]:
        """Return a target within the limits, and a sentence for each value that was not."""
        said: list[str] = []
        # dataclasses.replace takes longer than all else here.
        return Target(
            self._above_floor(target.altitude, said), target.heading,
            self._airspeed(target.airspeed, said), target.course, target.climb_rate), said

    def limited_attitude(self, wanted: AttitudeTarget) -> tuple[AttitudeTarget, list[str]]:
        """Return an attitude within the limits, and a sentence for each value that was not."""
        said: list[str] = []
        bank = self.bank
        return AttitudeTarget(
            _limited('roll', wanted.roll, -bank, bank, 'rad', said),
            _limited(
                'pitch', wanted.pitch, -self.pitch_limit_down, self.pitch_limit_up, 'rad', said),
            wanted.throttle, self._airspeed(wanted.airspeed, said), wanted.yaw_damper), said

    def limited_altitudes(self, altitudes: Sequence[float]) -> tuple[list[float], list[str]]:
        """Return altitudes that are not below the floor, and a sentence for each that was."""
        said: list[str] = []
        return [self._above_floor(altitude, said) for altitude in altitudes], said

    def _above_floor(self, altitude: float, said: list[str]) -> float:
        return _limited('altitude', altitude, self.altitude_floor, math.nan, 'm', said)

    def _airspeed(self, airspeed: float, said: list[str]) -> float:
        return _limited(
            'airspeed', airspeed, self.airspeed_low, self.airspeed_high, 'm/s', said)

    # What is flown.

    def pitches(
        self, now: Measurement, climb: float, least_climb: float
    ) -> tuple[float, float, str]:
        """
        Return the lowest and the highest pitch (rad) allowed now, and what narrows them if any.

        ``climb`` is the present climb rate, ``least_climb`` that which keeps above the floor.
        """
        low, high, why = -self.pitch_limit_down, self.pitch_limit_up, ''
        if least_climb > -math.inf:
            # Angle of attack, roughly: the pitch of a level flight.
            speed = max(now.speed, SLOWEST)
            level = now.pitch - math.asin(clamp(climb / speed, -1.0, 1.0))
            needed = level + math.asin(clamp(least_climb / speed, -1.0, 1.0))
            if needed > low:
                low, why = min(needed, high), 'altitude_floor: the nose is not lowered further'
        if now.airspeed > self.airspeed_high:
            beyond = (now.airspeed / self.airspeed_high - 1.0) / _SHARE
            raised = min(-self.pitch_limit_down + beyond * (high + self.pitch_limit_down), high)
            if raised > low:
                low, why = raised, 'airspeed_high: the nose is raised'
        if now.airspeed < self.airspeed_low:
            beyond = (1.0 - now.airspeed / self.airspeed_low) / _SHARE
            high = max(high - beyond * (high + self.pitch_limit_down), -self.pitch_limit_down)
            low, why = min(low, high), 'airspeed_low: the nose is lowered'
        return low, high, why

    def pitch_rates(self, now: Measurement) -> tuple[float, float]:
        """Return the lowest and the highest pitch rate (rad/s) within the load factor."""
        if math.isnan(self.load_factor_limit):
            return -math.inf, math.inf
        # n = V q / g + cos(pitch) cos(roll)
        weight = math.cos(now.pitch) * math.cos(now.roll)
        a_g = STANDARD_GRAVITY / max(now.speed, SLOWEST)
        least = max(2.0 - self.load_factor_limit, 0.0)
        return (least - weight) * a_g, (self.load_factor_limit - weight) * a_g


def load(model: str | Path) -> Envelope:
    """Return the envelope in the file of an aircraft (see gains.load), without a geofence."""
    known = [item.name for item in fields(Envelope) if item.name != 'geofence']
    given = parameter_file.numbers(parameter_file.read(model), 'envelope', known)
    return replace(Envelope(), **given)  # type: ignore[arg-type]


def _limited(
    name: str, value: float, low: float, high: float, unit: str, said: list[str]
) -> float:
    """Return a value within limits, of which each may be NaN; say so if it was not."""
    limited = low if value < low else high if value > high else value
    if limited != value and value == value:
        said.append(f'{name} {value:.4g} {unit} is limited to {limited:.4g} {unit}')
    return limited
