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

"""Quantities to the common state of a vehicle, from which the common topics are published."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
import math
from typing import Any

from numpy.typing import NDArray

from xplane_bridge.bridges.conversions import axes
from xplane_bridge.bridges.conversions.axes import Vector
from xplane_bridge.bridges.conversions.geoid import Undulation
from xplane_bridge.bridges.conversions.topics import AIR
from xplane_bridge.bridges.conversions.vehicle import Air, VehicleState
from xplane_bridge.bridges.ulyssix.conversion.quantities import AXES

_RATES = tuple(f'angular_velocity_{axis}' for axis in AXES)
_FORCE = tuple(f'linear_acceleration_{axis}' for axis in AXES)
_ATTITUDE = ('roll', 'pitch', 'heading')
_VELOCITY = ('velocity_east', 'velocity_north', 'velocity_up')
_PLACE = ('latitude', 'longitude')
_PLACES = tuple((*_PLACE, altitude) for altitude in ('altitude_msl', 'altitude_ellipsoid'))

NEEDED: dict[str, tuple[tuple[tuple[str, ...], ...], tuple[str, ...]]] = {
    'fix': (_PLACES, ()),
    'fix_velocity': ((_VELOCITY,), ()),
    'imu/data': ((_RATES, _FORCE, _ATTITUDE), ()),
    'odom': (tuple((*place, *_ATTITUDE) for place in _PLACES), (*_VELOCITY, *_RATES)),
    'air_data': (tuple((name,) for name in AIR), ()),
}
"""The quantities of each topic: one of these sets is required, the others are optional."""


def fed_topics(quantities: Collection[str]) -> tuple[str, ...]:
    """Return the topics for which there are enough quantities."""
    return tuple(topic for topic, (required, _) in NEEDED.items() if any(
        all(name in quantities for name in names) for names in required))


def states(
    times: NDArray[Any], values: Mapping[str, NDArray[Any]], undulation: Undulation
) -> Iterator[tuple[int, VehicleState]]:
    """Yield time in ns and state at each of the times; NaN in ``values`` is unknown."""
    names = tuple(values)
    for time, row in zip(times.tolist(), zip(*(
            column.tolist() for column in values.values()), strict=True), strict=True):
        yield time, _state(dict(zip(names, row, strict=True)), undulation)


def _state(given: Mapping[str, float], undulation: Undulation) -> VehicleState:
    attitude = _vector(given, _ATTITUDE)
    latitude, longitude = (given.get(name, math.nan) for name in _PLACE)
    altitude = given.get('altitude_msl', math.nan)
    if math.isnan(altitude) and not math.isnan(latitude + longitude):
        height = given.get('altitude_ellipsoid', math.nan)
        altitude = height - undulation.height_m(latitude, longitude)
    if math.isnan(latitude + longitude + altitude):
        latitude = longitude = altitude = math.nan
    air: dict[str, Any] = {
        name: given[name] for name in AIR if not math.isnan(given.get(name, math.nan))}
    return VehicleState(
        latitude, longitude, altitude,
        orientation=None if attitude is None else axes.ned_frd_to_enu_flu(
            axes.euler_to_quaternion(*attitude)),
        angular_velocity=_vector(given, _RATES),
        specific_force=_vector(given, _FORCE),
        velocity=_vector(given, _VELOCITY),
        air=Air(**air) if air else None,
    )


def _vector(given: Mapping[str, float], names: tuple[str, ...]) -> Vector | None:
    x, y, z = (given.get(name, math.nan) for name in names)
    return None if math.isnan(x + y + z) else (x, y, z)
