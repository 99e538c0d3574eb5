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
An order: all that determines a flight, as plain data that can be sent to another process.

    Order(load(find('steps')), flown_by=FlownBy(policy='turbulence'), seed=3)

``places.open_flight`` makes a flight of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
import hashlib
import os
from pathlib import Path
from typing import Any

from xplane_bridge.common.fields import LARGEST_SEED
from xplane_bridge.common.machine import MachineError
from xplane_bridge.laboratory.control.policy.action import CONTROLS, LEVELS
from xplane_bridge.laboratory.control.policy.load import load as load_policy
from xplane_bridge.laboratory.control.policy.load import LoadedPolicy
from xplane_bridge.laboratory.flights.scenario.flown_by import (
    AUTOPILOT,
    CONTROLLERS,
    GUIDANCE,
    TIMEOUT,
)
from xplane_bridge.laboratory.flights.scenario.scenario import Scenario, ScenarioError
from xplane_bridge.laboratory.flights.scenario.start import find_start, NO_SENSORS
from xplane_bridge.laboratory.flights.scenario.untargeted import untargeted
from xplane_bridge.simulation.aircraft.initial import DEFAULT_MODEL
from xplane_bridge.simulation.aircraft.loading import parameter_file
from xplane_bridge.simulation.aircraft.plant import Plant
from xplane_bridge.simulation.aircraft.studies import physics_rate
from xplane_bridge.simulation.peers.registry import Simulator, SIMULATORS

CORE = 'core'
"""The place in this process, without ROS."""

DIRECT = 'direct'
"""simulator_node with telemetry: direct: through ROS, without a protocol and its bridge."""

PLACES = (*SIMULATORS, DIRECT, CORE)
"""Where a flight can be flown."""

NO_WEB = 'none'
"""Instead of the address of the Web API: it is not used."""


@dataclass(frozen=True, slots=True)
class FlownBy:
    """
    Who flies: the autopilot, unless one of the others is given.

    ``command`` is a command line that starts a controller, or EXTERNAL; ``launch`` a package and
    its launch file. ``policy`` refers to one (control.policy.load), whose files must have
    ``digest``, unless that is empty. ``actions`` is a level of
    control.policy.action: whoever calls step() gives them. ``timeout`` is the silence (s) that
    ends a flight with a controller of your own, ``guidance`` by what a route is given to it;
    without ``targets`` it has its own goals, and is told none.
    """

    command: str = AUTOPILOT
    launch: tuple[str, ...] = ()
    policy: str = ''
    actions: str = ''
    timeout: float = TIMEOUT
    guidance: str = GUIDANCE[0]
    digest: str = ''
    targets: bool = True

    @property
    def external(self) -> bool:
        """Return whether another process than the autopilot's flies, or a policy."""
        return bool(self.policy or self.launch) or self.command not in ('', AUTOPILOT)

    def load(self) -> LoadedPolicy:
        """
        Return the policy, loaded anew.

        Raises ValueError if it is none, MachineError if it is not that of ``digest``.
        """
        policy = load_policy(self.policy)
        if self.digest and policy.digest != self.digest:
            raise MachineError(
                f'policy {self.policy} is no more what it was when the campaign began, or it is '
                'another one on this machine: its files differ, or what they import')
        return policy

    def needs_autopilot(self) -> bool:
        """Return whether the autopilot flies, or is commanded by what does."""
        if self.policy or self.actions:
            action = self.load().action if self.policy else LEVELS[self.actions]
            return action is not CONTROLS
        return not self.external


@dataclass(frozen=True, slots=True)
class Link:
    """
    How the simulator is reached, of a flight through ROS.

    ``host`` is a real simulator's, empty for one of ours; ``port`` its port, 0 the default one.
    ``web`` is the address and port of its Web API, empty for the default ones, or NO_WEB.
    ``speed`` is a multiple of real time. In ``lockstep`` each frame waits for its command.
    ``loss`` is a probability, ``delay`` and ``jitter`` are in seconds, each way. ``namespace`` is
    the vehicle's, by default one of its own.
    """

    host: str = ''
    port: int = 0
    web: str = ''
    speed: float = 1.0
    lockstep: bool = False
    loss: float = 0.0
    delay: float = 0.0
    jitter: float = 0.0
    namespace: str = ''


