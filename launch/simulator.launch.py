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
        'speed': (float, 'Simulated seconds per second.'),
        'lockstep': (bool, 'Let a frame pass only when the last one was answered by a command.'),
        'publish_clock': (bool, 'Publish the simulated time on /clock.'),
        'seed': (int, 'Of turbulence and faults.'),
    })
