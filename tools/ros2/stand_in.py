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

    ros2 run PACKAGE EXECUTABLE, ros2 launch PACKAGE FILE (of one node, unless launch_ros is there)
    ros2 topic echo | hz | info | list | pub
    ros2 service call | list, ros2 action send_goal
    ros2 param describe | dump | get | list | load | set
    ros2 node list, ros2 lifecycle get | set
    ros2 interface show, ros2 pkg prefix

Anything else exits with code 64.
"""

from importlib.util import find_spec
import os
from pathlib import Path
import signal
import sys

import nodes
import topics
import yaml

UNKNOWN = 64


def executable(package, name):
    """Return the path of a package's executable, as ros2 run finds it."""
    from ament_index_python.packages import get_package_prefix
    return os.path.join(get_package_prefix(package), 'lib', package, name)


def run(package, name, *arguments):
    """Replace this process by the executable."""
    path = executable(package, name)
    os.execv(path, [path, *arguments])


def launch(package, file='', *arguments):
    """Launch one node: with launch if it is available, else the node with the same parameters."""
    from ament_index_python.packages import get_package_share_directory
    if package.endswith('.py') or '--show-args' in arguments:
        return unknown('launch', package, file, *arguments)
    share = Path(get_package_share_directory(package))
    try:
        import launch_ros  # noqa: F401
    except ImportError:
        pass
    else:
        runner = str(Path(__file__).with_name('run_launch_file.py'))
        os.execv(sys.executable, [
            sys.executable, '-P', runner, str(share / 'launch' / file), *arguments])
    name = file.removesuffix('.launch.py')
    given = dict(argument.split(':=', 1) for argument in arguments)
    config = given.pop('params_file', str(share / 'config' / f'{name}.yaml'))
    if not os.path.exists(executable(package, f'{name}_node')):
        print(f'{file} starts more than one node, which needs the package launch_ros; here start '
              'them by ros2 run, or use make demo or experiment', file=sys.stderr)
        return unknown('launch', package, file)
    ros = ['--ros-args', '--params-file', config]
    if given.get('namespace'):
        ros += ['-r', f'__ns:=/{given.pop("namespace").lstrip("/")}']
    if 'log_level' in given:
        ros += ['--log-level', given.pop('log_level')]
    texts = text_parameters(name)
    for key, value in given.items():
        if key not in ('respawn', 'autostart'):
            ros += ['-p', f'{key}:={yaml.dump(value).strip() if key in texts else value}']
    return run(package, f'{name}_node', *ros)


def text_parameters(name):
    """Return the names of a node's string parameters."""
    from dataclasses import fields

    from xplane_bridge.nodes.managed.registry import parameter_table
    return {field.name for field in fields(parameter_table(f'{name}_node'))
            if field.type in ('str', str)}


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
            return command(*words[length:])
    return unknown(*words)


if __name__ == '__main__':
    # As in `ros2 topic list | head`.
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(2)
