"""
Fly the demo: simulated X-Plane, bridge, autopilot and recorder, and the flight that judges them.

ros2 launch xplane_bridge demo.launch.py bag:=demo.mcap picture:=demo.png
"""

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, EmitEvent, RegisterEventHandler
from launch.event_handlers import OnProcessExit
from launch.events import Shutdown
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node

NAMESPACE = 'demo'


def generate_launch_description():
    """Return the launch description."""
    port = LaunchConfiguration('port')

    def node(executable, *arguments, **options):
        return Node(
            package='xplane_bridge', executable=executable, arguments=list(arguments),
            output='screen', emulate_tty=True, **options)

    flight = node(
        'demo', '--join', '--bag', LaunchConfiguration('bag'),
        '--picture', LaunchConfiguration('picture'))
    return LaunchDescription([
        DeclareLaunchArgument('port', default_value='49009', description='UDP port to use.'),
        DeclareLaunchArgument('bag', default_value='demo.mcap', description='Recording to write.'),
        DeclareLaunchArgument(
            'picture', default_value='demo.png', description='Picture to draw.'),
        node('simulator', 'xpc', '--port', port),
        node('xpc_node', namespace=NAMESPACE, parameters=[{'port': port}]),
        node('autopilot_node', namespace=NAMESPACE),
        node('record', '--output', LaunchConfiguration('bag'), '--namespace', NAMESPACE),
        flight,
        RegisterEventHandler(OnProcessExit(
            target_action=flight, on_exit=[EmitEvent(event=Shutdown(reason='the demo ended'))])),
    ])
