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

from xplane_bridge.commands.options import add_no_target_option
from xplane_bridge.common.command_line import (
    add_force_option,
    CommandParser,
    program,
    refuse_existing,
    subject,
    without_ros_arguments,
)
from xplane_bridge.common.signals import Interrupts
from xplane_bridge.laboratory.experiments.display import LiveView
from xplane_bridge.laboratory.experiments.fly import conduct
from xplane_bridge.laboratory.experiments.settings import (
    Experiment,
    Files,
    INTERRUPTED,
    MISSED,
    NOT_FLOWN,
    PASSED,
)
from xplane_bridge.laboratory.flights.controller_checks import checklist
from xplane_bridge.laboratory.flights.flight import Flight
from xplane_bridge.laboratory.flights.order import DIRECT, Keep, Link, make_flown_by, Order
from xplane_bridge.laboratory.flights.refusals import OrderError, refusals
from xplane_bridge.laboratory.flights.scenario import flown_by as controller
from xplane_bridge.laboratory.flights.scenario.scenario import ScenarioError
from xplane_bridge.laboratory.nodes.flight.flight import RosFlight
from xplane_bridge.laboratory.nodes.flight.started import Ends, NotReadyError
from xplane_bridge.simulation.peers.registry import SIMULATORS

# Seconds after its node has appeared: it has created its subscriptions then.
_PATIENCE = 5.0


class Listening(LiveView):
    """Prints what happens; ``heard`` has the topics that the controller subscribes to."""

    def __init__(self) -> None:
        super().__init__()
        self.heard: set[str] = set()
        self._listened: RosFlight | None = None

    def __enter__(self) -> Listening:
        return self

    def begin(self, flight: Flight) -> None:
        """Listen to this flight."""
        assert isinstance(flight, RosFlight)
        self._listened = flight

    def end(self) -> None:
        """Do nothing."""

    def update(self, phase: str, progress: float) -> None:
        """Ask who has subscribed, once the controller is engaged: then it needs no more."""
        flight = self._listened
        if flight is not None and flight.script.engaged and not self.heard:
            self.heard = flight.vehicles[''].heard_by_others(checklist.TOPICS)


def main(argv: Sequence[str] | None = None) -> int:
    """Check a controller; 0 if it keeps its contract, 1 if not, 2 if it could not be flown."""
    arguments = _parser().parse_args(without_ros_arguments(
        sys.argv[1:] if argv is None else argv))
    targets = not arguments.no_target
    scenario = checklist.scenario(targets)
    try:
        if not (arguments.controller or arguments.controller_launch):
            raise ScenarioError('expected a command line, external, or --controller-launch')
        order = Order(
            scenario, arguments.sim, make_flown_by(
                scenario, arguments.controller, tuple(arguments.controller_launch),
                timeout=arguments.controller_timeout, targets=targets),
            sensors=arguments.sensors,
            link=Link(lockstep=arguments.lockstep, namespace=arguments.namespace))
        if sentences := refusals(order):
            raise OrderError(sentences)
        keep = _files(arguments)
        view = Listening()
        flight = RosFlight(replace(order, keep=keep), view, _PATIENCE)
    except (ImportError, OSError, ScenarioError) as error:
        print(f'check_controller: {error}', file=sys.stderr)
        return NOT_FLOWN
    with flight:
        code = conduct(
            flight, view, Experiment(order, Files(), ''), Interrupts(), 'check_controller')
    if isinstance(flight.error, NotReadyError):
        return _not_ready(flight.error.ends, flight.order, keep)
    account = flight.script.account if flight.flown else None
    if account is None or code == INTERRUPTED:
        return code
    script, telemetry = flight.script, flight.telemetry

    def values(quantity: str, begin: float, end: float) -> list[float]:
        """Return what was measured of a quantity in a window of the scenario."""
        times, measured = telemetry.since(quantity, script.begin + begin)
        return [value for time, value in zip(times, measured, strict=True)
                if time <= script.begin + end]

    found = checklist.findings(
        account, view.heard, script.begin, script.flown, values, targets)
    print(f'\n{account.name}, on {arguments.sim}'
          + (' in lockstep' if arguments.lockstep else '')
          + (f' behind sensors ({arguments.sensors})' if order.sensed_by else ''))
    for one in found:
        print(f'  {one}')
    if any(one.passed is False for one in found):
        print(f'  logs: {keep.log}, {keep.controller_log}', flush=True)
        return MISSED
    if code == PASSED:
        print(f'  it keeps the contract{"" if targets else " of one with its own goals"} '
              '(docs/reference/controllers.md)', flush=True)
    return code


def _not_ready(ends: Ends | None, order: Order, keep: Keep) -> int:
    """Print the list of a controller that was not flown; return the exit code."""
    base = f'{order.link.namespace}/'
    subscribed, published = (
        {topic.removeprefix(base) for topic in topics if topic.startswith(base)}
        for topics in ((ends.subscribed, ends.published) if ends else ((), ())))
    print()
    for one in checklist.not_flown(subscribed, published, order.flown_by.targets):
        print(f'  {one}')
    print(f'  logs: {keep.log}, {keep.controller_log}', flush=True)
    return MISSED


def _files(arguments: argparse.Namespace) -> Keep:
    """Return where the logs go. Raises FileExistsError if the files exist."""
    if not arguments.output:
        folder = tempfile.mkdtemp(prefix='check_controller_')
        return Keep(log=os.path.join(folder, 'check.log'))
    keep = Keep(log=f'{arguments.output}.log')
    refuse_existing((keep.log, keep.controller_log), arguments.force)
    return keep


def _parser() -> argparse.ArgumentParser:
    parser = CommandParser(
        prog=program('check_controller'),
        description='Fly a controller for ten seconds, and list whether it keeps its contract.')
    flown, simulator, output = (
        subject(parser, title) for title in ('controller', 'simulator', 'output'))
    parser.add_argument('controller', nargs='?', default='', metavar='COMMAND',
                        help='a command line that starts it; or external, started elsewhere')
    flown.add_argument('--controller-launch', nargs=2, default=(), metavar=('PKG', 'FILE'),
                       help='launch file that starts it')
    flown.add_argument('--controller-timeout', type=float, default=controller.TIMEOUT,
                       metavar='S',
                       help='silence, in seconds, that ends the flight (%(default)g)')
    add_no_target_option(flown)
    simulator.add_argument('--sim', default='xpc', metavar='SIM',
                           help=f'simulator: {", ".join((*SIMULATORS, DIRECT))} (%(default)s)')
    simulator.add_argument('--lockstep', action='store_true',
                           help='each frame waits for its command, as fast as possible')
    simulator.add_argument('--sensors', default='', metavar='NAME',
                           help='sensors before it, by name or file (none)')
    output.add_argument('--output', default='', metavar='PREFIX',
                        help='name of the files .log and .controller.log (default: in a new '
                        'folder below that for temporary files)')
    add_force_option(output)
    parser.add_argument('--namespace', default='/experiment',
                        help='namespace of the vehicle (%(default)s)')
    return parser
