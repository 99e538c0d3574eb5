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

"""The cockpit of a JSBSim model: positions of its controls, and failed engines."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
import math

from xplane_bridge.common.controls import SURFACES
from xplane_bridge.simulation.aircraft.airframe.engine_switches import MAGNETOS_BOTH
from xplane_bridge.simulation.aircraft.limits import check_finite, check_number, clamp
from xplane_bridge.simulation.aircraft.model import Model
from xplane_bridge.simulation.aircraft.state import (
    AILERON_SIGN,
    AircraftState,
    ELEVATOR_SIGN,
    RUDDER_SIGN,
)

# Control -> (JSBSim property, sign, lowest value).
_CONTROLS = {
    'elevator': ('fcs/elevator-cmd-norm', ELEVATOR_SIGN, -1.0),
    'aileron': ('fcs/aileron-cmd-norm', AILERON_SIGN, -1.0),
    'rudder': ('fcs/rudder-cmd-norm', RUDDER_SIGN, -1.0),
    'elevator_trim': ('fcs/pitch-trim-cmd-norm', ELEVATOR_SIGN, -1.0),
    'aileron_trim': ('fcs/roll-trim-cmd-norm', AILERON_SIGN, -1.0),
    'rudder_trim': ('fcs/yaw-trim-cmd-norm', RUDDER_SIGN, -1.0),
    'flaps': ('fcs/flap-cmd-norm', 1.0, 0.0),
    'gear': ('gear/gear-cmd-norm', 1.0, 0.0),
}
_BRAKES = ('left_brake', 'right_brake', 'parking_brake')


class Cockpit:
    """
    The controls of a model, all at 0 except mixtures, which are rich, and propellers, fine.

    ``magnetos`` and ``starters`` are those of the piston engines, by their numbers.
    Values are clamped; what JSBSim does not keep itself is kept here.
    """

    def __init__(self, model: Model) -> None:
        self._model = model
        self.speedbrake = 0.0
        self._brakes = dict.fromkeys(_BRAKES, 0.0)
        engines = range(model.reader.engine_count)
        self.mixture = [1.0 for _ in engines]
        setter = model.setter
        self._controls = {
            name: (setter(node), sign, low) for name, (node, sign, low) in _CONTROLS.items()}
        self._surfaces = tuple(self._controls[name][0] for name in SURFACES)
        self._steer = setter('fcs/steer-cmd-norm')
        self._throttle: list[Callable[[float], object]] = [
            setter(f'fcs/throttle-cmd-norm[{n}]') for n in engines]
        self._mixture = [setter(f'fcs/mixture-cmd-norm[{n}]') for n in engines]
        self._propeller = [setter(f'fcs/advance-cmd-norm[{n}]') for n in engines]
        for fine in self._propeller:
            fine(1.0)
        self._set_speedbrake = setter('fcs/speedbrake-cmd-norm')
        self._set_brakes = tuple(
            (f'{side}_brake', setter(f'fcs/{side}-brake-cmd-norm')) for side in ('left', 'right'))
        self.magnetos = dict.fromkeys(sorted(model.pistons), MAGNETOS_BOTH)
        self.starters = dict.fromkeys(self.magnetos, False)
        self.failed: set[int] = set()
        # Throttles of failed engines that nothing else stops: what they are commanded meanwhile.
        self._cut: dict[int, float] = {}

    def state(self, time: float) -> AircraftState:
        """Return the state of the model; ``time`` is since the initial state."""
        return self._model.reader.read(time, self.speedbrake, *self._brakes.values())

    def move(self, controls: Mapping[str, float], throttle: Mapping[int, float],
             mixture: Mapping[int, float], propeller: Mapping[int, float] | None = None,
             ) -> None:
        """Move the given controls, and levers per engine (Aircraft.set_controls)."""
        for name, value in controls.items():
            if name in self._controls:
                to, sign, low = self._controls[name]
                to(sign * clamp(value, low, 1.0))
            elif name in self._brakes:
                self._brakes[name] = clamp(value, 0.0, 1.0)
        if 'rudder' in controls:
            self._steer(clamp(controls['rudder'], -1.0, 1.0))
        for levers, values in (
                (self._throttle, throttle), (self._propeller, propeller or {})):
            for n, value in values.items():
                levers[n](clamp(value, 0.0, 1.0))
        if mixture:
            self._mix(mixture)
        if 'speedbrake' in controls:
            # -0.5 is armed; what is written below it is read back by NASA's tests of X-Plane.
            self.speedbrake = clamp(controls['speedbrake'], -1.5, 1.5)
            self._set_speedbrake(clamp(controls['speedbrake'], 0.0, 1.0))
        if not self._brakes.keys().isdisjoint(controls):
            self._brake()

    def fly_by(self, elevator: float, aileron: float, rudder: float, throttle: float) -> None:
        """Move the surfaces, and the throttles of all engines."""
        if not (-1.0 <= elevator <= 1.0 and -1.0 <= aileron <= 1.0 and -1.0 <= rudder <= 1.0
                and 0.0 <= throttle <= 1.0):
            elevator, aileron, rudder = (
                clamp(value, -1.0, 1.0) for value in (elevator, aileron, rudder))
            throttle = clamp(throttle, 0.0, 1.0)
        to_elevator, to_aileron, to_rudder = self._surfaces
        to_elevator(ELEVATOR_SIGN * elevator)
        to_aileron(AILERON_SIGN * aileron)
        to_rudder(RUDDER_SIGN * rudder)
        self._steer(rudder)
        for to in self._throttle:
            to(throttle)

    def _mix(self, mixture: Mapping[int, float]) -> None:
        for n, value in mixture.items():
            self.mixture[n] = clamp(value, 0.0, 1.0)
            if n not in self.failed:
                self._mixture[n](self.mixture[n])

    def _brake(self) -> None:
        parking = self._brakes['parking_brake']
        for name, to in self._set_brakes:
            to(max(self._brakes[name], parking))

    def set_magnetos(self, engine: int, position: int) -> None:
        """Turn the magnetos of a piston engine; those of a failed one give no spark."""
        self.magnetos[engine] = position
        if engine not in self.failed:
            self._model.engines.set_magnetos(engine, position)

    def set_starter(self, engine: int, on: bool) -> None:
        """Let the starter of a piston engine turn it, or not."""
        self.starters[engine] = on
        self._model.engines.set_starter(engine, on)

    def fail(self, engine: int | None) -> None:
        """Stop one engine or all: no ignition, no fuel."""
        for n in self._numbers(engine):
            self.failed.add(n)
            self._model.engines.stop(n)
            if n in self._model.throttled and n not in self._cut:
                self._cut[n] = self._model.reader.throttles()[n]
                self._throttle[n](0.0)
                self._throttle[n] = partial(self._cut.__setitem__, n)

    def restore(self, engine: int | None) -> None:
        """Repair and restart one failed engine, or all of them."""
        for n in self._numbers(engine):
            if n in self.failed:
                self.failed.discard(n)
                if n in self._cut:
                    self._throttle[n] = self._model.setter(f'fcs/throttle-cmd-norm[{n}]')
                    self._throttle[n](self._cut.pop(n))
                self._model.set(f'fcs/mixture-cmd-norm[{n}]', self.mixture[n])
                if len(self.mixture) == 1:
                    self._model.engines.start(n)
                # Of several, JSBSim would look for a new steady state of the others too.
                self._model.engines.restart(n)
                if n in self.magnetos:
                    self._model.engines.set_magnetos(n, self.magnetos[n])

    def set_failed(self, engines: bool | Sequence[int]) -> None:
        """Fail all engines, none, or those with these numbers, and restore the others."""
        count = len(self.mixture)
        if isinstance(engines, bool):
            engines = range(count) if engines else ()
        if missing := [n for n in engines if not 0 <= n < count]:
            raise ValueError(
                f'there is no engine {missing[0]}: this aircraft has {count}, counted from 0')
        for n in range(count):
            if n not in engines:
                self.restore(n)
            elif n not in self.failed:
                self.fail(n)

    def by_engine(self, name: str, value: float | Sequence[float | None] | None,
                  ) -> dict[int, float]:
        """Return the values per engine; those beyond the model's engines are dropped."""
        if value is None:
            return {}
        count = len(self.mixture)
        values = value if isinstance(value, Sequence) else [value] * count
        given = {n: v for n, v in enumerate(values[:count]) if v is not None}
        if not all(map(math.isfinite, given.values())):
            check_finite(**{f'{name}[{n}]': v for n, v in given.items()})
        return given

    def _numbers(self, engine: int | None) -> range:
        count = len(self.mixture)
        if engine is None:
            return range(count)
        check_number('engine', engine, count)
        return range(engine, engine + 1)
