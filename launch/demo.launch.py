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
Fly the demo: simulated X-Plane, bridge, autopilot and recorder, and the flight that judges them.

ros2 launch xplane_bridge demo.launch.py bag:=demo.mcap picture:=demo.png
"""

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, Shutdown
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node


def generate_launch_description():
    """Return the launch description."""
    return LaunchDescription([
        DeclareLaunchArgument('bag', default_value='demo.mcap', description='Recording to write.'),
        DeclareLaunchArgument(
            'picture', default_value='demo.png', description='Picture to draw.'),
        Node(
            # No terminal: launch puts a name before each line, and a live view would be torn.
            package='xplane_bridge', executable='demo', output='screen',
            arguments=['--bag', LaunchConfiguration('bag'),
                       '--picture', LaunchConfiguration('picture')],
            # After Ctrl-C it draws what was flown.
            sigkill_timeout='60', on_exit=Shutdown(reason='the demo ended')),
    ])
