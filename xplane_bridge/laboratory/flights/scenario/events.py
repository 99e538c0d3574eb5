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

"""Events of a scenario file: what happens at a time. No ROS."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from xplane_bridge.common import fields
from xplane_bridge.common.controls import FLOWN
from xplane_bridge.common.fields import ScenarioError
from xplane_bridge.common.text import abbreviated
from xplane_bridge.common.units import DEGREE
from xplane_bridge.laboratory.flights.scenario import excitation, runway
from xplane_bridge.laboratory.flights.scenario.excitation import Excitation
from xplane_bridge.laboratory.flights.scenario.runway import PROCEDURES
from xplane_bridge.laboratory.sensors.faults import SENSOR_FAULTS
from xplane_bridge.simulation.aircraft import weather_settings as weather
from xplane_bridge.simulation.aircraft.weather_settings import WEATHER

TARGETS = ('altitude', 'heading', 'airspeed')
CONTROLS = (*FLOWN, 'flaps', 'gear', 'speedbrake')
# Actions that only a simulator of this package supports: no real one's protocol carries them.
SIMULATED_ONLY = (*WEATHER, 'engine_failed', 'link_down', 'trim')
# During these no commands or no telemetry arrive, and lockstep would wait forever.
REAL_TIME_ONLY = ('link_down', 'autopilot_frozen')
# What breaks, of the aircraft and of its sensors.
FAILURES = ('engine_failed', *SENSOR_FAULTS)
# As X-Plane 12.
_MOST_ENGINES = 16
_ACTIONS = (
    'engage', 'controls', 'target', 'change', 'autopilot_frozen', *SIMULATED_ONLY,
    *PROCEDURES, *SENSOR_FAULTS, *excitation.KINDS)
_TRIM = ('altitude', 'airspeed', 'flight_path_angle_deg', 'bank_deg')
# Actions that last.
_LASTING = ('controls', *excitation.KINDS)
# How long after its end an input's response is looked at (s).
_FREE_RESPONSE = 5.0


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
class ScenarioEvent:
    """
    Something that happens at scenario time ``at`` (s).

    ``value`` by ``action``: engage, link_down, autopilot_frozen, and the faults of sensors: bool.
    engine_failed: bool, or the numbers of engines. target and change: quantity to SI value.
    controls: control to value, held ``lasts`` seconds, then centred if deflected. doublet, 3211,
    chirp and multisine: an Excitation. wind, turbulence, gust and wind_shear: see weather.parse.
    trim: what of altitude (m above the ellipsoid), airspeed (m/s),
    flight_path_angle and bank (rad) is not as it is, or 0. take_off, pattern and go_around: height
    (m above the runway), and the side of a pattern; land: nothing. The response to what lasts is
    looked at until ``free`` seconds after its end.
    """

    at: float
    action: str
    value: Any
    lasts: float = 0.0
    expect: Expectation | None = None
    free: float = _FREE_RESPONSE

    @property
    def is_open_loop(self) -> bool:
        """Return whether it is an excitation of the controls alone, without the controller."""
        return isinstance(self.value, Excitation) and not self.value.closed_loop

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
        if self.action in WEATHER:
            return weather.described(self.action, self.value)
        if self.action == 'trim':
            values = ', '.join(
                f'{name} {value / DEGREE:.1f} deg' if name in ('flight_path_angle', 'bank') else
                f'{name} {value:.1f} {"m" if name == "altitude" else "m/s"}'
                for name, value in self.value.items())
            return f'trim at {values}' if values else 'trim'
        if self.action in PROCEDURES:
            return runway.described(self.action, self.value)
        if self.action == 'engage':
            return 'engage' if self.value else 'disengage'
        if isinstance(self.value, Excitation):
            return str(self.value)
        name = self.action.replace('_', ' ')
        return name if self.value else f'{name} ends'


def parse(item: Any, where: str, duration: float) -> ScenarioEvent:
    """Return an event of a file; ScenarioError says what is wrong with it."""
    if isinstance(item, Mapping):
        # YAML takes 3211 for a number.
        item = {'3211' if name == 3211 else name: value for name, value in item.items()}
    given = fields.mapping(
        item, where, required=('at',), optional=(*_ACTIONS, 'for', 'free', 'expect'))
    at = fields.number(given['at'], f'{where}.at', low=0.0)
    if at > duration:
        raise ScenarioError(f'{where}.at: {at:g} s is after the end, {duration:g} s')
    actions = [name for name in _ACTIONS if name in given]
    if len(actions) != 1:
        raise ScenarioError(
            f'{where}: expected one of {", ".join(_ACTIONS)}, got '
            + (', '.join(actions) or 'none'))
    action = actions[0]
    lasts, free = _times(action, given, where)
    if action in excitation.KINDS:
        if at + lasts > duration:
            raise ScenarioError(
                f'{where}.for: it ends at {at + lasts:g} s, after the end, {duration:g} s')
        value: Any = excitation.parse(action, given[action], f'{where}.{action}', lasts)
    else:
        value = _value(action, given[action], f'{where}.{action}')
    expect = None
    if 'expect' in given:
        if action != 'change' or len(value) != 1:
            raise ScenarioError(f'{where}: "expect" belongs to a change of one target')
        expect = _expectation(given['expect'], f'{where}.expect', at, duration, next(iter(value)))
    return ScenarioEvent(at, action, value, lasts, expect, free)


def _times(action: str, given: Mapping[str, Any], where: str) -> tuple[float, float]:
    """Return how long an event lasts, and the response to it afterwards."""
    if action not in _LASTING:
        for name in ('for', 'free'):
            if name in given:
                raise ScenarioError(
                    f'{where}: "{name}" belongs to {", ".join(_LASTING)}, not to {action}')
        return 0.0, 0.0
    if 'for' not in given:
        raise ScenarioError(
            f'{where}: {action} need{"s" * (action != "controls")} "for", the seconds to '
            f'{"hold them" if action == "controls" else "fly it"}')
    return (fields.number(given['for'], f'{where}.for', above=0.0, high=fields.DAY),
            fields.number(given.get('free', _FREE_RESPONSE), f'{where}.free', low=0.0))


def _value(action: str, value: Any, where: str) -> Any:
    if action in PROCEDURES:
        return runway.parse_procedure(action, value, where)
    if action == 'engine_failed' and not isinstance(value, bool):
        return _engines(value, where)
    if action in ('engage', 'engine_failed', 'link_down', 'autopilot_frozen', *SENSOR_FAULTS):
        return fields.boolean(value, where)
    if action in ('target', 'change'):
        names = tuple(f'{name}_deg' if name == 'heading' else name for name in TARGETS)
        given = fields.mapping(value, where, optional=names)
        if not given:
            raise ScenarioError(f'{where}: expected some of {", ".join(names)}')
        found = {}
        for name, number in given.items():
            si = fields.si(name, fields.number(number, f'{where}.{name}'))
            if action == 'change' and si == 0.0:
                raise ScenarioError(f'{where}.{name}: a change of 0 has no effect')
            found[name.removesuffix('_deg')] = si
        return found
    if action == 'trim':
        given = fields.mapping(value, where, optional=_TRIM)
        return {
            name.removesuffix('_deg'): fields.si(name, fields.number(number, f'{where}.{name}'))
            for name, number in given.items()}
    if action == 'controls':
        given = fields.mapping(value, where, optional=CONTROLS)
        return {name: fields.number(number, f'{where}.{name}', low=-1.0, high=1.5)
                for name, number in given.items()}
    return weather.parse(action, value, where)


def _engines(value: Any, where: str) -> tuple[int, ...]:
    if not isinstance(value, Sequence) or isinstance(value, str) or not all(
            isinstance(number, int) and 0 <= number < _MOST_ENGINES for number in value):
        raise ScenarioError(
            f'{where}: expected true, false, or the numbers of the engines that fail, such as '
            f'[0] for the left one; got {abbreviated(value)}')
    return tuple(value)


def _expectation(
    item: Any, where: str, at: float, duration: float, quantity: str
) -> Expectation:
    band = 'band_deg' if quantity == 'heading' else 'band'
    given = fields.mapping(item, where, required=('until', band, 'settling', 'overshoot'))
    until = fields.number(given['until'], f'{where}.until', above=at)
    if until > duration:
        raise ScenarioError(f'{where}.until: {until:g} s is after the end, {duration:g} s')
    return Expectation(
        until, fields.si(band, fields.number(given[band], f'{where}.{band}', above=0.0)),
        fields.number(given['settling'], f'{where}.settling', above=0.0),
        fields.number(given['overshoot'], f'{where}.overshoot', low=0.0))


def check_order(events: Sequence[ScenarioEvent]) -> None:
    """Raise ScenarioError for events that contradict each other."""
    for event in events:
        if event.action in ('target', 'change', *PROCEDURES) and not engaged_at(
                events, event.at):
            raise ScenarioError(
                f'{event.action} at {event.at:g} s: the autopilot is not engaged then')
        if event.action == 'controls' and any(
            engaged_at(events, at) for at in (event.at, event.at + event.lasts)
        ):
            raise ScenarioError(
                f'controls at {event.at:g} s: the autopilot is engaged then, or before they are '
                'released, and commands them')
        if isinstance(event.value, Excitation):
            _check_excitation(events, event, event.value)
        if event.action == 'trim':
            _check_trim(events, event)


def _check_trim(events: Sequence[ScenarioEvent], event: ScenarioEvent) -> None:
    if engaged_at(events, event.at):
        raise ScenarioError(
            f'trim at {event.at:g} s: the autopilot is engaged then, and commands the controls; '
            'release it before, with engage: false')
    for other in events:
        if other.at == event.at and (
                other.lasts or (other.action == 'engage' and other.value)):
            raise ScenarioError(
                f'{other.action} at {other.at:g} s: the trimmed state is measured in the next '
                'frame only; give it a later time than the trim')


def _check_excitation(
    events: Sequence[ScenarioEvent], event: ScenarioEvent, value: Excitation
) -> None:
    end = event.at + event.lasts
    if value.closed_loop and not engaged_at(events, event.at):
        raise ScenarioError(
            f'{event.action} at {event.at:g} s: with closed_loop the autopilot must be engaged')
    for other in events:
        if other is event or not event.at <= other.at < end:
            continue
        if other.action in ('controls', 'trim') or (
                other.action == 'engage' and other.at > event.at):
            raise ScenarioError(
                f'{other.action} at {other.at:g} s: {event.action} lasts until {end:g} s')
        if isinstance(other.value, Excitation) and (
                other.value.axis == value.axis or other.value.closed_loop != value.closed_loop):
            raise ScenarioError(
                f'{other.action} at {other.at:g} s: {event.action} on {value.axis} lasts until '
                f'{end:g} s')


def engaged_at(events: Sequence[ScenarioEvent], at: float) -> bool:
    """Return whether the controller is engaged at a time (s)."""
    engaged = False
    for event in events:
        if event.at <= at and (event.action == 'engage' or event.is_open_loop):
            engaged = event.action == 'engage' and event.value
    return engaged
