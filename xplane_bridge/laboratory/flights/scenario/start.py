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

"""What reset() is told: checked, and put into the scenario that is flown."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
import math
from typing import Any

from xplane_bridge.bridges.conversions.geoid import ellipsoid_to_msl, usual_undulation
from xplane_bridge.common.fields import (
    as_it_is,
    Declaration,
    LARGEST_SEED,
    read_table,
    Table,
    whole,
)
from xplane_bridge.common.units import KNOT
from xplane_bridge.laboratory.control.runway.charted import ChartedRunway
from xplane_bridge.laboratory.flights.scenario.events import FAILURES, parse, ScenarioEvent
from xplane_bridge.laboratory.flights.scenario.scenario import (
    parse_initial,
    Scenario,
    ScenarioError,
)
from xplane_bridge.simulation.aircraft import terrain
from xplane_bridge.simulation.aircraft.initial import DEFAULT_MODEL, Initial
from xplane_bridge.simulation.aircraft.plant import Plant
from xplane_bridge.simulation.aircraft.terrain import Airfield
from xplane_bridge.simulation.peers.traffic import offset

NO_SENSORS = 'none'
"""Flown by the truth, whatever the scenario says."""

_USUAL = Initial()


def _read_initial(value: Any, where: str) -> dict[str, Any]:
    return parse_initial(_plain(value))


OPTIONS: Table = {
    'initial': Declaration(
        None, "some of the [initial state](scenarios.md#initial-state), instead of the scenario's",
        form='names with values', reader=_read_initial),
    'wind': Declaration(
        None, 'instead of events `wind`; from time 0 on, as a gust after the trim, which is in '
        'still air', form='[east, north, up] in m/s', reader=as_it_is),
    'turbulence': Declaration(
        None, 'instead of events `turbulence`; from time 0 on, '
        '[growing for some seconds](simulator.md#turbulence)',
        form='[wind at 20 ft in m/s, severity 0..7]', reader=as_it_is),
    'failures': Declaration(
        None, f'instead of all events {", ".join(f"`{name}`" for name in FAILURES)}',
        form="a list of events, such as `[{'at': 10.0, 'engine_failed': True}]`", reader=as_it_is),
    'model': Declaration(
        '', "the aircraft, such as `pa28`, instead of the scenario's; give an airspeed that "
        'suits it', str, form='a name'),
    'aircraft_path': Declaration(
        '', 'where that is, if it is one of your own', str, form='a folder'),
    'sensors': Declaration(
        '', f"a preset, a file, or `{NO_SENSORS}`, instead of the scenario's", str,
        form='a name or a file')}
"""Of a reset."""


@dataclass(frozen=True, slots=True)
class Start:
    """
    How an episode begins; what is not given is the scenario's.

    ``initial`` as in a scenario's file. ``wind`` (east, north, up, m/s) and ``turbulence`` (wind
    at 20 ft in m/s, severity) hold from time 0 on. ``failures`` are events, of engines and
    sensors. ``sensors`` is a name or file, or 'none'.
    """

    seed: int = 0
    initial: Mapping[str, Any] = field(default_factory=dict)
    wind: tuple[float, ...] | None = None
    turbulence: tuple[float, ...] | None = None
    failures: tuple[ScenarioEvent, ...] | None = None
    sensors: str = ''


def make_start(seed: int, options: Mapping[str, Any], usual: Start, duration: float) -> Start:
    """
    Return the start by the options of a reset, and by ``usual`` where they say nothing.

    ``duration`` is that of the scenario in s. Raises ValueError with a sentence.
    """
    changes: dict[str, Any] = {'seed': whole(seed, 'seed', 0, LARGEST_SEED)}
    given = read_table(OPTIONS, options, 'options')
    aircraft = {name: given.pop(name) for name in ('model', 'aircraft_path') if name in given}
    changes['initial'] = {**usual.initial, **given.pop('initial', {}), **aircraft}
    for name, value in given.items():
        if name in ('wind', 'turbulence'):
            value = parse({'at': 0.0, name: _plain(value)}, 'options', duration).value
        elif name == 'failures':
            value = _failures(value, f'options.{name}', duration)
        changes[name] = value
    return replace(usual, **changes)


def apply_start(scenario: Scenario, start: Start) -> Scenario:
    """Return a scenario with what a start changes of it. Raises ValueError with a sentence."""
    first: list[ScenarioEvent] = []
    replaced: set[str] = set()
    for name in ('wind', 'turbulence'):
        if (value := getattr(start, name)) is not None:
            first.append(ScenarioEvent(0.0, name, value))
            replaced.add(name)
    failures = start.failures
    if failures is not None:
        replaced.update(FAILURES)
    kept = [event for event in scenario.events if event.action not in replaced]
    flown = replace(
        scenario,
        events=tuple(sorted(
            (*first, *(failures or ()), *kept), key=lambda event: event.at)),
        initial={**scenario.initial, **start.initial},
        sensors=start.sensors or scenario.sensors)
    if flown.sensors in ('', NO_SENSORS) and (needed := flown.needs_sensors()):
        raise ScenarioError(
            f'{", ".join(needed)} needs sensors: name some, such as sensors consumer')
    return flown


def _failures(value: Any, where: str, duration: float) -> tuple[ScenarioEvent, ...]:
    if not isinstance(value, list | tuple):
        raise ScenarioError(
            f'{where}: expected a list of events, such as {{"at": 5.0, "engine_failed": true}}, '
            f'got {value!r}')
    events = []
    for number, item in enumerate(value):
        event = parse(item, f'{where}[{number}]', duration)
        if event.action not in FAILURES:
            raise ScenarioError(
                f'{where}[{number}]: {event.action} is no failure, expected one of '
                f'{", ".join(FAILURES)}')
        events.append(event)
    return tuple(events)


def _plain(value: Any) -> Any:
    """Return plain numbers and lists of an array, or of a mapping of them."""
    if isinstance(value, Mapping):
        return {name: _plain(item) for name, item in value.items()}
    return value.tolist() if hasattr(value, 'tolist') else value


def simulated_start(
    initial: Mapping[str, Any], runway: ChartedRunway | None = None
) -> dict[str, Any]:
    """
    Return a flight's initial state for simulator_node, with the altitude above mean sea level.

    The ground around its runway is as high as that, and it is told what touches it. Of a plant it
    has what is the model's.

    A scenario's altitudes are all above the ellipsoid, as in fix, so that a target may equal the
    initial altitude.
    """
    # Gains are the controller's, not the aircraft's.
    given = {name: value for name, value in initial.items() if name not in ('gains', 'plant')}
    if plant := Plant.of(initial.get('plant', {})).of_model().values():
        given['plant'] = [f'{name}={value!r}' for name, value in plant.items()]
    if 'altitude' in given:
        undulation = usual_undulation().height_m(
            given.get('latitude_deg', terrain.HOME_LAT_DEG),
            given.get('longitude_deg', terrain.HOME_LON_DEG))
        given['altitude_msl'] = ellipsoid_to_msl(given.pop('altitude'), undulation)
    if runway is not None:
        given['airfield'] = [runway.latitude_deg, runway.longitude_deg, runway.elevation_msl]
        given['contacts'] = True
    return given


def find_start(
    initial: Mapping[str, Any], runway: ChartedRunway | None = None, default: Initial = _USUAL
) -> Initial:
    """
    Return where a scenario starts: what it does not say is simulator_node's default.

    The ground around its runway is as high as that.
    """
    given = simulated_start(initial, runway)
    return Initial(
        lat_deg=given.get('latitude_deg', default.lat_deg),
        lon_deg=given.get('longitude_deg', default.lon_deg),
        altitude_msl=given.get('altitude_msl', default.altitude_msl),
        heading_deg=given.get('heading_deg', default.heading_deg),
        airspeed_kt=given['airspeed'] / KNOT if 'airspeed' in given else default.airspeed_kt,
        parked=given.get('parked', default.parked),
        airfield=Airfield(*given['airfield']) if runway else default.airfield,
        plant=Plant.of(initial.get('plant', {})),
        controls=initial.get('controls', default.controls))


def fleet_start(initials: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """
    Return initial states of aircraft by name for simulator_node; refusals says which it can.

    All but the first are given from there: metres forward, right and up.
    """
    first, *others = (
        {'model': DEFAULT_MODEL, 'latitude_deg': _USUAL.lat_deg, 'longitude_deg': _USUAL.lon_deg,
         'altitude_msl': _USUAL.altitude_msl, 'heading_deg': _USUAL.heading_deg,
         **simulated_start(one)} for one in initials.values())
    if not others:
        return first
    plants = [f'{name}:{text}' for name, one in zip([*initials][1:], others, strict=True)
              for text in one.get('plant', ())]
    return {
        **first, **({'fleet_plants': plants} if plants else {}),
        'fleet': [one['model'] for one in others],
        'fleet_places': [float(metres) for one in others for metres in (
            *offset((first['latitude_deg'], first['longitude_deg']),
                    math.radians(first['heading_deg']),
                    (one['latitude_deg'], one['longitude_deg'])),
            one['altitude_msl'] - first['altitude_msl'])],
        'fleet_headings_deg': [float(one['heading_deg']) for one in others],
        **({'fleet_airspeeds': [float(one['airspeed']) for one in others]}
           if 'airspeed' in first else {})}
