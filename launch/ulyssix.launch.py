"""
Start ulyssix_node: Altair or DEWESoft that publishes parameters by UDP.

ros2 launch xplane_bridge ulyssix.launch.py port:=5000 namespace:=telemetry
"""

from xplane_bridge.nodes.launching import bridge_description


def generate_launch_description():
    """Return the launch description."""
    return bridge_description('ulyssix_node', 'ulyssix.yaml', {
        'port': (int, 'UDP port that the publisher sends to; required here or there.'),
        'group': (str, 'Multicast group to join.'),
        'sender': (str, 'Address or name of the only computer to listen to.'),
        'capture_file': (str, 'pcap file to play instead of listening.'),
        'capture_speed': (float, 'Multiple of the recorded speed; 0 is as fast as possible.'),
    })
