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
from dataclasses import asdict
import sys

from xplane_bridge.commands import options
from xplane_bridge.common.command_line import (
    add_force_option,
    add_launch_option,
    dated,
    refuse_existing,
    without_ros_arguments,
)
from xplane_bridge.experiments import settings as settings_module
from xplane_bridge.experiments.settings import (
    Experiment,
    Files,
    INTERRUPTED,
    NOT_FLOWN,
    PASSED,
    Settings,
)
from xplane_bridge.flights.scenario import flown_by as controller
from xplane_bridge.flights.scenario import scenario as scenarios
from xplane_bridge.flights.scenario.scenario import ScenarioError


def main(argv: Sequence[str] | None = None) -> int:
    """Fly a scenario; 0 if its criteria are met, 1 if not, 2 if it could not be flown."""
    arguments = _parsed(sys.argv[1:] if argv is None else argv)
    namespace = f'/{arguments.namespace.strip("/")}'
    settings = options.from_options(arguments)
    try:
        if not settings.in_process:
            from xplane_bridge.nodes.flight.namespace import check_namespace
            check_namespace(namespace)
        scenario, settings = _flown(arguments, settings)
        settings_module.check(settings, scenario, bool(arguments.live))
        scenario = settings_module.with_aircraft(scenario, settings)
        files = _files(arguments, scenario, settings)
        refuse_existing(files.results(), arguments.force)
    except (ScenarioError, FileExistsError) as error:
        print(f'experiment: {error}', file=sys.stderr)
        return NOT_FLOWN
    experiment = Experiment(
        scenario, settings, files, namespace,
        f'{scenario.name} on {settings.host or settings.sim}' + (
            f', flown by {controller.described(asdict(settings))}' if settings.foreign else ''),
        arguments.live)
    if settings.in_process:
        from xplane_bridge.flights import core
        return core.fly(experiment)
    from xplane_bridge.experiments.fly import fly
    code = fly(experiment)
    return PASSED if code == INTERRUPTED and arguments.by_launch else code


def outputs(argv: Sequence[str]) -> list[str]:
    """
    Return where the results of a command line would go.

    Raises ScenarioError for an unknown scenario.
    """
    arguments = _parsed(argv)
    return _files(
        arguments, *_flown(arguments, options.from_options(arguments))).results()


def _flown(
    arguments: argparse.Namespace, settings: Settings
) -> tuple[scenarios.Scenario, Settings]:
    scenario = scenarios.load(scenarios.find(arguments.scenario))
    return scenario, settings_module.complete(settings, scenario)


def _files(
    arguments: argparse.Namespace, scenario: scenarios.Scenario, settings: Settings
) -> Files:
    """Return where the results go; by default the names hold what distinguishes the flight."""
    flown = [settings.sim, scenario.name]
    if settings.model:
        flown.append(settings.model)
    if settings.foreign:
        flown.append(controller.short_name(asdict(settings)))
    # A real simulator flies no flight twice.
    prefix = arguments.output or (
        dated('_'.join(flown)) if settings.host else '_'.join([*flown, f'seed{settings.seed}']))
    # Without ROS there are no messages to record, and no processes.
    recorded = not (settings.in_process or arguments.no_record)
    return Files(
        f'{prefix}.mcap' if recorded else '', '' if arguments.no_picture else f'{prefix}.png',
        f'{prefix}.json', '' if settings.in_process else f'{prefix}.log')


def _parsed(argv: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog='experiment',
        description='Fly a scenario on a simulator, record it, and evaluate it.')
    parser.add_argument('--scenario', default='steps',
                        help='name or file of the scenario (%(default)s)')
    options.add_options(parser)
    parser.add_argument('--output', default='', metavar='PREFIX',
                        help='name of the files .mcap, .png, .json, .log (default: '
                        'SIM_SCENARIO_seedN; before the seed the model and your controller, if '
                        'given; with --host the time instead of it)')
    add_force_option(parser)
    parser.add_argument('--no-record', action='store_true',
                        help='delete the recording after the report')
    parser.add_argument('--no-picture', action='store_true', help='draw no picture')
    parser.add_argument('--namespace', default='/experiment',
                        help='namespace of the vehicle (%(default)s)')
    add_launch_option(parser)
    options.add_live_option(parser)
    return parser.parse_args(without_ros_arguments(argv))
