"""
Start fdmdata_node: the Huginn simulator.

ros2 launch xplane_bridge fdmdata.launch.py host:=192.168.1.20 namespace:=uav1
"""

from xplane_bridge.nodes.launching import bridge_description


def generate_launch_description():
    """Return the launch description."""
    return bridge_description('fdmdata_node', 'fdmdata.yaml', {
        'host': (str, "Address or name of Huginn's computer."),
        'data_port': (int, 'UDP port that Huginn answers requests for data on.'),
        'controls_port': (int, 'UDP port that Huginn takes controls on.'),
    })
