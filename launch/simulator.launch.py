"""
Start simulator_node: a simulated aircraft, with its time on /clock.

ros2 launch xplane_bridge simulator.launch.py face:=xplane12 speed:=2.0
"""

from xplane_bridge.nodes.launching import bridge_description


def generate_launch_description():
    """Return the launch description."""
    return bridge_description('simulator_node', 'simulator.yaml', {
        'face': (str, 'What it is to its peer: xpc, xplane6, xplane9, xplane11, xplane12, '
                 'fdmdata.'),
        'host': (str, 'Address to listen on.'),
        'port': (int, 'UDP port; 0 is the usual one of the face.'),
        'speed': (float, 'Simulated seconds a second.'),
        'lockstep': (bool, 'Let a frame pass only when the last one was answered by a command.'),
        'publish_clock': (bool, 'Publish the simulated time on /clock.'),
        'seed': (int, 'Of turbulence and faults.'),
    })
