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

"""Every sentence why an order cannot be flown, before anything is started."""

from __future__ import annotations

from collections.abc import Iterator
import math

from xplane_bridge.bridges.protocols.xplane_versions import FIRST_WITH_DATAREFS
from xplane_bridge.common.fields import FieldError, LARGEST_SEED
from xplane_bridge.common.timing import one_of_physics_rates, PHYSICS_RATE, PHYSICS_RATES
from xplane_bridge.laboratory.control.gains import Gains, scaled
from xplane_bridge.laboratory.control.policy.action import LEVELS
from xplane_bridge.laboratory.control.policy.load import load as load_policy
from xplane_bridge.laboratory.control.runway import performance
from xplane_bridge.laboratory.flights.analysis.linear import not_judged
from xplane_bridge.laboratory.flights.order import (
    CORE,
    DIRECT,
    goes_in_lockstep,
    Link,
    NO_WEB,
    Order,
    PLACES,
    web_parameters,
)
from xplane_bridge.laboratory.flights.recordings.collected import MOST_SECONDS
from xplane_bridge.laboratory.flights.recordings.written import format_of, FORMATS
from xplane_bridge.laboratory.flights.scenario.events import DATA_LINK_DOWN
from xplane_bridge.laboratory.flights.scenario.flown_by import AUTOPILOT, EXTERNAL
from xplane_bridge.laboratory.flights.scenario.scenario import ScenarioError
from xplane_bridge.laboratory.flights.scenario.untargeted import at_the_controls
from xplane_bridge.laboratory.sensors.specification import load
from xplane_bridge.simulation.aircraft.model import check_plant
from xplane_bridge.simulation.aircraft.plant import AS_IN_ITS_FILE
from xplane_bridge.simulation.peers.registry import no_simulator, SIMULATORS
from xplane_bridge.simulation.peers.world import AIRCRAFT_COUNT

_FAULTS = ('loss', 'delay', 'jitter')


class OrderError(ScenarioError):
    """An order that cannot be flown: ``sentences`` say why."""

    def __init__(self, sentences: list[str]) -> None:
        super().__init__('\n'.join(sentences))
        self.sentences = sentences


def refusals(order: Order, load_policies: bool = True, own_law: bool = False) -> list[str]:
    """
    Return every sentence why an order cannot be flown; nothing has been started then.

    Without ``load_policies`` a policy is not looked at: to load one runs its author's code. With
    ``own_law`` a law is given with the order, and needs no gains.
    """
    return [*_refusals(order, load_policies, own_law)]


def _refusals(order: Order, load_policies: bool, own_law: bool) -> Iterator[str]:
    if order.sim not in PLACES:
        yield no_simulator(order.sim, (DIRECT, CORE))
        return
    if order.scenario.runscript is not None:
        yield from _refuse_script(order, own_law)
        return
    if order.scenario.vehicles:
        yield from _refuse_fleet(order, load_policies)
        return
    broken = False
    for sentence in _refuse_flown_by(order, load_policies):
        broken = True
        yield sentence
    yield from _refuse_sensors(order)
    yield from _refuse_plant(order, own_law)
    yield from _refuse_runway(order, own_law)
    yield from not_judged(order.scenario, order.link.host, is_autopilot=not (
        own_law or order.flown_by.external or order.flown_by.actions))
    if not own_law and not broken and (load_policies or not order.flown_by.policy):
        yield from _refuse_gains(order)
    yield from _refuse_physics_rate(order)
    if not 0 <= order.seed <= LARGEST_SEED:
        yield f'--seed: {order.seed} is not in 0..{LARGEST_SEED}'
    if order.sim == CORE:
        yield from _in_core(order)
        return
    if order.rounding:
        yield (f'rounding {order.rounding!r} belongs to {CORE}: through ROS what is measured and '
               f'commanded is rounded by {order.sim}')
    yield from _refuse_actions(order)
    if order.sim == DIRECT:
        yield from _refuse_direct(order)
    else:
        yield from _refuse_link(order)
    yield from _refuse_time(order)


