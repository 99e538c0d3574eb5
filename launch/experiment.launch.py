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
Fly a scenario: simulator (ours, or a real one at host), bridge, autopilot, recorder, report.

ros2 launch xplane_bridge experiment.launch.py sim:=xplane12 scenario:=racetrack
"""

from dataclasses import dataclass

from launch.actions import Shutdown
from launch_ros.actions import Node

from xplane_bridge.bridges.nodes.managed.parameters import parameter
from xplane_bridge.commands import options
from xplane_bridge.commands.experiment import outputs
from xplane_bridge.common.command_line import refuse_existing
from xplane_bridge.common.fields import LARGEST_SEED
from xplane_bridge.laboratory.flights.order import DIRECT
from xplane_bridge.laboratory.flights.scenario.flown_by import AUTOPILOT, GUIDANCE, TIMEOUT
from xplane_bridge.laboratory.nodes.launch_checks import check_flown_by
from xplane_bridge.laboratory.nodes.launching import checked_description
from xplane_bridge.simulation.peers.registry import NO_SIMULATORS, SIMULATORS

SWITCHES = {
    'lockstep': ('--lockstep', True), 'record': ('--no-record', False),
    'force': ('--force', True), 'target': ('--no-target', False)}


@dataclass(frozen=True)
class Arguments:
    """Arguments of this file: options of the command experiment."""

    scenario: str = parameter('steps', 'Name of a scenario of this package, or a file.')
    sim: str = parameter(options.SIM, 'Simulator to fly.', choices=(*SIMULATORS, DIRECT),
                         refused=NO_SIMULATORS)
    host: str = parameter(
        '', 'Address of a real simulator. Empty: start one of this package.')
    port: int = parameter(
        0, "The real simulator's UDP port; 0 is the default one.", low=0,
        high=65535)
    speed: float = parameter(1.0, 'Real-time factor.', low=0.01, high=100.0)
    lockstep: bool = parameter(
        False, 'A frame advances when its command has arrived: the same random '
        'seed gives the same flight, as fast as possible.')
    seed: int = parameter(
        0, 'Random seed of turbulence and faults.', low=0, high=LARGEST_SEED)
    loss: float = parameter(
        0.0, 'Probability of losing a datagram, each way.', low=0.0, high=1.0)
    delay: float = parameter(
        0.0, 'Delay of a datagram in seconds, each way.', low=0.0, high=60.0)
    jitter: float = parameter(
        0.0, 'Maximum additional delay in seconds.', low=0.0, high=60.0)
    sensors: str = parameter(
        '', 'Sensors between bridge and controller: consumer, tactical, perfect, px4, '
        'ardupilot, a file (.yaml), or none. Empty: as the scenario says.')
    controller: str = parameter(
        AUTOPILOT, 'What flies: a command line that starts your controller, external (started '
        'elsewhere), or autopilot. Not given, the scenario may name another than that.')
    controller_launch: str = parameter(
        '', 'Package and launch file that start your controller, instead of a command line.')
    policy: str = parameter(
        '', 'Policy that flies, instead of a controller: file.onnx, '
        'file.py:attribute, package.module:attribute, or the name of one of this package.')
    controller_timeout: float = parameter(
        TIMEOUT, 'Silence of your controller, in seconds, that ends the flight.', low=0.01,
        high=3600.0)
    target: bool = parameter(
        True, 'Tell your controller what to hold; false for one that has its own goals.')
    guidance: str = parameter(
        GUIDANCE[0], 'By what your controller is given a route.', choices=GUIDANCE)
    model: str = parameter(
        '', "JSBSim aircraft. Empty: the scenario's, or c172p.")
    aircraft_path: str = parameter(
        '', "Folder of your own aircraft, laid out as JSBSim's.")
    controls: str = parameter(
        '', 'File that says what moves it (.yaml). Empty: controls.yaml beside its file.')
    output: str = parameter(
        '', 'Prefix of the files .mcap, .png, .json, .log. Empty: sim_scenario_seed, with the '
        'time instead of the seed for a real simulator.')
    force: bool = parameter(False, 'Overwrite these files.')
    namespace: str = parameter('experiment', 'Namespace of the vehicle.')
    record: bool = parameter(
        True, 'Keep the recording, made by rosbag2 if installed, otherwise by record.')


def make(given):
    """Return the process that flies it."""
    check_flown_by(given)
    arguments = []
    for name, value in given.items():
        option, wanted = SWITCHES.get(name, (f'--{name}', None))
        if name == 'controller_launch':
            arguments += ['--controller-launch', *str(value).split()]
        elif wanted is None:
            arguments += [option.replace('_', '-'), str(value)]
        elif value == wanted:
            arguments.append(option)
    # What only its policy says is said by the process, as that is somebody's code.
    refuse_existing(outputs(arguments), given.get('force', False), 'force:=true', 'output:=')
    arguments.append('--by-launch')
    return [Node(
        # No terminal: launch prefixes each line with a name, which would break a live view.
        package='xplane_bridge', executable='experiment', output='screen',
        # After Ctrl-C it plots what was flown, which takes longer than launch waits by default.
        arguments=arguments, sigterm_timeout='30', sigkill_timeout='30',
        on_exit=Shutdown(reason='the experiment ended'))]


def generate_launch_description():
    """Return the launch description."""
    return checked_description('experiment.launch.py', make, Arguments)
