"""
Start xplane_udp_node: X-Plane 6 to 12 by its own UDP, without a plugin.

ros2 launch xplane_bridge xplane_udp.launch.py discover:=true namespace:=uav1
"""

from xplane_bridge.nodes.launching import bridge_description


def generate_launch_description():
    """Return the launch description."""
    return bridge_description('xplane_udp_node', 'xplane_udp.yaml', {
        'host': (str, "Address or name of X-Plane's computer."),
        'port': (int, 'UDP port that X-Plane listens on.'),
        'discover': (bool, 'Take host and port from the beacon of X-Plane 10 and later.'),
        'version': (str, 'Version of X-Plane: auto, or 6 to 12.'),
        'data_port': (int, 'Local UDP port for rows.'),
    })
