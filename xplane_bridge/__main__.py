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

"""xplane-bridge: every command of this package by its name, as python3 -m xplane_bridge too."""

from __future__ import annotations

import ast
from importlib import import_module
from pathlib import Path
import re
import sys

from xplane_bridge.common.command_line import PACKAGE, run_command

# Modules by command, as setup.cfg has them for `ros2 run`.
_WITHOUT_ROS = {
    'experiment': 'commands.experiment',
    'campaign': 'commands.campaign',
    'picture': 'commands.picture',
    'train': 'commands.train',
    'simulator': 'commands.simulator',
    'linearize': 'commands.linearize',
    'identify': 'commands.identify',
    'tune': 'commands.tune',
    'export': 'commands.export',
    'dissect': 'commands.dissect',
    'verify': 'commands.verify',
    'ulyssix': 'commands.ulyssix',
}
_WITH_ROS = {
    'demo': 'commands.demo',
    'check_controller': 'commands.check_controller',
    'record': 'laboratory.nodes.record.node',
    'diagnose': 'bridges.nodes.diagnose.node',
    **{f'{name}_node': f'bridges.{name}.node' for name in (
        'xpc', 'xplane_udp', 'fdmdata', 'ulyssix', 'simpit')},
    'simulator_node': 'simulation.node',
    **{f'{name}_node': f'laboratory.nodes.{name}' for name in ('autopilot', 'policy', 'sensors')},
    'view_node': 'bridges.nodes.view',
}
COMMANDS = {**_WITHOUT_ROS, **_WITH_ROS}
# Nobody types it: a campaign does, for each flight through ROS.
_OF_CAMPAIGNS = {'fly-task': 'commands.fly_task'}
_OF_ROS = re.compile(
    r'(rclpy|rosidl_\w+|ament_\w+|launch(_ros)?|\w+_(msgs|srvs|interfaces)'
    r'|xplane_bridge\.(msg|srv|action))(\.|$)')
_WRONG = 2


def main() -> int | None:
    """Run the command that the first argument names; return its exit code, 2 if there is none."""
    return run_command(_main)


def _main() -> int | None:
    given = sys.argv[1:]
    if not given or given[0] in ('-h', '--help'):
        print(_help())
        return 0
    command, *arguments = given
    module = {**COMMANDS, **_OF_CAMPAIGNS}.get(command)
    if module is None:
        print(f'xplane-bridge: there is no command {command!r}: expected one of '
              f'{", ".join(COMMANDS)}', file=sys.stderr)
        return _WRONG
    # For the usage that a command prints; a node goes by its own name.
    own = command if command.endswith('_node') else f'{PACKAGE} {command}'
    sys.argv = [own, *arguments]
    try:
        code: int | None = import_module(f'xplane_bridge.{module}').main()
    except ModuleNotFoundError as error:
        # Some need it for some of what they do.
        if not _OF_ROS.match(error.name or ''):
            raise
        print(f'xplane-bridge: {command} {"" if command in _WITH_ROS else "with these arguments "}'
              f'needs ROS 2 and a workspace in which this package is built: there is no module '
              f'{error.name}', file=sys.stderr)
        return _WRONG
    return code


def _help() -> str:
    def lines(commands: dict[str, str]) -> str:
        return '\n'.join(f'  {name:18}{_line(module)}' for name, module in commands.items())

    return (
        'usage: xplane-bridge COMMAND [ARGUMENT ...]\n\n'
        'Without ROS; experiment and campaign fly on core, in this process:\n'
        f'{lines(_WITHOUT_ROS)}\n\nWith ROS 2, where this package is built in a workspace:\n'
        f'{lines(_WITH_ROS)}\n\nxplane-bridge COMMAND --help explains a command.')


def _line(module: str) -> str:
    """Return what a module's docstring says in its first line, without importing the module."""
    path = Path(__file__).parent / module.replace('.', '/')
    source = path / '__init__.py' if path.is_dir() else path.with_suffix('.py')
    text = ast.get_docstring(ast.parse(source.read_text(encoding='utf-8'))) or ''
    return text.partition('\n')[0].partition(': ')[2].removesuffix('.')


if __name__ == '__main__':
    sys.exit(main())
