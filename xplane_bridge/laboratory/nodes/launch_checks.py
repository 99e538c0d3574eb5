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

"""What launch files refuse before anything starts: arguments that contradict one another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
import os
from typing import Any

from ament_index_python.packages import get_package_prefix, PackageNotFoundError

from xplane_bridge.bridges.nodes.managed.parameters import build
from xplane_bridge.common import optional
from xplane_bridge.common.fields import FieldError, name_of
from xplane_bridge.laboratory.nodes.flight import recorders
from xplane_bridge.laboratory.nodes.launch_arguments import Given
from xplane_bridge.laboratory.sensors.specification import load

_TOOLS = {'rviz': 'rviz2', 'foxglove': 'foxglove_bridge'}


def check_tables(given: Given, tables: Sequence[type[Any]]) -> None:
    """
    Raise ValueError if given arguments cannot be together, each table being a node's parameters.

    With a ``params_file`` that is known only where the node has read it.
    """
    if given.get('params_file'):
        return
    for table in tables:
        try:
            build(table, {
                item.name: given.get(name_of(item), item.default) for item in fields(table)})
        except FieldError as error:
            raise ValueError(
                f'launch argument {str(error).removeprefix("parameter ")}') from error


def check_vehicles(given: Given, autopilot: bool, lockstep: bool, flies_it: bool) -> None:
    """
    Raise ValueError for arguments that would do nothing beside the others, or not what they say.

    These are the arguments that a vehicle and a fleet have in common; ``flies_it``: a simulator
    that is started too flies the argument ``aircraft``.
    """
    if given.get('engage') and not autopilot:
        raise ValueError(
            'launch argument engage: with autopilot:=false there is none that could; omit it')
    if lockstep and autopilot and not given.get('engage', True):
        raise ValueError(
            'launch argument engage: in lockstep each frame waits for the autopilot; omit it, or '
            'let autopilot:=false fly a controller of your own')
    if lockstep and given.get('speed', 1.0) != 1.0:
        raise ValueError('launch argument speed: lockstep runs as fast as possible; omit it')
    if given.get('aircraft') and not autopilot and not flies_it:
        raise ValueError(
            'launch argument aircraft: with autopilot:=false nobody needs its gains, and no '
            'simulator that is started here flies it; omit it')
    if given.get('bag') and not given.get('record'):
        raise ValueError('launch argument bag: nothing is recorded; add record:=true')
    check_sensors(given)
    _check_tools(given)


def check_flown_by(given: Given) -> None:
    """Raise ValueError unless at most one thing is to fly an experiment, and is named."""
    chosen = [name for name in ('controller', 'controller_launch', 'policy') if given.get(name)]
    if len(chosen) > 1:
        raise ValueError(f'launch arguments {" and ".join(chosen)} exclude each other')
    if (words := given.get('controller_launch', '').split()) and len(words) != 2:
        raise ValueError(
            'launch argument controller_launch: expected a package and a launch file, as in '
            f"controller_launch:='my_package my.launch.py', got {' '.join(words)!r}")


def check_sensors(given: Given) -> None:
    """Raise ValueError if there are no sensors as the argument says."""
    if name := given.get('sensors', ''):
        try:
            load(name)
        except FieldError as error:
            raise ValueError(f'launch argument sensors: {error}') from None


def _check_tools(given: Given) -> None:
    """Raise ValueError for a tool that is not installed, with what installs it."""
    for name, package in _TOOLS.items():
        if given.get(name):
            try:
                get_package_prefix(package)
            except PackageNotFoundError:
                raise ValueError(
                    f'launch argument {name}: the package {package} is not installed; install '
                    f"it with: apt install ros-{os.environ.get('ROS_DISTRO', '<distro>')}-"
                    f"{package.replace('_', '-')}") from None
    if given.get('record'):
        try:
            optional.require('launch argument record', *recorders.needed(), extra='export')
        except ImportError as error:
            raise ValueError(str(error)) from None