def _refuse_script(order: Order, own_law: bool) -> Iterator[str]:
    """Yield why a script of JSBSim cannot be flown so: it alone steers its aircraft."""
    scenario, script = order.scenario, order.scenario.runscript
    assert script is not None
    if order.sim != CORE:
        yield (f'{script.file} is a script of JSBSim, and JSBSim runs it in this process only: '
               f'--sim {CORE}')
        return
    flown_by, initial = order.flown_by, {**scenario.initial}
    wrong = [what for what, given in (
        ('a controller', flown_by.external or flown_by.actions or own_law),
        ('--no-target', not flown_by.targets), ('sensors', order.sensed_by),
        ('rounding', order.rounding), ('physics_rate', order.given_physics_rate),
        ('events', scenario.events),
        ('gains', initial.pop('gains', '')),
        ('model', initial.pop('model') != script.aircraft)) if given]
    initial.pop('aircraft_path', None)
    if wrong := [*wrong, *initial]:
        yield (f'{script.file} is a script of JSBSim: the aircraft {script.aircraft}, its initial '
               f'state, its steps and all that happens are in it; omit {", ".join(wrong)}')
    if not 0 <= order.seed <= LARGEST_SEED:
        yield f'--seed: {order.seed} is not in 0..{LARGEST_SEED}'
    yield from _in_core(order)


def _refuse_physics_rate(order: Order) -> Iterator[str]:
    if order.physics_rate and order.physics_rate not in PHYSICS_RATES:
        yield f'physics_rate: got {order.physics_rate!r}, expected {one_of_physics_rates()}'
    if order.given_physics_rate and order.link.host:
        yield (f'physics_rate: a real simulator ({order.link.host}) has its own; omit --host to '
               'fly a simulator of this package')


def _refuse_fleet(order: Order, load_policies: bool) -> Iterator[str]:
    """Yield why some aircraft cannot be flown: each sentence once, with the names of those."""
    name, orders = order.scenario.name, order.of_vehicles()
    if order.sim not in (CORE, DIRECT):
        yield (f'scenario {name} has {len(orders)} aircraft, and several are flown in {CORE}, or '
               f'through ROS by simulator_node alone: --sim {CORE}, or --sim {DIRECT} --lockstep')
        return
    if order.sim == DIRECT:
        yield from _refuse_fleet_through_ros(order)
    elif order.keep.recording and order.scenario.duration * len(orders) > MOST_SECONDS:
        yield (f'scenario {name} lasts {order.scenario.duration:g} s and has {len(orders)} '
               f'aircraft; in {CORE} they are recorded for at most {MOST_SECONDS / len(orders):g} '
               's, as all are in memory until its end')
    for vehicle in order.scenario.fleet.stations:
        if not orders[vehicle].flown_by.targets:
            yield (f'vehicle {vehicle} holds a slot, and its controller has its own goals: nobody '
                   'can tell it where that is; omit its formation, or "target: false"')
    said: dict[str, list[str]] = {}
    for vehicle, one in orders.items():
        for sentence in _refusals(one, load_policies, False):
            said.setdefault(sentence, []).append(vehicle)
    for sentence, vehicles in said.items():
        yield sentence if len(vehicles) == len(orders) else (
            f'vehicle {", ".join(vehicles)}: {sentence}')


def _refuse_fleet_through_ros(order: Order) -> Iterator[str]:
    name, vehicles = order.scenario.name, order.scenario.vehicles
    if not order.link.lockstep:
        yield f'scenario {name} has several aircraft, which fly through ROS in --lockstep only'
    if len(vehicles) > AIRCRAFT_COUNT:
        yield (f'scenario {name} has {len(vehicles)} aircraft; simulator_node has at most '
               f'{AIRCRAFT_COUNT}: --sim {CORE}')
    for key, what in (('aircraft_path', 'one folder'), ('controls', 'one file'),
                      ('parked', 'all parked or none')):
        if len({str(one.initial.get(key, '')) for one in vehicles}) > 1:
            yield f'initial.{key}: simulator_node has {what} for several aircraft'
    by_policy = order.flown_by.policy or any(one.controller.get('policy') for one in vehicles)
    if by_policy and any(
            event.action == DATA_LINK_DOWN for one in vehicles for event in one.events):
        yield (f'{DATA_LINK_DOWN}: through ROS the simulator tells policies of all the others: '
               f'--sim {CORE}')
    if len({'airspeed' in one.initial for one in vehicles}) > 1:
        yield 'initial.airspeed: through ROS it is given for all of several aircraft, or for none'


