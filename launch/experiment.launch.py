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

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, OpaqueFunction, Shutdown
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node

VALUES = {
    'scenario': ('steps', 'Name of a scenario of this package, or a file.'),
    'sim': ('xpc', 'xpc, xplane12, xplane11, xplane9, xplane6 or fdmdata.'),
    'host': ('', 'Address of a real simulator; empty: one of this package is started.'),
    'port': ('0', "The real simulator's UDP port; 0 is the usual one."),
    'speed': ('1.0', 'Simulated seconds per second.'),
    'seed': ('0', 'Of turbulence and faults.'),
    'output': ('', 'Prefix of the files .mcap, .png, .json, .log; empty: sim_scenario.'),
    'namespace': ('experiment', 'Namespace of the vehicle.'),
}
SWITCHES = {
    'lockstep': ('false', 'A frame passes when its command has come.'),
    'record': ('true', 'Keep the recording: by rosbag2 where that is, else by record.'),
}


def _boolean(name, text):
    if text.lower() not in ('true', 'false'):
        raise ValueError(f'launch argument {name}: expected true or false, got {text!r}')
    return text.lower() == 'true'


def _make(context):
    arguments = []
    for name in VALUES:
        value = LaunchConfiguration(name).perform(context)
        if value:
            arguments += [f'--{name}', value]
    switches = {
        name: _boolean(name, LaunchConfiguration(name).perform(context)) for name in SWITCHES}
    if switches['lockstep']:
        arguments.append('--lockstep')
    if not switches['record']:
        arguments.append('--no-record')
    return [Node(
        # No terminal: launch puts a name before each line, and a live view would be torn.
        package='xplane_bridge', executable='experiment', output='screen',
        # After Ctrl-C it draws what was flown.
        arguments=arguments, sigkill_timeout='60',
        on_exit=Shutdown(reason='the experiment ended'))]


def generate_launch_description():
    """Return the launch description."""
    return LaunchDescription([
        *(DeclareLaunchArgument(name, default_value=default, description=description)
          for name, (default, description) in (VALUES | SWITCHES).items()),
        OpaqueFunction(function=_make),
    ])
