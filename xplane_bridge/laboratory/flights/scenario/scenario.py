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
Scenario files: initial state, events, route and criteria. No ROS.

The format is described in docs/reference/scenarios.md. Every mistake in a file is a
ScenarioError whose text says where it is, what was expected and what was found.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
import os
from typing import Any

from xplane_bridge.common import fields, plain_yaml
from xplane_bridge.common.data import folder
from xplane_bridge.common.fields import ScenarioError as ScenarioError
from xplane_bridge.common.text import abbreviated
from xplane_bridge.common.timing import one_of_physics_rates, PHYSICS_RATES
from xplane_bridge.common.units import DEGREE
from xplane_bridge.laboratory.control.runway.charted import ChartedRunway
from xplane_bridge.laboratory.flights.scenario import criteria
from xplane_bridge.laboratory.flights.scenario import flown_by as controller
from xplane_bridge.laboratory.flights.scenario import runway as runways
from xplane_bridge.laboratory.flights.scenario.criteria import Criterion
from xplane_bridge.laboratory.flights.scenario.events import (
    check_order,
    CONTROLS,
    engaged_at,
    REAL_TIME_ONLY,
    ScenarioEvent,
    SIMULATED_ONLY,
)
from xplane_bridge.laboratory.flights.scenario.events import parse as parse_event
from xplane_bridge.laboratory.flights.scenario.excitation import Excitation
from xplane_bridge.laboratory.flights.scenario.fleet import (
    Fleet,
    read_contents,
    read_fleet,
    read_names,
)
from xplane_bridge.laboratory.flights.scenario.quantities import AIRFRAME, needs_more
from xplane_bridge.laboratory.flights.scenario.runway import PROCEDURES
from xplane_bridge.laboratory.sensors.faults import SENSOR_FAULTS
from xplane_bridge.simulation.aircraft.plant import Plant
from xplane_bridge.simulation.aircraft.weather_settings import WEATHER

_AIRCRAFT = ('model', 'aircraft_path', 'gains')
_INITIAL = ('altitude', 'heading_deg', 'airspeed', 'latitude_deg', 'longitude_deg', 'parked',
            'plant', *_AIRCRAFT)
# Of a route's turns: three quarters of what the c172p's envelope allows.
_BANK_DEG = 19.0
_PLACES = {'latitude_deg': 90.0, 'longitude_deg': 180.0}


@dataclass(frozen=True, slots=True)
class Route:
    """
    Waypoints in metres (east, north) from the aircraft's position at ``begin`` (s).

    ``bank`` (rad) gives the radius of its turns, with the ground speed at ``begin``.
    """

    begin: float
    waypoints: tuple[tuple[float, float], ...]
    bank: float


