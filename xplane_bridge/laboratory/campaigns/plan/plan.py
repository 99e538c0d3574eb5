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
Plans: which flights a campaign has. No ROS.

The format is described in docs/reference/campaigns.md. Every mistake in a file is a PlanError
whose text says where it is, what was expected and what was found. Flights are made one by one, so
that a plan of a hundred thousand takes no memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, replace
from functools import cached_property
import hashlib
from itertools import product
import json
from math import prod
import os
import shlex
from typing import Any

from xplane_bridge.common import plain_files, plain_yaml
from xplane_bridge.common.data import folder
from xplane_bridge.common.fields import (
    as_it_is,
    DAY,
    Declaration,
    FieldError,
    read_table,
    REQUIRED,
    Table,
    wrong_kind,
)
from xplane_bridge.laboratory.campaigns.plan import contents, parameters, sections
from xplane_bridge.laboratory.campaigns.plan.parameters import PlanParameter, Samples, Value
from xplane_bridge.laboratory.campaigns.plan.sections import (
    Controller,
    PlannedAircraft,
    PlannedScenario,
    RecordedFlights,
    Sampling,
)
from xplane_bridge.laboratory.campaigns.plan.task import FLIGHTS, folder_name, KEY_DIGITS, Task
from xplane_bridge.laboratory.campaigns.plan.versions import (
    installed,
    jsbsim_version,
    package_version,
    version_of,
)
from xplane_bridge.laboratory.control.policy.load import load as load_policy
from xplane_bridge.laboratory.flights.order import (
    CORE,
    flown_alike,
    Keep,
    Link,
    make_flown_by,
    model_of,
    Order,
)
from xplane_bridge.laboratory.flights.recordings import written
from xplane_bridge.laboratory.flights.refusals import OrderError, refusals
from xplane_bridge.laboratory.flights.scenario import scenario
from xplane_bridge.laboratory.flights.scenario.flown_by import AUTOPILOT
from xplane_bridge.laboratory.flights.scenario.scenario import PHYSICS_RATE
from xplane_bridge.laboratory.flights.scenario.untargeted import untargeted

# A flight in one process takes a second or two; through ROS, half a minute.
_TIME_LIMIT = 600.0
# Numbers of all samples: they are drawn together.
_MOST_DRAWN = 20_000_000
# What computes a flight, besides this package.
_LIBRARIES = ('jsbsim', 'numpy', 'onnxruntime')

PLAN: Table = {
    'scenarios': Declaration(
        REQUIRED, '[scenarios](scenarios.md) of this package, or files, which may be relative to '
        'the plan', form='a list of names', reader=as_it_is),
    'description': Declaration('', 'any text', reader=as_it_is, form='a text'),
    'simulators': Declaration(
        (CORE,), '`core`, or simulators with simulated time: `xpc`, `xplane12`, `xplane11`, '
        '`xplane9`, `xplane6`, `direct`', form='a list of names', reader=as_it_is),
    'controllers': Declaration(
        (AUTOPILOT,), '`autopilot`; `policy:NAME`, `policy:file.onnx`, '
        '`policy:file.py:attribute`, `policy:package.module:attribute`; or a command line '
        'that starts [your controller](controllers.md) (through ROS only)', form='a list',
        reader=as_it_is),
    'aircraft': Declaration(
        None, "JSBSim models, or [more of them](#an-aircraft); by default the scenario's",
        form='a list', reader=as_it_is),
    'parameters': Declaration(
        None, '[what is varied](#parameters)', form='names with values', reader=as_it_is),
    'sampling': Declaration(
        None, '[how sampled parameters are drawn](#sampling)', reader=as_it_is),
    'seeds': Declaration(
        (0,), '[random seeds](#seeds) of turbulence and sensors',
        form='a list, or `{first: 1, count: 500}`', reader=as_it_is),
    'time_limit': Declaration(
        _TIME_LIMIT, "of the wall's time, after which a flight is ended, and "
        '[lost](#flights-that-are-lost)', unit='s', above=0.0, high=DAY),
    'physics_rate': replace(PHYSICS_RATE, meaning=(
        '[steps](aircraft.md#steps-per-second) of the simulated aircraft, in place of the '
        "scenarios'; 0 leaves it to them")),
    'require': Declaration(
        0.0, 'the pass rate that each controller needs: the exit code', low=0.0, high=1.0),
    'record': Declaration(
        RecordedFlights(''), '[the time series of each flight](#recordings)',
        form='`mcap`, `parquet`, or `{format: …}`', reader=sections.read_recorded)}
