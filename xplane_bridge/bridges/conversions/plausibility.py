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
Plausibility limits of a vehicle's values: a gate that keeps impossible values off every topic.

Datagrams arrive over networks without authentication, from programs with uninitialised or
corrupted state, in formats that still decode with the wrong byte order or version. Most garbage
is far from anything that flies, so wide bounds catch it without refusing any genuine value.
Values without a bound here are only checked for being finite.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
import math
from operator import attrgetter
import time
from typing import Any

from xplane_bridge.bridges.conversions.axes import Vector
from xplane_bridge.bridges.conversions.vehicle import Air, Controls, EngineControls, VehicleState
from xplane_bridge.common.controls import CONTROLS
from xplane_bridge.common.quantities import AIR, QUANTITY

NOWHERE: Vector = (math.nan, math.nan, math.nan)
"""An unknown position."""

# Degrees. Simulators use -180..180 or 0..360; the rest is a margin of one more turn.
_ANGLE = 720.0

AIR_BOUNDS = {one.field: one.bounds for one in AIR}
"""Of each number of air_data."""

_CONTROLS = {name: QUANTITY[name].bounds for name in CONTROLS}
(_SOUTH, _NORTH), (_WEST, _EAST), (_LOWEST, _HIGHEST) = (
    QUANTITY[name].bounds for name in ('latitude', 'longitude', 'altitude'))
# Of each axis of a vector, either way.
_VECTORS = (
    *((vector, QUANTITY[axis].bounds[1]) for vector, axis in (
        ('velocity', 'velocity_north'), ('angular_velocity', 'roll_rate'),
        ('specific_force', 'specific_force_up'))),
    # A quaternion.
    ('orientation', 1.01))
_WIND = QUANTITY['wind_north'].bounds[1]
_LEVER = QUANTITY['throttle'].bounds[1]

# Every state of every aircraft is checked here: these read all values at once.
_air_values = attrgetter(*AIR_BOUNDS)
_air_bounds = tuple((name, *bounds) for name, bounds in AIR_BOUNDS.items())
_control_values = attrgetter(*_CONTROLS)
_control_bounds = tuple((name, *bounds) for name, bounds in _CONTROLS.items())
_ENGINES = tuple(EngineControls.__slots__)
_engine_values = attrgetter(*_ENGINES)
_PLACE = ('latitude_deg', 'longitude_deg', 'altitude_msl')
_vectors = attrgetter(*(name for name, _ in _VECTORS))

# Values withheld further apart than this, in seconds, are not of one fault.
_PAUSE = 3.0


def place_fault(
    latitude_deg: float, longitude_deg: float, altitude_msl: float
) -> tuple[str, float] | None:
    """Return name and value of the impossible part of a position, None if there is none."""
    if not _SOUTH <= latitude_deg <= _NORTH:
        return 'latitude', latitude_deg
    if not _WEST <= longitude_deg <= _EAST:
        return 'longitude', longitude_deg
    if not _LOWEST <= altitude_msl <= _HIGHEST:
        return 'altitude', altitude_msl
    return None


def is_attitude(angles_deg: Vector) -> bool:
    """Return whether three angles are a possible attitude."""
    a, b, c = angles_deg
    return -_ANGLE <= a <= _ANGLE and -_ANGLE <= b <= _ANGLE and -_ANGLE <= c <= _ANGLE


def attitude_fault(angles_deg: Vector | None) -> tuple[tuple[str, float], ...]:
    """Return name and value of the impossible part of an attitude, for VehicleState."""
    if angles_deg is None or is_attitude(angles_deg):
        return ()
    return (('attitude', next(
        angle for angle in angles_deg if not -_ANGLE <= angle <= _ANGLE)),)


@dataclass(frozen=True, slots=True)
class Withheld:
    """Withheld values of one name: how many, the last one, and when it arrived."""

    count: int
    value: float
    at: float
    since: float
    """When the first of those arrived that came without a pause."""