@dataclass(frozen=True, slots=True)
class Scenario:
    """
    One scenario; times in seconds from its start. ``sensors``: name or file, empty for none.

    One for several aircraft has a whole scenario for each of them in ``vehicles``, whose names
    are those of the aircraft. Its events happen to each, and are in theirs; its criteria are over
    two. ``fleet`` is what binds them. ``expect_crash``: it is to end by one.
    ``physics_rate`` is how many steps per second are flown, 0 as many as the model needs.
    ``is_one_of_many``: it is of one aircraft of several.
    """

    name: str
    description: str
    duration: float
    initial: Mapping[str, Any]
    events: tuple[ScenarioEvent, ...]
    criteria: tuple[Criterion, ...]
    route: Route | None = None
    controller: Mapping[str, Any] = field(default_factory=dict)
    sensors: str = ''
    runway: ChartedRunway | None = None
    vehicles: tuple[Scenario, ...] = ()
    fleet: Fleet | None = None
    expect_crash: bool = False
    physics_rate: int = 0
    is_one_of_many: bool = False

    def with_initial(self, given: Mapping[str, Any]) -> Scenario:
        """Return it with some of the initial state replaced, of each aircraft."""
        return replace(
            self, initial={**self.initial, **given},
            vehicles=tuple(one.with_initial(given) for one in self.vehicles))

    def engages(self) -> bool:
        """Return whether a controller is ever engaged."""
        return any(event.action == 'engage' and event.value for event in self.events)

    def needs_simulator(self) -> list[str]:
        """Return its events that no real simulator supports, as phrases."""
        return [
            f'{event.action} at {event.at:g} s' for event in self.events
            if event.action in SIMULATED_ONLY]

    def needs_real_time(self) -> list[str]:
        """Return its events that work only in real time."""
        return [
            f'{event.action} at {event.at:g} s' for event in self.events
            if event.action in REAL_TIME_ONLY]

    def needs_sensors(self) -> list[str]:
        """Return its events that need sensors between the simulator and the controller."""
        return [
            f'{event.action} at {event.at:g} s' for event in self.events
            if event.action in SENSOR_FAULTS]

    def in_closed_loop(self) -> list[str]:
        """Return its excitations on top of what the controller commands, as phrases."""
        return [
            f'{event.action} at {event.at:g} s' for event in self.events
            if isinstance(event.value, Excitation) and event.value.closed_loop]

    def last_asked_for(self) -> float:
        """Return the last time (s) that an event or the window of a criterion needs."""
        return max([
            *(event.at + event.lasts for event in self.events),
            *(event.expect.until for event in self.events if event.expect is not None),
            *(time for one in self.criteria for time in (one.begin, one.end)
              if time == time)], default=0.0)

    def needs_runway(self) -> list[str]:
        """Return its events that are flown from a runway, or to it."""
        return [
            f'{event.action} at {event.at:g} s' for event in self.events
            if event.action in PROCEDURES]

    def needs_controls(self) -> list[str]:
        """Return which of its criteria need the reported controls."""
        return [criterion.name for criterion in self.criteria
                if criterion.statistic and any(one in CONTROLS for one in criterion.quantities)]

    def needs_more(self) -> list[str]:
        """Return which quantities of its criteria need more than what is kept of each flight."""
        return [one for criterion in self.criteria for one in criterion.quantities
                if needs_more(one)]

    def needs_airframe(self) -> list[str]:
        """Return which quantities of its criteria only simulators of this package say."""
        return [one for criterion in self.criteria for one in criterion.quantities
                if one.removesuffix('_deg') in AIRFRAME]


def find(name: str) -> str:
    """Return the path of a scenario: a file, or the name of one of this package."""
    if os.path.isfile(name):
        return name
    shipped = folder('scenarios')
    path = shipped / f'{name}.yaml'
    if path.is_file():
        return str(path)
    known = sorted(file.stem for file in shipped.glob('*.yaml'))
    raise ScenarioError(
        f'there is no scenario {name!r}: expected a file, or one of {", ".join(known)}')


def load(path: str, judged: bool = True) -> Scenario:
    """Read a scenario file; ScenarioError says what is wrong with it."""
    try:
        content = plain_yaml.load_file(path)
    except OSError as error:
        raise ScenarioError(f'{path}: {error.strerror}') from None
    except ValueError as error:
        raise ScenarioError(f'{path} cannot be read as YAML: {error}') from None
    name = os.path.splitext(os.path.basename(path))[0]
    try:
        return parse(name, content, judged)
    except ScenarioError as error:
        raise ScenarioError(f'{path}: {error}') from None


def parse(name: str, content: Any, judged: bool = True) -> Scenario:
    """Return the scenario in the content of its file; it has criteria, if it is ``judged``."""
    if not judged and isinstance(content, Mapping):
        content = {'criteria': [], **content}
    if isinstance(content, Mapping) and 'vehicles' in content:
        return _fleet(name, content)
    found = _alone(name, content)
    if judged and not (found.criteria or _expects(found) or found.expect_crash):
        raise ScenarioError('criteria: a scenario without any proves nothing; state at least one')
    return found


def _expects(scenario: Scenario) -> bool:
    return any(event.expect for event in scenario.events)


