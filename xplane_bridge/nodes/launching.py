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

"""What the launch files share: one node, its parameter file, and arguments that override it."""

from __future__ import annotations

from collections.abc import Mapping
import os
from typing import Any

from ament_index_python.packages import get_package_share_directory
from launch import LaunchContext, LaunchDescription, LaunchDescriptionEntity
from launch.actions import DeclareLaunchArgument, OpaqueFunction
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node

_TRUE = ('true', '1', 'yes', 'on')
_FALSE = ('false', '0', 'no', 'off')


def bridge_description(
    executable: str, config: str, overrides: Mapping[str, tuple[type, str]]
) -> LaunchDescription:
    """
    Return the description of one node of this package.

    ``config`` is the name of its file in config/. ``overrides`` maps further launch arguments to
    their type and description: each sets the parameter of its name, if it is given.
    """
    share = get_package_share_directory('xplane_bridge')
    arguments = [
        DeclareLaunchArgument('namespace', default_value='', description='Namespace of the node.'),
        DeclareLaunchArgument(
            'params_file', default_value=os.path.join(share, 'config', config),
            description='Parameter file.'),
        *(
            DeclareLaunchArgument(
                name, default_value='', description=f'{text} Empty: as params_file says.')
            for name, (_, text) in overrides.items()
        ),
        DeclareLaunchArgument(
            'use_sim_time', default_value='false', description='Take the time from /clock.'),
        DeclareLaunchArgument(
            'log_level', default_value='info', description='debug, info, warn, error or fatal.'),
        DeclareLaunchArgument(
            'respawn', default_value='false', description='Start the node again when it ends.'),
    ]

    def make_node(context: LaunchContext) -> list[LaunchDescriptionEntity]:
        def value(name: str) -> str:
            return LaunchConfiguration(name).perform(context)

        given: dict[str, Any] = {'use_sim_time': _boolean('use_sim_time', value('use_sim_time'))}
        for name, (kind, _) in overrides.items():
            if value(name):
                given[name] = (
                    _boolean(name, value(name)) if kind is bool else kind(value(name)))
        return [Node(
            package='xplane_bridge',
            executable=executable,
            namespace=value('namespace'),
            parameters=[value('params_file'), given],
            arguments=['--ros-args', '--log-level', value('log_level')],
            respawn=_boolean('respawn', value('respawn')),
            respawn_delay=1.0,
            output='screen',
            emulate_tty=True,
        )]

    return LaunchDescription([*arguments, OpaqueFunction(function=make_node)])


def _boolean(name: str, text: str) -> bool:
    if text.lower() in _TRUE:
        return True
    if text.lower() in _FALSE:
        return False
    raise ValueError(f'launch argument {name}: expected true or false, got {text!r}')
