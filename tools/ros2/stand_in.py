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
A stand-in for the command ros2 where ros2cli is not installed, which has no wheel.

It has what the pages of this package use, with the same words:

    ros2 run PACKAGE EXECUTABLE
    ros2 launch PACKAGE FILE (without launch_ros: of one node, and fleet.launch.py)
    ros2 topic echo | hz | info | list | pub
    ros2 service call | list, ros2 action send_goal
    ros2 param describe | dump | get | list | load | set
    ros2 node list, ros2 lifecycle get | set
    ros2 interface show, ros2 pkg prefix

Anything else exits with code 64.
"""

import gc
from importlib.util import find_spec
import os
from pathlib import Path
import shlex
import signal
import subprocess
import sys

from graph import near, RefusedError
import nodes
import topics
import yaml

UNKNOWN = 64
# Seconds from Ctrl-C to SIGKILL: a bridge gives back for up to 4 s.
PATIENCE = 20.0


def found(package, look):
    """Return what a function of ament_index_python says of a package. Raises RefusedError."""
    from ament_index_python.packages import PackageNotFoundError
    try:
        return look(package)
    except (PackageNotFoundError, ValueError):
        raise RefusedError(f'there is no package {package!r} here') from None


def executable(package, name):
    """Return the path of a package's executable, as ros2 run finds it."""
    from ament_index_python.packages import get_package_prefix
    return os.path.join(found(package, get_package_prefix), 'lib', package, name)


def run(package, name, *arguments):
    """Replace this process by the executable."""
    path = executable(package, name)
    if not os.path.exists(path):
        raise RefusedError(f'{package} has no executable {name!r}'
                           f'{near(name, os.listdir(os.path.dirname(path)))}')
    os.execv(path, [path, *arguments])


def launch(package, file='', *arguments):
    """Launch one node: with launch if it is available, else the node with the same parameters."""
    from ament_index_python.packages import get_package_share_directory
    if package.endswith('.py') or '--show-args' in arguments:
        return unknown('launch', package, file, *arguments)
    folder = Path(found(package, get_package_share_directory)) / 'launch'
    if not (folder / file).is_file():
        raise RefusedError(
            f'{package} has no launch file {file!r}{near(file, os.listdir(folder))}')
    if strange := [argument for argument in arguments if ':=' not in argument]:
        raise RefusedError(f'launch argument {strange[0]!r}: expected name:=value')
    if find_spec('launch_ros'):
        runner = str(Path(__file__).with_name('run_launch_file.py'))
        os.execv(sys.executable, [
            sys.executable, '-P', runner, str(folder / file), *arguments])
    if file == 'fleet.launch.py':
        return launch_fleet(package, file, arguments)
    name = f'{file.removesuffix(".launch.py")}_node'
    if not os.path.exists(executable(package, name)):
        print(f'{file} starts more than one node, which needs the package launch_ros; here start '
              'them by ros2 run, or use make demo or experiment', file=sys.stderr)
        return unknown('launch', package, file)
    return launch_node(package, name, file, arguments)


def launch_node(package, name, file, arguments):
    """Run a node with the parameters that its launch file would give it."""
    from xplane_bridge.laboratory.nodes.launch_arguments import (
        AircraftArguments,
        checked_arguments,
        gains_for,
        own_parameters,
        tables_of,
    )
    tables = tables_of(name)
    others = tables[1:]
    try:
        given = checked_arguments(file, dict(one.split(':=', 1) for one in arguments), tables)
        gains = gains_for(given) if AircraftArguments in others else {}
    except ValueError as error:
        raise RefusedError(error) from None
    own = own_parameters(given, others)
    if needs := [one for one in ('sensors', 'respawn') if given.get(one) and one not in own]:
        print(f'the argument {needs[0]} needs the package launch_ros', file=sys.stderr)
        return unknown('launch', package, file, *arguments)
    if 'use_sim_time' in given:
        own['use_sim_time'] = given['use_sim_time']
    return run(package, name, *ros_arguments(given, gains, own))


def launch_fleet(package, file, arguments):
    """Run the nodes of a fleet until Ctrl-C, or until the simulator ends."""
    from xplane_bridge.laboratory.nodes.fleet import fleet, FleetArguments
    from xplane_bridge.laboratory.nodes.launch_arguments import (
        checked_arguments,
        NodeArguments,
        SensorArguments,
    )
    try:
        given = checked_arguments(file, dict(one.split(':=', 1) for one in arguments), (
            FleetArguments, SensorArguments, NodeArguments))
        wanted = fleet(given)
    except ValueError as error:
        raise RefusedError(error) from None
    if needs := [one for one in ('rviz', 'record', 'respawn') if given.get(one)]:
        print(f'the argument {needs[0]} needs the package launch_ros', file=sys.stderr)
        return unknown('launch', package, file, *arguments)
    commands = []
    for one in wanted:
        namespace = '/'.join(filter(None, (given.get('namespace', '').strip('/'), one.namespace)))
        words = ros_arguments(
            given | {'namespace': namespace}, one.defaults, one.parameters, one.remappings)
        print(f'ros2 run {package} {shlex.join([one.executable, *words])}', flush=True)
        commands.append([executable(package, one.executable), *words])
    return run_together(commands)


