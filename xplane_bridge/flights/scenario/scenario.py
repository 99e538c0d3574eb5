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
from dataclasses import dataclass, field
import math
import os
from typing import Any

from xplane_bridge.common import fields, plain_yaml
from xplane_bridge.common.data import folder
from xplane_bridge.common.fields import ScenarioError as ScenarioError
from xplane_bridge.common.plain_yaml import shown
from xplane_bridge.common.units import DEGREE
from xplane_bridge.flights.scenario import flown_by as controller
from xplane_bridge.flights.scenario.events import (
    check_order,
    CONTROLS,
    engaged_at,
    Event,
    REAL_TIME_ONLY,
    SIMULATED_ONLY,
)
from xplane_bridge.flights.scenario.events import parse as parse_event
from xplane_bridge.flights.scenario.excitation import Excitation
from xplane_bridge.flights.scenario.quantities import known
from xplane_bridge.sensors.faults import SENSOR_FAULTS

STATISTICS = ('min', 'max', 'mean', 'max_abs', 'rms', 'std', 'rise', 'first', 'last', 'change')
FIGURES = (
    'duration', 'tracking', 'activity', 'rates', 'latency', 'link', 'route', 'controller', 'load',
    'steps', 'windows')
"""How the names of figures begin."""
_AIRCRAFT = ('model', 'aircraft_path', 'gains')
_INITIAL = (
    'altitude', 'heading_deg', 'airspeed', 'latitude_deg', 'longitude_deg', 'parked', *_AIRCRAFT)
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
class Criterion:
    """
    Inclusive limits of a statistic of a quantity in a window, or of a figure.

    ``name`` is a quantity of quantities.py with its unit (``_deg`` is in degrees), or, without
    ``statistic``, a figure's dotted name. An omitted end of the window is NaN; the frame at
    ``end`` is not in it, the one at ``begin`` is.
    """

    name: str
    statistic: str
    begin: float
    end: float
    at_least: float
    at_most: float


@dataclass(frozen=True, slots=True)
class Scenario:
    """One scenario; times in seconds from its start. ``sensors``: name or file, empty for none."""

    name: str
    description: str
    duration: float
    initial: Mapping[str, Any]
    events: tuple[Event, ...]
    criteria: tuple[Criterion, ...]
    route: Route | None = None
    controller: Mapping[str, Any] = field(default_factory=dict)
    sensors: str = ''

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

    def needs_controls(self) -> list[str]:
        """Return which of its criteria need the reported controls."""
        return [criterion.name for criterion in self.criteria
                if criterion.statistic and criterion.name in CONTROLS]


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


def load(path: str) -> Scenario:
    """Read a scenario file; ScenarioError says what is wrong with it."""
    try:
        content = plain_yaml.load_file(path)
    except OSError as error:
        raise ScenarioError(f'{path}: {error.strerror}') from None
    except ValueError as error:
        raise ScenarioError(f'{path} cannot be read as YAML: {error}') from None
    name = os.path.splitext(os.path.basename(path))[0]
    try:
        return parse(name, content)
    except ScenarioError as error:
        raise ScenarioError(f'{path}: {error}') from None


def parse(name: str, content: Any) -> Scenario:
    """Return the scenario in the content of its file."""
    top = fields.mapping(content, 'the file', required=('duration', 'events', 'criteria'),
                   optional=('description', 'initial', 'route', 'controller', 'sensors'))
    duration = fields.number(top['duration'], 'duration', above=0.0, at_most=fields.DAY)
    events = tuple(sorted(
        (parse_event(item, f'events[{n}]', duration)
         for n, item in enumerate(fields.items(top['events'], 'events'))),
        key=lambda event: event.at))
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
    criteria = tuple(_criterion(item, f'criteria[{n}]', duration)
                     for n, item in enumerate(fields.items(top['criteria'], 'criteria')))
    if not criteria and not any(event.expect for event in events):
        raise ScenarioError('criteria: a scenario without any proves nothing; state at least one')
    return Scenario(
        name, str(top.get('description', '')).strip(), duration,
        parse_initial(top.get('initial', {})), events, criteria, route,
        controller.parse(top['controller']) if 'controller' in top else {},
        fields.text(top.get('sensors', ''), 'sensors'))


