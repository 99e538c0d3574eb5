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
from pathlib import Path
from typing import Any

from xplane_bridge.common import plain_yaml
from xplane_bridge.common.data import folder
from xplane_bridge.common.fields import (
    as_it_is,
    DAY,
    Declaration,
    declared,
    FieldError,
    in_file,
    items,
    number,
    read,
    read_table,
    REQUIRED,
    shown,
    Table,
    wrong_kind,
)
from xplane_bridge.common.timing import one_of_physics_rates, PHYSICS_RATES
from xplane_bridge.common.units import DEGREE
from xplane_bridge.laboratory.control.runway.charted import ChartedRunway
from xplane_bridge.laboratory.flights.scenario import criteria
from xplane_bridge.laboratory.flights.scenario import flown_by as controller
from xplane_bridge.laboratory.flights.scenario import runway as runways
from xplane_bridge.laboratory.flights.scenario.criteria import Criterion
from xplane_bridge.laboratory.flights.scenario.errors import ScenarioError as ScenarioError
from xplane_bridge.laboratory.flights.scenario.events import (
    check_order,
    CONTROLS,
    DATA_LINK_DOWN,
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
from xplane_bridge.simulation.aircraft.loading.files import has_aircraft
from xplane_bridge.simulation.aircraft.plant import Plant
from xplane_bridge.simulation.aircraft.runscript import script as runscript
from xplane_bridge.simulation.aircraft.runscript.script import RunScript
from xplane_bridge.simulation.aircraft.weather_settings import WEATHER

RUNSCRIPT = '.xml'
"""How the name of a script of JSBSim ends, which is flown as a scenario."""

# Of a route's turns: three quarters of what the c172p's envelope allows.
_BANK_DEG = 19.0


def _read_name(value: Any, where: str) -> str:
    # A model's name may look like a number: 737.
    if not isinstance(value, str | int) or isinstance(value, bool):
        raise FieldError(wrong_kind(where, 'a name', value))
    return str(value)


def _read_plant(value: Any, where: str) -> dict[str, float]:
    return Plant.of(value, where).values()


def _read_waypoints(value: Any, where: str) -> tuple[tuple[float, float], ...]:
    found = tuple(_WAYPOINT.check(point, f'{where}[{n}]')
                  for n, point in enumerate(items(value, where)))
    if not found:
        raise FieldError(f'{where}: expected at least one')
    corners = [(0.0, 0.0), *found]
    for n, (first, second) in enumerate(zip(corners, corners[1:], strict=False)):
        if first == second:
            raise FieldError(f'{where}[{n}] is where its leg starts')
    return found


def _read_physics_rate(value: Any, where: str) -> int:
    rate = number(value, where)
    if rate and rate not in PHYSICS_RATES:
        raise FieldError(f'{where}: expected {one_of_physics_rates()}, got {shown(rate)}')
    return int(rate)


INITIAL: Table = {
    'altitude': Declaration(None, 'above the WGS-84 ellipsoid, as in `fix`', unit='m'),
    'heading_deg': Declaration(None, 'from true north', unit='deg'),
    'airspeed': Declaration(None, 'calibrated', unit='m/s'),
    'latitude_deg': Declaration(None, 'north', unit='deg', low=-90.0, high=90.0),
    'longitude_deg': Declaration(None, 'east', unit='deg', low=-180.0, high=180.0),
    'parked': Declaration(
        False, 'on the ground, engines idling, instead of trimmed in the air', bool),
    'plant': Declaration(
        None, '[in what the aircraft differs](#a-plant-that-differs-from-its-model) from its '
        'model', form='names with numbers', reader=_read_plant),
    'model': Declaration(
        'c172p', 'the aircraft, of simulators of this package', form='a name', reader=_read_name),
    'aircraft_path': Declaration(
        '', 'where that is, if it is one of your own', form='a folder', reader=_read_name),
    'controls': Declaration(
        '', '[what moves it](aircraft.md#controls-of-your-own), if not the file beside it',
        form='a file', reader=_read_name),
    'gains': Declaration(
        '', "the autopilot's gains, if not those of the aircraft", form='a name or a file',
        reader=_read_name)}
"""Of the state in which a scenario begins."""

PHYSICS_RATE = Declaration(
    0, '[steps](aircraft.md#steps-per-second) of the simulated aircraft; 0 is as many as it needs',
    unit='1/s', form=one_of_physics_rates(), reader=_read_physics_rate)
"""Steps per second."""

_WAYPOINT = Declaration(REQUIRED, 'a place', tuple[float, float], form='[east, north] in m')
_COMMON: Table = {
    'duration': Declaration(REQUIRED, 'how long it lasts', unit='s', above=0.0, high=DAY),
    'events': Declaration(REQUIRED, '[what happens](#events)', form='a list', reader=items),
    'criteria': Declaration(
        REQUIRED, '[what it is judged by](#criteria); at least one, or an `expect`',
        form='a list', reader=items),
    'description': Declaration('', 'any text', reader=as_it_is, form='a text'),
    'initial': Declaration({}, '[how it begins](#initial-state)', reader=as_it_is),
    'sensors': Declaration(
        '', 'between the simulator and the controller: [sensors](sensors.md); `--sensors NAME` or '
        '`none` overrides it', str, form='a name or a file'),
    'physics_rate': PHYSICS_RATE,
    'controller': Declaration(
        None, '[what flies](controllers.md), unless the command line says otherwise',
        form='a command line, or names with values', reader=as_it_is)}

ALONE: Table = {
    **_COMMON,
    'route': Declaration(None, '[waypoints](#routes) to fly along', reader=as_it_is),
    'runway': Declaration(None, '[where it takes off and lands](runway.md)', reader=as_it_is),
    'expect_crash': Declaration(
        False, 'whether it is to end by a crash; otherwise one is the verdict', bool)}
"""Of the scenario of one aircraft."""

OF_SEVERAL: Table = {
    **_COMMON,
    'vehicles': Declaration(
        REQUIRED, '[the aircraft](fleets.md)', form='a list', reader=items),
    'midair': Declaration(
        {}, '[when two of them have met](fleets.md)', reader=as_it_is)}
"""Of the scenario of several aircraft."""

OF_SCRIPT: Table = {
    'runscript': Declaration(
        REQUIRED, '[a script of JSBSim](#scripts-of-jsbsim), by its path from this file', str,
        form='a file'),
    'criteria': Declaration(
        REQUIRED, '[what it is judged by](#criteria), at least one', form='a list', reader=items),
    'description': Declaration('', "any text, instead of the script's", str, form='a text')}
"""Of a scenario that a script of JSBSim flies."""


@dataclass(frozen=True, slots=True)
class Route:
    """Waypoints; ``bank`` gives the radius of its turns."""

    begin: float = declared(REQUIRED, 'from when on it is flown', unit='s', low=0.0)
    waypoints: tuple[tuple[float, float], ...] = declared(
        REQUIRED, "from the aircraft's position at `begin`", unit='m',
        form='[[east, north], …]', reader=_read_waypoints)
    bank: float = declared(
        DEGREE * _BANK_DEG, 'of its turns, with the ground speed at `begin`; leave room for wind',
        unit='deg', low=1.0, high=60.0, name='bank_deg')


@dataclass(frozen=True, slots=True)
class Scenario:
    """
    One scenario; times in seconds from its start. ``sensors``: name or file, empty for none.

    One for several aircraft has a whole scenario for each of them in ``vehicles``, whose names
    are those of the aircraft. Its events happen to each, and are in theirs; its criteria are over
    two. ``fleet`` is what binds them. ``expect_crash``: it is to end by one.
    ``physics_rate`` is how many steps per second are flown, 0 as many as the model needs.
    ``is_one_of_many``: it is of one aircraft of several. ``runscript``: JSBSim runs a script of
    its own, and nothing else happens.
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
    fleet: Fleet = Fleet()
    expect_crash: bool = False
    physics_rate: int = 0
    is_one_of_many: bool = False
    runscript: RunScript | None = None

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
    """Read a scenario file, or a script of JSBSim; ScenarioError says what is wrong with it."""
    name, extension = os.path.splitext(os.path.basename(path))
    try:
        if extension == RUNSCRIPT:
            return _of_script(name, path)
        content = plain_yaml.load_named(path)
    except FieldError as error:
        raise ScenarioError(str(error)) from None
    with in_file(path, ScenarioError):
        if isinstance(content, Mapping) and 'runscript' in content:
            return _judged_script(name, content, os.path.dirname(path))
        return parse(name, content, judged)


def _of_script(name: str, path: str) -> Scenario:
    """Return the scenario of a script of JSBSim, whose aircraft may be beside it."""
    script, folder = runscript.read(path), Path(path).absolute().parent
    try:
        beside = next((str(place) for place in (folder, folder.parent)
                       if has_aircraft(script.aircraft, place)), '')
    except ValueError as error:
        raise ScenarioError(f'{path}: use: aircraft: {error}') from None
    return Scenario(
        name, script.description or script.name, script.duration,
        {'model': script.aircraft, **({'aircraft_path': beside} if beside else {})}, (), (),
        runscript=script)


def _judged_script(name: str, content: Any, folder: str) -> Scenario:
    """Return the scenario of a script of JSBSim that is judged by criteria of its own."""
    top = read_table(OF_SCRIPT, content)
    found = _of_script(name, os.path.join(folder, top['runscript']))
    assert found.runscript is not None
    if not top['criteria']:
        raise FieldError('criteria: expected at least one; without any name the script itself')
    # Its last step may be a little before what it says.
    duration = max(found.duration, found.runscript.end - found.runscript.start)
    return replace(found, criteria=tuple(
        criteria.parse(item, f'criteria[{n}]', duration)
        for n, item in enumerate(top['criteria'])),
        description=top.get('description') or found.description)


def parse(name: str, content: Any, judged: bool = True) -> Scenario:
    """
    Return the scenario in the content of its file; it has criteria, if it is ``judged``.

    ScenarioError says what is wrong with it.
    """
    try:
        return _parse(name, content, judged)
    except FieldError as error:
        raise ScenarioError(str(error)) from None


def _parse(name: str, content: Any, judged: bool) -> Scenario:
    if not judged and isinstance(content, Mapping):
        content = {'criteria': [], **content}
    if isinstance(content, Mapping) and 'vehicles' in content:
        return _fleet(name, content)
    found = _alone(name, content)
    if judged and not (found.criteria or _expects(found) or found.expect_crash):
        raise FieldError('criteria: a scenario without any proves nothing; state at least one')
    return found


def _expects(scenario: Scenario) -> bool:
    return any(event.expect for event in scenario.events)


def _alone(
    name: str, content: Any, common: tuple[ScenarioEvent, ...] | None = None
) -> Scenario:
    """Return the scenario of one aircraft; ``common`` events happen to others, if it has any."""
    top = read_table(ALONE, content)
    duration = top['duration']
    events = _in_time((*(common or ()), *_events(top)))
    check_order(events)
    route = _route(top['route'], duration) if 'route' in top else None
    if route is not None:
        if not engaged_at(events, route.begin):
            raise FieldError(f'route: the autopilot is not engaged at {route.begin:g} s')
        for event in events:
            if event.is_open_loop and event.at > route.begin:
                raise FieldError(
                    f'route: {event.action} at {event.at:g} s releases the autopilot')
            if event.action in ('target', 'change') and 'heading' in event.value and (
                    event.at >= route.begin):
                raise FieldError(
                    f'route: the heading at {event.at:g} s would leave it; omit one of them')
    judged = tuple(criteria.parse(item, f'criteria[{n}]', duration)
                   for n, item in enumerate(top['criteria']))
    runway = runways.parse(top['runway']) if 'runway' in top else None
    initial = parse_initial(top.get('initial', {}))
    if runway is not None and initial.get('parked'):
        initial = {**runways.standing(runway), **initial}
    found = Scenario(
        name, str(top.get('description', '')).strip(), duration, initial, events, judged, route,
        controller.parse(top['controller']) if 'controller' in top else {},
        top.get('sensors', ''), runway, expect_crash=top.get('expect_crash', False),
        physics_rate=top.get('physics_rate', 0))
    needed = [] if runway is not None else found.needs_runway()
    if common is None and any(event.action == DATA_LINK_DOWN for event in events):
        raise FieldError(f'{DATA_LINK_DOWN}: there is no other aircraft; it belongs to vehicles')
    if needed and common is not None:
        raise FieldError(
            f'{", ".join(needed)}: aircraft of a fleet neither take off nor land, as '
            'simulator_node says only of its first what touches the ground; fly it alone')
    if needed:
        raise FieldError(
            f'{", ".join(needed)} needs a runway: state heading_deg, length, width and '
            'elevation_msl below "runway", as no mode trusts an unknown height above the ground')
    return found


def _fleet(name: str, content: Any) -> Scenario:
    """Return the scenario of several aircraft."""
    top = read_table(OF_SEVERAL, content)
    duration, given_vehicles = top['duration'], top['vehicles']
    names = read_names(given_vehicles)
    initial, common = parse_initial(top.get('initial', {})), _in_time(_events(top))
    contents = read_contents(given_vehicles, top.get('initial', {}), duration, {
        name: top[name] for name in ('controller',) if name in top})
    vehicles = []
    for own, given in zip(names, contents, strict=True):
        with in_file(f'vehicle {own}'):
            vehicles.append(_alone(own, given, common))
    fleet = read_fleet(given_vehicles, names, top.get('midair', {}), duration)
    for vehicle in vehicles:
        _check_one_of_many(vehicle, common, fleet)
    judged = [criteria.over_two(item, f'criteria[{n}]', duration, names, fleet)
              for n, item in enumerate(top['criteria'])]
    if not judged and not any(
            one.criteria or _expects(one) or one.expect_crash for one in vehicles):
        raise FieldError('criteria: a scenario without any proves nothing; state at least one')
    if len(names) > 1:
        judged.append(criteria.apart(fleet.midair.radius))
    return Scenario(
        name, str(top.get('description', '')).strip(), duration, initial, common,
        tuple(judged), sensors=top.get('sensors', ''),
        vehicles=tuple(replace(one, physics_rate=top.get('physics_rate', 0), is_one_of_many=True)
                       for one in vehicles),
        fleet=fleet, physics_rate=top.get('physics_rate', 0))


def _check_one_of_many(vehicle: Scenario, common: tuple[ScenarioEvent, ...], fleet: Fleet) -> None:
    """Raise FieldError for what contradicts that there are others."""
    for event in vehicle.events:
        if event.action in WEATHER and event not in common:
            raise FieldError(
                f'vehicle {vehicle.name}: {event.action} at {event.at:g} s: there is one weather '
                'for all; put it in the events of the file')
    if vehicle.name not in fleet.stations:
        return
    station, *_ = fleet.stations[vehicle.name]
    where = f'vehicle {vehicle.name}: formation'
    if not engaged_at(vehicle.events, station.begin):
        raise FieldError(f'{where}: the autopilot is not engaged at {station.begin:g} s')
    if vehicle.route is not None:
        raise FieldError(f'{where}: its route would leave the slot; omit one of them')
    for event in vehicle.events:
        if event.action in ('target', 'change') and event.at >= station.begin:
            raise FieldError(
                f'{where}: {event.action} at {event.at:g} s would leave the slot; omit one of '
                'them')


def _events(top: Mapping[str, Any]) -> tuple[ScenarioEvent, ...]:
    return tuple(parse_event(item, f'events[{n}]', top['duration'])
                 for n, item in enumerate(top['events']))


def _in_time(events: Sequence[ScenarioEvent]) -> tuple[ScenarioEvent, ...]:
    return tuple(sorted(events, key=lambda event: event.at))


def parse_initial(item: Any) -> dict[str, Any]:
    """Return the initial state in a file. Raises FieldError."""
    return read_table(INITIAL, item, 'initial')


def _route(item: Any, duration: float) -> Route:
    found = read(Route, item, 'route')
    number(found.begin, 'route.begin', high=duration, unit='s')
    return found
