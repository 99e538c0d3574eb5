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
Start my_controller.

ros2 launch my_controller_cpp my_controller.launch.py namespace:=uav1 lockstep:=false
"""

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue


def generate_launch_description():
    """Return the launch description."""
    return LaunchDescription([
        DeclareLaunchArgument('namespace', default_value='', description='Of the vehicle.'),
        DeclareLaunchArgument(
            'lockstep', default_value='false', description='Whether the simulator waits.'),
        DeclareLaunchArgument(
            'behind_sensors', default_value='false', description='Whether sensors stand before.'),
        Node(
            package='my_controller_cpp', executable='my_controller',
            namespace=LaunchConfiguration('namespace'), output='screen',
            parameters=[{
                name: ParameterValue(LaunchConfiguration(name), value_type=bool)
                for name in ('lockstep', 'behind_sensors')}]),
    ])
