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
What a flight reads of the aircraft in each frame: SI, in the units and axes of AircraftState.

A frame's whole AircraftState costs as much as JSBSim's own step. So only what each frame keeps is
read in each frame (SAMPLE), and the rest of what is observed when a law or an observation asks
(SURROUNDINGS); or what a bridge would see of it (DatarefState). All have the same bits as the
AircraftState of the same instant.
"""

from collections.abc import Callable, Sequence
from functools import cached_property
import math
from typing import Any, NamedTuple

from xplane_bridge.common.quantities import AIR_DATA, AIRFRAME, fields_of, KEPT, OF_ENGINES
from xplane_bridge.simulation.aircraft.state import ENGINE_FACTORS, FACTORS, FOOT, StateReader

_Get = Callable[[], float]

SampleRow = tuple[float, ...]
"""
The values of SAMPLE or of SURROUNDINGS, in their order.

A plain tuple costs less to make and to keep.
"""

# Of fix and odom, where it is is worked out for whoever asks.
SAMPLE = ('lat_deg', 'lon_deg', 'altitude_msl', *(
    one.state for one in KEPT if one.topic not in ('fix', 'odom')))
"""What is kept of each frame: position, attitude, rates, airspeed, flow, controls as commanded."""

SURROUNDINGS = (
    'v_north', 'v_east', 'v_down', 'ground_speed', 'mass', 'force_x', 'force_y', 'force_z', *(
        one.state for one in fields_of(AIR_DATA) if not one.is_kept))
"""Velocity over ground, mass and the force on it without weight (N, body axes), air."""


class DatarefState(NamedTuple):
    """What the datarefs need of which a bridge makes an observed state; forces in N."""

    lat_deg: float
    lon_deg: float
    altitude_msl: float
    phi: float
    theta: float
    psi: float
    p: float
    q: float
    r: float
    v_north: float
    v_east: float
    v_down: float
    ground_speed: float
    cas: float
    tas: float
    alpha: float
    static_pressure: float
    temperature: float
    wind_north: float
    wind_east: float
    wind_down: float
    elevator: float
    aileron: float
    rudder: float
    flaps: float
    gear: float
    mass: float
    force_x: float
    force_y: float
    force_z: float
    speedbrake: float
    wheels_on_ground: tuple[bool, ...]

    @property
    def f_x(self) -> float:
        """Return the specific force ahead, in m/s2."""
        return self.force_x / self.mass

    @property
    def f_y(self) -> float:
        """Return the specific force to the right, in m/s2."""
        return self.force_y / self.mass

    @property
    def f_z(self) -> float:
        """Return the specific force down, in m/s2."""
        return self.force_z / self.mass


class Contacts(NamedTuple):
    """
    What touches the ground: how many wheels, and how many places of the structure.

    ``compressions`` (m) are those of the wheels' struts.
    """

    wheels: int
    structure: int
    compressions: tuple[float, ...]


AIRFRAME_STATE = ('terrain_msl', *(
    one.state for one in fields_of(AIRFRAME) if one.state and one.state not in SURROUNDINGS))
"""What recordings have besides: as in AircraftState, but fuel is that of all tanks (kg)."""

ENGINE = tuple(one.state for one in OF_ENGINES)
"""What they have of each engine, as in EngineState; NaN is what JSBSim does not model."""


class Sampler:
    """
    Reads samples from one JSBSim model through property nodes bound once.

    ``sample()`` returns what each frame keeps, ``surroundings()`` the rest of what is observed.
    """

    def __init__(self, fdm: Any, reader: StateReader) -> None:
        """Bind to a loaded jsbsim.FGFDMExec, which has a reader already."""
        self._reader = reader
        manager = self._manager = fdm.get_property_manager()

        def bind(name: str) -> Callable[[], float]:
            node, _ = FACTORS[name]
            # A glider has no throttle.
            if not manager.hasNode(node):
                return lambda: 0.0
            get: Callable[[], float] = manager.get_node(node).get_double_value
            return get

        self.sample, self.surroundings = (
            _spelled_out([*map(bind, names)], [FACTORS[name][1] for name in names])
            for names in (SAMPLE, SURROUNDINGS))
        count = int(manager.get_node('gear/num-units').get_double_value())
        struts, structure = (
            [manager.get_node(node).get_double_value for node in (
                f'{kind}/unit[{number}]/{of}' for number in range(count)) if manager.hasNode(node)]
            for kind, of in (('gear', 'compression-ft'), ('contact', 'WOW')))
        self._struts, self._structure = struts, structure
        self._height_above_ground = bind('altitude_agl')
        self._seen = tuple((bind(name), FACTORS[name][1]) for name in DatarefState._fields[:-2])

    def seen(self, speedbrake: float) -> DatarefState:
        """Return what datarefs need; the argument is what JSBSim does not keep itself."""
        return DatarefState._make((
            *[get() * factor for get, factor in self._seen], speedbrake,
            self._reader.wheels_on_ground()))

    def contacts(self) -> Contacts:
        """Return what touches the ground."""
        return Contacts(
            sum(self._reader.wheels_on_ground()), sum(get() > 0.5 for get in self._structure),
            tuple([get() * FOOT for get in self._struts]))

    @cached_property
    def airframe(self) -> Callable[[], SampleRow]:
        """Return what reads AIRFRAME_STATE, and then ENGINE of each engine."""
        manager = self._manager
        nodes = [(self._reader.acting(node), factor) for node, factor in (
            FACTORS[name] for name in AIRFRAME_STATE)]
        count = self._reader.engine_count
        nodes += [(node.format(n), factor) for n in range(count)
                  for node, factor in (ENGINE_FACTORS[name] for name in ENGINE)]

        def bind(node: str) -> _Get:
            if not manager.hasNode(node):
                return lambda: math.nan
            get: _Get = manager.get_node(node).get_double_value
            return get

        return _spelled_out(
            [bind(node) for node, _ in nodes], [factor for _, factor in nodes])

    def height_above_ground(self) -> float:
        """Return the height of the centre of gravity above the ground below, in m."""
        return self._height_above_ground() * FOOT

    def throttles(self) -> list[float]:
        """Return the throttle of each engine, as commanded."""
        return self._reader.throttles()


def _spelled_out(getters: Sequence[_Get], factors: Sequence[float]) -> Callable[[], SampleRow]:
    """Return a function that reads a row: spelled out it takes half the time of a loop."""
    names = [f'get_{number}' for number in range(len(getters))]
    row = ''.join(f'{name}(){f" * {factor!r}" if factor != 1.0 else ""}, '
                  for name, factor in zip(names, factors, strict=True))
    bind: Callable[..., Callable[[], SampleRow]] = eval(
        f'lambda {", ".join(names)}: lambda: ({row})')
    return bind(*getters)
