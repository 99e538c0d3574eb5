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
Which controller is flown, and the command line that starts it.

One of the autopilot, a command, the nodes of a launch file, or one that is started elsewhere. The
contract that each fulfils is docs/reference/controllers.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
import importlib.util
import os
import re
import shlex
import shutil
from typing import Any

from xplane_bridge.common.fields import (
    Declaration,
    FieldError,
    read_table,
    Table,
    wrong_kind,
)
from xplane_bridge.laboratory.flights.scenario.errors import ScenarioError

# Where ROS packages are installed, by the index that ament keeps as plain files. No ROS.

_INDEX = os.path.join('share', 'ament_index', 'resource_index', 'packages')


def find_prefix(package: str) -> str:
    """
    Return the install space of a package: the first of AMENT_PREFIX_PATH that has it.

    Raises LookupError if none has.
    """
    for prefix in os.environ.get('AMENT_PREFIX_PATH', '').split(os.pathsep):
        if prefix and os.path.basename(package) == package and os.path.isfile(
                os.path.join(prefix, _INDEX, package)):
            return prefix
    raise LookupError(f'there is no package {package!r} in AMENT_PREFIX_PATH')


AUTOPILOT, EXTERNAL = 'autopilot', 'external'
GUIDANCE = ('course', 'heading')
"""By what a route is given to a controller; the first is the default."""
TIMEOUT = 5.0
"""Seconds of silence that end a flight, by default."""
ROS_ARGUMENTS = '{ros_arguments}'
"""Where a command has it, the ROS arguments are put there, else at its end."""


def _read_command(value: Any, where: str) -> str:
    if not isinstance(value, str) or not value.strip():
        what = 'the name or the file of a policy' if where.endswith('policy') else 'a command line'
        raise FieldError(wrong_kind(where, what, value))
    return value


def _read_launch(value: Any, where: str) -> tuple[str, str]:
    if not isinstance(value, list) or len(value) != 2 or not all(
            isinstance(part, str) for part in value):
        raise FieldError(wrong_kind(where, '[package, file]', value))
    return value[0], value[1]


# By the names of Settings.
FLOWN_BY: Table = {
    'controller': Declaration(
        None, f'a command line, `{AUTOPILOT}`, or `{EXTERNAL}`: started elsewhere', str,
        name='command', form='a command line', reader=_read_command),
    'controller_launch': Declaration(
        None, 'a launch file that starts it, instead', name='launch', form='[package, file]',
        reader=_read_launch),
    'policy': Declaration(
        None, 'a [policy](policies.md), instead', form='a name, or a file', reader=_read_command),
    'guidance': Declaration(
        GUIDANCE[0], 'by what it is given a route', str, choices=GUIDANCE),
    'controller_timeout': Declaration(
        TIMEOUT, 'the silence that ends the flight', unit='s', above=0.0, high=3600.0,
        name='timeout'),
    'controller_target': Declaration(
        True, 'whether it is told targets; false is one with goals of its own', bool,
        name='target')}
"""Of a controller in a scenario's file."""

CONTROLLERS = ('controller', 'controller_launch', 'policy')
"""What flies, by the names of Settings: one of these."""


def parse(item: Any) -> dict[str, Any]:
    """
    Return the controller of a scenario file, by the names of Settings. Raises FieldError.

    It is a mapping, or its command alone.
    """
    given = read_table(FLOWN_BY, {'command': item} if isinstance(item, str) else item,
                       'controller')
    if sum(name in given for name in CONTROLLERS) != 1:
        raise FieldError('controller: expected one of command, launch and policy')
    return given


def ros_arguments(
    namespace: str, simulated_time: bool, lockstep: bool, behind_sensors: bool = False
) -> list[str]:
    """Return the ROS arguments that put a controller's nodes beside the vehicle."""
    return ['--ros-args', '-r', f'__ns:={namespace}',
            *(('-p', 'use_sim_time:=true') if simulated_time else ()),
            *(('-p', 'lockstep:=true') if lockstep else ()),
            *(('-p', 'behind_sensors:=true') if behind_sensors else ())]