def parse_initial(item: Any) -> dict[str, Any]:
    """Return the initial state in a file; ScenarioError says what is wrong with it."""
    given = fields.mapping(item, 'initial', optional=_INITIAL)
    found: dict[str, Any] = {}
    for name, value in given.items():
        if name == 'parked':
            found[name] = fields.boolean(value, 'initial.parked')
        elif name in _AIRCRAFT:
            # A model's name may look like a number: 737.
            if not isinstance(value, str | int) or isinstance(value, bool):
                raise ScenarioError(f'initial.{name}: expected a name, got {shown(value)}')
            found[name] = str(value)
        else:
            limit = _PLACES.get(name, fields.LARGEST)
            found[name] = fields.number(value, f'initial.{name}', at_least=-limit, at_most=limit)
    return found


def _route(item: Any, duration: float) -> Route:
    given = fields.mapping(
        item, 'route', required=('begin', 'waypoints'), optional=('bank_deg',))
    begin = fields.number(given['begin'], 'route.begin', at_least=0.0, at_most=duration)
    waypoints = []
    for n, point in enumerate(fields.items(given['waypoints'], 'route.waypoints')):
        where = f'route.waypoints[{n}]'
        if not isinstance(point, Sequence) or isinstance(point, str) or len(point) != 2:
            raise ScenarioError(f'{where}: expected [east, north] in m, got {shown(point)}')
        waypoints.append((fields.number(point[0], where), fields.number(point[1], where)))
    if not waypoints:
        raise ScenarioError('route.waypoints: expected at least one')
    corners = [(0.0, 0.0), *waypoints]
    for n, (first, second) in enumerate(zip(corners, corners[1:], strict=False)):
        if first == second:
            raise ScenarioError(f'route.waypoints[{n}] is where its leg starts')
    return Route(
        begin, tuple(waypoints), DEGREE * fields.number(
            given.get('bank_deg', _BANK_DEG), 'route.bank_deg', at_least=1.0, at_most=60.0))


def _criterion(item: Any, where: str, duration: float) -> Criterion:
    given = fields.mapping(item, where, optional=(
        'quantity', 'statistic', 'from', 'to', 'figure', 'at_least', 'at_most'))
    if 'at_least' not in given and 'at_most' not in given:
        raise ScenarioError(f'{where}: expected at_least, at_most or both')
    limits = [fields.number(given[key], f'{where}.{key}') if key in given else math.nan
              for key in ('at_least', 'at_most')]
    if 'figure' in given:
        for key in ('quantity', 'statistic', 'from', 'to'):
            if key in given:
                raise ScenarioError(f'{where}: "{key}" belongs to a quantity, not to a figure')
        name = fields.text(given['figure'], f'{where}.figure')
        if name.split('.')[0] not in FIGURES:
            raise ScenarioError(
                f'{where}.figure: there is no figure {shown(name)}: expected one that begins with '
                f'{", ".join(FIGURES)}')
        return Criterion(name, '', math.nan, math.nan, *limits)
    if 'quantity' not in given or 'statistic' not in given:
        raise ScenarioError(f'{where}: expected a figure, or a quantity with its statistic')
    statistic = fields.choice(given['statistic'], f'{where}.statistic', STATISTICS)
    name = fields.text(given['quantity'], f'{where}.quantity')
    if name.removesuffix('_deg') not in known():
        raise ScenarioError(
            f'{where}.quantity: there is no quantity {shown(name)}: expected one of '
            f'{", ".join(known())}, with _deg for degrees')
    begin, end = (
        fields.number(given[key], f'{where}.{key}', at_least=0.0, at_most=duration)
        if key in given else math.nan for key in ('from', 'to'))
    if end <= begin:
        raise ScenarioError(f'{where}: it ends at {end:g} s, but begins at {begin:g} s')
    return Criterion(name, statistic, begin, end, *limits)
