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

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from xplane_bridge.common.controls import FLOWN
from xplane_bridge.common.fields import (
    as_it_is,
    DAY,
    Declaration,
    declared,
    FieldError,
    number,
    read_table,
    Reader,
    REQUIRED,
    Table,
    table_of,
)
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
DATA_LINK_DOWN = 'data_link_down'
# During these no commands or no telemetry arrive, and lockstep would wait forever.
REAL_TIME_ONLY = ('link_down', 'autopilot_frozen')
# What breaks, of the aircraft and of its sensors.
FAILURES = ('engine_failed', *SENSOR_FAULTS)
# As X-Plane 12.
_MOST_ENGINES = 16
# Actions that last.
_LASTING = ('controls', *excitation.KINDS)
# How long after its end an input's response is looked at (s).
_FREE_RESPONSE = 5.0


@dataclass(frozen=True, slots=True)
class Expectation:
    """Requirements on the response to one step of a target."""

    until: float = declared(REQUIRED, 'when the response is judged', unit='s')
    band: float = declared(
        REQUIRED, 'about the new target, in its unit; of a heading it is `band_deg`', above=0.0)
    settling: float = declared(
        REQUIRED, 'how long after the step it stays in the band', unit='s', above=0.0)
    overshoot: float = declared(
        REQUIRED, 'how far it may go beyond the target, as a part of the step', low=0.0)


