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

The format is described in docs/experiments.md. Every mistake in a file is a ScenarioError whose
text says where it is, what was expected and what was found.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
import math
import os
from typing import Any

from xplane_bridge import plain_yaml
from xplane_bridge.conversions.units import DEGREE
from xplane_bridge.plain_yaml import shown

TARGETS = ('altitude', 'heading', 'airspeed')
CONTROLS = ('elevator', 'aileron', 'rudder', 'throttle', 'flaps', 'gear', 'speedbrake')
# Actions that only a simulator of this package supports: no real one's protocol carries them.
SIMULATED_ONLY = ('wind', 'turbulence', 'engine_failed', 'link_down')
# During these no commands or no telemetry arrive, and lockstep would wait forever.
REAL_TIME_ONLY = ('link_down', 'autopilot_frozen')
STATISTICS = ('min', 'max', 'mean', 'max_abs', 'rms', 'std', 'rise', 'first', 'last', 'change')
_ACTIONS = ('engage', 'controls', 'target', 'change', 'autopilot_frozen', *SIMULATED_ONLY)
_INITIAL = ('altitude', 'heading_deg', 'airspeed', 'latitude_deg', 'longitude_deg', 'parked')


# No flown quantity exceeds it, in any unit; a flight lasts at most a day (s).
_LARGEST = 1e9
_LONGEST = 86_400.0
_PLACES = {'latitude_deg': 90.0, 'longitude_deg': 180.0}


class ScenarioError(ValueError):
    """A scenario cannot be used; the text says why."""


@dataclass(frozen=True, slots=True)
class Expectation:
    """
    Requirements on the response to one step of a target.

    ``until`` is the scenario time at which the response is evaluated; ``band`` is in the
    quantity's SI unit, ``settling`` in seconds, ``overshoot`` a fraction of the step.
    """

    until: float
    band: float
    settling: float
    overshoot: float


@dataclass(frozen=True, slots=True)
class Event:
    """
    Something that happens at scenario time ``at`` (s).

    ``value`` by ``action``: engage, engine_failed, link_down, autopilot_frozen: bool. target and
    change: quantity to SI value. controls: control to value, held ``lasts`` seconds, then centred
    if deflected. wind: (east, north, up) m/s. turbulence: (wind at 20 ft m/s, severity 0..7).
    """

    at: float
    action: str
    value: Any
    lasts: float = 0.0
    expect: Expectation | None = None

    def __str__(self) -> str:
        if self.action in ('target', 'change'):
            return ', '.join(
                f'{name} {"by" if self.action == "change" else "to"} '
                + (f'{value / DEGREE:+.0f} deg' if name == 'heading' else
                   f'{value:+.0f} {"m" if name == "altitude" else "m/s"}')
                for name, value in self.value.items())
        if self.action == 'controls':
            controls = ', '.join(f'{name} {value:+.2f}' for name, value in self.value.items())
            return f'{controls} on command/controls for {self.lasts:.1f} s'
        if self.action == 'wind':
            return 'wind of {:.0f} m/s east, {:.0f} m/s north, {:.0f} m/s up'.format(*self.value)
        if self.action == 'turbulence':
            return 'turbulence: {:.0f} m/s at 20 ft, severity {:.0f}'.format(*self.value)
        if self.action == 'engage':
            return 'engage' if self.value else 'disengage'
        name = self.action.replace('_', ' ')
        return name if self.value else f'{name} ends'


@dataclass(frozen=True, slots=True)
class Route:
    """
    Waypoints in metres (east, north) from the aircraft's position at ``begin`` (s).

    The next leg starts ``lead`` metres before the end of one; the guidance aims ``lookahead``
    metres ahead on the leg.
    """

    begin: float
    waypoints: tuple[tuple[float, float], ...]
    lead: float
    lookahead: float


@dataclass(frozen=True, slots=True)
class Criterion:
    """
    Inclusive limits of a statistic of a quantity in a window, or of a figure.

    ``name`` is a quantity of analysis.py with its unit (``_deg`` is in degrees), or, without
    ``statistic``, a figure's dotted name. An omitted end of the window is NaN.
    """

    name: str
    statistic: str
    begin: float
    end: float
    at_least: float
    at_most: float


@dataclass(frozen=True, slots=True)
class Scenario:
    """One scenario; times in seconds from its start."""

    name: str
    description: str
    duration: float
    initial: Mapping[str, Any]
    events: tuple[Event, ...]
    criteria: tuple[Criterion, ...]
    route: Route | None = None

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

    def needs_controls(self) -> list[str]:
        """Return which of its criteria need the reported controls."""
        return [criterion.name for criterion in self.criteria
                if criterion.statistic and criterion.name in CONTROLS]