@dataclass(frozen=True, slots=True)
class Keep:
    """
    The files that a flight leaves; an empty name omits one.

    ``log`` is of flights through ROS only. The name of a ``recording`` ends in .mcap, in core also
    in .parquet; there it has the ``facts`` of the flight in it, plain data by name.
    """

    recording: str = ''
    log: str = ''
    facts: Mapping[str, Any] = field(default_factory=dict)

    @property
    def controller_log(self) -> str:
        """Return where the output of a controller goes."""
        return f'{os.path.splitext(self.log)[0]}.controller.log' if self.log else ''


@dataclass(frozen=True, slots=True)
class Order:
    """
    A scenario and all that determines how it is flown.

    ``scenario`` has every change in it already. ``sim`` is CORE, or else it is flown through ROS:
    DIRECT, or a simulator of the registry behind its bridge. ``sensors`` is a name or file,
    NO_SENSORS, or empty for those of the scenario. ``rounding`` is the simulator whose protocol
    rounds what is measured and commanded, in core only. ``physics_rate`` is the aircraft's steps
    per second, whole ones in each frame; 0: those of the scenario, or as many as its model needs.
    ``link`` and ``keep`` belong to flights through ROS. ``vehicle`` is the number of the aircraft,
    of several that fly together.
    """

    scenario: Scenario
    sim: str = CORE
    flown_by: FlownBy = field(default_factory=FlownBy)
    seed: int = 0
    sensors: str = ''
    rounding: str = ''
    physics_rate: int = 0
    link: Link = field(default_factory=Link)
    keep: Keep = field(default_factory=Keep)
    vehicle: int = 0

    @property
    def sensor_seed(self) -> int:
        """Return the seed of the errors of sensors: the first aircraft has that of the order."""
        if not self.vehicle:
            return self.seed
        drawn = hashlib.sha256(f'{self.seed} {self.vehicle}'.encode()).digest()
        return int.from_bytes(drawn[:4], 'big') % 2**31 % (LARGEST_SEED + 1)

    @property
    def sensed_by(self) -> str:
        """Return the sensors to fly with, by name or file; empty for none."""
        wanted = self.sensors or self.scenario.sensors
        return '' if wanted == NO_SENSORS else wanted

    @property
    def simulator(self) -> Simulator:
        """Return the simulator behind a protocol."""
        return SIMULATORS[self.sim]

    @property
    def simulated_time(self) -> bool:
        """Return whether stamps are the simulator's time."""
        return self.link.lockstep or self.link.speed != 1.0 or self.sim == DIRECT

    @property
    def follows_clock(self) -> bool:
        """Return whether nodes follow /clock: in lockstep none depends on ROS time."""
        return self.simulated_time and not self.link.lockstep

    @property
    def model(self) -> str:
        """Return the JSBSim aircraft."""
        return model_of(self.scenario.initial)

    @property
    def given_physics_rate(self) -> int:
        """Return the steps per second that are asked for, 0 for those that its model needs."""
        return self.physics_rate or self.scenario.physics_rate

    @property
    def plant(self) -> Plant:
        """Return in what the aircraft differs from its model."""
        return Plant.of(self.scenario.initial.get('plant', {}))

    def of_vehicles(self) -> dict[str, Order]:
        """
        Return the order of each aircraft by its name: of one alone this one, by ''.

        Several have the same weather, gusts included; the errors of their sensors are their own.
        Where the autopilot flies, a vehicle that names a controller is flown by that.
        """
        if not self.scenario.vehicles:
            return {'': self}
        found = {}
        for number, one in enumerate(self.scenario.vehicles):
            flown_by = self.flown_by
            if one.controller and not (flown_by.external or flown_by.actions):
                flown_by = make_flown_by(one)
            found[one.name] = replace(self, vehicle=number, flown_by=flown_by, scenario=replace(
                one if flown_by.targets else untargeted(one),
                sensors=one.sensors or self.scenario.sensors))
        return found

    def gains(self) -> Path:
        """Return the file with the autopilot's gains for the aircraft; ValueError if none."""
        initial = self.scenario.initial
        return parameter_file.chosen(
            self.model, initial.get('aircraft_path', ''), initial.get('gains', ''))

    def facts(self) -> dict[str, Any]:
        """Return what a recording says of its flight, as plain data; aircraft also by name."""
        models = {name: one.model for name, one in self.of_vehicles().items()}
        return {'scenario': self.scenario.name, 'aircraft': models.get('', models),
                'seed': self.seed, 'settings': self.figures(), **self.keep.facts}

    def figures(self) -> dict[str, Any]:
        """Return it by the names of the options of the command ``experiment``, for a report."""
        link, flown_by, initial = self.link, self.flown_by, self.scenario.initial
        return {
            'sim': self.sim, 'host': link.host, 'port': link.port, 'web': link.web,
            'speed': link.speed, 'lockstep': link.lockstep, 'seed': self.seed, 'loss': link.loss,
            'delay': link.delay, 'jitter': link.jitter, 'controller': flown_by.command,
            'controller_launch': flown_by.launch, 'controller_timeout': flown_by.timeout,
            'guidance': flown_by.guidance, 'no_target': not flown_by.targets,
            'policy': flown_by.policy,
            **{name: initial.get(name, '') for name in (
                'model', 'aircraft_path', 'controls', 'gains')},
            'plant': self.plant.values(), 'sensors': self.sensors,
            'physics_rate': self.given_physics_rate}


