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
read in each frame (Sample), and the rest of what is observed when a law or an observation asks
(Surroundings); or what a bridge would see of it (DatarefState). All have the same bits as the
AircraftState of the same instant.
"""

from collections.abc import Callable
from functools import cached_property
import math
from typing import Any, NamedTuple

from xplane_bridge.simulation.aircraft.state import ENGINE_FACTORS, FACTORS, FOOT, StateReader

_Get = Callable[[], float]

SampleRow = tuple[float, ...]
"""
The values of a Sample or of Surroundings, in their order.

A plain tuple costs less to make and to keep.
"""


class Sample(NamedTuple):
    """Position, attitude, rates, airspeed, flow, and controls as commanded."""

    lat_deg: float
    lon_deg: float
    altitude_msl: float
    phi: float
    theta: float
    psi: float
    p: float
    q: float
    r: float
    cas: float
    alpha: float
    beta: float
    elevator: float
    aileron: float
    rudder: float
    throttle: float


class Surroundings(NamedTuple):
    """Velocity over ground, mass and the force on it without weight (N, body axes), air."""

    v_north: float
    v_east: float
    v_down: float
    ground_speed: float
    mass: float
    force_x: float
    force_y: float
    force_z: float
    tas: float
    static_pressure: float
    qbar: float
    temperature: float
    density: float
    wind_north: float
    wind_east: float
    wind_down: float


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


class AirframeState(NamedTuple):
    """
    What recordings have besides: as in AircraftState, but fuel is that of all tanks (kg).

    Turbulence (m/s) is part of the wind.
    """

    elevator_deflection: float
    aileron_deflection: float
    rudder_deflection: float
    flaps_position: float
    gear_position: float
    speedbrake_position: float
    p_dot: float
    q_dot: float
    r_dot: float
    turbulence_north: float
    turbulence_east: float
    turbulence_down: float
    altitude_agl: float
    terrain_msl: float
    fuel: float


ENGINE = ('rpm', 'power', 'thrust', 'fuel_flow')
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

        self.sample = _sampling(*map(bind, Sample._fields))
        self.surroundings = _surveying(*map(bind, Surroundings._fields))
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
        """Return what reads an AirframeState, and then ENGINE of each engine."""
        manager = self._manager
        nodes = [(self._reader.acting(node), factor) for node, factor in (
            FACTORS[name] for name in AirframeState._fields)]
        count = self._reader.engine_count
        nodes += [(node.format(n), factor) for n in range(count)
                  for node, factor in (ENGINE_FACTORS[name] for name in ENGINE)]

        def bind(node: str) -> _Get:
            if not manager.hasNode(node):
                return lambda: math.nan
            get: _Get = manager.get_node(node).get_double_value
            return get

        getters = [bind(node) for node, _ in nodes]
        if count != 1:
            factors = [factor for _, factor in nodes]
            return lambda: tuple(
                [get() * factor for get, factor in zip(getters, factors, strict=True)])
        return _make_single_engine_reader(*getters)

    def height_above_ground(self) -> float:
        """Return the height of the centre of gravity above the ground below, in m."""
        return self._height_above_ground() * FOOT

    def throttles(self) -> list[float]:
        """Return the throttle of each engine, as commanded."""
        return self._reader.throttles()


# Spelled out, these take half the time of a loop over getters and factors.


def _sampling(
    lat_deg: _Get, lon_deg: _Get, altitude_msl: _Get, phi: _Get, theta: _Get, psi: _Get, p: _Get,
    q: _Get, r: _Get, cas: _Get, alpha: _Get, beta: _Get, elevator: _Get, aileron: _Get,
    rudder: _Get, throttle: _Get,
) -> Callable[[], SampleRow]:
    """Return a function that reads a Sample."""
    speed, elevator_sign, rudder_sign = _unit('cas'), _unit('elevator'), _unit('rudder')
    # All others are in the unit of their property.
    assert _unit(*{*Sample._fields} - {'cas', 'elevator', 'rudder'}) == 1.0

    def sample() -> SampleRow:
        return (
            lat_deg(), lon_deg(), altitude_msl(), phi(), theta(), psi(), p(), q(), r(),
            cas() * speed, alpha(), beta(), elevator() * elevator_sign, aileron(),
            rudder() * rudder_sign, throttle())

    return sample


def _surveying(
    v_north: _Get, v_east: _Get, v_down: _Get, ground_speed: _Get, mass: _Get, force_x: _Get,
    force_y: _Get, force_z: _Get, tas: _Get, static_pressure: _Get, qbar: _Get,
    temperature: _Get, density: _Get, wind_north: _Get, wind_east: _Get, wind_down: _Get,
) -> Callable[[], SampleRow]:
    """Return a function that reads Surroundings."""
    speed = _unit('v_north', 'v_east', 'v_down', 'ground_speed', 'tas', 'wind_north',
                  'wind_east', 'wind_down')
    force, pressure = _unit('force_x', 'force_y', 'force_z'), _unit('static_pressure', 'qbar')
    of_mass, of_temperature, of_density = _unit('mass'), _unit('temperature'), _unit('density')

    def surroundings() -> SampleRow:
        return (
            v_north() * speed, v_east() * speed, v_down() * speed, ground_speed() * speed,
            mass() * of_mass, force_x() * force, force_y() * force, force_z() * force,
            tas() * speed, static_pressure() * pressure, qbar() * pressure,
            temperature() * of_temperature, density() * of_density, wind_north() * speed,
            wind_east() * speed, wind_down() * speed)

    return surroundings


def _unit(*names: str) -> float:
    """Return the factor that these values have in common."""
    factor, = {FACTORS[name][1] for name in names}
    return factor


def _make_single_engine_reader(
    elevator: _Get, aileron: _Get, rudder: _Get, flaps: _Get, gear: _Get, speedbrake: _Get,
    p_dot: _Get, q_dot: _Get, r_dot: _Get, north: _Get, east: _Get, down: _Get, height: _Get,
    ground: _Get, fuel: _Get, rpm: _Get, power: _Get, thrust: _Get, fuel_flow: _Get,
) -> Callable[[], SampleRow]:
    """Return a function that reads an AirframeState, and ENGINE once."""
    elevator_sign, rudder_sign = _unit('elevator_deflection'), _unit('rudder_deflection')
    speed = _unit('turbulence_north', 'turbulence_east', 'turbulence_down')
    length, of_fuel = _unit('altitude_agl', 'terrain_msl'), _unit('fuel')
    of_rpm, of_power, of_thrust, of_flow = (ENGINE_FACTORS[name][1] for name in ENGINE)
    # All others are in the unit of their property.
    assert of_rpm == _unit(*AirframeState._fields[3:9], 'aileron_deflection') == 1.0

    def airframe() -> SampleRow:
        return (
            elevator() * elevator_sign, aileron(), rudder() * rudder_sign, flaps(), gear(),
            speedbrake(), p_dot(), q_dot(), r_dot(), north() * speed, east() * speed,
            down() * speed, height() * length, ground() * length, fuel() * of_fuel, rpm(),
            power() * of_power, thrust() * of_thrust, fuel_flow() * of_flow)

    return airframe
