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

"""The output of ``ros2 run xplane_bridge <node> --help``."""

from __future__ import annotations

from argparse import ArgumentParser, RawDescriptionHelpFormatter
from collections.abc import Sequence
import os
import sys
from textwrap import wrap
from typing import Any

from xplane_bridge.bridges.nodes.managed.parameters import describe, Described
from xplane_bridge.bridges.nodes.managed.registry import nodes
from xplane_bridge.common.command_line import without_ros_arguments

_WIDTH = 98


class _Parser(ArgumentParser):
    """Lists examples and parameters only if asked: that imports all protocols, and takes time."""

    table: type[Any]

    def format_help(self) -> str:
        self.epilog = f'{_examples(self.prog)}\n\n{_listed(describe(self.table))}'
        return super().format_help()


def check_command_line(description: str, table: type[Any], argv: Sequence[str]) -> None:
    """
    Print the help and exit if ``--help`` is given; exit with a message for other arguments.

    A node accepts only ROS arguments.
    """
    name = os.path.basename(sys.argv[0])
    parser = _Parser(
        prog=name, usage=f'ros2 run xplane_bridge {name} [--help] [--ros-args ...]',
        formatter_class=RawDescriptionHelpFormatter, description=description,
        allow_abbrev=False)
    parser.table = table
    _, others = parser.parse_known_args(without_ros_arguments(argv))
    if others:
        parser.error(
            f'{" ".join(others)}: a node accepts only ROS arguments; set a parameter with '
            '--ros-args -p name:=value')


def _examples(name: str) -> str:
    run = f'ros2 run xplane_bridge {name} --ros-args'
    launch = f'ros2 launch xplane_bridge {name.removesuffix("_node")}.launch.py'
    entry = nodes().get(name)
    example = entry.example if entry else ''
    return '\n'.join((
        'examples:',
        f'  {run} -p {example} -r __ns:=/uav1',
        f'  {run} --params-file mine.yaml --log-level debug',
        f'  {launch} {example} namespace:=uav1',
    ))


def _listed(parameters: Sequence[Described]) -> str:
    lines = ['parameters (default; range or choices; "live" ones may change while it runs, others',
             'only while it is unconfigured):']
    for one in parameters:
        notes = '; '.join(filter(None, (one.default, one.allowed, 'live' if one.live else '')))
        lines.append(f'  {one.name} ({notes})')
        lines += wrap(one.text, _WIDTH, initial_indent='      ', subsequent_indent='      ')
    return '\n'.join(lines)
