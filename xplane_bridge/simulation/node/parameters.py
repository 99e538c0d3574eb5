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

"""Parameters of simulator_node."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
import math
from typing import Any

from xplane_bridge.bridges.nodes.managed.parameters import parameter
from xplane_bridge.bridges.nodes.vehicle.namespaces import check_namespaces, default_namespaces
from xplane_bridge.bridges.protocols.xplane_versions import HIGHEST_PLAUSIBLE_ROW
from xplane_bridge.common.fields import LARGEST_SEED
from xplane_bridge.common.text import printable
from xplane_bridge.common.timing import FRAME_RATE
from xplane_bridge.simulation.aircraft.initial import DEFAULT_MODEL, Initial
from xplane_bridge.simulation.aircraft.limits import check_turbulence, check_wind, MAX_LAT_DEG
from xplane_bridge.simulation.aircraft.loading.properties import parse
from xplane_bridge.simulation.aircraft.plant import Plant
from xplane_bridge.simulation.aircraft.weather import Gust, Shear
from xplane_bridge.simulation.node.direct import BRIDGE, DIRECT, DirectParameters
from xplane_bridge.simulation.node.properties import PropertyParameters
from xplane_bridge.simulation.peers.registry import NO_SIMULATORS, SIMULATORS
from xplane_bridge.simulation.peers.world import AIRCRAFT_COUNT

_LOOPBACK = '127.0.0.1'

_START = Initial()


@dataclass(frozen=True)
class SimulatorParameters(PropertyParameters, DirectParameters):
    """Parameters of simulator_node."""

    sim: str = parameter(
        'xpc', 'Simulator to emulate; it determines the bridge.', choices=tuple(SIMULATORS),
        was='face', refused=NO_SIMULATORS)
    host: str = parameter(_LOOPBACK, "Address to listen on; 0.0.0.0 is any of this computer's.")
    port: int = parameter(
        0, 'UDP port; 0 is the default one. X-Plane 7 and later send from the next one.',
        low=0, high=65534)
    controls_port: int = parameter(
        0, 'UDP port for controls (fdmdata); 0 is the one after port.', low=0, high=65535)
    data_host: str = parameter(
        _LOOPBACK, 'Address to which xplane6 sends rows (one of its settings).')
    data_port: int = parameter(
        49003, 'UDP port to which xplane6 sends rows (one of its settings).', low=1,
        high=65535)

    rows: tuple[int, ...] = parameter(
        (), 'Rows that the user of X-Plane has ticked, sent to data_host:data_port; empty: none, '
        'and xplane9 and later are told by UDP.')
    send_port: int = parameter(
        0, 'UDP port from which X-Plane sends; 0 is the one after port.', low=0,
        high=65535)

    model: str = parameter(DEFAULT_MODEL, 'A JSBSim aircraft.')
    fleet: tuple[str, ...] = parameter(
        (), 'JSBSim aircraft that fly beside the first one: numbers 1, 2, ... of X-Plane; with '
        'telemetry: direct each below its own of namespaces.')
    fleet_places: tuple[float, ...] = parameter(
        (), 'Where each of fleet starts: metres forward, right and up of the first one, along its '
        'heading. Empty: abreast, 150 m apart.')
    fleet_headings_deg: tuple[float, ...] = parameter(
        (), 'Initial true heading of each of fleet. Empty: that of the first one.')
    fleet_airspeeds: tuple[float, ...] = parameter(
        (), 'Initial calibrated airspeed of each of fleet, m/s. Empty: that of the first one.')
    fleet_plants: tuple[str, ...] = parameter(
        (), "In what aircraft of fleet differ from their models, as 'NAME:name=value': by the "
        "aircraft's namespace what plant has for the first one.")
    aircraft_path: str = parameter(
        '', "Folder of your own aircraft, laid out as JSBSim's; empty: JSBSim's own.")
    controls: str = parameter(
        '', 'File that says what moves it, if its commands are its own; empty: controls.yaml '
        'beside its file.')
    gains: str = parameter(
        '', 'Gains, by name or file, that have the limits of the first airframe; empty: those of '
        'the model.')
    parked: bool = parameter(
        False, 'Start on the ground, engines idling, instead of trimmed in the air.')
    latitude_deg: float = parameter(
        _START.lat_deg, 'Initial latitude.', low=-MAX_LAT_DEG, high=MAX_LAT_DEG)
    longitude_deg: float = parameter(
        _START.lon_deg, 'Initial longitude.', low=-180.0, high=180.0)
    altitude_msl: float = parameter(
        _START.altitude_msl, 'Initial altitude, m above mean sea level.', was='altitude')
    heading_deg: float = parameter(_START.heading_deg, 'Initial true heading.')
    airspeed: float = parameter(
        math.nan, 'Initial calibrated airspeed, m/s. NaN: one that is usual for the model.')
    plant: tuple[str, ...] = parameter(
        (), "In what the first aircraft differs from its model, as 'name=value': mass (kg), cg (m "
        'forward), ixx, aero.NAME (factors), actuator_rate (1/s), actuator_delay (s); see the '
        'reference of aircraft.')
    airfield: tuple[float, ...] = parameter(
        (), 'Around it the ground is flat: latitude and longitude in degrees, elevation in metres '
        'above mean sea level. Empty: the home airfield, at 47.4, 8.5 and 430 m.')
    seed: int = parameter(
        0, 'Random seed of turbulence and faults.', low=0,
        high=LARGEST_SEED)

    frame_rate: float = parameter(
        FRAME_RATE, 'Frames per simulated second: in each it moves, reads and answers.',
        low=20.0, high=1000.0)
    physics_rate: int = parameter(
        0, 'Steps per second of the flight model, of all aircraft, 60 and more; 0: 120, or as '
        'many as an aircraft of your own (aircraft_path) or the frame rate needs.', low=0,
        high=1200)
    speed: float = parameter(
        1.0, 'Real-time factor, as far as the machine can follow.',
        low=0.01, high=100.0)
    lockstep: bool = parameter(
        False, 'Advance a frame only when its state was sent and elevator, aileron, rudder and '
        'throttle were commanded after that, and then immediately.')
    contacts: bool = parameter(
        False, 'Publish in each frame what of the aircraft touches the ground, on contacts.')
    publish_clock: bool = parameter(
        True, 'Publish the simulated time on /clock; false if a bridge does (stamp: simulator).')
    linger: float = parameter(
        1.0, 'Seconds without a new command after which it ends, once interrupted, 4 at most: a '
        'bridge that is interrupted with it gives back meanwhile. 0 where the bridge ends first.',
        low=0.0, high=4.0)

    loss: float = parameter(
        0.0, 'Probability of losing a datagram, each way.', low=0.0, high=1.0)
    delay: float = parameter(
        0.0, 'Delay of a datagram in seconds, each way.', low=0.0, high=60.0)
    jitter: float = parameter(
        0.0, 'Maximum additional delay in seconds; changes the order.', low=0.0,
        high=60.0)

    world_frame: str = parameter(
        'world', 'Frame of entities in the standard simulator interface: east, north, up at the '
        'datum.')
    datum: tuple[float, ...] = parameter(
        (), 'Origin of world_frame, and with telemetry: direct of odom: latitude and longitude in '
        'degrees, height above mean sea level in metres. Empty: sea level where the flight '
        'starts; of odom, the first fix.')
    trim_entities: bool = parameter(
        False, 'SetEntityState puts an aircraft into steady level flight, with the heading and '
        'the airspeed given, instead of exactly the attitude and velocity given.', live=True)

    pause_at: float = parameter(
        math.nan, 'Simulated time at which it pauses; NaN is never. A later one resumes it.',
        live=True)
    wind: tuple[float, ...] = parameter(
        (0.0, 0.0, 0.0), 'Velocity of the air: east, north, up, m/s, each within 100.', live=True)
    turbulence: tuple[float, ...] = parameter(
        (0.0, 0.0), 'MIL-F-8785C: wind at 20 ft, m/s (below 1000 ft above mean sea level: 7.6 '
        'light, 15 moderate, 23 severe), and severity 0..7 (above 2000 ft: 3 light, 4 moderate, 6 '
        'severe; 0 is calm at all heights).',
        live=True)
    gust: tuple[float, ...] = parameter(
        (), 'A gust (1 - cosine) that begins when it is set: velocity of the air forward, right, '
        'up, m/s; length, distance until it begins, and length of its hold, m (-1: for '
        'good). Empty: none.', live=True)
    wind_shear: tuple[float, ...] = parameter(
        (), 'Wind that grows with the height above the ground: at 20 ft east, north, m/s; then a '
        'roughness, m (logarithmic), or 0 and an exponent. Empty: none.', live=True)
    engine_failed: bool = parameter(
        False, 'All engines fail; false restarts them.', live=True)
    failed_engines: tuple[int, ...] = parameter(
        (), 'Numbers of the engines that fail, 0 is the first; the others run.', live=True)
    fleet_failed_engines: tuple[str, ...] = parameter(
        (), 'Engines that fail in a fleet, besides those of the first aircraft above: NAME for '
        'all of an aircraft, by its namespace; NAME:ENGINE for one of them.', live=True)
    link_down: bool = parameter(False, 'Every datagram is lost, each way.', live=True)

    def __post_init__(self) -> None:
        """Check combinations of values."""
        PropertyParameters.__post_init__(self)
        wind, turbulence = _numbers('wind', self.wind, 3), _numbers(
            'turbulence', self.turbulence, 2)
        for name, check, values in (
                ('wind', check_wind, wind), ('turbulence', check_turbulence, turbulence)):
            try:
                check(*values)
            except ValueError as error:
                raise ValueError(f'parameter {name}: {error}') from None
        if any(self.gust):
            _checked('gust', Gust(*_numbers('gust', self.gust, 6)).check)
        if any(self.wind_shear):
            _checked('wind_shear', Shear(*_numbers('wind_shear', self.wind_shear, 4)).check)
        self.differs()
        if wrong := [row for row in self.rows if row not in range(HIGHEST_PLAUSIBLE_ROW + 1)]:
            raise ValueError(
                f'parameter rows: {wrong[0]!r} is not a row, 0..{HIGHEST_PLAUSIBLE_ROW}')
        for name in ('datum', 'airfield'):
            if place := getattr(self, name):
                _check_place(name, place)
        self._check_fleet()
        if self.telemetry == DIRECT:
            self._check_direct()
        elif self.lockstep and not SIMULATORS[self.sim].has_time:
            raise ValueError(
                'parameter lockstep: FDMData has no time in its protocol, so a controller cannot '
                'tell one frame from the next; choose another sim, or speed')

    def differs(self) -> Plant:
        """Return in what the first aircraft differs from its model. Raises ValueError."""
        try:
            return Plant.of(parse(list(filter(None, self.plant))))
        except ValueError as error:
            raise ValueError(f'parameter plant: {error}') from None

    def fleet_differs(self) -> list[Plant]:
        """Return in what each of fleet differs from its model. Raises ValueError."""
        found: dict[str, list[str]] = {name: [] for name in self.vehicles()[1:]}
        for text in filter(None, self.fleet_plants):
            name, _, value = text.partition(':')
            if name not in found:
                raise ValueError(
                    f'parameter fleet_plants: got {printable(text)}, expected NAME:name=value, '
                    f'with a name of {", ".join(found) or "a fleet"}')
            found[name].append(value)
        try:
            return [Plant.of(parse(values)) for values in found.values()]
        except ValueError as error:
            raise ValueError(f'parameter fleet_plants: {error}') from None

    def vehicles(self) -> tuple[str, ...]:
        """Return the namespace of each aircraft, '' for one that has none of its own."""
        if self.namespaces or not self.fleet:
            return self.namespaces or ('',)
        return default_namespaces(len(self.fleet) + 1)

    def _check_fleet(self) -> None:
        count = len(self.fleet) + 1
        if count > AIRCRAFT_COUNT:
            raise ValueError(f'parameter fleet: {count} aircraft with the first one are too many; '
                             f'at most {AIRCRAFT_COUNT} are possible')
        if self.fleet and self.telemetry == BRIDGE and not SIMULATORS[self.sim].has_traffic:
            raise ValueError(f'parameter fleet: {self.sim} shows one aircraft only; choose '
                             'another sim, or telemetry: direct')
        check_namespaces(self.namespaces, count, 'aircraft')
        for name, each, what in (
                ('fleet_places', 3, 'three for each'), ('fleet_headings_deg', 1, 'one for each'),
                ('fleet_airspeeds', 1, 'one for each')):
            values = getattr(self, name)
            if values and len(values) != each * len(self.fleet):
                raise ValueError(
                    f'parameter {name}: expected {each * len(self.fleet)} numbers, {what} of '
                    f'fleet, got {len(values)}')

    def _check_direct(self) -> None:
        """Refuse what has no meaning without a link."""
        for name in ('loss', 'delay', 'jitter', 'link_down'):
            if getattr(self, name):
                raise ValueError(
                    f'parameter {name}: with telemetry: direct there is no link that could fail')
        if self.lockstep and self.telemetry_every > 1:
            raise ValueError(
                'parameter telemetry_every: in lockstep a frame follows a command for the one '
                f'before, so every frame is published; {self.telemetry_every} is not possible')


def _checked(name: str, check: Callable[[], None]) -> None:
    try:
        check()
    except ValueError as error:
        raise ValueError(f'parameter {name}: {error}') from None


def _numbers(name: str, values: tuple[Any, ...], count: int) -> tuple[float, ...]:
    """Return a list parameter as ``count`` numbers. Raises ValueError."""
    if len(values) != count or any(
            isinstance(value, bool) or not isinstance(value, int | float) for value in values):
        raise ValueError(f'parameter {name}: expected {count} numbers, got {list(values)}')
    return tuple(map(float, values))


def _check_place(name: str, place: tuple[Any, ...]) -> None:
    latitude, longitude, _ = _numbers(name, place, 3)
    if abs(latitude) > MAX_LAT_DEG or abs(longitude) > 180.0:
        raise ValueError(f'parameter {name}: {latitude}, {longitude} is not a position between '
                         f'{MAX_LAT_DEG} degrees north and south')
