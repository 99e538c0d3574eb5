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
            package='xplane_bridge', executable='demo', output='screen', emulate_tty=True,
            arguments=['--bag', LaunchConfiguration('bag'),
                       '--picture', LaunchConfiguration('picture')],
            on_exit=Shutdown(reason='the demo ended')),
    ])