def _alone(name: str, content: Any, common: tuple[ScenarioEvent, ...] = ()) -> Scenario:
    """Return the scenario of one aircraft; ``common`` events happen to others too."""
    top = fields.mapping(content, 'the file', required=('duration', 'events', 'criteria'),
                   optional=('description', 'initial', 'route', 'controller', 'sensors', 'runway',
                             'expect_crash', 'physics_rate'))
    duration = _duration(top)
    events = _in_time((*common, *_events(top, duration)))
    check_order(events)
    route = _route(top['route'], duration) if 'route' in top else None
    if route is not None:
        if not engaged_at(events, route.begin):
            raise ScenarioError(f'route: the autopilot is not engaged at {route.begin:g} s')
        for event in events:
            if event.is_open_loop and event.at > route.begin:
                raise ScenarioError(
                    f'route: {event.action} at {event.at:g} s releases the autopilot')
            if event.action in ('target', 'change') and 'heading' in event.value and (
                    event.at >= route.begin):
                raise ScenarioError(
                    f'route: the heading at {event.at:g} s would leave it; omit one of them')
    judged = tuple(criteria.parse(item, f'criteria[{n}]', duration)
                   for n, item in enumerate(fields.items(top['criteria'], 'criteria')))
    runway = runways.parse(top['runway']) if 'runway' in top else None
    initial = parse_initial(top.get('initial', {}))
    if runway is not None and initial.get('parked'):
        initial = {**runways.standing(runway), **initial}
    found = Scenario(
        name, str(top.get('description', '')).strip(), duration, initial, events, judged, route,
        controller.parse(top['controller']) if 'controller' in top else {},
        fields.text(top.get('sensors', ''), 'sensors'), runway,
        expect_crash=fields.boolean(top.get('expect_crash', False), 'expect_crash'),
        physics_rate=read_physics_rate(top))
    if runway is None and (needed := found.needs_runway()):
        raise ScenarioError(
            f'{", ".join(needed)} needs a runway: state heading_deg, length, width and '
            'elevation_msl below "runway", as no mode trusts an unknown height above the ground')
    return found


def read_physics_rate(given: Mapping[str, Any]) -> int:
    """Return the steps per second in a file, 0 if it has none; ScenarioError for a bad one."""
    rate = fields.number(given.get('physics_rate', 0), 'physics_rate')
    if rate and rate not in PHYSICS_RATES:
        raise ScenarioError(f'physics_rate: got {rate:g}, expected {one_of_physics_rates()}')
    return int(rate)


def _fleet(name: str, content: Any) -> Scenario:
    """Return the scenario of several aircraft."""
    top = fields.mapping(
        content, 'the file', required=('duration', 'events', 'criteria', 'vehicles'),
        optional=('description', 'initial', 'sensors', 'midair', 'physics_rate'))
    duration = _duration(top)
    items = fields.items(top['vehicles'], 'vehicles')
    names = read_names(items)
    initial, common = parse_initial(top.get('initial', {})), _in_time(_events(top, duration))
    vehicles = []
    for own, given in zip(
            names, read_contents(items, top.get('initial', {}), duration), strict=True):
        try:
            vehicles.append(_alone(own, given, common))
        except ScenarioError as error:
            raise ScenarioError(f'vehicle {own}: {error}') from None
    fleet = read_fleet(items, names, top.get('midair', {}), duration)
    for vehicle in vehicles:
        _check_one_of_many(vehicle, common, fleet)
    judged = [criteria.over_two(item, f'criteria[{n}]', duration, names, fleet)
              for n, item in enumerate(fields.items(top['criteria'], 'criteria'))]
    if not judged and not any(
            one.criteria or _expects(one) or one.expect_crash for one in vehicles):
        raise ScenarioError('criteria: a scenario without any proves nothing; state at least one')
    if len(names) > 1:
        judged.append(criteria.apart(fleet.midair.radius))
    return Scenario(
        name, str(top.get('description', '')).strip(), duration, initial, common,
        tuple(judged), sensors=fields.text(top.get('sensors', ''), 'sensors'),
        vehicles=tuple(replace(one, physics_rate=read_physics_rate(top), is_one_of_many=True)
                       for one in vehicles),
        fleet=fleet, physics_rate=read_physics_rate(top))


