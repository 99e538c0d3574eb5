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

"""An aircraft in steady flight, for studies of it; no flying one is needed."""

from __future__ import annotations

from functools import partial

from xplane_bridge.simulation.aircraft.initial import Initial
from xplane_bridge.simulation.aircraft.loading.control_effects import proposal
from xplane_bridge.simulation.aircraft.model import Model, TrimError
from xplane_bridge.simulation.aircraft.plant import AS_IN_ITS_FILE, Plant
from xplane_bridge.simulation.aircraft.state import KNOT
from xplane_bridge.simulation.aircraft.studies.physics_rate import physics_rate
from xplane_bridge.simulation.aircraft.studies.spare import Spare
from xplane_bridge.simulation.aircraft.terrain import elevation_m
from xplane_bridge.simulation.aircraft.trim import hold, MOVES_NOTHING, NO_THRUST, Steady, trim


def in_steady_flight(name: str, altitude_msl: float, airspeed: float,
                     flight_path_angle: float = 0.0, bank: float = 0.0,
                     aircraft_path: str = '', flaps: float = 0.0,
                     plant: Plant = AS_IN_ITS_FILE, controls: str = '') -> tuple[Spare, Steady]:
    """
    Return an aircraft in steady flight, and what its trim found; no flying one is needed.

    altitude_msl in m, calibrated airspeed in m/s, angles in rad (see trim), flaps 0..1. The
    gear is up where it retracts; levers are full rich and fine. ``aircraft_path`` is
    the folder of the model, empty for JSBSim's; in ``plant`` it differs from its file, and
    ``controls`` is the file that says what moves it, if not the one beside it. Raises ValueError
    for a model that does not exist, or that cannot fly so. One of a folder is computed in as many
    steps as it needs (physics_rate).

    The trim wheels hold the flight, where the model has them, and those controls are centred: so
    flies an aircraft that begins trimmed, and so has what it is commanded its zero.
    """
    start = Initial(
        altitude_msl=altitude_msl, airspeed_kt=airspeed / KNOT, controls=controls)
    if not altitude_msl > elevation_m(start.lat_deg, start.lon_deg):
        raise ValueError(f'altitude_msl is {altitude_msl:g} m, must be above the ground')
    if not airspeed > 0.0:
        raise ValueError(f'airspeed is {airspeed:g} m/s, must be above 0')
    load = partial(Model, name, 1.0 / physics_rate(name, start, aircraft_path), 0, aircraft_path,
                   plant=plant, controls=controls)
    model = load()
    model.set_initial_conditions(
        start.lat_deg, start.lon_deg, elevation_m(start.lat_deg, start.lon_deg), altitude_msl,
        start.heading_deg)
    model.set('ic/vc-kts', airspeed / KNOT)
    model.initialise()
    if not 0.0 <= flaps <= 1.0:
        raise ValueError(f'flaps is {flaps:g}, must be 0 .. 1')
    for node, position in (('gear/gear-cmd-norm', 0.0), ('gear/gear-pos-norm', 0.0),
                           ('fcs/flap-cmd-norm', flaps), ('fcs/flap-pos-norm', flaps)):
        model.set(node, position)
    engines = range(model.reader.engine_count)
    for number in engines:
        for lever in ('mixture', 'advance'):
            model.set(f'fcs/{lever}-cmd-norm[{number}]', 1.0)
        model.engines.start(number)
    try:
        steady = hold(model, trim(model, flight_path_angle, bank))
    except TrimError as error:
        idle = any(words in str(error) for words in (MOVES_NOTHING, NO_THRUST))
        others = proposal(model) if idle else ''
        raise ValueError(
            f'{name} cannot be trimmed at {airspeed:g} m/s and {altitude_msl:g} m: {error}{others}'
        ) from None
    return Spare(name, load, model.state, tuple(1.0 for _ in engines)), steady
