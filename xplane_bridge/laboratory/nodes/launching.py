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
Common to the launch files: arguments that are declared once, checked, and kept separate.

The arguments of a launch file are one or more tables of parameters, like those of a node: the
same declaration, and the same error messages.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import chain
import os
import sys
from typing import Any

from launch import LaunchContext, LaunchDescription, LaunchDescriptionEntity
from launch.actions import (
    DeclareLaunchArgument,
    ExecuteProcess,
    GroupAction,
    IncludeLaunchDescription,
    OpaqueFunction,
    RegisterEventHandler,
)
from launch.event_handlers import OnShutdown
from launch.substitutions import LaunchConfiguration
from launch.utilities import normalize_to_list_of_substitutions, perform_substitutions
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue

from xplane_bridge.bridges.links.claim import claim
from xplane_bridge.bridges.nodes.managed.parameters import describe
from xplane_bridge.common.command_line import dated, refuse_existing
from xplane_bridge.laboratory.control.gains import Parameters, read_simulated
from xplane_bridge.laboratory.nodes.flight import recorders
from xplane_bridge.laboratory.nodes.launch_arguments import (
    AircraftArguments,
    checked_arguments,
    gains_for,
    Given,
    own_parameters,
    SensorArguments,
    tables_of,
)
from xplane_bridge.laboratory.nodes.launch_checks import check_sensors, check_tables
from xplane_bridge.laboratory.sensors.topics import moved_truth
from xplane_bridge.simulation.node.direct import DIRECT

_EMPTY = "''"
# Seconds from Ctrl-C to SIGTERM, and from that to SIGKILL. A bridge gives back for up to 4 s; then
# all processes end at the same time. On two busy cores the 5 s of launch were too little for that.
_PATIENCE = '10'
# What `ros2 launch --launch-prefix` adds to the arguments.
_OF_ROS2_LAUNCH = ('launch-prefix', 'launch-prefix-filter')


def node_description(executable: str) -> LaunchDescription:
    """Return the description of a launch file for one node: all its parameters are arguments."""
    table, *others = tables_of(executable)

    def has_truth(own: Given) -> bool:
        return not hasattr(table, 'telemetry') or own.get('telemetry') == DIRECT

    def make(given: Given) -> list[LaunchDescriptionEntity]:
        own = own_parameters(given, others)
        if given.get('sensors') and not has_truth(own):
            raise ValueError(
                'launch argument sensors: with telemetry:=bridge the truth comes from the bridge: '
                'give the argument to that')
        check_sensors(given)
        return with_sensors(
            executable, given, own, given.get('sensors', '') if SensorArguments in others else '',
            own.get('lockstep', False),
            defaults=gains_for(given) if AircraftArguments in others else {})

    return checked_description(
        f'{executable.removesuffix("_node")}.launch.py', make, table, *others)


def with_sensors(
    bridge: str, given: Given, parameters: Given, sensors: str, lockstep: bool,
    of_sensors: Given | None = None, **options: Any,
) -> list[Node]:
    """
    Return a bridge, as make_node() does, and sensors_node behind it if there are sensors.

    ``of_sensors`` are defaults of sensors_node's parameters.
    """
    if not sensors:
        return [make_node(bridge, given, parameters, **options)]
    return [
        make_node(bridge, given, parameters, remappings=list(moved_truth(sensors).items()),
                  **options),
        make_node('sensors_node', given, {'sensors': sensors, 'lockstep': lockstep},
                  defaults=of_sensors)]


def recorder(given: Given, namespace: str, simulated: bool, name: str) -> ExecuteProcess:
    """Return the recorder of a namespace; without one its file has this name, with the time."""
    bag = given.get('bag') or f"{dated(namespace.strip('/').replace('/', '_') or name)}.mcap"
    refuse_existing([bag], by='', elsewhere='bag:=')
    command, *arguments = recorders.command(bag, namespace)
    patience = dict.fromkeys(('sigterm_timeout', 'sigkill_timeout'), str(recorders.PATIENCE))
    if command != recorders.RECORD:
        return ExecuteProcess(cmd=[command, *arguments], output='screen', **patience)
    return Node(
        package='xplane_bridge', executable=command, output='screen', arguments=arguments,
        parameters=[{'use_sim_time': simulated}], **patience)


def simulated_gains(given: Given) -> Parameters:
    """Return autopilot_node's parameters for the aircraft in ``params_file``, {} without one."""
    path = given.get('params_file', '')
    try:
        return read_simulated(path) if os.path.isfile(path) else {}
    except (OSError, ValueError) as error:
        raise ValueError(f'launch argument params_file: {error}') from None


