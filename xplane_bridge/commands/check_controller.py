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

"""check_controller: fly a controller for ten seconds, and list whether it keeps its contract."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
import os
import sys
import tempfile

from xplane_bridge.common import optional
from xplane_bridge.common.command_line import (
    add_force_option,
    refuse_existing,
    without_ros_arguments,
)
from xplane_bridge.experiments import settings as settings_module
from xplane_bridge.experiments.fly import attempt
from xplane_bridge.experiments.settings import (
    Experiment,
    Files,
    INTERRUPTED,
    MISSED,
    NOT_FLOWN,
    PASSED,
    Settings,
)
from xplane_bridge.flights.conduct import checklist
from xplane_bridge.flights.scenario import flown_by as controller
from xplane_bridge.flights.scenario.scenario import Scenario, ScenarioError
from xplane_bridge.nodes.flight.display import View
from xplane_bridge.nodes.flight.flight import Run
from xplane_bridge.nodes.flight.vehicle import Vehicle
from xplane_bridge.simulators.registry import SIMULATORS


class QuietView(View):
    """Prints what happens, without the progress in between."""

    def __enter__(self) -> QuietView:
        return self

    def update(self, phase: str, progress: float) -> None:
        """Do nothing."""


class CheckRun(Run):
    """A flight, and in ``heard`` the topics that its controller subscribes to."""

    def __init__(self, vehicle: Vehicle, scenario: Scenario, view: View) -> None:
        super().__init__(vehicle, scenario, view)
        self.heard: set[str] = set()

    def act(self, now: float) -> None:
        """Execute all events that are due."""
        super().act(now)
        # Once it is engaged it has subscribed to all that it needs.
        if self.engaged and not self.heard:
            self.heard = self._ros.heard_by_others(checklist.HEARS)

    def values(self, quantity: str, begin: float, end: float) -> list[float]:
        """Return what was measured of a quantity in a window of the scenario."""
        times, values = self._telemetry.since(quantity, self.begin + begin)
        return [value for time, value in zip(times, values, strict=True)
                if time <= self.begin + end]


def main(argv: Sequence[str] | None = None) -> int:
    """Check a controller; 0 if it keeps its contract, 1 if not, 2 if it could not be flown."""
    arguments = _parser().parse_args(without_ros_arguments(
        sys.argv[1:] if argv is None else argv))
    flight = checklist.scenario()
    settings = settings_module.complete(Settings(
        sim=arguments.sim, lockstep=arguments.lockstep, controller=arguments.controller,
        controller_launch=tuple(arguments.controller_launch),
        controller_timeout=arguments.controller_timeout, sensors=arguments.sensors), flight)
    try:
        if not (arguments.controller or arguments.controller_launch):
            raise ScenarioError('expected a command line, external, or --controller-launch')
        settings_module.check(settings, flight)
        optional.require('check_controller', 'jsbsim', extra='fly')
        files = _files(arguments)
    except (ImportError, OSError, ScenarioError) as error:
        print(f'check_controller: {error}', file=sys.stderr)
        return NOT_FLOWN
    experiment = Experiment(
        flight, settings, files, f'/{arguments.namespace.strip("/")}', '')
    run, code = attempt(experiment, '', CheckRun, QuietView)
    if not isinstance(run, CheckRun) or run.account is None or code == INTERRUPTED:
        return code
    found = checklist.findings(run.account, run.heard, run.begin, run.flown, run.values)
    print(f'\n{run.account.name}, on {arguments.sim}'
          + (' in lockstep' if arguments.lockstep else '')
          + (f' behind sensors ({arguments.sensors})' if experiment.sensors else ''))
    for one in found:
        print(f'  {one}')
    if any(one.passed is False for one in found):
        print(f'  logs: {files.log}, {files.controller_log}', flush=True)
        return MISSED
    if code == PASSED:
        print('  it keeps the contract (docs/reference/controllers.md)', flush=True)
    return code


def _files(arguments: argparse.Namespace) -> Files:
    """Return where the logs go. Raises FileExistsError if they are there."""
    files = Files('', '', '', f'{arguments.output}.log')
    if not arguments.output:
        folder = tempfile.mkdtemp(prefix='check_controller_')
        return replace(files, log=os.path.join(folder, 'check.log'))
    refuse_existing((files.log, files.controller_log), arguments.force)
    return files


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog='check_controller',
        description='Fly a controller for ten seconds, and list whether it keeps its contract.')
    parser.add_argument('controller', nargs='?', default='', metavar='COMMAND',
                        help='a command line that starts it; or external, started elsewhere')
    parser.add_argument('--controller-launch', nargs=2, default=(), metavar=('PKG', 'FILE'),
                        help='launch file that starts it')
    parser.add_argument('--controller-timeout', type=float, default=controller.TIMEOUT,
                        metavar='S',
                        help='silence, in seconds, that ends the flight (%(default)g)')
    parser.add_argument('--sim', default='xpc', choices=tuple(SIMULATORS),
                        help='simulator (%(default)s)')
    parser.add_argument('--lockstep', action='store_true',
                        help='each frame waits for its command, as fast as possible')
    parser.add_argument('--sensors', default='', metavar='NAME',
                        help='sensors before it, by name or file (none)')
    parser.add_argument('--output', default='', metavar='PREFIX',
                        help='name of the files .log and .controller.log (default: in a new '
                        'folder below that for temporary files)')
    add_force_option(parser)
    parser.add_argument('--namespace', default='/experiment',
                        help='namespace of the vehicle (%(default)s)')
    return parser
