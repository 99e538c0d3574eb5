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

from xplane_bridge.common.fields import declared, REQUIRED
from xplane_bridge.simulation.aircraft.loading import parameter_file

GROUP = 'performance'
"""Its parameters in the file of an aircraft, beside gains and envelope."""


@dataclass(frozen=True, slots=True)
class Performance:
    """
    Speeds (calibrated), attitudes and controls of take-off and landing.

    There are no defaults: no aircraft takes off and lands by numbers of another one.
    laboratory/envelope/runway_performance.py finds them.
    """

    rest_height: float = declared(
        REQUIRED, 'of the centre of gravity above the ground, standing', unit='m')
    wheels_forward: float = declared(
        REQUIRED, 'where the main wheels are, ahead of the centre of gravity', unit='m')
    wheels_down: float = declared(REQUIRED, 'the same, below it', unit='m')
    rest_pitch: float = declared(REQUIRED, 'the pitch, standing', unit='rad')
    touch_down_pitch: float = declared(
        REQUIRED, 'with which all wheels touch a runway together, unloaded', unit='rad')
    highest_pitch: float = declared(
        REQUIRED, 'with which something else than the main wheels touches it', unit='rad')
    steering: float = declared(
        REQUIRED, 'the yaw rate per ground speed with full rudder, at taxi speed', unit='1/m')
    stall_speed: float = declared(REQUIRED, 'with the flaps of take-off', unit='m/s')
    landing_stall_speed: float = declared(REQUIRED, 'with the flaps of landing', unit='m/s')
    rotation_speed: float = declared(
        REQUIRED, 'at which the nose is raised; above the stall', unit='m/s')
    climb_speed: float = declared(
        REQUIRED, 'of the climb after a take-off; above the stall', unit='m/s')
    pattern_speed: float = declared(
        REQUIRED, 'in the traffic pattern; above the stall', unit='m/s')
    approach_speed: float = declared(
        REQUIRED, 'of the approach; above the stall with the flaps of landing', unit='m/s')
    climb_pitch: float = declared(
        REQUIRED, 'which climbs at `climb_speed` with full throttle', unit='rad')
    take_off_flaps: float = declared(REQUIRED, 'of take-off, as a ratio')
    landing_flaps: float = declared(REQUIRED, 'of landing, as a ratio')

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