def model_of(initial: Mapping[str, Any]) -> str:
    """Return the JSBSim aircraft of a scenario's initial state."""
    return str(initial.get('model') or DEFAULT_MODEL)


def goes_in_lockstep(sim: str) -> bool:
    """Return whether a simulator's time can wait for each command; in core there is no link."""
    return sim == DIRECT or (sim in SIMULATORS and SIMULATORS[sim].has_time)


def make_flown_by(
    scenario: Scenario, command: str = '', launch: tuple[str, ...] = (), policy: str = '',
    timeout: float = 0.0, guidance: str = '', targets: bool = True,
) -> FlownBy:
    """Return who flies a scenario: what is not given is what it says, or the default."""
    said = dict(scenario.controller)
    if policy or command == AUTOPILOT:
        # They hold what target says.
        said.pop('controller_target', None)
    if command or launch or policy:
        said = {name: value for name, value in said.items() if name not in CONTROLLERS}
    policy = policy or said.get('policy', '')
    if policy:
        # As a law in this process is led.
        guidance = guidance or 'heading'
    launch = launch or tuple(said.get('controller_launch', ()))
    return FlownBy(
        command or said.get('controller', '' if launch else AUTOPILOT), launch, policy,
        timeout=timeout or said.get('controller_timeout', TIMEOUT),
        guidance=guidance or said.get('guidance', GUIDANCE[0]),
        targets=targets and said.get('controller_target', True))


def flown_alike(scenario: Scenario) -> Scenario:
    """Return a scenario whose vehicles name no controllers of their own."""
    return replace(scenario, vehicles=tuple(
        replace(one, controller={}) for one in scenario.vehicles))


def web_parameters(link: Link) -> Mapping[str, Any]:
    """
    Return the parameters of xplane_udp_node for the Web API; a simulated peer has none.

    Raises ScenarioError for an impossible address.
    """
    if not link.host or link.web == NO_WEB:
        return {'web_port': 0}
    if not link.web:
        return {}
    host, _, port = link.web.rpartition(':')
    if not host or not port.isdecimal() or not 0 < int(port[:6]) < 65536:
        raise ScenarioError(
            f'--web: {link.web!r} is not an address and a port, like 127.0.0.1:8086, nor '
            f'{NO_WEB}')
    return {'web_host': host, 'web_port': int(port)}


def remarks(order: Order) -> list[str]:
    """Return a line for each thing worth saying of the aircraft of an order: see physics_rate."""
    if order.link.host or order.scenario.runscript is not None:
        return []
    return [*dict.fromkeys(line for one in order.of_vehicles().values() for line in (
        physics_rate.remarks(
            one.model, find_start(one.scenario.initial, one.scenario.runway),
            one.scenario.initial.get('aircraft_path', ''), one.given_physics_rate)))]