"""The sections of a plan."""


class PlanError(FieldError):
    """A plan cannot be used; the text says why."""


@dataclass(frozen=True)
class Plan:
    """
    All flights of a campaign: each scenario, simulator, aircraft and controller, with each point.

    A point is one of the parameters' values, crossed with each sample and each seed; controllers
    fly the same points, so that they can be compared. ``require`` is the pass rate that the
    campaign is held to, ``time_limit`` a flight's (s); ``record`` changes no flight.
    ``physics_rate`` is that of Scenario; 0 leaves it to the scenarios. ``file`` is how the plan
    was named, ``origin`` its file and ``source`` that file's bytes.
    """

    name: str
    file: str
    origin: str
    source: bytes
    description: str
    scenarios: tuple[PlannedScenario, ...]
    simulators: tuple[str, ...]
    controllers: tuple[Controller, ...]
    aircraft: tuple[PlannedAircraft, ...]
    parameters: tuple[PlanParameter, ...]
    sampling: Sampling
    seeds: Sequence[int]
    time_limit: float
    require: float
    record: RecordedFlights = RecordedFlights('')
    physics_rate: int = 0

    def __len__(self) -> int:
        """Return the number of flights."""
        return (len(self.scenarios) * len(self.simulators) * len(self.aircraft)
                * len(self.controllers) * self.points)

    @property
    def default_folder(self) -> str:
        """Return the folder that the campaign is kept in unless another is named."""
        return f'campaign_{self.name}'

    @property
    def points(self) -> int:
        """Return how many points each controller flies: parameters, samples and seeds."""
        return self._combinations * self._draws * len(self.seeds)

    @property
    def _draws(self) -> int:
        return max(self.sampling.count, 1)

    @cached_property
    def _combinations(self) -> int:
        return prod(len(one.values) for one in self.parameters if not one.is_sampled)

    def _crossed(self, number: int) -> tuple[Value, ...]:
        """Return a combination of the parameters' values: the last varies fastest."""
        found: list[Value] = []
        for one in reversed([one for one in self.parameters if not one.is_sampled]):
            number, at = divmod(number, len(one.values))
            found.append(one.values[at])
        return tuple(reversed(found))

    def load_policies(self) -> None:
        """Run what policies are made of, as their flights will. Raises PlanError."""
        for controller in self.controllers:
            if controller.name.startswith(contents.POLICY):
                try:
                    load_policy(controller.flown.removeprefix(contents.POLICY))
                except ValueError as error:
                    raise PlanError(f'{self.origin}: {error}') from None

    @cached_property
    def _samples(self) -> Samples:
        return parameters.draw(
            self.sampling.method, [one for one in self.parameters if one.is_sampled],
            self.sampling.count or len(self.seeds), self.sampling.seed)

    @cached_property
    def _versions(self) -> tuple[str, str]:
        return package_version(), jsbsim_version()

    @cached_property
    def versions(self) -> dict[str, str]:
        """Return those parts that all flights of a folder have in common: what computes them."""
        return {
            **{f'version of {name}': version_of(name) for name in _LIBRARIES},
            'version of xplane_bridge': package_version(),
            'sources of xplane_bridge': installed()['xplane_bridge']}

    @cached_property
    def parts(self) -> dict[str, str]:
        """
        Return all that the flights depend on, each with its SHA-256 or its version.

        The plan, as far as it says what is flown, and the contents of all files (contents.py).
        """
        found = {
            **{f'scenario {one.name}': _digest(one.content) for one in self.scenarios},
            **{f'controller {one.name}': one.digest for one in self.controllers},
            'simulators': _digest(self.simulators), 'aircraft': _digest(self.aircraft),
            'order of scenarios and controllers': _digest(
                [[one.name for one in some] for some in (self.scenarios, self.controllers)]),
            'parameters': _digest([astuple(one) for one in self.parameters]),
            'sampling': _digest(astuple(self.sampling)), 'seeds': _digest(list(self.seeds)),
            **self.versions}
        for scenario_of, aircraft in product(self.scenarios, self.aircraft):
            given = {**dict.fromkeys(contents.NAMED, ''), **dict(zip(
                ('initial.model', 'initial.aircraft_path', 'initial.gains'), aircraft,
                strict=True))}
            for named in product(*(
                    self._values(name, own, scenario_of) for name, own in given.items())):
                found |= self._contents.of(*named)
            found |= self._contents.of_vehicles(with_aircraft(dict(scenario_of.content), aircraft))
        return found

    @property
    def identity(self) -> str:
        """Return the SHA-256 of all that the flights and their numbers depend on."""
        return _digest(self.parts)

    @cached_property
    def _contents(self) -> contents.OfAircraft:
        return contents.OfAircraft()

    def _values(self, name: str, own: str, flown: PlannedScenario) -> list[str]:
        """Return the values that a text of a scenario takes; ``own`` is the aircraft's."""
        if own:
            return [own]
        for one in self.parameters:
            if one.name == name:
                return [str(value) for value in (*one.values, *one.choices)]
        return [contents.text_of(flown.content, name)]

    def task(self, flight: int, folder: str = '') -> Task:
        """
        Return a flight by its number.

        ``folder`` is the campaign's, where it may leave files. Raises PlanError for a number that
        is none.
        """
        rest, seed = divmod(flight, len(self.seeds))
        rest, draw = divmod(rest, self._draws)
        crossed = self._crossed(rest % self._combinations)
        which, simulator, aircraft, controller = self.what(flight)
        sample = self._samples[draw if self.sampling.count else seed]
        return self._task(
            flight, self.scenarios[which], self.simulators[simulator], self.aircraft[aircraft],
            self.controllers[controller], dict(self._named(crossed, sample)), self.seeds[seed],
            folder)

    def what(self, flight: int) -> tuple[int, int, int, int]:
        """Return which scenario, simulator, aircraft and controller a flight has."""
        if not 0 <= flight < len(self):
            raise PlanError(
                f'there is no flight {flight}: expected one of 0 to {len(self) - 1}')
        rest, controller = divmod(flight // self.points, len(self.controllers))
        rest, aircraft = divmod(rest, len(self.aircraft))
        return *divmod(rest, len(self.simulators)), aircraft, controller

    def find_flight(self, which: str) -> int:
        """Return a flight's number, given that or the beginning of its key; PlanError for none."""
        if which.isdecimal() and len(which) < KEY_DIGITS:
            return int(which)
        for flight in range(len(self)) if len(which) >= KEY_DIGITS else ():
            if self.task(flight).key.startswith(which):
                return flight
        raise PlanError(f'--flight {which}: expected a number of 0 to {len(self) - 1}, or the key '
                        f'of a flight of the plan, at least {KEY_DIGITS} digits of it')

    def _named(
        self, crossed: tuple[Value, ...], sample: tuple[Value, ...]
    ) -> list[tuple[str, Value]]:
        values = {True: iter(sample), False: iter(crossed)}
        return [(one.name, next(values[one.is_sampled])) for one in self.parameters]

    def _task(
        self, flight: int, flown: PlannedScenario, simulator: str, aircraft: PlannedAircraft,
        controller: Controller, given: dict[str, Value], seed: int, folder: str,
    ) -> Task:
        content = with_aircraft(parameters.apply(flown.content, given), aircraft) | (
            {'physics_rate': self.physics_rate} if self.physics_rate else {})
        files = self._contents.of_scenario(content)
        inputs = [flown.name, content, simulator, controller.name, controller.digest, seed, files,
                  *self._versions]
        key = _digest(inputs)
        name = folder_name({'seed': seed, 'controller': controller.name, 'scenario': flown.name,
                            'key': key})
        return Task(
            flight=flight, key=key, scenario=flown.name, content=content, simulator=simulator,
            controller=controller.name, flown_by=controller.flown, digest=controller.digest,
            aircraft=model_of(content.get('initial', {})),
            seed=seed, time_limit=self.time_limit, parameters=given,
            folder=os.path.join(folder, FLIGHTS, name) if folder else '',
            record=self.record.of(flight) if folder else '', record_missed=self.record.missed,
            command=shlex.join(['xplane-bridge', 'campaign', self.file, '--flight', str(flight), *(
                ['--output', folder] if folder and folder != self.default_folder else [])]))


def _digest(inputs: Any) -> str:
    return hashlib.sha256(json.dumps(
        inputs, sort_keys=True, separators=(',', ':')).encode()).hexdigest()


def with_aircraft(content: dict[str, Any], aircraft: PlannedAircraft) -> dict[str, Any]:
    """Return the content of a scenario's file with an aircraft in it, all of a fleet the same."""
    given = {name: value for name, value in zip(
        ('model', 'aircraft_path', 'gains'), aircraft, strict=True) if value}
    return _with_initial(content, given) if aircraft.model else content


def _with_initial(item: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    found = {**item, 'initial': {**item.get('initial', {}), **given}}
    if isinstance(vehicles := item.get('vehicles'), list):
        found['vehicles'] = [_with_initial(one, given) if isinstance(one, Mapping) else one
                             for one in vehicles]
    return found


def find(name: str) -> str:
    """Return the path of a plan: a file, or the name of one of this package."""
    if os.path.isfile(name):
        return name
    shipped = folder('campaigns')
    path = shipped / f'{name}.yaml'
    if path.is_file():
        return str(path)
    known = sorted(file.stem for file in shipped.glob('*.yaml'))
    raise PlanError(f'there is no plan {name!r}: expected a file, or one of {", ".join(known)}')


def load(name: str) -> Plan:
    """Read a plan by its file or name; PlanError says what is wrong with it."""
    path = find(name)
    try:
        source = plain_files.read(path, plain_yaml.MAX_SIZE)
        content = plain_yaml.load(source)
    except OSError as error:
        raise PlanError(f'{path}: {error.strerror}') from None
    except ValueError as error:
        raise PlanError(f'{path} cannot be read as YAML: {error}') from None
    try:
        found = _parse(name, path, source, content)
        _check(found)
    except (ImportError, FieldError) as error:
        raise PlanError(f'{path}: {error}') from None
    return found


def _parse(name: str, path: str, source: bytes, content: Any) -> Plan:
    top = read_table(PLAN, content)
    folder = os.path.dirname(os.path.abspath(path))
    seeds = sections.read_seeds(top.get('seeds', [0]))
    given = top.get('parameters', {})
    if not isinstance(given, Mapping):
        raise FieldError(wrong_kind('parameters', 'names with values', given))
    varied = _parameters(given, len(seeds))
    sampled = [one.name for one in varied if one.is_sampled]
    if sampled and 'sampling' not in top:
        raise FieldError(f'sampling is missing: {", ".join(sampled)} are sampled')
    return Plan(
        name=os.path.splitext(os.path.basename(path))[0], file=name,
        origin=os.path.abspath(path), source=source,
        description=str(top.get('description', '')).strip(),
        scenarios=sections.each(
            top['scenarios'], 'scenarios',
            lambda item, where: sections.read_scenario(item, where, folder)),
        simulators=sections.each(
            top.get('simulators', [CORE]), 'simulators', sections.read_simulator),
        controllers=sections.each(
            top.get('controllers', [AUTOPILOT]), 'controllers', sections.read_controller),
        aircraft=sections.each(
            top['aircraft'], 'aircraft',
            lambda item, where: sections.read_aircraft(item, where, folder),
        ) if 'aircraft' in top else (PlannedAircraft('', ''),),
        parameters=varied,
        sampling=sections.read_sampling(
            top['sampling'], sampled, len(seeds)) if 'sampling' in top else Sampling(),
        seeds=seeds,
        time_limit=top.get('time_limit', _TIME_LIMIT),
        require=top.get('require', 0.0),
        record=top.get('record', RecordedFlights('')),
        physics_rate=top.get('physics_rate', 0))


def _parameters(given: Mapping[str, Any], seeds: int) -> tuple[PlanParameter, ...]:
    """Return the parameters, none of them before the flights of those so far are multiplied."""
    found: list[PlanParameter] = []
    flights = seeds
    for item in given.items():
        found.append(parameters.parse(*item))
        flights *= len(found[-1].values) or 1
        _bound(flights)
    return tuple(found)


def _bound(flights: int) -> None:
    if flights > sections.MOST_FLIGHTS:
        raise FieldError(
            f'it has {flights} flights, expected at most {sections.MOST_FLIGHTS}')


def _check(plan: Plan) -> None:
    """Raise FieldError for flights that are not possible, as far as the plan tells."""
    _bound(len(plan))
    keep = Keep(f'flight.{plan.record.format}' if plan.record.format else '')
    if keep.recording:
        written.check(keep.recording)
    draws = (plan.sampling.count or len(plan.seeds)) * sum(
        one.is_sampled for one in plan.parameters)
    if draws > _MOST_DRAWN:
        raise FieldError(
            f'sampling: {draws} numbers are drawn, expected at most {_MOST_DRAWN}')
    first = _first_values(plan)
    corners = [first, *(
        {**first, one.name: value} for one in plan.parameters for value in one.extremes()[1:])]
    for flown, aircraft in product(plan.scenarios, plan.aircraft):
        for given in corners:
            content = with_aircraft(parameters.apply(flown.content, given), aircraft)
            try:
                found = scenario.parse(flown.name, content)
                for simulator, controller in product(plan.simulators, plan.controllers):
                    order = make_order(found, simulator, controller.flown)
                    if plan.record.format == 'parquet' and found.vehicles:
                        raise FieldError(
                            'record: it has several aircraft, and a table is of one: record them '
                            'to mcap')
                    if sentences := refusals(replace(order, keep=keep), load_policies=False):
                        raise OrderError(list(map(sections.to_plan_words, sentences)))
            except FieldError as error:
                values = ', '.join(f'{name} {value}' for name, value in given.items())
                raise FieldError(
                    f'scenario {flown.name}{f" with {values}" if values else ""}: {error}'
                ) from None


def _first_values(plan: Plan) -> dict[str, Value]:
    return {one.name: one.extremes()[0] for one in plan.parameters}


def first_orders(plan: Plan) -> Iterator[Order]:
    """Yield an order of each scenario with each aircraft, with one value of each parameter."""
    for flown, aircraft in product(plan.scenarios, plan.aircraft):
        content = with_aircraft(parameters.apply(flown.content, _first_values(plan)), aircraft)
        yield replace(make_order(
            scenario.parse(flown.name, content), plan.simulators[0], plan.controllers[0].flown),
            physics_rate=plan.physics_rate)


def make_order(flown: scenario.Scenario, simulator: str, controller: str) -> Order:
    """Return how a scenario is flown on a simulator by a controller of a plan."""
    policy = controller.removeprefix(contents.POLICY)
    is_policy = policy != controller
    flown_by = make_flown_by(
        flown, command='' if is_policy else controller, policy=policy if is_policy else '')
    if controller == AUTOPILOT:
        flown = flown_alike(flown)
    return Order(
        flown if flown_by.targets else untargeted(flown), simulator, flown_by,
        link=Link(lockstep=simulator != CORE))
