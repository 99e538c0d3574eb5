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

from xplane_bridge.common import fields, plain_yaml
from xplane_bridge.common.fields import LARGEST_SEED, ScenarioError
from xplane_bridge.common.text import abbreviated
from xplane_bridge.laboratory.campaigns.plan import contents
from xplane_bridge.laboratory.campaigns.plan.contents import POLICY
from xplane_bridge.laboratory.campaigns.plan.parameters import METHODS, whole_number
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
    """
    Which flights are recorded in which format: of the first ``at_most`` of the plan.

    All of them, or with ``missed`` those that did not pass.
    """

    format: str = ''
    missed: bool = False
    at_most: int = MOST_RECORDED

    def of(self, flight: int) -> str:
        """Return the format of a flight's recording, '' if it is not recorded."""
        return self.format if flight < self.at_most else ''


@dataclass(frozen=True, slots=True)
class Sampling:
    """How sampled parameters are drawn: how often (0: once for each seed), and by which seed."""

    method: str = METHODS[0]
    count: int = 0
    seed: int = 0


def to_plan_words(sentence: str) -> str:
    """Return a sentence with a plan's words where it has options of a command line."""
    return re.sub(r'--[a-z-]+', lambda found: _WORDS.get(found[0], found[0]), sentence)


def each(value: Any, where: str, parse: Callable[[Any, str], T]) -> tuple[T, ...]:
    """Return the parsed items of a list that has at least one, none of them twice."""
    found: list[T] = []
    items = fields.items(value, where)
    if len(items) > _MOST_ITEMS:
        raise ScenarioError(f'{where}: expected at most {_MOST_ITEMS}, got {len(items)}')
    for n, item in enumerate(items):
        one = parse(item, f'{where}[{n}]')
        if one in found:
            raise ScenarioError(f'{where}[{n}]: {abbreviated(item)} is there twice')
        found.append(one)
    if not found:
        raise ScenarioError(f'{where}: expected at least one')
    return tuple(found)


def read_scenario(item: Any, where: str, folder: str) -> PlannedScenario:
    """Return a scenario by name, or by a file, which may be relative to the plan's ``folder``."""
    name = fields.text(item, where)
    beside = os.path.join(folder, name)
    try:
        path = scenario.find(beside if os.path.isfile(beside) else name)
        # Whatever is wrong with it is said by its own reader.
        scenario.load(path)
    except ScenarioError as error:
        raise ScenarioError(f'{where}: {error}') from None
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
        raise ScenarioError(f'{where}: {no_simulator(item)}')
    name = fields.choice(item, where, (CORE, *SIMULATORS, DIRECT))
    if name != CORE and not goes_in_lockstep(name):
        raise ScenarioError(
            f'{where}: {name} has no time in its protocol, so no flight on it is flown the same '
            'way again')
    return name


def read_controller(item: Any, where: str) -> Controller:
    """Return autopilot, a policy, or a command, with its files' digest; nothing is run."""
    name = fields.text(item, where).strip()
    if not name or name == controller.EXTERNAL:
        raise ScenarioError(
            f'{where}: expected {controller.AUTOPILOT}, {POLICY}REFERENCE or a command line, got '
            f'{abbreviated(item)}')
    if _IS_POLICY.fullmatch(name):
        raise ScenarioError(f'{where}: {name} is no command line: write {POLICY}{name}')
    if not name.startswith(POLICY):
        return Controller(name, digest(contents.find_controller_files(name)), name)
    flown = f'{POLICY}{absolute(name.removeprefix(POLICY))}'
    try:
        return Controller(name, digest(contents.find_controller_files(flown)), flown)
    except ValueError as error:
        raise ScenarioError(f'{where}: {error}') from None


def read_aircraft(item: Any, where: str, folder: str) -> PlannedAircraft:
    """Return an aircraft: a JSBSim model, or one with the folder it is in."""
    if isinstance(item, Mapping):
        given = fields.mapping(
            item, where, required=('model',), optional=('aircraft_path', 'gains'))
        path = os.path.expanduser(fields.text(given.get('aircraft_path', ''),
                                              f'{where}.aircraft_path'))
        if path and not os.path.isdir(path := os.path.abspath(os.path.join(folder, path))):
            raise ScenarioError(f'{where}.aircraft_path: there is no folder {path}')
        named = fields.text(given.get('gains', ''), f'{where}.gains')
        if os.path.isfile(file := os.path.join(folder, os.path.expanduser(named))):
            named = os.path.abspath(file)
        return PlannedAircraft(
            read_aircraft(given['model'], f'{where}.model', folder).model, path, named)
    # A model's name may look like a number: 737.
    if not isinstance(item, str | int) or isinstance(item, bool):
        raise ScenarioError(f'{where}: expected the name of a model, got {abbreviated(item)}')
    return PlannedAircraft(str(item), '')


def read_seeds(item: Any) -> Sequence[int]:
    """Return random seeds: of a list, or ``count`` from ``first`` on."""
    if isinstance(item, Mapping):
        given = fields.mapping(item, 'seeds', required=('count',), optional=('first',))
        first = whole_number(given.get('first', 1), 'seeds.first', 0, LARGEST_SEED)
        count = whole_number(given['count'], 'seeds.count', 1, MOST_FLIGHTS)
        if first + count - 1 > LARGEST_SEED:
            raise ScenarioError(f'seeds: the last is {first + count - 1}, expected at most '
                                f'{LARGEST_SEED}')
        return range(first, first + count)
    if isinstance(item, int):
        raise ScenarioError(
            f'seeds: expected a list, or {{first: 1, count: {item}}}, got {abbreviated(item)}')
    return each(item, 'seeds', lambda one, where: whole_number(one, where, 0, LARGEST_SEED))


def read_recorded(item: Any) -> RecordedFlights:
    """Return which flights are recorded: a format, or with which flights."""
    given = fields.mapping(item if isinstance(item, Mapping) else {'format': item}, 'record',
                           required=('format',), optional=('flights', 'at_most'))
    return RecordedFlights(
        fields.choice(given['format'], 'record.format', tuple(FORMATS)),
        fields.choice(given.get('flights', 'all'), 'record.flights', ('all', 'missed')) == (
            'missed'),
        whole_number(given.get('at_most', MOST_RECORDED), 'record.at_most', 1, MOST_FLIGHTS))


def read_sampling(item: Any, sampled: Sequence[str], seeds: int) -> Sampling:
    """Return how the ``sampled`` parameters are drawn; once for each seed unless it says."""
    given = fields.mapping(item, 'sampling', optional=('method', 'count', 'seed'))
    if not sampled:
        raise ScenarioError('sampling: no parameter is sampled, that is, has "from" and "to" '
                            'without "steps", or "any_of"')
    method = fields.choice(given.get('method', METHODS[0]), 'sampling.method', METHODS)
    count = (whole_number(given['count'], 'sampling.count', 1, MOST_FLIGHTS)
             if 'count' in given else 0)
    drawn = count or seeds
    if method == 'sobol' and drawn & (drawn - 1):
        raise ScenarioError(
            f'{"sampling.count" if count else "seeds"}: expected a power of 2, without which '
            f'points of Sobol are not balanced, got {drawn}')
    return Sampling(method, count, whole_number(
        given.get('seed', 0), 'sampling.seed', 0, LARGEST_SEED))