class Plausibility:
    """
    The gate of one vehicle, with a record of what was withheld.

    ``on_implausible(name, value)`` is called for each withheld value. ``clock`` is any monotonic
    clock.
    """

    def __init__(
        self, on_implausible: Callable[[str, float], None] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._on_implausible = on_implausible
        self._clock = clock
        self._withheld: dict[str, Withheld] = {}

    @property
    def withheld(self) -> dict[str, Withheld]:
        """Return what has been withheld so far, by name."""
        return dict(self._withheld)

    def withhold(self, name: str, value: float) -> None:
        """Count a value that is not published."""
        last, now = self._withheld.get(name), self._clock()
        self._withheld[name] = Withheld(
            last.count + 1 if last else 1, value, now,
            last.since if last and now - last.at < _PAUSE else now)
        if self._on_implausible is not None:
            self._on_implausible(name, value)

    def place(self, latitude_deg: float, longitude_deg: float, altitude_msl: float) -> Vector:
        """Return a position unchanged, or NOWHERE if it is impossible, which is counted."""
        fault = place_fault(latitude_deg, longitude_deg, altitude_msl)
        if fault is None:
            return latitude_deg, longitude_deg, altitude_msl
        self.withhold(*fault)
        return NOWHERE

    def number(self, name: str, value: float, low: float, high: float) -> float:
        """Return a value unchanged, or NaN if it is out of bounds, which is counted."""
        if low <= value <= high:
            return value
        self.withhold(name, value)
        return math.nan

    def air(self, name: str, value: float) -> float:
        """Return a value of Air unchanged, or NaN if it is impossible, which is counted."""
        return self.number(name, value, *AIR_BOUNDS[name])

    def state(self, state: VehicleState) -> VehicleState:
        """
        Return a state without impossible values: these become None, a position NOWHERE.

        Values derived from a withheld value are withheld with it, uncounted. NOWHERE itself is not
        a fault: it is an unknown position.
        """
        for name, value in state.impossible:
            self.withhold(name, value)
        changes: dict[str, Any] = {}
        latitude, longitude = state.latitude_deg, state.longitude_deg
        # What is not equal to itself is NaN.
        if latitude == latitude or longitude == longitude:
            fault = place_fault(latitude, longitude, state.altitude_msl)
            if fault is not None:
                self.withhold(*fault)
                changes = dict.fromkeys(_PLACE, math.nan)
        self._check_vectors(state, changes)
        if state.air is not None:
            # The air data depend on these two through the sideslip.
            astray = 'velocity' in changes or 'orientation' in changes
            air = self._air(state.air, astray)
            if air is not state.air:
                changes['air'] = air
        if state.controls is not None:
            controls = self._controls(state.controls)
            if controls is not state.controls:
                changes['controls'] = controls
        if state.engines is not None:
            engines = self._engines(state.engines)
            if engines is not state.engines:
                changes['engines'] = engines
        return replace(state, **changes) if changes else state

    def _check_vectors(self, state: VehicleState, changes: dict[str, Any]) -> None:
        for vector, (name, limit) in zip(_vectors(state), _VECTORS, strict=True):
            # Not by a call for each: there are fifty updates and more a second.
            for value in vector or ():
                if not -limit <= value <= limit:
                    changes[name] = None
                    self.withhold(name.replace('_', ' '), value)
                    break

    def _air(self, air: Air, astray: bool) -> Air:
        changes: dict[str, Any] = {}
        for value in air.wind or ():
            if not -_WIND <= value <= _WIND:
                changes['wind'] = None
                astray = True
                self.withhold('wind', value)
                break
        if astray:
            changes['sideslip'] = None
        for value, (name, low, high) in zip(_air_values(air), _air_bounds, strict=True):
            # NaN stands for None there: without a pressure there is no density.
            if value is None or low <= value <= high or name in changes or math.isnan(value):
                continue
            changes[name] = None
            self.withhold(name.replace('_', ' '), value)
            if name in ('static_pressure', 'temperature'):
                changes['density'] = None
        return replace(air, **changes) if changes else air

    def _controls(self, controls: Controls) -> Controls:
        changes: dict[str, Any] = {}
        for value, (name, low, high) in zip(
                _control_values(controls), _control_bounds, strict=True):
            if value is None or low <= value <= high:
                continue
            changes[name] = None
            self.withhold(name, value)
        return controls._replace(**changes) if changes else controls

    def _engines(self, engines: EngineControls) -> EngineControls:
        changes: dict[str, Any] = {}
        for name, values in zip(_ENGINES, _engine_values(engines), strict=True):
            for value in values or ():
                if not -_LEVER <= value <= _LEVER:
                    changes[name] = None
                    self.withhold(f'{name} of an engine', value)
                    break
        return replace(engines, **changes) if changes else engines
