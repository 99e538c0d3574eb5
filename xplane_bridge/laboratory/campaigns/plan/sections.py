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

"""The sections of a plan's file: each mistake is an error that says where, expected and found."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
import os
import re
from typing import Any, NamedTuple, TypeVar

from xplane_bridge.common import plain_yaml
from xplane_bridge.common.fields import (
    as_it_is,
    choice,
    Declaration,
    declared,
    FieldError,
    in_file,
    items,
    LARGEST_SEED,
    read,
    read_table,
    REQUIRED,
    Table,
    text,
    whole,
)
from xplane_bridge.common.text import abbreviated
from xplane_bridge.laboratory.campaigns.plan import contents
from xplane_bridge.laboratory.campaigns.plan.contents import POLICY
from xplane_bridge.laboratory.campaigns.plan.parameters import METHODS
from xplane_bridge.laboratory.control.policy.contents import digest
from xplane_bridge.laboratory.control.policy.load import absolute
from xplane_bridge.laboratory.flights.order import CORE, DIRECT, goes_in_lockstep
from xplane_bridge.laboratory.flights.recordings.written import FORMATS
from xplane_bridge.laboratory.flights.scenario import flown_by as controller
from xplane_bridge.laboratory.flights.scenario import scenario
from xplane_bridge.simulation.peers.registry import no_simulator, NO_SIMULATORS, SIMULATORS

MOST_FLIGHTS = 10_000_000
MOST_RECORDED = 10_000
"""A minute of flight takes one or two MB."""
# Of a list that is compared with itself.
_MOST_ITEMS = 5000
# Sentences about an order name options of `experiment`: what a plan calls them.
_WORDS = {
    '--sim': 'simulators:', '--controller': 'controllers:', '--lockstep': 'lockstep',
    '--policy': f"controllers: ['{POLICY}NAME']", '--gains': 'gains: in aircraft:',
    '--sensors': 'sensors: of the scenario or in parameters:', '--seed': 'seeds:'}

# What is meant for one, without saying so.
_IS_POLICY = re.compile(rf'(?!{POLICY})\S+(?:\.py:\w+|\.onnx)')

T = TypeVar('T')


class PlannedScenario(NamedTuple):
    """A scenario's name, and the content of its file, whose keys are all texts."""

    name: str
    content: Mapping[str, Any]


class Controller(NamedTuple):
    """
    A controller as the plan names it, and the SHA-256 of its files ('' for none).

    ``flown`` means the same in any working directory.
    """

    name: str
    digest: str
    flown: str


class PlannedAircraft(NamedTuple):
    """
    A model, empty for the scenario's own, and the folder it is in, empty for JSBSim's.

    ``gains`` are those of a file or of another model, empty for its own.
    """

    model: str
    path: str
    gains: str = ''


@dataclass(frozen=True, slots=True)
class RecordedFlights:
    """Which flights are recorded in which format; without a format none is."""

    format: str = declared(REQUIRED, 'of each recording', choices=tuple(FORMATS))
    flights: str = declared('all', 'which are kept', choices=('all', 'missed'))
    at_most: int = declared(
        MOST_RECORDED, 'of the first so many of the plan: a minute takes one to three MB', low=1,
        high=MOST_FLIGHTS)

    @property
    def missed(self) -> bool:
        """Return whether only those that did not pass are kept."""
        return self.flights == 'missed'

    def of(self, flight: int) -> str:
        """Return the format of a flight's recording, '' if it is not recorded."""
        return self.format if flight < self.at_most else ''


@dataclass(frozen=True, slots=True)
class Sampling:
    """How sampled parameters are drawn."""

    method: str = declared(
        METHODS[0], 'that of `scipy.stats.qmc`, or independent random numbers', choices=METHODS)
    count: int = declared(
        0, 'how many points are drawn, each flown with all seeds; 0 is one for each seed', low=1,
        high=MOST_FLIGHTS)
    seed: int = declared(0, 'random seed of the points', low=0, high=LARGEST_SEED)


AIRCRAFT: Table = {
    'model': Declaration(REQUIRED, 'one of JSBSim, or of the folder', reader=as_it_is,
                         form='a name'),
    'path': Declaration(
        '', 'of your own aircraft; it may be relative to the plan', str, name='aircraft_path',
        form='a folder'),
    'gains': Declaration(
        '', '[those of another](aircraft.md#shipped-gains)', str, form='a name or a file')}
"""Of an aircraft with more than its model."""

SEEDS: Table = {
    'first': Declaration(1, 'the first', int, low=0, high=LARGEST_SEED),
    'count': Declaration(
        REQUIRED, 'how many, from the first on', int, low=1, high=MOST_FLIGHTS)}
"""Of seeds that follow one another."""


def to_plan_words(sentence: str) -> str:
    """Return a sentence with a plan's words where it has options of a command line."""
    return re.sub(r'--[a-z-]+', lambda found: _WORDS.get(found[0], found[0]), sentence)


def each(value: Any, where: str, parse: Callable[[Any, str], T]) -> tuple[T, ...]:
    """Return the parsed items of a list that has at least one, none of them twice."""
    found: list[T] = []
    given = items(value, where)
    if len(given) > _MOST_ITEMS:
        raise FieldError(f'{where}: expected at most {_MOST_ITEMS}, got {len(given)}')
    for n, item in enumerate(given):
        one = parse(item, f'{where}[{n}]')
        if one in found:
            raise FieldError(f'{where}[{n}]: {abbreviated(item)} is there twice')
        found.append(one)
    if not found:
        raise FieldError(f'{where}: expected at least one')
    return tuple(found)