def split_command(command: str, ros: Sequence[str]) -> list[str]:
    """
    Return a command line as a program's path and its arguments, with the ROS arguments.

    ``ros2 run`` is resolved here, so that exit code and signals are the executable's own; a bare
    name may be an executable of this package. Raises ScenarioError if there is no such program.
    """
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise ScenarioError(f'controller {command!r}: {error}') from None
    if not words:
        raise ScenarioError('controller: expected a command line, got an empty one')
    path, rest = program(words)
    found: list[str] = []
    for word in rest:
        if word == ROS_ARGUMENTS:
            found += ros
        else:
            found.append(word.replace(ROS_ARGUMENTS, shlex.join(ros)))
    return [path, *found, *(() if any(ROS_ARGUMENTS in word for word in rest) else ros)]


def program(words: Sequence[str]) -> tuple[str, Sequence[str]]:
    """Return the path of a program, and the words after it; ScenarioError if there is none."""
    if len(words) > 2 and tuple(words[:2]) == ('ros2', 'run') and not any(
            word.startswith('-') for word in words[2:4]):
        if len(words) < 4:
            raise ScenarioError(f'controller: expected ros2 run PACKAGE EXECUTABLE, got {words}')
        return _executable(words[2], words[3]), words[4:]
    path = shutil.which(words[0])
    if path is None:
        try:
            path = _executable('xplane_bridge', words[0])
        except ScenarioError:
            raise ScenarioError(
                f'controller: there is no program {words[0]!r}; for shell syntax, use '
                f"bash -c '…'") from None
    return os.path.abspath(path), words[1:]


def _executable(package: str, name: str) -> str:
    """Return the path of a package's executable."""
    try:
        folder = os.path.join(find_prefix(package), 'lib', package)
    except LookupError:
        raise ScenarioError(
            f'controller: there is no package {package!r}: build it, and source its install '
            'space') from None
    path = os.path.join(folder, name)
    if not os.access(path, os.X_OK) or os.path.isdir(path):
        known = ', '.join(sorted(os.listdir(folder))) if os.path.isdir(folder) else 'none'
        raise ScenarioError(
            f'controller: package {package} has no executable {name!r}: expected one of {known}')
    return path


def launch_arguments(
    found: Sequence[str], namespace: str, simulated_time: bool, lockstep: bool,
    behind_sensors: bool = False,
) -> list[str]:
    """Return the command that launches a file's nodes; ScenarioError if launch is missing."""
    package, file = found
    ros2 = shutil.which('ros2')
    if ros2 is None or importlib.util.find_spec('launch_ros') is None:
        raise ScenarioError(
            '--controller-launch needs ros2 launch (package ros2launch), which is not installed; '
            'start the executable by --controller, or the nodes yourself with --controller '
            f'{EXTERNAL}')
    return [ros2, 'launch', 'xplane_bridge', 'controller.launch.py', f'package:={package}',
            f'file:={file}', f'namespace:={namespace}',
            f'use_sim_time:={str(simulated_time).lower()}', f'lockstep:={str(lockstep).lower()}',
            *(('behind_sensors:=true',) if behind_sensors else ())]


def short_name(given: Mapping[str, Any]) -> str:
    """Return the controller of some settings as part of a file's name, such as my_controller."""
    words = [*(given.get('controller_launch') or ())] or (
        [given['policy']] if given.get('policy') else
        shlex.split(given.get('controller') or '') or [AUTOPILOT])
    named = [word for word in words if word.endswith(('.py', '.onnx'))]
    # Of a program that ROS runs, package and executable; options say less.
    plain = [word for word in words if not word.startswith('-')]
    path = (named or plain or words)[-1]
    return re.sub(r'\W+', '_', path.rpartition('/')[2].partition('.')[0]) or AUTOPILOT


def without_folders(text: str) -> str:
    """Return a controller's words, each file by its name alone: for titles and legends."""
    def named(word: re.Match[str]) -> str:
        folders, _, name = word[0].rpartition('/')
        of_policy = word.start() == 0 and folders.startswith('policy:')
        return 'policy:' * of_policy + name

    # Words one by one: an expression for what is before a slash takes minutes for a long word.
    return re.sub(r'\S+', named, text)


def described(given: Mapping[str, Any]) -> str:
    """Return the controller of some settings in words."""
    if given.get('policy'):
        return f'policy {given["policy"]}'
    if given.get('controller_launch'):
        return f'launch file {" ".join(given["controller_launch"])}'
    return str(given.get('controller') or AUTOPILOT)
