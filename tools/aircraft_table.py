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
Fly the shipped gains of each aircraft through scenarios: the table of docs/reference/aircraft.md.

    python3 tools/aircraft_table.py docs/reference/aircraft.md

In this process, without ROS (core.py). A scenario is written for the Cessna 172P; for a faster
aircraft its times are stretched with the speed and its route with the square of it, as the radius
of a turn grows. What is asked (steps, bands, settling times in the stretched time) stays.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
import math
from pathlib import Path
import sys
from typing import Any

from experiment_table import markdown, put

from xplane_bridge.commands import tune as tune_command
from xplane_bridge.common.data import folder
from xplane_bridge.common.units import DEGREE
from xplane_bridge.laboratory.control.gains import load as load_gains
from xplane_bridge.laboratory.flights.flight import FlightState
from xplane_bridge.laboratory.flights.order import Order
from xplane_bridge.laboratory.flights.scenario.criteria import Criterion
from xplane_bridge.laboratory.flights.scenario.events import ScenarioEvent
from xplane_bridge.laboratory.flights.scenario.scenario import load, Scenario
from xplane_bridge.laboratory.open_flight import open_flight

SCENARIOS = ('steps', 'racetrack', 'turbulence')
# The true airspeed (m/s) that the scenarios are written for.
_WRITTEN_FOR = 55.0
# What happens up to here is the same for each aircraft: the elevator's pulse, engaging.
_BEGIN = 2.0


@dataclass(frozen=True, slots=True)
class Flown:
    """An aircraft of the table: what it is, and where its gains hold (m, m/s calibrated)."""

    model: str
    kind: str
    altitude: float
    airspeed: float


AIRCRAFT = (
    Flown('c172p', 'single-engine trainer', 1500.0, 51.4),
    Flown('J3Cub', 'light taildragger', 1000.0, 28.0),
    Flown('c310', 'piston twin, governors', 1500.0, 75.0),
    Flown('DHC6', 'turboprop twin', 1500.0, 65.0),
    Flown('T37', 'jet trainer', 3000.0, 110.0),
    Flown('f16', 'fighter, fly-by-wire', 5000.0, 180.0),
    Flown('737', 'airliner', 5000.0, 150.0),
    Flown('SGS', 'glider', 2500.0, 30.0),
)


def write_gains(aircraft: Flown, folder: Path) -> int:
    """Tune an aircraft and write its file; return the exit status."""
    return tune_command.main([
        '--model', aircraft.model, '--altitude-msl', f'{aircraft.altitude:g}', '--airspeed',
        f'{aircraft.airspeed:g}', '--output', str(folder / f'{aircraft.model}.yaml')])


def scaled(scenario: Scenario, aircraft: Flown, throttle: float) -> Scenario:
    """Return a scenario for an aircraft: there, at its speed, with times and route stretched."""
    speed = aircraft.airspeed * true_airspeed_ratio(aircraft.altitude)
    length = max(1.0, (speed / _WRITTEN_FOR) ** 2)
    stretch = max(1.0, speed / _WRITTEN_FOR)
    if scenario.route is not None:
        stretch = length * _WRITTEN_FOR / speed

    def later(at: float) -> float:
        return at if at <= _BEGIN or math.isnan(at) else _BEGIN + (at - _BEGIN) * stretch

    def event(given: ScenarioEvent) -> ScenarioEvent:
        value, expect = given.value, given.expect
        if given.action == 'controls' and 'throttle' in value:
            value = {**value, 'throttle': throttle}
        if expect is not None:
            expect = replace(
                expect, until=later(expect.until), settling=expect.settling * stretch)
        return replace(given, at=later(given.at), value=value, expect=expect)

    def criterion(given: Criterion) -> Criterion:
        return replace(given, begin=later(given.begin), end=later(given.end))

    route = scenario.route
    if route is not None:
        route = replace(
            route, waypoints=tuple((e * length, n * length) for e, n in route.waypoints))
    return replace(
        scenario, duration=later(scenario.duration), route=route,
        initial={**scenario.initial, 'model': aircraft.model, 'altitude': aircraft.altitude,
                 'airspeed': aircraft.airspeed},
        events=tuple(map(event, scenario.events)),
        criteria=tuple(map(criterion, scenario.criteria)))


def true_airspeed_ratio(altitude: float) -> float:
    """Return about how much the true airspeed exceeds the calibrated one in the standard air."""
    return float((1.0 - 2.25577e-5 * altitude) ** -2.128)


