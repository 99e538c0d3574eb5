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


"""Whole poses for X-Plane: what a command does not set keeps its current value."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
import math

from xplane_bridge.bridges.conversions import axes
from xplane_bridge.bridges.conversions.geoid import ellipsoid_to_msl, Undulation
from xplane_bridge.bridges.conversions.vehicle import VehicleState
from xplane_bridge.common.units import DEGREE

_ANGLES = ('roll', 'pitch', 'true_heading')

# Degrees, metres above the ellipsoid, radians: X-Plane has no positions or attitudes beyond.
_LIMITS = {
    'latitude': (-90.0, 90.0),
    'longitude': (-180.0, 180.0),
    'altitude': (-12_000.0, 200_000.0),
    'roll': (-math.pi, math.pi),
    'pitch': (-math.pi / 2.0, math.pi / 2.0),
    'true_heading': (-math.tau, math.tau),
}


def check_pose(given: Mapping[str, float]) -> None:
    """Raise ValueError for a value that no aircraft of X-Plane has."""
    for name, value in given.items():
        low, high = _LIMITS[name]
        if not low <= value <= high:
            raise ValueError(f'{name} {value:g} is not in {low:g} .. {high:g}')


class Poses:
    """
    Completes poses, and converts them to X-Plane's units.

    ``last_state`` returns the current state. Raises ValueError where that is needed, but no
    telemetry arrives.
    """

    def __init__(
        self, undulation: Undulation, last_state: Callable[[], VehicleState | None]
    ) -> None:
        self._undulation = undulation
        self._last_state = last_state

    def position(self, given: Mapping[str, float]) -> tuple[float, float, float]:
        """Return latitude and longitude in degrees and the altitude above mean sea level."""
        flown: dict[str, float] = {}
        state = self._last_state()
        if state is not None:
            flown = {'latitude': state.latitude_deg, 'longitude': state.longitude_deg}
        lat, lon = _complete(('latitude', 'longitude'), given, flown)
        if 'altitude' not in given and state is not None:
            return lat, lon, state.altitude_msl
        altitude, = _complete(('altitude',), given, {})
        return lat, lon, ellipsoid_to_msl(altitude, self._undulation.height_m(lat, lon))

    def attitude(self, given: Mapping[str, float]) -> tuple[float, float, float]:
        """Return roll, pitch and heading in degrees."""
        flown: dict[str, float] = {}
        state = self._last_state()
        if state is not None and state.orientation is not None:
            flown = dict(zip(_ANGLES, axes.quaternion_to_euler(
                axes.enu_flu_to_ned_frd(state.orientation)), strict=True))
        roll, pitch, heading = _complete(_ANGLES, given, flown)
        return roll / DEGREE, pitch / DEGREE, heading / DEGREE % 360.0

    def airspeed(self) -> float:
        """Return the speed to start a flight with: the current airspeed."""
        state = self._last_state()
        speed = None if state is None or state.air is None else state.air.true_airspeed
        return 0.0 if speed is None else max(speed, 0.0)


def _complete(
    names: Sequence[str], given: Mapping[str, float], flown: Mapping[str, float]
) -> list[float]:
    """Return the values of these names, as given or from the current state."""
    if missing := [name for name in names if name not in given and name not in flown]:
        raise ValueError(
            f'{", ".join(name.upper() for name in missing)} not set, so the current value is '
            'needed, but no telemetry arrives')
    return [given[name] if name in given else flown[name] for name in names]