def _refuse_flown_by(order: Order, load_policies: bool) -> Iterator[str]:
    flown_by, scenario = order.flown_by, order.scenario
    chosen = [option for option, given in (
        ('--controller', flown_by.command not in ('', AUTOPILOT)),
        ('--controller-launch', flown_by.launch), ('--policy', flown_by.policy),
        ('actions', flown_by.actions)) if given]
    if len(chosen) > 1:
        yield f'{" and ".join(chosen)} exclude each other'
    if flown_by.policy and load_policies:
        try:
            load_policy(flown_by.policy)
        except ValueError as error:
            yield str(error)
    if flown_by.actions and flown_by.actions not in LEVELS:
        yield f'level: got {flown_by.actions!r}, expected one of {", ".join(LEVELS)}'
    if not 0.0 <= flown_by.timeout < math.inf:
        yield f'--controller-timeout: {flown_by.timeout} is not above 0'
    if not flown_by.targets:
        yield from _refuse_own_goals(order)
    if flown_by.command == EXTERNAL and any(
            event.action == 'autopilot_frozen' for event in scenario.events):
        yield (f'scenario {scenario.name} stops the controller, and an external one is not for '
               'the experiment to stop')


def _refuse_own_goals(order: Order) -> Iterator[str]:
    flown_by, scenario = order.flown_by, order.scenario
    if flown_by.policy or flown_by.actions or not flown_by.external:
        yield ('--no-target belongs to a controller of your own (--controller or '
               '--controller-launch): the autopilot and policies hold what target says')
    elif taken := at_the_controls(scenario):
        yield (f'scenario {scenario.name} takes the controls from the controller '
               f'({", ".join(taken)}), and one without target is not told: choose a scenario '
               'without that, such as turbulence or racetrack')


def _refuse_sensors(order: Order) -> Iterator[str]:
    scenario = order.scenario
    if order.sensed_by:
        try:
            load(order.sensed_by)
        except FieldError as error:
            yield f'sensors: {error}'
    elif needed := scenario.needs_sensors():
        yield (f'scenario {scenario.name} needs sensors, because of {", ".join(needed)}: name '
               'some, such as consumer (--sensors consumer)')


def _refuse_plant(order: Order, own_law: bool) -> Iterator[str]:
    """Yield why its aircraft cannot be loaded, if it is one of your own, or differ so."""
    plant = order.plant
    if plant.sensor_delay and not order.sensed_by:
        yield ('initial.plant.sensor_delay: without sensors there is nothing that could be late: '
               'name some, such as perfect (--sensors perfect)')
    if plant.gains:
        if own_law or not order.flown_by.needs_autopilot():
            yield 'initial.plant: factors on gains are for the autopilot, which does not fly'
        try:
            scaled(Gains(), plant.gains)
        except ValueError as error:
            yield f'initial.plant.{error}'
    own = plant.of_model()
    initial = order.scenario.initial
    path, controls = initial.get('aircraft_path', ''), initial.get('controls', '')
    if own == AS_IN_ITS_FILE and (order.link.host or not (path or controls)):
        return
    if order.link.host:
        yield (f'a real simulator ({order.link.host}) flies its own aircraft as it is: initial.'
               f'plant has {", ".join(own.values())}; omit --host to fly a simulator of this '
               'package')
        return
    try:
        check_plant(
            order.model, path, own, 1.0 / (order.given_physics_rate or PHYSICS_RATE), controls)
    except ImportError:
        # Where it is flown, JSBSim is missing too, or it is another machine.
        return
    except ValueError as error:
        yield str(error)


