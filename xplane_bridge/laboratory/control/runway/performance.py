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
"""What of an aircraft's performance its take-offs and landings need, and the files with it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
import math
from pathlib import Path

from xplane_bridge.simulation.aircraft.loading import parameter_file

GROUP = 'performance'
"""Its parameters in the file of an aircraft, beside gains and envelope."""


@dataclass(frozen=True, slots=True)
class Performance:
    """
    Speeds (m/s, calibrated), attitudes (rad) and controls of take-off and landing.

    ``rest_height`` (m) is that of the centre of gravity above the ground and ``rest_pitch`` the
    pitch, both standing; the main wheels are ``wheels_forward`` and ``wheels_down`` (m) of the
    centre of gravity. With ``touch_down_pitch`` all wheels touch a runway together, unloaded, and
    with ``highest_pitch`` something else than the main wheels. ``steering`` (1/m) is the yaw rate
    per ground speed with full rudder, at taxi speed. ``climb_pitch`` climbs at climb_speed with
    full throttle. There are no defaults: no aircraft takes off and lands by numbers of another
    one. laboratory/envelope/runway_performance.py finds them.
    """

    rest_height: float
    wheels_forward: float
    wheels_down: float
    rest_pitch: float
    touch_down_pitch: float
    highest_pitch: float
    steering: float
    stall_speed: float
    landing_stall_speed: float
    rotation_speed: float
    climb_speed: float
    pattern_speed: float
    approach_speed: float
    climb_pitch: float
    take_off_flaps: float
    landing_flaps: float

    def __post_init__(self) -> None:
        for item in fields(self):
            value = getattr(self, item.name)
            if not math.isfinite(value):
                raise ValueError(f'{GROUP}.{item.name} is {value}, expected a finite number')
        for name in ('rest_height', 'steering', 'stall_speed', 'landing_stall_speed'):
            if not getattr(self, name) > 0.0:
                raise ValueError(f'{GROUP}.{name} is {getattr(self, name):g}, expected above 0')
        for name, stall in (
                ('rotation_speed', self.stall_speed), ('climb_speed', self.stall_speed),
                ('pattern_speed', self.stall_speed),
                ('approach_speed', self.landing_stall_speed)):
            if not getattr(self, name) > stall:
                raise ValueError(f'{GROUP}.{name} is {getattr(self, name):g} m/s, expected '
                                 f'above the stall at {stall:g} m/s')

    @property
    def has_tail_wheel(self) -> bool:
        """Return whether it stands on a tail wheel: nose up by more than a nose wheel lets it."""
        return self.rest_pitch > _TAIL_WHEEL


# Standing with this pitch (rad) an aircraft has a tail wheel.
_TAIL_WHEEL = math.radians(6.0)


def load(model: str | Path) -> Performance | None:
    """
    Return the performance in the file of an aircraft (see gains.load); None if it has none.

    Raises ValueError if some of it is missing, unknown or impossible.
    """
    return from_numbers(parameter_file.numbers(
        parameter_file.read(model), GROUP, [item.name for item in fields(Performance)]))


def from_numbers(given: Mapping[str, float]) -> Performance | None:
    """Return the performance by its names, None for none; ValueError if some are missing."""
    if not given:
        return None
    if missing := [item.name for item in fields(Performance) if item.name not in given]:
        raise ValueError(f'{GROUP}: {", ".join(missing)} missing: make the file again (tune)')
    return Performance(**given)