def find(name: str, share: str) -> str:
    """Return the path of a scenario: a file, or a name in the folder ``share``/scenarios."""
    if os.path.isfile(name):
        return name
    folder = os.path.join(share, 'scenarios')
    path = os.path.join(folder, f'{name}.yaml')
    if os.path.isfile(path):
        return path
    files = os.listdir(folder) if os.path.isdir(folder) else ()
    known = sorted(file.removesuffix('.yaml') for file in files if file.endswith('.yaml'))
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
    top = _mapping(content, 'the file', required=('duration', 'events', 'criteria'),
                   optional=('description', 'initial', 'route'))
    duration = _number(top['duration'], 'duration', above=0.0, at_most=_LONGEST)
    events = tuple(sorted(
        (_event(item, f'events[{n}]', duration)
         for n, item in enumerate(_list(top['events'], 'events'))),
        key=lambda event: event.at))
    _check_order(events)
    route = _route(top['route'], duration) if 'route' in top else None
    if route is not None and not _engaged_at(events, route.begin):
        raise ScenarioError(f'route: the autopilot is not engaged at {route.begin:g} s')
    criteria = tuple(_criterion(item, f'criteria[{n}]')
                     for n, item in enumerate(_list(top['criteria'], 'criteria')))
    if not criteria and not any(event.expect for event in events):
        raise ScenarioError('criteria: a scenario without any proves nothing; state at least one')
    return Scenario(
        name, str(top.get('description', '')).strip(), duration,
        _initial(top.get('initial', {})), events, criteria, route)


def _event(item: Any, where: str, duration: float) -> Event:
    given = _mapping(item, where, required=('at',), optional=(*_ACTIONS, 'for', 'expect'))
    at = _number(given['at'], f'{where}.at', at_least=0.0)
    if at > duration:
        raise ScenarioError(f'{where}.at: {at:g} s is after the end, {duration:g} s')
    actions = [name for name in _ACTIONS if name in given]
    if len(actions) != 1:
        raise ScenarioError(
            f'{where}: expected one of {", ".join(_ACTIONS)}, got '
            + (', '.join(actions) or 'none'))
    action = actions[0]
    value = _value(action, given[action], f'{where}.{action}')
    lasts = 0.0
    if action == 'controls':
        if 'for' not in given:
            raise ScenarioError(f'{where}: controls need "for", the seconds to hold them')
        lasts = _number(given['for'], f'{where}.for', above=0.0)
    elif 'for' in given:
        raise ScenarioError(f'{where}: "for" belongs to controls, not to {action}')
    expect = None
    if 'expect' in given:
        if action != 'change' or len(value) != 1:
            raise ScenarioError(f'{where}: "expect" belongs to a change of one target')
        expect = _expectation(given['expect'], f'{where}.expect', at, duration, next(iter(value)))
    return Event(at, action, value, lasts, expect)


def _value(action: str, value: Any, where: str) -> Any:
    if action in ('engage', 'engine_failed', 'link_down', 'autopilot_frozen'):
        if not isinstance(value, bool):
            raise ScenarioError(f'{where}: expected true or false, got {shown(value)}')
        return value
    if action in ('target', 'change'):
        names = tuple(f'{name}_deg' if name == 'heading' else name for name in TARGETS)
        given = _mapping(value, where, optional=names)
        if not given:
            raise ScenarioError(f'{where}: expected some of {", ".join(names)}')
        found = {}
        for name, number in given.items():
            si = _si(name, _number(number, f'{where}.{name}'))
            if action == 'change' and si == 0.0:
                raise ScenarioError(f'{where}.{name}: a change of 0 has no effect')
            found[name.removesuffix('_deg')] = si
        return found
    if action == 'controls':
        given = _mapping(value, where, optional=CONTROLS)
        return {name: _number(number, f'{where}.{name}', at_least=-1.0, at_most=1.5)
                for name, number in given.items()}
    length, meaning = {
        'wind': (3, '[east, north, up] in m/s'),
        'turbulence': (2, '[wind at 20 ft in m/s, severity 0..7]'),
    }[action]
    if not isinstance(value, Sequence) or isinstance(value, str) or len(value) != length:
        raise ScenarioError(f'{where}: expected {meaning}, got {shown(value)}')
    return tuple(_number(number, f'{where}[{n}]') for n, number in enumerate(value))


def _expectation(
    item: Any, where: str, at: float, duration: float, quantity: str
) -> Expectation:
    band = 'band_deg' if quantity == 'heading' else 'band'
    given = _mapping(item, where, required=('until', band, 'settling', 'overshoot'))
    until = _number(given['until'], f'{where}.until', above=at)
    if until > duration:
        raise ScenarioError(f'{where}.until: {until:g} s is after the end, {duration:g} s')
    return Expectation(
        until, _si(band, _number(given[band], f'{where}.{band}', above=0.0)),
        _number(given['settling'], f'{where}.settling', above=0.0),
        _number(given['overshoot'], f'{where}.overshoot', at_least=0.0))


