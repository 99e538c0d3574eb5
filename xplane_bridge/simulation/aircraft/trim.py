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
Steady flight: attitude, surfaces and throttle at which nothing accelerates.

JSBSim's own trim fails for gliders and for some engines with a governor; this one is a damped
Gauss-Newton iteration over the model's six accelerations.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
import math

import numpy as np
from numpy.typing import NDArray

from xplane_bridge.common.controls import FLOWN, SURFACES
from xplane_bridge.common.text import counted
from xplane_bridge.simulation.aircraft.geometry import Vector
from xplane_bridge.simulation.aircraft.model import Model, TrimError
from xplane_bridge.simulation.aircraft.state import (
    AILERON_SIGN,
    ELEVATOR_SIGN,
    FOOT,
    RUDDER_SIGN,
    STANDARD_GRAVITY,
)

_Array = NDArray[np.float64]

MOVES_NOTHING, NO_THRUST = 'moves nothing', 'without thrust'
"""What is said of controls that change no acceleration, and of engines."""

# What is searched for, with its limits, its longest step, and that of its derivative. The last
# one is the throttle, or, without an engine or with a given throttle, the flight path angle.
_NAMES = ('angle of attack', 'sideslip', *FLOWN)
_LOW = np.array([-0.3, -0.3, -1.0, -1.0, -1.0, 0.0])
_HIGH = np.array([0.5, 0.3, 1.0, 1.0, 1.0, 1.0])
_LONGEST = np.array([0.1, 0.1, 0.3, 0.3, 0.3, 0.2])
_STEP = np.array([1e-4, 1e-4, 2e-3, 2e-3, 2e-3, 2e-3])
_PATH_ANGLES = (-1.2, 1.2)
# Where the search begins, in turn: from one start the throttle may be clipped to where it changes
# nothing, and the search stays there.
_FIRST_THROTTLES = (0.6, 0.25, 0.9)
_FIRST_GLIDES = (-0.03, -0.1, 0.05)
_FIRST_ANGLES_OF_ATTACK = (0.03, 0.1, 0.0)
_ITERATIONS = 30
_HALVINGS = 6
_SOLVED = 1e-5
# With less (m/s2, rad/s2) left than this it is steady flight.
_AXES = ('forward', 'sideways', 'vertical', 'roll', 'pitch', 'yaw')
_UNITS = ('m/s2',) * 3 + ('rad/s2',) * 3
_ACCEPTED = (0.01, 0.01, 0.01, 0.002, 0.002, 0.002)
# And so much is accepted when so many steps have passed: filters and spools begin to move.
_STEPS = 2
# A control whose full travel changes no acceleration by this (m/s2, rad/s2) moves nothing; an
# engine whose thrust is less than this part of the weight has none.
_MOVES_NOTHING = 1e-3
_LEAST_THRUST = 1e-3
_LASTING = (0.1, 0.1, 0.1, 0.02, 0.02, 0.02)
# Stick or pedals, trim wheel, sign.
_SURFACES = {
    'elevator': ('elevator', 'pitch', ELEVATOR_SIGN),
    'aileron': ('aileron', 'roll', AILERON_SIGN),
    'rudder': ('rudder', 'yaw', RUDDER_SIGN),
}


@dataclass(frozen=True, slots=True)
class Steady:
    """
    Steady flight: m/s and rad; surfaces with the signs of the cockpit, trims included.

    ``residuals`` are the accelerations that are left: forward, right, down in m/s2, and about
    these axes in rad/s2. ``throttle`` is that of all engines, NaN without one. ``wheels`` are the
    surfaces that a trim wheel holds, their control being centred; see hold().
    """

    true_airspeed: float
    angle_of_attack: float
    sideslip: float
    roll: float
    pitch: float
    flight_path_angle: float
    rates: Vector
    elevator: float
    aileron: float
    rudder: float
    throttle: float
    residuals: tuple[float, ...]
    wheels: tuple[str, ...] = ()

    @property
    def commands(self) -> dict[str, float]:
        """Return where stick and pedals are, by surface: 0 where a wheel holds it."""
        return {axis: 0.0 if axis in self.wheels else getattr(self, axis) for axis in SURFACES}

    @property
    def trims(self) -> dict[str, float]:
        """Return where the trim wheels are, by their names in Aircraft.set_controls."""
        return {f'{axis}_trim': getattr(self, axis) if axis in self.wheels else 0.0
                for axis in SURFACES}


