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
(Surroundings); or what a bridge would see of it (Seen). All have the same bits as the
AircraftState of the same instant.
"""

from collections.abc import Callable
from functools import cached_property
import math
from typing import Any, NamedTuple

from xplane_bridge.aircraft.state import ENGINE_FACTORS, FACTORS, FOOT, StateReader

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


class Seen(NamedTuple):
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


AIRFRAME = (
    'flaps', 'gear', 'elevator_trim', 'aileron_trim', 'rudder_trim', 'elevator_deflection',
    'aileron_deflection', 'rudder_deflection', 'flaps_position', 'gear_position',
    'speedbrake_position', 'p_dot', 'q_dot', 'r_dot', 'turbulence_north', 'turbulence_east',
    'turbulence_down', 'altitude_agl', 'terrain_msl', 'fuel')
"""What recordings have besides: as in AircraftState; fuel is that of all tanks (kg)."""

ENGINE = ('throttle', 'mixture', 'propeller', 'rpm', 'power', 'thrust', 'fuel_flow')
"""What they have of each engine, as in EngineState; NaN is what JSBSim does not model."""


class AirframeReader:
    """
    Reads AIRFRAME, and then ENGINE of each engine, in JSBSim's units.

    ``factors`` make SI of them, number by number. ``engines`` is how many there are.
    """

    def __init__(self, bind: Callable[[str], _Get | None], engines: int) -> None:
        """Take what returns the getter of a property, None if there is none."""
        nodes = [FACTORS[name] for name in AIRFRAME] + [
            (node.format(n), factor) for n in range(engines)
            for node, factor in (ENGINE_FACTORS[name] for name in ENGINE)]
        self.engines = engines
        self.factors = tuple(factor for _, factor in nodes)
        self._getters = tuple(bind(node) or _unknown for node, _ in nodes)

    def raw(self) -> list[float]:
        """Return the numbers in JSBSim's units."""
        return [get() for get in self._getters]

    def values(self) -> tuple[dict[str, float], list[dict[str, float]]]:
        """Return AIRFRAME by name, and ENGINE of each engine, in SI."""
        found = [value * factor for value, factor in zip(self.raw(), self.factors, strict=True)]
        of_engines = found[len(AIRFRAME):]
        return dict(zip(AIRFRAME, found, strict=False)), [
            dict(zip(ENGINE, of_engines[n:n + len(ENGINE)], strict=True))
            for n in range(0, len(of_engines), len(ENGINE))]


def _unknown() -> float:
    return math.nan


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
        self._seen = tuple((bind(name), FACTORS[name][1]) for name in Seen._fields[:-2])

    def seen(self, speedbrake: float) -> Seen:
        """Return what datarefs need; the argument is what JSBSim does not keep itself."""
        return Seen._make((
            *[get() * factor for get, factor in self._seen], speedbrake,
            self._reader.wheels_on_ground()))

    def contacts(self) -> Contacts:
        """Return what touches the ground."""
        return Contacts(
            sum(self._reader.wheels_on_ground()), sum(get() > 0.5 for get in self._structure),
            tuple([get() * FOOT for get in self._struts]))

    @cached_property
    def airframe(self) -> AirframeReader:
        """Return what reads the rest of what is recorded."""
        manager = self._manager

        def bind(node: str) -> _Get | None:
            if not manager.hasNode(node):
                return None
            get: _Get = manager.get_node(node).get_double_value
            return get

        return AirframeReader(bind, self._reader.engine_count)

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