def checked_description(
    file: str, make: Callable[[Given], Sequence[LaunchDescriptionEntity]], *tables: type[Any],
    flown: Callable[[Given], Iterable[str]] = lambda _: (),
) -> LaunchDescription:
    """
    Return the description of the launch file ``file``; its arguments are the fields of ``tables``.

    ``make`` gets the arguments that were passed, converted to the types of their fields, and may
    raise ValueError. An unknown argument or an invalid value ends the launch with a message, as
    does one of the namespaces that ``flown`` returns in which another launch or flight flies.
    Nothing is shared with other launch files: an argument counts if it is passed to this one.
    """
    arguments = list(chain.from_iterable(map(describe, tables)))

    def checked(context: LaunchContext) -> Sequence[LaunchDescriptionEntity]:
        texts = _passed(context, file, [argument.name for argument in arguments])
        given = checked_arguments(file, texts, tables)
        # What an enclosing group sets for all nodes may be what fits.
        if not context.launch_configurations.get('global_params'):
            check_tables(given, tables)
        nodes = make(given)
        return [*_claimed(context, flown(given)), *nodes]

    return LaunchDescription([GroupAction([
        # Before the declarations: afterwards each of them would seem to be given.
        OpaqueFunction(function=checked),
        *(DeclareLaunchArgument(
            argument.name,
            default_value='' if argument.default == _EMPTY else argument.default,
            description=argument.text + (
                f' {argument.allowed[:1].upper()}{argument.allowed[1:]}.'
                if argument.allowed else ''))
          for argument in arguments),
    ])])


def _claimed(context: LaunchContext, namespaces: Iterable[str]) -> list[RegisterEventHandler]:
    """Claim namespaces, which may be relative to that of a group, until the launch ends."""
    base = context.launch_configurations.get('ros_namespace', '')
    handlers = []
    for namespace in namespaces:
        lock = claim(f'/{namespace if namespace[:1] == "/" else f"{base}/{namespace}"}'.replace(
            '//', '/').rstrip('/') or '/')
        handlers.append(RegisterEventHandler(OnShutdown(
            on_shutdown=lambda *_, lock=lock: lock.close())))
    return handlers


def make_node(
    executable: str, given: Given, parameters: Given, *, defaults: Given | None = None,
    **options: Any,
) -> Node:
    """
    Return a node of this package.

    ``given`` are the NodeArguments; ``parameters`` override params_file, which overrides
    ``defaults``.
    """
    files = []
    if path := given.get('params_file', ''):
        if not os.path.isfile(path):
            raise ValueError(f'launch argument params_file: there is no file {path!r}')
        files.append(path)
    after = dict(parameters)
    if 'use_sim_time' in given:
        after['use_sim_time'] = given['use_sim_time']
    return Node(
        package='xplane_bridge',
        executable=executable,
        namespace=given.get('namespace') or None,
        parameters=[*_written(defaults or {}), *files, *_written(after)],
        ros_arguments=(
            ['--log-level', given['log_level']] if 'log_level' in given else None),
        respawn=given.get('respawn', False),
        respawn_delay=1.0,
        sigterm_timeout=LaunchConfiguration('sigterm_timeout', default=_PATIENCE),
        sigkill_timeout=LaunchConfiguration('sigkill_timeout', default=_PATIENCE),
        output='screen',
        emulate_tty=True,
        **options,
    )


def _written(parameters: Given) -> list[dict[str, ParameterValue]]:
    """Return parameters for launch_ros, which would otherwise parse strings as YAML."""
    def kind(value: Any) -> Any:
        if isinstance(value, tuple):
            return list[type(value[0])] if value else None  # type: ignore[misc]
        return type(value)

    values = {
        name: ParameterValue(
            list(value) if isinstance(value, tuple) else value, value_type=kind(value))
        for name, value in parameters.items()
    }
    return [values] if values else []


def _passed(context: LaunchContext, file: str, known: Iterable[str]) -> dict[str, str]:
    """Return the arguments that were passed to this launch file, also unknown ones."""
    include = _find_include(file)
    names = set(known) if include is None else {
        perform_substitutions(context, normalize_to_list_of_substitutions(name))
        for name, _ in include.launch_arguments}.difference(_OF_ROS2_LAUNCH)
    return {name: context.launch_configurations.get(name, '') for name in names}


def _find_include(file: str) -> IncludeLaunchDescription | None:
    """
    Return the action that includes ``file``, whose actions are being executed now.

    `ros2 launch` includes a file just as another launch file does. The arguments of such an action
    become configurations next to those of the enclosing file and of all files included before,
    and launch does not record which is which; but it visits the actions of a file from within
    the action that includes it, so that one is on the stack. Without one (if somebody called
    generate_launch_description()) all configurations count, as in launch.
    """
    frame = sys._getframe()
    while (frame := frame.f_back) is not None:  # type: ignore[assignment]
        for value in frame.f_locals.values():
            if isinstance(value, IncludeLaunchDescription):
                location = str(value.launch_description_source.location)
                return value if os.path.basename(location) == file else None
    return None
