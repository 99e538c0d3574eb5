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

from collections.abc import Mapping, Sequence

from xplane_bridge.simulators.aircraft_state import (
    AILERON_SIGN,
    AircraftState,
    ELEVATOR_SIGN,
    RUDDER_SIGN,
)
from xplane_bridge.simulators.jsbsim_model import Model
from xplane_bridge.simulators.limits import check_finite, clamp

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
    The controls of a model, all at 0 except the mixture, which is rich.

    Values are clamped; what JSBSim does not keep itself is kept here.
    """

    def __init__(self, model: Model) -> None:
        self._model = model
        self._speedbrake = 0.0
        self._brakes = dict.fromkeys(_BRAKES, 0.0)
        self.mixture = [1.0] * model.reader.engine_count
        self.failed: set[int] = set()

    def state(self, time: float) -> AircraftState:
        """Return the state of the model; ``time`` is since the initial state."""
        return self._model.reader.read(time, self._speedbrake, *self._brakes.values())

    def move(self, controls: Mapping[str, float], throttle: Mapping[int, float],
             mixture: Mapping[int, float]) -> None:
        """Move the given controls, throttle and mixture per engine (Aircraft.set_controls)."""
        to = self._model.set
        for name, (node, sign, low) in _CONTROLS.items():
            if name in controls:
                to(node, sign * clamp(controls[name], low, 1.0))
        if 'rudder' in controls:
            to('fcs/steer-cmd-norm', clamp(controls['rudder'], -1.0, 1.0))
        for n, value in throttle.items():
            to(f'fcs/throttle-cmd-norm[{n}]', clamp(value, 0.0, 1.0))
        for n, value in mixture.items():
            self.mixture[n] = clamp(value, 0.0, 1.0)
            if n not in self.failed:
                to(f'fcs/mixture-cmd-norm[{n}]', self.mixture[n])
        if 'speedbrake' in controls:
            self._speedbrake = clamp(controls['speedbrake'], -0.5, 1.5)
            to('fcs/speedbrake-cmd-norm', clamp(controls['speedbrake'], 0.0, 1.0))
        brakes = self._brakes
        brakes.update({
            name: clamp(controls[name], 0.0, 1.0) for name in _BRAKES if name in controls})
        for side in ('left', 'right'):
            to(f'fcs/{side}-brake-cmd-norm',
               max(brakes[f'{side}_brake'], brakes['parking_brake']))

    def fail(self, engine: int | None) -> None:
        """Stop one engine or all: no ignition, no fuel."""
        for n in self._numbers(engine):
            self.failed.add(n)
            self._model.stop(n)

    def restore(self, engine: int | None) -> None:
        """Repair and restart one failed engine, or all of them."""
        for n in self._numbers(engine):
            if n in self.failed:
                self.failed.discard(n)
                self._model.set(f'fcs/mixture-cmd-norm[{n}]', self.mixture[n])
                self._model.start(n)

    def by_engine(self, name: str, value: float | Sequence[float | None] | None,
                  ) -> dict[int, float]:
        """Return the values per engine; those beyond the model's engines are dropped."""
        if value is None:
            return {}
        count = len(self.mixture)
        values = value if isinstance(value, Sequence) else [value] * count
        given = {n: v for n, v in enumerate(values[:count]) if v is not None}
        check_finite(**{f'{name}[{n}]': v for n, v in given.items()})
        return given

    def _numbers(self, engine: int | None) -> range:
        count = len(self.mixture)
        if engine is None:
            return range(count)
        if not 0 <= engine < count:
            raise ValueError(f'engine is {engine}, must be in 0..{count - 1}')
        return range(engine, engine + 1)
