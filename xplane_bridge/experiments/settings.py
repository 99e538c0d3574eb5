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

from argparse import ArgumentParser, Namespace
from dataclasses import asdict, dataclass
import math
from typing import Any

from xplane_bridge.experiments.scenario import Scenario, ScenarioError
from xplane_bridge.simulators.registry import Simulator, SIMULATORS

# Exit codes of an experiment.
PASSED, MISSED, NOT_FLOWN, INTERRUPTED = 0, 1, 2, 130

# In one process, without ROS: experiments/core.py.
CORE = 'core'

_FAULTS = ('loss', 'delay', 'jitter')


@dataclass(frozen=True, slots=True)
class Settings:
    """
    How a scenario is flown.

    ``host`` is a real simulator's, empty for one of ours; ``port`` its port, 0 the default one.
    """

    sim: str = 'xpc'
    host: str = ''
    port: int = 0
    speed: float = 1.0
    lockstep: bool = False
    seed: int = 0
    loss: float = 0.0
    delay: float = 0.0
    jitter: float = 0.0

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


@dataclass(frozen=True, slots=True)
class Experiment:
    """A scenario, how it is flown, where its results go, and the vehicle's namespace."""

    scenario: Scenario
    settings: Settings
    files: Files
    namespace: str
    title: str


def check(settings: Settings, scenario: Scenario) -> None:  # noqa: C901 -- one if per refusal
    """Raise ScenarioError for combinations that are not possible."""
    if settings.in_process:
        _check_in_process(settings, scenario)
        return
    if scenario.in_closed_loop():
        raise ScenarioError(
            f'{", ".join(scenario.in_closed_loop())}: closed_loop is flown with --sim {CORE} '
            'only; through ROS the controller commands the aircraft itself')
    if settings.sim not in SIMULATORS:
        raise ScenarioError(
            f'there is no simulator {settings.sim!r}: expected one of '
            f'{", ".join((*SIMULATORS, CORE))}')
    if not 0.0 < settings.speed < math.inf:
        raise ScenarioError(f'speed is {settings.speed}, expected above 0')
    default = Settings()
    if settings.host:
        given = [name for name in ('speed', 'lockstep', 'seed', *_FAULTS)
                 if getattr(settings, name) != getattr(default, name)]
        wanted = given + scenario.needs_simulator()
        if wanted:
            raise ScenarioError(
                f'a real simulator ({settings.host}) does not support {", ".join(wanted)}: its '
                'protocol has none of that; omit --host to fly a simulator of this package')
        if not 0 <= settings.port <= 65535:
            raise ScenarioError(f'--port: {settings.port} is not a port, 1..65535')
    elif settings.port:
        raise ScenarioError('--port needs --host; a simulator of this package takes a free port')
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


def _check_in_process(settings: Settings, scenario: Scenario) -> None:
    default = Settings()
    unused = [name for name in ('host', 'port', 'speed', *_FAULTS)
              if getattr(settings, name) != getattr(default, name)]
    if unused:
        raise ScenarioError(
            f'{CORE} has no link and runs as fast as possible: omit {", ".join(unused)}')
    if scenario.needs_real_time():
        raise ScenarioError(
            f'scenario {scenario.name} works in real time only, because of '
            f'{", ".join(scenario.needs_real_time())}: {CORE} has no link to lose and no process '
            'to stop')
    if not 0 <= settings.seed < 2 ** 31:
        raise ScenarioError(f'--seed: {settings.seed} is not in 0..2147483647')


def add_options(parser: ArgumentParser) -> None:
    """Add the options for Settings."""
    default = Settings()
    parser.add_argument('--sim', default=default.sim, metavar='SIM',
                        help=f'{", ".join(SIMULATORS)}, or {CORE}: in this process, without ROS '
                        '(%(default)s)')
    parser.add_argument('--host', default='',
                        help='address of a real simulator, instead of a simulated peer')
    parser.add_argument('--port', type=int, default=0, help="the real simulator's UDP port")
    parser.add_argument('--speed', type=float, default=1.0,
                        help='real-time factor (%(default)s)')
    parser.add_argument('--lockstep', action='store_true',
                        help='each frame waits for its command: the same random seed gives the '
                        'same flight, as fast as possible')
    parser.add_argument('--seed', type=int, default=0,
                        help='random seed of turbulence and link faults')
    parser.add_argument('--loss', type=float, default=0.0, metavar='P',
                        help='probability of losing a datagram, each way')
    parser.add_argument('--delay', type=float, default=0.0, metavar='S',
                        help='delay of a datagram, each way, in seconds')
    parser.add_argument('--jitter', type=float, default=0.0, metavar='S',
                        help='largest additional delay, in seconds')


def from_options(arguments: Namespace) -> Settings:
    """Return the settings given by the options."""
    return Settings(**{name: getattr(arguments, name) for name in Settings.__slots__})
