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
Figures of what flies rather than of how it flew: margins and handling qualities.

They are of the linear model about the trim in which the scenario begins, with its plant:

| figure | what it is |
|---|---|
| margins.CONTROL.gain, .phase, .delay, .disk | of the autopilot's loops: see tuning.robustness |
| margins.disk | the disk margin of all controls at once |
| handling.MODE.frequency, .damping, .time_constant, .time_to_double | see studies.modes |
| handling.MODE.level, handling.level | by MIL-F-8785C, class I, category B; of all the worst |
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict
from functools import lru_cache
from typing import Any

from xplane_bridge.laboratory.control.cascade import Cascade
from xplane_bridge.laboratory.control.tuning.robustness import robustness
from xplane_bridge.laboratory.control.tuning.tune import LoopRequirements
from xplane_bridge.laboratory.flights.scenario.scenario import Scenario
from xplane_bridge.laboratory.flights.scenario.start import simulated_start
from xplane_bridge.simulation.aircraft.initial import DEFAULT_MODEL
from xplane_bridge.simulation.aircraft.linear_model import LinearModel
from xplane_bridge.simulation.aircraft.plant import Plant
from xplane_bridge.simulation.aircraft.studies.linearize import linearize
from xplane_bridge.simulation.aircraft.studies.modes import compute_modes, levels
from xplane_bridge.simulation.aircraft.studies.steady_flight import in_steady_flight

MARGINS, HANDLING = 'margins', 'handling'
_OF_MODES = ('frequency', 'damping', 'time_constant', 'time_to_double')


def not_judged(scenario: Scenario, host: str, is_autopilot: bool) -> Iterator[str]:
    """
    Yield why criteria of a scenario cannot be evaluated.

    ``host`` is that of a real simulator, empty for one of ours; ``is_autopilot`` says whether
    nothing but the autopilot flies.
    """
    if host and (needed := scenario.needs_airframe()):
        yield (f'{", ".join(dict.fromkeys(needed))}: only simulators of this package say that of '
               'their aircraft; omit the criteria, or --host')
    needed = wanted(scenario)
    if not needed:
        return
    what = f'figures {" and ".join(needed)}'
    if MARGINS in needed and not is_autopilot:
        yield f'{what}: margins are those of the autopilot, and another controller flies'
    if host:
        yield f'{what}: of the aircraft on {host} no linear model is known'
    elif scenario.initial.get('parked') or not {'airspeed', 'altitude'} <= {*scenario.initial}:
        yield (f'{what} are of the trim in which the flight begins: state airspeed and altitude '
               'below "initial", in the air')


def wanted(scenario: Scenario) -> list[str]:
    """Return which of MARGINS and HANDLING its criteria are about."""
    names = {criterion.name.split('.')[0] for criterion in scenario.criteria
             if not criterion.statistic}
    return [name for name in (MARGINS, HANDLING) if name in names]


def linear_figures(
    scenario: Scenario, autopilot: Callable[..., Cascade]
) -> dict[str, Any]:
    """
    Return the figures that its criteria are about, by name.

    ``autopilot`` is laws.autopilot_of, which returns one of an aircraft.

    Raises ValueError if it does not begin in steady flight.
    """
    needed = wanted(scenario)
    if not needed:
        return {}
    given, initial = simulated_start(scenario.initial), scenario.initial
    plant = Plant.of(initial.get('plant', {}))
    model = _model(
        initial.get('model', DEFAULT_MODEL), initial.get('aircraft_path', ''),
        given['altitude_msl'], given['airspeed'], plant.without_actuators(),
        initial.get('controls', ''))
    found: dict[str, Any] = {}
    if MARGINS in needed:
        gains = autopilot(
            initial.get('model', DEFAULT_MODEL), initial.get('aircraft_path', ''),
            initial.get('gains', ''), plant.gains).gains
        usual = LoopRequirements()
        late = plant.actuator_delay + plant.command_delay + plant.sensor_delay
        margins = robustness(model, gains, usual.delay + late, usual.engine_lag)
        found[MARGINS] = {
            **{control: asdict(one) for control, one in margins.loops.items()},
            'disk': margins.disk, 'time_to_double': margins.time_to_double}
    if HANDLING in needed:
        found[HANDLING] = _handling(model)
    return found


@lru_cache(maxsize=16)
def _model(
    name: str, aircraft_path: str, altitude_msl: float, airspeed: float, plant: Plant,
    controls: str,
) -> LinearModel:
    spare, _ = in_steady_flight(
        name, altitude_msl, airspeed, aircraft_path=aircraft_path, plant=plant,
        controls=controls)
    return linearize(spare, 'differences')


def _handling(model: LinearModel) -> Mapping[str, Any]:
    modes = compute_modes(model)
    level = levels(modes)
    found: dict[str, Any] = {
        name: {**{figure: getattr(mode, figure) for figure in _OF_MODES}, 'level': level[name]}
        for name, mode in modes.modes.items()}
    return found | {'level': max(level.values())}