def trim(model: Model, flight_path_angle: float = 0.0, bank: float = 0.0,
         throttle: float | None = None) -> Steady:
    """
    Trim a placed model with running engines, in still air, at its initial true airspeed.

    Position, altitude, heading and airspeed are those of its initial conditions; with a bank
    (rad) the flight is a steady turn. Without an engine, or with a given throttle, the flight
    path angle (rad) is found and the given one is only where the search begins. Flaps and gear
    stay. On return the model is in this state, with the trim wheels at 0. Raises TrimError,
    which says what is left over, if there is no steady flight.
    """
    engines = model.reader.engine_count
    search = _TrimSearch(model, flight_path_angle, bank, throttle if engines else math.nan)
    best, left = search.run()
    if over := _beyond(left, _ACCEPTED):
        raise TrimError(search.explained(best, left, over))
    return search.steady(best, left)


def hold(model: Model, steady: Steady) -> Steady:
    """
    Let trim wheels hold what trim() has found and left in the model, where they do the same.

    A wheel may be missing, lead nowhere, or not be the same to a flight control system as the
    stick: that surface stays commanded. Raises TrimError where the flight does not last, since
    such a system works otherwise while time passes. On return the model is in this state.
    """
    before = model.accelerations()

    def moves(wheels: Sequence[str]) -> Steady | None:
        tried = replace(steady, wheels=tuple(wheels))
        _command(model, tried)
        model.equilibrate()
        return None if differ(model.accelerations(), before) else tried

    there = [axis for axis in SURFACES if model.has_trim(axis)]
    held = moves(there) or moves([axis for axis in there if moves([axis])])
    if held is None:
        # Each does alone, and not together.
        held = steady
        _command(model, held)
    model.settle(_STEPS)
    if over := _beyond(model.accelerations(), _LASTING):
        raise TrimError(f'it does not last, as its flight control system moves on: {over}')
    model.equilibrate()
    return held


def differ(some: Sequence[float], others: Sequence[float]) -> str:
    """Return by how much six accelerations differ, '' if not by more than a trim leaves."""
    return _beyond(np.subtract(some, others), _ACCEPTED)


def _command(model: Model, steady: Steady) -> None:
    """Move stick, pedals and trim wheels."""
    for axis, (stick, wheel, sign) in _SURFACES.items():
        model.set(f'fcs/{stick}-cmd-norm', sign * steady.commands[axis])
        model.set(f'fcs/{wheel}-trim-cmd-norm', sign * steady.trims[f'{axis}_trim'])


def _beyond(accelerations: Sequence[float] | _Array, accepted: Sequence[float]) -> str:
    """Return those accelerations that are more than what is accepted, as text."""
    return ', '.join(
        f'{axis} {one:+.3g} {unit}' for axis, unit, one, most in zip(
            _AXES, _UNITS, accelerations, accepted, strict=True) if not abs(one) < most)


