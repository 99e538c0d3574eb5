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
Several aircraft in one scenario: their names, places and slots. No ROS, no file.

docs/reference/fleets.md describes the format. What is made of it here is the content of a
scenario for each aircraft, and what binds them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
import math
import re
from typing import Any

from xplane_bridge.bridges.conversions.air import (
    calibrated_to_true_airspeed,
    pressure_altitude_to_pressure,
    standard_temperature,
)
from xplane_bridge.bridges.conversions.geodesy import LocalFrame
from xplane_bridge.common.fields import (
    as_it_is,
    Declaration,
    declared,
    FieldError,
    LARGEST,
    number,
    read,
    read_table,
    REQUIRED,
    Table,
    text,
)
from xplane_bridge.common.text import abbreviated
from xplane_bridge.common.timing import ROUNDED_TIME
from xplane_bridge.common.units import DEGREE
from xplane_bridge.laboratory.control.formation import Slot
from xplane_bridge.simulation.aircraft import terrain
from xplane_bridge.simulation.aircraft.initial import Initial

MOST_VEHICLES = 100
"""More have not been measured."""

MIDAIR_RADIUS = 10.0
"""Two aircraft nearer than this (m) have met, unless the scenario says otherwise."""

ANY_TWO = 'any two'

SEPARATION, FORMATION = 'separation', 'formation'
"""The criteria over two."""

_PLACE = ('latitude_deg', 'longitude_deg', 'altitude')
# Of the first aircraft, as far as an aircraft beside it says nothing else.
_SHARED = (*_PLACE, 'heading_deg', 'airspeed', 'parked')
# As a namespace of ROS.
_NAME = re.compile(r'[a-z][a-z0-9_]{0,31}')


OFFSETS: Table = {
    'forward': Declaration(0.0, 'along the heading or course of the other', unit='m'),
    'right': Declaration(0.0, 'to the right of that', unit='m'),
    'up': Declaration(0.0, 'above the other', unit='m')}
"""Of a place that is given from another aircraft."""

_ENCOUNTER = 'encounter_at'
BESIDE: Table = {
    **OFFSETS, _ENCOUNTER: Declaration(
        0.0, 'the time at which these are so', unit='s', low=0.0, high=3600.0)}
"""Of an initial place that is given from another aircraft."""

FORMATION_SLOT: Table = {
    'leader': Declaration(REQUIRED, 'the vehicle beside which the slot is', form='a name',
                          reader=as_it_is),
    'begin': Declaration(REQUIRED, 'from when on it is held', unit='s', low=0.0),
    **OFFSETS}
"""Of a slot beside another aircraft."""

VEHICLE: Table = {
    'name': Declaration(
        REQUIRED, 'its name, and its namespace in ROS; no two are equal', reader=as_it_is,
        form='a lower-case letter, then letters, digits or `_`, at most 32 in all'),
    'initial': Declaration(
        None, 'as in any scenario. What it does not say is that of the file. With `forward`, '
        "`right` or `up` (m) its place is given from the first vehicle's, along and across that "
        "one's heading; heading and airspeed are the first one's then, unless given. With "
        '`encounter_at` (s) that is so at that time, if both fly straight on in still air; alone '
        'it makes them meet',
        reader=as_it_is),
    'events': Declaration(
        (), 'as in any scenario, of this aircraft', form='a list', reader=as_it_is),
    'criteria': Declaration(
        (), 'as in any scenario, of this aircraft', form='a list', reader=as_it_is),
    'route': Declaration(None, 'as in any scenario, of this aircraft', reader=as_it_is),
    'sensors': Declaration(
        '', 'as in any scenario, of this aircraft', form='a name or a file', reader=as_it_is),
    'controller': Declaration(
        None, 'what flies this aircraft, as in any scenario: `{policy: …}`, or '
        '[through ROS](#scenarios-through-ros) a program; that of the file flies all others',
        reader=as_it_is, form='a command line, or names with values'),
    'formation': Declaration(
        None, 'a [slot](#formations) beside another vehicle, or a list of them: each is held '
        'until the next one begins', form='names with values, or a list', reader=as_it_is),
    'expect_crash': Declaration(
        False, 'as in any scenario, of this aircraft', form='`true` or `false`',
        reader=as_it_is)}
"""Of one of several aircraft."""


@dataclass(frozen=True, slots=True)
class Midair:
    """Two aircraft within ``radius`` (m) have met; it ``ends`` the flight, or is recorded."""

    radius: float = declared(
        MIDAIR_RADIUS, 'two that come nearer than this have met', unit='m', above=0.0)
    ends: bool = declared(True, 'whether that ends the flight; otherwise it is recorded')


@dataclass(frozen=True, slots=True)
class Station:
    """A slot beside the aircraft ``leader``, held from ``begin`` (s) on."""

    leader: str
    slot: Slot
    begin: float


