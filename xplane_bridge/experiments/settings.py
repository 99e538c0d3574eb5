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

"""The settings of an experiment, and whether they are possible. No ROS."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
import math
import os
from pathlib import Path
from typing import Any

from xplane_bridge.control import gains
from xplane_bridge.control.policy.action import CONTROLS
from xplane_bridge.control.policy.load import load as load_policy
from xplane_bridge.flights.scenario import flown_by as controller
from xplane_bridge.flights.scenario.scenario import Scenario, ScenarioError
from xplane_bridge.sensors.specification import FiguresError, load
from xplane_bridge.simulators.registry import Simulator, SIMULATORS

# Exit codes of an experiment.
PASSED, MISSED, NOT_FLOWN, INTERRUPTED = 0, 1, 2, 130

# In one process, without ROS: flights/core.py.
CORE = 'core'

DEFAULT_MODEL = 'c172p'
"""The aircraft of a scenario that names none."""

# Where Foxglove and Lichtblick look by default.
LIVE_PORT = 8765

# Flown by the truth, whatever the scenario says.
NO_SENSORS = 'none'
NO_WEB = 'none'
"""Instead of the address of the Web API: it is not used."""


_FAULTS = ('loss', 'delay', 'jitter')
_AIRCRAFT = ('model', 'aircraft_path', 'gains')
# Those that only a simulated aircraft has.
_SIMULATED = ('model', 'aircraft_path')


@dataclass(frozen=True, slots=True)
class Settings:
    """
    How a scenario is flown.

    ``host`` is a real simulator's, empty for one of ours; ``port`` its port, 0 the default one.
    ``web`` is the address and port of its Web API, empty for the default ones, or NO_WEB.
    ``controller`` is a command, external, or autopilot; ``controller_launch`` package and launch
    file. What is empty or 0 of the controller's settings is the scenario's: see complete().
    ``model`` is a JSBSim aircraft, in the folder ``aircraft_path`` or JSBSim's own; empty for that
    of the scenario; ``gains``, a name or file, fly it instead of its own. ``sensors`` is a name or
    file, NO_SENSORS, or empty for those of the scenario.
    ``policy`` refers to one that flies instead of a controller: control.policy.
    """

    sim: str = 'xpc'
    host: str = ''
    port: int = 0
    web: str = ''
    speed: float = 1.0
    lockstep: bool = False
    seed: int = 0
    loss: float = 0.0
    delay: float = 0.0
    jitter: float = 0.0
    controller: str = ''
    controller_launch: tuple[str, ...] = ()
    controller_timeout: float = 0.0
    guidance: str = ''
    policy: str = ''
    model: str = ''
    aircraft_path: str = ''
    gains: str = ''
    sensors: str = ''

    @property
    def foreign(self) -> bool:
        """Return whether another controller than the autopilot flies."""
        return bool(self.policy or self.controller_launch) or self.controller not in (
            '', controller.AUTOPILOT)

    @property
    def in_process(self) -> bool:
        """Return whether it is flown in one process, without ROS."""
        return self.sim == CORE

    @property
    def simulator(self) -> Simulator:
        """Return the simulator."""
        return SIMULATORS[self.sim]

    @property
    def simulated_time(self) -> bool:
        """Return whether stamps are the simulator's time."""
        return self.lockstep or self.speed != 1.0

    @property
    def follows_clock(self) -> bool:
        """Return whether nodes follow /clock: in lockstep none depends on ROS time."""
        return self.simulated_time and not self.lockstep

    def figures(self) -> dict[str, Any]:
        """Return them by name, for the report."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Files:
    """Where the results go; an empty name omits one."""

    recording: str
    picture: str
    figures: str
    log: str

    @property
    def controller_log(self) -> str:
        """Return where the output of a controller goes."""
        return f'{os.path.splitext(self.log)[0]}.controller.log' if self.log else ''

    def results(self) -> list[str]:
        """Return all names but those of logs, which an attempt that was not flown leaves too."""
        return [name for name in (self.recording, self.picture, self.figures) if name]


@dataclass(frozen=True, slots=True)
class Experiment:
    """
    A scenario, how it is flown, where its results go, and the vehicle's namespace.

    ``live`` is the port of the live view, 0 for none.
    """

    scenario: Scenario
    settings: Settings
    files: Files
    namespace: str
    title: str
    live: int = 0

    @property
    def sensors(self) -> str:
        """Return the sensors, by name or file; empty for none."""
        return sensors_of(self.settings, self.scenario)


def sensors_of(settings: Settings, scenario: Scenario) -> str:
    """Return the sensors to fly with, by name or file; empty for none."""
    wanted = settings.sensors or scenario.sensors
    return '' if wanted == NO_SENSORS else wanted


def complete(settings: Settings, scenario: Scenario) -> Settings:
    """Return the settings with what a scenario says of its controller, where they do not."""
    given = dict(scenario.controller)
    if settings.controller or settings.controller_launch or settings.policy:
        given = {name: value for name, value in given.items()
                 if name not in ('controller', 'controller_launch')}
    launched = settings.controller_launch or given.get('controller_launch')
    defaults = {'controller': '' if launched else controller.AUTOPILOT, 'controller_launch': (),
                'controller_timeout': controller.TIMEOUT, 'guidance': controller.GUIDANCE[0]}
    if settings.policy:
        # As a law in this process is led.
        given = {name: value for name, value in given.items() if name != 'guidance'}
        defaults['guidance'] = 'heading'
    return replace(settings, **{
        name: getattr(settings, name) or given.get(name, default)
        for name, default in defaults.items()})


def _check_controller(settings: Settings, scenario: Scenario) -> None:
    chosen = [option for option, given in (
        ('--controller', settings.controller not in ('', controller.AUTOPILOT)),
        ('--controller-launch', settings.controller_launch), ('--policy', settings.policy))
        if given]
    if len(chosen) > 1:
        raise ScenarioError(f'{" and ".join(chosen)} exclude each other')
    if settings.policy:
        try:
            load_policy(settings.policy)
        except ValueError as error:
            raise ScenarioError(str(error)) from None
    if not 0.0 <= settings.controller_timeout < math.inf:
        raise ScenarioError(
            f'--controller-timeout: {settings.controller_timeout} is not above 0')
    if settings.controller == controller.EXTERNAL and any(
            event.action == 'autopilot_frozen' for event in scenario.events):
        raise ScenarioError(
            f'scenario {scenario.name} stops the controller, and an external one is not for the '
            'experiment to stop')


def check(  # noqa: C901 -- one if per refusal
    settings: Settings, scenario: Scenario, watched: bool = False, other_law: bool = False,
) -> None:
    """
    Raise ScenarioError for combinations that are not possible.

    ``watched``: in real time. ``other_law``: in one process something else flies than the
    autopilot, which knows itself whether it needs gains.
    """
    _check_controller(settings, scenario)
    _check_sensors(settings, scenario)
    if not other_law:
        _check_gains(settings, scenario)
    if settings.in_process:
        _check_in_process(settings, scenario, watched)
        return
    if scenario.in_closed_loop() and not (settings.foreign and settings.lockstep):
        raise ScenarioError(
            f'{", ".join(scenario.in_closed_loop())}: closed_loop is flown with --sim {CORE}, or '
            'with --controller in --lockstep; otherwise the controller commands the aircraft '
            'itself')
    if settings.sim not in SIMULATORS:
        raise ScenarioError(
            f'there is no simulator {settings.sim!r}: expected one of '
            f'{", ".join((*SIMULATORS, CORE))}')
    if not 0.0 < settings.speed < math.inf:
        raise ScenarioError(f'speed is {settings.speed}, expected above 0')
    default = Settings()
    if settings.host:
        given = [name for name in ('speed', 'lockstep', 'seed', *_FAULTS, *_SIMULATED)
                 if getattr(settings, name) != getattr(default, name)]
        wanted = given + scenario.needs_simulator()
        if wanted:
            raise ScenarioError(
                f'a real simulator ({settings.host}) does not support {", ".join(wanted)}: its '
                'protocol has none of that; omit --host to fly a simulator of this package')
        if not 0 <= settings.port <= 65535:
            raise ScenarioError(f'--port: {settings.port} is not a port, 1..65535')
        web_parameters(settings)
    elif settings.port or settings.web:
        raise ScenarioError(
            '--port and --web need --host; a simulator of this package takes a free port')
    if settings.simulated_time and not settings.simulator.has_time:
        raise ScenarioError(
            f'{settings.sim} has no time in its protocol, so it can be flown in real time only: '
            'omit speed and lockstep')
    if settings.simulated_time and scenario.needs_real_time():
        raise ScenarioError(
            f'scenario {scenario.name} works in real time only, because of '
            f'{", ".join(scenario.needs_real_time())}: without commands and telemetry simulated '
            'time stops')
    if not settings.simulator.reports_controls and scenario.needs_controls():
        raise ScenarioError(
            f'{settings.sim} does not report its controls, so scenario {scenario.name} cannot be '
            f'evaluated by {", ".join(dict.fromkeys(scenario.needs_controls()))}')
    if settings.lockstep and settings.speed != 1.0:
        raise ScenarioError('lockstep runs as fast as possible: omit speed')
    if settings.lockstep and any(getattr(settings, name) for name in _FAULTS):
        raise ScenarioError('in lockstep the simulator waits for lost datagrams: omit '
                            + ', '.join(name for name in _FAULTS if getattr(settings, name)))


def _check_gains(settings: Settings, scenario: Scenario) -> None:
    """Raise ScenarioError if the autopilot is to fly an aircraft whose gains nobody knows."""
    initial = with_aircraft(scenario, settings).initial
    needed = scenario.engages() and (not settings.foreign or is_above_autopilot(settings))
    # Which one a real simulator flies is not known here.
    if (needed or initial.get('gains')) and not (
            settings.host and not {'model', 'gains'} & initial.keys()):
        try:
            gains_of(initial)
        except ValueError as error:
            raise ScenarioError(str(error)) from None


def is_above_autopilot(settings: Settings) -> bool:
    """Return whether a policy flies that commands the autopilot, not the controls."""
    return bool(settings.policy) and load_policy(settings.policy).action is not CONTROLS


def gains_of(initial: Mapping[str, Any]) -> Path:
    """Return the file with the gains for a scenario's aircraft; ValueError if there is none."""
    return gains.chosen(
        initial.get('model', DEFAULT_MODEL), initial.get('aircraft_path', ''),
        initial.get('gains', ''))


