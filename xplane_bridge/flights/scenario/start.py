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
from dataclasses import replace
from typing import Any

from xplane_bridge.common.fields import mapping, text
from xplane_bridge.experiments.settings import NO_SENSORS
from xplane_bridge.flights.flight import Start
from xplane_bridge.flights.scenario.events import Event, FAILURES, parse
from xplane_bridge.flights.scenario.scenario import parse_initial, Scenario, ScenarioError

OPTIONS = ('initial', 'wind', 'turbulence', 'failures', 'aircraft', 'sensors')
_SEEDS = 2 ** 31


def start_of(seed: int, options: Mapping[str, Any], usual: Start, duration: float) -> Start:
    """
    Return the start by the options of a reset, and by ``usual`` where they say nothing.

    ``duration`` is that of the scenario in s. Raises ValueError with a sentence.
    """
    if not 0 <= seed < _SEEDS:
        raise ValueError(f'seed is {seed}, expected 0..{_SEEDS - 1}')
    given = mapping(options, 'options', optional=OPTIONS)
    changes: dict[str, Any] = {'seed': seed}
    for name, value in given.items():
        where = f'options[{name!r}]'
        if name == 'initial':
            changes[name] = {**usual.initial, **parse_initial(_plain(value))}
        elif name in ('wind', 'turbulence'):
            changes[name] = parse({'at': 0.0, name: _plain(value)}, 'options', duration).value
        elif name == 'failures':
            changes[name] = _failures(value, where, duration)
        else:
            changes[name] = text(value, where)
    return replace(usual, **changes)


def scenario_of(scenario: Scenario, start: Start) -> Scenario:
    """Return a scenario with what a start changes of it. Raises ValueError with a sentence."""
    first: list[Event] = []
    replaced: set[str] = set()
    for name in ('wind', 'turbulence'):
        if (value := getattr(start, name)) is not None:
            first.append(Event(0.0, name, value))
            replaced.add(name)
    failures = start.failures
    if failures is not None:
        replaced.update(FAILURES)
    kept = [event for event in scenario.events if event.action not in replaced]
    aircraft = {'model': start.aircraft} if start.aircraft else {}
    flown = replace(
        scenario,
        events=tuple(sorted(
            (*first, *(failures or ()), *kept), key=lambda event: event.at)),
        initial={**scenario.initial, **start.initial, **aircraft},
        sensors=start.sensors or scenario.sensors)
    if flown.sensors in ('', NO_SENSORS) and (needed := flown.needs_sensors()):
        raise ScenarioError(
            f'{", ".join(needed)} needs sensors: name some, such as sensors consumer')
    return flown


def _failures(value: Any, where: str, duration: float) -> tuple[Event, ...]:
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
