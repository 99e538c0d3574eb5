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

"""experiment: fly a scenario on a simulator, record it, and evaluate it."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
import math
import sys

from xplane_bridge.commands import options
from xplane_bridge.common.command_line import (
    add_force_option,
    add_launch_option,
    CommandParser,
    dated,
    program,
    refuse_existing,
    subject,
    without_ros_arguments,
)
from xplane_bridge.common.drawing import FORMATS
from xplane_bridge.common.plain_files import WriteError
from xplane_bridge.laboratory.experiments.fly import fly, tell
from xplane_bridge.laboratory.experiments.settings import (
    Experiment,
    Files,
    INTERRUPTED,
    NOT_FLOWN,
    PASSED,
)
from xplane_bridge.laboratory.flights.order import CORE, Keep, Order
from xplane_bridge.laboratory.flights.recordings import written
from xplane_bridge.laboratory.flights.refusals import OrderError, refusals
from xplane_bridge.laboratory.flights.scenario import flown_by as controller
from xplane_bridge.laboratory.flights.scenario import scenario as scenarios
from xplane_bridge.laboratory.flights.scenario.scenario import ScenarioError
from xplane_bridge.laboratory.flights.scenario.untargeted import not_judged


def main(argv: Sequence[str] | None = None) -> int:
    """Fly a scenario; 0 if its criteria are met, 1 if not, 2 if it could not be flown."""
    arguments = _parsed(sys.argv[1:] if argv is None else argv)
    try:
        scenario = scenarios.load(scenarios.find(arguments.scenario))
        order, files, pace = _planned(arguments, scenario)
        refuse_existing(files.results(), arguments.force)
    except (ScenarioError, FileExistsError, WriteError) as error:
        tell(str(error))
        return NOT_FLOWN
    flown_by = order.flown_by
    if not flown_by.targets:
        for left_out in not_judged(scenario):
            print(f'without target: {left_out}', flush=True)
    code = fly(Experiment(
        order, files,
        f'{order.scenario.name} on {order.link.host or order.sim}' + (
            f', flown by {controller.without_folders(controller.described(order.figures()))}'
            if flown_by.external else ''),
        arguments.live, pace))
    return PASSED if code == INTERRUPTED and arguments.by_launch else code


def outputs(argv: Sequence[str]) -> list[str]:
    """
    Return where the results of a command line would go.

    Raises ScenarioError for an unknown scenario, and for what cannot be flown; a policy is not
    looked at, as that runs its author's code.
    """
    arguments = _parsed(argv)
    scenario = scenarios.load(scenarios.find(arguments.scenario))
    return _planned(arguments, scenario, load_policies=False)[1].results()


def _planned(
    arguments: argparse.Namespace, scenario: scenarios.Scenario, load_policies: bool = True
) -> tuple[Order, Files, float]:
    """Return the order, where its results go, and its pace; OrderError if it cannot be flown."""
    order, pace = _ordered(arguments, scenario)
    files = _files(arguments, order)
    order = replace(order, keep=Keep(files.recording, files.log))
    if sentences := refusals(order, load_policies):
        raise OrderError(sentences)
    return order, files, pace


def _ordered(
    arguments: argparse.Namespace, scenario: scenarios.Scenario
) -> tuple[Order, float]:
    """Return the order, and how many times faster than real time a flight in core is watched."""
    order = options.make_order(arguments, scenario)
    if order.sim != CORE:
        return order, 0.0
    speed = order.link.speed
    if not 0.0 < speed < math.inf:
        raise ScenarioError(f'speed is {speed}, expected above 0')
    link = replace(order.link, namespace='')
    if arguments.live:
        # Without anybody who watches it is refused.
        return replace(order, link=replace(link, speed=1.0)), speed
    return replace(order, link=link), 0.0


def _files(arguments: argparse.Namespace, order: Order) -> Files:
    """Return where the results go; default names say which flight it was."""
    flown = [order.sim, order.scenario.name]
    if arguments.model:
        flown.append(arguments.model)
    if order.flown_by.external:
        flown.append(controller.short_name(order.figures()))
    # A real simulator flies no flight twice.
    prefix = arguments.output or (
        dated('_'.join(flown)) if order.link.host else
        '_'.join([*flown, f'seed{order.seed}']))
    # Without ROS there are no processes.
    in_core = order.sim == CORE
    # There it takes a part of the flight's time, and the report needs no recording.
    record = arguments.record or ('' if in_core else 'mcap')
    recording = '' if arguments.no_record or not record else f'{prefix}.{record}'
    return Files(
        recording, '' if arguments.no_picture else f'{prefix}.{arguments.format}',
        f'{prefix}.json', '' if in_core else f'{prefix}.log',
        tuple(written.files(recording, order.of_vehicles())))


def _parsed(argv: Sequence[str]) -> argparse.Namespace:
    parser = CommandParser(
        prog=program('experiment'),
        description='Fly a scenario on a simulator, record it, and evaluate it.')
    parser.add_argument('--scenario', default='steps',
                        help='name or file of the scenario, or a script of JSBSim: .xml, with '
                        f'--sim {CORE} (%(default)s)')
    parser.add_argument('--namespace', default='/experiment',
                        help='namespace of the vehicle (%(default)s)')
    add_launch_option(parser)
    options.add_live_option(parser)
    options.add_options(parser)
    output = subject(parser, 'output')
    output.add_argument('--output', default='', metavar='PREFIX',
                        help='name of the files .mcap, .png, .json, .log (default: '
                        'SIM_SCENARIO_seedN; before the seed the model and your controller, if '
                        'given; with --host the time instead of it)')
    add_force_option(output)
    output.add_argument('--no-record', action='store_true',
                        help='delete the recording after the report')
    output.add_argument('--record', choices=written.FORMATS, default='',
                        help=f'record, in {CORE} too: messages as through ROS, or a table '
                        f'({CORE} only)')
    output.add_argument('--format', choices=FORMATS, default=FORMATS[0],
                        help='format of the picture (%(default)s)')
    output.add_argument('--no-picture', action='store_true', help='draw no picture')
    return parser.parse_args(without_ros_arguments(argv))
