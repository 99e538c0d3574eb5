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
From their effects follows a mixing (controls.py): each control moves the commands that turn the
aircraft about its axis. Where that is not ambiguous, an aircraft is flown by it without a file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
import threading
from typing import NamedTuple, Protocol

from xplane_bridge.common.controls import SURFACES
from xplane_bridge.simulation.aircraft.loading.controls import (
    as_line,
    COMMANDED,
    Mixing,
    own_commands,
)
from xplane_bridge.simulation.aircraft.loading.files import AircraftFiles, CONTROLS_FILE, Origin
from xplane_bridge.simulation.aircraft.loading.properties import Properties

# Less than this (m/s2, rad/s2 by the whole command) is nothing.
_LEAST = 1e-3
# An axis about which a command turns less than this of its most is a side effect; and it is of no
# axis about which it does less than that part of what the best one does.
_OF_ITS_MOST, _OF_THE_BEST = 0.15, 0.3
# What each aircraft has moves nothing where it does less than this part of what its own do:
# engines are not quite at rest.
_IDLE = 0.05
# A motor pushes (m/s2) at least this much of what it turns (rad/s2), by its torque; drag is less.
_OF_A_MOTOR = 0.1
# Two are a pair, left and right, where their effects are each other's mirror image to this part;
# to the second one it is clear.
_PAIRED, _MIRRORED = 0.4, 0.05
# It is clear which axis one is of where it does so many times as much for it as for another, in
# what the best ones do; and those of an axis do as much as each other, to this part.
_CLEAR, _ALIKE = 1.5, 0.01
_AXES = {'aileron': 'roll', 'elevator': 'pitch', 'rudder': 'yaw'}
_UNITS = {'forward': 'm/s2', 'roll': 'rad/s2', 'pitch': 'rad/s2', 'yaw': 'rad/s2'}
_MOST_KNOWN = 64

_known: dict[Origin, Mixing] = {}
_lock = threading.Lock()


class Movable(Protocol):
    """A model of JSBSim in the air, whose commands are moved: model.Model is one."""

    loaded: AircraftFiles
    properties: Properties
    get: Callable[[str], float]
    set: Callable[[str, float], object]

    def equilibrate(self) -> None:
        """Let engines and surfaces reach their commands."""

    def accelerations(self) -> tuple[float, ...]:
        """Return the derivatives of u, v, w in m/s2 and of p, q, r in rad/s2."""


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

    @property
    def most_turned(self) -> float:
        """Return the largest of what it does about the axes, in rad/s2."""
        return max(abs(self.roll), abs(self.pitch), abs(self.yaw))

    def __str__(self) -> str:
        shown = [f'{name} {value:+.3g} {_UNITS[name]}' for name, value in zip(
            self._fields, self, strict=True)
            if abs(value) > max(_LEAST, 0.01 * max(map(abs, self)))]
        return ', '.join(shown) or 'nothing'


def own_effects(model: Movable) -> dict[str, Effect]:
    """Return what each command of the aircraft's own does where the model is, by property."""
    return effects(model, [name for name in own_commands(model.loaded)
                           if not model.properties.missing([name])])


def effects(model: Movable, commands: Iterable[str]) -> dict[str, Effect]:
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


def idle_surfaces(model: Movable) -> list[str]:
    """Return which of elevator, aileron and rudder move nothing, trim wheels aside."""
    found = effects(model, [COMMANDED[name][0] for name in SURFACES])
    return [name for name, one in zip(SURFACES, found.values(), strict=True)
            if not one.moves_something]


class _Surface(NamedTuple):
    """Commands that move as one: a single one, or both of a pair together or apart."""

    turns: Mapping[str, float]
    shares: Mapping[str, float]
    is_clear: bool = True

    @property
    def most(self) -> float:
        """Return the largest of what it does about the axes, in rad/s2."""
        return max(map(abs, self.turns.values()))


def _unlike(one: Effect, other: Effect) -> float:
    """Return how far two are from being left and right, as a part of what they do most."""
    if max(abs(one.roll), abs(one.yaw)) < _OF_ITS_MOST * one.most_turned:
        return 1.0
    return max(abs(one.roll + other.roll), abs(one.pitch - other.pitch), abs(
        one.yaw + other.yaw)) / max(one.most_turned, other.most_turned)