def fly(aircraft: Flown, scenarios: Mapping[str, Scenario]) -> dict[str, Any]:
    """Return what came out of each scenario: the results by name, or why it was not flown."""
    gains = load_gains(aircraft.model)
    throttle = gains.cruise_throttle if gains.has_engine else 0.0
    found: dict[str, Any] = {}
    for name, scenario in scenarios.items():
        print(f'{aircraft.model} through {name} ...', flush=True)
        try:
            with open_flight(Order(scaled(scenario, aircraft, throttle))) as flight:
                if flight.fly() is FlightState.FAILED:
                    found[name] = flight.why
                else:
                    found[name] = flight.result()
        except Exception as error:
            # Whatever it is, the others are flown, and the table says it.
            found[name] = f'{type(error).__name__}: {error}'
    return found


def rows(results: Mapping[Flown, Mapping[str, Any]]) -> list[list[str]]:
    """Return the table: a row for each aircraft."""
    table = [['aircraft', 'kind', 'at', *(f'`{name}`' for name in SCENARIOS), 'settling: altitude',
              'heading', 'airspeed', 'cross-track', 'in turbulence: altitude', 'heading']]
    for aircraft, found in results.items():
        table.append([
            aircraft.model, aircraft.kind, f'{aircraft.airspeed:g} m/s, {aircraft.altitude:g} m',
            *(_met(found[name]) for name in SCENARIOS),
            *(_settling(found['steps'], quantity)
              for quantity in ('altitude', 'heading', 'airspeed')),
            _figure(found['racetrack'], 'm', 1.0, 'route', 'cross_track'),
            _figure(found['turbulence'], 'm rms', 1.0, 'tracking', 'altitude', 'rms'),
            _figure(found['turbulence'], 'deg rms', 1.0 / DEGREE, 'tracking', 'heading', 'rms')])
    return table


def misses(results: Mapping[Flown, Mapping[str, Any]]) -> list[str]:
    """Return a line for each criterion that was missed, and each scenario not flown."""
    lines = []
    for aircraft, found in results.items():
        for name, result in found.items():
            if isinstance(result, str):
                lines.append(f'- {aircraft.model}, `{name}`: not flown to its end: {result}')
                continue
            lines += [f'- {aircraft.model}, `{name}`: {judgement}'
                      for judgement in result.judgements if not judgement.passed]
    return lines


def _met(result: Any) -> str:
    if isinstance(result, str):
        return 'not flown'
    judgements = result.judgements
    return f'{sum(each.passed for each in judgements)} of {len(judgements)}'


def _settling(result: Any, quantity: str) -> str:
    if isinstance(result, str):
        return '-'
    for step in result.steps:
        if step.quantity == quantity:
            settling = step.response.settling
            return 'never' if math.isnan(settling) else f'{settling:.0f} s'
    return '-'


def _figure(result: Any, unit: str, factor: float, *path: str) -> str:
    if isinstance(result, str):
        return '-'
    value: Any = result.figures
    for part in path:
        value = value.get(part) if isinstance(value, Mapping) else None
    return '-' if value is None or math.isnan(value) else f'{value * factor:.2g} {unit}'


def main(argv: Sequence[str] | None = None) -> int:
    """Fly, and write the table; return 0 if all were flown, whatever the verdicts."""
    parser = argparse.ArgumentParser(
        prog='aircraft_table', description='Fly the shipped gains of each aircraft.')
    parser.add_argument('document', help='file whose table is replaced')
    parser.add_argument('--aircraft', action='append', metavar='MODEL',
                        help='fly only this one, and print; repeat for several')
    parser.add_argument('--tune', action='store_true', help='first write their gains anew')
    given = parser.parse_args(argv)
    chosen = [each for each in AIRCRAFT if not given.aircraft or each.model in given.aircraft]
    if given.tune and any(
            write_gains(each, folder('gains')) for each in chosen):
        return 1
    scenarios = {name: load(str(folder('scenarios') / f'{name}.yaml')) for name in SCENARIOS}
    results = {each: fly(each, scenarios) for each in chosen}
    missed = misses(results)
    text = markdown(rows(results)) + '\n\n' + (
        '\n'.join(['Missed:', '', *missed]) if missed else 'Nothing was missed.')
    print(text)
    if not given.aircraft:
        document = Path(given.document)
        document.write_text(put(document.read_text(encoding='utf-8'), text), encoding='utf-8')
    return 0


if __name__ == '__main__':
    sys.exit(main())
