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

"""A second model like that of a flying aircraft, to try things on without disturbing it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
import math

from xplane_bridge.simulation.aircraft.aircraft import Aircraft
from xplane_bridge.simulation.aircraft.cockpit import Cockpit
from xplane_bridge.simulation.aircraft.model import Model
from xplane_bridge.simulation.aircraft.state import AircraftState


@dataclass(frozen=True, slots=True)
class Spare:
    """
    What a model like that of an aircraft in ``state`` is made of.

    ``load`` loads another one; ``propeller`` are the levers' positions. ``name`` is the model's.
    """

    name: str
    load: Callable[[], Model]
    state: AircraftState
    propeller: tuple[float, ...]

    def model(self) -> Model:
        """
        Return a model placed there, in still air, with the same fuel, flaps, gear and levers.

        Its engines run if the aircraft's do, and have reached no speed yet.
        """
        model, state = self.load(), self.state
        cockpit = Cockpit(model)
        model.set_initial_conditions(
            state.lat_deg, state.lon_deg, state.terrain_msl, state.altitude_msl,
            math.degrees(state.psi))
        model.set_initial_motion(
            math.degrees(state.theta), math.degrees(state.phi), (state.tas, 0.0, 0.0),
            (0.0, 0.0, 0.0))
        model.initialise()
        for tank, mass in enumerate(state.fuel):
            model.set_fuel(tank, mass)
        engines = state.engines
        cockpit.move(
            {name: getattr(state, name) for name in (
                'elevator', 'aileron', 'rudder', 'elevator_trim', 'aileron_trim', 'rudder_trim',
                'flaps', 'gear', 'speedbrake')},
            dict(enumerate(engine.throttle for engine in engines)),
            dict(enumerate(engine.mixture for engine in engines)))
        model.set('gear/gear-pos-norm', state.gear_position)
        model.set('fcs/flap-pos-norm', state.flaps_position)
        for number, (engine, lever) in enumerate(zip(engines, self.propeller, strict=True)):
            model.set(f'fcs/advance-cmd-norm[{number}]', lever)
            if engine.running:
                model.engines.start(number)
        return model


def make_spare(aircraft: Aircraft) -> Spare:
    """
    Return what a model like an aircraft's is made of, in its current state.

    It has the aircraft's plant, but for delays and rates.
    """
    return Spare(
        aircraft.model, partial(Model, aircraft.model, aircraft.dt, aircraft.seed,
                                aircraft.aircraft_path, dict(aircraft.settings),
                                plant=aircraft.initial.plant.without_actuators(),
                                controls=aircraft.initial.controls),
        aircraft.state, tuple(engine.propeller for engine in aircraft.state.engines))