def _check_order(events: Sequence[Event]) -> None:
    for event in events:
        if event.action in ('target', 'change') and not _engaged_at(events, event.at):
            raise ScenarioError(
                f'{event.action} at {event.at:g} s: the autopilot is not engaged then')
        if event.action == 'controls' and any(
            _engaged_at(events, at) for at in (event.at, event.at + event.lasts)
        ):
            raise ScenarioError(
                f'controls at {event.at:g} s: the autopilot is engaged then, or before they are '
                'released, and commands them')


def _engaged_at(events: Sequence[Event], at: float) -> bool:
    engaged = False
    for event in events:
        if event.action == 'engage' and event.at <= at:
            engaged = event.value
    return engaged


def _initial(item: Any) -> dict[str, Any]:
    given = _mapping(item, 'initial', optional=_INITIAL)
    found: dict[str, Any] = {}
    for name, value in given.items():
        if name == 'parked':
            if not isinstance(value, bool):
                raise ScenarioError(f'initial.parked: expected true or false, got {shown(value)}')
            found[name] = value
        else:
            limit = _PLACES.get(name, _LARGEST)
            found[name] = _number(value, f'initial.{name}', at_least=-limit, at_most=limit)
    return found


def _route(item: Any, duration: float) -> Route:
    given = _mapping(item, 'route', required=('begin', 'waypoints', 'lead', 'lookahead'))
    begin = _number(given['begin'], 'route.begin', at_least=0.0, at_most=duration)
    waypoints = []
    for n, point in enumerate(_list(given['waypoints'], 'route.waypoints')):
        where = f'route.waypoints[{n}]'
        if not isinstance(point, Sequence) or isinstance(point, str) or len(point) != 2:
            raise ScenarioError(f'{where}: expected [east, north] in m, got {shown(point)}')
        waypoints.append((_number(point[0], where), _number(point[1], where)))
    if not waypoints:
        raise ScenarioError('route.waypoints: expected at least one')
    corners = [(0.0, 0.0), *waypoints]
    for n, (first, second) in enumerate(zip(corners, corners[1:], strict=False)):
        if first == second:
            raise ScenarioError(f'route.waypoints[{n}] is where its leg starts')
    return Route(
        begin, tuple(waypoints), _number(given['lead'], 'route.lead', at_least=0.0),
        _number(given['lookahead'], 'route.lookahead', above=0.0))


def _criterion(item: Any, where: str) -> Criterion:
    given = _mapping(item, where, optional=(
        'quantity', 'statistic', 'from', 'to', 'figure', 'at_least', 'at_most'))
    if 'at_least' not in given and 'at_most' not in given:
        raise ScenarioError(f'{where}: expected at_least, at_most or both')
    limits = [_number(given[key], f'{where}.{key}') if key in given else math.nan
              for key in ('at_least', 'at_most')]
    if 'figure' in given:
        for key in ('quantity', 'statistic', 'from', 'to'):
            if key in given:
                raise ScenarioError(f'{where}: "{key}" belongs to a quantity, not to a figure')
        return Criterion(str(given['figure']), '', math.nan, math.nan, *limits)
    if 'quantity' not in given or 'statistic' not in given:
        raise ScenarioError(f'{where}: expected a figure, or a quantity with its statistic')
    statistic = given['statistic']
    if statistic not in STATISTICS:
        raise ScenarioError(
            f'{where}.statistic: expected one of {", ".join(STATISTICS)}, got {shown(statistic)}')
    window = [_number(given[key], f'{where}.{key}') if key in given else math.nan
              for key in ('from', 'to')]
    return Criterion(str(given['quantity']), statistic, *window, *limits)


def _si(name: str, value: float) -> float:
    return value * DEGREE if name.endswith('_deg') else value


def _mapping(
    value: Any, where: str, required: Sequence[str] = (), optional: Sequence[str] = ()
) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise ScenarioError(f'{where}: expected names with values, got {shown(value)}')
    for name in value:
        if name not in required and name not in optional:
            raise ScenarioError(
                f'{where}: unknown name {shown(name)}, expected '
                f'{", ".join((*required, *optional))}')
    for name in required:
        if name not in value:
            raise ScenarioError(f'{where}: {name} is missing')
    return value


def _list(value: Any, where: str) -> Sequence[Any]:
    if not isinstance(value, list):
        raise ScenarioError(f'{where}: expected a list, got {shown(value)}')
    return value


def _number(
    value: Any, where: str, above: float = -math.inf, at_least: float = -_LARGEST,
    at_most: float = _LARGEST,
) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ScenarioError(f'{where}: expected a number, got {shown(value)}')
    if not (value > above and at_least <= value <= at_most):
        limit = (f'above {above:g}' if value <= above else
                 f'at least {at_least:g}' if value < at_least else f'at most {at_most:g}')
        raise ScenarioError(f'{where}: expected {limit}, got {value:g}')
    return float(value)