def _refuse_runway(order: Order, own_law: bool) -> Iterator[str]:
    """Yield why take-offs and landings cannot be flown so."""
    needed = ', '.join(order.scenario.needs_runway())
    if not needed:
        return
    if why := _without_brakes(order):
        yield f'{needed}: {why}'
    if own_law or not order.flown_by.needs_autopilot() or order.flown_by.policy or (
            order.flown_by.actions):
        yield f'{needed}: take-offs and landings are flown by the autopilot only'
    yield from _refuse_height(order, needed)
    if order.rounding:
        yield f'{needed}: take-offs and landings are flown without rounding'
    if order.link.host and not {'model', 'gains'} & order.scenario.initial.keys():
        yield (f'{needed}: which aircraft flies on {order.link.host} is not known, and none takes '
               'off by the numbers of another one: name its gains (--gains c172p)')
    try:
        file = order.gains()
    except ValueError:
        # That is said of the gains.
        return
    try:
        if performance.load(file) is None:
            yield (f'{needed}: {file.name} has no performance of take-off and landing; find it '
                   f'(tune --model {order.model} --airspeed M/S -o FILE)')
    except ValueError as error:
        yield f'{file}: {error}'


def _refuse_height(order: Order, needed: str) -> Iterator[str]:
    """Yield why the height above the runway is not known."""
    runway = order.scenario.runway
    if order.sim != CORE and runway is not None and not runway.has_elevation:
        yield (f'{needed}: the height above the runway is not known: state elevation_msl '
               f'below "runway"; only {CORE} looks it up in its terrain')
    if not order.sensed_by:
        return
    try:
        measures = load(order.sensed_by).measures_height
    except FieldError:
        # That is said of the sensors.
        return
    if not measures:
        yield (f'{needed}: the height above the runway must be known to a metre, and sensors '
               f'{order.sensed_by} have no range_finder; add one, or fly without sensors '
               '(--sensors none)')


def _without_brakes(order: Order) -> str:
    """Return why an aircraft cannot be braked, or put on a runway, where it is flown."""
    if order.sim in (CORE, DIRECT):
        return ''
    simulator, host = order.simulator, order.link.host
    if simulator.protocol.name == 'fdmdata' or (simulator.version or FIRST_WITH_DATAREFS) < (
            FIRST_WITH_DATAREFS):
        return (f'{order.sim} has no brakes that a bridge could release; choose --sim {CORE}, '
                f'{DIRECT}, xpc, xplane11 or xplane12')
    if host and order.scenario.initial and (
            simulator.protocol.name != 'xplane_udp' or order.link.web == NO_WEB):
        return (f'{host} cannot be placed on the runway: only X-Plane 12.4 and later can, through '
                'its Web API (--sim xplane12, without --web none)')
    return ''


def _refuse_gains(order: Order) -> Iterator[str]:
    """Yield that the autopilot is to fly an aircraft whose gains nobody knows."""
    initial = order.scenario.initial
    needed = order.scenario.engages() and order.flown_by.needs_autopilot()
    # Which one a real simulator flies is not known here.
    if (needed or initial.get('gains')) and not (
            order.link.host and not {'model', 'gains'} & initial.keys()):
        try:
            order.gains()
        except ValueError as error:
            yield str(error)


def _in_core(order: Order) -> Iterator[str]:
    default, scenario = Link(), order.scenario
    yield from _refuse_recording(order)
    if unused := [name for name in ('host', 'port', 'speed', *_FAULTS)
                  if getattr(order.link, name) != getattr(default, name)]:
        yield (f'{CORE} has no link and runs as fast as possible: omit {", ".join(unused)}'
               f'{" (speed is for --live)" if unused == ["speed"] else ""}')
    if order.flown_by.external and not order.flown_by.policy:
        yield (f'{CORE} flies without ROS, and a controller of your own is a ROS node: choose '
               'another --sim, or fly a policy: --policy (docs/reference/policies.md)')
    if needed := scenario.needs_real_time():
        yield (f'scenario {scenario.name} works in real time only, because of '
               f'{", ".join(needed)}: {CORE} has no link to lose and no process to stop')
    if order.rounding and order.rounding not in SIMULATORS:
        yield f'rounding: {no_simulator(order.rounding)}'


