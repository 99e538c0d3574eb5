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

"""What a real launch would start for a launch file, without starting it."""

from dataclasses import dataclass, field
import os

from launch import LaunchDescription, LaunchService
from launch.actions import ExecuteLocal, IncludeLaunchDescription, OpaqueFunction
from launch.launch_description_sources import AnyLaunchDescriptionSource
import yaml


@dataclass
class Command:
    """One process: its executable and what its ROS arguments say."""

    executable: str
    namespace: str = ''
    parameters: dict = field(default_factory=dict)
    remappings: list = field(default_factory=list)
    others: list = field(default_factory=list)
    options: dict = field(default_factory=dict)


def parsed(words):
    """Return the Command that a command line stands for."""
    command = Command(os.path.basename(words[0]))
    rest = iter(words[1:])
    for word in rest:
        if word == '--ros-args':
            continue
        if word == '-r' and (rule := next(rest)).startswith('__ns:='):
            command.namespace = rule.removeprefix('__ns:=')
        elif word == '-r':
            command.remappings.append(rule)
        elif word == '-p':
            name, value = next(rest).split(':=', 1)
            command.parameters[name] = yaml.safe_load(value)
        elif word == '--params-file':
            with open(next(rest), encoding='utf-8') as stream:
                for section in yaml.safe_load(stream).values():
                    command.parameters |= section['ros__parameters']
        else:
            command.others.append(word)
    return command


def launched_commands(monkeypatch, capsys, path, *arguments):
    """
    Return what `ros2 launch path arguments` would start, its error, and leftover configurations.

    path is that of a file, or the name of a launch file of this package.
    """
    commands, left = [], {}

    def note(action, context):
        action.process_description.prepare(context, action)
        commands.append(parsed(action.process_description.final_cmd))

    monkeypatch.setattr(ExecuteLocal, 'execute', note)
    service = LaunchService(argv=list(arguments), noninteractive=True)
    service.include_launch_description(LaunchDescription([
        IncludeLaunchDescription(
            AnyLaunchDescriptionSource(str(path)),
            launch_arguments=[argument.split(':=', 1) for argument in arguments]),
        OpaqueFunction(function=lambda context: left.update(context.launch_configurations)),
    ]))
    code = service.run()
    output, error = capsys.readouterr()
    assert bool(code) == ('Caught exception' in output + error), output + error
    return commands, output + error, left
