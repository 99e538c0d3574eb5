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
Which command of an aircraft moves what, found by moving each.

Commands are those that each aircraft has, and those of its own that nothing in its file writes.
From their effects follows a mixing (loading/controls.py): each control moves the commands that
turn the aircraft about its axis.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from xplane_bridge.common.controls import SURFACES
from xplane_bridge.simulation.aircraft.loading.controls import as_line, Mixing, own_commands
from xplane_bridge.simulation.aircraft.model import Model
from xplane_bridge.simulation.aircraft.state import FACTORS
from xplane_bridge.simulation.aircraft.studies.spare import Spare

# Less than this (m/s2, rad/s2 by the whole command) is nothing.
_LEAST = 1e-3
# A command is of an axis about which it does this much of what it does most, and of what the best
# one does.
_OF_ITS_MOST, _OF_THE_BEST = 0.15, 0.3
# A motor pushes (m/s2) at least this much of what it turns (rad/s2), by its torque; drag is less.
_OF_A_MOTOR = 0.1
_AXES = {'aileron': 'roll', 'elevator': 'pitch', 'rudder': 'yaw'}
_UNITS = {'forward': 'm/s2', 'roll': 'rad/s2', 'pitch': 'rad/s2', 'yaw': 'rad/s2'}


class Effect(NamedTuple):
    """What a whole command adds to accelerations: m/s2 and rad/s2, body axes."""

    forward: float
    roll: float
    pitch: float
    yaw: float

    @property
    def moves_something(self) -> bool:
        """Return whether it adds more than rounding does."""
        return any(abs(one) > _LEAST for one in self)

    def __str__(self) -> str:
        shown = [f'{name} {value:+.3g} {_UNITS[name]}' for name, value in zip(
            self._fields, self, strict=True)
            if abs(value) > max(_LEAST, 0.01 * max(map(abs, self)))]
        return ', '.join(shown) or 'nothing'


def own_effects(model: Model) -> dict[str, Effect]:
    """Return what each command of the aircraft's own does where the model is, by property."""
    return effects(model, [name for name in own_commands(model.loaded)
                           if not model.properties.missing([name])])


def effects(model: Model, commands: list[str]) -> dict[str, Effect]:
    """Return what commands do where a model is placed, by property; they are left as they were."""
    found = {}
    for name in commands:
        was = model.get(name)
        # All the way: a motor that is hardly turned on brakes its propeller.
        step = 1.0 - was if was < 0.5 else -1.0
        rows = []
        for value in (was, was + step, was):
            model.set(name, value)
            model.equilibrate()
            forward, _, _, roll, pitch, yaw = model.accelerations()
            rows.append((forward, roll, pitch, yaw))
        found[name] = Effect(*((b - a) / step for a, b in zip(*rows[:2], strict=True)))
    return found


def idle_surfaces(spare: Spare) -> list[str]:
    """Return which of elevator, aileron and rudder move nothing, trim wheels aside."""
    found = effects(spare.model(), [FACTORS[name][0] for name in SURFACES])
    return [name for name, one in zip(SURFACES, found.values(), strict=True)
            if not one.moves_something]


def propose(found: Mapping[str, Effect]) -> Mixing:
    """Return the mixing that follows from what commands do; without an axis that none moves."""
    motors = {name: 1.0 for name, one in found.items() if one.forward > max(
        _LEAST, _OF_A_MOTOR * max(abs(one.roll), abs(one.pitch), abs(one.yaw)))}
    mixing: dict[str, Mapping[str, float]] = {}
    for control, axis in _AXES.items():
        surfaces = {name: one for name, one in found.items() if name not in motors}
        best = max((abs(getattr(one, axis)) for one in surfaces.values()), default=0.0)
        # A nose that goes up, a right wing that goes down, a nose that goes right.
        shares = {name: 1.0 if getattr(one, axis) > 0.0 else -1.0 for name, one in surfaces.items()
                  if abs(getattr(one, axis)) > max(
                      _LEAST, _OF_THE_BEST * best,
                      _OF_ITS_MOST * max(abs(one.roll), abs(one.pitch), abs(one.yaw)))}
        if shares:
            mixing[control] = shares
    return mixing | ({'throttle': motors} if motors else {})


def proposal(model: Model) -> str:
    """Return what an aircraft's own commands do, and a mixing of them; '' without any."""
    found = {name: one for name, one in own_effects(model).items() if one.moves_something}
    if not found:
        return ''
    moved = '; '.join(f'{name} moves {one}' for name, one in found.items())
    return (f'; its file has commands of its own: {moved}; write controls.yaml beside it, such as '
            f'{as_line(propose(found))}')