def _refuse_recording(order: Order) -> Iterator[str]:
    path, scenario = order.keep.recording, order.scenario
    needed = scenario.needs_more()
    if path and not format_of(path):
        yield (f'the recording {path} has no format: expected a name that ends in '
               f'.{", .".join(FORMATS)}')
    if not path and not needed:
        return
    what = '' if path else f'criteria on {", ".join(dict.fromkeys(needed))}: '
    if order.rounding:
        yield f'{what}flights in {CORE} are recorded without rounding'
    if scenario.duration > MOST_SECONDS:
        yield (f'{what}scenario {scenario.name} lasts {scenario.duration:g} s; in {CORE} a flight '
               f'of at most {MOST_SECONDS:g} s is recorded, as it is in memory until its end')


def _refuse_actions(order: Order) -> Iterator[str]:
    if order.flown_by.actions and order.sensed_by:
        yield 'actions through ROS are flown without sensors: give sensors "none"'
    if order.flown_by.actions and order.keep.recording:
        yield f'flights by actions are recorded in {CORE} only: omit the recording'
    link, initial = order.link, order.scenario.initial
    if order.flown_by.actions and link.host and order.sim != DIRECT and (
            order.simulator.protocol.name != 'xplane_udp') and initial:
        yield (f'a real simulator ({link.host}) does not support initial: its protocol has none '
               'of that; place the aircraft there, and order a scenario without it')


def _refuse_direct(order: Order) -> Iterator[str]:
    link = order.link
    if unused := [name for name in ('host', 'port', 'web', *_FAULTS) if getattr(link, name)]:
        yield f'{DIRECT} has no link: omit {", ".join(unused)}'


def _refuse_link(order: Order) -> Iterator[str]:
    link, scenario = order.link, order.scenario
    if link.host:
        default = Link()
        given = {
            name: getattr(link, name) != getattr(default, name)
            for name in ('speed', 'lockstep')} | {'seed': bool(order.seed)} | {
            name: bool(getattr(link, name)) for name in _FAULTS}
        wanted = [name for name, is_given in given.items() if is_given]
        if wanted := wanted + scenario.needs_simulator():
            yield (f'a real simulator ({link.host}) does not support {", ".join(wanted)}: its '
                   'protocol has none of that; omit --host to fly a simulator of this package')
        if not 0 <= link.port <= 65535:
            yield f'--port: {link.port} is not a port, 1..65535'
        try:
            web_parameters(link)
        except ScenarioError as error:
            yield str(error)
    elif link.port or link.web:
        yield '--port and --web need --host; a simulator of this package takes a free port'
    if not order.simulator.reports_controls and scenario.needs_controls():
        yield (f'{order.sim} does not report its controls, so scenario {scenario.name} cannot be '
               f'evaluated by {", ".join(dict.fromkeys(scenario.needs_controls()))}')


def _refuse_time(order: Order) -> Iterator[str]:
    link, scenario = order.link, order.scenario
    if format_of(order.keep.recording) == 'parquet':
        yield (f'through ROS recordings are MCAP: record in {CORE} to Parquet, or export the '
               'recording (export --to parquet)')
    if not 0.0 < link.speed < math.inf:
        yield f'speed is {link.speed}, expected above 0'
    by_step = order.flown_by.external or order.flown_by.actions
    if scenario.in_closed_loop() and not (by_step and link.lockstep):
        yield (f'{", ".join(scenario.in_closed_loop())}: closed_loop is flown with --sim {CORE}, '
               'or with --controller in --lockstep; otherwise the controller commands the '
               'aircraft itself')
    if order.simulated_time and not goes_in_lockstep(order.sim):
        yield (f'{order.sim} has no time in its protocol, so it can be flown in real time only: '
               'omit speed and lockstep')
    if order.simulated_time and scenario.needs_real_time():
        yield (f'scenario {scenario.name} works in real time only, because of '
               f'{", ".join(scenario.needs_real_time())}: without commands and telemetry '
               'simulated time stops')
    if link.lockstep and link.speed != 1.0:
        yield 'lockstep runs as fast as possible: omit speed'
    if link.lockstep and any(getattr(link, name) for name in _FAULTS):
        yield ('in lockstep the simulator waits for lost datagrams: omit '
               + ', '.join(name for name in _FAULTS if getattr(link, name)))
