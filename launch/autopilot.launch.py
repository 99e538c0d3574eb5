"""
Start autopilot_node: altitude, heading and airspeed hold for a vehicle of this package.

ros2 launch xplane_bridge autopilot.launch.py namespace:=uav1 engage:=true
"""

from xplane_bridge.nodes.launching import bridge_description


def generate_launch_description():
    """Return the launch description."""
    return bridge_description('autopilot_node', 'autopilot.yaml', {
        'engage': (bool, 'Engage as soon as telemetry arrives.'),
    })