def _check_sensors(settings: Settings, scenario: Scenario) -> None:
    if sensors := sensors_of(settings, scenario):
        try:
            load(sensors)
        except FiguresError as error:
            raise ScenarioError(f'sensors: {error}') from None
    elif scenario.needs_sensors():
        raise ScenarioError(
            f'scenario {scenario.name} needs sensors, because of '
            f'{", ".join(scenario.needs_sensors())}: name some, such as --sensors consumer')


def _check_in_process(settings: Settings, scenario: Scenario, watched: bool) -> None:
    default = Settings()
    unused = [name for name in ('host', 'port', 'speed', *_FAULTS)
              if getattr(settings, name) != getattr(default, name)
              and not (watched and name == 'speed')]
    if not 0.0 < settings.speed < math.inf:
        raise ScenarioError(f'speed is {settings.speed}, expected above 0')
    if unused:
        raise ScenarioError(
            f'{CORE} has no link and runs as fast as possible: omit {", ".join(unused)}'
            f'{" (speed is for --live)" if unused == ["speed"] else ""}')
    if settings.foreign and not settings.policy:
        raise ScenarioError(
            f'{CORE} flies without ROS, and a controller of your own is a ROS node: choose '
            'another --sim, or fly a policy: --policy (docs/reference/policies.md)')
    if scenario.needs_real_time():
        raise ScenarioError(
            f'scenario {scenario.name} works in real time only, because of '
            f'{", ".join(scenario.needs_real_time())}: {CORE} has no link to lose and no process '
            'to stop')
    if not 0 <= settings.seed < 2 ** 31:
        raise ScenarioError(f'--seed: {settings.seed} is not in 0..2147483647')


def web_parameters(settings: Settings) -> dict[str, Any]:
    """
    Return the parameters of xplane_udp_node for the Web API; a simulated peer has none.

    Raises ScenarioError for an impossible address.
    """
    if not settings.host or settings.web == NO_WEB:
        return {'web_port': 0}
    if not settings.web:
        return {}
    host, _, port = settings.web.rpartition(':')
    if not host or not port.isdecimal() or not 0 < int(port[:6]) < 65536:
        raise ScenarioError(
            f'--web: {settings.web!r} is not an address and a port, like 127.0.0.1:8086, nor '
            f'{NO_WEB}')
    return {'web_host': host, 'web_port': int(port)}


def with_aircraft(scenario: Scenario, settings: Settings) -> Scenario:
    """Return the scenario with the aircraft of the settings, if they name one."""
    given = {name: value for name in _AIRCRAFT if (value := getattr(settings, name))}
    return replace(scenario, initial={**scenario.initial, **given})