def _surfaces(found: Mapping[str, Effect]) -> list[_Surface]:
    """Return what moves as one; the two of a pair do together what both do, and apart."""
    surfaces, left = [], dict(found)
    while left:
        name, one = left.popitem()
        unlike = {other: _unlike(one, its) for other, its in left.items()}
        partner = min(unlike, key=unlike.__getitem__, default='')
        if unlike.get(partner, 1.0) > _PAIRED:
            surfaces.append(_Surface(
                {axis: getattr(one, axis) for axis in _AXES.values()}, {name: 1.0}))
            continue
        del left[partner]
        is_clear = unlike[partner] < _MIRRORED
        if abs(one.pitch) > _OF_ITS_MOST * one.most_turned:
            surfaces.append(_Surface(
                {'pitch': one.pitch}, {partner: 1.0, name: 1.0}, is_clear))
        surfaces.append(_Surface(
            {'roll': -one.roll, 'yaw': -one.yaw}, {partner: 1.0, name: -1.0}, is_clear))
    return surfaces[::-1]


def assigned(found: Mapping[str, Effect]) -> tuple[Mixing, set[str]]:
    """
    Return the mixing that follows from what commands do, and those of its controls in doubt.

    It lacks an axis that none moves.
    """
    motors = {name: one for name, one in found.items() if one.forward > max(
        _LEAST, _OF_A_MOTOR * one.most_turned)}
    surfaces = _surfaces({name: one for name, one in found.items() if name not in motors})
    best = {axis: max([_LEAST, *(abs(one.turns.get(axis, 0.0)) for one in surfaces)])
            for axis in _AXES.values()}
    of_axis: dict[str, list[_Surface]] = {axis: [] for axis in best}
    doubtful = set()
    for one in surfaces:
        # In what the best of an axis do.
        parts = sorted(((abs(turn) / best[axis], axis) for axis, turn in one.turns.items()
                        if abs(turn) > max(_LEAST, _OF_ITS_MOST * one.most)), reverse=True)
        if not parts:
            continue
        (most, axis), *others = parts
        doubtful |= {axis, other} if (other := next((
            name for part, name in others if part > most / _CLEAR), '')) else set()
        if not one.is_clear or _OF_THE_BEST / _CLEAR < most < 1.0 - _ALIKE:
            doubtful.add(axis)
        if most > _OF_THE_BEST:
            of_axis[axis].append(one)
    mixing: dict[str, Mapping[str, float]] = {}
    for control, axis in _AXES.items():
        if len({one.turns[axis] > 0.0 for one in of_axis[axis] if len(one.shares) == 1}) > 1:
            # They work against each other.
            doubtful.add(axis)
        if of_axis[axis]:
            # A nose that goes up, a right wing that goes down, a nose that goes right.
            mixing[control] = {
                name: share if one.turns[axis] > 0.0 else -share
                for one in of_axis[axis] for name, share in one.shares.items()}
    pushes = [one.forward for one in motors.values()]
    if pushes:
        mixing['throttle'] = dict.fromkeys(motors, 1.0)
        if min(pushes) < (1.0 - _ALIKE) * max(pushes):
            doubtful.add('forward')
    return mixing, {name for name in mixing if _AXES.get(name, 'forward') in doubtful}


def proposal(model: Movable) -> str:
    """Return what an aircraft's own commands do, and a mixing of them; '' without any."""
    found = {name: one for name, one in own_effects(model).items() if one.moves_something}
    if not found:
        return ''
    moved = '; '.join(f'{name} moves {one}' for name, one in found.items())
    return (f'; its file has commands of its own: {moved}; write {CONTROLS_FILE} beside it, such '
            f'as {as_line(assigned(found)[0])}')


def find(files: AircraftFiles, place: Callable[[], Movable]) -> Mixing:
    """
    Return what moves an aircraft where the commands that each has do not; {} if that is not clear.

    ``place`` returns its model in the air, with its engines running, and without a mixing. What is
    found is kept as long as its files stay.
    """
    key = Origin.of(files)
    with _lock:
        if key in _known:
            return _known[key]
    found = _find(files, place)
    with _lock:
        while len(_known) >= _MOST_KNOWN:
            del _known[next(iter(_known))]
        _known[key] = found
    return found


def _find(files: AircraftFiles, place: Callable[[], Movable]) -> Mixing:
    if not own_commands(files):
        return {}
    try:
        model = place()
        known = effects(model, [COMMANDED[name][0] for name in COMMANDED])
        own = {name: one for name, one in own_effects(model).items() if one.moves_something}
    except (ValueError, RuntimeError):
        # Whoever flies it says why it cannot.
        return {}
    proposed, doubtful = assigned(own)
    moved = set()
    for name, one in zip(COMMANDED, known.values(), strict=True):
        axis = _AXES.get(name, 'forward')
        best = max((abs(getattr(its, axis)) for its in own.values()), default=0.0)
        if abs(getattr(one, axis)) > max(_LEAST, _IDLE * best):
            moved.add(name)
    mixing = {name: row for name, row in proposed.items() if name not in moved}
    # Without the first two nothing is flown.
    return mixing if {'elevator', 'aileron'} <= moved | mixing.keys() and (
        doubtful.isdisjoint(mixing)) else {}