@dataclass(frozen=True, slots=True)
class ScenarioEvent:
    """
    Something that happens at scenario time ``at`` (s).

    ``value`` by ``action``: engage, link_down, data_link_down, autopilot_frozen, and the faults of
    sensors: bool.
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


# What an event may do to an aircraft.

TARGET: Table = {
    'altitude': Declaration(None, 'above the ellipsoid, as in `fix`', unit='m'),
    'heading': Declaration(None, 'from true north', unit='deg', name='heading_deg'),
    'airspeed': Declaration(None, 'indicated', unit='m/s')}
"""Of ``target``, and of ``change``, where all are relative."""

CONTROL: Table = {
    name: Declaration(None, 'its position, as in `command/controls`', low=-1.0, high=1.5)
    for name in CONTROLS}
"""Of ``controls``."""

TRIM: Table = {
    'altitude': Declaration(None, 'above the ellipsoid; by default as it is', unit='m'),
    'airspeed': Declaration(None, 'calibrated; by default as it is', unit='m/s'),
    'flight_path_angle': Declaration(
        0.0, 'of the flight, up', unit='deg', name='flight_path_angle_deg'),
    'bank': Declaration(0.0, 'to the right', unit='deg', name='bank_deg')}
"""Of ``trim``."""


def _read_target(value: Any, where: str) -> dict[str, float]:
    found = read_table(TARGET, value, where)
    if not found:
        raise FieldError(
            f'{where}: expected some of {", ".join(one.name or name for name, one in _TARGETS)}')
    return found


def _read_change(value: Any, where: str) -> dict[str, float]:
    found = _read_target(value, where)
    for name, one in _TARGETS:
        if found.get(name) == 0.0:
            raise FieldError(f'{where}.{one.name or name}: a change of 0 has no effect')
    return found


def _read_engines(value: Any, where: str) -> bool | tuple[int, ...]:
    if isinstance(value, bool):
        return value
    if not isinstance(value, Sequence) or isinstance(value, str) or not all(
            isinstance(number, int) and 0 <= number < _MOST_ENGINES for number in value):
        raise FieldError(
            f'{where}: expected true, false, or the numbers of the engines that fail, such as '
            f'[0] for the left one; got {abbreviated(value)}')
    return tuple(value)


def _by_action(reader: Callable[[str, Any, str], Any], action: str) -> Reader:
    return lambda value, where: reader(action, value, where)


_TARGETS = TARGET.items()
_MEANINGS = {
    'wind': 'velocity of the air', 'turbulence': '[turbulence](simulator.md#turbulence)',
    'gust': 'a discrete [gust](#gusts-and-wind-shear)',
    'wind_shear': 'a [wind that grows with the height](#gusts-and-wind-shear)',
    'take_off': 'takes off: [runway.md](runway.md)', 'pattern': 'flies the traffic pattern',
    'land': 'lands', 'go_around': 'goes around',
    'gnss_outage': 'the receiver has no fix', 'pitot_blocked': 'the pitot tube is blocked',
    'static_blocked': 'the static port is blocked',
    'range_finder_failed': 'the range finder delivers nothing'}

ACTIONS: Table = {
    'engage': Declaration(
        None, 'the autopilot holds the current state from now on; false releases it', bool),
    'controls': Declaration(
        None, 'moves these by `command/controls`, while it is not engaged',
        form='names with positions', reader=partial(read_table, CONTROL)),
    'target': Declaration(None, 'sets targets', form='names with values', reader=_read_target),
    'change': Declaration(
        None, 'the same, relative to the targets in force', form='names with values',
        reader=_read_change),
    'autopilot_frozen': Declaration(None, 'the autopilot says nothing', bool),
    **{name: Declaration(
        None, _MEANINGS[name], form=weather.VECTORS[name].form if name in weather.VECTORS else '',
        reader=_by_action(weather.parse, name)) for name in WEATHER},
    'engine_failed': Declaration(
        None, 'all engines, or those with these numbers; 0 is the first, the left one',
        form='`true`, `false` or `[0, …]`', reader=_read_engines),
    'link_down': Declaration(None, 'no datagram arrives, either way', bool),
    DATA_LINK_DOWN: Declaration(
        None, 'of one of several: it hears no other aircraft, nor they it. It is not led into a '
        'slot, nor do others follow it, and it is in no [traffic](fleets.md)', bool),
    'trim': Declaration(
        None, 'steady flight at once: [test_inputs.md](test_inputs.md)', form='names with values',
        reader=partial(read_table, TRIM)),
    **{name: Declaration(
        None, _MEANINGS[name], form='`true`' if name == 'land' else '`{height: …}`',
        reader=_by_action(runway.parse_procedure, name)) for name in PROCEDURES},
    **{name: Declaration(None, _MEANINGS[name], bool) for name in SENSOR_FAULTS},
    **{name: Declaration(
        None, 'a [test input](test_inputs.md)', reader=as_it_is)
       for name in excitation.KINDS}}
"""What happens; each event has one."""

EVENT: Table = {
    'at': Declaration(REQUIRED, 'when it happens, at most at the end', unit='s', low=0.0),
    'lasts': Declaration(
        None, 'of controls and test inputs: how long', unit='s', above=0.0, high=DAY, name='for'),
    'free': Declaration(
        _FREE_RESPONSE, 'of these: how long the response is looked at afterwards', unit='s',
        low=0.0),
    'expect': Declaration(
        None, 'of a change of one target: what the response has to be', reader=as_it_is),
    **ACTIONS}
"""Of an event."""


def parse(item: Any, where: str, duration: float) -> ScenarioEvent:
    """Return an event of a file. Raises FieldError."""
    if isinstance(item, Mapping):
        # YAML takes 3211 for a number.
        item = {'3211' if name == 3211 else name: value for name, value in item.items()}
    given = read_table(EVENT, item, where)
    at = given['at']
    if at > duration:
        raise FieldError(f'{where}.at: {at:g} s is after the end, {duration:g} s')
    actions = [name for name in ACTIONS if name in given]
    if len(actions) != 1:
        raise FieldError(
            f'{where}: expected one of {", ".join(ACTIONS)}, got '
            + (', '.join(actions) or 'none'))
    action = actions[0]
    lasts, free = _times(action, given, where)
    value = given[action]
    if action in excitation.KINDS:
        if at + lasts > duration:
            raise FieldError(
                f'{where}.for: it ends at {at + lasts:g} s, after the end, {duration:g} s')
        value = excitation.parse(action, value, f'{where}.{action}', lasts)
    expect = None
    if 'expect' in given:
        if action != 'change' or len(value) != 1:
            raise FieldError(f'{where}: "expect" belongs to a change of one target')
        expect = _expectation(given['expect'], f'{where}.expect', at, duration, next(iter(value)))
    return ScenarioEvent(at, action, value, lasts, expect, free)


def _times(action: str, given: Mapping[str, Any], where: str) -> tuple[float, float]:
    """Return how long an event lasts, and the response to it afterwards."""
    if action not in _LASTING:
        for name in ('lasts', 'free'):
            if name in given:
                raise FieldError(
                    f'{where}: "{EVENT[name].name or name}" belongs to {", ".join(_LASTING)}, not '
                    f'to {action}')
        return 0.0, 0.0
    if 'lasts' not in given:
        raise FieldError(
            f'{where}: {action} need{"s" * (action != "controls")} "for", the seconds to '
            f'{"hold them" if action == "controls" else "fly it"}')
    return given['lasts'], given.get('free', _FREE_RESPONSE)


def _expectation(
    item: Any, where: str, at: float, duration: float, quantity: str
) -> Expectation:
    table = dict(table_of(Expectation))
    if quantity == 'heading':
        table['band'] = replace(table['band'], name='band_deg', unit='deg')
    found = Expectation(**read_table(table, item, where))
    number(found.until, f'{where}.until', above=at, unit='s')
    if found.until > duration:
        raise FieldError(f'{where}.until: {found.until:g} s is after the end, {duration:g} s')
    return found


def check_order(events: Sequence[ScenarioEvent]) -> None:
    """Raise FieldError for events that contradict each other."""
    for event in events:
        if event.action in ('target', 'change', *PROCEDURES) and not engaged_at(
                events, event.at):
            raise FieldError(
                f'{event.action} at {event.at:g} s: the autopilot is not engaged then')
        if event.action == 'controls' and any(
            engaged_at(events, at) for at in (event.at, event.at + event.lasts)
        ):
            raise FieldError(
                f'controls at {event.at:g} s: the autopilot is engaged then, or before they are '
                'released, and commands them')
        if isinstance(event.value, Excitation):
            _check_excitation(events, event, event.value)
        if event.action == 'trim':
            _check_trim(events, event)


def _check_trim(events: Sequence[ScenarioEvent], event: ScenarioEvent) -> None:
    if engaged_at(events, event.at):
        raise FieldError(
            f'trim at {event.at:g} s: the autopilot is engaged then, and commands the controls; '
            'release it before, with engage: false')
    for other in events:
        if other.at == event.at and (
                other.lasts or (other.action == 'engage' and other.value)):
            raise FieldError(
                f'{other.action} at {other.at:g} s: the trimmed state is measured in the next '
                'frame only; give it a later time than the trim')


def _check_excitation(
    events: Sequence[ScenarioEvent], event: ScenarioEvent, value: Excitation
) -> None:
    end = event.at + event.lasts
    if value.closed_loop and not engaged_at(events, event.at):
        raise FieldError(
            f'{event.action} at {event.at:g} s: with closed_loop the autopilot must be engaged')
    for other in events:
        if other is event or not event.at <= other.at < end:
            continue
        if other.action in ('controls', 'trim') or (
                other.action == 'engage' and other.at > event.at):
            raise FieldError(
                f'{other.action} at {other.at:g} s: {event.action} lasts until {end:g} s')
        if isinstance(other.value, Excitation) and (
                other.value.axis == value.axis or other.value.closed_loop != value.closed_loop):
            raise FieldError(
                f'{other.action} at {other.at:g} s: {event.action} on {value.axis} lasts until '
                f'{end:g} s')


def engaged_at(events: Sequence[ScenarioEvent], at: float) -> bool:
    """Return whether the controller is engaged at a time (s)."""
    engaged = False
    for event in events:
        if event.at <= at and (event.action == 'engage' or event.is_open_loop):
            engaged = event.action == 'engage' and event.value
    return engaged