@dataclass(frozen=True, slots=True)
class Fleet:
    """
    What binds the aircraft of a scenario.

    ``stations`` are by the name of who holds them, one after the other.
    """

    stations: Mapping[str, tuple[Station, ...]] = field(default_factory=dict)
    midair: Midair = Midair()


def read_names(items: Sequence[Any]) -> list[str]:
    """Return the names of a file's vehicles; FieldError for none, a bad one, or two equal."""
    if not 1 <= len(items) <= MOST_VEHICLES:
        raise FieldError(f'vehicles: it has {len(items)}, expected 1 to {MOST_VEHICLES}')
    names: list[str] = []
    for n, item in enumerate(items):
        where = f'vehicles[{n}]'
        if not isinstance(item, Mapping) or 'name' not in item:
            raise FieldError(f'{where}: expected a name with what belongs to it, got '
                                f'{abbreviated(item)}')
        name = item['name']
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise FieldError(
                f'{where}.name: expected a lower-case letter, then letters, digits or _, 32 in '
                f'all at most, as in a namespace of ROS; got {abbreviated(name)}')
        if name in names:
            raise FieldError(
                f'{where}.name: {name} is the name of vehicles[{names.index(name)}] already')
        names.append(name)
    return names


def read_contents(
    items: Sequence[Any], initial: Any, duration: float, common: Mapping[str, Any]
) -> list[dict[str, Any]]:
    """
    Return the content of a scenario's file for each of a file's vehicles.

    ``initial`` and ``common`` are those of the file, for all that a vehicle does not say itself.
    """
    if not isinstance(initial, Mapping):
        raise FieldError(f'initial: expected names with values, got {abbreviated(initial)}')
    found: list[dict[str, Any]] = []
    for n, item in enumerate(items):
        where = f'vehicles[{n}]'
        given = read_table(VEHICLE, item, where)
        own = given.get('initial', {})
        if not isinstance(own, Mapping):
            raise FieldError(
                f'{where}.initial: expected names with values, got {abbreviated(own)}')
        if any(name in own for name in BESIDE):
            if not found:
                raise FieldError(
                    f'{where}.initial: {", ".join(BESIDE)} are from the first vehicle, and this '
                    'is the first')
            own = _beside(found[0]['initial'], own, f'{where}.initial')
        for name in ('name', 'formation'):
            given.pop(name, None)
        found.append({
            'events': [], 'criteria': [], **common, **given, 'duration': duration,
            'initial': {**initial, **own}})
    return found


def _beside(first: Mapping[str, Any], own: Mapping[str, Any], where: str) -> dict[str, Any]:
    """Return an initial state with its place, which is given from that of the first vehicle."""
    if twice := [name for name in _PLACE if name in own]:
        raise FieldError(
            f'{where}: {", ".join(twice)} and {", ".join(BESIDE)} exclude each other')
    forward, right, up = (
        one.check(own.get(name, 0.0), f'{where}.{name}') for name, one in OFFSETS.items())
    usual = Initial()
    is_parked = bool(first.get('parked', False))
    if 'altitude' not in first and not is_parked:
        raise FieldError(
            f'{where}: {", ".join(BESIDE)} are from the first vehicle, whose initial state has '
            'no altitude; give it one')
    lat_deg, lon_deg, altitude, heading_deg = (
        number(first.get(name, default), f'initial.{name}', low=-limit, high=limit)
        for name, default, limit in (
            ('latitude_deg', terrain.HOME_LAT_DEG, 90.0),
            ('longitude_deg', terrain.HOME_LON_DEG, 180.0), ('altitude', 0.0, LARGEST),
            ('heading_deg', usual.heading_deg, LARGEST)))
    ahead_east, ahead_north = math.sin(heading_deg * DEGREE), math.cos(heading_deg * DEGREE)
    east = forward * ahead_east + right * ahead_north
    north = forward * ahead_north - right * ahead_east
    if time := BESIDE[_ENCOUNTER].check(own.get(_ENCOUNTER, 0.0), f'{where}.{_ENCOUNTER}'):
        # The first flies on to there; this one comes from as far back as it flies until then.
        for one, height, sign in (
                (first, altitude, 1.0), ({**first, **own}, altitude + up, -1.0)):
            flown = sign * time * _true_airspeed(one, height, where)
            heading = DEGREE * number(
                one.get('heading_deg', usual.heading_deg), f'{where}.heading_deg')
            east += flown * math.sin(heading)
            north += flown * math.cos(heading)
    lat_deg, lon_deg, _ = LocalFrame(lat_deg, lon_deg, altitude).enu_to_geodetic((
        east, north, up))
    rest = {name: value for name, value in own.items() if name not in BESIDE}
    return {
        **{name: first[name] for name in _SHARED if name in first},
        'latitude_deg': lat_deg, 'longitude_deg': lon_deg,
        **({} if is_parked else {'altitude': altitude + up}), **rest}