def read_scenario(item: Any, where: str, folder: str) -> PlannedScenario:
    """Return a scenario by name, or by a file, which may be relative to the plan's ``folder``."""
    name = text(item, where)
    beside = os.path.join(folder, name)
    with in_file(where):
        path = scenario.find(beside if os.path.isfile(beside) else name)
        # Whatever is wrong with it is said by its own reader.
        if scenario.load(path).runscript is not None:
            raise FieldError(
                f'{path} is a script of JSBSim, of which nothing can be varied: expected a '
                'scenario of YAML; fly the script by an experiment')
    return PlannedScenario(
        os.path.splitext(os.path.basename(path))[0], _with_texts(plain_yaml.load_file(path)))


def _with_texts(value: Any) -> Any:
    """Return a file's content with all its keys as texts: YAML takes 3211 for a number."""
    if isinstance(value, Mapping):
        return {str(key): _with_texts(item) for key, item in value.items()}
    return [_with_texts(item) for item in value] if isinstance(value, list) else value


def read_simulator(item: Any, where: str) -> str:
    """Return the name of a simulator that can be flown in lockstep, or core."""
    if isinstance(item, str) and item in NO_SIMULATORS:
        raise FieldError(f'{where}: {no_simulator(item)}')
    name = choice(item, where, (CORE, *SIMULATORS, DIRECT))
    if name != CORE and not goes_in_lockstep(name):
        raise FieldError(
            f'{where}: {name} has no time in its protocol, so no flight on it is flown the same '
            'way again')
    return name


def read_controller(item: Any, where: str) -> Controller:
    """Return autopilot, a policy, or a command, with its files' digest; nothing is run."""
    name = text(item, where).strip()
    if not name or name == controller.EXTERNAL:
        raise FieldError(
            f'{where}: expected {controller.AUTOPILOT}, {POLICY}REFERENCE or a command line, got '
            f'{abbreviated(item)}')
    if _IS_POLICY.fullmatch(name):
        raise FieldError(f'{where}: {name} is no command line: write {POLICY}{name}')
    if not name.startswith(POLICY):
        return Controller(name, digest(contents.find_controller_files(name)), name)
    flown = f'{POLICY}{absolute(name.removeprefix(POLICY))}'
    try:
        return Controller(name, digest(contents.find_controller_files(flown)), flown)
    except ValueError as error:
        raise FieldError(f'{where}: {error}') from None


def read_aircraft(item: Any, where: str, folder: str) -> PlannedAircraft:
    """Return an aircraft: a JSBSim model, or one with the folder it is in."""
    if isinstance(item, Mapping):
        given = read_table(AIRCRAFT, item, where)
        path = os.path.expanduser(given.get('path', ''))
        if path and not os.path.isdir(path := os.path.abspath(os.path.join(folder, path))):
            raise FieldError(f'{where}.aircraft_path: there is no folder {path}')
        named = given.get('gains', '')
        if os.path.isfile(file := os.path.join(folder, os.path.expanduser(named))):
            named = os.path.abspath(file)
        return PlannedAircraft(
            read_aircraft(given['model'], f'{where}.model', folder).model, path, named)
    # A model's name may look like a number: 737.
    if not isinstance(item, str | int) or isinstance(item, bool):
        raise FieldError(f'{where}: expected the name of a model, got {abbreviated(item)}')
    return PlannedAircraft(str(item), '')


def read_seeds(item: Any) -> Sequence[int]:
    """Return random seeds: of a list, or ``count`` from ``first`` on."""
    if isinstance(item, Mapping):
        given = read_table(SEEDS, item, 'seeds')
        first, count = given.get('first', 1), given['count']
        if first + count - 1 > LARGEST_SEED:
            raise FieldError(f'seeds: the last is {first + count - 1}, expected at most '
                                f'{LARGEST_SEED}')
        return range(first, first + count)
    if isinstance(item, int):
        raise FieldError(
            f'seeds: expected a list, or {{first: 1, count: {item}}}, got {abbreviated(item)}')
    return each(item, 'seeds', lambda one, where: whole(one, where, 0, LARGEST_SEED))


def read_recorded(item: Any, where: str) -> RecordedFlights:
    """Return which flights are recorded: a format, or with which flights."""
    return read(RecordedFlights, item if isinstance(item, Mapping) else {'format': item}, where)


def read_sampling(item: Any, sampled: Sequence[str], seeds: int) -> Sampling:
    """Return how the ``sampled`` parameters are drawn; once for each seed unless it says."""
    found = read(Sampling, item, 'sampling')
    if not sampled:
        raise FieldError('sampling: no parameter is sampled, that is, has "from" and "to" '
                            'without "steps", or "any_of"')
    drawn = found.count or seeds
    if found.method == 'sobol' and drawn & (drawn - 1):
        raise FieldError(
            f'{"sampling.count" if found.count else "seeds"}: expected a power of 2, without '
            f'which points of Sobol are not balanced, got {drawn}')
    return found
