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

"""The options of a command line that say how an experiment is flown."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import Any

from xplane_bridge.common.command_line import peer_port, subject
from xplane_bridge.laboratory.experiments.settings import LIVE_PORT
from xplane_bridge.laboratory.flights.order import (
    CORE,
    DIRECT,
    flown_alike,
    Link,
    make_flown_by,
    NO_WEB,
    Order,
)
from xplane_bridge.laboratory.flights.scenario import flown_by as controller
from xplane_bridge.laboratory.flights.scenario.flown_by import AUTOPILOT
from xplane_bridge.laboratory.flights.scenario.scenario import Scenario, ScenarioError
from xplane_bridge.laboratory.flights.scenario.start import NO_SENSORS
from xplane_bridge.laboratory.flights.scenario.untargeted import untargeted
from xplane_bridge.laboratory.sensors.specification import presets
from xplane_bridge.simulation.peers.registry import SIMULATORS

SIM = 'xpc'
"""Where an experiment is flown by default."""

_AIRCRAFT = ('model', 'aircraft_path', 'controls', 'gains')
# Those that only a simulated aircraft has.
_SIMULATED = ('model', 'aircraft_path', 'controls')


def add_options(parser: ArgumentParser) -> None:
    """Add the options that make an order of a scenario."""
    simulator, aircraft, faults = (
        subject(parser, title) for title in ('simulator', 'aircraft', 'faults'))
    simulator.add_argument('--sim', default=SIM, metavar='SIM',
                           help=f'{", ".join(SIMULATORS)}; {DIRECT}: simulator_node without a '
                           f'protocol; {CORE}: in this process, without ROS (%(default)s)')
    simulator.add_argument('--host', default='',
                           help='address of a real simulator, instead of a simulated peer')
    simulator.add_argument('--port', type=int, default=0, help="the real simulator's UDP port")
    simulator.add_argument('--web', default='', metavar='ADDRESS:PORT',
                           help="where the Web API of a real X-Plane 12.4 is reached, which "
                           "applies the scenario's initial state (default: port 8086 of --host); "
                           f'{NO_WEB}: the flight goes on as it is')
    simulator.add_argument('--speed', type=float, default=1.0,
                           help='real-time factor (%(default)s)')
    simulator.add_argument('--lockstep', action='store_true',
                           help='each frame waits for its command: the same random seed gives the '
                           'same flight, as fast as possible')
    simulator.add_argument('--seed', type=int, default=0,
                           help='random seed of turbulence and link faults')
    aircraft.add_argument('--physics-rate', type=int, default=0, metavar='N',
                          help='steps per second of the simulated aircraft (default: those of the '
                          'scenario; else 120, or as many as an aircraft of your own needs)')
    aircraft.add_argument('--model', default='',
                          help="JSBSim aircraft (default: the scenario's, or c172p)")
    aircraft.add_argument('--aircraft-path', default='', metavar='FOLDER',
                          help="folder of your own aircraft, laid out as JSBSim's")
    aircraft.add_argument('--controls', default='', metavar='FILE',
                          help='file that says what moves it (.yaml), if its commands have names '
                          'of their own (default: controls.yaml beside its file)')
    aircraft.add_argument('--gains', default='', metavar='NAME',
                          help='gains and limits of the autopilot: a file (.yaml, of tune), or an '
                          "aircraft of this package (default: the aircraft's own)")
    aircraft.add_argument('--sensors', default='', metavar='NAME',
                          help=f'sensors between the simulator and the controller: '
                          f'{", ".join(presets())}, a file (.yaml), or {NO_SENSORS} (default: as '
                          'the scenario says)')
    faults.add_argument('--loss', type=float, default=0.0, metavar='P',
                        help='probability of losing a datagram, each way')
    faults.add_argument('--delay', type=float, default=0.0, metavar='S',
                        help='delay of a datagram, each way, in seconds')
    faults.add_argument('--jitter', type=float, default=0.0, metavar='S',
                        help='largest additional delay, in seconds')
    add_controller_options(parser)


def add_controller_options(parser: ArgumentParser) -> None:
    """Add the options for the controller of an order."""
    flown = subject(parser, 'controller')
    chosen = flown.add_mutually_exclusive_group()
    chosen.add_argument('--controller', default='', metavar='COMMAND',
                        help='what flies: a command line that starts your controller, external '
                        '(started elsewhere), or autopilot (the default, unless the scenario '
                        'names another)')
    chosen.add_argument('--controller-launch', nargs=2, default=(), metavar=('PKG', 'FILE'),
                        help='launch file that starts your controller')
    chosen.add_argument('--policy', default='', metavar='REFERENCE',
                        help='policy that flies: file.onnx, file.py:attribute, '
                        'package.module:attribute, or the name of one of this package')
    flown.add_argument('--controller-timeout', type=float, default=0.0, metavar='S',
                       help='silence of your controller, in seconds, that ends the flight '
                       f'({controller.TIMEOUT:g})')
    add_no_target_option(flown)
    flown.add_argument('--guidance', default='', choices=controller.GUIDANCE,
                       help='what your controller is told to fly along a route '
                       f'({controller.GUIDANCE[0]})')


def add_no_target_option(parser: Any) -> None:
    """Add the option for a controller that has its own goals, to a parser or a group of it."""
    parser.add_argument('--no-target', action='store_true',
                        help='your controller has its own goals: it is told none, and what needs '
                        'them is not judged')


def make_order(arguments: Namespace, scenario: Scenario) -> Order:
    """
    Return the order of a scenario by the options.

    Raises ScenarioError for an aircraft that a real simulator would have to change to.
    """
    given = {name: value for name in _AIRCRAFT if (value := getattr(arguments, name))}
    if arguments.host and (wanted := [name for name in _SIMULATED if name in given]):
        raise ScenarioError(
            f'a real simulator ({arguments.host}) does not support {", ".join(wanted)}: its '
            'protocol has none of that; omit --host to fly a simulator of this package')
    scenario = scenario.with_initial(given)
    if arguments.controller == AUTOPILOT:
        scenario = flown_alike(scenario)
    flown_by = make_flown_by(
        scenario, arguments.controller, tuple(arguments.controller_launch), arguments.policy,
        arguments.controller_timeout, arguments.guidance, not arguments.no_target)
    return Order(
        scenario if flown_by.targets else untargeted(scenario), arguments.sim, flown_by,
        arguments.seed, arguments.sensors, physics_rate=arguments.physics_rate, link=Link(**{
            name: getattr(arguments, name) for name in Link.__slots__}))


def add_live_option(parser: ArgumentParser) -> None:
    """Add the option for the live view."""
    parser.add_argument(
        '--live', nargs='?', type=peer_port, const=LIVE_PORT, default=0, metavar='PORT',
        help='show the flight live in a browser, at http://127.0.0.1:PORT '
        f'({LIVE_PORT}); docs/how-to/live.md')
