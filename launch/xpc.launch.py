"""
Start xpc_node: X-Plane with NASA's X-Plane Connect plugin.

ros2 launch xplane_bridge xpc.launch.py host:=192.168.1.20 namespace:=uav1
"""

from xplane_bridge.nodes.launching import bridge_description


def generate_launch_description():
    """Return the launch description."""
    return bridge_description('xpc_node', 'xpc.yaml', {
        'host': (str, "Address or name of X-Plane's computer."),
        'port': (int, 'UDP port of the plugin.'),
    })