class _TrimSearch:
    """The unknowns of one trim, as an array in the order of _NAMES."""

    def __init__(self, model: Model, flight_path_angle: float, bank: float,
                 throttle: float | None) -> None:
        self._model = model
        self._bank = bank
        self._airspeed = model.get('ic/vt-fps') * FOOT
        if self._airspeed <= 0.0:
            raise TrimError('nothing flies without airspeed')
        self._path_angle = flight_path_angle
        # None is searched for; NaN is no engine.
        self._throttle = throttle
        # What is first found to be no number, as a sentence.
        self._no_number = ''
        self._low, self._high = _LOW.copy(), _HIGH.copy()
        self._names = list(_NAMES)
        self._engines = range(model.reader.engine_count)
        firsts: Sequence[float] = _FIRST_THROTTLES
        if throttle is not None:
            self._names[-1] = 'flight path angle'
            self._low[-1], self._high[-1] = _PATH_ANGLES
            firsts = (flight_path_angle or _FIRST_GLIDES[0], *_FIRST_GLIDES[1:])
        self._starts = [np.array([alpha, 0.0, 0.0, 0.0, 0.0, first]) for alpha, first in zip(
            _FIRST_ANGLES_OF_ATTACK, firsts, strict=True)]

    def run(self) -> tuple[_Array, _Array]:
        """Return the best point and its accelerations; the model is left there."""
        found: list[tuple[_Array, _Array]] = []
        for start in self._starts:
            point, left = self._run_from(start)
            if not _beyond(left, _ACCEPTED):
                return point, left
            found.append((point, left))
        point, _ = min(found, key=lambda one: float(np.linalg.norm(one[1])))
        return point, self._accelerations(point)

    def _run_from(self, point: _Array) -> tuple[_Array, _Array]:
        """Return the best point that is found from a start, and its accelerations."""
        left = self._accelerations(point)
        for _ in range(_ITERATIONS):
            if np.linalg.norm(left) < _SOLVED:
                break
            step = np.linalg.lstsq(self._jacobian(point, left), -left, rcond=1e-10)[0]
            step = np.clip(step, -_LONGEST, _LONGEST)
            for halving in range(_HALVINGS):
                tried = np.clip(point + step / 2 ** halving, self._low, self._high)
                found = self._accelerations(tried)
                if np.linalg.norm(found) < np.linalg.norm(left):
                    break
            if not np.linalg.norm(found) < 0.999 * np.linalg.norm(left):
                break
            point, left = tried, found
        return point, self._accelerations(point)

    def _jacobian(self, point: _Array, left: _Array) -> _Array:
        columns = []
        for n, step in enumerate(_STEP):
            moved = point.copy()
            moved[n] += step if point[n] + step <= self._high[n] else -step
            column = (self._accelerations(moved) - left) / (moved[n] - point[n])
            if self._names[n] in SURFACES and np.linalg.norm(column) < _MOVES_NOTHING:
                # It would be moved by what is left of rounding.
                column[:] = 0.0
            columns.append(column)
        return np.array(columns).T

    def _accelerations(self, point: _Array) -> _Array:
        """Return the six accelerations of the model at a point."""
        steady = self.steady(point, ())
        model = self._model
        model.set_initial_motion(
            math.degrees(steady.pitch), math.degrees(steady.roll),
            velocity_through_air(
                steady.true_airspeed, steady.angle_of_attack, steady.sideslip), steady.rates)
        _command(model, steady)
        for engine in self._engines:
            model.set(f'fcs/throttle-cmd-norm[{engine}]', steady.throttle)
            model.set(f'fcs/throttle-pos-norm[{engine}]', steady.throttle)
        model.equilibrate()
        found = np.array(model.accelerations())
        if not np.isfinite(found).all():
            if not self._no_number:
                self._no_number = self._no_numbers(steady, found)
            found = np.nan_to_num(found, nan=1e3, posinf=1e3, neginf=-1e3)
        return found

    def steady(self, point: _Array, left: Sequence[float] | _Array) -> Steady:
        """Return the flight at a point."""
        alpha, beta, elevator, aileron, rudder, last = point.tolist()
        path_angle, throttle = (
            (self._path_angle, last) if self._throttle is None else (last, self._throttle))
        bank = self._bank
        pitch = pitch_angle(alpha, beta, bank, path_angle)
        turn = STANDARD_GRAVITY * math.tan(bank) / (self._airspeed * math.cos(path_angle))
        rates = (-turn * math.sin(pitch), turn * math.cos(pitch) * math.sin(bank),
                 turn * math.cos(pitch) * math.cos(bank))
        return Steady(
            self._airspeed, alpha, beta, bank, pitch, path_angle, rates, elevator, aileron,
            rudder, throttle, tuple(map(float, left)))

    def explained(self, point: _Array, left: _Array, over: str) -> str:
        """Return why there is no steady flight: what is left over at the best point, and why."""
        if self._no_number:
            return self._no_number
        idle = [] if self._throttle is not None else self._idle_engines(point)
        # In a column of the throttle is what engines do; those have a sentence of their own.
        slopes = np.linalg.norm(self._jacobian(point, left), axis=0)
        dead = [name for name, slope in zip(FLOWN, slopes[-len(FLOWN):], strict=True)
                if slope < _MOVES_NOTHING and (name != 'throttle' or self._throttle is None)]
        stops = [f'{name} {value:.2f}' for name, value, low, high in zip(
            self._names, point, self._low, self._high, strict=True)
            if value in (low, high) and name not in dead and not (idle and name == 'throttle')]
        sentences = [f'accelerations left: {over}']
        if idle:
            sentences.append(
                f'{counted(len(idle), "engine")} of {len(self._engines)} {NO_THRUST} at full '
                f'throttle and this airspeed: number {", ".join(map(str, idle))}')
            dead = [name for name in dead if name != 'throttle']
        if dead:
            sentences.append(f'{MOVES_NOTHING}: {", ".join(dead)}')
        if stops:
            sentences.append(f'at its stop: {", ".join(stops)}')
        return '; '.join(sentences)

    def _idle_engines(self, point: _Array) -> list[int]:
        """Return the numbers of engines (from 0) that make no thrust at full throttle."""
        full = point.copy()
        full[-1] = self._high[-1]
        self._accelerations(full)
        weight = self._model.get('inertia/weight-lbs')
        idle = [n for n in self._engines if not self._model.get(
            f'propulsion/engine[{n}]/thrust-lbs') > _LEAST_THRUST * weight]
        self._accelerations(point)
        return idle

    def _no_numbers(self, steady: Steady, found: _Array) -> str:
        """Return the sentence of a point at which there are accelerations that are no numbers."""
        axes = ', '.join(axis for axis, one in zip(_AXES, found, strict=True)
                         if not math.isfinite(one))
        thrusts = [self._model.get(f'propulsion/engine[{n}]/thrust-lbs') for n in self._engines]
        broken = [str(n) for n, thrust in enumerate(thrusts) if not math.isfinite(thrust)]
        return (f'no number as acceleration {axes} at throttle {steady.throttle:.2f}, angle of '
                f'attack {steady.angle_of_attack:.2f} rad'
                + (f': so is the thrust of engine {", ".join(broken)}' if broken else ''))


def velocity_through_air(airspeed: float, alpha: float, beta: float) -> Vector:
    """Return the velocity forward, right, down."""
    return (airspeed * math.cos(alpha) * math.cos(beta), airspeed * math.sin(beta),
            airspeed * math.sin(alpha) * math.cos(beta))


def pitch_angle(alpha: float, beta: float, bank: float, path_angle: float) -> float:
    """
    Return the pitch at which the flow's angles and a bank give a flight path angle, all in rad.

    Stevens and Lewis, Aircraft Control and Simulation, "rate of climb constraint".
    """
    a = math.cos(alpha) * math.cos(beta)
    b = math.sin(bank) * math.sin(beta) + math.cos(bank) * math.sin(alpha) * math.cos(beta)
    sine = math.sin(path_angle)
    root = math.sqrt(max(a * a - sine * sine + b * b, 0.0))
    return math.atan2(a * b + sine * root, a * a - sine * sine)