def _true_airspeed(initial: Mapping[str, Any], altitude: float, where: str) -> float:
    """Return what an initial state has, in the standard atmosphere (m/s)."""
    if initial.get('parked', False) or 'airspeed' not in initial:
        raise FieldError(
            f'{where}.{_ENCOUNTER}: how far both fly until then is not known: expected an '
            'airspeed of either, in the air')
    calibrated = number(initial['airspeed'], f'{where}.airspeed', above=0.0)
    return calibrated_to_true_airspeed(
        calibrated, pressure_altitude_to_pressure(altitude), standard_temperature(altitude))


def read_fleet(
    items: Sequence[Any], names: Sequence[str], midair: Any, duration: float
) -> Fleet:
    """Return what binds the vehicles of a file."""
    stations: dict[str, tuple[Station, ...]] = {}
    for n, (item, name) in enumerate(zip(items, names, strict=True)):
        if 'formation' in item:
            stations[name] = _stations(
                item['formation'], f'vehicles[{n}].formation', name, names, duration)
    for time in sorted({one.begin for some in stations.values() for one in some}):
        leaders = {name: one.leader for name in stations
                   if (one := station_at(stations[name], time)) is not None}
        for name in leaders:
            _check_leads(name, leaders)
    return Fleet(stations, read(Midair, midair, 'midair'))


def station_at(stations: Sequence[Station], time: float) -> Station | None:
    """Return which of the stations of one aircraft is held at a time (s), None before all."""
    return next((one for one in reversed(stations) if one.begin <= time + ROUNDED_TIME), None)


def _stations(
    item: Any, where: str, own: str, names: Sequence[str], duration: float
) -> tuple[Station, ...]:
    if not isinstance(item, list):
        return (_station(item, where, own, names, duration),)
    found = tuple(_station(one, f'{where}[{n}]', own, names, duration)
                  for n, one in enumerate(item))
    if not found:
        raise FieldError(f'{where}: expected at least one slot')
    for n, (before, after) in enumerate(zip(found, found[1:], strict=False), start=1):
        if not after.begin > before.begin:
            raise FieldError(
                f'{where}[{n}].begin: {after.begin:g} s is not after that of the slot before, '
                f'{before.begin:g} s')
    return found


def _station(
    item: Any, where: str, own: str, names: Sequence[str], duration: float
) -> Station:
    given = read_table(FORMATION_SLOT, item, where)
    leader = given['leader']
    if leader not in names:
        raise FieldError(
            f'{where}.leader: there is no vehicle {abbreviated(leader)}: expected one of '
            f'{", ".join(name for name in names if name != own)}')
    if leader == own:
        raise FieldError(f'{where}.leader: {own} cannot follow itself')
    number(given['begin'], f'{where}.begin', high=duration, unit='s')
    return Station(leader, Slot(*(given.get(name, 0.0) for name in OFFSETS)), given['begin'])


def _check_leads(name: str, leaders: Mapping[str, str]) -> None:
    """Refuse vehicles that follow one another in a circle."""
    met = [name]
    while met[-1] in leaders:
        leader = leaders[met[-1]]
        if leader in met:
            raise FieldError(
                f'formation: {", ".join(met)} follow one another in a circle, and none leads')
        met.append(leader)


def read_subject(item: Mapping[str, Any], where: str, names: Sequence[str], fleet: Fleet) -> str:
    """Return the name of the quantity that a criterion over two is about."""
    if SEPARATION in item:
        pair = item[SEPARATION]
        if pair == 'all':
            return f'{SEPARATION} of {ANY_TWO}'
        if not isinstance(pair, list) or len(pair) != 2:
            raise FieldError(
                f'{where}.{SEPARATION}: expected the names of two vehicles, or all, got '
                f'{abbreviated(pair)}')
        for name in pair:
            if name not in names:
                raise FieldError(
                    f'{where}.{SEPARATION}: there is no vehicle {abbreviated(name)}: expected two '
                    f'of {", ".join(names)}')
        if pair[0] == pair[1]:
            raise FieldError(f'{where}.{SEPARATION}: {pair[0]} is named twice')
        return f'{SEPARATION} of {pair[0]} and {pair[1]}'
    name = text(item[FORMATION], f'{where}.{FORMATION}')
    if name not in fleet.stations:
        raise FieldError(
            f'{where}.{FORMATION}: {abbreviated(name)} holds no slot: expected one of '
            f'{", ".join(fleet.stations) or "those with a formation, of which there is none"}')
    return f'{FORMATION}_error of {name}'