def run_together(commands):
    """Run commands at once until the first of them ends; return the worst exit code."""
    children: list[subprocess.Popen] = []

    def end(*_):
        for child in children:
            if child.poll() is None:
                child.send_signal(signal.SIGINT)

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, end)
    # In sessions of their own: Ctrl-C of a terminal is passed on once, by end().
    children += [subprocess.Popen(command, start_new_session=True) for command in commands]
    # As in the launch file: others may be started again.
    children[0].wait()
    end()
    codes = []
    for child in children:
        try:
            codes.append(child.wait(PATIENCE))
        except subprocess.TimeoutExpired:
            child.kill()
            codes.append(child.wait())
    return max(map(abs, codes))


def ros_arguments(given, defaults, values, remappings=()):
    """Return the ROS arguments of a node, as its launch file has them."""
    words = parameters(defaults)
    for option, argument, prefix in (
            ('--params-file', 'params_file', ''), ('-r', 'namespace', '__ns:=/'),
            ('--log-level', 'log_level', '')):
        if given.get(argument):
            words += [option, prefix + given[argument].lstrip('/' if prefix else '')]
    for name in remappings:
        words += ['-r', f'{name}:={remappings[name]}']
    return ['--ros-args', *words, *parameters(values)]


def parameters(values):
    """Return ROS arguments that set parameters; those of none are their nodes' defaults."""
    return [word for name, value in values.items() if value != () for word in (
        '-p', f'{name}:={one_line(list(value) if isinstance(value, tuple) else value)}')]


def one_line(value):
    """Return a value as YAML on one line."""
    return yaml.dump([value], default_flow_style=True, width=float('inf')).strip()[1:-1]


def show(name, *_):
    """Print the fields of an interface."""
    from ament_index_python.packages import get_package_share_directory
    package, kind, interface = name.split('/')
    print((Path(get_package_share_directory(package)) / kind
           / f'{interface}.{kind}').read_text())
    return 0


def prefix(*words):
    """Print the folder that a package is installed in; with --share that of its data."""
    from ament_index_python.packages import get_package_prefix, get_package_share_directory
    *options, package = words
    print((get_package_share_directory if options else get_package_prefix)(package))
    return 0


def unknown(*words):
    """Report an unknown command."""
    print(f'the stand-in does not know: ros2 {" ".join(words)} (ros2 --help says what it knows)',
          file=sys.stderr)
    return UNKNOWN


COMMANDS = {
    ('run',): run,
    ('launch',): launch,
    ('topic', 'echo'): topics.echo,
    ('topic', 'hz'): topics.hz,
    ('topic', 'info'): topics.info,
    ('topic', 'list'): topics.list_topics,
    ('topic', 'pub'): topics.pub,
    ('service', 'call'): topics.call,
    ('service', 'list'): topics.list_services,
    ('action', 'send_goal'): topics.send_goal,
    ('node', 'list'): nodes.list_nodes,
    ('param', 'describe'): nodes.describe,
    ('param', 'dump'): nodes.dump,
    ('param', 'get'): nodes.get,
    ('param', 'list'): nodes.list_parameters,
    ('param', 'load'): nodes.load,
    ('param', 'set'): nodes.set_parameter,
    ('lifecycle', 'get'): nodes.get_state,
    ('lifecycle', 'set'): nodes.change_state,
    ('interface', 'show'): show,
    ('pkg', 'prefix'): prefix,
}


def main(words):
    """Run one command; return its exit code."""
    if find_spec('ros2cli'):
        from ros2cli.cli import main as genuine
        return genuine()
    if not words or words[0] in ('-h', '--help'):
        print(__doc__.strip())
        return 0
    for length in (1, 2):
        command = COMMANDS.get(tuple(words[:length]))
        if command is not None:
            try:
                return command(*words[length:])
            except RefusedError as error:
                print(error, file=sys.stderr)
                return 1
    return unknown(*words)


if __name__ == '__main__':
    # As in `ros2 topic list | head`.
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    # Imports are no garbage: looking through them was a sixth of what a short command computes.
    gc.disable()
    try:
        code = main(sys.argv[1:])
    except KeyboardInterrupt:
        code = 2
    gc.freeze()
    sys.exit(code)