def _check_one_of_many(vehicle: Scenario, common: tuple[ScenarioEvent, ...], fleet: Fleet) -> None:
    """Raise ScenarioError for what contradicts that there are others."""
    for event in vehicle.events:
        if event.action in WEATHER and event not in common:
            raise ScenarioError(
                f'vehicle {vehicle.name}: {event.action} at {event.at:g} s: there is one weather '
                'for all; put it in the events of the file')
    station = fleet.stations.get(vehicle.name)
    if station is None:
        return
    where = f'vehicle {vehicle.name}: formation'
    if not engaged_at(vehicle.events, station.begin):
        raise ScenarioError(f'{where}: the autopilot is not engaged at {station.begin:g} s')
    if vehicle.route is not None:
        raise ScenarioError(f'{where}: its route would leave the slot; omit one of them')
    for event in vehicle.events:
        if event.action in ('target', 'change') and event.at >= station.begin:
            raise ScenarioError(
                f'{where}: {event.action} at {event.at:g} s would leave the slot; omit one of '
                'them')


def _duration(top: Mapping[str, Any]) -> float:
    return fields.number(top['duration'], 'duration', above=0.0, high=fields.DAY)


def _events(top: Mapping[str, Any], duration: float) -> tuple[ScenarioEvent, ...]:
    return tuple(parse_event(item, f'events[{n}]', duration)
                 for n, item in enumerate(fields.items(top['events'], 'events')))


def _in_time(events: Sequence[ScenarioEvent]) -> tuple[ScenarioEvent, ...]:
    return tuple(sorted(events, key=lambda event: event.at))


def parse_initial(item: Any) -> dict[str, Any]:
    """Return the initial state in a file; ScenarioError says what is wrong with it."""
    given = fields.mapping(item, 'initial', optional=_INITIAL)
    found: dict[str, Any] = {}
    for name, value in given.items():
        if name == 'parked':
            found[name] = fields.boolean(value, 'initial.parked')
        elif name == 'plant':
            found[name] = Plant.of(value, 'initial.plant').values()
        elif name in _AIRCRAFT:
            # A model's name may look like a number: 737.
            if not isinstance(value, str | int) or isinstance(value, bool):
                raise ScenarioError(f'initial.{name}: expected a name, got {abbreviated(value)}')
            found[name] = str(value)
        else:
            limit = _PLACES.get(name, fields.LARGEST)
            found[name] = fields.number(value, f'initial.{name}', low=-limit, high=limit)
    return found


def _route(item: Any, duration: float) -> Route:
    given = fields.mapping(
        item, 'route', required=('begin', 'waypoints'), optional=('bank_deg',))
    begin = fields.number(given['begin'], 'route.begin', low=0.0, high=duration)
    waypoints = []
    for n, point in enumerate(fields.items(given['waypoints'], 'route.waypoints')):
        where = f'route.waypoints[{n}]'
        if not isinstance(point, Sequence) or isinstance(point, str) or len(point) != 2:
            raise ScenarioError(f'{where}: expected [east, north] in m, got {abbreviated(point)}')
        waypoints.append((fields.number(point[0], where), fields.number(point[1], where)))
    if not waypoints:
        raise ScenarioError('route.waypoints: expected at least one')
    corners = [(0.0, 0.0), *waypoints]
    for n, (first, second) in enumerate(zip(corners, corners[1:], strict=False)):
        if first == second:
            raise ScenarioError(f'route.waypoints[{n}] is where its leg starts')
    return Route(
        begin, tuple(waypoints), DEGREE * fields.number(
            given.get('bank_deg', _BANK_DEG), 'route.bank_deg', low=1.0, high=60.0))
